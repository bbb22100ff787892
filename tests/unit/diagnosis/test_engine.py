"""Roots before echoes, quotes that prove nothing, hard input, facts, remedies."""

from __future__ import annotations

import json
import os
import pathlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.kpro.sglang.plugins.module_utils._diagnosis.causes import CAUSES
from ansible_collections.kpro.sglang.plugins.module_utils._diagnosis.engine import diagnose
from ansible_collections.kpro.sglang.plugins.module_utils._diagnosis.text import readable
from ansible_collections.kpro.sglang.plugins.module_utils._errors import KproError

from .cases import OWN
from .logs import CAPTURE, DISTRIBUTED, LOAD, LOADED, READY, SERVING, SIGQUIT, args, chained, died, failed, stamp, traceback

ROOT = pathlib.Path(__file__).resolve().parents[3]
LOGS = sorted((ROOT / "tests" / "corpus").glob("*/*/server.log"))
WORK = (
    stamp(400)
    + "Decode batch, #running-req: 3, #token: 1597, token usage: 0.07, cuda graph: True, gen throughput (token/s): 98.20, #queue-req: "
      "0, \n"
)


def cause(log, **facts):
    return diagnose(log.encode() if isinstance(log, str) else log, facts=facts)["cause"]


def test_the_earliest_exception_is_the_root():
    log = (
        args(tp_size=2)
        + LOAD
        + died("load", "safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge", "TP1", 100)
        + died("load", "RuntimeError: [/x/gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:1", "TP0", 101)
    )
    diagnosis = diagnose(log.encode())
    assert diagnosis["cause"] == "corrupt_or_incomplete_weights"
    assert any("Connection closed" in item["text"] for item in diagnosis["consequences"])
    assert any("sigquit" in item["text"] for item in diagnosis["consequences"])


def test_an_unknown_root_is_not_hidden_by_a_known_echo():
    log = (
        args(tp_size=2)
        + LOAD
        + died("load", "ZeroDivisionError: division by zero", "TP1", 100)
        + died("load", "RuntimeError: [/x/gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:1", "TP0", 101)
    )
    diagnosis = diagnose(log.encode())
    assert (diagnosis["cause"], diagnosis["verdict"]) == ("insufficient_evidence", "fault")
    assert diagnosis["evidence"][0]["text"] == "ZeroDivisionError: division by zero"


def test_the_chain_is_read():
    log = (
        args()
        + LOAD
        + chained("load", "FileNotFoundError: [Errno 2] No such file or directory: 'ninja'", "load", "RuntimeError: build failed")
        + SIGQUIT
    )
    assert cause(log) == "ninja_missing"


def test_what_stands_behind_a_failed_capture():
    for error, wanted in (
        ("CUDA out of memory. Tried to allocate 1.00 GiB.", "cuda_graph_oom"),
        ("CUDA error: no kernel image is available for execution on the device", "missing_kernel_for_gpu"),
        ("an illegal memory access was encountered", "illegal_memory_access"),
        ("Failed to find C compiler. Please specify via CC environment variable", "compiler_missing"),
    ):
        log = (
            args()
            + CAPTURE
            + died(
                "capture",
                "Exception: Capture cuda graph failed: %s\nPossible solutions:\n1. set --mem-fraction-static to a smaller value (e.g., "
                "0.8 or 0.7)\n"
                "2. disable torch compile by not using --enable-torch-compile" % error,
            )
        )
        assert cause(log) == wanted


@pytest.mark.parametrize(
    "extra",
    (
        stamp(120)
        + "Receive: obj=GenerateReqInput(text='Scheduler hit an exception: Traceback (most recent call last):\\n "
          "torch.OutOfMemoryError: CUDA out of memory')\n",
        stamp(120)
        + "Finish: obj=GenerateReqInput(text='[Errno 98] error while attempting to bind on address'), out={'text': 'No space left on "
          "device'}\n",
        stamp(120) + 'INFO:     192.0.2.1:1 - "POST /v1/chat/completions HTTP/1.1" 400 Bad Request\n',
        stamp(120) + 'INFO:     192.0.2.1:1 - "GET /x?q=Out+of+memory:+Killed+process+1 HTTP/1.1" 404 Not Found\n',
        stamp(120)
        + "ERROR:    Exception in ASGI application\n"
        + traceback([("/x/uvicorn/protocols/http/h11_impl.py", "run_asgi", "x")], "RuntimeError: CUDA out of memory")
        + WORK,
        stamp(120)
        + "ERROR:    Exception in ASGI application\n"
        + traceback([("/x/uvicorn/protocols/http/h11_impl.py", "run_asgi", "x")], "ValueError: bad request"),
        stamp(120) + "KV cache pool is full. Retract requests. #retracted_reqs: 1\n" + WORK,
        "[rank0]:[W504 10:00:00.1 ProcessGroupNCCL.cpp:1] Warning: something about NCCL\n",
        stamp(120) + "Custom allreduce is disabled because your platform lacks GPU P2P capability or P2P test failed.\n",
        stamp(120) + 'INFO:     192.0.2.1:1 - "GET /v1/models HTTP/1.1" 401 Unauthorized\n' + WORK,
        "nvidia-smi: memory 0 Uncorrectable ECC errors : 0\n",
    ),
)
def test_no_false_alarm(extra):
    diagnosis = diagnose((args() + SERVING + extra).encode())
    assert (diagnosis["verdict"], diagnosis["cause"]) == ("healthy", "no_fault")


