"""Curves of different responses, held against the headline; names and ids of systems."""

from collections import Counter
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.metrics.partition import valid_distinct_curve
from benchmark.scoring.estimate import Estimate
from benchmark.scoring.results import PER_PROMPT_FILE
from leaderboard.data.board import Board, Entry
from leaderboard.data.reference.results import WithReference
from leaderboard.pages.curves import (
    Curve,
    curves_figure,
    curves_table,
    distinct_curves,
)
from leaderboard.pages.systems import first_systems, indices_of, system_ids, system_labels
from tests.leaderboard.boards import load_boards
from tests.leaderboard.judged import judged_results


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Board:
    return load_boards(judged_results(tmp_path_factory.mktemp("judged")))[0][0]


def value(entry: Entry, metric: str) -> tuple[float | None, float | None, float | None]:
    cell = next(score for score in entry.result.scores if score.metric == metric)
    return cell.value, cell.low, cell.high


def means(curve: Curve) -> tuple[float, ...]:
    return tuple(point.value or 0.0 for point in curve.points)


def test_the_curve_ends_at_the_headline(board: Board) -> None:
    curves = distinct_curves(board, range(len(board.entries)))
    assert [curve.label for curve in curves] == [entry.result.manifest.name for entry in board.entries]
    for curve, entry in zip(curves, board.entries, strict=True):
        assert len(curve.points) == 10
        assert curve.points[0].value == pytest.approx(value(entry, "valid_share")[0])
        assert curve.points[9].value == pytest.approx(value(entry, "valid_distinct_k")[0])
        assert {point.n for point in curve.points} == {24}


def test_a_curve_is_of_valid_responses_and_ends_at_the_headline() -> None:
    for board in WithReference().read().boards:
        if (board.suite, board.profile) != ("noveltybench-curated", "offline"):
            continue
        curves = distinct_curves(board, range(len(board.entries)))
        assert len(curves) == len(board.entries)
        for curve, entry in zip(curves, board.entries, strict=True):
            assert len(curve.points) == board.k
            assert curve.points[-1].value == pytest.approx(value(entry, "valid_distinct_k")[0])
            assert [point.n for point in curve.points] == [100] * board.k
            assert means(curve) == tuple(sorted(means(curve)))
        junk = next(curve for curve in curves if curve.label == "random-characters")
        assert max(means(junk)) < 0.5


def test_the_curve_is_the_mean_over_all_ways_to_draw() -> None:
    random = np.random.default_rng(0)
    for _ in range(50):
        k = int(random.integers(1, 8))
        labels = random.integers(-1, 4, k).tolist()  # -1: not valid
        found = valid_distinct_curve(tuple(Counter(each for each in labels if each >= 0).values()), k)
        for m in range(1, k + 1):
            drawn = [len({each for each in some if each >= 0}) for some in combinations(labels, m)]
            assert found[m - 1] == pytest.approx(np.mean(drawn), abs=1e-12)


def test_systems_without_the_headline_that_ranks_the_board_have_no_curve(board: Board) -> None:
    first, second, *others = board.entries
    unjudged = {signature: cell for signature, cell in first.cells.items() if signature.metric != "valid_distinct_k"}
    older = {
        signature.model_copy(update={"models": ("validity-v1,texts",)}): cell
        for signature, cell in second.cells.items()
    }
    mixed = replace(board, entries=(replace(first, cells=unjudged), replace(second, cells=older), *others))
    assert len(distinct_curves(mixed, range(len(mixed.entries)))) == len(others)
    by_words = replace(board, columns=tuple(c for c in board.columns if c.metric == "distinct_k"))
    assert not distinct_curves(by_words, range(len(board.entries)))


def test_a_prompt_without_classes_is_missing_in_the_curve_as_in_the_headline(tmp_path: Path) -> None:
    board = load_boards(judged_results(tmp_path))[0][0]
    path = board.entries[0].folder / PER_PROMPT_FILE
    table = pq.read_table(path)
    rows = table.to_pylist()
    rows[0] |= {"classes": None, "valid_distinct_k": None}  # such as where a judge's server gave no partition
    rows[1] |= {"invalid": None, "valid_distinct_k": None}  # or no score
    pq.write_table(pa.Table.from_pylist(rows, table.schema), path)
    (curve,) = distinct_curves(board, [0])
    assert [point.n for point in curve.points] == [len(rows) - 2] * board.k
    assert curve.points[-1].value == pytest.approx(np.mean([row["valid_distinct_k"] for row in rows[2:]]))


def test_the_table_of_curves_holds_their_numbers(board: Board) -> None:
    curves = distinct_curves(board, [2, 0])
    view = curves_table([replace(curves[0], points=curves[0].points[:3]), curves[1]])
    assert view.columns == ("system", *(f"m = {m}" for m in range(1, 11)), "prompts")
    assert view.values[0][1:-1] == (*means(curves[0])[:3], *[None] * 7)
    assert view.values[1][1:-1] == means(curves[1])
    assert curves_table(()).values == ()


def test_no_two_systems_have_the_same_label_or_id(board: Board) -> None:
    one, *others = board.entries

    def named(name: str, own: str) -> Entry:
        manifest = one.result.manifest.model_copy(update={"name": name})
        return replace(one, result=one.result.model_copy(update={"manifest": manifest, "submission_id": own}))

    name = others[0].result.manifest.name
    start = others[0].result.submission_id[:6]
    crowd = replace(board, entries=(named(name, "1" * 16), named(f"{name} ({start})", "2" * 16), one, *others))
    labels, ids = system_labels(crowd), system_ids(crowd)
    assert len(set(labels)) == len(set(ids)) == len(crowd.entries)
    assert ids[2:] == tuple(entry.result.submission_id for entry in board.entries)
    assert indices_of(crowd, [ids[2], "<b>", ids[0], ids[2]]) == (2, 0)


def test_people_come_first_and_baselines_last(board: Board) -> None:
    kinds = [board.entries[place].result.manifest.system.type for place in first_systems(board, 3)]
    assert kinds == ["human"] * 3


@pytest.mark.parametrize(("k", "sizes"), [(12, [1, 3, 5, 7, 9, 11, 12]), (100, [1, 2, 5, 10, 20, 50, 100])])
def test_the_table_of_a_long_curve_is_short_and_has_the_headline(k: int, sizes: list[int]) -> None:
    curve = Curve("long", tuple(Estimate(float(m), n=5) for m in range(1, k + 1)))
    view = curves_table([curve])
    assert view.columns == ("system", *(f"m = {size}" for size in sizes), "prompts")
    assert view.values[0][1:-1] == tuple(sizes)


def test_curves_are_distinguished_by_more_than_colour_and_the_highest_is_first(board: Board) -> None:
    curves = distinct_curves(board, range(6))
    _, *lines = curves_figure(curves).data
    assert len({(line.line.color, line.line.dash, line.marker.symbol) for line in lines}) == 6
    for line in lines:
        curve = next(curve for curve in curves if curve.label == line.name)
        assert tuple(line.y) == means(curve)
    ends = [line.y[-1] for line in lines]
    assert ends == sorted(ends, reverse=True)
