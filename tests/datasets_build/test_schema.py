"""`conform` accepts exactly the schema; a suite's revision changes with everything that results depend on."""

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from datasets_build.schema import PROMPTS, Prompt, Suite, conform
from divbench.core.errors import InputError

ROW: dict[str, Any] = {
    "prompt_id": "p-1",
    "category": "Odd",
    "prompt": "Say it.",
    "paraphrases": ["Speak."],
    "original_prompt": None,
    "context_lost": None,
}
SUITE = Suite(
    "s", "Suite", (Prompt("a", "Odd", "Say a.", ("Speak a.",)), Prompt("b", "Even", "Say b."), Prompt("c", "Odd", "c?"))
)


def test_a_suite_is_shown_without_its_thousands_of_prompts() -> None:
    assert repr(SUITE) == "Suite(name='s', title='Suite')"


def test_rows_of_the_schema_pass_unchanged() -> None:
    table = conform(iter([ROW, ROW | {"prompt_id": "p-2", "paraphrases": []}]), PROMPTS, "here")
    assert table.schema == PROMPTS
    assert table.to_pylist() == [ROW, ROW | {"prompt_id": "p-2", "paraphrases": []}]


def test_no_rows_make_an_empty_table_of_the_schema() -> None:
    assert conform([], PROMPTS, "here").schema == PROMPTS


@pytest.mark.parametrize(
    ("row", "message"),
    [
        pytest.param(
            {"promt" if key == "prompt" else key: value for key, value in ROW.items()},
            r"here, row 2: missing fields \['prompt'\], unknown fields \['promt'\]",
            id="misspelt",
        ),
        pytest.param(ROW | {"more": 1}, r"row 2: missing fields \[\], unknown fields \['more'\]", id="one-more"),
        pytest.param(ROW | {"prompt": None}, "here, row 2, field prompt: null", id="null"),
        pytest.param(ROW | {"paraphrases": None}, "row 2, field paraphrases: null", id="null-list"),
        pytest.param(ROW | {"prompt": b"bytes"}, r"row 2, field prompt: bytes \(expected string\)", id="bytes"),
        pytest.param(ROW | {"prompt": 5}, r"row 2, field prompt: .*'int'.*\(expected string\)", id="number"),
        pytest.param(ROW | {"paraphrases": 5}, "row 2, field paraphrases: .*not a sequence", id="no-list"),
        pytest.param(ROW | {"paraphrases": [5]}, r"row 2, field paraphrases: .*\(expected list<", id="list-of-numbers"),
        pytest.param(ROW | {"category": "\ud800"}, "row 2, field category: .*surrogates not allowed", id="surrogate"),
    ],
)
def test_a_nonconforming_row_is_refused_by_row_and_field(row: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        conform([ROW, row], PROMPTS, "here")


@pytest.mark.parametrize("value", [1.5, 1.0, "1", True])
def test_other_values_are_not_converted_to_integers(value: Any) -> None:
    schema = pa.schema([pa.field("n", pa.int32())])
    assert conform([{"n": 1}, {"n": None}], schema, "here").to_pylist() == [{"n": 1}, {"n": None}]
    with pytest.raises(InputError, match=r"here, row 1, field n: .*\(expected int32\)"):
        conform([{"n": value}], schema, "here")


@pytest.mark.parametrize("change", ["prompt_id", "category", "prompt"])
def test_the_revision_changes_with_each_text(change: str) -> None:
    changed: dict[str, Any] = {change: "other"}
    other = Suite("s", "Suite", (SUITE.prompts[0], replace(SUITE.prompts[1], **changed), SUITE.prompts[2]))
    assert other.revision != SUITE.revision


def test_the_revision_changes_with_the_order_the_number_and_the_paraphrases() -> None:
    a, b, c = SUITE.prompts
    orders = [(a, b, c), (b, a, c), (a, b), (replace(a, paraphrases=()), b, c), (replace(a, paraphrases=("x",)), b, c)]
    assert len({Suite("s", "Suite", order).revision for order in orders}) == len(orders)


def test_the_revision_does_not_depend_on_the_name_of_the_suite() -> None:
    assert Suite("t", "Other", SUITE.prompts).revision == SUITE.revision
    assert len(SUITE.revision) == 12


def test_prompts_are_found_by_id_with_their_position() -> None:
    assert SUITE.by_id["b"].prompt == "Say b."
    assert SUITE.position == {"a": 0, "b": 1, "c": 2}
