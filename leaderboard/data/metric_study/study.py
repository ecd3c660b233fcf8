"""Reads and writes the files of a metric study.

    metric_study.parquet   one number per row, with the settings and the metrics' signatures in the file's metadata
    disagreements.parquet  the response sets that a metric and people rank most differently
    texts.parquet          the texts of these sets; they do not ship, because the licence of some is unknown
    gssbench.parquet       accuracies on prompt pairs
    gaming.json            what attacks gain under each metric, as `divbench metrics gaming` writes it

Scores are oriented so that higher is more diverse.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
import pyarrow.parquet as pq

from benchmark.analysis.gss.accuracy import BALANCED, HALF, MEAN, MISSING, TIES, Block, GssStudy, Row
from benchmark.scoring.estimate import Estimate
from datasets_build.gssbench import SPLITS
from divbench.core.errors import InputError, first_line
from divbench.core.files import atomic_file

MEASURES = {
    "spearman": "Spearman's rho with the label",
    "oca_directional": "optimal classification accuracy of 'high above the threshold'",
    "roc_auc": "area under the ROC curve, ties as half",
    "partial_spearman": "Spearman's rho with the label, controlling for mean response length",
    "human_spearman": "Spearman's rho with the mean human score",
}
CORRELATIONS = ("spearman", "partial_spearman", "human_spearman")
OVERALL = "overall"  # in place of a task: the unweighted mean over the tasks with binary labels
NOISE_CEILING, UNSCORED = "noise_ceiling", "missing"  # measures of a task, and of a metric's sets without a score
RHO = "rho "  # measure of two metrics' rank agreement, followed by the name of the second
NUMBERS = ("task", "metric", "measure", "value", "low", "high", "n")  # n: sets, or tasks of a mean
PAIR_COLUMNS: tuple[str, ...] = (*SPLITS, MEAN, "pair-weighted", BALANCED, HALF, TIES, MISSING)
PAID = 0.15  # a metric rewards an attack that gains more than this share of the range of the real systems

STUDY_FILE, DISAGREEMENTS_FILE, TEXTS_FILE = "metric_study.parquet", "disagreements.parquet", "texts.parquet"
PAIRS_FILE, GAMING_FILE, SCORES_FILE = "gssbench.parquet", "gaming.json", "scores.parquet"
MEASURED = Path(__file__).parents[2] / "measured"
_BUNDLED = "divbench/"  # prefix of the bundled model's id

Content = TypeVar("Content")


@dataclass(frozen=True, slots=True)
class StudiedMetric:
    """A metric that was studied."""

    name: str
    origin: str  # *metric*: of this package; *released*: published with the sets; *external*, *file*: the user's
    negated: bool  # whether lower is more diverse
    signature: str  # signature without data and k, for metrics of this package; else the source of the scores


@dataclass(frozen=True, slots=True)
class Agreement:
    """Rank agreement between metrics: Spearman's rho between every two."""

    over: str  # *sets*: averaged over a group's tasks; *systems*: over a board's systems by their means
    group: str  # a dataset, `overall`, or a board
    metrics: tuple[str, ...]  # names of the metrics, or labels of a board's columns
    matrix: list[list[float | None]]  # [metrics, metrics], with 1 on the diagonal; None if undefined


