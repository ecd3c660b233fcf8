"""The page of metrics in a real browser, with the study that ships here, with one's own, and with a damaged one."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from leaderboard.data.metric_study.study import PAIRS_FILE, load_studies, write_study
from leaderboard.tables.metrics import correlations, described
from leaderboard.tables.page_text import FIGURES
from leaderboard.tables.trust import trusted
from tests.leaderboard.conftest import console_errors, open_page, until
from tests.leaderboard.injections import INJECTIONS, assert_inert
from tests.leaderboard.page_reading import column, gaps, value
from tests.leaderboard.page_reading import described as alternatives
from tests.leaderboard.servers import serving
from tests.leaderboard.shipped import shipped_study

pytestmark = pytest.mark.browser
METRIC = "distinct_n"


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study that ships here, with hostile texts for the first disagreement of a metric."""
    folder = tmp_path_factory.mktemp("study")
    worst = shipped_study().disagreements
    set_id = str(worst[worst.metric == METRIC].set_id.iloc[0])
    write_study(folder, replace(shipped_study(), texts={set_id: (INJECTIONS[0], INJECTIONS[1:])}))
    (folder / PAIRS_FILE).write_bytes(b"PAR1")
    return folder


@pytest.fixture(scope="module")
def address(results: Path, own: Path) -> Any:
    with serving(results, study=own) as url:
        yield url


@pytest.mark.thorough
def test_a_permalink_shows_the_study_that_ships_here(site_address: str, browser: Any) -> None:
    over = shipped_study().agreements[-1]
    open_page(browser, f"{site_address}/metrics")
    best = trusted(shipped_study(), load_studies().gaming)
    first = [each.text for each in browser.find_elements("css selector", "#trust tbody th")]
    assert first == [row.metric for row in best]
    assert len(first) == 10
    figures = [each.is_displayed() for each in browser.find_elements("css selector", ".js-plotly-plot")]
    assert not any(figures)  # all else is closed: GSSBench, too, as long as only the bundled model was scored
    assert browser.execute_script("return document.documentElement.scrollHeight") < 1300
    open_page(browser, f"{site_address}/metrics?measure=roc_auc&metric=vendi_score&over=sets:{over.group}&case=1")
    view = correlations(shipped_study(), "roc_auc")
    shown = column(browser, "correlations", 0)
    assert shown == [row[0] for row in view.texts][: len(shown)]
    assert column(browser, "correlations", 2) == [row[2] for row in view.texts][: len(shown)]
    sentence = dict(described("vendi_score", None))["In one sentence"]
    assert any(sentence in text for text in column(browser, "about-metric", 1))
    assert "not included" in value(browser, "context")
    assert "ROC" in value(browser, "measure")
    assert value(browser, "metric") == "vendi_score"
    assert value(browser, "over") == f"sets: {over.group}"
    browser.find_element("css selector", "#by-pair button").click()  # the others are open for what the permalink asks
    drawn = "return document.querySelectorAll('.js-plotly-plot .hm').length"
    until(lambda: int(browser.execute_script(drawn)) >= 3, "the figures are not drawn")
    assert gaps(browser) == []
    names = ("correlations-plot", "pairs-plot", "agreement-plot")
    assert alternatives(browser) == {name: FIGURES[name] for name in names}
    assert console_errors(browser) == []


def test_texts_are_shown_as_text_and_a_damaged_file_is_named_beside_the_rest(address: str, browser: Any) -> None:
    open_page(browser, f"{address}/metrics?metric={METRIC}&case=0&measure=spearman&over=x")
    until(lambda: value(browser, "context") == INJECTIONS[0], "the context is not shown")
    shown = " ".join(column(browser, "case-responses", 1))
    assert "window.hacked=1" in shown
    assert_inert(browser)
    assert PAIRS_FILE in value(browser, "note")
    assert column(browser, "correlations", 0)
    assert column(browser, "agreement", 0)
