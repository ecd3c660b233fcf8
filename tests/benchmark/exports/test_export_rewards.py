"""Files of rewards: what is read, and all that is wrong with one, at once."""

import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.exports.rewards import read_rewards
from submissions.untrusted.findings import Rejected
from tests.benchmark.export_samples import OWN, K, write_rows


def problems(path: Path) -> set[tuple[int | None, str, str]]:
    """Row, field and message of all that is wrong with a file of rewards."""
    with pytest.raises(Rejected) as caught:
        read_rewards(path, OWN.by_id.keys(), K)
    assert all(problem.file == path.name and problem.hint for problem in caught.value.findings.problems)
    return {(each.row, each.field, each.message) for each in caught.value.findings.problems}


BY_RESPONSE_WRONG = {
    (2, "prompt_id", "'q-99' is not a prompt id of the submission"),
    (3, "index", "5, expected a whole number in 0 … 4"),
    (4, "index", "-1, expected a whole number in 0 … 4"),
    (5, "index", "1.5, expected a whole number in 0 … 4"),
    (6, "index", "response 0 of 'q-01' already appears in row 1"),
    (7, "reward", "'high', expected a finite number"),
    (7, "index", "null, expected a whole number in 0 … 4"),
}


def test_all_that_is_wrong_with_rows_of_responses_is_told(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"prompt_id": "q-01", "index": 0, "reward": 1.0},
        {"prompt_id": "q-99", "index": 0, "reward": 1.0},
        {"prompt_id": "q-01", "index": 5, "reward": 1.0},
        {"prompt_id": "q-01", "index": -1, "reward": 1.0},
        {"prompt_id": "q-01", "index": 1.5, "reward": 1.0},
        {"prompt_id": "q-01", "index": 0, "reward": 1.0},
        {"prompt_id": "q-01", "index": None, "reward": "high"},
    ]
    lines = [*rows, {"prompt_id": "q-01", "index": 1}, {"prompt_id": None, "index": True, "reward": 10**400}]
    assert problems(write_rows(tmp_path / "r.jsonl", lines)) == BY_RESPONSE_WRONG | {
        (8, "reward", "the field is missing"),
        (9, "prompt_id", "null is not a prompt id of the submission"),
        (9, "index", "True, expected a whole number in 0 … 4"),
        (9, "reward", f"1{'0' * 39}…, expected a finite number"),
    }
    # In CSV the heads are row 1, and what is no number is a text.
    as_csv = {(number + 1, field, message) for number, field, message in BY_RESPONSE_WRONG}
    texts = {"5, ": "5, ", "-1, ": "'-1', ", "1.5, ": "'1.5', ", "null, ": "'', "}
    expected = set()
    for number, field, message in as_csv:
        changed = next((message.replace(a, b) for a, b in texts.items() if message.startswith(a)), message)
        expected.add((number, field, changed.replace("row 1", "row 2")))
    assert problems(write_rows(tmp_path / "r.csv", rows)) == expected


def test_all_that_is_wrong_with_rows_of_prompts_is_told(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"prompt_id": "q-01", "rewards": [1, 2, 3, 4, 5]},
        {"prompt_id": "q-01", "rewards": [1, 2, 3, 4, 5]},
        {"prompt_id": "q-02", "rewards": [1, 2, 3]},
        {"prompt_id": "q-03", "rewards": [1, None, "x", True, [2]]},
        {"prompt_id": "q-04", "rewards": 3},
        {"prompt_id": "q-05", "reward": [1]},
        {"prompt_id": 7, "rewards": None},
        {"prompt_id": True, "rewards": None},
    ]
    assert problems(write_rows(tmp_path / "r.jsonl", rows[:5] + rows[6:])) == {
        (2, "prompt_id", "'q-01' already appears in row 1"),
        (3, "rewards", "3 rewards for 5 responses"),
        (4, "rewards[2]", "'x', expected a finite number"),
        (4, "rewards[3]", "True, expected a finite number"),
        (4, "rewards[4]", "[2], expected a finite number"),
        (5, "rewards", "3, expected a list of numbers"),
        (6, "prompt_id", "'7' is not a prompt id of the submission"),
        (7, "prompt_id", "True is not a prompt id of the submission"),
    }
    assert problems(write_rows(tmp_path / "both.jsonl", rows)) == {
        (None, "rewards", "there are both reward and rewards")
    }
    cells = [{"prompt_id": "q-01", "rewards": "[1, 2, nan, 4, 5]"}, {"prompt_id": "q-02", "rewards": "1 2 3 4 5"}]
    assert problems(write_rows(tmp_path / "r.csv", cells)) == {
        (2, "rewards", "'[1, 2, nan, 4, 5]', expected a list of numbers"),
        (3, "rewards", "'1 2 3 4 5', expected a list of numbers"),
    }


