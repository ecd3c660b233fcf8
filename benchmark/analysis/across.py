"""Homogeneity across systems: how similar the responses of different systems are, and what two of them cover together.

Follows the "artificial hivemind" study (arXiv:2510.22954). The responses of all systems to a prompt are grouped
together, so that systems share their equivalence classes. All expectations below are computed exactly from these
classes, without sampling; only valid responses are in a class.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import combinations
from math import comb
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import leaves_list, linkage

from benchmark.analysis.contrast.systems import Systems
from benchmark.metrics import METRICS, Unscorable
from benchmark.metrics.metric import Missing
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.estimate import Estimate, Floats, bootstrap_means
from benchmark.surprisal.engine import ResponseSet
from benchmark.validity.backend import QualityJudge, Reasons, ValidityJudge
from divbench.core.errors import ConfigurationError, counted
from divbench.core.tables import Block, Report, Table
from submissions.checking.response_kinds import is_scorable

NONE = -1  # label of a response that is in no class
LEGEND = (
    "Similarity: mean cosine of embeddings over pairs of a response of each. Equivalent: the probability that two "
    "valid responses are in one class. In common: share of both systems' classes that both have. Together: expected "
    "classes among k responses, half from each; gain: the same less those of the better one alone. Classes are of "
    "all systems' responses together, so a system's number of different ones can differ from its valid_distinct_k. "
    "Means over prompts with 95% bootstrap intervals over prompts."
)


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

    # Class of each response by system; None for a response in no class, or in one that is invalid by its quality.
    labels: tuple[tuple[int | None, ...], ...]
    # Mean cosine similarities of the first k responses, [systems, systems], by k; NaN for systems with fewer responses.
    similarity: Mapping[int, Floats]


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
        matrix: list[list[float | None]] = [[None] * len(self.systems) for _ in self.systems]
        for i, alone in enumerate(self.alone):
            matrix[i][i] = getattr(alone, measure).value
        for pair in self.pairs:
            matrix[pair.first][pair.second] = matrix[pair.second][pair.first] = getattr(pair, measure).value
        return matrix


def group_prompt(
    prompt: str,
    sets: Sequence[Sequence[str]],
    sizes: Sequence[int],
    backends: ScoringBackends,
    finish_reasons: Sequence[Sequence[str | None] | None] | None = None,
) -> GroupedPrompt:
    """Group all systems' responses to a prompt, and compare the embeddings of the first of `sizes` responses.

    If a judge or a reward model decides validity, it reads the first response of each class.
    """
    profile, by_quality = backends.profile, backends.profile.validity.scores_from is not None
    metrics = [m for m in METRICS if m.reads in {"embeddings", "partition+validity" if by_quality else "partition"}]
    backends.load(metrics)
    embedder = backends.embedder
    if embedder is None or backends.equivalence is None:
        hint = "choose a profile with an embedder, such as semantic"
        raise ConfigurationError(f"the profile {profile.name} cannot compare responses across systems", hint)
    texts = tuple(text for responses in sets for text in responses)
    ended = finish_reasons or [None] * len(sets)
    reasons = [reason for responses, why in zip(sets, ended, strict=True) for reason in why or (None,) * len(responses)]
    (partition,) = backends.part([ResponseSet(prompt, texts)], metrics, [reasons]) or [Missing("no classes")]
    if isinstance(partition, Missing):
        raise Unscorable(partition.reason)
    invalid: Reasons | Missing = (None,) * len(texts)
    if isinstance(backends.validity, QualityJudge):
        (invalid,) = backends.validity.reasons([texts], [partition])
    if isinstance(invalid, Missing):
        raise Unscorable(invalid.reason)
    labels = iter([label if why is None else None for label, why in zip(partition.labels, invalid, strict=True)])
    scorable = sorted({text for responses in sets for text in responses if is_scorable(text)})
    vectors = dict(zip(scorable, embedder.embed(scorable), strict=True))
    similarity = {}
    for size in sizes:
        first = [responses[:size] if len(responses) >= size else () for responses in sets]
        similarity[size] = _similarities(
            [[vectors[text] for text in responses if text in vectors] for responses in first]
        )
    return GroupedPrompt(tuple(tuple(next(labels) for _ in responses) for responses in sets), similarity)


def across_systems(
    names: Sequence[str], k: int, grouped: Mapping[str, GroupedPrompt], valid: Sequence[Mapping[str, Sequence[bool]]]
) -> AcrossSystems:
    """Collect the first k responses of all systems that have k; only valid responses keep their classes."""
    chosen = [i for i in range(len(names)) if min((len(group.labels[i]) for group in grouped.values()), default=0) >= k]
    labels = [
        [
            [
                label if label is not None and is_valid else NONE
                for label, is_valid in zip(group.labels[i][:k], valid[i][prompt][:k], strict=True)
            ]
            for i in chosen
        ]
        for prompt, group in grouped.items()
    ]
    similarity = [group.similarity[k][np.ix_(chosen, chosen)] for group in grouped.values()]
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
    """Return which responses [sets, k] to the prompts [sets] are valid by the estimate, which needs no classes.

    If qualities decide, all are: `group_prompt` leaves those that are invalid by their quality in no class.
    """
    backends.load([metric for metric in METRICS if metric.reads == "partition+validity"])
    if not isinstance(backends.validity, ValidityJudge):
        return [[True] * len(responses) for responses in sets]
    return [
        [False] * len(responses) if isinstance(estimates, Missing) else [reason is None for reason in estimates.reasons]
        for responses, estimates in zip(sets, backends.validity.estimates(prompts, sets, {}), strict=True)
    ]


def _similarities(vectors: Sequence[Sequence[Floats]]) -> Floats:
    """Return mean cosine similarities [systems, systems] of unit vectors; on the diagonal, of different responses."""
    sums = [np.sum(system, axis=0) if system else None for system in vectors]
    means = np.full((len(vectors), len(vectors)), np.nan)
    for i, (one, system) in enumerate(zip(sums, vectors, strict=True)):
        for j, (other, others) in enumerate(zip(sums, vectors, strict=True)):
            pairs = len(system) * (len(others) - (i == j))
            if one is not None and other is not None and pairs:
                means[i, j] = (float(one @ other) - (len(system) if i == j else 0)) / pairs
    return means


def class_counts(across: AcrossSystems) -> NDArray[np.int64]:
    """Count the responses of each system in each class, [prompts, systems, classes]."""
    prompts, systems, _ = across.labels.shape
    columns = int(across.labels.max(initial=NONE)) + 2  # the first is for responses in no class
    rows = np.arange(prompts * systems).reshape(prompts, systems, 1) * columns
    cells = np.bincount((rows + across.labels - NONE).ravel(), minlength=prompts * systems * columns)
    return cells.reshape(prompts, systems, columns)[:, :, 1:]


def same_class(counts: NDArray[np.int64]) -> Floats:
    """Return the probability that valid responses of two systems are in one class, [prompts, systems, systems].

    On the diagonal, for two different valid responses of one system. NaN if there are none.
    """
    totals = counts.sum(axis=2)
    both = np.einsum("pac,pbc->pab", counts, counts).astype(np.float64)
    pairs = np.einsum("pa,pb->pab", totals, totals).astype(np.float64)
    diagonal = np.arange(counts.shape[1])
    both[:, diagonal, diagonal] -= totals
    pairs[:, diagonal, diagonal] -= totals
    return np.asarray(np.divide(both, pairs, out=np.full(both.shape, np.nan), where=pairs > 0))


def classes_in_common(counts: NDArray[np.int64]) -> Floats:
    """Return the share of two systems' classes that both have (Jaccard), [prompts, systems, systems]; NaN if none."""
    has = (counts > 0).astype(np.int64)
    both = np.einsum("pac,pbc->pab", has, has)
    sizes = has.sum(axis=2)
    either = sizes[:, :, None] + sizes[:, None, :] - both
    return np.asarray(np.divide(both, either, out=np.full(both.shape, np.nan), where=either > 0))


