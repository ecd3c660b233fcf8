"""Stages of a model: which systems are a series, and its numbers against numpy, scipy and the study's own."""

from datetime import date
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy import stats

from benchmark.metrics.metric import Missing
from benchmark.scoring.estimate import holm
from benchmark.scoring.results import PER_PROMPT_FILE
from leaderboard.data.board import Board, make_boards
from leaderboard.data.scores import BoardScores
from leaderboard.pages.stages import (
    QUANTILES,
    Series,
    about_series,
    contrasts,
    contrasts_table,
    curves_table,
    find_series,
    quantiles_table,
    stage_curves,
    stage_of,
    values_of,
)
from submissions.schema import Submitter
from tests.leaderboard.boards import load_boards
from tests.leaderboard.data.test_board import aggregate, result
from tests.leaderboard.read_results import stage_results


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stage_results(tmp_path_factory.mktemp("stages"))


@pytest.fixture(scope="module")
def board(folder: Path) -> Board:
    return load_boards(folder)[0][0]


@pytest.fixture(scope="module")
def series(board: Board) -> Series:
    (found,) = find_series(board)
    return found


def named(
    *names: str, submitters: tuple[str, ...] = (), days: tuple[int, ...] = (), heats: tuple[float, ...] = ()
) -> Board:
    made = []
    for place, name in enumerate(names):
        one = result(name, aggregate("distinct_n", 0.5))
        who = submitters[place] if submitters else "tester"
        when = date(2026, 1, days[place] if days else 1)
        how = one.manifest.generation.model_copy(update={"temperature": heats[place]} if heats else {})
        manifest = one.manifest.model_copy(update={"submitter": Submitter(name=who, date=when), "generation": how})
        unique = one.model_copy(update={"manifest": manifest, "result_id": f"{place:016x}"})
        made.append((Path(f"r{place}"), unique))
    return make_boards(made)[0]


@pytest.mark.parametrize(
    ("name", "stage", "family"),
    [
        ("olmo-2-7b-base", "base", "olmo 2 7b"),
        ("OLMo-2-7B", None, "olmo 2 7b"),
        ("allenai/OLMo-2-1124-7B-SFT", "SFT", "allenai olmo 2 1124 7b"),
        ("olmo-2-7b-instruct-alpacaeval", "RLVR (instruct)", "olmo 2 7b alpacaeval"),
        ("tulu_3_base_sft_dpo", "DPO", "tulu 3"),
        ("baseline", None, "baseline"),
        ("<b>sft</b>", "SFT", "b b"),
        ("", None, ""),
    ],
)
def test_a_name_tells_its_stage_and_family(name: str, stage: str | None, family: str) -> None:
    assert stage_of(name) == (stage, tuple(family.split()))


def test_a_series_is_the_same_name_but_for_the_stage() -> None:
    board = named(
        "x-7b-dpo", "gpt-4o", "x-7b-instruct", "x-7b", "x-7b-sft", "y-sft", "x-7b-sft-matched", "x-7b-matched"
    )
    raw, matched = find_series(board)
    assert (raw.name, raw.stages) == ("x 7b", ("base", "SFT", "DPO", "RLVR (instruct)"))
    assert [e.result.manifest.name for e in raw.entries] == ["x-7b", "x-7b-sft", "x-7b-dpo", "x-7b-instruct"]
    assert (matched.name, matched.stages) == ("x 7b matched", ("base", "SFT"))
    assert find_series(named("gpt-4o", "x-sft", "y-dpo")) == []


def test_another_submitter_is_another_series_and_the_later_submission_counts() -> None:
    theirs = named("x-base", "x-sft", "x-sft", submitters=("a", "b", "b"))
    assert find_series(theirs) == []
    twice = named("x-base", "x-sft", "x-SFT", days=(1, 9, 5))
    (found,) = find_series(twice)
    assert [e.result.manifest.name for e in found.entries] == ["x-base", "x-sft"]


def test_stages_that_were_not_sampled_alike_are_compared_with_a_warning() -> None:
    for heats, is_warned in (((1.0, 0.7), True), ((1.0, 1.0), False)):
        board = named("x-base", "x-sft", heats=heats)
        (found,) = find_series(board)
        assert ("The stages were not sampled alike" in about_series(board, found)) == is_warned


