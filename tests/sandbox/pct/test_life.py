"""The life of a guest: create, start, change while it runs and while it does not, copy files, stop, destroy."""

from __future__ import annotations

import hashlib
import json
import os

import pytest

VMID, PRIVILEGED, ABSENT = "9110", "9111", "9119"
WORK = "/root/kpro-pct-cases"
STORAGE = "kprotest"
DEVICE = "/dev/kpro-pct-test"


def well(done):
    """The output of a command that succeeded and said nothing on stderr."""
    assert (done.returncode, done.stderr) == (0, b""), done
    return done.stdout.decode()


def refused(done, rc, text):
    assert (done.returncode, done.stderr.decode(), done.stdout) == (rc, text, b"")


@pytest.fixture(scope="module")
def guest(plain_node):
    """A started unprivileged guest with a device, a mount point and a network device."""
    node = plain_node
    clean(node, VMID)
    node.sh('mkdir -p "$1/models"; echo weights > "$1/models/w"', WORK)
    node.sh('rm -f "$1" "$1-2"; mknod "$1" c 1 7; mknod "$1-2" c 1 7', DEVICE)
    try:
        options = ["--hostname", "life", "--memory", "512", "--features", "nesting=1", "--tags", "b;a", "--swap", "0", "--storage", STORAGE]
        options += ["--dev0", f"{DEVICE},mode=0640,gid=44", "--mp0", f"{WORK}/models,mp=/models,ro=1", "--net0", "name=eth0,ip=manual"]
        made = node.pct("create", VMID, node.template(), *options)
        assert made.returncode == 0, made.stderr
        assert made.stderr == b"" and b"extracting archive" in made.stdout and b"Total bytes read: " in made.stdout
        well(node.pct("start", VMID))
        yield node
    finally:
        clean(node, VMID)
        node.sh('rm -f "$1" "$1-2"', DEVICE)


def clean(node, vmid):
    node.node.run(["sh", "-c", 'pct unlock "$1"; pct destroy "$1" --force 1', "sh", vmid])


def test_created_guest(guest):
    shown = dict(line.split(": ", 1) for line in well(guest.pct("config", VMID)).splitlines())
    assert (shown["unprivileged"], shown["ostype"], shown["tags"], shown["arch"]) == ("1", "debian", "a;b", "amd64")
    assert shown["net0"].startswith("name=eth0,hwaddr=BC:24:11:") and shown["net0"].endswith(",ip=manual,type=veth")
    assert shown["rootfs"] == f"{STORAGE}:{VMID}/subvol-{VMID}-disk-0.subvol,size=4G"
    ids = json.loads(guest.read("/etc/pve/.vmlist"))["ids"]
    assert ids[VMID] == {"node": guest.name, "type": "lxc", "version": 1}
    refused(guest.pct("create", VMID, guest.template()), 2, f"CT {VMID} already exists on node '{guest.name}'\n")


def test_systemd_comes_up_in_a_guest_without_privileges(guest):
    state = "s=$(systemctl is-system-running 2>/dev/null || true)"
    wait = f"for i in $(seq 300); do {state}; case $s in running|degraded) break;; esac; sleep 0.2; done"
    assert guest.inside(f"{wait}; echo $s; systemctl --failed --no-legend --plain", VMID) == b"running\n"
    answer = guest.inside("hostname; getent hosts life >/dev/null && cat /proc/self/uid_map", VMID)
    assert answer.split() == [b"life", b"0", b"100000", b"65536"]


def test_device_and_mount_point(guest):
    assert guest.inside(f"stat -c '%F %t:%T %a %u %g' {DEVICE}; cat /models/w", VMID) == b"character special file 1:7 640 0 44\nweights\n"
    done = guest.pct("exec", VMID, "--", "sh", "-c", "touch /models/x")
    assert done.returncode != 0 and b"Read-only file system" in done.stderr


def test_commands_in_a_guest_start_with_signals_as_they_should_be(guest):
    """pct adds none to the signals that its caller ignores (Python itself ignores SIGPIPE and SIGXFSZ)."""
    own = guest.node.run(["grep", "SigIgn", "/proc/self/status"]).stdout
    assert guest.inside("grep SigIgn /proc/self/status", VMID).split() == own.split()