@dataclass(frozen=True)
class MetricStudy:
    """How well metrics agree with people, labels and each other."""

    # Columns `NUMBERS`; attrs: the settings, each metric's entry, and the fingerprint of each task's sets and labels.
    numbers: pd.DataFrame
    disagreements: pd.DataFrame  # by task and metric, largest first
    texts: Mapping[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)  # context and responses by set id

    @property
    def settings(self) -> dict[str, Any]:
        """The package's version, the profile, and the bootstrap's level, resamples and seed."""
        return {str(name): value for name, value in self.numbers.attrs.items() if name not in ("metrics", "tasks")}

    @cached_property
    def metrics(self) -> dict[str, StudiedMetric]:
        """The metrics by name, in display order."""
        return {entry["name"]: StudiedMetric(**entry) for entry in self.numbers.attrs["metrics"]}

    @cached_property
    def estimates(self) -> dict[tuple[str, str], dict[str, Estimate]]:
        """Each metric's number by task and measure."""
        groups: dict[tuple[str, str], dict[str, Estimate]] = {}
        columns = [self.numbers[name].to_list() for name in NUMBERS]
        for task, metric, measure, *row in zip(*columns, strict=True):
            groups.setdefault((task, measure), {})[metric] = _estimate(*row)
        return groups

    def measured(self, task: str, measure: str) -> dict[str, Estimate]:
        """Each metric's number on a task, or as the mean over tasks; empty without that measure."""
        return self.estimates.get((task, measure), {})

    def tasks(self, measure: str) -> list[str]:
        """The tasks that have a measure: temperatures have no accuracy, and most sets no human scores."""
        return [task for task, other in self.estimates if other == measure and task != OVERALL]

    def counts(self, measure: str) -> dict[str, int]:
        """The number of sets behind a measure by task, and of tasks behind its mean."""
        groups = {task: numbers.values() for (task, other), numbers in self.estimates.items() if other == measure}
        return {task: max(number.n or 0 for number in numbers) for task, numbers in groups.items()}

    @cached_property
    def agreements(self) -> tuple[Agreement, ...]:
        """Rank agreement over all tasks with binary labels, and within each dataset."""
        rows = self.numbers[self.numbers.measure.str.startswith(RHO)]
        agreements = []
        for group, pairs in rows.groupby("task", sort=False):
            names = list(self.metrics)
            matrix = pd.DataFrame(float("nan"), names, names)
            for one, measure, value in zip(pairs.metric, pairs.measure, pairs.value, strict=True):
                other = measure.removeprefix(RHO)
                matrix.loc[one, other] = matrix.loc[other, one] = value
            agreements.append(Agreement("sets", str(group), tuple(names), full_matrix(matrix.to_numpy())))
        return tuple(agreements)


@dataclass(frozen=True, slots=True)
class PairStudy:
    """Accuracies on GSSBench's prompt pairs."""

    models: tuple[Block, ...]
    references: tuple[Block, ...]  # scorers that are known beforehand
    published: tuple[Block, ...]  # numbers of the paper

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks, in the order of the table."""
        return (*self.models, *self.references, *self.published)

    @property
    def has_real_model(self) -> bool:
        """Whether the study includes a model other than the bundled one."""
        return any(not block.beneath.startswith(_BUNDLED) for block in self.models)


@dataclass(frozen=True, slots=True)
class Gaming:
    """What attacks on a system's responses gain."""

    source: str  # name of the attacked system
    prompts: int
    profile: str
    systems: int  # number of real systems whose range is the unit of a gain
    attacks: tuple[str, ...]
    gains: Mapping[str, Mapping[str, float]]  # gain of each attack by metric, as a share of that range


@dataclass(frozen=True, slots=True)
class Studies:
    """The studies that the page Metrics shows."""

    study: MetricStudy | None
    pairs: PairStudy | None
    gaming: Gaming | None
    faults: tuple[str, ...]  # files that could not be read, with the reasons; without local paths


def load_studies(folder: Path | None = None) -> Studies:
    """Load each file of a study from the folder or else from the package; a damaged file is recorded as a fault."""
    faults: list[str] = []

    def load(name: str, read: Callable[[Path], Content]) -> Content | None:
        path = folder / name if folder is not None and (folder / name).exists() else MEASURED / name
        try:
            return read(path)
        except InputError as error:
            faults.append(f"{name}: not shown, {error.message.replace(f'{path.parent}/', '')}")
            return None

    study, pairs, gaming = load(STUDY_FILE, read_study), load(PAIRS_FILE, read_pairs), load(GAMING_FILE, read_gaming)
    return Studies(study, pairs, gaming, tuple(faults))


def read_study(path: Path) -> MetricStudy:
    """Read `metric_study.parquet` and the disagreements and texts beside it."""

    def read() -> MetricStudy:
        disagreements = pd.read_parquet(path.with_name(DISAGREEMENTS_FILE))
        beside = path.with_name(TEXTS_FILE)
        rows: list[dict[str, Any]] = pq.read_table(beside).to_pylist() if beside.is_file() else []
        texts = {row["set_id"]: (row["context"], tuple(row["responses"])) for row in rows}
        study = MetricStudy(pd.read_parquet(path), disagreements, texts)
        if not study.metrics or not study.estimates:
            raise ValueError("it has no metrics")
        return study

    return _whole(path, read, "divbench metrics study")


