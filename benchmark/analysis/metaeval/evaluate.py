"""Evaluates metrics on one task against labels and human scores, with intervals over contexts, all on the same sets."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmark.analysis.metaeval import agreement
from benchmark.analysis.metaeval.decoding import Draws, Ranking, ranking_test, resampled_spearman
from benchmark.analysis.metaeval.labelled import Labelled
from benchmark.analysis.metaeval.scores import Scores
from benchmark.scoring.estimate import Estimate, Resampling, estimate, weights_with_original

Floats = NDArray[np.float64]
_AT_ONCE = 250  # resamples; so that a block fits into the processor's cache
# Contexts: p-values from fewer find a difference too often where there is none. Simulated at 5%, for Spearman's rho on
# contexts of conTest: in 26% of cases from 5 contexts, 14% from 8, 11% from 12, 9% from 20 and 8% from 100.
FEWEST_TESTED = 20

MEASURES: tuple[tuple[str, str], ...] = (
    ("spearman", "Spearman's rho with the label"),
    ("pearson", "Pearson's r with the label"),
    ("kendall", "Kendall's tau-b with the label"),
    ("oca_directional", "optimal classification accuracy of 'high above the threshold', the paper's definition"),
    ("oca_folded", "the same or its opposite, whichever is better: the published code; at least the larger class"),
    ("roc_auc", "area under the ROC curve, ties as half"),
    ("pair_accuracy", "pairs of sets of one context in the right order, ties as half"),
    ("partial_spearman", "Spearman's rho with the label, the mean length of a response in bytes held fixed"),
    ("human_spearman", "Spearman's rho with the mean human score"),
    ("human_pearson", "Pearson's r with the mean human score"),
)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One metric on one task."""

    metric: str
    origin: str
    sets: int  # number of sets evaluated: those that all compared metrics have a score for
    missing: dict[str, int]  # sets without a score of this metric, by reason
    left_out: int  # sets that have a score of this metric, left out because another lacks it
    measures: dict[str, Estimate]  # estimates by name, see `MEASURES`


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two metrics on one task: the measure of `a` minus that of `b`, on the same sets and resamples."""

    a: str
    b: str
    measure: str
    difference: Estimate


@dataclass(frozen=True, slots=True)
class DecodingTest:
    """Tevet & Berant's tests of one metric against a decoding parameter; see decoding.py."""

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


def evaluate_task(
    task: Labelled,
    columns: Sequence[Scores],
    *,
    against: str | None = None,
    resampling: Resampling | None = None,
) -> TaskReport:
    """Compute every measure of every metric on one task.

    A set that lacks a score of one metric is left out for all metrics, so that all are measured on the same sets. A
    metric without a score of any set has no measures, and leaves out no set. Sets of a single context give no interval,
    and those of fewer than `FEWEST_TESTED` contexts no p-value; for the accuracy on pairs, only contexts with pairs
    count.
    """
    how = resampling or Resampling()
    values = {each.name: each.column(task.set_ids) for each in columns}
    there = {name: np.isfinite(column) for name, column in values.items()}
    scored = {name: column for name, column in values.items() if there[name].any()}
    keep = np.logical_and.reduce([there[name] for name in scored or values])
    kept = task.rows(keep)
    rows, contexts = len(kept.set_ids), len(set(kept.contexts))
    pairs = agreement.pairs_within(kept.contexts, kept.labels)
    with_pairs = len({kept.contexts[row] for row in pairs.first.tolist()})
    draws: dict[str, dict[str, Floats]] = {}
    ceiling = None
    if rows:
        weights = weights_with_original(rows, clusters=kept.contexts, resamples=how.resamples, seed=how.seed)
        view = _Sheet.of(kept, pairs, weights)
        draws = {name: view.measures(column[keep]) for name, column in scored.items()}
        ceiling = view.noise_ceiling()

    def estimated(measure: str, found: Floats, chance: float | None) -> Estimate:
        clusters = with_pairs if measure == "pair_accuracy" else contexts
        found = found if clusters > 1 else found[:1]  # of one cluster, all resamples are alike
        return estimate(found, chance if clusters >= FEWEST_TESTED else None, clusters=clusters)

    evaluations = tuple(
        Evaluation(
            metric=each.name,
            origin=each.origin,
            sets=rows if each.name in scored else 0,
            missing=each.reasons(task.set_ids),
            left_out=int((there[each.name] & ~keep).sum()),
            measures={m: estimated(m, found, chance_of(m)) for m, found in draws.get(each.name, {}).items()},
        )
        for each in columns
    )
    comparisons = tuple(
        Comparison(
            each.name,
            against,
            measure,
            estimated(measure, found - draws[against][measure], 0.0),
        )
        for each in columns
        if against in draws and each.name != against and each.name in draws
        for measure, found in draws[each.name].items()
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
        decoding=tuple(_decoding(name, column[keep], kept.labels, how.seed) for name, column in scored.items())
        if task.label == "graded" and _can_be_drawn(kept.labels)
        else (),
    )


