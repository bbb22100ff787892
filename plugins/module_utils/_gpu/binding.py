# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Finding nvidia-ml-py (the module ``pynvml``): importable here, or inside a server's environment.

The interpreter that runs a module on the target is seldom the one that has SGLang; SGLang's environment holds nvidia-ml-py. It is one
file of pure Python, so it is loaded by its path, whatever Python that environment has.
"""

from __future__ import annotations

import glob
import importlib
import importlib.util
import os
import sys

NAME = "pynvml"
_ABSENT = object()


def candidates(python):
    """Paths of pynvml in the environment of ``python`` (path of a venv, or of the interpreter in its bin/); [] without one.

    A venv's bin/python is a link to the system's interpreter, so the link is not followed.
    """
    if not python:
        return []
    prefix = python.rstrip("/")
    if not os.path.isdir(prefix):
        prefix = os.path.dirname(os.path.dirname(prefix))
    found = []
    for pattern in (
        "lib/python3*/site-packages",
        "lib64/python3*/site-packages",
        "local/lib/python3*/dist-packages",
        "lib/python3*/dist-packages",
    ):
        for folder in sorted(glob.glob(os.path.join(glob.escape(prefix), pattern)), reverse=True):
            for file in (os.path.join(folder, NAME + ".py"), os.path.join(folder, NAME, "__init__.py")):
                if os.path.isfile(file) and file not in found:
                    found.append(file)
    return found


def load(python=None):
    """(module or None, text that says where was looked). ``python`` as in candidates(); it is looked at first.

    Anything that goes wrong inside a foreign pynvml means only that this one is no use.
    """
    looked = []
    for file in candidates(python):
        try:
            return _load_file(file), file
        except Exception as error:  # pylint: disable=broad-except  # code of an environment that we do not know
            looked.append(f"{file}: {error.__class__.__name__}: {error}")
    if python and not looked:
        looked.append(f"no nvidia-ml-py in the environment of {python}")
    try:
        return importlib.import_module(NAME), NAME
    except Exception as error:  # pylint: disable=broad-except
        looked.append(f"import {NAME}: {error}")
    return None, "; ".join(looked)


def _load_file(file):
    locations = [os.path.dirname(file)] if os.path.basename(file) == "__init__.py" else None
    spec = importlib.util.spec_from_file_location(NAME, file, submodule_search_locations=locations)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no Python source")
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(NAME, _ABSENT)
    sys.modules[NAME] = module  # pynvml looks itself up there while it is executed
    try:
        spec.loader.exec_module(module)
    except BaseException:
        if before is _ABSENT:
            del sys.modules[NAME]
        else:
            sys.modules[NAME] = before  # type: ignore[assignment]  # None there means: not to be imported
        raise
    return module
