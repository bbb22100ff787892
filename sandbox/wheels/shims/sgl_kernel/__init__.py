import sys

import _kpro_missing

sys.meta_path.append(_kpro_missing.Finder("sgl_kernel"))
__getattr__ = _kpro_missing.attributes("sgl_kernel")
__version__ = "0.4.5"
