"""How equivalence backends group the same responses: number of classes, and agreement with published partitions.

Agreement is measured prompt by prompt: the adjusted Rand index of both partitions, and the F1 of pairs in the same
class. Intervals come from resampling prompts, with all systems' responses to a prompt together.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmark.analysis.estimate import Estimate, Resampling, estimate
from benchmark.equivalence.agreement import adjusted_rand_index, classes_of, pair_counts
from benchmark.equivalence.partitioning import ResponsesToGroup
from benchmark.metrics.partition import Labels, Partition, distinct_curve, utility_curve
from benchmark.scoring.resampling import Floats, half_of, weights_with_original
from divbench.core.errors import ConfigurationError


@dataclass(frozen=True, slots=True, eq=False)
class System:
    """The responses of a system."""

    name: str
    prompt_ids: tuple[str, ...]  # [prompts]
    responses: tuple[ResponsesToGroup, ...]  # response sets [prompts]
    published: tuple[Labels, ...] | None  # [prompts], published partitions; None if the system has none
    # [prompts], published partitions with qualities; None if the system has none.
    judged: tuple[Partition, ...] | None = None

    def prompts(self, keep: Callable[[str], bool]) -> "System":
        """Return the system on the prompts whose ids are kept."""
        places = [i for i, name in enumerate(self.prompt_ids) if keep(name)]
        return replace(
            self,
            prompt_ids=tuple(self.prompt_ids[i] for i in places),
            responses=tuple(self.responses[i] for i in places),
            published=None if self.published is None else tuple(self.published[i] for i in places),
            judged=None if self.judged is None else tuple(self.judged[i] for i in places),
        )


@dataclass(frozen=True, slots=True)
class SystemClasses:
    """The classes of one system by a backend."""

    system: str
    k: int  # number of responses per prompt; counts of different k are not comparable
    prompts: int
    unjudged: dict[str, int]  # prompts without a partition, by reason
    distinct: Estimate  # mean number of classes
    published: Estimate | None  # mean number of published classes
    curve: tuple[float, ...]  # expected classes among 1, 2, … responses, mean over prompts that have as many
    rand_index: Estimate | None  # mean adjusted Rand index with the published partitions
    pair_f1: Estimate | None  # F1 of the pairs of responses in one class, over all prompts


@dataclass(frozen=True, slots=True)
class BackendClasses:
    """The classes of all systems by a backend."""

    backend: str
    signature: str
    systems: tuple[SystemClasses, ...]
    rand_index: Estimate | None  # adjusted Rand index with the published partitions, over systems that have them
    pair_f1: Estimate | None  # F1 of the pairs of responses in one class, likewise
    count_error: Estimate | None  # mean absolute difference in the number of classes, likewise
    # Spearman's rho of the systems' mean numbers of classes with the published ones; None with fewer than three systems
    # that have them.
    ranking: Estimate | None


PATIENCES = (0.0, 0.25, 0.5, 0.8, 0.9, 0.95, 1.0)


@dataclass(frozen=True, slots=True)
class UtilityCurve:
    """A system's mean utility by the patience of its reader (NoveltyBench, eq. 2), from published qualities."""

    system: str
    utilities: tuple[Estimate, ...]  # utility at each of `PATIENCES`; the published metric is at 0.8


def utility_curves(systems: Sequence[System], resampling: Resampling | None = None) -> list[UtilityCurve]:
    """Compute the utility curves of systems with published qualities; intervals over prompts."""
    how = resampling or Resampling()
    made = []
    for system in systems:
        if system.judged is None:
            continue
        values = np.array([utility_curve(each, PATIENCES) for each in system.judged])
        weights = weights_with_original(len(values), resamples=how.resamples, seed=how.seed)
        means = weights @ values / weights.sum(axis=1, keepdims=True)
        made.append(UtilityCurve(system.name, tuple(estimate(column) for column in means.T)))
    return made


Parts = Sequence[Labels | str]  # for each prompt its labels, or why they are missing


