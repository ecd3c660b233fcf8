"""Explains D_Can (arXiv:2606.01811) of one response set: all numbers that a language model yields on it.

For people who develop or question such metrics. Numbers come from the same engine, orders and metrics as scores do.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics import Metric, Unscorable, surprisal
from benchmark.metrics.metric import Missing
from benchmark.metrics.surprisal import Fit, curve_bits, curve_rate, fit_exponential, fit_sigmoid
from benchmark.models.causal_lm import CausalLM
from benchmark.scoring.inputs import Value, input_of, metrics_from
from benchmark.scoring.per_prompt import rate_errors
from benchmark.surprisal import engine, response_orders
from benchmark.surprisal.prompt_layout import Layout, TokenCost, TokenSaving, pair_tokens, token_surprisals
from benchmark.surprisal.response_orders import Estimator
from divbench.core.errors import ConfigurationError
from divbench.core.files import plain_json

Floats = NDArray[np.float64]
MAX_PAIRED = 30  # responses; they make 465 pairs
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
class Explanation:
    """The numbers of a model on one set of n responses."""

    response_set: engine.ResponseSet
    model: str
    layout: Layout
    plan: engine.OrderPlan
    read: engine.SetSurprisals  # surprisals, with the orders, from which all else is computed
    bits: Floats  # float64 [n], a_k in bits for k = 1 … n; NaN where the orders do not estimate it
    bits_error: Floats  # float64 [n], standard errors due to the choice of orders
    rate: Floats  # float64 [n], the curve in bits/byte
    rate_error: Floats
    estimator: Estimator  # estimator of the standard errors, as in response_orders.py
    values: Mapping[str, Value]  # values of `SCALARS`, by id
    bands: surprisal.Bands  # C, D_Ca_n and C · E_rate over the spread of coherence; NaN where not estimated
    # Fits of the curve in bits, by name (*sigmoid*, *exponential*); empty where the curve is not estimated.
    fits: Mapping[str, Fit]
    last: Floats  # float64 [n], each response's bits in the last position, averaged over orders; NaN if it never is
    tokens: tuple[tuple[TokenCost, ...], ...]  # tokens of each response, read in the given order
    # Surprisals of each response right after each other one, or why they are missing.
    pairs: engine.PairwiseSurprisals | Missing
    # Tokens of the response i that another response j saves the most bits; None without pairs or under other boundaries
    # than *exact*.
    strongest: tuple[TokenSaving, ...] | None

    @property
    def alone(self) -> Floats:
        """Each response's bits with only the prompt before it, [n]."""
        return self.read.surprisals.unconditional

    def orders_for(self, precision: float) -> int:
        """Estimate from the orders read how many balanced orders give a_n this standard error in bits/byte."""
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
        design, surprisals = self.read.design, self.read.surprisals
        columns = surprisals.byte_counts.tolist(), self.alone.tolist(), self.last.tolist(), self.tokens
        responses = [
            {"text": text, "bytes": size, "bits_alone": alone, "bits_last": last, "bits_saved": alone - last}
            | {"tokens": tokens}
            for text, size, alone, last, tokens in zip(self.response_set.responses, *columns, strict=True)
        ]
        curve = {name: getattr(self, name).tolist() for name in ("bits", "bits_error", "rate", "rate_error")}
        values = {}
        for metric in SCALARS:
            value = self.values[metric.id]
            known = {"value": None, "missing": value.reason} if isinstance(value, Missing) else {"value": value}
            values[metric.id] = {"title": metric.title, "unit": metric.unit} | known
        document = {
            "model": self.model,
            "layout": str(self.layout),
            "prompt": self.response_set.prompt,
            "responses": responses,
            "orders": {"plan": str(self.plan), "design": design.name, "orders": design.orders.tolist()},
            "bits": surprisals.bits.tolist(),
            "curve": curve | {"estimator": self.estimator},
            "values": values,
            "bands": self.bands,
            "fits": {
                name: asdict(fit) | {"at_bounds": fit.at_bounds, "converged": fit.converged}
                for name, fit in self.fits.items()
            },
            "pairs": self._pairs_as_json(),
        }
        return dict(plain_json(document))

    def _pairs_as_json(self) -> dict[str, Any]:
        if isinstance(self.pairs, Missing):
            return {"missing": self.pairs.reason}
        summary, strongest = self.pairs.summary, None
        if self.pairs.strongest:
            response, after = self.pairs.strongest
            strongest = {"response": response, "after": after, "tokens": self.strongest}
        return {
            "alone": self.pairs.alone.tolist(),
            "given": self.pairs.given.tolist(),
            "saved": summary.reduction.tolist(),
            "mean_saved_by_repeat": summary.diagonal,
            "mean_saved": summary.off_diagonal,
            "share_positive": summary.share_positive,
            "asymmetry": summary.asymmetry,
            "strongest": strongest,
        }


