# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Remedies for everything that is not memory. Each builder takes (match, context) and returns remedies, the best first."""

from __future__ import annotations

import re

from .causes import CAUSES
from .record import remedy

#: Distribution packages of libraries that wheels want (Debian and Ubuntu names).
LIBRARY_PACKAGES = {
    "libnuma": "libnuma1",
    "libGL": "libgl1",
    "libgomp": "libgomp1",
    "libibverbs": "libibverbs1",
    "librdmacm": "librdmacm1",
    "libglib-2": "libglib2.0-0",
    "libgthread-2": "libglib2.0-0",
    "libsndfile": "libsndfile1",
    "libopenblas": "libopenblas0",
    "libmpi": "libopenmpi3",
    "libstdc++": "libstdc++6",
    "libSM": "libsm6",
    "libXext": "libxext6",
    "libXrender": "libxrender1",
    "libpython3": "libpython3-dev",
    "libtbb": "libtbb12",
    "libsqlite3": "libsqlite3-0",
    "libffi": "libffi8",
    "libssl": "libssl3",
    "libcrypto": "libssl3",
    "libz": "zlib1g",
    "libhwloc": "libhwloc15",
    "libavcodec": "ffmpeg",
    "libavformat": "ffmpeg",
    "libavutil": "ffmpeg",
    "libmlx5": "ibverbs-providers",
    "libnl-3": "libnl-3-200",
    "libaio": "libaio1",
    "liburing": "liburing2",
}


def cause_text(match, context):
    return [remedy(CAUSES[match.cause].remedy)]


def system_library(match, context):
    library = match.groups.get("library") or ""
    package = LIBRARY_PACKAGES.get(library.split(".so")[0])
    what = (
        "Install the distribution package %s in the container" % package
        if package
        else "Install the distribution package that holds %s in the container" % library
    )
    return [remedy(what, None, "add", package, "Reinstalling the Python wheel does not help.")]


def package(match, context):
    name = match.groups.get("package") or match.groups.get("module")
    if name:
        name = name.split(".")[0]
    return [
        remedy(
            "Install SGLang with its pinned dependencies in a fresh environment%s"
            % (" (%s is missing or of the wrong version)" % name if name else ""),
            None,
            "add",
            name,
            None,
        )
    ]


def cuda_home(match, context):
    return [
        remedy(
            "Set CUDA_HOME to exactly one directory in the environment of the service",
            "CUDA_HOME",
            "set",
            "/usr/local/cuda",
            "It is %s now." % (match.groups.get("path") or "malformed"),
        )
    ]


def compiler(match, context):
    found = [remedy("Install gcc and g++ (build-essential) in the container", None, "add", "build-essential", None)]
    if context.args.get("enable_torch_compile"):
        found.append(remedy("Start without torch.compile", "--enable-torch-compile", "remove", None, None))
    return found


def python_headers(match, context):
    found = re.search(r"include/python(3\.\d+)|cpython-3(\d+)|python(3\.\d+)", match.message())
    version = (found.group(1) or (found.group(2) and "3." + found.group(2)) or found.group(3)) if found else None
    package_name = "python%s-dev" % version if version else None
    return [
        remedy(
            "Install %s, the headers of exactly the Python that runs the server" % (package_name or "python3.X-dev"),
            None,
            "add",
            package_name,
            None,
        )
    ]


def illegal_access(match, context):
    found = [remedy("Update SGLang and its kernel packages")]
    if context.speculative:
        found.append(
            remedy("Switch speculative decoding off to narrow it down", context.flag("speculative-algorithm"), "remove", None, None)
        )
    found.append(
        remedy(
            "Try another attention backend, or no CUDA graphs, to narrow it down",
            context.flag("attention-backend"),
            "set",
            "triton",
            None,
        )
    )
    return found


def radix_off(match, context):
    found = [remedy("Update SGLang: this is a defect of the engine")]
    if context.args.get("enable_hierarchical_cache"):
        found.append(remedy("Start without the hierarchical cache", "--enable-hierarchical-cache", "remove", None, None))
    found.append(remedy("Until then start without the prefix cache", "--disable-radix-cache", "add", None, None))
    return found


