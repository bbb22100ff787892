"""Small logs built from the lines that the programs print, for tests of rules and of the engine."""

from __future__ import annotations

SITE = "/srv/sglang/venv/lib/python3.12/site-packages/"
LAUNCHER = SITE + (
    "sglang/launch_server.py:51: UserWarning: 'python -m sglang.launch_server' is still supported, but 'sglang serve' is the "
    "recommended entrypoint.\n"
    "  Example: sglang serve --model-path <model> [options]\n  warnings.warn(\n"
)


def stamp(second, rank=""):
    return "[2026-05-04 10:%02d:%02d%s] " % (second // 60, second % 60, " " + rank if rank else "")


def args(**given):
    values = {"model_path": "/models/m", "tp_size": 1, "api_key": None, "log_requests": False, "mem_fraction_static": 0.85}
    values.update(given)
    return stamp(1) + "server_args=ServerArgs(%s)\n" % ", ".join("%s=%r" % pair for pair in values.items())


DISTRIBUTED = stamp(20) + "Init torch distributed begin.\n"
DISTRIBUTED_ENDS = stamp(22) + "Init torch distributed ends. elapsed=1.20 s, mem usage=0.20 GB\n"
LOAD = DISTRIBUTED + DISTRIBUTED_ENDS + stamp(23) + "Load weight begin. avail mem=46.00 GB\n"
LOADED = (
    LOAD
    + stamp(60)
    + "Load weight end. elapsed=37.00 s, type=SomeForCausalLM, dtype=torch.bfloat16, avail mem=20.00 GB, mem usage=26.00 GB.\n"
)
POOLS = (
    LOADED
    + stamp(61)
    + "KV Cache is allocated. #tokens: 100000, K size: 8.00 GB, V size: 8.00 GB\n"
    + stamp(61)
    + "Memory pool end. avail mem=3.50 GB\n"
)
CAPTURE = POOLS + stamp(62) + "Capture cuda graph begin. This can take up to several minutes. avail mem=3.40 GB\n"
CAPTURED = CAPTURE + stamp(80) + "Capture cuda graph end. Time elapsed: 18.00 s. mem usage=0.50 GB. avail mem=2.90 GB.\n"
CAPACITY = (
    CAPTURED
    + stamp(81)
    + (
        "max_total_num_tokens=100000, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=64, context_len=32768, "
        "available_gpu_mem=2.90 GB\n"
    )
)
FRONT = (
    CAPACITY
    + stamp(82)
    + "INFO:     Started server process [4711]\n"
    + stamp(82)
    + "INFO:     Waiting for application startup.\n"
    + stamp(82)
    + ("INFO:     Application startup complete.\n")
    + stamp(82)
    + "INFO:     Uvicorn running on http://127.0.0.1:30000 (Press CTRL+C to quit)\n"
)
READY = (
    FRONT
    + stamp(84)
    + 'INFO:     127.0.0.1:51204 - "POST /generate HTTP/1.1" 200 OK\n'
    + stamp(84)
    + "The server is fired up and ready to roll!\n"
)
SERVING = (
    READY
    + stamp(90)
    + 'INFO:     192.0.2.20:51830 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
    + stamp(91)
    + (
        "Decode batch, #running-req: 3, #token: 1597, token usage: 0.07, cuda graph: True, gen throughput (token/s): 98.20, "
        "#queue-req: 0, \n"
    )
)

FRAMES = {
    "main": [("sglang/launch_server.py", "<module>", "run_server(server_args)")],
    "args": [
        ("sglang/launch_server.py", "<module>", "server_args = prepare_server_args(sys.argv[1:])"),
        ("sglang/srt/server_args.py", "__post_init__", "self._handle()"),
    ],
    "imports": [
        ("sglang/launch_server.py", "<module>", "from sglang.srt.entrypoints.http_server import launch_server"),
        ("sglang/srt/layers/rotary.py", "<module>", "import thing"),
    ],
    "tokenizer": [
        ("sglang/srt/managers/tokenizer_manager.py", "__init__", "self.model_config = ModelConfig("),
        ("sglang/srt/utils/hf_transformers_utils.py", "get_config", "AutoConfig"),
    ],
    "get_tokenizer": [
        ("sglang/srt/managers/tokenizer_manager.py", "__init__", "self.tokenizer = get_tokenizer("),
        ("transformers/tokenization_utils_base.py", "from_pretrained", "x"),
    ],
    "distributed": [("sglang/srt/model_executor/model_runner.py", "init_torch_distributed", "init_distributed_environment(")],
    "load": [
        ("sglang/srt/model_executor/model_runner.py", "load_model", "self.model = get_model("),
        ("sglang/srt/model_loader/loader.py", "load_model", "model.load_weights("),
    ],
    "weight_loader": [
        ("sglang/srt/model_loader/loader.py", "load_model", "model.load_weights("),
        ("sglang/srt/models/qwen2.py", "load_weights", "weight_loader(param, w)"),
        ("sglang/srt/layers/linear.py", "weight_loader", "assert a == b"),
    ],
    "pools": [("sglang/srt/model_executor/model_runner.py", "init_memory_pool", "raise RuntimeError(")],
    "host_pool": [
        ("sglang/srt/mem_cache/hiradix_cache.py", "__init__", "x"),
        ("sglang/srt/mem_cache/memory_pool_host.py", "__init__", "self.kv_buffer = self.init_kv_buffer()"),
    ],
    "backend": [
        ("sglang/srt/model_executor/model_runner.py", "init_attention_backend", "x"),
        ("sglang/srt/layers/attention/some_backend.py", "__init__", "x"),
    ],
    "capture": [("sglang/srt/model_executor/cuda_graph_runner.py", "capture_one_batch_size", "run_once()")],
    "loop": [
        ("sglang/srt/managers/scheduler.py", "run_scheduler_process", "scheduler.event_loop_overlap()"),
        ("sglang/srt/managers/scheduler.py", "event_loop_overlap", "x"),
    ],
    "mamba_cache": [
        ("sglang/srt/managers/scheduler.py", "event_loop_overlap", "x"),
        ("sglang/srt/mem_cache/mamba_radix_cache.py", "evict_mamba", "assert x"),
    ],
    "mamba_init": [
        ("sglang/srt/managers/scheduler.py", "init_cache_with_memory_pool", "x"),
        ("sglang/srt/mem_cache/mamba_radix_cache.py", "__init__", "assert isinstance(a, B)"),
    ],
    "triton_cache": [
        ("sglang/srt/model_executor/cuda_graph_runner.py", "run_once", "x"),
        ("triton/runtime/cache.py", "put", "os.makedirs(x)"),
    ],
    "speculative": [
        ("sglang/srt/speculative/eagle_worker.py", "__init__", "x"),
        ("sglang/srt/models/qwen2.py", "get_embed_and_head", "x"),
    ],
    "zmq": [("zmq/sugar/socket.py", "bind", "super().bind(addr)")],
    "http": [("sglang/srt/entrypoints/http_server.py", "launch_server", "sock.bind(addr)")],
}
SIGQUIT = stamp(300) + "Received sigquit from a child process. It usually means the child failed.\n"


def traceback(where, error, head=""):
    frames = FRAMES[where] if isinstance(where, str) else where
    lines = [head + "Traceback (most recent call last):"]
    for path, function, source in frames:
        lines += ['  File "%s%s", line 12, in %s' % ("" if path.startswith("/") else SITE, path, function), "    " + source]
    return "\n".join(lines) + "\n" + error + "\n"


def died(where, error, rank="", second=120):
    """An exception of a rank that ends the launch."""
    return traceback(where, error, stamp(second, rank) + "Scheduler hit an exception: ") + "\n" + SIGQUIT


def failed(where, error):
    """An exception of the main process."""
    return traceback(where, error)


def chained(first, error, second, wrapper):
    return (
        traceback(first, error)
        + "\nDuring handling of the above exception, another exception occurred:\n\n"
        + traceback(second, wrapper)
    )
