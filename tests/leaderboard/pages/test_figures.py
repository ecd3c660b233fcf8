"""Parts of figures: names are distinguished, and untrusted texts are text only."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmark.scoring.estimate import Estimate
from leaderboard.data.scores import BoardScores
from leaderboard.pages.compare import compare, forest_figure
from leaderboard.pages.curves import Curve, curves_figure
from leaderboard.pages.figures import inert
from tests.leaderboard.boards import load_boards
from tests.leaderboard.conftest import HOSTILE_NAME
from tests.leaderboard.injections import INJECTIONS


def strings(value: Any) -> Iterator[str]:
    """Yield every text in a figure."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from strings(item)


def test_long_names_keep_the_ends_that_distinguish_them() -> None:
    names = [f"{'a' * 90} at {temperature}" for temperature in (0.7, 1.0)]
    points = (Estimate(1.0), Estimate(1.5))
    _, *lines = curves_figure([Curve(name, points) for name in names]).data
    assert sorted(line.name[-6:] for line in lines) == ["at 0.7", "at 1.0"]


@pytest.mark.parametrize("name", [*INJECTIONS, HOSTILE_NAME])
def test_names_and_labels_are_text_only(results: Path, name: str) -> None:
    board = load_boards(results)[0][0]
    column = next(column for column in board.columns if column.label == "self_bleu")
    strange = replace(column, label=name, unit=name)
    gaps = compare(BoardScores(board), (0, 1), (column,), resamples=50)
    figures = (
        curves_figure([Curve(name, (Estimate(1.0), Estimate(1.5)))]),
        forest_figure([replace(gap, column=strange, names=(name, name)) for gap in gaps]),
    )
    for figure in figures:
        json = figure.to_plotly_json()
        texts = list(strings([json["data"], {**json["layout"], "template": None}]))
        assert not [text for text in texts if "<" in text.replace("<br>", "").replace("<extra></extra>", "")]
        assert any(inert(name, 20)[:5] in text for text in texts)  # it is there, as text
        assert not [trace for trace in figure.data if name in (trace.hovertemplate or "")]
