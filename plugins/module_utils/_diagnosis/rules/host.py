# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Rules about host and container: file systems, limits, permissions."""

from __future__ import annotations

import re

from .. import remedies_general as fix
from ..record import ANY, RECORD, WEAK, Rule

_CACHE_PATH = re.compile(
    r"\.triton|/triton|\.cache\b|/cache\b|_cache\b|flashinfer|inductor|deep_?gemm|tvm|ComputeCache|workspace|torch_extensions|cute_dsl|"
    r"/\.nv\b|numba|compile",
    re.I,
)
_CACHE_FRAMES = re.compile(
    r"triton/runtime/cache|flashinfer/jit|_inductor|deep_gemm|cpp_extension|tvm_ffi|codecache|torch/utils/_triton|cute|compile"
)
_MODEL_FRAMES = re.compile(
    r"model_loader|weight_utils|hf_transformers|configuration_utils|tokenization_|model_config|safetensors|transformers/utils/hub"
)
_MODEL_FILE = re.compile(r"\.(?:safetensors|bin|pt|pth|gguf|model|json|jinja|py|txt)$")


def _denied_path(match):
    groups = match.groups
    return groups.get("path") or groups.get("path2") or ""


def _cache_denied(match, context):
    path = _denied_path(match)
    frames = " ".join(frame[0] for frame in match.block.frames) if match.block is not None else ""
    if "/dev/" in path:
        return False
    if context.below_model(path):
        return False
    if _CACHE_PATH.search(path) or _CACHE_FRAMES.search(frames):
        return not (_MODEL_FRAMES.search(frames) and _MODEL_FILE.search(path) and not _CACHE_PATH.search(path))
    return False


def _model_denied(match, context):
    path = _denied_path(match)
    if "/dev/" in path or _cache_denied(match, context):
        return False
    frames = " ".join(frame[0] for frame in match.block.frames) if match.block is not None else ""
    return context.below_model(path) or bool(_MODEL_FILE.search(path)) or bool(_MODEL_FRAMES.search(frames))


_DENIED = (
    r"(?:\[Errno (?:13|30)\] (?:Permission denied|Read-only file system)|Permission denied \(os error 13\)|Read-only file system)"
    r"(?:: ['\"](?P<path>[^'\"]+)['\"])?"
)
_SHM = r"/dev/shm"

