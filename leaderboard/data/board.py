"""Groups results into boards: tables of comparable numbers for the application, the exports and the terminal.

A board contains the results with the same suite, revision, number of responses and profile. A column contains the
numbers with the same signature.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd
from packaging.version import InvalidVersion, Version

from benchmark.metrics import METRICS
from benchmark.scoring.results import RESULT_FILE, Aggregate, Result, Signature
from benchmark.validity.record import JUDGED_SUITE

# A board is sorted and ranked by the first of these that it has.
RANKED_BY = (
    *("valid_distinct_k", "distinct_k", "valid_distinct_k_reported", "distinct_k_reported"),
    "embedding_diversity",
)
_WHOLE = ("parameters", "responses", "not_answered", "cut_off", "older_results")  # facts that are integers
# Types of systems that calibrate a board and are not ranked (see kinds.py).
REFERENCE_TYPES = ("human", "base model", "baseline")


@dataclass(frozen=True, slots=True)
class Column:
    """A metric under one signature."""

    label: str  # id of the metric, with what distinguishes its signature if the board has the metric twice
    metric: str
    title: str
    direction: int  # +1 if higher is more diverse, −1 if lower is, 0 if neither
    unit: str
    paper: str
    origin: str
    signature: Signature
    version: int = 1
    # Whether this package has that version of the metric. If not, title and unit are unknown; if the package has
    # another version, the label names the column's version.
    known: bool = True

    def as_json(self) -> dict[str, Any]:
        """The column as a JSON object, with its signature on one line."""
        return {field.name: getattr(self, field.name) for field in fields(self)} | {"signature": str(self.signature)}


@dataclass(frozen=True, slots=True)
class Entry:
    """The row of one submission."""

    folder: Path
    result: Result
    cells: dict[Signature, Aggregate]  # aggregates by signature, only those that were computed for the submission
    origin: str = ""  # note on the result's origin; empty for results of the board's own source
    # Ids of the submission's older results under the same conditions, which the board does not show.
    older: tuple[str, ...] = ()

    @property
    def system(self) -> str:
        """Key of the system, the same on all boards: the id of its submission, which stands for its responses."""
        return self.result.submission_id

    @property
    def results(self) -> tuple[str, ...]:
        """Ids of all results of the row, the one that is shown first. They have the same responses."""
        return (self.result.result_id, *self.older)


@dataclass(frozen=True)
class Board:
    """A table of comparable results."""

    suite: str
    revision: str
    k: int
    profile: str
    columns: tuple[Column, ...]  # columns in the order of `METRICS`
    entries: tuple[Entry, ...]  # entries, best first by `ranking_column`; entries without a value come last

    @property
    def name(self) -> str:
        """Unique name, as in file names: `suite-revision-k10-profile`."""
        return f"{self.suite}-{self.revision}-k{self.k}-{self.profile}"

    @property
    def terms(self) -> str:
        """The conditions that distinguish it from other boards of the suite."""
        return f"k = {self.k}, {self.profile}, revision {self.revision[:6]}"

    @property
    def label(self) -> str:
        """Label in dropdowns."""
        return f"{self.suite}: {self.terms}"

    @cached_property
    def ranked(self) -> tuple[int, ...]:
        """Indices of the ranked entries: all but people, base models and known-bad baselines; all if there are none."""
        types = [entry.result.manifest.system.type for entry in self.entries]
        return tuple(i for i, kind in enumerate(types) if kind not in REFERENCE_TYPES) or tuple(range(len(types)))

    @cached_property
    def ranked_means(self) -> dict[Signature, float | None]:
        """Mean over the means of the ranked systems by column signature."""
        means: dict[Signature, float | None] = {}
        for column in self.columns:
            cells = [self.entries[i].cells.get(column.signature) for i in self.ranked]
            values = [cell.value for cell in cells if cell is not None and cell.value is not None]
            means[column.signature] = sum(values) / len(values) if values else None
        return means

    def column(self, label: str | None) -> Column | None:
        """The column with a label; None if there is none."""
        return next((column for column in self.columns if column.label == label), None)


def make_boards(
    results: Sequence[tuple[Path, Result]],
    origins: Mapping[Path, str] = MappingProxyType({}),
    *,
    published: Mapping[str, int] = MappingProxyType({}),
    older: Mapping[Path, tuple[str, ...]] = MappingProxyType({}),
) -> list[Board]:
    """Group results into boards with one row per submission, the largest board first, then by name.

    `origins` are notes on the origin of results, by folder. `published` is each result's position among the published
    results of its submission, by id: it is the same on every machine, unlike the times of downloaded files. `older` are
    ids of the submission's older results that are already known, by folder of the newest.
    """

    def entry(of_submission: Sequence[tuple[Path, Result]]) -> Entry:
        *rest, (folder, newest) = sorted(of_submission, key=lambda item: _age(item[0], item[1], published))
        ids = (name for path, result in rest for name in (*older.get(path, ()), result.result_id))
        cells = {score.signature: score for score in newest.scores}
        return Entry(folder, newest, cells, origins.get(folder, ""), (*ids, *older.get(folder, ())))

    groups: dict[tuple[str, str, int, str], dict[str, list[tuple[Path, Result]]]] = {}
    for folder, result in results:
        key = (result.suite, result.suite_revision, result.k, result.profile)
        groups.setdefault(key, {}).setdefault(result.submission_id, []).append((folder, result))
    boards = [_board(key, list(map(entry, group.values()))) for key, group in groups.items()]
    return sorted(boards, key=lambda board: (-len(board.entries), board.name, board.revision))


def _age(folder: Path, result: Result, published: Mapping[str, int]) -> tuple[int, Version, int, int, float, str]:
    """The key that sorts the results of a submission, the newest last, so that one scored twice has one rank.

    Results have no timestamp. The newest is therefore the one from the newest version of the package; among these, the
    one with the most values (a submission may be scored in part first), then the one that was published or written
    last. A result of a few named metrics never replaces one with the headline: the submission would lose its rank.
    """
    written = (folder / RESULT_FILE).stat().st_mtime if (folder / RESULT_FILE).is_file() else 0.0
    known = {score.metric for score in result.scores if score.value is not None}
    headline = next((i for i, metric in enumerate(RANKED_BY) if metric in known), len(RANKED_BY))
    try:
        version = Version(result.divbench)
    except InvalidVersion:
        version = Version("0.dev0")
    values = sum(score.value is not None for score in result.scores)
    return -headline, version, values, published.get(result.result_id, 0), written, result.result_id


def distinct_labels(names: Sequence[str], ids: Sequence[str]) -> tuple[str, ...]:
    """The names, each followed by the start of its id if others have it."""
    labels = list(names)
    for letters in (6, None):
        counts = Counter(labels)
        labels = [
            f"{label} ({name[:letters]})" if counts[label] > 1 else label
            for label, name in zip(labels, ids, strict=True)
        ]
    return tuple(labels)


def ranking_column(board: Board) -> Column | None:
    """The column by which a board is sorted and ranked by default; None if no metric has a value."""
    return _ranking(board.columns)


def _ranking(columns: Sequence[Column]) -> Column | None:
    headlines = (column for metric in RANKED_BY for column in columns if column.metric == metric)
    return next(headlines, next(iter(columns), None))


def _board(key: tuple[str, str, int, str], entries: Sequence[Entry]) -> Board:
    columns = _columns(entries)
    ranks = _ranking(columns)
    better = (ranks.direction if ranks else 0) or 1  # without a direction, higher is better, as in ranks

    def order(entry: Entry) -> tuple[float, str, str]:
        cell = None if ranks is None else entry.cells.get(ranks.signature)
        worse = float("inf") if ranks is None or cell is None or cell.value is None else -better * cell.value
        return worse, entry.result.manifest.name, entry.result.result_id

    return Board(*key, columns=columns, entries=tuple(sorted(entries, key=order)))


def _columns(entries: Sequence[Entry]) -> tuple[Column, ...]:
    """The columns with any value in the order of `METRICS`; unknown versions and then unknown metrics follow.

    Of the columns of one metric, that of the most systems comes first, because it ranks the board; then the newest.
    One system that is ranked counts more than all people and baselines.
    """
    cells = {signature: cell for entry in entries for signature, cell in entry.cells.items()}
    with_value: Counter[Signature] = Counter()
    for entry in entries:
        weight = 1 if entry.result.manifest.system.type in REFERENCE_TYPES else len(entries)
        with_value.update({s: weight for s, cell in entry.cells.items() if cell.value is not None})
    positions = {metric.id: i for i, metric in enumerate(METRICS)}
    known = {(metric.id, metric.version): metric for metric in METRICS}

    def order(signature: Signature) -> tuple[int, str, bool, int]:
        cell = cells[signature]
        unknown = (cell.metric, cell.version) not in known
        return positions.get(cell.metric, len(METRICS)), cell.metric, unknown, -with_value[signature]

    newest_first = sorted(
        with_value, key=lambda s: [part.zfill(9) for part in re.split(r"(\d+)", str(s))], reverse=True
    )
    ordered = sorted(newest_first, key=order)
    by_metric: dict[str, list[Signature]] = {}
    for signature in ordered:
        by_metric.setdefault(cells[signature].metric, []).append(signature)
    columns = []
    for signature in ordered:
        cell = cells[signature]
        metric = known.get((cell.metric, cell.version))
        other = cell.metric in positions and metric is None  # this package has it in another version
        what = f"version {cell.version}, which" if other else "a metric that"
        rough = ", roughly estimated" if is_roughly_estimated(signature) else ""
        # Its classes are of responses that share words, whatever they mean.
        rough += ", by words" if any("rouge-1" in model for model in signature.models) else ""
        rough += ", valid as stated" if is_stated(signature) else ""
        columns.append(
            Column(
                label=_label(signature, by_metric[cell.metric], f"v:{cell.version}" if other else None),
                metric=cell.metric,
                title=f"{metric.title}{rough}" if metric else f"{what} this package does not have",
                direction=cell.direction,
                unit=metric.unit if metric else "",
                paper=metric.paper if metric else "",
                origin=cell.origin,
                signature=signature,
                version=cell.version,
                known=metric is not None,
            )
        )
    return tuple(columns)


def is_roughly_estimated(signature: Signature) -> bool:
    """Whether a number depends on a validity that is estimated without judged responses to the same prompts."""
    is_judged = signature.suite.partition("@")[0] == JUDGED_SUITE
    estimates = [model for model in signature.models if model.startswith("validity-v")]
    return any(not is_judged or model.endswith(",texts") for model in estimates)


def is_stated(signature: Signature) -> bool:
    """Whether a number depends on a validity that whoever scored the responses stated."""
    return any(model.startswith("validity-as-stated") for model in signature.models)


def _label(signature: Signature, alike: Sequence[Signature], version: str | None) -> str:
    """The metric's id, with the parts of its signature that not all columns of the metric share, in brackets."""
    shared = set.intersection(*(set(other.parts) for other in alike)) if len(alike) > 1 else set(signature.parts)
    parts = [version] if version else []
    parts += [part for part in signature.parts if part not in shared and part != version]
    return f"{signature.metric} [{', '.join(parts)}]" if parts else signature.metric


def facts(entry: Entry) -> dict[str, Any]:
    """The facts about a submission that tables show next to its scores."""
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
        "responses": counts and counts.responses,
        "not_answered": counts and counts.blank + counts.placeholder + counts.refused,
        "cut_off": counts and counts.cut_off,
        "submitter": manifest.submitter.name,
        "date": None if manifest.submitter.date is None else manifest.submitter.date.isoformat(),
        "origin": entry.origin or None,
        "submission_id": result.submission_id,
        "result_id": result.result_id,
        "older_results": len(entry.older) or None,
    }


def frame(board: Board) -> pd.DataFrame:
    """The whole board, one row per submission: its facts, and the value, `_low`, `_high` and `_n` of each column."""
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
    # Of integers with a missing value among them, pandas would make floats.
    kinds = dict.fromkeys(_WHOLE, "Int64")
    labels = [column.label for column in board.columns]
    kinds |= dict.fromkeys((f"{label}{ending}" for label in labels for ending in ("", "_low", "_high")), "float64")
    return pd.DataFrame(rows).astype(kinds)
