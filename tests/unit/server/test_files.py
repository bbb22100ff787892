"""Files are written whole or not at all; a failure leaves the old file, no temporary one, and one sentence."""

from __future__ import annotations

import errno
import os
import threading

import pytest

from ansible_collections.kpro.sglang.plugins.module_utils._errors import KproError
from ansible_collections.kpro.sglang.plugins.module_utils._server import files

OWN = (os.getuid(), os.getgid())


def test_content_mode_and_nothing_else(tmp_path):
    path = tmp_path / "config.yaml"
    files.write(str(path), "größe: 1\n", 0o600, *OWN)
    assert path.read_bytes() == "größe: 1\n".encode()
    assert path.stat().st_mode & 0o7777 == 0o600
    assert os.listdir(tmp_path) == ["config.yaml"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_the_umask_does_not_matter(tmp_path, mode):
    old = os.umask(0o077)
    try:
        files.write(str(tmp_path / "a"), "x", mode, *OWN)
    finally:
        os.umask(old)
    assert (tmp_path / "a").stat().st_mode & 0o7777 == mode


def test_a_reader_sees_the_old_or_the_new_file_and_never_a_part(tmp_path):
    path = str(tmp_path / "a")
    files.write(path, "0" * 50000, 0o600, *OWN)
    seen, stop = set(), threading.Event()

    def read():
        while not stop.is_set():
            text = files.read(path)
            seen.add((len(text), len(set(text))))

    reader = threading.Thread(target=read)
    reader.start()
    for turn in range(60):
        files.write(path, str(turn % 10) * 50000, 0o600, *OWN)
    stop.set()
    reader.join()
    assert seen == {(50000, 1)}


def test_the_content_is_never_readable_for_others_on_the_way(tmp_path, monkeypatch):
    modes, real = [], os.fsync

    def fsync(number):
        modes.append(os.fstat(number).st_mode & 0o777)
        real(number)

    monkeypatch.setattr(os, "fsync", fsync)
    files.write(str(tmp_path / "a"), "secret", 0o644, *OWN)
    assert modes == [0o600]


@pytest.mark.parametrize("call", ["fsync", "chmod", "chown", "rename"])
def test_a_full_disk_leaves_the_old_file_and_no_part_of_the_new(tmp_path, monkeypatch, call):
    path = tmp_path / "a"
    files.write(str(path), "old", 0o600, *OWN)

    def fail(*_unused, **_more):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(KproError) as caught:
        files.write(str(path), "new", 0o600, *OWN)
    assert caught.value.message == f"{path} cannot be written: No space left on device"
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["a"]


def test_an_interrupt_leaves_no_part_either(tmp_path, monkeypatch):
    def interrupted(_number):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        files.write(str(tmp_path / "a"), "x", 0o600, *OWN)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("missing", ["no/such/folder/a", "file/a"])
def test_a_folder_that_is_not_there(tmp_path, missing):
    (tmp_path / "file").write_text("")
    with pytest.raises(KproError, match="cannot be written"):
        files.write(str(tmp_path / missing), "x", 0o600, *OWN)


def test_read_knows_missing_from_unreadable(tmp_path):
    (tmp_path / "file").write_bytes(b"caf\xe9")
    assert files.read(str(tmp_path / "file")) == "caf\ufffd"
    assert files.read(str(tmp_path / "none")) is None
    assert files.read(str(tmp_path / "file" / "below")) is None
    with pytest.raises(KproError, match="cannot be read: Is a directory"):
        files.read(str(tmp_path))


@pytest.mark.parametrize("text", ["", "{", "[1]", "null", '"x"', "3", "\x00"])
def test_a_broken_record_is_no_record(tmp_path, text):
    (tmp_path / "record").write_text(text)
    assert files.read_json(str(tmp_path / "record")) == {}


def test_a_record_goes_round(tmp_path, monkeypatch):
    if os.getuid() != 0:
        monkeypatch.setattr(os, "chown", lambda *_unused: None)
    files.write_json(str(tmp_path / "record"), {"b": "größe", "a": [1, None]})
    assert files.read_json(str(tmp_path / "record")) == {"a": [1, None], "b": "größe"}
    assert (tmp_path / "record").stat().st_mode & 0o777 == 0o600


def test_a_folder_is_made_once_and_put_right(tmp_path):
    path = tmp_path / "a" / "b"
    assert files.folder(str(path), 0o700, *OWN) is True
    assert path.stat().st_mode & 0o7777 == 0o700
    assert files.folder(str(path), 0o700, *OWN) is False
    path.chmod(0o777)
    assert files.folder(str(path), 0o700, *OWN) is True
    assert path.stat().st_mode & 0o7777 == 0o700


def test_a_folder_where_a_file_is(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(KproError, match=r"the folder .*/file/x cannot be made"):
        files.folder(str(tmp_path / "file" / "x"), 0o700, *OWN)