def measure(
    backend: str,
    signature: str,
    systems: Sequence[System],
    parts: Mapping[str, Parts],
    resampling: Resampling | None = None,
) -> BackendClasses:
    """Measure the counts and agreement of a backend's partitions."""
    how = resampling or Resampling()
    ids = sorted({name for system in systems for name in system.prompt_ids})
    weights = weights_with_original(len(ids), resamples=how.resamples, seed=how.seed)
    column = {name: i for i, name in enumerate(ids)}
    tables = {system.name: _Table.of(system, parts[system.name], weights, column) for system in systems}
    known = [table for table in tables.values() if table.has_published]
    return BackendClasses(
        backend=backend,
        signature=signature,
        systems=tuple(_of_system(system, parts[system.name], tables[system.name]) for system in systems),
        rand_index=estimate(_mean(known, "rand_index")) if known else None,
        pair_f1=estimate(_pair_f1(known)) if known else None,
        count_error=estimate(_mean(known, "count_error")) if known else None,
        ranking=estimate(_ranking(known)) if len(known) > 2 else None,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """Numbers of a system's grouped prompts [prompts], and their weights [1 + resamples, prompts]."""

    weights: Floats
    distinct: Floats
    published: Floats
    rand_index: Floats
    count_error: Floats
    pairs: Floats  # [prompts, 3]
    has_published: bool

    @staticmethod
    def of(system: System, parts: Parts, weights: Floats, column: Mapping[str, int]) -> "_Table":
        places = [i for i, part in enumerate(parts) if not isinstance(part, str)]
        labels = [part for part in parts if not isinstance(part, str)]
        distinct = np.array([classes_of(found) for found in labels], np.float64)
        own = weights[:, [column[system.prompt_ids[i]] for i in places]]
        if system.published is None:
            nothing = np.full(len(places), np.nan)
            return _Table(own, distinct, nothing, nothing, nothing, np.zeros((len(places), 3)), False)
        theirs = [system.published[i] for i in places]
        published = np.array([classes_of(found) for found in theirs], np.float64)
        both = list(zip(labels, theirs, strict=True))
        return _Table(
            own,
            distinct,
            published,
            np.array([adjusted_rand_index(a, b) for a, b in both]),
            np.abs(distinct - published),
            np.array([pair_counts(a, b) for a, b in both], np.float64).reshape(-1, 3),
            True,
        )

    def mean(self, values: Floats) -> Floats:
        """Return the mean of a column in each resample, [1 + resamples]."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.weights @ values / self.weights.sum(axis=1))


def _mean(tables: Sequence[_Table], name: str) -> Floats:
    """Return the mean over all prompts of all systems, with equal weight, in each resample."""
    total = sum(table.weights @ getattr(table, name) for table in tables)
    return np.asarray(total / sum(table.weights.sum(axis=1) for table in tables))


def _pair_f1(tables: Sequence[_Table]) -> Floats:
    both, only_a, only_b = np.sum([table.weights @ table.pairs for table in tables], axis=0).T
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(2 * both / (2 * both + only_a + only_b))


def _ranking(tables: Sequence[_Table]) -> Floats:
    from scipy.stats import rankdata

    ours = np.stack([table.mean(table.distinct) for table in tables], axis=1)
    theirs = np.stack([table.mean(table.published) for table in tables], axis=1)
    a, b = rankdata(ours, axis=1), rankdata(theirs, axis=1)
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((a * b).sum(axis=1) / np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1)))


def _of_system(system: System, parts: Parts, table: _Table) -> SystemClasses:
    unjudged: dict[str, int] = {}
    for part in parts:
        if isinstance(part, str):
            unjudged[part] = unjudged.get(part, 0) + 1
    curves = [distinct_curve(Partition(part)) for part in parts if not isinstance(part, str) and classes_of(part)]
    longest = max((len(curve) for curve in curves), default=0)
    mean = [float(np.mean([curve[size] for curve in curves if len(curve) > size])) for size in range(longest)]
    return SystemClasses(
        system=system.name,
        k=max((len(each.texts) for each in system.responses), default=0),
        prompts=len(parts),
        unjudged=dict(sorted(unjudged.items())),
        distinct=estimate(table.mean(table.distinct)),
        published=estimate(table.mean(table.published)) if table.has_published else None,
        curve=tuple(mean),
        rand_index=estimate(table.mean(table.rand_index)) if table.has_published else None,
        pair_f1=estimate(_pair_f1([table])) if table.has_published else None,
    )


@dataclass(frozen=True, slots=True)
class Choice:
    """The backend that agrees best with the published partitions on one half, and what it does on the other."""

    half: int  # half of the prompts (0 or 1) that it was chosen on
    chosen: str
    chosen_on: float  # its mean adjusted Rand index on that half
    reported: tuple[BackendClasses, ...]


def choose(
    backends: Mapping[str, tuple[str, Mapping[str, Parts]]],
    systems: Sequence[System],
    resampling: Resampling,
) -> list[Choice]:
    """Choose a backend by the mean adjusted Rand index on each half of the prompts, and report on the other half.

    Args:
        backends: Signature and each system's partitions, by backend.
        systems: Systems with their responses; those without published partitions are ignored.

    Raises:
        ConfigurationError: No system has published partitions.
    """
    known = [system for system in systems if system.published is not None]
    if not known:
        raise ConfigurationError(
            "no system came with published classes", "leave out --choose, or import systems that have them"
        )
    made = []
    for half in (0, 1):
        on = {name: _on_half(name, *given, known, half, resampling) for name, given in backends.items()}
        values = {name: _value(found.rand_index) for name, found in on.items()}
        best = max(values, key=lambda name: values[name])
        off = tuple(_on_half(name, *given, known, 1 - half, resampling) for name, given in backends.items())
        made.append(Choice(half, best, values[best], off))
    return made


def _value(found: Estimate | None) -> float:
    return -1.0 if found is None or found.value is None else found.value


def _on_half(
    name: str,
    signature: str,
    parts: Mapping[str, Parts],
    systems: Sequence[System],
    half: int,
    resampling: Resampling,
) -> BackendClasses:
    def has(prompt: str) -> bool:
        return half_of(prompt, resampling.seed) == half

    kept = [system.prompts(has) for system in systems]
    own = {
        system.name: [part for prompt, part in zip(system.prompt_ids, parts[system.name], strict=True) if has(prompt)]
        for system in systems
    }
    return measure(name, signature, kept, own, resampling)
