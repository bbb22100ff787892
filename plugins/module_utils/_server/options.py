# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""What the caller asked for, checked: one Options object from the module's parameters."""

from __future__ import annotations

import ipaddress
import os
import re

from .._errors import KproError
from .._sglang.arguments import is_secret_name, normalise

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9_.-]{0,61}[a-z0-9])?\Z")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_SECRET_LENGTH = 8
#: Options that are also SGLang flags: giving both with different values is an error.
_TWINS = {"model": "model-path", "host": "host", "port": "port"}
DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 30000


class Options:
    """The wanted server. ``args``: normalised flags without model, host, port and secrets. ``secret_args``: flags that are secrets."""

    def __init__(self, params):
        self.name = check_name(params["name"])
        self.python = _absolute(params, "python")
        self.user = params["user"]
        self.state_dir = _absolute(params, "state_dir")
        self.log_dir = _absolute(params, "log_dir")
        self.keep_logs = _at_least(params, "keep_logs", 1)
        given = {name: _number(value) for name, value in normalise(params["args"] or {}).items()}
        self.model = _one_of(params, given, "model")
        self.host = str(_one_of(params, given, "host") or DEFAULT_HOST)
        self.port = _port(_one_of(params, given, "port"))
        self.args = {name: value for name, value in given.items() if name not in _TWINS.values()}
        self.secret_args = _secret_args(params)
        self.gpus = [str(gpu) for gpu in params["gpus"] or []]
        self.environment = _environment(params["environment"] or {}, "environment")
        self.secret_environment = _environment(params["secret_environment"] or {}, "secret_environment")
        self.output_check = params["output_check"]
        self.model_check = params["model_check"]
        self.wait = params["wait"]
        self.timeout = _at_least(params, "timeout", 1)
        self.stop_timeout = _at_least(params, "stop_timeout", 0)
        self.stage_timeouts = _stage_timeouts(params["stage_timeouts"] or {})
        self._check(params)

    @property
    def secrets(self):
        """Every secret value, for redaction."""
        return [*self.secret_args.values(), *self.secret_environment.values()]

    @property
    def flags(self):
        """All flags that are no secrets, as SGLang gets them."""
        return {"model-path": self.model, "host": self.host, "port": self.port, **self.args}

    def _check(self, params):
        if not self.model:
            raise KproError("model is missing; give the directory of the model on this host, for example /models/Qwen3.6-27B")
        _check_path("model", str(self.model))
        if not self.python:
            raise KproError(
                "python is missing; give the interpreter of the environment that holds SGLang, for example /opt/sglang/venvs/…/bin/python"
            )
        if not (_is_loopback(self.host) or self.secret_args.get("api-key") or params["allow_unauthenticated"]):
            raise KproError(
                f"host is {self.host}, which others can reach, and no api_key is given; give api_key or api_key_file, leave host at "
                f"{DEFAULT_HOST}, or set allow_unauthenticated"
            )
        if self.gpus and self.environment.get("CUDA_VISIBLE_DEVICES", ",".join(self.gpus)) != ",".join(self.gpus):
            given = self.environment["CUDA_VISIBLE_DEVICES"]
            raise KproError(f"gpus is {self.gpus} and environment.CUDA_VISIBLE_DEVICES is {given!r}; give one of them")
        twice = sorted(set(self.environment) & set(self.secret_environment))
        if twice:
            raise KproError(f"{twice[0]} is given in environment and in secret_environment; give it in one of them")


def check_name(name):
    """A server's name: it becomes part of file names and of the unit's name."""
    if not _NAME.match(name):
        raise KproError(f"name is {name!r}; use small letters, digits, '-', '_' and '.', at most 63 characters, for example main")
    if name == "cache":
        raise KproError("name is 'cache', which is the folder of the servers' caches in state_dir; give another name")
    return name


def _absolute(params, option):
    value = params[option]
    if value:
        _check_path(option, value)
    return value


