import sys

import _kpro_missing

sys.meta_path.append(_kpro_missing.Finder("torchvision"))
__getattr__ = _kpro_missing.attributes("torchvision")
__version__ = "0.28.0"
