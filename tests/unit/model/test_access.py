"""Permissions of the service user, told from mode bits, ACLs and links."""

from __future__ import annotations

import os
import struct

import pytest

from ansible_collections.kpro.sglang.plugins.module_utils._model import access
from ansible_collections.kpro.sglang.plugins.module_utils._model.inspection import inspect
from ansible_collections.kpro.sglang.plugins.module_utils._model.location import check_access

STRANGER = access.Account("stranger", 54321, {54321})


@pytest.fixture
def tree(tmp_path):
    """tmp_path opened for everybody, with a file below two directories."""
    place = tmp_path
    while place != place.parent and place.stat().st_uid == os.getuid() and place.name.startswith(("pytest", tmp_path.name)):
        place.chmod(0o755)
        place = place.parent
    directory = tmp_path / "a" / "b"
    directory.mkdir(parents=True)
    (directory / "f").write_text("x")
    for part in (tmp_path / "a", directory):
        part.chmod(0o755)
    (directory / "f").chmod(0o644)
    return directory


def test_everything_open(tree):
    assert access.obstacle(str(tree / "f"), STRANGER) is None


@pytest.mark.parametrize("where, mode, needs", [("a", 0o750, "search"), ("a/b", 0o754, "search"), ("a/b/f", 0o600, "read")])
def test_each_component_can_be_in_the_way(tree, where, mode, needs):
    place = tree.parent.parent / where
    place.chmod(mode)
    wall = access.obstacle(str(tree / "f"), STRANGER)
    assert wall["path"] == str(place) and wall["needs"] == needs and f"mode {mode:04o}" in wall["found"]


def test_a_directory_as_the_end_must_be_listed_too(tree):
    tree.chmod(0o711)
    assert access.obstacle(str(tree / "f"), STRANGER) is None
    assert access.obstacle(str(tree), STRANGER)["needs"] == "read"


def test_owner_and_group_classes_exclude_the_others(tree):
    status = os.stat(tree / "f")
    owner = access.Account("o", status.st_uid + 1000, {status.st_gid + 1000})
    fake = os.stat_result((0o100077, *status[1:4], owner.uid, status.st_gid, *status[6:]))
    assert access.granted_bits("/nonexistent", fake, owner) == 0
    member = access.Account("m", 777, {status.st_gid})
    fake = os.stat_result((0o100604, *status[1:4], 4242, status.st_gid, *status[6:]))
    assert access.granted_bits("/nonexistent", fake, member) == 0
    assert access.granted_bits("/nonexistent", fake, STRANGER) == 4
    assert access.granted_bits("/nonexistent", fake, access.Account("root", 0, {0})) == 7


def test_links_are_followed_component_by_component(tree, tmp_path):
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "g").write_text("x")
    hidden.chmod(0o700)
    (tree / "link").symlink_to("../../hidden/g")
    assert access.obstacle(str(tree / "link"), STRANGER)["path"] == str(hidden)
    (tree / "absolute").symlink_to(tree / "f")
    assert access.obstacle(str(tree / "absolute"), STRANGER) is None


def acl_attribute(*entries):
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


NOBODY = 0xFFFFFFFF


@pytest.mark.parametrize(
    "account, bits",
    [
        (access.Account("named", 5001, {1}), 4),  # 7 cut by the mask
        (access.Account("group", 5002, {6001}), 4),
        (access.Account("none", 5003, {6002}), 0),  # a group entry without bits does not fall through to the others
        (access.Account("other", 5004, {9}), 1),
        (access.Account("owner", 5005, {9}), 6),
    ],
)
def test_acl(monkeypatch, tree, account, bits):
    raw = acl_attribute((1, 6, NOBODY), (2, 7, 5001), (4, 5, NOBODY), (8, 7, 6001), (8, 0, 6002), (16, 4, NOBODY), (32, 1, NOBODY))
    monkeypatch.setattr(os, "getxattr", lambda path, name: raw)
    status = os.stat(tree / "f")
    fake = os.stat_result((0o100640, *status[1:4], 5005, 12345, *status[6:]))
    assert access.granted_bits(str(tree / "f"), fake, account) == bits
    assert "with an ACL" in access.describe(str(tree / "f"), fake)


def test_one_wall_for_many_files_is_one_problem(tree):
    (tree / "g").write_text("x")
    tree.chmod(0o700)
    found = check_access(str(tree), ["f", "g"], STRANGER)
    assert [record["file"] for record in found] == [str(tree)]
    assert found[0]["cause"] == "model_path_permission" and "chmod o+x" in found[0]["do"]


def test_inspect_for_a_user(model, tree, monkeypatch):
    import pwd

    model.chmod(0o755)
    for file in model.iterdir():
        file.chmod(0o644)
    nobody = pwd.getpwnam("nobody")
    assert inspect(str(model), user="nobody")["problems"] == []
    (model / "tokenizer.json").chmod(0o600)
    problem = inspect(str(model), user=str(nobody.pw_uid))["problems"][0]
    assert (problem["file"], problem["cause"]) == ("tokenizer.json", "model_path_permission")
    assert "nobody" in problem["problem"]
    model.chmod(0o700)
    problem = inspect(str(model), user="nobody")["problems"][0]
    assert problem["file"] == str(model) and "mode 0700" in problem["found"]
