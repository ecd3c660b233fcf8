"""`divbench people forms` and `ratings`: a study, a form in a real browser, and what comes back."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from submissions.gaming.baselines import write_demo_submissions
from submissions.judgements.rating_forms import RatedSet
from submissions.judgements.rating_pages import write_pages
from submissions.judgements.rating_study import make_study, read_study
from submissions.judgements.ratings import read_ratings
from tests.conftest import divbench, document
from tests.leaderboard.conftest import console_errors, until
from tests.leaderboard.injections import INJECTIONS, assert_inert, not_shown

if TYPE_CHECKING:
    from selenium.webdriver import Chrome


def test_a_study_of_submissions_is_made_read_and_evaluated(tmp_path: Path) -> None:
    folders = write_demo_submissions(tmp_path / "submissions")
    varied, collapsed = (next(each for each in folders if each.name == name) for name in ("varied", "collapsed"))
    out = tmp_path / "study"
    options = ("--sets", 8, "--raters", 2, "--responses", 4, "--json", "--out", out)
    made = document(divbench("people", "forms", varied, collapsed, *options))
    assert (made["sets"], made["items"], made["raters"], made["ratings"]) == (8, 8, 2, 16)
    assert sorted(each.name for each in out.iterdir()) == ["crowd.csv", "forms", "instructions.md", "study.json"]
    study = read_study(out)
    assert {len(each.responses) for each in study.sets} == {4}
    again = divbench("people", "forms", varied, "--out", out)
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
    assert (found["raters"], found["ratings"], found["questions"]["content"]["alpha"]) == (2, 16, 1.0)
    shown = divbench("people", "ratings", out, answers)
    assert "2 raters counted, from 2 files." in shown.stdout
    for path in answers.iterdir():  # all raters take a second for an item
        known = json.loads(path.read_bytes())
        quick = [row | {"seconds": 1.0} for row in known["answers"]]
        path.write_text(json.dumps(known | {"answers": quick}), encoding="utf-8")
    for more in ((), ("--json",)):
        ended = divbench("people", "ratings", out, answers, "--out", tmp_path / "no.parquet", *more)
        assert ended.returncode == 1
        assert "no ratings are left: 2 raters removed, 0 blank answers" in (ended.stdout if more else ended.stderr)
    assert not (tmp_path / "no.parquet").exists()
    task = document(divbench("metrics", "metaeval", rated, "--metric", "distinct_n", "--resamples", 100, "--json"))[
        "tasks"
    ][0]
    assert (task["label_name"], task["sets"]) == ("human content", 8)
    assert task["evaluations"][0]["measures"]["human_spearman"]["value"] > 0.5


@pytest.mark.mirror
def test_a_ranking_draws_only_prompts_with_sets_to_compare(mirror: Path, tmp_path: Path) -> None:
    options = ("--form", "ranking", "--sets", 20, "--raters", 2, "--json", "--out", tmp_path / "study")
    ended = divbench("people", "forms", "contest/story_gen", *options, DIVBENCH_MIRROR=str(mirror))
    made = document(ended)
    assert "left out: 70 sets whose prompt has no other set to compare" in ended.stderr
    study = read_study(tmp_path / "study")
    asked = {name for each in study.items if each.kind == "rating" for name in each.sets}
    assert len({each.context for each in study.sets}) == 20
    assert asked == {each.set_id for each in study.sets}
    assert made["items"] == 20


def test_commands_say_how_to_begin(tmp_path: Path) -> None:
    for arguments, said in (
        (("forms",), "name response sets and a folder to create"),
        (("forms", "nothing", "--out", tmp_path / "x"), "neither a submission folder nor a task"),
        (("ratings", tmp_path), "divbench people forms"),
        (("ratings", tmp_path, "--out", "x.csv"), "does not end in .parquet"),
    ):
        ended = divbench("people", *arguments)
        assert (ended.returncode, ended.stdout) == (2, ""), ended
        assert said in ended.stderr
    assert not (tmp_path / "x").exists()


@pytest.mark.browser
def test_a_form_is_answered_by_keyboard_survives_a_reload_and_is_read_back(browser: "Chrome", tmp_path: Path) -> None:
    from selenium.webdriver import ActionChains, Keys

    sets = [RatedSet(f"set-{i}", INJECTIONS[i], INJECTIONS[i::4]) for i in range(4)]
    study = make_study("aspects", sets, raters_per_item=1, per_rater=4, seed=0)
    items = [study.by_id()[name] for name in study.assignment[0]]
    (opened,) = write_pages(study, tmp_path)
    console_errors(browser)
    browser.get(opened.as_uri())

    def press(*keys: str) -> None:
        ActionChains(browser).send_keys(*keys).perform()

    def heading() -> str:
        return str(browser.execute_script("return document.querySelector('h1').textContent"))

    press(Keys.ENTER)
    for number, item in enumerate(items):
        assert heading().endswith(f"{number + 1} of {len(items)}")
        assert not not_shown(browser, [item.context, *item.panels[0]])
        assert_inert(browser)
        if number == 1:
            press(Keys.ENTER)
            assert "Please choose" in browser.find_element("css selector", "[role=status]").text
        expected = item.expected or {}
        press(str(expected.get("content", (2,))[0]))
        press(str(expected.get("form", (3,))[0]))
        if number == 3:
            browser.refresh()
            assert heading().startswith("Item 4 of")
            assert browser.execute_script("return JSON.parse(localStorage.getItem(key))?.saves === state.saves")
            chosen = browser.execute_script("return [...document.querySelectorAll(':checked')].map((e) => e.value)")
            assert chosen == [str(expected.get(name, (other,))[0]) for name, other in (("content", 2), ("form", 3))]
            browser.set_window_size(360, 700)
            overflow = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert browser.execute_script(overflow) <= 0
            browser.set_window_size(1500, 1100)
            left_open = _tab(browser, opened)
        press(Keys.ENTER)
        if item.kind == "training":
            assert item.why in browser.find_element("css selector", "[role=status]").text
            press(Keys.ENTER)
    assert heading() == "Thank you"
    _go_on_in(browser, left_open, opened, heading)
    as_json, as_csv = _downloaded(browser, tmp_path)
    assert [read_ratings(study, [each]).removed["too_fast"] for each in (as_json, as_csv)] == [1, 1]  # a machine's keys
    text = str(browser.execute_script("return document.querySelector('textarea').value"))
    assert as_json.read_text(encoding="utf-8") == text
    slower = json.loads(text)
    assert all(0 <= row["seconds"] < 20 for row in slower["answers"])
    slower["answers"] = [row | {"seconds": 5.5} for row in slower["answers"]]
    as_json.write_text(json.dumps(slower), encoding="utf-8")
    found = read_ratings(study, [as_json])
    assert (found.raters, len(found.ratings), found.removed["checks"]) == (1, 8, 0)
    assert {(each.question, each.answer) for each in found.ratings} == {("content", 2), ("form", 3)}
    assert not console_errors(browser)


@pytest.mark.browser
def test_two_windows_side_by_side_lose_no_answer(browser: "Chrome", tmp_path: Path) -> None:
    """Both are seen all the time, so neither learns by being hidden what was answered in the other."""
    sets = [RatedSet(f"set-{i}", "A prompt", (f"one {i}", "two")) for i in range(4)]
    (page,) = write_pages(make_study("absolute", sets, raters_per_item=1, per_rater=4, seed=0), tmp_path)
    answer = "go(arguments[0]); document.querySelector('input').click()"
    browser.get(page.as_uri())
    browser.execute_script("go(-1)")  # so that the other window has the same rater
    first, other = browser.current_window_handle, _tab(browser, page)
    seen = "document.addEventListener('visibilitychange', (event) => event.stopImmediatePropagation(), true)"
    for window in (other, first):
        browser.switch_to.window(window)
        browser.execute_script(seen)
    for window, number in ((first, 0), (first, 1), (other, 2), (first, 3)):
        browser.switch_to.window(window)
        browser.execute_script(answer, number)
    known = browser.execute_script("return Object.keys(JSON.parse(localStorage.getItem(key)).answers).length")
    browser.switch_to.window(other)
    browser.close()
    browser.switch_to.window(first)
    assert known == 4


def _tab(browser: "Chrome", page: Path) -> str:
    """Open a page in a tab that is left open, and go back."""
    first = browser.current_window_handle
    browser.switch_to.new_window("tab")
    browser.get(page.as_uri())
    made = browser.current_window_handle
    browser.switch_to.window(first)
    return made


def _go_on_in(browser: "Chrome", tab: str, page: Path, heading: Callable[[], str]) -> None:
    """A tab that was left open overwrites no answers, and goes on from the newest."""
    until(lambda: _in_a_new_tab(browser, page, heading) == "Thank you", "the end of a tab loses the answers")
    first = browser.current_window_handle
    browser.switch_to.window(tab)
    _be_hidden(browser, True)
    assert _in_a_new_tab(browser, page, heading) == "Thank you", "a tab that was left open overwrites the answers"
    _be_hidden(browser, False)
    assert heading() == "Thank you"
    browser.close()
    browser.switch_to.window(first)


def _in_a_new_tab(browser: "Chrome", page: Path, read: Callable[[], str]) -> str:
    """What a function reads from a page in a new tab, which has no sessionStorage."""
    first = browser.current_window_handle
    browser.switch_to.new_window("tab")
    try:
        browser.get(page.as_uri())
        return read()
    finally:
        browser.close()
        browser.switch_to.window(first)


def _be_hidden(browser: "Chrome", hidden: bool) -> None:
    """Let a page believe that its tab was left or is seen again."""
    browser.execute_script(
        "Object.defineProperty(document, 'hidden', {value: arguments[0], configurable: true});"
        "document.dispatchEvent(new Event('visibilitychange'))",
        hidden,
    )


def _downloaded(browser: "Chrome", folder: Path) -> tuple[Path, Path]:
    """Press both buttons at the end of a form, and return the files: JSON, CSV."""
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})
    for button in browser.find_elements("css selector", ".buttons button")[:2]:
        button.click()
    until(lambda: {each.suffix for each in folder.glob("ratings-*")} == {".json", ".csv"}, "nothing was downloaded")
    return next(folder.glob("ratings-*.json")), next(folder.glob("ratings-*.csv"))
