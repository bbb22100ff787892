"""SGLang flags as a mapping: spelling, secrets, and the two ways of giving them."""

from __future__ import annotations

import argparse
import json
import math

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kpro.sglang.plugins.module_utils._errors import KproError
from ansible_collections.kpro.sglang.plugins.module_utils._sglang import arguments
from ansible_collections.kpro.sglang.plugins.module_utils._sglang.argument_names import ALIASES, ARGV_ONLY, JSON_FLAGS


def error_of(args, option="args"):
    with pytest.raises(KproError) as caught:
        arguments.normalise(args, option)
    return caught.value.message


@pytest.mark.parametrize(
    "given_args, expected",
    [
        (None, {}),
        ({"attention_backend": "triton"}, {"attention-backend": "triton"}),
        ({"--attention-backend": "triton"}, {"attention-backend": "triton"}),
        ({"tp": 2}, {"tp-size": 2}),
        ({"tensor_parallel_size": 2}, {"tp-size": 2}),
        ({"enable-hicache": True}, {"enable-hierarchical-cache": True}),
        ({"tp": 2, "tp-size": 2}, {"tp-size": 2}),
        ({"tp": 2, "tp_size": "2"}, {"tp-size": 2}),
        ({"tp": None, "tp-size": 2}, {"tp-size": 2}),
        ({"enable_metrics": True}, {"enable-metrics": True}),
        ({"enable_metrics": False, "revision": None, "lora-paths": []}, {}),
        ({"cuda-graph-bs": [1, 2, "4"]}, {"cuda-graph-bs": [1, 2, "4"]}),
        ({"cuda-graph-bs": (1, 2)}, {"cuda-graph-bs": [1, 2]}),
        ({"log-requests-target": [True, False]}, {"log-requests-target": ["true", "false"]}),
        ({"max-total-tokens": -1, "mem-fraction-static": 0.85}, {"max-total-tokens": -1, "mem-fraction-static": 0.85}),
        ({"json-model-override-args": {"b": 1, "a": [True]}}, {"json-model-override-args": '{"a":[true],"b":1}'}),
        ({"forward_hooks": [{"name": "x"}]}, {"forward-hooks": '[{"name":"x"}]'}),
        ({"lora_paths": [{"lora_name": "a", "lora_path": "/m"}, "b=/n"]}, {"lora-paths": ['{"lora_name":"a","lora_path":"/m"}', "b=/n"]}),
        ({"json-model-override-args": '{"a": 1}'}, {"json-model-override-args": '{"a": 1}'}),
        ({"served-model-name": "- a name"}, {"served-model-name": "- a name"}),
    ],
)
def test_normalise(given_args, expected):
    assert arguments.normalise(given_args) == expected


def test_order_does_not_depend_on_the_order_given():
    one = arguments.normalise({"tp": 2, "port": 1, "attention-backend": "x", "model": "/m", "host": "::1"})
    two = arguments.normalise({"host": "::1", "model": "/m", "attention-backend": "x", "port": 1, "tp": 2})
    assert list(one) == list(two) == ["model-path", "host", "port", "attention-backend", "tp-size"]


@pytest.mark.parametrize(
    "key, advice",
    [
        ("api_key", "option api_key or api_key_file"),
        ("api-key", "option api_key or api_key_file"),
        ("--admin-api-key", "option admin_api_key"),
        ("ssl_keyfile_password", "key file without a password"),
        ("hf_token", "secret_environment"),
        ("watermark-key", "secret_environment"),
        ("my_secret", "secret_environment"),
    ],
)
def test_secrets_are_refused_with_the_way_to_give_them(key, advice):
    message = error_of({key: "s3cret-value"})
    assert message.startswith(f"args.{key} looks like a secret")
    assert advice in message
    assert "s3cret-value" not in message


