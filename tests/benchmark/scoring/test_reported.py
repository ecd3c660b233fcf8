"""Metrics of reported partitions: the published numbers recompute from the published rows."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from benchmark.metrics import METRICS
from benchmark.metrics.partition import Partition, distinct_k, of_reported, utility_k, valid_distinct_k_reported
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.per_prompt import REPORTED_CLASSES, reported_record
from benchmark.scoring.profiles import find_profile
from benchmark.scoring.reported import judged_version, make_reported
from benchmark.scoring.results import PER_PROMPT_FILE
from benchmark.scoring.scorer import Options, Scored, score_submission
from datasets_build.load import load_suite
from datasets_build.schema import Prompt, Suite
from submissions.importing.importers import import_submission
from submissions.importing.noveltybench import read_noveltybench
from submissions.schema import Generation, Manifest, Reported, Row, Submitter, System
from submissions.untrusted.findings import Findings
from tests.benchmark.helpers import golden
from tests.submissions.conftest import jsonl

PUBLISHED = golden("noveltybench_reported")


def rows_of_system(mirror: Path, system: str) -> list[Reported]:
    findings = Findings()
    found = read_noveltybench(mirror / "noveltybench" / "submissions" / f"{system}.jsonl", findings)
    assert not findings.rejected()
    assert len(found.reported) == 100
    return [values for *_, values in found.reported.values()]


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


@pytest.mark.mirror
@pytest.mark.parametrize(("system", "published"), PUBLISHED["all_responses"].items())
def test_published_means_and_rows_recompute(mirror: Path, system: str, published: dict[str, float]) -> None:
    rows = rows_of_system(mirror, system)
    assert {len(row.partition) for row in rows} == {published["k"]}
    utilities = [utility_k(of_reported(row), patience=0.8) for row in rows]
    assert mean([distinct_k(of_reported(row)) for row in rows]) == pytest.approx(published["distinct"], abs=1e-6)
    assert mean(utilities) == pytest.approx(published["utility"], abs=1e-6)
    assert utilities == pytest.approx([row.utility for row in rows], abs=1e-9)  # the file's own, row by row


def _scored(path: Path, out: Path, mirror: Path, k: int | None = None) -> Scored:
    """The reported metrics of a file or folder that is imported."""
    known = {
        "name": "GPT-4o",
        "suite": "noveltybench-curated",
        "system": {"type": "model"},
        "submitter": {"name": "tester", "date": date(2026, 1, 1)},
        "reported": "as published",
    }
    suite = load_suite("noveltybench-curated", mirror)
    report, _ = import_submission(path, "noveltybench", out / "in", known, lambda name: suite)
    assert report.submission is not None
    metrics = tuple(metric for metric in METRICS if metric.reads == "reported")
    backends, options = ScoringBackends(find_profile("lexical")), Options(k=k, resamples=200)
    return score_submission(report.submission, suite, backends, out, options, metrics=metrics)


@pytest.mark.mirror
@pytest.mark.parametrize(("k", "published"), [(None, "all_responses"), (8, "first_eight")])
def test_published_means_come_through_import_and_scorer(
    mirror: Path, tmp_path: Path, k: int | None, published: str
) -> None:
    expected = PUBLISHED[published]["gpt-4o"]
    path = mirror / "noveltybench" / "submissions" / "gpt-4o.jsonl"
    scored = _scored(path, tmp_path, mirror, k)
    distinct, _, _, utility = scored.result.scores
    assert (distinct.n, utility.n, distinct.origin, utility.origin) == (100, 100, "reported", "reported")
    assert distinct.value == pytest.approx(expected["distinct"], abs=1e-6)
    assert utility.value == pytest.approx(expected["utility"], abs=5e-4 if k else 1e-6)
    assert ("reported-by", "as published") in distinct.signature.parameters
    # The classes themselves are kept, so that curves can be drawn of them.
    kept: list[Any] = pq.read_table(scored.folder / PER_PROMPT_FILE)[REPORTED_CLASSES].to_pylist()
    parts = [_kept_partition(row) for row in kept]
    assert mean([distinct_k(part) for part in parts]) == pytest.approx(distinct.value, abs=1e-12)
    assert mean([utility_k(part, patience=0.8) for part in parts]) == pytest.approx(utility.value, abs=1e-12)


@pytest.mark.mirror
def test_version_1_1_comes_through_import_and_scorer_apart_from_1_0(mirror: Path, tmp_path: Path) -> None:
    texts, rows = (
        [json.loads(line) for line in (mirror / "noveltybench" / folder / "gpt-4o.jsonl").read_bytes().splitlines()]
        for folder in ("submissions", "v1.1")
    )
    run = tmp_path / "2025-03-27_gpt-4o"
    split = run / "nb-curated"
    fields = ("id", "prompt", "model", "generations")
    jsonl(split / "generations.jsonl", [{name: row[name] for name in fields} for row in texts])
    jsonl(split / "v1.1" / "scores.jsonl", rows)
    jsonl(split / "v1.0" / "scores.jsonl", [{k: v for k, v in row.items() if k != "generations"} for row in texts])
    distinct, useful, quality, utility = _scored(run, tmp_path, mirror).result.scores
    assert [distinct.value, useful.value, quality.value, utility.value] == pytest.approx(
        [
            mean([len(set(row["partition"])) for row in rows]),
            mean([sum(score >= 4 for score in row["partition_scores"]) for row in rows]),
            mean([mean(row["partition_scores"]) for row in rows]),
            mean([row["utility"] for row in rows]),
        ],
        abs=1e-12,
    )
    assert (distinct.value, useful.value) == pytest.approx((2.73, 2.59))
    older, *_ = _scored(
        mirror / "noveltybench" / "submissions" / "gpt-4o.jsonl", tmp_path / "older", mirror
    ).result.scores
    versions = [dict(score.signature.parameters)["reported-version"] for score in (distinct, older)]
    assert versions == ["1.1", "1.0"]
    assert older.value == pytest.approx(2.89)


def _kept_partition(row: dict[str, Any]) -> Partition:
    heads = dict(zip(Partition(tuple(row["labels"])).heads, row["qualities"], strict=True))
    return Partition(tuple(row["labels"]), tuple(heads.get(place) for place in range(len(row["labels"]))))


def test_what_did_not_come_is_not_kept() -> None:
    assert reported_record(None) is None
    assert reported_record(Reported((0, 1, 0), None, 2, None)) == {"labels": [0, 1, 0], "qualities": None}
    assert reported_record(Reported((0, 1, 0), (3.0, 5.0, 0.0), 2, None)) == {
        "labels": [0, 1, 0],
        "qualities": [3.0, 5.0],
    }


# Eq. 2 by hand for p = 0.5: weights 1, 1/2, 1/4 over 1.75.
@pytest.mark.parametrize(
    ("partition", "scores", "distinct", "utility"),
    [
        ((0, 1, 2), (4.0, 6.0, 8.0), 3, (4 + 3 + 2) / 1.75),
        ((0, 0, 0), (7.0, 0.0, 0.0), 1, 7 / 1.75),
        ((0, 1, 0), (10.0, 10.0, 0.0), 2, 15 / 1.75),
        ((0,), (9.0,), 1, 9.0),
    ],
)
def test_distinct_and_utility_by_hand(
    partition: tuple[int, ...], scores: tuple[float, ...], distinct: int, utility: float
) -> None:
    reported = Reported(partition, scores, distinct, None)
    assert valid_distinct_k_reported(reported, lowest=7.0) == sum(score >= 7 for score in scores)
    assert distinct_k(of_reported(reported)) == distinct
    assert utility_k(of_reported(reported), patience=0.5) == pytest.approx(utility, abs=1e-12)


def test_the_first_k_keep_no_utility_of_all() -> None:
    whole = Reported((0, 1, 0, 2), (5.0, 6.0, 0.0, 7.0), 3, 4.2)
    assert whole.first(4) == whole
    assert whole.first(3) == Reported((0, 1, 0), (5.0, 6.0, 0.0), 2, None)
    assert Reported((0, 1), None, 2, None).first(1) == Reported((0,), None, 1, None)


def test_a_result_of_judgements_has_what_it_has_without_responses() -> None:
    prompts = ("p0", "p1", "p2")
    suite = Suite("toy", "toy", tuple(Prompt(name, "creativity", name) for name in prompts))
    values = {
        "p0": Reported((0, 1, 0, 2), (9.0, 3.0, 0.0, 4.0), 3, 5.0, "1.1"),
        "p1": Reported((0, 1, 2, 3), None, 4, None, "1.1"),
        "p2": Reported((0, 0, 0, 0), None, 1, None, "1.1", unscored=True),
    }
    manifest = Manifest(
        name="x", suite="toy", system=System(type="model"), generation=Generation(k=4), submitter=Submitter(name="me")
    )
    result, table = make_reported(manifest, "0" * 16, suite, values, None, 3)
    assert (result.profile, result.counts, result.k) == ("noveltybench-1.1", None, 3)
    assert judged_version(result.profile) == "1.1"
    refused, unscored = {"the judge refused to score it": 1}, {"no scores were reported": 1}
    assert [(score.metric, score.value, score.n, score.missing) for score in result.scores] == [
        ("distinct_k_reported", 2.5, 2, refused),
        ("valid_distinct_k_reported", 1.0, 1, refused | unscored),
        ("mean_head_quality_reported", 6.0, 1, refused | unscored),
        ("utility_k_reported", pytest.approx((9 + 0.8 * 3) / (1 + 0.8 + 0.64)), 1, refused | unscored),
    ]
    assert "response_facts" not in table.column_names
    assert table[REPORTED_CLASSES].to_pylist()[0] == {"labels": [0, 1, 0], "qualities": [9.0, 3.0]}
    rows = {name: Row(1, name, name, ("a", "", "a", "b")) for name in prompts}
    result, table = make_reported(manifest, "0" * 16, suite, values, rows, 3)
    assert result.counts is not None
    assert (result.counts.responses, result.counts.blank, result.counts.repeated) == (9, 3, 3)
    facts: list[Any] = table["response_facts"].to_pylist()
    assert facts[0] == {"bytes": [1, 0, 1], "scored": [True, False, True]}
