"""proxmox_lxc_exec as a whole, with a pct whose guest is this machine."""

from __future__ import annotations

import base64
import pathlib
import sys

import pytest

from ansible_collections.kpro.sglang.plugins.module_utils._pct import exec_run, exec_state
from ansible_collections.kpro.sglang.plugins.modules import proxmox_lxc_exec

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from local_pct import write_pct


@pytest.fixture
def execute(run_module, tmp_path, monkeypatch):
    monkeypatch.setattr(exec_state, "VMLIST", str(tmp_path / "vmlist"))
    monkeypatch.setattr(exec_state, "NODES", str(tmp_path / "nodes"))
    monkeypatch.setattr(exec_state, "CGROUPS", str(tmp_path / "cgroup"))
    monkeypatch.setattr(exec_state, "PVESH", str(tmp_path / "pvesh"))
    pct = write_pct(tmp_path)

    def run(check=False, **args):
        return run_module(proxmox_lxc_exec, {"vmid": 100, "pct_executable": pct, **args}, check=check)

    return run


def test_argv(execute):
    result = execute(argv=["printf", "[%s]", "a b", "$(id)", "", "é\n", "-n"])
    assert result["stdout"] == "[a b][$(id)][][é\n][-n]"
    assert (result["rc"], result["changed"], result["failed"], result["failure"], result["timed_out"]) == (0, True, False, None, False)
    assert result["cmd"] == ["printf", "[%s]", "a b", "$(id)", "", "é\n", "-n"]
    assert result["start"] <= result["end"]
    assert result["delta"].startswith("0:00:")


def test_cmd_is_split_and_not_expanded(execute):
    assert execute(cmd="printf '%s|' 'a b' $HOME \"it's\" *")["stdout"] == "a b|$HOME|it's|*|"
    assert "cannot be split" in execute(cmd="echo 'open")["msg"]


def test_shell_is_read_whole_and_children_see_an_empty_stdin(execute):
    result = execute(shell='cat\necho "it\'s $0" é\nexit 3\n')
    assert (result["stdout"], result["rc"], result["failure"]) == ("it's sh é", 3, None)
    assert execute(shell="x=1; echo ${x/1/2}", executable="/bin/bash")["stdout"] == "2"
    assert execute(shell=": " + "x" * 300000 + "\necho long")["stdout"] == "long"


def test_stdin(execute):
    assert execute(argv=["cat"], stdin="é\0", strip_empty_ends=False)["stdout"] == "é\0\n"
    assert execute(argv=["cat"], stdin="é", stdin_add_newline=False, strip_empty_ends=False)["stdout"] == "é"
    assert execute(argv=["cat"], stdin="")["stdout"] == ""
    data = bytes(range(256))
    result = execute(argv=["cat"], stdin_base64=base64.b64encode(data).decode())
    assert base64.b64decode(result["stdout_base64"]) == data
    assert "\ufffd" in result["stdout"]
    assert "stderr_base64" not in result
    assert "Base64" in execute(argv=["cat"], stdin_base64="*")["msg"]


def test_stdin_is_not_repeated(execute):
    result = execute(argv=["true"], stdin="hunter2-hunter2")
    assert "hunter2" not in str(result)


def test_ends_are_stripped_as_command_does(execute):
    assert execute(argv=["printf", "\n a \r\n\n"])["stdout"] == "\n a "
    assert execute(argv=["printf", "\n a \r\n\n"], strip_empty_ends=False)["stdout"] == "\n a \r\n\n"


def test_output_is_cut_and_said_so(execute):
    script = "head -c 3000000 /dev/zero | tr '\\0' e >&2 & head -c 1048575 /dev/zero | tr '\\0' o; printf 'é'; wait"
    result = execute(argv=["sh", "-c", script])
    assert (len(result["stdout"]), result["stdout"][-1]) == (1048575, "o")
    assert len(result["stderr"]) == 1048576
    assert (result["stdout_truncated"], result["stderr_truncated"], result["rc"]) == (True, True, 0)
    assert "stdout_base64" not in result
    result = execute(argv=["sh", "-c", script], output_limit=4)
    assert (len(result["stderr"]), result["stderr_truncated"]) == (3000000, False)
    assert execute(argv=["echo", "x"], output_limit=0)["stdout"] == ""
    assert "output_limit is -1" in execute(argv=["echo"], output_limit=-1)["msg"]