def test_a_secret_inside_json_is_refused():
    message = error_of({"hicache-storage-backend-extra-config": {"s3": [{"secret_access_key": "abc"}]}})
    assert "secret_access_key" in message and "abc" not in message


@pytest.mark.parametrize(
    "name",
    [
        "bucket-time-to-first-token",
        "kt-max-deferred-experts-per-token",
        "max-total-tokens",
        "speculative-num-draft-tokens",
        "speculative-token-map",
        "ssl-keyfile",
        "tokenizer-path",
        "skip-tokenizer-init",
        "tokenizer-metrics-custom-labels-header",
        "enable-forward-pass-metrics",
        "stream-interval",
        "disable-tokenizer-batch-decode",
    ],
)
def test_ordinary_flags_are_no_secrets(name):
    assert not arguments.is_secret_name(name)


@pytest.mark.parametrize(
    "args, words",
    [
        ({"tp": 2, "tp-size": 4}, ["args.tp-size", "args.tp", "--tp-size", "4", "2"]),
        ({"enable-metrics": True, "enable_metrics": False}, ["args.enable_metrics", "--enable-metrics"]),
        ({1: 2}, ["args", "1", "int"]),
        ({"": 2}, ["args", "''"]),
        ({"tp=2": None}, ["'tp=2'"]),
        ({"TP": 2}, ["'TP'"]),
        ({"tp size": 2}, ["'tp size'"]),
        ({"config": "/x.yaml"}, ["args.config", "--config"]),
        ({"attention-backend": {"a": 1}}, ["args.attention-backend", "dictionary"]),
        ({"cuda-graph-bs": [[1]]}, ["args.cuda-graph-bs[0]", "a list inside a list"]),
        ({"cuda-graph-bs": [None]}, ["args.cuda-graph-bs[0]", "null"]),
        ({"mem-fraction-static": math.inf}, ["args.mem-fraction-static", "finite"]),
        ({"chat-template": "a\0b"}, ["args.chat-template"]),
        ({"chat-template": "a\ud800"}, ["args.chat-template"]),
        ({"attention-backend": "--trust-remote-code"}, ["args.attention-backend", "'--trust-remote-code'", "key of its own"]),
        ({"json-model-override-args": {"a": math.nan}}, ["args.json-model-override-args", "JSON"]),
        ({"json-model-override-args": {"a": object()}}, ["args.json-model-override-args", "JSON"]),
        ({"attention-backend": object()}, ["args.attention-backend", "object"]),
        (["tp"], ["args is list"]),
    ],
)
def test_bad_input_names_option_and_value(args, words):
    message = error_of(args)
    for word in words:
        assert word in message
    assert "\n" not in message


def test_the_option_in_the_message_is_the_callers():
    assert error_of({"TP": 1}, "servers[0].args").startswith("servers[0].args has the key 'TP'")


def test_the_name_tables_agree():
    for alias, name in ALIASES.items():
        assert name not in ALIASES and alias not in ARGV_ONLY and alias not in JSON_FLAGS
    assert not ARGV_ONLY & JSON_FLAGS


def sglang_parser():
    """A parser like SGLang's for the flags used here (kinds of action as in srt/server_args.py)."""
    parser = argparse.ArgumentParser(exit_on_error=False)
    parser.add_argument("--model-path")
    parser.add_argument("--tp-size", type=int)
    parser.add_argument("--mem-fraction-static", type=float)
    parser.add_argument("--enable-metrics", action="store_true")
    parser.add_argument("--chat-template")
    parser.add_argument("--cuda-graph-bs-decode", type=int, nargs="+")
    return parser


def config_to_argv(text):
    """What SGLang makes of a --config file: its ConfigArgumentMerger, in its words of 0.5.9 to 0.5.23."""
    words = []
    for key, value in (yaml.safe_load(text) or {}).items():
        if isinstance(value, bool):
            words += [f"--{key}"] if value else []
        elif isinstance(value, list):
            words += [f"--{key}", *(str(item) for item in value)] if value else []
        else:
            words += [f"--{key}", str(value)]
    return words


