"""Following a file that grows, and lines out of bytes of every kind."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.kpro.sglang.plugins.module_utils._launch_log.lines import Line, parse, seconds
from ansible_collections.kpro.sglang.plugins.module_utils._launch_log.reader import LogFollower, Source


def texts(lines):
    return [line.text for line in lines]


def test_a_file_that_does_not_exist_yet(tmp_path):
    follower = LogFollower(tmp_path / "a" / "x.log")
    assert follower.poll() == []
    (tmp_path / "a").mkdir()
    assert follower.poll() == []
    (tmp_path / "a" / "x.log").write_bytes(b"one\ntwo")
    assert texts(follower.poll()) == ["one"]
    assert follower.partial == "two"
    assert follower.poll() == []


def test_lines_come_once_and_are_numbered(tmp_path):
    path = tmp_path / "x.log"
    path.write_bytes(b"one\ntwo\nthr")
    follower = LogFollower(path)
    assert [(line.number, line.text, line.offset) for line in follower.poll()] == [(1, "one", 0), (2, "two", 4)]
    with path.open("ab") as stream:
        stream.write(b"ee\nfour\n")
    assert [(line.number, line.text, line.offset) for line in follower.poll()] == [(3, "three", 8), (4, "four", 14)]
    assert follower.partial == ""


def test_a_character_cut_in_two(tmp_path):
    path = tmp_path / "x.log"
    raw = "größe\n".encode()
    path.write_bytes(raw[:3])
    follower = LogFollower(path)
    assert follower.poll() == []
    path.write_bytes(raw)
    assert texts(follower.poll()) == ["größe"]


def test_progress_of_a_bar(tmp_path):
    path = tmp_path / "x.log"
    path.write_bytes(
        b"Loading safetensors checkpoint shards:  10% Completed |"
        b" 1/10 [00:01<00:09, 1.0it/s]\rLoading safetensors checkpoint shards:  20% Completed | 2/10 [00:02<00:08, 1.0it/s]"
    )
    follower = LogFollower(path)
    assert follower.poll() == []
    assert "2/10" in follower.partial and "1/10" not in follower.partial
    assert "2/10" in follower.finish()[-1].text


@pytest.mark.parametrize("replace", (False, True))
def test_truncated_or_replaced(tmp_path, replace):
    path = tmp_path / "x.log"
    path.write_bytes(b"old one\nold two\nold three\n")
    follower = LogFollower(path)
    assert len(follower.poll()) == 3
    if replace:
        new = tmp_path / "y.log"
        new.write_bytes(b"new one, and a good deal longer than before\nnew two\n")
        new.rename(path)
    else:
        path.write_bytes(b"new\n")
    lines = follower.poll()
    assert lines[0].number == 1 and lines[0].text.startswith("new")
    assert follower.truncations == 1


def test_one_call_reads_no_more_than_its_limit(tmp_path):
    path = tmp_path / "x.log"
    path.write_bytes(b"a line of text\n" * 100000)
    follower = LogFollower(path, limit=1 << 16)
    first = follower.poll()
    assert follower.more and len(first) < 100000
    count = len(first)
    while follower.more:
        count += len(follower.poll())
    assert count == 100000


def test_a_line_without_end_does_not_grow(tmp_path):
    path = tmp_path / "x.log"
    path.write_bytes(b"x" * (3 << 20))
    follower = LogFollower(path)
    follower.poll()
    assert len(follower._pending) <= 1 << 18
    with path.open("ab") as stream:
        stream.write(b"\nnext\n")
    assert follower.poll()[-1].text == "next"


@given(st.binary(max_size=400), st.lists(st.integers(0, 400), max_size=6))
@settings(max_examples=150, deadline=None)
def test_pieces_give_the_same_lines(tmp_path_factory, data, cuts):
    path = tmp_path_factory.mktemp("pieces") / "x.log"
    follower, got = LogFollower(path), []
    for cut in sorted(cuts) + [len(data)]:
        path.write_bytes(data[:cut])
        got += follower.poll()
    got += follower.finish()
    with Source(data) as source:
        whole = list(source.lines())
    assert [(line.number, line.text) for line in got] == [(line.number, line.text) for line in whole]


def test_numbers_count_line_feeds():
    with Source(b"a\r\nb 10%| 1/3 [00:01<00:02, 1.0it/s]\rb 90%| 2/3 [00:01<00:02, 1.0it/s]\nc\n\nd") as source:
        assert [(line.number, line.text) for line in source.lines() if line.text] == [
            (1, "a"),
            (2, "b 10%| 1/3 [00:01<00:02, 1.0it/s]"),
            (2, "b 90%| 2/3 [00:01<00:02, 1.0it/s]"),
            (3, "c"),
            (5, "d"),
        ]


@pytest.mark.parametrize(
    "text, rank, time, body",
    (
        ("[2026-01-31 12:00:00] hello", None, "2026-01-31 12:00:00", "hello"),
        ("[2026-01-31 12:00:00.123 DP0 TP1] hello", "DP0 TP1", "2026-01-31 12:00:00.123", "hello"),
        ("[2026-01-31 12:00:00 PP1 ATTN_CP0 MOE_DP0 TP3 EP2] hello", "PP1 ATTN_CP0 MOE_DP0 TP3 EP2", "2026-01-31 12:00:00", "hello"),
        ("sglang-1  | [2026-01-31 12:00:00 TP0] hello", "TP0", "2026-01-31 12:00:00", "hello"),
        ("Jan 31 12:00:00 guest sglang[12]: [2026-01-31 12:00:00 TP0] hello", "TP0", "2026-01-31 12:00:00", "hello"),
        ("Jan 31 12:00:00 guest kernel: hello", None, "Jan 31 12:00:00", "hello"),
        (
            "(Worker pid=12) (Worker_TP1 pid=12) ERROR 03-05 09:56:09 [multiproc_executor.py:880] hello",
            "TP1",
            "03-05 09:56:09",
            "hello",
        ),
        ('ERROR [core.py:1330]   File "x", line 1', None, None, '  File "x", line 1'),
        ("[rank3]: Traceback (most recent call last):", "rank3", None, "Traceback (most recent call last):"),
        ("2026-05-04T10:00:00.1Z stdout F [2026-01-31 12:00:00 TP0] hello", "TP0", "2026-01-31 12:00:00", "hello"),
        ("plain text: with a colon", None, None, "plain text: with a colon"),
        ("  indented", None, None, "  indented"),
    ),
)
def test_wrappers(text, rank, time, body):
    line = Line(1, text)
    assert (line.rank, line.time, line.body) == (rank, time, body)


def test_colours_nul_and_bad_bytes():
    line = parse(1, b"\x00\x00\x1b[90m[2026-01-31 12:00:00]\x1b[0m caf\xe9 \xff ok\x07", 0)[0]
    assert line.body == "caf\ufffd \ufffd ok"
    line.text.encode("utf-8")


def test_a_record_behind_an_unfinished_bar():
    lines = parse(
        7, b"Loading shards:   0% Completed | 0/1 [00:00<?, ?it/s][2026-03-20 03:14:42] Parameter x not found in params_dict", 0
    )
    assert [line.number for line in lines] == [7, 7]
    assert lines[1].body == "Parameter x not found in params_dict"


def test_seconds_of_printed_times():
    assert seconds("2026-03-01 00:00:01") - seconds("2026-02-28 23:59:59") == 2
    assert seconds("Jan 31 12:01:00") - seconds("Jan 31 12:00:00") == 60
    assert seconds("07-28 08:06:12") - seconds("07-28 08:01:12") == 300
    assert seconds("nonsense") is None and seconds(None) is None
