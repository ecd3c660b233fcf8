"""Rating studies: who rates what, by brute force; what comes back, by the stated rules; pages whose texts are inert."""

import json
import re
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from divbench.core.errors import ConfigurationError, InputError
from submissions.choices import FormName
from submissions.judgements.rating_study import (
    FORM_OF,
    FORMS,
    RatedSet,
    Study,
    assign,
    make_study,
    page,
    read_study,
    write_study,
)
from submissions.judgements.ratings import Ratings, read_ratings
from submissions.untrusted.findings import Rejected
from tests.leaderboard.injections import INJECTIONS

SETS = tuple(RatedSet(f"set-{i}", f"Prompt {i // 2}", (f"one {i}", f"two {i}", f"three {i}")) for i in range(12))


def study_of(form: FormName = "absolute", per_rater: int = 6) -> Study:
    return make_study(form, SETS, raters_per_item=3, per_rater=per_rater, seed=1)


def shown(study: Study, rater: int) -> dict[str, Any]:
    """The data that a page embeds."""
    return dict(json.loads(page(study, rater).split('id="data">')[1].split("</script>")[0]))


def answered(given: Study, form: int, **changes: Any) -> dict[str, Any]:
    """What a rater's form downloads: right checks, ratings 1, 2, 3 in turn."""
    items = given.by_id()
    answers = []
    for number, name in enumerate(given.assignment[form]):
        for question in FORM_OF[given.form].questions:
            span = (items[name].expected or {}).get(question.name)
            answer = span[0] if span else 1 + number % 3
            answers.append({"item": name, "question": question.name, "answer": answer, "seconds": 10})
    return {"study": given.study, "form": form + 1, "rater": f"r{form}", "answers": answers} | changes


def read(study: Study, folder: Path, *documents: Any) -> Ratings:
    folder.mkdir(exist_ok=True)
    for number, document in enumerate(documents):
        (folder / f"{number}.json").write_text(json.dumps(document), encoding="utf-8-sig")
    (folder / "notes.txt").touch()
    return read_ratings(study, [folder])


def test_each_item_is_rated_by_so_many_people_and_by_nobody_twice() -> None:
    for items in (1, 2, 7, 40):
        for raters in (1, 3, 10):
            for per_rater in (1, 5, 40, 100):
                plan = assign(items, raters, per_rater, seed=items)
                assert all(len(set(own)) == len(own) <= per_rater for own in plan)
                assert Counter(i for own in plan for i in own) == dict.fromkeys(range(items), raters)
                loads = [len(own) for own in plan]
                assert max(loads) - min(loads) <= 1
    assert assign(40, 10, 20, seed=1) != assign(40, 10, 20, seed=2)
    # Raters meet in many combinations: no two groups of people rate the same items only.
    together = {frozenset(pair) for own in assign(40, 10, 20, seed=1) for pair in combinations(own, 2)}
    assert len(together) > 0.95 * 40 * 39 / 2
    with pytest.raises(ConfigurationError, match="take 1,000,000 raters"):
        assign(100_000, 10, 1, seed=0)


def test_forms_have_training_first_and_hidden_checks_and_the_same_bytes_for_the_same_seed(tmp_path: Path) -> None:
    for form in FORMS:
        study = study_of(form)
        assert study == study_of(form)
        (tmp_path / form).mkdir()
        write_study(study, tmp_path / form)
        assert read_study(tmp_path / form) == study
        pages = sorted(each.name for each in (tmp_path / form / "forms").iterdir())
        assert pages == [f"rater-{rater + 1:03}.html" for rater in range(len(study.assignment))]
        items = study.by_id()
        assert len(items) == len(study.items)
        for rater, own in enumerate(study.assignment):
            kinds = [items[name].kind for name in own]
            training = kinds.count("training")
            assert kinds[:training] == ["training"] * training
            assert training >= 1
            assert kinds[training] == "rating"
            assert kinds.count("check") >= 2
            assert len(set(own)) == len(own)
            screens = {each["item"]: each for each in shown(study, rater)["items"]}
            for name in own:
                assert ("expected" in screens[name]) == (items[name].kind == "training")
            assert '"check"' not in page(study, rater)
    # Ranking asks about two sets of one prompt; similarity about each pair of responses.
    assert sum(each.kind == "rating" for each in study_of("ranking").items) == 6
    assert sum(each.kind == "rating" for each in study_of("similarity").items) == 12 * 3
    with pytest.raises(ConfigurationError, match="nothing to rate"):
        make_study("ranking", SETS[:1], raters_per_item=3, per_rater=6, seed=1)


