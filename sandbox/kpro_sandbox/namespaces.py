"""The node's namespaces: network, mount and UTS, each pinned to a file so that no process has to hold them.

Killing every process of the node therefore leaves the node; and while the network namespace lives, a fresh mount
namespace controls the guests again (their LXC command sockets are abstract ones of the network namespace).
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import subprocess
import time

from . import settings
from .shell import SandboxError, run, works

KINDS = ("net", "uts", "mnt")


def _is_pinned(kind):
    path = settings.pin(kind)
    try:
        return path.exists() and os.stat(path).st_dev == os.stat(f"/proc/self/ns/{kind}").st_dev
    except OSError:
        return False


def alive(kind="net"):
    """True when the namespace is there and can be entered."""
    return _is_pinned(kind) and works("nsenter", f"--{_option(kind)}={settings.pin(kind)}", "true")


def _option(kind):
    return {"net": "net", "uts": "uts", "mnt": "mount"}[kind]


def inode(kind):
    """Number that tells a process of this namespace (``/proc/PID/ns/KIND``), or None."""
    return os.stat(settings.pin(kind)).st_ino if _is_pinned(kind) else None


def _is_mount(folder):
    """True for a bind mount of a folder onto itself too, which os.path.ismount does not see."""
    return any(line.split()[4] == str(folder) for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines())


def _prepare_pin_dir():
    # A mount namespace can only be pinned on a mount that does not propagate.
    folder = settings.pin("net").parent
    folder.mkdir(parents=True, exist_ok=True)
    if not _is_mount(folder):
        run("mount", "--bind", folder, folder)
        run("mount", "--make-private", folder)


def make(kind):
    """Make and pin a namespace; one that is there is replaced."""
    _prepare_pin_dir()
    release(kind)
    settings.pin(kind).touch()
    propagation = ["--propagation", "private"] if kind == "mnt" else []
    run("unshare", f"--{_option(kind)}={settings.pin(kind)}", *propagation, "true")


def release(kind):
    """Unpin; the kernel ends the namespace when its last process is gone."""
    path = settings.pin(kind)
    while _is_pinned(kind) and works("umount", path):
        pass
    path.unlink(missing_ok=True)


def release_all():
    """Unpin every namespace and the folder of pins."""
    for kind in KINDS:
        if settings.pin(kind).exists():
            release(kind)
    folder = settings.pin("net").parent
    while _is_mount(folder) and works("umount", folder):
        pass


def enter_argv(*argv):
    """argv that runs ``argv`` inside the node (all namespaces)."""
    pins = [f"--{_option(kind)}={settings.pin(kind)}" for kind in KINDS]
    return ["nsenter", *pins, "--wd=/", *[str(word) for word in argv]]


def in_network(*argv, **options):
    """Run in the node's network namespace only (this machine's files)."""
    return run("nsenter", f"--net={settings.pin('net')}", *argv, **options)


@contextlib.contextmanager
def process_in_network():
    """A short-lived process in the network namespace, for ``ip link … netns PID``."""
    child = subprocess.Popen(["nsenter", f"--net={settings.pin('net')}", "sleep", "60"])
    try:
        wanted, deadline = inode("net"), time.monotonic() + 10
        while os.stat(f"/proc/{child.pid}/ns/net").st_ino != wanted:
            if child.poll() is not None or time.monotonic() > deadline:
                raise SandboxError("the node's network namespace cannot be entered")
            time.sleep(0.005)
        yield child.pid
    finally:
        child.kill()
        child.wait()


def processes(kind, number):
    """pids whose namespace of this kind has this inode number (never our own)."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if os.stat(entry / "ns" / kind).st_ino == number and int(entry.name) != os.getpid():
                    found.append(int(entry.name))
    return found


def end_processes(kind, number):
    """End every process of a namespace by its exact pid."""
    for pid in processes(kind, number):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
