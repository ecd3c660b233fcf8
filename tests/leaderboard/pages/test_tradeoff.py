"""Pareto fronts against brute force, and what the page of diversity and quality says of real results."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.scoring.estimate import Floats
from divbench.core.tables import Table
from leaderboard.data.board import Board, Column
from leaderboard.pages.systems import better_end, score_cells
from leaderboard.pages.tradeoff import (
    about_tradeoff,
    default_axes,
    pareto,
    tradeoff,
    tradeoff_figure,
    tradeoff_table,
)
from tests.leaderboard.boards import load_boards
from tests.leaderboard.judged import judged_results

BASELINES = {"shuffled-words", "random-characters", "repeated"}
few = st.integers(0, 4).map(float)  # so few values that many are equal


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Board:
    (made,), unreadable = load_boards(judged_results(tmp_path_factory.mktemp("judged")))
    assert unreadable == {}
    return made


def column_of(board: Board, label: str) -> Column:
    return next(column for column in board.columns if column.label == label)


def brute(x: Floats, y: Floats) -> list[bool]:
    """Every system against every other."""
    points = list(zip(x.tolist(), y.tolist(), strict=True))
    return [not any(c >= a and d >= b and (c > a or d > b) for c, d in points) for a, b in points]


@given(st.lists(st.tuples(few, few), min_size=1, max_size=12))
def test_a_front_is_what_no_other_system_dominates(points: list[tuple[float, float]]) -> None:
    x, y = np.array(points).T
    assert pareto(x, y).tolist() == brute(x, y)


def test_rounding_dominates_nobody() -> None:
    assert pareto(np.array([0.3, 0.1 + 0.2]), np.array([1.0, 1.0])).tolist() == [True, True]
    assert pareto(np.array([1e-9, 2e-9]), np.array([1e9, 1e9])).tolist() == [False, True]


def test_axes_begin_with_diversity_and_quality_where_the_board_has_it(board: Board, results: Path) -> None:
    axes = default_axes(board)
    assert axes is not None
    assert [column.label for column in axes] == ["valid_distinct_k", "mean_head_quality"]
    lexical = load_boards(results)[0][0]
    other = default_axes(lexical)
    assert other is not None
    assert [column.label for column in other] == ["valid_distinct_k", "estimated_quality"]
    without = ("estimated_quality", "valid_share")
    bare = replace(lexical, columns=tuple(column for column in lexical.columns if column.label not in without))
    assert default_axes(bare) is not None
    assert default_axes(replace(board, columns=())) is None


def test_means_and_intervals_are_those_of_the_results(board: Board) -> None:
    x, y = column_of(board, "distinct_k"), column_of(board, "utility_k")
    made = tradeoff(board, x, y)
    assert len(made.points) == len(board.entries)
    for point in made.points:
        cells = board.entries[point.index].cells
        for column, estimate in ((x, point.x), (y, point.y)):
            cell = cells[column.signature]
            assert (estimate.value, estimate.low, estimate.high) == (cell.value, cell.low, cell.high)


@pytest.mark.parametrize("baselines", [False, True])
def test_baselines_are_on_no_front_unless_asked(board: Board, *, baselines: bool) -> None:
    x, y = column_of(board, "distinct_k"), column_of(board, "mean_head_quality")
    made = tradeoff(board, x, y, baselines=baselines)
    field = [point for point in made.points if baselines or point.label not in BASELINES]
    wanted = brute(*np.array([point.at for point in field]).T)
    assert [point.on_front for point in field] == wanted
    left_out = [point for point in made.points if point not in field]
    assert len(left_out) == (0 if baselines else 3)
    assert all(point.on_front is None for point in left_out)


def test_less_is_better_by_metrics_of_which_less_is(board: Board) -> None:
    x, y = column_of(board, "self_bleu"), column_of(board, "distinct_n")
    assert (better_end(x), better_end(y)) == (-1, 1)
    made = tradeoff(board, x, y, baselines=True)
    wanted = brute(*np.array([(-point.at[0], point.at[1]) for point in made.points]).T)
    assert [point.on_front for point in made.points] == wanted


def test_there_is_no_front_where_no_end_is_better(board: Board) -> None:
    x, y = replace(column_of(board, "distinct_k"), direction=0), column_of(board, "mean_head_quality")
    made = tradeoff(board, x, y)
    assert not made.has_front
    assert all(point.on_front is None for point in made.points)
    assert "no front" in about_tradeoff(board, made)
    assert better_end(y) == 1  # of quality, more is better


def test_systems_without_a_value_are_counted_not_drawn(board: Board) -> None:
    x, y = column_of(board, "distinct_k"), column_of(board, "utility_k")
    first = board.entries[0]
    bare = replace(first, cells={name: cell for name, cell in first.cells.items() if name != y.signature})
    some = replace(board, entries=(bare, *board.entries[1:]))
    made = tradeoff(some, x, y)
    assert made.absent == (first.result.manifest.name,)
    assert len(made.points) == len(board.entries) - 1
    assert "1 of 6 systems" in about_tradeoff(some, made)


def test_the_table_says_what_the_points_are(board: Board) -> None:
    x, y = column_of(board, "distinct_k"), column_of(board, "utility_k")
    made = tradeoff(board, x, y)
    view = tradeoff_table(board, made)
    by_label = {point.label: point for point in made.points}
    texts = Table("", ("x", "y"), list(zip(score_cells(board, x), score_cells(board, y), strict=True))).texts
    assert view.columns[1:3] == ("distinct_k", "utility_k")
    for values, shown in zip(view.values, view.texts, strict=True):
        point = by_label[str(values[0])]
        assert values[1:3] == point.at
        assert shown[1:3] == texts[point.index]
    said = [row[4] for row in view.texts]
    assert said == sorted(said, key=["yes", "no", "not eligible"].index)
    on = about_tradeoff(board, made).split(".")[0]
    assert all((point.label in on) == bool(point.on_front) for point in made.points)
    frame = view.frame()
    assert frame["distinct_k"].dtype == "float64"


def test_the_figure_has_the_points_the_steps_of_the_front_and_its_better_ends(board: Board) -> None:
    up, down = column_of(board, "distinct_k"), column_of(board, "self_bleu")
    view = tradeoff(board, up, down, baselines=True)
    figure = tradeoff_figure(view)
    front, *traces = figure.data
    assert list(zip(front.x, front.y, strict=True)) == sorted(point.at for point in view.points if point.on_front)
    assert sorted(pair for trace in traces for pair in zip(trace.x, trace.y, strict=True)) == sorted(
        point.at for point in view.points
    )
    assert figure.layout.xaxis.title.text == "distinct_k<br>[classes] → better"
    assert figure.layout.yaxis.title.text.endswith("← better")
    turned = tradeoff_figure(tradeoff(board, down, up, baselines=True)).data[0]
    assert (front.line.shape, turned.line.shape) == ("vh", "hv")  # steps turn at the corner that is worse
