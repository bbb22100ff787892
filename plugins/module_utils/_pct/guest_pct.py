# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""The pct calls that make, change, start and stop a guest; a failure carries pct's own words and the kind of failure."""

from __future__ import annotations

import re

from .._errors import KproError
from .._process.runner import run
from .attach import LOCALE, PCT, attach_argv
from .failures import classify, said
from .failures import warnings as conf_warnings

# Without a UTF-8 locale pct replaces every non-ASCII byte of its arguments; the rest is what pct sets for itself anyway.
ENVIRONMENT = {"LC_ALL": LOCALE, "PATH": "/sbin:/bin:/usr/sbin:/usr/bin", "HOME": "/root", "TERM": "linux"}

# Limits in seconds: reading, changing the configuration (a lock is waited for 10 s), starting, and unpacking a template.
QUICK, CHANGE, START, CREATE = 30, 60, 180, 1800
# How long a guest may take to shut down before Proxmox ends it hard (pct's own default).
SHUTDOWN = 60

# Beside the point in what pct prints: its usage lines, and warnings of a task that may have succeeded.
_ASIDE = re.compile(r"^(pct [a-z-]+ <vmid>|WARN: |Task finished with \d+ warning)")
_ELSEWHERE = re.compile(r"^CT \d+ already exists on node '", re.M)


def own_words(done):
    """The telling lines of what a command printed (stderr, else stdout), joined for a sentence: the first two and the last two.

    lxc-start names the cause first and the consequences after it; most others end with what matters.
    """
    for text in (said(done.stderr), done.out):
        told = [line.strip() for line in text.splitlines() if line.strip() and not _ASIDE.match(line)]
        if told:
            return " / ".join(told if len(told) <= 4 else told[:2] + ["…"] + told[-2:])
    return f"exit status {done.rc} without a word"


def warnings_in(done):
    """pct's ``WARN:`` lines and its complaints about the configuration file: said to the user, no failure."""
    return [line.strip() for line in done.err.splitlines() if line.startswith("WARN: ")] + conf_warnings(done.stderr)


def failure_of(done):
    """The kind of failure that pct's stderr names, or None. The text decides: the numbers collide with everything else."""
    if done.timed_out:
        return "timeout"
    if _ELSEWHERE.search(done.err):
        return "guest_on_other_node"
    failure, _words = classify(done.stderr)
    return None if failure == "transport" else failure


class PctFailed(KproError):
    """A pct call failed. ``failure`` is the kind; ``words`` are pct's own."""

    def __init__(self, what, done, failure):
        self.words = own_words(done)
        self.failure = failure
        super().__init__(f"{what}: {self.words}", failure=failure, pct={"cmd": done.argv, "rc": done.rc, "stderr": done.err[-4000:]})


class Pct:
    """pct for one guest. Every call is bounded; ``executable`` is its path; ``warnings`` collects what pct warned about."""

    def __init__(self, vmid, executable=PCT):
        self.vmid = vmid
        self.executable = executable
        self.warnings = []

    def raw(self, arguments, timeout):
        """Run pct with ``arguments`` and return the Completed call, whatever came of it."""
        return self._run([self.executable] + [str(argument) for argument in arguments], timeout, b"")

    def _run(self, argv, timeout, stdin):
        try:
            return run(argv, timeout, stdin=stdin, env=dict(ENVIRONMENT), cwd="/")
        except FileNotFoundError:
            raise KproError(
                f"{self.executable} is not here; this task runs on the Proxmox node (delegate_to), or pct_executable names another path.",
                failure="pct_missing",
            ) from None
        except PermissionError:
            raise KproError(f"{self.executable} may not be run by this user; become root on the node.", failure="not_permitted") from None

    def call(self, what, arguments, timeout):
        """Run pct; raise PctFailed with ``what`` (the beginning of the sentence) unless it succeeds."""
        done = self.raw(arguments, timeout)
        self.warnings += [text for text in warnings_in(done) if text not in self.warnings]
        if done.rc != 0:
            if done.timed_out:
                what = f"{what} (no answer for {timeout} seconds)"
            raise PctFailed(what, done, failure_of(done))
        return done

    def running(self):
        """Whether the guest runs (a frozen one counts as running here, as pct sees it)."""
        done = self.call(f"The status of guest {self.vmid} cannot be read", ["status", self.vmid], QUICK)
        return "status: running" in done.out

    def create(self, template, keys):
        """Create the guest from ``template`` with the configuration ``keys`` (dict)."""
        options = [part for key in sorted(keys) for part in (f"--{key}", keys[key])]
        self.call(f"Guest {self.vmid} was not created", ["create", self.vmid, template] + options, CREATE)

    def set(self, keys, deletes, digest):
        """Change configuration ``keys`` (dict) and take ``deletes`` (list) away, unless the file changed since ``digest``."""
        options = [part for key in sorted(keys) for part in (f"--{key}", keys[key])]
        if deletes:
            options += ["--delete", ",".join(deletes)]
        self.call(
            f"The configuration of guest {self.vmid} was not changed as wanted", ["set", self.vmid] + options + ["--digest", digest], CHANGE
        )

    def grow(self, gib):
        """Grow the root file system to ``gib`` GiB. pct resize exits 0 when it fails: the caller reads the file again."""
        return self.call(f"The root file system of guest {self.vmid} was not grown", ["resize", self.vmid, "rootfs", f"{gib}G"], CREATE)

    def start(self):
        """Start the guest. Returns False when it was running already, which is no failure."""
        try:
            self.call(f"Guest {self.vmid} was not started", ["start", self.vmid], START)
        except PctFailed as failed:
            if "already running" in failed.words:
                return False
            raise
        return True

    def stop(self):
        """Shut the guest down, hard after a minute. Returns False when it was not running."""
        arguments = ["shutdown", self.vmid, "--timeout", SHUTDOWN, "--forceStop", "1"]
        try:
            self.call(f"Guest {self.vmid} was not stopped", arguments, SHUTDOWN + START)
        except PctFailed as failed:
            if "not running" in failed.words:
                return False
            raise
        return True

    def script(self, text, timeout, arguments=()):
        """Run a shell script in the guest as root, bounded inside the guest as well, and return the Completed call.

        The script travels on stdin (no quoting, no length limit); its commands run in a function with /dev/null as their
        stdin, so that none of them can eat the rest of it. Killing pct would leave the guest's process: ``timeout`` in the
        guest ends it.
        """
        body = f'export HOME=/root LANG=C.UTF-8 LC_ALL=C.UTF-8\nkpro() {{\n{text}\n}}\nkpro "$@" </dev/null\n'
        words = ["timeout", "-k", "10", str(int(timeout)), "sh", "-s", "--", *arguments]
        return self._run(attach_argv(self.vmid, words, executable=self.executable), timeout + 15, body.encode("utf-8"))
