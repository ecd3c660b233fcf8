"""Scores to test, from this package's metrics, released columns, a user's own function, or a file.

Scores are kept by set_id, so that sets in several tasks are scored once. Larger is more diverse: metrics with the
opposite direction are negated, and their origin says so.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmark.analysis.metaeval.external import score_externally
from benchmark.analysis.metaeval.labelled import Labelled
from benchmark.metrics import Metric
from benchmark.metrics.metric import Missing
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.inputs import Value, score_sets
from benchmark.surprisal.engine import ResponseSet
from divbench.core.errors import ConfigurationError, InputError, counted, first_line
from submissions.untrusted.table_files import delimiter_of

Floats = NDArray[np.float64]
MAX_FILE_BYTES = 2**30
NOT_IN_FILE = "not in the file"
_INDEX = ("", "Unnamed: 0", "__index_level_0__")  # row numbers that pandas writes; not metrics
_LONGEST_HEAD = 2**20  # characters
_SCORED_AT_ONCE = 1000  # sets; enough that their texts are embedded in full batches

Progress = Callable[[str, int, int], None]
"""Called with the name of a step, how much of it is done, and its total."""


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of one metric."""

    name: str
    origin: str  # *metric*, *released*, *external* or *file*, with its version or path
    values: Mapping[str, Value]  # scores by set_id, larger for more diverse, or the reasons why they are missing
    problems: tuple[str, ...] = field(default=())  # problems of the whole column, such as unknown ids

    def column(self, ids: Sequence[str]) -> Floats:
        """Return the values in the order of the ids, NaN where missing."""
        found = (self.values.get(name, Missing(NOT_IN_FILE)) for name in ids)
        return np.array([np.nan if isinstance(value, Missing) else value for value in found], np.float64)

    def has_values(self) -> bool:
        """Whether any set has a value."""
        return not all(isinstance(value, Missing) for value in self.values.values())

    def reasons(self, ids: Sequence[str]) -> dict[str, int]:
        """Count the sets without a value, by reason."""
        found = (self.values.get(name, Missing(NOT_IN_FILE)) for name in ids)
        return dict(sorted(Counter(value.reason for value in found if isinstance(value, Missing)).items()))

    def missing(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the reason for each missing value, by set_id."""
        found = ((name, self.values.get(name, Missing(NOT_IN_FILE))) for name in ids)
        return {name: value.reason for name, value in found if isinstance(value, Missing)}


def unique_sets(tasks: Iterable[Labelled]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return context and responses of each different set of the tasks, by set_id."""
    made: dict[str, tuple[str, tuple[str, ...]]] = {}
    for task in tasks:
        for name, context, responses in zip(task.set_ids, task.contexts, task.responses, strict=True):
            made.setdefault(name, (context, responses))
    return made


def metric_scores(
    tasks: Sequence[Labelled],
    metrics: Sequence[Metric],
    backends: ScoringBackends,
    progress: Progress = lambda what, done, total: None,
) -> list[Scores]:
    """Score sets by this package's metrics, each different set once.

    Args:
        metrics: Metrics to compute; the backends' profile has the models that they need.

    Raises:
        ScoringFault: A metric failed.
        ConfigurationError: A model cannot be loaded.
    """
    named = unique_sets(tasks)
    names = list(named)
    sets = [ResponseSet(context, responses) for context, responses in named.values()]
    backends.announce([sets], metrics)
    readings = backends.read(sets, metrics, lambda done: progress("reading with the language model", done, len(sets)))
    found: list[dict[str, Value]] = []
    for start in range(0, len(sets), _SCORED_AT_ONCE):
        part = slice(start, start + _SCORED_AT_ONCE)
        read = None if readings is None else readings[part]
        materials = backends.materials(sets[part], metrics, surprisals=read)
        found += score_sets(materials, metrics, names[part])
        progress("scoring", len(found), len(sets))
    made = []
    for metric in metrics:
        sign = -1 if metric.direction == -1 else 1
        values: dict[str, Value] = {}
        for name, row in zip(names, found, strict=True):
            value = row[metric.id]
            values[name] = value if isinstance(value, Missing) else sign * value
        made.append(Scores(metric.id, f"metric v{metric.version}{', negated' if sign < 0 else ''}", values))
    return made


def released_scores(tasks: Sequence[Labelled], names: Sequence[str] | None = None) -> list[Scores]:
    """Return the metric columns published with the texts, where they are rounded to 3 decimals."""
    found: dict[str, dict[str, Value]] = {}
    for task in tasks:
        for name, values in task.released.items():
            column = found.setdefault(name, {})
            for set_id, value in zip(task.set_ids, values.tolist(), strict=True):
                column[set_id] = Missing("not released") if np.isnan(value) else value
    chosen = list(found) if names is None else list(names)
    lacking = [name for name in chosen if name not in found]
    if lacking:
        raise ConfigurationError(
            f"the released column {lacking[0]!r} is not available",
            f"there are {', '.join(found) or 'none without the mirror'}",
        )
    return [Scores(f"released:{name}", "released with the texts, 3 decimals", found[name]) for name in chosen]


def external_scores(
    tasks: Sequence[Labelled],
    function: str,
    *,
    lower_is_more_diverse: bool = False,
    time_limit: float = 60.0,
    progress: Progress = lambda what, done, total: None,
) -> Scores:
    """Score sets by a user's own function; see `score_externally`."""
    sets = unique_sets(tasks)
    found = score_externally(
        function,
        list(sets.values()),
        time_limit=time_limit,
        progress=lambda done: progress(f"calling {function}", done, len(sets)),
    )
    sign = -1 if lower_is_more_diverse else 1
    values = {
        name: value if isinstance(value, Missing) else sign * value for name, value in zip(sets, found, strict=True)
    }
    return Scores(function, f"external{', negated' if sign < 0 else ''}", values)


def file_scores(
    path: Path, key: str, known: Iterable[str], *, lower_is_more_diverse: bool = False, unit: str = "set"
) -> list[Scores]:
    """Read scores from a CSV or Parquet file: a column of ids, and a column of numbers for each metric.

    Unknown ids, ids that occur twice with different values, and fields that are not numbers are reported as problems;
    the other rows are used.

    Args:
        path: Ends in .csv or .parquet.
        key: The column of ids, such as `set_id`.
        unit: Noun for what the ids name, for messages.

    Raises:
        InputError: The file cannot be read, lacks the column of ids, has two columns of one name, or has no column of
            scores.
    """
    table = _table(path, key)
    if key not in table.column_names:
        raise InputError(f"{path} has no column {key}", f"it has {', '.join(table.column_names)[:200]}")
    repeated = [name for name, count in Counter(table.column_names).items() if count > 1]
    if repeated:
        raise InputError(f"{path} has more than one column named {repeated[0]!r}", "rename or remove one")
    ids = [None if each is None else str(each) for each in table[key].to_pylist()]
    columns = [
        name
        for name in table.column_names
        if name not in {key, *_INDEX} and _could_be_numbers(table.schema.field(name).type)
    ]
    if not columns:
        raise InputError(f"{path} has no column of scores beside {key}", "add one column of numbers for each metric")
    there = set(known)
    unknown = sorted({name for name in ids if name is not None and name not in there})
    twice = {name for name, count in Counter(ids).items() if count > 1 and name is not None}
    problems = []
    if unknown:
        problems.append(f"left out: {counted(len(unknown), 'id')} of no {unit} asked for, such as {unknown[0][:60]!r}")
    if None in ids:
        problems.append(f"left out: {counted(ids.count(None), 'row')} without {key}")
    made = []
    for name in columns:
        numbers = table[name].to_pylist()
        values, more = _by_id(ids, numbers, twice, -1 if lower_is_more_diverse else 1, unit)
        made.append(Scores(f"{path.stem}:{name}", f"file {path.name}", values, (*problems, *more)))
    return [each for each in made if any(not isinstance(value, Missing) for value in each.values.values())] or made[:1]


def _by_id(
    ids: Sequence[str | None], numbers: Sequence[Any], twice: set[str], sign: int, unit: str
) -> tuple[dict[str, Value], list[str]]:
    values: dict[str, Value] = {}
    conflicting: set[str] = set()
    for name, given in zip(ids, numbers, strict=True):
        if name is None:
            continue
        value = _number(given)
        value = value if isinstance(value, Missing) else sign * value
        if name in twice and name in values and values[name] != value:
            conflicting.add(name)
        values[name] = value
    values |= {name: Missing("occurs twice in the file with different values") for name in conflicting}
    problems = []
    if conflicting:
        problems.append(
            f"{len(conflicting)} {unit}s occur twice with different values, such as {min(conflicting)!r}: missing"
        )
    if repeated := len(twice) - len(conflicting):
        problems.append(f"{repeated} {unit}s occur twice with the same value: counted once")
    return values, problems


def _number(given: Any) -> Value:
    if given is None or given == "":
        return Missing("no value in the file")
    try:
        value = float(given)
    except (TypeError, ValueError):
        return Missing(f"not a number in the file: {str(given)[:40]!r}")
    return value if np.isfinite(value) else Missing("not finite in the file")


def _could_be_numbers(kind: pa.DataType) -> bool:
    """Whether a column may hold numbers; text may as well, because the reader types a column with one word as text."""
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_string(kind) or pa.types.is_null(kind)


def _table(path: Path, key: str) -> pa.Table:
    if not path.is_file():
        raise InputError(f"there is no file {path}", "name a CSV or Parquet file")
    if path.stat().st_size > MAX_FILE_BYTES:
        raise InputError(f"{path} has more than {MAX_FILE_BYTES:,} bytes", "keep only the columns of ids and scores")
    try:
        if path.suffix == ".parquet":
            return pq.read_table(path)
        if path.suffix == ".csv":
            as_text = pa.csv.ConvertOptions(column_types={key: pa.string()})  # otherwise the id 007 would become 7
            with path.open(encoding="utf-8-sig", errors="replace") as file:
                parsed = pa.csv.ParseOptions(delimiter=delimiter_of(file.readline(_LONGEST_HEAD)))
            return pa.csv.read_csv(path, parse_options=parsed, convert_options=as_text)
    except (pa.ArrowInvalid, pa.ArrowKeyError, OSError) as error:
        raise InputError(f"{path} cannot be read: {first_line(error)}", "repair the file or write it again") from error
    raise InputError(f"{path} is neither .csv nor .parquet", "convert or rename the file")
