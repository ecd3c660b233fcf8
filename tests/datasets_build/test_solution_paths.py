"""Pairs of a user's questions: one method against any of several."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from datasets_build.gssbench import PAIRS
from datasets_build.gssbench.questions import read_questions, solution_path_pairs
from datasets_build.schema import conform
from divbench.core.errors import ConfigurationError, InputError
from tests.conftest import divbench, document

GOOD = {"id": "q1", "question": "What is 12 times 15?", "methods": ["long multiplication", "10 × 15 and 2 × 15"]}


def test_a_asks_for_the_first_method_and_b_for_any() -> None:
    (row,) = conform(solution_path_pairs([GOOD]), PAIRS, "given").to_pylist()
    assert row["a"] == "What is 12 times 15? Solve it by this method: long multiplication"
    assert row["b"].endswith("Solve it by one of these methods: 1. long multiplication 2. 10 × 15 and 2 × 15")
    assert (row["a_size"], row["b_size"], row["pair_id"]) == (1, 2, "solution_paths-q1")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"question": " "}, "question: not a text"),
        ({"methods": ["one"]}, "methods: not at least two"),
        ({"methods": ["one", "two", "two"]}, "methods: one occurs twice"),
        ({"methods": ["one", 2]}, "methods: not at least two"),
        ({"methods": "one, two"}, "methods: not at least two"),
        ({"id": "q1"}, "id: 'q1' is also the id of row 1"),
    ],
)
def test_a_bad_row_is_refused_by_number_and_field(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"mine.jsonl, row 2, field {message}"):
        list(solution_path_pairs([GOOD, GOOD | {"id": "q2"} | change], "mine.jsonl"))


def test_without_an_id_the_number_of_the_row_names_the_pair() -> None:
    pairs = solution_path_pairs([{**GOOD, "id": name} for name in (None, "", "q3")])
    assert [row["pair_id"] for row in pairs] == ["solution_paths-0001", "solution_paths-0002", "solution_paths-q3"]


@pytest.mark.parametrize(
    ("question", "begins"),
    [
        ("Prove that 2 + 2 = 4 ", "Prove that 2 + 2 = 4. Solve"),
        ('Who said "no?"', 'Who said "no?" Solve'),
    ],
)
def test_a_question_is_a_sentence_of_its_own(question: str, begins: str) -> None:
    (row,) = solution_path_pairs([GOOD | {"question": question}])
    assert row["a"].startswith(begins)


@pytest.mark.parametrize("content", [b"{", b"[1]", b"\xff", b"[" * 100_000])
def test_a_bad_line_is_refused_by_number(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_bytes(b'{"question": "q", "methods": ["a", "b"]}\n' + content + b"\n")
    with pytest.raises(InputError, match="row 2"):
        list(read_questions(path))


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        list(read_questions(tmp_path / "none"))


def test_the_command_writes_the_pairs_or_says_why_not(tmp_path: Path) -> None:
    questions, nothing, out = tmp_path / "questions.jsonl", tmp_path / "nothing.jsonl", tmp_path / "pairs.parquet"
    questions.write_text('{"question": "q", "methods": ["a", "b"]}\n', encoding="utf-8")
    nothing.write_text("")
    assert document(divbench("data", "solution-pairs", questions, "--out", out, "--json"))["pairs"] == 1
    assert pq.read_table(out).schema.equals(PAIRS)
    for path, name, reason in ((questions, "pairs.csv", "a .parquet file"), (nothing, "none.parquet", "no questions")):
        ended = divbench("data", "solution-pairs", path, "--out", tmp_path / name)
        assert (ended.returncode, reason in ended.stderr) == (2 if path == questions else 1, True)
        assert not (tmp_path / name).exists()
