# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""What is looked at before a running server is stopped for its replacement."""

from __future__ import annotations

import os
import shutil

from .._errors import KproError
from .._launch_log.redact import redact
from .._sglang.arguments import to_argv
from .._supervise.listeners import holders
from . import diagnose, environment, files


def flags(layout, desired, account):
    """Let SGLang's own parser read the new flags; raises KproError with the diagnosis of its words when it refuses them."""
    options = desired.options
    stage = os.path.join(layout.base, "next")
    files.folder(stage, 0o755)
    try:
        config = os.path.join(stage, "config.yaml")
        wanted = next(file for file in desired.files if file.path == layout.config)
        files.write(config, wanted.content, 0o600, account.uid, account.gid)
        words = ["--config", config, *to_argv(desired.argv)]
        refused = environment.try_flags(options.python, options.user, words, {**options.environment, "HOME": layout.home})
    finally:
        shutil.rmtree(stage, ignore_errors=True)
    if refused is None:
        return
    output, exit_code = refused
    log = os.path.join(layout.logs, "refused.log")
    files.write(log, redact(output.decode("utf-8", "replace"), options.secrets), 0o600)
    diagnosis, text = diagnose.output_of_parser(output, exit_code, log, options.secrets)
    raise KproError(
        f"SGLang {desired.release} refuses the flags of server {options.name}; the server that runs was not touched.\n{text}",
        diagnosis=diagnosis,
    )


def port(layout, options):
    """SGLang notices a taken port only after the whole load, and then never exits: the holder is named here."""
    found, _unseen = holders(options.port, options.host)
    foreign = [holder for holder in found if holder.unit != layout.unit]
    if foreign:
        raise KproError(
            f"port {options.port} of server {options.name} is held by {foreign[0]} [port_in_use]; "
            "stop that program or give another port. Nothing was changed.",
            cause="port_in_use",
        )
