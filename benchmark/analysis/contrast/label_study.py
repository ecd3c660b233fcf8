"""Whether a system's scores differ between two groups of its prompts: every metric of a result against given labels.

GSSBench (arXiv:2510.12699) contrasts prompts that call for a clarifying question with others, and correlates scores
with the length of reasoning. Labels and numeric columns are read by label_files.py. An undefined number is missing,
with its reason.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmark.analysis.contrast.labels import (
    FOLDS,
    Classifier,
    Correlation,
    LabelContrast,
    Labels,
    MetricScores,
    PromptScores,
    Truths,
    best_threshold,
    correlations,
    held_out_predictions,
    is_constant,
    macro_f1,
    stars,
)
from benchmark.analysis.metaeval import agreement
from benchmark.metrics.metric import Missing
from benchmark.scoring.estimate import LEVEL, Floats, estimate, holm, resample_weights, welch
from benchmark.scoring.inputs import Value
from benchmark.scoring.results import package_version

FEWEST_CORRELATED = 4  # with three prompts, a partial correlation is always ±1
_CELLS_AT_ONCE = 2_000_000


@dataclass(frozen=True, slots=True)
class LabelStudy:
    """The outcome of `divbench contrast --labels`."""

    system: str  # name of the system; fields from here to `k` are as in `PromptScores`
    submission_id: str
    result_id: str
    suite: str
    profile: str
    k: int
    labels: str
    group_1: str  # description of group 1
    group_0: str  # description of group 0
    n1: int  # prompts of group 1
    n0: int  # prompts of group 0
    left_out: dict[str, int]  # number of prompts in neither group, by reason
    level: float
    resamples: int
    seed: int
    divbench: str
    contrasts: tuple[LabelContrast, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """A numeric column to correlate a metric with."""

    name: str
    there: Truths  # [prompts], whether a prompt has both the column and the metric
    y: Floats  # values of the column, [prompts that have both]
    z: Floats  # UTF-8 bytes of the prompts, [prompts that have both]
    untested: str | None


@dataclass(frozen=True, slots=True, eq=False)
class _Case:
    """One metric on the prompts of both groups."""

    metric: MetricScores
    given: tuple[Value, ...]  # [prompts], values or reasons why they are missing
    values: Floats  # the same as numbers, NaN where missing
    there: Truths  # mask of `values` that are not missing
    is_1: Truths  # [prompts that have a value], whether a prompt is in group 1
    predicted: Truths | None  # held-out predictions for the same prompts; None where none can be made
    untested: str | None
    columns: tuple[_Column, ...]

    @property
    def scores(self) -> Floats:
        """Values of the prompts that have one."""
        return self.values[self.there]

    @property
    def folds(self) -> int:
        """Number of cross-validation folds: as many as the smaller group allows."""
        return min(FOLDS, int(self.is_1.sum()), int((~self.is_1).sum()))


def contrast_groups(
    scores: PromptScores,
    labels: Labels,
    *,
    resamples: int = 10_000,
    seed: int = 0,
    progress: Callable[[int], None] = lambda resamples: None,
) -> LabelStudy:
    """Contrast two groups of prompts by every metric.

    Args:
        labels: Labels of these prompts; those without one are excluded.

    Raises:
        MissingExtra: scikit-learn is not installed.
    """
    chosen = [place for place, name in enumerate(scores.prompt_ids) if name in labels.is_1]
    names = [scores.prompt_ids[place] for place in chosen]
    is_1 = np.array([labels.is_1[name] for name in names], bool)
    columns = {
        column: np.array([own.get(name, np.nan) for name in names], np.float64)
        for column, own in labels.columns.items()
    }
    cases = [
        _case(metric, [metric.values[place] for place in chosen], is_1, columns, scores.prompt_bytes[chosen], seed)
        for metric in scores.metrics
    ]
    draws = _resampled(cases, len(names), resamples, seed, progress)
    found = [_contrast(case, own) for case, own in zip(cases, draws, strict=True)]
    adjusted = holm([np.nan if each.p is None else each.p for each in found])
    return LabelStudy(
        system=scores.system,
        submission_id=scores.submission_id,
        result_id=scores.result_id,
        suite=scores.suite,
        profile=scores.profile,
        k=scores.k,
        labels=labels.source,
        group_1=labels.group_1,
        group_0=labels.group_0,
        n1=int(is_1.sum()),
        n0=int((~is_1).sum()),
        left_out=dict(labels.left_out),
        level=LEVEL,
        resamples=resamples,
        seed=seed,
        divbench=package_version(),
        contrasts=tuple(
            each if each.p is None else replace(each, p_holm=float(p)) for each, p in zip(found, adjusted, strict=True)
        ),
    )


def _case(
    metric: MetricScores,
    given: Sequence[Value],
    is_1: Truths,
    columns: Mapping[str, Floats],
    prompt_bytes: Floats,
    seed: int,
) -> _Case:
    values = np.array([np.nan if isinstance(value, Missing) else value for value in given], np.float64)
    there = np.isfinite(values)
    own = is_1[there]
    if len(is_1) and is_1.all() | ~is_1.any():
        untested = "all labels are equal"
    elif min(own.sum(), (~own).sum()) < 2:
        untested = "fewer than two prompts of a group have a value"
    elif is_constant(values[there]):
        untested = "the metric is constant"
    else:
        untested = None
    made = _Case(
        metric,
        tuple(given),
        values,
        there,
        own,
        None,
        untested,
        tuple(_column(name, values, numbers, prompt_bytes) for name, numbers in columns.items()),
    )
    if untested:
        return made
    return replace(made, predicted=held_out_predictions(made.scores, own, folds=made.folds, seed=seed))


def _column(name: str, values: Floats, numbers: Floats, prompt_bytes: Floats) -> _Column:
    there = np.isfinite(values) & np.isfinite(numbers)
    y, z = numbers[there], prompt_bytes[there]
    if len(y) < FEWEST_CORRELATED:
        return _Column(name, there, y, z, f"fewer than {FEWEST_CORRELATED} prompts have both")
    constant = [what for what, each in (("metric", values[there]), ("column", y)) if is_constant(each)]
    return _Column(name, there, y, z, f"constant: {' and '.join(constant)}" if constant else None)


def _measures(case: _Case, weights: Floats) -> Floats:
    """Compute AUROC, accuracy, macro-F1 and four correlations per column, [resamples, measures]; NaN if undefined."""
    nothing = np.full(len(weights), np.nan)
    found = [nothing] * 3
    if case.predicted is not None:
        own = weights[:, case.there]
        more = -case.scores if case.metric.direction < 0 else case.scores
        with np.errstate(invalid="ignore"):
            accuracy = (own @ (case.is_1 == case.predicted)) / own.sum(axis=1)
        found = [agreement.roc_auc(more, case.is_1, own), accuracy, macro_f1(case.is_1, case.predicted, own)]
    for column in case.columns:
        if column.untested:
            found += [nothing] * 4
        else:
            found += correlations(case.values[column.there], column.y, column.z, weights[:, column.there])
    return np.column_stack(found)


def _resampled(
    cases: Sequence[_Case], prompts: int, resamples: int, seed: int, progress: Callable[[int], None]
) -> list[Floats]:
    """Compute the measures of each case, [1 + resamples, measures]; the first row is that of the original prompts."""
    found = [[_measures(case, agreement.ones(prompts))] for case in cases]
    step = max(1, _CELLS_AT_ONCE // max(1, prompts))
    for block, start in enumerate(range(0, resamples, step)):
        size = min(step, resamples - start)
        own_seed = int(np.random.SeedSequence([seed, block]).generate_state(1)[0])
        weights = resample_weights(prompts, resamples=size, seed=own_seed).astype(np.float64)
        for case, made in zip(cases, found, strict=True):
            made.append(_measures(case, weights))
        progress(size)
    return [np.concatenate(made) for made in found]


def _contrast(case: _Case, draws: Floats) -> LabelContrast:
    one, zero = case.scores[case.is_1], case.scores[~case.is_1]
    test, untested = None, case.untested
    if untested is None and is_constant(one) and is_constant(zero):
        untested = "no value varies within a group: no t"
    elif untested is None:
        test = welch(one, zero)
    left_out = Counter(
        value.reason if isinstance(value, Missing) else "not a number"
        for value, there in zip(case.given, case.there, strict=True)
        if not there
    )
    return LabelContrast(
        metric=case.metric.metric,
        version=case.metric.version,
        direction=case.metric.direction,
        origin=case.metric.origin,
        signature=case.metric.signature,
        n1=len(one),
        n0=len(zero),
        left_out=left_out.total(),
        reasons=dict(sorted(left_out.items())),
        mean1=float(np.mean(one)) if len(one) else None,
        mean0=float(np.mean(zero)) if len(zero) else None,
        t=test.t if test else None,
        df=test.df if test else None,
        p=test.p if test else None,
        p_holm=None,
        stars=stars(test.p if test else None),
        d=test.d if test else None,
        auroc=estimate(draws[:, 0], clusters=len(case.scores)),
        classifier=_classifier(case, draws),
        untested=untested,
        correlations=tuple(
            _correlation(column, draws[:, 3 + 4 * place : 7 + 4 * place]) for place, column in enumerate(case.columns)
        ),
    )


def _classifier(case: _Case, draws: Floats) -> Classifier | None:
    if case.predicted is None:
        return None
    threshold = best_threshold(case.scores, case.is_1)
    share = float(np.mean(case.is_1))
    return Classifier(
        folds=case.folds,
        accuracy=estimate(draws[:, 1], clusters=len(case.scores)),
        majority=max(share, 1 - share),
        macro_f1=estimate(draws[:, 2], clusters=len(case.scores)),
        threshold=threshold.cut if np.isfinite(threshold.cut) else None,
        above=threshold.above,
    )


def _correlation(column: _Column, draws: Floats) -> Correlation:
    there = int(column.there.sum())
    pearson, spearman, partial_pearson, partial_spearman = (
        estimate(draws[:, place], clusters=there) for place in range(4)
    )
    untested = column.untested
    if untested is None and (partial_pearson.value is None or partial_spearman.value is None):
        untested = "no partial correlation: the length is constant, or determines one of them"
    return Correlation(
        column=column.name,
        n=there,
        left_out=len(column.there) - there,
        pearson=pearson,
        spearman=spearman,
        partial_pearson=partial_pearson,
        partial_spearman=partial_spearman,
        untested=untested,
    )