def test_changes_of_a_running_guest(guest):
    well(guest.pct("set", VMID, "--memory", "768", "--description", "line 1\nline 2", "--cores", "1"))
    limit = "/sys/fs/cgroup/memory/memory.limit_in_bytes"
    if guest.node.run(["test", "-e", limit]).returncode == 0:
        assert int(guest.inside(f"cat {limit}", VMID)) == 768 * 2**20
    well(guest.pct("set", VMID, "--dev1", f"{DEVICE}-2,mode=0600,uid=33", "--mp1", f"{WORK}/models,mp=/opt/more"))
    assert guest.inside(f"stat -c '%t:%T %a %u' {DEVICE}-2; cat /opt/more/w", VMID) == b"1:7 600 33\nweights\n"
    well(guest.pct("set", VMID, "--features", "nesting=1,keyctl=1", "--delete", "mp1"))
    pending = well(guest.pct("pending", VMID)).splitlines()
    assert {"cur features: nesting=1", "new features: nesting=1,keyctl=1", f"del mp1: {WORK}/models,mp=/opt/more"} <= set(pending)
    assert "features: nesting=1,keyctl=1" in well(guest.pct("config", VMID)).splitlines()
    assert "features: nesting=1" in well(guest.pct("config", VMID, "--current", "1")).splitlines()
    assert "mp1:" not in well(guest.pct("config", VMID))


def test_refused_changes(guest):
    before = guest.read(guest.configuration(VMID))
    usage = "pct set <vmid> [OPTIONS]\n"
    refused(guest.pct("set", VMID), 2, "400 no options specified\n" + usage)
    refused(guest.pct("set", VMID, "--dev5", "/dev/nonesuch"), 2, "Device /dev/nonesuch does not exist\n")
    refused(guest.pct("set", VMID, "--dev5", "/dev/pts"), 2, "/dev/pts is not a device\n")
    refused(guest.pct("set", VMID, "--unprivileged", "0"), 255, "unable to modify read-only option: 'unprivileged'\n")
    refused(guest.pct("set", VMID, "--delete", "memory"), 255, "unable to delete required option 'memory'\n")
    refused(guest.pct("set", VMID, "--memory", "1024", "--digest", "0" * 40), 255,
            "detected modified configuration - file changed by other user? Try again.\n")
    assert guest.read(guest.configuration(VMID)) == before
    absent = guest.pct("set", VMID, "--delete", "dev7")
    assert (absent.returncode, absent.stderr) == (0, b"cannot delete 'dev7' - not set in current configuration!\n")
    digest = hashlib.sha1(guest.read(guest.configuration(VMID)).encode()).hexdigest()
    well(guest.pct("set", VMID, "--onboot", "yes", "--digest", digest))
    assert "onboot: 1" in well(guest.pct("config", VMID)).splitlines()


def test_files_in_and_out(guest):
    content = os.urandom(3_000_000)
    guest.sh('cat > "$1/blob"', WORK, stdin=content)
    well(guest.pct("push", VMID, "blob", "root/it's $(a) blob", "--perms", "0600", "--user", "daemon", "--group", "1"))
    assert guest.inside("""stat -c '%a %U %g' "/root/it's \\$(a) blob" """, VMID) == b"600 daemon 1\n"
    well(guest.pct("pull", VMID, "/root/it's $(a) blob", "back"))
    assert guest.sh('cat "$1/back"', WORK).stdout == content
    for words, text in (
        (["blob", "/none/f"], "failed to create file: No such file or directory\n"),
        (["blob", "/root"], "failed to create file: Is a directory\n"),
        (["blob", "/root/n", "--user", "nobodyatall"], "failed to get uid for: nobodyatall\n"),
        (["blob", "/root/n", "--perms", "09z"], "invalid mode: '09z'\n"),
    ):
        refused(guest.pct("push", VMID, *words), 0, text)


