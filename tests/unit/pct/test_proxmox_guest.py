"""Whole transactions of the module against a scripted pct: a small double that keeps a configuration file and answers the probe."""

from __future__ import annotations

import importlib
import json
import re
import shlex

import pytest

from ansible_collections.kpro.sglang.plugins.module_utils._pct import guest_inside, guest_node, guest_pct, guest_reasons
from ansible_collections.kpro.sglang.plugins.module_utils._pct.conf import GuestConf, digest
from ansible_collections.kpro.sglang.plugins.module_utils._process.runner import Completed

proxmox_guest = importlib.import_module("ansible_collections.kpro.sglang.plugins.modules.proxmox_guest")

CONF = "cores: 2\nhostname: sglang-1\nmemory: 4096\nrootfs: local:129/vm-129-disk-0.raw,size=8G\nunprivileged: 1\n"
TEMPLATE = "local:vztmpl/debian-12.tar.zst"
LIVE = ("memory", "swap", "cores", "tags", "description", "onboot", "hostname")


class Node:
    """The double. ``say`` maps a sub-command to (rc, stderr) for failures; ``calls`` is what was run, ``scripts`` what was sent in."""

    def __init__(self, root):
        self.root = root
        self.running = False
        self.python = True
        self.resolves = True
        self.systems = ["running"]
        self.boot = 1
        self.failed = []
        self.say = {}
        self.calls = []
        self.scripts = []
        (root / "pve/nodes/kpro5/lxc").mkdir(parents=True)
        (root / "pve/local").symlink_to("nodes/kpro5")
        (root / "pve/lxc").symlink_to("nodes/kpro5/lxc")

    @property
    def file(self):
        return self.root / "pve/lxc/129.conf"

    def guest(self, text=CONF, running=False):
        self.file.write_text(text)
        self.running = running

    def vmlist(self, **entry):
        (self.root / "pve/.vmlist").write_text(json.dumps({"version": 3, "ids": {"129": entry}}))

    def commands(self):
        return [call[0] for call in self.calls]

    def run(self, argv, timeout, stdin=b"", env=None, cwd=None, **_more):
        assert argv[0] == "/usr/sbin/pct" and env["LC_ALL"] == "C.UTF-8" and timeout > 0
        arguments = argv[1:]
        self.calls.append(arguments)
        rc, out, err = 0, "", ""
        if arguments[0] in self.say and arguments[0] != "set":
            rc, err = self.say[arguments[0]]
        else:
            rc, out, err = getattr(self, arguments[0])(arguments[1:], stdin.decode())
        return Completed(argv, rc, out.encode(), err.encode(), rc == 124, False, 0.0)

    def status(self, _arguments, _stdin):
        return 0, f"status: {'running' if self.running else 'stopped'}\n", ""

    def _options(self, arguments):
        return dict(zip((name[2:] for name in arguments[::2]), arguments[1::2], strict=True))

    def create(self, arguments, _stdin):
        conf = GuestConf()
        conf.main.keys = {"memory": "512", "swap": "512", "arch": "amd64", "ostype": "debian", "rootfs": "local:129/x.raw,size=4G"}
        for key, value in self._options(arguments[2:]).items():
            if key == "rootfs":
                value = "{}:129/x.raw,size={}G".format(*value.split(":"))
            conf.main.keys[key] = value
        conf.main.description = conf.main.keys.pop("description", None)
        self.file.write_text(conf.render())
        return 0, "extracting archive\n", "WARN: Systemd 252 detected. You may need to enable nesting.\nTask finished with 1 warning(s)!\n"

    def set(self, arguments, _stdin):
        conf = GuestConf.parse(self.file.read_text())
        options = self._options(arguments[1:])
        if options.pop("digest") != digest(self.file.read_bytes()):
            return 255, "", "detected modified configuration - file changed by other user? Try again.\n"
        for key in filter(None, options.pop("delete", "").split(",")):
            conf.main.keys.pop(key, None)
        for key, value in options.items():
            if key == "description":
                conf.main.description = value
            elif self.running and key not in LIVE and not key.startswith("net"):
                conf.pending.keys[key] = value
            else:
                conf.main.keys[key] = value
        if self.say.get("set", (0, "", "saved"))[-1] == "saved":
            self.file.write_text(conf.render())
        return self.say["set"][0] if "set" in self.say else 0, "", self.say["set"][1] if "set" in self.say else ""

    def resize(self, arguments, _stdin):
        self.file.write_text(self.file.read_text().replace("size=8G", f"size={arguments[2]}"))
        return 0, "", ""

    def start(self, _arguments, _stdin):
        self.running = True
        self.boot += 1
        conf = GuestConf.parse(self.file.read_text())
        conf.main.keys = conf.merged()
        conf.pending.keys = {}
        self.file.write_text(conf.render())
        return 0, "", ""

    def shutdown(self, _arguments, _stdin):
        self.running = False
        return 0, "", ""

    def exec(self, arguments, stdin):
        assert arguments[:5] == ["129", "--keep-env", "0", "--", "timeout"]
        assert self.running, "nothing is run in a stopped guest"
        self.scripts.append(stdin)
        if "apt-get" in stdin:
            self.python = True
            return 0, "", ""
        if "127.0.1.1" in stdin:
            self.resolves = True
            return 0, "", ""
        system = self.systems.pop(0) if len(self.systems) > 1 else self.systems[0]
        lines = ["kpro-probe=1", "kpro-init=systemd", f"kpro-system={system}", f"kpro-boot={self.boot}", "kpro-address=10.1.230.172"]
        lines += ["kpro-python=/usr/bin/python3"] * self.python + ["kpro-resolves=1"] * self.resolves
        lines += [f"kpro-failed={unit}" for unit in self.failed]
        return 0, "\n".join(lines) + "\n", ""


