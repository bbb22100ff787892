"""The scripts that receive and send one file, run by the shells that guests have."""

from __future__ import annotations

import hashlib
import os
import pathlib
import shutil
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.kpro.sglang.plugins.module_utils._pct.marker import Report, new_token
from ansible_collections.kpro.sglang.plugins.module_utils._pct.transfer import receive_words, send_words

SHELLS = [shell for shell in ("/bin/dash", "/bin/bash") if shutil.which(shell)]
NAME = st.text(st.characters(blacklist_characters="\0/", blacklist_categories=["Cs"]), min_size=1, max_size=40).filter(
    lambda name: name not in (".", "..") and len(name.encode()) < 200
)


@pytest.fixture(params=SHELLS)
def shell(request):
    return request.param


def receive(shell, path, data, digest=None, cwd=None):
    words = receive_words(new_token(), str(path), digest or hashlib.sha256(data).hexdigest())
    return subprocess.run([shell, *words[1:]], input=data, capture_output=True, check=False, cwd=cwd, timeout=60)


def send(shell, path, cwd=None):
    token = new_token()
    done = subprocess.run(
        [shell, *send_words(token, str(path))[1:]], stdin=subprocess.DEVNULL, capture_output=True, check=False, cwd=cwd, timeout=60
    )
    return done, Report(done.stderr, token)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=NAME, data=st.binary(max_size=3000))
def test_any_name_there_and_back(shell, tmp_path_factory, name, data):
    folder = tmp_path_factory.mktemp("x")
    done = receive(shell, name, data, cwd=folder)
    assert (done.returncode, done.stderr) == (0, b"")
    assert os.listdir(os.fsencode(folder)) == [name.encode()]
    assert (pathlib.Path(os.fsdecode(os.fsencode(folder) + b"/" + name.encode()))).read_bytes() == data
    done, report = send(shell, name, cwd=folder)
    assert done.stdout == data
    assert report.digest == (hashlib.sha256(data).hexdigest() if data else "")


def test_another_checksum_leaves_the_old_file(shell, tmp_path):
    old = tmp_path / "f"
    old.write_text("old")
    done = receive(shell, old, b"new", digest="0" * 64)
    assert done.returncode == 1
    assert b"checksum differs" in done.stderr
    assert old.read_text() == "old"
    assert os.listdir(tmp_path) == ["f"]


def test_a_full_disk_leaves_the_old_file(shell, tmp_path):
    old = tmp_path / "f"
    old.write_text("old")
    words = receive_words(new_token(), str(old), "0" * 64)
    limited = 'ulimit -f 8; trap "" XFSZ; exec "$0" "$@"'  # no more than 4 KiB per file: write fails as it does on a full disk
    done = subprocess.run(["bash", "-c", limited, shell, *words[1:]], input=b"x" * 100000, capture_output=True, check=False, timeout=60)
    assert done.returncode == 1
    assert b"File too large" in done.stderr
    assert old.read_text() == "old"
    assert os.listdir(tmp_path) == ["f"]


def test_missing_folder(shell, tmp_path):
    done = receive(shell, tmp_path / "no" / "f", b"x")
    assert done.returncode
    assert str(tmp_path / "no").encode() in done.stderr


def test_a_folder_is_no_destination(shell, tmp_path):
    done = receive(shell, tmp_path, b"x")
    assert (done.returncode, done.stderr) == (1, f"{tmp_path}: Is a directory\n".encode())


def test_mode_and_owner(shell, tmp_path):
    new, old = tmp_path / "new", tmp_path / "old"
    old.write_text("old")
    old.chmod(0o751)
    os.chown(old, 1234, 5678)
    receive(shell, new, b"x")
    receive(shell, old, b"y")
    assert new.stat().st_mode & 0o7777 == 0o644
    assert (old.stat().st_mode & 0o7777, old.stat().st_uid, old.stat().st_gid, old.read_text()) == (0o751, 1234, 5678, "y")


def test_a_link_is_followed_and_a_device_written_to(shell, tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    assert receive(shell, tmp_path / "link", b"new").returncode == 0
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"
    assert receive(shell, "/dev/null", b"x").returncode == 0
    assert pathlib.Path("/dev/null").is_char_device()


def test_what_cannot_be_read(shell, tmp_path):
    done, _report = send(shell, tmp_path / "no")
    assert done.returncode == 1
    assert b"No such file" in done.stderr
    assert send(shell, tmp_path)[0].returncode == 1


def test_a_file_without_a_size_of_its_own(shell):
    done, report = send(shell, "/proc/self/status")
    assert done.stdout
    assert (done.returncode, report.digest) == (0, "")
