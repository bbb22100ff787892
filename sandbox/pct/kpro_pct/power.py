# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``pct start``, ``stop``, ``shutdown`` and ``reboot``. All are silent when they succeed; none is idempotent."""

from __future__ import annotations

import os
import time

from . import change, devices, guest_files, hooks, lxc_config, mount_points, node, runtime
from .errors import PctError
from .shell_text import warn

STOP_SECONDS = 20


def start(vmid, skiplock=0, debug=0):
    with node.locked(vmid):
        config = node.load(vmid)
        if config.flag("template"):
            raise PctError("you can't start a CT if it's a template")
        if not skiplock:
            node.check_lock(config)
        if runtime.is_running(vmid):
            raise PctError(f"CT {vmid} already running")
        start_locked(vmid, config, debug)


def start_locked(vmid, config, debug=0):
    change.apply_pending(vmid, config)
    for _index, device in devices.parsed(config):
        devices.check(device.get("path", ""))
    root = lxc_config.root_folder(vmid, config)
    if not os.path.isdir(root):
        raise PctError(f"unable to activate storage - directory '{root}' does not exist\nstartup for container '{vmid}' failed")
    lxc_config.write(vmid, config)
    owner = lxc_config.root_uid(config)
    devices.create_copies(vmid, config, owner)
    guest_files.write_all(root, config, vmid, owner)
    hooks.run(vmid, config, "pre-start", must_succeed=True)
    with mount_points.staged(vmid, config):
        boot(vmid, debug)
    hooks.run(vmid, config, "post-start")


def boot(vmid, debug):
    """Start the monitor and return when the guest's init runs. LXC's own messages go to /run/pve/ct-<vmid>.stderr."""
    os.makedirs("/run/pve", exist_ok=True)
    log = f"/run/pve/ct-{vmid}.stderr"
    if os.path.exists(log):
        os.unlink(log)
    answer = runtime.tool(
        "lxc-start", "-n", str(vmid), "-o", log, "-l", "DEBUG" if debug else "WARN", cwd="/", start_new_session=True, umask=0o022,
    )
    if answer.returncode == 0 and runtime.is_running(vmid):
        return
    try:
        with open(log, encoding="utf-8", errors="replace") as stream:
            warn("".join(line for line in stream if " ERROR " in line))
    except OSError:
        pass
    raise PctError(f"startup for container '{vmid}' failed")


def wait_until_stopped(vmid, seconds):
    until = time.monotonic() + seconds
    while runtime.is_running(vmid):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def running_guest(vmid, skiplock=0, word="CT"):
    config = node.load(vmid)
    if not skiplock:
        node.check_lock(config)
    if not runtime.is_running(vmid):
        raise PctError(f"{word} {vmid} not running")
    return config


def stop(vmid, skiplock=0, overrule_shutdown=0):
    """End the guest at once."""
    if not runtime.is_running(vmid):
        node.load(vmid)
        raise PctError(f"CT {vmid} not running")
    with node.locked(vmid):
        config = running_guest(vmid, skiplock)
        hooks.run(vmid, config, "pre-stop")
        kill(vmid)
        hooks.run(vmid, config, "post-stop")


def kill(vmid):
    answer = runtime.tool("lxc-stop", "-n", str(vmid), "--kill")
    if answer.returncode or not wait_until_stopped(vmid, STOP_SECONDS):
        raise PctError(f"{answer.stderr}command 'lxc-stop -n {vmid} --kill' failed: exit code {answer.returncode}")


def shutdown(vmid, timeout="60", forceStop=0):
    """Ask the guest's init to end; ``timeout`` in seconds, then give up or, with ``forceStop``, end it."""
    if not runtime.is_running(vmid):
        node.load(vmid)
        raise PctError(f"CT {vmid} not running")
    with node.locked(vmid):
        config = running_guest(vmid)
        hooks.run(vmid, config, "pre-stop")
        halt(vmid, timeout, forceStop)
        hooks.run(vmid, config, "post-stop")


def halt(vmid, timeout, force):
    answer = runtime.tool("lxc-stop", "-n", str(vmid), "--nokill", "--timeout", str(timeout))
    if answer.returncode == 0 and wait_until_stopped(vmid, STOP_SECONDS):
        return
    if not force:
        raise PctError(f"command 'lxc-stop -n {vmid} --nokill --timeout {timeout}' failed: exit code {answer.returncode or 1}")
    kill(vmid)


def reboot(vmid, timeout="60"):
    if not runtime.is_running(vmid):
        node.load(vmid)
        raise PctError(f"VM {vmid} not running")
    with node.locked(vmid):
        config = running_guest(vmid, word="VM")
        hooks.run(vmid, config, "pre-stop")
        halt(vmid, timeout, 0)
        hooks.run(vmid, config, "post-stop")
        start_locked(vmid, node.load(vmid))
