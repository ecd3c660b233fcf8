"""Measures how well probabilities of pairs agree with published partitions."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from benchmark.equivalence.agreement import adjusted_rand_index, classes_of
from benchmark.equivalence.backend import EquivalenceBackend, Floats, ResponsePair
from benchmark.equivalence.learned.training_sets import LabelledSet
from benchmark.equivalence.partitioning import ResponsesToGroup, partition_by_pairs
from benchmark.metrics.partition import Labels
from benchmark.models.choices import Algorithm


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of a backend's classes with the published ones, over all sets."""

    pair_auc: float  # area under the ROC curve of pair scores as predictors of being in one published class
    count_correlation: float  # Pearson correlation of the numbers of classes per set
    count_error: float  # mean absolute difference of the numbers of classes
    rand_index: float
    count_bias: dict[str, float]  # mean difference of the numbers of classes, by system


class KnownScores:
    """A backend with precomputed scores, such as those with each pair's prompt and system held out.

    Args:
        sets: Response sets; the score of a pair may differ between systems.
        scores: Scores of all their pairs, in order.
    """

    signature = "known-scores"
    symmetric = True

    def __init__(self, sets: Sequence[LabelledSet], scores: Floats, threshold: float) -> None:
        self.threshold = threshold
        self._known: dict[tuple[str, str, str], float] = {}
        at = 0
        for each in sets:
            for pair in each.pairs():
                first, second = sorted((pair.a, pair.b))
                self._known[_prompt(each), first, second] = float(scores[at])
                at += 1

    def scores(self, pairs: Sequence[ResponsePair]) -> Floats:
        """Implement `EquivalenceBackend.scores`."""
        return np.array([self._known[pair.prompt, min(pair.a, pair.b), max(pair.a, pair.b)] for pair in pairs])


def _prompt(given: LabelledSet) -> str:
    """Return the prompt combined with the system, so that the sets of different systems stay distinct."""
    return f"{given.system}\0{given.prompt}"


def agreement(
    sets: Sequence[LabelledSet], scores: Floats, threshold: float, algorithm: Algorithm = "average"
) -> Agreement:
    """Measure the agreement of scores [pairs of all sets] with the published partitions."""
    from sklearn.metrics import roc_auc_score

    backend: EquivalenceBackend = KnownScores(sets, scores, threshold)
    found = partition_by_pairs([_to_group(each) for each in sets], backend, algorithm)
    counts = np.array([classes_of(labels) for labels in found], np.float64)
    published = np.array([classes_of(each.labels) for each in sets], np.float64)
    systems = [each.system for each in sets]
    return Agreement(
        pair_auc=float(roc_auc_score([label for each in sets for label in each.published()], scores)),
        count_correlation=float(np.corrcoef(counts, published)[0, 1]),
        count_error=float(np.abs(counts - published).mean()),
        rand_index=float(np.mean(rand_indices(sets, found))),
        count_bias={
            name: float(np.mean([a - b for a, b, own in zip(counts, published, systems, strict=True) if own == name]))
            for name in sorted(set(systems))
        },
    )


def rand_indices(sets: Sequence[LabelledSet], found: Sequence[Labels]) -> list[float]:
    """Return the adjusted Rand index of each set's classes with the published ones."""
    return [adjusted_rand_index(labels, each.labels) for labels, each in zip(found, sets, strict=True)]


def _to_group(each: LabelledSet) -> ResponsesToGroup:
    """Return the responses, all of which count, because the published partitions include refusals."""
    every = (True,) * len(each.texts)
    return ResponsesToGroup(_prompt(each), each.texts, every, every)


def expected_classes(probabilities: Floats) -> float:
    """Return the number of classes implied by pair probabilities: the sum over responses of 1 / expected class size.

    It is the similarity-sensitive Hill number of order 0 (Leinster & Cobbold 2012) with probabilities as similarities.
    If all probabilities are 0 or 1 and form a partition, it is the number of classes.

    Args:
        probabilities: [pairs] of k responses, in the order of `combinations`.

    >>> expected_classes(np.array([1.0, 0.0, 0.0]))
    2.0
    """
    k = int((1 + np.sqrt(1 + 8 * len(probabilities))) / 2)
    sizes = np.ones(k)
    for (i, j), probability in zip(combinations(range(k), 2), probabilities, strict=True):
        sizes[i] += probability
        sizes[j] += probability
    return float((1 / sizes).sum())
