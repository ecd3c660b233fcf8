"""Compares two to four systems of a board, paired by prompt: differences by metric with tests, and by prompt."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any
from urllib.parse import urlencode

import numpy as np

from benchmark.analysis.ranking import prompt_wins
from benchmark.scoring.estimate import (
    FEWEST_PAIRS,
    bootstrap_means,
    cohens_dz,
    differences,
    holm,
    mean_agrees,
    wilcoxon,
)
from benchmark.scoring.per_prompt import CLASSES
from divbench.core.tables import Cell, Table, estimate_cell, number, number_cell, p_value, places_for
from leaderboard.data.board import Board, Column, Entry
from leaderboard.data.scores import BoardScores, prompt_row
from leaderboard.tables.models import QUALITY, score_cells
from leaderboard.tables.prompts import prompts_of
from leaderboard.tables.systems import system_ids, system_labels
from leaderboard.tables.tradeoff import end_of
from submissions.untrusted.plain_text import shortened


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Responses of several systems to one prompt, as a table."""

    prompt: str  # text of the prompt; empty if no system has it
    # The number of the response, then for each system its response and, if it has a partition, the class.
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]  # one row per number, as texts; systems with fewer responses have empty cells
    texts: tuple[bool, ...]  # whether each column has responses


def side_by_side(board: Board, places: Sequence[int], prompt_id: str) -> SideBySide:
    """The responses of systems to a prompt, side by side.

    Raises:
        InputError: A result's files are gone.
    """
    found = [prompt_row(board.entries[place], prompt_id) for place in places]
    prompt = next((row["prompt"] for row in found if row is not None), "")
    headers, columns, texts = ["#"], [], [False]
    names = system_labels(board)
    for place, row in zip(places, found, strict=True):
        responses = [] if row is None else list(row["responses"])
        headers.append(names[place])
        columns.append(responses)
        texts.append(True)
        labels = _class_labels(row)
        if labels:
            headers.append("class")
            columns.append(["" if label is None else str(label + 1) for label in labels])
            texts.append(False)
    longest = max(map(len, columns), default=0)
    rows = [(str(i + 1), *(column[i] if i < len(column) else "" for column in columns)) for i in range(longest)]
    return SideBySide(prompt, tuple(headers), tuple(rows), tuple(texts))


def _class_labels(row: dict[str, Any] | None) -> list[int | None]:
    classes = None if row is None else row.get(CLASSES)
    return list(classes["labels"] or ()) if classes else []


FEWEST, MOST = 2, 4
LEVEL = 0.05  # significance level
NO_DIFFERENCE, DISAGREE, NOT_TESTED = "no significant difference", "means and ranks disagree", "not tested"
RESAMPLES = 10_000
SHOWN_PROMPTS = 50
_EXCERPT = 120  # characters of a prompt in a table


@dataclass(frozen=True, slots=True)
class Gap:
    """Difference between two systems on one metric."""

    column: Column
    first: int
    second: int
    names: tuple[str, str]  # labels of the two systems; untrusted
    n: int  # number of prompts on which both have a value; the numbers below are over these prompts
    difference: float | None  # mean of first − second; None if n is 0
    interval: tuple[float, float] | None  # its 95% percentile bootstrap interval over prompts; None if there is none
    # Difference divided by the standard deviation of the prompts' differences; None if they do not vary.
    d_z: float | None
    d_z_interval: tuple[float, float] | None  # its interval; the standard deviation is resampled, too
    wins: int  # number of prompts on which the first is better (for a metric without direction, higher)
    ties: int
    losses: int  # number of prompts on which the second is better
    rank_biserial: float | None  # rank-biserial correlation of first − second; None if untested
    p: float | None  # p-value of Wilcoxon's two-sided signed-rank test; None if untested
    p_holm: float | None  # p-value after Holm's correction over all differences that are shown together
    untested: str | None

    @property
    def pair(self) -> str:
        """The two systems, such as `people − gpt-4o`."""
        return f"{self.names[0]} − {self.names[1]}"

    @property
    def ahead(self) -> str | None:
        """The system that is ahead if the corrected test finds a significant difference; else None."""
        return significant(self.p_holm, self.difference, self._means_agree, self.names, self.column)

    @property
    def finding(self) -> str:
        """The finding in words, such as `people more diverse`."""
        return finding(self.p_holm, self.difference, self._means_agree, self.names, self.column)

    @property
    def _means_agree(self) -> bool:
        return mean_agrees(self.difference or 0.0, self.d_z, self.rank_biserial or 0.0, self.n)


