# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""From a log (and what else is known) to a diagnosis."""

from __future__ import annotations

import os
import stat

from .._errors import KproError
from .._launch_log.launches import LastLaunch, all_launches
from .._launch_log.reader import Source
from . import state
from .causes import CAUSES
from .choose import choose
from .context import Context
from .report import Finding, assemble
from .scan import Scan

#: Bytes looked at to tell text from other data.
SAMPLE = 1 << 16
#: Launches above this many bytes are read with runs of usual lines passed over.
LARGE = 1 << 20
_FACTS = ("process_alive", "exit_code", "gpu_used_mib", "gpu_total_mib", "log_age", "oom_killed", "service_result")


def diagnose(data, launch="last", facts=None, secrets=()):
    """Diagnose a log.

    data: bytes, or the path of a file. launch: ``last`` or ``all`` (then ``history`` holds cause and stage of every launch).
    facts: what the caller knows beside the log, each may be absent or None: process_alive (bool), exit_code (int; negative or
    above 128 for a signal), gpu_used_mib and gpu_total_mib (list of MiB per GPU), log_age (seconds since the last write),
    oom_killed (bool), service_result (SERVICE_RESULT of systemd). secrets: literal values to mask. Returns the dict of the
    contract. Raises KproError when the path cannot be read as a file.
    """
    facts = clean_facts(facts)
    if isinstance(data, (bytes, bytearray, memoryview)):
        return _diagnose(Source(data), launch, facts, secrets)
    try:
        if not stat.S_ISREG(os.stat(data).st_mode):
            # Opening a pipe would wait for a writer for ever.
            raise KproError("%s is %s; name the log file." % (data, "a directory" if os.path.isdir(data) else "no regular file"))
        return _diagnose(Source(data), launch, facts, secrets)
    except FileNotFoundError:
        if facts.get("process_alive") is False:
            return _diagnose(Source(b""), launch, facts, secrets)
        raise KproError("The log file %s does not exist." % data)
    except (OSError, ValueError, TypeError) as error:
        raise KproError("The log file %s cannot be read: %s." % (data, getattr(error, "strerror", None) or error))


def clean_facts(facts):
    """The known facts with usable values only."""
    known = {name: value for name, value in (facts or {}).items() if name in _FACTS and value is not None}
    for name in ("gpu_used_mib", "gpu_total_mib"):
        if name in known:
            values = known[name] if isinstance(known[name], (list, tuple)) else [known[name]]
            known[name] = [value for value in values if isinstance(value, (int, float))]
    return known


def _diagnose(source, launch, facts, secrets):
    with source:
        sample = source.at(0, SAMPLE)
        if source.size == 0 or (len(sample) == source.size and not sample.strip(b" \t\r\n\v\f\0\xef\xbb\xbf")):
            return assemble(state.nothing_written(facts), None, facts, 0, None, secrets)
        if not is_text(sample):
            return assemble(
                Finding("unreadable_log", "launch", "The file holds data that are no text log.", confidence=0.95),
                None,
                facts,
                0,
                None,
                secrets,
            )
        if launch == "all":
            places = all_launches(source)
            results = [_one(source, place, len(places), facts if place is places[-1] else _past(), secrets) for place in places]
            result = results[-1]
            result["history"] = [
                {
                    "index": place.index,
                    "line": place.number,
                    "started_at": item["launch"]["started_at"],
                    "verdict": item["verdict"],
                    "cause": item["cause"],
                    "stage": item["stage"],
                    "summary": item["summary"],
                }
                for place, item in zip(places, results)
            ]
            return result
        return _last(source, facts, secrets)


def _past():
    """Of a launch that was followed by another one it is known that it ended."""
    return {"process_alive": False}


def _last(source, facts, secrets):
    last, scans = LastLaunch(source), [Scan()]

    def restart():
        scans[0] = Scan()

    for line in last.lines(restart, LARGE):
        scans[0].feed(line)
    return _conclude(source, last.place, last.count, scans[0], facts, secrets)


def _one(source, place, count, facts, secrets):
    scan = Scan()
    large = (place.end if place.end is not None else source.size) - place.offset > LARGE
    for line in source.lines(place.offset, place.end, place.number, skip=large):
        scan.feed(line)
    return _conclude(source, place, count, scan, facts, secrets)


def _conclude(source, place, count, scan, facts, secrets):
    if scan.text_lines == 0:
        return assemble(state.nothing_written(facts), scan, facts, count, place, secrets)
    context = Context(scan, facts)
    finding = state.weigh(choose(scan, context), scan, context)
    if finding.rule is not None and finding.rule.support is not None and len(finding.evidence) < 2:
        _support(finding, source, place)
    return assemble(finding, scan, facts, count, place, secrets)


def _support(finding, source, place):
    """Add the first line that supports the finding; only where reading the launch again is cheap."""
    end = place.end if place.end is not None else source.size
    if end - place.offset > 32 << 20:
        return
    pattern, first = finding.rule.support, finding.evidence[0] if finding.evidence else None
    for line in source.lines(place.offset, place.end, place.number, skip=end - place.offset > LARGE):
        if pattern.search(line.body) and (first is None or line.text != first.text) and not line.body.startswith("server_args="):
            finding.evidence.insert(0 if finding.rule.support_first else len(finding.evidence), line)
            return


def is_text(sample):
    """Whether most of the bytes are text: letters, digits, punctuation, blanks, or valid UTF-8 beyond ASCII."""
    if not sample:
        return True
    decoded = sample.decode("utf-8", "replace")
    nul = sample.count(b"\0")
    good = bad = 0
    for char in decoded:
        if char == "\ufffd" or (char < " " and char not in "\t\n\r\x1b\x08\f") or char == "\x7f":
            bad += 1
        else:
            good += 1
    bad -= nul
    # Holes of NUL bytes are what a truncated file that is still written looks like; alone they are no log either.
    return good > 0 and bad <= 0.3 * (good + bad) and (nul < 0.9 * len(sample) or good > 200)


def severity(cause):
    """Severity of a cause id."""
    return CAUSES[cause].severity
