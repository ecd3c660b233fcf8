"""Tables of docs/ that are made from the reference results which ship: what attacks gain, and OLMo's stages."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from benchmark.scoring.estimate import Floats, bootstrap_means
from leaderboard.data.board import Board, Column
from leaderboard.data.reference.build import PROFILE
from leaderboard.data.reference.results import WithReference
from leaderboard.data.reference.systems import (
    ALPACAEVAL,
    ATTACKED,
    ATTACKS,
    CURATED,
    GROUPED,
    MATCHED,
    REAL,
    STAGE_SUITES,
    SUITE,
)
from leaderboard.data.scores import BoardScores
from leaderboard.pages.stages import Series, contrasts, find_series, values_of
from submissions.gaming.attacks import ATTACKS as KINDS
from tests.test_readme import ROOT, paste

GAMING, OLMO = ROOT / "docs" / "gaming.md", ROOT / "docs" / "olmo.md"
STAGE_METRICS = (
    *("valid_distinct_k", "distinct_k", "embedding_diversity", "vendi_score", "distinct_n", "ead", "self_bleu"),
    *("compression_ratio", "distance_beside_prompt", "d_can", "valid_share"),
)
SIGNIFICANT = 0.05


@cache
def _boards() -> Sequence[Board]:
    return WithReference().read().boards


@cache
def board_of(suite: str, k: int) -> tuple[Board, BoardScores]:
    board = next(each for each in _boards() if (each.suite, each.k, each.profile) == (suite, k, PROFILE))
    return board, BoardScores(board)


def _attacked() -> tuple[Board, BoardScores]:
    return board_of(SUITE, 8)


def _gains(column: Column) -> Mapping[str, Floats]:
    """By attack the gain on each prompt, in units of the distance between real systems."""
    board, scores = _attacked()
    matrix = scores.matrix(column)
    at = {entry.result.manifest.name: place for place, entry in enumerate(board.entries)}
    real = np.nanmean(matrix[:, [at[system.name] for system in GROUPED]], axis=0)
    scale = column.direction / (real.max() - real.min())
    return {a.name: (matrix[:, at[a.name]] - matrix[:, at[ATTACKED.name]]) * scale for a in ATTACKS}


def _ranged(value: float, low: float, high: float, places: int = 2, *, signed: bool = False) -> str:
    sign = "+" if signed else ""
    return f"{value:{sign}.{places}f} [{low:{sign}.{places}f}, {high:{sign}.{places}f}]".replace("-", "−")


def attacks_table() -> str:
    """The headline of every attack, and what it gains."""
    board, _ = _attacked()
    column = next(c for c in board.columns if c.metric == "valid_distinct_k")
    gains = _gains(column)
    intervals = dict(zip(gains, bootstrap_means(np.column_stack(list(gains.values()))), strict=True))
    lines = ["| made from gpt-4o | kind | `valid_distinct_k` | gain | refused |", "|---|---|---:|---:|---:|"]
    entries = {entry.result.manifest.name: entry for entry in board.entries}
    for attack in KINDS:
        result, cell = entries[attack.name].result, entries[attack.name].cells[column.signature]
        ends = intervals[attack.name]
        assert ends.low is not None
        assert ends.high is not None
        assert cell.value is not None
        assert cell.low is not None
        assert cell.high is not None
        assert result.counts is not None
        refused = sum((result.counts.invalid or {}).values()) / result.counts.responses
        gain = _ranged(float(np.nanmean(gains[attack.name])), ends.low, ends.high, signed=True)
        lines.append(
            f"| {attack.name} | {attack.kind} | {_ranged(cell.value, cell.low, cell.high)} | {gain} | {refused:.0%} |"
        )
    return "\n".join(lines)


def systems_table() -> str:
    """The headline of every real system, from the least diverse to the most, and what was refused for which reason."""
    board, _ = _attacked()
    column = next(c for c in board.columns if c.metric == "valid_distinct_k")
    real = {system.name for system in REAL}
    rows = []
    for entry in board.entries:
        if entry.result.manifest.name in real:
            cell, counts = entry.cells[column.signature], entry.result.counts
            assert cell.value is not None
            assert cell.low is not None
            assert cell.high is not None
            assert counts is not None
            reasons = counts.invalid or {}
            said = ", ".join(f"{n} {why}" for why, n in sorted(reasons.items(), key=lambda each: (-each[1], each[0])))
            share = sum(reasons.values()) / counts.responses
            value = _ranged(cell.value, cell.low, cell.high)
            rows.append((cell.value, f"| {entry.result.manifest.name} | {value} | {share:.1%} | {said} |"))
    head = ["| system | `valid_distinct_k` | refused | reasons |", "|---|---:|---:|---|"]
    return "\n".join([*head, *(text for _, text in sorted(rows))])


def _is_there(suite: str) -> bool:
    return any(board.suite == suite for board in _boards())


def _values(suite: str, metric: str) -> tuple[Series, Column, Sequence[str], Floats] | None:
    """A metric of OLMo's stages by prompt, [prompts, stages]; None if it was not computed."""
    board, scores = board_of(suite, 10)
    (series,) = find_series(board)
    column = next((c for c in board.columns if c.metric == metric), None)
    if column is None:
        return None
    values = values_of(series, board, scores.matrix(column))
    return (series, column, scores.prompts, values) if np.isfinite(values).any(axis=0).all() else None


