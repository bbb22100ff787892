"""The module log_diagnose itself."""

from __future__ import annotations

from ansible_collections.kpro.sglang.plugins.modules import log_diagnose

from .cases import CASES
from .logs import LOAD, args

REFUSED = "usage: sglang serve [-h]\nsglang serve: error: unrecognized arguments: --no-such\n"


def test_path(run_module, tmp_path):
    path = tmp_path / "server.log"
    path.write_text(args() + LOAD)
    result = run_module(log_diagnose, {"path": str(path)})
    assert not result["failed"] and not result["changed"]
    assert result["diagnosis"]["cause"] == "still_loading"
    assert result["msg"].startswith("loading: still_loading")


def test_content_does_not_mask_its_own_evidence(run_module):
    result = run_module(log_diagnose, {"content": REFUSED})
    assert result["diagnosis"]["evidence"][0]["text"] == "sglang serve: error: unrecognized arguments: --no-such"
    assert "line 2: sglang serve: error" in result["msg"]


def test_fail(run_module):
    result = run_module(log_diagnose, {"content": REFUSED, "fail": True})
    assert result["failed"] and result["diagnosis"]["cause"] == "unknown_argument"
    assert "rc" not in result
    assert not run_module(log_diagnose, {"content": args() + LOAD, "fail": True})["failed"]


def test_facts(run_module):
    result = run_module(
        log_diagnose, {"content": args() + LOAD, "process_alive": False, "exit_code": 137, "gpu_used_mib": [3], "oom_killed": True}
    )
    assert result["diagnosis"]["cause"] == "host_oom_killed"


def test_all_launches(run_module):
    result = run_module(log_diagnose, {"content": args() + LOAD + args() + LOAD, "launch": "all"})
    assert [item["index"] for item in result["diagnosis"]["history"]] == [1, 2]


def test_wrong_use(run_module, tmp_path):
    assert run_module(log_diagnose, {"path": str(tmp_path)})["msg"] == "%s is a directory; name the log file." % tmp_path
    assert "does not exist" in run_module(log_diagnose, {"path": str(tmp_path / "x")})["msg"]
    assert run_module(log_diagnose, {"path": "x", "content": "y"})["failed"]
    assert run_module(log_diagnose, {})["failed"]


def test_check_mode_is_the_same(run_module):
    assert run_module(log_diagnose, {"content": CASES[0][3]}, check=True) == run_module(log_diagnose, {"content": CASES[0][3]})
