"""Guests that cannot be entered: UNREACHABLE, in pct's own words, at once and once."""

from __future__ import annotations

import time

import pytest
from kpro_sandbox import settings

# These guests have no Python; only guest 100 was given one.
PING = [{"name": "ping", "ansible.builtin.raw": "echo pong"}]


@pytest.mark.parametrize("method", ["pct", "lxc-attach"])
@pytest.mark.parametrize(("case", "sentence"), [(101, "container '{n}' not running!"), (102, "lxc/{n}.conf' does not exist")])
def test_stopped_and_missing(ansible, guests, case, sentence, method):
    guest = ansible.guest("guest", case, proxmox_pct_method=method)
    before = logins()
    run = ansible.play(guest, PING)
    assert run.status("ping") == "unreachable"
    assert sentence.format(n=guests.numbers[case]) in run.of("ping")["msg"]
    assert logins() - before <= 1
    assert "temporary directory" not in run.text


def logins():
    """How many connections the node's sshd has accepted so far."""
    return (settings.node_dir() / "sshd.log").read_text(errors="replace").count("Accepted publickey")


def test_frozen(ansible, guests):
    guest = ansible.guest("guest", 105)
    start = time.monotonic()
    run = ansible.play(guest, PING)
    assert run.status("ping") == "unreachable"
    assert f"guest {guests.numbers[105]} is frozen" in run.of("ping")["msg"]
    assert time.monotonic() - start < 25  # ten seconds are documented; a play and its process take the rest


def test_thawed_while_it_was_waited_for(ansible, guests):
    number = guests.numbers[105]
    guests.sh('(sleep 4; lxc-unfreeze -n "$1") </dev/null >/dev/null 2>&1 &', number)
    try:
        run = ansible.play(ansible.guest("guest", 105), PING)
    finally:
        guests.sh('lxc-freeze -n "$1"', number)
    assert run.status("ping") == "ok"


def test_locked_guests_can_be_entered(ansible):
    assert ansible.play(ansible.guest("guest", 104), PING).status("ping") == "ok"


def test_stopped_while_a_command_runs(ansible, guests):
    number = guests.numbers[104]
    guests.sh('(sleep 8; lxc-stop -k -n "$1") </dev/null >/dev/null 2>&1 &', number)
    try:
        run = ansible.play(ansible.guest("guest", 104), [{"name": "x", "ansible.builtin.raw": "sleep 120"}])
    finally:
        # LXC says STOPPED a moment before its command socket, which pct looks at, is gone.
        again = (
            'lxc-wait -n "$1" -s STOPPED -t 30; for i in $(seq 100); do pct status "$1" | grep -q stopped && break; sleep 0.1; done; '
            'pct unlock "$1"; pct start "$1"; sed -i "1i lock: backup" "$2"'
        )
        guests.sh(again, number, guests.configuration(number))
    assert run.status("x") == "unreachable"
    assert "while the command ran" in run.of("x")["msg"]


def test_twenty_forks_cold(ansible):
    """sshd's default MaxStartups 10:30:100; all connections begin at once and share one node."""
    for index in range(20):
        # A control path each: twenty logins, not one that all share.
        ansible.guest(f"guest{index:02}", ansible_control_path=f"%(directory)s/kpro-{index:02}-%%C")
    run = ansible.play("guest*", [{"name": "ping", "ansible.builtin.ping": {}}], forks=20, timeout=500)
    assert [run.status("ping", f"guest{index:02}") for index in range(20)] == ["ok"] * 20