RULES = (
    Rule(
        "cache-denied",
        "cache_dir_not_writable",
        _DENIED,
        when=_cache_denied,
        strength=6,
        stage="cuda_graph",
        remedies=fix.cache_dir,
        say="A cache directory for compiled kernels cannot be written.",
        source="OS errors 13 and 30 in triton, flashinfer, inductor, deep_gemm caches",
    ),
    Rule(
        "cache-denied-text",
        "cache_dir_not_writable",
        r"(?:[Cc]ache|[Ww]orkspace) (?:dir(?:ectory)?|path|folder)\b.*(?:not writable|[Pp]ermission|cannot be created)",
        strength=3,
        stage="cuda_graph",
        remedies=fix.cache_dir,
        say="A cache directory for compiled kernels cannot be written.",
        source="flashinfer, triton",
    ),
    Rule(
        "model-denied",
        "model_path_permission",
        _DENIED,
        when=_model_denied,
        strength=7,
        stage="tokenizer",
        remedies=fix.model_permission,
        say="The server's user may not read the model files.",
        source="OS error 13 in transformers, safetensors and the loader",
    ),
    Rule(
        "disk-full",
        "disk_full",
        r"\[Errno 28\]|No space left on device|ENOSPC|Disk quota exceeded|\[Errno 122\]",
        unless=_SHM + r"|nccl-|sem\.",
        scope=ANY,
        strength=7,
        stage="weights_load",
        when=lambda match, context: _SHM not in match.message(),
        say="A file system that the server uses is full.",
        remedies=fix.disk_full,
        source="OS error 28",
    ),
    Rule(
        "disk-small",
        "disk_full",
        r"Not enough free disk space to download|only has (?P<free>[\d.]+) [MG]B free disk space|"
        r"not enough (?:disk )?space (?:left )?(?:on|to)",
        scope=ANY,
        strength=5,
        stage="weights_load",
        weight=WEAK,
        ends=True,
        when=lambda match, context: not context.tracker.ready,
        say="The disk is too small for the download.",
        remedies=fix.disk_full,
        source="huggingface_hub file_download.py",
    ),
    Rule(
        "clock",
        "clock_skew",
        r"certificate is not yet valid|Clock skew detected|has modification time .* in the future|clock skew",
        scope=ANY,
        strength=8,
        stage="tokenizer",
        ends=True,
        lasting=True,
        say="The clock of host or container is wrong.",
        source="OpenSSL, make, ninja",
    ),
    Rule(
        "audit",
        "mandatory_access_denied",
        r"avc: +denied|apparmor=\"DENIED\"|type=(?:1326|SECCOMP)\b|type=AVC .*denied",
        scope=ANY,
        weight=RECORD,
        strength=7,
        stage="launch",
        unless=r"nvidia-modprobe\b.*ALLOWED",
        say="SELinux, AppArmor or seccomp refused an access of the server.",
        source="kernel audit",
    ),
    Rule(
        "memlock",
        "memlock_limit",
        r"RLIMIT_MEMLOCK|ulimit -l\b|\bmemlock\b|ibv_reg_mr\w* (?:failed|error)|Call to ibv_reg_mr\w* failed|max locked memory",
        scope=ANY,
        strength=8,
        stage="memory_pool",
        stages=("distributed_init", "memory_pool"),
        say="The limit of locked memory stops the registration of host memory.",
        remedies=fix.memlock,
        source="libibverbs, NCCL, CUDA",
    ),
    Rule(
        "nested",
        "nested_container_cgroup_denied",
        r"failed to add device rules|devices\.allow.*[Oo]peration not permitted|bpf_prog_query\(BPF_CGROUP_DEVICE\) failed|"
        r"BPF_CGROUP_DEVICE.*[Oo]peration not permitted|load program: [Oo]peration not permitted",
        scope=ANY,
        weight=RECORD,
        strength=8,
        stage="launch",
        fixed=True,
        ends=True,
        say="The inner container runtime may not write device rules of the control group.",
        source="nvidia-container-cli, runc",
    ),
    Rule(
        "numa",
        "numa_binding_failed",
        r"^(?:libnuma: (?:Error|Warning)|numactl: )|(?:set_mempolicy|mbind|sched_setaffinity)\w*(?:\(\))?:? .*(?:not permitted|"
        r"[Ii]nvalid argument|failed)|node argument \d+ is out of range|<\d+> is invalid|"
        r"NUMA (?:node )?bind\w* failed",
        scope=ANY,
        strength=5,
        stage="launch",
        stages=("launch", "distributed_init"),
        say="Binding to a NUMA node failed.",
        source="numactl, libnuma, utils/numa_utils.py",
    ),
    Rule(
        "process-limit",
        "process_limit",
        r"can't start new thread|pthread_create (?:failed|has failed)|[Tt]hread creation failed|BlockingIOError: \[Errno 11\]|"
        r"fork: (?:retry: )?Resource temporarily unavailable|unable to create (?:new )?(?:native )?thread|"
        r"(?:clone|fork|pthread_create)\S*.*Resource temporarily unavailable|cgroup: fork rejected by pids controller",
        scope=ANY,
        strength=6,
        stage="launch",
        ends=False,
        say="No further thread or process can be created: a limit is reached.",
        remedies=fix.process_limit,
        source="Python, OpenBLAS, libgomp, kernel",
    ),
    Rule(
        "shm-denied",
        "shm_permission",
        r"shm_open failed *: Permission denied|Permission denied.*?/dev/shm|/dev/shm\S*.*Permission denied|\[Errno 13\].*/(?:psm_|"
        r"sem\.|torch_|nccl-)",
        scope=ANY,
        strength=8,
        stage="distributed_init",
        say="A shared-memory segment in /dev/shm may not be created or opened.",
        remedies=fix.shm_permission,
        source="NCCL shm transport, multiprocessing.shared_memory",
    ),
    Rule(
        "shm-small",
        "shm_too_small",
        r"failed to extend /dev/shm\S*|No space left on device.*?/dev/shm|/dev/shm\S*.*No space left on device|unable to (?:mmap|"
        r"allocate|write)\S* .*shared memory|insufficient shared memory|"
        r"[Ss]hared memory .*(?:exhausted|too small|out of space)|Consider increasing /dev/shm size",
        scope=ANY,
        strength=8,
        stage="distributed_init",
        stages=("distributed_init", "warmup", "serving", "cuda_graph", "memory_pool"),
        remedies=fix.shm_small,
        say="/dev/shm is too small for the segments of NCCL or the engine.",
        source="NCCL misc/shmutils.cc, torch",
    ),
    Rule(
        "shm-segment",
        "shm_too_small",
        r"Error while creating shared memory segment (?:/dev/shm/)?nccl-\S+",
        scope=ANY,
        strength=4,
        stage="distributed_init",
        stages=("distributed_init", "warmup", "serving"),
        remedies=fix.shm_small,
        when=lambda match, context: not context.saw("shm-denied"),
        say="/dev/shm is too small for the segments of NCCL.",
        source="NCCL transport/shm.cc",
    ),
    Rule(
        "bus-error",
        "shm_too_small",
        r"\bBus error\b|SIGBUS|exit code: -7\b",
        scope=ANY,
        weight=WEAK,
        strength=5,
        ends=True,
        stage="distributed_init",
        stages=("distributed_init", "warmup", "serving", "weights_load"),
        remedies=fix.shm_small,
        confidence=0.7,
        say="The process ended with a bus error, most often because /dev/shm is full.",
        source="kernel, shell",
    ),
)
