"""The files that a guest gets before it starts, and its LXC configuration."""

from __future__ import annotations

import os

import pytest
from kpro_pct import cgroup, configuration, guest_files, lxc_config, mount_points


def config(*lines):
    return configuration.parse("".join(line + "\n" for line in lines), 129)[0]


STATIC = "net0: name=eth0,bridge=vmbr0,gw=10.77.0.1,ip=10.77.0.129/24,type=veth"


def test_a_static_address():
    guest = config("hostname: kpro.example", STATIC)
    assert guest_files.interfaces(guest).endswith("\nauto eth0\niface eth0 inet static\n\taddress 10.77.0.129/24\n\tgateway 10.77.0.1\n")
    assert "\n10.77.0.129 kpro.example kpro\n" in guest_files.hosts("", "kpro.example", guest_files.first_address(guest))


def test_dhcp_leaves_a_name_that_resolves():
    guest = config("net0: name=eth0,bridge=vmbr0,ip=dhcp")
    assert "iface eth0 inet dhcp\n" in guest_files.interfaces(guest)
    assert guest_files.first_address(guest) == "127.0.1.1"


def test_hosts_block_is_replaced_and_the_rest_kept():
    first = guest_files.hosts("10.0.0.9 registry\n", "one", "10.0.0.1")
    second = guest_files.hosts(first, r"t\1wo", "10.0.0.2")
    assert second.startswith("10.0.0.9 registry\n") and "10.0.0.2 t\\1wo\n" in second
    assert "one" not in second and second.count("BEGIN PVE") == 1


def test_a_link_in_the_guest_is_not_followed(tmp_path):
    outside, root = tmp_path / "outside", tmp_path / "root"
    outside.write_text("kept")
    (root / "etc").mkdir(parents=True)
    (root / "etc/resolv.conf").symlink_to(outside)
    guest_files.put(str(root), "etc/resolv.conf", "nameserver 10.0.0.1\n", os.getuid())
    assert outside.read_text() == "kept"
    assert (root / "etc/resolv.conf").read_text() == "nameserver 10.0.0.1\n"


def test_resolver_options():
    guest = config("nameserver: 1.1.1.1 9.9.9.9", "searchdomain: lab")
    assert guest_files.resolver(guest) == "search lab\nnameserver 1.1.1.1\nnameserver 9.9.9.9\n"


@pytest.mark.parametrize(("program", "given"), [(None, True), ("sbin/ifup", False)])
def test_lxc_sets_the_address_only_without_ifupdown(tmp_path, program, given):
    if program:
        (tmp_path / program).parent.mkdir()
        (tmp_path / program).touch()
    lines = lxc_config.addresses("lxc.net.0", {"ip": "10.0.0.2/24", "gw": "10.0.0.1"}, str(tmp_path))
    assert lines == (["lxc.net.0.ipv4.address = 10.0.0.2/24", "lxc.net.0.ipv4.gateway = 10.0.0.1"] if given else [])


def test_mount_entries():
    lines = mount_points.lines(129, config("mp10: /srv/a b,mp=/the models,ro=1,mountoptions=noatime", "mp9: /x,mp=/y"))
    assert lines == [
        "lxc.mount.entry = /var/lib/lxc/129/mounts/mp9 y none bind,create=dir 0 0",
        "lxc.mount.entry = /var/lib/lxc/129/mounts/mp10 the\\040models none bind,create=dir,ro,noatime 0 0",
    ]


def test_missing_mount_sources_are_named(tmp_path):
    guest = config(f"mp0: {tmp_path},mp=/a", f"mp1: {tmp_path}/none,mp=/b")
    assert mount_points.missing_sources(guest) == f"directory '{tmp_path}/none' does not exist\n"


def test_cpuset_by_hand_wins():
    assert cgroup.cpuset(config("cores: 1", "lxc.cgroup2.cpuset.cpus: 3")) == []


def test_group_of_a_guest():
    assert cgroup.payload_group("/x/lxc.payload.129/init.scope") == "/x/lxc.payload.129"
    assert cgroup.payload_group("/lxc.payload.129-1") == "/lxc.payload.129-1"
