# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""NVML's codes and nvidia-smi's words, turned into cause ids and what to do about them."""

from __future__ import annotations

from .record import Problem

# NVML return codes (nvml.h)
NO_PERMISSION = 4
DRIVER_NOT_LOADED = 9
LIBRARY_NOT_FOUND = 12
GPU_IS_LOST = 15
OPERATING_SYSTEM = 17
LIB_RM_VERSION_MISMATCH = 18
UNKNOWN = 999

# What nvidia-smi prints (580 series and older), and the NVML code that it stands for; first match wins. Its exit status
# is the NVML code too (255 for UNKNOWN), but wrappers and old releases lose it, so the words come first.
_WORDS = (
    ("couldn't find libnvidia-ml.so", LIBRARY_NOT_FOUND),
    ("couldn't communicate with the NVIDIA driver", DRIVER_NOT_LOADED),
    ("Driver/library version mismatch", LIB_RM_VERSION_MISMATCH),
    ("Driver Not Loaded", DRIVER_NOT_LOADED),
    ("Insufficient Permissions", NO_PERMISSION),
    ("blocked by the operating system", OPERATING_SYSTEM),
    ("GPU is lost", GPU_IS_LOST),
    ("Unknown Error", UNKNOWN),
)
_EXIT_CODES = {
    4: NO_PERMISSION,
    9: DRIVER_NOT_LOADED,
    12: LIBRARY_NOT_FOUND,
    15: GPU_IS_LOST,
    17: OPERATING_SYSTEM,
    18: LIB_RM_VERSION_MISMATCH,
    255: UNKNOWN,
}

_GIVE_DEVICES = (
    "On the node load the driver, give the guest the entries dev0.. for /dev/nvidiaN, /dev/nvidiactl, /dev/nvidia-uvm and "
    "/dev/nvidia-uvm-tools, and restart the guest; on a plain machine load the nvidia kernel module."
)
_PERMISSION = (
    "Give the device nodes a mode or group that this user has: mode=0666 or gid=<group in the guest> in the guest's dev entries, "
    "then restart the guest."
)
_USER_SPACE = (
    "Install the user-space part of the NVIDIA driver (no kernel module) in exactly the version that the node's "
    "/proc/driver/nvidia/version names."
)


def code_of_text(text, exit_code=None):
    """The NVML code that nvidia-smi's output ``text`` stands for, or None when it names no failure."""
    for words, code in _WORDS:
        if words in text:
            return code
    return _EXIT_CODES.get(exit_code)


def from_code(code, evidence, nodes):
    """The Problem for an NVML ``code``; ``evidence`` are the driver's own words, ``nodes`` a devices.Nodes of this machine."""
    kernel = nodes.kernel_version
    if code == LIBRARY_NOT_FOUND and not nodes.any_present:
        return no_device(nodes, evidence)
    if code == LIBRARY_NOT_FOUND:
        exact = f" The kernel module is {kernel}." if kernel else ""
        return Problem("driver_library_missing", "libnvidia-ml.so.1 is not installed here.", _USER_SPACE + exact, evidence)
    if code == LIB_RM_VERSION_MISMATCH:
        exact = f" ({kernel})" if kernel else ""
        return Problem(
            "driver_library_mismatch",
            f"The NVIDIA libraries here are of another version than the kernel module{exact}.",
            _USER_SPACE + " If the node's driver was just upgraded, reboot the node first.",
            evidence,
        )
    if code == GPU_IS_LOST:
        return Problem(
            "gpu_fell_off_bus",
            "The driver has lost a GPU on the PCIe bus.",
            "Reboot the node; if it comes back, check power, riser, link speed and temperature.",
            evidence,
        )
    if code in (NO_PERMISSION, OPERATING_SYSTEM):
        return Problem(
            "gpu_not_passed_through", "This user may not open the NVIDIA device nodes" + nodes.denied_text() + ".", _PERMISSION, evidence
        )
    if code == DRIVER_NOT_LOADED:
        return no_device(nodes, evidence)
    if code == UNKNOWN and nodes.any_present:
        return Problem(
            "gpu_cgroup_lost",
            "NVML answers 'Unknown Error' although device nodes are here"
            + nodes.denied_text()
            + ": the device rules of the control group refuse them.",
            "Restart the guest; enter the devices as dev entries of the guest so that the rules survive a daemon-reload.",
            evidence,
        )
    return Problem(
        "gpu_memory_query_failed",
        "The driver did not answer the question about its GPUs.",
        "Look at the node's kernel log for NVRM messages, and run nvidia-smi by hand.",
        evidence,
    )


def no_device(nodes, evidence=None):
    """No usable GPU: no node, no driver behind it, or nothing that this user may open."""
    if nodes.denied:
        return Problem(
            "gpu_not_passed_through", "This user may not open the NVIDIA device nodes" + nodes.denied_text() + ".", _PERMISSION, evidence
        )
    if not nodes.any_present:
        text = "There is no NVIDIA device node in /dev: no GPU was passed through, or no driver is loaded."
    elif not nodes.control:
        text = "/dev/nvidiactl is missing, so that the NVIDIA driver cannot be reached."
    elif not nodes.cards:
        text = "/dev/nvidiactl is here, but no /dev/nvidiaN: no GPU was passed through."
    else:
        text = "The NVIDIA device nodes are here, but no driver answers behind them."
    return Problem("gpu_not_passed_through", text, _GIVE_DEVICES, evidence)


def no_reader(tried, nodes):
    """Nobody to ask: neither nvidia-ml-py nor nvidia-smi. ``tried`` (str) says where was looked."""
    if not nodes.any_present:
        return no_device(nodes, tried)
    return Problem(
        "gpu_memory_query_failed",
        "Neither nvidia-ml-py nor nvidia-smi is here, so that nobody can be asked about the GPUs.",
        "Name the server's environment with the option python (SGLang installs nvidia-ml-py there), or install nvidia-smi.",
        tried,
    )


def timed_out(seconds):
    """nvidia-smi hangs, typically in state D behind a driver that waits for its GPU."""
    return Problem(
        "gpu_memory_query_failed",
        f"nvidia-smi gave no answer in {seconds:g} s.",
        "Look at the node's kernel log for NVRM and Xid messages; a driver that hangs needs a reboot of the node.",
    )


def uvm(nodes):
    """CUDA cannot start although the driver answers, or None when nothing speaks for that."""
    state = nodes.uvm_state()
    if state is None:
        return None
    return Problem(
        "nvidia_uvm_missing",
        f"The driver answers, but CUDA cannot start: /dev/nvidia-uvm {state}.",
        "Load nvidia_uvm on the node before guests start, give the guest dev entries for /dev/nvidia-uvm and /dev/nvidia-uvm-tools, "
        "and restart the guest.",
    )
