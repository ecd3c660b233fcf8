"""Uncertainty of the generating model, as a measure of its generation space (GSSBench, arXiv:2510.12699).

Input: the scores that a language model gave to the tokens of its responses (`ResponseScores`), or the likelihoods of
responses in equivalence classes (`ClassedLikelihoods`). All logarithms are natural. For every function here, a higher
value means a larger generation space. The numbers describe one model: compare them only under the same model, number of
responses and sampling method. Metrics of hidden states are in eigenscore.py.

Tokens. If a response ended by itself, its EOS is one of its tokens, both in sums and in counts. (lm-polygraph sums it
but does not count it.)

Empty responses. A response without tokens has no likelihood per token. It is left out of every mean and never counts as
0; if no response is left, the set is `Unscorable`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from benchmark.metrics.metric import Unscorable
from benchmark.metrics.partition import Labels, Partition, class_entropy

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_ROUNDING = 1e-3  # a model's float32 sums can leave a certain token slightly above ln 1


@dataclass(frozen=True, slots=True)
class ResponseScores:
    """Sums over the tokens of one response, each token given the prompt and the tokens before it.

    Raises:
        Unscorable: A number is not finite or a probability is above 1, which means that the model failed.
        ValueError: The number of tokens is negative.
    """

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


def perplexity(response: ResponseScores) -> float:
    """Compute the mean negative log-likelihood −(1/T) Σ ln p of one response, nats/token.

    For a greedy response, it is GSSBench's and INSIDE's perplexity (the published code omits exp, which would not
    change the ranking); for a sampled one, it is its share of the entropy *mc*.

    Returns:
        At least 0; for a greedy response at most ln V.

    Raises:
        Unscorable: There is no token.
    """
    return _surprise_per_token(response.log_likelihood, response.tokens)


def energy(response: ResponseScores) -> float:
    """Compute the mean over tokens of −logsumexp of the raw logits, nats; usually −30 … −10, higher if less certain.

    It is the energy of Liu et al. 2020, arXiv:2010.03759, at temperature 1, over tokens as in INSIDE's code. Adding a
    constant to a step's logits changes it, so it does not depend on probabilities alone.

    Raises:
        Unscorable: There is no token, or the logits of the whole vocabulary are unknown.
    """
    if response.normaliser is None:
        raise Unscorable("no logits of the whole vocabulary")
    if response.tokens == 0:
        raise Unscorable("no token")
    return -response.normaliser / response.tokens


def length_normalised_entropy(samples: Sequence[ResponseScores], variant: Literal["mc", "inside"] = "mc") -> float:
    """Compute the length-normalised predictive entropy −(1/K) Σ_k (1/T_k) Σ_t ln p, nats/token.

    Args:
        samples: K sampled responses.
        variant: *mc*, the definition: p of the sampled token (Malinin & Gales 2021, arXiv:2002.07650; Kuhn et al. 2023,
            arXiv:2302.09664). *inside*, as in the code of INSIDE (arXiv:2402.03744): the largest p of each step in the
            distribution sampled from.

    Returns:
        At least 0.

    Raises:
        Unscorable: No response has a token, or one lacks the sum that the variant reads.
    """
    found = []
    for sample in samples:
        if sample.tokens == 0:
            continue
        summed = sample.log_likelihood if variant == "mc" else sample.largest
        if summed is None:
            raise Unscorable("no largest probabilities")
        found.append(_surprise_per_token(summed, sample.tokens))
    if not found:
        raise Unscorable("no token")
    return math.fsum(found) / len(found)


def mean_token_entropy(samples: Sequence[ResponseScores]) -> float:
    """Compute the mean over K responses of the mean entropy of their steps, nats/token (Fomicheva et al. 2020).

    It has the same expectation as the entropy *mc* at temperature 1 without cut-offs, but less noise, because each
    step's entropy is known instead of estimated from the sampled token. arXiv:2005.10608, section 4.2 (Softmax-Ent).

    Returns:
        In [0, ln V].

    Raises:
        Unscorable: No response has a token, or the logits of the whole vocabulary are unknown.
    """
    used = [sample for sample in samples if sample.tokens]
    if not used:
        raise Unscorable("no token")
    entropies = [sample.entropy for sample in used]
    if any(entropy is None for entropy in entropies):
        raise Unscorable("no logits of the whole vocabulary")
    rates = [(entropy or 0.0) / sample.tokens for entropy, sample in zip(entropies, used, strict=True)]
    return max(math.fsum(rates) / len(rates), 0.0)


def _surprise_per_token(log_likelihood: float, tokens: int) -> float:
    if tokens == 0:
        raise Unscorable("no token")
    return max(-log_likelihood / tokens, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class ClassedLikelihoods:
    """The likelihoods of K sampled responses, and their equivalence classes.

    Raises:
        Unscorable: A likelihood is not finite or above 1, which means that the model failed.
        ValueError: Shapes or types do not match, or a count is below 0.
    """

    labels: Labels  # [K]; None for a response in no class, which is left out
    log_likelihoods: Floats  # float64 [K], nats; ln p of the whole response under the model, the sum over its tokens
    token_counts: Integers  # integers [K]; number of tokens summed over

    def __post_init__(self) -> None:
        if self.log_likelihoods.dtype != np.float64 or not np.issubdtype(self.token_counts.dtype, np.integer):
            raise ValueError("log_likelihoods must be float64, token_counts integers")
        shapes = self.log_likelihoods.shape, self.token_counts.shape
        if shapes != ((len(self.labels),),) * 2 or (self.token_counts < 0).any():
            raise ValueError(f"labels, log_likelihoods and token_counts do not fit together: {shapes}")
        if not np.isfinite(self.log_likelihoods).all():
            raise Unscorable("likelihoods that are not finite")
        if (self.log_likelihoods > _ROUNDING * np.maximum(self.token_counts, 1)).any():
            raise Unscorable("probabilities above 1")


def semantic_entropy(responses: ClassedLikelihoods) -> float:
    """Estimate the entropy of classes from the likelihoods of K responses, nats. Farquhar et al. 2024, Nature 630.

    With s_k = ln p / T of response k: −Σ_c P(c) ln P(c), P(c) = Σ_{k in c} e^(s_k) / Σ_k e^(s_k), the estimator *rao*
    of their code. (Those of Kuhn et al. 2023 and of lm-polygraph are not entropies of a normalised distribution.)

    Returns:
        In [0, ln C], for C classes.

    Raises:
        Unscorable: No response of at least one token is in a class.
    """
    used = (responses.token_counts > 0) & np.array([label is not None for label in responses.labels], dtype=bool)
    if not used.any():
        raise Unscorable("no response in a class")
    labels = [label for label, is_used in zip(responses.labels, used, strict=True) if is_used]
    values = responses.log_likelihoods[used] / responses.token_counts[used]
    _, places = np.unique(np.array(labels), return_inverse=True)
    of_class = np.array([logsumexp(values[places == c]) for c in range(places.max() + 1)], dtype=np.float64)
    logs = of_class - logsumexp(of_class)
    return max(-float(np.exp(logs) @ logs), 0.0)


def discrete_semantic_entropy(labels: Labels) -> float:
    """Compute the entropy of class sizes, P(c) = n_c / K, nats: `class_entropy` in another unit.

    Farquhar et al. 2024, Nature 630 (the black-box form). It needs no likelihoods; if all responses differ, it is ln K
    whatever they say, so many prompts tie.

    Returns:
        In [0, ln K].

    Raises:
        Unscorable: No response is in a class.
    """
    return class_entropy(Partition(labels)) * math.log(2)
