"""Measures how much each response adds to the diversity of its response set, in the three ways used by GSSBench.

GSSBench (arXiv:2510.12699, section 4.3) chooses preference pairs by leave-one-out EigenScore (*looe*) or mean negative
log-likelihood (*nll*), which need the internals of the generating model, or by the distance from the mean embedding
(*embedding*), which needs only the texts. Higher is more diverse. Blank responses and placeholders have no diversity
and do not affect that of other responses.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchmark.exports.choices import DiversityName
from benchmark.metrics.internals import METRICS, Internals, leave_one_out_of
from benchmark.metrics.metric import Missing, Unscorable
from benchmark.metrics.uncertainty import perplexity
from benchmark.models.embedder import Embedder
from benchmark.scoring.internals_file import InternalsFile
from divbench.core.errors import InputError
from submissions.checking.response_kinds import is_scorable
from submissions.schema import Row

Floats = NDArray[np.float64]
Diversities = tuple[float | None, ...]
PUBLISHED_RHO: Mapping[DiversityName, float] = MappingProxyType({"looe": 0.6, "nll": 0.3, "embedding": 0.6})
"""GSSBench's rho for each measure, see `PoolRule`."""

_LOOE_UNDER = next(metric for metric in METRICS if metric.id == "e_average")
_NO_CENTRE = 1e-12  # length below which a mean of unit vectors is rounding error


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure of the diversity of single responses, with its model."""

    name: DiversityName
    parameters: tuple[tuple[str, str], ...]  # names and values of its parameters, for the signature
    model: str
    # Function from response sets to the diversities of each set's responses (None if missing), or the reason.
    of: Callable[[Sequence[Row]], list[Diversities | Missing]]


def leave_one_out_diversities(responses: Sequence[str], internals: Internals) -> Diversities:
    """Return each response's LOOE under E_average; None for one that is not scorable or has no hidden states.

    Raises:
        Unscorable: As in `leave_one_out_of`: fewer than three responses with hidden states.
    """
    positions = _scorable(responses)
    return _spread(leave_one_out_of(internals.take(positions)).tolist(), positions, len(responses))


def surprises(responses: Sequence[str], internals: Internals) -> Diversities:
    """Return each response's mean negative log-likelihood in nats per token; None if it is not scorable or empty.

    Raises:
        Unscorable: No response is scorable, or none has likelihoods.
    """
    positions = _scorable(responses)
    if not positions:
        raise Unscorable("no response")
    own = [internals.responses[position] for position in positions]
    values = [None if each is None or each.tokens == 0 else perplexity(each) for each in own]
    if all(value is None for value in values):
        raise Unscorable("no likelihoods")
    return _spread(values, positions, len(responses))


def centre_distances(embeddings: Floats) -> Floats:
    """Return each response's cosine distance to the mean, 1 − z · c / |c| with c the mean of the unit vectors z.

    GSSBench's footnote 3 does not say which distance to the mean embedding it uses. The Euclidean one,
    |z − c|² = 1 − 2 z · c + |c|², gives the same order of a prompt's responses and hence the same pairs.

    Args:
        embeddings: Unit vectors [K, d].

    Returns:
        [K], in [0, 2]. Equal vectors have equal distances, to the last digit.

    Raises:
        Unscorable: Fewer than two responses, or vectors whose mean is zero.

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
    """Return the measure *looe* or *nll*.

    Raises:
        InputError: *looe* is requested and the file has no hidden states. When measuring: a prompt is missing or
            damaged, or has another number of responses.
    """
    if name == "looe" and not file.how.average_layers:
        raise InputError(
            f"{file.path} has no hidden states", "record the internals again with hidden states, or use --diversity nll"
        )
    score = leave_one_out_diversities if name == "looe" else surprises
    parameters = {"of": _LOOE_UNDER.id, **_LOOE_UNDER.parameters} if name == "looe" else {"log": "e", "eos": "counted"}

    def of(rows: Sequence[Row]) -> list[Diversities | Missing]:
        made: list[Diversities | Missing] = []
        for row, own in zip(rows, file.of([row.prompt_id for row in rows]), strict=True):
            if len(own.responses) != len(row.responses):
                raise InputError(
                    f"{file.path} has {len(own.responses)} responses to {row.prompt_id!r}, not {len(row.responses)}",
                    "record the internals again: divbench metrics internals",
                )
            try:
                made.append(score(row.responses, own))
            except Unscorable as reason:
                made.append(Missing(str(reason)))
        return made

    return Measure(name, tuple(sorted(parameters.items())), file.how.signature, of)


def measure_embeddings(embedder: Embedder) -> Measure:
    """Return the measure *embedding*: `centre_distances` of the responses' embeddings."""

    def of(rows: Sequence[Row]) -> list[Diversities | Missing]:
        texts_by_row = [[row.responses[position] for position in _scorable(row.responses)] for row in rows]
        texts = [text for own in texts_by_row for text in own]
        vectors = embedder.embed(texts) if texts else np.empty((0, 0))
        made: list[Diversities | Missing] = []
        end = 0
        for row, own in zip(rows, texts_by_row, strict=True):
            start, end = end, end + len(own)
            try:
                distances = centre_distances(vectors[start:end]).tolist()
                made.append(_spread(distances, _scorable(row.responses), len(row.responses)))
            except Unscorable as reason:
                made.append(Missing(str(reason)))
        return made

    return Measure("embedding", (("distance", "1-cosine"), ("from", "mean")), embedder.signature, of)


def _scorable(responses: Sequence[str]) -> list[int]:
    return [position for position, text in enumerate(responses) if is_scorable(text)]


def _spread(values: Sequence[float | None], positions: Sequence[int], k: int) -> Diversities:
    """Return the values of some of K responses at their positions; None for NaN and for all others."""
    made: list[float | None] = [None] * k
    for position, value in zip(positions, values, strict=True):
        made[position] = None if value is None or np.isnan(value) else value
    return tuple(made)
