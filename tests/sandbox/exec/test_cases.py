"""proxmox_lxc_exec against the ``module`` side of every case of cases.yml, in live guests."""

from __future__ import annotations

import base64
import os
import pathlib

import live
import pytest
import yaml

CASES = {
    case["id"]: case
    for case in yaml.safe_load((pathlib.Path(__file__).parents[1] / "pct" / "cases.yml").read_text(encoding="utf-8"))["cases"]
}

# Run as they stand: argv, vmid, stdin, environment and module_options of the case; compared with what the case says.
AS_THEY_STAND = [
    "quote-every-metachar", "quote-single-quote-in-script", "quote-dollar-not-expanded-on-host", "quote-trailing-newline-and-tabs",
    "args-leading-dash-command-args", "args-long-but-legal", "args-e2big-after-locale-decode",
    "unicode-utf8-locale", "unicode-no-locale-mangles", "unicode-in-script-on-stdin", "locale-missing-on-host",
    "rc-0", "rc-1", "rc-126-not-executable", "rc-127-not-found", "rc-sigkill", "rc-sigsegv", "rc-255-command",
    "ct-missing", "ct-on-other-node", "ct-stopped", "stdin-binary-5mib", "stdin-empty", "stdin-early-close",
    "stdout-nul-bytes", "stdout-invalid-utf8", "stderr-over-2mib-no-pty", "background-child-detached", "env-leaks-by-default",
]  # fmt: skip
# Tests of their own below, or in test_limits.py.
OWN = {
    "args-missing-double-dash", "args-option-eaten-silently", "args-keep-env-swallows-vmid", "args-empty-command", "args-bad-vmid",
    "args-too-long-single", "conf-parse-warning-on-stderr", "rc-127-local-bin", "ct-flock-held", "ct-frozen", "not-root",
    "pct-not-in-path-non-root", "sudo-needs-password", "tty-merges-streams", "timeout-inside-container", "kill-pct-leaves-process",
    "host-timeout-with-term-ignored", "parallel-8", "env-clear-has-no-home", "cwd-inherited", "run-as-user",
}  # fmt: skip
# Files: in tests/sandbox/connection, where the test of each says so.
CONNECTION = {
    "quote-fetch-path-with-space", "quote-fetch-path-injection", "stdin-empty-template-file", "push-missing-source-rc0",
    "push-enospc-truncates-silently", "push-existing-keeps-mode-owner", "push-stopped", "pull-missing-empties-target",
    "put-home-of-other-user", "ssh-banner-noise",
}  # fmt: skip
CONFIGURATION = "about changing or reading a guest's configuration: module proxmox_guest and its tests"
ELSEWHERE = {
    "rc-lost-in-old-lxc": "needs LXC 3.0.4: tests/unit/pct/test_exec_module.py uses a double of that lxc-attach",
    "ct-locked-set": CONFIGURATION,
    "conf-blockinfile-markers": CONFIGURATION,
    "conf-append-lands-in-snapshot": CONFIGURATION,
    "set-fails-after-saving": CONFIGURATION,
    "set-dev-symbolic-gid": CONFIGURATION,
    "set-tags-reordered": CONFIGURATION,
    "start-already-running": CONFIGURATION,
    "list-empty-lock-column": CONFIGURATION,
    "config-multiline-description": CONFIGURATION,
}


def test_every_case_has_its_place():
    places = [AS_THEY_STAND, OWN, CONNECTION, ELSEWHERE]
    named = [name for place in places for name in place]
    assert sorted(named) == sorted(CASES)


def word(given):
    return given["repeat"] * given["times"] if isinstance(given, dict) else given


def task_of(case, guests):
    """The task that runs a case, and the bytes on its stdin."""
    given = case["input"]
    arguments = {
        "vmid": guests.numbers[given.get("vmid", 100)],
        "argv": [word(part) for part in given["argv"]],
        "strip_empty_ends": False,
        "output_limit": 8,
        "timeout": 60,
        **given.get("module_options", {}),
    }
    stdin = given.get("stdin", "")
    stdin = os.urandom(stdin["random_bytes"]) if isinstance(stdin, dict) else stdin.encode()
    if stdin:
        arguments["stdin_base64"] = base64.b64encode(stdin).decode()
    environment = {name: str(value) for name, value in given.get("env", {}).items()}
    return {
        "name": case["id"],
        "kpro.sglang.proxmox_lxc_exec": live.unsafe(arguments),
        "ignore_errors": True,
        "environment": environment,
    }, stdin


