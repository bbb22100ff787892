# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""When is a server ready: pure predicates over one snapshot.

Ready means all of: this launch printed its ready line, its process lives, nothing in its log says that the HTTP address was
taken, /health answers 200 and /server_info names this model. Any one of them alone has been true of a server that was not.
"""

from __future__ import annotations


class Snapshot:
    """What was seen at one moment.

    alive: the process of this launch lives. ready_line, bind_error: from this launch's own log. health: HTTP status of /health
    (0: no answer, None: not asked). info: parsed /server_info or None.
    """

    def __init__(self, alive, ready_line, bind_error, health=None, info=None):
        self.alive = alive
        self.ready_line = ready_line
        self.bind_error = bind_error
        self.health = health
        self.info = info


def worth_asking(snapshot):
    """True when HTTP may be asked: before the ready line another server could be answering on this address."""
    return snapshot.alive and snapshot.ready_line and not snapshot.bind_error


def lacks(snapshot, model):
    """Return what is still missing for ready as a list of short sentences; empty means ready."""
    found = []
    if not snapshot.alive:
        found.append("the process is gone")
    if snapshot.bind_error:
        found.append("the HTTP address was taken by another process")
    if not snapshot.ready_line:
        found.append("this launch has not printed its ready line")
    if snapshot.health != 200:
        found.append("/health does not answer" if not snapshot.health else f"/health answers {snapshot.health}")
    # Whatever listens there may answer with any JSON.
    if not isinstance(snapshot.info, dict):
        if snapshot.health == 200:  # asked only then
            found.append("/server_info does not answer")
    elif snapshot.info.get("model_path") != model:
        found.append(f"/server_info names the model {snapshot.info.get('model_path')!r}, not {model!r}")
    return found
