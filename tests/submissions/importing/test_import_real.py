"""The files that the papers released are taken as they are: every text to the byte, every reported value."""

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from datasets_build.load import load_suite
from submissions.checking.validate import Report
from submissions.choices import Format
from submissions.importing.importers import import_submission

pytestmark = pytest.mark.mirror

# name: k, mean number of classes, mean utility
NOVELTYBENCH = {
    "humans": (8, 6.58, 4.7297),
    "gpt-4o": (10, 2.89, 3.5738),
    "gpt-4o-in-context": (10, 7.81, None),
    "gpt-4o-paraphrase": (10, 5.05, None),
    "gpt-4o-system-prompt": (10, 5.44, None),
    "gemini-1.5-pro": (10, 1.83, 2.8658),
}
OLMO = {
    "base": "allenai/OLMo-2-1124-7B",
    "sft": "allenai/OLMo-2-1124-7B-SFT",
    "dpo": "allenai/OLMo-2-1124-7B-DPO",
    "instruct": "allenai/OLMo-2-1124-7B-Instruct",
}


def take(path: Path, kind: Format, out: Path, mirror: Path) -> tuple[Report, set[str]]:
    known: dict[str, Any] = {
        "name": path.stem,
        "suite": "noveltybench-curated",
        "system": {"type": "human" if path.stem == "humans" else "model"},
        "submitter": {"name": "tester", "date": date(2026, 1, 1)},
        "reported": "deberta-1.0" if kind == "noveltybench" else None,
    }
    return import_submission(path, kind, out, known, lambda name: load_suite(name, mirror))


def source(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_bytes().splitlines():
        yield json.loads(line)


def texts(report: Report) -> dict[str, tuple[str | None, tuple[str, ...]]]:
    assert report.submission is not None
    return {row.prompt_id: (row.prompt, row.responses) for row in report.submission.rows()}


@pytest.mark.parametrize("name", NOVELTYBENCH)
def test_noveltybench_submissions_are_taken_whole(tmp_path: Path, mirror: Path, name: str) -> None:
    k, distinct, utility = NOVELTYBENCH[name]
    path = mirror / "noveltybench" / "submissions" / f"{name}.jsonl"
    report, unused_fields = take(path, "noveltybench", tmp_path / "out", mirror)
    assert report.submission is not None
    assert unused_fields == set()
    assert report.findings.count("error") == 0
    assert report.submission.manifest.generation.k == k
    rows = list(source(path))
    assert report.submission.manifest.system.model_id == rows[0]["model"]

    assert texts(report) == {row["id"]: (row["prompt"], tuple(row["generations"])) for row in rows}
    order = [p.prompt_id for p in load_suite("noveltybench-curated", mirror).prompts]
    assert [row.prompt_id for row in report.submission.rows()] == order

    found = report.submission.reported()["1.0"]
    assert list(found) == order
    for row in rows:
        values = found[row["id"]]
        assert values.partition == tuple(row["partition"])
        assert values.distinct == max(row["partition"]) + 1 == row["distinct"] + 1
        assert values.generation_scores == tuple(map(float, row["generation_scores"]))
        assert values.utility == row["utility"]
    assert mean(values.distinct for values in found.values()) == pytest.approx(distinct, abs=1e-9)
    if utility is not None:
        assert mean(values.utility or 0.0 for values in found.values()) == pytest.approx(utility, abs=5e-5)


@pytest.mark.parametrize("stage", OLMO)
def test_olmo_generations_are_taken_whole(tmp_path: Path, mirror: Path, stage: str) -> None:
    path = mirror / "olmo" / "generations" / f"{stage}_nbcurated.jsonl"
    report, unused_fields = take(path, "jsonl", tmp_path / "out", mirror)
    assert report.submission is not None
    assert report.findings.count("error") == 0
    assert unused_fields == {"prompt_set", "stage"}
    manifest = report.submission.manifest
    assert manifest.system.model_id == OLMO[stage]
    drawn = manifest.generation
    assert (drawn.k, drawn.temperature, drawn.top_p, drawn.max_tokens, drawn.seed) == (10, 1.0, 1.0, 100, 42)

    assert [row.prompt_id for row in report.submission.rows()] == [f"curated-{i}" for i in range(100)]
    expected: dict[str, dict[int, str]] = {}
    for row in source(path):
        expected.setdefault(row["prompt_id"], {})[row["sample_idx"]] = row["response"]
    assert {name: dict(enumerate(found)) for name, (_, found) in texts(report).items()} == expected
