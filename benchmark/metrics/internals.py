"""Metrics of the internals of the generating model: uncertainty and hidden states (GSSBench, arXiv:2510.12699).

Input: the `Internals` of one prompt; semantic entropy also reads the equivalence classes of its responses. All
logarithms are natural, and a higher value means a larger generation space. The numbers describe one model: compare them
only under the same model, number of responses and sampling method.

If a response ended by itself, its EOS is one of its tokens, both in sums and in counts. A response without tokens has
no likelihood per token: it is left out of every mean and never counts as 0. E_output and lexical similarity read only
texts: they are `eigenscore_output` and `rouge_l_similarity`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from benchmark.metrics.eigenscore import Covariances, e_average, e_original, leave_one_out_average
from benchmark.metrics.metric import Metric, Unscorable, Version, metric
from benchmark.metrics.partition import Partition, class_entropy

Floats = NDArray[np.float64]
_ROUNDING = 1e-3  # a model's float32 sums can leave a certain token slightly above ln 1


@dataclass(frozen=True, slots=True)
class ResponseScores:
    """Sums over the tokens of one response, each token given the prompt and the tokens before it."""

    tokens: int  # T, the number of tokens summed over
    log_likelihood: float  # Σ ln p of each token under the model, before temperature or any cut-off; nats
    # Σ ln of the largest probability at each step of the distribution sampled from, after temperature and cut-offs;
    # nats. None if unknown; only the entropy *inside* reads it.
    largest: float | None = None
    # Σ logsumexp over the whole vocabulary of the raw logits, nats. None if unknown, as for a server that returns only
    # a few log-probabilities; only `energy` reads it.
    normaliser: float | None = None
    # Σ of the Shannon entropy of the model's distribution at each step, nats. None if unknown.
    entropy: float | None = None

    def __post_init__(self) -> None:
        if self.tokens < 0:
            raise ValueError(f"{self.tokens} tokens")
        sums = (self.log_likelihood, self.largest, self.normaliser, self.entropy)
        if not all(math.isfinite(value) for value in sums if value is not None):
            raise Unscorable("token scores that are not finite")
        if max(self.log_likelihood, self.largest or 0.0) > _ROUNDING * max(self.tokens, 1):
            raise Unscorable("probabilities above 1")


@dataclass(frozen=True, slots=True, eq=False)
class Internals:
    """Internals of the generating model for its K responses to one prompt."""

    responses: tuple[ResponseScores | None, ...]  # [K], scores of each response; None if it could not be read
    greedy: ResponseScores | None = None  # scores of one greedy response; None if there is none
    # Covariances of the responses' last tokens' states at the layer of E_original; None if not read.
    last: Covariances | None = None
    # Covariances of the responses' mean states at the layers of E_average; None if not read.
    mean: Covariances | None = None

    def __post_init__(self) -> None:
        for states in (self.last, self.mean):
            if states is not None and states.matrices.shape[1] != len(self.responses):
                raise ValueError(f"{states.matrices.shape[1]} states of {len(self.responses)} responses")

    @property
    def samples(self) -> list[ResponseScores]:
        """Scores of the responses that could be read and have a token."""
        samples = [scores for scores in self.responses if scores is not None and scores.tokens]
        if not samples:
            raise Unscorable("no token")
        return samples

    def take(self, positions: Sequence[int]) -> "Internals":
        """Return the internals of only the given responses, in the given order; the greedy one stays."""
        return Internals(
            tuple(self.responses[position] for position in positions),
            self.greedy,
            None if self.last is None else self.last.take(positions),
            None if self.mean is None else self.mean.take(positions),
        )


@dataclass(frozen=True, slots=True, eq=False)
class ClassedInternals:
    """Internals with the classes of the same responses."""

    partition: Partition
    internals: Internals


def surprise_per_token(response: ResponseScores) -> float:
    """Compute the mean negative log-likelihood −(1/T) Σ ln p of one response, nats/token."""
    if response.tokens == 0:
        raise Unscorable("no token")
    return max(-response.log_likelihood / response.tokens, 0.0)


def perplexity(internals: Internals) -> float:
    """Compute `surprise_per_token` of the greedy response.

    GSSBench's and INSIDE's perplexity: the published code omits exp, which would not change the ranking.
    """
    return surprise_per_token(_greedy(internals))


def energy(internals: Internals) -> float:
    """Compute the mean over tokens of −logsumexp of the greedy response's raw logits, nats; usually −30 … −10.

    The energy of Liu et al. 2020, arXiv:2010.03759, at temperature 1, over tokens as in INSIDE's code. Adding a
    constant to a step's logits changes it, so it does not depend on probabilities alone.
    """
    response = _greedy(internals)
    if response.normaliser is None:
        raise Unscorable("no logits of the whole vocabulary")
    if response.tokens == 0:
        raise Unscorable("no token")
    return -response.normaliser / response.tokens


def _greedy(internals: Internals) -> ResponseScores:
    if internals.greedy is None:
        raise Unscorable("no greedy response")
    return internals.greedy


def normalised_entropy(internals: Internals) -> float:
    """Compute the length-normalised predictive entropy −(1/K) Σ_k (1/T_k) Σ_t ln p, nats/token."""
    rates = [surprise_per_token(sample) for sample in internals.samples]
    return math.fsum(rates) / len(rates)


def normalised_entropy_inside(internals: Internals) -> float:
    """Compute `normalised_entropy` from the largest probability of each step, as INSIDE's code does, nats/token."""
    rates = []
    for sample in internals.samples:
        if sample.largest is None:
            raise Unscorable("no largest probabilities")
        rates.append(max(-sample.largest / sample.tokens, 0.0))
    return math.fsum(rates) / len(rates)


