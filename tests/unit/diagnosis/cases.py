"""At least one log for every rule: name of the rule, cause, stage, log. Texts are those of the programs; the rest is made up."""

from __future__ import annotations

from .logs import (
    CAPACITY,
    CAPTURE,
    CAPTURED,
    DISTRIBUTED,
    FRONT,
    LOAD,
    LOADED,
    POOLS,
    READY,
    SERVING,
    SIGQUIT,
    SITE,
    args,
    chained,
    died,
    failed,
    stamp,
)

OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. "
    "GPU 0 has a total capacity of 47.40 GiB of which 800.00 MiB is free. "
)
OWN = OOM + "Including non-PyTorch memory, this process has 46.50 GiB memory in use."
OTHER = OOM + "Process 4021 has 40.20 GiB memory in use. Including non-PyTorch memory, this process has 6.10 GiB memory in use."
A = args()
HYBRID = args(speculative_algorithm="EAGLE", speculative_num_draft_tokens=4)
TP2 = args(tp_size=2)
MAMBA = LOADED.replace("type=SomeForCausalLM", "type=Qwen3NextForCausalLM")
MAMBA_POOL = (
    MAMBA + stamp(61) + "Mamba Cache is allocated. max_mamba_cache_size: 40, conv_state size: 0.10GB, ssm_state size: 2.00GB \n"
)
EXITED = "May 04 10:05:00 guest systemd[1]: sglang-a.service: Main process exited, code=%s\n"
KERNEL = "May 04 10:05:00 guest kernel: "
IMPORT = "ImportError: "
XID = KERNEL + "NVRM: Xid (PCI:0000:81:00): %d, pid=4711, name=sglang::schedul, %s\n"
REFUSED = "".join(stamp(100 + n) + 'INFO:     192.0.2.7:4%03d - "GET /v1/models HTTP/1.1" 401 Unauthorized\n' % n for n in range(4))

