# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Taking secrets out of text before it leaves the host: keys, tokens and passwords in all the spellings that logs have."""

from __future__ import annotations

import re

MASK = "********"

#: Names whose value is a secret. ``token`` alone is not one here: logs count tokens; only forms that name a credential are.
_NAME = (
    r"(?:[\w.-]{0,40}?(?:api[-_ ]?key|admin[-_ ]?key|access[-_ ]?key(?:[-_ ]?id)?|secret(?:[-_ ]?(?:access[-_ ]?)?key)?|passw(?:or)?d|"
    r"passphrase|passwd|"
    r"private[-_ ]?key|credentials?|client[-_ ]?secret|"
    r"(?:hf|hub|auth|access|refresh|bearer|id|session|github|gitlab|wandb|api|security|hugging[-_ ]?face(?:[-_ ]?hub)?)[-_ ]?token)"
    r"(?:[-_](?:password|file[-_]password))?)"
)
_HARMLESS = r"(?:None|null|True|False|true|false|''|\"\"|\*{3,}|<[^>]*>|[\[{(]?[\]})]?(?=[,\s)}\]]|$))"
_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_ESCAPED = r"\\+\"(?:[^\"\\]|\\[^\"])*\\+\"|\\+'(?:[^'\\]|\\[^'])*\\+'"

#: A name begins where a word begins: so a long word is looked at once and not from each of its letters.
_ASSIGNED = re.compile(
    r"(?i)(?P<name>(?<![\w.-])" + _NAME + r")(?P<sep>(?:\\*[\"'])?\s*(?:=>|[=:]|\s+is\s+)\s*)(?!" + _HARMLESS + r"(?:[,\s)}\]]|$))"
    r"(?P<value>[bru]?(?:" + _QUOTED + r")|" + _ESCAPED + r"|SecretStr\([^)]*\)|[^\s,;&)}\]'\"]+)"
)
_FLAG = re.compile(r"(?i)(?P<name>(?<![\w-])--?" + _NAME + r")(?P<sep>\s+|=)(?P<value>" + _QUOTED + r"|(?!-)[^\s,]+)")
#: ['--api-key', 'x'] and "--api-key", "x": an argument vector as a list.
_LISTED = re.compile(r"(?i)(?P<name>(?P<q>[\"'])--?" + _NAME + r"(?P=q))(?P<sep>\s*,\s*)(?P<value>" + _QUOTED + ")")
_HEADER = re.compile(
    r"(?i)(?P<name>\b(?:proxy-)?authorization\b[\"']?\s*[:=,]\s*(?:b?[\"'])?\s*(?:(?:bearer|basic|token|digest)\s+)?|\bbearer\s+|"
    r"\bx-api-key\b[\"']?\s*[:=,]\s*(?:b?[\"'])?)"
    r"(?P<value>[A-Za-z0-9._~+/=:@!$%^*-]{6,})"
)
_COOKIE = re.compile(r"(?i)(?P<name>\b(?:set-)?cookie\b[\"']?\s*[:=]\s*[\"']?)(?P<value>[^\"'\r\n]+)")
_URL = re.compile(r"(?P<name>\b[a-zA-Z][a-zA-Z0-9+.-]{0,30}://)(?P<value>[^\s/@:'\"]*:[^\s/@'\"]+|[^\s/@:'\"]{8,})(?=@)")
_QUERY = re.compile(
    r"(?i)(?P<name>[?&](?:[\w-]{0,40}(?:key|token|secret|password|passwd|signature|sig|credential|"
    r"auth)[\w-]{0,40})=)(?P<value>[^&\s'\"#]+)"
)
#: Tokens whose own form gives them away.
_FORMS = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{8,}|api_org_[A-Za-z0-9]{8,}|sk-[A-Za-z0-9_-]{8,}|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|"
    r"glpat-[A-Za-z0-9_-]{8,}|xox[abprs]-[A-Za-z0-9-]{8,}|AKIA[A-Z0-9]{12,}|"
    r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*)"
)
_PEM = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.S)
#: A cheap look whether there can be anything to do.
_TRIGGER = re.compile(
    r"(?i)key|token|secret|passw|passphrase|credential|authorization|bearer|cookie|://|hf_|sk-|gh[pousr]_|glpat|xox|AKIA|eyJ|sig"
)


def _keep_name(match):
    groups = match.groupdict()
    return groups["name"] + (groups.get("sep") or "") + MASK


def redact(text, secrets=()):
    """Text with every secret replaced by asterisks. ``secrets``: known literal values, replaced wherever they stand.

    Known values shorter than 4 characters are left alone: they would blank out ordinary text.
    """
    if not text:
        return text
    for secret in sorted((s for s in secrets if s and len(s) >= 4), key=len, reverse=True):
        text = text.replace(secret, MASK)
    if not _TRIGGER.search(text):
        return text
    if "PRIVATE KEY" in text:
        text = _PEM.sub(MASK, text)
    text = _HEADER.sub(_keep_name, text)
    text = _COOKIE.sub(_keep_name, text)
    text = _LISTED.sub(_keep_name, text)
    text = _FLAG.sub(_keep_name, text)
    text = _ASSIGNED.sub(_keep_name, text)
    text = _URL.sub(_keep_name, text)
    text = _QUERY.sub(_keep_name, text)
    return _FORMS.sub(MASK, text)


def redact_all(value, secrets=()):
    """The same for every string inside lists and dicts; the values of keys that name a secret are masked whole."""
    if isinstance(value, str):
        return redact(value, secrets)
    if isinstance(value, dict):
        return {
            key: MASK if _secret_name(key) and isinstance(item, str) and item else redact_all(item, secrets)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [redact_all(item, secrets) for item in value]
    return value


def _secret_name(key):
    return isinstance(key, str) and re.fullmatch(_NAME, key, re.I) is not None
