# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""What a rule is. A rule is data: it says which text proves which cause, when it does not, and what to do about it."""

from __future__ import annotations

import re

#: How much a match counts. WEAK: an effect that has other causes too; it gives way to any earlier exception. ROOT: an error text
#: that names its cause; the earliest wins. RECORD: what kernel, driver, container runtime or service manager noted down; it
#: explains the vaguer error beside it, whichever came first.
WEAK, ROOT, RECORD = 0, 1, 2

#: Where a pattern may match. ERROR: in the message of an exception. LOG: in a line outside of exceptions. ANY: both.
ERROR, LOG, ANY = "error", "log", "any"


class Rule:
    """One rule.

    name: unique, for tests and documentation. cause: id of the contract. pattern: regular expression searched in a line's body
    (case-sensitive). unless: the line does not count when this is found in it. scope, weight: see above. strength: decides
    between matches inside one exception, higher wins (default 5). stage: used when neither frames nor markers tell one, or when
    the marker's stage is not among stages. stages: stages at which markers are believed (default: those of the cause). fixed:
    the stage is always `stage`. lasting: the fault lasts although the server goes on (it may follow the ready line and need not
    end the server). ends: a matching line outside of an exception ends the launch by itself; else some other sign of an end is
    required, for warnings use the same words. when: function(Match of the rule, context) -> bool. support: expression for a
    further line worth showing; support_first: that line proves the cause and the matched one is its effect. say: sentence with
    {named groups} of the pattern, or a function(match, context) -> sentence. remedies: function(match, context) -> list of
    remedies. source: who prints the text and where. since, until: releases of SGLang that print it, None for all.
    """

    __slots__ = (
        "name",
        "cause",
        "pattern",
        "unless",
        "scope",
        "weight",
        "strength",
        "stage",
        "stages",
        "fixed",
        "lasting",
        "ends",
        "when",
        "support",
        "support_first",
        "say",
        "remedies",
        "source",
        "since",
        "until",
        "confidence",
    )

    def __init__(
        self,
        name,
        cause,
        pattern,
        unless=None,
        scope=ERROR,
        weight=ROOT,
        strength=5,
        stage=None,
        stages=None,
        fixed=False,
        lasting=False,
        ends=False,
        when=None,
        support=None,
        support_first=False,
        say=None,
        remedies=None,
        source="",
        since=None,
        until=None,
        confidence=0.95,
    ):
        self.name = name
        self.cause = cause
        self.pattern = re.compile(pattern)
        self.unless = re.compile(unless) if unless else None
        self.scope = scope
        self.weight = weight
        self.strength = strength
        self.stage = stage
        self.stages = stages
        self.fixed = fixed
        self.lasting = lasting
        self.ends = ends
        self.when = when
        self.support = re.compile(support) if support else None
        self.support_first = support_first
        self.say = say
        self.remedies = remedies
        self.source = source
        self.since = since
        self.until = until
        self.confidence = confidence

    def __repr__(self):
        return "Rule(%r, %r)" % (self.name, self.cause)


def remedy(do, flag=None, direction=None, value=None, why=None):
    """One remedy as the contract has it. flag: as the release at hand spells it. direction: raise | lower | set | add | remove."""
    return {"do": do, "flag": flag, "direction": direction, "value": value, "why": why}