CASES = (
    # memory
    ("oom-weights", "weights_oom", "weights_load", A + LOAD + died("load", OWN)),
    (
        "oom-weights",
        "weights_oom",
        "weights_load",
        A + LOAD + died("load", "RuntimeError: CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported."),
    ),
    ("oom-gpu-busy", "gpu_busy_by_other_process", "weights_load", A + LOAD.replace("46.00", "6.50") + died("load", OTHER)),
    ("oom-gpu-busy", "gpu_busy_by_other_process", "distributed_init", A + DISTRIBUTED + died("distributed", OTHER)),
    (
        "oom-graph",
        "cuda_graph_oom",
        "cuda_graph",
        A
        + CAPTURE
        + died(
            "capture",
            "Exception: Capture cuda graph failed: CUDA out of memory. Tried to allocate 2.00 GiB.\nPossible solutions:\n1. set "
            "--mem-fraction-static to a smaller value",
        ),
    ),
    ("oom-pool", "pool_allocation_oom", "memory_pool", A + LOADED + died("pools", OWN)),
    ("oom-activation", "activation_oom", "serving", A + SERVING + died("loop", OWN)),
    ("oom-activation", "activation_oom", "warmup", A + FRONT + died("loop", OWN)),
    ("oom-host-pool", "hicache_host_memory", "memory_pool", A + POOLS + died("host_pool", "RuntimeError: CUDA error: out of memory")),
    (
        "hicache-size",
        "hicache_host_memory",
        "memory_pool",
        A
        + POOLS
        + died(
            "host_pool",
            "ValueError: Not enough host memory available. Requesting 64.00 GB but only have 31.20 GB free. Please reduce the size of "
            "the hierarchical cache.",
        ),
    ),
    (
        "hicache-size",
        "hicache_host_memory",
        "memory_pool",
        A
        + POOLS
        + died(
            "host_pool",
            "RuntimeError: [enforce fail at alloc_cpu.cpp:121] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to "
            "allocate 68719476736 bytes.",
        ),
    ),
    (
        "kv-not-enough",
        "kv_cache_oom",
        "memory_pool",
        A
        + LOADED
        + died(
            "pools",
            "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: mem_fraction_static=0.5",
        ),
    ),
    (
        "kv-not-enough",
        "kv_cache_oom",
        "memory_pool",
        A
        + LOADED
        + died(
            "pools",
            "ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.5. Raise "
            "--mem-fraction-static above 0.570 (minimum viable = 1 - available/pre = 0.565).",
        ),
    ),
    (
        "kv-longer-than-pool-at-start",
        "kv_cache_oom",
        "memory_pool",
        'ERROR 05-04 10:00:00 [core.py:710] Traceback (most recent call last):\nERROR 05-04 10:00:00 [core.py:710]   File '
        '"/x/vllm/v1/core/kv_cache_utils.py", line 1, in _check_enough\n'
        "ERROR 05-04 10:00:00 [core.py:710] ValueError: To serve at least one request with the models's max seq len (40960), (5.00 GiB "
        "KV cache is needed, which is larger than the available KV cache memory (1.20 GiB).\n",
    ),
    (
        "mamba-state-none",
        "mamba_cache_oom",
        "memory_pool",
        HYBRID
        + MAMBA
        + died(
            "pools",
            "RuntimeError: Not enough GPU memory for hybrid (mamba/linear-attention) state cache. Computed max_mamba_cache_size=-3 "
            "(total_rest_memory=-1.00 GB, mamba_cache_per_req=73.41 MB).",
        ),
    ),
    (
        "mamba-state-none-by-graphs",
        "mamba_cache_oom",
        "cuda_graph",
        HYBRID + MAMBA_POOL + died("capture", "AssertionError: capture_bs=[0]"),
    ),
    ("running-requests-zero", "kv_cache_oom", "memory_pool", A + POOLS + died("main", "AssertionError: max_running_request is zero")),
    (
        "mamba-slots",
        "mamba_slots_exhausted",
        "serving",
        HYBRID
        + SERVING
        + died(
            "loop",
            "AssertionError: Not enough space for mamba cache, try to increase --mamba-full-memory-ratio or --max-mamba-cache-size. "
            "mid=None",
        ),
    ),
    (
        "balance-check-own",
        "memory_balance_check",
        "distributed_init",
        TP2
        + CAPTURED
        + stamp(81)
        + "Init torch distributed begin.\n"
        + died(
            "distributed",
            "ValueError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes. pre_model_load_memory=11.2",
        ),
    ),
    (
        "balance-check-foreign",
        "gpu_busy_by_other_process",
        "distributed_init",
        TP2
        + DISTRIBUTED
        + died("distributed", "ValueError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes."),
    ),
    (
        "free-memory-less-than-wanted",
        "gpu_busy_by_other_process",
        "distributed_init",
        "INFO 05-04 10:00:00 llm_engine.py:72] Initializing an LLM engine (v0.9.0) with config: x\n"
        + failed(
            [("/x/vllm/v1/worker/gpu_worker.py", "init_device", "raise ValueError(")],
            "ValueError: Free memory on device (5.10/47.40 GiB) on startup is less than desired GPU memory utilization (0.9, 42.66 GiB).",
        ),
    ),
    (
        "oom-kill-kernel",
        "host_oom_killed",
        "weights_load",
        A + LOAD + KERNEL + "Memory cgroup out of memory: Killed process 99 (sglang::schedul) total-vm:1kB, anon-rss:2kB\n",
    ),
    (
        "oom-kill-systemd",
        "host_oom_killed",
        "weights_load",
        A + LOAD + "May 04 10:05:00 guest systemd[1]: sglang-a.service: Failed with result 'oom-kill'.\n",
    ),
    (
        "scheduler-exit-9",
        "host_oom_killed",
        "weights_load",
        A
        + LOAD
        + failed(
            "main",
            "RuntimeError: Rank 0 scheduler died during initialization (exit code: -9). If exit code is -9 (SIGKILL), a common cause "
            "is the OS OOM killer.",
        ),
    ),
    (
        "scheduler-exit-9",
        "host_oom_killed",
        "serving",
        A
        + SERVING
        + stamp(200)
        + "Subprocess scheduler_0 (pid=99) crashed with exit code -9. Triggering SIGQUIT for cleanup...\n"
        + stamp(200)
        + "SIGQUIT received. signum=None, frame=None. It usually means one child failed.\n",
    ),
    # software
    (
        "glibc",
        "glibc_too_old",
        "imports",
        failed(
            "imports",
            IMPORT
            + "/lib/x86_64-linux-gnu/libstdc++.so.6: version `GLIBCXX_3.4.32' not found (required by /x/sgl_kernel/common_ops.so)",
        ),
    ),
    (
        "library-driver",
        "driver_library_missing",
        "imports",
        failed("imports", IMPORT + "libnvidia-ml.so.1: cannot open shared object file: No such file or directory"),
    ),
    (
        "library-cuda",
        "cuda_major_mismatch",
        "imports",
        failed("imports", IMPORT + "libcudart.so.13: cannot open shared object file: No such file or directory"),
    ),
    (
        "library-torch",
        "sgl_kernel_abi_mismatch",
        "imports",
        failed("imports", IMPORT + "libc10_cuda.so: cannot open shared object file: No such file or directory"),
    ),
    (
        "library-system",
        "missing_system_library",
        "imports",
        failed("imports", IMPORT + "libGL.so.1: cannot open shared object file: No such file or directory"),
    ),
    (
        "symbol-driver",
        "driver_too_old",
        "imports",
        failed("imports", IMPORT + "/x/sgl_kernel/common_ops.abi3.so: undefined symbol: cuMulticastCreate"),
    ),
    (
        "symbol-torch",
        "sgl_kernel_abi_mismatch",
        "imports",
        failed("imports", IMPORT + "/x/sgl_kernel/common_ops.abi3.so: undefined symbol: _ZN2at4_ops5zeros4callEN3c108ArrayRef"),
    ),
    (
        "kernel-version",
        "sgl_kernel_abi_mismatch",
        "launch",
        A
        + failed(
            [("sglang/srt/entrypoints/engine.py", "_set_envs_and_config", "assert_pkg_version(")],
            "Exception: sglang-kernel is installed with version 0.4.1, which is less than the minimum required version 0.4.5. Please "
            "reinstall the latest version with `pip install sglang-kernel --force-reinstall`",
        ),
    ),
    (
        "flashinfer-version",
        "flashinfer_version_mismatch",
        "imports",
        failed(
            "imports",
            "RuntimeError: flashinfer-cubin version (0.6.3) does not match flashinfer version (0.6.4). Please install the same version "
            "of both packages.",
        ),
    ),
    ("package-missing", "python_package_missing", "imports", failed("imports", "ModuleNotFoundError: No module named 'orjson'")),
    ("package-missing-for-m", "python_package_missing", "imports", "/opt/venv/bin/python3: No module named sglang\n"),
    (
        "package-version-missing",
        "python_package_missing",
        "imports",
        failed("imports", "importlib.metadata.PackageNotFoundError: No package metadata was found for compressed-tensors"),
    ),
    (
        "name-missing",
        "python_package_missing",
        "imports",
        failed("imports", "ImportError: cannot import name 'Qwen3_5Config' from 'transformers' (/x/transformers/__init__.py)"),
    ),
    (
        "cuda-home",
        "cuda_home_malformed",
        "cuda_graph",
        A
        + CAPTURE
        + died(
            "capture",
            "RuntimeError: Ninja build failed. Ninja output:\nninja: Entering directory `/c'\n/bin/sh: 1: "
            "/usr/local/cuda:/usr/local/cuda-13/bin/nvcc: not found\nninja: build stopped: subcommand failed.",
        ),
    ),
    (
        "nvcc",
        "nvcc_missing",
        "cuda_graph",
        A + CAPTURE + died("capture", "FileNotFoundError: [Errno 2] No such file or directory: '/usr/local/cuda/bin/nvcc'"),
    ),
    (
        "nvcc",
        "nvcc_missing",
        "attention_backend",
        A + POOLS + died("backend", "RuntimeError: Could not find nvcc and default cuda_home='/usr/local/cuda' doesn't exist"),
    ),
    (
        "ninja",
        "ninja_missing",
        "attention_backend",
        A + POOLS + died("backend", "RuntimeError: Ninja is required to load C++ extensions (pip install ninja to get it)"),
    ),
    (
        "compiler",
        "compiler_missing",
        "cuda_graph",
        A
        + CAPTURE
        + died(
            "capture",
            "RuntimeError: Failed to find C compiler. Please specify via CC environment variable or set triton.knobs.build.impl.",
        ),
    ),
    (
        "compiler",
        "compiler_missing",
        "cuda_graph",
        A
        + CAPTURE
        + died(
            "capture",
            "torch._inductor.exc.InductorError: InvalidCxxCompiler: No working C++ compiler found in torch._inductor.config.cpp.cxx: "
            "(None, 'g++')",
        ),
    ),
    (
        "python-headers",
        "python_headers_missing",
        "cuda_graph",
        A
        + CAPTURE
        + "/tmp/tmpx/cuda_utils.c:6:10: fatal error: Python.h: No such file or directory\n"
        + died(
            "capture",
            "subprocess.CalledProcessError: Command '['/usr/bin/gcc', '/tmp/tmpx/cuda_utils.c', '-I/usr/include/python3.11']' returned "
            "non-zero exit status 1.",
        ),
    ),
    (
        "toolchain",
        "toolchain_too_old_for_gpu",
        "cuda_graph",
        A
        + CAPTURE
        + died(
            "capture",
            "triton.runtime.errors.PTXASError: PTXAS error: Internal Triton PTX codegen error\n`ptxas` stderr:\nptxas fatal   : Value "
            "'sm_121a' is not defined for option 'gpu-name'",
        ),
    ),
    (
        "toolchain",
        "toolchain_too_old_for_gpu",
        "attention_backend",
        A
        + POOLS
        + died(
            "backend", "RuntimeError: Ninja build failed. Ninja output:\nnvcc fatal   : Unsupported gpu architecture 'compute_120a'"
        ),
    ),
    (
        "no-kernel-image",
        "missing_kernel_for_gpu",
        "cuda_graph",
        A + CAPTURE + died("capture", "torch.AcceleratorError: CUDA error: no kernel image is available for execution on the device"),
    ),
    (
        "shared-memory",
        "triton_shared_memory_limit",
        "cuda_graph",
        A
        + CAPTURE
        + died(
            "capture",
            "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 131072, Hardware limit: 99000. Reducing "
            "block sizes or `num_stages` may help.",
        ),
    ),
    (
        "illegal-access",
        "illegal_memory_access",
        "serving",
        A + SERVING + died("loop", "torch.AcceleratorError: CUDA error: an illegal memory access was encountered"),
    ),
    (
        "leak-check",
        "engine_leak_check",
        "serving",
        A
        + SERVING
        + died(
            "loop",
            "ValueError: token_to_kv_pool_allocator memory leak detected! available_size=99, evictable_size=1, protected_size=0, "
            "self.max_total_num_tokens=101",
        ),
    ),
    ("mamba-page-size", "mamba_page_size_conflict", "args", failed("args", "AssertionError: no_buffer only supports page_size=1.")),
    ("mamba-page-size-bare", "mamba_page_size_conflict", "memory_pool", HYBRID + MAMBA_POOL + died("mamba_init", "AssertionError")),
    (
        "mamba-cache-check",
        "engine_bug_mamba_cache",
        "serving",
        HYBRID + SERVING + died("mamba_cache", "AssertionError: Removing node node.id=7 not in lru list"),
    ),
    (
        "torch-compile",
        "torch_compile_failure",
        "cuda_graph",
        A
        + CAPTURE
        + died("capture", "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\nLoweringException: KeyError: 'x'"),
    ),
    (
        "engine-class",
        "engine_bug_model_support",
        "weights_load",
        A + LOAD + died("load", "AttributeError: 'SomeConfig' object has no attribute 'num_key_value_heads_per_layer'"),
    ),
    # host
    (
        "cache-denied",
        "cache_dir_not_writable",
        "cuda_graph",
        A + CAPTURE + died("triton_cache", "OSError: [Errno 30] Read-only file system: '/home/sglang/.triton/cache/X'"),
    ),
    (
        "cache-denied-text",
        "cache_dir_not_writable",
        "attention_backend",
        A + POOLS + died("backend", "RuntimeError: workspace directory /root/.cache/flashinfer is not writable"),
    ),
    (
        "model-denied",
        "model_path_permission",
        "tokenizer",
        A + failed("tokenizer", "PermissionError: [Errno 13] Permission denied: '/models/m/config.json'"),
    ),
    (
        "disk-full",
        "disk_full",
        "weights_load",
        A + LOAD + died("load", "OSError: [Errno 28] No space left on device: '/var/lib/hub/blobs/x.incomplete'"),
    ),
    (
        "disk-small",
        "disk_full",
        "weights_load",
        A
        + LOAD
        + SITE
        + "huggingface_hub/file_download.py:1: UserWarning: Not enough free disk space to download the file. The expected file size "
          "is: 4000.00 MB. "
        "The target location /m only has 12.00 MB free disk space.\n  warnings.warn(\n",
    ),
    (
        "clock",
        "clock_skew",
        "tokenizer",
        A
        + failed(
            "tokenizer",
            "ssl.SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: certificate is not yet valid "
            "(_ssl.c:1000)",
        ),
    ),
    (
        "no-gpu-visible",
        "cuda_visible_devices_empty",
        "distributed_init",
        A + died("distributed", "RuntimeError: No CUDA GPUs are available"),
    ),
    (
        "driver-mismatch",
        "driver_library_mismatch",
        "distributed_init",
        A
        + died(
            "distributed",
            "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 804: forward compatibility was attempted on non supported "
            "HW",
        ),
    ),
    (
        "driver-old",
        "driver_too_old",
        "distributed_init",
        A
        + died(
            "distributed",
            "RuntimeError: The NVIDIA driver on your system is too old (found version 12080). Please update your GPU driver",
        ),
    ),
    (
        "fabric",
        "fabric_manager_not_running",
        "distributed_init",
        A + died("distributed", "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized"),
    ),
    (
        "nvml-unknown",
        "gpu_cgroup_lost",
        "serving",
        A + SERVING + "Failed to initialize NVML: Unknown Error\n" + died("loop", "RuntimeError: CUDA error: unknown error"),
    ),
    (
        "exclusive",
        "gpu_exclusive_mode",
        "distributed_init",
        A + DISTRIBUTED + died("distributed", "torch.AcceleratorError: CUDA error: CUDA-capable device(s) is/are busy or unavailable"),
    ),
    (
        "xid-lost",
        "gpu_fell_off_bus",
        "serving",
        A + SERVING + XID % (79, "GPU has fallen off the bus.") + died("loop", "RuntimeError: CUDA error: unspecified launch failure"),
    ),
    (
        "xid-ecc",
        "gpu_hardware_ecc",
        "serving",
        A + SERVING + died("loop", "RuntimeError: CUDA error: unspecified launch failure") + XID % (94, "Contained: SM (0x1)"),
    ),
    (
        "ecc",
        "gpu_hardware_ecc",
        "serving",
        A + SERVING + died("loop", "torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered"),
    ),
    (
        "xid-exception",
        "gpu_kernel_exception",
        "serving",
        A + SERVING + died("loop", "RuntimeError: CUDA error: unspecified launch failure") + XID % (13, "Graphics SM Warp Exception"),
    ),
    (
        "illegal-instruction",
        "gpu_kernel_exception",
        "serving",
        A + SERVING + died("loop", "torch.AcceleratorError: CUDA error: an illegal instruction was encountered"),
    ),
    ("xid-application", "xid_application_fault", "serving", A + SERVING + XID % (31, "Ch 00000008, intr 00000000. MMU Fault")),
    (
        "memory-query",
        "gpu_memory_query_failed",
        "args",
        failed(
            [
                ("sglang/launch_server.py", "<module>", "server_args = prepare_server_args(sys.argv[1:])"),
                ("sglang/srt/utils/common.py", "get_nvgpu_memory_capacity", "x"),
            ],
            "ValueError: could not convert string to float: '[N/A]'",
        ),
    ),
    (
        "driver-silent",
        "gpu_not_passed_through",
        "distributed_init",
        A
        + died(
            "distributed",
            "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver",
        ),
    ),
    (
        "no-accelerator",
        "gpu_not_passed_through",
        "args",
        failed("args", "RuntimeError: No accelerator (CUDA, XPU, HPU, NPU, MUSA) is available."),
    ),
    (
        "torch-cpu",
        "torch_cpu_only_build",
        "distributed_init",
        A + died("distributed", "AssertionError: Torch not compiled with CUDA enabled"),
    ),
    (
        "audit",
        "mandatory_access_denied",
        "weights_load",
        A
        + LOAD
        + KERNEL
        + 'audit: type=1400 audit(1.1:2): apparmor="DENIED" operation="open" profile="lxc-129" name="/models/m/a.safetensors" '
          'comm="sglang"\n'
        + died("load", "PermissionError: [Errno 13] Permission denied: '/models/m/a.safetensors'"),
    ),
    (
        "memlock",
        "memlock_limit",
        "distributed_init",
        A
        + DISTRIBUTED
        + "guest:1:1 [0] misc/ibvwrap.cc:1 NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory (max locked memory)\n"
        + died("distributed", "RuntimeError: NCCL error: unhandled system error"),
    ),
    (
        "mig",
        "mig_mode_mismatch",
        "distributed_init",
        A + died("distributed", "RuntimeError: MIG device MIG-4f not found: MIG is enabled on GPU 0 but no compute instance exists"),
    ),
    (
        "nested",
        "nested_container_cgroup_denied",
        "launch",
        "docker: Error response from daemon: nvidia-container-cli: mount error: open failed: /sys/fs/cgroup/devices/x/devices.allow: "
        "operation not permitted\n",
    ),
    (
        "numa",
        "numa_binding_failed",
        "launch",
        A
        + "libnuma: Error: mbind: Operation not permitted\n"
        + failed("main", "RuntimeError: Rank 0 scheduler died during initialization (exit code: 1)."),
    ),
    (
        "uvm",
        "nvidia_uvm_missing",
        "distributed_init",
        A + died("distributed", "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 999: unknown error"),
    ),
    ("process-limit", "process_limit", "weights_load", A + LOAD + died("load", "RuntimeError: can't start new thread")),
    (
        "shm-denied",
        "shm_permission",
        "distributed_init",
        A
        + DISTRIBUTED
        + "guest:1:1 [0] include/shm.h:27 NCCL WARN Call to shm_open failed : Permission denied\n"
        + died("distributed", "RuntimeError: NCCL error: unhandled system error"),
    ),
    (
        "shm-small",
        "shm_too_small",
        "distributed_init",
        A
        + DISTRIBUTED
        + "guest:1:1 [0] misc/shmutils.cc:87 NCCL WARN Error: failed to extend /dev/shm/nccl-a to 99 bytes, error: No space left on "
          "device (28)\n"
        + died("distributed", "RuntimeError: NCCL error: unhandled system error"),
    ),
    (
        "shm-segment",
        "shm_too_small",
        "distributed_init",
        A
        + DISTRIBUTED
        + "guest:1:1 [0] transport/shm.cc:1 NCCL WARN Error while creating shared memory segment /dev/shm/nccl-b (size 9637888)\n"
        + died("distributed", "RuntimeError: NCCL error: unhandled system error"),
    ),
    (
        "bus-error",
        "shm_too_small",
        "distributed_init",
        A + DISTRIBUTED + "/start.sh: line 4:  4711 Bus error               (core dumped) python3 -m sglang.launch_server\n",
    ),
    # command line, model
    (
        "unknown-flag",
        "unknown_argument",
        "args",
        "usage: sglang serve [-h] --model-path MODEL_PATH\n                    [--kv-cache-dtype {auto,fp8_e5m2}]\nsglang serve: "
        "error: unrecognized arguments: --enable-foo\n",
    ),
    (
        "unknown-flag",
        "unknown_argument",
        "args",
        "usage: sglang serve [-h]\nsglang serve: error: ambiguous option: --cuda-graph-max-bs could match --cuda-graph-max-bs-decode, "
        "--cuda-graph-max-bs-prefill\n",
    ),
    (
        "bad-value",
        "invalid_argument_value",
        "args",
        "usage: sglang serve [-h]\nsglang serve: error: argument --attention-backend: invalid choice: 'nonsense' (choose from "
        "'triton', 'torch_native', 'flashinfer')\n",
    ),
    (
        "bad-value",
        "invalid_argument_value",
        "args",
        "usage: sglang serve [-h]\nsglang serve: error: argument --max-running-requests: invalid int value: 'ten'\n",
    ),
    (
        "bad-value",
        "invalid_argument_value",
        "args",
        "usage: sglang serve [-h]\nsglang serve: error: the following arguments are required: --model-path/--model\n",
    ),
    (
        "serve-arguments",
        "invalid_argument_value",
        "args",
        failed(
            [("sglang/cli/serve.py", "serve", "model_path = get_model_path(dispatch_argv)")],
            "Exception: Error: --model-path is required. Please provide the path to the model.",
        ),
    ),
    ("config-file", "invalid_argument_value", "args", failed("main", "ValueError: Config file must be YAML format, got: /etc/a.txt")),
    (
        "context-length",
        "context_length_exceeds_model",
        "tokenizer",
        A
        + failed(
            [("sglang/srt/configs/model_config.py", "__init__", "raise ValueError(")],
            "ValueError: Warning: User-specified context_length (65536) is greater than the derived context_length (32768). This may "
            "lead to incorrect model outputs or CUDA errors.",
        ),
    ),
    (
        "extra-buffer",
        "mamba_strategy_unsupported_platform",
        "args",
        failed("args", "AssertionError: Mamba extra_buffer is only supported on CUDA devices with FLA backend"),
    ),
    (
        "speculative",
        "invalid_speculative_config",
        "args",
        failed("args", "ValueError: Currently standalone speculative decoding does not support dp attention."),
    ),
    (
        "speculative-no-draft",
        "invalid_speculative_config",
        "weights_load",
        args(speculative_algorithm="EAGLE3")
        + LOADED
        + died("speculative", "AttributeError: 'Qwen2ForCausalLM' object has no attribute 'set_eagle3_layers_to_capture'"),
    ),
    (
        "expert-parallel",
        "expert_parallel_size_invalid",
        "args",
        failed("args", "AssertionError: ep_size * moe_dp_size must be equal to tp_size"),
    ),
    ("tp-divisible", "tp_size_not_divisible", "weights_load", TP2 + LOAD + died("load", "AssertionError: 27 is not divisible by 2")),
    (
        "tp-blocks",
        "tp_size_not_divisible",
        "weights_load",
        TP2
        + LOAD
        + died(
            "load",
            "ValueError: For quantized MoE models, please make sure (moe_intermediate_size=1408 / moe_tp_size=8) % "
            "weight_block_size_n=128 == 0 where moe_tp_size is equal to tp_size (8) divided by ep_size (1).",
        ),
    ),
    (
        "tp-assert",
        "tp_size_not_divisible",
        "weights_load",
        TP2
        + LOAD
        + died(
            [
                ("sglang/srt/model_executor/model_runner.py", "load_model", "x"),
                ("sglang/srt/models/foo.py", "__init__", "assert self.total_num_heads % tp_size == 0"),
            ],
            "AssertionError",
        ),
    ),
    (
        "page-size",
        "page_size_unsupported_by_backend",
        "attention_backend",
        A + POOLS + died("backend", "ValueError: tokenspeed_mla backend requires page_size in {32, 64}, got page_size=16."),
    ),
    (
        "backend",
        "attention_backend_unsupported",
        "attention_backend",
        A
        + POOLS
        + died(
            "backend",
            "AssertionError: FlashAttention v3 Backend requires SM>=80 and SM<=90. Please use `--attention-backend flashinfer`.",
        ),
    ),
    (
        "refused-argument",
        "invalid_argument_value",
        "args",
        failed("args", "AssertionError: schedule_conservativeness must be non-negative"),
    ),
    (
        "device-ordinal",
        "invalid_device_ordinal",
        "distributed_init",
        TP2 + died("distributed", "torch.AcceleratorError: CUDA error: invalid device ordinal"),
    ),
    (
        "lora",
        "lora_load_failed",
        "weights_load",
        A
        + LOADED
        + died(
            [("sglang/srt/model_executor/model_runner.py", "init_lora_manager", "x")],
            "ValueError: LoRA adapter a has rank 64 which exceeds max_lora_rank 16; it cannot be loaded",
        ),
    ),
    (
        "remote-code",
        "trust_remote_code_required",
        "tokenizer",
        A
        + failed(
            "tokenizer",
            "ValueError: The repository /models/m contains custom code which must be executed to correctly load the model.\nPlease "
            "pass the argument `trust_remote_code=True` to allow custom code to be run.",
        ),
    ),
    (
        "remote-code-first-line",
        "trust_remote_code_required",
        "tokenizer",
        A
        + failed(
            "tokenizer", "ValueError: The repository /models/m contains custom code which must be executed to correctly load the model."
        ),
    ),
    (
        "type-newer",
        "transformers_too_old",
        "tokenizer",
        A
        + failed(
            "tokenizer",
            "ValueError: The checkpoint you are trying to load has model type `qwen3_next` but Transformers does not recognize this "
            "architecture.",
        ),
    ),
    (
        "type-unknown",
        "unsupported_arch",
        "tokenizer",
        A
        + failed(
            "tokenizer",
            "ValueError: The checkpoint you are trying to load has model type `foo_v9` but Transformers does not recognize this "
            "architecture.",
        ),
    ),
    (
        "transformers-version",
        "transformers_too_old",
        "tokenizer",
        A
        + failed(
            "tokenizer",
            "ValueError: Transformers version 4.57.1 is not supported for model /models/m or model type glm. Please upgrade "
            "transformers to >= 5.0.0.",
        ),
    ),
    (
        "architecture",
        "unsupported_arch",
        "weights_load",
        A
        + LOAD
        + died(
            "load",
            "ValueError: Model architectures ['FooForCausalLM'] are not supported for now. Supported architectures: "
            "dict_keys(['BarForCausalLM'])",
        ),
    ),
    (
        "gated",
        "gated_model_no_token",
        "tokenizer",
        A + failed("tokenizer", "OSError: You are trying to access a gated repo.\nMake sure to have access to it at https://hub/x."),
    ),
    (
        "hub-timeout",
        "hub_download_timeout",
        "weights_load",
        A
        + LOAD
        + died(
            "load",
            "requests.exceptions.ReadTimeout: (ReadTimeoutError(\"HTTPSConnectionPool(host='cdn', port=443): Read timed out.\"))",
        ),
    ),
    (
        "hub",
        "hub_unreachable",
        "tokenizer",
        A
        + failed(
            "tokenizer",
            "OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them in the cached files.",
        ),
    ),
    (
        "model-missing",
        "model_path_missing",
        "tokenizer",
        A
        + failed(
            "tokenizer",
            "OSError: /models/m does not appear to have a file named config.json. Checkout 'https://hub/models/m/tree/main' for "
            "available files.",
        ),
    ),
    (
        "tokenizer",
        "tokenizer_failed",
        "tokenizer",
        A + failed("get_tokenizer", "Exception: data did not match any variant of untagged enum ModelWrapper at line 1 column 2"),
    ),
    ("tokenizer-frames", "tokenizer_failed", "tokenizer", A + failed("get_tokenizer", "KeyError: 'added_tokens'")),
    (
        "tokenizer-unreadable",
        "tokenizer_failed",
        "tokenizer",
        A
        + stamp(3)
        + "_fix_v5_add_bos_eos_token: failed to read tokenizer_config.json\n"
        + FRONT
        + died("loop", "IndexError: index is out of bounds for dimension with size 0"),
    ),
    (
        "rope",
        "rope_scaling_misconfigured",
        "weights_load",
        A + LOAD + died("load", "ValueError: Unknown RoPE scaling type, rope_scaling is {'type': 'foo'}"),
    ),
    (
        "dtype",
        "dtype_unsupported_by_gpu",
        "weights_load",
        A
        + LOAD
        + died(
            "load",
            "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your GPU has compute capability "
            "7.5.",
        ),
    ),
    (
        "quantization-flag",
        "quantization_flag_mismatch",
        "tokenizer",
        A
        + failed(
            [("sglang/srt/configs/model_config.py", "_verify_quantization", "raise ValueError(")],
            "ValueError: Quantization method specified in the model config (fp8) does not match the quantization method specified in "
            "the `quantization` argument (awq).",
        ),
    ),
    (
        "quantization",
        "unsupported_quantization",
        "weights_load",
        A
        + LOAD
        + died(
            "load",
            "ValueError: The quantization method fp8 is not supported for the current GPU. Minimum capability: 89. Current capability: "
            "86.",
        ),
    ),
    (
        "weights-corrupt",
        "corrupt_or_incomplete_weights",
        "weights_load",
        A
        + LOAD
        + died(
            "load",
            "safetensors._safetensors_rust.SafetensorError: Error while deserializing header: incomplete metadata, file not fully "
            "covered",
        ),
    ),
    (
        "weights-corrupt",
        "corrupt_or_incomplete_weights",
        "weights_load",
        A + LOAD + died("load", 'FileNotFoundError: No such file or directory: "/models/m/model-00002-of-00003.safetensors"'),
    ),
    (
        "config-corrupt",
        "corrupt_or_incomplete_weights",
        "tokenizer",
        A + failed("tokenizer", "OSError: It looks like the config file at '/models/m/config.json' is not a valid JSON file."),
    ),
    (
        "layout",
        "checkpoint_layout_mismatch",
        "weights_load",
        A + LOAD + died("weight_loader", "AssertionError: param_data.shape=torch.Size([8]), loaded_weight.shape=torch.Size([4])"),
    ),
    (
        "layout-frames",
        "checkpoint_layout_mismatch",
        "weights_load",
        A + LOAD + died("weight_loader", "KeyError: 'model.layers.0.mlp.gate_up_proj.weight_scale'"),
    ),
    # distributed
    (
        "gloo",
        "gloo_wrong_interface",
        "distributed_init",
        TP2
        + DISTRIBUTED
        + died(
            "distributed",
            "RuntimeError: Gloo connectFullMesh failed with [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:144] no error",
        ),
    ),
    (
        "internal-port",
        "internal_port_in_use",
        "distributed_init",
        TP2
        + DISTRIBUTED
        + died(
            "distributed",
            "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: 1, "
            "useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use",
        ),
    ),
    (
        "peer-missing",
        "peer_rank_missing",
        "distributed_init",
        TP2
        + DISTRIBUTED
        + died("distributed", "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 clients joined."),
    ),
    (
        "p2p",
        "p2p_unsupported",
        "distributed_init",
        TP2 + DISTRIBUTED + died("distributed", "RuntimeError: CUDART error: peer access is not supported between these two devices"),
    ),
    (
        "nccl-timeout",
        "nccl_collective_timeout",
        "serving",
        TP2
        + SERVING
        + "[rank1]:[E504 10:30:00.1 ProcessGroupNCCL.cpp:629] [Rank 1] Watchdog caught collective operation timeout: "
          "WorkNCCL(SeqNum=9, OpType=ALLREDUCE) ran for 600000 milliseconds\n"
        + SIGQUIT,
    ),
    (
        "peer-died",
        "peer_rank_died",
        "distributed_init",
        TP2
        + DISTRIBUTED
        + died(
            "distributed",
            "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.2]:43120",
        ),
    ),
    # serving
    (
        "watchdog",
        "scheduler_hang_watchdog",
        "serving",
        A + SERVING + stamp(500, "TP0") + "Scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=False)\n" + SIGQUIT,
    ),
    (
        "stalled",
        "scheduler_stalled",
        "serving",
        A
        + SERVING
        + stamp(200)
        + "Health check failed. Server couldn't get a response from detokenizer for last 20 seconds. tic start time: 10:03:00. "
          "last_heartbeat time: 10:01:31\n",
    ),
    (
        "pool-refusal",
        "kv_pool_smaller_than_context",
        "serving",
        A
        + SERVING.replace("context_len=32768", "context_len=262144")
        + stamp(130)
        + "Input length (150000 tokens) exceeds the maximum allowed length (99994 tokens). Use a shorter input or enable "
          "--allow-auto-truncate.\n",
    ),
    (
        "chat-template",
        "chat_template_missing",
        "serving",
        A
        + SERVING
        + stamp(130)
        + "Error in request: Cannot use chat template functions because tokenizer.chat_template is not set and no template argument "
          "was passed!\n",
    ),
    (
        "fd-limit",
        "fd_limit",
        "serving",
        A
        + SERVING
        + "ERROR:    socket.accept() out of system resource\n"
        + failed(
            [("/usr/lib/python3.12/asyncio/selector_events.py", "_accept_connection", "x")], "OSError: [Errno 24] Too many open files"
        ),
    ),
    (
        "fp8-scales",
        "fp8_kv_scale_missing",
        "memory_pool",
        args(kv_cache_dtype="fp8_e4m3")
        + LOADED
        + stamp(61)
        + "Using FP8 KV cache but no scaling factors provided. Defaulting to scaling factors of 1.0. This may lead to less accurate "
          "results!\n"
        + SERVING[len(LOADED) :],
    ),
    # process
    (
        "http-port",
        "port_in_use",
        "ready",
        A
        + FRONT[: FRONT.rindex("[")]
        + stamp(83)
        + "ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 30000): address already in use\n",
    ),
    ("listen-port", "port_in_use", "launch", A + failed("http", "OSError: [Errno 98] Address already in use")),
    (
        "native",
        "native_crash",
        "weights_load",
        A + LOAD + "Fatal Python error: Segmentation fault\n\nThread 0x00007f (most recent call first):\n",
    ),
    ("core-dump-status", "native_crash", "weights_load", A + LOAD + EXITED % "dumped, status=11/SEGV"),
    (
        "supervisor-timeout",
        "start_timeout_by_supervisor",
        "weights_load",
        A + LOAD + "May 04 10:05:00 guest systemd[1]: sglang-a.service: start operation timed out. Terminating.\n",
    ),
    ("session-end", "killed_by_session_end", "shutdown", A + SERVING + "Hangup\n"),
    (
        "signal-to-engine",
        "killed_by_session_end",
        "shutdown",
        "(APIServer pid=1) INFO:     Application startup complete.\n[shutdown] EngineCore: trigger received signal=SIGTERM\n",
    ),
)

