"""The columns of a result's `per_prompt.parquet`: texts, values, equivalence classes, validity, surprisals.

For users who may not redistribute responses, `write_text_free` writes a result without texts: the column
`response_facts` replaces `prompt` and `responses`, surprisals are shortened, and everything else stays the same, so
code that reads results can read both kinds.
"""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.metrics import Metric
from benchmark.metrics.metric import Missing, Unscorable
from benchmark.metrics.partition import Partition, distinct_curve, of_reported
from benchmark.metrics.surprisal import curve_bits, curve_rate
from benchmark.scoring.inputs import metrics_from
from benchmark.scoring.results import PER_PROMPT_FILE, RESULT_FILE, OrderError, Result, require_result
from benchmark.surprisal.engine import OrderPlan, SetSurprisals
from benchmark.surprisal.response_orders import StandardErrors, standard_errors
from divbench.core.files import atomic_folder, canonical_json, sha256_of
from submissions.checking.response_kinds import is_scorable
from submissions.schema import Reported

INVALID = "invalid"  # column: why each response is not valid; null: it is; no list: validity is missing
PROBABILITIES = "valid_probabilities"  # column: estimated probability that each response is valid, to 3 decimals
CLASSES = "classes"
_CLASSES_FIELD = pa.field(
    CLASSES,
    pa.struct(
        [
            pa.field("labels", pa.list_(pa.int32())),  # a response's class, 0, 1, …; null: in no class that counts
            pa.field("curve", pa.list_(pa.float64())),  # expected number of classes of 1, 2, … responses
            pa.field("rewards", pa.list_(pa.float64())),  # reward of each class's first response; null without a model
            pa.field("qualities", pa.list_(pa.float64())),  # 1 to 10, likewise
        ]
    ),
)
REPORTED_CLASSES = "reported_classes"  # that came with the submission
_REPORTED_FIELD = pa.field(
    REPORTED_CLASSES,
    pa.struct(
        [
            pa.field("labels", pa.list_(pa.int32())),  # a response's class, 0, 1, …
            pa.field("qualities", pa.list_(pa.float64())),  # 1 to 10, of each class's first response
        ]
    ),
)
SURPRISALS = "surprisals"  # of the per-prompt table
_NUMBERS = pa.list_(pa.float64())
_SURPRISALS_FIELD = pa.field(
    SURPRISALS,
    pa.struct(
        [
            pa.field("unconditional_bits", _NUMBERS),  # of each scorable response alone, in their order
            pa.field("bytes", pa.list_(pa.int64())),  # likewise
            pa.field("curve_bits", _NUMBERS),  # a_k, k = 1 … n; null under endpoint orders
            pa.field("curve_rate", _NUMBERS),  # a_k in bits/byte
            pa.field("curve_rate_se", _NUMBERS),  # standard errors from the choice of orders, null where unknown
            pa.field("end_rate", pa.float64()),  # a_n in bits/byte
            pa.field("estimator", pa.string()),  # of the standard errors, as in response_orders.py
        ]
    ),
)
TEXTS = ("prompt", "responses")
FACTS = "response_facts"
FACTS_FIELD = pa.field(
    FACTS,
    pa.struct(
        [
            pa.field("bytes", pa.list_(pa.int32())),  # of UTF-8, of each response in the given order
            pa.field("scored", pa.list_(pa.bool_())),  # neither blank nor a placeholder, likewise
        ]
    ),
)
_REASON = pa.struct([pa.field("metric", pa.string()), pa.field("reason", pa.string())])
_MISSING_FIELD = pa.field("missing", pa.list_(_REASON), nullable=False)


def per_prompt_schema(metrics: Sequence[Metric]) -> pa.Schema:
    """Return the columns of `per_prompt.parquet`: texts, counts, one column per metric (null if missing), reasons."""
    return pa.schema(
        [
            pa.field("prompt_id", pa.string(), nullable=False),
            pa.field("category", pa.string(), nullable=False),
            pa.field("prompt", pa.string(), nullable=False),
            pa.field("responses", pa.list_(pa.string()), nullable=False),
            pa.field("finish_reasons", pa.list_(pa.string())),
            pa.field("answers", pa.int32(), nullable=False),  # responses that are neither blank nor placeholders
            *(pa.field(metric.id, pa.float64()) for metric in metrics),
            *([_CLASSES_FIELD] if metrics_from("partition", metrics) else []),
            *([pa.field(INVALID, pa.list_(pa.string()))] if metrics_from("validity", metrics) else []),
            *([pa.field(PROBABILITIES, pa.list_(pa.float32()))] if metrics_from("estimates", metrics) else []),
            *([_REPORTED_FIELD] if metrics_from("reported", metrics) else []),
            *([_SURPRISALS_FIELD] if metrics_from("causal_lm", metrics) else []),
            _MISSING_FIELD,
        ]
    )


def reported_schema(metrics: Sequence[Metric], *, has_facts: bool) -> pa.Schema:
    """Return the columns of a result of reported values: no texts, and facts about responses only if those are here."""
    return pa.schema(
        [
            pa.field("prompt_id", pa.string(), nullable=False),
            pa.field("category", pa.string(), nullable=False),
            *([FACTS_FIELD] if has_facts else []),
            *(pa.field(metric.id, pa.float64()) for metric in metrics),
            _REPORTED_FIELD,
            _MISSING_FIELD,
        ]
    )


def class_record(partition: Partition | Missing) -> dict[str, Any] | None:
    """Return a row of the column `classes`; None if there are no classes."""
    if isinstance(partition, Missing):
        return None
    return {
        "labels": list(partition.labels),
        "curve": list(distinct_curve(partition)) if partition.heads else [],
        "rewards": None if partition.rewards is None else list(partition.rewards),
        "qualities": _first_qualities(partition),
    }


