"""The application in a real browser: every page is filled and inert, permalinks restore choices, visitors take part."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from leaderboard.application import PAGES
from leaderboard.data.board import Board
from leaderboard.data.reference.results import WithReference
from leaderboard.pages.models import default_board
from leaderboard.pages.responses import make_view, prompts_of, responses_table
from leaderboard.pages.systems import first_entry, system_ids, system_labels
from submissions.judgements.vote_store import VoteReader
from submissions.storage.file_store import FolderStore
from submissions.work_queue.operations import listing
from tests.leaderboard.boards import load_boards
from tests.leaderboard.conftest import PHONE, console_errors, in_scheme, on_a_phone, open_page, shown_anew, until
from tests.leaderboard.injections import assert_inert
from tests.leaderboard.page_reading import column, described, pale, query, rows, value, violations
from tests.leaderboard.servers import serving

pytestmark = pytest.mark.browser

_WIDE = "return document.documentElement.scrollWidth > document.documentElement.clientWidth + 1"
_NAMES = "return [...document.querySelectorAll('.picture svg .name')].filter((e) => e.checkVisibility())"
_COVERED = """
const boxes = (what) => [...document.querySelectorAll(`.picture svg[viewBox] ${what}`)]
  .filter((e) => e.checkVisibility()).map((e) => [e.getBoundingClientRect(), e.textContent]);
const names = boxes(".name"), all = [...names, ...boxes("a > .form")];
const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3;
return names.flatMap(([box, name]) =>
  all.filter(([other]) => other !== box && meet(box, other)).map(([_, text]) => `${name}: ${text}`));
"""
_UNNAMED = """
return [...document.querySelectorAll("main input, main textarea, main select, main button")].filter((e) =>
  e.checkVisibility() && !e.disabled && !e.labels?.length && !e.ariaLabel && !e.title && !e.innerText.trim()
  && !e.placeholder && !e.closest("[aria-label]")).map((e) => e.outerHTML.slice(0, 200));
