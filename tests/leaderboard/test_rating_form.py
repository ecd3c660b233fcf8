"""A rating form in a real browser: by keyboard, across a reload, with untrusted texts, and what is read back."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from submissions.judgements.rating_study import RatedSet, make_study, page
from submissions.judgements.ratings import read_ratings
from tests.leaderboard.conftest import console_errors, until
from tests.leaderboard.injections import INJECTIONS, assert_inert, not_shown

if TYPE_CHECKING:
    from selenium.webdriver import Chrome


@pytest.mark.browser
def test_a_form_is_answered_by_keyboard_survives_a_reload_and_is_read_back(browser: "Chrome", tmp_path: Path) -> None:
    from selenium.webdriver import ActionChains, Keys

    sets = [RatedSet(f"set-{i}", INJECTIONS[i], INJECTIONS[i::4]) for i in range(4)]
    study = make_study("aspects", sets, raters_per_item=1, per_rater=4, seed=0)
    items = [study.by_id()[name] for name in study.assignment[0]]
    opened = tmp_path / "form.html"
    opened.write_text(page(study, 0), encoding="utf-8")
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
        press(Keys.ENTER)
        if item.kind == "training":
            assert item.why in browser.find_element("css selector", "[role=status]").text
            press(Keys.ENTER)
    assert heading() == "Thank you"
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    browser.find_element("css selector", ".buttons button").click()
    until(lambda: bool([*tmp_path.glob("ratings-*.json")]), "nothing was downloaded")
    (as_json,) = tmp_path.glob("ratings-*.json")
    assert read_ratings(study, [as_json]).removed["too_fast"] == 1  # a machine's keys
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
