"""Evaluates metrics against labels and human scores, with intervals over contexts: task by task, and over all tasks."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmark.analysis.metaeval import agreement
from benchmark.analysis.metaeval.agreement import Draws, Ranking, ranking_test, resampled_spearman
from benchmark.analysis.metaeval.labelled import Floats, Labelled
from benchmark.analysis.metaeval.scores import Scores
from benchmark.scoring.estimate import Estimate, Resampling, estimate, weights_with_original

_AT_ONCE = 250  # resamples; so that a block fits into the processor's cache
# Contexts: p-values from fewer find a difference too often where there is none. Simulated at 5%, for Spearman's rho on
# contexts of conTest: in 26% of cases from 5 contexts, 14% from 8, 11% from 12, 9% from 20 and 8% from 100.
FEWEST_TESTED = 20
_FEWEST_DECODED = 20
_RESAMPLING = Resampling()

# Values that an uninformative metric would get; the optimal accuracy, best of many thresholds, has no single one.
# *oca_directional*: optimal classification accuracy of 'high above the threshold', as the paper defines it;
# *oca_folded*: that or its opposite, as in its code. *pair_accuracy*: of sets of one context. *partial_spearman*: given
# the mean length of a response.
CHANCE: Mapping[str, float | None] = {
    "spearman": 0.0,
    "pearson": 0.0,
    "kendall": 0.0,
    "oca_directional": None,
    "oca_folded": None,
    "roc_auc": 0.5,
    "pair_accuracy": 0.5,
    "partial_spearman": 0.0,
    "human_spearman": 0.0,
    "human_pearson": 0.0,
}
OVERALL = ("spearman", "oca_directional", "roc_auc")


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One metric on one task."""

    metric: str
    origin: str
    sets: int  # number of sets evaluated: those that all compared metrics have a score for
    missing: dict[str, int]  # sets without a score of this metric, by reason
    left_out: int  # sets that have a score of this metric, left out because another lacks it
    measures: dict[str, Estimate]  # estimates by name, see `CHANCE`


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two metrics on one task: the measure of `a` minus that of `b`, on the same sets and resamples."""

    a: str
    b: str
    measure: str
    difference: Estimate


@dataclass(frozen=True, slots=True)
class DecodingTest:
    """Tevet & Berant's tests of one metric against a decoding parameter; see agreement.py."""

    metric: str
    resampled: Draws
    ranking: Ranking


@dataclass(frozen=True, slots=True)
class TaskReport:
    """A task's evaluations."""

    task: str  # name of the task, such as `contest/story_gen`
    label: str  # *binary* or *graded*
    label_name: str  # name of the label, such as `temperature`
    sets: int
    contexts: int  # number of different contexts among the evaluated sets
    pairs: int  # number of pairs of sets of one context with different labels
    # Correlation with the mean human score that the raters' own disagreement allows; None where there are no human
    # scores.
    noise_ceiling: Estimate | None
    evaluations: tuple[Evaluation, ...]
    comparisons: tuple[Comparison, ...]  # comparisons with the metric that was chosen to compare against
    # Decoding tests; empty unless labels are graded and there are enough sets to draw from.
    decoding: tuple[DecodingTest, ...]


@dataclass(frozen=True, slots=True)
class Overall:
    """The unweighted mean of a metric's measures over tasks with two labels, on the sets that all metrics scored."""

    metric: str
    tasks: int
    measures: dict[str, Estimate]
    # Differences from the metric to compare with; empty without such a metric, and for that metric.
    less: dict[str, Estimate]