def test_curves_are_means_over_the_prompts_that_all_stages_have(series: Series) -> None:
    found = stage_curves(series, 10)
    assert not isinstance(found, Missing)
    assert series.stages == ("base", "SFT", "DPO")
    rows = [
        pq.read_table(e.folder / PER_PROMPT_FILE, columns=["surprisals"])["surprisals"].to_pylist()
        for e in series.entries
    ]
    assert rows[2][0] is None
    assert (found.prompts, found.left_out) == (23, 1)
    for place, own in enumerate(rows):
        curves = np.array([row["curve_rate"] for row in own[1:] if row is not None])
        assert found.means[place] == pytest.approx(curves.mean(axis=0))
        assert found.errors[place] == pytest.approx(stats.sem(curves, axis=0))
    table = curves_table(found)
    assert [row[0] for row in table.values] == list(range(1, 11))
    assert table.values[3][1:] == pytest.approx(tuple(found.means[:, 3]))
    assert table.texts[0][1] == f"{found.means[0, 0]:.3f} ± {found.errors[0, 0]:.3f}"


def test_without_curves_there_is_a_reason(series: Series, results: Path) -> None:
    assert isinstance(stage_curves(series, 9), Missing)
    lexical = load_boards(results)[0][0]
    none = Series("x", "y", ("base", "SFT"), lexical.entries[:2])
    reason = stage_curves(none, 10)
    assert isinstance(reason, Missing)
    assert "complete curve" in reason.reason


@pytest.mark.parametrize("metric", ["d_can", "self_bleu", "ead"])
def test_contrasts_are_scipys(board: Board, series: Series, metric: str) -> None:
    scores = BoardScores(board)
    column = next(column for column in board.columns if column.metric == metric)
    values = values_of(series, board, scores.matrix(column))
    for place, entry in enumerate(series.entries):
        stored = pq.read_table(entry.folder / PER_PROMPT_FILE, columns=[metric])[metric].to_numpy(zero_copy_only=False)
        np.testing.assert_array_equal(values[:, place], stored)
    found = contrasts(series, scores.prompts, values, column, resamples=500)
    assert [(c.a, c.b) for c in found] == [("base", "SFT"), ("SFT", "DPO")]
    p, of_means = [], []
    for c in found:
        first, second = (values[:, series.stages.index(name)] for name in (c.a, c.b))
        there = np.isfinite(first) & np.isfinite(second)
        gaps = (first - second)[there]
        assert c.n == there.sum()
        assert c.difference == pytest.approx(gaps.mean())
        assert c.d_z == pytest.approx(gaps.mean() / gaps.std(ddof=1))
        assert c.low is not None
        assert c.high is not None
        assert c.low <= gaps.mean() <= c.high
        of_means.append(stats.ttest_1samp(gaps, 0).pvalue)
        p.append(stats.wilcoxon(first[there], second[there]).pvalue)
        assert c.p == pytest.approx(p[-1])
    assert [c.p_holm for c in found] == pytest.approx(holm(p).tolist())
    table = contrasts_table(found, column)
    assert [row[2] for row in table.values] == [
        "no significant difference"
        if (c.p_holm or 0) >= 0.05
        else f"{c.a if ((c.difference or 0) > 0) == (column.direction > 0) else c.b} more diverse"
        if p_of_means < 0.05
        else "means and ranks disagree"
        for c, p_of_means in zip(found, of_means, strict=True)
    ]
    assert [row[0] for row in table.values] == ["base − SFT", "SFT − DPO"]
    assert [row[1] for row in table.values] == [c.difference for c in found]
    assert "untested because" not in table.columns


def test_few_prompts_are_not_tested_and_it_is_said(board: Board, series: Series) -> None:
    column = next(column for column in board.columns if column.metric == "ead")
    values = np.array([[0.5, 0.4, np.nan], [0.6, 0.5, 0.1]])
    table = contrasts_table(contrasts(series, ["a", "b"], values, column, resamples=50), column)
    assert [row[-1] for row in table.values] == ["fewer than 5 pairs"] * 2
    assert [row[7] for row in table.values] == [None, None]
    assert table.texts[0][7] == ""
    assert [row[2] for row in table.values] == ["not tested"] * 2


def test_quantiles_are_numpys_and_missing_values_leave(series: Series) -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(40, 3))
    values[3, 1] = np.nan
    values[:, 2] = np.nan
    table = quantiles_table(series, values)
    for place, row in enumerate(table.values[:2]):
        there = values[:, place][np.isfinite(values[:, place])]
        assert row[1] == len(there)
        assert row[2] == pytest.approx(there.mean())
        assert row[3] == pytest.approx(there.std(ddof=1))
        assert row[4:-1] == pytest.approx(tuple(np.quantile(there, QUANTILES)))
    assert table.values[2][1:-1] == (0, *[None] * 7)
    assert [row[-1] for row in table.values] == [e.result.manifest.name for e in series.entries]