#: Causes that the state of a launch shows and no rule: cause, stage, log, facts.
STATES = (
    ("no_fault", "ready", A + READY, {}),
    ("no_fault", "serving", A + SERVING, {}),
    ("no_fault", "serving", A + SERVING, {"process_alive": True}),
    ("still_loading", "launch", A, {}),
    ("still_loading", "distributed_init", A + DISTRIBUTED, {}),
    ("still_loading", "weights_load", A + LOAD, {"process_alive": True, "log_age": 5}),
    ("still_loading", "memory_pool", A + LOADED, {}),
    ("still_loading", "cuda_graph", A + CAPTURE, {}),
    ("still_loading", "warmup", A + FRONT, {}),
    (
        "nccl_p2p_hang",
        "distributed_init",
        TP2 + DISTRIBUTED + stamp(21) + "sglang is using nccl==2.27.5\n",
        {"process_alive": True, "log_age": 400},
    ),
    ("insufficient_evidence", "weights_load", A + LOAD, {"process_alive": False}),
    ("insufficient_evidence", "weights_load", A + LOAD, {"process_alive": False, "exit_code": 137}),
    ("insufficient_evidence", "weights_load", A + LOAD, {"process_alive": False, "exit_code": 137, "oom_killed": False}),
    ("host_oom_killed", "weights_load", A + LOAD, {"process_alive": False, "exit_code": 137, "oom_killed": True}),
    ("host_oom_killed", "weights_load", A + LOAD, {"process_alive": False, "exit_code": -9, "service_result": "oom-kill"}),
    ("host_oom_killed", "serving", A + SERVING, {"process_alive": False, "exit_code": 137, "oom_killed": True}),
    ("native_crash", "weights_load", A + LOAD, {"process_alive": False, "exit_code": -11}),
    ("native_crash", "serving", A + SERVING, {"process_alive": False, "exit_code": 139}),
    ("start_timeout_by_supervisor", "weights_load", A + LOAD, {"process_alive": False, "exit_code": 137, "service_result": "timeout"}),
    ("stopped_by_operator", "shutdown", A + LOAD, {"process_alive": False, "exit_code": 143}),
    ("killed_by_session_end", "shutdown", A + LOAD, {"process_alive": False, "exit_code": -1}),
    ("insufficient_evidence", "serving", A + SERVING, {"process_alive": False}),
    ("no_fault", "serving", A + SERVING, {"process_alive": False, "exit_code": 137}),
    (
        "stopped_by_operator",
        "shutdown",
        A + SERVING + stamp(200) + "SIGTERM received. signum=None frame=None. Draining requests and shutting down...\n",
        {},
    ),
    ("stopped_by_operator", "shutdown", A + LOAD + failed("main", "KeyboardInterrupt"), {}),
    ("no_log", "launch", "", {}),
    ("no_log", "launch", " \n\n", {"process_alive": True}),
    ("launch_never_started", "launch", "", {"process_alive": False}),
    ("launch_never_started", "launch", "\n", {"exit_code": 203}),
    ("unreadable_log", "launch", bytes(range(256)) * 20, {}),
    ("api_key_missing", "ready", A + READY + REFUSED, {}),
    (
        "mtp_degenerate_output",
        "serving",
        HYBRID
        + SERVING
        + "".join(
            stamp(100 + n)
            + "Decode batch, #running-req: 1, #token: 99, token usage: 0.07, accept len: %.2f, accept rate: 0.5, cuda graph: True, gen "
              "throughput (token/s): 41.20, #queue-req: 0, \n"
            % length
            for n, length in enumerate((2.4, 2.6, 1.0, 1.0, 1.0))
        ),
        {},
    ),
    (
        "invalid_speculative_config",
        "serving",
        HYBRID
        + SERVING
        + "".join(
            stamp(100 + n)
            + "Decode batch, #running-req: 1, #token: 99, token usage: 0.07, accept len: 1.00, accept rate: 0.0, cuda graph: True, gen "
              "throughput (token/s): 41.20, #queue-req: 0, \n"
            for n in range(4)
        ),
        {},
    ),
    (
        "memory_balance_check",
        "distributed_init",
        TP2
        + DISTRIBUTED
        + died("distributed", "ValueError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes."),
        {"process_alive": False, "gpu_used_mib": [4, 4]},
    ),
    ("insufficient_evidence", "weights_load", A + LOAD + died("load", "ZeroDivisionError: division by zero"), {}),
    ("insufficient_evidence", "weights_load", A + LOAD + died("load", "x")[: -len(SIGQUIT) - 3], {}),
    (
        "cuda_graph_oom",
        "cuda_graph",
        chained(
            "capture",
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
            "capture",
            "Exception: Capture cuda graph failed: CUDA out of memory.",
        ),
        {},
    ),
    (
        "still_loading",
        "weights_load",
        A + SERVING + SIGQUIT + "May 04 11:00:00 guest systemd[1]: Started sglang-a.service - x.\n" + args() + LOAD,
        {},
    ),
    ("no_fault", "serving", A + CAPACITY + died("loop", "ValueError: old") + args() + SERVING, {}),
)
