"""Metrics of responses grouped into equivalence classes: how many, how even, how good, and how many valid.

Input: a `Partition` made by an equivalence backend, a `JudgedPartition` with a judge of validity (benchmark/validity),
or the `Reported` of a submission, from which metrics are recomputed, never copied.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.metric import Metric, Unscorable, Version
from divbench.core.errors import counted

if TYPE_CHECKING:  # pydantic, which the surprisal engine does not need
    from submissions.schema import Reported

Labels = tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Partition:
    """The classes of k responses."""

    labels: Labels  # [k], 0, 1, 2, … in the order of first use; None for a response in no class that counts
    # [k], the quality (1 to 10) of each class's first response, None for the others; None if unrated.
    qualities: tuple[float | None, ...] | None = None
    # [classes], the reward model's output for each class's first response; None if unrated.
    rewards: tuple[float, ...] | None = None
    unscored: str | None = None  # why the judge gave a class's first response no quality; None if it rated them all

    @property
    def heads(self) -> tuple[int, ...]:
        """The position of each class's first response."""
        heads: dict[int, int] = {}
        for position, label in enumerate(self.labels):
            if label is not None:
                heads.setdefault(label, position)
        return tuple(heads.values())

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of responses in each class, in the order of first use."""
        return tuple(Counter(label for label in self.labels if label is not None).values())


def distinct_k(partition: Partition) -> float:
    """Count the classes among k responses (NoveltyBench, eq. 1). In [1, k].

    The published files' field `distinct` is one less, the paper's tables are one more; this is the definition.

    >>> distinct_k(Partition((0, 0, 1, 2)))
    3.0
    """
    return float(len(_sizes(partition)))


def rarefied(partition: Partition, size: int) -> float:
    """Compute the expected number of classes among `size` responses, drawn without replacement from those in a class.

    Hurlbert 1971, The nonconcept of species diversity. If `size` is the number of responses, it is distinct_k. It makes
    systems with different numbers of responses comparable, and does not depend on the order of responses.

    >>> rarefied(Partition((0, 0, 1, 2)), 1), rarefied(Partition((0, 0, 1, 2)), 4)
    (1.0, 3.0)
    """
    sizes = _sizes(partition)
    total = sum(sizes)
    if total < size:
        raise Unscorable(f"fewer than {size} responses in classes")
    ways = math.comb(total, size)
    return (len(sizes) * ways - sum(math.comb(total - n, size) for n in sizes)) / ways  # exact: equals are ties


def distinct_curve(partition: Partition) -> tuple[float, ...]:
    """Compute `rarefied` for 1, 2, … up to all responses that are in a class."""
    return tuple(rarefied(partition, size) for size in range(1, sum(_sizes(partition)) + 1))


def class_entropy(partition: Partition) -> float:
    """Compute the entropy of the classes in bits: 0 if all responses are in one class, log2 k if all differ.

    >>> class_entropy(Partition((0, 0, 1, 1)))
    1.0
    """
    sizes = _sizes(partition)
    total = sum(sizes)
    return max(0.0, -math.fsum(n / total * math.log2(n / total) for n in sizes))


def largest_class_share(partition: Partition) -> float:
    """Compute the share of the largest class among the responses that are in a class."""
    sizes = _sizes(partition)
    return max(sizes) / sum(sizes)


def utility_k(partition: Partition, patience: float) -> float:
    """Compute the cumulative utility of a reader who continues with probability `patience` (NoveltyBench, eq. 2).

    (1 − p) / (1 − p^k) · Σ p^(i−1) · u_i over the first responses of classes, u_i their quality of 1 to 10.

    >>> round(utility_k(Partition((0,) * 10, (10.0,) + (None,) * 9), patience=0.8), 4)
    2.2406
    """
    qualities = _qualities(partition)
    if not qualities:
        raise Unscorable("no response")
    weights = [patience**i for i in range(len(qualities))]
    return math.fsum(w * (q or 0.0) for w, q in zip(weights, qualities, strict=True)) / math.fsum(weights)


def mean_head_quality(partition: Partition) -> float:
    """Compute the mean quality of the classes' first responses: how good the new responses are, however few."""
    qualities = _qualities(partition)
    heads = [qualities[head] for head in partition.heads]
    if not heads:
        raise Unscorable("no response in a class")
    return math.fsum(quality or 0.0 for quality in heads) / len(heads)


def first_quality(partition: Partition) -> float:
    """Return the quality of the first response that is in a class: what a reader gets who asks once."""
    qualities = _qualities(partition)
    if not partition.heads:
        raise Unscorable("no response in a class")
    return qualities[partition.heads[0]] or 0.0


