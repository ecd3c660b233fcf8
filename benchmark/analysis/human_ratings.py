"""Computes scores of response sets and rater agreement from ratings; writes labelled sets for `metrics metaeval`."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.analysis.estimate import Estimate, estimate
from benchmark.analysis.metaeval.set_files import write_sets
from benchmark.scoring.resampling import resample_weights
from datasets_build.errors import InputError, need
from datasets_build.files import canonical_json
from submissions.judgements.rating_forms import FORM_OF
from submissions.judgements.rating_study import Study
from submissions.judgements.ratings import Rating, Ratings

EXTRA = "rate"


@dataclass(frozen=True, slots=True)
class HumanScore:
    """People's mean rating of a set, greater for more diverse.

    Attributes:
        mean: Mean of its ratings: *absolute*, *aspects*: 1 to 5; *similarity*: the negated mean over pairs; *ranking*:
            points per comparison, ½ for no difference.
        std: Standard deviation over raters, ddof 0; for *similarity*, of the raters' own means.
        raters: Number of raters; for *ranking*, number of ratings.
    """

    mean: float
    std: float
    raters: int


def set_scores(study: Study, ratings: Sequence[Rating], question: str) -> dict[str, HumanScore]:
    """Compute the scores of the sets that have at least one rating, by set."""
    items = study.by_id()
    by_set: dict[str, dict[Any, list[float]]] = defaultdict(lambda: defaultdict(list))
    for number, each in enumerate(ratings):
        if each.question != question:
            continue
        sets = items[each.item].sets
        if study.form == "ranking":
            points = (3 - each.answer) / 2
            by_set[sets[0]][number].append(points)
            by_set[sets[1]][number].append(1 - points)
        else:
            by_set[sets[0]][each.rater].append(-each.answer if study.form == "similarity" else each.answer)
    made = {}
    for each_set in study.sets:
        if own := by_set.get(each_set.set_id):
            values = [np.mean(given) for given in own.values()]
            # Raters may rate different numbers of pairs: the set's mean is over all ratings, not over raters.
            everything = [value for given in own.values() for value in given]
            made[each_set.set_id] = HumanScore(float(np.mean(everything)), float(np.std(values)), len(values))
    return made


def krippendorff_alpha(
    study: Study, ratings: Sequence[Rating], question: str, *, resamples: int = 1000, level: float = 0.95, seed: int = 0
) -> Estimate:
    """Compute Krippendorff's alpha for ordinal answers (rater agreement beyond chance), with a bootstrap over sets.

    The pairs of a set (form *similarity*) are alike, so they are resampled together.

    Returns:
        The estimate; its value is None if no item has two ratings, or if all ratings are the same.

    Raises:
        MissingExtra: The library is not installed.
    """
    need("krippendorff", EXTRA)
    most = next(len(each.answers) for each in FORM_OF[study.form].questions if each.name == question)
    place = {each.item: i for i, each in enumerate(study.items)}
    counts = np.zeros((len(place), most), np.int64)
    for each in ratings:
        if each.question == question:
            counts[place[each.item], each.answer - 1] += 1
    rated = counts.sum(axis=1) >= 2
    counts, sets = counts[rated], [each.sets for each, kept in zip(study.items, rated, strict=True) if kept]
    weights = resample_weights(len(counts), clusters=sets, resamples=resamples, seed=seed)
    draws = [_alpha(counts), *(_alpha(np.repeat(counts, drawn, axis=0)) for drawn in weights)]
    return estimate(np.array(draws), level)


def _alpha(counts: NDArray[np.int64]) -> float:
    """Return alpha; NaN if all ratings are the same answer, since no disagreement is then expected by chance."""
    from krippendorff import alpha

    if (counts.sum(axis=0) > 0).sum() < 2:
        return float("nan")
    domain = np.arange(1, counts.shape[1] + 1)
    return float(alpha(value_counts=counts, value_domain=domain, level_of_measurement="ordinal"))


def write_rated_sets(path: Path, study: Study, given: Ratings, question: str) -> int:
    """Write the rated sets as a file for `divbench metrics metaeval`, and return their number.

    The label is the one that the set came with, or the mean rating if there is none; further columns hold the mean and
    standard deviation of the ratings and the number of raters. Sets without a rating are left out.

    Raises:
        InputError: No set has a rating.
    """
    scores = set_scores(study, given.ratings, question)
    if not scores:
        raise InputError("no set has a rating of this question", "ask more raters")
    labelled = all(each.label is not None for each in study.sets) and len({each.label_name for each in study.sets}) == 1
    rows = []
    for each in study.sets:
        if (human := scores.get(each.set_id)) is None:
            continue
        rows.append(
            {
                "set_id": each.set_id,
                "context": each.context,
                "responses": list(each.responses),
                "label": float(each.label) if labelled and each.label is not None else human.mean,
                "label_name": each.label_name if labelled else f"human {question}",
                "human_mean": human.mean,
                "human_std": human.std,
                "human_raters": human.raters,
            }
        )
    about = {"study": study.study, "form": study.form, "question": question, "raters": given.raters}
    write_sets(path, rows, {b"divbench.ratings": canonical_json(about)})
    return len(rows)