@pytest.mark.parametrize("rc", [1, 2, 126, 127, 254, 255])
def test_a_status_of_its_own_fails_without_failure(execute, rc):
    result = execute(argv=["sh", "-c", f"echo out; echo \"container '100' not running!\" >&2; exit {rc}"])
    assert (result["failed"], result["rc"], result["failure"], result["stdout"]) == (True, rc, None, "out")
    assert result["stderr"] == "container '100' not running!"
    assert result["msg"] == "non-zero return code"


@pytest.mark.parametrize(
    ("vmid", "failure", "words"),
    [
        (101, "guest_stopped", "container '101' not running!"),
        (102, "guest_missing", "does not exist"),
        (104, "guest_locked", "got timeout"),
        (106, "not_permitted", "sudo"),
        (107, "pct_usage", "400 unable to parse option"),
        (108, "cluster_unavailable", "ipcc_send_rec"),
        (109, "transport", "something that nobody has seen"),
    ],
)
def test_failures_outside_the_command(execute, vmid, failure, words):
    result = execute(vmid=vmid, argv=["echo", "x"])
    assert (result["failed"], result["failure"], result["rc"], result["stdout"]) == (True, failure, None, "")
    assert words in result["msg"]
    assert str(vmid) in result["msg"]


def test_another_node_is_named(execute, tmp_path):
    (tmp_path / "vmlist").write_text('{"version": 3, "ids": {"102": {"node": "othernode", "type": "lxc", "version": 2}}}')
    result = execute(vmid=102, argv=["id"])
    assert result["failure"] == "guest_on_other_node"
    assert "othernode" in result["msg"]


def test_another_node_is_named_by_its_folder(execute, tmp_path):
    folder = tmp_path / "nodes" / "othernode" / "lxc"
    folder.mkdir(parents=True)
    assert execute(vmid=102, argv=["id"])["failure"] == "guest_missing"
    (folder / "102.conf").write_text("")
    result = execute(vmid=102, argv=["id"])
    assert result["failure"] == "guest_on_other_node"
    assert "othernode" in result["msg"]


def test_another_node_is_named_by_pvesh(execute, tmp_path):
    program = tmp_path / "pvesh"
    program.write_text('#!/bin/sh\necho \'[{"vmid": 102, "node": "othernode"}]\'\n')
    program.chmod(0o755)
    assert execute(vmid=102, argv=["id"])["failure"] == "guest_on_other_node"


def test_frozen_in_the_node_s_books(execute, tmp_path):
    state = tmp_path / "cgroup" / "freezer" / "lxc" / "100"
    state.mkdir(parents=True)
    (state / "freezer.state").write_text("FROZEN\n")
    result = execute(argv=["id"], timeout=0.5)
    assert (result["failure"], result["rc"]) == ("guest_frozen", None)
    assert "frozen" in result["msg"]
    (state / "freezer.state").write_text("THAWED\n")
    assert execute(argv=["true"], timeout=5)["rc"] == 0


def test_a_pct_that_hangs(execute, monkeypatch):
    monkeypatch.setattr(exec_run, "BACKSTOP", 0.5)
    assert execute(vmid=105, argv=["id"], timeout=0.5)["failure"] == "guest_frozen"


def test_timeout(execute):
    result = execute(argv=["sh", "-c", "echo printed; exec sleep 300"], timeout=0.5)
    assert (result["failed"], result["failure"], result["timed_out"], result["stdout"], result["rc"]) == (
        True,
        "timeout",
        True,
        "printed",
        143,
    )
    assert "0.5 s" in result["msg"]
    assert "above 0" in execute(argv=["id"], timeout=0)["msg"]


def test_status_that_an_old_lxc_loses(execute):
    assert execute(vmid=111, argv=["sh", "-c", "exit 3"])["rc"] == 3


def test_pct_that_dies_takes_its_command_along(execute):
    result = execute(vmid=112, argv=["sh", "-c", "echo printed; exec sleep 54321"])
    assert (result["failure"], result["rc"], result["stdout"]) == ("transport", None, "printed")
    assert "signal 15" in result["msg"]
    left = [path for path in pathlib.Path("/proc").glob("[0-9]*/cmdline") if path.exists() and b"sleep\00054321" in path.read_bytes()]
    assert left == []


def test_what_pct_says_about_the_configuration_is_no_stderr(execute):
    result = execute(vmid=110, argv=["sh", "-c", "echo mine >&2"])
    assert (result["stderr"], result["rc"]) == ("mine", 0)


