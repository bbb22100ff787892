"""Compare wanted with present: only what was asked for, defaults, sets, fields, stable numbers."""

from __future__ import annotations

import pytest

from ansible_collections.kpro.sglang.plugins.module_utils._pct.conf import GuestConf
from ansible_collections.kpro.sglang.plugins.module_utils._pct.guest_desired import build_desired
from ansible_collections.kpro.sglang.plugins.module_utils._pct.guest_plan import creation_keys, make_plan
from ansible_collections.kpro.sglang.plugins.module_utils._pct.guest_predict import predict_creation, predict_update
from ansible_collections.kpro.sglang.plugins.module_utils._pct.guest_values import parse_properties, render_properties, size_gib

PRESENT = """\
cores: 4
dev0: /dev/nvidia0,mode=0666
dev2: /dev/nvidiactl
features: keyctl=1,nesting=1
hostname: kept
memory: 4096
mp0: /tank/models,mp=/models,ro=1
nameserver: 1.1.1.1;9.9.9.9
net0: name=eth0,bridge=vmbr0,firewall=1,gw=10.1.0.1,hwaddr=BC:24:11:00:00:01,ip=10.1.2.9/16,type=veth
rootfs: local:129/vm-129-disk-0.raw,size=8G
tags: gpu;sglang
unprivileged: 1
lxc.prlimit.memlock: unlimited
"""


def plan_for(conf=PRESENT, exact=(), **options):
    return make_plan(build_desired(dict(options, vmid=129)), GuestConf.parse(conf), exact)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"memory_mib": 4096, "cores": 4, "hostname": "kept"},
        {"swap_mib": 512, "onboot": False},  # absent and equal to pct's default
        {"tags": ["sglang", "gpu", "GPU"]},
        {"features": ["nesting"]},
        {"features": ["fuse=0"]},
        {"devices": ["/dev/nvidiactl", "/dev/nvidia0"]},
        {"devices": [{"path": "/dev/nvidiactl", "mode": "0660", "uid": 0, "gid": 0}]},
        {"mountpoints": [{"source": "/tank/models", "target": "/models", "read_only": True, "backup": False}]},
        {"net": ["bridge=vmbr0,ip=10.1.2.9/16"]},
        {"net": [{"hwaddr": "bc:24:11:00:00:01", "firewall": True, "link_down": False}]},
        {"raw_lxc": ["lxc.prlimit.memlock = unlimited"]},
        {"rootfs_gib": 8, "storage": "local"},
        {"unprivileged": True, "ostemplate": "local:vztmpl/other.tar.zst"},
        {"description": ""},
        {"nameserver": "1.1.1.1, 9.9.9.9"},
    ],
)
def test_equal_needs_nothing(options):
    plan = plan_for(**options)
    assert plan.empty and not plan.notes


def test_live_values():
    plan = plan_for(memory_mib=8192, cores=4)
    assert plan.sets == {"memory": "8192"}
    assert plan.changes == [{"key": "memory", "before": "4096", "after": "8192"}]


def test_pending_counts_as_done():
    assert plan_for(PRESENT + "\n[pve:pending]\nfeatures: fuse=1,keyctl=1,nesting=1\n", features=["fuse"]).empty


def test_features_are_added_to_those_present_and_taken_away_on_request():
    assert plan_for(features=["fuse"]).sets == {"features": "keyctl=1,nesting=1,fuse=1"}
    assert plan_for(features=["keyctl=0"]).sets == {"features": "nesting=1"}
    assert plan_for(features=["nesting"], exact=["features"]).sets == {"features": "nesting=1"}
    assert plan_for(features=[], exact=["features"]).deletes == ["features"]


def test_devices_keep_their_numbers_and_new_ones_fill_the_gap():
    plan = plan_for(devices=["/dev/nvidia-uvm", {"path": "/dev/nvidiactl", "mode": "0666"}, "/dev/nvidia0", "/dev/nvidia1"])
    assert plan.sets == {"dev1": "/dev/nvidia-uvm", "dev2": "/dev/nvidiactl,mode=0666", "dev3": "/dev/nvidia1"}
    assert not plan.deletes


def test_exact_takes_others_away():
    plan = plan_for(devices=["/dev/nvidiactl"], mountpoints=[], net=[], exact=["devices", "mountpoints", "net"])
    assert plan.deletes == ["net0", "dev0", "mp0"]


def test_null_takes_a_device_field_away():
    assert plan_for(devices=[{"path": "/dev/nvidia0", "mode": None}]).sets == {"dev0": "/dev/nvidia0"}


def test_net_keeps_hardware_address_and_unnamed_fields():
    plan = plan_for(net=[{"ip": "10.1.2.10/16"}])
    assert parse_properties(plan.sets["net0"], "net") == {
        "name": "eth0", "bridge": "vmbr0", "firewall": "1", "gw": "10.1.0.1", "hwaddr": "BC:24:11:00:00:01",
        "ip": "10.1.2.10/16", "type": "veth",
    }  # fmt: skip


def test_dynamic_address_drops_the_gateway():
    assert "gw" not in parse_properties(plan_for(net=["ip=dhcp"]).sets["net0"], "net")
    assert "firewall" not in parse_properties(plan_for(net=[{"firewall": None}]).sets["net0"], "net")


