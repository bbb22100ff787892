"""The reader's side of systemd's files is shared with the tests of _server."""

from __future__ import annotations

import pathlib
import sys

SHARED = str(pathlib.Path(__file__).resolve().parents[1] / "server")
if SHARED not in sys.path:
    sys.path.insert(0, SHARED)
