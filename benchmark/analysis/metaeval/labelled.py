"""Response sets with known diversity, as tasks: splits of our datasets, and a user's own files of labelled sets."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from datasets_build.load import load_table
from datasets_build.schema import conform
from datasets_build.sources import find_config
from datasets_build.sources.tevet import REPORTED, TASKS
from divbench.core.errors import ConfigurationError, did_you_mean
from divbench.core.files import atomic_file
from submissions.untrusted.findings import Findings, Problem, Rejected
from submissions.untrusted.parquet_files import open_parquet

Floats = NDArray[np.float64]
CONFIGS = ("contest", "mcdiv", "mcdiv_nuggets", "dectest")
BINARY_TASKS = tuple(f"{config}/{task}" for config in CONFIGS[:3] for task in TASKS)
"""The nine tasks of D_Can's Table 2: sets written by people for high or low content diversity."""
SUFFIX = ".parquet"
SETS = pa.schema(
    [
        pa.field("set_id", pa.string(), nullable=False),
        pa.field("context", pa.string(), nullable=False),  # the prompt; sets of one context are one cluster
        pa.field("responses", pa.list_(pa.string()), nullable=False),
        pa.field("label", pa.float64(), nullable=False),  # greater for more diverse
        pa.field("label_name", pa.string(), nullable=False),  # such as temperature; the same in all rows
    ]
)
# People's ratings of each set, greater for more diverse; optional, but only all three columns together.
_RATINGS: "list[pa.Field[Any]]" = [
    pa.field("human_mean", pa.float64(), nullable=False),
    pa.field("human_std", pa.float64(), nullable=False),  # over raters, ddof 0
    pa.field("human_raters", pa.int64(), nullable=False),
]
HUMAN = pa.schema(_RATINGS)


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """One task: a split of labelled response sets."""

    name: str  # name of the task, such as `contest/story_gen`
    # *binary*: 1 for high content diversity, 0 for low; *graded*: of many values, greater for more diverse.
    label: Literal["binary", "graded"]
    set_ids: tuple[str, ...]  # [sets]; a set has the same id in every task that holds it
    contexts: tuple[str, ...]  # [sets], the prompt of each set; sets of one context are one cluster in every resample
    responses: tuple[tuple[str, ...], ...]  # [sets]
    labels: Floats  # [sets]
    lengths: Floats  # [sets], mean bytes of a response in UTF-8
    human: Floats | None  # [sets], mean score of about ten raters; None for tasks without human scores
    human_spread: Floats | None  # [sets], standard deviation of the scores over raters
    released: dict[str, Floats]  # metric columns published with the texts, each [sets], NaN where missing
    label_name: str = "label"  # name of the label, such as `temperature` or `top_k`
    raters: Floats | None = None  # [sets], number of raters of each set; None: ten, or a task without human scores

    @property
    def kind(self) -> str:
        """The kind of generation (story, response or prompt): the split without `_with_hds`; empty for a file."""
        return self.name.partition("/")[2].removesuffix("_with_hds")

    def rows(self, keep: NDArray[np.bool_]) -> "Labelled":
        """Return the task with only the sets where `keep` [sets] is true."""
        rows = np.flatnonzero(keep)
        return replace(
            self,
            set_ids=tuple(self.set_ids[i] for i in rows),
            contexts=tuple(self.contexts[i] for i in rows),
            responses=tuple(self.responses[i] for i in rows),
            labels=self.labels[rows],
            lengths=self.lengths[rows],
            human=None if self.human is None else self.human[rows],
            human_spread=None if self.human_spread is None else self.human_spread[rows],
            released={name: values[rows] for name, values in self.released.items()},
            raters=None if self.raters is None else self.raters[rows],
        )


def load_tasks(names: Sequence[str], mirror: Path | None = None) -> list[Labelled]:
    """Load tasks by name or from .parquet files; the nine with two labels if none is named."""
    paths = [Path(name) for name in dict.fromkeys(names) if name.endswith(SUFFIX)]
    named = task_names([name for name in names if not name.endswith(SUFFIX)]) if names else BINARY_TASKS
    from_files = [read_set_file(path) for path in paths]  # first: the others are larger
    tasks = [load_labelled(name, mirror=mirror) for name in named] + from_files
    if from_files:
        _check_apart(tasks)
    return tasks


def task_names(names: Sequence[str]) -> list[str]:
    """Return the names of the tasks asked for: `contest` for all its splits, `contest/story_gen` for one."""
    tasks: list[str] = []
    for name in names:
        config, _, split = name.partition("/")
        if config not in CONFIGS:
            hint = f"{did_you_mean(name, CONFIGS)}; with or without a split; or a file named .parquet"
            if config == "gssbench":
                hint = "it has pairs of prompts: divbench metrics gss"
            raise ConfigurationError(f"{name!r} is not a dataset with labels to test a metric against", hint)
        splits = [known.name for known in find_config(config)[1].splits]
        if split and split not in splits:
            raise ConfigurationError(f"{config} has no split {split!r}", did_you_mean(split, splits))
        # Without a split, the larger version of a dataset is meant; the one with human scores must be named.
        whole = [each for each in splits if config == "contest" or not each.endswith("_with_hds")]
        tasks += [f"{config}/{each}" for each in ([split] if split else whole)]
    return list(dict.fromkeys(tasks))


