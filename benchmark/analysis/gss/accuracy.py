"""GSSBench by model and metric: how often the prompt with the larger generation space has the higher score.

Pure functions from results and scores of prompts to accuracies, and to the rows of tables and of the heat map.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmark.analysis.gss.pairs import (
    PairComparison,
    PairEvaluation,
    Pairs,
    Scorer,
    compare_pairs,
    evaluate_pairs,
)
from benchmark.analysis.reproduce.cells import Published
from benchmark.analysis.reproduce.gssbench import MARGIN
from benchmark.metrics import METRICS
from benchmark.metrics.metric import Missing
from benchmark.scoring.estimate import LEVEL, Estimate, Resampling
from benchmark.scoring.inputs import metrics_from
from benchmark.scoring.results import Aggregate, Result, Signature
from datasets_build.gssbench import SPLITS
from divbench.core.errors import ConfigurationError

# In the order of the columns of the paper's Table 2.
TABLE_2: tuple[str, ...] = (
    "perplexity",
    "energy",
    "normalised_entropy",
    "rouge_l_similarity",
    "e_original",
    "eigenscore_output",
    "e_average",
    "semantic_entropy",
)
# Metrics evaluated by default: they take seconds to minutes, given internals.
USUAL = (*TABLE_2, "semantic_entropy_discrete", "normalised_entropy_inside", "mean_token_entropy")
MEAN, BALANCED, HALF, TIES, MISSING = "mean of splits", "length-balanced", "half", "ties", "missing"
REFERENCES = ("random", "prompt_length", "constant", "oracle")
_DIRECTION = {metric.id: metric.direction for metric in METRICS}
_PLACE = {name: place for place, name in enumerate(dict.fromkeys([*USUAL, *_DIRECTION]))}
_OF_INTERNALS = {metric.id for metric in metrics_from("internals")}
_OF_CLASSES = {metric.id for metric in metrics_from("partition")}  # its backend comes first in their signatures
# Names of metrics and splits in the paper's tables.
_PAPER_METRICS = {
    "perplexity": "perplexity",
    "energy": "energy",
    "length_normalized_entropy": "normalised_entropy",
    "lexical_similarity": "rouge_l_similarity",
    "eigenscore_original": "e_original",
    "eigenscore_output": "eigenscore_output",
    "eigenscore_average": "e_average",
    "semantic_entropy": "semantic_entropy",
}
_PAPER_SPLITS = {split: {"factualqa": "factual_qa"}.get(split, split) for split in SPLITS}


@dataclass(frozen=True, slots=True)
class Model:
    """A system on GSSBench, as one result has scored it, or scores from a file."""

    name: str  # name in the manifest, with a short id where another model has the same; or of the file
    result: Result | None
    scorers: tuple[Scorer, ...]  # scorers of its metrics, in the published order
    missing: dict[str, Missing] = field(default_factory=dict)  # requested metrics without scores, with the reasons

    @property
    def aggregates(self) -> Sequence[Aggregate]:
        """The means of a result; none of a file."""
        return () if self.result is None else self.result.scores

    @property
    def missing_lines(self) -> list[str]:
        """A line for each reason: the metrics, and the reason."""
        metrics: dict[str, list[str]] = {}
        for name, each in self.missing.items():
            metrics.setdefault(each.reason, []).append(name)
        return [f"{', '.join(names)}: {reason}" for reason, names in metrics.items()]


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A model with its accuracies."""

    model: Model
    evaluations: dict[str, PairEvaluation]
    # Differences by metric from the one to compare with; empty without such a metric.
    comparisons: dict[str, PairComparison]

    @property
    def equivalence(self) -> str | None:
        """Signature of the equivalence backend; None if no evaluated metric reads classes."""
        scores = [each for each in self.model.aggregates if each.metric in _OF_CLASSES & self.evaluations.keys()]
        return scores[0].signature.models[0] if scores and scores[0].signature.models else None

    def as_json(self) -> dict[str, Any]:
        """Return the model and its accuracies for `plain_json`."""
        result = self.model.result
        signatures = {score.metric: str(score.signature) for score in self.model.aggregates}
        about = None if result is None else result.manifest.system.model_id
        names = ("submission_id", "result_id", "k", "profile")
        return {
            "name": self.model.name,
            "model_id": about,
            **{name: getattr(result, name, None) for name in names},
            "equivalence": self.equivalence,
            "signatures": {name: signatures[name] for name in self.evaluations if name in signatures},
            "best": sorted(_best({name: each.mean_of_splits.strict for name, each in self.evaluations.items()})),
            "evaluations": self.evaluations,
            "comparisons": self.comparisons,
            "missing": {name: each.reason for name, each in self.model.missing.items()},
        }


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table or of the heat map."""

    metric: str
    # Strict accuracy by split, as `MEAN`, as `BALANCED` and pair-weighted; for the mean also `HALF`, `TIES` and
    # `MISSING`. Unknown cells are absent.
    cells: dict[str, Estimate]
    pairs: int | None  # number of pairs with a score of both prompts; None if unknown
    best: bool = False  # whether no row of its block has a higher mean of splits


@dataclass(frozen=True, slots=True)
class Block:
    """A group of rows."""

    title: str  # name of the model (untrusted text), or of the group of rows
    beneath: str  # details (untrusted text)
    rows: tuple[Row, ...]
    model: Evaluated | None = None  # the model; None for references and published numbers


@dataclass(frozen=True, slots=True)
class GssStudy:
    """The outcome of `divbench metrics gss`."""

    suite: str
    models: tuple[Evaluated, ...]  # models in the order given
    references: dict[str, PairEvaluation]  # scorers that are known beforehand, by name
    against: str | None  # the metric or reference that all are compared with, within each model
    how: Resampling  # settings of the bootstrap
    published: tuple[Block, ...] = ()  # the paper's tables, one block per model; empty if not requested

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Return the models, then the references, then the published numbers."""
        models = [Block(each.model.name, _about(each.model), _rows(each.evaluations), each) for each in self.models]
        known = Block("references", "scorers that are known beforehand", _rows(self.references, REFERENCES))
        return (*models, known, *self.published)

    @property
    def differing(self) -> list[str]:
        """Metrics whose signatures differ between models, other than by the model that internals are of."""
        found: dict[str, set[Signature]] = {}
        for each in self.models:
            for score in each.model.aggregates:
                if score.metric in each.evaluations:
                    own = score.signature
                    if score.metric in _OF_INTERNALS:
                        own = own.model_copy(update={"models": ()})
                    found.setdefault(score.metric, set()).add(own)
        return sorted((metric for metric, own in found.items() if len(own) > 1), key=lambda name: _PLACE[name])

    def as_json(self) -> dict[str, Any]:
        """Return the study for `plain_json`."""
        return {
            "suite": self.suite,
            "against": self.against,
            **asdict(self.how),
            "level": LEVEL,
            "differing": self.differing,
            "models": [each.as_json() for each in self.models],
            "references": self.references,
            "published": [
                {"title": block.title, "metrics": {row.metric: row.cells for row in block.rows}}
                for block in self.published
            ],
        }


