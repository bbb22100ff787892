# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""From the wanted server to the text of its files, and the digest that says whether anything changed."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import shlex

from .._launch_log.redact import redact
from .._sglang.arguments import split, to_argv, to_config_yaml
from .._supervise import unit
from .._supervise.systemd import UNIT_DIR

_MARK = "# Managed by kpro.sglang (module sglang_server). Changes here are overwritten.\n"
#: Not part of the environment that a server gets from us unless the caller says so.
_DEFAULTS = {
    "PYTHONUNBUFFERED": "1",
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    # Saves a minute of core dump before a restart (SGLang 0.5.14 and later; unknown to older ones).
    "SGLANG_CUDA_COREDUMP_BEFORE_CRASH": "0",
}


class File:
    """One file of a server: path, content, mode, whether the service user owns it."""

    def __init__(self, path, content, mode, service=False):
        self.path = path
        self.content = content
        self.mode = mode
        self.service = service


class Desired:
    """The files of a server and their digest. ``release``: SGLang's version; ``fingerprint``: that of the model."""

    def __init__(self, options, layout, release, fingerprint, group, cache_name):
        self.options = options
        self.layout = layout
        self.cache = os.path.join(layout.caches, cache_name)
        config, self.argv = split(options.flags)
        self.command = [options.python, "-m", "sglang.launch_server", "--config", layout.config, *to_argv(self.argv)]
        self.unit_path = os.path.join(UNIT_DIR, layout.unit)
        self._plain = {**self._cache_variables(), **_DEFAULTS, **self._network_variables(), **options.environment}
        if options.gpus:
            self._plain["CUDA_VISIBLE_DEVICES"] = ",".join(options.gpus)
        unit_text = unit.render(
            options.name,
            options.user,
            group,
            layout.home,
            layout.launch,
            layout.end,
            layout.environment,
            [options.model, layout.base, layout.logs],
            options.stop_timeout,
        )
        self.files = [
            File(self.unit_path, unit_text, 0o644),
            File(layout.launch, self._launch_script(), 0o755),
            File(layout.end, self._end_script(), 0o755),
            File(layout.config, _MARK + to_config_yaml({**config, **options.secret_args}), 0o600, service=True),
            File(layout.environment, _MARK + _environment_file({**self._plain, **options.secret_environment}), 0o600),
        ]
        self.release = release
        self.fingerprint = fingerprint

    def digest(self, salt):
        """What makes a server "changed": argv, plain environment, a salted hash of the secrets, unit, release, model."""
        secrets = json.dumps([self.options.secret_args, self.options.secret_environment], sort_keys=True).encode()
        parts = {
            "flags": self.options.flags,
            "environment": self._plain,
            "secrets": hmac.new(salt.encode(), secrets, hashlib.sha256).hexdigest(),
            "files": [[file.path, file.content] for file in self.files if file.mode != 0o600],
            "release": self.release,
            "model": self.fingerprint,
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def shown(self, text):
        """A file's text without secrets, for diffs."""
        return redact(text, self.options.secrets) if text else ""

    def _cache_variables(self):
        """Every cache on persistent storage: the first start compiles for minutes, and inductor's default is /tmp."""
        places = {
            "XDG_CACHE_HOME": "",
            "SGLANG_CACHE_DIR": "sglang",
            "SGLANG_DG_CACHE_DIR": "deep_gemm",
            "TRITON_CACHE_DIR": "triton",
            "TORCHINDUCTOR_CACHE_DIR": "inductor",
            "FLASHINFER_WORKSPACE_BASE": "flashinfer",
            "TVM_FFI_CACHE_DIR": "tvm-ffi",
            "CUDA_CACHE_PATH": "cuda",
            "HF_HOME": "huggingface",
        }
        return {"HOME": self.layout.home, **{name: os.path.join(self.cache, place).rstrip("/") for name, place in places.items()}}

    def _network_variables(self):
        # SGLang's own warm-up request would go through a proxy of the environment otherwise.
        own = ["localhost", "127.0.0.1", "::1"] + (
            [self.options.host] if self.options.host not in ("0.0.0.0", "::", "127.0.0.1", "localhost", "::1") else []
        )
        return {"NO_PROXY": ",".join(own), "no_proxy": ",".join(own)}

    def _launch_script(self):
        log = shlex.quote(self.layout.logs + "/") + '"$INVOCATION_ID".log'
        words = " \\\n    ".join(shlex.quote(word) for word in self.command)
        why = "# One log file for each launch, named by systemd's invocation id.\n"
        return f"#!/bin/sh\n{_MARK}{why}umask 077\nexec >>{log} 2>&1\nexec {words}\n"

    def _end_script(self):
        place = shlex.quote(self.layout.ends + "/") + '"$INVOCATION_ID"'
        why = "# Why the main process ended, as systemd says it (ExecStopPost).\n"
        return f'#!/bin/sh\n{_MARK}{why}echo "$SERVICE_RESULT $EXIT_CODE $EXIT_STATUS" >{place}\n'


def _environment_file(values):
    """systemd's EnvironmentFile format (systemd.exec(5)): double quotes with backslash escapes."""
    lines = []
    for name, value in sorted(values.items()):
        escaped = "".join("\\" + char if char in '\\"$`' else char for char in value)
        lines.append(f'{name}="{escaped}"\n')
    return "".join(lines)