@pytest.fixture
def node(tmp_path, monkeypatch):
    double = Node(tmp_path)
    monkeypatch.setattr(guest_node, "PVE", str(tmp_path / "pve"))
    monkeypatch.setattr(guest_node, "LOCKS", str(tmp_path / "locks"))
    monkeypatch.setattr(guest_node, "LOCK_WAIT", 0.0)
    monkeypatch.setattr(guest_reasons, "STATE", str(tmp_path / "state"))
    monkeypatch.setattr(guest_node, "CGROUPS", str(tmp_path / "cgroup"))
    monkeypatch.setattr(guest_inside, "_PAUSE", 0)
    monkeypatch.setattr(guest_inside, "_FROZEN", 0.0)
    monkeypatch.setattr(guest_pct, "run", double.run)
    return double


@pytest.fixture
def guest(node, run_module):
    def call(check=False, **options):
        return run_module(proxmox_guest, dict({"vmid": 129}, **options), check=check, diff=True)

    return call


# Create


def test_creates_starts_and_brings_python(node, guest):
    node.python = node.resolves = False
    result = guest(
        state="started", hostname="sglang-1", ostemplate=TEMPLATE, storage="tank", rootfs_gib=16, memory_mib=8192, features=["nesting"],
        net=["bridge=vmbr0,ip=dhcp"], raw_lxc=["lxc.prlimit.memlock: unlimited"], bootstrap_python=True, hosts_entry=True,
    )  # fmt: skip
    assert result["failed"] is False and result["changed"] is True
    assert node.commands() == ["create", "start", "exec", "exec", "exec", "exec"]
    assert node.calls[0][:3] == ["create", "129", TEMPLATE]
    assert shlex.join(node.calls[0][3:]) == (
        "--features nesting=1 --hostname sglang-1 --memory 8192 --net0 bridge=vmbr0,ip=dhcp,name=eth0 --rootfs tank:16"
    )
    got = result["guest"]
    assert (got["node"], got["created"], got["started"], got["running"], got["python_installed"]) == ("kpro5", True, True, True, True)
    assert got["python"] == "/usr/bin/python3" and got["addresses"] == ["10.1.230.172"] and got["hosts_entry_added"]
    assert got["conf"]["lxc"] == ["lxc.prlimit.memlock: unlimited"]
    assert result["diff"]["before"] == "" and result["diff"]["after"] == node.file.read_text()


def test_a_second_call_changes_nothing(node, guest):
    wanted = dict(state="started", ostemplate=TEMPLATE, memory_mib=8192, features=["nesting"])
    wanted.update(net=["bridge=vmbr0,ip=dhcp"], tags=["b", "a"])
    guest(**wanted)
    before = node.file.read_bytes()
    node.calls.clear()
    result = guest(**wanted)
    assert result["changed"] is False and result["guest"]["changes"] == [] and node.file.read_bytes() == before
    assert node.commands() == ["status", "exec"]


