"""NoveltyBench files: partitions and scores are kept aside as reported, `distinct` is converted, lies are rejected."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from divbench.core.errors import ConfigurationError
from submissions.schema import Reported
from tests.cases import each
from tests.submissions.conftest import Json, Place, as_noveltybench, imported, jsonl, places, rejected


def with_row(number: int, **changes: Any) -> list[Json]:
    """The good rows with one changed; `...` takes a field out."""
    rows = as_noveltybench()
    rows[number - 1] |= changes
    return [{key: value for key, value in row.items() if value is not ...} for row in rows]


def reported(path: Path, **known: Any) -> dict[str, Reported]:
    report, _ = imported(path, "noveltybench", **known)
    assert report.submission is not None
    return next(iter(report.submission.reported().values()), {})


def test_generations_alone_have_no_reported_values(tmp_path: Path) -> None:
    rows = [{key: row[key] for key in ("id", "prompt", "model", "generations")} for row in as_noveltybench()]
    assert reported(jsonl(tmp_path / "in.jsonl", rows)) == {}
    assert not (tmp_path / "out" / "reported.parquet").exists()


def test_reported_values_are_kept_beside_the_responses(tmp_path: Path) -> None:
    found = reported(jsonl(tmp_path / "in.jsonl", as_noveltybench()[::-1]), reported="deberta-1.0")
    assert list(found) == ["toy-0", "toy-1", "toy-2", "toy-3"]
    assert set(found.values()) == {Reported((0, 1, 1), (7.0, 3.0, 0.0), 2, 2.5)}


def test_what_made_the_reported_values_is_refused_where_there_are_none(tmp_path: Path) -> None:
    with_values, _ = imported(jsonl(tmp_path / "a" / "in.jsonl", as_noveltybench()), "noveltybench", reported="deberta")
    assert with_values.manifest
    assert with_values.manifest.origin
    assert with_values.manifest.origin.reported == "deberta"
    bare = [{key: row[key] for key in ("id", "prompt", "generations")} for row in as_noveltybench()]
    with pytest.raises(ConfigurationError, match="has no reported partition that 'deberta' could have made"):
        imported(jsonl(tmp_path / "b" / "in.jsonl", bare), "noveltybench", reported="deberta")


@each(
    ("changes", "distinct", "utility", "scores"),
    [
        pytest.param({"distinct": 1}, 2, 2.5, (7.0, 3.0, 0.0), id="version 1.0: the highest label"),
        pytest.param({"distinct": 2}, 2, 2.5, (7.0, 3.0, 0.0), id="version 1.1: the number of classes"),
        pytest.param({"distinct": 3}, 2, 2.5, (7.0, 3.0, 0.0), id="the paper: one more"),
        pytest.param({"distinct": ...}, 2, 2.5, (7.0, 3.0, 0.0), id="not given"),
        pytest.param({"utility": ...}, 2, None, (7.0, 3.0, 0.0), id="no utility"),
        pytest.param({"generation_scores": ..., "partition_scores": ...}, 2, 2.5, None, id="no scores"),
        pytest.param(
            {"distinct": 2, "generation_scores": [7, 3, None]}, 2, 2.5, (7.0, 3.0, 0.0), id="1.1: null for not scored"
        ),
        pytest.param({"generation_scores": ...}, 2, 2.5, (7.0, 3.0, 0.0), id="scores of classes only"),
        pytest.param({"generation_scores": [7, 3, 4]}, 2, 2.5, (7.0, 3.0, 0.0), id="1.1's reward model: all scored"),
        pytest.param(
            {
                "distinct": 2,
                "generation_scores": [None] * 3,
                "partition_scores": [],
                "utility": None,
                "unscored": "judge_refusal",
            },
            *(2, None, None),
            id="1.1: refused by the judge",
        ),
    ],
)
def test_the_versions_of_the_format_come_to_the_same(
    tmp_path: Path, changes: Json, distinct: int, utility: float | None, scores: tuple[float, ...] | None
) -> None:
    rows = [{k: v for k, v in (row | changes).items() if v is not ...} for row in as_noveltybench()]
    (values,) = set(reported(jsonl(tmp_path / "in.jsonl", rows)).values())
    expected = Reported((0, 1, 1), scores, distinct, utility, unscored="unscored" in changes)
    assert values == replace(expected, version=values.version)


BAD: list[tuple[list[Json], list[Place], str]] = [
    (
        with_row(3, distinct=2),
        [("reported", None, "distinct")],
        "distinct differs from the number of classes by more in some rows than in others (row 1 and row 3)",
    ),
    (
        [row | {"distinct": 4} for row in as_noveltybench()],
        [("json", row, "distinct") for row in (1, 2, 3, 4)],
        "is neither the number of classes in the partition (2), nor one less or more",
    ),
    (with_row(2, distinct="2"), [("json", 2, "distinct")], "a string, expected a whole number"),
    (with_row(2, partition=[1, 0, 0]), [("reported", 2, "partition")], "labels [1, 0, 0]"),
    (
        with_row(2, partition=[0, 1], generation_scores=[7, 3]),
        [("reported", 2, "partition")],
        "2 labels for 3 responses",
    ),
    (
        with_row(2, partition=[0, "1", 1.0]),
        [("json", 2, "partition[1]"), ("json", 2, "partition[2]")],
        "a string, expected a whole number",
    ),
    (with_row(2, partition_scores=[7, 4]), [("json", 2, "partition_scores")], "differ from generation_scores"),
    (with_row(2, generation_scores=[7, 3]), [("reported", 2, "generation_scores")], "2 scores for 3 responses"),
    (
        with_row(2, generation_scores=[7, 0, 0], partition_scores=[7, 0]),
        [("reported", 2, "generation_scores[1]")],
        "0.0; the first response of a class scores 1 to 10, the others 0",
    ),
    (with_row(2, utility=10.5), [("reported", 2, "utility")], "10.5 is not between 0 and 10"),
    (with_row(2, prompt=...), [("json", 2, "prompt")], "the field is missing"),
]


@each(("rows", "where", "message"), BAD)
def test_bad_rows_are_rejected_and_nothing_is_written(
    tmp_path: Path, rows: list[Json], where: list[Place], message: str
) -> None:
    problems = rejected(jsonl(tmp_path / "in.jsonl", rows), "noveltybench")
    assert places(problems) == where
    assert message in problems[0].message
    assert {p.file for p in problems} == {"in.jsonl"}


def test_an_infinite_score_is_rejected(tmp_path: Path) -> None:
    # 1e999 is JSON, and more than a float holds.
    rows: list[object] = [*as_noveltybench()]
    rows[1] = str(rows[1]).replace("'", '"').replace("2.5", "1e999").encode()
    problems = rejected(jsonl(tmp_path / "in.jsonl", rows), "noveltybench")
    assert places(problems) == [("json", 2, "utility")]


def test_the_same_text_in_two_classes_is_shown_as_reported_with_a_warning(tmp_path: Path) -> None:
    report, _ = imported(jsonl(tmp_path / "in.jsonl", with_row(3, generations=["a", "a", "b"])), "noveltybench")
    assert places(report.findings.problems) == [("reported", 3, "partition")]
    assert report.findings.problems[0].severity == "warning"
    assert report.findings.problems[0].message == "identical responses are in different classes"
    assert report.submission is not None
    assert report.submission.reported()["1.0"]["toy-2"].distinct == 2


def test_reported_values_may_stand_with_some_prompts_only(tmp_path: Path) -> None:
    rows = as_noveltybench()
    for name in ("partition", "distinct", "generation_scores", "partition_scores", "utility"):
        del rows[0][name]
    rows[2]["utility"] = 11
    problems = rejected(jsonl(tmp_path / "in.jsonl", rows), "noveltybench")
    assert places(problems) == [("reported", 3, "utility")]
