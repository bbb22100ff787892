# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the command line to one command: sub-command, privilege, arguments, parameter check, exit code.

The sandbox's ``pct`` does what the documentation of Proxmox VE and observation of the real program say about the commands of
``commands.py``; the rest of the real program (snapshots, migration, backups, high availability, several storages types) is
not there and is an unknown command. Disk sizes are recorded and not enforced: a root file system is a directory.
"""

from __future__ import annotations

import os

from . import getopt
from .commands import COMMANDS
from .errors import DIED, ENOENT, PctError, UsageError, parameter_error
from .property_string import parse_boolean
from .shell_text import decode_argument, locale_charset, original_environment, out, warn


def main(argv):
    """Run ``pct`` and end the process."""
    restore_signals()
    environment = original_environment()
    charset, complaint = locale_charset(environment)
    if complaint:
        warn(complaint)
    try:
        code = run([os.fsencode(argument) for argument in argv[1:]], charset)
    except PctError as error:
        warn(error.text)
        code = error.rc
    except OSError as error:
        warn(str(error))
        code = error.errno or DIED
    except KeyboardInterrupt:
        code = 130
    leave(code)


def restore_signals():
    """Python ignores these two for itself, and what is ignored stays so in lxc-attach and in the guest's command."""
    import _signal

    for number in (_signal.SIGPIPE, _signal.SIGXFSZ):
        _signal.signal(number, _signal.SIG_DFL)


def leave(code):
    import sys

    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            pass
    os._exit(code or 0)


def run(arguments, charset):
    """``arguments``: bytes, without the program's name. Returns the exit code or raises PctError."""
    name = find_command([decode_argument(argument, charset) for argument in arguments[:1]])
    if name == "help":
        out("".join("       " + COMMANDS[known].usage(known) for known in COMMANDS))
        return 0
    if os.geteuid() != 0:
        raise PctError("please run as root", ENOENT)
    command = COMMANDS[name]
    try:
        parameters = read_parameters(command, arguments[1:], charset)
        return command.call({key.replace("-", "_"): value for key, value in parameters.items()}
                            if not command.takes_guest_options else {"parameters": parameters})
    except UsageError as error:
        error.text = error.full_text(command.usage(name))
        raise


def find_command(words):
    if not words:
        raise PctError("ERROR: no command specified\n" + all_usages(), DIED)
    known = list(COMMANDS) + ["help"]
    found = [name for name in known if name == words[0]] or [name for name in known if words[0] and name.startswith(words[0])]
    if len(found) != 1:
        raise PctError(f"ERROR: unknown command 'pct {words[0]}'\n" + all_usages(), DIED)
    return found[0]


def all_usages():
    lines = [COMMANDS[name].usage(name) for name in COMMANDS]
    return "USAGE: pct <COMMAND> [ARGS] [OPTIONS]\n" + "".join("       " + line for line in lines)


def read_parameters(command, arguments, charset):
    """{name: value} of a command line: str, int (booleans) or list (extra-args), checked by the command's Keys."""
    names = {}
    for name in command.option_names():
        names[name] = getopt.OPTIONAL if command.option(name).kind == "boolean" else getopt.REQUIRED
    if "extra-args" in names:
        names["extra-args"] = getopt.LIST
    # Options are found before anything is decoded, so the bytes travel through as surrogates.
    options, rest, complaints = getopt.parse([argument.decode("utf-8", "surrogateescape") for argument in arguments], names)
    if complaints:
        warn("".join(complaints))
        raise UsageError("unable to parse option")
    place_positional(command, options, rest)
    decoded = {name: decode_value(value, charset) for name, value in options.items()}
    return check_parameters(command, decoded)


def decode_value(value, charset):
    if isinstance(value, list):
        return [decode_value(item, charset) for item in value]
    return decode_argument(value.encode("utf-8", "surrogateescape"), charset)


def place_positional(command, options, rest):
    waiting = list(rest)
    for name in command.positional:
        if name == "extra-args":
            options[name] = options.get(name, []) + waiting
            waiting = []
        elif waiting:
            options[name] = waiting.pop(0)
        elif name not in command.optional and (rest or name not in options):
            raise UsageError("not enough arguments")
    if waiting:
        raise UsageError("too many arguments")


def check_parameters(command, parameters):
    errors = {}
    for name, value in parameters.items():
        key = command.option(name)
        if key.kind == "boolean":
            parameters[name] = 1 if value == "" else parse_boolean(value)
            if parameters[name] is None:
                raise UsageError("unable to parse boolean option")
        elif not isinstance(value, list):
            reason = key.reason(value)
            if reason:
                errors[name] = reason
    if errors:
        raise parameter_error(**errors)
    return parameters
