"""The file of scores next to a study: the values of all metrics, so that only new metrics must be computed.

It has one row per response set and one column per metric, and no texts. The metadata of a column contain its signature
and the reasons for missing values. A column is reused only with the same signature and for the same sets; the id of a
set is a hash of its content.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.analysis.metaeval.labelled import Labelled
from benchmark.analysis.metaeval.scores import Progress, Scores, metric_scores, unique_sets
from benchmark.metrics import METRICS, Metric
from benchmark.metrics.metric import Missing
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.inputs import Value, metrics_from
from benchmark.scoring.profiles import find_profile
from benchmark.scoring.results import signature_line
from datasets_build.sources.tevet import content_digits
from divbench.core.errors import InputError, first_line
from divbench.core.files import atomic_file
from leaderboard.data.metric_study.files import MEASURED, SCORES_FILE

_ID, _HINT = "set_id", "delete the file to compute all metrics again"


def as_stored(scores: Scores) -> Scores:
    """Round values to float32, as in the file, so that the study does not depend on whether the file exists."""
    values: dict[str, Value] = {
        name: value if isinstance(value, Missing) else float(np.float32(value)) for name, value in scores.values.items()
    }
    return Scores(scores.name, scores.origin, values, scores.problems)


def write_scores(path: Path, columns: Mapping[str, Scores]) -> None:
    """Write columns, given by signature, atomically."""
    ids = sorted({name for scores in columns.values() for name in scores.values})
    fields: list[Any] = [pa.field(_ID, pa.string())]
    arrays: list[Any] = [pa.array(ids, pa.string())]
    for signature, scores in columns.items():
        found = [scores.values.get(name) for name in ids]
        reasons = {name: value.reason for name, value in zip(ids, found, strict=True) if isinstance(value, Missing)}
        about = {"signature": signature, "origin": scores.origin, "missing": json.dumps(reasons)}
        fields.append(pa.field(scores.name, pa.float32(), metadata=about))
        arrays.append(pa.array([None if isinstance(value, Missing) else value for value in found], pa.float32()))
    with atomic_file(path) as temporary:
        pq.write_table(pa.Table.from_arrays(arrays, schema=pa.schema(fields)), temporary, compression="zstd")


def read_scores(path: Path, names: Sequence[str] | None = None) -> dict[str, Scores]:
    """Read columns by signature; empty if there is no such file.

    Args:
        names: Metrics to read; None: all.

    Raises:
        InputError: The file is not a file of scores.
    """
    if not path.exists():
        return {}
    try:
        there = pq.read_schema(path).names
        table = pq.read_table(path, columns=[each for each in there if names is None or each in (_ID, *names)])
        ids = [str(name) for name in table[_ID].to_pylist()]
        found = {}
        for field in table.schema:
            if field.name != _ID:
                about = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
                missing = {name: Missing(reason) for name, reason in json.loads(about["missing"]).items()}
                numbers = zip(ids, table[field.name].to_pylist(), strict=True)
                values: dict[str, Value] = {name: value for name, value in numbers if value is not None} | missing
                found[about["signature"]] = Scores(field.name, about["origin"], values)
    except (pa.ArrowException, OSError, KeyError, AttributeError, ValueError) as error:
        raise InputError(f"{path} is not a file of scores: {first_line(error)}", _HINT) from error
    return found


def measured_scores(tasks: Sequence[Labelled], names: Sequence[str]) -> dict[str, Scores]:
    """Return the scores that come with the package, by metric: of those named, the ones that cover all sets.

    They are of the present versions under the profile *offline*, rounded to float32. None are returned if a set has
    other texts than its id says, such as responses that a user shortened in a copy of the released sets.
    """
    sets = unique_sets(tasks)
    if not all(name.endswith(f"-{content_digits(*content)}") for name, content in sets.items()):
        return {}
    profile = find_profile("offline").replace(format="completion")  # as in the study
    known, ids = read_scores(MEASURED / SCORES_FILE, names), list(sets)
    found = {each.id: known.get(signature_line(each, profile)) for each in METRICS if each.id in names}
    return {name: scores for name, scores in found.items() if scores is not None and _covers(scores, ids)}


def study_scores(
    tasks: Sequence[Labelled],
    metrics: Sequence[Metric],
    backends: ScoringBackends,
    most_read: int,
    path: Path,
    progress: Progress = lambda what, done, total: None,
) -> list[Scores]:
    """Score metrics, in their order: scores in the file are reused, and new ones are added to it.

    Args:
        most_read: Maximum number of responses per set for the language model; its metrics have no scores on tasks with
            larger sets.
        path: The file of scores; it need not exist.

    Raises:
        InputError: As `read_scores`.
    """
    reading = metrics_from("causal_lm", metrics)
    read = [task for task in tasks if max(map(len, task.responses)) <= most_read]
    signatures = {each.id: signature_line(each, backends.profile) for each in metrics}
    known = read_scores(path)
    for some, of in (([each for each in metrics if each not in reading], tasks), (list(reading), read)):
        ids = list(unique_sets(of))
        lacking = [each for each in some if not _covers(known.get(signatures[each.id]), ids)]
        if lacking and ids:
            known = {signature: each for signature, each in known.items() if each.name not in {m.id for m in lacking}}
            known |= {signatures[each.name]: as_stored(each) for each in metric_scores(of, lacking, backends, progress)}
            write_scores(path, known)
    return [known[signatures[each.id]] for each in metrics if signatures[each.id] in known]


def _covers(scores: Scores | None, ids: Iterable[str]) -> bool:
    """Whether every set has a value or a reason for its absence."""
    return scores is not None and all(name in scores.values for name in ids)