def pooled(counts: NDArray[np.int64], k: int) -> Floats:
    """Return the expected number of classes of k responses, half from each system, [prompts, systems, systems].

    Drawn without replacement. If k is odd, both ways to halve it are averaged. On the diagonal, k from one system.
    """
    halves = {k // 2, k - k // 2}
    expected = np.zeros((len(counts), counts.shape[1], counts.shape[1]))
    for half in halves:
        first, second = _misses(counts, k, half), _misses(counts, k, k - half)
        expected += (counts.shape[2] - np.einsum("pac,pbc->pab", first, second)) / len(halves)
    diagonal = np.arange(counts.shape[1])
    expected[:, diagonal, diagonal] = (counts > 0).sum(axis=2)
    return expected


def several_of_one(counts: NDArray[np.int64], k: int, size: int) -> Floats:
    """Return the expected number of classes among `size` of k responses of each system, [prompts, systems]."""
    return np.asarray(counts.shape[2] - _misses(counts, k, size).sum(axis=2))


def one_of_several(counts: NDArray[np.int64], k: int, size: int) -> Floats:
    """Return the expected number of classes among one of k responses from each of `size` systems, [prompts].

    All choices of systems are equally likely. For each class, the mean product of the probabilities that a system
    misses it is computed by elementary symmetric polynomials.
    """
    misses = 1 - counts / k
    systems = counts.shape[1]
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


def homogeneity(
    across: AcrossSystems, models: Sequence[int] | None = None, *, resamples: int = 2000, seed: int = 0
) -> Homogeneity:
    """Summarise how alike systems are; one system is compared with several of `models` (by default, of all)."""
    count, k, counts = len(across.systems), across.k, class_counts(across)
    pairs = list(combinations(range(count), 2))
    cells = [*((i, i) for i in range(count)), *pairs]
    together = pooled(counts, k)
    alone = np.diagonal(together, axis1=1, axis2=2)
    better = [max(pair, key=lambda i: (alone[:, i].mean(), -i)) for pair in pairs]
    gains = [together[:, a, b] - alone[:, best] for (a, b), best in zip(pairs, better, strict=True)]
    chosen = counts[:, list(range(count)) if models is None else list(models)]
    size = min(k, chosen.shape[1])
    one = several = np.full(len(across.prompts), np.nan)
    if size:
        one, several = several_of_one(chosen, k, size).mean(axis=1), one_of_several(chosen, k, size)
    matrices = (across.similarity, same_class(counts), classes_in_common(counts), together)
    columns = [*(matrix[:, a, b] for matrix in matrices for a, b in cells), *gains, one, several]
    means = iter(bootstrap_means(np.stack(columns, axis=1), resamples=resamples, seed=seed))
    alike, in_class, shared, covered = ({cell: next(means) for cell in cells} for _ in range(4))
    gained = {pair: next(means) for pair in pairs}
    of_one, of_several = means
    return Homogeneity(
        systems=across.systems,
        k=k,
        prompts=len(across.prompts),
        alone=tuple(Alone(alike[i, i], in_class[i, i], covered[i, i]) for i in range(count)),
        pairs=tuple(Pair(*p, alike[p], in_class[p], shared[p], covered[p], gained[p]) for p in pairs),
        order=tuple(cluster_order(across.similarity)),
        size=size,
        of_one=of_one,
        of_several=of_several,
    )


def cluster_order(similarity: Floats) -> list[int]:
    """Order systems so that alike ones [prompts, systems, systems] are adjacent, by average linkage."""
    known = np.isfinite(similarity)
    totals = np.where(known, similarity, 0.0).sum(axis=0)
    means = np.divide(totals, known.sum(axis=0), out=np.full(totals.shape, np.nan), where=known.any(axis=0))
    if len(means) < 3:
        return list(range(len(means)))
    alike = means[np.triu_indices(len(means), 1)]
    distances = np.nan_to_num(np.nanmax(alike, initial=0.0) - alike, nan=1.0)
    order: list[int] = leaves_list(linkage(distances, "average", optimal_ordering=True)).tolist()
    return order


def across_report(systems: Systems, backends: ScoringBackends, progress: Callable[[], None] = lambda: None) -> Report:
    """Compare systems on the prompts whose responses can be grouped; `progress` is called after each prompt."""
    names, sets = list(systems.responses), list(systems.responses.values())
    groups = [
        ResponseSet(prompt.prompt, tuple(text for by_prompt in sets for text in by_prompt[prompt.prompt_id]))
        for prompt in systems.prompts
    ]
    backends.announce([groups], [metric for metric in METRICS if metric.reads == "partition+validity"])
    grouped = {}
    left_out: Counter[str] = Counter()
    for prompt in systems.prompts:
        responses = [by_prompt[prompt.prompt_id] for by_prompt in sets]
        reasons = [systems.reasons(name, prompt.prompt_id) for name in names]
        try:
            grouped[prompt.prompt_id] = group_prompt(prompt.prompt, responses, (systems.k,), backends, reasons)
        except Unscorable as error:
            left_out[str(error)] += 1
        progress()
    if not grouped:
        raise ConfigurationError(
            f"the responses of these systems cannot be grouped on any prompt: {', '.join(left_out)}",
            "compare fewer systems, or fewer responses of each (--k)",
        )
    texts = [systems.suite.by_id[prompt_id].prompt for prompt_id in grouped]
    valid = [
        dict(zip(grouped, valid_responses(texts, [by_prompt[i] for i in grouped], backends), strict=True))
        for by_prompt in sets
    ]
    study = homogeneity(across_systems(names, systems.k, grouped, valid), resamples=10_000)
    return report_of(study, systems.suite.name, backends.profile.name, left_out)


def report_of(
    study: Homogeneity, suite: str, profile: str, left_out: Mapping[str, int] = MappingProxyType({})
) -> Report:
    """Return the report of a study: each system by itself, and all pairs; `left_out` counts prompts by reason."""
    names = study.systems
    title = f"{suite}, k = {study.k}, profile {profile}, {counted(study.prompts, 'prompt')}"
    heads = ("system", "different", "similarity to own", "equivalent to own")
    rows = [
        (names[i], str(one.distinct), str(one.similarity), str(one.same_class))
        for i, one in ((i, study.alone[i]) for i in study.order)
    ]
    alone = Table(f"Alone: {title}", heads, rows)
    columns = ("first", "second", "together", "gain", "similarity", "equivalent", "in common")
    pair_rows = [
        (
            names[pair.first],
            names[pair.second],
            *map(str, (pair.together, pair.gain, pair.similarity, pair.same_class, pair.in_common)),
        )
        for pair in sorted(study.pairs, key=lambda pair: -(pair.together.value or 0.0))
    ]
    pairs = Table("Two systems together", columns, pair_rows, numbers=columns[2:])
    several = (
        f"{study.size} responses of one system give {study.of_one} different valid responses; one response of each of "
        f"{study.size} systems gives {study.of_several}."
    )
    below = [several] if study.size > 1 else []
    below += [f"{counted(count, 'prompt')} excluded: {reason}." for reason, count in sorted(left_out.items())]
    document = {"suite": suite, "profile": profile, **asdict(study), "left_out": dict(left_out)}
    blocks: list[Block] = [LEGEND, alone, pairs, *below]
    return Report("How alike systems are", blocks, document, [alone, pairs, *below, LEGEND], _records(study))


def _records(study: Homogeneity) -> Table:
    """Return a row for each measure of a system, of a pair, and of one system beside several."""
    names = study.systems
    parts: list[tuple[str, str, Alone | Pair]] = [(names[i], "", part) for i, part in enumerate(study.alone)]
    parts += [(names[pair.first], names[pair.second], pair) for pair in study.pairs]
    numbers = [
        (first, second, field.name, getattr(part, field.name))
        for first, second, part in parts
        for field in fields(part)
        if field.name not in ("first", "second")
    ]
    numbers += [("", "", "of_one", study.of_one), ("", "", "of_several", study.of_several)]
    rows = [(*row, part.value, part.low, part.high) for *row, part in numbers]
    return Table("", ("first", "second", "measure", "value", "low", "high"), rows)
