"""Every refusal is one sentence that names the option, its value and what would be right; what is accepted arrives whole."""

from __future__ import annotations

import pytest

from ansible_collections.kpro.sglang.plugins.module_utils._errors import KproError
from ansible_collections.kpro.sglang.plugins.module_utils._server.limits import SILENCE, silence
from ansible_collections.kpro.sglang.plugins.module_utils._server.options import Options, check_name

SECRET = "0123456789abcdef"


# (parameters, words that the sentence must hold)
REFUSED = {
    "no model": ({"model": None}, ["model is missing", "/models/"]),
    "model of a hub": ({"model": "Qwen/Qwen3-8B"}, ["model is 'Qwen/Qwen3-8B'", "absolute path"]),
    "model of a hub in args": ({"model": None, "args": {"model-path": "Qwen/Qwen3-8B"}}, ["model is 'Qwen/Qwen3-8B'", "absolute path"]),
    "model with a line break": ({"model": "/models/a\nUser=root"}, ["model is '/models/a\\nUser=root'", "control characters"]),
    "model twice": ({"args": {"model": "/models/other"}}, ["model is '/models/tiny'", "args.model-path is '/models/other'", "one of them"]),
    "no python": ({"python": None}, ["python is missing", "interpreter"]),
    "relative python": ({"python": "venv/bin/python"}, ["python is 'venv/bin/python'", "absolute path"]),
    "relative state_dir": ({"state_dir": "state"}, ["state_dir is 'state'", "absolute path"]),
    "relative log_dir": ({"log_dir": "./log"}, ["log_dir is './log'", "absolute path"]),
    "state_dir with a line break": ({"state_dir": "/srv/a\nb"}, ["state_dir", "control characters"]),
    "name with a slash": ({"name": "a/b"}, ["name is 'a/b'", "small letters"]),
    "capital name": ({"name": "Main"}, ["name is 'Main'", "small letters"]),
    "empty name": ({"name": ""}, ["name is ''", "small letters"]),
    "hidden name": ({"name": ".x"}, ["name is '.x'"]),
    "long name": ({"name": "a" * 64}, ["63 characters"]),
    "name with a line break": ({"name": "main\n"}, ["name is 'main\\n'"]),
    "name of the cache folder": ({"name": "cache"}, ["name is 'cache'", "another name"]),
    "port twice": ({"port": 30001, "args": {"port": 30002}}, ["port is 30001", "args.port is 30002", "one of them"]),
    "port 0": ({"port": 0}, ["port is 0", "1 to 65535"]),
    "port too high": ({"args": {"port": 65536}}, ["port is 65536", "1 to 65535"]),
    "port in words": ({"args": {"port": "http"}}, ["port is 'http'", "1 to 65535"]),
    "port in other digits": ({"args": {"port": "²"}}, ["port is '²'", "1 to 65535"]),
    "bare port": ({"args": {"port": True}}, ["port is True", "1 to 65535"]),
    "host twice": ({"host": "127.0.0.1", "args": {"host": "::1"}}, ["host is '127.0.0.1'", "args.host is '::1'", "one of them"]),
    "every address without key": ({"host": "0.0.0.0"}, ["host is 0.0.0.0", "no api_key", "allow_unauthenticated"]),
    "every address in args": ({"args": {"host": "::"}}, ["host is ::", "no api_key"]),
    "name of a host without key": ({"host": "gpu1.example"}, ["host is gpu1.example", "no api_key"]),
    "only an admin key": ({"host": "0.0.0.0", "admin_api_key": SECRET}, ["host is 0.0.0.0", "no api_key"]),
    "key in args": ({"args": {"api_key": SECRET}}, ["args.api_key", "secret", "option api_key"]),
    "admin key in args": ({"args": {"admin-api-key": SECRET}}, ["args.admin-api-key", "admin_api_key_file"]),
    "config in args": ({"args": {"config": "/x"}}, ["args.config", "cannot be given"]),
    "token in environment": ({"environment": {"HF_TOKEN": SECRET}}, ["environment.HF_TOKEN", "secret_environment"]),
    "key in environment": ({"environment": {"OPENAI_API_KEY": SECRET}}, ["environment.OPENAI_API_KEY", "secret_environment"]),
    "password in environment": ({"environment": {"db_password": SECRET}}, ["environment.db_password", "secret_environment"]),
    "short key": ({"api_key": "1234567"}, ["api_key has 7 characters", "at least 8"]),
    "short admin key": ({"admin_api_key": ""}, ["admin_api_key has 0 characters", "at least 8"]),
    "short secret": ({"secret_environment": {"HF_TOKEN": "abc"}}, ["secret_environment.HF_TOKEN has 3 characters", "at least 8"]),
    "key with a line break": ({"api_key": "12345678\n9"}, ["api_key holds a line break", "one line"]),
    "key that no header carries": ({"api_key": "schlüssel-des-servers"}, ["api_key", "HTTP header", "ASCII"]),
    "key with a tab": ({"admin_api_key": "1234\t56789"}, ["admin_api_key", "HTTP header"]),
    "key with a space behind": ({"api_key": "123456789 "}, ["api_key", "spaces around it"]),
    "key and its file": ({"api_key": SECRET, "api_key_file": "/x"}, ["api_key and api_key_file", "one of them"]),
    "key file that is not there": ({"api_key_file": "/no/such/file"}, ["api_key_file is /no/such/file", "cannot be read"]),
    "relative key file": ({"api_key_file": "key"}, ["api_key_file is 'key'", "absolute path"]),
    "variable with a dash": ({"environment": {"A-B": "1"}}, ["environment", "'A-B'", "letters, digits and _"]),
    "variable with a digit first": ({"environment": {"1A": "1"}}, ["'1A'", "no digit"]),
    "variable that is no text": ({"environment": {1: "1"}}, ["environment has the name 1"]),
    "variable with a line break": ({"environment": {"A": "1\n2"}}, ["environment.A", "line break", "systemd"]),
    "variable with an escape": ({"environment": {"A": "\x1b[0m"}}, ["environment.A", "control character"]),
    "secret variable with a NUL": ({"secret_environment": {"A": "12345678\0"}}, ["secret_environment.A", "control character"]),
    "half a surrogate pair": ({"environment": {"A": "\ud800"}}, ["environment.A"]),
    "variable that is a list": ({"environment": {"A": [1]}}, ["environment.A is a list", "text, a number or a boolean"]),
    "variable that is a dictionary": ({"secret_environment": {"A": {"b": 1}}}, ["secret_environment.A is a dict"]),
    "variable in both": (
        {"environment": {"A": "12345678"}, "secret_environment": {"A": "12345678"}},
        ["A is given in environment and in secret_environment"],
    ),
    "GPUs twice": (
        {"gpus": ["0"], "environment": {"CUDA_VISIBLE_DEVICES": "1"}},
        ["gpus is ['0']", "CUDA_VISIBLE_DEVICES is '1'", "one of them"],
    ),
    "unknown stage": ({"stage_timeouts": {"weights": 5}}, ["stage_timeouts", "'weights'", "weights_load"]),
    "stage of no seconds": ({"stage_timeouts": {"warmup": 0}}, ["stage_timeouts.warmup is 0", "above 0"]),
    "stage in words": ({"stage_timeouts": {"warmup": "10m"}}, ["stage_timeouts.warmup is '10m'", "number of seconds"]),
    "stage that is true": ({"stage_timeouts": {"warmup": True}}, ["stage_timeouts.warmup is True"]),
    "no logs": ({"keep_logs": 0}, ["keep_logs is 0", "1 or more"]),
    "no time": ({"timeout": 0}, ["timeout is 0", "1 or more"]),
    "time before the stop": ({"stop_timeout": -1}, ["stop_timeout is -1", "0 or more"]),
    "flag with two values": ({"args": {"tp": 1, "tp-size": 2}}, ["args.tp-size", "args.tp", "two values"]),
    "value that is a flag": ({"args": {"dtype": "--half"}}, ["args.dtype", "'--half'"]),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_names_option_value_and_what_would_be_right(params, case):
    changed, words = REFUSED[case]
    with pytest.raises(KproError) as caught:
        Options(params(**changed))
    message = caught.value.message
    assert [word for word in words if word not in message] == [], message
    assert "\n" not in message and message[-1] != "."
    assert SECRET not in message


@pytest.mark.parametrize("name", ["api_key", "admin_api_key", "secret_environment"])
def test_no_refusal_shows_a_secret(params, name):
    for value in ("geheim\n-123456", "kurz%1", "sch\u00fcssel-1234567", "\x1b-hidden-value"):
        given = {"TOKEN_X": value} if name == "secret_environment" else value
        try:
            Options(params(**{name: given}))
        except KproError as error:
            assert value not in error.message and value[:5] not in error.message


def test_defaults(options):
    wanted = options()
    assert (wanted.host, wanted.port, wanted.args, wanted.secret_args, wanted.gpus) == ("127.0.0.1", 30000, {}, {}, [])
    assert wanted.flags == {"model-path": "/models/tiny", "host": "127.0.0.1", "port": 30000}
    assert wanted.secrets == []


def test_what_is_in_args_counts_like_the_option(options):
    wanted = options(
        model=None,
        args={
            "model_path": "/models/x",
            "--host": "::1",
            "port": "31000",
            "tp": 2,
            "enable-metrics": True,
            "dtype": None,
            "quantization": False,
        },
    )
    assert (wanted.model, wanted.host, wanted.port) == ("/models/x", "::1", 31000)
    assert wanted.args == {"tp-size": 2, "enable-metrics": True}


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ("2", 2),
        ("-1", -1),
        ("0.85", 0.85),
        ("1e-05", 1e-05),
        ("007", "007"),
        ("1_000", "1_000"),
        ("nan", "nan"),
        ("inf", "inf"),
        ("²", "²"),
        ("2.50", "2.50"),
        ("a2", "a2"),
        ("", ""),
        (2, 2),
        (True, True),
        (["1", "2"], ["1", "2"]),
    ],
)
def test_numbers_of_templates_are_numbers_and_the_rest_is_left(options, given, value):
    found = options(args={"x": given}).args["x"]
    assert (found, type(found)) == (value, type(value))


