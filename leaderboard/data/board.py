"""Results → tables. Pure: the same tables serve the application, the exports and the terminal.

Results are compared only where suite, revision, number of responses and profile agree: one `Board` each. A column is a
signature, so numbers that were not made alike never stand under one another.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from benchmark.metrics import METRICS, Metric
from benchmark.metrics.metric import Missing
from benchmark.scoring.result_files import read_results
from benchmark.scoring.result_schema import Aggregate, Result, Signature

RANKED_BY = (
    "distinct_k",
    "distinct_k_reported",
    "embedding_diversity",
)  # sorts and ranks: the first that is there


@dataclass(frozen=True, slots=True)
class Column:
    """A metric under one signature.

    Attributes:
        label: The metric's id; with what tells it apart where the board has it twice.
        metric: Its id.
        title: For people.
        direction: +1 where more is more diverse, −1 where less is, 0 where neither.
        unit: Of the values.
        paper: Its source.
        origin: *computed* or *reported*.
        signature: Of every number in the column.
        version: Of the metric.
        known: Whether this package has the metric in that version. Of one that it has not, it knows no title and no
            unit, and the label says the version where it has another one.
    """

    label: str
    metric: str
    title: str
    direction: int
    unit: str
    paper: str
    origin: str
    signature: Signature
    version: int = 1
    known: bool = True

    def as_json(self) -> dict[str, Any]:
        """The column as a JSON object, its signature in one line."""
        return {each.name: getattr(self, each.name) for each in fields(self)} | {"signature": str(self.signature)}


@dataclass(frozen=True, slots=True)
class Entry:
    """One submission's row.

    Attributes:
        folder: Of the result.
        result: All that is known.
        cells: By signature; a column without one was not computed for this submission.
    """

    folder: Path
    result: Result
    cells: dict[Signature, Aggregate]


@dataclass(frozen=True)
class Board:
    """A table of comparable results.

    Attributes:
        suite: Of prompts.
        revision: Of the suite.
        k: Responses a prompt.
        profile: That scored them.
        columns: In the order of `METRICS`.
        entries: The best first by `ranking_column`; those without a value there last.
    """

    suite: str
    revision: str
    k: int
    profile: str
    columns: tuple[Column, ...]
    entries: tuple[Entry, ...]

    @property
    def name(self) -> str:
        """For people and files: `suite-revision-k10-profile`; no two boards have the same."""
        return f"{self.suite}-{self.revision}-k{self.k}-{self.profile}"

    @property
    def terms(self) -> str:
        """What tells it from other boards of its suite, for people."""
        return f"k = {self.k}, {self.profile}, revision {self.revision[:6]}"

    @property
    def label(self) -> str:
        """What it is called where one is chosen."""
        return f"{self.suite}: {self.terms}"

    @cached_property
    def means(self) -> dict[Signature, tuple[float | None, int]]:
        """By column's signature the mean of the systems' means, and of how many systems; kept, as every prompt asks."""
        found: dict[Signature, tuple[float | None, int]] = {}
        for column in self.columns:
            cells = [entry.cells.get(column.signature) for entry in self.entries]
            means = [cell.value for cell in cells if cell is not None and cell.value is not None]
            found[column.signature] = (sum(means) / len(means) if means else None, len(means))
        return found

    def column(self, label: str | None) -> Column | None:
        """The column of a label; None where there is none of it."""
        return next((column for column in self.columns if column.label == label), None)


def load_boards(folder: Path) -> tuple[list[Board], list[Missing]]:
    """The boards of a folder of results, the largest first, and the folders that are no whole results."""
    found: list[tuple[Path, Result]] = []
    unreadable: list[Missing] = []
    for path, result in read_results(folder):
        if isinstance(result, Missing):
            unreadable.append(result)
        else:
            found.append((path, result))
    return make_boards(found), unreadable


def make_boards(results: Sequence[tuple[Path, Result]], metrics: tuple[Metric, ...] = METRICS) -> list[Board]:
    """The boards of some results: most entries first, then by name."""
    groups: dict[tuple[str, str, int, str], list[Entry]] = {}
    for folder, result in results:
        key = (result.suite, result.suite_revision, result.k, result.profile)
        cells = {score.signature: score for score in result.scores}
        groups.setdefault(key, []).append(Entry(folder, result, cells))
    boards = [_board(key, entries, metrics) for key, entries in groups.items()]
    return sorted(boards, key=lambda board: (-len(board.entries), board.name, board.revision))


def ranking_column(board: Board) -> Column | None:
    """What a board is sorted and ranked by where nothing else is asked for; None where no metric has a value."""
    return _ranking(board.columns)


def _ranking(columns: Sequence[Column]) -> Column | None:
    main = next((column for metric in RANKED_BY for column in columns if column.metric == metric), None)
    return main or next(iter(columns), None)


def _board(key: tuple[str, str, int, str], entries: Sequence[Entry], metrics: tuple[Metric, ...]) -> Board:
    columns = _columns(entries, metrics)
    ranks = _ranking(columns)
    better = 1 if ranks is None or not ranks.direction else ranks.direction  # without direction, more: as in ranks

    def order(entry: Entry) -> tuple[float, str, str]:
        cell = None if ranks is None else entry.cells.get(ranks.signature)
        worse = float("inf") if ranks is None or cell is None or cell.value is None else -better * cell.value
        return worse, entry.result.manifest.name, entry.result.result_id

    return Board(*key, columns=columns, entries=tuple(sorted(entries, key=order)))


def _columns(entries: Sequence[Entry], metrics: tuple[Metric, ...]) -> tuple[Column, ...]:
    """The columns in the order of `METRICS`, other versions behind the one that this package has; unknown metrics last.

    A metric's column is left out where it has no value for any entry.
    """
    cells = {signature: cell for entry in entries for signature, cell in entry.cells.items()}
    with_value = {s for entry in entries for s, cell in entry.cells.items() if cell.value is not None}
    places = {metric.id: place for place, metric in enumerate(metrics)}
    ours = {(metric.id, metric.version): metric for metric in metrics}

    def order(signature: Signature) -> tuple[int, bool, str]:
        cell = cells[signature]
        return places.get(cell.metric, len(metrics)), (cell.metric, cell.version) not in ours, str(signature)

    ordered = sorted(with_value, key=order)
    by_metric: dict[str, list[Signature]] = {}
    for signature in ordered:
        by_metric.setdefault(cells[signature].metric, []).append(signature)
    made = []
    for signature in ordered:
        cell = cells[signature]
        metric = ours.get((cell.metric, cell.version))
        other = cell.metric in places and metric is None  # this package has it in another version
        what = f"version {cell.version}, which" if other else "a metric that"
        made.append(
            Column(
                label=_label(signature, by_metric[cell.metric], f"v:{cell.version}" if other else None),
                metric=cell.metric,
                title=metric.title if metric else f"{what} this package does not have",
                direction=cell.direction,
                unit=metric.unit if metric else "",
                paper=metric.paper if metric else "",
                origin=cell.origin,
                signature=signature,
                version=cell.version,
                known=metric is not None,
            )
        )
    return tuple(made)


def _label(signature: Signature, alike: Sequence[Signature], version: str | None) -> str:
    """The metric's id, and in brackets the parts of the signature that the others of that metric have not.

    Args:
        signature: Of the column.
        alike: Those of all columns of the metric.
        version: To name in any case.
    """
    shared = set.intersection(*(set(other.parts) for other in alike)) if len(alike) > 1 else set(signature.parts)
    told = [part for part in signature.parts if part not in shared and part != version]
    told = [version, *told] if version else told
    return f"{signature.metric} [{', '.join(told)}]" if told else signature.metric


def facts(entry: Entry) -> dict[str, Any]:
    """What a table says of a submission beside its scores."""
    result = entry.result
    manifest, counts = result.manifest, result.counts
    return {
        "system": manifest.name,
        "type": manifest.system.type,
        "mode": manifest.generation.mode,
        "model": manifest.system.model_id,
        "open_weights": manifest.system.open_weights,
        "licence": manifest.system.licence,
        "parameters": manifest.system.parameters,
        "temperature": manifest.generation.temperature,
        "responses": counts.responses,
        "not_answered": counts.blank + counts.placeholder + counts.refused,
        "cut_off": counts.cut_off,
        "submitter": manifest.submitter.name,
        "date": manifest.submitter.date.isoformat(),
        "submission_id": result.submission_id,
        "result_id": result.result_id,
    }


def frame(board: Board) -> pd.DataFrame:
    """The whole board, a row a submission: facts, and for each column its value, `_low`, `_high` and `_n`."""
    rows = []
    for entry in board.entries:
        row = facts(entry)
        for column in board.columns:
            cell = entry.cells.get(column.signature)
            row[column.label] = cell.value if cell else None
            row[f"{column.label}_low"] = cell.low if cell else None
            row[f"{column.label}_high"] = cell.high if cell else None
            row[f"{column.label}_n"] = cell.n if cell else 0
        rows.append(row)
    made = pd.DataFrame(rows)
    for column in board.columns:
        for name in (column.label, f"{column.label}_low", f"{column.label}_high"):
            made[name] = made[name].astype("float64")
    return made
