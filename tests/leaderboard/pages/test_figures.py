"""Parts of figures: names cover nothing, and untrusted texts are text only."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from benchmark.scoring.estimate import Estimate
from leaderboard.data.scores import BoardScores
from leaderboard.pages.compare import compare, forest_figure
from leaderboard.pages.curves import Curve, curves_figure
from leaderboard.pages.figures import Point, inert, name_positions, systems_figure
from leaderboard.pages.tradeoff import tradeoff, tradeoff_figure
from submissions.choices import SystemType
from tests.leaderboard.boards import load_boards
from tests.leaderboard.conftest import HOSTILE_NAME
from tests.leaderboard.injections import INJECTIONS

SYSTEM = Point(0, "a system", "model", Estimate(1.0, 0.5, 1.5), Estimate(2.0, 1.5, 2.5), on_front=False)


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


def test_names_cover_no_point_and_no_name_and_stay_inside() -> None:
    points = np.random.default_rng(0).random((30, 2))
    lengths = [12] * 30
    positions = name_positions(points, lengths, range(30), [900.0], 480.0)
    named = [i for i, position in enumerate(positions) if position]
    assert 10 < len(named) < 30
    assert name_positions(points[:1], [12], [0], [900.0], 480.0) == ["middle right"]
    assert name_positions(np.array([[1.0, 0.5]]), [12], [0], [900.0], 480.0) == ["middle left"]
    same = np.full((3, 2), 0.5)
    first, second, third = name_positions(same, [12] * 3, [2, 0, 1], [900.0], 480.0)
    assert len({first, second, third}) == 3
    assert third == "middle right"  # in the given order


def test_points_have_their_intervals_and_a_shape_of_their_type() -> None:
    people = replace(SYSTEM, type="human", label="people", x=Estimate(0.2))
    figure = systems_figure([SYSTEM, people], ("x", "y"), [900.0], lambda point: point.type)
    one, other = figure.data
    assert (one.x[0] - one.error_x.arrayminus[0], one.x[0] + one.error_x.array[0]) == (0.5, 1.5)
    assert (other.error_x.array[0], other.customdata[0][1]) == (0.0, "human")
    assert one.marker.symbol != other.marker.symbol
    every = [replace(SYSTEM, type=kind) for kind in get_args(SystemType)]
    assert len(systems_figure(every, ("x", "y"), [900.0], lambda point: point.type).data) == len(every)


def test_where_there_are_many_systems_only_those_on_the_front_are_named() -> None:
    crowd = [replace(SYSTEM, on_front=True), *(replace(SYSTEM, label=f"other {i}") for i in range(50))]
    texts = [text for trace in systems_figure(crowd, ("x", "y"), [900.0], str).data for text in trace.text]
    assert sorted(texts) == [""] * 50 + ["a system"]


def test_long_names_keep_the_ends_that_distinguish_them() -> None:
    names = [f"{'a' * 90} at {temperature}" for temperature in (0.7, 1.0)]
    points = (Estimate(1.0), Estimate(1.5))
    figure = curves_figure([Curve(name, (1.0, 2.0), points) for name in names], "m", "classes")
    assert sorted(trace.name[-6:] for trace in figure.data) == ["at 0.7", "at 1.0"]


@pytest.mark.parametrize("name", [*INJECTIONS, HOSTILE_NAME])
def test_names_and_labels_are_text_only(results: Path, name: str) -> None:
    board = load_boards(results)[0][0]
    column = next(column for column in board.columns if column.label == "self_bleu")
    strange = replace(column, label=name, unit=name)
    view = tradeoff(board, column, board.columns[0])
    points = tuple(replace(point, label=name) for point in view.points)
    gaps = compare(BoardScores(board), (0, 1), (column,), resamples=50)
    figures = (
        tradeoff_figure(replace(view, x=strange, points=points)),
        curves_figure([Curve(name, (1.0, 2.0), (Estimate(1.0), Estimate(1.5)))], "m", "classes"),
        forest_figure([replace(gap, column=strange, names=(name, name)) for gap in gaps]),
    )
    for figure in figures:
        json = figure.to_plotly_json()
        texts = list(strings([json["data"], {**json["layout"], "template": None}]))
        assert not [text for text in texts if "<" in text.replace("<br>", "").replace("<extra></extra>", "")]
        assert any(inert(name, 20)[:5] in text for text in texts)  # it is there, as text
        assert not [trace for trace in figure.data if name in (trace.hovertemplate or "")]
