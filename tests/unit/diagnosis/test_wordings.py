"""Other wordings and other places: what operators meet beside the plain case of each rule."""

from __future__ import annotations

import pytest

from ansible_collections.kpro.sglang.plugins.module_utils._diagnosis.engine import diagnose

from .cases import OWN, TP2, A
from .logs import CAPTURE, CAPTURED, DISTRIBUTED, FRONT, LOAD, POOLS, SERVING, SIGQUIT, args, died, failed, stamp, traceback

SY = "May 04 10:05:00 guest systemd[1]: "
V = "INFO 05-04 10:00:00 llm_engine.py:72] Initializing an LLM engine (v0.9.0) with config: model='/m'\n"

#: cause, stage, log
WORDINGS = (
    ("gpu_cgroup_lost", "serving", A + SERVING + "May 04 10:03:00 guest nvidia-smi[9]: Failed to initialize NVML: Unknown Error\n"),
    (
        "gpu_cgroup_lost",
        "serving",
        A
        + SERVING
        + SY
        + "Reloading.\nFailed to initialize NVML: Unknown Error\n"
        + died("loop", "RuntimeError: CUDA error: unknown error\nCUDA kernel errors might be"),
    ),
    (
        "gpu_fell_off_bus",
        "serving",
        A
        + SERVING
        + "[12345.6] NVRM: GPU at PCI:0000:03:00: GPU-abc\n[12345.7] NVRM: Xid (PCI:0000:03:00): 79, pid=1, GPU has fallen off the "
          "bus.\n",
    ),
    (
        "gated_model_no_token",
        "tokenizer",
        A
        + failed(
            "tokenizer",
            "huggingface_hub.errors.GatedRepoError: 401 Client Error. (Request ID: Root=1)\n\nCannot access gated repo for url "
            "https://hub/x/resolve/main/config.json.\nAccess to model x is restricted. You must have access to it and be authenticated "
            "to access it. Please log in.",
        ),
    ),
    (
        "model_path_missing",
        "tokenizer",
        A
        + failed(
            "tokenizer",
            "OSError: foo/bar is not a local folder and is not a valid model identifier listed on 'https://huggingface.co/models'\nIf "
            "this is a private repository, make sure to pass a token having permission to this repo",
        ),
    ),
    (
        "model_path_permission",
        "weights_load",
        A + LOAD + died("load", "PermissionError: [Errno 13] Permission denied: '/models/m/model-00001-of-00002.safetensors'"),
    ),
    (
        "model_path_permission",
        "weights_load",
        A + LOAD + died("load", "safetensors_rust.SafetensorError: Permission denied (os error 13)"),
    ),
    (
        "tokenizer_failed",
        "tokenizer",
        A
        + failed(
            "get_tokenizer",
            "OSError: Can't load tokenizer for '/models/m'. If you were trying to load it from 'https://huggingface.co/models', make "
            "sure you don't have a local directory with the same name.",
        ),
    ),
    (
        "chat_template_missing",
        "serving",
        A
        + SERVING
        + stamp(100)
        + "Error in request: \n"
        + traceback(
            [
                ("sglang/srt/entrypoints/openai/serving_chat.py", "_process_messages", "x"),
                ("transformers/tokenization_utils_base.py", "apply_chat_template", "x"),
            ],
            "ValueError: Cannot use chat template functions because tokenizer.chat_template is not set and no template argument was "
            "passed! For information",
        )
        + stamp(101)
        + 'INFO:     1.2.3.4:5 - "POST /v1/chat/completions HTTP/1.1" 500 Internal Server Error\n',
    ),
    (
        "gpu_memory_query_failed",
        "args",
        failed(
            [
                ("sglang/launch_server.py", "<module>", "server_args = prepare_server_args(sys.argv[1:])"),
                ("sglang/srt/utils.py", "get_nvgpu_memory_capacity", "x"),
            ],
            "ValueError: No GPU memory values found.",
        ),
    ),
    (
        "gpu_memory_query_failed",
        "args",
        failed(
            [
                ("sglang/launch_server.py", "<module>", "server_args = prepare_server_args(sys.argv[1:])"),
                ("sglang/srt/utils.py", "<listcomp>", "x"),
            ],
            "ValueError: could not convert string to float: '[Insufficient Permissions]'",
        ),
    ),
    (
        "killed_by_session_end",
        "shutdown",
        A
        + SERVING
        + "May 04 10:05:00 guest systemd-logind[300]: Session 12 logged out. Waiting for processes to exit.\nMay 04 10:05:00 guest "
          "systemd[1]: Stopping session-12.scope - Session 12 of User root...\n"
        + stamp(200)
        + "SIGTERM received. signum=None frame=None. Draining requests and shutting down...\n",
    ),
    (
        "killed_by_session_end",
        "shutdown",
        A + SERVING + "./run.sh: line 3:  4711 Hangup                  python3 -m sglang.launch_server\n",
    ),
    (
        "stopped_by_operator",
        "shutdown",
        A
        + SERVING
        + SY
        + "Stopping sglang.service - x...\n"
        + stamp(200)
        + "Gracefully exiting... Remaining number of requests 0.\n"
        + SY
        + "sglang.service: Main process exited, code=killed, status=9/KILL\n"
        + SY
        + "sglang.service: Failed with result 'signal'.\n"
        + SY
        + "Stopped sglang.service - x.\n",
    ),
    (
        "host_oom_killed",
        "serving",
        A
        + SERVING
        + SY
        + "sglang.service: A process of this unit has been killed by the OOM killer.\n"
        + SY
        + "sglang.service: Failed with result 'oom-kill'.\n",
    ),
    ("insufficient_evidence", "weights_load", A + LOAD + SY + "sglang.service: Main process exited, code=killed, status=9/KILL\n"),
    ("native_crash", "weights_load", A + LOAD + "/run.sh: line 2:  99 Segmentation fault      (core dumped) python3 -m sglang\n"),
    (
        "native_crash",
        "imports",
        'Fatal Python error: Illegal instruction\n\nCurrent thread 0x1 (most recent call first):\n  File '
        '"/x/site-packages/torch/__init__.py", line 1 in <module>\n',
    ),
    ("scheduler_hang_watchdog", "warmup", A + FRONT + stamp(500, "TP0") + "Watchdog timeout (self.watchdog_timeout=300)\n" + SIGQUIT),
    (
        "nccl_collective_timeout",
        "distributed_init",
        TP2
        + DISTRIBUTED
        + "[rank0]:[E504 1 ProcessGroupNCCL.cpp:629] [Rank 0] Watchdog caught collective operation timeout: "
          "WorkNCCL(SeqNum=1)\nterminate called after throwing an instance of 'c10::DistBackendError'\n  what():  [Rank 0] Watchdog "
          "caught collective operation timeout\nAborted (core dumped)\n",
    ),
    (
        "illegal_memory_access",
        "serving",
        A
        + SERVING
        + "[rank0]:[E913 19:05:03.291 ProcessGroupNCCL.cpp:1896] [PG ID 2 PG GUID 3 Rank 0] Process group watchdog thread terminated "
          "with exception: CUDA error: an illegal memory access was encountered\nterminate called after throwing an instance of "
          "'c10::DistBackendError'\n",
    ),
    (
        "internal_port_in_use",
        "launch",
        A
        + failed(
            [
                ("sglang/srt/entrypoints/engine.py", "_launch_subprocesses", "x"),
                ("sglang/srt/utils/network.py", "get_zmq_socket", "socket.bind(endpoint)"),
                ("zmq/sugar/socket.py", "bind", "x"),
            ],
            "zmq.error.ZMQError: Address already in use (addr='tcp://127.0.0.1:5600')",
        ),
    ),
    (
        "peer_rank_died",
        "serving",
        TP2 + SERVING + died("loop", "RuntimeError: [/x/gloo/transport/tcp/pair.cc:547] Connection closed by peer [10.0.0.3]:5555"),
    ),
    (
        "torch_compile_failure",
        "cuda_graph",
        A + CAPTURE + died("capture", "torch._dynamo.exc.Unsupported: Unsupported context manager\n  Explanation: x"),
    ),
    (
        "hub_download_timeout",
        "weights_load",
        A
        + LOAD
        + died("load", "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='cdn-lfs.hf.co', port=443): Read timed out."),
    ),
    (
        "hub_unreachable",
        "tokenizer",
        A
        + failed(
            "tokenizer",
            "requests.exceptions.ConnectionError: (MaxRetryError(\"HTTPSConnectionPool(host='huggingface.co', port=443): Max retries "
            "exceeded with url: /x (Caused by NameResolutionError(\\\"<urllib3>: Failed to resolve 'huggingface.co' ([Errno -3] "
            "Temporary failure in name resolution)\\\"))\"), '(Request ID: 1)')",
        ),
    ),
    (
        "quantization_flag_mismatch",
        "tokenizer",
        A
        + failed(
            [("sglang/srt/configs/model_config.py", "_verify_quantization", "x")],
            "ValueError: Quantization method specified in the model config (compressed-tensors) does not match the quantization method "
            "specified in the `quantization` argument (fp8).",
        ),
    ),
    (
        "cuda_visible_devices_empty",
        "args",
        failed(
            [
                ("sglang/launch_server.py", "<module>", "server_args = prepare_server_args(sys.argv[1:])"),
                ("torch/cuda/__init__.py", "_lazy_init", "x"),
            ],
            "RuntimeError: No CUDA GPUs are available",
        ),
    ),
    (
        "weights_oom",
        "weights_load",
        A
        + LOAD
        + died(
            "load",
            "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 224.00 MiB. GPU 0 has a total capacty of 23.65 GiB of "
            "which 100.00 MiB is free. Including non-PyTorch memory, this process has 23.50 GiB memory in use.",
        ),
    ),
    (
        "weights_oom",
        "weights_load",
        A
        + LOAD
        + died(
            "load",
            "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 23.70 GiB total capacity; 22.80 GiB already "
            "allocated; 18.00 MiB free; 22.90 GiB reserved in total by PyTorch)",
        ),
    ),
    (
        "kv_pool_smaller_than_context",
        "serving",
        A
        + SERVING.replace("context_len=32768", "context_len=262144")
        + stamp(130, "TP0")
        + "Request length is longer than the KV cache pool size or the max context length. Truncated. "
          "len(req.origin_input_ids)=120000, max_req_input_len=99994.\n",
    ),
    (
        "no_fault",
        "serving",
        A
        + SERVING
        + stamp(130)
        + "Input length (40000 tokens) exceeds the maximum allowed length (32762 tokens). Use a shorter input or enable "
          "--allow-auto-truncate.\n",
    ),
    (
        "no_fault",
        "serving",
        A + SERVING + stamp(130) + "The input (40000 tokens) is longer than the model's context length (32768 tokens).\n",
    ),
    (
        "start_timeout_by_supervisor",
        "cuda_graph",
        A
        + CAPTURE
        + SY
        + "sglang.service: start operation timed out. Terminating.\n"
        + stamp(200)
        + "SIGTERM received. signum=None frame=None. Draining requests and shutting down...\n"
        + SY
        + "sglang.service: Failed with result 'timeout'.\n",
    ),
    (
        "disk_full",
        "weights_load",
        A
        + LOAD
        + died("load", "RuntimeError: Data processing error: CAS service error : IO Error: No space left on device (os error 28)"),
    ),
    (
        "mandatory_access_denied",
        "launch",
        'type=AVC msg=audit(1.1:1): avc:  denied  { read } for  pid=1 comm="python3" name="m" dev="sda"\n'
        + failed("main", "PermissionError: [Errno 13] Permission denied: '/models/m'"),
    ),
    (
        "nvcc_missing",
        "warmup",
        A + FRONT + died("loop", "RuntimeError: Could not find nvcc and default cuda_home='/usr/local/cuda' doesn't exist"),
    ),
    ("no_log", "launch", "\n \n\t\n"),
    (
        "driver_library_mismatch",
        "args",
        "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 575.51\n"
        + failed("args", "RuntimeError: nvidia-smi failed"),
    ),
    (
        "p2p_unsupported",
        "distributed_init",
        TP2
        + DISTRIBUTED
        + "Failed: Cuda error /x/custom_all_reduce.cuh:368 'peer access is not supported between these two devices'\n"
        + SIGQUIT,
    ),
    (
        "unsupported_quantization",
        "args",
        failed("args", "ValueError: NVFP4 quantization requires a Blackwell GPU (SM100+), current capability is 86"),
    ),
    (
        "insufficient_evidence",
        "serving",
        A
        + SERVING
        + stamp(120, "TP0")
        + 'Scheduler hit an exception: Traceback (most recent call last):\n  File "/x/sglang/srt/managers/scheduler.py", line 1, in '
          'event_loop_overlap\n    self.run',
    ),
    (
        "memlock_limit",
        "memory_pool",
        A + POOLS + died("host_pool", "RuntimeError: cudaHostRegister failed: out of memory; check RLIMIT_MEMLOCK (ulimit -l)"),
    ),
    ("fd_limit", "weights_load", A + LOAD + died("load", "OSError: [Errno 24] Too many open files: '/models/m/a.safetensors'")),
    (
        "invalid_device_ordinal",
        "distributed_init",
        TP2
        + DISTRIBUTED
        + died(
            "distributed", "RuntimeError: CUDA error: invalid device ordinal\nGPU device may be out of range, do you have enough GPUs?"
        ),
    ),
    (
        "no_fault",
        "serving",
        A
        + SERVING
        + stamp(130)
        + "[http_server] Client disconnected\n"
        + stamp(131)
        + 'Traceback (most recent call last):\n  File "/x/starlette/a.py", line 1, in f\n    x\nRuntimeError: Response content shorter '
          'than Content-Length\n',
    ),
    (
        "no_fault",
        "ready",
        "(APIServer pid=1) INFO 05-04 10:00:00 [api_server.py:1] vLLM API server version 0.11.0\n(APIServer pid=1) INFO:     Started "
        "server process [1]\n(APIServer pid=1) INFO:     Application startup complete.\n",
    ),
    (
        "no_fault",
        "serving",
        "(APIServer pid=1) INFO 05-04 10:00:00 [api_server.py:1] vLLM API server version 0.11.0\n(APIServer pid=1) INFO:     "
        "Application startup complete.\n(APIServer pid=1) INFO 05-04 10:00:10 [loggers.py:1] Engine 000: Avg prompt throughput: 1.0 "
        "tokens/s, Avg generation throughput: 2.0 tokens/s\n",
    ),
    (
        "kv_cache_oom",
        "memory_pool",
        V
        + 'ERROR 05-04 10:00:00 engine.py:1] No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when '
          'initializing the engine.\nTraceback (most recent call last):\n  File "/x/vllm/worker/worker.py", line 1, in '
          'initialize_cache\n    raise\nValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` '
          'when initializing the engine.\n',
    ),
    (
        "still_loading",
        "weights_load",
        args() + LOAD + "Loading safetensors checkpoint shards:  31% Completed | 13/41 [00:13<00:28, 1.42s/it]\r",
    ),
    (
        "unknown_argument",
        "args",
        "usage: sglang serve [-h] [--a A]\n                    [--b {x,y}]\nsglang serve: error: unrecognized arguments: "
        "--tensor-parallel 2\n"
        + SY
        + "sglang-a.service: Main process exited, code=exited, status=2/INVALIDARGUMENT\n"
        + SY
        + "sglang-a.service: Failed with result 'exit-code'.\n",
    ),
    (
        "invalid_argument_value",
        "args",
        "usage: launch_server.py [-h]\nlaunch_server.py: error: argument --mem-fraction-static: expected one argument\n",
    ),
    (
        "port_in_use",
        "ready",
        args()
        + FRONT
        + stamp(84)
        + "The server is fired up and ready to roll!\n"
        + stamp(84)
        + "ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 30000): address already in use\n"
        + stamp(84)
        + "INFO:     Waiting for application shutdown.\n",
    ),
    (
        "model_path_missing",
        "tokenizer",
        failed(
            [
                ("sglang/launch_server.py", "<module>", "server_args = prepare_server_args(sys.argv[1:])"),
                ("sglang/srt/server_args.py", "__post_init__", "x"),
                ("sglang/srt/utils/hf_transformers/config.py", "get_config", "x"),
                ("transformers/utils/hub.py", "cached_files", "x"),
            ],
            "OSError: Repo id must be in the form 'repo_name' or 'namespace/repo_name': '/models/x'. Use `repo_type` argument if needed.",
        ),
    ),
    (
        "python_package_missing",
        "imports",
        "Traceback (most recent call last):\n  File \"/opt/venv/bin/sglang\", line 3, in <module>\n    from sglang.cli.main import "
        "main\nModuleNotFoundError: No module named 'sglang'\n",
    ),
    ("python_package_missing", "imports", "/opt/venv/bin/python: No module named sglang.launch_server\n"),
    (
        "corrupt_or_incomplete_weights",
        "weights_load",
        args() + LOAD + died("load", "RuntimeError: Cannot find any model weights with `/models/m`"),
    ),
    ("host_oom_killed", "weights_load", args() + LOAD + "[1234.5] Out of memory: Killed process 77 (python3) total-vm:1kB\n"),
    (
        "shm_too_small",
        "serving",
        args(tp_size=2) + SERVING + "OSError: [Errno 28] No space left on device: '/dev/shm/sglang_x'\n" + SIGQUIT,
    ),
    (
        "cuda_graph_oom",
        "cuda_graph",
        args()
        + CAPTURE
        + died(
            "capture",
            "Exception: Capture cuda graph failed: CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported at "
            "some other API call",
        ),
    ),
    (
        "weights_oom",
        "weights_load",
        args(speculative_algorithm="EAGLE") + CAPTURED + stamp(90) + "Load weight begin. avail mem=2.40 GB\n" + died("load", OWN),
    ),
    (
        "hicache_host_memory",
        "memory_pool",
        args() + POOLS + died("host_pool", "torch.AcceleratorError: CUDA error: invalid argument\ncudaHostRegister failed"),
    ),
    (
        "engine_bug_model_support",
        "attention_backend",
        args() + POOLS + died("backend", "AttributeError: 'ModelConfig' object has no attribute 'scaling'"),
    ),
    (
        "stopped_by_operator",
        "shutdown",
        args()
        + SERVING
        + stamp(200)
        + "INFO:     Shutting down\n"
        + stamp(200)
        + "INFO:     Waiting for application shutdown.\n"
        + stamp(201)
        + "INFO:     Application shutdown complete.\n",
    ),
    (
        "scheduler_stalled",
        "serving",
        args()
        + SERVING
        + (
            stamp(200)
            + "Health check failed. Server couldn't get a response from detokenizer for last 20 seconds. tic start time: 10:03:00. "
              "last_heartbeat time: 10:01:31\n"
        )
        * 3
        + stamp(210)
        + 'INFO:     1.1.1.1:1 - "GET /health HTTP/1.1" 503 Service Unavailable\n',
    ),
    (
        "no_fault",
        "serving",
        args()
        + SERVING
        + stamp(200)
        + "Health check failed. Server couldn't get a response from detokenizer for last 20 seconds. tic start time: 10:03:00. "
          "last_heartbeat time: 10:01:31\n"
        + (
            stamp(230)
            + "Decode batch, #running-req: 3, #token: 1597, token usage: 0.07, gen throughput (token/s): 98.20, #queue-req: 0, \n"
        )
        * 5,
    ),
    (
        "illegal_memory_access",
        "warmup",
        args() + FRONT + died("loop", "RuntimeError: CUDA error: an illegal memory access was encountered"),
    ),
    (
        "nvidia_uvm_missing",
        "args",
        failed(
            [
                ("sglang/launch_server.py", "<module>", "server_args = prepare_server_args(sys.argv[1:])"),
                ("torch/cuda/__init__.py", "_lazy_init", "x"),
            ],
            "RuntimeError: CUDA unknown error - this may be due to an incorrectly set up environment, e.g. changing env variable "
            "CUDA_VISIBLE_DEVICES after program start.",
        ),
    ),
    (
        "trust_remote_code_required",
        "tokenizer",
        args()
        + failed(
            "tokenizer",
            "ValueError: Loading /models/m requires you to execute the configuration file in that repo on your local machine. Make "
            "sure you have read the code there to avoid malicious use, then set the option `trust_remote_code=True` to remove this "
            "error.",
        ),
    ),
    (
        "context_length_exceeds_model",
        "args",
        failed("args", "ValueError: User-specified context_length (9) is greater than the derived context_length (8)."),
    ),
    (
        "attention_backend_unsupported",
        "args",
        failed("args", "ValueError: TRTLLM MHA backend is only supported on Blackwell GPUs (SM100). Please use a different backend."),
    ),
    (
        "attention_backend_unsupported",
        "attention_backend",
        args()
        + POOLS
        + died(
            "backend",
            "ValueError: triton or trtllm_mha backend are the only supported backends on Blackwell GPUs for hybrid GDN models, use "
            "--attention-backend triton",
        ),
    ),
    (
        "page_size_unsupported_by_backend",
        "args",
        failed("args", "ValueError: TensorRT-LLM MLA backend only supports page_size of 32 or 64, got 16."),
    ),
    (
        "lora_load_failed",
        "args",
        failed(
            "args",
            "AssertionError: max_loaded_loras should be greater than or equal to max_loras_per_batch. max_loaded_loras=1, "
            "max_loras_per_batch=8",
        ),
    ),
    ("insufficient_evidence", "launch", args() + failed("main", "RuntimeError: something nobody knows")),
    ("unreadable_log", "launch", bytes([0, 1, 2, 3, 255, 254, 128, 129] * 500)),
    (
        "gpu_hardware_ecc",
        "weights_load",
        args() + LOAD + died("load", "torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered"),
    ),
    (
        "fabric_manager_not_running",
        "args",
        failed(
            [
                ("sglang/launch_server.py", "<module>", "server_args = prepare_server_args(sys.argv[1:])"),
                ("torch/cuda/__init__.py", "_lazy_init", "x"),
            ],
            "RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling NumCudaDevices() "
            "that might have already set an error? Error 802: system not yet initialized",
        ),
    ),
)


@pytest.mark.parametrize("cause, stage, log", WORDINGS, ids=["%s-%d" % (case[0], place) for place, case in enumerate(WORDINGS)])
def test_wording(cause, stage, log):
    diagnosis = diagnose(log if isinstance(log, bytes) else log.encode())
    assert (diagnosis["cause"], diagnosis["stage"]) == (cause, stage)


def test_blocks_of_two_ranks_line_by_line():
    error = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."
    blocks = [died("pools", error, "TP%d" % rank).replace(SIGQUIT, "").split("\n") for rank in range(2)]
    mixed = "\n".join(line for pair in zip(*blocks, strict=True) for line in pair)
    diagnosis = diagnose((TP2 + LOAD + mixed + "\n" + SIGQUIT).encode())
    assert (diagnosis["cause"], diagnosis["stage"]) == ("kv_cache_oom", "memory_pool")
