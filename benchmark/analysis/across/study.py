"""How similar systems are and what pairs of them cover together, as means over prompts with bootstrap intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from benchmark.analysis.across.classes import (
    AcrossSystems,
    Floats,
    classes_in_common,
    one_of_several,
    pooled,
    same_class,
    several_of_one,
)
from benchmark.scoring.estimate import Estimate, bootstrap_means


@dataclass(frozen=True, slots=True)
class Alone:
    """How alike the responses of one system are to each other."""

    similarity: Estimate  # mean cosine similarity of two different responses
    same_class: Estimate  # probability that two different valid responses are in one class
    distinct: Estimate


@dataclass(frozen=True, slots=True)
class Pair:
    """How alike the responses of two systems are, and what the two cover together."""

    first: int
    second: int
    similarity: Estimate  # mean cosine similarity of a response of each
    same_class: Estimate
    in_common: Estimate  # share of their classes that both have
    together: Estimate  # classes among k responses, half from each
    gain: Estimate  # the same less the classes among k responses of the better one alone


@dataclass(frozen=True, slots=True)
class Homogeneity:
    """Means over prompts with intervals."""

    systems: tuple[str, ...]
    k: int
    prompts: int
    alone: tuple[Alone, ...]  # one per system
    pairs: tuple[Pair, ...]  # one per pair, in the order of `itertools.combinations`
    order: tuple[int, ...]  # indices of the systems, alike ones together
    size: int  # number of responses in the comparison of one system with several
    of_one: Estimate  # classes among `size` responses of one system, the mean over systems
    of_several: Estimate  # classes among one response of each of `size` systems, over all choices of systems

    def matrix(self, measure: str) -> list[list[float | None]]:
        """Return the means of *similarity* or *same_class*, [systems, systems], each system's own on the diagonal."""
        made: list[list[float | None]] = [[None] * len(self.systems) for _ in self.systems]
        for place, own in enumerate(self.alone):
            made[place][place] = getattr(own, measure).value
        for pair in self.pairs:
            made[pair.first][pair.second] = made[pair.second][pair.first] = getattr(pair, measure).value
        return made


def homogeneity(
    found: AcrossSystems, models: Sequence[int] | None = None, *, resamples: int = 2000, seed: int = 0
) -> Homogeneity:
    """Summarise how alike systems are.

    Args:
        models: Indices of the systems to compare one with several of; None: all.
    """
    count = len(found.systems)
    pairs = list(combinations(range(count), 2))
    places = [*((i, i) for i in range(count)), *pairs]
    same, common, together = same_class(found), classes_in_common(found), pooled(found)
    own = np.diagonal(together, axis1=1, axis2=2)
    better = [max(pair, key=lambda i: (own[:, i].mean(), -i)) for pair in pairs]
    gains = np.array([together[:, a, b] - own[:, best] for (a, b), best in zip(pairs, better, strict=True)])
    chosen = list(range(count)) if models is None else list(models)
    size = min(found.k, len(chosen))
    part = AcrossSystems(
        tuple(found.systems[i] for i in chosen),
        found.prompts,
        found.k,
        found.labels[:, chosen],
        found.similarity[:, chosen][:, :, chosen],
    )
    one = several_of_one(part, size).mean(axis=1) if chosen else np.full(len(found.prompts), np.nan)
    several = one_of_several(part, size) if chosen else one
    columns = [*(each[:, a, b] for each in (found.similarity, same, common, together) for a, b in places), *gains]
    made = iter(bootstrap_means(np.stack([*columns, one, several], axis=1), resamples=resamples, seed=seed))
    alike, in_class, shared, covered = ({place: next(made) for place in places} for _ in range(4))
    gained = {pair: next(made) for pair in pairs}
    of_one, of_several = made
    return Homogeneity(
        systems=found.systems,
        k=found.k,
        prompts=len(found.prompts),
        alone=tuple(Alone(alike[i, i], in_class[i, i], covered[i, i]) for i in range(count)),
        pairs=tuple(
            Pair(*each, alike[each], in_class[each], shared[each], covered[each], gained[each]) for each in pairs
        ),
        order=tuple(cluster_order(_means(found.similarity))),
        size=size,
        of_one=of_one,
        of_several=of_several,
    )


def _means(values: Floats) -> Floats:
    """Return means over prompts of [prompts, systems, systems] without NaN; NaN if nothing is left."""
    there = np.isfinite(values)
    total = np.where(there, values, 0.0).sum(axis=0)
    return np.asarray(np.divide(total, there.sum(axis=0), out=np.full(total.shape, np.nan), where=there.any(axis=0)))


def cluster_order(alike: Floats) -> list[int]:
    """Order the systems so that similar ones are adjacent: average linkage with optimal leaf order.

    Args:
        alike: Mean similarity [systems, systems], symmetric; the diagonal is not read.
    """
    from scipy.cluster.hierarchy import leaves_list, linkage

    if len(alike) < 3:
        return list(range(len(alike)))
    pairs = np.triu_indices(len(alike), 1)
    distances = np.nan_to_num(np.nanmax(alike[pairs], initial=0.0) - alike[pairs], nan=1.0)
    order: list[int] = leaves_list(linkage(distances, "average", optimal_ordering=True)).tolist()
    return order
