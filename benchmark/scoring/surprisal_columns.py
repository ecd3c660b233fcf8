"""Defines the column of surprisals in a result: the a_k curve of each prompt and its standard errors."""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.metrics.metric import Missing, Unscorable
from benchmark.metrics.surprisal_curve import curve_bits, curve_rate
from benchmark.scoring.result_schema import OrderError
from benchmark.surprisal.engine import OrderPlan, SetSurprisals
from benchmark.surprisal.response_orders import StandardErrors, standard_errors

COLUMN = "surprisals"  # of the per-prompt table
_NUMBERS = pa.list_(pa.float64())
FIELD = pa.field(
    COLUMN,
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


def rate_errors(read: SetSurprisals) -> StandardErrors:
    """Estimate the standard errors of the a_k curve in bits/byte."""
    return standard_errors(read.design, read.surprisals.rates)


def record(reading: SetSurprisals | Missing) -> dict[str, Any] | None:
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
    rows = [row for row in pq.read_table(path, columns=[COLUMN])[COLUMN].to_pylist() if row is not None]
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
    there = list(values)
    known = [x for x in there if x is not None]
    return sum(known) / len(known) if known and len(known) == len(there) else None


def _errors(variances: list[float | None]) -> tuple[float | None, float | None]:
    """Return the standard error of the mean, and the typical standard error of a single prompt."""
    mean = _mean(variances)
    return (None, None) if mean is None else (math.sqrt(mean / len(variances)), math.sqrt(mean))
