"""The page of models in a real browser: the numbers, sorting, filters, permalinks, downloads."""

import csv
from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from shutil import copytree
from typing import Any

import pandas as pd
import pytest

from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.profiles import find_profile
from benchmark.scoring.scorer import Options, score_submission
from leaderboard.app.components import GONE
from leaderboard.data.board import Board
from leaderboard.data.metric_study.study import load_studies
from leaderboard.data.scores import BoardScores
from leaderboard.tables.forest import forest
from leaderboard.tables.measures import metric_sentences
from leaderboard.tables.models import rank_text, score_cells
from submissions.checking.validate import open_submission
from tests.leaderboard.app.test_stale_choices import pick
from tests.leaderboard.boards import load_boards
from tests.leaderboard.conftest import HOSTILE_NAME, console_errors, on_a_phone, open_page, shown_anew, until
from tests.leaderboard.page_reading import column, gaps, query, selects, value
from tests.leaderboard.servers import serving

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def board(results: Path) -> Board:
    return load_boards(results)[0][0]


def _there(folder: Path, kind: str) -> bool:
    return any(folder.glob(f"*.{kind}"))


def choose(browser: Any, element: str, text: str) -> None:
    """Choose from a dropdown as a visitor does, by keyboard."""
    from selenium.webdriver.common.keys import Keys

    field = browser.find_element("css selector", f"#{element} input")
    field.click()
    field.send_keys(Keys.CONTROL, "a")
    with shown_anew(browser):
        field.send_keys(text, Keys.ENTER)


_BOX = "return document.querySelector(arguments[0])?.getBoundingClientRect().toJSON() ?? null"
# Clicks on what a visitor would hit in the middle of an element.
_CLICK = """
const box = document.querySelector(arguments[0]).getBoundingClientRect();
document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2).click();
"""


def unfold(browser: Any) -> None:
    """Open what is behind the button."""
    browser.find_element("css selector", "#more > button, #more .label-wrap").click()
    until(lambda: browser.find_elements("css selector", "#meaning button"), "the button opens nothing")


def test_the_first_screen_answers_the_question(site_address: str, browser: Any, board: Board) -> None:
    open_page(browser, f"{site_address}/?rank=distinct_n")
    scores, chosen = BoardScores(board), next(column for column in board.columns if column.label == "distinct_n")
    drawn = forest(board, chosen, scores.standings(chosen))
    assert browser.find_element("css selector", ".forest .answer").text == " ".join(drawn.sentence.split())
    names = [row.text for row in browser.find_elements("css selector", ".forest tbody th a")]
    assert names == [" ".join(row.system.split()) for row in drawn.rows]
    values = [cell.text.split()[0] for cell in browser.find_elements("css selector", ".forest td.value")]
    assert values == [row.mark.text for row in drawn.rows]
    boxes = ("#warnings", ".forest .answer", ".forest tbody tr")
    warnings, answer, row = (browser.execute_script(_BOX, each) for each in boxes)
    above = warnings["height"] + 12 if warnings else 0  # this board has a damaged result
    assert answer["width"] > 500
    assert row["top"] - above < 260
    assert answer["bottom"] - above < 220
    assert row["top"] - answer["bottom"] < 60
    told = browser.find_element("css selector", ".forest thead .value bdi").get_attribute("title")
    assert told == metric_sentences(load_studies(None).study)["distinct_n"]
    assert browser.execute_script("return window.hacked") is None
    browser.execute_script(_CLICK, ".forest tbody td.plot")  # anywhere in the row
    masthead = "return document.querySelector('.masthead h1')?.textContent ?? ''"
    until(
        lambda: drawn.rows[0].system in browser.execute_script(masthead), "the name does not lead to the system's page"
    )
    assert console_errors(browser) == []


@pytest.mark.parametrize("page", ["", "metrics"])
def test_the_scale_of_a_forest_plot_lies_over_its_rows(site_address: str, browser: Any, page: str) -> None:
    """On a phone, where the heading of the other columns is hidden, the scale was narrower than what it measured."""
    open_page(browser, f"{site_address}/{page}")
    plots = [f".forest {part} .plot svg" for part in ("thead", "tbody")]
    for screen in (nullcontext(), on_a_phone(browser)):
        with screen:
            scale, row = (browser.execute_script(_BOX, plot) for plot in plots)
            assert row["width"] > 150
            assert (scale["left"], scale["width"]) == pytest.approx((row["left"], row["width"]), abs=1)


def test_the_table_shows_the_numbers_of_the_results_by_rank(site_address: str, browser: Any, board: Board) -> None:
    open_page(browser, f"{site_address}/?rank=distinct_n&show=diversity")
    scores = BoardScores(board)
    chosen = next(column for column in board.columns if column.label == "distinct_n")
    names = [entry.result.manifest.name for entry in board.entries]
    ranks = {name: rank_text(each) for name, each in zip(names, scores.standings(chosen), strict=True)}
    shown = column(browser, "systems", 0)
    assert sorted(shown) == sorted(names)
    assert HOSTILE_NAME in shown
    assert column(browser, "systems", 1) == [ranks[name] for name in shown]
    headings = [e.text.split("\n")[0] for e in browser.find_elements("css selector", "#systems thead th")]
    texts = dict(zip(names, score_cells(board, chosen), strict=True))
    place = next(i for i, heading in enumerate(headings) if heading.startswith("distinct_n"))
    assert column(browser, "systems", place) == [texts[name].text for name in shown]