def mean_token_entropy(internals: Internals) -> float:
    """Compute the mean over K responses of the mean entropy of their steps, nats/token (Fomicheva et al. 2020).

    It has the same expectation as `normalised_entropy` at temperature 1 without cut-offs, but less noise, because each
    step's entropy is known instead of estimated from the sampled token. arXiv:2005.10608, section 4.2 (Softmax-Ent).
    """
    rates = []
    for sample in internals.samples:
        if sample.entropy is None:
            raise Unscorable("no logits of the whole vocabulary")
        rates.append(sample.entropy / sample.tokens)
    return max(math.fsum(rates) / len(rates), 0.0)


def original(internals: Internals) -> float:
    """Compute E_original at the layer that was read: the middle one, unless another was requested."""
    if internals.last is None:
        raise Unscorable("no hidden states")
    return e_original(internals.last, internals.last.layers[0])


def average(internals: Internals) -> float:
    """Compute `e_average` over the layers that were read: those of INSIDE's code, unless others were requested."""
    if internals.mean is None:
        raise Unscorable("no hidden states")
    return e_average(internals.mean, internals.mean.layers)


def leave_one_out_of(internals: Internals) -> Floats:
    """Compute the LOOE of each response under E_average, [K]; NaN for a response without states."""
    if internals.mean is None:
        raise Unscorable("no hidden states")
    return leave_one_out_average(internals.mean, internals.mean.layers)


def semantic_entropy(classed: ClassedInternals) -> float:
    """Estimate the entropy of classes from the likelihoods of K responses, nats. Farquhar et al. 2024, Nature 630.

    With s_k = ln p / T of response k: −Σ_c P(c) ln P(c), P(c) = Σ_{k in c} e^(s_k) / Σ_k e^(s_k), the estimator *rao*
    of their code. (Those of Kuhn et al. 2023 and of lm-polygraph are not entropies of a normalised distribution.)
    """
    responses = zip(classed.partition.labels, classed.internals.responses, strict=True)
    used = [
        (label, scores) for label, scores in responses if label is not None and scores is not None and scores.tokens
    ]
    if not used:
        raise Unscorable("no response in a class")
    values = np.array([scores.log_likelihood / scores.tokens for _, scores in used])
    _, classes = np.unique(np.array([label for label, _ in used]), return_inverse=True)
    of_class = np.array([logsumexp(values[classes == c]) for c in range(classes.max() + 1)], dtype=np.float64)
    logs = of_class - logsumexp(of_class)
    return max(-float(np.exp(logs) @ logs), 0.0)


def semantic_entropy_discrete(partition: Partition) -> float:
    """Compute the entropy of class sizes, P(c) = n_c / K, nats: `class_entropy` in another unit.

    Farquhar et al. 2024, Nature 630 (the black-box form). It needs no likelihoods; if all responses differ, it is ln K
    whatever they say, so many prompts tie.
    """
    return class_entropy(partition) * math.log(2)


_FIRST = Version(1, "2026-11-21", "first version: uncertainty of the model that was sampled")

_metric = partial(metric, reads="internals", direction=+1, family="uncertainty", history=(_FIRST,))

METRICS: tuple[Metric, ...] = (
    _metric("perplexity", perplexity, bounds=(0, None), parameters={"response": "greedy", "log": "e"}),
    _metric("energy", energy, bounds=(None, None), parameters={"response": "greedy", "temperature": "1"}),
    _metric("normalised_entropy", normalised_entropy, bounds=(0, None), parameters={"variant": "mc", "eos": "counted"}),
    _metric(
        "normalised_entropy_inside",
        normalised_entropy_inside,
        bounds=(0, None),
        parameters={"variant": "inside", "eos": "counted"},
    ),
    _metric("mean_token_entropy", mean_token_entropy, bounds=(0, None), parameters={"eos": "counted"}),
    _metric(
        "e_original",
        original,
        bounds=(-3, None),
        parameters={"alpha": "0.001", "log": "10", "scale": "1/(d-1)", "state": "last"},
        needs=2,
    ),
    _metric(
        "e_average",
        average,
        bounds=(-3, None),
        parameters={"alpha": "0.001", "log": "10", "scale": "1/(d-1)", "state": "mean"},
        needs=2,
    ),
    _metric(
        "semantic_entropy",
        semantic_entropy,
        reads="partition+internals",
        bounds=(0, None),
        parameters={"estimator": "rao", "likelihood": "per token"},
    ),
    _metric(
        "semantic_entropy_discrete",
        semantic_entropy_discrete,
        reads="partition",
        bounds=(0, None),
        parameters={"estimator": "discrete"},
    ),
)
