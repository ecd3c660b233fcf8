"""`divbench score` and `divbench metrics list`, as a shell starts them."""

import json
from pathlib import Path
from typing import Any

import pytest

import divbench as db
from benchmark.metrics import METRICS
from benchmark.scoring.results import Result, read_result
from submissions.gaming.baselines import write_demo_submissions
from tests.conftest import divbench


@pytest.fixture(scope="module")
def submission(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_demo_submissions(tmp_path_factory.mktemp("demo"))[0]


def document(*arguments: str) -> dict[str, Any]:
    done = divbench(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_score_writes_a_result_once(submission: Path, tmp_path: Path) -> None:
    arguments = ["score", str(submission), "--profile", "lexical", "--out", str(tmp_path), "--resamples", "100"]
    [first], [again] = document(*arguments)["results"], document(*arguments)["results"]
    assert (first["recognised"], again["recognised"]) == (False, True)
    assert first["result"] == again["result"]
    written = read_result(Path(first["folder"]))
    assert isinstance(written, Result)
    assert written.model_dump(mode="json") == first["result"]
    shown = divbench(*arguments)
    assert shown.returncode == 0
    assert "this result already exists" in shown.stdout
    for score in written.scores:
        assert score.metric in shown.stdout


def test_score_takes_the_first_k(submission: Path, tmp_path: Path) -> None:
    arguments = ["score", str(submission), "--profile", "lexical", "--out", str(tmp_path), "--k", "4"]
    [found] = document(*arguments)["results"]
    assert (found["result"]["k"], found["result"]["counts"]["responses"]) == (4, 24 * 4)


def test_several_submissions_are_scored_in_one_run(submission: Path, tmp_path: Path) -> None:
    folders = [str(submission), str(submission.with_name("collapsed"))]
    ended = divbench("score", *folders, "--profile", "lexical", "--out", str(tmp_path), "--resamples", "100", "--json")
    assert ended.returncode == 0, ended.stderr
    names = [each["result"]["manifest"]["name"] for each in json.loads(ended.stdout)["results"]]
    assert names == ["varied", "collapsed"]
    ended = divbench("score", *folders, "--internals", str(tmp_path / "x.parquet"))
    assert (ended.returncode, "--internals is for a single submission" in ended.stderr) == (2, True)


def test_a_submission_with_too_few_responses_is_named_before_any_is_scored(submission: Path, tmp_path: Path) -> None:
    few = tmp_path / "few"
    rows = [{"prompt_id": f"demo-{i:02}", "responses": ["a", "b"]} for i in range(24)]
    (tmp_path / "few.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    made = ("--suite", "demo", "--name", "the-small-one", "--submitter", "me", "--out", few)
    assert divbench("import", tmp_path / "few.jsonl", *made).returncode == 0
    ended = divbench("score", submission, few, "--profile", "lexical", "--k", 3, "--out", tmp_path / "out")
    assert ended.returncode == 2
    assert "k = 3, but the-small-one has 2 responses per prompt" in ended.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--k", "11"], "k = 11, but varied has 10"),
        (["--profile", "other"], "there is no profile 'other'"),
        (["--profile", "paper"], "no commit of sentence-transformers/bert-large-nli-stsb-mean-tokens is pinned"),
        (["--set", "embedder=org/name"], "'org/name' is not pinned"),
        (["--set", "bert-score=org/name@main"], "'org/name@main' is not pinned"),
        (["--set", "sts=name"], "'name' is neither a folder nor the name of a model"),
        (["--set", "lm=name@http://localhost:1"], "is a server, and the model itself is needed"),
        (["--set", "sts=org/name@http://host"], "'org/name@http://host' is a server, and the model itself is needed"),
        (["--resamples", "3"], "'--resamples'"),
    ],
)
def test_wrong_options_end_with_status_2_and_write_nothing(
    submission: Path, tmp_path: Path, options: list[str], says: str
) -> None:
    done = divbench("score", str(submission), "--profile", "lexical", "--out", str(tmp_path / "out"), *options)
    assert done.returncode == 2
    assert says in done.stderr
    assert not (tmp_path / "out").exists()


def test_cards_are_shown() -> None:
    shown = divbench("metrics", "show", "distinct_n", "vendi_score")
    assert shown.stdout == f"{db.metric('distinct_n')}\n\n{db.metric('vendi_score')}\n"
    found = json.loads(divbench("metrics", "show", "vendi_score", "--json").stdout)
    assert [card["agreement"] for card in found] == [list(db.metric("vendi_score").agreement or ())]
    assert "did you mean vendi_score" in divbench("metrics", "show", "vendi").stderr


def test_metrics_are_listed() -> None:
    done = divbench("metrics", "list", "--json")
    assert [row["id"] for row in json.loads(done.stdout)] == [metric.id for metric in METRICS]
    shown = divbench("metrics", "list").stdout
    assert all(metric.id in shown for metric in METRICS)