@pytest.fixture(scope="module")
def outcomes(guests):
    """All results of AS_THEY_STAND: {id: (result, stdin)}."""
    ansible = live.Ansible(guests)
    tasks, given = [], {}
    for name in AS_THEY_STAND:
        task, given[name] = task_of(CASES[name], guests)
        tasks.append(task)
    run = ansible.play("node", tasks, timeout=600)
    return {name: (run.of(name), given[name]) for name in AS_THEY_STAND}


def seconds(result):
    """How long the module took, by its own account."""
    hours, minutes, rest = result["delta"].split(":")
    return int(hours) * 3600 + int(minutes) * 60 + float(rest)


def stream(result, name):
    """The bytes of stdout or stderr as the result tells them."""
    exact = result.get(f"{name}_base64")
    return base64.b64decode(exact) if exact else (result[name] or "").encode()


@pytest.mark.parametrize("name", AS_THEY_STAND)
def test_case(name, outcomes, guests):
    case, (result, stdin) = CASES[name], outcomes[name]
    module, pct = case["module"], case["pct"]
    expected = {**({} if not module.get("same") else pct), **module}
    if "failure" in expected:
        assert result["failure"] == expected["failure"]
    if expected.get("failure"):
        assert result["failed"]
        assert result["rc"] is None
    else:
        assert result["rc"] == expected.get("rc", pct.get("rc") if name != "args-e2big-after-locale-decode" else 0)
        assert result.get("failed", False) is (result["rc"] != 0)
        assert result["failure"] is None
    stdout = stream(result, "stdout")
    if "stdout" in expected:
        assert stdout == (stdin if expected["stdout"] == "identical bytes" else expected["stdout"].encode())
    if "stdout_not_contains" in expected:
        assert expected["stdout_not_contains"].encode() not in stdout
    for name_of, key in (("stdout", "stdout_hex"), ("stderr", "stderr_hex")):
        if key in pct and name != "unicode-no-locale-mangles":
            assert stream(result, name_of).hex() == str(pct[key])
    if "stdout_bytes" in pct:
        assert len(stdout) == pct["stdout_bytes"]
    if "seconds_max" in pct:
        assert seconds(result) <= pct["seconds_max"]
    for text in [expected["msg_contains"]] if isinstance(expected.get("msg_contains"), str) else expected.get("msg_contains", []):
        here = {"102": str(guests.numbers[102]), "pve1": guests.name, "name of the owning node": "othernode"}
        assert here.get(text, text) in result["msg"]
    if result["rc"] == 0 and name != "stderr-over-2mib-no-pty" and "stderr_hex" not in pct:
        assert result["stderr"] == ""


def test_the_number_of_characters_survives(outcomes):
    assert outcomes["args-e2big-after-locale-decode"][0]["stdout"] == "120000\n"  # bytes, to dash


def test_reading_stdin_leaves_the_file_empty(outcomes, guests):
    assert outcomes["stdin-empty"][0]["rc"] == 0
    assert guests.inside("stat -c %s /root/empty", guests.numbers[100]) == b"0\n"


def test_much_on_stderr_is_whole(outcomes):
    assert len(outcomes["stderr-over-2mib-no-pty"][0]["stderr"]) == 4000000


@pytest.fixture
def execute(ansible, guests):
    """Return a function that runs one task of the module in guest 100 and returns its result."""

    def run(become_user=None, environment=None, **arguments):
        arguments = live.unsafe({"vmid": guests.numbers[100], **arguments})
        task = {"name": "x", "kpro.sglang.proxmox_lxc_exec": arguments, "ignore_errors": True}
        if environment:
            task["environment"] = environment
        host = "node"
        if become_user:
            ansible.hosts["operator"] = {**ansible.hosts["node"], "ansible_user": become_user}
            host = "operator"
        return ansible.play(host, [task]).of("x")

    return run


def test_words_of_the_command_are_never_options_of_pct(execute):
    """args-missing-double-dash, args-option-eaten-silently, args-keep-env-swallows-vmid"""
    assert execute(argv=["ls", "-la", "/etc/hostname"])["stdout"].endswith("/etc/hostname")
    assert execute(argv=["echo", "-k", "0", "hi"])["stdout"] == "-k 0 hi"
    assert execute(argv=["env", "--keep-env"])["rc"] == 125
    assert execute(argv=["--", "id"])["rc"] == 127


def test_refused_before_anything_runs(execute):
    """args-empty-command, args-bad-vmid, args-too-long-single"""
    assert "argv is empty" in execute(argv=[])["msg"]
    assert "vmid" in execute(argv=["id"], vmid="abc")["msg"]
    assert "vmid is 5" in execute(argv=["id"], vmid=5)["msg"]
    case = CASES["args-too-long-single"]
    result = execute(argv=[word(part) for part in case["input"]["argv"]])
    assert result["failed"]
    assert case["module"]["msg_contains"] in result["msg"]
    assert result["rc"] is None