def explain(
    model: CausalLM,
    response_set: engine.ResponseSet,
    layout: Layout = engine.DEFAULT_LAYOUT,
    plan: engine.OrderPlan | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Explanation:
    """Read one set with a language model, by default in one balanced square of orders; explain what it yields.

    Blank responses and placeholders must be removed before, as the scorer does. With an empty response in the set,
    standard errors are unknown and there are no pairs. A set of more than `MAX_PAIRED` responses is not read in pairs.
    """
    plan = plan or engine.OrderPlan()
    response_set = replace(response_set, responses=tuple(map(layout.as_read, response_set.responses)))
    (read,) = engine.read_sets([response_set], model, layout, plan)
    if isinstance(read, Missing):
        raise Unscorable(read.reason)
    surprisals, whole = read.surprisals, read.design.estimates == "curve"
    in_bits, in_rate = response_orders.standard_errors(read.design, surprisals.bits), rate_errors(read)
    if not (surprisals.byte_counts > 0).all():  # means leave empty responses out, but these errors do not
        unknown = np.full(len(surprisals.byte_counts), np.nan)
        in_bits = in_rate = response_orders.StandardErrors(unknown, "none")
    bits, rate = curve_bits(surprisals), curve_rate(surprisals)
    bands, fits = surprisal.bands(surprisals), {}
    if whole:
        fits = {"sigmoid": fit_sigmoid(bits), "exponential": fit_exponential(bits)}
    else:  # these orders estimate the last position alone
        bands = replace(bands, coherent_excess_rate=(math.nan, math.nan))
        bits, rate = (np.append(np.full(len(curve) - 1, np.nan), curve[-1]) for curve in (bits, rate))
    texts = response_set.responses
    pairs = _pairs(model, layout, response_set, progress)
    strongest = None
    if not isinstance(pairs, Missing) and pairs.strongest and layout.boundaries == "exact":
        strongest = pair_tokens(model, layout, response_set.prompt, *(texts[i] for i in pairs.strongest))
    return Explanation(
        response_set=response_set,
        model=model.signature,
        layout=layout,
        plan=plan,
        read=read,
        bits=bits,
        bits_error=in_bits.curve,
        rate=rate,
        rate_error=in_rate.curve,
        estimator=in_rate.estimator,
        values={metric.id: _value(metric, read) for metric in SCALARS},
        bands=bands,
        fits=fits,
        last=_last_bits(read),
        tokens=token_surprisals(model, layout, response_set.prompt, texts),
        pairs=pairs,
        strongest=strongest,
    )


def _value(metric: Metric, read: engine.SetSurprisals) -> Value:
    if input_of(metric).whole_curve and read.design.estimates != "curve":
        return Missing("endpoint orders give a_n alone")
    try:
        return float(metric.fn(read.surprisals))
    except Unscorable as error:
        return Missing(str(error))


def _last_bits(read: engine.SetSurprisals) -> Floats:
    """Return the mean bits of each response over the orders in which it is last; NaN if there are none."""
    ends, n = read.surprisals.orders[:, -1], len(read.surprisals.byte_counts)
    sums = np.bincount(ends, read.surprisals.bits[:, -1], n)
    with np.errstate(invalid="ignore"):
        return np.asarray(sums / np.bincount(ends, minlength=n))


def _pairs(
    model: CausalLM, layout: Layout, response_set: engine.ResponseSet, progress: Callable[[int], None]
) -> engine.PairwiseSurprisals | Missing:
    if len(response_set.responses) > MAX_PAIRED:
        return Missing(f"more than {MAX_PAIRED} responses")
    try:
        return engine.pairwise_surprisals(model, layout, response_set.prompt, response_set.responses, progress)
    except Unscorable as error:
        return Missing(str(error))
