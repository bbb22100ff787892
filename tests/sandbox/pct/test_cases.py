"""The sandbox's pct against what was observed of the real one: the ``pct`` key of every case of cases.yml."""

from __future__ import annotations

import concurrent.futures
import os
import pathlib
import time

import pct_expectations as expectations
import pytest
import yaml

CASES = {case["id"]: case for case in yaml.safe_load(pathlib.Path(__file__).with_name("cases.yml").read_text())["cases"]}

NOT_HERE = {
    "quote-fetch-path-with-space": "its pct key is about another collection's connection plugin; ours is tested with the plugin",
    "quote-fetch-path-injection": "its pct key is about another collection's connection plugin; ours is tested with the plugin",
    "stdin-empty-template-file": "a put of the connection plugin, no pct key",
    "put-home-of-other-user": "a put of the connection plugin, no pct key",
    "run-as-user": "an option of the module, no pct key; pct has no such option",
    "args-too-long-single": "the kernel refuses the argument before any pct runs",
    "ssh-banner-noise": "the noise is ssh's; what pct answers is that of any echo",
    "rc-lost-in-old-lxc": "needs LXC 3.0.4; the module's tests use a double of lxc-attach",
    "sudo-needs-password": "the answer is sudo's, pct is not reached",
}
WORK = "/root/kpro-pct-cases"


def words_of(case, guests):
    """argv after ``pct``, with this node's guests."""
    given = case["input"]
    if "full_argv" in given:
        words = list(given["full_argv"][1:])
    else:
        argv = [word["repeat"] * word["times"] if isinstance(word, dict) else word for word in given["argv"]]
        words = ["exec", str(given.get("vmid", 100)), "--", *argv]
    return [str(guests.numbers[int(word)]) if word.isdigit() and int(word) in guests.numbers else word for word in words]


def stdin_of(case):
    given = case["input"].get("stdin", "")
    return os.urandom(given["random_bytes"]) if isinstance(given, dict) else given.encode()


def environment_of(case):
    given = dict(case["input"].get("env", {}))
    given.setdefault("LC_ALL", "C.UTF-8")
    return tuple({**given, **case["input"].get("module_options", {}).get("environment", {})}.items())


def run(case, guests, **options):
    """Run the case's command line; returns (process, seconds, what was sent)."""
    sent = stdin_of(case)
    started = time.monotonic()
    done = guests.pct(*words_of(case, guests), environment=environment_of(case), stdin=sent, **options)
    return done, time.monotonic() - started, sent


def run_and_check(case, guests, **options):
    done, seconds, sent = run(case, guests, **options)
    expectations.check(case, done, seconds, guests.here, sent)
    return done


SPECIAL = {}


def special(identifier):
    """Register the test of one case that takes more than running its command line."""

    def register(function):
        SPECIAL[identifier] = function
        return function

    return register


@special("push-enospc-truncates-silently")
def full_file_system(case, guests, keep):
    size = case["input"]["container_fs_free"]
    guests.inside(f"mkdir -p /small; mount -t tmpfs -o size={size} tmpfs /small")
    try:
        run_and_check(case, guests)
        assert int(guests.inside("stat -c %s /small/f")) == case["pct"]["file_size"]
    finally:
        guests.inside("umount /small")


@special("push-existing-keeps-mode-owner")
def existing_target(case, guests, keep):
    existing = case["input"]["existing"]
    guests.inside(f"echo old > /root/f; chmod {existing['mode']} /root/f; chown {existing['owner']} /root/f")
    run_and_check(case, guests)
    expected = f"{case['pct']['file_mode']} {case['pct']['owner']}\npayload\n"
    assert guests.inside("stat -c '0%a %u' /root/f; cat /root/f").decode() == expected


@special("pull-missing-empties-target")
def pull_missing(case, guests, keep):
    guests.sh('echo precious > "$1/local"', WORK)
    run_and_check(case, guests)
    assert int(guests.sh("stat -c %s /root/kpro-pct-cases/local").stdout) == case["pct"]["local_size"]


@special("conf-parse-warning-on-stderr")
def unknown_key(case, guests, keep):
    kept = keep(guests.numbers[100])
    guests.write(kept.path, kept.text + case["input"]["conf_line"] + "\n")
    run_and_check(case, guests)


