"""The node itself: its mounts, its own /etc, /usr, /dev, /run, /root, its sshd and lxcfs.

The node sees this machine's files through overlays: what a role writes on the node stays in the node's folder, and the
programs that only a Proxmox node has (pct, nvidia-smi) exist only there.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import time

from . import namespaces, settings
from .shell import SandboxError, run, works


def node_run(*argv, **options):
    """Run a command inside the node as root and return CompletedProcess."""
    return run(*namespaces.enter_argv(*argv), **options)


def up():
    """Raise the node or mend what is missing of it. Guests that run go on running."""
    _make_mount_points()
    if not (namespaces.alive("uts") and namespaces.alive("mnt") and works(*namespaces.enter_argv("test", "-d", "/etc/pve"))):
        namespaces.make("uts")
        namespaces.make("mnt")
        node_run("sh", "-ec", _MOUNTS, "sh", settings.node_dir(), settings.NODE, settings.WHEELS, settings.GPU_STATE_DIR)
    _install_files()
    if shutil.which("lxcfs") and not works(*namespaces.enter_argv("test", "-e", "/var/lib/lxcfs/proc/meminfo")):
        _start_lxcfs()
    if not _pid_alive("sshd"):
        _start_sshd()


def _made_dirs():
    return settings.STATE / "made-dirs"


def _make_mount_points():
    """Folders of this machine that only serve as mount points in the node; ``forget_mount_points`` takes them away."""
    for path in (pathlib.Path("/var/lib/vz"), pathlib.Path(settings.GPU_STATE_DIR)):
        if not path.exists():
            path.mkdir()
            with _made_dirs().open("a") as record:
                record.write(f"{path}\n")


def forget_mount_points():
    """Remove the empty folders that ``up`` made on this machine."""
    if _made_dirs().exists():
        for line in _made_dirs().read_text().splitlines():
            with contextlib.suppress(OSError):
                pathlib.Path(line).rmdir()


# Order matters: /sys is mounted afresh because LXC looks for the bridge there (a sysfs belongs to the network namespace it
# was mounted in), with the old cgroup tree bound back over it; /dev comes last because the others still need this machine's.
_MOUNTS = """
base=$1
hostname "$2"
for d in etc usr; do
    # A work folder of its own each time: an old mount namespace may still be held by monitors of running guests.
    mkdir -p "$base/$d.upper"
    work=$(mktemp -d "$base/$d.work.XXXXXX")
    mount -t overlay -o "lowerdir=/$d,upperdir=$base/$d.upper,workdir=$work" overlay "/$d"
done
mkdir -p "$base/cgroup"
mount --rbind /sys/fs/cgroup "$base/cgroup"
umount -l /sys
mount -t sysfs sysfs /sys
mount --rbind "$base/cgroup" /sys/fs/cgroup
umount -l "$base/cgroup"
mkdir -p "$base/srv/wheels" "$base/gpu"
mount --bind "$3" "$base/srv/wheels"
mount --bind "$base/gpu" "$4"
for d in srv var/lib/lxc var/lib/vz var/log var/tmp root tmp run; do
    mkdir -p "$base/$d"
    mount --rbind "$base/$d" "/$d"
done
chmod 1777 /tmp /var/tmp
chmod 700 /root
mkdir -p /run/sshd /run/lock/lxc /run/lxc
dev=$base/dev
mkdir -p "$dev"
mount -t tmpfs -o mode=755,size=4m tmpfs "$dev"
for d in null zero full random urandom tty fuse loop-control; do
    if [ -e "/dev/$d" ]; then cp -a "/dev/$d" "$dev/"; fi
done
mkdir -p "$dev/pts" "$dev/shm" "$dev/net" "$dev/mqueue"
if [ -e /dev/net/tun ]; then cp -a /dev/net/tun "$dev/net/"; fi
ln -s pts/ptmx "$dev/ptmx"; ln -s /proc/self/fd "$dev/fd"
ln -s fd/0 "$dev/stdin"; ln -s fd/1 "$dev/stdout"; ln -s fd/2 "$dev/stderr"
mknod -m 666 "$dev/nvidia0" c 195 0
mknod -m 666 "$dev/nvidia1" c 195 1
mknod -m 666 "$dev/nvidiactl" c 195 255
mknod -m 666 "$dev/nvidia-uvm" c 509 0
mknod -m 666 "$dev/nvidia-uvm-tools" c 509 1
mount --bind /dev/pts "$dev/pts"
mount -t tmpfs -o mode=1777,size=1g tmpfs "$dev/shm"
mount --move "$dev" /dev
"""


def _install_files():
    """Bring the node's own programs and settings up to date, through the overlay (never behind its back)."""
    stage = settings.node_dir() / "stage"
    shutil.rmtree(stage, ignore_errors=True)
    _stage_etc(stage / "etc")
    _stage_usr(stage / "usr")
    shutil.copytree(settings.MODEL, stage / "srv" / "models" / settings.MODEL.name)
    shutil.copytree(settings.CHECKOUT / "sandbox" / "gpu", stage / "gpu", ignore=shutil.ignore_patterns("*.c", "*.sh", "__pycache__"))
    (stage / "var/lib/vz/template/cache").mkdir(parents=True)
    (stage / "var/lib/vz/template/cache" / settings.TEMPLATE.name).symlink_to(settings.TEMPLATE)
    node_run("sh", "-ec", _INSTALL, "sh", stage, settings.NODE)
    shutil.rmtree(stage)