def test_check_mode_shows_the_guest_to_be_created(node, guest):
    result = guest(check=True, state="started", ostemplate=TEMPLATE, memory_mib=8192, raw_lxc=["lxc.a.b: c"], bootstrap_python=True)
    assert result["changed"] is True and node.calls == [] and not node.file.exists()
    assert "memory: 8192\n" in result["diff"]["after"] and result["diff"]["after"].endswith("lxc.a.b: c\n")
    got = result["guest"]
    assert (got["exists"], got["created"], got["started"], got["python"]) == (False, True, True, None)


def test_initial_values_are_for_a_new_guest_only(node, guest):
    wanted = {"ostemplate": TEMPLATE, "memory_mib": 1024, "initial": {"hostname": "new", "memory_mib": 2048, "features": ["nesting"]}}
    guest(**wanted)
    assert shlex.join(node.calls[0][3:]) == "--features nesting=1 --hostname new --memory 1024"
    node.guest(CONF.replace("4096", "1024"))
    assert guest(**wanted)["changed"] is False
    assert "features" in guest(initial={"features": ["nestling"]})["msg"]


def test_missing_guest_without_a_template(node, guest):
    result = guest(memory_mib=512)
    assert result["failed"] and "ostemplate" in result["msg"] and result["failure"] == "guest_missing"
    assert node.calls == [] and result["changed"] is False


@pytest.mark.parametrize(
    "entry, words, failure",
    [
        ({"node": "othernode", "type": "lxc"}, "othernode", "guest_on_other_node"),
        ({"node": "kpro5", "type": "qemu"}, "virtual machine", "guest_missing"),
    ],
)
def test_a_guest_that_is_elsewhere(node, guest, entry, words, failure):
    node.vmlist(**entry)
    result = guest(ostemplate=TEMPLATE)
    assert result["failed"] and words in result["msg"] and result["failure"] == failure and node.calls == []


def test_a_failed_creation_carries_the_words_of_pct(node, guest):
    node.say["create"] = (255, "unable to create CT 129 - storage 'tank' does not exist\n")
    result = guest(ostemplate=TEMPLATE)
    assert result["failed"] and "storage 'tank' does not exist" in result["msg"]
    assert result["changed"] is False and result["guest"]["created"] is False and "rc" not in result


# Change


def test_live_change_is_not_a_restart(node, guest):
    node.guest(running=True)
    result = guest(memory_mib=8192, cores=2)
    assert result["changed"] and result["guest"]["changes"] == [{"key": "memory", "before": "4096", "after": "8192"}]
    assert result["guest"]["restart_needed"] == [] and "shutdown" not in node.commands()
    assert "memory: 8192" in result["diff"]["after"] and "memory: 4096" in result["diff"]["before"]


def test_pending_change_is_reported_and_reported_again(node, guest):
    node.guest(running=True)
    first, second = guest(features=["nesting"]), guest(features=["nesting"])
    assert first["changed"] is True and second["changed"] is False
    for result in (first, second):
        assert result["guest"]["restart_needed"] == ["features: nesting=1 takes effect at the next start"]
    assert "shutdown" not in node.commands() and "start" not in node.commands()


def test_restart_when_needed_and_allowed(node, guest):
    node.guest(running=True)
    result = guest(features=["nesting"], restart="when_needed")
    assert node.commands() == ["status", "set", "shutdown", "start", "exec"]
    assert result["guest"]["restarted"] and result["guest"]["restart_needed"] == [] and "features: nesting=1" in result["diff"]["after"]
    assert guest(features=["nesting"], restart="when_needed")["guest"]["restarted"] is False


def test_raw_lines_on_a_running_guest_are_remembered_until_it_starts_anew(node, guest):
    node.guest(running=True)
    wanted = {"raw_lxc": ["lxc.prlimit.memlock: unlimited"]}
    for _again in range(2):
        assert guest(**wanted)["guest"]["restart_needed"] == ["lxc.prlimit.memlock: unlimited takes effect at the next start"]
    node.boot += 1  # restarted by hand
    assert guest(**wanted)["guest"]["restart_needed"] == []


