# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Rules about the software stack: packages, libraries, compilers, kernels, and defects of the engine."""

from __future__ import annotations

import re

from .. import remedies_general as fix
from ..record import ANY, LOG, Rule

_DRIVER_LIBRARY = re.compile(r"lib(?:cuda|nvidia-[\w-]+|nvcuvid|nvoptix)\.so")
_CUDA_LIBRARY = re.compile(
    r"lib(?:nvrtc|cudart|cublas|cublasLt|cudnn\w*|cusparse|cusparseLt|cusolver|cufft|curand|nvJitLink|nvjitlink|nccl|cupti|nvToolsExt|"
    r"cufile|nvshmem\w*|nvrtc-builtins)[\w-]*\.so"
)
_TORCH_LIBRARY = re.compile(r"lib(?:c10\w*|torch\w*|shm)\.so")
_MISSING_LIBRARY = r"(?P<library>lib[\w.+-]+\.so[\w.]*): cannot open shared object file"
_TORCH_SYMBOL = re.compile(r"_Z\w*?(?:3c10|2at|5torch|c10)")


def _library(test):
    return lambda match, context: test(match.groups.get("library") or "")


def _in_frames(pattern):
    compiled = re.compile(pattern)
    return lambda match, context: (
        match.block is not None and any(compiled.search(path + " " + function) for path, function, _unused in match.block.frames)
    )


_IN_MAMBA_CACHE = _in_frames(r"/(?:mamba_radix_cache|unified_radix_cache|mamba_component|hybrid\w*cache|hi_mamba\w*|himamba\w*)\.py ")
_IN_MAMBA_INIT = _in_frames(r"mamba_radix_cache\S* __init__|unified_radix_cache\S* __init__")


def _deepest_in_engine(match, context):
    """The exception was raised by the engine's own code, not by a library called from it."""
    if match.block is None or not match.block.frames:
        return False
    path = match.block.frames[-1][0].replace("\\", "/")
    return ("/sglang/srt/" in path or "/vllm/" in path or path.startswith(("sglang/srt", "vllm/"))) and match.stage not in (
        "args",
        "tokenizer",
        "imports",
        "launch",
        "distributed_init",
    )


