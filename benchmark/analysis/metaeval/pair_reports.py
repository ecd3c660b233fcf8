"""Accuracies of scorers on GSSBench's prompt pairs, and their differences from a chosen scorer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmark.analysis.estimate import Resampling
from benchmark.analysis.metaeval.prompt_pairs import (
    Accuracy,
    PairComparison,
    PairEvaluation,
    Pairs,
    compare_pairs,
    evaluate_pairs,
)
from benchmark.analysis.metaeval.prompt_scores import sanity_scores, scores_of_result
from benchmark.analysis.metaeval.scores import file_scores
from benchmark.metrics import METRICS
from benchmark.metrics.metric import Missing
from datasets_build.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Scorer:
    """Scores of prompts, larger for a larger generation space; NaN or absent where missing."""

    name: str
    scores: Mapping[str, float]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PairReport:
    """The outcome of `divbench metrics metaeval gssbench`."""

    evaluations: dict[str, PairEvaluation]
    against: str | None  # name of the scorer to compare with; None for no comparison
    comparisons: dict[str, PairComparison]  # differences by scorer from the scorer named by `against`
    problems: dict[str, list[str]]


def collect(pairs: Pairs, results: Path | None, files: Sequence[Path], lower_is_more_diverse: bool) -> list[Scorer]:
    """Collect the scorers to evaluate: metrics of a result, columns of files, and reference points.

    Args:
        files: Files with `prompt_id` and columns of numbers.

    Raises:
        InputError: A file or folder cannot be used.
    """
    made: list[Scorer] = []
    if results is not None:
        made += scorers_of_result(results)
    known = {row[side] for rows in pairs.values() for row in rows for side in ("a_id", "b_id")}
    for path in files:
        for each in file_scores(path, "prompt_id", known, lower_is_more_diverse=lower_is_more_diverse, unit="prompt"):
            there = {prompt: value for prompt, value in each.values.items() if not isinstance(value, Missing)}
            made.append(Scorer(each.name, there, each.problems))
    return made + [Scorer(name, scores) for name, scores in sanity_scores(pairs).items()]


def scorers_of_result(folder: Path) -> list[Scorer]:
    """Return a result's metrics that have a direction, with signs such that larger is more diverse.

    Raises:
        InputError: As in `scores_of_result`.
    """
    direction = {metric.id: metric.direction for metric in METRICS}
    return [
        Scorer(name, {prompt: sign * value for prompt, value in scores.items()})
        for name, scores in scores_of_result(folder).items()
        if (sign := direction.get(name, 0))
    ]


def evaluate(pairs: Pairs, scorers: Sequence[Scorer], against: str | None, how: Resampling) -> PairReport:
    """Evaluate every scorer on every split.

    Raises:
        ConfigurationError: Two scorers have the same name, or none is named `against`.
    """
    by_name = {each.name: each for each in scorers}
    if len(by_name) < len(scorers):
        raise ConfigurationError("two scorers have the same name", "rename a file or a column")
    if against is not None and against not in by_name:
        raise ConfigurationError(f"there are no scores named {against!r}", f"one of {', '.join(by_name)}")

    def of(each: Scorer) -> PairEvaluation:
        return evaluate_pairs(pairs, each.scores, resamples=how.resamples, seed=how.seed)

    def less(each: Scorer) -> PairComparison:
        other = by_name[str(against)].scores
        return compare_pairs(pairs, each.scores, other, resamples=how.resamples, seed=how.seed)

    return PairReport(
        evaluations={each.name: of(each) for each in scorers},
        comparisons={each.name: less(each) for each in scorers if against is not None and each.name != against},
        against=against,
        problems={each.name: list(each.problems) for each in scorers if each.problems},
    )


def accuracies(found: PairEvaluation) -> dict[str, Accuracy]:
    """Return the accuracy of each split and the means over splits; length-balanced only where it is defined."""
    made = {split: each.accuracy for split, each in found.splits.items()}
    made |= {"mean of splits": found.mean_of_splits, "pair-weighted": found.pair_weighted}
    return made if found.length_balanced is None else made | {"length-balanced": found.length_balanced}
