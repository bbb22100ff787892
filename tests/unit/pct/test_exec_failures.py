"""Texts of ssh, sudo, pct and lxc-attach, and what they mean."""

from __future__ import annotations

import pytest

from ansible_collections.kpro.sglang.plugins.module_utils._pct.failures import classify, said, warnings

LOCALE_BLOCK = """perl: warning: Setting locale failed.
perl: warning: Please check that your locale settings:
\tLANGUAGE = (unset),
\tLC_ALL = "de_DE.UTF-8",
\tLANG = (unset)
    are supported and installed on your system.
perl: warning: Falling back to the standard locale ("C").
"""


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        ("Configuration file 'nodes/pve1/lxc/102.conf' does not exist", "guest_missing"),
        ("container '101' not running!", "guest_stopped"),
        ("can only push files to a running CT", "guest_stopped"),
        ("can only pull files from a running VM at /usr/share/perl5/PVE/CLI/pct.pm line 500.", "guest_stopped"),
        ("lxc-attach: 101: ../src/lxc/attach.c: get_attach_context: 406 Connection refused - Failed to get init pid", "guest_stopped"),
        ("CT is locked (backup)", "guest_locked"),
        ("CT is locked (snapshot-delete)", "guest_locked"),
        ("trying to acquire lock...\ncan't lock file '/run/lock/lxc/pve-config-100.lock' - got timeout", "guest_locked"),
        ("please run as root", "not_permitted"),
        ("sudo: a password is required", "not_permitted"),
        ("sudo: a terminal is required to read the password; either use the -S option", "not_permitted"),
        ("ansible is not in the sudoers file.  This incident will be reported.", "not_permitted"),
        ("Sorry, user ansible is not allowed to execute '/usr/sbin/pct exec 1' as root on pve1.", "not_permitted"),
        ("sh: 1: pct: not found", "pct_missing"),
        ("bash: line 1: pct: command not found", "pct_missing"),
        ("bash: line 1: /usr/sbin/pct: No such file or directory", "pct_missing"),
        ("sudo: /usr/sbin/pct: command not found", "pct_missing"),
        ("/usr/bin/env: 'perl': No such file or directory", "pct_missing"),
        ("sh: 1: sudo: not found", "not_permitted"),
        ("400 unable to parse option\npct exec <vmid> [<extra-args>] [OPTIONS]", "pct_usage"),
        ("Unknown option: keep-env\n400 unable to parse option", "pct_usage"),
        ("missing command at /usr/share/perl5/PVE/CLI/pct.pm line 292.", "pct_usage"),
        ('Can\'t exec "lxc-attach": Argument list too long at /usr/share/perl5/PVE/CLI/pct.pm line 301.', "pct_usage"),
        ("ERROR: unknown command 'pct exex'", "pct_usage"),
        ("ipcc_send_rec[1] failed: Connection refused\nUnable to load access control list: Connection refused", "cluster_unavailable"),
        ("kex_exchange_identification: Connection closed by remote host", "transport"),
        ("", "transport"),
    ],
)
def test_failure(text, failure):
    assert classify(text.encode())[0] == failure
    assert (
        classify((LOCALE_BLOCK + "Warning: Permanently added 'pve1' (ED25519) to the list of known hosts.\n" + text + "\n").encode())[0]
        == failure
    )


@pytest.mark.parametrize(
    "text",
    [
        "he said: container '101' not running!",
        "container '101' not running! really",
        "x please run as root",
        "please run as root or not",
        "see CT is locked (backup)",
    ],
)
def test_only_whole_lines_count(text):
    assert classify(text.encode()) == ("transport", text)


def test_words_are_the_deciding_line_and_a_hint():
    failure, words = classify(b"400 unable\nplease run as root\n")
    assert failure == "not_permitted"
    assert words.startswith("please run as root (")
    assert "sudo" in words


def test_noise_is_no_reason():
    assert said((LOCALE_BLOCK + "trying to acquire lock...\nreal\n").encode()) == "real"
    assert said(b"ControlSocket /root/.ansible/cp/1 already exists, disabling multiplexing\r\nreal\r\n") == "real"


def test_warnings_about_the_configuration():
    text = b"vm 100 - unable to parse value of 'foo' - unknown setting 'foo'\nother\nvm 101 - unable to parse config: x\n"
    assert warnings(text) == ["vm 100 - unable to parse value of 'foo' - unknown setting 'foo'", "vm 101 - unable to parse config: x"]
    assert said(text) == "other"


def test_bytes_that_are_no_text():
    assert classify(b"\xff\xfe") == ("transport", "\ufffd\ufffd")
