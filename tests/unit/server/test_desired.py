"""Files and digest of the wanted server: the digest moves exactly when the server would be another, and secrets stay where they may be."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from systemd_rules import command, environment_file, setting

from ansible_collections.kpro.sglang.plugins.module_utils._server.desired import Desired, _environment_file
from ansible_collections.kpro.sglang.plugins.module_utils._server.layout import Layout

SALT = "a" * 32
KEY, TOKEN = "key-of-the-server-1", "hf_token_of_the_server"
# What systemd's environment file can carry: no control character but the tab (options refuse the rest).
VALUES = st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"], include_characters="\t"), max_size=40)


@pytest.fixture
def wanted(options, tmp_path):
    """Return a function (release, fingerprint, group, **options) -> Desired."""

    def make(release="0.5.17", fingerprint="f" * 16, group="sglang", **changed):
        layout = Layout(changed.get("name", "main"), str(tmp_path / "state"), str(tmp_path / "log"))
        return Desired(options(**changed), layout, release, fingerprint, group, cache_name="0.5.17")

    return make


def content(desired, ending):
    (file,) = [file for file in desired.files if file.path.endswith(ending)]
    return file.content


BASE = {"args": {"tp-size": 2}, "environment": {"A": "1"}, "api_key": KEY, "secret_environment": {"HF_TOKEN": TOKEN}}
DIFFERENT = {
    "flag added": {"args": {"tp-size": 2, "dtype": "auto"}},
    "flag changed": {"args": {"tp-size": 4}},
    "flag gone": {"args": {}},
    "port": {"port": 30001},
    "host": {"host": "::1"},
    "model": {"model": "/models/other"},
    "variable": {"environment": {"A": "2"}},
    "variable gone": {"environment": {}},
    "key": {"api_key": KEY + "x"},
    "admin key": {"admin_api_key": KEY},
    "no key": {"api_key": None},
    "secret variable": {"secret_environment": {"HF_TOKEN": TOKEN + "x"}},
    "secret variable's name": {"secret_environment": {"HF_TOKEN_2": TOKEN}},
    "user": {"user": "llm"},
    "group": {"group": "gpu"},
    "stop_timeout": {"stop_timeout": 5},
    "python": {"python": "/opt/other/bin/python"},
    "GPUs": {"gpus": ["1"]},
    "release": {"release": "0.5.18"},
    "fingerprint": {"fingerprint": "e" * 16},
    "flag only in argv": {"args": {"tp-size": 2, "lora-paths": ["a=/x"]}},
}
ALIKE = {
    "another spelling": {"args": {"tp": 2}},
    "number as text": {"args": {"tensor_parallel_size": "2"}},
    "flags left out": {"args": {"tp-size": 2, "dtype": None, "x-y": False}},
    "defaults said": {"host": "127.0.0.1", "port": 30000},
    "what only this call needs": {"timeout": 5, "wait": False, "keep_logs": 3, "output_check": "warn", "stage_timeouts": {"warmup": 5}},
    "model_check": {"model_check": "disabled"},
    "model in args": {"model": None, "args": {"tp-size": 2, "model": "/models/tiny"}},
}


@pytest.mark.parametrize("case", DIFFERENT)
def test_the_digest_moves_when_the_server_would_be_another(wanted, case):
    assert wanted(**{**BASE, **DIFFERENT[case]}).digest(SALT) != wanted(**BASE).digest(SALT)


@pytest.mark.parametrize("case", ALIKE)
def test_the_digest_stays_when_the_server_would_be_the_same(wanted, case):
    assert wanted(**{**BASE, **ALIKE[case]}).digest(SALT) == wanted(**BASE).digest(SALT)


def test_the_order_of_flags_and_variables_says_nothing(wanted):
    one = wanted(args={"tp-size": 2, "dtype": "auto"}, environment={"A": "1", "B": "2"})
    two = wanted(args={"dtype": "auto", "tp-size": 2}, environment={"B": "2", "A": "1"})
    assert one.digest(SALT) == two.digest(SALT)
    assert [file.content for file in one.files] == [file.content for file in two.files]


def test_the_digest_is_salted_and_no_plain_hash_of_a_secret(wanted):
    assert wanted(**BASE).digest(SALT) != wanted(**BASE).digest("b" * 32)
    assert len(wanted(**BASE).digest(SALT)) == 64


def test_secrets_are_only_in_the_two_files_of_mode_0600(wanted):
    desired = wanted(**BASE, admin_api_key="admin-key-123", host="0.0.0.0")
    holding = {
        os.path.basename(file.path): file.mode
        for file in desired.files
        if any(secret in file.content for secret in (KEY, TOKEN, "admin-key-123"))
    }
    assert holding == {"config.yaml": 0o600, "environment": 0o600}
    assert KEY not in json.dumps(desired.command) and TOKEN not in json.dumps(desired.command)
    assert {os.path.basename(file.path): file.mode for file in desired.files if file.mode != 0o600} == {
        "sglang-main.service": 0o644,
        "launch": 0o755,
        "end": 0o755,
    }
    assert [os.path.basename(file.path) for file in desired.files if file.service] == ["config.yaml"]


def test_the_config_file_is_what_sglang_reads(wanted):
    config = yaml.safe_load(content(wanted(**BASE), "config.yaml"))
    assert config == {"model-path": "/models/tiny", "host": "127.0.0.1", "port": 30000, "tp-size": 2, "api-key": KEY}


def test_what_is_shown_holds_no_secret(wanted):
    desired = wanted(**BASE)
    for file in desired.files:
        shown = desired.shown(file.content)
        assert KEY not in shown and TOKEN not in shown
    assert desired.shown(None) == ""
    assert "tp-size: 2" in desired.shown(content(desired, "config.yaml"))


def test_the_servers_environment(wanted):
    variables = environment_file(content(wanted(**BASE, gpus=["GPU-1", "GPU-2"]), "environment"))
    assert variables["A"] == "1" and variables["HF_TOKEN"] == TOKEN
    assert variables["CUDA_VISIBLE_DEVICES"] == "GPU-1,GPU-2" and variables["PYTHONUNBUFFERED"] == "1"
    assert variables["NO_PROXY"].split(",")[:2] == ["localhost", "127.0.0.1"]
    for name in ("XDG_CACHE_HOME", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "CUDA_CACHE_PATH"):
        assert "/state/cache/0.5.17" in variables[name] and not variables[name].endswith("/")


def test_the_callers_variables_win_over_ours(wanted):
    variables = environment_file(content(wanted(environment={"HF_HUB_OFFLINE": "0", "NO_PROXY": "x", "HOME": "/h"}), "environment"))
    assert (variables["HF_HUB_OFFLINE"], variables["NO_PROXY"], variables["HOME"]) == ("0", "x", "/h")


def test_without_gpus_the_variable_is_left_alone(wanted):
    assert "CUDA_VISIBLE_DEVICES" not in environment_file(content(wanted(), "environment"))


def test_the_address_of_the_server_is_reached_without_a_proxy(wanted):
    variables = environment_file(content(wanted(host="10.0.0.7", api_key=KEY), "environment"))
    assert "10.0.0.7" in variables["no_proxy"].split(",")


@given(st.dictionaries(st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,12}", fullmatch=True), VALUES, max_size=6))
def test_any_environment_arrives_as_it_is(values):
    assert environment_file(_environment_file(values)) == values


@pytest.mark.parametrize(
    "value",
    [
        "",
        " ",
        "a b",
        '"',
        "'",
        "\\",
        "\\n",
        "$HOME",
        "${A}",
        "`id`",
        "#x",
        ";",
        "=",
        "a\\",
        '\\"',
        "\t",
        "%n",
        "größe",
        "'\"'\"'",
        "a\u2028b",
    ],
)
def test_values_that_quoting_gets_wrong(value):
    assert environment_file(_environment_file({"A": value, "B": "after"})) == {"A": value, "B": "after"}


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20).filter(
        lambda text: text.strip() == text and text[0] not in "-/"
    )
)
def test_the_launch_script_runs_the_command_and_its_log_is_named_by_the_launch(wanted, tmp_path, word):
    """The script is run by a real shell, with an interpreter that writes down what it was given."""
    name = word.replace("/", "_")
    folder = tmp_path / "odd"
    folder.mkdir(exist_ok=True)
    python = folder / ("py " + name)
    python.write_text('#!/bin/sh\nprintf "%s\\n" "$0" "$@"\n')
    python.chmod(0o755)
    desired = wanted(python=str(python), args={"lora-paths": ["a=" + word]})
    os.makedirs(desired.layout.logs, exist_ok=True)
    os.makedirs(desired.layout.base, exist_ok=True)
    (folder / "launch").write_text(content(desired, "/launch"))
    subprocess.run(["/bin/sh", str(folder / "launch")], check=True, env={"INVOCATION_ID": "launch-1", "PATH": os.environ["PATH"]})
    log = desired.layout.log("launch-1")
    with open(log, encoding="utf-8", newline="") as stream:
        assert stream.read().removesuffix("\n").split("\n") == desired.command
    assert os.stat(log).st_mode & 0o777 == 0o600
    os.unlink(log)


def test_the_end_script_writes_what_systemd_says(wanted, tmp_path):
    desired = wanted()
    os.makedirs(desired.layout.ends)
    (tmp_path / "end").write_text(content(desired, "/end"))
    variables = {"INVOCATION_ID": "launch-1", "SERVICE_RESULT": "exit-code", "EXIT_CODE": "exited", "EXIT_STATUS": "3"}
    subprocess.run(["/bin/sh", str(tmp_path / "end")], check=True, env=variables)
    assert open(os.path.join(desired.layout.ends, "launch-1")).read() == "exit-code exited 3\n"


def test_the_unit_runs_the_scripts(wanted):
    desired = wanted()
    assert command(setting(content(desired, ".service"), "Service", "ExecStart")) == ["/bin/sh", desired.layout.launch]
    assert command(setting(content(desired, ".service"), "Service", "ExecStopPost")) == ["/bin/sh", desired.layout.end]
    assert desired.unit_path == "/etc/systemd/system/sglang-main.service"
