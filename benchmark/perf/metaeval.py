"""Cost of meta-evaluation: `python -m benchmark.perf.metaeval [--mirror DIR] [--profile offline]`.

First the bootstrap: Spearman, Kendall, AUC and folded OCA of synthetic scores on the same resamples, all at once by
weights, and one resample after the other by scipy, scikit-learn and a plain loop over thresholds; alternating in one
process, with the values compared before any time is printed. Then, if there is a mirror, the nine tasks with two
labels: the seconds of loading, scoring and evaluating with every metric of a profile, including intervals.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from scipy import stats
from sklearn.metrics import roc_auc_score

from benchmark.analysis.metaeval import agreement
from benchmark.analysis.metaeval.agreement import Floats
from benchmark.analysis.metaeval.evaluate import evaluate_task
from benchmark.analysis.metaeval.labelled import BINARY_TASKS, load_labelled
from benchmark.analysis.metaeval.overall import evaluate_overall
from benchmark.analysis.metaeval.scores import metric_scores
from benchmark.perf.script import Comparison, compare_ways, option_parser, print_document
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.estimate import resample_weights
from benchmark.scoring.inputs import computed, metrics_from
from benchmark.scoring.profiles import find_profile

TOLERANCE = 1e-9


def together(scores: Floats, labels: Floats, weights: Floats) -> Floats:
    """Compute the measures of all resamples by weights, [resamples, 4]."""
    high = labels == 1
    found = [
        agreement.spearman(scores, labels, weights),
        agreement.kendall(scores, labels, weights),
        agreement.roc_auc(scores, high, weights),
        agreement.optimal_accuracy(scores, high, weights, folded=True),
    ]
    return np.stack(found, axis=1)


def one_by_one(scores: Floats, labels: Floats, weights: Floats) -> Floats:
    """Compute the same with libraries, on the rows of each resample."""
    made = []
    for each in weights.astype(np.int64):
        rows = np.repeat(np.arange(len(scores)), each)
        x, y = scores[rows], labels[rows]
        correct = [np.mean((x > threshold) == y) for threshold in np.unique(x)]
        accuracy = max(*correct, 1 - min(correct), y.mean())
        made.append([stats.spearmanr(x, y)[0], stats.kendalltau(x, y)[0], roc_auc_score(y, x), accuracy])
    return np.array(made)


def bootstrap(rows: int, resamples: int, rounds: int) -> Comparison:
    """Measure both ways on synthetic scores, with two sets per context.

    Raises:
        ValueError: The values differ.
    """
    labels = np.tile([1.0, 0.0], rows // 2)
    scores = np.round(labels + np.random.default_rng(0).normal(size=len(labels)), 2)
    contexts = np.repeat(np.arange(rows // 2), 2).tolist()
    weights = resample_weights(len(labels), clusters=contexts, resamples=resamples).astype(np.float64)
    plain, package = (partial(way, scores, labels, weights) for way in (one_by_one, together))
    return compare_ways(plain, package, rounds, TOLERANCE, {"rows": len(labels), "resamples": resamples})


def nine_tasks(mirror: Path, profile: str) -> dict[str, Any]:
    """Score and evaluate the nine tasks, without caches; return numbers of different sets and texts, and seconds."""
    marks = [perf_counter()]
    tasks = [load_labelled(name, mirror=mirror) for name in BINARY_TASKS]
    marks.append(perf_counter())
    chosen = find_profile(profile)
    metrics = [each for each in computed(chosen.metrics()) if each.direction and each not in metrics_from("causal_lm")]
    columns = metric_scores(tasks, metrics, ScoringBackends(chosen))
    marks.append(perf_counter())
    for task in tasks:
        evaluate_task(task, columns)
    evaluate_overall(tasks, columns)
    marks.append(perf_counter())
    parts = dict(zip(("load", "score", "evaluate"), np.diff(marks).tolist(), strict=True))
    sets = {name: texts for task in tasks for name, texts in zip(task.set_ids, task.responses, strict=True)}
    texts = {text for responses in sets.values() for text in responses}
    seconds = parts | {"all": marks[-1] - marks[0]}
    return {"profile": profile, "metrics": len(metrics), "sets": len(sets), "texts": len(texts), "seconds": seconds}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print one JSON document."""
    parser = option_parser(__doc__, mirror=True)
    parser.add_argument(
        "--profile", default="lexical", help="Profile for the nine tasks; metrics of surprisals are left out."
    )
    parser.add_argument("--rows", type=int, default=1000, help="Number of rows to bootstrap.")
    parser.add_argument("--resamples", type=int, default=100, help="Number of bootstrap resamples.")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args(arguments)
    document: dict[str, Any] = {"bootstrap": bootstrap(given.rows, given.resamples, given.rounds)}
    if given.mirror is not None:
        document["nine_tasks"] = nine_tasks(given.mirror, given.profile)
    print_document(document)


if __name__ == "__main__":
    main()
