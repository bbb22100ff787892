# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Marker protocol: lines on stderr that tell a command's own end from a failure of pct, ssh or the guest.

pct's exit codes collide with those of the command it runs, so numbers prove nothing. Every call gets a random token, and the
script inside the guest writes ``<newline><token> <word> [<rest>]<newline>`` to stderr: ``start`` before the command, ``end
<rc>`` after it. What came before ``start`` was said by ssh, sudo or pct; without ``start`` the command never ran; without
``end`` it was cut off. The words are listed in ``Report``.
"""

from __future__ import annotations

import re


def new_token():
    """Return a token (str) that no output contains by chance: 96 random bits."""
    import secrets

    return "kpro-" + secrets.token_hex(12)


class Report:
    """What the markers in one stderr say.

    preface (bytes): what stood before the start, or everything when the command did not start.
    stderr (bytes): the command's own stderr, markers taken out, not a byte changed.
    started (bool), pid (int or None): the script in the guest, by the guest's count.
    rc (int or None): exit status of the command, 128+N when signal N ended it; None when no end was seen.
    timed_out (bool): the script in the guest ended the command because its time was over.
    refused (str): why the script in the guest did not run the command (unknown user, missing folder).
    skipped (str): ``creates`` or ``removes``, which made the run needless.
    stalled (str): ``frozen`` or ``hung``, from the supervisor on the node: the guest did not answer in time.
    digest (str): SHA-256 in hex of a file that was read.
    """

    def __init__(self, raw, token):
        self.started = False
        self.pid = None
        self.rc = None
        self.timed_out = False
        self.refused = ""
        self.skipped = ""
        self.stalled = ""
        self.digest = ""
        before, after, last = bytearray(), bytearray(), 0
        for match in re.finditer(b"\n?" + re.escape(token.encode()) + b" ([a-z]+) ?([^\n]*)\n", raw):
            (after if self.started else before).extend(raw[last : match.start()])
            last = match.end()
            self._note(match.group(1).decode(), match.group(2).decode("utf-8", "replace"))
        (after if self.started else before).extend(raw[last:])
        self.preface = bytes(before)
        self.stderr = bytes(after)

    def _note(self, word, rest):
        if word == "start":
            self.started = True
            self.pid = int(rest) if rest.isdigit() else None
        elif word == "end" and rest.isdigit():
            self.rc = int(rest)
        elif word == "timeout":
            self.timed_out = True
        elif word in ("refused", "skipped", "stalled", "digest"):
            setattr(self, word, rest)