def _cells(series: Series, column: Column, prompts: Sequence[str], values: Floats) -> str:
    """Means of the stages, and the differences between consecutive ones; bold if significant."""
    places = 2 if np.nanmax(np.abs(values)) > 2 else 3
    cells = [f"{mean:.{places}f}" for mean in np.nanmean(values, axis=0)]
    for each in contrasts(series, prompts, values, column):
        assert each.difference is not None
        assert each.low is not None
        assert each.high is not None
        text = _ranged(each.difference, each.low, each.high, places, signed=True)
        cells.append(f"**{text}**" if each.p_holm is not None and each.p_holm < SIGNIFICANT else text)
    return " | ".join(cells)


_STAGES = "base | SFT | DPO | Instruct | base − SFT | SFT − DPO | DPO − Instruct |"
_RULE = "|---|" + "---:|" * 7


def stages_table(suite: str) -> str:
    """Every metric of `STAGE_METRICS` on a suite."""
    lines = [f"| metric | {_STAGES}", _RULE]
    for metric in STAGE_METRICS:
        found = _values(suite, metric)
        if found is not None:
            lines.append(f"| `{metric}` | {_cells(*found)} |")
    return "\n".join(lines)


def lengths_table() -> str:
    """The headline on all prompts as sampled, on those that length matching keeps, and length-matched."""
    lines = [f"| `valid_distinct_k` of 10 | {_STAGES}", _RULE]
    for suite, name in ((CURATED, "NoveltyBench"), (ALPACAEVAL, "AlpacaEval")):
        matched = _values(f"{suite}{MATCHED}", "valid_distinct_k")
        assert matched is not None
        rows = [("length-matched", matched)]
        if _is_there(suite):
            whole = _values(suite, "valid_distinct_k")
            assert whole is not None
            series, column, prompts, values = whole
            kept = [place for place, prompt in enumerate(prompts) if prompt in set(matched[2])]
            same = (series, column, [prompts[place] for place in kept], values[kept])
            rows = [("as sampled", whole), ("as sampled", same), *rows]
        for said, found in rows:
            lines.append(f"| {name}, {len(found[2])} prompts, {said} | {_cells(*found)} |")
    return "\n".join(lines)


def tables() -> Iterator[tuple[Path, str, str]]:
    yield GAMING, "systems", systems_table()
    yield GAMING, "attacks", attacks_table()
    for suite in STAGE_SUITES:
        if suite.endswith(MATCHED):
            yield OLMO, suite, stages_table(suite)
    yield OLMO, "lengths", lengths_table()


def test_tables_are_those_of_the_results_that_ship() -> None:
    for page, mark, table in tables():
        found = page.read_text("utf-8").split(f"<!-- {mark} -->\n")[1].split(f"\n<!-- /{mark} -->")[0]
        assert found == table, f"{page.name}, {mark}: run: python -m tests.test_reference_tables"


if __name__ == "__main__":
    for made in tables():
        paste(*made)
    sys.stdout.write("All tables are up to date.\n")
