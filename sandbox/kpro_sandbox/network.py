"""The node's network: a veth pair to this machine, a bridge for guests, NAT in both steps.

Guests (GUEST_NET) -> vmbr0 in the node -> masqueraded by the node -> veth -> masqueraded by this machine -> outside.
A route to the guests' network goes through the node: without it requests to a guest would leave this machine.
"""

from __future__ import annotations

import json
import pathlib

from . import settings
from .namespaces import in_network, process_in_network
from .shell import run, works

_FORWARD = pathlib.Path("/proc/sys/net/ipv4/ip_forward")


def _mtu():
    """MTU of this machine's way out: larger packets of a guest would be lost where it is below 1500."""
    routes = json.loads(run("ip", "-json", "route", "show", "default").stdout or "[]")
    if not routes:
        return 1500
    links = json.loads(run("ip", "-json", "link", "show", "dev", routes[0]["dev"]).stdout)
    return links[0]["mtu"]


def up():
    """Make what is missing; safe to call again."""
    if not works("ip", "link", "show", "dev", settings.HOST_INTERFACE):
        with process_in_network() as pid:
            run("ip", "link", "add", settings.HOST_INTERFACE, "type", "veth", "peer", "name", "eth0", "netns", pid)
    mtu = _mtu()
    run("ip", "address", "replace", settings.UPLINK_HOST + "/30", "dev", settings.HOST_INTERFACE)
    run("ip", "link", "set", settings.HOST_INTERFACE, "up", "mtu", mtu)
    run("ip", "route", "replace", settings.GUEST_NET, "via", settings.UPLINK_NODE)
    _remember_forwarding()
    _FORWARD.write_text("1\n")
    run("nft", "-f", "-", stdin=_host_rules())
    in_network("sh", "-ec", _NODE_SCRIPT, "sh", settings.UPLINK_NODE + "/30", settings.UPLINK_HOST, settings.GUEST_GATEWAY + "/24", mtu)
    in_network("nft", "-f", "-", stdin=_node_rules())


_NODE_SCRIPT = """
ip link set lo up
ip address replace "$1" dev eth0
ip link set eth0 up mtu "$4"
ip route replace default via "$2"
ip link show dev vmbr0 >/dev/null 2>&1 || ip link add vmbr0 type bridge
ip address replace "$3" dev vmbr0
ip link set vmbr0 up
echo 1 > /proc/sys/net/ipv4/ip_forward
"""


def _host_rules():
    return f"""
table ip {settings.NFT_TABLE}
delete table ip {settings.NFT_TABLE}
table ip {settings.NFT_TABLE} {{
    chain post {{
        type nat hook postrouting priority srcnat; policy accept;
        ip saddr {settings.UPLINK_NET} oifname != "{settings.HOST_INTERFACE}" masquerade
    }}
}}
"""


def _node_rules():
    # The bridge has the usual 1500 bytes; the clamp keeps TCP working where this machine's way out has less.
    return f"""
table ip nat
delete table ip nat
table ip nat {{
    chain post {{
        type nat hook postrouting priority srcnat; policy accept;
        ip saddr {settings.GUEST_NET} oifname "eth0" masquerade
    }}
    chain clamp {{
        type filter hook forward priority mangle; policy accept;
        tcp flags syn tcp option maxseg size set rt mtu
    }}
}}
"""


def _saved():
    return settings.STATE / "ip_forward.before"


def _remember_forwarding():
    if not _saved().exists():
        _saved().write_text(_FORWARD.read_text())


def down():
    """Take away what this machine got; what lies in the namespace goes with it."""
    run("ip", "link", "delete", settings.HOST_INTERFACE, check=False)
    run("ip", "route", "delete", settings.GUEST_NET, check=False)
    if works("nft", "list", "table", "ip", settings.NFT_TABLE):
        run("nft", "delete", "table", "ip", settings.NFT_TABLE)
    if _saved().exists():
        _FORWARD.write_text(_saved().read_text())
        _saved().unlink()
