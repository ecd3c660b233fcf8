"""What a response is beside its words."""

from submissions.checking.response_kinds import ResponseCounts, is_blank, is_placeholder, is_refusal, is_scorable
from submissions.schema import Row
from tests.cases import each


@each("text", ["", " ", "\n\t\r\n", "\u00a0\u3000", "\u200b", "\ufeff", "\x00\x1b", " \u2060 \u200d"])
def test_what_shows_nothing_is_blank(text: str) -> None:
    assert is_blank(text)
    assert not is_scorable(text)


@each("text", [".", "x", " x ", "0", "\u200bx", "🙂", "👩\u200d🚀", "\ufffd", "e\u0301", "\U0001fae8"])
def test_what_shows_something_is_an_answer(text: str) -> None:
    assert not is_blank(text)
    assert is_scorable(text)


@each(
    "text",
    ["[Blocked]", "[refused]", "[empty]", "[EMPTY]", " [Blocked]\n", "<error>", "(no response)", "[No answer]",
     "<null>", "[none]", "[content filtered]", "[filtered]", "[timeout]", "[refusal]"],
)  # fmt: skip
def test_marks_of_a_missing_answer_are_placeholders(text: str) -> None:
    assert is_placeholder(text)
    assert not is_scorable(text)


@each(
    "text",
    ["Blocked", "empty", "None", "[blocked] road", "The road was [blocked].", "[blocked][blocked]", "[]", "[unblocked]",
     "I can't help with that.", "[Insert name]"],
)  # fmt: skip
def test_words_are_no_placeholders(text: str) -> None:
    assert not is_placeholder(text)
    assert is_scorable(text)


def test_responses_are_counted_by_kind() -> None:
    counts = ResponseCounts()
    counts.add(Row(1, "a", None, ("x", "x", "x", "", "[empty]"), ("stop", "length", None, "length", "stop")))
    counts.add(Row(2, "b", None, ("x", " ", "x ")))  # white space at an end makes another response
    assert counts == ResponseCounts(prompts=2, responses=8, blank=2, placeholder=1, cut_off=2, repeated=2)


@each(
    "text",
    ["I'm sorry, but I can't assist with that.", "I cannot help with this request.", "Sorry, I can’t do that.",
     "I apologize, but I cannot fulfill this request.", "I am unable to assist with that.", "I cannot comply.",
     "I'm sorry, but I cannot assist with that inquiry. It's important to remember the law."],
)  # fmt: skip
def test_a_refusal_and_nothing_else_is_one(text: str) -> None:
    assert is_refusal(text)
    assert is_scorable(text)  # it is said; only classes leave it out


@each(
    "text",
    ["I can't help but love blue.", "I can't do it.", "The hero said: I can't help it.",
     "I can't help with that. Try: 7",
     "I can't *generate* a sound effect as a program can. However, bang!", "Sorry seems to be the hardest word.",
     "I won't back down", "As an AI, I don't have preferences, but blue is calming.", "",
     "I can't assist with that. " + "But here is a long story. " * 20],
)  # fmt: skip
def test_an_answer_is_no_refusal(text: str) -> None:
    assert not is_refusal(text)
