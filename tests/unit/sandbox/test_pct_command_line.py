"""From bytes on the command line to checked parameters, and the texts of refusals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kpro_pct import commands, errors, main, shell_text


def parameters(name, *words, charset="utf-8"):
    arguments = [word if isinstance(word, bytes) else word.encode() for word in words]
    return main.read_parameters(commands.COMMANDS[name], arguments, charset)


EXEC = "pct exec <vmid> [<extra-args>] [OPTIONS]\n"


def refusal(name, *words):
    with pytest.raises(errors.UsageError) as caught:
        parameters(name, *words)
    return caught.value.full_text(commands.COMMANDS[name].usage(name))


def test_exec():
    assert parameters("exec", "100", "--", "printf", "%s", "-5") == {"vmid": "100", "extra-args": ["printf", "%s", "-5"]}
    assert parameters("exec", "100", "--keep-env", "false", "--", "a") == {"vmid": "100", "keep-env": 0, "extra-args": ["a"]}
    assert parameters("exec", "100") == {"vmid": "100", "extra-args": []}


@pytest.mark.parametrize(
    ("name", "words", "text"),
    [
        ("exec", ["--keep-env", "100", "--", "env"], "400 unable to parse boolean option\n" + EXEC),
        ("exec", ["abc"], "400 Parameter verification failed.\nvmid: type check ('integer') failed - got 'abc'\n" + EXEC),
        ("exec", ["5"], "400 Parameter verification failed.\nvmid: invalid format - value does not look like a valid VM ID\n" + EXEC),
        ("exec", [], "400 not enough arguments\n" + EXEC),
        ("create", ["100"], "400 not enough arguments\npct create <vmid> <ostemplate> [OPTIONS]\n"),
        ("unlock", ["100", "x"], "400 too many arguments\npct unlock <vmid>\n"),
        ("set", ["100", "--memory", "32G"], "400 Parameter verification failed.\nmemory: type check ('integer') failed - got '32G'\n"
         "pct set <vmid> [OPTIONS]\n"),
    ],
)
def test_refusals(name, words, text):
    assert refusal(name, *words) == text


def test_beginnings_of_commands():
    assert main.find_command(["exe"]) == "exec"
    with pytest.raises(errors.PctError, match=r"^ERROR: unknown command 'pct exex'\n") as caught:
        main.find_command(["exex"])
    assert caught.value.rc == 255
    with pytest.raises(errors.PctError, match=r"^ERROR: unknown command 'pct s'\n"):
        main.find_command(["s"])


@given(st.binary())
def test_c_locale_loses_every_byte_above_ascii(raw):
    assert shell_text.decode_argument(raw, "ascii") == "".join(chr(byte) if byte < 128 else "\ufffd" for byte in raw)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_utf8_locale_keeps_text(text):
    assert parameters("exec", "100", "--", text.encode())["extra-args"] == [text]


def test_bytes_that_are_no_text_are_lost_in_a_utf8_locale():
    assert parameters("exec", "100", "--", b"a\xffb")["extra-args"] == ["a\ufffdb"]


def test_missing_locale_text():
    text = shell_text.missing_locale_text({b"LC_ALL": b"de_DE.UTF-8", b"LC_TIME": b"C"})
    assert text.splitlines() == [
        "perl: warning: Setting locale failed.",
        "perl: warning: Please check that your locale settings:",
        "\tLANGUAGE = (unset),",
        '\tLC_ALL = "de_DE.UTF-8",',
        '\tLC_TIME = "C",',
        "\tLANG = (unset)",
        "    are supported and installed on your system.",
        'perl: warning: Falling back to the standard locale ("C").',
    ]
