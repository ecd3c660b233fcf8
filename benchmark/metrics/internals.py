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
from benchmark.metrics.metric import Metric, Unscorable, Version
from benchmark.metrics.partition import RULE, Partition, class_entropy

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


_OWN = "It needs the generating model: two models cannot be compared, and a model behind an API has no such numbers."
_SURE = "A model can be uncertain about wording and certain about content, or confidently random."
_GREEDY = "It looks at one greedy response, so it does not measure the responses that were sampled."
_FORMS = "Published code and papers compute different things under this name."
_CUT_OFF = "Classes of only truncated responses are left out, so a low token limit can leave few responses."
_K = "It depends on the layers, the size of hidden states and the number of responses: none of these may differ."
_FIRST = Version(1, "2026-11-21", "first version: uncertainty of the model that was sampled")

_metric = partial(Metric, reads="internals", direction=+1, family="uncertainty", history=(_FIRST,))

METRICS: tuple[Metric, ...] = (
    _metric(
        "perplexity",
        "perplexity of the greedy response (mean −ln p)",
        perplexity,
        bounds=(0, None),
        unit="nats/token",
        paper="as in GSSBench, arXiv:2510.12699, and the code of INSIDE, arXiv:2402.03744",
        parameters={"response": "greedy", "log": "e"},
        formula="−(1/T) Σₜ ln p(yₜ | before), y the greedy response of T tokens",
        summary="How uncertain the model was of each token of its most likely response.",
        failures=(_GREEDY, _SURE, "It is the logarithm of the usual perplexity, with the same ranking.", _OWN),
    ),
    _metric(
        "energy",
        "energy of the greedy response (mean −logsumexp)",
        energy,
        bounds=(None, None),
        unit="nats",
        paper="Liu et al. 2020, arXiv:2010.03759; as in GSSBench and the code of INSIDE",
        parameters={"response": "greedy", "temperature": "1"},
        formula="−(1/T) Σₜ ln Σᵥ exp(lₜᵥ), l the raw logits over the vocabulary at step t of the greedy response",
        summary="How little weight the model gave to all tokens together, before it is normalised to probabilities.",
        failures=(
            "Adding a constant to all logits of a step changes it, but no probability, so training does not set it.",
            _GREEDY,
            "It needs the logits of the whole vocabulary.",
            _OWN,
        ),
    ),
    _metric(
        "normalised_entropy",
        "length-normalised entropy (Monte Carlo); also the perplexity of sampled responses",
        normalised_entropy,
        bounds=(0, None),
        unit="nats/token",
        paper="Malinin & Gales 2021, arXiv:2002.07650; Kuhn et al. 2023, arXiv:2302.09664",
        parameters={"variant": "mc", "eos": "counted"},
        formula="−(1/K) Σₖ (1/Tₖ) Σₜ ln p(yₖₜ | before), over K sampled responses",
        summary="How unlikely the tokens of the sampled responses were for the model, on average.",
        failures=(_SURE, "Long fluent tails hide a surprising beginning: every token counts equally.", _FORMS, _OWN),
    ),
    _metric(
        "normalised_entropy_inside",
        "length-normalised entropy as in INSIDE's code (largest probabilities after cut-offs)",
        normalised_entropy_inside,
        bounds=(0, None),
        unit="nats/token",
        paper="Chen et al. 2024 (INSIDE), arXiv:2402.03744, its code; probably GSSBench's",
        parameters={"variant": "inside", "eos": "counted"},
        formula="−(1/K) Σₖ (1/Tₖ) Σₜ ln maxᵥ pₜᵥ, p after temperature and cut-offs",
        summary="How uncertain the model was at each step, judged by its largest probability, as in INSIDE's code.",
        failures=(
            "Despite its name, it is not an entropy, and the sampled tokens have no effect.",
            "Truncating the distribution to the most likely tokens changes it.",
            _OWN,
        ),
    ),
    _metric(
        "mean_token_entropy",
        "mean entropy of the next-token distributions",
        mean_token_entropy,
        bounds=(0, None),
        unit="nats/token",
        paper="Fomicheva et al. 2020, arXiv:2005.10608 (Softmax-Ent), over sampled responses",
        parameters={"eos": "counted"},
        formula="(1/K) Σₖ (1/Tₖ) Σₜ H(pₜ), H the entropy of the model's whole distribution at step t",
        summary="How many continuations the model considered at each step, on average.",
        failures=(
            _SURE,
            "Continuations that lead to the same content also count.",
            "It needs the logits of the whole vocabulary.",
            _OWN,
        ),
    ),
    _metric(
        "e_original",
        "E_original (EigenScore of last tokens at the middle layer)",
        original,
        bounds=(-3, None),
        unit="log10",
        paper="Chen et al. 2024 (INSIDE), arXiv:2402.03744, eq. 6",
        parameters={"alpha": "0.001", "log": "10", "scale": "1/(d-1)", "state": "last"},
        needs=2,
        formula="(1/K) Σ log₁₀(λ + 10⁻³), λ the eigenvalues of Z̃ Z̃ᵀ / (d − 1), Z the hidden states of the responses' "
        "last tokens at the middle layer, each row centred over its d features",
        summary="How large a space the hidden states of the responses' last tokens span.",
        failures=(
            "One token says little about a whole response: in GSSBench's paper it is near chance, 0.49 to 0.57.",
            "GSSBench's text and INSIDE's code name different layers; INSIDE's code reads the token before the last.",
            _K,
            _OWN,
        ),
    ),
    _metric(
        "e_average",
        "E_average (EigenScore of tokens' means, mean over layers)",
        average,
        bounds=(-3, None),
        unit="log10",
        paper="Yu et al. 2025 (GSSBench), arXiv:2510.12699, eq. 7",
        parameters={"alpha": "0.001", "log": "10", "scale": "1/(d-1)", "state": "mean"},
        needs=2,
        formula="mean over layers of (1/K) Σ log₁₀(λ + 10⁻³), λ the eigenvalues of Z̃ Z̃ᵀ / (d − 1), Z the means of the "
        "hidden states of each response's tokens, each row centred over its d features",
        summary="How large a space the responses span in the model's hidden states, averaged over tokens and "
        "upper layers.",
        failures=(
            "Its paper does not state the layers; here they are those of INSIDE's code.",
            _K,
            "It depends partly on the prompt's length: GSSBench's paper reports the correlation.",
            _OWN,
        ),
    ),
    _metric(
        "semantic_entropy",
        "semantic entropy (rao)",
        semantic_entropy,
        reads="partition+internals",
        bounds=(0, None),
        unit="nats",
        paper="Farquhar et al. 2024, Nature 630; Kuhn et al. 2023, arXiv:2302.09664",
        parameters={"estimator": "rao", "likelihood": "per token"},
        formula="−Σ_c P(c) ln P(c), P(c) = Σ_{k in c} e^(sₖ) / Σₖ e^(sₖ), sₖ the mean log-probability of a token of "
        "response k, c the classes of responses that mean the same",
        summary="How uncertain the model was between different contents, not between wordings.",
        failures=(RULE, _CUT_OFF, "If all responses differ, only their likelihoods distinguish prompts.", _FORMS, _OWN),
    ),
    _metric(
        "semantic_entropy_discrete",
        "semantic entropy (discrete)",
        semantic_entropy_discrete,
        reads="partition",
        bounds=(0, None),
        unit="nats",
        paper="Farquhar et al. 2024, Nature 630, the form for black boxes",
        parameters={"estimator": "discrete"},
        formula="−Σ_c (n_c / N) ln(n_c / N), n_c of N responses in class c",
        summary="How evenly the responses are distributed over equivalence classes, in nats.",
        failures=(
            "If all responses differ, it is ln K whatever they say: many prompts tie, and ties count as wrong in "
            "GSSBench.",
            RULE,
            _CUT_OFF,
            "It is class_entropy in another unit, with the same ranking.",
        ),
    ),
)