"""


@pytest.fixture(scope="module")
def board(results: Path) -> Board:
    return load_boards(results)[0][0]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> FolderStore:
    return FolderStore(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def votes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("votes")


@pytest.fixture(scope="module")
def address(results: Path, store: FolderStore, votes: Path) -> Iterator[str]:
    with serving(results, store=store.folder, votes=votes) as url:
        yield url


@pytest.fixture(scope="module")
def hostile_address(hostile: Path) -> Iterator[str]:
    with serving(hostile) as url:
        yield url


@pytest.fixture(scope="module")
def reference_page(results: Path) -> Iterator[str]:
    """The first page with the judged systems that ship with the package."""
    board = default_board(WithReference().read().boards)
    assert board is not None
    with serving(results, reference=True) as url:
        yield f"{url}/?{urlencode({'table': board.name})}"


def count(browser: Any, name: str) -> int:
    return int(browser.execute_script(f"return document.body.dataset.{name} || 0"))


def press(browser: Any, element: str, event: str) -> None:
    """Press a button and wait for the event that the page counts."""
    before = count(browser, event)
    button = browser.find_element("css selector", f"#{element}")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'}); arguments[0].click()", button)
    until(lambda: count(browser, event) > before, f"nothing came of {element}")


def choose(browser: Any, element: str, text: str) -> None:
    """Choose an option of a dropdown by the end of its text."""
    field = browser.find_element("css selector", f"#{element} input")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", field)
    field.click()
    options = f"#{element} ul[role=listbox] li, ul[role=listbox] li"
    until(lambda: bool(browser.find_elements("css selector", options)), "there are no options")
    option = next(e for e in browser.find_elements("css selector", options) if e.text.endswith(text))
    with shown_anew(browser):
        option.click()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path or "models")
def test_every_page_is_filled_without_errors_and_untrusted_texts_are_inert(
    hostile_address: str, browser: Any, page: Any
) -> None:
    open_page(browser, f"{hostile_address}/{page.path}")
    assert browser.find_elements("css selector", "#nav a[aria-current=page]")
    assert browser.find_element("css selector", "footer").text.startswith("DivBench ")
    assert all(described(browser).values())  # every figure has a text alternative
    assert browser.execute_script(_UNNAMED) == []
    assert_inert(browser)
    assert console_errors(browser) == []
    with on_a_phone(browser):
        assert not browser.execute_script(_WIDE), f"wider than {PHONE} pixels"


@pytest.mark.parametrize("path", [*(page.path for page in PAGES), "system", "api"])
def test_axe_finds_no_serious_violation(address: str, browser: Any, path: str) -> None:
    pytest.importorskip("axe_core_python")
    if path in {page.path for page in PAGES}:
        open_page(browser, f"{address}/{path}")
    else:
        browser.get(f"{address}/{path}")
    until(lambda: violations(browser) == {}, f"on a desktop: {violations(browser)}", seconds=5)  # once all is drawn
    with on_a_phone(browser):
        until(lambda: violations(browser) == {}, f"on a phone: {violations(browser)}", seconds=5)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_contrast_with_their_background(address: str, browser: Any, scheme: str) -> None:
    with in_scheme(browser, scheme):
        for path in ("", "compare", "submit"):
            open_page(browser, f"{address}/{path}?__theme={scheme}")
            until(lambda: pale(browser) == {}, f"texts of {path or 'models'} are too pale: {pale(browser)}", seconds=5)


def test_the_first_page_ranks_systems_that_lead_to_their_pages(address: str, browser: Any, board: Board) -> None:
    open_page(browser, address)
    sentence = browser.find_element("css selector", "#front .answer").text
    names = [e.text for e in browser.find_elements("css selector", "#ranking-table th[scope=row] a bdi")]
    assert names[0] in sentence
    assert set(system_labels(board)) >= set(names)
    browser.find_element("css selector", "#ranking-table th[scope=row] a").click()
    until(lambda: "/system?" in browser.current_url, "the page of the system is not opened")
    until(lambda: browser.find_elements("css selector", "#classes-plot .trace") != [], "there is no figure")
    assert names[0] in browser.find_element("css selector", "h1").text


def test_names_in_the_picture_cover_no_other_name_and_no_dot(reference_page: str, browser: Any) -> None:
    open_page(browser, reference_page)
    assert len(browser.execute_script(_NAMES)) > 15
    assert "DIVBENCH_MIRROR" in browser.find_element("css selector", "#ranking").text  # how to get answers to read
    assert browser.execute_script(_COVERED) == []
    with on_a_phone(browser):
        assert len(browser.execute_script(_NAMES)) > 8
        assert browser.execute_script(_COVERED) == []


def test_a_click_shows_other_answers_and_two_ticks_compare(address: str, browser: Any) -> None:
    open_page(browser, address)
    prompt = browser.find_element("css selector", "#ranking thead .examples").text
    press(browser, "another", "shown")
    assert browser.find_element("css selector", "#ranking thead .examples").text not in ("", prompt)
    assert query(browser)["prompt"] != [""]
    boxes = browser.find_elements("css selector", "#ranking-table .pick input")[1:3]
    ids = [box.get_attribute("value") for box in boxes]
    for box in boxes:
        browser.execute_script("arguments[0].click()", box)
    until(lambda: "/compare?" in browser.current_url, "the systems are not compared")
    assert query(browser)["systems"] == [",".join(ids)]


def test_choices_go_into_the_address_and_a_permalink_restores_them(address: str, browser: Any) -> None:
    choices = {"show": "everything", "types": "baseline", "by": "self_bleu"}
    open_page(browser, f"{address}/?{urlencode(choices)}")
    names = {"shuffled-words", "random-characters", "repeated"}
    assert set(column(browser, "systems", 0)) == names
    headings = [e.text.split("\n")[0] for e in browser.find_elements("css selector", "#systems thead th")]
    assert {"rank by self_bleu", "self_bleu (lower = more diverse)", "ead"} <= set(headings)
    choose(browser, "by", "distinct_n")
    assert query(browser)["by"] == ["distinct_n"]
    assert query(browser)["types"] == ["baseline"]
    open_page(browser, browser.current_url)
    assert set(column(browser, "systems", 0)) == names
    open_page(browser, f"{address}/?by=none&types=none&table=none")  # what is not offered is left out
    assert len(column(browser, "systems", 0)) > len(names)
    assert "not here" in browser.find_element("css selector", "#measured").text


def test_a_table_sorts_by_its_numbers(address: str, browser: Any, board: Board) -> None:
    open_page(browser, f"{address}/?show=everything")

    def is_sorted(*, reverse: bool) -> bool:
        values = [float(text.split()[0]) for text in column(browser, "systems", 2)]
        return len(values) == len(board.entries) and values == sorted(values, reverse=reverse)

    for reverse in (True, False):  # the highest come first
        browser.find_element("css selector", "#systems th[data-heading='2']").click()
        until(lambda reverse=reverse: is_sorted(reverse=reverse), "the table is not sorted")  # type: ignore[misc]


def test_compare_follows_its_controls_and_shows_responses(address: str, browser: Any, board: Board) -> None:
    ids = system_ids(board)
    open_page(browser, f"{address}/compare?systems={ids[0]},{ids[1]}&prompt=demo-05")
    assert query(browser).get("prompt", ["demo-05"]) == ["demo-05"]
    gaps, responses = rows(browser, "gaps"), rows(browser, "responses")
    assert {row[5] for row in gaps} == {" − ".join(" ".join(name.split()) for name in system_labels(board)[:2])}
    assert len(responses) == board.k
    choose(browser, "show", "everything")
    assert len(rows(browser, "gaps")) > len(gaps)
    assert query(browser)["show"] == ["everything"]
    open_page(browser, f"{address}/compare?systems={ids[0]}")
    assert "Choose 2 to 4 systems." in value(browser, "headline")


def test_explore_shows_the_responses_of_the_result_and_steps_through_prompts(
    address: str, browser: Any, board: Board
) -> None:
    from leaderboard.data.scores import prompt_row

    entry = first_entry(board)
    prompts = prompts_of(entry)
    open_page(browser, f"{address}/explore?system={entry.result.submission_id}&prompt={prompts[-1].prompt_id}")
    row = prompt_row(entry, prompts[-1].prompt_id)
    assert row is not None
    expected = responses_table(make_view(board, entry, row)).texts
    flat = [[" ".join(text.split()) for text in cells] for cells in expected]
    assert [[" ".join(text.split()) for text in cells] for cells in rows(browser, "responses")] == flat
    press(browser, "next", "shown")
    assert value(browser, "asked") == prompts[0].text
    assert query(browser)["prompt"] == [prompts[0].prompt_id]
    press(browser, "previous", "shown")
    assert value(browser, "asked") == prompts[-1].text


def test_a_submission_is_validated_submitted_and_followed(
    address: str, browser: Any, store: FolderStore, results: Path
) -> None:
    open_page(browser, f"{address}/submit")
    folder = results.parent / "submissions" / "varied"
    paths = sorted(str(path) for path in folder.iterdir())
    browser.find_element("css selector", "#files input[type=file]").send_keys("\n".join(paths))
    uploaded = "#files td.filename, #files .file"
    until(lambda: len(browser.find_elements("css selector", uploaded)) >= len(paths), "the files did not arrive")
    press(browser, "check", "checked")
    assert value(browser, "verdict").startswith("Accepted: varied as ")
    name = browser.find_element("css selector", "#submitter input, #submitter textarea")
    name.clear()
    name.send_keys("somebody")
    press(browser, "submit", "submitted")
    (state,) = listing(store).states
    assert (state.submitter.name, state.submitter.verified) == ("somebody", False)
    assert f"Submitted: varied as {state.submission_id}" in value(browser, "receipt")
    until(lambda: [cells[1] for cells in rows(browser, "history")] == ["pending"], "its history is not shown")
    assert [row[1] for row in rows(browser, "queue")] == ["varied"]


def test_pasted_rows_with_problems_are_listed_and_what_was_edited_is_not_submitted(address: str, browser: Any) -> None:
    open_page(browser, f"{address}/submit?way=paste")
    press(browser, "example", "filled")
    press(browser, "check", "checked")
    assert value(browser, "verdict").startswith("Accepted: an example as ")
    pasted = browser.find_element("css selector", "#pasted textarea")
    pasted.send_keys("\n" + json.dumps({"prompt_id": "demo-00"}))
    until(lambda: value(browser, "verdict").startswith("This was changed"), "the edit is not noticed")
    press(browser, "check", "checked")
    assert value(browser, "verdict").startswith("Rejected: ")
    assert {row[1] for row in rows(browser, "problems")} == {"pasted text"}


def test_a_vote_is_blind_saved_once_and_survives_a_reload(
    address: str, browser: Any, votes: Path, board: Board
) -> None:
    open_page(browser, f"{address}/arena")
    until(lambda: bool(browser.find_elements("css selector", "#pair .pair")), "there is no pair")
    pair = browser.find_element("css selector", "#pair").text
    assert not [name for name in system_labels(board) if f">{name}<" in browser.page_source]
    for question in ("more_different", "preferred"):
        option = browser.find_element("css selector", f"#{question} input[value=left], #{question} input")
        browser.execute_script("arguments[0].click()", option)
    browser.refresh()
    until(lambda: count(browser, "asked") > 0, "the page was not filled")
    assert browser.find_element("css selector", "#pair").text == pair
    press(browser, "vote", "voted")
    assert "Your vote is saved" in value(browser, "arena-note")
    judged = browser.execute_script("return localStorage.getItem('divbench-arena')")
    press(browser, "next-pair", "asked")
    found = VoteReader(FolderStore(votes))
    until(lambda: len(found.read().votes) == 2, "the store does not have the votes", seconds=60)
    browser.execute_script("localStorage.setItem('divbench-arena', arguments[0])", judged)  # as an older tab has it
    browser.refresh()
    until(lambda: value(browser, "arena-note").startswith("You judged this pair before"), "it looks like a new vote")
    press(browser, "undo-vote", "asked")
    assert value(browser, "arena-note").startswith("Your last vote is deleted.")
    assert found.read().votes == ()
    shown = browser.find_element("css selector", "#pair").text
    press(browser, "skip-pair", "asked")
    assert browser.find_element("css selector", "#pair").text != shown
