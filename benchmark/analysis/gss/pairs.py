"""Evaluates how well a score of prompts orders the pairs of *gssbench* (arXiv:2510.12699).

A scorer gives every prompt a number; a pair is ordered correctly if `b`, the prompt with the larger generation space,
has a strictly greater number than `a`. Pairs of one set share texts, so intervals resample whole sets (`set_id`). A few
short texts occur in several sets of *subset* and *intersection* (datasets_build/gssbench/rows.py); these sets are
treated as independent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from benchmark.analysis.metaeval import agreement
from benchmark.analysis.metaeval.scores import file_scores
from benchmark.metrics import METRICS
from benchmark.metrics.metric import Missing
from benchmark.scoring.estimate import LEVEL, Estimate, Floats, estimate, weights_with_original
from benchmark.scoring.results import PER_PROMPT_FILE, require_result
from datasets_build.gssbench import SPLITS
from divbench.core.errors import InputError

PREVAILS = 0.95
"""Share of pairs from which a split counts as one where the longer (or the shorter) prompt has the larger space."""
TIE = 1e-12  # relative: sums of equal values in another order differ by this much

Pairs = Mapping[str, Sequence[Mapping[str, Any]]]  # rows of datasets_build/gssbench/rows.py, by split


@dataclass(frozen=True, slots=True)
class Scorer:
    """Scores of prompts, larger for a larger generation space; NaN or absent where missing."""

    name: str
    scores: Mapping[str, float]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Shares of pairs that are ordered correctly, tied or missing."""

    strict: Estimate  # share of pairs with the greater score on `b`; ties are wrong, as published
    half: Estimate  # the same with ties as half: `strict` plus half of `tie_rate`
    tie_rate: Estimate  # share of pairs whose scores are equal within 1e-12 of the greater
    missing_rate: Estimate  # share of pairs with a score that is missing or not finite: wrong, as published, not tied


@dataclass(frozen=True, slots=True)
class SplitResult:
    """The accuracy on one split."""

    pairs: int
    sets: int
    missing: int  # pairs of which a score is missing
    ties: int  # pairs whose scores are equal
    accuracy: Accuracy  # see `Accuracy`
    longer_is_larger: float  # share of pairs whose prompt with the larger space has more UTF-8 bytes
    shorter_is_larger: float  # share of pairs whose prompt with the larger space has fewer UTF-8 bytes
    # Correlation of the score, greater for a larger space, with the prompt's UTF-8 bytes, over the split's different
    # prompts; resampled by the set in which each prompt first occurs.
    length_pearson: Estimate
    length_spearman: Estimate  # the same for ranks


@dataclass(frozen=True, slots=True)
class PairEvaluation:
    """The accuracy of a scorer on all splits."""

    splits: dict[str, SplitResult]
    mean_of_splits: Accuracy  # the unweighted mean over splits: the published overall accuracy
    pair_weighted: Accuracy
    # Mean of two means, over the splits `longer` and the splits `shorter`, so that a scorer that looks only at length
    # gets one half. None where either has no split.
    length_balanced: Accuracy | None
    longer: tuple[str, ...]  # splits in which the longer prompt has the larger space in at least 95% of pairs
    shorter: tuple[str, ...]  # splits whose shorter prompt has the larger space. A split may be in neither.
    level: float
    resamples: int
    seed: int

    @property
    def accuracies(self) -> dict[str, Accuracy]:
        """The accuracy of each split and the means over splits; length-balanced only where it is defined."""
        accuracies = {split: result.accuracy for split, result in self.splits.items()}
        accuracies |= {"mean of splits": self.mean_of_splits, "pair-weighted": self.pair_weighted}
        return accuracies if self.length_balanced is None else accuracies | {"length-balanced": self.length_balanced}


@dataclass(frozen=True, slots=True)
class PairComparison:
    """Two scorers on the same resamples: first minus second, by the name of a split or of an overall accuracy."""

    strict: dict[str, Estimate]
    half: dict[str, Estimate]  # differences of accuracy with ties as half


def load_pairs() -> dict[str, list[dict[str, Any]]]:
    """Load the pairs of the six splits, from a local build or generated."""
    from datasets_build.load import load_table

    return {split: load_table("gssbench", split).to_pylist() for split in SPLITS}