def reported_record(reported: Reported | None) -> dict[str, Any] | None:
    """Return a row of the column `reported_classes`; None if no classes came with the submission."""
    if reported is None:
        return None
    partition = of_reported(reported)
    return {"labels": list(partition.labels), "qualities": _first_qualities(partition)}


def _first_qualities(partition: Partition) -> list[float | None] | None:
    return None if partition.qualities is None else [partition.qualities[first] for first in partition.heads]


def rate_errors(read: SetSurprisals) -> StandardErrors:
    """Estimate the standard errors of the a_k curve in bits/byte."""
    return standard_errors(read.design, read.surprisals.rates)


def surprisal_record(reading: SetSurprisals | Missing) -> dict[str, Any] | None:
    """Return a row of the column; None if there is no curve."""
    if isinstance(reading, Missing):
        return None
    s = reading.surprisals
    try:
        rate, bits = curve_rate(s), curve_bits(s)
    except Unscorable:
        return None
    errors = rate_errors(reading)
    whole = reading.design.estimates == "curve"
    return {
        "unconditional_bits": s.unconditional.tolist(),
        "bytes": s.byte_counts.tolist(),
        "curve_bits": bits.tolist() if whole else None,
        "curve_rate": rate.tolist() if whole else None,
        "curve_rate_se": [x if math.isfinite(x) else None for x in errors.curve.tolist()],
        "end_rate": float(rate[-1]),
        "estimator": errors.estimator,
    }


def order_error(path: Path, plan: OrderPlan) -> OrderError:
    """Estimate the standard errors of a result due to the choice of orders, from its per-prompt table.

    Orders are drawn independently for each prompt, so the variance of a mean over N prompts is the sum of the prompts'
    variances divided by N². (*uniform* orders are the same for all prompts; this is ignored.)
    """
    rows = [row for row in pq.read_table(path, columns=[SURPRISALS])[SURPRISALS].to_pylist() if row is not None]
    ends = [_square(row["curve_rate_se"][-1]) for row in rows]
    curves = [_mean(_square(x) for x in row["curve_rate_se"]) if plan.whole_curve else None for row in rows]
    (a_n, a_n_of_one), (curve, curve_of_one) = _errors(ends), _errors(curves)
    return OrderError(
        orders=str(plan), sets=len(rows), a_n=a_n, curve=curve, a_n_of_one=a_n_of_one, curve_of_one=curve_of_one
    )


def _square(x: float | None) -> float | None:
    return None if x is None else x * x


def _mean(values: Iterable[float | None]) -> float | None:
    """Return the mean; None if any value is missing."""
    numbers = list(values)
    known = [x for x in numbers if x is not None]
    return sum(known) / len(known) if known and len(known) == len(numbers) else None


def _errors(variances: list[float | None]) -> tuple[float | None, float | None]:
    """Return the standard error of the mean, and the typical standard error of a single prompt."""
    mean = _mean(variances)
    return (None, None) if mean is None else (math.sqrt(mean / len(variances)), math.sqrt(mean))


def write_text_free(folder: Path, out: Path) -> Result:
    """Write a result without its texts; the same result gives the same bytes.

    The id is unchanged, because it is the same result. Surprisals are of single precision, and curves in bits/byte.
    """
    original = require_result(folder)
    return write_packed(original, with_short_surprisals(without_texts(pq.read_table(folder / PER_PROMPT_FILE))), out)


def with_short_surprisals(table: pa.Table) -> pa.Table:
    """Return a per-prompt table whose surprisals take little space: what no page reads is null, the rest rounded."""
    if SURPRISALS not in table.column_names:
        return table
    rows: Any = table[SURPRISALS].to_pylist()
    for row in rows:
        if row is not None:
            row["curve_bits"] = None
            for name in ("unconditional_bits", "curve_rate", "curve_rate_se"):
                row[name] = row[name] and [None if x is None else float(np.float32(x)) for x in row[name]]
    at = table.schema.get_field_index(SURPRISALS)
    return table.set_column(at, _SURPRISALS_FIELD, pa.array(rows, _SURPRISALS_FIELD.type))


def write_packed(result: Result, table: pa.Table, out: Path) -> Result:
    """Write a result that is shipped, as small as possible, with the digest of its table."""
    with atomic_folder(out, replace=True) as temporary:
        pq.write_table(
            table,
            temporary / PER_PROMPT_FILE,
            compression="zstd",
            compression_level=19,
            use_dictionary=False,  # statistics would be a fifth of the file, and do not help readers of a hundred rows
            write_statistics=False,
        )
        result = result.model_copy(update={"per_prompt_sha256": sha256_of(temporary / PER_PROMPT_FILE)})
        # Fields with their default values are left out, so that a new field does not change the bytes.
        written = {"schema_version": result.schema_version} | result.model_dump(mode="json", exclude_defaults=True)
        (temporary / RESULT_FILE).write_bytes(canonical_json(written) + b"\n")
    return result


def response_facts(texts: Sequence[str]) -> dict[str, Any]:
    """Return a row of the column `response_facts`."""
    return {"bytes": [len(text.encode()) for text in texts], "scored": [is_scorable(text) for text in texts]}


def without_texts(table: pa.Table) -> pa.Table:
    """Return a per-prompt table with facts about the responses in place of the texts."""
    lists: Any = table["responses"].to_pylist()
    facts = list(map(response_facts, lists))
    at = table.schema.get_field_index(TEXTS[0])
    rest = table.drop_columns(list(TEXTS))
    return rest.add_column(at, FACTS_FIELD, pa.array(facts, FACTS_FIELD.type))
