"""The configuration file: read, written as Proxmox writes it, changed without touching what is not ours."""

from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kpro.sglang.plugins.module_utils._pct.conf import GuestConf, decode_text, digest, encode_text

FULL = """\
#GPU guest%3A two cards
#sp%C3%A4ter
cores: 4
hostname: px9901
memory: 4096
net0: name=eth0,bridge=vmbr0,hwaddr=BC:24:11:00:00:01,ip=dhcp,type=veth
rootfs: local:101/vm-101-disk-0.raw,size=4G
lxc.cgroup2.devices.allow: c 195:* rwm
lxc.prlimit.memlock: unlimited

[pve:pending]
delete: dev0,mp1
features: nesting=1

[snap1]
memory: 2048
snaptime: 1700000000
"""


def test_reads_every_part():
    conf = GuestConf.parse(FULL)
    assert conf.main.description == "GPU guest: two cards\nspäter"
    assert conf.main.keys["memory"] == "4096"
    assert conf.main.lxc == [("lxc.cgroup2.devices.allow", "c 195:* rwm"), ("lxc.prlimit.memlock", "unlimited")]
    assert conf.pending_deletes() == ["dev0", "mp1"]
    assert conf.pending.keys["features"] == "nesting=1"
    assert [(section.name, section.keys["memory"]) for section in conf.snapshots] == [("snap1", "2048")]


def test_writes_what_it_read():
    assert GuestConf.parse(FULL).render() == FULL


def test_writes_in_the_order_of_proxmox():
    """case conf-blockinfile-markers: comments go to the top, keys are sorted, lxc lines end their section."""
    conf = GuestConf.parse(
        "memory: 4096\n# BEGIN ANSIBLE MANAGED BLOCK\nlxc.cgroup2.devices.allow: c 195:* rwm\n# END ANSIBLE MANAGED BLOCK\nostype: debian\n"
    )
    conf.main.keys["cores"] = "2"
    assert conf.render() == (
        "# BEGIN ANSIBLE MANAGED BLOCK\n# END ANSIBLE MANAGED BLOCK\n"
        "cores: 2\nmemory: 4096\nostype: debian\nlxc.cgroup2.devices.allow: c 195:* rwm\n"
    )


def test_raw_line_lands_before_the_first_section():
    """case conf-append-lands-in-snapshot."""
    conf = GuestConf.parse("memory: 4096\n\n[snap1]\nmemory: 2048\n")
    conf.main.replace_lxc("lxc.cgroup2.devices.allow", ["c 195:* rwm"])
    assert conf.render() == "memory: 4096\nlxc.cgroup2.devices.allow: c 195:* rwm\n\n[snap1]\nmemory: 2048\n"


def test_replaces_only_its_own_raw_key_in_place():
    conf = GuestConf.parse("lxc.a.b: 1\nlxc.mount.entry = x y\nlxc.c.d: 2\nlxc.mount.entry: z\n")
    conf.main.replace_lxc("lxc.mount.entry", ["new"])
    assert conf.main.lxc == [("lxc.a.b", "1"), ("lxc.mount.entry", "new"), ("lxc.c.d", "2")]


def test_merged_is_what_the_next_start_brings():
    conf = GuestConf.parse(FULL)
    conf.main.keys["dev0"] = "/dev/nvidia0"
    assert "dev0" not in conf.merged()
    assert conf.merged()["features"] == "nesting=1"
    assert conf.pending_keys() == ["dev0", "features", "mp1"]


def test_forced_delete_is_read():
    assert GuestConf.parse("[pve:pending]\ndelete: !mp0,net1\n").pending_deletes() == ["mp0", "net1"]


def test_unknown_lines_are_kept():
    assert GuestConf.parse("memory: 1\nwhat is this\n").render() == "memory: 1\nwhat is this\n"


def test_description_as_a_key_is_read_like_a_comment():
    assert GuestConf.parse("description: line1%0Aline2 %C3%BCn%C3%AF%0A\n").main.description == "line1\nline2 ünï"


def test_text_with_carriage_returns():
    assert GuestConf.parse("memory: 512\r\nlxc.a: b\r\n").main.keys == {"memory": "512"}


def test_as_dict_shows_all_parts():
    shown = GuestConf.parse(FULL).as_dict()
    assert shown["lxc"] == ["lxc.cgroup2.devices.allow: c 195:* rwm", "lxc.prlimit.memlock: unlimited"]
    assert shown["pending"] == {"delete": "dev0,mp1", "features": "nesting=1"}
    assert shown["snapshots"] == ["snap1"]
    assert shown["description"].startswith("GPU guest")


def test_digest_is_that_of_the_bytes():
    assert digest(FULL.encode()) == hashlib.sha1(FULL.encode()).hexdigest()


def test_encodes_like_proxmox():
    assert encode_text("a: b ü\t") == "a%3A b %C3%BC%09"


@given(st.text(st.characters(blacklist_categories=("Cs",))))
def test_description_survives(text):
    assert decode_text(encode_text(text)) == text


_KEYS = st.dictionaries(
    st.from_regex(r"\A[a-z]{2,8}[0-9]?\Z").filter(lambda key: key not in ("description", "delete")),
    st.from_regex(r"\A[A-Za-z0-9/=,.;:-]{1,20}\Z"),
    max_size=6,
)
_LXC = st.lists(st.tuples(st.from_regex(r"\Alxc\.[a-z0-9]{1,6}\.[a-z]{1,6}\Z"), st.from_regex(r"\A[a-z0-9*]{1,8}\Z")), max_size=4)


@given(_KEYS, _LXC, _KEYS, _KEYS)
def test_any_configuration_survives_writing(keys, lxc, pending, snapshot):
    text = "".join(f"{key}: {value}\n" for key, value in keys.items()) + "".join(f"{key} = {value}\n" for key, value in lxc)
    text += "[pve:pending]\n" + "".join(f"{key}: {value}\n" for key, value in pending.items())
    text += "[before]\n" + "".join(f"{key}: {value}\n" for key, value in snapshot.items())
    conf = GuestConf.parse(text)
    again = GuestConf.parse(conf.render())
    assert (again.main.keys, again.main.lxc, again.pending.keys) == (keys, lxc, pending)
    assert again.snapshots[0].keys == snapshot
    assert again.render() == conf.render()