def test_config_file_and_argv_say_the_same_to_argparse():
    mapping = arguments.normalise(
        {
            "model": "/models/a b",
            "tp": 2,
            "mem-fraction-static": 1e-05,
            "enable_metrics": True,
            "chat_template": "{{ 'ü😀\n' }}",
            "cuda-graph-bs-decode": [1, 2, 4],
        }
    )
    from_config = sglang_parser().parse_args(config_to_argv(arguments.to_config_yaml(mapping)))
    assert from_config == sglang_parser().parse_args(arguments.to_argv(mapping))
    assert from_config.mem_fraction_static == 1e-05
    assert from_config.chat_template == "{{ 'ü😀\n' }}"
    assert from_config.cuda_graph_bs_decode == [1, 2, 4]


def test_yaml_text():
    mapping = {"model-path": "/m", "port": 30000, "enable-metrics": True, "x": 1e20, "cuda-graph-bs": [1, "a"], "api-key": 'k"\\\t'}
    assert arguments.to_config_yaml(mapping) == (
        'model-path: "/m"\nport: 30000\nenable-metrics: true\nx: 1.0e+20\ncuda-graph-bs: [1, "a"]\napi-key: "k\\"\\\\\\x09"\n'
    )
    assert yaml.safe_load(arguments.to_config_yaml({})) == {}


def test_flags_that_a_config_file_cannot_carry_go_to_argv():
    config, argv = arguments.split(arguments.normalise({"disable-cuda-graph": True, "cuda_graph_max_bs": 8, "tp": 2}))
    assert config == {"tp-size": 2}
    assert arguments.to_argv(argv) == ["--cuda-graph-max-bs", "8", "--disable-cuda-graph"]


def test_shown_is_one_shell_line_without_secrets():
    mapping = {"model-path": "/a b", "enable-metrics": True, "cuda-graph-bs": [1, 2], "api-key": "topsecret"}
    line = arguments.shown(mapping)
    assert line == "--model-path '/a b' --enable-metrics --cuda-graph-bs 1 2 --api-key '***'"


names = st.from_regex(r"(yes|no|on|off|true|false|null|[a-z][a-z0-9]{0,5})(-[a-z0-9]{1,6}){0,2}", fullmatch=True).filter(
    lambda name: (
        name not in ALIASES and name not in JSON_FLAGS and name not in ("config", "help", "h") and not arguments.is_secret_name(name)
    )
)
texts = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=30).filter(
    lambda text: not text.startswith("-")
)
scalars = st.one_of(st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), texts)
items = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False), texts)
values = st.one_of(scalars, st.none(), st.lists(items, max_size=4))


@given(st.dictionaries(names, values, max_size=6))
def test_normalise_is_stable_and_the_yaml_reads_back(args):
    mapping = arguments.normalise(args)
    assert arguments.normalise(mapping) == mapping
    assert set(mapping) == {name for name, value in args.items() if value is not None and value is not False and value != []}
    text = arguments.to_config_yaml(mapping)
    assert text.isascii()
    assert yaml.safe_load(text) == mapping
    assert [type(value) for value in yaml.safe_load(text).values()] == [type(value) for value in mapping.values()]


@given(st.dictionaries(names, values, max_size=6))
def test_spelling_does_not_matter(args):
    spelt = {"--" + name.replace("-", "_"): value for name, value in args.items()}
    assert arguments.normalise(spelt) == arguments.normalise(args)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | texts,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.just("k1") | st.just("k2"), inner),
    )
)
def test_json_flags_keep_their_value(value):
    wrapped = {"v": value}
    mapping = arguments.normalise({"json-model-override-args": wrapped})
    assert json.loads(mapping["json-model-override-args"]) == wrapped
    assert yaml.safe_load(arguments.to_config_yaml(mapping)) == mapping