def test_what_comes_back_is_read_and_raters_are_removed_by_the_rules(tmp_path: Path) -> None:
    study = study_of(per_rater=12)
    items = study.by_id()
    good = answered(study, 0)
    inattentive, alike, fast = answered(study, 1), answered(study, 2), answered(study, 0, rater="fast")
    for row in inattentive["answers"]:
        row["answer"] = 3 if items[row["item"]].kind == "check" else row["answer"]
    for row in alike["answers"]:
        row["answer"] = 4 if items[row["item"]].kind == "rating" else row["answer"]
    for row in fast["answers"]:
        row["seconds"] = 0
    again = answered(study, 0)
    again["answers"] = [{**again["answers"][-1], "answer": 5}, {**again["answers"][-2], "answer": None}]
    found = read(study, tmp_path / "a", good, inattentive, alike, fast, again)
    assert found.removed == {"checks": 1, "one_answer": 1, "too_fast": 1}
    assert (found.raters, found.files, found.repeated, found.blank, found.unchecked) == (1, 5, 1, 1, 0)
    own = {row["item"]: row["answer"] for row in good["answers"] if items[row["item"]].kind == "rating"}
    assert {each.item: each.answer for each in found.ratings} == own
    assert found.removed_ratings == 3 * len(own)


def test_no_id_of_an_item_is_a_number_to_a_spreadsheet() -> None:
    sets = [RatedSet(f"{i}", "A prompt", (f"one {i}", "two")) for i in range(1500)]  # of which some 10 would be
    names = [each.item for each in make_study("absolute", sets, raters_per_item=1, per_rater=50, seed=0).items]
    assert len(set(names)) == len(names)
    assert not [name for name in names if re.fullmatch("[0-9e]*", name)]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"study": "f" * 16}, "it belongs to another study"),
        ({"rater": ""}, "rater: String should have at least 1 character"),
        ({"answers": [7]}, "answers.0: Input should be an object"),
        ({"answers": [{"item": "x", "question": "content", "answer": 1}]}, "'x' is not an item of this study"),
        ({"answers": [{"question": "form", "answer": 1}]}, "'form' is not a question of this study"),
        ({"answers": [{"question": "content", "answer": True}]}, "answers.0.answer: Input should be a valid integer"),
        ({"answers": [{"question": "content", "answer": 6}]}, "6 is not a number from 1 to 5"),
        ({"answers": [{"question": "content", "answer": 1, "seconds": -1}]}, "answers.0.seconds: Input should be"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_read(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    study = study_of()
    answers = [
        {"item": study.items[0].item} | row if isinstance(row, dict) else row for row in changes.get("answers", [])
    ]
    with pytest.raises(Rejected) as caught:
        read(study, tmp_path, answered(study, 0, **changes | ({"answers": answers} if answers else {})))
    (problem,) = caught.value.findings.problems
    assert problem.message.startswith(says)
    assert problem.hint == "ask the rater to send the file again, or leave it out"


def test_damaged_files_and_missing_ones_say_so(tmp_path: Path) -> None:
    study = study_of()
    (tmp_path / "1.json").write_bytes(b"\xff{")
    with pytest.raises(Rejected, match="at least one returned file was rejected") as caught:
        read_ratings(study, [tmp_path])
    assert caught.value.findings.problems[0].message.startswith("not JSON: ")
    (tmp_path / "none").mkdir()
    with pytest.raises(ConfigurationError, match="no ratings yet"):
        read_ratings(study, [tmp_path / "none"])
    with pytest.raises(ConfigurationError, match="there is no file"):
        read_ratings(study, [tmp_path / "nowhere"])
    with pytest.raises(ConfigurationError, match="no study"):
        read_study(tmp_path / "none")
    (tmp_path / "none" / "study.json").write_text("{}")
    with pytest.raises(InputError, match=r"study\.json is not a study: study: Field required"):
        read_study(tmp_path / "none")


def test_untrusted_texts_are_data_on_the_page() -> None:
    study = make_study("absolute", [RatedSet("a", INJECTIONS[0], INJECTIONS)], raters_per_item=1, per_rater=5)
    assert "<" not in page(study, 0).split('id="data">')[1].split("</script>")[0]
    assert [each for each in shown(study, 0)["items"] if each["context"] == INJECTIONS[0]]


def test_the_form_leaves_the_language_of_texts_open_and_has_its_note_before_it_is_read_aloud() -> None:
    """Screen readers read texts in the page's language, and texts in a note that was hidden not at all."""
    sets = [RatedSet("a", "Nennt ein Tier.", ("Hund", "Katze"))]
    form = page(make_study("absolute", sets, raters_per_item=1, per_rater=5), 0)
    assert form.count('dir: "auto", lang: ""') == form.count('dir: "auto"') == 2
    assert "hidden: true" not in form
    assert form.count('role: "status"') == 1
