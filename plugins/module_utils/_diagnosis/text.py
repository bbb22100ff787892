# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""The diagnosis for people: at most about twelve lines."""

from __future__ import annotations

WIDTH = 200


def _short(text, width=WIDTH):
    text = " ".join(str(text).split())
    return text if len(text) <= width else text[: width - 1] + "…"


def readable(diagnosis, where=None, verbose=False):
    """Cause, one sentence, the proving line with its number, what to change. ``where``: name of the log. verbose: everything."""
    lines = ["%s: %s (stage %s)" % (diagnosis["verdict"], diagnosis["cause"], diagnosis["stage"]), _short(diagnosis["summary"], 300)]
    for proof in diagnosis["evidence"][: None if verbose else 2]:
        lines.append("  %s: %s" % ("%s:%d" % (where, proof["line"]) if where else "line %d" % proof["line"], _short(proof["text"])))
    remedies = diagnosis["remedies"][: None if verbose else 3]
    if remedies:
        lines.append("What to do:")
        for item in remedies:
            text = item["do"]
            if item["value"] is not None and str(item["value"]) not in text:
                text += (
                    " (%s %s)" % (item["flag"] or "", item["value"])
                    if item["flag"] and item["flag"] not in text
                    else " (%s)" % item["value"]
                )
            elif item["flag"] and item["flag"] not in text:
                text += " (%s)" % item["flag"]
            lines.append("  - " + _short(text + (": " + item["why"] if item["why"] else ""), 300))
    if diagnosis["consequences"]:
        numbers = ", ".join(str(item["line"]) for item in diagnosis["consequences"][:6])
        lines.append("Consequences, not causes: line%s %s" % ("s" if len(diagnosis["consequences"]) > 1 else "", numbers))
    if diagnosis["alternatives"] and (verbose or diagnosis["confidence"] < 0.8):
        lines.append(
            "Confidence %.2f; also possible: %s"
            % (diagnosis["confidence"], ", ".join(item["cause"] for item in diagnosis["alternatives"]))
        )
    if verbose:
        launch = diagnosis["launch"]
        lines.append(
            "Launch %s of %d, started %s, engine %s" % (launch["index"], diagnosis["launches"], launch["started_at"], launch["engine"])
        )
        for item in diagnosis["consequences"]:
            lines.append("  %d: %s" % (item["line"], _short(item["text"])))
        if diagnosis["capacity"]:
            lines.append("Capacity: " + ", ".join("%s=%s" % pair for pair in sorted(diagnosis["capacity"].items())))
    return "\n".join(lines)