def page_size_one(match, context):
    return [
        remedy("Leave the page size at 1", "--page-size", "set", "1", None),
        remedy(
            "Or use a state-cache strategy that supports pages", context.flag("mamba-scheduler-strategy"), "set", "extra_buffer", None
        ),
        remedy("Or switch the prefix cache off", "--disable-radix-cache", "add", None, None),
    ]


def compile_off(match, context):
    return [remedy("Start without torch.compile", "--enable-torch-compile", "remove", None, None)]


def other_release(match, context):
    return [
        remedy("Use another release of SGLang for this model"),
        remedy("Try another attention backend", "--attention-backend", "set", None, None),
    ]


def port(match, context):
    found = re.search(r"', (\d+)", match.line.body) or re.search(r"[Pp]ort (\d+)", match.line.body)
    number = found.group(1) if found else None
    return [
        remedy(
            "Find the holder of the port%s with ss -ltnp and stop it" % (" " + number if number else ""),
            None,
            None,
            None,
            "SGLang notices a taken port only after the whole load, and that process never exits by itself.",
        ),
        remedy("Or choose another port", "--port", "set", None, None),
    ]


def start_timeout(match, context):
    return [
        remedy(
            "Give the start more time (TimeoutStartSec= of the unit, or the deployer's limit)",
            "TimeoutStartSec",
            "raise",
            None,
            "The launch was in stage %s%s."
            % (context.tracker.stage, " at " + context.tracker.progress if context.tracker.progress else ""),
        ),
        remedy("Keep the kernel caches over restarts", None, None, None, None),
    ]


def session(match, context):
    return [
        remedy(
            "Run the server as a system service instead of as a child of a login session",
            None,
            None,
            None,
            "A user service needs lingering (loginctl enable-linger).",
        )
    ]


def watchdog(match, context):
    seconds = match.groups.get("seconds")
    return [
        remedy("Find where the ranks stand (py-spy dump, load of the GPUs)", None, None, None, None),
        remedy("Try without custom all-reduce", "--disable-custom-all-reduce", "add", None, None),
        remedy(
            "Raise --watchdog-timeout only for compilation known to be slow",
            "--watchdog-timeout",
            "raise",
            str(int(float(seconds) * 2)) if seconds else None,
            None,
        ),
    ]


def stalled(match, context):
    found = re.search(r"for last (\d+) seconds", match.line.body)
    seconds = found.group(1) if found else None
    return [
        remedy("Restart when the last heartbeat is minutes old", None, None, None, None),
        remedy(
            "Give health probes more time",
            "SGLANG_HEALTH_CHECK_TIMEOUT",
            "raise",
            str(int(seconds) * 3) if seconds else None,
            "Long prefills can hold the answer back.",
        ),
    ]


def pool_smaller(match, context):
    tokens = (context.tracker.capacity or {}).get("max_total_num_tokens")
    found = []
    if tokens:
        found.append(
            remedy(
                "Lower --context-length to what the pool holds",
                "--context-length",
                "lower",
                str(tokens),
                "The pool holds %d tokens." % tokens,
            )
        )
    if str(context.args.get("kv_cache_dtype", "auto")) in ("auto", "bf16", "bfloat16"):
        found.append(remedy("Store the KV cache in FP8", "--kv-cache-dtype", "set", "fp8_e4m3", "It holds about twice as many tokens."))
    found.append(remedy("Raise the static share of memory", context.flag("mem-fraction-static"), "raise", None, None))
    return found


def chat_template(match, context):
    return [remedy("Use the instruction-tuned model, or give a template", "--chat-template", "set", None, None)]


def fd_limit(match, context):
    return [
        remedy("Raise the limit of open files", "LimitNOFILE", "raise", "1048576", "In the unit, and in the container."),
        remedy("Bound the number of client connections"),
    ]