@pytest.mark.thorough
def test_a_permalink_restores_every_choice(site_address: str, browser: Any) -> None:
    asked = "rank=self_bleu&show=custom&columns=self_bleu%2Cead&q=e&types=baseline&weights=any"
    open_page(browser, f"{site_address}/?{asked}")
    assert set(column(browser, "systems", 0)) == {"shuffled-words", "random-characters", "repeated"}
    headings = [e.text.split("\n")[0] for e in browser.find_elements("css selector", "#systems thead th")]
    assert headings[1] == "rank by self_bleu"
    assert [heading.split()[0] for heading in headings[2:4]] == ["ead", "self_bleu"]
    assert browser.find_element("css selector", "#q input, #q textarea").get_property("value") == "e"


@pytest.mark.thorough
def test_an_address_that_asks_for_what_is_not_offered_shows_the_default(site_address: str, browser: Any) -> None:
    open_page(browser, f"{site_address}/?rank=<b>&suite=none&table=none&show=x&types=y&licence=z&size=1T&columns=q")
    assert len(column(browser, "systems", 0)) == 7
    assert [GONE in browser.find_element("id", each).text for each in ("suite", "rank")] == [True, True]
    assert console_errors(browser) == []
    open_page(browser, f"{site_address}/?by=vendi_score")
    assert GONE in browser.find_element("css selector", "#by").text
    assert GONE not in browser.find_element("css selector", "#rank").text


def test_choices_go_into_the_address_and_a_reload_keeps_them(site_address: str, browser: Any) -> None:
    open_page(browser, site_address)
    unfold(browser)
    choose(browser, "by", "words: self_bleu")
    until(lambda: query(browser).get("by") == ["self_bleu"], "the choice is not in the address")
    field = browser.find_element("css selector", "#q input, #q textarea")
    field.send_keys("paraphr")
    until(lambda: column(browser, "systems", 0) == ["paraphrased"], "the search does not filter")
    until(lambda: query(browser).get("q") == ["paraphr"], "the search is not in the address")
    open_page(browser, browser.current_url)
    assert column(browser, "systems", 0) == ["paraphrased"]
    assert "rank by self_bleu" in browser.find_element("css selector", "#systems thead").text


_CHECKED = "return document.querySelector('#rank input:checked')?.value ?? null"


def test_a_tab_and_the_list_of_metrics_replace_each_other(reference_address: str, browser: Any) -> None:
    def ranks_by(label: str, tab: str | None, by: str) -> bool:
        heading = browser.find_element("css selector", "#systems thead").text
        shown = browser.execute_script(_CHECKED), value(browser, "by")
        return f"rank by {label}" in " ".join(heading.split()) and shown == (tab, by)

    def answer() -> str:
        text: str = browser.find_element("css selector", ".forest .answer").text
        return text

    open_page(browser, f"{reference_address}/?show=overview")
    first = answer()
    for label, tab, by in (("class_entropy", None, "classes: class_entropy"), ("distinct_n", "distinct_n", "")):
        if tab is None:
            pick(browser, "by", by)
        else:
            with shown_anew(browser):
                browser.find_element("css selector", f"#rank input[value={tab}]").click()
        until(partial(ranks_by, label, tab, by or "as measured above"), f"not ranked by {label}")
        until(lambda: answer() != first, "the sentence has not changed")
        assert query(browser).get("rank") == (None if tab is None else [tab])
        open_page(browser, browser.current_url)
        assert ranks_by(label, tab, by or "as measured above")
    pick(browser, "by", "classes: valid_distinct_k")  # the metric of another tab
    until(partial(ranks_by, "valid_distinct_k", "valid_distinct_k", "classes: valid_distinct_k"), "no tab")
    until(lambda: answer() == first, "another sentence")


def _sorted(browser: Any, heading: Any, order: str, names: list[str]) -> bool:
    """Whether the rows stand so, and the arrow of the heading and its label for screen readers say so."""
    arrow = heading.find_element("css selector", ".sort-indicator").get_attribute("aria-label")
    said = heading.get_attribute("aria-sort")
    return column(browser, "systems", 0) == names and (arrow, said) == (f"Sorted {order}", order)


def _downloads_equal_the_table(browser: Any, folder: Path, values: Mapping[str, float | None]) -> None:
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})
    for kind in ("csv", "parquet"):
        browser.find_element("css selector", f"#{kind}").click()
        until(partial(_there, folder, kind), f"no {kind} was downloaded")
    with next(folder.glob("*.csv")).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    frame = pd.read_parquet(next(folder.glob("*.parquet")))
    assert [row["system"] for row in rows] == frame["system"].tolist() == column(browser, "systems", 0)
    assert dict(zip(frame["system"], frame["ead"], strict=True)) == values
    assert {row["system"]: float(row["ead"]) for row in rows} == values


