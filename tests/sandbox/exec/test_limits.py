"""Time limits and lost commands, in a live guest: nothing may be left behind in it."""

from __future__ import annotations

import subprocess

import pytest


@pytest.fixture
def run(ansible, guests):
    def play(**arguments):
        task = {"name": "x", "kpro.sglang.proxmox_lxc_exec": {"vmid": guests.numbers[100], **arguments}, "ignore_errors": True}
        return ansible.play("node", [task]).of("x")

    return play


def sleepers(guests, seconds):
    script = "for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$f 2>/dev/null; echo; done | grep -c '^sleep %s $' || true"
    return int(guests.inside(script % seconds, guests.numbers[100]))


@pytest.mark.parametrize("method", ["pct", "lxc-attach"])
def test_a_command_that_ignores_term(run, guests, method):
    """timeout-inside-container, host-timeout-with-term-ignored"""
    result = run(argv=["sh", "-c", "trap '' TERM; echo printed; sleep 779; sleep 779"], timeout=3, method=method)
    assert (result["failed"], result["failure"], result["timed_out"], result["stdout"]) == (True, "timeout", True, "printed")
    hours, minutes, seconds = result["delta"].split(":")
    assert (hours, minutes) == ("0", "00")
    assert float(seconds) <= 10
    assert sleepers(guests, 779) == 0


def test_children_that_hold_the_pipes(run, guests):
    result = run(argv=["sh", "-c", "sleep 778 & (setsid sleep 778 &) ; echo printed; sleep 778"], timeout=2)
    assert (result["failure"], result["stdout"]) == ("timeout", "printed")
    assert sleepers(guests, 778) == 0


def test_a_daemon_that_let_go_of_everything_stays(run, guests):
    result = run(argv=["sh", "-c", "setsid sleep 15 </dev/null >/dev/null 2>&1 & sleep 0.5; exit 0"], timeout=20)
    assert result["rc"] == 0
    assert sleepers(guests, 15) == 1


def test_pct_that_is_killed_takes_its_command_along(ansible, guests):
    """kill-pct-leaves-process: with TERM, HUP and KILL"""
    number = guests.numbers[100]
    killer = f"""
      for wait in $(seq 100); do
        pid=$(pgrep -f '^lxc-attach -n {number} .* sleep 777$' | head -n 1)
        [ -n "$pid" ] && sleep 1 && kill -@ "$pid" && exit 0
        sleep 0.2
      done
      exit 1
    """
    for signal, count in (("TERM", 15), ("HUP", 1), ("KILL", 9)):
        waiting = subprocess.Popen(guests.node.argv(["sh", "-c", killer.replace("@", signal)]))
        task = {"name": "x", "kpro.sglang.proxmox_lxc_exec": {"vmid": number, "argv": ["sleep", "777"]}, "ignore_errors": True}
        result = ansible.play("node", [task]).of("x")
        assert waiting.wait(60) == 0
        assert (result["failure"], result["rc"]) == ("transport", None)
        assert f"signal {count}" in result["msg"]
        assert sleepers(guests, 777) == 0


def test_64_mib_in_and_on_both_streams_out(run, guests):
    guests.inside("head -c 67108864 /dev/zero >/root/big", guests.numbers[100])
    script = "cat /root/big >&2 & cat /root/big; wait; rm /root/big"
    result = run(argv=["sh", "-c", script])
    assert (result["rc"], len(result["stdout"]), len(result["stderr"])) == (0, 1 << 20, 1 << 20)
    assert result["stdout_truncated"]
    assert result["stderr_truncated"]


def test_shell_and_creates_through_a_whole_play(ansible, guests):
    number = guests.numbers[100]
    tasks = [
        {
            "name": "once",
            "kpro.sglang.proxmox_lxc_exec": {"vmid": number, "shell": 'echo "it\'s é" >/root/once\n', "creates": "/root/onc*"},
        },
        {"name": "twice", "kpro.sglang.proxmox_lxc_exec": {"vmid": number, "shell": "exit 1", "creates": "/root/onc*"}},
        {"name": "look", "kpro.sglang.proxmox_lxc_exec": {"vmid": number, "shell": "exit 1", "removes": "/root/once"}, "check_mode": True},
        {"name": "skip", "kpro.sglang.proxmox_lxc_exec": {"vmid": number, "shell": "exit 1"}, "check_mode": True},
        {"name": "show", "kpro.sglang.proxmox_lxc_exec": {"vmid": number, "cmd": "cat /root/once"}},
        {"name": "gone", "kpro.sglang.proxmox_lxc_exec": {"vmid": number, "cmd": "rm /root/once"}},
    ]
    run = ansible.play("node", tasks)
    assert run.rc == 0, run.text
    assert run.of("once")["changed"]
    assert not run.of("twice")["changed"]
    assert run.of("look")["changed"]
    assert run.status("skip") == "skipped"
    assert run.of("show")["stdout"] == "it's é"