def evaluate_pairs(
    pairs: Pairs, scores: Mapping[str, float], *, resamples: int = 1000, seed: int = 0
) -> PairEvaluation:
    """Evaluate how well scores by prompt id order pairs of prompts; each split adds its index to the seed.

    A prompt that is absent, or whose score is not finite, is missing.
    """
    outcomes = _outcomes(pairs, scores, resamples, seed)
    rates, longer, shorter = _overall(outcomes)
    overall = {name: _accuracy(numbers) for name, numbers in rates.items()}
    splits = {}
    for split, outcome in outcomes.items():
        counts = (int(outcome.of[0, 0]), outcome.sets, int(outcome.right[0, 3]), int(outcome.right[0, 2]))
        correlations = map(estimate, _length_correlations(pairs[split], scores, resamples, seed))
        accuracy = _accuracy(outcome.rates)
        splits[split] = SplitResult(*counts, accuracy, outcome.longer, outcome.shorter, *correlations)
    return PairEvaluation(
        splits=splits,
        mean_of_splits=overall["mean_of_splits"],
        pair_weighted=overall["pair_weighted"],
        length_balanced=overall.get("length_balanced"),
        longer=longer,
        shorter=shorter,
        level=LEVEL,
        resamples=resamples,
        seed=seed,
    )


def compare_pairs(
    pairs: Pairs, first: Mapping[str, float], second: Mapping[str, float], *, resamples: int = 1000, seed: int = 0
) -> PairComparison:
    """Compare the accuracies of two scorers on the same resamples of sets."""
    rates = []
    for scores in (first, second):
        outcomes = _outcomes(pairs, scores, resamples, seed)
        rates.append({split: outcome.rates for split, outcome in outcomes.items()} | _overall(outcomes)[0])
    gaps = {name: rates[0][name] - rates[1][name] for name in rates[0]}
    return PairComparison(*({name: estimate(gap[:, i], chance=0.0) for name, gap in gaps.items()} for i in (0, 1)))


@dataclass(frozen=True, slots=True, eq=False)
class _Outcome:
    """A split under a scorer."""

    right: Floats  # [1 + resamples, numbers], numerators of `Accuracy`; the first row is that of all pairs
    of: Floats  # [1 + resamples, 1], numbers of pairs: their denominator
    sets: int
    longer: float  # share of pairs whose larger space has the longer prompt
    shorter: float  # share of pairs whose larger space has the shorter prompt

    @property
    def rates(self) -> Floats:
        """The numbers as shares, [1 + resamples, numbers]; NaN if there are no pairs."""
        with np.errstate(invalid="ignore"):
            return self.right / self.of


def _outcomes(pairs: Pairs, scores: Mapping[str, float], resamples: int, seed: int) -> dict[str, _Outcome]:
    return {split: _outcome(rows, scores, resamples, seed + index) for index, (split, rows) in enumerate(pairs.items())}


def _outcome(rows: Sequence[Mapping[str, Any]], scores: Mapping[str, float], resamples: int, seed: int) -> _Outcome:
    a, b = (np.array([scores.get(row[side], np.nan) for row in rows]) for side in ("a_id", "b_id"))
    finite = np.isfinite(a) & np.isfinite(b)
    a, b = np.where(finite, a, 0.0), np.where(finite, b, 0.0)
    tied = finite & (np.abs(a - b) <= TIE * np.maximum(np.abs(a), np.abs(b)))
    strict = finite & (a < b) & ~tied
    numbers = np.column_stack([strict, strict + 0.5 * tied, tied, ~finite]).astype(np.float64)
    sets = [row["set_id"] for row in rows]
    weights = weights_with_original(len(rows), clusters=sets, resamples=resamples, seed=seed)
    lengths = {side: np.array([len(row[side].encode()) for row in rows]) for side in ("a", "b")}
    return _Outcome(
        right=weights @ numbers,
        of=weights.sum(axis=1, keepdims=True).astype(np.float64),
        sets=len(set(sets)),
        longer=float(np.mean(lengths["b"] > lengths["a"])),
        shorter=float(np.mean(lengths["b"] < lengths["a"])),
    )


def _length_correlations(
    rows: Sequence[Mapping[str, Any]], scores: Mapping[str, float], resamples: int, seed: int
) -> tuple[Floats, Floats]:
    """Compute Pearson's and Spearman's correlation of score and length over all prompts, and over each resample."""
    texts: dict[str, tuple[str, str]] = {}
    for row in rows:
        for side in ("a", "b"):
            texts.setdefault(row[f"{side}_id"], (row[side], row["set_id"]))
    values = np.array([scores.get(prompt, np.nan) for prompt in texts])
    finite = np.isfinite(values)
    sets = [set_id for _, set_id in texts.values()]
    weights = weights_with_original(len(texts), clusters=sets, resamples=resamples, seed=seed)[:, finite]
    if not finite.any():
        return np.full(len(weights), np.nan), np.full(len(weights), np.nan)
    lengths = np.array([len(text.encode()) for text, _ in texts.values()], np.float64)[finite]
    return agreement.pearson(values[finite], lengths, weights), agreement.spearman(values[finite], lengths, weights)


