"""The output check against answers made for it: what is text must pass, what is rubbish must not."""

from __future__ import annotations

import json
import pathlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kpro.sglang.plugins.module_utils._sglang import output_check
from ansible_collections.kpro.sglang.plugins.module_utils._sglang.http import Answer

DATA = pathlib.Path(__file__).parent / "data"
GOOD = json.loads((DATA / "good_answers.json").read_text())
DEGENERATE = json.loads((DATA / "degenerate_answers.json").read_text())


def test_rates_over_the_whole_set():
    """The set was written for this test and the rule was improved with it: the rates are those of known kinds, not of unknown ones."""
    assert len(GOOD) >= 40 and len(DEGENERATE) >= 40
    alarms = [case["name"] for case in GOOD if output_check.fault(case["text"], case.get("prompt"))]
    misses = [case["name"] for case in DEGENERATE if not output_check.fault(case["text"])]
    assert (len(alarms) / len(GOOD), len(misses) / len(DEGENERATE)) == (0.0, 0.0), f"false alarms: {alarms}; missed: {misses}"


def test_no_degenerate_answer_passes_because_of_a_prompt():
    missed = [
        (case["name"], prompt) for case in DEGENERATE for prompt in output_check.PROMPTS if not output_check.fault(case["text"], prompt)
    ]
    assert missed == []


@pytest.mark.parametrize("case", DEGENERATE, ids=lambda case: case["name"])
def test_says_in_one_short_printable_line_what_is_wrong(case):
    said = output_check.fault(case["text"])
    assert said.startswith("the answer ") and "\n" not in said and len(said) < 320
    said.encode("utf-8")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("\n" * 48, "48 characters of white space"),
        ("the " * 48, "repeats"),
        ("!" * 48, "no letter and no digit"),
        ("\ufffd" * 9, "not valid UTF-8"),
        (" Paris" + "\n" * 47, "47 characters of white space in a row"),
        ("a" * 30, "repeats 'a' 30 times"),
    ],
)
def test_names_the_kind_of_rubbish(text, words):
    assert words in output_check.fault(text)


@given(st.text(alphabet="abcdefghij ,.", min_size=2, max_size=12).filter(lambda text: len(text.strip()) > 1), st.integers(0, 11))
def test_any_short_phrase_said_forty_times_is_a_loop_wherever_it_is_cut(phrase, cut):
    text = phrase * 40
    assert output_check.fault(text[: len(text) - cut % len(phrase)])


@given(st.text(max_size=600))
def test_never_raises_and_never_says_an_empty_thing(text):
    assert output_check.fault(text) is None or len(output_check.fault(text)) > 10


@given(st.lists(st.integers(0, 10**6), min_size=4, max_size=60, unique=True))
def test_a_list_of_different_numbers_is_no_loop(numbers):
    assert output_check.fault(", ".join(map(str, numbers))) is None


def test_a_long_answer_costs_no_more_than_its_end():
    assert "repeats" in output_check.fault("word salad here " * 4000)
    assert output_check.fault(" ".join(str(number) for number in range(50000))) is None


class Scripted:
    """A client that gives one answer after the other and keeps what it was asked."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    def post(self, path, value, timeout):
        self.asked.append((path, value, timeout))
        return self.answers.pop(0)


def test_asks_every_prompt_greedily_and_returns_what_came():
    client = Scripted(*(Answer(200, json.dumps({"text": text}).encode()) for text in (" Paris.", "\n" * 48, " five, six")))
    answers = output_check.ask(client, timeout=7)
    assert [answer["prompt"] for answer in answers] == list(output_check.PROMPTS)
    assert [bool(answer["fault"]) for answer in answers] == [False, True, False]
    assert answers[0]["text"] == " Paris."
    for path, value, timeout in client.asked:
        assert path == "/generate" and timeout == 7
        assert value["sampling_params"] == {"temperature": 0, "max_new_tokens": output_check.MAX_NEW_TOKENS}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(0, error="ConnectionRefusedError: refused"), "no answer: ConnectionRefusedError"),
        (Answer(500, b"oops"), "no answer: HTTP 500"),
        (Answer(200, b"no json"), "no answer: HTTP 200"),
        (Answer(200, b"[1, 2]"), "no answer: HTTP 200"),
        (Answer(200, b'{"text": null}'), "no answer: HTTP 200"),
    ],
)
def test_no_text_at_all_is_a_fault_that_says_what_came_instead(answer, words):
    found = output_check.ask(Scripted(answer, answer, answer), timeout=1)
    assert [item["text"] for item in found] == [None] * 3
    assert all(item["fault"].startswith(words) for item in found)


def test_a_small_model_may_repeat_the_sentence_it_was_given_and_nothing_else():
    loop = " Paris." + " The capital of France is Paris." * 6
    assert output_check.fault(loop, "The capital of France is") is None
    assert "repeats" in output_check.fault(loop, "The quick brown fox")
