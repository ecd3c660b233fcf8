"""Homogeneity across systems: how similar the responses of different systems are, and what two of them cover together.

Follows the "artificial hivemind" study (arXiv:2510.22954). The responses of all systems to a prompt are grouped
together, so that systems share their equivalence classes. All expectations below are computed exactly from these
classes, without sampling; only valid responses are in a class.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from benchmark.equivalence.partitioning import ResponsesToGroup, partition_sets
from benchmark.metrics import METRICS, Unscorable
from benchmark.metrics.metric import Missing
from benchmark.metrics.partition import Partition
from benchmark.scoring.backends import ScoringBackends
from divbench.core.errors import ConfigurationError
from submissions.checking.response_kinds import is_scorable

Floats = NDArray[np.float64]
FinishReasons = Sequence[str | None] | None
NONE = -1  # label of a response that is in no class


@dataclass(frozen=True, slots=True, eq=False)
class AcrossSystems:
    """The responses of several systems to the same prompts, in classes that they share."""

    systems: tuple[str, ...]
    prompts: tuple[str, ...]
    k: int
    labels: NDArray[np.int64]  # class of each response, [prompts, systems, k]; -1 for a response that is not valid
    # Mean cosine similarity of embeddings, [prompts, systems, systems], over all pairs of a response of each system; on
    # the diagonal, over pairs of different responses of one system. NaN if there are none.
    similarity: Floats


@dataclass(frozen=True, slots=True, eq=False)
class GroupedPrompt:
    """All systems' responses to one prompt."""

    labels: tuple[tuple[int | None, ...], ...]  # class of each response by system; None for a response in no class
    # Mean cosine similarities of the first k responses, [systems, systems], by k; NaN for systems with fewer responses.
    similarity: Mapping[int, Floats]


def group_prompt(
    prompt: str,
    sets: Sequence[Sequence[str]],
    sizes: Sequence[int],
    backends: ScoringBackends,
    finish_reasons: Sequence[FinishReasons] | None = None,
) -> GroupedPrompt:
    """Group the responses of all systems to a prompt, and compare their embeddings.

    Args:
        sizes: Numbers of responses for which similarities are computed.
        backends: Profile with an embedder and an equivalence backend.

    Raises:
        ConfigurationError: The profile has no embedder or no equivalence backend, or a model cannot be loaded.
        Unscorable: The responses cannot be grouped, such as too many different ones. That is not *in no class*.
    """
    backends.load([metric for metric in METRICS if metric.reads in {"embeddings", "partition"}])
    profile, embedder, equivalence = backends.profile, backends.embedder, backends.equivalence
    if embedder is None or equivalence is None or profile.partition is None:
        hint = "choose a profile with an embedder, such as semantic"
        raise ConfigurationError(f"the profile {profile.name} cannot compare responses across systems", hint)
    ended = finish_reasons or [None] * len(sets)
    reasons = [each for own, why in zip(sets, ended, strict=True) for each in why or (None,) * len(own)]
    group = ResponsesToGroup.of(prompt, [text for own in sets for text in own], reasons)
    (found,) = partition_sets([group], equivalence, profile.partition)
    if isinstance(found, Missing):
        raise Unscorable(found.reason)
    labels = iter(found)
    scorable = sorted({text for own in sets for text in own if is_scorable(text)})
    vectors = dict(zip(scorable, embedder.embed(scorable), strict=True))
    return GroupedPrompt(
        tuple(tuple(next(labels) for _ in own) for own in sets),
        {
            size: _similarities(
                [[vectors[text] for text in own[:size] if text in vectors] if len(own) >= size else [] for own in sets]
            )
            for size in sizes
        },
    )


def across_systems(
    names: Sequence[str], k: int, grouped: Mapping[str, GroupedPrompt], valid: Sequence[Mapping[str, Sequence[bool]]]
) -> AcrossSystems:
    """Collect the first k responses of all systems that have k; only valid responses keep their classes."""
    sizes = [[len(each.labels[i]) for each in grouped.values()] for i in range(len(names))]
    chosen = [i for i, own in enumerate(sizes) if min(own, default=0) >= k]
    labels = [
        [
            [
                label if label is not None and there else NONE
                for label, there in zip(each.labels[i][:k], valid[i][prompt][:k], strict=True)
            ]
            for i in chosen
        ]
        for prompt, each in grouped.items()
    ]
    similarity = [each.similarity[k][np.ix_(chosen, chosen)] for each in grouped.values()]
    shape = (len(grouped), len(chosen), k)
    return AcrossSystems(
        tuple(names[i] for i in chosen),
        tuple(grouped),
        k,
        np.array(labels, np.int64).reshape(shape),
        np.array(similarity, np.float64).reshape(len(grouped), len(chosen), len(chosen)),
    )


