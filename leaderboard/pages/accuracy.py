"""How wrong are the estimates? Against judged values, against pairs that people labelled, and under attack.

The numbers come from the results on the board and from files of the package: the models' cards and `gaming.json`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil, floor
from pathlib import Path

from markupsafe import Markup

import benchmark
from benchmark.scoring.reported import judged_version
from divbench.core.errors import counted
from leaderboard.data.board import RANKED_BY, Board
from leaderboard.data.measurements import ESTIMATED, measured_by
from leaderboard.data.metric_study.study import PAID, Gaming
from leaderboard.pages.picture import Place, Spot, cut_name, spots
from leaderboard.pages.ranking import template
from leaderboard.pages.systems import system_labels

FEWEST = 4  # systems of a correlation
_CARDS = Path(benchmark.__file__).parent
_PAIRS = re.compile(r"^\| AUC, people's ([\d,]+) pairs [^|]*\|[^|]*\|\s*([.\d]+)\s*\|", re.MULTILINE)
_HELD_OUT = re.compile(
    r"over systems Spearman\s([.\d]+).*?mean\s+absolute\s+error\s([.\d]+), largest\s([.\d]+)", re.DOTALL
)
_SIDE, _LEFT, _BOTTOM = 416, 26, 38  # pixels of the scatter and of its margins


@dataclass(frozen=True, slots=True)
class Compared:
    """A system with a judged and an estimated number of useful different answers."""

    system: str  # untrusted
    judged: float
    estimated: float

    @property
    def error(self) -> float:
        """How far the estimate is from the judged value."""
        return abs(self.estimated - self.judged)


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The estimates of a suite's systems against their judged values, at the same number of responses."""

    suite: str
    k: int
    systems: tuple[Compared, ...]
    rho: float | None  # Spearman's correlation over the systems; None for fewer than `FEWEST`

    @property
    def error(self) -> float:
        """The mean absolute error."""
        return sum(system.error for system in self.systems) / len(self.systems)


def accuracy(boards: Sequence[Board], suite: str, k: int) -> Accuracy | None:
    """Compare the systems that are both judged and estimated; None if there are none."""
    ways = measured_by(boards, suite, k)
    judged = next((way for way in ways if judged_version(way.board.profile)), None)  # the newest version is first
    estimated = next((way for way in ways if way.label == ESTIMATED), None)
    if judged is None or estimated is None or judged.board.revision != estimated.board.revision:
        return None
    cells = {entry.system: entry.cells.get(judged.column.signature) for entry in judged.board.entries}
    systems = []
    for label, entry in zip(system_labels(estimated.board), estimated.board.entries, strict=True):
        truth, guess = cells.get(entry.system), entry.cells.get(estimated.column.signature)
        if truth and guess and truth.value is not None and guess.value is not None:
            systems.append(Compared(label, truth.value, guess.value))
    return Accuracy(suite, k, tuple(systems), _rho(systems)) if systems else None


def best_accuracy(boards: Sequence[Board]) -> Accuracy | None:
    """Compare the suite's estimates at the number of responses for which most systems have both values."""
    known = [accuracy(boards, board.suite, board.k) for board in boards]
    return max(filter(None, known), key=lambda measured: (len(measured.systems), measured.k), default=None)


def _rho(systems: Sequence[Compared]) -> float | None:
    if len(systems) < FEWEST:
        return None
    from scipy.stats import spearmanr  # takes long to import

    values = [(system.judged, system.estimated) for system in systems]
    if any(len(set(column)) == 1 for column in zip(*values, strict=True)):
        return None
    return float(spearmanr(values).statistic)


IN_RECORD = "These systems are in the record of the estimate, which flatters it."


def accuracy_line(measured: Accuracy | None) -> str:
    """Say in one line how far estimates are from judged values; empty if no system has both."""
    if measured is None:
        return ""
    rho = "" if measured.rho is None else f", Spearman {measured.rho:.2f}"
    count = counted(len(measured.systems), "system")
    return f"Over the {count} with both, the estimate is off by {measured.error:.2f} of {measured.k} on average{rho}."


