"""Ready is all of it: each single thing that is missing keeps a server from being ready, and is named."""

from __future__ import annotations

import itertools

import pytest

from ansible_collections.kpro.sglang.plugins.module_utils._sglang import readiness

MODEL = "/models/tiny"
READY = {"alive": True, "ready_line": True, "bind_error": None, "health": 200, "info": {"model_path": MODEL}}


def lacks(**changed):
    return readiness.lacks(readiness.Snapshot(**{**READY, **changed}), MODEL)


def test_nothing_lacks_where_all_is_there():
    assert lacks() == []


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"alive": False}, "the process is gone"),
        ({"ready_line": False}, "this launch has not printed its ready line"),
        ({"bind_error": object()}, "the HTTP address was taken by another process"),
        ({"health": None}, "/health does not answer"),
        ({"health": 0}, "/health does not answer"),
        ({"health": 503}, "/health answers 503"),
        ({"health": 401}, "/health answers 401"),
        ({"health": 204}, "/health answers 204"),
        ({"info": None}, "/server_info does not answer"),
        ({"info": [1]}, "/server_info does not answer"),
        ({"info": "hello"}, "/server_info does not answer"),
        ({"info": 7}, "/server_info does not answer"),
        ({"info": {}}, f"/server_info names the model None, not {MODEL!r}"),
        ({"info": {"model_path": "/models/other"}}, f"/server_info names the model '/models/other', not {MODEL!r}"),
        ({"info": {"model_path": MODEL + "/"}}, f"/server_info names the model '{MODEL}/', not {MODEL!r}"),
    ],
)
def test_one_missing_thing_is_named_and_nothing_else(changed, sentence):
    assert lacks(**changed) == [sentence]


@pytest.mark.parametrize(("alive", "line", "bind"), list(itertools.product((True, False), (True, False), (None, object()))))
def test_http_is_asked_only_where_the_answer_can_be_this_launchs(alive, line, bind):
    snapshot = readiness.Snapshot(alive, line, bind)
    assert bool(readiness.worth_asking(snapshot)) == (alive and line and bind is None)


def test_what_was_not_asked_is_not_said_to_be_silent():
    assert lacks(health=503, info=None) == ["/health answers 503"]


def test_ready_for_exactly_one_of_all_combinations():
    choices = {
        "alive": (True, False),
        "ready_line": (True, False),
        "bind_error": (None, object()),
        "health": (200, 503, 0, None),
        "info": ({"model_path": MODEL}, {"model_path": "/x"}, None),
    }
    ready = [values for values in itertools.product(*choices.values()) if not lacks(**dict(zip(choices, values, strict=True)))]
    assert ready == [(True, True, None, 200, {"model_path": MODEL})]
