"""Values of guest options: what is refused, with the words of the real program, and how values are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kpro_pct import change, guest_options, property_string


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("dev0", "/dev/null,gid=render", "invalid format - format error\ndev0.gid: type check ('integer') failed - got 'render'"),
        ("dev0", "/dev/null,mode=999", "invalid format - format error\ndev0.mode: value does not match the regex pattern"),
        ("dev0", "/etc/passwd", "invalid format - format error\ndev0.path: invalid format - unable to parse device path: /etc/passwd"),
        ("dev0", "/dev/../etc", "invalid format - format error\ndev0.path: invalid format - unable to parse device path: /dev/../etc"),
        ("memory", "8", "value must have a minimum value of 16"),
        ("memory", "32G", "type check ('integer') failed - got '32G'"),
        ("ostype", "plan9", f"value 'plan9' does not have a value in the enumeration '{', '.join(guest_options.OSTYPES)}'"),
        ("net0", "bridge=vmbr0", "invalid format - format error\nnet0.name: property is missing and it is not optional"),
        ("net0", "name=eth0,ip=10.0.0.300/24",
         "invalid format - format error\nnet0.ip: invalid format - value does not look like a valid ipv4 network configuration"),
        ("mp0", "/models", "invalid format - format error\nmp0.mp: property is missing and it is not optional"),
        ("mp0", "/a,mp=/a/../b", "invalid format - format error\nmp0.mp: invalid format - /a/../b contains illegal character sequences"),
        ("hostname", "a_b", "invalid format - value does not look like a valid DNS name"),
        ("mp0", "/a,mp=/b,mp=/c", "invalid format - duplicate key in comma-separated list property: mp"),
    ],
)
def test_refused(name, value, reason):
    assert guest_options.option(name).reason(value) == reason


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dev255", "path=/dev/nvidia-caps/nvidia-cap1,mode=0444,uid=0,gid=44,deny-write=1"),
        ("net31", "name=eth0,ip=dhcp"),
        ("mp255", "local:8,mp=/d"),
        ("mp0", "/srv/models,mp=/models,ro=1,backup=0,mountoptions=noatime;nosuid"),
        ("features", "nesting=1,mount=nfs;cifs"),
        ("hostname", "a.b-c.d"),
        ("tags", "sglang;gpu"),
        ("rootfs", "local:8"),
        ("onboot", "yes"),
    ],
)
def test_accepted(name, value):
    assert guest_options.option(name).reason(value) is None


def test_tags_are_sorted_and_unique():
    assert change.text_of("tags", "sglang;GPU, a gpu") == "a;gpu;sglang"


def test_network_devices_keep_their_address_or_get_one():
    old = "name=eth0,bridge=vmbr0,hwaddr=BC:24:11:AA:BB:CC,type=veth"
    assert change.network_text("bridge=vmbr1,name=eth0", old) == "name=eth0,bridge=vmbr1,hwaddr=BC:24:11:AA:BB:CC,type=veth"
    made = property_string.values(change.network_text("name=eth0"), guest_options.NETWORK)
    assert made["hwaddr"].startswith("BC:24:11:")
    assert guest_options.NETWORK["hwaddr"].reason(made["hwaddr"]) is None


PARTS = st.text(st.characters(codec="ascii", exclude_characters=",="), min_size=1)


@given(st.dictionaries(st.sampled_from(["volume", "mp", "idmap"]), PARTS, min_size=1))
def test_written_property_strings_are_read_back(parsed):
    keys = {"volume": property_string.Key(default=True), "mp": property_string.Key(required=True), "idmap": property_string.Key()}
    assert property_string.parse(property_string.render(parsed, keys), keys)[0] == parsed
