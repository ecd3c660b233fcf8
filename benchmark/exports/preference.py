"""Preference pairs that favour diverse responses, for DPO: DivPO (Lanchantin et al. 2025, arXiv:2501.18101).

For each prompt, responses with high rewards form the chosen pool and responses with low rewards the rejected pool; the
pair consists of the most diverse response of the chosen pool and the least diverse of the rejected pool. GSSBench
(arXiv:2510.12699, section 4.3) measures diversity by leave-one-out EigenScore (*looe*), mean negative log-likelihood
(*nll*) or the distance from the mean embedding (*embedding*). Higher is more diverse. Blank responses and placeholders
have no diversity and do not affect that of other responses.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.internals import METRICS, Internals, leave_one_out_of, surprise_per_token
from benchmark.metrics.metric import Missing, Unscorable
from benchmark.models.embedder import Embedder
from benchmark.scoring.internals_file import InternalsFile
from divbench.core.errors import InputError
from submissions.checking.response_kinds import is_scorable
from submissions.schema import Row

Floats = NDArray[np.float64]
Numbers = Sequence[float | None]  # [K], None where missing
PUBLISHED_RHO: Mapping[str, float] = MappingProxyType({"looe": 0.6, "nll": 0.3, "embedding": 0.6})  # GSSBench's
_SLACK = 1e-12  # of the range: a reward on the boundary is in the pool, however the boundary was rounded
_NO_CENTRE = 1e-12  # length below which a mean of unit vectors is rounding error


def choose(responses: Sequence[str], rewards: Numbers, diversities: Numbers, rho: float) -> tuple[int, int] | Missing:
    """Return the positions of the chosen and of the rejected response, or why a prompt gives no pair.

    Chosen rewards are at least max − rho (max − min), rejected ones at most min + rho (max − min). From rho = 0.5 on,
    the pools overlap, so that the chosen response may have the lower reward. Ties in diversity go to the higher (for
    the rejected: lower) reward, then to the first response; the papers do not say how to break them.
    """
    known = {
        position: (reward, diversity)
        for position, (reward, diversity) in enumerate(zip(rewards, diversities, strict=True))
        if reward is not None and diversity is not None
    }
    if len(known) < 2:
        return Missing("fewer than two responses with reward and diversity")
    low, high = min(known.values())[0], max(known.values())[0]
    if low == high:
        return Missing("all rewards equal")
    reach = (rho + _SLACK * bool(rho)) * (high - low)
    chosen_pool = [position for position, (reward, _) in known.items() if reward >= high - reach]
    rejected_pool = [position for position, (reward, _) in known.items() if reward <= low + reach]
    chosen = max(chosen_pool, key=lambda position: (known[position][1], known[position][0], -position))
    rejected = min(rejected_pool, key=lambda position: (known[position][1], known[position][0], position))
    if chosen == rejected:
        return Missing("chosen and rejected are one response")
    if responses[chosen].split() == responses[rejected].split():  # white space is no preference
        return Missing("chosen and rejected are the same text")
    return chosen, rejected


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure of the diversity of single responses, with its model."""

    name: str
    parameters: tuple[tuple[str, str], ...]  # names and values of its parameters, for the signature
    model: str
    of: Callable[[Sequence[Row]], list[Numbers | Missing]]


def leave_one_out_diversities(responses: Sequence[str], internals: Internals) -> Numbers:
    """Return each response's LOOE under E_average; None for one that is not scorable or has no hidden states."""
    positions = _scorable(responses)
    return _spread(leave_one_out_of(internals.take(positions)).tolist(), positions, len(responses))


def surprises(responses: Sequence[str], internals: Internals) -> Numbers:
    """Return each response's mean negative log-likelihood in nats per token; None if it is not scorable or empty."""
    positions = _scorable(responses)
    if not positions:
        raise Unscorable("no response")
    scores = [internals.responses[position] for position in positions]
    values = [None if score is None or score.tokens == 0 else surprise_per_token(score) for score in scores]
    if all(value is None for value in values):
        raise Unscorable("no likelihoods")
    return _spread(values, positions, len(responses))


def centre_distances(embeddings: Floats) -> Floats:
    """Return each response's cosine distance to the mean, 1 − z · c / |c| with c the mean of the unit vectors z.

    GSSBench's footnote 3 does not say which distance to the mean embedding it uses. The Euclidean one,
    |z − c|² = 1 − 2 z · c + |c|², gives the same order of a prompt's responses and hence the same pairs.

    >>> centre_distances(np.array([[1.0, 0], [1, 0], [0.6, 0.8]])).round(3)
    array([0.044, 0.044, 0.191])
    """
    if len(embeddings) < 2:
        raise Unscorable("fewer than two responses")
    centre = embeddings.mean(axis=0)
    length = float(np.linalg.norm(centre))
    if length < _NO_CENTRE:
        raise Unscorable("embeddings whose mean is zero")
    # Row by row: a product of matrices may add up equal rows in different orders.
    distances: Floats = np.clip(1 - (embeddings * centre).sum(axis=1) / length, 0.0, 2.0)
    return distances


def measure_internals(name: Literal["looe", "nll"], file: InternalsFile) -> Measure:
    """Return the measure *looe* or *nll*."""
    if name == "looe" and not file.how.average_layers:
        raise InputError(
            f"{file.path} has no hidden states", "record the internals again with hidden states, or use --diversity nll"
        )
    e_average = next(metric for metric in METRICS if metric.id == "e_average")
    parameters = {"of": e_average.id, **e_average.parameters} if name == "looe" else {"log": "e", "eos": "counted"}
    score = leave_one_out_diversities if name == "looe" else surprises

    def of(rows: Sequence[Row]) -> list[Numbers | Missing]:
        recorded = file.of([row.prompt_id for row in rows])
        return [_or_missing(score, row.responses, own) for row, own in zip(rows, recorded, strict=True)]

    return Measure(name, tuple(sorted(parameters.items())), file.how.signature, of)


def measure_embeddings(embedder: Embedder) -> Measure:
    """Return the measure *embedding*: `centre_distances` of the responses' embeddings."""

    def distances(responses: Sequence[str], vectors: Floats) -> Numbers:
        return _spread(centre_distances(vectors).tolist(), _scorable(responses), len(responses))

    def of(rows: Sequence[Row]) -> list[Numbers | Missing]:
        texts = [[row.responses[position] for position in _scorable(row.responses)] for row in rows]
        flat = [text for own in texts for text in own]
        vectors = embedder.embed(flat) if flat else np.empty((0, 0))
        parts = np.split(vectors, np.cumsum([len(own) for own in texts])[:-1])
        return [_or_missing(distances, row.responses, part) for row, part in zip(rows, parts, strict=True)]

    return Measure("embedding", (("distance", "1-cosine"), ("from", "mean")), embedder.signature, of)


def _or_missing(
    score: Callable[[Sequence[str], Any], Numbers], responses: Sequence[str], values: Any
) -> Numbers | Missing:
    try:
        return score(responses, values)
    except Unscorable as reason:
        return Missing(str(reason))


def _scorable(responses: Sequence[str]) -> list[int]:
    return [position for position, text in enumerate(responses) if is_scorable(text)]


def _spread(values: Numbers, positions: Sequence[int], k: int) -> Numbers:
    """Return the values of some of K responses at their positions; None for NaN and for all others."""
    spread: list[float | None] = [None] * k
    for position, value in zip(positions, values, strict=True):
        spread[position] = None if value is None or np.isnan(value) else value
    return spread