def test_environment(execute):
    result = execute(argv=["sh", "-c", 'printf "%s|" "$A" "$B" "$HOME"'], environment={"A": "$(id) 'x'\n", "B": 5})
    assert result["stdout"] == "$(id) 'x'\n|5|/root|"
    assert execute(argv=["a=b"], env={"A": "1"})["rc"] == 127
    assert "no name of a variable" in execute(argv=["id"], environment={"A B": "1"})["msg"]
    assert "secret_environment" in execute(argv=["id"], environment={"HF_TOKEN": "hf_x"})["msg"]
    assert execute(argv=["true"], environment={"TOKENIZERS_PARALLELISM": "false", "MAX_TOKENS": "5"})["rc"] == 0


def test_secret_environment_reaches_the_command_alone(execute, tmp_path):
    script = 'cat; printf %s "$HF_TOKEN" | cksum; tr "\\0" " " </proc/$$/cmdline'
    result = execute(argv=["sh", "-c", script], secret_environment={"HF_TOKEN": "hf_very secret\n"}, stdin="in", stdin_add_newline=False)
    assert result["stdout"].startswith("in1435573315 15\nsh -c")
    assert "hf_very secret" not in str(result)
    assert "8 characters" in execute(argv=["id"], secret_environment={"K": "short"})["msg"]
    assert "belongs to the shell" in execute(argv=["id"], secret_environment={"IFS": "long enough"})["msg"]


def test_creates_and_removes(execute, tmp_path):
    mark = tmp_path / "mark"
    result = execute(argv=["touch", str(mark)], creates=str(mark))
    assert (result["changed"], mark.exists()) == (True, True)
    result = execute(argv=["touch", str(mark)], creates=str(tmp_path / "m*"))
    assert (result["changed"], result["failed"], result["rc"], result["stdout"], result["start"]) == (False, False, 0, None, None)
    assert "exists" in result["msg"]
    assert execute(argv=["false"], removes=str(tmp_path / "no"))["changed"] is False


def test_check_mode_runs_nothing(execute, tmp_path):
    mark = tmp_path / "mark"
    result = execute(check=True, argv=["touch", str(mark)])
    assert (result["skipped"], result["changed"], result["rc"]) == (True, False, 0)
    result = execute(check=True, argv=["touch", str(mark)], creates=str(mark))
    assert (result["changed"], "skipped" in result) == (True, False)
    assert not mark.exists()
    assert execute(check=True, argv=["touch", str(mark)], creates="/etc")["changed"] is False
    assert execute(check=True, vmid=101, argv=["id"], creates="/etc")["failure"] == "guest_stopped"
    keys = set(execute(argv=["true"]))
    assert keys <= set(result)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"argv": []}, "argv is empty"),
        ({"argv": ["a" * 131072]}, "argument 0 is 131072 bytes"),
        ({"argv": ["id"], "vmid": 5}, "vmid is 5"),
        ({"argv": ["id"], "chdir": "relative"}, "absolute path"),
        ({"argv": ["id"], "user": "-x"}, "account's name"),
    ],
)
def test_refused_before_anything_runs(execute, args, words):
    result = execute(**args)
    assert result["failed"]
    assert words in result["msg"]
    assert result["rc"] is None


def test_refused_by_the_guest(execute):
    assert execute(argv=["id"], user="no-such-user")["failure"] == "guest_refused"
    result = execute(argv=["id"], chdir="/no/such/folder")
    assert (result["failure"], result["rc"]) == ("guest_refused", None)
    assert "/no/such/folder" in result["msg"]


def test_longest_argument(execute):
    assert execute(argv=["sh", "-c", "echo ${#1}", "sh", "a" * 131071])["stdout"] == "131071"


def test_too_much_in_all(execute):
    result = execute(argv=["true", *["a" * 131000] * 40])
    assert result["failure"] == "pct_usage"
    assert "arguments are too long" in result["msg"]


def test_no_pct(execute):
    result = execute(argv=["id"], pct_executable="/nonexistent/pct")
    assert result["failure"] == "pct_missing"
    assert "Proxmox VE node" in result["msg"]


def test_lxc_attach(execute, tmp_path):
    result = execute(argv=["env"], method="lxc-attach")
    assert result["rc"] == 0
    assert "container=lxc" in result["stdout_lines"]