def evaluate_task(
    task: Labelled,
    columns: Sequence[Scores],
    *,
    against: str | None = None,
    resampling: Resampling = _RESAMPLING,
) -> TaskReport:
    """Compute every measure of every metric on one task.

    A set that lacks a score of one metric is left out for all metrics, so that all are measured on the same sets. A
    metric without a score of any set has no measures, and leaves out no set. Sets of a single context give no interval,
    and those of fewer than `FEWEST_TESTED` contexts no p-value; for the accuracy on pairs, only contexts with pairs
    count.
    """
    values = {scores.name: scores.column(task.set_ids) for scores in columns}
    has_value = {name: np.isfinite(column) for name, column in values.items()}
    scored = {name: column for name, column in values.items() if has_value[name].any()}
    keep = np.logical_and.reduce([has_value[name] for name in scored or values])
    sample = task.rows(keep)
    rows, contexts = len(sample.set_ids), len(set(sample.contexts))
    pairs = agreement.pairs_within(sample.contexts, sample.labels)
    with_pairs = len({sample.contexts[row] for row in pairs.first.tolist()})
    most_frequent = max(Counter(sample.labels.tolist()).values(), default=0)  # sets of the rest make disjoint pairs
    draws: dict[str, dict[str, Floats]] = {}
    ceiling = None
    if rows:
        blocks = _blocks(sample, resampling)
        draws = {name: _measures(sample, pairs, column[keep], blocks) for name, column in scored.items()}
        ceiling = _noise_ceiling(sample, blocks)

    def estimated(measure: str, resampled: Floats, chance: float | None) -> Estimate:
        clusters = with_pairs if measure == "pair_accuracy" else contexts
        resampled = resampled if clusters > 1 else resampled[:1]  # of one cluster, all resamples are alike
        return estimate(resampled, chance if clusters >= FEWEST_TESTED else None, clusters=clusters)

    evaluations = tuple(
        Evaluation(
            metric=scores.name,
            origin=scores.origin,
            sets=rows if scores.name in scored else 0,
            missing=scores.reasons(task.set_ids),
            left_out=int((has_value[scores.name] & ~keep).sum()),
            measures={m: estimated(m, resampled, CHANCE[m]) for m, resampled in draws.get(scores.name, {}).items()},
        )
        for scores in columns
    )
    comparisons = tuple(
        Comparison(scores.name, against, measure, estimated(measure, resampled - draws[against][measure], 0.0))
        for scores in columns
        if against in draws and scores.name in draws and scores.name != against
        for measure, resampled in draws[scores.name].items()
    )
    return TaskReport(
        task=task.name,
        label=task.label,
        label_name=task.label_name,
        sets=len(task.set_ids),
        contexts=contexts,
        pairs=len(pairs.first),
        noise_ceiling=None if ceiling is None else estimated("noise_ceiling", ceiling, None),
        evaluations=evaluations,
        comparisons=comparisons,
        decoding=tuple(_decoding(name, column[keep], sample.labels, resampling.seed) for name, column in scored.items())
        if task.label == "graded" and rows >= _FEWEST_DECODED and rows - most_frequent >= 2
        else (),
    )


