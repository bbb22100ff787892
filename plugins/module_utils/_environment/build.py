# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Build one virtual environment at its final path (environments do not move: their scripts name it)."""

from __future__ import annotations

import contextlib
import datetime
import os
import shutil
import tempfile
import time

from .._errors import KproError
from .._process.runner import run
from .failure import explain, last_words
from .installer import child_environment, create_command, install_command
from .lock import normal_name
from .marker import write_marker
from .probe import probe, shortcoming
from .redact import redact

_OUTPUT_LIMIT = 8 << 20
_TEMPORARY = ".kpro-tmp-"


class Builder:
    """``path``: of the environment; ``python``: base interpreter; ``lock``: lock.Lock; ``source``: installer.Source; ``uv``: path of uv, or
    None for pip; ``compile_all``: bytecode at the end; ``timeout``: seconds for everything."""

    def __init__(self, path, version, python, lock, source, uv, compile_all, timeout):
        self.path = path
        self.version = version
        self.python = python
        self.lock = lock
        self.source = source
        self.uv = uv
        self.compile_all = compile_all
        self.timeout = timeout
        self.deadline = time.monotonic() + timeout
        self.env: dict = {}

    def build(self):
        """Make the environment and return (marker, Probe). What was there is removed first, and what was made when it fails."""
        root = os.path.dirname(self.path)
        temporary = None
        try:
            remove_tree(self.path)
            for name in os.listdir(root):
                if name.startswith(_TEMPORARY):  # of a run that was killed: only one works here at a time
                    remove_tree(os.path.join(root, name))
            temporary = tempfile.mkdtemp(prefix=_TEMPORARY, dir=root)
            self.env = child_environment(self.source, temporary)
            try:
                return self._build(temporary)
            except BaseException:
                remove_tree(self.path)
                raise
        except OSError as error:
            raise KproError(f"The environment {self.path} cannot be made: {error.strerror or error} ({error.filename or self.path})")
        finally:
            if temporary:
                shutil.rmtree(temporary, ignore_errors=True)

    def _build(self, temporary):
        self._run(create_command(self.uv, self.python, self.path), "Making the virtual environment")
        requirements = os.path.join(temporary, "requirements.txt")
        constraints = os.path.join(temporary, "constraints.txt")
        limits = [line[3:] for line in self.lock.lines if line.startswith("-c ")]
        _write(requirements, [line for line in self.lock.lines if not line.startswith("-c ")])
        _write(constraints, limits)
        self._run(
            install_command(self.uv, self.path, requirements, constraints if limits else None, self.lock.complete, self.source.wheel_dir),
            f"Installing SGLang {self.version}",
        )
        found = probe(environment_python(self.path))
        self._verify(found)
        if self.compile_all:
            compile_bytecode(self.path, self.env, self._left())
        marker = {
            "format": 1,
            "version": self.version,
            "lock_digest": self.lock.digest,
            "requirements": self.lock.lines,
            "installer": "uv" if self.uv else "pip",
            "python": self.python,
            "python_version": found.python_version,
            "packages": found.names,
            "compiled": self.compile_all,
            "created": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        write_marker(self.path, marker)
        return marker, found

    def _verify(self, found):
        wrong = shortcoming(found, self.version)
        if wrong:
            raise KproError(f"The installer reported success, but {self.path} {wrong}; look at the wheel of sglang that it took")
        installed = {normal_name(name): version for name, version in found.packages.items()}
        for name, (version, conditional) in self.lock.packages.items() if self.lock.complete else ():
            if conditional and name not in installed:
                continue
            # PEP 440 lets 1.0+cpu stand for ==1.0, and 1.0.0 for 1.0: only what is absent is certainly wrong.
            if name not in installed:
                raise KproError(f"The installer reported success, but {name}=={version} of the lock is not in {self.path}")

    def _left(self):
        return max(1.0, self.deadline - time.monotonic())

    def _run(self, argv, what):
        try:
            done = run(argv, timeout=self._left(), env=self.env, cwd="/", output_limit=_OUTPUT_LIMIT)
        except OSError as error:
            option = "python" if argv[0] == self.python else "installer"
            raise KproError(f"{what} failed: {argv[0]} cannot be run ({error.strerror or error}); correct option {option}")
        output = redact(done.out + "\n" + done.err)
        if done.timed_out:
            raise KproError(
                f"{what} took longer than timeout ({self.timeout} s) and was ended; last it said: {last_words(output)}. "
                "Give it longer, or wheels on the target with wheel_dir.",
                installer_output=output[-4000:],
            )
        if done.rc != 0:
            words, advice, cause = explain(output)
            killed = f" (ended by signal {-done.rc})" if done.rc < 0 else ""
            raise KproError(
                f"{what} failed{killed}: {words}." + (f" {advice}" if advice else ""),
                cause=cause,
                installer_output=output[-4000:],
            )


@contextlib.contextmanager
def readable_by_all():
    """What is made inside is readable by the service user and writable by the owner alone, whatever umask this process has."""
    previous = os.umask(0o022)
    try:
        yield
    finally:
        os.umask(previous)


def environment_python(path):
    """The interpreter of the environment in ``path``."""
    return os.path.join(path, "bin", "python")


def compile_bytecode(path, env, timeout):
    """Compile all of the environment's packages with all cores. Files that do not compile are ordinary (templates, other Pythons)."""
    library = os.path.join(path, "lib")
    done = run([environment_python(path), "-m", "compileall", "-q", "-j", "0", library], timeout=timeout, env=env, cwd="/")
    if done.timed_out:
        raise KproError(f"Compiling the bytecode in {library} took longer than the rest of timeout ({int(timeout)} s); give it longer")


def remove_tree(path):
    """Remove a directory (or the link or file at its place); nothing there is fine. Raises OSError."""
    if os.path.islink(path) or os.path.isfile(path):
        os.unlink(path)
    elif os.path.isdir(path):
        shutil.rmtree(path)


def _write(path, lines):
    with open(path, "w", encoding="utf-8") as stream:
        stream.writelines(line + "\n" for line in lines)
