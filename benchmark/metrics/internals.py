"""Metrics of the internals of the generating model (GSSBench, arXiv:2510.12699).

Input: `Internals` of one prompt; semantic entropy also reads the equivalence classes of its responses. This module
applies the functions of uncertainty.py and eigenscore.py to that input. E_output and lexical similarity read only
texts, so they are among the metrics of embeddings (`eigenscore_output`) and of texts (`rouge_l_similarity`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.eigenscore import Covariances, e_average, e_original, leave_one_out_average
from benchmark.metrics.metric import Metric, Unscorable, Version
from benchmark.metrics.partition import RULE, Partition
from benchmark.metrics.uncertainty import (
    ClassedLikelihoods,
    ResponseScores,
    discrete_semantic_entropy,
    energy,
    length_normalised_entropy,
    mean_token_entropy,
    perplexity,
    semantic_entropy,
)

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Internals:
    """Internals of the generating model for its K responses to one prompt.

    Raises:
        ValueError: The parts have different numbers of responses.
    """

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
    def known(self) -> list[ResponseScores]:
        """Scores of the responses that could be read."""
        return [each for each in self.responses if each is not None]

    def take(self, places: Sequence[int]) -> "Internals":
        """Return the internals of only the given responses, in the given order; the greedy one stays."""
        return Internals(
            tuple(self.responses[place] for place in places),
            self.greedy,
            None if self.last is None else self.last.take(places),
            None if self.mean is None else self.mean.take(places),
        )


@dataclass(frozen=True, slots=True, eq=False)
class ClassedInternals:
    """Internals with the classes of the same responses."""

    partition: Partition
    internals: Internals


def _greedy(internals: Internals) -> ResponseScores:
    if internals.greedy is None:
        raise Unscorable("no greedy response")
    return internals.greedy


def greedy_perplexity(internals: Internals) -> float:
    """Compute `perplexity` of the greedy response.

    Raises:
        Unscorable: There is no greedy response, or it has no token.
    """
    return perplexity(_greedy(internals))


def greedy_energy(internals: Internals) -> float:
    """Compute `energy` of the greedy response; errors as in `greedy_perplexity`."""
    return energy(_greedy(internals))


def entropy_mc(internals: Internals) -> float:
    """Compute `length_normalised_entropy` *mc* of the responses that could be read."""
    return length_normalised_entropy(internals.known, "mc")


def entropy_inside(internals: Internals) -> float:
    """Compute `length_normalised_entropy` *inside* of the responses that could be read."""
    return length_normalised_entropy(internals.known, "inside")


def token_entropy(internals: Internals) -> float:
    """Compute `mean_token_entropy` of the responses that could be read."""
    return mean_token_entropy(internals.known)


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
    """Compute the LOOE of each response under E_average, [K]; NaN for a response without states.

    Raises:
        Unscorable: Fewer than three responses have states.
    """
    if internals.mean is None:
        raise Unscorable("no hidden states")
    return leave_one_out_average(internals.mean, internals.mean.layers)


def rao_entropy(given: ClassedInternals) -> float:
    """Compute `semantic_entropy` *rao*; a response that could not be read has no tokens, so it is left out."""
    scores = given.internals.responses
    likelihoods = np.array([0.0 if own is None else own.log_likelihood for own in scores])
    counts = np.array([0 if own is None else own.tokens for own in scores], dtype=np.int64)
    return semantic_entropy(ClassedLikelihoods(given.partition.labels, likelihoods, counts))


def discrete_entropy(partition: Partition) -> float:
    """Compute `discrete_semantic_entropy` of a partition; responses in no class are left out."""
    return discrete_semantic_entropy(partition.labels)


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
        greedy_perplexity,
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
        greedy_energy,
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
        entropy_mc,
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
        entropy_inside,
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
        token_entropy,
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
        rao_entropy,
        reads="partition+internals",
        bounds=(0, None),
        unit="nats",
        paper="Farquhar et al. 2024, Nature 630; Kuhn et al. 2023, arXiv:2302.09664",
        parameters={"estimator": "rao", "likelihood": "per token"},
        formula="−Σ_c P(c) ln P(c), P(c) = Σ_{k in c} e^(sₖ) / Σₖ e^(sₖ), sₖ the mean log-probability of a token of "
        "response k, c the classes of responses that mean the same",
        summary="How uncertain the model was between different contents, not between wordings.",
        failures=(
            RULE,
            _CUT_OFF,
            "If all responses differ, only their likelihoods distinguish prompts.",
            _FORMS,
            _OWN,
        ),
    ),
    _metric(
        "semantic_entropy_discrete",
        "semantic entropy (discrete)",
        discrete_entropy,
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
