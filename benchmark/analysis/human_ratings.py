"""Computes scores of response sets and rater agreement from ratings; writes labelled sets for `metrics metaeval`."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmark.analysis.metaeval.labelled import write_sets
from benchmark.scoring.estimate import Estimate, estimate, resample_weights
from divbench.core.errors import InputError, need
from divbench.core.files import canonical_json
from submissions.judgements.rating_study import FORM_OF, Study
from submissions.judgements.ratings import Rating, Ratings


@dataclass(frozen=True, slots=True)
class HumanScore:
    """People's mean rating of a set, greater for more diverse."""

    # Mean of its ratings: *absolute*, *aspects*: 1 to 5; *similarity*: the negated mean over pairs; *ranking*: mean
    # over comparisons of points, ½ for no difference.
    mean: float
    # Standard deviation over raters, ddof 0. Where a set has several pairs or comparisons, their own differences are
    # left out, so that std / √(raters − 1) is the standard error of the mean in any case.
    std: float
    raters: int  # number of raters; 1 if no two of them rated the same, so that their disagreement is unknown


def set_scores(study: Study, ratings: Sequence[Rating], question: str) -> dict[str, HumanScore]:
    """Compute the scores of the sets that have at least one rating, by set."""
    items = study.by_id()
    by_set: dict[str, dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for rating in ratings:
        if rating.question != question:
            continue
        sets = items[rating.item].sets
        if study.form == "ranking":
            points = (3 - rating.answer) / 2
            by_set[sets[0]][rating.item][rating.rater] = points
            by_set[sets[1]][rating.item][rating.rater] = 1 - points
        else:
            answer = -rating.answer if study.form == "similarity" else rating.answer
            by_set[sets[0]][rating.item][rating.rater] = answer
    return {rated.set_id: _score(by_set[rated.set_id]) for rated in study.sets if rated.set_id in by_set}


def _score(ratings: Mapping[str, Mapping[str, float]]) -> HumanScore:
    """Return the score of a set from its ratings by item and rater.

    The mean is over items, so that it does not depend on how many raters each item has kept. The deviations from an
    item's mean tell how far raters disagree; those of one rater are summed, since they share the rater's strictness.
    """
    means = {item: float(np.mean([*answers.values()])) for item, answers in ratings.items()}
    sums: dict[str, float] = defaultdict(float)
    known = 0.0
    for item, answers in ratings.items():
        count = len(answers)
        known += (count > 1) / count
        for rater, value in answers.items():
            # The factor makes up for the item's mean being that of the same ratings, as ddof 1 does.
            sums[rater] += (value - means[item]) / count * (count / max(count - 1, 1)) ** 0.5
    mean = float(np.mean([*means.values()]))
    if not known:
        return HumanScore(mean, 0.0, 1)
    # Items with a single rating are taken to be as uncertain as the others are for their number of ratings.
    rate = sum(1 / len(answers) for answers in ratings.values()) / known
    error = rate * sum(total**2 for total in sums.values()) / len(ratings) ** 2
    return HumanScore(mean, (error * (len(sums) - 1)) ** 0.5, len(sums))


def krippendorff_alpha(study: Study, ratings: Sequence[Rating], question: str, *, resamples: int = 1000) -> Estimate:
    """Compute Krippendorff's alpha for ordinal answers (rater agreement beyond chance), with a bootstrap over sets.

    The pairs of a set (form *similarity*) are alike, so they are resampled together; so are the comparisons of the sets
    of one prompt (*ranking*), which share sets. It has no value if no item has two ratings, or if all ratings are the
    same, and no interval if there is only one set (or prompt).
    """
    need("krippendorff", "rate")
    most = next(len(asked.answers) for asked in FORM_OF[study.form].questions if asked.name == question)
    row_of = {item.item: row for row, item in enumerate(study.items)}
    counts = np.zeros((len(row_of), most), np.int64)
    for rating in ratings:
        if rating.question == question:
            counts[row_of[rating.item], rating.answer - 1] += 1
    rated = np.flatnonzero(counts.sum(axis=1) >= 2)
    items = [study.items[row] for row in rated]
    clusters = [item.context if study.form == "ranking" else item.sets[0] for item in items]
    weights = resample_weights(len(rated), clusters=clusters, resamples=resamples)
    many = len(set(clusters)) > 1  # of one cluster, all resamples are alike
    draws = [_alpha(counts[rated]), *(_alpha(counts[rated.repeat(drawn)]) for drawn in weights if many)]
    return estimate(np.array(draws), clusters=len(set(clusters)))


def _alpha(counts: NDArray[np.int64]) -> float:
    """Return alpha; NaN if all ratings are the same answer, since no disagreement is then expected by chance."""
    from krippendorff import alpha

    if (counts.sum(axis=0) > 0).sum() < 2:
        return float("nan")
    domain = np.arange(1, counts.shape[1] + 1)
    return float(alpha(value_counts=counts, value_domain=domain, level_of_measurement="ordinal"))


def write_rated_sets(path: Path, study: Study, returned: Ratings, question: str) -> int:
    """Write the sets with a rating as a file for `divbench metrics metaeval`, and return their number.

    The label is the one that the sets came with, if all rated sets came with labels of the same name and these differ,
    or else the mean rating. Further columns hold the mean and standard deviation of the ratings and the number of
    raters.
    """
    scores = set_scores(study, returned.ratings, question)
    if not scores:
        raise InputError("no set has a rating of this question", "ask more raters")
    rated = [row for row in study.sets if row.set_id in scores]
    labels = {row.label for row in rated}
    labelled = None not in labels and len({row.label_name for row in rated}) == 1
    labelled = labelled and len(labels) > 1  # metaeval cannot rank by a constant
    rows = [
        {
            "set_id": row.set_id,
            "context": row.context,
            "responses": list(row.responses),
            "label": float(row.label) if labelled and row.label is not None else score.mean,
            "label_name": row.label_name if labelled else f"human {question}",
            "human_mean": score.mean,
            "human_std": score.std,
            "human_raters": score.raters,
        }
        for row, score in ((row, scores[row.set_id]) for row in rated)
    ]
    about = {"study": study.study, "form": study.form, "question": question, "raters": returned.raters}
    write_sets(path, rows, {b"divbench.ratings": canonical_json(about)})
    return len(rows)
