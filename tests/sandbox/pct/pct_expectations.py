"""Comparison of a finished process with the ``pct`` key of a case."""

from __future__ import annotations

import re

COMPARED = {"rc", "stdout", "stderr", "stdout_contains", "stderr_contains", "stdout_hex", "stderr_hex"}
COMPARED |= {"stderr_regex", "stdout_bytes", "seconds_max"}


def check(case, done, seconds, here=str, sent=b""):
    """Assert all that the case says about exit code, streams and time; ``here`` adapts its text to this node."""
    expected = case["pct"]
    compared = COMPARED & set(expected)
    assert compared, f"{case['id']} says nothing that can be compared"
    if "rc" in expected:
        assert done.returncode == expected["rc"], (done.stdout, done.stderr)
    for stream in ("stdout", "stderr"):
        actual = getattr(done, stream)
        if expected.get(stream) == "identical bytes":
            assert actual == sent
        elif stream in expected:
            assert actual.decode("utf-8", "replace") == here(expected[stream])
        if f"{stream}_hex" in expected:
            assert actual.hex() == str(expected[f"{stream}_hex"])  # digits only are a number to YAML
        contained = expected.get(f"{stream}_contains", [])
        for text in [contained] if isinstance(contained, str) else contained:
            assert here(text) in actual.decode("utf-8", "replace")
    if "stderr_regex" in expected:
        assert re.search(expected["stderr_regex"], done.stderr.decode(), re.MULTILINE)
    if "stdout_bytes" in expected:
        assert len(done.stdout) == expected["stdout_bytes"]
    if "seconds_max" in expected:
        assert seconds <= expected["seconds_max"]