def test_complaints_about_the_configuration_are_warnings(execute, guests):
    """conf-parse-warning-on-stderr"""
    path = guests.configuration(guests.numbers[100])
    before = guests.read(path)
    try:
        guests.write(path, CASES["conf-parse-warning-on-stderr"]["input"]["conf_line"] + "\n" + before)
        result = execute(argv=["echo", "hi"])
    finally:
        guests.write(path, before)
    assert (result["rc"], result["stdout"], result["stderr"]) == (0, "hi", "")
    assert any("foo" in text for text in result["warnings"])


def test_programs_in_usr_local_bin_are_found(execute, guests):
    """rc-127-local-bin"""
    guests.inside("printf '#!/bin/sh\\necho uv\\n' > /usr/local/bin/uv; chmod 755 /usr/local/bin/uv", guests.numbers[100])
    assert execute(argv=CASES["rc-127-local-bin"]["input"]["argv"])["stdout"] == "uv"


def test_a_held_lock_does_not_matter(execute, guests):
    """ct-flock-held: running a command takes no lock, and no transfer of ours uses push."""
    script = 'mkdir -p /run/lock/lxc; exec flock "$1" sleep 30 </dev/null >/dev/null 2>&1 &'
    guests.sh(script, f"/run/lock/lxc/pve-config-{guests.numbers[100]}.lock")
    assert execute(argv=["true"])["rc"] == 0


def test_environment_and_folder(execute):
    """env-clear-has-no-home, cwd-inherited"""
    result = execute(argv=["sh", "-c", 'echo "HOME=$HOME LANG=$LANG"'], environment={"HOME": "/nowhere", "LANG": "de_DE"})
    assert result["stdout"] + "\n" == CASES["env-clear-has-no-home"]["module"]["stdout"]
    assert execute(argv=["pwd"])["stdout"] == "/root"
    assert execute(argv=["pwd"], chdir="/usr/lib")["stdout"] == "/usr/lib"


def test_user(execute, guests):
    """run-as-user"""
    guests.inside("id sglang >/dev/null 2>&1 || useradd -m sglang", guests.numbers[100])
    result = execute(argv=["sh", "-c", "id -un; echo $HOME; pwd"], user="sglang")
    assert result["stdout_lines"] == ["sglang", "/home/sglang", "/home/sglang"]


def test_never_a_terminal(execute):
    """tty-merges-streams"""
    result = execute(argv=CASES["tty-merges-streams"]["input"]["argv"], strip_empty_ends=False)
    expected = CASES["tty-merges-streams"]["module"]
    assert (result["rc"], result["stdout"], result["stderr"]) == (expected["rc"], expected["stdout"], expected["stderr"])


def test_parallel(ansible, guests):
    """parallel-8"""
    for index in range(8):
        ansible.hosts[f"node{index}"] = ansible.hosts["node"]
    task = {
        "name": "x",
        "kpro.sglang.proxmox_lxc_exec": {"vmid": guests.numbers[100], "argv": ["sh", "-c", "echo $0", "{{ inventory_hostname }}"]},
    }
    run = ansible.play("node?", [task], forks=8)
    for index in range(8):
        assert run.of("x", f"node{index}")["stdout"] == f"node{index}"


def test_rights(execute, guests):
    """not-root, pct-not-in-path-non-root, sudo-needs-password: sudo is a double (live.py), the login is a real one."""
    guests.sh("touch /etc/kpro-sudoers")
    result = execute(become_user=live.LOGIN, argv=["id", "-un"], node_become=True)
    assert (result.get("rc"), result.get("stdout")) == (0, "root"), result
    assert execute(become_user=live.LOGIN, argv=["printf", "é"], node_become=True)["stdout"] == "é"
    guests.sh("rm /etc/kpro-sudoers")
    result = execute(become_user=live.LOGIN, argv=["id"], node_become=True)
    assert result["failure"] == "not_permitted"
    assert "sudo: a password is required" in result["msg"]
    result = execute(become_user=live.LOGIN, argv=["id"])
    assert result["failure"] == "not_permitted"
    assert "please run as root" in result["msg"]
    assert "sudo" in result["msg"]


def test_frozen(execute, guests):
    """ct-frozen"""
    case = CASES["ct-frozen"]
    result = execute(vmid=guests.numbers[105], argv=["id"], timeout=case["input"]["module_options"]["timeout"])
    assert result["failure"] == "guest_frozen"
    assert result["rc"] is None
    assert seconds(result) <= case["module"]["seconds_max"]