def accuracy_section(measured: Accuracy | None, gaming: Gaming | None) -> Markup:
    """Render the section of the page Metrics: sentences, and estimates against judged values."""
    sentences = [_against_judge(measured), _held_out(), _pairs(), _attacks(gaming)]
    if measured is not None:
        worst = max(measured.systems, key=lambda system: system.error)
        about = f"{worst.system} is furthest off: {worst.estimated:.2f} estimated, {worst.judged:.2f} judged."
        sentences.insert(1, about)
    scatter = None if measured is None or len(measured.systems) < FEWEST else _scatter(measured)
    rendered = template("accuracy.html").render(
        sentences=list(filter(None, sentences)),
        measured=measured,
        scatter=scatter,
        side=_SIDE,
        left=_LEFT,
        bottom=_BOTTOM,
    )
    return Markup(rendered)  # noqa: S704 - the template escapes


def _against_judge(measured: Accuracy | None) -> str:
    if measured is None:
        return "No system on this board is both judged and estimated."
    return f"{accuracy_line(measured)} (Useful different answers on {measured.suite}.)"


@cache
def _card(name: str) -> str:
    path = _CARDS / name
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _held_out() -> str:
    """Say how large the error is for systems that the models have not seen, by the card of the model of validity."""
    known = _HELD_OUT.search(_card("validity/README.md"))
    if known is None:
        return ""
    rho, error, largest = known.groups()
    return (
        "The judged responses of these systems are in the record that new ones are compared with, which flatters the "
        f"estimate. With systems left out of training and record: off by {error} on average, at most by {largest}, "
        f"Spearman {rho}."
    )


def _pairs() -> str:
    """Say how well equivalence agrees with people's labels, by the card of the model of equivalence."""
    known = _PAIRS.search(_card("equivalence/learned/model/README.md"))
    if known is None:
        return ""
    count, area = known.groups()
    return (
        f"Whether two answers say the same: on {count} pairs of long answers that people labelled, prompts held out, "
        f"the area under the ROC curve is {area} (1: as people say; 0.5: chance)."
    )


def _attacks(gaming: Gaming | None) -> str:
    gains = {} if gaming is None else gaming.gains.get(RANKED_BY[0], {})
    if gaming is None or not gains:
        return ""
    paid = [gain for gain in gains.values() if gain > PAID]
    worst = max(gains, key=lambda attack: gains[attack])
    return (
        f"Attacks that say nothing new: {len(paid)} of {len(gains)} raise the estimate by more than {PAID:.0%} of the "
        f"range of the real systems; the worst, {worst.replace('-', ' ')}, by {gains[worst]:.0%}."
    )


def _scatter(measured: Accuracy) -> tuple[list[tuple[Compared, Spot]], list[tuple[float, float, str]]]:
    """Lay out the systems by judged value (x) and estimate (y) on one scale, with its ticks on both axes."""
    values = [value for system in measured.systems for value in (system.judged, system.estimated)]
    low, high = floor(min(values)), ceil(max(values) + 0.01)
    across, up = _SIDE - _LEFT - 10, _SIDE - _BOTTOM - 10

    def at(judged: float, estimated: float) -> Place:
        shares = (judged - low) / (high - low), (high - estimated) / (high - low)
        return round(_LEFT + across * shares[0], 1), round(10 + up * shares[1], 1)

    names = [cut_name(" ".join(system.system.split())) for system in measured.systems]
    places = [at(system.judged, system.estimated) for system in measured.systems]
    placed = spots(places, names, [False] * len(places), (float(_LEFT), 0.0, float(_SIDE), float(_SIDE - _BOTTOM)))
    ticks = [(*at(value, value), str(value)) for value in range(low, high + 1)]
    return list(zip(measured.systems, placed, strict=True)), ticks
