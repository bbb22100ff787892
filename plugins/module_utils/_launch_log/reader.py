# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Reading a launch's own file while it grows, and reading any log once from a position."""

from __future__ import annotations

import os
import re

from .lines import parse

#: Bytes read at a time.
CHUNK = 1 << 20
#: A line longer than this many bytes is cut there and read on as another piece of the same line.
LINE_LIMIT = 1 << 18
#: Bytes read at a time where runs of usual lines are passed over: each piece leaves at least one line to look at.
SKIP_CHUNK = 1 << 18
#: Lines of work as usual: batches of the scheduler, requests answered with 2xx, 400 or 404, retractions. Every other form of this
#: expression that was tried is slower by half or more; the speed of reading a large log hangs on it.
_USUAL = re.compile(
    rb"(?:\[2.{18}(?:\] INFO:     [^\n\"]*\"[^\"\n]*\" (?:2|400 |404 )|[^\]\n]*\] (?:Decode batch|Prefill batch|"
    rb"KV cache pool is full\. R)).*\n)+"
)


class LogFollower:
    """Incremental reader of one launch's own file.

    ``poll()`` returns the complete lines written since the last call. The file may not exist yet (no lines), may be
    truncated (reading starts anew, ``truncations`` counts it) and may end in the middle of a line or of a character.
    ``partial`` is the current unterminated text, the last state of a progress bar for instance, or "". Memory does not
    grow with the file: at most ``limit`` bytes are read by one call (``more`` is then True) and an overlong line is cut.
    """

    def __init__(self, path, limit=8 << 20):
        self.path = os.fspath(path)
        self.limit = limit
        self.offset = 0
        self.truncations = 0
        self.partial = ""
        self.more = False
        self._pending = b""
        self._number = 1
        self._inode = None

    def poll(self):
        """New complete lines since the last call (list of Line)."""
        self.more = False
        try:
            stream = open(self.path, "rb")
        except (FileNotFoundError, NotADirectoryError):
            return []
        lines: list = []
        with stream:
            status = os.fstat(stream.fileno())
            if status.st_size < self.offset or (self._inode is not None and status.st_ino != self._inode):
                self._restart()
            self._inode = status.st_ino
            stream.seek(self.offset)
            budget = self.limit
            while budget > 0:
                chunk = stream.read(min(CHUNK, budget))
                if not chunk:
                    break
                budget -= len(chunk)
                self._take(chunk, lines)
            else:
                self.more = status.st_size > self.offset
        self.partial = self._partial()
        return lines

    def _restart(self):
        self.truncations += 1
        self.offset = 0
        self._pending = b""
        self._number = 1

    def _take(self, chunk, lines):
        start = self.offset - len(self._pending)
        self.offset += len(chunk)
        data = self._pending + chunk
        position = 0
        while True:
            end = data.find(b"\n", position)
            if end < 0:
                break
            lines.extend(parse(self._number, data[position:end], start + position))
            self._number += 1
            position = end + 1
        self._pending = data[position:]
        if len(self._pending) > LINE_LIMIT:
            # The head of a line without an end is handed out once; of the rest only the tail is kept.
            self._pending = self._pending[-LINE_LIMIT // 2 :]

    def _partial(self):
        if not self._pending:
            return ""
        pieces = parse(self._number, self._pending, self.offset)
        return pieces[-1].text if pieces else ""

    def finish(self):
        """The unterminated rest as lines, for when nothing will be written any more."""
        pending, self._pending, self.partial = self._pending, b"", ""
        return parse(self._number, pending, self.offset - len(pending)) if pending else []


def _opened(path, data):
    """A binary stream over a file, or over bytes."""
    if path is not None:
        return open(path, "rb", buffering=0)
    import io

    return io.BytesIO(bytes(data))


class Source:
    """A log that can be read more than once: bytes, or a file by its path. ``size`` in bytes."""

    def __init__(self, data):
        self.path = None if isinstance(data, (bytes, bytearray, memoryview)) else os.fspath(data)
        self._stream = _opened(self.path, data)
        self.size = self._stream.seek(0, os.SEEK_END)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self._stream.close()

    def at(self, offset, length):
        """Bytes [offset, offset + length) of the log, fewer at its end."""
        self._stream.seek(offset)
        parts = []
        while length > 0:
            part = self._stream.read(length)
            if not part:
                break
            parts.append(part)
            length -= len(part)
        return b"".join(parts)

    def chunks(self, start=0, end=None, size=CHUNK):
        """(offset, bytes) pieces of the log, in order."""
        end = self.size if end is None else min(end, self.size)
        while start < end:
            data = self.at(start, min(size, end - start))
            if not data:
                return
            yield start, data
            start += len(data)

    def lines(self, start=0, end=None, number=1, skip=False):
        """Lines of the log from a byte offset on, whose first line has this number.

        skip: pass over runs of lines that show work as usual (batches, answered requests); the last line of a run stands for it.
        """
        pending, begin = b"", start
        for offset, chunk in self.chunks(start, end, SKIP_CHUNK if skip else CHUNK):
            data = pending + chunk
            begin = offset - len(pending)
            position = heeded = 0
            passed, lines, work = None, 0, 0
            while True:
                if skip and position >= heeded:
                    run = _USUAL.match(data, position)
                    if run is not None:
                        stop = run.end()
                        if _telling(data, position, stop):
                            heeded = stop
                        else:
                            passed = (position, stop, number)
                            count = data.count(b"\n", position, stop)
                            lines, work = lines + count, work + _worked(data, position, stop)
                            number += count
                            position = stop
                            continue
                stop = data.find(b"\n", position)
                if stop < 0:
                    break
                yield from parse(number, data[position:stop], begin + position)
                number += 1
                position = stop + 1
            if passed is not None:
                yield _last_of_run(data, passed, begin, lines, work)
            pending = data[position:]
            begin += position
            if len(pending) > LINE_LIMIT:
                pending, begin = pending[-LINE_LIMIT // 2 :], begin + len(pending) - LINE_LIMIT // 2
        if pending:
            yield from parse(number, pending, begin)


def _telling(data, start, stop):
    """Whether a run of usual lines says something after all: a draft of which no token is accepted."""
    return data.find(b"accept len: 1.0", start, stop) >= 0


def _worked(data, start, stop):
    """How many lines of a run show work on requests."""
    return data.count(b" Decode b", start, stop) + data.count(b'"POST /', start, stop)


def _last_of_run(data, run, begin, lines, work):
    """The Line that stands for what was passed over in one piece: the last of the last run, behind the piece's other lines.

    run: (start, stop, number of the first line). lines, work: how many lines were passed over, and how many of them show work.
    """
    start, stop, number = run
    last = data.rfind(b"\n", start, stop - 1) + 1
    number += data.count(b"\n", start, last)
    line = parse(number, data[last : stop - 1], begin + last)[-1]
    line.repeat, line.work = lines, work
    return line