def test_remembered_reason_restarts_when_allowed_later(node, guest):
    node.guest(running=True)
    guest(raw_lxc=["lxc.prlimit.memlock: unlimited"])
    result = guest(raw_lxc=["lxc.prlimit.memlock: unlimited"], restart="when_needed")
    assert result["changed"] and result["guest"]["restarted"] and not result["guest"]["restart_needed"]


def test_raw_lines_leave_everything_else_alone(node, guest):
    node.guest("#by hand\n" + CONF + "lxc.idmap: u 0 100000 65536\n\n[snap1]\nmemory: 1\n")
    guest(raw_lxc=["lxc.prlimit.memlock: unlimited"])
    added = "lxc.idmap: u 0 100000 65536\nlxc.prlimit.memlock: unlimited\n\n"
    assert node.file.read_text() == "#by hand\n" + CONF + added + "[snap1]\nmemory: 1\n"
    assert [entry.name for entry in node.file.parent.iterdir()] == ["129.conf"]


def test_check_mode_leaves_the_file_untouched(node, guest):
    node.guest(running=True)
    result = guest(check=True, memory_mib=8192, features=["nesting"], raw_lxc=["lxc.a.b: c"], rootfs_gib=9)
    assert node.file.read_text() == CONF and node.commands() == ["status", "exec"]
    after = result["diff"]["after"]
    assert result["changed"] and "memory: 8192" in after and "[pve:pending]\nfeatures: nesting=1" in after
    assert len(result["guest"]["restart_needed"]) == 2


def test_pct_that_saves_and_then_fails_is_told_as_it_is(node, guest):
    """case set-fails-after-saving."""
    node.guest()
    node.say["set"] = (2, "bridge 'vmbr0' does not exist\n", "saved")
    result = guest(memory_mib=8192)
    assert result["failed"] and result["changed"] is True and "bridge 'vmbr0' does not exist" in result["msg"]
    assert "memory: 8192" in result["diff"]["after"]


def test_failed_hotplug_of_a_device_waits_for_the_restart(node, guest, monkeypatch):
    monkeypatch.setattr(guest_node, "_is_device", lambda path: True)
    node.guest(running=True)
    node.say["set"] = (1, "400 Parameter verification failed.\ndev0: unable to hotplug dev0: no such file\n", "saved")
    result = guest(devices=["/dev/nvidia0"])
    assert result["failed"] is False and result["guest"]["restart_needed"] == ["dev0: /dev/nvidia0 takes effect at the next start"]


def test_concurrent_change_is_noticed(node, guest, monkeypatch):
    node.guest()
    node.say["set"] = (255, "detected modified configuration - file changed by other user? Try again.\n", "lost")
    result = guest(memory_mib=8192)
    assert result["failed"] and "run the task again" in result["msg"] and result["changed"] is False


def test_a_change_that_pct_does_not_take_is_a_failure(node, guest):
    node.guest()
    node.say["set"] = (0, "", "lost")
    result = guest(memory_mib=8192)
    assert result["failed"] and "memory" in result["msg"] and result["changed"] is False


def test_a_resize_that_fails_with_exit_0(node, guest):
    node.guest()
    node.say["resize"] = (0, "unable to shrink disk size\n")
    result = guest(rootfs_gib=16)
    assert result["failed"] and "unable to shrink" in result["msg"]
    del node.say["resize"]
    assert guest(rootfs_gib=16)["changed"] is True


@pytest.mark.parametrize("options", [{"memory_mib": 512}, {"state": "started"}, {"memory_mib": 512, "_check": True}])
def test_locked_guest_is_refused(node, guest, options):
    node.guest(CONF + "lock: backup\n")
    check = options.pop("_check", False)
    result = guest(check=check, **options)
    assert result["failed"] and result["failure"] == "guest_locked" and "(backup)" in result["msg"]
    assert not {"set", "start", "unlock"} & set(node.commands())


def test_locked_guest_that_is_right_already_is_no_failure(node, guest):
    node.guest(CONF + "lock: backup\n", running=True)
    assert guest(memory_mib=4096, state="started")["changed"] is False


