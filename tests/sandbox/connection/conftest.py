"""Fixtures: the live guests of the cases, and Ansible."""

from __future__ import annotations

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "exec"))
sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / ".collections"))

import live


@pytest.fixture(scope="session")
def guests(node):
    return live.guests(node)


@pytest.fixture
def ansible(guests):
    return live.Ansible(guests)
