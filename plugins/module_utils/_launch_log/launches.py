# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Where each launch of a log begins. A file may hold many launches; only the asked one may be used for a verdict.

Signs of a beginning: the service manager starts the unit, the launcher's own warning, a settings line although this launch has
one already, a usage text or an interpreter's traceback after the end of the launch before.
"""

from __future__ import annotations

import os
import re

from .._process.runner import run
from .lines import Line

_UNIT_STARTS = re.compile(r"(?:Started|Starting) ")
_LAUNCHER = re.compile(r".*launch_server\.py:\d+: UserWarning: 'python -m sglang\.launch_server'")
_ENDED = re.compile(
    r"kill_process_tree called: .*include_parent=True|Gracefully exiting|Killed$|.*: line \d+: +\d+ Killed|.*\(core dumped\)"
)
_UNIT_ENDED = re.compile(r".*: (?:Main process exited|Failed with result|Deactivated successfully|Scheduled restart job)|Stopped ")
_INTERPRETER = re.compile(
    r"\s+File \"(?:<frozen runpy>|[^\"]*/bin/[\w.-]+|[^\"]*launch_server\.py|[^\"]*sglang/cli/\w+\.py|[^\"]*runpy\.py)\", line"
)
_REFUSED = re.compile(r"usage: |\S*python[\d.]*: (?:can't open|No module|Error while)|\S*(?:bash|sh): .*not found")
#: A settings line at its place in a line, for the search from the end of a large file.
SETTINGS = re.compile(rb"server_args=(?:ServerArgs\(|\{)")
_SETTINGS_HEAD = re.compile(rb"[^'\"]{0,200}$")
#: How far before a settings line its launch may begin, in bytes.
PREAMBLE = 1 << 16
#: Files up to this size are read from their beginning.
SMALL = 4 << 20
#: Launches of one file that are looked at.
_MOST = 5000


#: What `begin` is before any launch began.
_NOWHERE = Line(1, "")


class Splitter:
    """Tells for each line in order whether a new launch begins with it (or with the line before: see `begin`)."""

    def __init__(self):
        self.begin = _NOWHERE
        self._has_args = False
        self._content = False
        self._ended = False
        self._traceback = None

    def feed(self, line):
        """Whether a new launch begins; `begin` is then its first Line."""
        body = line.body
        if line.ident == "systemd" or (line.ident is None and body.startswith(("Started ", "Starting ")) and ".service" in body):
            if _UNIT_STARTS.match(body) and (self._content or self._has_args):
                return self._new(line)
            if _UNIT_ENDED.match(body):
                self._ended = self._ended or self._content or self._has_args
            return False
        previous, self._traceback = self._traceback, None
        if body.startswith("server_args="):
            if self._has_args:
                self._new(line)
                self._has_args = self._content = True
                return True
            self._has_args = self._content = True
            return False
        if (self._has_args or self._ended) and _LAUNCHER.match(body):
            return self._new(line)
        if self._ended:
            if body.startswith("Traceback (most recent call last)") and not line.stamped:
                self._traceback = line
                return False
            if previous is not None and _INTERPRETER.match(body):
                self._new(previous)
                self._content = True
                return True
            if _REFUSED.match(body):
                self._new(line)
                self._content = True
                return True
        if _ENDED.match(body):
            self._ended = True
        if body.strip() and not self._content and (line.stamped or body.startswith(("usage:", "Traceback"))):
            self._content = True
        return False

    def resume(self, within):
        """Begin in the middle of a log. within: a launch has begun before."""
        self._has_args = self._content = within

    def _new(self, line):
        self.begin = line
        self._has_args = self._content = self._ended = False
        self._traceback = None
        return True


class Place:
    """Where a launch stands in a log: byte offset and number of its first line, offset behind its last (None: to the end), index from 1."""

    __slots__ = ("offset", "number", "end", "index")

    def __init__(self, offset, number, index, end=None):
        self.offset = offset
        self.number = number
        self.index = index
        self.end = end


def all_launches(source):
    """Every launch of a log, in order; reads all of it. source: reader.Source."""
    splitter, places = Splitter(), [Place(0, 1, 1)]
    for line in source.lines():
        if splitter.feed(line):
            begin = splitter.begin
            places[-1].end = begin.offset
            places.append(Place(begin.offset, begin.number, len(places) + 1))
    return places


class LastLaunch:
    """The lines of the last launch of a log, read once: `restart` is called whenever a later launch begins.

    place: Place of the launch found so far; count: launches so far. In a large file the settings lines are looked up first, and
    only the end of the file is read.
    """

    def __init__(self, source):
        self._source = source
        self._start, self._number, before = 0, 1, 0
        if source.size > SMALL:
            settings = _settings(source)
            if settings:
                number, offset = settings[-1]
                self._start = _line_start(source, max(0, offset - PREAMBLE))
                self._number = number - source.at(self._start, offset - self._start).count(b"\n")
                before = sum(1 for _unused, place in settings if place < self._start)
        self.count = max(1, before)
        self.place = Place(self._start if before else 0, self._number if before else 1, self.count)
        self._splitter = Splitter()
        self._splitter.resume(before > 0)

    def lines(self, restart, large):
        """Every Line of the last launch, and before them those of what turned out to be earlier ones. large: launches above so many
        bytes are read with runs of usual lines passed over."""
        splitter = self._splitter
        skip = self._source.size - self._start > large
        for line in self._source.lines(self._start, None, self._number, skip):
            if splitter.feed(line):
                self.count += 1
                begin = splitter.begin
                self.place = Place(begin.offset, begin.number, self.count)
                restart()
                if begin is not line:
                    yield begin
            yield line


def _settings(source):
    """[(number of the line, byte offset)] of all settings lines."""
    hits = _by_grep(source.path)
    if hits is None:
        hits = list(_by_reading(source))
    return [(number, offset) for number, offset in hits[-_MOST:] if _at_line_head(source, offset)]


def _by_grep(path):
    """The same from grep, which counts lines ten times as fast; None where there is no grep that can."""
    if path is None:
        return None
    try:
        done = run(
            [
                "grep",
                "--text",
                "--byte-offset",
                "--line-number",
                "--only-matching",
                "--fixed-strings",
                "-e",
                "server_args=",
                "--",
                os.path.abspath(path),
            ],
            timeout=300,
            env={"LC_ALL": "C", "PATH": os.environ.get("PATH", os.defpath)},
            output_limit=16 << 20,
        )
    except (OSError, ValueError):
        return None
    if done.rc not in (0, 1) or done.truncated:
        return None
    found = re.findall(rb"^(\d+):(\d+):", done.stdout, re.M)
    return [(int(number), int(offset)) for number, offset in found]


def _by_reading(source):
    feeds, tail = 0, b""
    for offset, chunk in source.chunks():
        data = tail + chunk
        position = counted = len(tail)
        at = data.find(b"server_args=")
        while at >= 0:
            if at + 12 > len(tail):
                feeds += data.count(b"\n", counted, max(at, counted))
                counted = max(at, counted)
                yield feeds + 1 - data.count(b"\n", at, counted), offset - len(tail) + at
            at = data.find(b"server_args=", at + 1)
        feeds += data.count(b"\n", max(counted, position))
        tail = data[-11:]


def _at_line_head(source, offset):
    """Whether the settings stand at the head of their line: behind nothing but a stamp and a wrapper, not inside quoted text."""
    begin = max(0, offset - 200)
    head = source.at(begin, offset - begin)
    line = head.rfind(b"\n")
    if line < 0 and begin > 0:
        return False
    return SETTINGS.match(source.at(offset, 64)) is not None and _SETTINGS_HEAD.match(head[line + 1 :]) is not None


def _line_start(source, offset):
    if offset == 0:
        return 0
    data = source.at(offset, PREAMBLE)
    end = data.find(b"\n")
    return offset + end + 1 if end >= 0 else offset
