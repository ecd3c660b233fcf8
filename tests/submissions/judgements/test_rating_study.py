"""Rating studies: who rates what, by brute force; what comes back, by the stated rules; pages whose texts are inert."""

import csv
import json
import re
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from divbench.core.errors import ConfigurationError, InputError
from submissions.choices import FormName
from submissions.judgements.rating_forms import FORM_OF, FORMS, RatedSet
from submissions.judgements.rating_pages import page, write_crowd_table, write_instructions
from submissions.judgements.rating_study import Study, assign, make_study, read_study, shown_to, write_study
from submissions.judgements.ratings import Ratings, read_ratings
from submissions.untrusted.findings import Rejected
from tests.leaderboard.injections import INJECTIONS

SETS = tuple(RatedSet(f"set-{i}", f"Prompt {i // 2}", (f"one {i}", f"two {i}", f"three {i}")) for i in range(12))


def study_of(form: FormName = "absolute", per_rater: int = 6) -> Study:
    return make_study(form, SETS, raters_per_item=3, per_rater=per_rater, seed=1)


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
        text = document if isinstance(document, str) else json.dumps(document)
        (folder / f"{number}.{'csv' if isinstance(document, str) else 'json'}").write_text(text, encoding="utf-8")
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
        write_study(study, tmp_path)
        assert read_study(tmp_path) == study
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
            shown = {each["item"]: each for each in shown_to(study, rater)["items"]}
            for name in own:
                assert ("expected" in shown[name]) == (items[name].kind == "training")
            assert '"check"' not in page(shown_to(study, rater))
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


def test_tables_of_crowd_platforms_are_read(tmp_path: Path) -> None:
    study = study_of("aspects")
    item = next(each.item for each in study.items if each.kind == "rating")
    columns = "HITId,WorkerId,WorkTimeInSeconds,Input.item,Answer.content,Answer.form"
    platform = f"{columns}\nh,w1,30,{item},4,2\nh,w2,31,{item},5.0,\n"
    found = read(study, tmp_path / "a", platform)
    assert [(each.rater, each.question, each.answer) for each in found.ratings] == [
        ("w1", "content", 4),
        ("w1", "form", 2),
        ("w2", "content", 5),
    ]
    assert (found.blank, found.unchecked) == (1, 2)
    table = f"study,form,rater,item,question,answer,seconds\n{study.study},1,aa,{item},content,4,9.5\n"
    assert [each.rater for each in read(study, tmp_path / "b", table).ratings] == ["1-aa"]
    with pytest.raises(Rejected, match="'another' is another study"):
        read(study, tmp_path / "c", table.replace(study.study, "another"))


def test_in_a_wide_table_of_aspects_form_is_an_answer_and_not_part_of_the_raters_name(tmp_path: Path) -> None:
    study = study_of("aspects")
    items = [each for each in study.items if each.kind == "rating"]
    rows = [f"{each.item},ann,{1 + i % 5},{1 + i % 4}" for i, each in enumerate(items)]
    (tmp_path / "wide.csv").write_text("\n".join(["item,rater,content,form", *rows]))
    found = read_ratings(study, [tmp_path])
    assert {each.rater for each in found.ratings} == {"ann"}
    assert (found.raters, len(found.ratings)) == (1, 2 * len(items))


def test_files_that_went_through_other_programs_change_no_result(tmp_path: Path) -> None:
    """Names in capitals, a byte order mark, form numbers with a point: still one rater, whose second file differs."""
    study = study_of()
    rows = answered(study, 0)["answers"]
    lines = [f"{study.study},1.0,r0,{row['item']},content,{row['answer']},10" for row in rows]
    changed = answered(study, 0)
    changed["answers"][-1] = rows[-1] | {"answer": rows[-1]["answer"] % 5 + 1}
    (tmp_path / "A.JSON").write_text(json.dumps(changed), encoding="utf-8-sig")
    (tmp_path / "B.CSV").write_text("\n".join(["study,form,rater,item,question,answer,seconds", *lines]), "utf-8-sig")
    found = read_ratings(study, [tmp_path])
    assert (found.files, found.raters, found.repeated, found.contradicted) == (2, 1, len(rows), 1)


def test_assignments_rejected_on_a_platform_are_left_out(tmp_path: Path) -> None:
    study = study_of()
    one, other = (each.item for each in study.items[:2])
    text = "Input.item,WorkerId,Answer.content,AssignmentStatus\n"
    given = read(study, tmp_path, f"{text}{one},A,4,Approved\n{other},A,4,Submitted\n{one},B,1,Rejected\n")
    assert (len(given.ratings), given.raters, given.rejected) == (2, 1, 1)


def test_a_time_that_cannot_be_read_is_not_an_unknown_time(tmp_path: Path) -> None:
    """A spreadsheet with decimal commas would keep a rater who took half a second."""
    study = study_of()
    rows = [f"{row['item']};A;{row['answer']};0,5" for row in answered(study, 0)["answers"]]
    with pytest.raises(Rejected) as caught:
        read(study, tmp_path, "\n".join(["item;rater;content;seconds", *rows]))
    problem = caught.value.findings.problems[0]
    assert (problem.row, problem.field) == (2, "seconds")
    assert "'0,5' is not a time" in problem.message


