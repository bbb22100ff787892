"""Guests of the cases: their own numbers, made from the node's template and destroyed afterwards."""

from __future__ import annotations

import pathlib
import sys
import types

import pytest

# pytest imports test files by path, so a module beside them has to be found otherwise.
sys.path.insert(0, str(pathlib.Path(__file__).parent))

FIRST = 9100
OTHER_NODE = "othernode"
WORK = "/root/kpro-pct-cases"
# Volumes in memory: taking thousands of small files off a disk again can last longer than all the tests.
STORAGE, VOLUMES = "kprotest", "/run/kpro-pct-volumes"
ADD_STORAGE = """
mkdir -p "$2"
mountpoint -q "$2" || mount -t tmpfs -o mode=755,size=3g tmpfs "$2"
grep -qsx "dir: $1" /etc/pve/storage.cfg || printf 'dir: %s\\n\\tpath %s\\n\\tcontent rootdir\\n' "$1" "$2" >> /etc/pve/storage.cfg
"""
REMOVE_STORAGE = r"""
if mountpoint -q "$2"; then umount "$2"; fi
if test -d "$2"; then rmdir "$2"; fi
cfg=/etc/pve/storage.cfg
if test -e $cfg; then sed -i "/^dir: $1\$/,+2d" $cfg; test -s $cfg || rm $cfg; fi
"""


class Guests:
    """The guests that the cases call 100 to 105, as 9100 to 9105, on a node that they call pve1."""

    def __init__(self, node):
        self.node = node
        self.numbers = {case: FIRST + case - 100 for case in range(100, 106)}
        self.name = self.sh("uname -n").stdout.decode().strip().split(".")[0]

    def sh(self, script, *arguments, **options):
        """Run a shell script on the node as root; it must succeed."""
        done = self.node.run(["sh", "-ec", script, "sh", *map(str, arguments)], **options)
        assert done.returncode == 0, (script, done.stdout, done.stderr)
        return done

    def pct(self, *words, environment=(("LC_ALL", "C.UTF-8"),), cwd=WORK, stdin=b"", wrapper=()):
        """Run pct with exactly this environment plus PATH and HOME."""
        clean = ["env", "-i", "-C", cwd, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"]
        clean += [f"{name}={value}" for name, value in environment]
        return self.node.run([*clean, *wrapper, "pct", *words], stdin=stdin)

    def inside(self, script, vmid=FIRST):
        """Run a shell script in a guest; it must succeed."""
        done = self.pct("exec", str(vmid), "--", "sh", "-ec", script)
        assert done.returncode == 0, (script, done.stdout, done.stderr)
        return done.stdout

    def configuration(self, vmid):
        return f"/etc/pve/nodes/{self.name}/lxc/{vmid}.conf"

    def read(self, path):
        return self.sh('cat -- "$1"', path).stdout.decode()

    def write(self, path, text):
        self.sh('cat > "$1"', path, stdin=text.encode())

    def here(self, text):
        """Text of a case with this node's name and these guests' numbers."""
        for case, number in self.numbers.items():
            for place in ("{}.conf", "vm {} ", "CT {} ", "'{}'", "config-{}."):
                text = text.replace(place.format(case), place.format(number))
        return text.replace("nodes/pve1/", f"nodes/{self.name}/")

    def template(self):
        """Volume id of the node's first template."""
        script = "ls /var/lib/vz/template/cache | grep -E 'tar[.](zst|xz|gz)$' | head -n 1"
        return "local:vztmpl/" + self.sh(script).stdout.decode().strip()

    def make(self):
        self.sh(ADD_STORAGE, STORAGE, VOLUMES)
        for case in (100, 101, 104, 105):
            vmid = str(self.numbers[case])
            options = ["--hostname", f"case{case}", "--memory", "512", "--features", "nesting=1", "--storage", STORAGE]
            done = self.pct("create", vmid, self.template(), *options, cwd="/")
            assert done.returncode == 0, done.stderr
            if case != 101:
                done = self.pct("start", vmid, cwd="/")
                assert done.returncode == 0, done.stderr
        self.sh('sed -i "1i lock: backup" "$1"', self.configuration(self.numbers[104]))
        self.sh('lxc-freeze -n "$1"', self.numbers[105])
        other = f"/etc/pve/nodes/{OTHER_NODE}/lxc"
        self.sh('mkdir -p "$1"; printf "hostname: elsewhere\\nmemory: 512\\nostype: debian\\n" > "$1/$2.conf"', other, self.numbers[103])
        self.sh('mkdir -p "$1"; cd "$1"; echo payload > f; head -c 3145728 /dev/zero > f3MiB', WORK)

    def remove(self):
        for case in (100, 101, 104, 105):
            vmid = self.numbers[case]
            self.node.run(["sh", "-c", 'lxc-unfreeze -n "$1"; pct unlock "$1"; pct destroy "$1" --force 1', "sh", str(vmid)])
        script = 'rm -rf "$1"; cd /etc/pve/nodes; rm -f "$2/lxc/$3.conf"; rmdir -p "$2/lxc"; pct list'
        self.node.run(["sh", "-c", script, "sh", WORK, OTHER_NODE, str(self.numbers[103])])


@pytest.fixture(scope="module")
def plain_node(node):
    """The node without the guests of the cases."""
    guests = Guests(node)
    guests.sh('mkdir -p "$1"', WORK)
    guests.sh(ADD_STORAGE, STORAGE, VOLUMES)
    yield guests
    guests.sh(REMOVE_STORAGE, STORAGE, VOLUMES)
    guests.sh('rm -rf "$1"', WORK)


@pytest.fixture(scope="module")
def guests(node):
    made = Guests(node)
    made.remove()
    try:
        made.make()
        yield made
    finally:
        made.remove()
        made.sh(REMOVE_STORAGE, STORAGE, VOLUMES)


@pytest.fixture
def kept(guests):
    """Return a function that notes a guest's configuration file, to be put back after the test."""
    noted = {}

    def keep(vmid):
        path = guests.configuration(vmid)
        noted[path] = guests.read(path)
        return types.SimpleNamespace(path=path, text=noted[path])

    yield keep
    for path, text in noted.items():
        guests.write(path, text)
