"""Options: what is right is brought into Proxmox's words, what is wrong is named in one sentence."""

from __future__ import annotations

import pytest

from ansible_collections.kpro.sglang.plugins.module_utils._errors import KproError
from ansible_collections.kpro.sglang.plugins.module_utils._pct.guest_desired import build_desired


def build(**options):
    return build_desired(dict(options, vmid=options.get("vmid", 129)))


def test_nothing_given_asks_for_nothing():
    desired = build()
    assert desired.scalars == {} and desired.raw_lxc == {}
    assert (desired.net, desired.devices, desired.mountpoints, desired.features, desired.tags) == (None,) * 5


def test_words_of_the_file():
    desired = build(memory_mib=4096, swap_mib=0, cores=2, onboot=True, nameserver="1.1.1.1, 9.9.9.9", hostname="sglang-1")
    assert desired.scalars == {
        "memory": "4096", "swap": "0", "cores": "2", "onboot": "1", "nameserver": "1.1.1.1 9.9.9.9", "hostname": "sglang-1",
    }  # fmt: skip


def test_net_as_string_and_as_dictionary_are_the_same():
    text = build(net=["name=eth0,bridge=vmbr0,ip=10.1.230.172/16,gw=10.1.0.1,firewall=1"])
    entry = build(net=[{"name": "eth0", "bridge": "vmbr0", "ip": "10.1.230.172/16", "gw": "10.1.0.1", "firewall": True}])
    assert text.net == entry.net


def test_device_forms():
    desired = build(devices=["/dev/nvidiactl", {"path": "/dev/nvidia0", "mode": "0666", "gid": 997}, "/dev/fuse,mode=0666"])
    assert desired.devices == [
        {"path": "/dev/nvidiactl"},
        {"path": "/dev/nvidia0", "mode": "0666", "gid": "997"},
        {"path": "/dev/fuse", "mode": "0666"},
    ]


def test_mountpoint_leaves_out_what_is_not_given():
    entry = {"source": "/tank//models/", "target": "/models/", "read_only": True, "backup": None, "mount_options": None}
    desired = build(mountpoints=[entry])
    assert desired.mountpoints == [{"volume": "/tank/models", "mp": "/models", "ro": "1"}]


def test_raw_lines_of_one_key_are_gathered():
    desired = build(raw_lxc=["lxc.mount.entry: a b", "lxc.prlimit.memlock = unlimited", "lxc.mount.entry: c d", "lxc.mount.entry: a b"])
    assert desired.raw_lxc == {"lxc.mount.entry": ["a b", "c d"], "lxc.prlimit.memlock": ["unlimited"]}


@pytest.mark.parametrize(
    "options, words",
    [
        ({"vmid": 5}, ("vmid", "100")),
        ({"memory_mib": 8}, ("memory_mib", "16 MiB")),
        ({"cores": 0}, ("cores", "1")),
        ({"hostname": "not_a_name"}, ("hostname", "not_a_name")),
        ({"tags": ["a b"]}, ("tags", "a b")),
        ({"net": [{"bridge": "vmbr0", "ip": "10.1.2.5"}]}, ("net[0].ip", "10.1.2.5", "dhcp")),
        ({"net": [{"gw": "10.1.0.1/16"}]}, ("net[0].gw", "plain address")),
        ({"net": [{"ip6": "10.1.0.1/16"}]}, ("net[0].ip6", "auto")),
        ({"net": [{"bridge": "vmbr0,tag=3"}]}, ("net[0].bridge", "comma")),
        ({"net": [{"bridgge": "vmbr0"}]}, ("net[0]", "bridgge")),
        ({"net": [3]}, ("net[0]", "dictionary")),
        ({"devices": ["/etc/passwd"]}, ("devices[0].path", "/etc/passwd", "/dev")),
        ({"devices": ["/dev/../etc/x"]}, ("devices[0].path",)),
        ({"devices": [{"path": "/dev/nvidia0", "mode": 438}]}, ("devices[0].mode", "quotes")),
        ({"devices": [{"path": "/dev/nvidia0", "mode": "999"}]}, ("devices[0].mode", "octal")),
        ({"devices": [{"path": "/dev/nvidia0", "gid": "render"}]}, ("devices[0].gid", "render", "number")),
        ({"devices": [{"path": "/dev/nvidia0", "grp": 1}]}, ("devices[0]", "grp")),
        ({"devices": ["/dev/a", "/dev/a,mode=0666"]}, ("devices", "twice")),
        ({"devices": [7]}, ("devices[0]", "path")),
        ({"mountpoints": [{"source": "/a", "target": "models"}]}, ("mountpoints[0].target", "absolute")),
        ({"mountpoints": [{"source": "/a"}]}, ("mountpoints[0]", "target")),
        ({"mountpoints": [{"source": "/a,b", "target": "/b"}]}, ("mountpoints[0].source", "comma")),
        ({"mountpoints": [{"source": "/a", "target": "/m"}, {"source": "/b", "target": "/m/"}]}, ("mountpoints", "/m", "twice")),
        ({"mountpoints": [{"source": "/a", "target": "/m", "ro": True}]}, ("mountpoints[0]", "ro", "read_only")),
        ({"features": ["nestling"]}, ("features[0]", "nestling", "nesting")),
        ({"raw_lxc": ["cgroup2.devices.allow: a"]}, ("raw_lxc[0]", "lxc.prlimit")),
        ({"raw_lxc": ["lxc.apparmor.profile:"]}, ("raw_lxc[0]",)),
        ({"raw_lxc": ["lxc.rootfs.path: /x"]}, ("raw_lxc[0]", "lxc.rootfs.path")),
    ],
)
def test_wrong_values_are_named(options, words):
    with pytest.raises(KproError) as caught:
        build(**options)
    for word in words:
        assert word in caught.value.message
    assert "\n" not in caught.value.message
