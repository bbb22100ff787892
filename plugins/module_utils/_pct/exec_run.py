# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Runs one command in a guest, from its node, and says exactly how it ended: what proxmox_lxc_exec does."""

from __future__ import annotations

import errno
import os

from .._errors import KproError
from .._process.runner import MIB, run
from .attach import LOCALE, LONGEST_ARGUMENT, SUDO, attach_argv, check_vmid, check_words
from .exec_environment import check_plain, check_secrets
from .exec_script import clean_up_words, command_words, secret_lines
from .exec_state import frozen, owner, thawed_within
from .failures import classify, warnings
from .marker import Report, new_token

# Nothing of the caller's environment goes to pct: pct would hand it on, and its locale decides whether non-ASCII survives.
ENVIRONMENT = {"LC_ALL": LOCALE, "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "TERM": "linux"}
# Seconds that a frozen guest is waited for when the caller sets no time limit.
FROZEN_LIMIT = 10
# Seconds after the guest's own time limit until the node gives up on pct: the second between TERM and KILL, and two to start.
BACKSTOP = 3
# Room for markers and for what pct says, on top of what the caller wants to see of stderr.
_SLACK = 256 * 1024


class Request:
    """What to run. ``words``: list of str. ``stdin``: bytes. ``environment``, ``secrets``: dict of str. ``timeout``: seconds or None.

    ``folder``, ``creates``, ``removes``: paths in the guest. ``look``: run nothing, only evaluate creates and removes.
    ``output_limit``: bytes of each stream to return. ``name``: the option that ``words`` came from, for messages.
    """

    def __init__(self, vmid, words, name="argv", stdin=b"", user="root", folder="", environment=None, secrets=None, creates="",
                 removes="", look=False, timeout=None, output_limit=MIB, method="pct", executable=None, become=False):  # fmt: skip
        self.vmid = check_vmid(vmid)
        check_words(words, name)
        self.environment = check_plain(environment or {})
        self.secrets = check_secrets(secrets or {})
        if folder and not folder.startswith("/"):
            raise KproError("chdir is %r: it must be an absolute path in the guest." % folder)
        if timeout is not None and not 0 < timeout < 1e9:
            raise KproError("timeout is %r: it must be a number of seconds above 0." % timeout)
        self.words = list(words)
        self.stdin = stdin
        self.user = user
        self.folder = folder
        self.creates = creates
        self.removes = removes
        self.look = look
        self.timeout = timeout
        self.output_limit = output_limit
        self.method = method
        self.executable = executable
        self.become = become

    def full_words(self):
        """Return the argv with the plain variables in front, by ``env``: their values are arguments and never parsed."""
        if not self.environment:
            return self.words
        pairs = ["%s=%s" % pair for pair in self.environment.items()]
        # env takes a program's name with an equals sign for one more variable.
        inner = self.words if "=" not in self.words[0] else ["/bin/sh", "-c", 'exec "$@"', "sh", *self.words]
        return ["env", "--", *pairs, *inner]


class Outcome:
    """How it ended.

    rc (int or None): of the command; None when it did not run or its status was lost. stdout, stderr (bytes): at most
    ``output_limit`` each, ``stdout_truncated`` and ``stderr_truncated`` say if there was more. timed_out (bool).
    failure (str or None): what failed outside the command, a value of proxmox_lxc_exec's ``failure``; message (str): in a
    sentence. skipped (str): ``creates``, ``removes`` or ``look`` when nothing was run. warnings (list of str): pct's.
    """

    def __init__(self):
        self.rc = None
        self.stdout = b""
        self.stderr = b""
        self.stdout_truncated = False
        self.stderr_truncated = False
        self.timed_out = False
        self.failure = None
        self.message = ""
        self.skipped = ""
        self.warnings = []

    def fail(self, failure, message):
        self.failure = failure
        self.message = message
        return self


def run_in_guest(request):
    """Run ``request`` (Request) and return its Outcome. Raises KproError only for a request that no guest could run."""
    outcome = Outcome()
    patience = FROZEN_LIMIT if request.timeout is None else min(FROZEN_LIMIT, request.timeout)
    if not thawed_within(request.vmid, patience):
        message = "guest %d is frozen: nothing can run in it until it is thawed (waited %g s)."
        return outcome.fail("guest_frozen", message % (request.vmid, patience))
    token = new_token()
    words = command_words(token, request.user, request.full_words(), request.folder, request.timeout, request.creates,
                          request.removes, request.look, len(request.secrets))  # fmt: skip
    limit = None if request.timeout is None else request.timeout + BACKSTOP
    completed = _enter(request, words, limit, secret_lines(request.secrets) + request.stdin, request.output_limit + _SLACK, outcome)
    if completed is None:
        return outcome
    report = Report(completed.stderr, token)
    outcome.warnings = warnings(report.preface)
    outcome.stdout, outcome.stdout_truncated = _cut(completed.stdout, request.output_limit)
    outcome.stderr, outcome.stderr_truncated = _cut(report.stderr, request.output_limit)
    outcome.skipped = report.skipped
    if report.refused:
        return outcome.fail("guest_refused", "guest %d: %s." % (request.vmid, report.refused))
    if report.skipped:
        return outcome
    if not report.started:
        outcome.stdout = b""
        return _not_started(request, completed, report.preface, outcome)
    return _ended(request, completed, report, token, outcome)


def _enter(request, words, limit, stdin, output_limit, outcome, method=None):
    """Run ``words`` in the guest; return Completed, or None with ``outcome`` failed when the program could not be started."""
    method = method or request.method
    argv = attach_argv(request.vmid, words, method, request.executable if method == request.method else None)
    argv = [*SUDO, *argv] if request.become and os.geteuid() != 0 else argv
    try:
        return run(argv, limit, stdin=stdin, env=dict(ENVIRONMENT), cwd="/", output_limit=output_limit)
    except FileNotFoundError:
        text = "%s: No such file or directory" % argv[0]
    except PermissionError:
        outcome.fail("not_permitted", "%s: Permission denied" % argv[0])
        return None
    except OSError as error:
        if error.errno != errno.E2BIG:
            raise
        total = sum(len(word.encode("utf-8", "surrogateescape")) for word in argv)
        message = "the arguments are too long for one call: %d bytes in all, %d allowed in each; hand them over with stdin or shell."
        outcome.fail("pct_usage", message % (total, LONGEST_ARGUMENT))
        return None
    outcome.fail(*classify(text.encode()))
    return None


def _not_started(request, completed, preface, outcome):
    node = os.uname().nodename
    if completed.timed_out:
        words = "it did not start the command within %g s" % (request.timeout + BACKSTOP)
        if frozen(request.vmid) is not False:
            return outcome.fail("guest_frozen", "guest %d on node %s: %s; a frozen guest does that." % (request.vmid, node, words))
        return outcome.fail("timeout", "guest %d on node %s: %s." % (request.vmid, node, words))
    failure, words = classify(preface)
    if request.method == "lxc-attach" and failure in ("guest_stopped", "transport"):
        # lxc-attach cannot tell a stopped guest from a missing one; pct can, and says it better.
        asked = _enter(request, ["/bin/true"], 30, b"", MIB, Outcome(), method="pct")
        if asked is not None and asked.rc != 0:
            other, other_words = classify(asked.stderr)
            failure, words = (failure, words) if other in ("transport", "not_permitted", "pct_missing") else (other, other_words)
    if failure == "guest_missing":
        elsewhere = owner(request.vmid, request.become and os.geteuid() != 0)
        if elsewhere and elsewhere != node:
            return outcome.fail("guest_on_other_node", "guest %d lives on node %s, not on %s: %s" % (request.vmid, elsewhere, node, words))
    words = words or "it could not be entered, exit status %d and no message" % completed.rc
    return outcome.fail(failure, "guest %d on node %s: %s" % (request.vmid, node, words))


def _ended(request, completed, report, token, outcome):
    # The end marker is the last thing on stderr: where that was cut, the exit status is all there is.
    rc = report.rc if report.rc is not None or not outcome.stderr_truncated or completed.rc < 0 else completed.rc
    outcome.rc = rc
    late = outcome.stderr_truncated and request.timeout is not None and completed.seconds >= request.timeout
    outcome.timed_out = report.timed_out or completed.timed_out or late
    if rc is None and report.pid:
        _enter(request, clean_up_words(token, report.pid), 10, b"", MIB, Outcome())
    if outcome.timed_out:
        return outcome.fail("timeout", "the command was ended in guest %d after its %g s." % (request.vmid, request.timeout))
    if rc is None:
        how = "signal %d ended pct" % -completed.rc if completed.rc < 0 else "exit status %d" % completed.rc
        message = "the connection to guest %d broke while the command ran (%s); what was left of the command was ended."
        return outcome.fail("transport", message % (request.vmid, how))
    return outcome


def _cut(data, limit):
    return data[:limit], len(data) > limit
