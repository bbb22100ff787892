"""No spelling of a secret gets through, and ordinary text does."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.kpro.sglang.plugins.module_utils._launch_log.redact import redact, redact_all

SECRET = "s3cr3tValue42"


@pytest.mark.parametrize(
    "text",
    (
        "--api-key %s --port 1",
        "--api-key=%s",
        "--api_key %s",
        "--admin-api-key '%s'",
        'sglang serve --api-key "%s"',
        "api_key='%s', admin_api_key=None",
        'api_key="%s"',
        "admin_api_key='%s'",
        "ssl_keyfile_password='%s'",
        "{'api_key': '%s'}",
        '{"api_key": "%s"}',
        '{"apiKey":"%s"}',
        '{\\"api_key\\": \\"%s\\"}',
        "['--api-key', '%s']",
        '"--api-key", "%s"',
        "Authorization: Bearer %s",
        "authorization: Basic %s",
        "{'Authorization': 'Bearer %s'}",
        "-H 'Authorization: Bearer %s'",
        "bearer %s",
        "x-api-key: %s",
        "{'x-api-key': '%s'}",
        "http://user:%s@host:1/",
        "https://%s@host/x",
        "GET /v1/models?api_key=%s&a=1",
        "?token=%s",
        "&access_token=%s",
        "HF_TOKEN=%s",
        "export HUGGING_FACE_HUB_TOKEN=%s",
        "hf_token: %s",
        "OPENAI_API_KEY=%s",
        "AWS_SECRET_ACCESS_KEY=%s",
        "password=%s",
        "password: %s",
        "passwd = '%s'",
        "PGPASSWORD=%s",
        "client_secret: %s",
        "Cookie: session=%s",
        "Set-Cookie: a=%s; Path=/",
        "secret_key=%s",
        "auth_token='%s'",
        "api-key is %s",
        "Environment=SGLANG_API_KEY=%s",
        "api_key=SecretStr('%s')",
        "private_key='%s'",
        "'api_key': b'%s'",
        "proxy-authorization: Basic %s",
        "redis://:%s@host/0",
    ),
)
def test_spellings(text):
    assert SECRET not in redact(text % SECRET)


@pytest.mark.parametrize(
    "token",
    (
        "hf_abcdefghijklmnop",
        "sk-abcdefghijklmnop",
        "ghp_abcdefghijklmnopqrst",
        "glpat-abcdefghijkl",
        "AKIAABCDEFGHIJKLMNOP",
        "eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl",
    ),
)
def test_forms_of_tokens(token):
    assert token not in redact("something %s something" % token)


def test_private_keys():
    assert "MIIabc" not in redact("-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----\nnext")
    assert redact("-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----\nnext").endswith("\nnext")


@pytest.mark.parametrize(
    "text",
    (
        "max_total_num_tokens=123, eos_token_id=5, token usage: 0.07, #token: 99",
        "skip_tokenizer_init=False, tokenizer_path='/models/m', tokenizer_mode='auto'",
        "api_key=None, admin_api_key=None",
        "Prefill batch, #new-token: 4096, #cached-token: 0",
        "http://192.0.2.1:30000/health",
        'File "/x/y.py", line 1, in f',
        "KeyError: 'model.layers.0.mlp'",
        "Load weight begin. avail mem=46.00 GB",
        "The server demands an API key and answers 401",
        "Missing key(s) in state_dict: weight",
        "stop_token_ids=[1, 2]",
        "https://github.com/sgl-project/sglang/issues",
    ),
)
def test_ordinary_text_stays(text):
    assert redact(text) == text


def test_known_values():
    assert redact("it says abcd1234 here", secrets=["abcd1234"]) == "it says ******** here"
    assert redact("1 and a 1", secrets=["1"]) == "1 and a 1"


def test_everything_inside():
    value = {"a": ["--api-key " + SECRET, {"api_key": SECRET, "n": 1}], "b": None, "c": ("x",)}
    cleaned = redact_all(value)
    assert SECRET not in repr(cleaned)
    assert cleaned["a"][1]["n"] == 1 and cleaned["b"] is None


@given(st.text(max_size=300))
@settings(max_examples=300, deadline=None)
def test_never_fails(text):
    assert isinstance(redact(text), str)
    redact("api_key='" + text + "' token " + text)
