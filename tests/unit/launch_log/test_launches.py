"""Where launches begin, in small files and in large ones."""

from __future__ import annotations

import pytest

from ansible_collections.kpro.sglang.plugins.module_utils._diagnosis.engine import diagnose
from ansible_collections.kpro.sglang.plugins.module_utils._launch_log import launches
from ansible_collections.kpro.sglang.plugins.module_utils._launch_log.reader import Source

ARGS = b"[2026-01-01 00:00:00] server_args=ServerArgs(model_path='/m', tp_size=1)\n"
BUSY = (
    b"[2026-01-01 00:00:05 TP0] Decode batch, #running-req: 1, #token: 5, token usage: 0.01, "
    b"cuda graph: True, gen throughput (token/s): 9.0, #queue-req: 0, \n"
)
READY = b"[2026-01-01 00:00:04] The server is fired up and ready to roll!\n"
LOAD = b"[2026-01-01 00:00:02] Load weight begin. avail mem=46.00 GB\n"
UNIT = b"Jan 01 00:00:00 guest systemd[1]: Started sglang-a.service - SGLang.\n"
TREE = b"[2026-01-01 00:10:00] kill_process_tree called: parent_pid=1, include_parent=True, pid=1\n"
REFUSED = b"usage: sglang serve [-h]\nsglang serve: error: unrecognized arguments: --x\n"
TRACE = (
    b'Traceback (most recent call last):\n  File "<frozen runpy>", line 198, in _run_module_as_main\n'
    b'  File "/x/sglang/launch_server.py", line 6, in <module>\n'
    b"ImportError: libnuma.so.1: cannot open shared object file: No such file or directory\n"
)


def starts(data):
    with Source(data) as source:
        return [place.number for place in launches.all_launches(source)]


@pytest.mark.parametrize(
    "data, numbers",
    (
        (ARGS + LOAD, [1]),
        (ARGS + LOAD + ARGS + LOAD, [1, 3]),
        (UNIT + ARGS + LOAD + UNIT + ARGS, [1, 4]),
        (ARGS + READY + TREE + REFUSED, [1, 4]),
        (ARGS + READY + TREE + TRACE, [1, 4]),
        (ARGS + LOAD + TRACE, [1]),
        (b"some text\n" + ARGS, [1]),
        (ARGS + b"[2026-01-01 00:00:03] Receive: obj=GenerateReqInput(text='server_args=ServerArgs(x=1)')\n", [1]),
        (b"", [1]),
    ),
)
def test_beginnings(data, numbers):
    assert starts(data) == numbers


@pytest.mark.parametrize("grep", (True, False))
def test_a_large_file_is_read_from_its_end(tmp_path, monkeypatch, grep):
    monkeypatch.setattr(launches, "SMALL", 1 << 12)
    monkeypatch.setattr(launches, "PREAMBLE", 1 << 10)
    if not grep:
        monkeypatch.setattr(launches, "_by_grep", lambda path: None)
    path = tmp_path / "x.log"
    first = ARGS + LOAD + READY + BUSY * 2000
    path.write_bytes(first + UNIT + ARGS + LOAD)
    answer = diagnose(str(path))
    assert (answer["cause"], answer["stage"], answer["launches"], answer["launch"]["index"]) == ("still_loading", "weights_load", 2, 2)
    assert answer["evidence"][0]["line"] == first.count(b"\n") + 3
    path.write_bytes(first)
    answer = diagnose(str(path))
    assert (answer["cause"], answer["stage"], answer["launches"]) == ("no_fault", "serving", 1)
    assert answer["evidence"][0]["line"] == 3
    path.write_bytes(BUSY * 2000)
    assert diagnose(str(path))["launches"] == 1


def test_runs_of_usual_lines_are_counted():
    data = ARGS + READY + BUSY * 500 + b"odd\n" + BUSY * 3 + LOAD + b"end"
    with Source(data) as source:
        lines = list(source.lines(skip=True))
    assert sum(line.repeat for line in lines) == data.count(b"\n") + 1
    assert sum(line.work for line in lines) == 503
    assert lines[-1].number == data.count(b"\n") + 1
    with Source(data) as source:
        numbers = {line.text: line.number for line in source.lines()}
    assert all(numbers[line.text] == line.number for line in lines if line.repeat == 1)


def test_a_draft_without_acceptance_is_not_passed_over():
    low = BUSY.replace(b"usage: 0.01,", b"usage: 0.01, accept len: 1.00, accept rate: 0.00,")
    with Source(ARGS + READY + low * 50) as source:
        assert len(list(source.lines(skip=True))) == 52


def test_launch_all():
    answer = diagnose(ARGS + READY + BUSY + TREE + REFUSED + UNIT + ARGS + LOAD, launch="all")
    assert [(item["index"], item["line"], item["cause"]) for item in answer["history"]] == [
        (1, 1, "insufficient_evidence"),
        (2, 5, "unknown_argument"),
        (3, 7, "still_loading"),
    ]
    assert answer["cause"] == "still_loading" and answer["launches"] == 3