def _sizes(partition: Partition) -> tuple[int, ...]:
    sizes = partition.sizes
    if not sizes:
        raise Unscorable("no response in a class")
    return sizes


def _qualities(partition: Partition) -> tuple[float | None, ...]:
    if partition.qualities is None:
        raise Unscorable("no reward model or judge rated it")
    lacking = [head for head in partition.heads if partition.qualities[head] is None]
    if lacking:
        raise Unscorable(partition.unscored or "no quality of a class's first response")
    return partition.qualities


@dataclass(frozen=True)
class JudgedPartition:
    """The classes of a set's responses other than blanks and placeholders, and which of them are valid."""

    partition: Partition
    reasons: tuple[str | None, ...]  # [responses], why each response is not valid; None for a valid one
    blanks: int = 0  # number of blanks and placeholders in the set; none is valid
    # [responses], the score, 1 to 10, that a judge is expected to give to each response; None if it was not estimated.
    scores: tuple[float, ...] | None = None

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of valid responses in each class that has any."""
        pairs = zip(self.partition.labels, self.reasons, strict=True)
        return tuple(Counter(label for label, reason in pairs if reason is None and label is not None).values())


def valid_distinct_k(judged: JudgedPartition) -> float:
    """Count the equivalence classes that have a valid response. In [0, k].

    >>> valid_distinct_k(JudgedPartition(Partition((0, 0, 1, 2)), (None, None, None, "word salad")))
    2.0
    """
    return float(len(judged.sizes))


def valid_distinct_curve(sizes: Sequence[int], k: int) -> NDArray[np.float64]:
    """Compute the expected number of classes with a valid response among m of k responses, for m = 1, 2, … k. [k]

    Hurlbert 1971, The nonconcept of species diversity; an invalid response takes a position and adds nothing. For one
    response it is `valid_share` if every valid response is in a class, for k responses it is `valid_distinct_k`.

    >>> valid_distinct_curve((2, 1), 4).round(3)
    array([0.75 , 1.333, 1.75 , 2.   ])
    """
    drawn = np.arange(k)
    left = np.maximum(k - np.asarray(sizes, np.int64)[:, None] - drawn, 0)
    return np.asarray((1 - np.cumprod(left / (k - drawn), axis=1)).sum(axis=0), np.float64)


def valid_share(judged: JudgedPartition) -> float:
    """Compute the share of valid responses among all k, blanks and placeholders included; 0 without responses.

    >>> valid_share(JudgedPartition(Partition((0, 0)), (None, "word salad"), blanks=2))
    0.25
    """
    return sum(reason is None for reason in judged.reasons) / max(1, len(judged.reasons) + judged.blanks)


def pass_at_k(judged: JudgedPartition, k: int) -> float:
    """Estimate the probability that k responses have a valid one, without bias: 1 − C(n − c, k) / C(n, k).

    Chen et al. 2021, arXiv:2107.03374, eq. 1: c of n responses are valid.

    >>> pass_at_k(JudgedPartition(Partition((0, 1)), (None, "wrong"), blanks=2), 2)
    0.5
    """
    n, c = len(judged.reasons) + judged.blanks, sum(reason is None for reason in judged.reasons)
    if n < k:
        raise Unscorable(f"fewer than {k} responses")
    ways = math.comb(n, k)
    return (ways - math.comb(n - c, k)) / ways


def estimated_quality(judged: JudgedPartition) -> float:
    """Compute the mean expected score of the classes' first responses: how good the new responses are, however few.

    >>> estimated_quality(JudgedPartition(Partition((0, 0, 1)), (None,) * 3, scores=(7.0, 3.0, 4.0)))
    5.5
    """
    if judged.scores is None:
        raise Unscorable("a judge or a reward model rated the responses: see mean_head_quality")
    heads = judged.partition.heads
    if not heads:
        raise Unscorable("no response in a class")
    return math.fsum(judged.scores[head] for head in heads) / len(heads)


def of_reported(reported: "Reported") -> Partition:
    """Return the partition of a submission; scores other than those of first responses, which are 0, are dropped."""
    partition = Partition(tuple(reported.partition))
    scores = reported.generation_scores
    if scores is None:
        return partition
    heads = set(partition.heads)
    return Partition(partition.labels, tuple(score if i in heads else None for i, score in enumerate(scores)))


VALID_SCORE = 4.0  # the lowest score of a response that does what was asked


def distinct_k_reported(reported: "Reported") -> float:
    """Compute `distinct_k` from the classes that came with a submission."""
    return distinct_k(of_reported(reported))


def utility_k_reported(reported: "Reported", patience: float) -> float:
    """Compute `utility_k` from the classes and scores that came with a submission."""
    return utility_k(_scored(reported), patience)


def valid_distinct_k_reported(reported: "Reported", lowest: float) -> float:
    """Count the classes whose first response has at least the score `lowest`, with what came with a submission."""
    return float(sum(quality is not None and quality >= lowest for quality in _scored(reported).qualities or ()))


def mean_head_quality_reported(reported: "Reported") -> float:
    """Compute `mean_head_quality` from the classes and scores that came with a submission."""
    return mean_head_quality(_scored(reported))


def _scored(reported: "Reported") -> Partition:
    if reported.generation_scores is None:
        raise Unscorable("no scores were reported")
    return of_reported(reported)


_NOVELTYBENCH = "Zhang et al. 2025, arXiv:2504.05228"
RULE = "It inherits every mistake of the equivalence backend, which the signature names."
_NOISE = (
    "Nonsense always counts as new: only blanks, placeholders, refusals and classes of only truncated responses are "
    "left out."
)
_GREEDY = (
    "Greedy classes depend on the order of the responses: a prompt's count has a standard deviation of up to 0.32."
)
_CEILING = "Its maximum is k: if all responses differ, how much they differ does not count."
_REWARD = (
    "A reward model or a judge stands in for people: the reward model seems to favour long responses, and gives most "
    "good ones the top mark."
)
_VALIDITY = (
    "Offline, validity is an estimate by a small model that was fitted to a judge's scores. On prompts in the record "
    "of judged responses it refuses 56% of the failing responses and 7% of the others; on other prompts, 35% and 6%. "
    "It does not know whether a response is true or safe."
)
_ERROR_OF_SCORES = "A single score is off by 1.1 on average, by 1.5 on prompts without a record."
_REPORTED = "It was reported by the submitter: how the classes were made is known only as far as the signature says."
_VERSIONS = (
    "Versions 1.0 and 1.1 of NoveltyBench's metric have other judges, so their values are never in one column. If a "
    "submission has both, 1.1 is scored. Where its judge refused to score, the prompt has no value."
)
_FIRST = Version(1, "2026-11-21", "first version: equivalence classes of responses, and their quality")
_VALID = (
    Version(2, "2026-11-28", "valid means that the response does what was asked, not that it is readable and on topic"),
    Version(1, "2026-11-22", "first version: classes among responses that are valid"),
)
_FIRST_REPORTED = Version(
    1, "2026-11-20", "first version: recomputed from reported classes and scores; distinct is the number of classes"
)

_metric = partial(Metric, reads="partition", direction=+1, family="classes", history=(_FIRST,))
_validity_metric = partial(_metric, reads="partition+validity", needs=0, history=_VALID)
_reported_metric = partial(_metric, reads="reported", needs=0, history=(_FIRST_REPORTED,))

METRICS: tuple[Metric, ...] = (
    _validity_metric(
        "valid_distinct_k",
        "different valid responses of k",
        valid_distinct_k,
        direction=+1,
        bounds=(0, "k"),
        unit="classes",
        paper="DivBench, 2026; based on the classes of Zhang et al. 2025, arXiv:2504.05228",
        formula="|{classes with a valid response among the k responses}|",
        summary="How many different things the responses say that do what was asked, well enough for a weak attempt: 0 "
        "if none does, k if all do and all differ.",
        failures=(
            RULE,
            _VALIDITY,
            "A response that is wrong, but fluent and about the prompt, often counts as valid, on prompts without a "
            "record more often than not.",
            "In reply to an English prompt, a response in another script is not valid, unless the prompt names a "
            "language. If the prompt is in another language, the value is missing.",
            "A class that has only truncated responses does not count, even if they are valid: if all responses are "
            "truncated, it is 0.",
            "The learned equivalence backend reads English: in other languages, other words count as other meanings.",
            _CEILING,
        ),
    ),
    _validity_metric(
        "valid_share",
        "share of valid responses",
        valid_share,
        direction=0,
        bounds=(0, 1),
        unit="share of the responses",
        paper="DivBench, 2026",
        formula="|{valid responses}| / k",
        summary="The share of responses that do what was asked, well enough for a weak attempt.",
        failures=(_VALIDITY, "It does not measure diversity."),
    ),
    *(
        _validity_metric(
            f"pass_at_{k}",
            f"pass@{k}",
            partial(pass_at_k, k=k),
            reads="partition+stated",
            direction=0,
            bounds=(0, 1),
            unit="probability",
            paper="Chen et al. 2021, arXiv:2107.03374, eq. 1",
            parameters={"of": str(k)},
            formula=f"1 − C(N − c, {k}) / C(N, {k}), c of N responses valid",
            summary=f"The probability that {counted(k, 'response')} of N have a valid one, by what is stated of each.",
            failures=(
                "It depends on who stated what is valid; the signature has the rule.",
                "It does not measure diversity: one correct response k times counts as much as k different ones.",
            ),
            history=(Version(1, "2026-11-28", "first version: for responses whose validity is stated"),),
        )
        for k in (1, 5, 10)
    ),
    _metric(
        "estimated_quality",
        "estimated quality of the classes' first responses",
        estimated_quality,
        reads="partition+estimates",
        direction=0,
        bounds=(1, 10),
        unit="score, 1 to 10",
        paper="DivBench, 2026; on the scale of NoveltyBench's version 1.1",
        formula="mean over responses i that open a class of ŝᵢ, the score of 1 to 10 that a judge is expected to give",
        summary="How good the new responses are, however few, by an estimate: 4 is a weak attempt that still answers, "
        "7 is good.",
        failures=(_VALIDITY, _ERROR_OF_SCORES, "It does not measure diversity."),
        history=(Version(1, "2026-11-28", "first version: the expected score of the model of validity"),),
    ),
    _metric(
        "distinct_k",
        "number of equivalence classes",
        distinct_k,
        bounds=(1, "k"),
        unit="classes",
        paper=f"{_NOVELTYBENCH}, eq. 1",
        formula="|{classes among the k responses}|",
        summary="How many different things the k responses say.",
        failures=(
            RULE,
            _CEILING,
            _GREEDY,
            _NOISE,
            "Three conventions are published: one less, the number itself, and one more. Here it is the number.",
        ),
    ),
    _metric(
        "distinct_at_2",
        "expected number of classes among 2 responses",
        partial(rarefied, size=2),
        bounds=(1, 2),
        unit="classes",
        paper="Hurlbert 1971 (rarefaction)",
        parameters={"of": "2"},
        needs=2,
        formula="Σ_c (1 − C(N − n_c, 2) / C(N, 2)), n_c of N responses in class c",
        summary="How many different things two of the responses would say: one plus the probability that they differ.",
        failures=(RULE, "It depends mostly on the common responses, and hardly on rare ones.", _NOISE),
    ),
    _metric(
        "distinct_at_5",
        "expected number of classes among 5 responses",
        partial(rarefied, size=5),
        bounds=(1, 5),
        unit="classes",
        paper="Hurlbert 1971 (rarefaction)",
        parameters={"of": "5"},
        needs=5,
        formula="Σ_c (1 − C(N − n_c, 5) / C(N, 5)), n_c of N responses in class c",
        summary="How many different things five of the responses would say; comparable between systems with different "
        "k.",
        failures=(RULE, "It needs five responses that are in a class.", _NOISE),
    ),
    _metric(
        "class_entropy",
        "entropy of the class sizes",
        class_entropy,
        bounds=(0, None),
        unit="bits",
        paper="Shannon 1948",
        formula="−Σ_c (n_c / N) log₂(n_c / N), n_c of N responses in class c",
        summary="How evenly the responses are distributed over the classes, in bits.",
        failures=(RULE, "Its maximum is log₂ k: if all responses differ, how much they differ does not count.", _NOISE),
    ),
    _metric(
        "largest_class_share",
        "share of the largest class",
        largest_class_share,
        direction=-1,
        bounds=(0, 1),
        unit="share of responses",
        paper="Berger & Parker 1970",
        formula="max_c n_c / N, n_c of N responses in class c; less is more diverse",
        summary="How frequent the most common response is.",
        failures=(
            RULE,
            "Only the largest class counts: the rest may be one class or many.",
            "With few responses it has few possible values, so many sets tie.",
        ),
    ),
    _metric(
        "utility_k",
        "NoveltyBench's utility",
        partial(utility_k, patience=0.8),
        reads="partition+rewards",
        bounds=(0, 10),
        unit="quality, 0 to 10",
        paper=f"{_NOVELTYBENCH}, eq. 2",
        parameters={"patience": "0.8"},
        formula="(1 − p) / (1 − pᵏ) · Σᵢ pⁱ⁻¹ uᵢ over responses i that open a class, uᵢ their quality of 1 to 10, p = "
        "0.8",
        summary="The utility of the responses for a reader who asks for the next one with probability 0.8 and does not "
        "need repeats.",
        failures=(
            _REWARD,
            "It mixes quality and diversity: a good first response repeated ten times gets 2.24 of 10.",
            "The order of the responses matters by design.",
            RULE,
        ),
    ),
    _metric(
        "mean_head_quality",
        "mean quality of the classes' first responses",
        mean_head_quality,
        reads="partition+rewards",
        direction=0,
        bounds=(0, 10),
        unit="quality, 0 to 10",
        paper=f"DivBench; based on the classes of {_NOVELTYBENCH}",
        formula="mean of uᵢ over responses i that open a class, uᵢ their quality of 1 to 10",
        summary="How good the new responses are, however few.",
        failures=(
            _REWARD,
            "It does not measure diversity.",
            "Which response of a class is judged depends on the order.",
        ),
    ),
    _metric(
        "first_quality",
        "quality of the first response",
        first_quality,
        reads="partition+rewards",
        direction=0,
        bounds=(0, 10),
        unit="quality, 0 to 10",
        paper=f"DivBench; based on the classes of {_NOVELTYBENCH}",
        formula="u of the first response that is in a class, 1 to 10",
        summary="How good the response is for somebody who asks once.",
        failures=(_REWARD, "It does not measure diversity.", "It depends on one response per prompt."),
    ),
    _reported_metric(
        "distinct_k_reported",
        "number of equivalence classes, as reported",
        distinct_k_reported,
        bounds=(1, "k"),
        unit="classes",
        paper=f"{_NOVELTYBENCH}, eq. 1",
        formula="|{classes in the partition that came with the submission}|",
        summary="The number of equivalence classes as the submitter reported it.",
        failures=(
            _REPORTED,
            _VERSIONS,
            "NoveltyBench's files of version 1.0 were made by two different rules, and some separate identical texts.",
            "Files that count one too few are converted; a file with another rule cannot be detected.",
        ),
    ),
    _reported_metric(
        "valid_distinct_k_reported",
        "different responses that do what was asked, as reported",
        partial(valid_distinct_k_reported, lowest=VALID_SCORE),
        bounds=(0, "k"),
        unit="classes",
        paper=f"DivBench, 2026; based on the classes and scores of {_NOVELTYBENCH}",
        parameters={"lowest-score": f"{VALID_SCORE:g}"},
        history=(Version(1, "2026-11-28", "first version: reported classes whose first response scores at least 4"),),
        formula="|{classes whose first response has a score of at least 4}|, with classes and scores that came with "
        "the submission",
        summary="How many different responses do what the prompt asks, by the submitter's judge: on the scale of "
        "NoveltyBench 1.1, 4 is a weak attempt that still answers, and 1 to 3 fail.",
        failures=(
            _REPORTED,
            _VERSIONS,
            "In version 1.0 a reward model's output is cut into scores of 1 to 10, of which 4 does not mean that a "
            "response answers: compare systems in one column only.",
            "Only the first response of a class is judged, and the same judge may rank its own vendor's models.",
            _CEILING,
        ),
    ),
    _reported_metric(
        "mean_head_quality_reported",
        "mean quality of the classes' first responses, as reported",
        mean_head_quality_reported,
        direction=0,
        bounds=(0, 10),
        unit="quality, 0 to 10",
        paper=f"DivBench; based on the classes and scores of {_NOVELTYBENCH}",
        history=(Version(1, "2026-11-28", "first version: mean of the reported scores of the classes"),),
        formula="mean of uᵢ over responses i that open a class, uᵢ their score of 1 to 10, as submitted",
        summary="How good the new responses are, however few, by the submitter's judge.",
        failures=(
            _REPORTED,
            _VERSIONS,
            "It does not measure diversity.",
            "Only the first response of a class is judged, and the same judge may rank its own vendor's models.",
        ),
    ),
    _reported_metric(
        "utility_k_reported",
        "NoveltyBench's utility, as reported",
        partial(utility_k_reported, patience=0.8),
        bounds=(0, 10),
        unit="quality, 0 to 10",
        paper=f"{_NOVELTYBENCH}, eq. 2",
        parameters={"patience": "0.8"},
        formula="(1 − p) / (1 − pᵏ) · Σᵢ pⁱ⁻¹ uᵢ over responses that open a class, with classes and qualities that "
        "came with the submission, p = 0.8",
        summary="The utility of the responses, from the submitter's classes and qualities.",
        failures=(
            _REPORTED,
            _VERSIONS,
            f"The scores of version 1.0 are a reward model's. {_REWARD}",
            "People's short responses get low qualities, which suggests a preference for length.",
        ),
    ),
)