@pytest.mark.parametrize(
    "early",
    (
        "Ignore import error when loading sglang.srt.models.x: libfoo.so.1: cannot open shared object file: No such file or directory\n",
        "Setup Custom allreduce failed with peer access is not supported between these two devices.\n",
        "The memory capacity is unbalanced. Some GPUs may be occupied by other processes.\n",
        "UserWarning: The NVIDIA driver on your system is too old (found version 12040).\n",
        "ModuleNotFoundError: No module named 'tilelang'\n",
    ),
)
def test_what_did_not_end_the_launch(early):
    assert cause(args() + DISTRIBUTED + stamp(21, "TP0") + early + SERVING[len(DISTRIBUTED) :]) == "no_fault"
    assert cause(args() + DISTRIBUTED + early + SERVING[len(DISTRIBUTED) :]) == "no_fault"


def test_a_child_that_died_without_a_word():
    diagnosis = diagnose((args() + SERVING + SIGQUIT).encode())
    assert (diagnosis["cause"], diagnosis["verdict"]) == ("insufficient_evidence", "fault")


def test_settings_are_no_evidence():
    log = args(chat_template="CUDA out of memory", api_key="topsecretkey") + LOAD
    diagnosis = diagnose(log.encode())
    assert diagnosis["cause"] == "still_loading"
    assert "topsecretkey" not in json.dumps(diagnosis)


def test_a_key_is_masked_wherever_it_stands():
    log = args(api_key="zz-unusual-99") + LOAD + died("load", "RuntimeError: cannot reach http://x zz-unusual-99 CUDA out of memory")
    assert "zz-unusual-99" not in json.dumps(diagnose(log.encode()))


def test_eight_ranks_are_one_cause():
    log = (
        args(tp_size=8)
        + LOADED
        + "".join(
            died("pools", "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.", "TP%d" % rank)
            for rank in range(8)
        )
    )
    diagnosis = diagnose(log.encode())
    assert diagnosis["cause"] == "kv_cache_oom" and len(diagnosis["evidence"]) <= 3
    assert diagnosis["evidence"][0]["line"] < 20


@pytest.mark.parametrize(
    "error, where, base, flag, direction",
    (
        (
            "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
            "pools",
            LOADED,
            "--mem-fraction-static",
            "raise",
        ),
        (OWN, "capture", CAPTURE, "--mem-fraction-static", "lower"),
        (OWN, "pools", LOADED, "--mem-fraction-static", "lower"),
        (OWN, "loop", READY, "--mem-fraction-static", "lower"),
    ),
)
def test_direction(error, where, base, flag, direction):
    remedies = diagnose((args(mem_fraction_static=0.5) + base + died(where, error)).encode())["remedies"]
    turns = {item["direction"] for item in remedies if item["flag"] == flag}
    assert turns == {direction}
    value = next(item["value"] for item in remedies if item["flag"] == flag)
    assert (float(value) > 0.5) == (direction == "raise")


def test_weights_do_not_depend_on_the_fraction():
    assert all(item["flag"] != "--mem-fraction-static" for item in diagnose((args() + LOAD + died("load", OWN)).encode())["remedies"])


def test_the_fraction_that_holds_one_request():
    for run, value in (("b17_050_nomtp", "0.57"), ("c06_060_mtp", "0.65")):
        remedies = diagnose(str(ROOT / "tests" / "corpus" / "lab" / run / "server.log"))["remedies"]
        assert remedies[0]["direction"] == "raise" and remedies[0]["value"] == value


def test_old_releases_want_fewer_requests_first():
    remedies = diagnose(str(ROOT / "tests" / "corpus" / "lab" / "e02_085_mtp_noradix" / "server.log"))["remedies"]
    assert (remedies[0]["flag"], remedies[0]["direction"], remedies[0]["value"]) == ("--max-running-requests", "lower", "16")


def test_flags_as_the_release_spells_them():
    old = diagnose((args(cuda_graph_max_bs=64) + CAPTURE + died("capture", OWN)).encode())
    new = diagnose((args(cuda_graph_max_bs_decode=64) + CAPTURE + died("capture", OWN)).encode())
    assert [
        (item["flag"], item["value"]) for item in old["remedies"] if item["flag"].startswith("--cuda-graph-max")
    ] == [("--cuda-graph-max-bs", "32")]
    assert [
        (item["flag"], item["value"]) for item in new["remedies"] if item["flag"].startswith("--cuda-graph-max")
    ] == [("--cuda-graph-max-bs-decode", "32")]