def valid_responses(
    prompts: Sequence[str], sets: Sequence[Sequence[str]], backends: ScoringBackends
) -> list[list[bool]]:
    """Return which responses are valid, by a profile without a reward model.

    Args:
        prompts: [sets], the prompt of each set.
    """
    backends.load([metric for metric in METRICS if metric.reads == "partition+validity"])
    if backends.validity is None:
        return [[True] * len(own) for own in sets]
    unused = [Partition((None,) * len(own)) for own in sets]  # a discriminator needs no classes
    found = backends.validity.reasons(prompts, sets, unused, {})
    return [[reason is None for reason in own] for own in found]


def _similarities(vectors: Sequence[Sequence[Floats]]) -> Floats:
    """Return mean cosine similarities [systems, systems] of unit vectors; on the diagonal, of different responses."""
    sums = [np.sum(own, axis=0) if own else None for own in vectors]
    means = np.full((len(vectors), len(vectors)), np.nan)
    for i, (one, own) in enumerate(zip(sums, vectors, strict=True)):
        for j, (other, others) in enumerate(zip(sums, vectors, strict=True)):
            pairs = len(own) * (len(others) - (i == j))
            if one is not None and other is not None and pairs:
                means[i, j] = (float(one @ other) - (len(own) if i == j else 0)) / pairs
    return means


def class_counts(found: AcrossSystems) -> NDArray[np.int64]:
    """Count the responses of each system in each class, [prompts, systems, classes]."""
    prompts, systems, _ = found.labels.shape
    columns = int(found.labels.max(initial=NONE)) + 2  # the first is for responses in no class
    rows = np.arange(prompts * systems).reshape(prompts, systems, 1) * columns
    cells = np.bincount((rows + found.labels - NONE).ravel(), minlength=prompts * systems * columns)
    return cells.reshape(prompts, systems, columns)[:, :, 1:]


def same_class(found: AcrossSystems) -> Floats:
    """Return the probability that valid responses of two systems are in one class, [prompts, systems, systems].

    On the diagonal, for two different valid responses of one system. NaN if there are none.
    """
    counts = class_counts(found)
    totals = counts.sum(axis=2)
    both = np.einsum("pac,pbc->pab", counts, counts).astype(np.float64)
    pairs = np.einsum("pa,pb->pab", totals, totals).astype(np.float64)
    own = np.arange(len(found.systems))
    both[:, own, own] -= totals
    pairs[:, own, own] -= totals
    return np.asarray(np.divide(both, pairs, out=np.full(both.shape, np.nan), where=pairs > 0))


def classes_in_common(found: AcrossSystems) -> Floats:
    """Return the share of two systems' classes that both have (Jaccard), [prompts, systems, systems]; NaN if none."""
    has = (class_counts(found) > 0).astype(np.int64)
    both = np.einsum("pac,pbc->pab", has, has)
    sizes = has.sum(axis=2)
    either = sizes[:, :, None] + sizes[:, None, :] - both
    return np.asarray(np.divide(both, either, out=np.full(both.shape, np.nan), where=either > 0))


def pooled(found: AcrossSystems) -> Floats:
    """Return the expected number of classes of k responses, half from each system, [prompts, systems, systems].

    Drawn without replacement. If k is odd, both ways to halve it are averaged. On the diagonal, k from one system.
    """
    counts, k = class_counts(found), found.k
    halves = {k // 2, k - k // 2}
    made = np.zeros((len(counts), len(found.systems), len(found.systems)))
    for half in halves:
        first, second = _misses(counts, k, half), _misses(counts, k, k - half)
        made += (counts.shape[2] - np.einsum("pac,pbc->pab", first, second)) / len(halves)
    own = np.arange(len(found.systems))
    made[:, own, own] = (counts > 0).sum(axis=2)
    return made


def several_of_one(found: AcrossSystems, size: int) -> Floats:
    """Return the expected number of classes among `size` responses of each system, [prompts, systems]."""
    counts = class_counts(found)
    return np.asarray(counts.shape[2] - _misses(counts, found.k, size).sum(axis=2))


def one_of_several(found: AcrossSystems, size: int) -> Floats:
    """Return the expected number of classes among one response from each of `size` systems, [prompts].

    All choices of systems are equally likely. For each class, the mean product of the probabilities that a system
    misses it is computed by elementary symmetric polynomials.
    """
    misses = 1 - class_counts(found) / found.k
    systems = len(found.systems)
    sums = np.zeros((size + 1, misses.shape[0], misses.shape[2]))
    sums[0] = 1
    for system in range(systems):
        for chosen in range(min(system + 1, size), 0, -1):
            sums[chosen] += sums[chosen - 1] * misses[:, system, :]
    return np.asarray(misses.shape[2] - sums[size].sum(axis=1) / comb(systems, size))


def _misses(counts: NDArray[np.int64], k: int, size: int) -> Floats:
    """Return the probability that none of `size` among k responses is in a class with that many responses."""
    table = np.array([comb(k - count, size) / comb(k, size) for count in range(k + 1)])
    return np.asarray(table[counts])
