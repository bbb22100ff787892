"""Stand-ins for packages that have no build for the CPU: any attribute exists, calling one raises.

SGLang imports sgl_kernel and torchvision at start-up whatever the device; a text model on the CPU never calls them.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import types


class Missing:
    """An attribute of a missing package: chains like the original, raises when used."""

    def __init__(self, name):
        self.__name__ = self.__qualname__ = name

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Missing(f"{self.__name__}.{name}")

    def __call__(self, *args, **kwargs):
        raise RuntimeError(f"{self.__name__}: not available in the sandbox")


def attributes(module):
    """Return a module-level ``__getattr__`` for ``module``."""

    def getattr_(name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Missing(f"{module}.{name}")

    return getattr_


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds every submodule of a missing package."""

    def __init__(self, root):
        self.prefix = root + "."

    def find_spec(self, name, path=None, target=None):
        if name.startswith(self.prefix):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return types.ModuleType(spec.name)

    def exec_module(self, module):
        module.__path__ = []
        module.__getattr__ = attributes(module.__name__)
