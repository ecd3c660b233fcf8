"""Paired comparison of two to four systems of a board: differences by metric with tests, and by prompt. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any
from urllib.parse import urlencode

import numpy as np

from benchmark.analysis.ranking import prompt_wins
from benchmark.equivalence.partition_columns import COLUMN as CLASSES
from benchmark.scoring.printing import ARROWS
from benchmark.scoring.resampling import bootstrap_means, cohens_dz, holm, wilcoxon
from leaderboard.data.board import Board, Column, Entry
from leaderboard.data.scores import BoardScores, prompt_row
from leaderboard.tables.models import QUALITY
from leaderboard.tables.prompts import prompts_of
from leaderboard.tables.systems import system_ids
from leaderboard.tables.table_view import TableView, number_text, p_text, places_for, places_for_all, ranged_text
from leaderboard.tables.tradeoff import end_of

FEWEST, MOST = 2, 4
LETTERS = "ABCD"
LEVEL = 0.05  # significance level
RESAMPLES = 10_000
SHOWN_PROMPTS = 50
_EXCERPT = 120  # characters of a prompt in a table


@dataclass(frozen=True, slots=True)
class Gap:
    """Difference between two systems on one metric.

    Attributes:
        column: Column of the metric.
        first: Index of the first system among those compared, 0 for A.
        second: Index of the second system.
        n: Number of prompts on which both have a value; everything below is over these.
        mean_first: Mean of the first system; None if n is 0.
        mean_second: Mean of the second system; None if n is 0.
        difference: Mean of first − second; None if n is 0.
        interval: Its 95% percentile bootstrap interval over prompts; None if there is none.
        d_z: Difference in standard deviations of the prompts' differences; None if they do not vary.
        d_z_interval: Interval in the same standard deviations.
        wins: Number of prompts on which the first is better (for a metric without direction, higher).
        ties: Number of prompts on which they are equal.
        losses: Number of prompts on which the second is better.
        p: p-value of Wilcoxon's two-sided signed-rank test; None if untested.
        p_holm: p-value after Holm's correction over all differences shown together.
        untested: Reason why there is no p-value.
    """

    column: Column
    first: int
    second: int
    n: int
    mean_first: float | None
    mean_second: float | None
    difference: float | None
    interval: tuple[float, float] | None
    d_z: float | None
    d_z_interval: tuple[float, float] | None
    wins: int
    ties: int
    losses: int
    p: float | None
    p_holm: float | None
    untested: str | None

    @property
    def pair(self) -> str:
        """Such as `A − B`."""
        return f"{LETTERS[self.first]} − {LETTERS[self.second]}"

    @property
    def finding(self) -> str:
        """The system that is ahead, if the corrected test finds a significant difference."""
        if self.p_holm is None or self.difference is None:
            return "not tested"
        if self.p_holm >= LEVEL or self.difference == 0:
            return "no significant difference"
        ahead = (self.difference > 0) == (end_of(self.column) >= 0)
        return f"{LETTERS[self.first if ahead else self.second]} {_word(self.column)}"


def _word(column: Column) -> str:
    return "more diverse" if column.direction else "better" if column.metric in QUALITY else "higher"


def compare(
    scores: BoardScores,
    places: Sequence[int],
    columns: Sequence[Column],
    *,
    resamples: int = RESAMPLES,
) -> tuple[Gap, ...]:
    """Paired differences between every two systems on every metric.

    The numbers equal those of `paired_contrast` in `benchmark.analysis.contrast.paired`, two-sided and over prompts,
    except that Holm's correction is over everything returned here.

    Args:
        scores: Scores of the board.
        places: Indices of the systems on the board, A first.
        columns: Columns of the metrics.
        resamples: Number of bootstrap resamples, shared by all differences.

    Returns:
        Differences by metric, then by pair; metrics that fewer than two of the systems have are left out.

    Raises:
        InputError: A result's files are gone.
    """
    pairs = [
        (column, first, second)
        for column in columns
        for first, second in combinations(range(len(places)), 2)
        if _have(scores, column, places[first]) and _have(scores, column, places[second])
    ]
    if not pairs:
        return ()
    of = {column.signature: scores.matrix(column)[:, list(places)] for column in columns}
    gaps = np.stack([of[column.signature][:, a] - of[column.signature][:, b] for column, a, b in pairs], axis=1)
    intervals = bootstrap_means(gaps, resamples=resamples)
    tests = [wilcoxon(of[column.signature][:, a], of[column.signature][:, b]) for column, a, b in pairs]
    adjusted = holm([np.nan if test.p is None else test.p for test in tests])
    made = []
    for i, (column, first, second) in enumerate(pairs):
        values, interval, test = of[column.signature][:, [first, second]], intervals[i], tests[i]
        both = values[np.isfinite(gaps[:, i])]
        won = prompt_wins(both, end_of(column) or 1)[:, 0, 1]
        d_z, spread = cohens_dz(gaps[:, i]), float(np.std(both[:, 0] - both[:, 1], ddof=1)) if len(both) > 1 else 0.0
        varies = interval is not None and bool(np.isfinite(d_z))
        made.append(
            Gap(
                column=column,
                first=first,
                second=second,
                n=len(both),
                mean_first=float(both[:, 0].mean()) if len(both) else None,
                mean_second=float(both[:, 1].mean()) if len(both) else None,
                difference=float((both[:, 0] - both[:, 1]).mean()) if len(both) else None,
                interval=None if interval is None else (interval.low, interval.high),
                d_z=d_z if varies else None,
                d_z_interval=(interval.low / spread, interval.high / spread) if interval and varies else None,
                wins=int((won == 1).sum()),
                ties=int((won == 0.5).sum()),
                losses=int((won == 0).sum()),
                p=test.p,
                p_holm=None if test.p is None else float(adjusted[i]),
                untested=test.untested,
            )
        )
    return tuple(made)


def _have(scores: BoardScores, column: Column, place: int) -> bool:
    cell = scores.board.entries[place].cells.get(column.signature)
    return cell is not None and cell.value is not None


def compare_table(gaps: Sequence[Gap]) -> TableView:
    """The differences as a table, one row per metric and pair."""
    headers = (
        "metric",
        "pair",
        "finding",
        "first mean",
        "second mean",
        "difference [95%]",
        "d_z [95%]",
        "won",
        "tied",
        "lost",
        "p (Holm)",
        "p",
        "prompts",
    )
    values, shown = [], []
    for gap in gaps:
        name = f"{gap.column.label} {ARROWS[end_of(gap.column)]}".strip()
        counts = (gap.wins, gap.ties, gap.losses)
        means = (gap.mean_first, gap.mean_second)
        values.append((name, gap.pair, gap.finding, *means, gap.difference, gap.d_z, *counts, gap.p_holm, gap.p, gap.n))
        low, high = gap.interval or (None, None)
        small, great = gap.d_z_interval or (None, None)
        places = places_for(high - low) if low is not None and high is not None else 3
        shown.append(
            (
                name,
                gap.pair,
                gap.finding,
                *(number_text(mean, places) for mean in means),
                ranged_text(gap.difference, low, high),
                ranged_text(gap.d_z, small, great, 2),
                *map(str, counts),
                p_text(gap.p_holm),
                p_text(gap.p) or gap.untested or "",
                str(gap.n),
            )
        )
    return TableView(headers, tuple(values), tuple(shown), ("str", "str", "str", *["number"] * 10))


def about_compare(gaps: Sequence[Gap], labels: Sequence[str]) -> str:
    """The caption of the comparison: who is A, B, …, and how to read the numbers."""
    who = "; ".join(f"{letter} is {label}" for letter, label in zip(LETTERS, labels, strict=False))
    if not gaps:
        return f"{who}. They have none of the metrics shown in common."
    tested = sum(gap.p is not None for gap in gaps)
    significant = sum(gap.finding not in ("no significant difference", "not tested") for gap in gaps)
    return (
        f"{who}. {significant} of {tested} tests find a significant difference at {LEVEL:g} after Holm's correction "
        f"over all {tested} shown. Differences are first − second over the prompts for which both have a value, with "
        "95% percentile bootstrap intervals over prompts; p-values are from Wilcoxon's two-sided signed-rank test. "
        "Intervals are for the mean and uncorrected, so they can disagree with the tests. The more diverse or better "
        "system wins a prompt; on metrics without direction, the higher one. d_z is the difference in standard "
        "deviations of the prompts' differences; in the figure, positive d_z means that the first system is better, "
        "and open symbols mark metrics without direction."
    )


@dataclass(frozen=True, slots=True)
class Differing:
    """A prompt on which systems differ.

    Attributes:
        prompt_id: Id of the prompt.
        category: Category of the prompt.
        prompt: Text of the prompt.
        values: Value of each system compared; None if missing.
        spread: Difference between the largest and the smallest value.
    """

    prompt_id: str
    category: str
    prompt: str
    values: tuple[float | None, ...]
    spread: float


def differing(
    scores: BoardScores, places: Sequence[int], column: Column, most: int = SHOWN_PROMPTS
) -> tuple[Differing, ...]:
    """The prompts on which systems differ most on a metric, ties in the suite's order.

    Prompts on which fewer than two systems have a value are left out.

    Args:
        scores: Scores of the board.
        places: Indices of the systems on the board.
        column: Column of the metric.
        most: Maximum number of prompts.

    Raises:
        InputError: A result's files are gone.
    """
    values = scores.matrix(column)[:, list(places)]
    rows = np.flatnonzero(np.isfinite(values).sum(axis=1) > 1)
    spread = np.nanmax(values[rows], axis=1) - np.nanmin(values[rows], axis=1)
    order = np.argsort(-spread, kind="stable")[:most].tolist()
    chosen = [scores.prompts[rows[i]] for i in order]
    texts = _texts([scores.board.entries[place] for place in places], chosen)
    return tuple(
        Differing(
            name,
            *texts.get(name, ("", "")),
            tuple(float(value) if np.isfinite(value) else None for value in values[rows[i]]),
            float(spread[i]),
        )
        for name, i in zip(chosen, order, strict=True)
    )


def _texts(entries: Sequence[Entry], prompts: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Category and text of prompts by their ids."""
    found: dict[str, tuple[str, str]] = {}
    for entry in entries:
        if any(name not in found for name in prompts):
            found |= {each.prompt_id: (each.category, each.text) for each in prompts_of(entry)}
    return found