_INSTALL = """
for d in etc usr srv var; do cp -a --remove-destination "$1/$d/." "/$d/"; done
mkdir -p "/etc/pve/nodes/$2/lxc"
[ -L /etc/pve/lxc ] || ln -s "nodes/$2/lxc" /etc/pve/lxc
ldconfig
"""


def _stage_etc(etc):
    etc.mkdir(parents=True)
    (etc / "hostname").write_text(settings.NODE + "\n")
    own = f"{settings.UPLINK_NODE} {settings.NODE}.sandbox {settings.NODE}"
    (etc / "hosts").write_text(f"127.0.0.1 localhost\n{own}\n::1 localhost ip6-localhost\n")
    for name in ("subuid", "subgid"):
        (etc / name).write_text("root:100000:65536\n")
    _stage_keys(etc / "ssh-sandbox")


def _stage_keys(folder):
    """Host key of the node, the key that Ansible logs in with, and the known_hosts file that goes with them."""
    folder.mkdir(parents=True)
    host_key, login = settings.STATE / "host_ed25519", settings.STATE / "id_ed25519"
    for path, comment in ((host_key, settings.NODE), (login, "kpro-sandbox")):
        if not path.exists():
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", path)
    shutil.copy2(host_key, folder / host_key.name)
    shutil.copyfile(f"{login}.pub", folder / "authorized_keys")
    (settings.STATE / "known_hosts").write_text(f"{settings.UPLINK_NODE} {pathlib.Path(f'{host_key}.pub').read_text()}")
    (folder / "sshd_config").write_text(_SSHD)


_SSHD = f"""# The sandbox node's own sshd (made by sandbox/kpro_sandbox/node.py)
Port 22
ListenAddress {settings.UPLINK_NODE}
HostKey /etc/ssh-sandbox/host_ed25519
PidFile /run/sshd.pid
AuthorizedKeysFile /etc/ssh-sandbox/authorized_keys
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
AcceptEnv LANG LC_*
Subsystem sftp internal-sftp
"""


def _stage_usr(usr):
    source = settings.CHECKOUT / "sandbox"
    for folder in ("sbin", "bin", "lib/x86_64-linux-gnu", "share/kpro-sandbox"):
        (usr / folder).mkdir(parents=True)
    shutil.copytree(source / "pct" / "kpro_pct", usr / "share/kpro-sandbox/kpro_pct", ignore=shutil.ignore_patterns("__pycache__"))
    built = settings.CACHE / "gpu"
    for origin, target in (
        (source / "pct" / "pct", "sbin/pct"),
        (built / "libnvidia-ml.so.1", "lib/x86_64-linux-gnu/libnvidia-ml.so.1"),
        (built / "nvidia-smi", "bin/nvidia-smi"),
    ):
        shutil.copyfile(origin, usr / target)
        (usr / target).chmod(0o755)


def _pid_file(name):
    return settings.node_dir() / "run" / f"{name}.pid"


def _pid_alive(name):
    """True when the process that the pid file names is there and belongs to the node's network."""
    try:
        pid = int(_pid_file(name).read_text())
        return os.stat(f"/proc/{pid}/ns/net").st_ino == namespaces.inode("net")
    except (OSError, ValueError):
        return False


def _start_sshd():
    _pid_file("sshd").unlink(missing_ok=True)
    log = settings.node_dir() / "sshd.log"
    # Own session and no inherited descriptors: a pipe after `make demo` would otherwise wait for sshd for ever.
    node_run("sh", "-c", 'exec setsid /usr/sbin/sshd -D -f /etc/ssh-sandbox/sshd_config </dev/null >>"$1" 2>&1 3>&- 4>&- &', "sh", log)
    deadline = time.monotonic() + 20
    while not _pid_file("sshd").exists():
        if time.monotonic() > deadline:
            raise SandboxError(f"the node's sshd did not start; its own words are in {log}")
        time.sleep(0.05)


def _start_lxcfs():
    """lxcfs makes memory figures inside guests right, as on a real node; without it they show this machine's.

    The one of an older mount namespace goes on for the guests that were started there, so each has a pid file of its own.
    """
    log = settings.node_dir() / "lxcfs.log"
    pid_file = f"/run/lxcfs-{namespaces.inode('mnt')}.pid"
    node_run(
        "sh",
        "-c",
        'mkdir -p /var/lib/lxcfs; exec setsid lxcfs -p "$2" /var/lib/lxcfs </dev/null >>"$1" 2>&1 3>&- 4>&- &',
        "sh",
        log,
        pid_file,
    )
    deadline = time.monotonic() + 10
    while not works(*namespaces.enter_argv("test", "-e", "/var/lib/lxcfs/proc/meminfo")):
        if time.monotonic() > deadline:
            raise SandboxError(f"lxcfs did not start in the node; its own words are in {log}")
        time.sleep(0.05)