RULES = (
    Rule(
        "glibc",
        "glibc_too_old",
        r"version [`'](?P<tag>(?:GLIBC|GLIBCXX|CXXABI)_[\d.]+)' not found",
        scope=ANY,
        strength=8,
        stage="imports",
        ends=True,
        say="The distribution's C or C++ runtime lacks {tag}.",
        remedies=fix.cause_text,
        source="ld.so",
    ),
    Rule(
        "library-driver",
        "driver_library_missing",
        _MISSING_LIBRARY
        + r"|NVML Shared Library Not Found|NVMLError_LibraryNotFound|libcuda\.so(?:\.1)? (?:cannot be|not) found|Unable to find libcuda",
        when=lambda match, context: not match.groups.get("library") or bool(_DRIVER_LIBRARY.match(match.groups["library"])),
        scope=ANY,
        strength=7,
        stage="imports",
        say="A library of the NVIDIA driver is not in the container.",
        source="ld.so, pynvml",
    ),
    Rule(
        "library-cuda",
        "cuda_major_mismatch",
        _MISSING_LIBRARY,
        when=_library(lambda name: bool(_CUDA_LIBRARY.match(name))),
        scope=ANY,
        strength=7,
        stage="imports",
        say="{library} is not there: a wheel was built for another CUDA major than the installed libraries.",
        source="ld.so",
    ),
    Rule(
        "library-torch",
        "sgl_kernel_abi_mismatch",
        _MISSING_LIBRARY,
        when=_library(lambda name: bool(_TORCH_LIBRARY.match(name))),
        scope=ANY,
        strength=7,
        stage="imports",
        say="{library} of torch is not found by a kernel wheel.",
        source="ld.so",
    ),
    Rule(
        "library-system",
        "missing_system_library",
        _MISSING_LIBRARY,
        when=_library(
            lambda name: bool(name) and not (_DRIVER_LIBRARY.match(name) or _CUDA_LIBRARY.match(name) or _TORCH_LIBRARY.match(name))
        ),
        scope=ANY,
        strength=7,
        stage="imports",
        say="The system library {library} is not installed in the container.",
        remedies=fix.system_library,
        source="ld.so",
    ),
    Rule(
        "symbol-driver",
        "driver_too_old",
        r"undefined symbol: (?P<symbol>cu[A-Z]\w+)",
        scope=ANY,
        strength=7,
        stage="imports",
        say="The NVIDIA driver lacks {symbol}: it is older than the installed CUDA software needs.",
        source="ld.so",
    ),
    Rule(
        "symbol-torch",
        "sgl_kernel_abi_mismatch",
        r"undefined symbol: (?P<symbol>(?!cu[A-Z])\S+)",
        scope=ANY,
        strength=6,
        stage="imports",
        say="A compiled package was built against another torch: {symbol} is not there.",
        source="ld.so",
    ),
    Rule(
        "kernel-version",
        "sgl_kernel_abi_mismatch",
        r"(?P<package>sgl[-_]kernel|sglang[-_]kernel) (?:is installed with version (?P<have>\S+), which is less than|"
        r"with minimum required version)",
        strength=6,
        stage="launch",
        confidence=0.8,
        say="{package} is older than this SGLang demands.",
        source="utils/common.py assert_pkg_version",
    ),
    Rule(
        "flashinfer-version",
        "flashinfer_version_mismatch",
        r"flashinfer[\w-]* is installed with version \S+, which is less than|"
        r"flashinfer[\w-]* with minimum required version \S+ is not installed|"
        r"flashinfer-(?:cubin|jit-cache) version \(?\S+?\)? does not match|[Ff]lash[Ii]nfer.*version.*(?:mismatch|required|at least|"
        r"does not match)",
        strength=6,
        stage="launch",
        say="The installed FlashInfer packages are not the version that is demanded.",
        source="utils/common.py assert_pkg_version; flashinfer __init__",
    ),
    Rule(
        "package-missing",
        "python_package_missing",
        r"ModuleNotFoundError: No module named ['\"](?P<package>[\w.-]+)['\"]",
        unless=r"No module named ['\"](?:sgl_kernel\.)?common_ops",
        strength=4,
        stage="imports",
        say="The Python package {package} is not installed in the server's environment.",
        remedies=fix.package,
        source="Python",
    ),
    Rule(
        "package-missing-for-m",
        "python_package_missing",
        r"^\S*python[\d.]*: (?:No module named (?P<package>[\w.-]+)|Error while finding module specification for '(?P<module>[\w.]+)')",
        scope=LOG,
        ends=True,
        strength=5,
        stage="imports",
        say="Python does not find the module to start.",
        remedies=fix.package,
        source="python -m",
    ),
    Rule(
        "package-version-missing",
        "python_package_missing",
        r"PackageNotFoundError: (?:No package metadata was found for )?(?P<package>[\w.-]+)",
        strength=4,
        stage="imports",
        say="The Python package {package} is not installed in the server's environment.",
        remedies=fix.package,
        source="importlib.metadata",
    ),
    Rule(
        "name-missing",
        "python_package_missing",
        r"ImportError: cannot import name ['\"](?P<name>\w+)['\"] from (?:partially initialized module )?['\"](?P<package>[\w.]+)['\"]",
        strength=4,
        stage="imports",
        say="The installed {package} has no {name}: packages of different versions are mixed.",
        remedies=fix.package,
        source="Python",
    ),
    Rule(
        "cuda-home",
        "cuda_home_malformed",
        r"(?:^|[\s'\"=])(?P<path>:[^\s'\"]*|/[^\s'\":]*:[^\s'\"]*|/[^\s'\":]*//[^\s'\":]*|(?:\.{1,2}/|"
        r"[A-Za-z_][\w.-]*/)[^\s'\":]*)/bin/nvcc(?:: (?:not found|No such file|command not found)|['\"])",
        scope=ANY,
        strength=8,
        stage="attention_backend",
        stages=("attention_backend", "cuda_graph", "warmup", "weights_load", "memory_pool", "serving"),
        ends=True,
        say="CUDA_HOME is not one directory: nvcc was looked for at {path}/bin/nvcc.",
        remedies=fix.cuda_home,
        source="shell and ninja below torch/flashinfer JIT",
    ),
    Rule(
        "nvcc",
        "nvcc_missing",
        r"Could not find nvcc|Cannot find any available NVCC compiler|(?:^|[/\s:])nvcc: (?:command )?not found|"
        r"No such file or directory: ['\"](?:/[^'\":]*/)?nvcc['\"]|"
        r"CUDA_HOME environment variable is not set|CUDA_HOME (?:is )?not (?:set|found)|nvcc (?:was |is )?not (?:found|installed|"
        r"available)|NVCC (?:was |is )?not found|Failed to find nvcc|"
        r"fatal error: cuda(?:_runtime\w*|_fp\w+|_bf16)?\.h: No such file|/nvcc: (?:not found|No such file)|[Pp]lease (?:install|"
        r"set) .*\bnvcc\b",
        unless=r"[\s'\"]:/\S*nvcc|//\S*nvcc",
        scope=ANY,
        strength=7,
        stage="warmup",
        ends=False,
        say="The CUDA compiler nvcc is needed for a just-in-time build and is not found.",
        source="flashinfer jit/cpp_ext.py, deep_gemm, torch cpp_extension, tvm-ffi",
    ),
    Rule(
        "ninja",
        "ninja_missing",
        r"No such file or directory: ['\"](?:/\S*/)?ninja['\"]|Ninja is required to load C\+\+ extensions|(?:^|"
        r"[\s/:])ninja: (?:command )?not found|ninja (?:is )?not (?:found|installed)",
        scope=ANY,
        strength=7,
        stage="attention_backend",
        say="The build tool ninja is needed for a just-in-time build and is not found.",
        source="flashinfer jit, torch cpp_extension",
    ),
    Rule(
        "compiler",
        "compiler_missing",
        r"Failed to find C compiler|No such file or directory: ['\"](?:/\S*/)?(?:x86_64-linux-gnu-)?(?:gcc|g\+\+|cc|c\+\+|"
        r"clang(?:\+\+)?)(?:-\d+)?['\"]|No working C\+\+ compiler found|InvalidCxxCompiler|"
        r"(?:^|[\s/:])(?:gcc|g\+\+|cc|c\+\+): (?:command )?not found|cannot execute ['`]?cc1(?:plus)?|nvcc fatal\s*:.*host compiler|"
        r"command ['\"]?\S*(?:gcc|g\+\+)['\"]? failed: No such file",
        scope=ANY,
        strength=7,
        stage="cuda_graph",
        say="A just-in-time build needs a C/C++ compiler and finds none.",
        remedies=fix.compiler,
        source="triton runtime/build.py, torch inductor cpp_builder.py",
    ),
    Rule(
        "python-headers",
        "python_headers_missing",
        r"fatal error: Python\.h: No such file|Python\.h: No such file or directory",
        scope=ANY,
        strength=8,
        stage="cuda_graph",
        say="The development headers of the server's Python (Python.h) are not installed.",
        remedies=fix.python_headers,
        source="gcc below triton runtime/build.py",
    ),
    Rule(
        "toolchain",
        "toolchain_too_old_for_gpu",
        r"Value '(?P<arch>(?:sm|compute)_\w+)' is not defined for option|Unsupported gpu architecture '(?P<arch2>\w+)'|"
        r"invalid value for --gpu-(?:architecture|name)|"
        r"Unknown CUDA arch \(\S+\) or GPU not supported|ptxas fatal\s*: Unsupported \.(?:version|target)|"
        r"'sm_\w+' is not a recognized processor|nvrtc: error: .*--gpu-architecture|"
        r"--gpu-name=sm_\w+ .*returned non-zero exit status 255|PTX \.version .* does not support \.target",
        scope=ANY,
        strength=8,
        stage="cuda_graph",
        support=r"Value '\w+' is not defined for option",
        say="A compiler or assembler of the installed software does not know this GPU.",
        source="ptxas, nvcc, nvrtc below triton",
    ),
    Rule(
        "no-kernel-image",
        "missing_kernel_for_gpu",
        r"no kernel image is available for execution|cudaErrorNoKernelImageForDevice|device kernel image is invalid|"
        r"CUDA_ERROR_NO_BINARY_FOR_GPU|SGLang only supports sm75 and above|"
        r"(?:does not support|not supported on) (?:this GPU's )?compute capability|no (?:suitable|compatible) (?:kernel|"
        r"cubin)s? (?:found )?for (?:sm|SM)|"
        r"capability sm_\d+\w* is not compatible with the current PyTorch installation",
        scope=ANY,
        strength=6,
        stage="cuda_graph",
        say="The installed binaries hold no code for this GPU generation.",
        source="CUDA runtime, torch",
    ),
    Rule(
        "shared-memory",
        "triton_shared_memory_limit",
        r"out of resource: shared memory(?:, Required: (?P<need>\d+), Hardware limit: (?P<limit>\d+))?|uses too much shared data|"
        r"OutOfResources: out of resource",
        strength=8,
        stage="cuda_graph",
        say="A Triton kernel asks for more on-chip shared memory than the GPU has.",
        source="triton runtime/errors.py OutOfResources",
    ),
    Rule(
        "illegal-access",
        "illegal_memory_access",
        r"an illegal memory access was encountered|CUDA_ERROR_ILLEGAL_ADDRESS|cudaErrorIllegalAddress|misaligned address",
        scope=ANY,
        strength=6,
        stage="serving",
        support=None,
        ends=True,
        say="A GPU kernel touched memory it must not touch; without a sign of defective hardware this is a software fault.",
        remedies=fix.illegal_access,
        source="CUDA runtime",
    ),
    Rule(
        "leak-check",
        "engine_leak_check",
        r"memory leak detected|pool memory leak|(?:available|free)\S*.*leak(?:ed)? detected",
        scope=ANY,
        strength=7,
        stage="serving",
        fixed=False,
        support=r"leaked_\w+=|available_size",
        say="The self-check of the idle scheduler found slots that do not add up; memory is not exhausted.",
        remedies=fix.radix_off,
        source="scheduler_runtime_checker_mixin.py",
    ),
    Rule(
        "mamba-page-size",
        "mamba_page_size_conflict",
        r"Page size must be 1 for \w*MambaRadixCache|no_buffer only supports page_size=1|MambaRadixCache .*page[_ ]size|"
        r"page_size.*(?:mamba|hybrid|SSM|ssm).*(?:1\b|not supported)",
        strength=7,
        stage="memory_pool",
        say="The prefix cache for hybrid models handles only page size 1 here.",
        remedies=fix.page_size_one,
        source="mem_cache/mamba_radix_cache.py",
    ),
    Rule(
        "mamba-page-size-bare",
        "mamba_page_size_conflict",
        r"^AssertionError(?::.*(?:page|[Aa]llocator).*|:?\s*)$",
        strength=5,
        stage="memory_pool",
        when=_IN_MAMBA_INIT,
        say="The prefix cache for hybrid models refused the page size or the token allocator.",
        remedies=fix.page_size_one,
        source="mem_cache/mamba_radix_cache.py __init__",
    ),
    Rule(
        "mamba-cache-check",
        "engine_bug_mamba_cache",
        r"^AssertionError|^RuntimeError: .*(?:sanity|invariant|lru|LRU|tree)|^(?:ValueError|KeyError|IndexError|AttributeError)\b",
        strength=5,
        stage="serving",
        unless=r"Not enough space|[Pp]age size",
        when=lambda match, context: _IN_MAMBA_CACHE(match, context) and not _IN_MAMBA_INIT(match, context),
        say="An internal check of the prefix cache for hybrid models failed: a defect of the engine, not a lack of memory.",
        remedies=fix.radix_off,
        source="mem_cache/mamba_radix_cache.py",
    ),
    Rule(
        "torch-compile",
        "torch_compile_failure",
        r"torch\._(?:dynamo|inductor)\.exc\.\w+|BackendCompilerFailed|InductorError|LoweringException|(?:^|\.)Unsupported: |"
        r"TorchRuntimeError|SubprocException: An exception occurred in a subprocess",
        strength=1,
        stage="cuda_graph",
        say="torch.compile itself failed on this model.",
        remedies=fix.compile_off,
        source="torch dynamo and inductor",
    ),
    Rule(
        "engine-class",
        "engine_bug_model_support",
        r"^(?:AttributeError: (?:'\w+' object|type object '\w+'|module '[\w.]+') has no attribute '(?P<name>\w+)'|"
        r"TypeError: \S+\(?\)? .*(?:argument|positional|keyword|takes)|"
        r"NotImplementedError\b.*|UnboundLocalError: .*|NameError: name .* is not defined.*)",
        strength=2,
        when=_deepest_in_engine,
        stage="weights_load",
        confidence=0.75,
        say="The engine's own code for this model is incomplete in this release.",
        remedies=fix.other_release,
        source="Python, raised in sglang/srt",
    ),
)
