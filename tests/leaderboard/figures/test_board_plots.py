"""Figures hold the numbers of their tables, and strangers' names as text only."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from leaderboard.data.board import Board, Column
from leaderboard.data.scores import BoardScores
from leaderboard.figures.board_plots import MARKS, forest_figure, system_curves_figure, tradeoff_figure
from leaderboard.figures.plots import inert
from leaderboard.tables.compare import compare
from leaderboard.tables.curves import Curve, distinct_curves
from leaderboard.tables.systems import system_labels
from leaderboard.tables.tradeoff import MOST_POINTS, Tradeoff, about_tradeoff, tradeoff, tradeoff_table
from tests.leaderboard.boards import load_boards
from tests.leaderboard.conftest import HOSTILE_NAME
from tests.leaderboard.injections import INJECTIONS


@pytest.fixture(scope="module")
def board(results: Path) -> Board:
    return load_boards(results)[0][0]


@pytest.fixture(scope="module")
def scores(board: Board) -> BoardScores:
    return BoardScores(board)


@pytest.fixture(scope="module")
def made(board: Board, scores: BoardScores) -> Tradeoff:
    return tradeoff(scores, column_of(board, "distinct_k"), column_of(board, "self_bleu"))


def column_of(board: Board, label: str) -> Column:
    return next(column for column in board.columns if column.label == label)


def strings(value: Any) -> Iterator[str]:
    """Every text in a figure."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from strings(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from strings(each)


def test_points_stand_where_the_systems_do_with_their_intervals(made: Tradeoff) -> None:
    figure = tradeoff_figure(made)
    front, *traces, _ = figure.data
    on = sorted((point.x, point.y) for point in made.points if point.on_front)
    assert list(zip(front.x, front.y, strict=True)) == on
    drawn: dict[str, Any] = {}
    for trace in traces:
        for i, (name, _) in enumerate(trace.customdata):
            ends = [
                (at[i] - e.arrayminus[i], at[i] + e.array[i])
                for at, e in ((trace.x, trace.error_x), (trace.y, trace.error_y))
            ]
            drawn[name] = (trace.x[i], trace.y[i], *ends, trace.marker.symbol, trace.marker.size[i])
    assert len(drawn) == len(made.points) == 7
    for point in made.points:
        x, y, x_range, y_range, symbol, size = drawn[inert(point.label, 40)]
        assert (x, y, symbol) == (point.x, point.y, MARKS[point.type][1])
        assert (x_range, y_range) == (pytest.approx(point.x_range), pytest.approx(point.y_range))
        assert (size > 10) == bool(point.on_front)


def test_every_type_has_a_shape_of_its_own() -> None:
    assert len({symbol for _, symbol, _ in MARKS.values()}) == len({colour for colour, _, _ in MARKS.values()}) == 5


def test_where_there_are_many_systems_only_those_on_the_front_are_named(made: Tradeoff) -> None:
    some = next(point for point in made.points if point.on_front)
    other = replace(some, on_front=False, label="other")
    crowd = replace(made, points=(some, *(replace(other, place=place) for place in range(50))))
    texts = [text for trace in tradeoff_figure(crowd).data[1:-1] for text in trace.text]
    assert sorted(texts) == [""] * 50 + [inert(some.label, 22)]


def test_ranked_systems_are_named_before_people_and_baselines(made: Tradeoff) -> None:
    """Baselines had most of the names, and on a phone no system had one."""
    one = made.points[0]
    types = (*["baseline"] * 9, "human", "model")  # all at one point
    same = tuple(replace(one, type=kind, label=kind, on_front=False) for kind in types)
    first = {trace.text[0]: trace.textposition[0] for trace in tradeoff_figure(replace(made, points=same)).data}
    assert [first[name] for name in ("model", "human")] == ["middle right", "middle left"]
    assert first["baseline"] not in ("middle right", "middle left")