def _decoding(name: str, scores: Floats, labels: Floats, seed: int) -> DecodingTest:
    """Draw 200 sets as in the paper; of fewer than 400 draw half, since larger draws would be nearly alike."""
    resampled = resampled_spearman(scores, labels, size=min(200, len(scores) // 2), seed=seed)
    return DecodingTest(name, resampled, ranking_test(scores, labels, seed=seed))


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """Some resamples of a task, with what all metrics share: ranks, [resamples, rows]."""

    weights: Floats
    label: Floats
    length: Floats
    human: Floats | None
    label_and_length: Floats  # their correlation, [resamples]


def _blocks(task: Labelled, resampling: Resampling) -> list[_Block]:
    """Return the original data and its resamples by context, in blocks."""
    weights = weights_with_original(
        len(task.set_ids), clusters=task.contexts, resamples=resampling.resamples, seed=resampling.seed
    )
    blocks = []
    for start in range(0, len(weights), _AT_ONCE):
        part = weights[start : start + _AT_ONCE]
        label, length = agreement.ranks(task.labels, part), agreement.ranks(task.lengths, part)
        human = None if task.human is None else agreement.ranks(task.human, part)
        blocks.append(_Block(part, label, length, human, agreement.pearson(label, length, part)))
    return blocks


def _measures(task: Labelled, pairs: agreement.Pairs, scores: Floats, blocks: Sequence[_Block]) -> dict[str, Floats]:
    """Compute the measures of one metric, each [1 + resamples]; the first value is that of the original data."""
    parts = [_measures_of_block(task, pairs, scores, block) for block in blocks]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _measures_of_block(task: Labelled, pairs: agreement.Pairs, scores: Floats, block: _Block) -> dict[str, Floats]:
    weights = block.weights
    ranked = agreement.ranks(scores, weights)
    rho = agreement.pearson(ranked, block.label, weights)
    measures = {
        "spearman": rho,
        "pearson": agreement.pearson(scores, task.labels, weights),
        "kendall": agreement.kendall(scores, task.labels, weights),
    }
    if task.label == "binary":
        high = task.labels == 1
        measures["oca_directional"] = agreement.optimal_accuracy(scores, high, weights, folded=False)
        measures["oca_folded"] = agreement.optimal_accuracy(scores, high, weights, folded=True)
        measures["roc_auc"] = agreement.roc_auc(scores, high, weights)
    if len(pairs.first):
        measures["pair_accuracy"] = agreement.pair_accuracy(scores, pairs, weights)
    measures["partial_spearman"] = agreement.partial(
        rho, agreement.pearson(ranked, block.length, weights), block.label_and_length
    )
    if block.human is not None and task.human is not None:
        measures["human_spearman"] = agreement.pearson(ranked, block.human, weights)
        measures["human_pearson"] = agreement.pearson(scores, task.human, weights)
    return measures


def _noise_ceiling(task: Labelled, blocks: Sequence[_Block]) -> Floats | None:
    """Compute the noise ceiling, [1 + resamples]; None without human scores."""
    human, spread = task.human, task.human_spread
    if human is None or spread is None:
        return None
    parts = [agreement.reliability(human, spread, block.weights, task.raters) for block in blocks]
    return np.asarray(np.sqrt(np.concatenate(parts)))


def evaluate_overall(
    tasks: Sequence[Labelled],
    columns: Sequence[Scores],
    *,
    against: str | None = None,
    resampling: Resampling = _RESAMPLING,
) -> list[Overall]:
    """Compute means over the tasks with two labels; an empty list if there are fewer than two such tasks.

    Tasks without sets of both labels that all metrics scored are skipped; a metric without a score in any task has no
    mean, and skips no task. Tasks share sets and contexts, so they are resampled together, by context.
    """
    binary = [task for task in tasks if task.label == "binary"]
    scored = [scores for scores in columns if any(np.isfinite(scores.column(task.set_ids)).any() for task in binary)]
    samples = []
    for task in binary if scored else []:
        keep = np.logical_and.reduce([np.isfinite(scores.column(task.set_ids)) for scores in scored])
        if len(np.unique(task.labels[keep])) > 1:
            samples.append(task.rows(keep))
    if len(samples) < 2:
        return []
    # Different kinds of tasks share no context; each kind is resampled separately, so that its size does not vary.
    # A user's file has no kind, and may share contexts with any task.
    kinds = sorted({task.kind for task in samples})
    groups = [samples] if "" in kinds else [[task for task in samples if task.kind == kind] for kind in kinds]
    fewest = min(len({context for task in group for context in task.contexts}) for group in groups)
    resamples = resampling.resamples if fewest > 1 else 0
    weighted = [pair for group in groups for pair in _weighted(group, resamples, resampling.seed)]
    weighted.sort(key=lambda pair: samples.index(pair[0]))
    means = {scores.name: _means(weighted, scores) for scores in scored}
    is_tested = fewest >= FEWEST_TESTED

    def estimated(resampled: Floats, chance: float | None) -> Estimate:
        return estimate(resampled, chance if is_tested else None, clusters=fewest)

    overall = []
    for name, measures in means.items():
        other = means[against] if against in means and name != against else {}
        overall.append(
            Overall(
                name,
                len(samples),
                {measure: estimated(resampled, CHANCE[measure]) for measure, resampled in measures.items()},
                {measure: estimated(measures[measure] - resampled, 0.0) for measure, resampled in other.items()},
            )
        )
    return overall


def _weighted(tasks: Sequence[Labelled], resamples: int, seed: int) -> list[tuple[Labelled, Floats]]:
    """Return each task with the weights of its rows, [1 + resamples, rows], from resamples of all their contexts."""
    contexts = list(dict.fromkeys(context for task in tasks for context in task.contexts))
    weights = weights_with_original(len(contexts), resamples=resamples, seed=seed)
    index = {context: i for i, context in enumerate(contexts)}
    return [(task, weights[:, [index[context] for context in task.contexts]]) for task in tasks]


def _means(weighted: Sequence[tuple[Labelled, Floats]], scores: Scores) -> dict[str, Floats]:
    """Return the mean over tasks of each measure, [1 + resamples]."""
    by_task: dict[str, list[Floats]] = {name: [] for name in OVERALL}
    for task, weights in weighted:
        column, high = scores.column(task.set_ids), task.labels == 1
        by_task["spearman"].append(agreement.spearman(column, task.labels, weights))
        by_task["oca_directional"].append(agreement.optimal_accuracy(column, high, weights, folded=False))
        by_task["roc_auc"].append(agreement.roc_auc(column, high, weights))
    return {name: np.mean(values, axis=0) for name, values in by_task.items()}
