"""The checkout resolvable as ansible_collections.kpro.sglang, for the tests of this folder."""

from __future__ import annotations

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
COLLECTIONS = ROOT / ".collections"
LINK = COLLECTIONS / "ansible_collections" / "kpro" / "sglang"
if not LINK.exists():
    LINK.parent.mkdir(parents=True, exist_ok=True)
    LINK.symlink_to("../../..")
if str(COLLECTIONS) not in sys.path:
    sys.path.insert(0, str(COLLECTIONS))
