"""Whatever stands in a file: texts come out as they went in, and bad bytes are rejected, never an accident."""

import json
import tempfile
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from divbench.core.errors import DivBenchError
from submissions.checking.validate import open_submission
from submissions.choices import Format
from submissions.gaming.attacks import ATTACKS, Attack
from submissions.gaming.baselines import derive
from submissions.importing.importers import import_submission
from submissions.untrusted.json_files import strict_json
from tests.cases import each
from tests.conftest import TOY
from tests.submissions.conftest import KNOWN, a_prompt_a_row, as_noveltybench, find_toy, jsonl

# All of Unicode but the halves of surrogate pairs, which no UTF-8 file can hold.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
SETS = st.integers(1, 4).flatmap(lambda k: st.lists(st.tuples(*[TEXT] * k), min_size=4, max_size=4))
ODD = [("\x00", "\u2028\x85"), ("\r", "\r\n"), ("\ufeff", "\ufffe"), ("", "\U0010ffff")]
VALUE: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=6,
)
FIELDS = sorted({*a_prompt_a_row()[0], *as_noveltybench()[0], "response", "sample_idx", "finish_reasons", "seed"})


def attempt(path: Path, kind: Format) -> bool:
    """Import into a fresh folder; whether it was accepted. What is rejected leaves nothing."""
    out = path.parent / "out"
    try:
        import_submission(path, kind, out, KNOWN, find_toy)
    except DivBenchError:
        assert sorted(path.parent.iterdir()) == [path]
        return False
    assert sorted(path.parent.iterdir()) == sorted([path, out])
    return True


@settings(max_examples=60)
@given(SETS, st.booleans(), st.booleans(), st.sampled_from(ATTACKS))
@example(ODD, False, False, ATTACKS[0])
@example(ODD, True, True, ATTACKS[0])
def test_every_text_comes_out_as_it_went_in(
    sets: list[tuple[str, ...]], ascii_only: bool, each_apart: bool, attack: Attack
) -> None:
    rows: list[dict[str, Any]] = []
    for prompt, texts in zip(TOY.prompts, sets, strict=True):
        name = {"prompt_id": prompt.prompt_id, "prompt": prompt.prompt}
        if each_apart:
            rows += [name | {"response": text, "sample_idx": i} for i, text in enumerate(texts)]
        else:
            rows.append(name | {"responses": list(texts)})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "in.jsonl"
        path.write_bytes("".join(json.dumps(row, ensure_ascii=ascii_only) + "\n" for row in rows).encode())
        import_submission(path, "jsonl", Path(folder) / "out", KNOWN, find_toy)
        submission, _, _ = open_submission(Path(folder) / "out", find_toy)
        assert [row.responses for row in submission.rows()] == sets
        assert [len(row.responses) for row in derive(attack, submission, TOY)[1]] == [len(s) for s in sets]


@pytest.mark.parametrize("kind", get_args(Format))
@settings(max_examples=60)
@given(content=st.binary(max_size=200))
@example(content=b"\xef\xbb\xbf")
@example(content=b"[[[[[[[[[")
@example(content=b'"\\')
@example(content=b"1e999")
@example(content=b"-")
def test_any_bytes_are_rejected(kind: Format, content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "in.jsonl"
        path.write_bytes(content)
        assert not attempt(path, kind)


@pytest.mark.parametrize(
    "kind", [kind for kind in get_args(Format) if kind != "parquet"]
)  # which is not written as JSON
@settings(max_examples=120)
@given(row=st.dictionaries(st.sampled_from(FIELDS), VALUE, max_size=4), left_out=st.sets(st.sampled_from(FIELDS)))
@example(row={"utility": 10**400}, left_out=set())
@example(row={"partition": [10**400, True, None]}, left_out=set())
@example(row={"partition": []}, left_out={"distinct"})
@example(row={"distinct": {}}, left_out=set())
@example(row={"seed": 10**400}, left_out=set())
@example(row={"model": "\ud800"}, left_out=set())
@example(row={"sample_idx": 0, "response": "x"}, left_out={"responses"})
def test_any_values_in_the_fields_are_taken_or_rejected(kind: Format, row: dict[str, Any], left_out: set[str]) -> None:
    rows: list[dict[str, Any]] = as_noveltybench() if kind == "noveltybench" else a_prompt_a_row()
    rows[1] = {key: value for key, value in (rows[1] | row).items() if key not in left_out - row.keys()}
    with tempfile.TemporaryDirectory() as folder:
        attempt(jsonl(Path(folder) / "in.jsonl", rows), kind)


@given(VALUE)
def test_json_that_means_one_thing_is_read_as_it_was_written(value: Any) -> None:
    try:
        text = json.dumps(value, allow_nan=False)
    except ValueError:
        text = json.dumps(value)
        with pytest.raises(ValueError, match="is not a JSON value"):
            strict_json(text)
        return
    assume(text.count("[") + text.count("{") <= 8)
    assert strict_json(text) == value


@each("text", ["[[], [[[[[[[[0]]]]]]]]]", '[{"a": {}}, {"b": [[[[[[[0]]]]]]]}]'])
def test_brackets_that_were_closed_do_not_hide_how_deep_others_are(text: str) -> None:
    with pytest.raises(ValueError, match="nested more than 8 deep"):
        strict_json(text)
    assert strict_json(text.replace("[0]", "0")) is not None
