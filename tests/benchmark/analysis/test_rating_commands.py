"""`divbench people forms` and `ratings`: a study, and what comes back."""

import json
from pathlib import Path

import pytest

from submissions.gaming.baselines import write_demo_submissions
from submissions.judgements.rating_study import read_study
from tests.conftest import divbench, document


def test_a_study_of_submissions_is_made_read_and_evaluated(tmp_path: Path) -> None:
    folders = {folder.name: folder for folder in write_demo_submissions(tmp_path / "submissions")}
    out = tmp_path / "study"
    options = ("--sets", 8, "--raters", 2, "--responses", 4, "--out", out)
    made = divbench("people", "forms", folders["varied"], folders["collapsed"], *options)
    assert "8 sets, 8 items, 2 ratings of each." in made.stdout
    assert sorted(each.name for each in out.iterdir()) == ["forms", "study.json"]
    study = read_study(out)
    assert {len(each.responses) for each in study.sets} == {4}
    again = divbench("people", "forms", folders["varied"], "--out", out)
    assert again.returncode == 2
    assert "already exists" in again.stderr
    items = study.by_id()
    answers = tmp_path / "answers"
    answers.mkdir()
    none = divbench("people", "ratings", out, answers)
    assert (none.returncode, none.stdout) == (2, "")
    assert "no ratings yet" in none.stderr
    diverse = {each.set_id: len({*each.responses}) for each in study.sets}
    for rater, names in enumerate(study.assignment):
        rows = []
        for name in names:
            known = (items[name].expected or {}).get("content", (0,))[0]
            rows.append({"item": name, "question": "content", "answer": known or diverse[items[name].sets[0]]})
        text = json.dumps({"study": study.study, "form": rater + 1, "rater": "x", "answers": rows})
        (answers / f"{rater}.json").write_text(text, encoding="utf-8")
    rated = tmp_path / "rated.parquet"
    found = document(divbench("people", "ratings", out, answers, "--out", rated, "--json"))
    assert (found["raters"], found["ratings"], found["questions"]["content"]["alpha"]["value"]) == (2, 16, 1.0)
    assert "2 raters counted, from 2 files." in divbench("people", "ratings", out, answers).stdout
    task = document(divbench("metrics", "metaeval", rated, "--metric", "distinct_n", "--json"))["tasks"][0]
    assert (task["label_name"], task["sets"]) == ("human content", 8)
    assert task["evaluations"][0]["measures"]["human_spearman"]["value"] > 0.5
    for path in answers.iterdir():  # all raters take a second for an item
        known = json.loads(path.read_bytes())
        quick = [row | {"seconds": 1.0} for row in known["answers"]]
        path.write_text(json.dumps(known | {"answers": quick}), encoding="utf-8")
    ended = divbench("people", "ratings", out, answers, "--out", tmp_path / "no.parquet")
    assert ended.returncode == 1
    assert "no ratings are left: 2 who took less than 2 s" in ended.stderr
    assert not (tmp_path / "no.parquet").exists()


@pytest.mark.mirror
def test_a_ranking_draws_only_prompts_with_sets_to_compare(mirror: Path, tmp_path: Path) -> None:
    options = ("--form", "ranking", "--sets", 20, "--raters", 2, "--out", tmp_path / "study")
    ended = divbench("people", "forms", "contest/story_gen", *options, DIVBENCH_MIRROR=str(mirror))
    assert "left out: 70 sets without any text, or whose prompt has no other set to compare" in ended.stderr
    study = read_study(tmp_path / "study")
    items = [each for each in study.items if each.kind == "rating"]
    assert len({each.context for each in study.sets}) == len(items) == 20
    assert {name for each in items for name in each.sets} == {each.set_id for each in study.sets}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("forms", "nothing", "--out", "{}/x"), "neither a submission folder nor a task"),
        (("ratings", "{}", "{}"), "divbench people forms"),
        (("ratings", "{}", "{}", "--out", "x.csv"), "does not end in .parquet"),
    ],
)
def test_what_cannot_be_rated_is_refused(tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    ended = divbench("people", *(each.format(tmp_path) for each in arguments))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert says in ended.stderr
    assert list(tmp_path.iterdir()) == []
