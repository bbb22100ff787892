# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""The environment of one SGLang release and lock: is it there, make it, remove it, or take the one of an image."""

from __future__ import annotations

import fcntl
import os
import time

from .._errors import KproError
from .build import Builder, compile_bytecode, environment_python, readable_by_all, remove_tree
from .installer import child_environment, choose
from .lock import check_version, read_lock
from .marker import read_marker, write_marker
from .probe import probe, shortcoming
from .usage import check_space, refuse_if_used

_LOCK_FILE = ".kpro-lock"


def environment_path(root, version, lock):
    """``<root>/<version>-<first 12 hex digits of the digest of the lock>``."""
    return os.path.join(root, f"{version}-{lock.digest[:12]}")


def _record(path, version, lock=None, marker=None, existing=False, installer=None):
    """What the module returns as ``environment``; nulls where nothing was made or asked."""
    marker = marker or {}
    return {
        "path": path,
        "python": environment_python(path) if path else None,
        "version": version,
        "lock_digest": lock.digest if lock else None,
        "installer": marker.get("installer", installer),
        "python_version": marker.get("python_version"),
        "packages_count": len(marker["packages"]) if isinstance(marker.get("packages"), list) else None,
        "created": marker.get("created"),
        "existing": existing,
    }


def use_existing(python, version):
    """Verify an interpreter whose environment holds SGLang ``version`` already (an image that ships it). Returns the result dict."""
    check_version(version)
    if not os.path.isabs(python):
        raise KproError(f"existing is {python!r}; it must be the absolute path of the Python that has SGLang")
    found = probe(python)
    wrong = shortcoming(found, version)
    if wrong:
        remedy = f"set version to {found.sglang}" if found.sglang else "name the Python of the environment that has it"
        raise KproError(
            f"existing is {python!r}, which {wrong}, and version is {version}; {remedy}, or leave existing out to have it installed"
        )
    record = _record(None, version, existing=True)
    # bin/python -> the environment two levels up; for a system Python this is /usr, which is right too.
    record.update(path=os.path.dirname(os.path.dirname(python)), python=python, python_version=found.python_version)
    record["packages_count"] = len(found.packages)
    return {"changed": False, "msg": f"SGLang {version} is there: {python} (Python {found.python_version}).", "environment": record}


def present(root, version, lock_lines, constraints, source, python, installer, compile_all, min_free_gib, timeout, check_mode):
    """Make sure that the environment is there; the result dict with ``changed``, ``msg``, ``environment`` and ``diff`` when it changes."""
    lock = read_lock(version, lock_lines, constraints)
    _check_paths(root=root, python=python, wheel_dir=source.wheel_dir)
    path = environment_path(root, version, lock)
    marker, reason = _state(path, version, lock)
    if reason is None and (not compile_all or marker.get("compiled")):
        return {
            "changed": False,
            "msg": f"The environment of SGLang {version} is there: {path}.",
            "environment": _record(path, version, lock, marker),
        }
    diff = {"before_header": path, "after_header": path, "before": "", "after": "".join(line + "\n" for line in lock.lines)}
    notes = []
    name = uv = None
    try:
        name, uv = choose(installer)
        if reason is not None:
            check_space(root, min_free_gib)
            _check_sources(python, source)
    except KproError as error:
        if not check_mode:
            raise
        notes.append(error.message)  # what is missing may be what an earlier task, only checked too, would have brought
    if check_mode:
        record = _record(path, version, lock, None if reason else marker, installer=name)
        what = "compile the bytecode of" if reason is None else "install" if reason == "absent" else f"rebuild ({reason})"
        msg = f"Would {what} the environment of SGLang {version} in {path}."
        return {"changed": True, "msg": msg, "environment": record, "notes": notes, **({"diff": diff} if reason else {})}
    begin = time.monotonic()
    with readable_by_all(), _Exclusive(root, timeout):
        marker, reason = _state(path, version, lock)  # another run may have made it while this one waited
        if reason is None:
            if compile_all and not marker.get("compiled"):
                _compile(path, marker, source, timeout)
                msg = f"Compiled the bytecode of {path}."
                return {"changed": True, "msg": msg, "environment": _record(path, version, lock, marker)}
            return {"changed": False, "msg": f"Another run made {path}.", "environment": _record(path, version, lock, marker)}
        if reason != "absent":
            refuse_if_used(path, f"rebuilt ({reason})")
        builder = Builder(path, version, python, lock, source, uv, compile_all, max(1, timeout - (time.monotonic() - begin)))
        marker, found = builder.build()
    seconds = time.monotonic() - begin
    msg = f"Installed SGLang {version} with {len(found.packages)} packages by {name} in {seconds:.0f} s: {path}."
    return {"changed": True, "msg": msg, "environment": _record(path, version, lock, marker), "diff": diff}