def significant(
    p: float | None, difference: float | None, means_agree: bool, names: tuple[str, str], column: Column
) -> str | None:
    """The system that is ahead on a metric if the difference is significant; else None.

    Args:
        p: Corrected p-value; None if untested.
        difference: Mean of the first system minus that of the second; None if unknown.
        means_agree: As from `mean_agrees`. The test is of ranks, so no system is ahead where the means do not differ.
    """
    if p is None or difference is None or p >= LEVEL or not means_agree:
        return None
    return names[0] if (difference > 0) == (end_of(column) >= 0) else names[1]


def finding(
    p: float | None, difference: float | None, means_agree: bool, names: tuple[str, str], column: Column
) -> str:
    """The finding of a test in words, such as `people more diverse`; arguments as for `significant`."""
    if p is None or difference is None:
        return NOT_TESTED
    ahead = significant(p, difference, means_agree, names, column)
    if ahead is not None:
        return f"{ahead} {_word(column)}"
    return NO_DIFFERENCE if p >= LEVEL or difference == 0 else DISAGREE


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

    Returns:
        Differences by metric, then by pair; metrics with values for fewer than two of the systems are left out.

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
    gaps = np.stack([differences(*of[column.signature][:, [a, b]].T) for column, a, b in pairs], axis=1)
    intervals = bootstrap_means(gaps, resamples=resamples)
    of_d_z = bootstrap_means(gaps, resamples=resamples, standardise=True)
    tests = [wilcoxon(of[column.signature][:, a], of[column.signature][:, b]) for column, a, b in pairs]
    adjusted = holm([np.nan if test.p is None else test.p for test in tests])
    labels = system_labels(scores.board)
    made = []
    for i, (column, first, second) in enumerate(pairs):
        values, interval, test = of[column.signature][:, [first, second]], intervals[i], tests[i]
        there = np.isfinite(gaps[:, i])
        both, own = values[there], gaps[there, i]
        won = prompt_wins(both, end_of(column) or 1)[:, 0, 1]
        d_z, d_z_interval = cohens_dz(gaps[:, i]), of_d_z[i]
        varies = interval.low is not None and bool(np.isfinite(d_z))
        made.append(
            Gap(
                column=column,
                first=first,
                second=second,
                names=(labels[places[first]], labels[places[second]]),
                n=len(both),
                difference=float(own.mean()) if len(own) else None,
                interval=interval.interval,
                d_z=d_z if varies else None,
                d_z_interval=d_z_interval.interval if varies else None,
                wins=int((won == 1).sum()),
                ties=int((won == 0.5).sum()),
                losses=int((won == 0).sum()),
                rank_biserial=test.rank_biserial,
                p=test.p,
                p_holm=None if test.p is None else float(adjusted[i]),
                untested=test.untested,
            )
        )
    return tuple(made)


def _have(scores: BoardScores, column: Column, place: int) -> bool:
    cell = scores.board.entries[place].cells.get(column.signature)
    return cell is not None and cell.value is not None


def compare_table(board: Board, places: Sequence[int], gaps: Sequence[Gap]) -> Table:
    """The differences as a table, one row per metric and pair; the means are the same as on the page Models."""
    labels = system_labels(board)
    headers = (
        "metric",
        "finding",
        "pair",
        *(f"mean of {labels[place]}" for place in places),
        "difference [95%]",
        "d_z [95%]",
        "prompts won",
        "tied",
        "lost",
        "p (Holm)",
        "p",
        "prompts",
    )
    means = {gap.column.signature: score_cells(board, gap.column) for gap in gaps}
    rows: list[tuple[Cell, ...]] = []
    for gap in gaps:
        low, high = gap.interval or (None, None)
        d_z_low, d_z_high = gap.d_z_interval or (None, None)
        rows.append(
            (
                gap.column.label,
                gap.finding,
                gap.pair,
                *(means[gap.column.signature][place] for place in places),
                estimate_cell(gap.difference, low, high),
                estimate_cell(gap.d_z, d_z_low, d_z_high, 2),
                *(gap.wins, gap.ties, gap.losses),
                number_cell(gap.p_holm, p_value(gap.p_holm)),
                gap.untested or "" if gap.p is None else number_cell(gap.p, p_value(gap.p)),
                gap.n,
            )
        )
    return Table("", headers, rows)


