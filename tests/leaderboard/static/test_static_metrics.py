"""The exported page of metrics: every metric in words, a study's tables, and a damaged study said to be."""

import re
from pathlib import Path

import numpy as np
import pytest

from benchmark.metrics import METRICS
from leaderboard.data.live_results import LiveResults
from leaderboard.data.metric_study.build import systems_agreement
from leaderboard.data.metric_study.files import load_studies
from leaderboard.data.sources import FolderSource
from leaderboard.static.write import write_static
from leaderboard.tables.metrics import agreement_table, pair_accuracies
from leaderboard.tables.trust import trust_sentence, trusted, trusted_table
from tests.leaderboard.boards import load_boards
from tests.leaderboard.shipped import shipped_pairs
from tests.leaderboard.static.test_static import Page


@pytest.fixture(scope="module")
def folder(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_static(
        LiveResults(FolderSource(results)), tmp_path_factory.mktemp("metrics") / "exported", texts=False
    ).folder


def test_every_metric_is_there_in_words(folder: Path) -> None:
    page = Page(folder / "metrics.html")
    headings = [given for tag, given in page.elements if tag == "h2"]
    assert len(headings) > len(METRICS)
    written = (folder / "metrics.html").read_text(encoding="utf-8")
    assert all(f"<h2>{metric.id}</h2>" in written for metric in METRICS)
    text = " ".join(page.texts["dd"].split())
    for metric in METRICS:
        assert " ".join(metric.summary.split()) in text
        assert all(" ".join(failure.split()) in text for failure in metric.failures)


def test_accuracies_and_agreement_are_those_of_the_tables(folder: Path, results: Path) -> None:
    page = Page(folder / "metrics.html")
    shown = tuple(tuple(text for text, _ in row) for row in page.tables["metrics-pairs-table"][1:])
    assert shown == pair_accuracies(shipped_pairs()).shown
    (board,), _ = load_boards(results)
    agreement = systems_agreement(board)
    assert agreement is not None
    last = max(name for name in page.tables if name.startswith("metrics-agreement-"))
    found = tuple(tuple(text for text, _ in row) for row in page.tables[last][1:])
    assert found == agreement_table(agreement).shown


def test_the_page_says_which_metric_to_trust(folder: Path) -> None:
    there = load_studies(None)
    assert there.study is not None
    rows = trusted(there.study, there.gaming)
    page = Page(folder / "metrics.html")
    shown = tuple(tuple(text for text, _ in row) for row in page.tables["metrics-trust"][1:])
    assert shown == trusted_table(rows).shown
    assert [(row.metric, "–" if row.paid is None else str(row.paid)) for row in rows] == [
        each[::2][:2] for each in shown
    ]
    text = (folder / "metrics.html").read_text(encoding="utf-8")
    forest = text[text.index('<section class="forest">') :].partition("</section>")[0]
    dots = [float(at) for at in re.findall(r'<circle class="dot" cx="([0-9.]+)%"', forest)]  # the caption names them
    assert np.corrcoef(dots, [row.value for row in rows])[0, 1] == pytest.approx(1, abs=1e-4)
    sentence = trust_sentence(rows, there.study, there.gaming)
    assert any(sentence in text for text in page.texts.values())


def test_a_damaged_study_is_said_to_be_and_the_rest_is_there(results: Path, tmp_path: Path) -> None:
    study = tmp_path / "study"
    study.mkdir()
    (study / "metric_study.json").write_text('{"metrics": "<script>window.hacked=1</script>"}', encoding="utf-8")
    made = write_static(LiveResults(FolderSource(results), study=study), tmp_path / "exported", texts=False).folder
    text = (made / "metrics.html").read_text(encoding="utf-8")
    assert "metric_study.json: not shown" in text
    assert "<script>window" not in text
    assert str(tmp_path) not in text
    assert METRICS[0].id in text
