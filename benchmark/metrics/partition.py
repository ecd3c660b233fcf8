"""Metrics of responses grouped into equivalence classes: how many, how even, how good.

Input: a `Partition`, made by an equivalence backend or reported with a submission (`of_reported`).
"""

import math
from collections import Counter
from dataclasses import dataclass
from functools import partial

from benchmark.metrics.metric import Metric, Unscorable, Version

Labels = tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Partition:
    """The classes of k responses.

    Attributes:
        labels: [k], 0, 1, 2, … in the order of first use; None for a response in no class that counts.
        qualities: [k], the quality (1 to 10) of each class's first response, None for the others; None if unrated.
        rewards: [classes], the reward model's output for each class's first response; None if unrated.
    """

    labels: Labels
    qualities: tuple[float | None, ...] | None = None
    rewards: tuple[float, ...] | None = None

    @property
    def heads(self) -> tuple[int, ...]:
        """The position of each class's first response."""
        seen: dict[int, int] = {}
        for place, label in enumerate(self.labels):
            if label is not None:
                seen.setdefault(label, place)
        return tuple(seen.values())

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of responses in each class, in the order of first use."""
        return tuple(Counter(label for label in self.labels if label is not None).values())


def distinct_k(partition: Partition) -> float:
    """Count the classes among k responses (NoveltyBench, eq. 1). In [1, k].

    The published files' field `distinct` is one less, the paper's tables are one more; this is the definition.

    Raises:
        Unscorable: No response is in a class.

    >>> distinct_k(Partition((0, 0, 1, 2)))
    3.0
    """
    return float(len(_sizes(partition)))


def rarefied(partition: Partition, size: int) -> float:
    """Compute the expected number of classes among `size` responses, drawn without replacement from those in a class.

    Hurlbert 1971, The nonconcept of species diversity. If `size` is the number of responses, it is distinct_k. It makes
    systems with different numbers of responses comparable, and does not depend on the order of responses.

    Raises:
        Unscorable: Fewer than `size` responses are in a class.

    >>> rarefied(Partition((0, 0, 1, 2)), 1), rarefied(Partition((0, 0, 1, 2)), 4)
    (1.0, 3.0)
    """
    sizes = _sizes(partition)
    total = sum(sizes)
    if total < size:
        raise Unscorable(f"fewer than {size} responses in classes")
    ways = math.comb(total, size)
    return (len(sizes) * ways - sum(math.comb(total - each, size) for each in sizes)) / ways  # exact: equals are ties


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
    return max(0.0, -math.fsum(each / total * math.log2(each / total) for each in sizes))


def largest_class_share(partition: Partition) -> float:
    """Compute the share of the largest class among the responses that are in a class."""
    sizes = _sizes(partition)
    return max(sizes) / sum(sizes)


def utility_k(partition: Partition, patience: float) -> float:
    """Compute the cumulative utility of a reader who continues with probability `patience` (NoveltyBench, eq. 2).

    (1 − p) / (1 − p^k) · Σ p^(i−1) · u_i over the first responses of classes, u_i their quality of 1 to 10.

    Args:
        partition: Partition with qualities. A response in no class takes a position and adds no utility.
        patience: p, in [0, 1]. 0: only the first response counts; 1: all count equally.

    Returns:
        In [0, 10].

    Raises:
        Unscorable: There are no qualities, or no responses.

    >>> round(utility_k(Partition((0,) * 10, (10.0,) + (None,) * 9), patience=0.8), 4)
    2.2406
    """
    qualities = _qualities(partition)
    if not qualities:
        raise Unscorable("no response")
    weights = [patience**i for i in range(len(qualities))]
    return math.fsum(w * (q or 0.0) for w, q in zip(weights, qualities, strict=True)) / math.fsum(weights)


def utility_curve(partition: Partition, patiences: tuple[float, ...]) -> tuple[float, ...]:
    """Compute `utility_k` for each patience."""
    return tuple(utility_k(partition, patience) for patience in patiences)


def mean_head_quality(partition: Partition) -> float:
    """Compute the mean quality of the classes' first responses: how good the new responses are, however few.

    Raises:
        Unscorable: No response is in a class, or there are no qualities.
    """
    qualities = _qualities(partition)
    found = [qualities[place] for place in partition.heads]
    if not found:
        raise Unscorable("no response in a class")
    return math.fsum(each or 0.0 for each in found) / len(found)


def first_quality(partition: Partition) -> float:
    """Return the quality of the first response that is in a class: what a reader gets who asks once.

    Raises:
        Unscorable: As `mean_head_quality`.
    """
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
        raise Unscorable("no reward model judged it")
    lacking = [place for place in partition.heads if partition.qualities[place] is None]
    if lacking:
        raise Unscorable("no quality of a class's first response")
    return partition.qualities


NOVELTYBENCH = "Zhang et al. 2025, arXiv:2504.05228"


RULE = "It inherits every mistake of the equivalence backend, which the signature names."
_NOISE = (
    "Nonsense always counts as new: only blanks, placeholders, refusals and classes of only truncated responses are "
    "left out."
)
_GREEDY = (
    "Greedy classes depend on the order of the responses: a prompt's count has a standard deviation of up to 0.32."
)
CEILING = "Its maximum is k: if all responses differ, how much they differ does not count."
REWARD = (
    "A reward model stands in for people: it seems to favour long responses, and gives most good ones the top mark."
)
_FIRST = Version(1, "2026-11-21", "first version: equivalence classes of responses, and their quality")

_metric = partial(Metric, reads="partition", direction=+1, family="classes", history=(_FIRST,))

METRICS: tuple[Metric, ...] = (
    _metric(
        "distinct_k",
        "number of equivalence classes",
        distinct_k,
        bounds=(1, "k"),
        unit="classes",
        paper=f"{NOVELTYBENCH}, eq. 1",
        formula="|{classes among the k responses}|",
        summary="How many different things the k responses say.",
        failures=(
            RULE,
            CEILING,
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
        paper=f"{NOVELTYBENCH}, eq. 2",
        parameters={"patience": "0.8"},
        formula="(1 − p) / (1 − pᵏ) · Σᵢ pⁱ⁻¹ uᵢ over responses i that open a class, uᵢ their quality of 1 to 10, p = "
        "0.8",
        summary="The utility of the responses for a reader who asks for the next one with probability 0.8 and does not "
        "need repeats.",
        failures=(
            REWARD,
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
        paper=f"DivBench; based on the classes of {NOVELTYBENCH}",
        formula="mean of uᵢ over responses i that open a class, uᵢ their quality of 1 to 10",
        summary="How good the new responses are, however few.",
        failures=(
            REWARD,
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
        paper=f"DivBench; based on the classes of {NOVELTYBENCH}",
        formula="u of the first response that is in a class, 1 to 10",
        summary="How good the response is for somebody who asks once.",
        failures=(REWARD, "It does not measure diversity.", "It depends on one response per prompt."),
    ),
)