@special("rc-127-local-bin")
def program_in_local_bin(case, guests, keep):
    guests.inside("f=/usr/local/bin/uv; printf '#!/bin/sh\\necho uv\\n' > $f; chmod 755 $f; $f")
    run_and_check(case, guests)


@special("ct-flock-held")
def flock_held(case, guests, keep):
    lock = guests.here(case["input"]["held"])
    hold = 'setsid flock "$1" sh -c "touch $2/held; sleep 14" >/dev/null 2>&1 </dev/null & while ! test -e $2/held; do sleep 0.1; done'
    guests.sh(hold, lock, WORK)
    done, seconds, _sent = run(case, guests)
    expectations.check(case, done, seconds, guests.here)
    assert case["pct"]["seconds"] - 0.5 <= seconds <= case["pct"]["seconds"] + 3
    guests.sh('flock "$1" true', lock)


@special("ct-frozen")
def frozen(case, guests, keep):
    vmid = guests.numbers[105]
    assert guests.pct("status", str(vmid)).stdout == b"status: running\n"
    script = 'setsid pct exec "$1" -- sh -c "echo thawed" > "$2/frozen" 2>&1 </dev/null & echo $!'
    pid = guests.sh(script, vmid, WORK).stdout.decode().strip()
    time.sleep(2)
    guests.sh('test -d "/proc/$1" && test ! -s "$2/frozen"', pid, WORK)
    guests.sh('lxc-unfreeze -n "$1"', vmid)
    script = 'for i in $(seq 100); do test -s "$1/frozen" && break; sleep 0.1; done; test "$(cat "$1/frozen")" = thawed'
    guests.sh(script, WORK)
    guests.sh('lxc-freeze -n "$1"', vmid)


@special("not-root")
def not_root(case, guests, keep):
    full = case["input"]["full_argv"]
    words = [str(guests.numbers[int(word)]) if word.isdigit() else word for word in full]
    done = guests.node.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--", *words])
    expectations.check(case, done, 0, guests.here)


@special("pct-not-in-path-non-root")
def not_in_path(case, guests, keep):
    script = " ".join(case["input"]["full_argv"])
    done = guests.node.run(["env", "-i", "PATH=/usr/local/bin:/usr/bin:/bin", "sh", "-c", script])
    expectations.check(case, done, 0, guests.here)


