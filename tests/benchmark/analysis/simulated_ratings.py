"""Simulates raters from released human scores, to test whether the rating kit recovers known correlations of metrics.

`python -m tests.benchmark.analysis.simulated_ratings` makes the forms for conTest's sets, answers them with ratings
that have the released mean and standard deviation of each set, reads them back, and compares each metric's correlation
with people. With `--redraw`, the ratings are drawn anew around the released means. Those means already contain the
noise of ten raters, so correlations fall by the square root of the ratings' reliability.
"""

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.text import Text

from benchmark.analysis.human_ratings import krippendorff_alpha, write_rated_sets
from benchmark.analysis.metaeval.evaluate import evaluate_task
from benchmark.analysis.metaeval.labelled import Labelled, load_labelled, read_set_file
from benchmark.analysis.metaeval.scores import Scores, metric_scores, released_scores
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.estimate import Estimate, Resampling
from benchmark.scoring.profiles import find_profile
from divbench.core.console import MirrorOption, out
from divbench.core.tables import Table, to_markdown
from submissions.judgements.rating_forms import RatedSet
from submissions.judgements.rating_study import Study, make_study
from submissions.judgements.ratings import Ratings, read_ratings

METRIC = "distinct_n"
MEASURE = "human_spearman"


@dataclass(frozen=True, slots=True)
class Returned:
    """A metric's correlation with people, from the released scores and from the rating kit."""

    metric: str
    released: Estimate
    returned: Estimate

    @property
    def within(self) -> bool:
        """Whether the kit's correlation is in the interval of the released one."""
        low, value, high = self.released.low, self.returned.value, self.released.high
        return low is not None and value is not None and high is not None and low <= value <= high


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a simulated study.

    Attributes:
        metrics: Each metric's correlation with people.
    """

    sets: int
    ratings: Ratings
    alpha: Estimate
    metrics: tuple[Returned, ...]


def simulated_answers(
    study: Study, scores: Mapping[str, tuple[float, float]], *, careless: int = 0, redraw: bool = False, seed: int = 0
) -> list[dict[str, Any]]:
    """Return the answer files of a study's raters, as the pages write them.

    Args:
        scores: Mean and standard deviation of the ratings of each set.
        careless: Number of raters (the first ones) who answer at random.
        redraw: Whether to draw ratings from a normal distribution, rounded to 1 … 5, instead of using ratings with
            exactly these means and deviations.
    """
    rng = np.random.default_rng(seed)
    kept = {name: rng.permutation(ratings_with(*each, study.raters_per_item)).tolist() for name, each in scores.items()}
    items = study.by_id()
    made = []
    for number, names in enumerate(study.assignment):
        answers = []
        for name in names:
            item = items[name]
            if number < careless:
                answer = int(rng.integers(1, 6))
            elif item.expected is not None:
                answer = item.expected["content"][0]
            else:
                drawn = np.clip(np.rint(rng.normal(*scores[item.sets[0]])), 1, 5)
                answer = int(drawn) if redraw else int(kept[item.sets[0]].pop())
            answers.append({"item": name, "question": "content", "answer": answer, "seconds": 9.5})
        made.append({"study": study.study, "form": number + 1, "rater": f"{number:016x}", "answers": answers})
    return made


def ratings_with(mean: float, spread: float, number: int) -> list[int]:
    """Return ratings of 1 … 5 with the mean closest to the given one, and among these the closest deviation (ddof 0).

    >>> ratings_with(4.2, 0.6, 5)
    [3, 4, 4, 5, 5]
    """
    total = round(mean * number)
    made = [rated for rated in combinations_with_replacement(range(1, 6), number) if sum(rated) == total]
    return list(min(made, key=lambda rated: abs(float(np.array(rated).std()) - spread)))


def simulated_study(
    task: Labelled,
    columns: Sequence[Scores],
    *,
    sets: int = 200,
    careless: int = 0,
    redraw: bool = False,
    resamples: int = 1000,
    seed: int = 0,
) -> Outcome:
    """Make the forms for sets of a task, answer and read them, and evaluate the ratings.

    Args:
        sets: Maximum number of sets, drawn at random.
    """
    if task.human is None or task.human_spread is None:
        raise ValueError(f"{task.name} has no human scores")
    keep = np.zeros(len(task.set_ids), bool)
    keep[np.random.default_rng(seed).permutation(len(keep))[:sets]] = True
    task = task.rows(keep)
    rated = [
        RatedSet(*each, task.label_name)
        for each in zip(task.set_ids, task.contexts, task.responses, task.labels.tolist(), strict=True)
    ]
    if task.human is None or task.human_spread is None:
        raise ValueError(f"{task.name} has no human scores")
    known = dict(zip(task.set_ids, zip(task.human.tolist(), task.human_spread.tolist(), strict=True), strict=True))
    study = make_study("absolute", rated, raters_per_item=10, per_rater=40, seed=seed)
    with tempfile.TemporaryDirectory() as folder:
        for document in simulated_answers(study, known, careless=careless, redraw=redraw, seed=seed):
            Path(folder, f"{document['form']}.json").write_text(json.dumps(document), encoding="utf-8")
        given = read_ratings(study, [Path(folder)])
        path = Path(folder, "rated.parquet")
        write_rated_sets(path, study, given, "content")
        back = read_set_file(path)
    how = Resampling(resamples=resamples, seed=seed)
    before, after = (evaluate_task(each, columns, resampling=how).evaluations for each in (task, back))
    metrics = [
        Returned(one.metric, one.measures[MEASURE], other.measures[MEASURE])
        for one, other in zip(before, after, strict=True)
    ]
    alpha = krippendorff_alpha(study, given.ratings, "content", resamples=resamples, seed=seed)
    return Outcome(len(task.set_ids), given, alpha, tuple(metrics))


def _main(
    tasks: Annotated[list[str] | None, typer.Argument(help="Tasks with human scores.")] = None,
    careless: Annotated[int, typer.Option(help="Number of careless raters among 50.")] = 5,
    redraw: Annotated[bool, typer.Option(help="Ratings drawn anew around the released means.")] = False,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    mirror: MirrorOption = None,
) -> None:
    """Print a table for docs/rating.md."""
    rows: list[tuple[str | int | float, ...]] = []
    for name in tasks or [f"contest/{each}" for each in ("story_gen", "resp_gen", "prompt_gen")]:
        task = load_labelled(name, mirror=mirror)
        profile = find_profile("lexical")
        chosen = [metric for metric in profile.metrics() if metric.id == METRIC]
        columns = [*metric_scores([task], chosen, ScoringBackends(profile)), *released_scores([task])]
        found = simulated_study(task, columns, careless=careless, redraw=redraw, seed=seed)
        removed = sum(found.ratings.removed.values())
        rows += [
            (name, each.metric, str(each.released), str(each.returned), "yes" if each.within else "no")
            for each in found.metrics
        ]
        note = f"{name}: {found.sets} sets, {len(found.ratings.ratings)} ratings, {removed} raters removed"
        out().print(f"{note}; alpha {found.alpha}", markup=False)
    columns_ = ("task", "metric", "released", "recovered", "within")
    out().print(Text(to_markdown(Table("", columns_, rows, numbers=()))), soft_wrap=True)


if __name__ == "__main__":
    typer.run(_main)
