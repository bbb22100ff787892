"""Every cause id that this package names is one of the collection's causes."""

from __future__ import annotations

import pathlib
import re

from ansible_collections.kpro.sglang.plugins.module_utils import _gpu
from ansible_collections.kpro.sglang.plugins.module_utils._diagnosis.causes import CAUSES
from ansible_collections.kpro.sglang.plugins.module_utils._gpu import kernel_log

FOLDER = pathlib.Path(__file__).resolve().parents[3] / "plugins/module_utils/_gpu"


def test_ids():
    named = set(re.findall(r'Problem\(\s*"(\w+)"', (FOLDER / "problems.py").read_text()))
    named |= set(re.findall(r'"cause": "(\w+)"', (FOLDER / "kernel_log.py").read_text()))
    named |= set(kernel_log._CAUSES.values())
    assert len(named) >= 10
    assert named <= set(CAUSES)


def test_each_file_is_private_and_imports_nothing_of_ansible():
    assert _gpu.__name__.endswith("._gpu")
    for file in FOLDER.glob("*.py"):
        text = file.read_text()
        assert not re.search(r"^\s*(?:from|import) ansible", text, re.M), file.name
        assert text == "" or "This module_utils is PRIVATE" in text, file.name