def test_the_same_value_twice_is_no_quarrel(options):
    assert options(port=30001, args={"port": "30001", "model": "/models/tiny"}).port == 30001
    assert options(gpus=["0", "1"], environment={"CUDA_VISIBLE_DEVICES": "0,1"}).gpus == ["0", "1"]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.3.2.1", "localhost", "::1"])
def test_loopback_needs_no_key(options, host):
    assert options(host=host).host == host


@pytest.mark.parametrize("more", [{"api_key": SECRET}, {"allow_unauthenticated": True}])
def test_another_address_with_a_key_or_on_the_callers_word(options, more):
    assert options(host="0.0.0.0", **more).host == "0.0.0.0"


def test_secrets_reach_their_places_and_no_flag(options, tmp_path):
    (tmp_path / "key").write_text(SECRET + "\n")
    wanted = options(api_key_file=str(tmp_path / "key"), admin_api_key="admin-" + SECRET, secret_environment={"HF_TOKEN": "hf_" + SECRET})
    assert wanted.secret_args == {"api-key": SECRET, "admin-api-key": "admin-" + SECRET}
    assert set(wanted.secrets) == {SECRET, "admin-" + SECRET, "hf_" + SECRET}
    assert SECRET not in str(wanted.flags) and SECRET not in str(wanted.environment)


def test_a_key_file_that_is_no_text(params, tmp_path):
    (tmp_path / "key").write_bytes(b"\xff\xfe\xfd" * 8)
    with pytest.raises(KproError, match=r"api_key_file is .*cannot be read"):
        Options(params(api_key_file=str(tmp_path / "key")))


def test_variables_become_text(options):
    wanted = options(environment={"A": True, "B": False, "C": 3, "D": 0.5, "E": None, "F": "a b\tc", "G": "größe", "NCCL_KEY_FILE": "/x"})
    assert wanted.environment == {"A": "true", "B": "false", "C": "3", "D": "0.5", "F": "a b\tc", "G": "größe", "NCCL_KEY_FILE": "/x"}


@pytest.mark.parametrize("name", ["main", "a", "qwen3.6-27b", "a_b", "0", "a" * 63])
def test_names_that_are_right(name):
    assert check_name(name) == name


def test_silence_of_a_stage_and_the_callers_own():
    assert silence("cuda_graph") == SILENCE["cuda_graph"]
    assert silence("cuda_graph", {"cuda_graph": 5}) == 5
    assert silence("serving") > 0 and silence("shutdown", {"warmup": 1}) > 0