def headline(gaps: Sequence[Gap], labels: Sequence[str]) -> str:
    """Summarise the comparison in one sentence, such as `humans: more diverse on 4 of 5 metrics; …`.

    Only diversity metrics are counted, which are the metrics with a direction. The sentence contains untrusted names.
    """
    counted = [gap for gap in gaps if gap.column.direction and gap.p_holm is not None]
    if not counted:
        return f"{' and '.join(labels)} have no tested diversity metric in common."
    of = "metrics" if len(labels) == FEWEST else "tests"
    wins = [(sum(gap.ahead == label for gap in counted), label) for label in labels]
    said = [
        f"{label}: more diverse on {won} of {len(counted)} {of}"
        for won, label in sorted(wins, key=lambda each: -each[0])
        if won
    ]
    unclear = sum(gap.finding == DISAGREE for gap in counted)
    if unclear:
        said.append(f"{DISAGREE} on {unclear} of {len(counted)}{'' if said else f' {of}'}")
    even = sum(gap.ahead is None for gap in counted) - unclear
    if even:
        who = "" if said else f" between {' and '.join(labels)}"
        said.append(f"{NO_DIFFERENCE}{who} on {even} of {len(counted)}{'' if said else f' {of}'}")
    return f"{'; '.join(said)}."


def about_compare(gaps: Sequence[Gap]) -> str:
    """The caption of the comparison: how to read the numbers."""
    if not gaps:
        return "These systems have no values for the same metric."
    tested = sum(gap.p is not None for gap in gaps)
    found = sum(gap.ahead is not None for gap in gaps)
    outcome = (
        f"{found} of {tested} tests find a significant difference at {LEVEL:g} after Holm's correction over all "
        f"{tested} shown."
        if tested
        else f"Nothing is tested, because the systems have fewer than {FEWEST_PAIRS} prompts in common."
    )
    return (
        f"{outcome} Means are the same as on the page Models, over all prompts of a system. Differences are "
        "over the prompts for which both systems have a value, with 95% percentile bootstrap intervals over "
        "prompts. p-values are from Wilcoxon's two-sided signed-rank test. The intervals are for the mean and "
        "uncorrected, so they can disagree with the tests. Where the test's ranks favour the system with the lower "
        f"mean, or a paired t-test finds no difference of the means at {LEVEL:g}, means and ranks disagree, and no "
        "system is ahead. The system that is more diverse or better on a "
        "prompt wins it; for metrics without a direction, the system with the higher value wins. d_z is the mean "
        "difference divided by the standard deviation of the differences. In the figure, positive d_z means that "
        "the first system is better, and open symbols mark metrics without a direction; differences that do not vary "
        "have no d_z and are not drawn. Responses are compared as "
        "sampled: systems can also differ because their responses differ in length or are truncated, refused or "
        "otherwise not valid."
    )


@dataclass(frozen=True, slots=True)
class Differing:
    """A prompt on which systems differ."""

    prompt_id: str
    category: str
    prompt: str
    values: tuple[float | None, ...]
    spread: float  # difference between the largest and the smallest value


def differing(
    scores: BoardScores, places: Sequence[int], column: Column, most: int = SHOWN_PROMPTS
) -> tuple[Differing, ...]:
    """The prompts on which systems differ most on a metric, ties in the suite's order.

    Prompts on which fewer than two systems have a value are left out.

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
    """The category and text of prompts, by prompt id."""
    found: dict[str, tuple[str, str]] = {}
    for entry in entries:
        if any(name not in found for name in prompts):
            found |= {each.prompt_id: (each.category, each.text) for each in prompts_of(entry)}
    return found


def differing_table(rows: Sequence[Differing], labels: Sequence[str]) -> Table:
    """The prompts as a table, one row each."""
    headers = ("prompt", "difference", *labels, "text", "category")
    places = places_for(row.spread / 10 for row in rows)
    cells: list[tuple[Cell, ...]] = [
        (
            row.prompt_id,
            *(number_cell(value, number(value, places)) for value in (row.spread, *row.values)),
            shortened(row.prompt, _EXCERPT),
            row.category,
        )
        for row in rows
    ]
    return Table("", headers, cells)


def explore_link(board: Board, place: int, prompt_id: str) -> str:
    """The permalink to a system's responses on the page Explore, relative to the other pages."""
    query = {"table": board.name, "system": system_ids(board)[place], "prompt": prompt_id}
    return f"explore?{urlencode(query)}"