def test_state(guest):
    assert well(guest.pct("status", VMID)) == "status: running\n"
    figures = dict(line.split(": ", 1) for line in well(guest.pct("status", VMID, "--verbose")).splitlines())
    assert list(figures) == sorted(figures)
    assert (figures["name"], figures["status"], figures["type"], figures["vmid"]) == ("life", "running", "lxc", VMID)
    assert int(figures["pid"]) > 1 and int(figures["mem"]) > 2**20
    refused(guest.pct("start", VMID), 255, f"CT {VMID} already running\n")
    refused(guest.pct("destroy", VMID), 255, f"unable to destroy CT {VMID} - container is running\n")


def test_restart_takes_what_was_pending(guest):
    well(guest.pct("reboot", VMID))
    configuration = guest.read(guest.configuration(VMID))
    assert "[pve:pending]" not in configuration and "mp1:" not in configuration and "keyctl=1" in configuration
    assert guest.inside(f"stat -c '%a %u' {DEVICE}-2; test ! -e /opt/more/w", VMID) == b"600 33\n"


def test_stopped_guest(guest):
    well(guest.pct("shutdown", VMID, "--timeout", "60"))
    assert well(guest.pct("status", VMID)) == "status: stopped\n"
    for command, text in (("stop", "CT"), ("shutdown", "CT"), ("reboot", "VM")):
        refused(guest.pct(command, VMID), 255, f"{text} {VMID} not running\n")
    done = guest.pct("pull", VMID, "/etc/hostname", "x")
    assert done.returncode == 255 and done.stderr.startswith(b"can only pull files from a running VM at ")
    text = guest.read(guest.configuration(VMID))
    guest.write(guest.configuration(VMID), text + "dev9: /dev/nonesuch\n")
    refused(guest.pct("start", VMID), 2, "Device /dev/nonesuch does not exist\n")
    guest.write(guest.configuration(VMID), text + "mp9: /nonesuch,mp=/x\n")
    refused(guest.pct("start", VMID), 255, f"directory '/nonesuch' does not exist\nstartup for container '{VMID}' failed\n")
    guest.write(guest.configuration(VMID), text + "lock: backup\n")
    for command in ("start", "destroy"):
        refused(guest.pct(command, VMID), 255, "CT is locked (backup)\n")
    well(guest.pct("unlock", VMID))
    assert guest.read(guest.configuration(VMID)) == text
    well(guest.pct("start", VMID))
    well(guest.pct("stop", VMID))


def test_privileged_guest_and_its_end(plain_node):
    node = plain_node
    clean(node, PRIVILEGED)
    try:
        made = node.pct("create", PRIVILEGED, node.template(), "--unprivileged", "0", "--dev0", "/dev/full,mode=0666", "--start", "1")
        assert made.returncode == 0
        assert b"You may need to enable nesting.\nTask finished with 1 warning(s)!\n" in made.stderr
        assert node.inside("read a _ < /proc/self/uid_map; echo $a; head -c 1 /dev/full | od -An -tx1", PRIVILEGED).split() == [b"0", b"00"]
        assert node.inside("hostname", PRIVILEGED).decode() == f"CT{PRIVILEGED}\n"
        well(node.pct("stop", PRIVILEGED))
        well(node.pct("destroy", PRIVILEGED))
        refused(node.pct("status", PRIVILEGED), 2, f"Configuration file 'nodes/{node.name}/lxc/{PRIVILEGED}.conf' does not exist\n")
        node.sh('test ! -e "/var/lib/lxc/$1" && test ! -e "/var/lib/vz/images/$1"', PRIVILEGED)
        assert PRIVILEGED not in json.loads(node.read("/etc/pve/.vmlist"))["ids"]
    finally:
        clean(node, PRIVILEGED)


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("local:vztmpl/none.tar.zst", "volume 'local:vztmpl/none.tar.zst' does not exist"),
        ("nowhere:vztmpl/none.tar.zst", "storage 'nowhere' does not exist"),
    ],
)
def test_failed_creation_leaves_nothing(plain_node, template, reason):
    refused(plain_node.pct("create", ABSENT, template), 255, f"unable to create CT {ABSENT} - {reason}\n")
    plain_node.sh('test ! -e "$1" && test ! -e "/var/lib/vz/images/$2"', plain_node.configuration(ABSENT), ABSENT)