def test_the_figure_of_a_crowd_has_a_limit_and_the_caption_says_so(board: Board, made: Tradeoff) -> None:
    other = replace(made.points[0], on_front=False, label="other")
    best = [replace(other, on_front=True, label=f"best-{i}", y=other.y + 1) for i in range(25)]
    crowd = replace(made, points=(*(replace(other, place=i % 7) for i in range(MOST_POINTS)), *best))
    front, *traces, _ = tradeoff_figure(crowd).data
    names = [name for trace in traces for name, _ in trace.customdata]
    assert len(names) == MOST_POINTS
    assert sum(name.startswith("best") for name in names) == len(front.x) == 25  # who is on the front stays
    assert len(tradeoff_table(board, crowd).values) == MOST_POINTS + 25
    said = about_tradeoff(board, crowd)
    assert "The figure shows the first 500 of 525 systems in the table." in said
    assert "best-19 and 5 more." in said
    assert "figure shows" not in about_tradeoff(board, made)


def test_stairs_turn_at_the_corner_that_is_worse(board: Board, scores: BoardScores) -> None:
    up, down = column_of(board, "distinct_k"), column_of(board, "self_bleu")
    assert tradeoff_figure(tradeoff(scores, up, down)).data[0].line.shape == "vh"
    assert tradeoff_figure(tradeoff(scores, down, up)).data[0].line.shape == "hv"


def test_axes_say_which_end_is_better(made: Tradeoff) -> None:
    figure = tradeoff_figure(made)
    assert figure.layout.xaxis.title.text == "distinct_k [classes] → better"
    assert figure.layout.yaxis.title.text.endswith("← better")


def test_curves_are_told_apart_by_more_than_colour(board: Board) -> None:
    curves = distinct_curves(board, range(7))
    _, *lines = system_curves_figure(curves, "m", "classes", diagonal=True).data
    assert {line.name for line in lines} == {inert(curve.label, 40) for curve in curves}
    for line in lines:
        curve = next(curve for curve in curves if inert(curve.label, 40) == line.name)
        assert (tuple(line.x), tuple(line.y)) == (curve.at, curve.mean)
        assert line.customdata[1] == f"[{curve.low[1]:.3f}, {curve.high[1]:.3f}]"
    assert len({(line.line.dash, line.marker.symbol) for line in lines}) == 7
    ends = [line.y[-1] for line in lines]
    assert ends == sorted(ends, reverse=True)


def test_a_system_looks_the_same_in_two_figures_of_a_page(board: Board) -> None:
    """The patience of gpt-4o-in-context had the colour and the dashes of another system's curve beside it."""
    curves = distinct_curves(board, range(4))
    systems = [curve.label for curve in curves]
    all_of_them, some = (system_curves_figure(each, "m", "y", systems=systems).data for each in (curves, curves[2:]))
    looks = {line.name: (line.line.to_plotly_json(), line.marker.to_plotly_json()) for line in all_of_them}
    assert len(some) == 2
    assert all((line.line.to_plotly_json(), line.marker.to_plotly_json()) == looks[line.name] for line in some)


def test_numbers_of_responses_have_no_halves_and_no_zeros_behind_them() -> None:
    few, many = (
        Curve("a", tuple(map(float, range(1, k + 1))), (1.0,) * k, (None,) * k, (None,) * k, (9,) * k) for k in (3, 50)
    )
    figure = system_curves_figure([few], "responses m", "classes", diagonal=True)
    assert figure.layout.xaxis.dtick == 1
    assert "%{x}:" in figure.data[1].hovertemplate  # d3 writes 3 as 3.00000 in the format g
    assert system_curves_figure([many], "responses m", "classes", diagonal=True).layout.xaxis.dtick is None
    assert system_curves_figure([few], "patience p", "utility").layout.xaxis.dtick is None


def test_long_names_keep_the_ends_that_tell_them_apart(made: Tradeoff, board: Board, scores: BoardScores) -> None:
    names = [f"{'a' * 90} at {temperature}" for temperature in (0.7, 1.0)]
    points = tuple(replace(point, label=name) for point, name in zip(made.points, names, strict=False))
    curves = [Curve(name, (1.0, 2.0), (1.0, 1.5), (1.0, 1.2), (1.0, 1.7), (24, 24)) for name in names]
    gaps = [replace(gap, names=(names[0], names[1])) for gap in compare(scores, (0, 1), [made.y])]
    drawn = tradeoff_figure(replace(made, points=points)).data
    shown = {
        "hover": [name for trace in drawn for name, _ in trace.customdata or ()],
        "legend": [trace.name for trace in system_curves_figure(curves, "m", "classes").data],
        "pair": forest_figure(gaps).data[0].name.split(" − "),
    }
    for place, each in shown.items():
        assert sorted(name[-6:] for name in each) == ["at 0.7", "at 1.0"], place


