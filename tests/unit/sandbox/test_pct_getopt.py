"""Options as Getopt::Long takes them; expected results are those that the real program showed or its manual states."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kpro_pct import getopt

NAMES = {"vmid": getopt.REQUIRED, "keep-env": getopt.OPTIONAL, "extra-args": getopt.LIST, "memory": getopt.REQUIRED, "mp0": getopt.REQUIRED}


@pytest.mark.parametrize(
    ("arguments", "options", "rest"),
    [
        (["100", "--", "ls", "-la"], {}, ["100", "ls", "-la"]),
        (["100", "--", "--", "x"], {}, ["100", "--", "x"]),
        (["100", "echo", "-k", "0", "hi"], {"keep-env": "0"}, ["100", "echo", "hi"]),
        (["--keep-env", "0", "100", "--", "env"], {"keep-env": "0"}, ["100", "env"]),
        (["100", "-keep-env", "0", "--", "env"], {"keep-env": "0"}, ["100", "env"]),
        (["100", "--keep-env=0", "--", "env"], {"keep-env": "0"}, ["100", "env"]),
        (["100", "--keep-env", "--", "env"], {"keep-env": ""}, ["100", "env"]),
        (["100", "--KEEP", "--memory", "5"], {"keep-env": "", "memory": "5"}, ["100"]),
        (["--keep-env", "100", "--", "env"], {"keep-env": "100"}, ["env"]),
        (["--memory", "--", "100"], {"memory": "--"}, ["100"]),
        (["--memory=1=2", "-"], {"memory": "1=2"}, ["-"]),
        (["--memory", ""], {"memory": ""}, []),
        (["--ex", "a", "--extra", "b"], {"extra-args": ["a", "b"]}, []),
    ],
)
def test_right_command_lines(arguments, options, rest):
    assert getopt.parse(arguments, NAMES) == (options, rest, [])


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["100", "ls", "-la", "/x"], "Unknown option: la\n"),
        (["--lxc.cap.drop=x"], "Unknown option: lxc.cap.drop\n"),
        (["--m", "5"], "Option m is ambiguous (memory, mp0)\n"),
        (["--memory"], "Option memory requires an argument\n"),
        (["---x"], "Unknown option: -x\n"),
    ],
)
def test_wrong_command_lines(arguments, complaint):
    assert getopt.parse(arguments, NAMES)[2] == [complaint]


@given(st.lists(st.text()))
def test_all_behind_the_terminator_is_kept(words):
    assert getopt.parse(["100", "--", *words], NAMES) == ({}, ["100", *words], [])


@given(st.lists(st.text().filter(lambda word: not word.startswith("-"))), st.text())
def test_an_option_may_stand_anywhere(words, value):
    for place in range(len(words) + 1):
        assert getopt.parse([*words[:place], "--mem", value, *words[place:]], NAMES) == ({"memory": value}, words, [])