def _check_path(option, value):
    # A line break or the like would end a line of the unit.
    if not os.path.isabs(value) or any(ord(char) < 32 or ord(char) == 127 for char in value):
        raise KproError(f"{option} is {value!r}; it must be an absolute path on the target, without control characters")


def _at_least(params, option, least):
    value = params[option]
    if value < least:
        raise KproError(f"{option} is {value}; it must be {least} or more")
    return value


def _one_of(params, given, option):
    """The value of an option that is also a flag in ``args``; both may be given when they agree."""
    value, twin = params[option], given.get(_TWINS[option])
    if value is not None and twin is not None and str(value) != str(twin):
        raise KproError(f"{option} is {value!r} and args.{_TWINS[option]} is {twin!r}; give one of them")
    return twin if value is None else value


def _number(value):
    """Text that is a number as that number: for SGLang both are the same word, and templates make text of numbers."""
    for kind in (int, float):
        try:
            if isinstance(value, str) and value[-1:].isdigit() and str(kind(value)) == value:
                return kind(value)
        except ValueError:
            continue
    return value


def _port(value):
    if value is None:
        return DEFAULT_PORT
    if not (str(value).isascii() and str(value).isdigit()) or not 1 <= int(value) <= 65535:
        raise KproError(f"port is {value!r}; it must be a number from 1 to 65535")
    return int(value)


def _is_loopback(host):
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _secret_args(params):
    found = {}
    for option in ("api_key", "admin_api_key"):
        value, file = params[option], params[option + "_file"]
        if value is not None and file is not None:
            raise KproError(f"{option} and {option}_file are both given; give one of them")
        source = option
        if file is not None:
            source = option + "_file"
            value = _read_secret(source, _absolute(params, source))
        if value is None:
            continue
        _check_secret(source, value)
        if not (value.isascii() and value.isprintable()) or value != value.strip():
            raise KproError(f"{source} holds a character that an HTTP header cannot carry; use printable ASCII without spaces around it")
        found[option.replace("_", "-")] = value
    return found


def _read_secret(option, path):
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read().rstrip("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise KproError(f"{option} is {path}, which cannot be read on the target: {error}") from error


def _check_secret(option, value):
    # A short secret would be masked wherever its characters occur in the result.
    if len(value) < _SECRET_LENGTH:
        raise KproError(f"{option} has {len(value)} characters; a secret needs at least {_SECRET_LENGTH}")
    if any(char in value for char in "\n\r\0"):
        raise KproError(f"{option} holds a line break; a secret is one line")


def _environment(values, option):
    """Names and values of environment variables, as text; ``environment`` takes no secrets."""
    found = {}
    for name, value in values.items():
        if not isinstance(name, str) or not _VARIABLE.match(name):
            raise KproError(f"{option} has the name {name!r}; a variable's name is letters, digits and _ and begins with no digit")
        if value is None:
            continue
        if isinstance(value, (dict, list)):
            raise KproError(f"{option}.{name} is a {type(value).__name__}; a variable's value is text, a number or a boolean")
        text = str(value).lower() if isinstance(value, bool) else str(value)
        # systemd drops such a variable with a warning that nobody reads (env_value_is_valid in its env-util.c).
        if any((ord(char) < 32 and char != "\t") or ord(char) == 127 or "\ud800" <= char <= "\udfff" for char in text):
            raise KproError(
                f"{option}.{name} holds a line break or another control character, which systemd's environment file cannot carry"
            )
        if option == "environment" and is_secret_name(name.lower().replace("_", "-")):
            raise KproError(f"environment.{name} looks like a secret; give it in secret_environment")
        if option == "secret_environment":
            _check_secret(f"secret_environment.{name}", text)
        found[name] = text
    return found


def _stage_timeouts(values):
    from .limits import SILENCE

    for stage, seconds in values.items():
        if stage not in SILENCE:
            raise KproError(f"stage_timeouts has the stage {stage!r}; stages are {', '.join(SILENCE)}")
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or seconds <= 0:
            raise KproError(f"stage_timeouts.{stage} is {seconds!r}; give a number of seconds above 0")
    return dict(values)
