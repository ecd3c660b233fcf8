"""Permalinks take only what a page offers, and hints say what was left out."""

from leaderboard.app.components import OTHER_SHOWN, Choices, missing_hint, several_missing_hint
from leaderboard.app.permalinks import MAX_VALUE, chosen, chosen_or_first, chosen_several, plain_value, remember


def test_only_what_is_offered_is_taken() -> None:
    assert chosen({"x": "b"}, "x", ["a", "b"], "a") == "b"
    assert [chosen(query, "x", ["a", "b"], "a") for query in ({}, {"x": ""}, {"x": "c"}, {"x": "<b>"})] == ["a"] * 4
    assert (chosen_or_first({"x": "c"}, "x", ["a", "b"]), chosen_or_first({"x": "c"}, "x", [])) == ("a", None)
    assert chosen_several({"x": "b,c,a,b"}, "x", ["a", "b"], []) == ["b", "a"]
    assert chosen_several({"x": ""}, "x", ["a"], ["a"]) == []
    assert chosen_several({}, "x", ["a"], ["a"]) == ["a"]
    assert chosen_several({"x": "one%2C two"}, "x", ["one, two"], []) == ["one, two"]  # a comma in a value


def test_values_of_a_call_are_texts_of_limited_length() -> None:
    assert plain_value("x" * 5000) == "x" * MAX_VALUE
    assert plain_value([1, {"a": 2}]) == ["1", "{'a': 2}"]
    assert plain_value(None) is None


def test_the_script_holds_names_as_json_alone() -> None:
    assert '["a\\"; alert(1); //"]' in remember(['a"; alert(1); //'])


def test_a_hint_says_what_is_shown_instead() -> None:
    assert missing_hint(Choices({"x": "gone"}), "x", "a") == OTHER_SHOWN
    assert missing_hint(Choices({"x": "gone"}, "table"), "x", "a") == "Not in this table; this one is shown instead."
    assert missing_hint(Choices({"x": "a"}), "x", "a") == missing_hint(Choices(), "x", "a") == ""
    choices = Choices({"x": "a,b,gone"})
    assert several_missing_hint(choices, "x", ["a", "b"]) == "Not in this table: 1 of 3 chosen systems."
    assert several_missing_hint(choices, "x", ["a", "b", "gone"], 2) == "Only the first 2 of 3 are shown."
