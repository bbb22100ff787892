"""The connection plugin as a whole: core's own ssh plugin below it, with an ``ssh`` that runs its command on this machine."""

from __future__ import annotations

import hashlib
import os
import pathlib
import shlex
import sys

import pytest
import yaml
from ansible import constants as C
from ansible.errors import AnsibleConnectionFailure, AnsibleError, AnsibleFileNotFound
from ansible.playbook.play_context import PlayContext
from ansible.plugins.loader import become_loader
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.kpro.sglang.plugins.connection import proxmox_pct
from ansible_collections.kpro.sglang.plugins.doc_fragments import core_ssh

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "pct"))

from local_pct import write_pct

SSH = r"""#!/bin/sh
# Notes its arguments, says what ssh may say, and gives its last argument to a shell as sshd does.
printf '%s\n' "$#" "$@" >>@FOLDER@/calls
echo "Authorized use only" >&2
echo "ControlSocket /x already exists, disabling multiplexing" >&2
if [ -s @FOLDER@/refuse ]; then
  read -r left <@FOLDER@/refuse
  if [ "$left" -gt 0 ]; then echo $((left - 1)) >@FOLDER@/refuse; echo "kex_exchange_identification: closed" >&2; exit 255; fi
fi
for line in "$@"; do :; done
/bin/sh -c "$line"
rc=$?
if [ -e @FOLDER@/cut ]; then exit 255; fi
exit $rc
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "ssh").write_text(SSH.replace("@FOLDER@", shlex.quote(str(tmp_path))))
    (tmp_path / "ssh").chmod(0o755)
    return tmp_path


@pytest.fixture
def connect(folder):
    pct = write_pct(folder)
    # What the plugin loader does; it cannot be used beside plain imports of the collection.
    name = "kpro.sglang.proxmox_pct"
    C.config.initialize_plugin_configuration_definitions(
        "connection", name, {**core_ssh.core_options(), **yaml.safe_load(proxmox_pct.DOCUMENTATION)["options"]}
    )

    def make(become=None, **variables):
        context = PlayContext()
        context.remote_addr = "node"
        connection = proxmox_pct.Connection(context, None)
        connection._load_name = name
        defaults = {
            "inventory_hostname": "guest", "ansible_host": "node", "ansible_user": "admin", "proxmox_vmid": 100,
            "proxmox_pct_executable": pct, "ansible_ssh_executable": str(folder / "ssh"), "ansible_control_path_dir": str(folder / "cp"),
        }  # fmt: skip
        connection.set_options(var_options={**defaults, **variables})
        plugin = become_loader.get(become or "sudo")
        plugin.set_options(var_options={})
        connection.set_become_plugin(plugin)
        return connection

    return make


def test_output_status_and_stdin(connect):
    connection = connect()
    assert connection.exec_command("printf 'a\\0b'; printf 'x\\377' >&2; exit 7") == (7, b"a\0b", b"x\xff")
    assert connection.exec_command("cat", in_data=b"a\0\xff" * 100000) == (0, b"a\0\xff" * 100000, b"")
    assert connection.exec_command("cat") == (0, b"", b"")
    assert connection.exec_command("exit 255")[0] == 255


def test_login_and_user_in_the_guest(connect, folder):
    connection = connect()
    assert connection.exec_command("id -un; echo $HOME $USER; pwd")[1] == b"root\n/root root\n/root\n"
    text = (folder / "calls").read_text()
    assert 'User="admin"' in text
    assert connection.get_option("remote_user") == "root"
    assert connect(proxmox_guest_user="nobody").exec_command("id -un; echo $HOME")[1] == b"nobody\n/nonexistent\n"
    with pytest.raises(AnsibleConnectionFailure, match="user 'nosuch' does not exist in the guest"):
        connect(proxmox_guest_user="nosuch").exec_command("id")
    with pytest.raises(AnsibleError, match="account"):
        connect(proxmox_guest_user="-x").exec_command("id")


def test_never_a_terminal_and_never_compression(connect, folder):
    connect(ansible_ssh_use_tty=True, ansible_ssh_extra_args="-tt").exec_command("true")
    words = (folder / "calls").read_text().split("\n")
    assert words[words.index("-tt") :].index("-T") > 0
    assert "-C" not in words
    assert "ServerAliveInterval=15" in words
    assert not connect().has_tty


@pytest.mark.parametrize(
    ("vmid", "sentence"),
    [
        (101, "guest 101: container '101' not running!"),
        (102, "guest 102: Configuration file 'nodes/.*/lxc/102.conf' does not exist"),
        (104, "guest 104: can't lock file .* got timeout"),
        (106, "guest 106: please run as root .*sudoers"),
        (108, "guest 108: ipcc_send_rec"),
        (109, "guest 109: Authorized use only\nsomething that nobody has seen"),
    ],
)
def test_what_cannot_be_entered_is_unreachable_at_once(connect, folder, vmid, sentence):
    connection = connect(proxmox_vmid=vmid)
    with pytest.raises(AnsibleConnectionFailure, match=sentence):
        connection.exec_command("id", in_data=b"x")
    assert (folder / "calls").read_text().count("\n-T\n") == 1
    with pytest.raises(AnsibleConnectionFailure, match=sentence):
        connection.put_file(str(folder / "ssh"), str(folder / "copy"))
    with pytest.raises(AnsibleConnectionFailure, match=sentence):
        connection.fetch_file("/etc/passwd", str(folder / "copy"))
    assert (folder / "calls").read_text().count("\n-T\n") == 3
    assert not (folder / "copy").exists()


def test_a_guest_that_does_not_start_the_command(connect):
    with pytest.raises(AnsibleConnectionFailure, match="guest 105 did not start the command within 1 seconds"):
        connect(proxmox_vmid=105, proxmox_start_timeout=1).exec_command("id")


def test_no_pct(connect):
    with pytest.raises(AnsibleConnectionFailure, match="guest 100: /nonexistent/pct: No such file"):
        connect(proxmox_pct_executable="/nonexistent/pct").exec_command("id")


def test_vmid_that_no_guest_has(connect):
    with pytest.raises(AnsibleError, match="100 and 999999999"):
        connect(proxmox_vmid=7).exec_command("id")


def test_a_refused_connection_is_tried_again(connect, folder):
    (folder / "refuse").write_text("2\n")
    assert connect().exec_command("echo hi", in_data=b"x")[1] == b"hi\n"
    (folder / "refuse").write_text("9\n")
    with pytest.raises(AnsibleConnectionFailure, match="kex_exchange_identification"):
        connect(ansible_ssh_retries=1).exec_command("echo hi")
    assert (folder / "refuse").read_text() == "7\n"


def test_what_had_started_is_not_run_twice(connect, folder):
    (folder / "cut").touch()
    mark = folder / "mark"
    with pytest.raises(AnsibleConnectionFailure, match="the connection broke"):
        connect().exec_command(f"echo x >>{shlex.quote(str(mark))}; kill -9 $PPID", in_data=b"x")
    assert mark.read_text() == "x\n"


def test_lxc_attach(connect, folder):
    connection = connect(proxmox_pct_method="lxc-attach")
    assert connection.exec_command("echo $container") == (0, b"lxc\n", b"")
    assert "--clear-env" in (folder / "calls").read_text()


NAME = st.text(st.characters(blacklist_characters="\0/", blacklist_categories=["Cs"]), min_size=1, max_size=30).filter(
    lambda name: name not in (".", "..")
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=NAME, data=st.binary(max_size=2000))
def test_any_name_and_content_there_and_back(connect, tmp_path_factory, name, data):
    here, there, back = (tmp_path_factory.mktemp("x") for _unused in range(3))
    connection = connect()
    (here / name).write_bytes(data)
    connection.put_file(str(here / name), str(there / name))
    assert os.listdir(there) == [name]
    assert (there / name).read_bytes() == data
    connection.fetch_file(str(there / name), str(back / name))
    assert os.listdir(back) == [name]
    assert (back / name).read_bytes() == data


def test_a_transfer_is_started_again_from_the_beginning(connect, folder):
    data = os.urandom(1000000)
    (folder / "f").write_bytes(data)
    (folder / "refuse").write_text("1\n")
    connect().put_file(str(folder / "f"), str(folder / "g"))
    assert (folder / "g").read_bytes() == data
    (folder / "refuse").write_text("1\n")
    connect().fetch_file(str(folder / "g"), str(folder / "h"))
    assert (folder / "h").read_bytes() == data


def test_transfers_that_fail(connect, folder):
    connection = connect()
    (folder / "old").write_text("old")
    with pytest.raises(AnsibleFileNotFound, match="no-such"):
        connection.put_file(str(folder / "no-such"), str(folder / "old"))
    with pytest.raises(AnsibleError, match=r"not copied to .*checksum.*no-such"):
        connection.put_file(str(folder / "ssh"), str(folder / "no-such" / "f"))
    with pytest.raises(AnsibleError, match="Is a directory"):
        connection.put_file(str(folder / "ssh"), str(folder))
    with pytest.raises(AnsibleError, match="no-such: No such file"):
        connection.fetch_file(str(folder / "no-such"), str(folder / "old"))
    with pytest.raises(AnsibleError, match="Is a directory"):
        connection.fetch_file(str(folder), str(folder / "old"))
    with pytest.raises(AnsibleError, match="cannot be written: No such file"):
        connection.fetch_file("/etc/passwd", str(folder / "no-such" / "f"))
    assert (folder / "old").read_text() == "old"
    assert [name for name in os.listdir(folder) if "part" in name] == []


def test_a_changed_byte_is_noticed(connect, folder, monkeypatch):
    (folder / "old").write_text("old")
    monkeypatch.setattr(proxmox_pct, "_digest", lambda path: hashlib.sha256(b"other").hexdigest())
    with pytest.raises(AnsibleError, match="checksum differs"):
        connect().put_file(str(folder / "ssh"), str(folder / "old"))
    with pytest.raises(AnsibleError, match="another checksum"):
        connect().fetch_file(str(folder / "ssh"), str(folder / "old"))
    assert (folder / "old").read_text() == "old"


def test_a_failed_put_as_another_user_is_in_the_guest_s_words(connect, folder):
    with pytest.raises(AnsibleError, match="Permission denied"):
        connect(proxmox_guest_user="nobody").put_file(str(folder / "ssh"), "/etc/kpro-test-file")


def test_options_have_the_names_of_the_design(connect):
    connection = connect(proxmox_node_become=True)
    assert connection.get_option("proxmox_vmid") == 100
    assert connection.get_option("proxmox_node_become") is True
    assert connection.get_option("method") == "pct"
    assert connection.get_option("remote_user") == "root"
    assert connection.get_option("node_user") == "admin"
    assert connection.get_option("pipelining") is True
    assert connection.transport == "kpro.sglang.proxmox_pct"
