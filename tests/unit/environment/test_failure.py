"""What pip and uv print when they fail, in the words of their releases, and what we make of it."""

from __future__ import annotations

import pytest

from ansible_collections.kpro.sglang.plugins.module_utils._environment.failure import explain
from ansible_collections.kpro.sglang.plugins.module_utils._environment.lock import read_lock
from ansible_collections.kpro.sglang.plugins.module_utils._environment.redact import redact

PIP_MISSING = """Looking in links: /srv/wheels
Processing /srv/wheels/sglang-0.5.17-py3-none-any.whl
ERROR: Could not find a version that satisfies the requirement torch==2.13.0 (from versions: none)
ERROR: No matching distribution found for torch==2.13.0

[notice] A new release of pip is available: 23.0.1 -> 25.1
"""
PIP_PYTHON = """ERROR: Ignored the following versions that require a different python version: 0.5.23 Requires-Python >=3.11
ERROR: Could not find a version that satisfies the requirement sglang==0.5.23 (from versions: 0.5.9)
ERROR: No matching distribution found for sglang==0.5.23
"""
PIP_NETWORK = """WARNING: Retrying (Retry(total=0, connect=None)) after connection broken by
'NewConnectionError('<urllib3.connection.HTTPSConnection object at 0x7f>:
Failed to establish a new connection: [Errno -3] Temporary failure in name resolution')': /simple/sglang/
ERROR: Could not find a version that satisfies the requirement sglang==0.5.17 (from versions: none)
ERROR: No matching distribution found for sglang==0.5.17
"""
UV_MISSING = """Using Python 3.11.2 environment at: /opt/sglang/venvs/x
  × No solution found when resolving dependencies:
  ╰─▶ Because torch was not found in the provided package locations and you require torch==2.13.0, we can conclude that your requirements
      are unsatisfiable.
"""
UV_CONFLICT = """error: No solution found when resolving dependencies
  cause: Because only dep==1.0 is available and all versions of sglang depend on dep<1, we can conclude that all versions of sglang
         cannot be used.
"""
UV_HASH = """  × Failed to download `dep==1.0`
  ╰─▶ Hash mismatch for `dep==1.0`
"""
DISK = "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n"
VENV = """The virtual environment was not created successfully because ensurepip is not
available.  On Debian/Ubuntu systems, you need to install the python3-venv
package using the following command.
"""


@pytest.mark.parametrize(
    "output, words, advice, cause",
    [
        (PIP_MISSING, "No matching distribution found for torch==2.13.0", "wheel_dir", None),
        (PIP_PYTHON, "sglang==0.5.23", "option python", None),
        (PIP_NETWORK, "sglang==0.5.17", "does not reach the package index", None),
        (UV_MISSING, "torch was not found in the provided package locations", "wheel_dir", None),
        (UV_CONFLICT, "all versions of sglang depend on dep<1", "contradict each other", None),
        (UV_HASH, "Hash mismatch for `dep==1.0`", "differs from the hash", None),
        (DISK, "No space left on device", "root", "disk_full"),
        (VENV, "python3-venv", "apt install python3-venv", None),
        ("error: HTTP status client error (401 Unauthorized) for url (https://u:p@h/simple)\n", "https://***@h", "index_url", None),
    ],
)
def test_explain(output, words, advice, cause):
    said, told, found = explain(output)
    assert words in said and advice in told and found == cause
    assert "\n" not in said and "[notice]" not in said and "u:p@" not in said


def test_unknown_failures_keep_the_last_words():
    assert explain("Collecting x\nWARNING: odd\nit fell over\n") == ("it fell over", None, None)
    assert explain("") == ("it said nothing", None, None)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("https://user:pass@host/simple", "https://***@host/simple"),
        ("https://token@host", "https://***@host"),
        ("http://u:p@ss@host/x and ftp://a:b@c", "http://***@host/x and ftp://***@c"),
        ("https://host/simple/@scope", "https://host/simple/@scope"),
        ("mail a@b", "mail a@b"),
    ],
)
def test_redact(text, expected):
    assert redact(text) == expected


def test_the_digest_does_not_depend_on_order_spelling_or_comments():
    one = read_lock("0.5.17", ["sglang==0.5.17", "Typing_Extensions==4.1", "torch==2.13.0+cpu"])
    two = read_lock("0.5.17", ["# made by hand", "torch==2.13.0+cpu  # first", "", "typing-extensions == 4.1", "sglang==0.5.17"])
    assert one.digest == two.digest and set(one.lines) == set(two.lines)
    assert one.packages["typing-extensions"] == ("4.1", False)


def test_lock_lines_with_extras_markers_and_hashes():
    digest = "a" * 64
    lock = read_lock("0.5.17", ["sglang[all]==0.5.17", f"uvloop==0.23.0 ; sys_platform != 'win32' \\\n    --hash=sha256:{digest}"])
    assert lock.lines == ["sglang[all]==0.5.17", f"uvloop==0.23.0 ; sys_platform != 'win32' --hash=sha256:{digest}"]
    assert lock.packages["uvloop"] == ("0.23.0", True)
