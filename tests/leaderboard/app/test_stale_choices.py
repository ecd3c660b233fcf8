"""Choices that another choice has taken away: no page shows an error when a table or a dataset is changed."""

from typing import Any

import gradio as gr
import pytest

from leaderboard.app.components import GONE
from leaderboard.app.gradio_patches import drop_stale_choices
from tests.leaderboard.conftest import open_page, shown_anew, until
from tests.leaderboard.page_reading import column

_TOASTS = "return [...document.querySelectorAll('.toast-body')].map((each) => each.innerText)"
_QUIET = """
const now = performance.now();
if (!window.lastChange) {
  window.lastChange = now;
  new MutationObserver(() => { window.lastChange = performance.now(); })
    .observe(document.querySelector(".gradio-container"), {subtree: true, childList: true, attributes: true});
}
return now - window.lastChange;
"""


def test_only_offered_values_are_taken_and_others_count_as_not_chosen() -> None:
    for _ in range(2):  # a second application changes nothing
        drop_stale_choices()
    one = gr.Dropdown([("A", "a"), ("B", "b")])
    assert [one.preprocess(value) for value in ("a", "z", None, ["a"], {"a": 1}, 1)] == ["a"] + [None] * 5  # type: ignore[arg-type]
    several = gr.Dropdown(["a", "b"], multiselect=True)
    assert several.preprocess(["b", "z", "a", {}]) == ["b", "a"]  # type: ignore[list-item]
    assert several.preprocess(["z"]) == []
    assert several.preprocess("a") is several.preprocess(None) is None
    radio = gr.Radio(["a", "b"])
    assert [radio.preprocess(value) for value in ("b", "z", None)] == ["b", None, None]
    assert gr.Dropdown(["a"], allow_custom_value=True).preprocess("z") == "z"


def settle(browser: Any) -> None:
    """Wait until a page has not changed for a second."""
    until(lambda: browser.execute_script(_QUIET) > 1000, "the page never settles")


def toasts(browser: Any) -> list[str]:
    """Messages over the page."""
    found: list[str] = browser.execute_script(_TOASTS)
    return found


def pick(browser: Any, element: str, text: str) -> None:
    """Choose from a dropdown as a visitor does, by mouse: Gradio then says twice that something was chosen."""
    browser.find_element("css selector", f"#{element} input").click()
    with shown_anew(browser):
        browser.find_element("css selector", f"#{element} [role=option][aria-label='{text}']").click()


@pytest.mark.browser
def test_another_table_without_the_systems_of_the_curves_has_its_own_curves(
    reference_address: str, browser: Any
) -> None:
    open_page(browser, f"{reference_address}/tradeoff")
    pick(browser, "table", "alpacaeval-200, k 10, offline")
    settle(browser)
    chosen = [each.text.split("\n")[0] for each in browser.find_elements("css selector", "#systems .token")]
    assert len(chosen) > 1
    assert column(browser, "classes", 0) == chosen


@pytest.mark.browser
@pytest.mark.parametrize(
    ("page", "dependent"), [("explore", "system"), pytest.param("post-training", "series", marks=pytest.mark.thorough)]
)
def test_another_table_says_what_it_lacks_and_speaks_of_no_link(
    reference_address: str, browser: Any, page: str, dependent: str
) -> None:
    open_page(browser, f"{reference_address}/{page}")
    pick(browser, "table", "alpacaeval-200, k 10, offline")
    settle(browser)
    assert GONE not in browser.find_element("tag name", "body").text
    assert "Not in this table; this one is shown instead." in browser.find_element("id", dependent).text


@pytest.mark.browser
@pytest.mark.parametrize(
    ("page", "element", "text"),
    [
        ("explore", "table", "alpacaeval-200, k 10, offline"),
        ("explore?prompt=curated-90", "category", "Creativity"),
        pytest.param("post-training", "table", "alpacaeval-200, k 10, offline", marks=pytest.mark.thorough),
        pytest.param("tradeoff", "table", "alpacaeval-200, k 10, offline", marks=pytest.mark.thorough),
        pytest.param("datasets", "dataset", "olmo_stages", marks=pytest.mark.thorough),
    ],
)
def test_a_choice_that_takes_others_away_is_no_error(
    reference_address: str, browser: Any, page: str, element: str, text: str
) -> None:
    open_page(browser, f"{reference_address}/{page}")
    pick(browser, element, text)
    settle(browser)
    assert toasts(browser) == []
