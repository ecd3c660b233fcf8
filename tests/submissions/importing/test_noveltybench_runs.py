"""NoveltyBench's runs: folders with several versions, rows without responses, and folders on the Hub."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from divbench.core.errors import DivBenchError
from submissions.checking.validate import Report
from submissions.importing.importers import detect_format, import_submission
from submissions.schema import Reported
from submissions.untrusted.findings import Problem, Rejected
from tests.cases import each
from tests.submissions.conftest import KNOWN, Json, as_noveltybench, find_toy, jsonl, places
from tests.submissions.stores import REPO, running_hub

CONFIG = {"version": 2, "sampling": "in-context", "temperature": 0.7, "max_tokens": 2048, "reasoning_effort": "low"}
SPLIT = "run/nb-curated"


def texts() -> list[Json]:
    rows = [{name: row[name] for name in ("id", "prompt", "model", "generations")} for row in as_noveltybench()]
    return [row | {"generation_key": f"key of {row['id']}", "generation_config": CONFIG} for row in rows]


def slim(**changes: Any) -> list[Json]:
    """Rows of version 1.1 without responses; changes are of the second row, and `...` takes a field out."""
    judged: Json = {
        "partition": [0, 0, 1],
        "distinct": 2,
        "generation_scores": [8, None, 4],
        "partition_scores": [8, 4],
    }
    rows = [
        {**row, **judged, "utility": 5.0, "score_config": {"version": "1.1", "judge_model": "a-judge"}}
        for row in texts()
    ]
    rows = [{name: value for name, value in row.items() if name != "generations"} for row in rows]
    rows[1] |= changes
    return [{name: value for name, value in row.items() if value is not ...} for row in rows]


def older() -> list[Json]:
    return [{name: value for name, value in row.items() if name != "generations"} for row in as_noveltybench()]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run with both versions, and a second split that another suite chooses."""
    split = tmp_path / SPLIT
    jsonl(split / "generations.jsonl", texts())
    jsonl(split / "v1.1" / "scores.jsonl", slim())
    jsonl(split / "v1.0" / "scores.jsonl", older())
    (split / "v1.1" / "summary.json").write_text('{"version": "1.1", "mean_distinct": 2.0, "mean_utility": 5.0}')
    return tmp_path / "run"


def imported(path: Path | str, out: Path, **known: Any) -> tuple[Report, set[str]]:
    return import_submission(path, detect_format(path), out, KNOWN | known, find_toy)


