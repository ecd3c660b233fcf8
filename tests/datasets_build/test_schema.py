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
A, B = Prompt("a", "Odd", "Say a.", ("Speak a.",)), Prompt("b", "Even", "Say b.")
SUITE = Suite("s", "Suite", (A, B))


def test_rows_of_the_schema_pass_unchanged() -> None:
    table = conform(iter([ROW, ROW | {"prompt_id": "p-2", "paraphrases": []}]), PROMPTS, "here")
    assert table.schema == PROMPTS
    assert table.to_pylist() == [ROW, ROW | {"prompt_id": "p-2", "paraphrases": []}]
    assert conform([], PROMPTS, "here").schema == PROMPTS


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"promt" if key == "prompt" else key: value for key, value in ROW.items()}, r"fields \['prompt'\], unknown"),
        (ROW | {"more": 1}, r"missing fields \[\], unknown fields \['more'\]"),
        (ROW | {"paraphrases": None}, "field paraphrases: null"),
        (ROW | {"prompt": b"bytes"}, r"field prompt: bytes \(expected string\)"),
        (ROW | {"prompt": 5}, r"field prompt: .*'int'.*\(expected string\)"),
        (ROW | {"paraphrases": [5]}, r"field paraphrases: .*\(expected list<"),
        (ROW | {"category": "\ud800"}, "field category: .*surrogates not allowed"),
    ],
)
def test_a_nonconforming_row_is_refused_by_row_and_field(row: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"here, row 2.*{message}"):
        conform([ROW, row], PROMPTS, "here")


@pytest.mark.parametrize("value", [1.5, "1", True])
def test_other_values_are_not_converted_to_integers(value: Any) -> None:
    schema = pa.schema([pa.field("n", pa.int32())])
    assert conform([{"n": 1}, {"n": None}], schema, "here").to_pylist() == [{"n": 1}, {"n": None}]
    with pytest.raises(InputError, match=r"here, row 1, field n: .*\(expected int32\)"):
        conform([{"n": value}], schema, "here")


def test_the_revision_changes_with_texts_order_number_and_paraphrases_but_not_with_names() -> None:
    changes: list[dict[str, Any]] = [{"prompt_id": "x"}, {"category": "x"}, {"prompt": "x"}, {"paraphrases": ()}]
    orders = [(A, B), (B, A), (A,), *((replace(A, **change), B) for change in changes)]
    assert len({Suite("s", "Suite", order).revision for order in orders}) == len(orders)
    assert Suite("t", "Other", SUITE.prompts).revision == SUITE.revision
    assert repr(SUITE) == "Suite(name='s', title='Suite')"