def test_new_interface_gets_a_name():
    assert plan_for(net=["ip=10.1.2.9/16", "bridge=vmbr1,ip=dhcp"]).sets["net1"] == "bridge=vmbr1,ip=dhcp,name=eth1"


def test_mount_point_is_found_by_its_target():
    assert plan_for(mountpoints=[{"source": "/tank/new", "target": "/models"}]).sets == {"mp0": "/tank/new,mp=/models,ro=1"}
    assert plan_for(mountpoints=[{"source": "/tank/cache", "target": "/cache"}]).sets == {"mp1": "/tank/cache,mp=/cache"}


def test_volume_mount_point_made_by_pct_counts_as_there():
    present = PRESENT + "mp3: tank:subvol-129-disk-1,mp=/data,size=8G\n"
    assert plan_for(present, mountpoints=[{"source": "tank:8", "target": "/data"}]).empty


def test_raw_lines_as_sets():
    present = PRESENT + "lxc.mount.entry: a b\nlxc.mount.entry: c d\n"
    assert plan_for(present, raw_lxc=["lxc.mount.entry: c d", "lxc.mount.entry: a b"]).empty
    plan = plan_for(present, raw_lxc=["lxc.mount.entry: e f"])
    assert plan.raw_lxc == {"lxc.mount.entry": ["e f"]}
    assert plan.changes == [{"key": "lxc.mount.entry", "before": "a b\nc d", "after": "e f"}]


def test_root_grows_but_never_shrinks_or_moves():
    plan = plan_for(rootfs_gib=16)
    assert plan.grow_gib == 16 and plan.changes[0]["after"] == "local:129/vm-129-disk-0.raw,size=16G"
    smaller = plan_for(rootfs_gib=4, storage="tank")
    assert smaller.empty and len(smaller.notes) == 2
    assert "cannot shrink" in smaller.notes[1] and "not moved" in smaller.notes[0]


def test_unprivileged_cannot_be_changed():
    plan = plan_for(unprivileged=False)
    assert plan.empty and "cannot be changed" in plan.notes[0]
    assert "privileged one" in plan_for("memory: 512\n", unprivileged=True).notes[0]


def test_tags_and_description_can_be_emptied():
    assert plan_for(tags=[]).deletes == ["tags"]
    assert plan_for("#old\n" + PRESENT, description="").deletes == ["description"]
    assert plan_for("#old\n" + PRESENT, description="new\n").sets == {"description": "new"}
    assert plan_for("#same\n" + PRESENT, description="same").empty


def test_creation():
    desired = build_desired(
        {
            "vmid": 129, "hostname": "new", "memory_mib": 512, "unprivileged": True, "storage": "tank", "rootfs_gib": 16,
            "features": ["nesting"], "devices": ["/dev/nvidia0"], "net": ["bridge=vmbr0,ip=dhcp"],
            "raw_lxc": ["lxc.prlimit.memlock: unlimited"],
            "tags": ["sglang", "gpu"], "description": "GPU guest",
        }
    )  # fmt: skip
    assert creation_keys(desired) == {
        "hostname": "new", "memory": "512", "unprivileged": "1", "rootfs": "tank:16", "features": "nesting=1", "dev0": "/dev/nvidia0",
        "net0": "bridge=vmbr0,ip=dhcp,name=eth0", "tags": "gpu;sglang", "description": "GPU guest",
    }  # fmt: skip
    text = predict_creation(129, desired).render()
    assert text.startswith("#GPU guest\ndev0: /dev/nvidia0\n") and text.endswith("lxc.prlimit.memlock: unlimited\n")
    assert "rootfs: tank:<new volume>,size=16G\n" in text and "swap: 512\n" in text


def test_creation_leaves_out_what_is_not_asked_for():
    assert creation_keys(build_desired({"vmid": 129})) == {}


def test_prediction_of_an_update():
    conf = GuestConf.parse(PRESENT)
    wanted = dict(memory_mib=8192, features=["fuse"], devices=["/dev/nvidia0"], raw_lxc=["lxc.prlimit.memlock: 1"], rootfs_gib=9)
    plan = plan_for(exact=["devices"], **wanted)
    running, stopped = predict_update(conf, plan, True), predict_update(conf, plan, False)
    assert running.main.keys["memory"] == stopped.main.keys["memory"] == "8192"
    assert running.pending.keys == {"delete": "dev2", "features": "keyctl=1,nesting=1,fuse=1"}
    assert stopped.pending.keys == {} and "dev2" not in stopped.main.keys
    assert running.main.lxc == [("lxc.prlimit.memlock", "1")]
    assert running.main.keys["rootfs"].endswith("size=9G")
    assert conf.render() == PRESENT, "the original is not touched"


@pytest.mark.parametrize("text, kind", [("/dev/a,mode=0666", "dev"), ("local:1/x,size=8G", "rootfs"), ("name=eth0,bridge=b", "net")])
def test_property_strings_survive(text, kind):
    assert render_properties(parse_properties(text, kind), kind) == text


@pytest.mark.parametrize("text, gib", [("8G", 8), ("512M", 0.5), ("1T", 1024), ("1073741824", 1), ("none", None), ("", None)])
def test_sizes(text, gib):
    assert size_gib(text) == gib