def problems_of(path: Path, tmp_path: Path) -> list[Problem]:
    """What an import is rejected for."""
    with pytest.raises(Rejected) as caught:
        imported(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    return caught.value.findings.problems


@each("given", ["run", SPLIT])
def test_both_versions_of_a_run_are_kept_apart(run: Path, given: str) -> None:
    report, unused = imported(run.parent / given, run.parent / "out" / Path(given).name)
    assert report.findings.problems == []
    submission = report.submission
    assert submission is not None
    values = submission.reported()
    assert [(version, len(rows)) for version, rows in values.items()] == [("1.1", 4), ("1.0", 4)]
    assert submission.newest_reported() == "1.1"
    assert values["1.1"]["toy-1"] == Reported((0, 0, 1), (8.0, 0.0, 4.0), 2, 5.0, "1.1")
    assert values["1.0"]["toy-1"] == Reported((0, 1, 1), (7.0, 3.0, 0.0), 2, 2.5)
    sampling = submission.manifest.generation
    assert (sampling.mode, sampling.temperature, sampling.max_tokens) == ("in-context", 0.7, 2048)
    assert submission.manifest.system.model_id == "toy-model"
    assert submission.manifest.origin is not None
    assert submission.manifest.origin.reported == "a-judge"
    assert unused == {"generation_config.reasoning_effort", "generation_config.version"}


@each(
    ("given", "version"),
    [(f"{SPLIT}/v1.0", "1.0"), (f"{SPLIT}/v1.1/scores.jsonl", "1.1"), (f"{SPLIT}/generations.jsonl", None)],
)
def test_one_version_is_taken_if_its_folder_or_a_file_is_given(run: Path, given: str, version: str | None) -> None:
    report, _ = imported(run.parent / given, run.parent / "out" / str(version))
    assert report.submission is not None
    assert report.submission.newest_reported() == version
    assert len(report.submission.reported()) == (version is not None)


def test_what_differs_between_rows_is_no_fact_of_the_system(run: Path) -> None:
    rows = texts()
    rows[2]["generation_config"] = CONFIG | {"temperature": None, "sampling": "regenerate"}
    jsonl(run / "nb-curated" / "generations.jsonl", rows)
    for name in ("v1.0", "v1.1"):
        (run / "nb-curated" / name / "scores.jsonl").unlink()
    report, unused = imported(run, run.parent / "out")
    assert report.manifest is not None
    assert (report.manifest.generation.mode, report.manifest.generation.temperature) == (None, None)
    assert unused >= {"generation_config.sampling", "generation_config.temperature"}


def test_what_the_judge_refused_is_counted_in_no_mean(run: Path) -> None:
    refused: Json = {"generation_scores": [None] * 3, "partition_scores": [], "utility": None}
    jsonl(run / "nb-curated" / "v1.1" / "scores.jsonl", slim(**refused, unscored="judge_refusal"))
    report, _ = imported(run, run.parent / "out")
    assert [(p.file, p.field, p.message) for p in report.findings.problems] == [
        ("v1.1/scores.jsonl", "unscored", "the judge of 1.1 refused to score 1 of 4 prompts")
    ]
    assert report.submission is not None
    values = report.submission.reported()["1.1"]
    assert values["toy-1"] == Reported((0, 0, 1), None, 2, None, "1.1", unscored=True)
    assert not values["toy-0"].unscored


BAD: dict[str, tuple[list[Json], str, str]] = {
    "unknown prompt": (slim(id="toy-9"), "id", "'toy-9' has no responses in generations.jsonl"),
    "prompt twice": (slim(id="toy-0"), "id", "'toy-0' already appears in row 1"),
    "labels": (slim(partition=[0, 1], generation_scores=[8, 4]), "partition", "2 labels for 3 responses"),
    "no partition": (slim(partition=...), "partition", "the field is missing"),
    "scores of classes": (
        slim(generation_scores=..., partition_scores=[8]),
        "partition_scores",
        "1 score for 2 classes",
    ),
    "no score of a first response": (
        slim(generation_scores=[8, None, None], partition_scores=...),
        "generation_scores[2]",
        "the first response of a class scores 1 to 10",
    ),
    "other responses": (slim(generation_key="other"), "generation_key", "other responses were judged"),
    "other version": (slim(score_config={"version": "1.0"}), "score_config", "version 1.0 of the metric"),
    "scored and unscored": (slim(unscored="judge_refusal"), "generation_scores", "marked as unscored"),
}


@each(("rows", "field", "message"), BAD.values(), ids=BAD)
def test_bad_rows_of_a_version_name_file_row_and_field(
    run: Path, tmp_path: Path, rows: list[Json], field: str, message: str
) -> None:
    jsonl(run / "nb-curated" / "v1.1" / "scores.jsonl", rows)
    problem = next(problem for problem in problems_of(run, tmp_path) if problem.severity == "error")
    assert (problem.file, problem.row, problem.field) == ("v1.1/scores.jsonl", 2, field)
    assert message in problem.message


def test_partitions_that_were_changed_after_scoring_are_rejected(run: Path, tmp_path: Path) -> None:
    rows = [{"id": row["id"], "partition": [0, 0, 0], "distinct": 1} for row in slim()[:1]]
    jsonl(run / "nb-curated" / "v1.1" / "partitions.jsonl", rows)
    problems = problems_of(run, tmp_path)
    assert places(problems) == [("reported", 1, "partition")]
    assert problems[0].message == "differs from that in row 1 of v1.1/scores.jsonl"


def test_what_contradicts_or_is_guessed_is_said(run: Path) -> None:
    split = run / "nb-curated"
    (split / "v1.1" / "summary.json").write_text('{"mean_distinct": 1.0, "mean_utility": 5.0}')
    (split / "v1.2").mkdir()
    jsonl(split / "v1.0" / "scores.jsonl", older()).rename(split / "scores.jsonl")
    guess = [{k: v for k, v in row.items() if k not in {"distinct", "generation_scores"}} for row in as_noveltybench()]
    report, _ = imported(run, run.parent / "out")
    assert [(p.file, p.field, p.message) for p in report.findings.problems] == [
        ("v1.2", "", "this version of the metric is unknown here: 1.1 and 1.0 are read"),
        ("v1.1/summary.json", "mean_distinct", "1.0, but the mean over 4 prompts is 2.0"),
    ]
    assert report.submission is not None
    assert list(report.submission.reported()) == ["1.1", "1.0"]
    alone, _ = imported(jsonl(run.parent / "in.jsonl", guess), run.parent / "guess")
    assert [p.message for p in alone.findings.problems] == ["nothing states the metric's version; 1.0 is a guess"]


@each(
    ("change", "message"),
    [
        (lambda split: [path.unlink() for path in split.rglob("*.json*")], "has no files of NoveltyBench"),
        (
            lambda split: (split / "generations.jsonl").unlink(),
            "generations.jsonl: is missing beside v1.1/scores.jsonl.*hf://datasets/yimingzhang",
        ),
        (lambda split: split.with_name("nb-wildchat").mkdir(), "has nb-curated and nb-wildchat, and the suite is toy"),
    ],
)
def test_a_folder_without_the_wanted_files_is_an_error(
    tmp_path: Path, change: Callable[[Path], Any], message: str
) -> None:
    split = tmp_path / SPLIT
    jsonl(split / "generations.jsonl", texts())
    jsonl(split / "v1.1" / "scores.jsonl", slim())
    change(split)
    with pytest.raises(DivBenchError, match=message):
        imported(tmp_path / "run", tmp_path / "out")


# On the Hub


@pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # by the Hub's client
def test_a_run_is_imported_from_the_hub_at_a_revision(run: Path) -> None:
    files = {path.relative_to(run).as_posix(): path.read_bytes() for path in run.rglob("*.json*")}
    unread = {"nb-wildchat/generations.jsonl": b"{", "nb-curated/batch.jsonl": b"{"}
    with running_hub(run.parent / "home") as server:
        repo = server.repo(REPO)
        commit = repo.commit({f"results/2026_toy/{path}": data for path, data in (files | unread).items()})
        repo.commit({"results/2026_toy/nb-curated/generations.jsonl": b"{"})
        server.faults.fail(503, on="resolve", times=1)
        address = f"hf://datasets/{REPO}/results/2026_toy/nb-curated@{commit.oid}"
        report, _ = imported(address, run.parent / "out")
        fetched = {seen.path.split(f"{commit.oid}/")[-1] for seen in server.requests("resolve") if seen.status == 200}
        assert {name.removeprefix("results/2026_toy/") for name in fetched} == set(files)
        one, _ = imported(address.replace("curated@", "curated/v1.0@"), run.parent / "one")
        assert one.submission is not None
        assert list(one.submission.reported()) == ["1.0"]
        for wrong, message in (
            (f"hf://datasets/{REPO}/results/2026_none", "2026_none has no files of NoveltyBench"),
            (f"hf://datasets/{REPO}/results/2026_toy@{'0' * 40}", "has no such commit"),
            ("hf://datasets/alice/none/results/x", "alice/none/results/x cannot be seen"),
            (f"hf://datasets/{REPO}/../x", "is not a run on the Hub"),
            (f"hf://datasets/{REPO}/results/2026_toy/nb-curated", f"{REPO}/results/2026_toy/nb-curated was rejected"),
        ):
            with pytest.raises(DivBenchError, match=message):
                imported(wrong, run.parent / "none")
    assert report.submission is not None
    assert list(report.submission.reported()) == ["1.1", "1.0"]
    assert report.submission.manifest.submitter.links[0].endswith(f"/tree/{commit.oid}/results/2026_toy/nb-curated")
    here, _ = imported(run, run.parent / "here")
    assert here.manifest is not None
    assert here.manifest.origin == report.submission.manifest.origin


def test_the_file_of_origin_is_known_by_the_digest_of_all_files(run: Path) -> None:
    report, _ = imported(run, run.parent / "out")
    split = run / "nb-curated"
    (split / "v1.0" / "scores.jsonl").write_text("".join(json.dumps(row) + "\n" for row in reversed(older())))
    other, _ = imported(run, run.parent / "other")
    assert report.manifest is not None
    assert other.manifest is not None
    assert report.manifest.origin != other.manifest.origin
