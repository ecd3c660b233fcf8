"""What a response is beside its words."""

import pytest

from submissions.schema import Row
from submissions.texts import ResponseCounts, is_answer, is_blank, is_placeholder


@pytest.mark.parametrize(
    "text", ["", " ", "\n\t\r\n", "\u00a0\u3000", "\u200b", "\ufeff", "\x00\x1b", " \u2060 \u200d"]
)
def test_what_shows_nothing_is_blank(text: str) -> None:
    assert is_blank(text)
    assert not is_answer(text)


@pytest.mark.parametrize(
    "text", [".", "x", " x ", "0", "\u200bx", "🙂", "👩\u200d🚀", "\ufffd", "e\u0301", "\U0001fae8"]
)
def test_what_shows_something_is_an_answer(text: str) -> None:
    assert not is_blank(text)
    assert is_answer(text)


@pytest.mark.parametrize(
    "text",
    ["[Blocked]", "[refused]", "[empty]", "[EMPTY]", " [Blocked]\n", "<error>", "(no response)", "[No answer]",
     "<null>", "[none]", "[content filtered]", "[filtered]", "[timeout]", "[refusal]"],
)  # fmt: skip
def test_marks_of_a_missing_answer_are_placeholders(text: str) -> None:
    assert is_placeholder(text)
    assert not is_answer(text)


@pytest.mark.parametrize(
    "text",
    ["Blocked", "empty", "None", "[blocked] road", "The road was [blocked].", "[blocked][blocked]", "[]", "[unblocked]",
     "I can't help with that.", "[Insert name]"],
)  # fmt: skip
def test_words_are_no_placeholders(text: str) -> None:
    assert not is_placeholder(text)
    assert is_answer(text)


def test_responses_are_counted_by_kind() -> None:
    counts = ResponseCounts()
    counts.add(Row(1, "a", None, ("x", "x", "x", "", "[empty]"), ("stop", "length", None, "length", "stop")))
    counts.add(Row(2, "b", None, ("x", " ")))
    assert counts == ResponseCounts(prompts=2, responses=7, blank=2, placeholder=1, cut_off=2, repeated=2)
