"""How much each response adds to the diversity of its prompt's: the three measures that GSSBench chooses pairs by.

GSSBench, arXiv:2510.12699, section 4.3: leave-one-out EigenScore (*looe*) and the mean negative log-likelihood (*nll*)
read the internals of the model that answered, the distance from the mean embedding (*embedding*) the texts alone. More
is more diverse. Blank responses and placeholders are no answers: they have no diversity, and add nothing to that of the
others.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.internals import METRICS, Internals, leave_one_out_of
from benchmark.metrics.metric import Missing, Unscorable
from benchmark.metrics.uncertainty import perplexity
from benchmark.models.embedder import Embedder
from benchmark.scoring.internals_file import InternalsFile
from datasets_build.errors import InputError
from submissions.checking.response_kinds import is_scorable
from submissions.schema import Row

Floats = NDArray[np.float64]
Diversities = tuple[float | None, ...]
DiversityName = Literal["looe", "nll", "embedding"]
PUBLISHED_RHO: Mapping[DiversityName, float] = MappingProxyType({"looe": 0.6, "nll": 0.3, "embedding": 0.6})
"""How far GSSBench's pools reach under each measure."""

_LOOE_UNDER = next(metric for metric in METRICS if metric.id == "e_average")
_NO_CENTRE = 1e-12  # the length of a mean of unit vectors that is rounding alone


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure of diversity with the model behind it.

    Attributes:
        name: Of the measure.
        signature: All that its values depend on beside the texts, in one line.
        of: From some prompts' responses to the diversity of each, None where it has none; or why none has.
    """

    name: DiversityName
    signature: str
    of: Callable[[Sequence[Row]], list[Diversities | Missing]]


def leave_one_out_diversities(responses: Sequence[str], internals: Internals) -> Diversities:
    """LOOE of each answer under E_average among the answers; None for what is no answer or has no states.

    Raises:
        Unscorable: As `leave_one_out_of`: no states, or fewer than three responses that have some.
    """
    places = _answered(responses)
    return _placed(leave_one_out_of(internals.take(places)).tolist(), places, len(responses))


def surprises(responses: Sequence[str], internals: Internals) -> Diversities:
    """The mean negative log-likelihood of each answer, nats/token; None for what is no answer or has no tokens.

    Raises:
        Unscorable: No answer, or nothing is known of any.
    """
    places = _answered(responses)
    if not places:
        raise Unscorable("no response")
    own = [internals.responses[place] for place in places]
    values = [None if each is None or each.tokens == 0 else perplexity(each) for each in own]
    if all(value is None for value in values):
        raise Unscorable("no likelihoods")
    return _placed(values, places, len(responses))


def centre_distances(embeddings: Floats) -> Floats:
    """The cosine distance of each response to the mean of all, 1 − z · c / |c| with c the mean of the unit vectors z.

    GSSBench's footnote 3 speaks of the distance of a response to the mean of sample embeddings and not of which; the
    Euclidean one, |z − c|² = 1 − 2 z · c + |c|², orders the responses of a prompt alike and so chooses the same pairs.

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
    """*looe* or *nll* of a submission's responses.

    Args:
        name: Which.
        file: The internals of the submission.

    Raises:
        InputError: *looe*, and the file has no hidden states. When measuring: a prompt is not there, is damaged, or of
            another number of responses.
    """
    if name == "looe" and not file.how.average_layers:
        raise InputError(
            f"{file.path} has no hidden states", "read the internals again, with states, or take --diversity nll"
        )
    score = leave_one_out_diversities if name == "looe" else surprises
    parameters = {"of": _LOOE_UNDER.id, **_LOOE_UNDER.parameters} if name == "looe" else {"log": "e", "eos": "counted"}

    def of(rows: Sequence[Row]) -> list[Diversities | Missing]:
        made: list[Diversities | Missing] = []
        for row, own in zip(rows, file.of([row.prompt_id for row in rows]), strict=True):
            if len(own.responses) != len(row.responses):
                raise InputError(
                    f"{file.path} has {len(own.responses)} responses to {row.prompt_id!r}, not {len(row.responses)}",
                    "read the internals again: divbench metrics internals",
                )
            try:
                made.append(score(row.responses, own))
            except Unscorable as reason:
                made.append(Missing(str(reason)))
        return made

    return Measure(name, _signature(name, parameters, file.how.signature), of)


def measure_embeddings(embedder: Embedder) -> Measure:
    """*embedding*: `centre_distances` of the answers' embeddings."""

    def of(rows: Sequence[Row]) -> list[Diversities | Missing]:
        answers = [[row.responses[place] for place in _answered(row.responses)] for row in rows]
        texts = [text for own in answers for text in own]
        vectors = embedder.embed(texts) if texts else np.empty((0, 0))
        made: list[Diversities | Missing] = []
        end = 0
        for row, own in zip(rows, answers, strict=True):
            start, end = end, end + len(own)
            try:
                distances = centre_distances(vectors[start:end]).tolist()
                made.append(_placed(distances, _answered(row.responses), len(row.responses)))
            except Unscorable as reason:
                made.append(Missing(str(reason)))
        return made

    parameters = {"distance": "1-cosine", "from": "mean"}
    return Measure("embedding", _signature("embedding", parameters, embedder.signature), of)


def _answered(responses: Sequence[str]) -> list[int]:
    return [place for place, text in enumerate(responses) if is_scorable(text)]


def _placed(values: Sequence[float | None], places: Sequence[int], k: int) -> Diversities:
    """The values of some of K responses, None for NaN and for the others."""
    made: list[float | None] = [None] * k
    for place, value in zip(places, values, strict=True):
        made[place] = None if value is None or np.isnan(value) else value
    return tuple(made)


def _signature(name: str, parameters: Mapping[str, str], model: str) -> str:
    parts = (f"{key}:{value}" for key, value in sorted(parameters.items()))
    return "|".join([name, "v:1", *parts, f"model:{model}"])