def choose(
    result: Result, scorers: Iterable[Scorer], wanted: Sequence[str] | None, folder: str | None = None
) -> tuple[tuple[Scorer, ...], dict[str, Missing]]:
    """Choose the metrics of a result to evaluate, in the published order; the others are missing with their reasons.

    A metric without a value on any prompt is missing: its accuracy is unknown, not 0.

    Args:
        wanted: Metric ids; None: all metrics of the result, and those of internals.
        folder: Folder of the submission that was scored; None if a result was given instead.
    """
    there = {score.metric: score for score in result.scores}
    has_internals = not _OF_INTERNALS.isdisjoint(there)
    names = [*there, *_OF_INTERNALS] if wanted is None else wanted
    chosen = sorted({name for name in names if _DIRECTION.get(name)}, key=lambda name: _PLACE[name])
    missing: dict[str, Missing] = {}
    for name in chosen:
        if name in there and there[name].n:
            continue
        if name in there:
            reasons = there[name].missing
            why = (f"no prompt has a value: {max(reasons, key=lambda reason: reasons[reason])}", "")
        elif name in _OF_INTERNALS and not has_internals:
            why = no_internals(folder)
        elif folder is None:
            why = ("not in the result", "give the submission instead")
        else:
            why = (f"not made by the profile {result.profile}", "choose another by --profile")
        reason, hint = why
        missing[name] = Missing(f"{reason} ({hint})" if hint else reason)
    usable = {each.name: each for each in scorers if each.name in there and there[each.name].n}
    return tuple(usable[name] for name in chosen if name in usable), missing


def no_internals(folder: str | None) -> tuple[str, str]:
    """Return the reason that there are no internals, and a hint; None for a result whose submission is unknown."""
    then = ", then give the submission" if folder is None else ""
    return "there are no internals", f"divbench metrics internals {folder or 'SUBMISSION'} --model …{then}"