def cache_dir(match, context):
    path = match.groups.get("path")
    return [
        remedy(
            "Give the service's user a writable cache directory%s" % (" (%s is not)" % path if path else ""),
            "XDG_CACHE_HOME",
            "set",
            None,
            "Also TRITON_CACHE_DIR, FLASHINFER_WORKSPACE_BASE, TORCHINDUCTOR_CACHE_DIR; ReadWritePaths= of the unit must allow it.",
        ),
    ]


def model_permission(match, context):
    path = match.groups.get("path")
    return [
        remedy(
            "Give the service's (mapped) user read and search permission on %s and every directory above it"
            % (path or "the model directory")
        )
    ]


def disk_full(match, context):
    found = re.search(r"['\"](/[^'\"]+)['\"]", match.line.body)
    return [
        remedy("Free or enlarge the file system%s" % (" that holds " + found.group(1) if found else "")),
        remedy("Or keep downloads and caches elsewhere", "--download-dir", "set", None, None),
    ]


def visible_devices(match, context):
    return [
        remedy(
            "Remove CUDA_VISIBLE_DEVICES from the environment of the service, or set it to existing indexes or UUIDs",
            "CUDA_VISIBLE_DEVICES",
            "set",
            None,
            None,
        )
    ]


def driver_mismatch(match, context):
    return [
        remedy(
            "Install in the container exactly the driver version of the node's kernel module (user-space part only)",
            None,
            "set",
            None,
            "cat /proc/driver/nvidia/version shows it.",
        ),
        remedy("After a driver update reboot the node first"),
    ]


def driver_old(match, context):
    found = match.groups.get("found")
    version = "CUDA %s.%s" % (int(found) // 1000, int(found) % 1000 // 10) if found and found.isdigit() else None
    return [
        remedy(
            "Update the NVIDIA driver on the node and its libraries in the container",
            None,
            "raise",
            None,
            "The driver supports up to %s." % version if version else None,
        ),
        remedy("Or install software for an older CUDA"),
    ]


def cgroup_lost(match, context):
    return [
        remedy("Restart the container"),
        remedy("Enter the devices where the service manager knows them, and avoid daemon-reload by automatic updates"),
    ]


def bus(match, context):
    return [
        remedy(
            "Reboot the node; check power, riser, link speed and temperature", None, None, None, "Restarting the service cannot help."
        )
    ]


def ecc(match, context):
    return [remedy("Take the GPU out of service and reset it or reboot the node; replace it when it happens again")]


def kernel_exception(match, context):
    return [
        remedy("Update kernels and driver, and find the kernel with CUDA_LAUNCH_BLOCKING=1", "CUDA_LAUNCH_BLOCKING", "set", "1", None),
        remedy("Run diagnostics when one card repeats it"),
    ]


def memory_query(match, context):
    return [
        remedy("Update SGLang (newer releases ask CUDA directly)"),
        remedy("Or set the sizes by hand", "--mem-fraction-static", "set", None, None),
    ]


def passthrough(match, context):
    return [
        remedy("Load the driver on the node, pass /dev/nvidia0, /dev/nvidiactl and /dev/nvidia-uvm to the container and restart it")
    ]


def memlock(match, context):
    return [remedy("Lift the limit of locked memory", "LimitMEMLOCK", "set", "infinity", "In the unit, and for the container.")]


def uvm(match, context):
    return [
        remedy(
            "Load nvidia-uvm on the node at boot and pass /dev/nvidia-uvm and /dev/nvidia-uvm-tools with their present major number",
            None,
            None,
            None,
            "The words about CUDA_VISIBLE_DEVICES are a guess of the framework.",
        ),
        remedy("Restart the container afterwards"),
    ]


def process_limit(match, context):
    return [
        remedy("Raise TasksMax= and LimitNPROC= of the unit and the pids limit of the container", "TasksMax", "raise", None, None),
        remedy("Use fewer threads", "OMP_NUM_THREADS", "lower", None, None),
    ]


def shm_permission(match, context):
    return [
        remedy("Set /dev/shm to mode 1777, remove segments of other users, and run all ranks as one user", None, "set", "1777", None)
    ]


def shm_small(match, context):
    return [remedy("Enlarge /dev/shm of the container and remove stale segments", "/dev/shm", "raise", "16G", None)]