def load_labelled(name: str, *, mirror: Path | None = None) -> Labelled:
    """Load the sets of a task by its name."""
    config, _, split = name.partition("/")
    rows = load_table(config, split, mirror=mirror).to_pylist()
    human = _column(rows, "abs_hds_mean")
    graded = rows[0]["label_name"] == "temp"
    released = {metric: _column(rows, f"reported_{metric}") for metric in REPORTED}
    return Labelled(
        name=name,
        label="graded" if graded else "binary",
        human=human if np.isfinite(human).all() else None,
        human_spread=_column(rows, "abs_hds_std") if np.isfinite(human).all() else None,
        released={metric: values for metric, values in released.items() if np.isfinite(values).any()},
        label_name="temperature" if graded else "content diversity",
        **_texts(rows),
    )


def _column(rows: Sequence[Mapping[str, Any]], field: str) -> Floats:
    return np.array([np.nan if row[field] is None else row[field] for row in rows], np.float64)


def _texts(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the fields of a task that all sources of rows have."""
    return {
        "set_ids": tuple(row["set_id"] for row in rows),
        "contexts": tuple(row["context"] for row in rows),
        "responses": tuple(tuple(row["responses"]) for row in rows),
        "labels": _column(rows, "label"),
        "lengths": np.array([np.mean([len(text.encode()) for text in row["responses"]]) for row in rows]),
    }


def write_sets(path: Path, rows: Iterable[Mapping[str, Any]], about: Mapping[bytes, bytes]) -> None:
    """Write a file of labelled sets: rows of `SETS`, all or none with the columns of `HUMAN`; `about` is metadata."""
    rows = list(rows)
    rated = any(name in row for row in rows[:1] for name in HUMAN.names)
    schema = pa.unify_schemas([SETS, HUMAN]) if rated else SETS
    table = conform(rows, schema, path.name).replace_schema_metadata(dict(about))
    with atomic_file(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")


def read_set_file(path: Path) -> Labelled:
    """Read the sets of a file as a task: with a binary label if its labels are 0 and 1, else with a graded one."""
    if not path.is_file():
        raise ConfigurationError(f"there is no file {path}", "make one: divbench generate --sweep")
    findings = Findings()
    file = open_parquet(path, SETS, findings, optional=list(HUMAN), any_number=True)
    numbered = [] if file is None else list(file.rows(findings))
    seen: set[str] = set()
    for number, row in numbered:
        for field, message in _faults(row, seen):
            hint = "docs/sampling.md lists the columns"
            findings.add(Problem("sets", "error", path.name, number, field, message, hint))
    rows = [row for _, row in numbered]
    if not findings.rejected():
        for field, message, hint in _faults_of_all(rows):
            findings.add(Problem("sets", "error", path.name, None, field, message, hint))
    if findings.rejected():
        raise Rejected(str(path), findings)
    rated = file is not None and HUMAN.names[0] in file.schema.names
    raters = _column(rows, "human_raters") if rated else None
    return Labelled(
        name=path.stem,
        label="binary" if {row["label"] for row in rows} == {0.0, 1.0} else "graded",
        human=_column(rows, "human_mean") if rated else None,
        human_spread=_column(rows, "human_std") if raters is not None and (raters > 1).all() else None,
        released={},
        label_name=rows[0]["label_name"],
        raters=raters,
        **_texts(rows),
    )


def _faults(row: Mapping[str, Any], seen: set[str]) -> Iterator[tuple[str, str]]:
    for name in (*SETS.names, *(name for name in HUMAN.names if name in row)):
        if row.get(name) is None:
            yield name, "null where a value is required"
            return
    if row["set_id"] in seen:
        yield "set_id", f"{row['set_id']!r} occurs twice"
    seen.add(row["set_id"])
    if not row["responses"] or None in row["responses"]:
        yield "responses", "no responses, or one is null"
    if not np.isfinite(row["label"]):
        yield "label", f"{row['label']} is not a finite number"
    if not np.isfinite(row.get("human_mean", 0)) or not 0 <= row.get("human_std", 0) < np.inf:
        yield "human_mean", "the mean or standard deviation of people's ratings is not a finite number"
    if row.get("human_raters", 1) < 1:
        yield "human_raters", f"{row['human_raters']} raters"


def _faults_of_all(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    if len({row["label"] for row in rows}) < 2:
        yield "label", "all labels are equal", "add sets with another label: there is nothing to rank by"
    names = sorted({row["label_name"] for row in rows})
    if len(names) > 1:
        yield "label_name", f"more than one name: {', '.join(names[:5])}", "write one file for each label name"


def _check_apart(tasks: Sequence[Labelled]) -> None:
    """Check that no two tasks have one name, and no two sets one id: scores are kept by both."""
    known: dict[str, tuple[str, tuple[str, ...], str]] = {}
    for task in tasks:
        if sum(task.name == other.name for other in tasks) > 1:
            raise ConfigurationError(f"two tasks are named {task.name}", "rename a file, or ask for one at a time")
        for set_id, context, responses in zip(task.set_ids, task.contexts, task.responses, strict=True):
            first = known.setdefault(set_id, (context, responses, task.name))
            if first[:2] != (context, responses):
                message = f"{set_id!r} is one set in {first[2]} and another in {task.name}"
                raise ConfigurationError(message, "give sets other ids, or ask for one task at a time")
