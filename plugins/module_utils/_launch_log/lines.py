# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Bytes of a log -> lines with their number, rank and time, whatever wrapped them.

A *line* ends at a line feed, as editors count. What a progress bar redraws with carriage returns inside one line becomes
several `Line` records with the same number. Wrappers in front of the program's own text (docker compose, journal, worker
prefixes of vLLM, ``[rank0]:`` of torch) are recognised, so that tracebacks look alike whoever printed them.
"""

from __future__ import annotations

import re

#: Longest text of one line that is looked at, in characters; the rest says nothing that rules need.
TEXT_LIMIT = 65536

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")

#: SGLang: ``[2026-01-31 12:00:00.123 DP0 TP1] `` (srt/utils/common.py, configure_logger).
STAMP = re.compile(r"\[(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?)((?: [A-Z][A-Z_]*\d+)*)\] ?")
_RANK_PREFIX = re.compile(r"\[rank(\d+)\]:(?:\s(?=\s*\S)|(?=\[))")
_JOURNAL = re.compile(
    r"(?P<time>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S*) (?P<host>[\w.-]+) "
    r"(?P<ident>[\w@.:/()\\-]+?)(?:\[\d+\])?: ?"
)
_COMPOSE = re.compile(r"[A-Za-z][\w.-]*\s*\| ")
_CONTAINER = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S*(?: (?:stdout|stderr) [FP])? ")
_WORKER = re.compile(r"\((?P<name>[\w.-]+)(?: (?:pid|rank)=[\w.]+)?(?:, [\w.=, ]+)?\) ")
_LEVEL = re.compile(
    r"(?:INFO|WARNING|ERROR|DEBUG|CRITICAL) (?:\d\d-\d\d (?P<time>\d\d:\d\d:\d\d(?:\.\d+)?) )?\[?[\w./<>-]+:\d+\](?: |$)"
)
_VLLM_TIME = re.compile(r"(?:INFO|WARNING|ERROR|DEBUG|CRITICAL) (\d\d-\d\d \d\d:\d\d:\d\d)")
_WORKER_RANK = re.compile(r"(?:TP|DP|PP|EP)\d+")
_PROGRESS = re.compile(r"\d{1,3}%(?:\|| Completed \|)|\d{1,9}/\d{1,9} \[\d\d:\d\d<|it/s\]|s/it\]|B/s\]")


class Line:
    """One line (or one redraw of a progress bar) of a log.

    number: counts line feeds from 1. text: without colours and control characters. offset: of the first byte of the line in
    the file. rank: ``TP0`` and the like, or None. time: as printed, or None. body: the program's own words, wrappers off.
    ident: who wrote it into the journal (``kernel``, ``systemd``, …) or None. progress: a progress bar. stamped: SGLang's
    own log format. repeat: how many lines this one stands for (reading a large log passes over runs of lines of work as usual);
    work: how many of them show work on requests.
    """

    __slots__ = ("number", "text", "offset", "rank", "time", "body", "ident", "progress", "stamped", "repeat", "work")

    def __init__(self, number, text, offset=0):
        self.number = number
        self.text = text
        self.offset = offset
        self.rank = None
        self.time = None
        self.ident = None
        self.stamped = False
        self.repeat = 1
        self.work = 0
        self.body = self._unwrap(text)
        self.progress = bool(_PROGRESS.search(text)) if "[" in text and "/" in text else False

    def __repr__(self):
        return "Line(%d, %r)" % (self.number, self.text[:80])

    def _unwrap(self, text):
        first = text[:1]
        if first == "[":
            match = STAMP.match(text)
            if match:
                return self._stamped(match, text)
        elif first == " " or not first:
            return text
        for _unused in range(5):
            match = STAMP.match(text)
            if match:
                return self._stamped(match, text)
            match = _RANK_PREFIX.match(text)
            if match:
                self.rank = self.rank or "rank" + match.group(1)
                text = text[match.end() :]
                continue
            match = _JOURNAL.match(text)
            if match:
                self.time, self.ident = match.group("time"), match.group("ident")
                text = text[match.end() :]
                continue
            match = _LEVEL.match(text)
            if match:
                full = _VLLM_TIME.match(text)
                self.time = self.time or (full.group(1) if full else None)
                text = text[match.end() :]
                continue
            match = _WORKER.match(text)
            if match:
                rank = _WORKER_RANK.search(match.group("name"))
                if rank:
                    self.rank = rank.group(0)
                text = text[match.end() :]
                continue
            match = _COMPOSE.match(text) or _CONTAINER.match(text)
            if match:
                text = text[match.end() :]
                continue
            break
        return text

    def _stamped(self, match, text):
        self.time = match.group(1)
        self.rank = match.group(2).strip() or self.rank
        self.stamped = True
        return text[match.end() :]


def clean(raw):
    """bytes of one line -> text without colours, control characters and undecodable bytes."""
    text = raw[: TEXT_LIMIT * 2].decode("utf-8", "replace")
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    text = text.rstrip("\r\n")
    if not text.isprintable():
        text = _CONTROL.sub("", text.replace("\r", "\n"))
    return text[:TEXT_LIMIT]


def parse(number, raw, offset):
    """One line of bytes -> list of `Line` (several when a progress bar was redrawn or a record follows a bar on one line)."""
    text = clean(raw)
    if "\n" not in text:
        parts = [text]
    else:
        parts = [part for part in text.split("\n") if part.strip()] or [""]
        if len(parts) > 8:
            # A bar keeps its first and last states; what lies between them proves nothing.
            kept = [part for part in parts[1:-3] if not _PROGRESS.search(part)]
            parts = parts[:1] + kept + parts[-3:]
    lines = []
    for part in parts:
        for piece in _split_after_bar(part):
            lines.append(Line(number, piece, offset))
    return lines


def _split_after_bar(text):
    """A record printed behind an unfinished progress bar starts in the middle of a line."""
    if "it/s]" not in text and "s/it]" not in text and "B/s]" not in text:
        return [text]
    match = STAMP.search(text, 1)
    if not match or not re.search(r"(?:it/s|s/it|B/s)\]\s*$", text[: match.start()]):
        return [text]
    return [text[: match.start()], text[match.start() :]]


def seconds(time):
    """Printed time -> seconds on some axis that is the same for one format, or None."""
    if not time:
        return None
    match = re.search(r"(?:(\d{4})-(\d\d)-(\d\d)|(\d\d)-(\d\d)|([A-Z][a-z]{2}) +(\d+))[ T](\d\d):(\d\d):(\d\d(?:[.,]\d+)?)", time)
    if not match:
        return None
    year, month, day, month2, day2, name, day3, hour, minute, second = match.groups()
    month = month or month2
    if name:
        names = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
        month = names.index(name) + 1 if name in names else 1
    day = day or day2 or day3
    days = (int(year) if year else 0) * 372 + int(month) * 31 + int(day)
    if year:
        import datetime

        try:
            days = datetime.date(int(year), int(month), int(day)).toordinal()
        except ValueError:
            pass
    return days * 86400 + int(hour) * 3600 + int(minute) * 60 + float(second.replace(",", "."))