@special("tty-merges-streams")
def terminal(case, guests, keep):
    words = ["pct", *words_of(case, guests)]
    line = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
    done = guests.node.run(["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "script", "-qec", line, "/dev/null"])
    expectations.check(case, done, 0, guests.here)
    assert b"err\r\r\n" in done.stdout and done.stderr == b""


def sleepers(guests, seconds):
    """Process ids (in the guest) of ``sleep SECONDS``."""
    script = "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline 2>/dev/null | grep -qx 'sleep SECONDS ' && echo ${p#/proc/}; done; true"
    return guests.inside(script.replace("SECONDS", str(seconds))).decode().split()


@special("timeout-inside-container")
def timeout_inside(case, guests, keep):
    run_and_check(case, guests)
    assert sleepers(guests, 30) == []


@special("kill-pct-leaves-process")
def killed(case, guests, keep):
    for signal in case["input"]["kill_pct_with"]:
        start = 'setsid pct exec "$1" -- sleep 777 >/dev/null 2>&1 </dev/null & echo $!'
        pid = guests.sh(start, guests.numbers[100]).stdout.decode().strip()
        deadline = time.monotonic() + 20
        while not sleepers(guests, 777):
            assert time.monotonic() < deadline
        guests.sh('kill -$1 $2; for i in $(seq 100); do kill -0 $2 2>/dev/null || exit 0; sleep 0.1; done; exit 1', signal, pid)
        left = sleepers(guests, 777)
        assert len(left) == 1, signal
        guests.inside(f"kill -9 {left[0]}")


@special("host-timeout-with-term-ignored")
def host_timeout(case, guests, keep):
    line = case["input"]["host"].replace("exec 100", f"exec {guests.numbers[100]}")
    done = guests.node.run(["sh", "-c", f"setsid {line} >/dev/null 2>&1 </dev/null"])
    assert done.returncode in (124, 137, 143)
    left = sleepers(guests, 779)
    assert len(left) == 1
    guests.inside(f"kill -9 {left[0]}; true")


@special("parallel-8")
def parallel(case, guests, keep):
    argv = case["input"]["argv"]

    def one(index):
        return guests.pct("exec", str(guests.numbers[100]), "--", *[word.replace("{index}", str(index)) for word in argv])

    with concurrent.futures.ThreadPoolExecutor(case["input"]["parallel"]) as pool:
        done = list(pool.map(one, range(case["input"]["parallel"])))
    assert [process.returncode for process in done] == [case["pct"]["rc"]] * len(done)
    assert [process.stdout.decode().strip() for process in done] == [str(index) for index in range(len(done))]


@special("cwd-inherited")
def working_folder(case, guests, keep):
    run_and_check(case, guests, cwd=case["input"]["cwd"])
    elsewhere = guests.pct("exec", str(guests.numbers[100]), "--", "pwd", cwd=WORK)
    assert elsewhere.stdout == b"/\n"


@special("conf-blockinfile-markers")
def comments_move(case, guests, keep):
    kept = keep(guests.numbers[101])
    guests.write(kept.path, case["input"]["conf"])
    done = guests.pct(case["input"]["then"][1], str(guests.numbers[101]), *case["input"]["then"][3:])
    assert done.returncode == 0, done.stderr
    assert guests.read(kept.path) == case["pct"]["conf_after"]


@special("conf-append-lands-in-snapshot")
def appended_line(case, guests, keep):
    kept, line = keep(guests.numbers[101]), case["input"]["append"]
    guests.write(kept.path, case["input"]["conf"] + line + "\n")
    vmid = str(guests.numbers[101])
    assert line not in guests.pct("config", vmid).stdout.decode()
    assert line in guests.pct("config", vmid, "--snapshot", "snap1").stdout.decode()


@special("set-fails-after-saving")
def saved_before_failure(case, guests, keep):
    kept = keep(guests.numbers[101])
    guests.write(kept.path, kept.text + "net0: name=eth0,bridge=vmbr999,hwaddr=BC:24:11:00:00:01,type=veth\n")
    done, seconds, _sent = run(case, guests)
    expectations.check(case, done, seconds, lambda text: text.replace("vmbr0", "vmbr999"))
    assert case["pct"]["conf_after_contains"] in guests.read(kept.path)


@special("set-tags-reordered")
def tags(case, guests, keep):
    keep(guests.numbers[101])
    run_and_check(case, guests)
    assert case["pct"]["config_shows"] in guests.pct("config", str(guests.numbers[101])).stdout.decode().splitlines()


@special("list-empty-lock-column")
def table(case, guests, keep):
    for number, state in ((100, "hostname: px9901\n"), (101, "hostname: px9901\nlock: backup\n")):
        kept = keep(guests.numbers[number])
        guests.write(kept.path, "".join(line + "\n" for line in kept.text.splitlines() if not line.startswith("hostname")) + state)
    actual = guests.pct("list").stdout.decode().splitlines()
    expected = case["pct"]["stdout"].replace("\n9901", f"\n{guests.numbers[100]}").replace("\n9904", f"\n{guests.numbers[101]}")
    assert actual[0] == expected.splitlines()[0]
    assert set(expected.splitlines()) <= set(actual)


@special("config-multiline-description")
def description(case, guests, keep):
    keep(guests.numbers[101])
    assert guests.pct("set", str(guests.numbers[101]), "--description", case["input"]["description"]).returncode == 0
    run_and_check(case, guests)


@pytest.mark.parametrize("identifier", [name for name in CASES if name not in NOT_HERE and name not in SPECIAL])
def test_command_line(guests, identifier):
    run_and_check(CASES[identifier], guests)


@pytest.mark.parametrize("identifier", list(SPECIAL))
def test_special(guests, kept, identifier):
    SPECIAL[identifier](CASES[identifier], guests, kept)


def test_every_case_is_tested_or_listed():
    listed = set(NOT_HERE) | set(SPECIAL)
    assert listed <= set(CASES)
    assert not set(NOT_HERE) & set(SPECIAL)
    plain = set(CASES) - listed
    assert all(expectations.COMPARED & set(CASES[name]["pct"]) for name in plain)