def test_no_id_of_an_item_is_a_number_to_a_spreadsheet() -> None:
    sets = [RatedSet(f"{i}", "A prompt", (f"one {i}", "two")) for i in range(1500)]  # of which some 10 would be
    names = [each.item for each in make_study("absolute", sets, raters_per_item=1, per_rater=50, seed=0).items]
    assert len(set(names)) == len(names)
    assert not [name for name in names if re.fullmatch("[0-9e]*", name)]


def test_ratings_without_a_raters_name_are_refused_and_other_files_are_named(tmp_path: Path) -> None:
    study = study_of()
    item = next(each.item for each in study.items if each.kind == "rating")
    answers = [{"item": item, "question": "content", "answer": 3}]
    as_json = json.dumps({"study": study.study, "form": 1, "answers": answers})
    as_csv = f"study,form,rater,item,question,answer,seconds\n{study.study},1,,{item},content,3,9\n"
    for ending, text in (("json", as_json), ("csv", as_csv)):
        (tmp_path / f"a.{ending}").write_text(text)
        with pytest.raises(Rejected, match="at least one returned file") as caught:
            read_ratings(study, [tmp_path / f"a.{ending}"])
        assert "the rater's name is missing" in str(caught.value.findings.problems)
    folder = tmp_path / "answers"
    folder.mkdir()
    for name, text in (("a.json", as_json.replace('"form"', '"rater": "x", "form"')), ("b.json.txt", ""), (".c", "")):
        (folder / name).write_text(text)
    assert read_ratings(study, [folder]).ignored == ("b.json.txt",)


def test_what_is_wrong_is_named_and_nothing_is_read(tmp_path: Path) -> None:
    study = study_of()
    item = study.items[0].item
    wrong: list[Any] = [
        answered(study, 0, study="f" * 16),
        answered(study, 0, answers=[{"item": "x", "question": "content", "answer": 1}]),
        answered(study, 0, answers=[{"item": item, "question": "form", "answer": 1}]),
        answered(study, 0, answers=[{"item": item, "question": "content", "answer": True}]),
        answered(study, 0, answers=[{"item": item, "question": "content", "answer": 6}]),
        answered(study, 0, answers=[{"item": ["x"], "question": {}, "answer": 2.5}]),
        answered(study, 0, answers=[{"item": item, "question": "content", "answer": 10**400}]),
        answered(study, 0, answers=[7]),
        [1],
        "item,answer\nx,1\n",
        f"item,rater,content\n{item},me,four\n",
    ]
    for number, document in enumerate(wrong):
        with pytest.raises(Rejected) as caught:
            read(study, tmp_path / str(number), document)
        assert len(caught.value.findings.problems) == 1, document
    (tmp_path / "raw").mkdir()
    for content, message in ((b"\xff{", "not UTF-8: "), (b"{", "not JSON: ")):
        (tmp_path / "raw" / "1.json").write_bytes(content)
        with pytest.raises(Rejected, match="at least one returned file was rejected") as caught:
            read_ratings(study, [tmp_path / "raw"])
        (problem,) = caught.value.findings.problems
        assert (problem.file, problem.message[: len(message)]) == ("1.json", message)
        assert problem.hint == "ask the rater to send the file again, or leave it out"
    (tmp_path / "none").mkdir()
    with pytest.raises(ConfigurationError, match="no ratings yet"):
        read_ratings(study, [tmp_path / "none"])
    with pytest.raises(ConfigurationError, match="no study"):
        read_study(tmp_path / "none")
    for text, said in (("{", "Invalid JSON: "), ("{}", "study: Field required")):
        (tmp_path / "none" / "study.json").write_text(text)
        with pytest.raises(InputError, match=rf"study\.json is not a study: {said}"):
            read_study(tmp_path / "none")


def test_untrusted_texts_are_data_on_the_page_and_text_in_the_tables(tmp_path: Path) -> None:
    sets = [RatedSet("a", INJECTIONS[0], INJECTIONS)]
    study = make_study("absolute", sets, raters_per_item=1, per_rater=5, seed=0)
    made = page(shown_to(study, 0))
    data = made.split('id="data">')[1].split("</script>")[0]
    assert "<" not in data
    assert [each for each in json.loads(data)["items"] if each["context"] == INJECTIONS[0]]
    with write_crowd_table(study, tmp_path).open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    cells = [cell for row in rows[1:] for cell in row]
    assert not [cell for cell in cells if "<" in cell or cell.startswith(("=", "+", "-", "@", "\t"))]
    assert "<script" not in write_instructions(study, tmp_path).read_text("utf-8")


def test_the_form_leaves_the_language_of_texts_open_and_has_its_note_before_it_is_read_aloud(tmp_path: Path) -> None:
    """Screen readers read texts in the page's language, and texts in a note that was hidden not at all."""
    study = make_study(
        "absolute", [RatedSet("a", "Nennt ein Tier.", ("Hund", "Katze"))], raters_per_item=1, per_rater=5, seed=0
    )
    made = page(shown_to(study, 0))
    assert made.count('dir: "auto", lang: ""') == made.count('dir: "auto"') == 2
    assert "hidden: true" not in made
    assert made.count('role: "status"') == 2
