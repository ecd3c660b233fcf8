"""A user's own files of labelled sets, such as a sweep of a decoding parameter, for `metrics metaeval`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.analysis.metaeval.labelled import Floats, Labelled
from datasets_build.schema import conform
from divbench.core.errors import ConfigurationError
from divbench.core.files import atomic_file
from submissions.untrusted.findings import Findings, Problem, Rejected
from submissions.untrusted.parquet_files import open_parquet

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
_RATED: "list[pa.Field[Any]]" = [
    pa.field("human_mean", pa.float64(), nullable=False),
    pa.field("human_std", pa.float64(), nullable=False),  # over raters, ddof 0
    pa.field("human_raters", pa.int64(), nullable=False),
]
HUMAN = pa.schema(_RATED)
SUFFIX = ".parquet"


def write_sets(path: Path, rows: Iterable[Mapping[str, Any]], about: Mapping[bytes, bytes]) -> None:
    """Write a file of labelled sets atomically.

    Args:
        rows: Rows of the schema `SETS`, all of them with the columns of `HUMAN` or none.
        about: How the sets were made, for the file's metadata.
    """
    given = list(rows)
    rated = any(name in row for row in given[:1] for name in HUMAN.names)
    schema = pa.unify_schemas([SETS, HUMAN]) if rated else SETS
    table = conform(given, schema, path.name).replace_schema_metadata(dict(about))
    with atomic_file(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")


def read_set_file(path: Path) -> Labelled:
    """Read the sets of a file as a task: with a binary label if its labels are 0 and 1, else with a graded one.

    Raises:
        Rejected: The file is not valid; every problem is reported with its row and field.
        ConfigurationError: The file does not exist.
    """
    if not path.is_file():
        raise ConfigurationError(f"there is no file {path}", "make one: divbench generate --sweep")
    findings = Findings()
    file = open_parquet(path, SETS, findings, optional=list(HUMAN), any_number=True)
    rows = [] if file is None else list(file.rows(findings))
    seen: set[str] = set()
    for number, row in rows:
        for field, message in _faults(row, seen):
            findings.add(
                Problem("sets", "error", path.name, number, field, message, "docs/sampling.md lists the columns")
            )
    found = [row for _, row in rows]
    if not findings.rejected():
        for field, message, hint in _faults_of_all(found):
            findings.add(Problem("sets", "error", path.name, None, field, message, hint))
    if findings.rejected():
        raise Rejected(str(path), findings)
    rated = file is not None and HUMAN.names[0] in file.schema.names

    def column(name: str) -> Floats:
        return np.array([row[name] for row in found], np.float64)

    raters = column("human_raters") if rated else None
    return Labelled(
        name=path.stem,
        label="binary" if {row["label"] for row in found} == {0.0, 1.0} else "graded",
        set_ids=tuple(row["set_id"] for row in found),
        contexts=tuple(row["context"] for row in found),
        responses=tuple(tuple(row["responses"]) for row in found),
        labels=column("label"),
        lengths=np.array([np.mean([len(text.encode()) for text in row["responses"]]) for row in found]),
        human=column("human_mean") if rated else None,
        human_spread=column("human_std") if raters is not None and (raters > 1).all() else None,
        released={},
        label_name=found[0]["label_name"],
        raters=raters,
    )


def check_apart(tasks: Sequence[Labelled]) -> None:
    """Check that names are unique, because scores are kept by task and set id.

    Raises:
        ConfigurationError: Two tasks have the same name, or two different sets the same id.
    """
    known: dict[str, tuple[str, tuple[str, ...], str]] = {}
    for task in tasks:
        if sum(task.name == other.name for other in tasks) > 1:
            raise ConfigurationError(f"two tasks are named {task.name}", "rename a file, or ask for one at a time")
        for set_id, context, responses in zip(task.set_ids, task.contexts, task.responses, strict=True):
            first = known.setdefault(set_id, (context, responses, task.name))
            if first[:2] != (context, responses):
                message = f"{set_id!r} is one set in {first[2]} and another in {task.name}"
                raise ConfigurationError(message, "give sets other ids, or ask for one task at a time")


def _faults_of_all(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    if len({row["label"] for row in rows}) < 2:
        yield "label", "all labels are equal", "add sets with another label: there is nothing to rank by"
    names = sorted({row["label_name"] for row in rows})
    if len(names) > 1:
        yield "label_name", f"more than one name: {', '.join(names[:5])}", "write one file for each label name"


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