def _overall(outcomes: Mapping[str, _Outcome]) -> tuple[dict[str, Floats], tuple[str, ...], tuple[str, ...]]:
    """Return the overall accuracies, each [1 + resamples, numbers], and the splits `longer` and `shorter`."""
    longer = tuple(split for split, outcome in outcomes.items() if outcome.longer >= PREVAILS)
    shorter = tuple(split for split, outcome in outcomes.items() if outcome.shorter >= PREVAILS)
    rates = {split: outcome.rates for split, outcome in outcomes.items()}
    right = sum((outcome.right for outcome in outcomes.values()), np.zeros(()))
    of = sum((outcome.of for outcome in outcomes.values()), np.zeros(()))
    with np.errstate(invalid="ignore"):
        overall = {"mean_of_splits": np.mean(list(rates.values()), axis=0), "pair_weighted": right / of}
    if longer and shorter:
        halves = [np.mean([rates[split] for split in group], axis=0) for group in (longer, shorter)]
        overall["length_balanced"] = np.mean(halves, axis=0)
    return overall, longer, shorter


def _accuracy(rates: Floats) -> Accuracy:
    return Accuracy(*map(estimate, rates.T))


def sanity_scores(pairs: Pairs, seed: int = 0) -> dict[str, dict[str, float]]:
    """Return reference scorers by name, whose accuracy is known, to check an evaluation against.

    *prompt_length*: characters of the prompt. *constant*: all pairs tie. *random*: uniform. *oracle*: orders all pairs.
    """
    texts = {row[f"{side}_id"]: row[side] for rows in pairs.values() for row in rows for side in ("a", "b")}
    random = np.random.default_rng(seed).random(len(texts))
    return {
        "prompt_length": {prompt: float(len(text)) for prompt, text in texts.items()},
        "constant": dict.fromkeys(texts, 0.0),
        "random": dict(zip(texts, random.tolist(), strict=True)),
        "oracle": _oracle(pairs, list(texts)),
    }


def _oracle(pairs: Pairs, prompts: Sequence[str]) -> dict[str, float]:
    """Return for each prompt the length of the longest chain of smaller spaces below it."""
    numbers = {prompt: i for i, prompt in enumerate(prompts)}
    ids = [(numbers[row["a_id"]], numbers[row["b_id"]]) for rows in pairs.values() for row in rows]
    a, b = np.array(ids, np.int64).reshape(-1, 2).T
    levels = np.zeros(len(prompts))
    for _ in range(len(prompts)):
        raised = levels.copy()
        np.maximum.at(raised, b, levels[a] + 1)
        if (raised == levels).all():
            return dict(zip(prompts, levels.tolist(), strict=True))
        levels = raised
    raise ValueError("the pairs contradict each other: a chain of smaller spaces returns to its beginning")


def scorers_of_result(folder: Path) -> list[Scorer]:
    """Return a result's metrics that have a direction, with signs such that larger is more diverse."""
    result = require_result(folder)
    if result.suite != "gssbench":
        raise InputError(f"{folder} is a result of {result.suite}", "give one of the suite gssbench")
    direction = {metric.id: metric.direction for metric in METRICS}
    metrics = [score.metric for score in result.scores if direction.get(score.metric)]
    table = pq.read_table(folder / PER_PROMPT_FILE, columns=["prompt_id", *metrics])
    prompts: list[Any] = table["prompt_id"].to_pylist()
    scorers = []
    for metric in metrics:
        values = table[metric].to_numpy(zero_copy_only=False).astype(np.float64)  # null becomes NaN
        scorers.append(Scorer(metric, dict(zip(prompts, (direction[metric] * values).tolist(), strict=True))))
    return scorers


def scorers_of_file(path: Path, pairs: Pairs) -> list[Scorer]:
    """Return the columns of a file with `prompt_id`, larger for a larger generation space."""
    known = {row[side] for rows in pairs.values() for row in rows for side in ("a_id", "b_id")}
    return [
        Scorer(
            column.name,
            {prompt: value for prompt, value in column.values.items() if not isinstance(value, Missing)},
            column.problems,
        )
        for column in file_scores(path, "prompt_id", known, unit="prompt")
    ]