def differing_table(rows: Sequence[Differing], systems: int) -> TableView:
    """The prompts as a table, one row each.

    Args:
        rows: Prompts to show.
        systems: Number of systems compared.
    """
    headers = ("prompt", "difference", *LETTERS[:systems], "text", "category")
    places = places_for_all(row.spread / 10 for row in rows)
    values = [(row.prompt_id, row.spread, *row.values, _excerpt(row.prompt), row.category) for row in rows]
    shown = [
        (
            row.prompt_id,
            number_text(row.spread, places),
            *(number_text(value, places) for value in row.values),
            _excerpt(row.prompt),
            row.category,
        )
        for row in rows
    ]
    return TableView(headers, tuple(values), tuple(shown), ("str", *["number"] * (systems + 1), "str", "str"))


def _excerpt(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _EXCERPT else f"{line[: _EXCERPT - 1]}…"


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Responses of several systems to one prompt.

    Attributes:
        prompt: Text of the prompt; empty if no system has it.
        headers: Column headers: the response's number, then for each system its response and, if there is a partition,
            the response's class.
        rows: One row per number, all text; systems with fewer responses have empty cells.
    """

    prompt: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def side_by_side(entries: Sequence[Entry], prompt_id: str) -> SideBySide:
    """The responses of systems to a prompt, side by side.

    Args:
        entries: Entries of the systems, A first.
        prompt_id: Id of the prompt.

    Raises:
        InputError: A result's files are gone.
    """
    found = [prompt_row(entry, prompt_id) for entry in entries]
    prompt = next((row["prompt"] for row in found if row is not None), "")
    headers, columns = ["#"], []
    for letter, row in zip(LETTERS, found, strict=False):
        texts = [] if row is None else list(row["responses"])
        headers.append(letter)
        columns.append(texts)
        labels = _class_labels(row)
        if labels:
            headers.append(f"{letter}'s class")
            columns.append(["" if label is None else str(label + 1) for label in labels])
    longest = max(map(len, columns), default=0)
    rows = [(str(i + 1), *(column[i] if i < len(column) else "" for column in columns)) for i in range(longest)]
    return SideBySide(prompt, tuple(headers), tuple(rows))


def _class_labels(row: dict[str, Any] | None) -> list[int | None]:
    classes = None if row is None else row.get(CLASSES)
    return list(classes["labels"] or ()) if classes else []


def explore_link(board: Board, place: int, prompt_id: str) -> str:
    """The permalink to a system's responses on the page Explore, relative to the other pages."""
    query = {"table": board.name, "system": system_ids(board)[place], "prompt": prompt_id}
    return f"explore?{urlencode(query)}"