def test_numbers_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    columns: dict[str, list[Any]] = {"prompt_id": ["q-01"] * 3, "index": [0, 1, 2], "reward": [math.nan, math.inf, 1.0]}
    pq.write_table(pa.table(columns), tmp_path / "r.parquet")
    not_finite = {(1, "reward", "nan, expected a finite number"), (2, "reward", "inf, expected a finite number")}
    assert problems(tmp_path / "r.parquet") == not_finite
    pq.write_table(
        pa.table({"prompt_id": ["q-01"], "rewards": [[1, 2, math.nan, -math.inf, 5]]}), tmp_path / "r.parquet"
    )
    assert problems(tmp_path / "r.parquet") == {
        (1, "rewards[2]", "nan, expected a finite number"),
        (1, "rewards[3]", "-inf, expected a finite number"),
    }
    (tmp_path / "r.csv").write_text(
        f"prompt_id,index,reward\nq-01,0,nan\nq-01,1,1e999\nq-01,2,1_0\nq-01,3,\nq-01,{'9' * 5000},1\n"
    )
    assert problems(tmp_path / "r.csv") == {
        (2, "reward", "nan, expected a finite number"),
        (3, "reward", "inf, expected a finite number"),
        (4, "reward", "'1_0', expected a finite number"),
        (6, "index", f"'{'9' * 39}…, expected a whole number in 0 … 4"),
    }
    (tmp_path / "r.jsonl").write_text('{"prompt_id": "q-01", "rewards": [1, NaN, 3, 4, 5]}\n')
    assert problems(tmp_path / "r.jsonl") == {(1, "", "not JSON: NaN is not a JSON value")}


@pytest.mark.parametrize(
    ("columns", "wrong"),
    [
        ({"prompt_id": [1.5], "rewards": [[1.0]]}, (1, "prompt_id", "1.5 is not a prompt id of the submission")),
        (
            {"prompt_id": ["q-01"], "index": [0.0], "reward": [1.0]},
            (1, "index", "0.0, expected a whole number in 0 … 4"),
        ),
        ({"prompt_id": ["q-01"], "index": [0], "reward": ["1"]}, (1, "reward", "'1', expected a finite number")),
        (
            {"prompt_id": ["q-01"], "rewards": [[["1"]]]},
            (None, "rewards", "type list<element: list<element: string>>"),
        ),
        ({"prompt_id": ["q-01"], "rewards": [[1.0]], "rewards.x": ["1"]}, (1, "rewards", "1 reward for 5 responses")),
        ({"prompt_id": ["q-01"], "rewards": [[None] * K]}, (None, "", "no response has a reward")),
        ({"rewards": [[1.0] * K]}, (None, "prompt_id", "there is no such column")),
        ({"prompt_id": ["q-01"], "score": [1.0]}, (None, "reward", "there is no such column")),
    ],
)
def test_columns_that_are_wrong_or_not_there(
    tmp_path: Path, columns: dict[str, list[Any]], wrong: tuple[int | None, str, str]
) -> None:
    pq.write_table(pa.table(columns), tmp_path / "r.parquet")
    assert wrong in problems(tmp_path / "r.parquet")


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "r.parquet").write_bytes(b"PAR1 not")
    [(_, _, message)] = problems(tmp_path / "r.parquet")
    assert message.startswith("not a valid Parquet file")
    (tmp_path / "r.jsonl").write_text("")
    assert problems(tmp_path / "r.jsonl") == {(None, "", "the file is empty")}
    assert problems(tmp_path / "r.csv") == {(None, "", "r.csv is missing or is not a regular file")}
    assert problems(tmp_path / "r.doc") == {(None, "", "r.doc is missing or is not a regular file")}
    (tmp_path / "r.txt").write_text("")
    [(_, _, message)] = problems(tmp_path / "r.txt")
    assert message == "r.txt does not end in any of .csv, .tsv, .jsonl, .parquet"


def test_whole_numbers_of_any_writer_are_ids_and_rewards(tmp_path: Path) -> None:
    table = pa.table(
        {
            "prompt_id": pa.array([7, 7, 8], pa.int32()),
            "index": pa.array([0, 1, 1], pa.uint8()),
            "reward": pa.array([1.5, None, 3], pa.float16()),
        }
    )
    pq.write_table(table, tmp_path / "r.parquet")
    assert read_rewards(tmp_path / "r.parquet", {"7", "8"}, 2) == {"7": (1.5, None), "8": (None, 3.0)}
    words = pa.array(["7", "8"]).dictionary_encode()
    large = pa.array([[1, 2], None], pa.large_list(pa.int64()))
    pq.write_table(pa.table({"prompt_id": words, "rewards": large}), tmp_path / "r.parquet")
    assert read_rewards(tmp_path / "r.parquet", {"7", "8"}, 2) == {"7": (1.0, 2.0)}
    (tmp_path / "r.csv").write_text('\ufeffprompt_id,rewards\n7,"[1, null]"\n8,\n', encoding="utf-8")
    assert read_rewards(tmp_path / "r.csv", {"7", "8"}, 2) == {"7": (1.0, None)}
    for name, mark in (("r.CSV", ","), ("r.tsv", "\t")):
        (tmp_path / name).write_text("prompt_id,index,reward\n7,0,1\n".replace(",", mark))
        assert read_rewards(tmp_path / name, {"7", "8"}, 2) == {"7": (1.0, None)}
    (tmp_path / "r.jsonl").write_text('{"prompt_id": 7, "rewards": [1, null]}\n{"prompt_id": "8", "rewards": null}\n')
    assert read_rewards(tmp_path / "r.jsonl", {"7", "8"}, 2) == {"7": (1.0, None)}
