"""Metrics of reported partitions: the published numbers recompute from the published rows."""

from datetime import date
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from benchmark.metrics import METRICS
from benchmark.metrics.partition import Partition, distinct_k, of_reported, utility_k
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.per_prompt import REPORTED_CLASSES, reported_record
from benchmark.scoring.profiles import find_profile
from benchmark.scoring.results import PER_PROMPT_FILE
from benchmark.scoring.scorer import Options, score_submission
from datasets_build.load import load_suite
from submissions.importing.importers import import_submission, read_noveltybench
from submissions.schema import Reported
from submissions.untrusted.findings import Findings
from tests.benchmark.helpers import golden

PUBLISHED = golden("noveltybench_reported")


def rows_of_system(mirror: Path, system: str) -> list[Reported]:
    findings = Findings()
    found = read_noveltybench(mirror / "noveltybench" / "submissions" / f"{system}.jsonl", findings)
    assert not findings.rejected()
    assert len(found.reported) == 100
    return [values for _, values in found.reported.values()]


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


@pytest.mark.mirror
@pytest.mark.parametrize(("k", "published"), [(None, "all_responses"), (8, "first_eight")])
def test_published_means_come_through_import_and_scorer(
    mirror: Path, tmp_path: Path, k: int | None, published: str
) -> None:
    expected = PUBLISHED[published]["gpt-4o"]
    known = {
        "name": "GPT-4o",
        "suite": "noveltybench-curated",
        "system": {"type": "model"},
        "submitter": {"name": "tester", "date": date(2026, 1, 1)},
        "reported": "as published",
    }
    suite = load_suite("noveltybench-curated", mirror)
    path = mirror / "noveltybench" / "submissions" / "gpt-4o.jsonl"
    report, _ = import_submission(path, "noveltybench", tmp_path / "in", known, lambda name: suite)
    assert report.submission is not None
    metrics = tuple(metric for metric in METRICS if metric.reads == "reported")
    scored = score_submission(
        report.submission,
        suite,
        ScoringBackends(find_profile("lexical")),
        tmp_path,
        Options(k=k, resamples=200),
        metrics=metrics,
    )
    distinct, utility = scored.result.scores
    assert (distinct.n, utility.n, distinct.origin, utility.origin) == (100, 100, "reported", "reported")
    assert distinct.value == pytest.approx(expected["distinct"], abs=1e-6)
    assert utility.value == pytest.approx(expected["utility"], abs=5e-4 if k else 1e-6)
    assert ("reported-by", "as published") in distinct.signature.parameters
    # The classes themselves are kept, so that curves can be drawn of them.
    kept: list[Any] = pq.read_table(scored.folder / PER_PROMPT_FILE)[REPORTED_CLASSES].to_pylist()
    parts = [_kept_partition(row) for row in kept]
    assert mean([distinct_k(part) for part in parts]) == pytest.approx(distinct.value, abs=1e-12)
    assert mean([utility_k(part, patience=0.8) for part in parts]) == pytest.approx(utility.value, abs=1e-12)


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
    assert distinct_k(of_reported(reported)) == distinct
    assert utility_k(of_reported(reported), patience=0.5) == pytest.approx(utility, abs=1e-12)


def test_the_first_k_keep_no_utility_of_all() -> None:
    whole = Reported((0, 1, 0, 2), (5.0, 6.0, 0.0, 7.0), 3, 4.2)
    assert whole.first(4) == whole
    assert whole.first(3) == Reported((0, 1, 0), (5.0, 6.0, 0.0), 2, None)
    assert Reported((0, 1), None, 2, None).first(1) == Reported((0,), None, 1, None)
