"""Explains D_Can (arXiv:2606.01811) of one response set: all numbers that a language model yields on it.

For people who develop or question such metrics. Numbers come from the same engine, orders and metrics as scores do.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics import Metric, Unscorable, surprisal
from benchmark.metrics.curve_fits import Fit, fit_exponential, fit_sigmoid
from benchmark.metrics.metric import Missing
from benchmark.metrics.surprisal_curve import curve_bits, curve_rate
from benchmark.models.causal_lm import CausalLM
from benchmark.scoring.inputs import Value, input_of, metrics_from
from benchmark.scoring.per_prompt import rate_errors
from benchmark.surprisal import response_orders
from benchmark.surprisal.engine import DEFAULT_LAYOUT, OrderPlan, ResponseSet, SetSurprisals, read_sets
from benchmark.surprisal.pairwise_surprisal import PairwiseSurprisals, pairwise_surprisals
from benchmark.surprisal.prompt_layout import Layout
from benchmark.surprisal.response_orders import Estimator
from benchmark.surprisal.token_surprisals import TokenCost, TokenSaving, pair_tokens, token_surprisals
from divbench.core.errors import ConfigurationError
from divbench.core.files import plain_json

Floats = NDArray[np.float64]
MOST_PAIRED = 30  # responses; they make 465 pairs, and a larger heat map would be unreadable
_UNTOLD = Missing("endpoint orders give a_n alone")

A_1 = Metric(
    "a_1",
    "a_1, surprise with only the prompt before",
    surprisal.a_1,
    reads="surprisals:curve",
    direction=0,
    bounds=(0, None),
    unit="bits/byte",
    paper="D_Can 2026, arXiv:2606.01811, table 5",
    family="surprise",
    needs=2,
)
SCALARS: tuple[Metric, ...] = (A_1, *metrics_from("causal_lm"))


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """The a_k curve in one unit; NaN where a position is not estimated."""

    mean: Floats  # float64 [n], a_k for k = 1 … n
    error: Floats  # float64 [n], standard errors due to the choice of orders
    alone: float  # mean over responses read with only the prompt: the value of a_1 if all orders were read


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """The numbers of a model on one set of n responses."""

    given: ResponseSet
    model: str
    layout: Layout
    plan: OrderPlan
    read: SetSurprisals  # surprisals, with the orders, from which all else is computed
    bits: Curve  # the curve in bits
    rate: Curve  # the curve in bits/byte
    estimator: Estimator  # estimator of the curves' standard errors, as in response_orders.py
    values: Mapping[str, Value]  # values of `SCALARS`, by id
    bands: surprisal.Bands  # C, D_Ca_n and C · E_rate over the spread of coherence; NaN where not estimated
    # Fits of the curve in bits, by name (*sigmoid*, *exponential*); empty where the curve is not estimated.
    fits: Mapping[str, Fit]
    # float64 [n], each response's bits in the last position, averaged over orders; NaN if it is never last.
    last: Floats
    tokens: tuple[tuple[TokenCost, ...], ...]  # tokens of each response, read in the given order
    # Surprisals of each response right after each other one, or why they are missing.
    pairs: PairwiseSurprisals | Missing
    # Tokens of the response i that another response j saves the most bits; None without pairs or under other boundaries
    # than *exact*.
    strongest: tuple[TokenSaving, ...] | None

    @property
    def alone(self) -> Floats:
        """Each response's bits with only the prompt before it, [n]."""
        return self.read.surprisals.unconditional

    @property
    def byte_counts(self) -> NDArray[np.int64]:
        """Each response's UTF-8 bytes, [n]."""
        return self.read.surprisals.byte_counts

    def orders_for(self, precision: float) -> int:
        """Estimate from the orders read how many balanced orders give a_n this standard error.

        Args:
            precision: The standard error, in bits/byte.

        Raises:
            ConfigurationError: The precision is not above 0, or too few orders were read for an estimate.
        """
        try:
            return response_orders.orders_for(precision, self.read.design, self.read.surprisals.rates)
        except ValueError as error:
            if self.estimator == "exact":  # such as with two responses: all orders were read
                return len(self.read.design.orders)
            raise ConfigurationError(
                "too few orders were read to estimate how many are needed", "read a balanced square, or more orders"
            ) from error

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON: in bits, in bits/byte where a name has `rate`; null for unknown numbers."""
        design, found = self.read.design, self.read.surprisals
        made = {
            "model": self.model,
            "layout": str(self.layout),
            "prompt": self.given.prompt,
            "responses": [_response(*each) for each in self._responses()],
            "orders": {"plan": str(self.plan), "design": design.name, "orders": design.orders.tolist()},
            "bits": found.bits.tolist(),
            "curve": {
                "bits": self.bits.mean.tolist(),
                "bits_error": self.bits.error.tolist(),
                "rate": self.rate.mean.tolist(),
                "rate_error": self.rate.error.tolist(),
                "estimator": self.estimator,
            },
            "values": {metric.id: _value(metric, self.values[metric.id]) for metric in SCALARS},
            "bands": self.bands,
            "fits": {
                name: asdict(fit) | {"at_bounds": fit.at_bounds, "converged": fit.converged}
                for name, fit in self.fits.items()
            },
            "pairs": self._pairs(),
        }
        return dict(plain_json(made))

    def _responses(self) -> Any:
        counts = self.byte_counts.tolist()
        return zip(self.given.responses, counts, self.alone.tolist(), self.last.tolist(), self.tokens, strict=True)

    def _pairs(self) -> dict[str, Any]:
        if isinstance(self.pairs, Missing):
            return {"missing": self.pairs.reason}
        summary, strongest = self.pairs.summary, self.pairs.strongest
        return {
            "alone": self.pairs.alone.tolist(),
            "given": self.pairs.given.tolist(),
            "saved": summary.reduction.tolist(),
            "mean_saved_by_repeat": summary.diagonal,
            "mean_saved": summary.off_diagonal,
            "share_positive": summary.share_positive,
            "asymmetry": summary.asymmetry,
            "strongest": {"response": strongest[0], "after": strongest[1], "tokens": self.strongest}
            if strongest
            else None,
        }


def explain(
    model: CausalLM,
    given: ResponseSet,
    layout: Layout = DEFAULT_LAYOUT,
    plan: OrderPlan | None = None,
    *,
    most_paired: int = MOST_PAIRED,
    progress: Callable[[int], None] = lambda done: None,
) -> Explanation:
    """Read one set with a language model, and compute everything in `Explanation`.

    Blank responses and placeholders must be removed before, as the scorer does. With an empty response in the set,
    standard errors are unknown and there are no pairs.

    Args:
        plan: Orders of reading; one balanced square by default.
        most_paired: A larger set is not read in pairs, of which it has about n² / 2.

    Raises:
        Unscorable: The model cannot read the set, or it has no curve.
        ConfigurationError: The plan or the layout cannot be used.
    """
    plan = plan or OrderPlan()
    (read,) = read_sets([given], model, layout, plan)
    if isinstance(read, Missing):
        raise Unscorable(read.reason)
    bits, rate, estimator = _curves(read)
    pairs = _paired(model, layout, given, most_paired, progress)
    return Explanation(
        given=given,
        model=model.signature,
        layout=layout,
        plan=plan,
        read=read,
        bits=bits,
        rate=rate,
        estimator=estimator,
        values={metric.id: _scalar(metric, read) for metric in SCALARS},
        bands=_bands(read),
        fits=_fits(read),
        last=_last(read),
        tokens=token_surprisals(model, layout, given.prompt, given.responses),
        pairs=pairs,
        strongest=_strongest(model, layout, given, pairs),
    )


def _curves(read: SetSurprisals) -> tuple[Curve, Curve, Estimator]:
    """Return the curves in bits and in bits/byte, and the estimator of their errors."""
    found = read.surprisals
    text = found.byte_counts > 0
    alone = found.unconditional[text]
    in_bits, in_rate = response_orders.standard_errors(read.design, found.bits), rate_errors(read)
    if not text.all():  # means leave empty responses out, but these errors do not
        unknown = np.full(len(text), np.nan)
        in_bits, in_rate = (response_orders.StandardErrors(unknown, "none") for _ in range(2))
    return (
        Curve(_known(read, curve_bits(found)), in_bits.curve, float(alone.mean())),
        Curve(
            _known(read, curve_rate(found)),
            in_rate.curve,
            float((alone / found.byte_counts[text]).mean()),
        ),
        in_rate.estimator,
    )


def _known(read: SetSurprisals, curve: Floats) -> Floats:
    """Return a curve with NaN at the positions that the orders do not estimate."""
    made = curve.copy()
    if not _whole(read):
        made[:-1] = np.nan
    return made


def _whole(read: SetSurprisals) -> bool:
    return read.design.estimates == "curve"


def _scalar(metric: Metric, read: SetSurprisals) -> Value:
    if input_of(metric).whole_curve and not _whole(read):
        return _UNTOLD
    try:
        return float(metric.fn(read.surprisals))
    except Unscorable as error:
        return Missing(str(error))


def _bands(read: SetSurprisals) -> surprisal.Bands:
    bands = surprisal.bands(read.surprisals)
    return bands if _whole(read) else replace(bands, coherent_excess_rate=(math.nan, math.nan))


def _fits(read: SetSurprisals) -> dict[str, Fit]:
    if not _whole(read):
        return {}
    curve = curve_bits(read.surprisals)
    return {"sigmoid": fit_sigmoid(curve), "exponential": fit_exponential(curve)}


def _last(read: SetSurprisals) -> Floats:
    """Return the mean bits of each response over the orders in which it is last; NaN if there are none."""
    found = read.surprisals
    ends = found.orders[:, -1]
    n = len(found.byte_counts)
    times = np.bincount(ends, minlength=n)
    sums = np.bincount(ends, weights=found.bits[:, -1], minlength=n)
    mean = np.full(n, np.nan)
    np.divide(sums, times, out=mean, where=times > 0)
    return mean


def _paired(
    model: CausalLM, layout: Layout, given: ResponseSet, most: int, progress: Callable[[int], None]
) -> PairwiseSurprisals | Missing:
    if len(given.responses) > most:
        return Missing(f"more than {most} responses")
    try:
        return pairwise_surprisals(model, layout, given.prompt, given.responses, progress)
    except Unscorable as error:
        return Missing(str(error))


def _strongest(
    model: CausalLM, layout: Layout, given: ResponseSet, pairs: PairwiseSurprisals | Missing
) -> tuple[TokenSaving, ...] | None:
    if isinstance(pairs, Missing) or pairs.strongest is None or layout.boundaries != "exact":
        return None
    i, j = pairs.strongest
    return pair_tokens(model, layout, given.prompt, given.responses[i], given.responses[j])


def _value(metric: Metric, value: Value) -> dict[str, Any]:
    known = {"value": None, "missing": value.reason} if isinstance(value, Missing) else {"value": value}
    return {"title": metric.title, "unit": metric.unit} | known


def _response(text: str, byte_count: int, alone: float, last: float, tokens: Sequence[TokenCost]) -> dict[str, Any]:
    return {
        "text": text,
        "bytes": byte_count,
        "bits_alone": alone,
        "bits_last": last,
        "bits_saved": alone - last,
        "tokens": tokens,
    }
