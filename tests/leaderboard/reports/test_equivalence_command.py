"""`divbench metrics equivalence` on real submissions, and what the board shows of classes."""

import json
from pathlib import Path

import pytest

from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.profiles import find_profile
from benchmark.scoring.scorer import score_submission
from leaderboard.reports.equivalence.commands import _specs
from leaderboard.tables.about import published
from leaderboard.tables.curves import class_curves
from submissions.checking.validate import open_submission
from submissions.demo.build import write_demo_submissions
from tests.conftest import divbench, document
from tests.leaderboard.boards import load_boards

CLASSES = ("metrics", "equivalence")


@pytest.fixture(scope="module")
def submissions(mirror: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("subs")
    made = []
    for name in ("humans", "gpt-4o", "gemini-1.5-pro"):
        ended = divbench(
            "import", mirror / "noveltybench" / "submissions" / f"{name}.jsonl", "--from", "noveltybench",
            "--suite", "noveltybench-curated", "--name", name, "--submitter", "me", "--out", folder / name,
            DIVBENCH_MIRROR=str(mirror),
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr
        made.append(folder / name)
    return made


@pytest.mark.mirror
def test_backends_beside_the_published_classes(mirror: Path, submissions: list[Path], tmp_path: Path) -> None:
    found = document(
        divbench(
            *CLASSES, *submissions, "--k", 8, "--equivalence", "rouge-1", "--algorithm", "greedy", "--algorithm",
            "complete", "--orders", 3, "--choose", "--resamples", 100, "--figure", tmp_path / "c.html", "--out",
            tmp_path / "c.md", "--json", DIVBENCH_MIRROR=str(mirror),
        )
    )  # fmt: skip
    greedy, complete = found["backends"]
    assert (greedy["backend"], complete["backend"]) == ("rouge-1, greedy", "rouge-1, complete")
    published = {own["system"]: own["published"]["value"] for own in greedy["systems"]}
    # The published first-8 counts: humans 6.58, GPT-4o 2.60, gemini-1.5-pro 1.72.
    assert published == pytest.approx({"humans": 6.58, "gpt-4o": 2.60, "gemini-1.5-pro": 1.72}, abs=0.005)
    distinct = {own["system"]: own["distinct"]["value"] for own in greedy["systems"]}
    assert distinct["humans"] > distinct["gpt-4o"] > distinct["gemini-1.5-pro"]
    assert all(len(own["curve"]) == 8 for own in greedy["systems"])
    assert {own["half"] for own in found["choices"]} == {1, 2}
    assert set(found["order"]) == {"rouge-1, greedy"}
    assert found["order"]["rouge-1, greedy"]["humans"]["orders"] == 3
    at = dict(zip(found["patience"], found["utility"]["humans"], strict=True))
    assert at[0.8]["value"] == pytest.approx(4.729711, abs=1e-6)  # as published
    assert at[0.0]["low"] <= at[0.0]["value"] <= 10
    assert "humans" in (tmp_path / "c.html").read_text()
    assert "| rouge-1, greedy |" in (tmp_path / "c.md").read_text()


@pytest.mark.mirror
def test_different_numbers_of_responses_are_named(mirror: Path, submissions: list[Path]) -> None:
    options = ("--equivalence", "rouge-1", "--resamples", 100, "--json")
    ended = divbench(*CLASSES, *submissions[:2], *options, DIVBENCH_MIRROR=str(mirror))
    assert [own["k"] for own in document(ended)["backends"][0]["systems"]] == [8, 10]
    assert "the submissions have 8 to 10 responses per prompt; counts of different k are not comparable" in ended.stderr
    assert "use --k 8" in ended.stderr
    ended = divbench(*CLASSES, *submissions[:2], *options, "--k", 8, DIVBENCH_MIRROR=str(mirror))
    assert [own["k"] for own in document(ended)["backends"][0]["systems"]] == [8, 8]
    assert "warning" not in ended.stderr


@pytest.mark.mirror
def test_the_scorer_and_the_command_count_alike(mirror: Path, submissions: list[Path], tmp_path: Path) -> None:
    scored = document(
        divbench(
            "score", submissions[1], "--profile", "lexical", "--metric", "distinct_k", "--equivalence", "rouge-1",
            "--algorithm", "complete", "--out", tmp_path / "r", "--json", DIVBENCH_MIRROR=str(mirror),
        )
    )  # fmt: skip
    (only,) = scored["results"][0]["result"]["scores"]
    found = document(
        divbench(
            *CLASSES, submissions[1], "--equivalence", "rouge-1", "--algorithm", "complete", "--resamples", 100,
            "--json", DIVBENCH_MIRROR=str(mirror),
        )
    )  # fmt: skip
    assert only["value"] == pytest.approx(found["backends"][0]["systems"][0]["distinct"]["value"])
    assert "complete-v2,rouge-1-f1" in str(only["signature"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--equivalence", "nothing"], "there is no backend 'nothing'"),
        (["--algorithm", "fastest"], "there is no algorithm 'fastest'"),
        (["--k", "99"], "k = 99, but"),
        (["--k", "0"], "choose k from 1 to"),
        (["--out", "x.txt"], "does not end in .md, .json"),
        (["--choose", "--equivalence", "rouge-1"], "no system came with published classes"),
    ],
)
def test_what_cannot_be_done_is_told(tmp_path: Path, arguments: list[str], message: str) -> None:
    folder, *_ = write_demo_submissions(tmp_path / "subs")
    ended = divbench("metrics", "equivalence", folder, *arguments)
    assert (ended.returncode, message in ended.stderr) == (2, True), ended.stderr


def test_two_models_of_one_kind_are_both_compared() -> None:
    one, other = (f"nli=org/{name}@{'0' * 40}" for name in ("a", "b"))
    assert list(_specs([one, other, "rouge-1"], ["greedy"], short_answers=False)) == [
        f"{one}, greedy",
        f"{other}, greedy",
        "rouge-1, greedy",
    ]
    assert list(_specs([one], ["greedy", "average"], short_answers=True)) == [
        "nli, greedy, short answers",
        "nli, average, short answers",
    ]


def test_submissions_of_one_name_are_not_mixed_up(tmp_path: Path) -> None:
    folder, *_ = write_demo_submissions(tmp_path / "subs")
    ended = divbench("metrics", "equivalence", folder, folder)
    assert (ended.returncode, "have the same name" in ended.stderr) == (2, True), ended.stderr


def test_a_board_has_the_curves_of_its_results(tmp_path: Path) -> None:
    varied, _, collapsed, *_ = write_demo_submissions(tmp_path / "subs")
    for folder in (varied, collapsed):
        submission, suite, _ = open_submission(folder)
        score_submission(submission, suite, ScoringBackends(find_profile("lexical")), tmp_path / "results")
    (board,), _ = load_boards(tmp_path / "results")
    curves = class_curves(board)
    assert set(curves) == {"varied", "collapsed"}
    for entry in board.entries:
        curve = curves[entry.result.manifest.name]
        scores = {score.metric: score.value for score in entry.result.scores}
        assert len(curve) == board.k
        assert curve[-1] == pytest.approx(scores["distinct_k"])
    assert curves["varied"][-1] > curves["collapsed"][-1]


def test_published_rows_have_the_number_of_classes_and_their_source() -> None:
    frame = published().frame()
    paper = frame[frame["source"].str.contains("Table 1")]
    assert len(paper) == 20
    assert (paper["distinct_as_printed"] - paper["distinct"]).to_list() == pytest.approx([1.0] * 20)
    others = frame[~frame["source"].str.contains("Table 1")]
    assert (others["distinct_as_printed"] == others["distinct"]).all()
    assert frame["date"].str.fullmatch(r"\d{4}-\d\d-\d\d").all()
    assert frame["distinct"].between(1, 10).all()
    assert frame["utility"].between(1, 10).all()
    assert json.loads(frame.to_json()) is not None
