# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Rules about driver, devices and the hardware of GPUs."""

from __future__ import annotations

from .. import remedies_general as fix
from ..record import ANY, RECORD, ROOT, WEAK, Rule

_XID = r"NVRM: Xid \(PCI:[^)]*\): (?P<xid>\d+)\b"


def _xid(*numbers):
    return lambda match, context: int(match.groups["xid"]) in numbers


def _application_xid(match, context):
    return (
        int(match.groups["xid"]) in (31, 43, 45)
        and not context.saw("xid-exception")
        and not context.saw("illegal-access")
        and not context.saw("illegal-instruction")
    )


RULES = (
    Rule(
        "no-gpu-visible",
        "cuda_visible_devices_empty",
        r"No CUDA GPUs are available|CUDA_VISIBLE_DEVICES (?:is|was) (?:empty|set to (?:an )?(?:empty|invalid))|"
        r"no CUDA-capable device is detected",
        strength=6,
        stage="distributed_init",
        stages=("launch", "args", "distributed_init"),
        remedies=fix.visible_devices,
        say="CUDA works, but the process sees no GPU.",
        source="torch cuda _lazy_init",
    ),
    Rule(
        "driver-mismatch",
        "driver_library_mismatch",
        r"Driver/library version mismatch|API mismatch: (?:the )?(?:client|NVIDIA|this)|Error 80[34]\b|"
        r"unsupported display driver / cuda driver combination|"
        r"forward compatibility was attempted on non supported HW",
        scope=ANY,
        weight=RECORD,
        strength=6,
        stage="launch",
        stages=("launch", "args", "distributed_init"),
        remedies=fix.driver_mismatch,
        say="The NVIDIA libraries in the container are of another version than the kernel module of the host.",
        source="NVML, NVRM, CUDA errors 803 and 804",
    ),
    Rule(
        "driver-old",
        "driver_too_old",
        r"NVIDIA driver on your system is too old(?: \(found version (?P<found>\d+)\))?|CUDA driver version is insufficient|"
        r"compiled with an unsupported toolchain|cudaErrorInsufficientDriver|"
        r"requires (?:a )?(?:newer )?(?:NVIDIA )?driver (?:version )?(?:>=|at least|newer)",
        scope=ANY,
        weight=ROOT,
        strength=6,
        stage="launch",
        stages=("launch", "args", "imports", "distributed_init"),
        remedies=fix.driver_old,
        say="The NVIDIA driver is older than the installed CUDA software needs.",
        source="torch, CUDA runtime",
    ),
    Rule(
        "fabric",
        "fabric_manager_not_running",
        r"system not yet initialized|Error 802\b|CUDA_ERROR_SYSTEM_NOT_READY|[Ff]abric (?:state|status).*(?:[Nn]ot|[Ii]n progress|"
        r"[Ff]ail)|fabric ?manager.*(?:not running|fail|mismatch|error)",
        scope=ANY,
        strength=7,
        weight=RECORD,
        stage="distributed_init",
        stages=("launch", "args", "distributed_init"),
        say="The NVSwitch fabric is not initialised: the fabric manager does not run or differs from the driver.",
        source="CUDA error 802, nvidia-fabricmanager",
    ),
    Rule(
        "nvml-unknown",
        "gpu_cgroup_lost",
        r"(?:NVML|nvml|Failed to initialize NVML)[^\n]*: Unknown Error|NVMLError_Unknown|"
        r"Unable to determine the device handle for GPU.*: Unknown Error",
        scope=ANY,
        weight=RECORD,
        ends=True,
        strength=4,
        stage="serving",
        stages=("serving",),
        when=lambda match, context: not context.saw("xid-lost") and not context.saw("xid-ecc"),
        remedies=fix.cgroup_lost,
        say="The container lost access to its GPU while running: its device rules were rewritten.",
        source="NVML",
    ),
    Rule(
        "exclusive",
        "gpu_exclusive_mode",
        r"CUDA-capable device\(s\) is/are busy or unavailable|all CUDA-capable devices are busy or unavailable|"
        r"cudaErrorDevicesUnavailable|CUDA_ERROR_DEVICE_UNAVAILABLE",
        strength=6,
        stage="distributed_init",
        say="CUDA refuses a context: the GPU is in exclusive or prohibited compute mode and in use.",
        source="CUDA runtime",
    ),
    Rule(
        "xid-lost",
        "gpu_fell_off_bus",
        r"fallen off the bus|" + _XID.replace("(?P<xid>\\d+)", "79") + r"|GPU is lost|NVMLError_GpuIsLost|NVML_ERROR_GPU_IS_LOST",
        scope=ANY,
        weight=RECORD,
        ends=True,
        strength=9,
        stage="serving",
        say="The driver lost the GPU on the PCIe bus.",
        remedies=fix.bus,
        source="NVRM, Xid 79",
    ),
    Rule(
        "xid-ecc",
        "gpu_hardware_ecc",
        _XID,
        when=_xid(48, 64, 94, 95),
        scope=ANY,
        weight=RECORD,
        ends=True,
        strength=8,
        stage="serving",
        remedies=fix.ecc,
        say="The memory of a GPU has an uncorrectable error (Xid {xid}).",
        source="NVRM",
    ),
    Rule(
        "ecc",
        "gpu_hardware_ecc",
        r"uncorrectable ECC error|cudaErrorECCUncorrectable|CUDA_ERROR_ECC_UNCORRECTABLE|double bit error|DBE\)|"
        r"[Rr]ow remapping (?:fail|pending)",
        scope=ANY,
        weight=RECORD,
        ends=True,
        strength=7,
        stage="serving",
        unless=r"(?:Volatile|Aggregate|:) *0$",
        support=r"NVRM: Xid",
        remedies=fix.ecc,
        say="The memory of a GPU has an uncorrectable error.",
        source="CUDA runtime, NVRM",
    ),
    Rule(
        "xid-exception",
        "gpu_kernel_exception",
        _XID,
        when=_xid(13),
        scope=ANY,
        weight=RECORD,
        ends=True,
        strength=6,
        stage="serving",
        remedies=fix.kernel_exception,
        say="The driver reports an exception of the GPU's multiprocessors (Xid 13).",
        source="NVRM",
    ),
    Rule(
        "illegal-instruction",
        "gpu_kernel_exception",
        r"an illegal instruction was encountered|CUDA_ERROR_ILLEGAL_INSTRUCTION|cudaErrorIllegalInstruction|"
        r"(?:CUDA Exception: )?Warp (?:Illegal Instruction|Hardware Stack Overflow)",
        scope=ANY,
        weight=RECORD,
        ends=True,
        strength=5,
        stage="serving",
        remedies=fix.kernel_exception,
        say="A GPU kernel executed an illegal instruction.",
        source="CUDA runtime",
    ),
    Rule(
        "xid-application",
        "xid_application_fault",
        _XID,
        when=_application_xid,
        scope=ANY,
        weight=RECORD,
        strength=3,
        stage="serving",
        ends=True,
        say="The kernel log shows Xid {xid}: a GPU channel of the server was stopped by a fault of the application.",
        source="NVRM",
    ),
    Rule(
        "memory-query",
        "gpu_memory_query_failed",
        r"No GPU memory values found|could not convert string to float: ['\"]?\[?(?:N/A|Insufficient|Unknown|Not Supported)|"
        r"invalid literal for int\(\).*(?:N/A|Insufficient|Not Supported)|"
        r"\[Insufficient Permissions\]|nvidia-smi.*(?:returned no|no numbers|unexpected output|\[N/A\])|Failed to (?:get|query) (?:GPU|"
        r"memory).*nvidia-smi",
        strength=5,
        stage="args",
        stages=("args", "launch"),
        say="SGLang cannot find out how much memory the GPU has: nvidia-smi answers without numbers.",
        remedies=fix.memory_query,
        source="utils/common.py get_nvgpu_memory_capacity",
    ),
    Rule(
        "driver-silent",
        "gpu_not_passed_through",
        r"NVIDIA-SMI has failed because it couldn't communicate|Found no NVIDIA driver on your system|"
        r"Failed to initialize NVML: Driver Not Loaded|NVMLError_DriverNotLoaded|No devices were found",
        scope=ANY,
        strength=6,
        stage="launch",
        stages=("launch", "args", "distributed_init"),
        remedies=fix.passthrough,
        say="The NVIDIA driver does not answer in this container.",
        source="nvidia-smi, torch, NVML",
    ),
    Rule(
        "no-accelerator",
        "gpu_not_passed_through",
        r"No accelerator \((?:CUDA|XPU)[^)]*\)[^.]*(?:is|are) available|nvidia-smi not found\. Ensure NVIDIA drivers|"
        r"NVIDIA driver is not loaded|Failed to infer device type",
        weight=WEAK,
        strength=5,
        stage="launch",
        stages=("launch", "args", "distributed_init"),
        confidence=0.75,
        remedies=fix.passthrough,
        say="No usable NVIDIA device was found in this container.",
        source="utils/common.py get_device; vLLM config/device.py",
    ),
    Rule(
        "torch-cpu",
        "torch_cpu_only_build",
        r"Torch not compiled with CUDA enabled|torch.*\+cpu\b.*(?:CUDA|cuda)|not (?:compiled|built) with CUDA support",
        strength=6,
        stage="distributed_init",
        stages=("launch", "args", "imports", "distributed_init"),
        say="The installed torch was built without CUDA.",
        source="torch cuda _lazy_init",
    ),
    Rule(
        "mig",
        "mig_mode_mismatch",
        r"(?:MIG|Mig|mig)[ -](?:mode|device|instance|GPU|slice)s?.*(?:not (?:found|exist|supported|enabled|allowed|visible)|"
        r"no (?:compute|GPU) instance|does not exist|cannot|can't|invalid|mismatch)|"
        r"(?:not (?:found|supported)|cannot|invalid|no such).*\bMIG\b|No MIG devices found|MIG is enabled .*(?:no|without)",
        scope=ANY,
        strength=6,
        stage="launch",
        stages=("launch", "args", "distributed_init"),
        say="MIG and the settings do not fit each other.",
        source="CUDA, nvidia-smi, NVML",
    ),
    Rule(
        "uvm",
        "nvidia_uvm_missing",
        r"CUDA unknown error - this may be due to an incorrectly set up environment|Error 999\b|"
        r"/dev/nvidia-uvm\S*: (?:c \d+:\d+ in container|No such file|Permission denied|Operation not permitted)|"
        r"open\(\"?/dev/nvidia-uvm\"?.*(?:ENOENT|EPERM|EACCES)|nvidia-uvm.*(?:not (?:found|loaded|present)|missing)",
        scope=ANY,
        strength=6,
        stage="distributed_init",
        stages=("launch", "args", "distributed_init"),
        support=r"/dev/nvidia-uvm",
        remedies=fix.uvm,
        say="The driver answers, but CUDA cannot initialise: /dev/nvidia-uvm is missing or not permitted.",
        source="torch cuda init, CUDA error 999",
    ),
)