def shape(diagnosis):
    assert set(diagnosis) >= {
        "verdict",
        "cause",
        "stage",
        "summary",
        "evidence",
        "consequences",
        "remedies",
        "alternatives",
        "confidence",
        "launches",
        "launch",
        "capacity",
    }
    assert diagnosis["verdict"] in ("fault", "healthy", "loading", "stopped", "unknown")
    assert diagnosis["cause"] in CAUSES
    assert 0 <= diagnosis["confidence"] <= 1
    json.dumps(diagnosis).encode("utf-8")
    json.dumps(diagnosis, ensure_ascii=False).encode("utf-8")
    assert len(diagnosis["evidence"]) <= 3
    for item in diagnosis["remedies"]:
        assert set(item) == {"do", "flag", "direction", "value", "why"}
        assert item["direction"] in (None, "raise", "lower", "set", "add", "remove")
        assert item["value"] is None or isinstance(item["value"], str)
    for item in diagnosis["evidence"]:
        assert set(item) == {"line", "text", "rank"} and item["line"] >= 1
    assert len(readable(diagnosis).split("\n")) <= 12
    readable(diagnosis, where="x", verbose=True)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.parent.name)
def test_shape(path):
    shape(diagnose(str(path)))
    shape(diagnose(str(path), launch="all"))


@given(st.binary(max_size=2000))
@settings(max_examples=200, deadline=None)
def test_any_bytes(data):
    shape(diagnose(data))


PIECES = st.lists(
    st.sampled_from(
        [
            "Traceback (most recent call last):\n",
            '  File "/x/sglang/srt/a.py", line 1, in f\n',
            "    x()\n",
            "RuntimeError: CUDA out of memory\n",
            "ValueError: \n",
            "\n",
            "During handling of the above exception, another exception occurred:\n",
            "[2026-01-01 00:00:00 TP0] Scheduler hit an exception: Traceback (most recent call last):\n",
            "[2026-01-01 00:00:01] server_args=ServerArgs(model_path='/m', api_key='abcd1234')\n",
            "server_args={'a': 1\n",
            READY,
            SERVING,
            SIGQUIT,
            "usage: sglang\n",
            "Killed\n",
            "\r",
            "\x1b[31m",
            "\x00",
            "  ",
            "Load weight begin. avail mem=1.00 GB\n",
            "NVRM: Xid (PCI:0000:81:00): 13, x\n",
            "Possible solutions:\n",
            "  + Exception Group Traceback (most recent call last):\n",
            "  | ",
            "KeyboardInterrupt\n",
            "\u2028",
            "é\n",
            'File "',
            "[rank0]: ",
            "Jan 01 00:00:00 h systemd[1]: Started a.service - b.\n",
            "accept len: 1.00\n",
        ]
    ),
    max_size=30,
).map("".join)


@given(
    PIECES,
    st.fixed_dictionaries(
        {},
        optional={
            "process_alive": st.booleans(),
            "exit_code": st.integers(-20, 300),
            "gpu_used_mib": st.lists(st.integers(0, 90000), max_size=3),
            "log_age": st.floats(0, 1e6),
            "oom_killed": st.booleans(),
            "service_result": st.sampled_from(["success", "signal", "timeout", "oom-kill", "core-dump", "x"]),
        },
    ),
)
@settings(max_examples=300, deadline=None)
def test_any_mixture(log, facts):
    diagnosis = diagnose(log.encode(), facts=facts)
    shape(diagnosis)
    assert "abcd1234" not in json.dumps(diagnosis)


@given(st.sampled_from(LOGS), st.data())
@settings(max_examples=120, deadline=None)
def test_real_logs_mutated(path, data):
    log = path.read_bytes()
    begin = data.draw(st.integers(0, len(log)))
    end = data.draw(st.integers(begin, len(log)))
    noise = data.draw(st.binary(max_size=20))
    shape(diagnose(log[:begin] + noise + log[end:]))
    shape(diagnose(log[begin:end]))


def test_unusable_paths(tmp_path):
    for path in (tmp_path, tmp_path / "none.log", "/proc/self/mem", "a\0b"):
        with pytest.raises(KproError) as failure:
            diagnose(str(path))
        assert failure.value.message.endswith(".")


def test_a_missing_log_of_a_launch_that_is_gone(tmp_path):
    assert diagnose(str(tmp_path / "none.log"), facts={"process_alive": False})["cause"] == "launch_never_started"


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/null"):
        with pytest.raises(KproError, match="no regular file"):
            diagnose(str(path))


def test_text_for_people():
    diagnosis = diagnose(
        (args() + LOADED + died("pools", "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.")).encode()
    )
    lines = readable(diagnosis, where="chat.log").split("\n")
    assert lines[0] == "fault: kv_cache_oom (stage memory_pool)"
    assert any(line.startswith("  chat.log:%d: RuntimeError: Not enough memory" % diagnosis["evidence"][0]["line"]) for line in lines)
    assert "What to do:" in lines
    assert len(readable(diagnosis, verbose=True).split("\n")) > len(lines)
    assert failed("main", "x")
