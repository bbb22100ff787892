"""Guest configuration files: what reading and writing keeps, moves and loses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kpro_pct import configuration, guest_options

FULL = """#made by hand%3A 100%25
#
#second line
arch: amd64
cores: 4
dev0: /dev/nvidia0,mode=0666
hostname: kpro
memory: 4096
mp0: /models,mp=/models,ro=1
net0: name=eth0,bridge=vmbr0,gw=10.0.0.1,hwaddr=BC:24:11:00:00:01,ip=10.0.0.2/24,type=veth
ostype: debian
rootfs: local:129/subvol-129-disk-0.subvol,size=8G
unprivileged: 1
lxc.cgroup2.devices.allow: c 195:* rwm
lxc.mount.entry: /dev/x dev/x none bind,optional,create=file

[pve:pending]
delete: mp0
memory: 8192

[before]
#of the snapshot
memory: 2048
lxc.idmap: u 0 100000 65536
"""


def test_a_written_file_stays_as_it_is():
    config, complaints = configuration.parse(FULL, 129)
    assert complaints == []
    assert configuration.render(config) == FULL
    assert config.pending_deletes() == ["mp0"]
    assert config.description == "made by hand: 100%\n\nsecond line\n"
    assert config.snapshots["before"].raw == [("lxc.idmap", "u 0 100000 65536")]


def test_hand_edits_are_put_in_order():
    text = "memory: 512\n# note\nlxc.prlimit.memlock = unlimited\nonboot: yes\n\narch: amd64\n"
    config, complaints = configuration.parse(text, 129)
    assert complaints == []
    assert configuration.render(config) == "# note\narch: amd64\nmemory: 512\nonboot: 1\nlxc.prlimit.memlock: unlimited\n"


@pytest.mark.parametrize(
    ("line", "complaint", "kept"),
    [
        ("foo: bar", "unable to parse value of 'foo' - unknown setting 'foo'", True),
        ("memory: 32G", "unable to parse value of 'memory' - type check ('integer') failed - got '32G'", True),
        ("dev256: /dev/null", "unable to parse value of 'dev256' - unknown setting 'dev256'", True),
        ("no line of this format", "unable to parse config: no line of this format", False),
        ("lxc.nonsense: 1", "unable to parse config: lxc.nonsense: 1", False),
        ("lxc.rootfs.path: /x", "lxc.rootfs.path: lxc.rootfs.path is auto generated from rootfs", False),
        ("delete: mp0", "property 'delete' is only allowed in [pve:pending]", False),
    ],
)
def test_complaints(line, complaint, kept):
    config, complaints = configuration.parse(line + "\n", 129)
    assert complaints == [f"vm 129 - {complaint}\n"]
    assert (line in configuration.render(config)) is kept


@given(st.text())
def test_any_text_survives_percent_encoding(text):
    encoded = configuration.encode_text(text)
    assert configuration.decode_text(encoded) == text
    assert encoded.isascii() and not set(encoded) & set("\n\r\t:")


@given(st.text(alphabet=st.characters(exclude_characters="\r", exclude_categories=["Cs"])))
def test_description_survives_the_file(text):
    config = configuration.Configuration()
    config.description = text
    again, complaints = configuration.parse(configuration.render(config), 129)
    assert complaints == []
    # Blanks at the end of a line and empty lines at the end of the text are what the format cannot keep.
    kept = [line.rstrip() for line in configuration.split_description(text)]
    assert [line.rstrip() for line in again.description.split("\n")] == [*kept, ""]


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_second_writing_changes_nothing(text):
    first = configuration.render(configuration.parse(text, 129)[0])
    assert configuration.render(configuration.parse(first, 129)[0]) == first


def test_numbered_options_are_in_order_of_their_numbers():
    config, _complaints = configuration.parse("dev10: /dev/a\ndev2: /dev/b\ndevice: x\n", 129)
    assert config.numbered("dev") == [(2, "/dev/b"), (10, "/dev/a")]


def test_every_option_name_is_known():
    assert all(guest_options.option(name) is not None for name in guest_options.names())
    assert guest_options.option("net32") is None
    assert guest_options.option("mp01") is None
