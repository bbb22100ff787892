"""Names, places and addresses of the sandbox, in one spot.

Everything that the sandbox makes lies below STATE (taken away by ``sandbox clean``) or CACHE (kept: downloads and the
guest template; shared by demo, tests and CI). Nothing is written into the checkout.
"""

from __future__ import annotations

import os
import pathlib

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
STATE = pathlib.Path(os.environ.get("KPRO_SANDBOX_STATE", "/var/lib/kpro-sandbox"))
CACHE = pathlib.Path(os.environ.get("KPRO_CACHE_DIR", "/var/cache/kpro-sglang"))

NODE = "kpro5"
# 198.18.0.0/15 is reserved for benchmarks between network devices (RFC 2544): no real network has it.
UPLINK_HOST = "198.18.77.1"
UPLINK_NODE = "198.18.77.2"
UPLINK_NET = "198.18.77.0/30"
HOST_INTERFACE = "kpro5-uplink"
GUEST_NET = "10.77.0.0/24"
GUEST_GATEWAY = "10.77.0.1"
NFT_TABLE = "kpro_sandbox"

# In the node: a GPU is two device nodes and a line in this file (sandbox/gpu).
GPU_STATE_DIR = "/var/lib/kpro-sandbox-gpu"

TEMPLATE = CACHE / "template" / "debian-12-kpro_12_amd64.tar.zst"
WHEELS = CACHE / "wheels"
MODEL = CHECKOUT / "sandbox" / "model" / "tiny-qwen3"

# What a cold raise needs: wheels 0.6 GiB, an installed guest 3.5 GiB, the template, room for a second guest.
DISK_NEEDED_GIB = 10


def node_dir():
    """The node's own files: overlays, guests, keys."""
    return STATE / "nodes" / NODE


def pin(kind):
    """The file that keeps the node's namespace of this kind (net, mnt, uts) alive without any process in it."""
    return STATE / "ns" / kind