def names_of(results: Sequence[Result]) -> list[str]:
    """Return the name of each result's system, with a short id where several have the same.

    Raises:
        ConfigurationError: A result is given twice.
    """
    ids = [result.result_id for result in results]
    if repeated := next((name for name in ids if ids.count(name) > 1), None):
        raise ConfigurationError(f"the result {repeated} is given twice", "give each submission or result once")
    given = [(result.manifest.name, result.submission_id) for result in results]
    names = [name for name, _ in given]
    return [
        own[0] if names.count(own[0]) == 1 else f"{own[0]} {(own[1] if given.count(own) == 1 else result_id)[:8]}"
        for own, result_id in zip(given, ids, strict=True)
    ]


def evaluate(
    pairs: Pairs,
    suite: str,
    models: Sequence[Model],
    references: Mapping[str, Mapping[str, float]],
    how: Resampling,
    *,
    against: str | None = None,
    published: Sequence[Block] = (),
    progress: Callable[[], None] = lambda: None,
) -> GssStudy:
    """Evaluate every metric of every model, and the references.

    Args:
        references: The scores of scorers that are known beforehand, by name.
        against: A metric, or a reference, to compare the others with, by the same resamples of sets, within a model.

    Raises:
        ConfigurationError: No model has a metric; or no model, and no reference, has scores of `against`.
    """
    if not any(model.scorers for model in models):
        reasons = [line for model in models for line in model.missing_lines]
        raise ConfigurationError(
            f"there is nothing to evaluate: {'; '.join(reasons)}", "name other metrics by --metric"
        )
    known = {each.name for model in models for each in model.scorers} | references.keys()
    if against is not None and against not in known:
        raise ConfigurationError(f"there are no scores named {against!r}", f"one of {', '.join(sorted(known))}")
    own = asdict(how)

    def of(scores: Mapping[str, float]) -> PairEvaluation:
        found = evaluate_pairs(pairs, scores, **own)
        progress()
        return found

    found = []
    for model in models:
        pool = {**references, **{each.name: each.scores for each in model.scorers}}
        other = pool.get(against or "")
        compared = [each for each in model.scorers if other is not None and each.name != against]
        found.append(
            Evaluated(
                model,
                {each.name: of(each.scores) for each in model.scorers},
                {each.name: compare_pairs(pairs, each.scores, other or {}, **own) for each in compared},
            )
        )
    known_beforehand = {name: of(scores) for name, scores in references.items()}
    return GssStudy(suite, tuple(found), known_beforehand, against, how, tuple(published))


def published_blocks(numbers: Iterable[Published]) -> tuple[Block, ...]:
    """Return the paper's Table A10, one block per model, with its margins as intervals and the means of Table 2.

    Args:
        numbers: Published numbers of the table `gssbench-a10`.
    """
    cells = {one.place: one.value for one in numbers}
    columns = dict.fromkeys(column for _, column in cells if not column.endswith(MARGIN))
    made = []
    for column in columns:
        rows = []
        for printed, metric in _PAPER_METRICS.items():
            strict = {}
            for split, name in _PAPER_SPLITS.items():
                place = f"{name} {printed}"
                value, margin = cells[place, column], cells[place, f"{column}{MARGIN}"]
                strict[split] = Estimate(value, value - margin, value + margin, None)
            mean = sum(each.value or 0.0 for each in strict.values()) / len(strict)
            rows.append(Row(metric, {**strict, MEAN: Estimate(mean, None, None, None)}, None))
        made.append(Block(f"published: {column}", "arXiv:2510.12699, tables A10 and 2; other texts", _marked(rows)))
    return tuple(made)


def _rows(evaluations: Mapping[str, PairEvaluation], names: Iterable[str] | None = None) -> tuple[Row, ...]:
    rows = []
    for name in evaluations if names is None else names:
        found = evaluations[name]
        cells = {part: each.strict for part, each in found.accuracies.items()}
        mean = found.mean_of_splits
        cells |= {HALF: mean.half, TIES: mean.tie_rate, MISSING: mean.missing_rate}
        rows.append(Row(name, cells, sum(each.pairs - each.missing for each in found.splits.values())))
    return _marked(rows) if names is None else tuple(rows)


def _marked(rows: Sequence[Row]) -> tuple[Row, ...]:
    best = _best({row.metric: row.cells[MEAN] for row in rows})
    return tuple(Row(row.metric, row.cells, row.pairs, row.metric in best) for row in rows)


def _best(means: Mapping[str, Estimate]) -> set[str]:
    values = {name: each.value for name, each in means.items() if each.value is not None}
    return {name for name, value in values.items() if value == max(values.values())}


def _about(model: Model) -> str:
    result = model.result
    if result is None:
        return "scores from a file"
    parts = [result.manifest.system.model_id, f"k = {result.k}", f"profile {result.profile}"]
    return ", ".join([*(part for part in parts if part), f"submission {result.submission_id[:8]}"])
