"""Paired differences against scipy and `divbench contrast`, prompts against brute force, answers against the texts."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from scipy import stats

from benchmark.analysis.contrast.paired import paired_contrast
from benchmark.scoring.estimate import Estimate, holm, level_for
from divbench.core.tables import Table
from leaderboard.data.board import Board, Column
from leaderboard.data.scores import BoardScores
from leaderboard.pages.compare import (
    Gap,
    about_compare,
    compare,
    compare_table,
    differing,
    differing_table,
    explore_link,
    forest_figure,
    headline,
    side_by_side,
)
from leaderboard.pages.systems import find_entry, score_cells, system_ids
from submissions.checking.validate import open_submission
from tests.leaderboard.boards import load_boards
from tests.leaderboard.conftest import HOSTILE_NAME

THREE = ("varied", "collapsed", HOSTILE_NAME)


@pytest.fixture(scope="module")
def board(results: Path) -> Board:
    return load_boards(results)[0][0]


@pytest.fixture(scope="module")
def scores(board: Board) -> BoardScores:
    return BoardScores(board)


@pytest.fixture(scope="module")
def places(board: Board) -> tuple[int, ...]:
    names = [entry.result.manifest.name for entry in board.entries]
    return tuple(names.index(name) for name in THREE)


@pytest.fixture(scope="module")
def gaps(scores: BoardScores, places: tuple[int, ...], board: Board) -> tuple[Gap, ...]:
    return compare(scores, places, board.columns, resamples=2000)


def column_of(board: Board, label: str) -> Column:
    return next(column for column in board.columns if column.label == label)


def test_numbers_are_those_of_the_paired_contrast(
    scores: BoardScores, places: tuple[int, ...], gaps: tuple[Gap, ...], board: Board
) -> None:
    assert len(gaps) == 3 * len(board.columns)
    for column in board.columns:
        matrix = scores.matrix(column)
        values = {
            str(i): dict(zip(scores.prompts, matrix[:, place].tolist(), strict=True)) for i, place in enumerate(places)
        }
        pairs = [(str(a), str(b)) for a, b in combinations(range(3), 2)]
        wanted = paired_contrast(values, pairs, expected="two-sided", resamples=2000)
        own = [gap for gap in gaps if gap.column is column]
        for gap, each in zip(own, wanted, strict=True):
            assert (gap.n, gap.p, gap.untested) == (each.n, each.p, each.untested)
            assert gap.rank_biserial == each.rank_biserial
            difference = gap.difference
            assert (difference.value, difference.low, difference.high) == pytest.approx(
                (each.difference, each.low, each.high)
            )
            assert gap.d_z.value == (None if each.d_z is None else pytest.approx(each.d_z))


def test_numbers_are_those_of_scipy(
    scores: BoardScores, places: tuple[int, ...], gaps: tuple[Gap, ...], board: Board
) -> None:
    column = column_of(board, "self_bleu")
    a, b = scores.matrix(column)[:, places[0]], scores.matrix(column)[:, places[1]]
    gap = next(gap for gap in gaps if gap.column is column and gap.names == THREE[:2])
    assert gap.p == stats.wilcoxon(a, b).pvalue
    assert gap.d_z.value == pytest.approx((a - b).mean() / (a - b).std(ddof=1))
    drawn = stats.bootstrap((a - b,), np.mean, method="percentile", rng=np.random.default_rng(3), n_resamples=20_000)
    width = drawn.confidence_interval.high - drawn.confidence_interval.low
    assert gap.difference.interval == pytest.approx(tuple(drawn.confidence_interval), abs=width / 15)
    assert gap.difference.value == pytest.approx((a - b).mean())
    resampled = (a - b)[np.random.default_rng(0).integers(len(a), size=(10_000, len(a)))]
    tail = (1 - level_for(len(a))) / 2
    ends = np.quantile(resampled.mean(axis=1) / resampled.std(axis=1, ddof=1), [tail, 1 - tail])
    assert gap.d_z.interval == pytest.approx(tuple(ends), abs=(ends[1] - ends[0]) / 15)


def test_p_values_are_corrected_over_all_that_is_shown(gaps: tuple[Gap, ...]) -> None:
    p = np.array([np.nan if gap.p is None else gap.p for gap in gaps])
    adjusted = np.array([np.nan if gap.p_holm is None else gap.p_holm for gap in gaps])
    assert adjusted == pytest.approx(holm(p), nan_ok=True)
    assert np.nanmin(adjusted) == pytest.approx(np.nanmin(p) * np.isfinite(p).sum())


def test_wins_are_counted_towards_the_better_end(
    scores: BoardScores, places: tuple[int, ...], gaps: tuple[Gap, ...]
) -> None:
    for gap in gaps:
        of = scores.matrix(gap.column)
        sign = gap.column.direction or 1
        rows = [
            (sign * a, sign * b)
            for a, b in of[:, [places[THREE.index(name)] for name in gap.names]]
            if np.isfinite(a + b)
        ]
        close = [abs(a - b) <= 1e-12 * max(abs(a), abs(b)) for a, b in rows]
        wins = sum(a > b and not tie for (a, b), tie in zip(rows, close, strict=True))
        assert (gap.wins, gap.ties, gap.losses) == (wins, sum(close), len(rows) - wins - sum(close))
    assert any(gap.ties for gap in gaps)


def test_findings_name_who_is_ahead_whichever_end_is_better(gaps: tuple[Gap, ...]) -> None:
    by_label = {gap.column.label: gap for gap in gaps if gap.names == THREE[:2]}
    up, down = by_label["distinct_k"], by_label["self_bleu"]
    assert (up.column.direction, down.column.direction) == (1, -1)
    assert (up.difference.value or 0) > 0 > (down.difference.value or 0)
    assert (up.finding, down.finding) == ("varied more diverse", "varied more diverse")
    assert replace(up, p_holm=0.05).finding == "no significant difference"
    assert replace(up, p_holm=None).finding == "not tested"
    assert replace(up, difference=Estimate(0.0)).finding == "no significant difference"
    against = replace(up, rank_biserial=-0.5)  # few large differences against many small ones
    assert (against.finding, against.ahead) == ("means and ranks disagree", None)
    assert replace(up, d_z=Estimate(0.01)).finding == "means and ranks disagree"  # a paired t-test does not find it
    assert headline([against], THREE[:2]) == "means and ranks disagree on 1 of 1 metrics."
    turned = replace(down, column=replace(down.column, direction=0))
    assert turned.finding == "collapsed higher"


def test_a_metric_that_only_one_system_has_is_left_out(board: Board, places: tuple[int, ...]) -> None:
    column = column_of(board, "ead")
    bare = [
        replace(e, cells={s: c for s, c in e.cells.items() if s != column.signature}) if i == places[1] else e
        for i, e in enumerate(board.entries)
    ]
    some = BoardScores(replace(board, entries=tuple(bare)))
    assert compare(some, places[:2], (column,)) == ()
    assert [gap.pair for gap in compare(some, places, (column,), resamples=50)] == [f"varied − {HOSTILE_NAME}"]
    assert "no values for the same metric" in about_compare(())
    assert headline((), ["x", "y"]) == "x and y have no tested diversity metric in common."


def test_identical_systems_are_not_told_apart(board: Board, scores: BoardScores, places: tuple[int, ...]) -> None:
    (gap,) = compare(scores, (places[0], places[0]), (column_of(board, "ead"),), resamples=50)
    assert (gap.difference.value, gap.difference.interval, gap.p, gap.d_z.value) == (0.0, (0.0, 0.0), 1.0, None)
    assert (gap.finding, gap.ties, gap.wins, gap.losses) == ("no significant difference", gap.n, 0, 0)


def test_the_table_holds_the_numbers_and_the_means_of_the_page_models(
    board: Board, places: tuple[int, ...], gaps: tuple[Gap, ...]
) -> None:
    view = compare_table(board, places, gaps)
    assert len(view.values) == len(gaps)
    assert view.columns[3:6] == tuple(f"mean of {name}" for name in THREE)
    for row, shown, gap in zip(view.values, view.texts, gaps, strict=True):
        means = [board.entries[place].cells[gap.column.signature].value for place in places]
        assert row[:3] == (gap.column.label, gap.difference.value, gap.finding)
        assert row[3:] == (*means, gap.pair, gap.d_z.value, gap.wins, gap.ties, gap.losses, gap.p_holm, gap.p, gap.n)
        texts = score_cells(board, gap.column)  # as the page Models writes them
        assert shown[3:6] == Table("", THREE, [[texts[place] for place in places]]).texts[0]
        written = shown[1].split(" ")[0]
        digits = len(written.partition(".")[2])
        assert float(written) == pytest.approx(gap.difference.value, abs=0.51 * 10**-digits)
    assert view.frame()["p (Holm)"].dtype == "float64"


def test_one_sentence_counts_the_findings_by_name(gaps: tuple[Gap, ...]) -> None:
    told = sum(gap.finding != "no significant difference" for gap in gaps if gap.p is not None)
    assert about_compare(gaps).startswith(f"{told} of ")
    untested = [replace(gap, p=None, p_holm=None) for gap in gaps]
    assert about_compare(untested).startswith("Nothing is tested, because the systems have fewer than 5 prompts")
    two = [gap for gap in gaps if gap.names == THREE[:2] and gap.column.direction]
    wins = sum(gap.finding == "varied more diverse" for gap in two)
    assert wins > 3
    said = headline(two, THREE[:2])
    assert said.startswith(f"varied: more diverse on {wins} of {len(two)} metrics")
    even = [replace(gap, p_holm=0.11) for gap in two]
    assert headline(even, THREE[:2]) == (
        f"no significant difference between varied and collapsed on {len(two)} of {len(two)} metrics."
    )


@pytest.mark.parametrize("label", ["distinct_k", "self_bleu", "ead"])
def test_prompts_stand_by_the_range_of_their_values(
    board: Board, scores: BoardScores, places: tuple[int, ...], label: str
) -> None:
    column = column_of(board, label)
    values = dict(zip(scores.prompts, scores.matrix(column)[:, list(places)].tolist(), strict=True))
    spread = {name: max(own) - min(own) for name, own in values.items()}
    wanted = sorted(scores.prompts, key=lambda name: -spread[name])  # stable: the suite's order among equals
    found = differing(scores, places, column, most=7)
    assert [row.prompt_id for row in found] == wanted[:7]
    submission, suite, _ = open_submission(board.entries[0].folder.parents[1] / "submissions" / "varied")
    for row in found:
        assert list(row.values) == values[row.prompt_id]
        assert row.spread == pytest.approx(spread[row.prompt_id])
        assert (row.prompt, row.category) == (suite.by_id[row.prompt_id].prompt, suite.by_id[row.prompt_id].category)
    view = differing_table(found, THREE)
    assert view.columns[:5] == ("prompt", "difference", *THREE)
    assert [row[:2] for row in view.values] == [(row.prompt_id, row.spread) for row in found]
    assert submission.manifest.name == "varied"


def test_prompts_that_one_system_alone_answered_are_no_difference(board: Board, scores: BoardScores) -> None:
    column = column_of(board, "ead")
    bare = BoardScores(replace(board, entries=(replace(board.entries[0], cells={}), board.entries[1])))
    assert differing(bare, (0, 1), column) == ()
    assert len(differing(scores, (0, 1), column)) == 24


def test_answers_stand_side_by_side_as_they_were_given(board: Board, places: tuple[int, ...]) -> None:
    prompt, beside = side_by_side(board, places, "demo-05")
    assert prompt
    assert beside.columns == ["#", THREE[0], "class", THREE[1], "class", THREE[2], "class"]
    folder = board.entries[0].folder.parents[1] / "submissions"
    for column, name in ((1, "varied"), (3, "collapsed"), (5, "hostile")):
        rows = open_submission(folder / name)[0].rows()
        wanted = next(row for row in rows if row.prompt_id == "demo-05").responses
        assert tuple(row[column] for row in beside.rows) == wanted
    varied = [row[2] for row in beside.rows]
    assert varied[0] == "1"
    assert set(varied) <= set(map(str, range(1, 11)))
    assert side_by_side(board, places, "no such prompt")[1].rows == []


def test_a_link_leads_to_the_systems_prompt_whatever_the_prompt_is_called(board: Board) -> None:
    wild = "a&b=c #?/<script>\u202e"
    link = urlsplit(explore_link(board, 1, wild))
    assert (link.scheme, link.netloc, link.path) == ("", "", "explore")
    query = parse_qs(link.query)
    assert (query["table"], query["prompt"]) == ([board.name], [wild])
    assert query["system"] == [system_ids(board)[1]]
    assert find_entry(board, query["system"][0]) is board.entries[1]  # as Explore reads it


def test_the_figure_points_to_the_better_end_and_leaves_out_what_does_not_vary(
    board: Board, places: tuple[int, ...], scores: BoardScores
) -> None:
    columns = (
        column_of(board, "distinct_k"),
        column_of(board, "self_bleu"),
        replace(column_of(board, "ead"), direction=0),
    )
    gaps = compare(scores, places[:2], columns, resamples=200)
    figure = forest_figure(gaps)
    (trace,) = figure.data
    for i, (gap, sign) in enumerate(zip(gaps, (1, -1, 1), strict=True)):
        assert gap.d_z.value is not None
        assert gap.d_z.interval is not None
        assert trace.x[i] == sign * gap.d_z.value
        assert trace.x[i] - trace.error_x.arrayminus[i] == pytest.approx(min(sign * end for end in gap.d_z.interval))
    assert all(value > 0 for value in trace.x[:2])  # varied responses are more diverse, whichever end says so
    assert [symbol.endswith("-open") for symbol in trace.marker.symbol] == [False, False, True]
    same = replace(gaps[0], d_z=Estimate(None))
    assert list(forest_figure([same, gaps[1]]).layout.yaxis.ticktext) == ["self_bleu"]
    assert forest_figure([same]) is None
