"""The marker protocol on stderr."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kpro.sglang.plugins.module_utils._pct.marker import Report, new_token

TOKEN = new_token()


def marked(*parts):
    return b"".join(b"\n%s %s\n" % (TOKEN.encode(), part) if isinstance(part, bytearray) else part for part in parts)


def note(text):
    return bytearray(text.encode())


@given(st.binary(), st.binary(), st.integers(0, 255))
def test_every_byte_of_both_sides_comes_back(before, after, rc):
    report = Report(marked(before, note("start 77"), after, note(f"end {rc}")), TOKEN)
    assert (report.preface, report.stderr, report.started, report.pid, report.rc) == (before, after, True, 77, rc)


def test_without_start_everything_was_said_by_others():
    report = Report(b"container '101' not running!\n", TOKEN)
    assert not report.started
    assert report.rc is None
    assert report.preface == b"container '101' not running!\n"


def test_without_end_there_is_no_status():
    report = Report(marked(note("start 5"), b"half a l"), TOKEN)
    assert report.started
    assert report.rc is None
    assert report.stderr == b"half a l"


def test_output_of_a_child_that_outlives_the_command_stays():
    assert Report(marked(note("start 5"), b"a", note("end 0"), b"late"), TOKEN).stderr == b"alate"


def test_notes():
    report = Report(marked(note("wait"), note("start 5"), b"x", note("timeout"), note("end 143")), TOKEN)
    assert report.timed_out
    assert report.rc == 143
    assert report.stderr == b"x"
    assert Report(marked(note("refused user 'é' does not exist")), TOKEN).refused == "user 'é' does not exist"
    assert Report(marked(note("skipped creates")), TOKEN).skipped == "creates"
    assert Report(marked(note("wait"), note("stalled frozen")), TOKEN).stalled == "frozen"


def test_another_token_means_nothing():
    report = Report(marked(note("start 5"), note("end 0")), new_token())
    assert not report.started
    assert report.rc is None


def test_tokens_differ():
    assert len({new_token() for _unused in range(100)}) == 100