def absent(root, version, lock_lines, constraints, check_mode):
    """Remove the environment that the same options name. A server that runs from it is in the way."""
    lock = read_lock(version, lock_lines, constraints)
    _check_paths(root=root)
    path = environment_path(root, version, lock)
    record = _record(path, version, lock, read_marker(path))
    if not os.path.lexists(path):
        return {"changed": False, "msg": f"There is no environment {path}.", "environment": record}
    refuse_if_used(path, "removed")
    if not check_mode:
        with _Exclusive(root, 600):
            try:
                remove_tree(path)
            except OSError as error:
                raise KproError(f"The environment {path} cannot be removed: {error.strerror or error} ({error.filename})")
    diff = {"before_header": path, "after_header": path, "before": "".join(line + "\n" for line in lock.lines), "after": ""}
    return {"changed": True, "msg": f"{'Would remove' if check_mode else 'Removed'} {path}.", "environment": record, "diff": diff}


def _state(path, version, lock):
    """(marker or None, None or why the environment must be made)."""
    if not os.path.lexists(path):
        return None, "absent"
    marker = read_marker(path)
    if marker is None:
        return None, "left over from an interrupted run"
    if marker.get("lock_digest") != lock.digest or marker.get("version") != version:
        return None, "its marker is of another lock"
    try:
        wrong = shortcoming(probe(environment_python(path)), version)
    except KproError:
        wrong = "its Python does not run"
    return (marker, None) if wrong is None else (None, wrong)


def _compile(path, marker, source, timeout):
    compile_bytecode(path, child_environment(source, "/tmp"), timeout)
    marker["compiled"] = True
    write_marker(path, marker)


def _check_paths(**options):
    for option, value in options.items():
        if value is not None and not os.path.isabs(value):
            raise KproError(f"{option} is {value!r}; it must be an absolute path on the target")


def _check_sources(python, source):
    if not os.access(python, os.X_OK):
        raise KproError(f"python is {python!r}, and there is no such interpreter on this host; install it, or name another (3.10 or later)")
    if source.wheel_dir is not None and not os.path.isdir(source.wheel_dir):
        raise KproError(
            f"wheel_dir is {source.wheel_dir!r}, and there is no such directory on this host; mount it or copy the wheels there"
        )
    if source.wheel_dir is not None and not any(name.endswith((".whl", ".tar.gz")) for name in os.listdir(source.wheel_dir)):
        raise KproError(
            f"wheel_dir is {source.wheel_dir!r}, which holds no wheels; copy them there, or leave wheel_dir out to use an index"
        )


class _Exclusive:
    """One run at a time makes or removes environments below ``root``; waits at most ``timeout`` seconds for another."""

    def __init__(self, root, timeout):
        self.path = os.path.join(root, _LOCK_FILE)
        self.timeout = timeout
        self.handle = -1

    def __enter__(self):
        try:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            self.handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise KproError(f"root is {os.path.dirname(self.path)!r}, which cannot be written: {error.strerror or error}")
        deadline = time.monotonic() + self.timeout
        while True:
            try:
                fcntl.flock(self.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return self
            except OSError:
                if time.monotonic() > deadline:
                    os.close(self.handle)
                    raise KproError(
                        f"Another run has worked below {os.path.dirname(self.path)} for {self.timeout:.0f} s; let it end, then try again"
                    )
                time.sleep(0.2)

    def __exit__(self, *_exception):
        os.close(self.handle)