_DRAWN = 200  # sets in a draw, as in the paper
_FEWEST_DECODED = 20


def _can_be_drawn(labels: Floats) -> bool:
    """Whether there are enough sets, and enough disjoint pairs of sets with different labels."""
    counts = np.unique(labels, return_counts=True)[1]
    return bool(len(labels) >= _FEWEST_DECODED and len(labels) - counts.max() >= 2)


def _decoding(name: str, scores: Floats, labels: Floats, seed: int) -> DecodingTest:
    """Draw 200 sets as in the paper; of fewer than 400 draw half, since larger draws would be nearly alike."""
    size = _DRAWN if len(scores) >= 2 * _DRAWN else len(scores) // 2
    resampled = resampled_spearman(scores, labels, size=size, seed=seed)
    return DecodingTest(name, resampled, ranking_test(scores, labels, seed=seed))


@dataclass(frozen=True, slots=True, eq=False)
class _Sheet:
    """Values shared by all metrics of a task: blocks of weights, each with the ranks of labels, lengths and ratings."""

    task: Labelled
    pairs: agreement.Pairs
    parts: tuple["_Part", ...]

    @staticmethod
    def of(task: Labelled, pairs: agreement.Pairs, weights: Floats) -> "_Sheet":
        parts = []
        for start in range(0, len(weights), _AT_ONCE):
            part = weights[start : start + _AT_ONCE]
            label, length = agreement.ranks(task.labels, part), agreement.ranks(task.lengths, part)
            human = None if task.human is None else agreement.ranks(task.human, part)
            parts.append(_Part(part, label, length, human, agreement.pearson(label, length, part)))
        return _Sheet(task, pairs, tuple(parts))

    def measures(self, scores: Floats) -> dict[str, Floats]:
        """Compute measures by name, [1 + resamples]; the first value is that of the original data."""
        found = [self._measures(scores, part) for part in self.parts]
        return {name: np.concatenate([each[name] for each in found]) for name in found[0]}

    def _measures(self, scores: Floats, part: "_Part") -> dict[str, Floats]:
        task, weights = self.task, part.weights
        ranked = agreement.ranks(scores, weights)
        rho = agreement.pearson(ranked, part.label, weights)
        made = {
            "spearman": rho,
            "pearson": agreement.pearson(scores, task.labels, weights),
            "kendall": agreement.kendall(scores, task.labels, weights),
        }
        if task.label == "binary":
            high = task.labels == 1
            made["oca_directional"] = agreement.optimal_accuracy(scores, high, weights, folded=False)
            made["oca_folded"] = agreement.optimal_accuracy(scores, high, weights, folded=True)
            made["roc_auc"] = agreement.roc_auc(scores, high, weights)
        if len(self.pairs.first):
            made["pair_accuracy"] = agreement.pair_accuracy(scores, self.pairs, weights)
        made["partial_spearman"] = agreement.partial(
            rho, agreement.pearson(ranked, part.length, weights), part.label_and_length
        )
        if part.human is not None and task.human is not None:
            made["human_spearman"] = agreement.pearson(ranked, part.human, weights)
            made["human_pearson"] = agreement.pearson(scores, task.human, weights)
        return made

    def noise_ceiling(self) -> Floats | None:
        """Compute the noise ceiling, [1 + resamples]; None without human scores."""
        human, spread = self.task.human, self.task.human_spread
        if human is None or spread is None:
            return None
        return np.asarray(
            np.sqrt(
                np.concatenate(
                    [agreement.reliability(human, spread, part.weights, self.task.raters) for part in self.parts]
                )
            )
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    weights: Floats
    label: Floats
    length: Floats
    human: Floats | None
    label_and_length: Floats


_CHANCE = {"roc_auc": 0.5, "pair_accuracy": 0.5}
_NO_P = ("oca_directional", "oca_folded")  # the best of many thresholds has no single chance level


def chance_of(measure: str) -> float | None:
    """Return the value that an uninformative metric would get; None where there is no single such value."""
    return None if measure in _NO_P else _CHANCE.get(measure, 0.0)
