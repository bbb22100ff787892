"""The unit's text, read back by systemd's own rules: every path arrives as it was, whatever is in it."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from systemd_rules import command, sections, setting, specifiers, words

from ansible_collections.kpro.sglang.plugins.module_utils._supervise import unit

ODD = [
    "/srv/plain",
    "/srv/with space",
    "/srv/100%",
    "/srv/%n",
    "/srv/$HOME",
    "/srv/${HOME}",
    '/srv/a"b',
    "/srv/it's",
    "/srv/a\\b",
    "/srv/semi;colon",
    "/srv/tab\there",
    "/srv/größe",
    "/srv/%%$$",
]
PATHS = st.text(alphabet=string.ascii_letters + string.digits + " %$\"'\\;#=[]{}~`&|<>*?!\täß中", min_size=1, max_size=30).map(
    lambda text: "/" + text.strip() + "/x"
)


def render(**changed):
    values = {
        "name": "main",
        "user": "sglang",
        "group": "sglang",
        "state_dir": "/var/lib/sglang/main/home",
        "launch": "/var/lib/sglang/main/launch",
        "end": "/var/lib/sglang/main/end",
        "environment_file": "/var/lib/sglang/main/environment",
        "mounts": ["/models/tiny"],
        "stop_timeout": 180,
    }
    return unit.render(**{**values, **changed})


@pytest.mark.parametrize("path", ODD)
def test_odd_paths_arrive_as_they_are(path):
    text = render(launch=path, end=path, state_dir=path, environment_file=path, mounts=[path, "/other"])
    assert command(setting(text, "Service", "ExecStart")) == ["/bin/sh", path]
    assert command(setting(text, "Service", "ExecStopPost")) == ["/bin/sh", path]
    assert [specifiers(word) for word in words(setting(text, "Unit", "RequiresMountsFor"))] == [path, "/other"]
    assert specifiers(setting(text, "Service", "WorkingDirectory")) == path
    assert specifiers(setting(text, "Service", "EnvironmentFile")) == path


@given(PATHS, PATHS)
def test_any_path_arrives_as_it_is(first, second):
    text = render(launch=first, end=second, mounts=[first, second], state_dir=first, environment_file=second)
    assert command(setting(text, "Service", "ExecStart")) == ["/bin/sh", first]
    assert command(setting(text, "Service", "ExecStopPost")) == ["/bin/sh", second]
    assert [specifiers(word) for word in words(setting(text, "Unit", "RequiresMountsFor"))] == [first, second]
    assert (specifiers(setting(text, "Service", "WorkingDirectory")), specifiers(setting(text, "Service", "EnvironmentFile"))) == (
        first,
        second,
    )


@given(st.text(alphabet=string.printable.replace("\n", "").replace("\r", "").replace("\x0b", "").replace("\x0c", ""), max_size=30))
def test_quote_gives_exactly_one_word(text):
    assert command(unit.quote(text)) == [text]
    assert [specifiers(word) for word in words(unit.word(text))] == [text]


def test_no_setting_is_given_twice_and_all_sections_are_there():
    found = sections(render())
    assert list(found) == ["Unit", "Service", "Install"]
    for pairs in found.values():
        assert len({key for key, _value in pairs}) == len(pairs)


def test_a_killed_server_counts_as_ended_well_and_is_started_again():
    """SGLang ends itself with SIGKILL both ways: either setting alone would be wrong."""
    text = render()
    assert setting(text, "Service", "SuccessExitStatus") == "SIGKILL"
    assert setting(text, "Service", "Restart") == "always"


def test_logs_and_files_of_the_server_are_its_own():
    assert setting(render(), "Service", "UMask") == "0077"


def test_values_of_the_caller_are_in_their_places():
    text = render(user="llm", group="gpu", stop_timeout=7)
    assert [setting(text, "Service", key) for key in ("User", "Group", "TimeoutStopSec")] == ["llm", "gpu", "7"]
    assert setting(text, "Unit", "Description") == "SGLang server main"


def test_the_unit_says_who_wrote_it():
    assert render().startswith("# Managed by kpro.sglang")