def test_downloads_equal_the_table_which_sorts_by_number_and_texts_move_along(
    site_address: str, browser: Any, board: Board, tmp_path: Path
) -> None:
    from selenium.webdriver.common.keys import Keys

    open_page(browser, f"{site_address}/?show=custom&columns=ead&rank=ead")
    chosen = next(column for column in board.columns if column.label == "ead")
    values = {entry.result.manifest.name: entry.cells[chosen.signature].value for entry in board.entries}
    _downloads_equal_the_table(browser, tmp_path, values)
    ascending = sorted(board.entries, key=lambda entry: entry.cells[chosen.signature].value or 0.0)
    wanted = [entry.result.manifest.name for entry in ascending]
    texts = dict(zip([entry.result.manifest.name for entry in board.entries], score_cells(board, chosen), strict=True))
    heading = browser.find_element("css selector", "#systems th[data-heading='2']")
    told = heading.get_attribute("title")
    assert told.startswith("ead: ")
    assert "Higher = more diverse. Agreement with people (profile offline): Spearman ." in told
    assert heading.get_attribute("aria-sort") == "none"
    for order, names in (("descending", wanted[::-1]), ("ascending", wanted)):  # the best comes first
        heading.click()
        until(partial(_sorted, browser, heading, order, names), f"a click does not sort: {order}")
        assert column(browser, "systems", 2) == [texts[name] for name in names]
    heading.click()
    until(lambda: not heading.find_elements("css selector", ".sort-indicator"), "the third click leaves the order")
    name = browser.find_element("css selector", "#systems th[data-heading='0']")
    name.click()
    until(lambda: column(browser, "systems", 0) == sorted(wanted), "a click does not sort by name")
    browser.execute_script("arguments[0].focus()", heading)
    heading.send_keys(Keys.ENTER)  # by the keyboard, too, and no longer by name
    until(lambda: column(browser, "systems", 0) == wanted[::-1], "Enter does not sort")
    assert selects(browser) == ([], [])
    assert gaps(browser) == []


@pytest.mark.thorough
def test_what_each_column_means_can_be_unfolded(site_address: str, browser: Any, board: Board) -> None:
    open_page(browser, site_address)
    unfold(browser)
    browser.find_element("css selector", "#meaning button").click()
    found = (
        "[...document.querySelectorAll(`#columns-table [role=gridcell][data-col='0']`)].map((c) => c.innerText.trim())"
    )
    labels = [column.label for column in board.columns]

    def shown() -> bool:
        there = browser.execute_script(f"return {found}")
        return len(there) > 5 and there == labels[: len(there)]

    until(shown, "the columns are not told")
    assert console_errors(browser) == []


@pytest.fixture(scope="module")
def twice(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results, one of them again with fewer values, as after scoring partly and then wholly; two at another k."""
    folder = tmp_path_factory.mktemp("twice") / "results"
    copytree(results, folder, ignore=lambda _, names: [name for name in names if name == "damaged"])
    board = load_boards(folder)[0][0]
    again = next(entry for entry in board.entries if entry.result.manifest.name == "varied")
    partly = again.result.model_copy(update={"result_id": "0" * 16, "scores": again.result.scores[:3]})
    copytree(again.folder, folder / partly.result_id)
    (folder / partly.result_id / "result.json").write_text(partly.model_dump_json(), encoding="utf-8")
    lexical = ScoringBackends(find_profile("lexical"))
    for name in ("varied", "repeated"):
        opened, suite, _ = open_submission(results.parent / "submissions" / name)
        score_submission(opened, suite, lexical, folder, Options(k=8))
    (folder / partly.result_id).touch()
    return folder


@pytest.mark.thorough
def test_a_submission_scored_twice_has_one_row_and_systems_at_another_k_are_a_link_away(
    twice: Path, browser: Any, board: Board
) -> None:
    with serving(twice) as address:
        open_page(browser, f"{address}/?show=everything")
        names = [row.text for row in browser.find_elements("css selector", ".forest tbody th a")]
        assert len(names) == len(set(names)) == len(board.entries)
        ranks = [
            row.text.split()[0] for row in browser.find_elements("css selector", ".forest tbody .rank") if row.text
        ]
        assert ranks == [str(place) for place in range(1, len(ranks) + 1)]  # nobody is pushed down
        heads = [e.text.split("\n")[0] for e in browser.find_elements("css selector", "#systems th .header-content")]
        assert {"older_results", "signature"} <= set(heads)
        assert gaps(browser) == []
        smaller = load_boards(twice)[0][1]
        assert (smaller.k, len(smaller.entries)) == (8, 2)
        open_page(browser, f"{address}/?table={smaller.name}")
        line = browser.find_element("css selector", ".elsewhere")
        assert line.text == "5 more systems are in the table at k = 10, beside all of these."
        line.find_element("tag name", "a").click()
        until(
            lambda: len(browser.find_elements("css selector", ".forest tbody th a")) == len(board.entries),
            "the link does not lead to all of them",
        )
        assert console_errors(browser) == []