def test_lock_held_by_somebody_else(node, guest):
    import fcntl

    node.guest()
    (node.root / "locks").mkdir()
    with open(node.root / "locks/pve-config-129.lock", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        result = guest(raw_lxc=["lxc.a.b: c"])
    assert result["failed"] and result["failure"] == "guest_locked" and node.file.read_text() == CONF


def test_devices_and_directories_that_the_node_lacks(node, guest, tmp_path):
    node.guest()
    result = guest(devices=["/dev/nvidia9", "/dev/null"], mountpoints=[{"source": str(tmp_path / "nope"), "target": "/models"}])
    assert result["failed"] and "/dev/nvidia9 is no device node on kpro5" in result["msg"] and "nope does not exist" in result["msg"]
    assert node.file.read_text() == CONF
    result = guest(check=True, devices=["/dev/nvidia9"])
    assert result["failed"] is False


def test_symbolic_link_as_source(node, guest, tmp_path):
    node.guest()
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    result = guest(mountpoints=[{"source": str(tmp_path / "link"), "target": "/models"}])
    assert result["failed"] and f"write {tmp_path / 'real'}" in result["msg"]


# Power and inside


def test_start_of_a_running_guest_is_no_error(node, guest):
    """case start-already-running: somebody started it between our look and our call."""
    node.guest()
    node.say["status"] = (0, "")

    def start(_arguments, _stdin):
        node.running = True
        return 255, "", "CT 129 already running\n"

    node.start = start
    result = guest(state="started")
    assert result["failed"] is False and result["guest"]["started"] is False and result["changed"] is False


def test_failed_start(node, guest):
    node.guest()
    node.say["start"] = (255, "startup for container '129' failed\n")
    result = guest(state="started")
    assert result["failed"] and "startup for container '129' failed" in result["msg"]
    assert result["guest"]["started"] is False and result["changed"] is False


def test_stop_and_stop_again(node, guest):
    node.guest(running=True)
    first, second = guest(state="stopped"), guest(state="stopped")
    assert (first["changed"], first["guest"]["stopped"], first["guest"]["running"]) == (True, True, False)
    assert second["changed"] is False and node.commands() == ["status", "shutdown", "status"]


@pytest.mark.parametrize("state, running", [("started", False), ("stopped", True)])
def test_check_mode_of_power(node, guest, state, running):
    node.guest(running=running)
    result = guest(check=True, state=state)
    assert result["changed"] is True and node.commands() == ["status"] and result["guest"]["running"] is not running


def test_present_leaves_a_stopped_guest_stopped(node, guest):
    node.guest()
    assert guest()["guest"]["running"] is False and node.commands() == ["status"]


def test_template_is_not_started(node, guest):
    node.guest(CONF + "template: 1\n")
    assert "clone" in guest(state="started")["msg"]


def test_waits_until_systemd_has_booted(node, guest):
    node.guest()
    node.systems = ["offline", "initializing", "starting", "running"]
    assert guest(state="started")["guest"]["system"] == "running"
    assert node.commands().count("exec") == 4


def test_degraded_is_good_enough_and_names_its_units(node, guest, monkeypatch):
    from ansible.module_utils import basic

    warned = []
    monkeypatch.setattr(basic.AnsibleModule, "warn", lambda self, text, *_more, **_named: warned.append(text))
    node.guest(running=True)
    node.systems, node.failed = ["degraded"], ["sys-kernel-debug.mount"]
    result = guest()
    assert result["guest"]["failed_units"] == ["sys-kernel-debug.mount"] and result["changed"] is False
    assert any("sys-kernel-debug.mount" in text for text in warned)


def test_boot_that_never_ends(node, guest, monkeypatch):
    node.guest(running=True)
    node.systems = ["starting"]
    clock = iter(range(0, 1000, 50))
    monkeypatch.setattr(guest_inside.time, "monotonic", lambda: next(clock))
    result = guest(timeout=120)
    assert result["failed"] and result["failure"] == "timeout" and re.search("still starting after 120 seconds", result["msg"])


def test_rescue_shell_ends_the_wait(node, guest):
    node.guest(running=True)
    node.systems = ["maintenance"]
    assert "rescue" in guest()["msg"]


def test_guest_that_stops_while_booting(node, guest):
    node.guest(running=True)
    node.systems = ["starting"]
    answers = iter([None, (255, "container '129' not running!\n")])
    plain = node.exec

    def once(arguments, stdin):
        answer = next(answers)
        return plain(arguments, stdin) if answer is None else (answer[0], "", answer[1])

    node.exec = once
    result = guest()
    assert result["failed"] and "stopped again" in result["msg"] and result["failure"] == "guest_stopped"


@pytest.mark.parametrize(
    "path, text", [("freezer/lxc/129/freezer.state", "FROZEN\n"), ("lxc.payload.129/cgroup.events", "populated 1\nfrozen 1\n")]
)
def test_nothing_is_sent_into_a_frozen_guest(node, guest, path, text):
    node.guest(running=True)
    file = node.root / "cgroup" / path
    file.parent.mkdir(parents=True)
    file.write_text(text)
    result = guest()
    assert result["failed"] and result["failure"] == "guest_frozen" and node.commands() == ["status"]


def test_python_is_installed_only_where_it_is_missing(node, guest):
    node.guest(running=True)
    assert guest(bootstrap_python=True)["guest"]["python_installed"] is False
    node.python = False
    assert guest()["guest"]["python"] is None
    assert guest(check=True, bootstrap_python=True)["guest"]["python_installed"] is True and node.python is False
    result = guest(bootstrap_python=True)
    assert result["changed"] and result["guest"]["python_installed"] and result["guest"]["python"] == "/usr/bin/python3"


def test_without_waiting_a_guest_that_does_not_answer_is_no_silent_success(node, guest):
    node.guest(running=True)
    node.say["exec"] = (255, "container '129' not running!\n")
    assert guest(wait_for="nothing")["failed"] is False
    result = guest(wait_for="nothing", bootstrap_python=True)
    assert result["failed"] and result["failure"] == "guest_stopped" and "container '129' not running!" in result["msg"]


def test_failed_apt_is_shown_with_its_own_words(node, guest):
    node.guest(running=True)
    node.python = False
    plain = node.exec
    node.exec = lambda arguments, stdin: (
        (100, "", "E: Unable to locate package python3\n") if "apt-get" in stdin else plain(arguments, stdin)
    )
    result = guest(bootstrap_python=True)
    assert result["failed"] and "E: Unable to locate package python3" in result["msg"] and result["guest"]["python_installed"] is False


# The node


def test_not_root(node, guest):
    node.guest()
    node.say["status"] = (2, "please run as root\n")
    result = guest()
    assert result["failed"] and result["failure"] == "not_permitted" and "please run as root" in result["msg"]


def test_pct_is_not_there(node, guest, monkeypatch):
    node.guest()

    def missing(*_arguments, **_named):
        raise FileNotFoundError

    monkeypatch.setattr(guest_pct, "run", missing)
    result = guest()
    assert result["failure"] == "pct_missing" and "delegate_to" in result["msg"]


def test_no_proxmox_node(node, guest, monkeypatch):
    monkeypatch.setattr(guest_node, "PVE", "/nonexistent")
    assert guest()["failure"] == "cluster_unavailable"


def test_wrong_option_fails_before_anything_is_run(node, guest):
    node.guest()
    assert "memory_mib" in guest(memory_mib=1)["msg"] and node.calls == []


def test_long_complaints_keep_their_beginning_and_their_end():
    done = Completed(["pct"], 255, b"", b"".join(b"line %d\n" % number for number in range(9)), False, False, 0.0)
    assert guest_pct.own_words(done) == "line 0 / line 1 / … / line 7 / line 8"


def test_noise_is_no_failure_and_explains_none():
    noisy = b"perl: warning: Setting locale failed.\nvm 129 - unable to parse value of 'foo' - unknown setting 'foo'\n"
    noisy += b"CT is locked (backup)\n"
    done = Completed(["pct"], 255, b"", noisy, False, False, 0.0)
    assert guest_pct.own_words(done) == "CT is locked (backup)"
    assert guest_pct.failure_of(done) == "guest_locked"
    assert guest_pct.warnings_in(done) == ["vm 129 - unable to parse value of 'foo' - unknown setting 'foo'"]


def test_the_probe_is_a_script_that_runs(tmp_path):
    """The real script in a real shell: a stand-in for pct that runs what stands after ``--`` on this machine."""
    executable = tmp_path / "pct"
    executable.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n')
    executable.chmod(0o755)
    seen, done = guest_inside.look(guest_pct.Pct(129, str(executable)))
    assert done.rc == 0 and seen.answered and done.err == ""
    with open("/proc/1/comm") as comm, open("/proc/1/stat") as stat, open("/proc/sys/kernel/random/boot_id") as boot_id:
        assert seen.init == comm.read().strip()
        assert seen.boot == f"{boot_id.read().strip()}-{stat.read().rpartition(')')[2].split()[19]}"