def read_pairs(path: Path) -> PairStudy:
    """Read `gssbench.parquet`."""

    def read() -> PairStudy:
        kinds: dict[str, list[Block]] = {"model": [], "references": [], "published": []}
        table = pq.read_table(path).to_pylist()
        for (kind, title, beneath), of_block in groupby(table, itemgetter("kind", "title", "beneath")):
            rows = []
            for metric, cells in groupby(of_block, itemgetter("metric")):
                known = {cell["measure"]: _estimate(*(cell[name] for name in NUMBERS[3:])) for cell in cells}
                rows.append(Row(metric, known, next(iter(known.values())).n))
            kinds[kind].append(Block(title, beneath, tuple(rows)))
        return PairStudy(*map(tuple, kinds.values()))

    return _whole(path, read, "divbench metrics study --gss")


def read_gaming(path: Path) -> Gaming:
    """Read what the board shows of `gaming.json`."""

    def read() -> Gaming:
        record = json.loads(path.read_bytes())
        gains: dict[str, dict[str, float]] = {}
        for attack, scores in record["attacks"].items():
            for metric, score in scores.items():
                if score["gain"] is not None and score["gain"]["value"] is not None:
                    gains.setdefault(metric, {})[attack] = score["gain"]["value"]
        about = (record["source"], record["prompts"], record["profile"], len(record["systems"]))
        return Gaming(*about, tuple(record["attacks"]), gains)

    return _whole(path, read, "divbench metrics gaming --out gaming.json")


def _whole(path: Path, read: Callable[[], Content], command: str) -> Content:
    """Read a file; whatever a damaged one raises becomes an error that names it."""
    try:
        return read()
    except (OSError, ValueError, LookupError, AttributeError, TypeError) as error:
        raise InputError(f"{path} cannot be read: {first_line(error)}", f"rebuild it: {command}") from error


def write_table(path: Path, table: pd.DataFrame) -> None:
    """Write a table of a study atomically."""
    with atomic_file(path) as temporary:
        table.to_parquet(temporary, index=False, compression="zstd")


def write_study(folder: Path, study: MetricStudy) -> list[Path]:
    """Write the files of a study and return their paths."""
    texts = [(name, context, list(responses)) for name, (context, responses) in sorted(study.texts.items())]
    tables = {
        TEXTS_FILE: pd.DataFrame(texts, columns=["set_id", "context", "responses"]),
        DISAGREEMENTS_FILE: study.disagreements,
        STUDY_FILE: study.numbers,
    }
    for name, table in tables.items():
        write_table(folder / name, table)
    return [folder / name for name in tables]


def pair_table(report: GssStudy) -> pd.DataFrame:
    """The accuracies of `divbench metrics gss` as the table of `gssbench.parquet`, rounded to four decimals."""
    rows = []
    for block in report.blocks:
        published = any(block is other for other in report.published)
        kind = "model" if block.model else "published" if published else "references"
        aggregates = block.model.aggregates if block.model else ()
        signatures = {score.metric: str(score.signature) for score in aggregates}
        for row in block.rows:
            about = (kind, block.title, block.beneath, row.metric, signatures.get(row.metric))
            rows += [(*about, name, *rounded(cell, 4), row.pairs) for name, cell in row.cells.items()]
    columns = ["kind", "title", "beneath", "metric", "signature", *NUMBERS[2:]]
    table = pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(NUMBERS[3:], "float64"))
    table.attrs = {"suite": report.suite, "resamples": report.how.resamples, "seed": report.how.seed}
    return table


def rounded(number: Estimate, places: int = 3) -> tuple[float | None, float | None, float | None]:
    """Round a number and its interval, which is at least ten times as wide as the last decimal."""
    value, low, high = (None if end is None else round(end, places) for end in (number.value, number.low, number.high))
    return value, low, high


def full_matrix(values: Any) -> list[list[float | None]]:
    """A matrix of correlations with 1 on the diagonal and None for NaN."""
    size = range(len(values))
    return [[1.0 if i == j else _or_none(values[i][j]) for j in size] for i in size]


def _estimate(value: float | None, low: float | None, high: float | None, n: float | None = None) -> Estimate:
    n = _or_none(n)
    return Estimate(_or_none(value), _or_none(low), _or_none(high), n=None if n is None else int(n))


def _or_none(value: float | None) -> float | None:
    return None if value is None or pd.isna(value) else float(value)
