# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options as Perl's Getopt::Long takes them in its default configuration, with the prefixes ``--`` and ``-``.

That means: options anywhere between the arguments (permutation) until ``--``; ``--opt v``, ``--opt=v``, ``-opt v``; any
unambiguous abbreviation; letter case ignored. A value that is required takes whatever follows, even something that looks
like an option; one that is optional does not. Behaviour documented in Getopt::Long(3perl).
"""

from __future__ import annotations

REQUIRED = "required"
OPTIONAL = "optional"
LIST = "list"


def split_option(argument):
    """``--name=value`` -> (name, value or None); None for what is no option."""
    for prefix in ("--", "-"):
        if argument.startswith(prefix):
            name = argument[len(prefix):]
            if not name:
                return None
            head, equals, value = name.partition("=")
            return (head, value) if equals and head else (name, None)
    return None


def looks_like_option(argument):
    return len(argument) > 1 and argument.startswith("-")


def find_names(wanted, names):
    """The option names that ``wanted`` can stand for: one when it is exact or an unambiguous beginning."""
    wanted = wanted.lower()
    if wanted in names:
        return [wanted]
    return sorted(name for name in names if name.lower().startswith(wanted))


def parse(arguments, names):
    """Split ``arguments`` (list of str) by ``names`` ({option: REQUIRED | OPTIONAL | LIST}).

    Returns (options, rest, complaints): values as given (an absent optional value is ""), LIST options as lists, the
    arguments that are none, and Getopt::Long's own lines for stderr; with any complaint the command line is not valid.
    """
    options, rest, complaints = {}, [], []
    waiting = list(arguments)
    while waiting:
        argument = waiting.pop(0)
        if argument == "--":
            rest += waiting
            break
        option = split_option(argument)
        if option is None:
            rest.append(argument)
            continue
        given, value = option
        found = find_names(given, names)
        if not found:
            complaints.append(f"Unknown option: {given}\n")
            continue
        if len(found) > 1:
            complaints.append(f"Option {given} is ambiguous ({', '.join(found)})\n")
            continue
        name = found[0]
        if value is None or value == "":
            value = take_value(waiting, names[name] == OPTIONAL, value)
        if value is None:
            complaints.append(f"Option {given} requires an argument\n")
        elif names[name] == LIST:
            options.setdefault(name, []).append(value)
        else:
            options[name] = value
    return options, rest, complaints


def take_value(waiting, optional, written):
    """The value of an option that has none of its own; ``written`` is "" after ``--opt=``. None: there is none and there must be."""
    if written == "" or not waiting:
        return "" if optional else None
    if optional and looks_like_option(waiting[0]):
        return ""
    return waiting.pop(0)