def test_differences_that_do_not_vary_are_not_drawn(made: Tradeoff, scores: BoardScores) -> None:
    gaps = compare(scores, (0, 1), [made.x, made.y])
    same = replace(gaps[0], d_z=None, d_z_interval=None)
    assert list(forest_figure([same, gaps[1]]).layout.yaxis.ticktext) == ["self_bleu"]
    assert forest_figure([same]) is None
    unknown = replace(gaps[1], d_z=0.5, d_z_interval=None)  # of a metric where lower is better
    assert forest_figure([unknown]).data[0].x == (-0.5,)


def test_differences_point_to_the_better_end(board: Board, scores: BoardScores) -> None:
    columns = [column_of(board, "distinct_k"), column_of(board, "self_bleu")]
    columns.append(replace(column_of(board, "ead"), direction=0))
    names = [entry.result.manifest.name for entry in board.entries]
    gaps = compare(scores, (names.index("varied"), names.index("collapsed")), columns, resamples=200)
    figure = forest_figure(gaps)
    assert not figure.layout.showlegend  # the axis names both
    (trace,) = figure.data
    assert [gap.column.direction for gap in gaps] == [1, -1, 0]
    for i, gap in enumerate(gaps):
        sign = gap.column.direction or 1
        assert gap.d_z is not None
        assert gap.d_z_interval is not None
        assert trace.x[i] == sign * gap.d_z
        assert trace.x[i] - trace.error_x.arrayminus[i] == pytest.approx(min(sign * end for end in gap.d_z_interval))
        assert trace.x[i] + trace.error_x.array[i] == pytest.approx(max(sign * end for end in gap.d_z_interval))
    assert all(value > 0 for value in trace.x[:2])  # varied answers are more diverse, whichever end says so
    assert [symbol.endswith("-open") for symbol in trace.marker.symbol] == [False, False, True]
    assert list(figure.layout.yaxis.ticktext) == ["distinct_k", "self_bleu", "ead"]
    assert figure.layout.xaxis.title.text == "d_z<br>← collapsed better<br>varied better →"


def test_each_pair_has_a_shape_and_a_height_of_its_own(board: Board, scores: BoardScores) -> None:
    gaps = compare(scores, (0, 1, 2, 3), [column_of(board, "self_bleu"), column_of(board, "ead")])
    figure = forest_figure(gaps)
    assert figure.layout.showlegend
    traces = figure.data
    assert [trace.name for trace in traces] == [
        inert(f"{a} − {b}", 80) for a, b in combinations(system_labels(board)[:4], 2)
    ]
    assert len({trace.marker.symbol[0] for trace in traces}) == 6
    heights = [y for trace in traces for y in trace.y]
    assert len(set(heights)) == len(heights)
    assert all(abs(y - round(y)) < 0.5 for y in heights)


@pytest.mark.parametrize("name", [*INJECTIONS, HOSTILE_NAME])
def test_names_and_labels_are_text_only(made: Tradeoff, board: Board, scores: BoardScores, name: str) -> None:
    strange = replace(made.x, label=name, unit=name)
    points = tuple(replace(point, label=name) for point in made.points)
    gaps = tuple(replace(gap, column=strange) for gap in compare(scores, (0, 1), [made.y]))
    curve = Curve(name, (1.0, 2.0), (1.0, 1.5), (1.0, 1.2), (1.0, 1.7), (24, 24))
    figures = (
        tradeoff_figure(replace(made, x=strange, points=points)),
        system_curves_figure([curve], "m", "classes"),
        forest_figure(gaps),
    )
    for figure in figures:
        ours = figure.to_plotly_json()
        texts = list(strings([ours["data"], {**ours["layout"], "template": None}]))
        assert not [text for text in texts if "<" in text.replace("<br>", "").replace("<extra></extra>", "")]
        assert any(inert(name, 20)[:5] in text for text in texts)  # it is there, as text
        assert not [trace for trace in figure.data if name in (trace.hovertemplate or "")]
