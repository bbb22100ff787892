# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Command line and environment as the C library sees them, and what the real program makes of non-ASCII arguments.

The real ``pct`` decodes every argument by the character set of its locale. In a UTF-8 locale that changes nothing (except
that invalid sequences are lost); in the C locale, and when the named locale does not exist on the host, each byte >= 0x80
becomes U+FFFD, silently. Python adapts the C locale on its own (PEP 538 even sets LC_CTYPE in the environment), so both are
taken from where Python has not touched them.
"""

from __future__ import annotations

import os
import sys

PATH = "/sbin:/bin:/usr/sbin:/usr/bin"


def original_environment():
    """The environment (bytes to bytes) that the process was started with, before Python's locale coercion."""
    try:
        with open("/proc/self/environ", "rb") as stream:
            raw = stream.read()
    except OSError:
        return dict(os.environb)
    pairs = (entry.partition(b"=") for entry in raw.split(b"\0") if b"=" in entry)
    return {name: value for name, _equals, value in pairs}


def locale_charset(environment):
    """Return (character set, complaint): the set of the locale that ``environment`` names, and Perl's text if there is no such locale."""
    import _locale

    for name in (b"LC_ALL", b"LC_CTYPE", b"LANG"):
        if name not in environment:
            os.unsetenv(name)
    try:
        _locale.setlocale(_locale.LC_ALL, "")
    except _locale.Error:
        _locale.setlocale(_locale.LC_ALL, "C")
        return "ascii", missing_locale_text(environment)
    charset = _locale.nl_langinfo(_locale.CODESET)
    return ("ascii" if charset.startswith("ANSI_X3") else charset), ""


def missing_locale_text(environment):
    """Perl's warning about a locale that the host does not have (perllocale, "LOCALE PROBLEMS")."""

    def shown(name):
        return '"%s"' % environment[name].decode("utf-8", "replace") if name in environment else "(unset)"

    names = [b"LANGUAGE", b"LC_ALL"]
    names += sorted(name for name in environment if name.startswith(b"LC_") and name != b"LC_ALL")
    lines = ["perl: warning: Setting locale failed.", "perl: warning: Please check that your locale settings:"]
    lines += [f"\t{name.decode()} = {shown(name)}," for name in names]
    lines += [f"\tLANG = {shown(b'LANG')}", "    are supported and installed on your system."]
    lines += ['perl: warning: Falling back to the standard locale ("C").']
    return "\n".join(lines) + "\n"


def decode_argument(raw, charset):
    """One argument (bytes) as text. Bytes that the character set does not know become U+FFFD, each of them."""
    if charset == "ascii":
        return "".join(chr(byte) if byte < 0x80 else "\ufffd" for byte in raw)
    try:
        return raw.decode(charset, "replace")
    except LookupError:
        return decode_argument(raw, "ascii")


def write(stream_number, text):
    """Write text to file descriptor 1 or 2 as UTF-8; bytes that came from a file in another encoding are kept."""
    stream = (sys.stdout if stream_number == 1 else sys.stderr).buffer
    stream.write(text.encode("utf-8", "surrogateescape"))
    stream.flush()


def out(text):
    write(1, text)


def warn(text):
    write(2, text if text.endswith("\n") else text + "\n")
