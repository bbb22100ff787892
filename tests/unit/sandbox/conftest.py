"""The sandbox's programs are no part of the collection: their packages are found in the checkout's sandbox folder."""

from __future__ import annotations

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "sandbox" / "pct"))
