"""GSSBench by model and metric: how often the prompt with the larger generation space has the higher score.

Pure functions from results and scores of prompts to accuracies, to rows of tables and of the heat map, and to a report
in every format.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmark.analysis.gss.pairs import (
    PairComparison,
    PairEvaluation,
    Pairs,
    Scorer,
    compare_pairs,
    evaluate_pairs,
    scorers_of_result,
)
from benchmark.analysis.reproduce.cells import MARGIN, Published
from benchmark.metrics import METRICS
from benchmark.metrics.metric import Missing
from benchmark.scoring.estimate import LEVEL, Estimate, Resampling
from benchmark.scoring.inputs import metrics_from
from benchmark.scoring.results import Aggregate, Result, Signature, require_result
from datasets_build.gssbench import SPLITS
from datasets_build.schema import Suite
from divbench.core import tables
from divbench.core.errors import ConfigurationError, InputError
from divbench.core.tables import Cell, Report, Styled, Table, number, p_value

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
_REFERENCES = "references"  # title of their block
SHORT = {"complement": "compl.", "factualqa": "factual", "random_choice": "choice", "intersection": "inters."}
_OVERALL = {"mean_of_splits": "mean of splits", "pair_weighted": "pair-weighted", "length_balanced": "length-balanced"}
_N = "n"
_HEADINGS = {split: SHORT.get(split, split) for split in SPLITS} | {MEAN: "mean", BALANCED: "balanced"}
_HEADINGS |= {part: part for part in (HALF, TIES, MISSING, _N)}
# A terminal is too narrow for one table: the parts of each of two tables, and the parts shown with intervals.
_PRINTED = (((*SPLITS, MEAN), ()), ((MEAN, BALANCED, HALF, TIES, MISSING, _N), (MEAN,)))
_DIRECTION = {metric.id: metric.direction for metric in METRICS}
_ORDER = {name: index for index, name in enumerate(dict.fromkeys([*USUAL, *_DIRECTION]))}
_OF_INTERNALS = {metric.id for metric in metrics_from("internals")}
_OF_CLASSES = {metric.id for metric in metrics_from("partition")}  # its backend comes first in their signatures
# Names of metrics and splits in the paper's tables, where they differ from ours.
_PAPER_METRICS = {
    "normalised_entropy": "length_normalized_entropy",
    "rouge_l_similarity": "lexical_similarity",
    "e_original": "eigenscore_original",
    "e_average": "eigenscore_average",
}
_PAPER_SPLITS = {"factualqa": "factual_qa"}


@dataclass(frozen=True, slots=True)
class Model:
    """A system on GSSBench, as one result has scored it, or scores from a file."""

    name: str  # name in the manifest, with a short id where another model has the same; or of the file
    result: Result | None
    scorers: tuple[Scorer, ...]  # scorers of its metrics, in the published order
    missing: dict[str, Missing] = field(default_factory=dict)  # requested metrics without scores, with the reasons
    evaluations: dict[str, PairEvaluation] = field(default_factory=dict)
    # Differences by metric from the one to compare with; empty without such a metric.
    comparisons: dict[str, PairComparison] = field(default_factory=dict)

    @property
    def aggregates(self) -> Sequence[Aggregate]:
        """The means of a result; none of a file."""
        return () if self.result is None else self.result.scores

    @property
    def missing_lines(self) -> list[str]:
        """A line for each reason: the metrics, and the reason."""
        metrics: dict[str, list[str]] = {}
        for name, missing in self.missing.items():
            metrics.setdefault(missing.reason, []).append(name)
        return [f"{self.name}: {', '.join(names)}: {reason}" for reason, names in metrics.items()]

    @property
    def equivalence(self) -> str | None:
        """Signature of the equivalence backend; None if no evaluated metric reads classes."""
        scores = [score for score in self.aggregates if score.metric in _OF_CLASSES & self.evaluations.keys()]
        return scores[0].signature.models[0] if scores and scores[0].signature.models else None

    def as_json(self) -> dict[str, Any]:
        """Return the model and its accuracies for `plain_json`."""
        signatures = {score.metric: str(score.signature) for score in self.aggregates}
        names = ("submission_id", "result_id", "k", "profile")
        return {
            "name": self.name,
            "model_id": None if self.result is None else self.result.manifest.system.model_id,
            **{name: getattr(self.result, name, None) for name in names},
            "equivalence": self.equivalence,
            "signatures": {name: signatures[name] for name in self.evaluations if name in signatures},
            "best": sorted(_best({name: result.mean_of_splits.strict for name, result in self.evaluations.items()})),
            "evaluations": self.evaluations,
            "comparisons": self.comparisons,
            "missing": {name: missing.reason for name, missing in self.missing.items()},
        }


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table or of the heat map."""

    metric: str
    # Strict accuracy by split, as `MEAN`, as `BALANCED` and pair-weighted; for the mean also `HALF`, `TIES` and
    # `MISSING`. Unknown cells are absent.
    cells: dict[str, Estimate]
    pairs: int | None  # number of pairs with a score of both prompts; None if unknown


@dataclass(frozen=True, slots=True)
class Block:
    """A group of rows."""

    title: str  # name of the model (untrusted text), or of the group of rows
    beneath: str  # details (untrusted text)
    rows: tuple[Row, ...]
    model: Model | None = None  # the model; None for references and published numbers

    @property
    def best(self) -> set[str]:
        """Metrics than which none has a higher mean of splits; none of the references."""
        return set() if self.title == _REFERENCES else _best({row.metric: row.cells[MEAN] for row in self.rows})


@dataclass(frozen=True, slots=True)
class GssStudy:
    """The outcome of `divbench metrics gss`."""

    suite: str
    models: tuple[Model, ...]  # models in the order given
    references: dict[str, PairEvaluation]  # scorers that are known beforehand, by name
    against: str | None  # the metric or reference that all are compared with, within each model
    how: Resampling  # settings of the bootstrap
    published: tuple[Block, ...] = ()  # the paper's tables, one block per model; empty if not requested

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Return the models, then the references, then the published numbers."""
        models = [Block(model.name, _about(model), _rows(model.evaluations), model) for model in self.models]
        references = _rows({name: self.references[name] for name in REFERENCES})
        return (*models, Block(_REFERENCES, "scorers that are known beforehand", references), *self.published)

    @property
    def differing(self) -> list[str]:
        """Metrics whose signatures differ between models, other than by the model that internals are of."""
        signatures: dict[str, set[Signature]] = {}
        for model in self.models:
            for score in model.aggregates:
                if score.metric in model.evaluations:
                    signature = score.signature
                    if score.metric in _OF_INTERNALS:
                        signature = signature.model_copy(update={"models": ()})
                    signatures.setdefault(score.metric, set()).add(signature)
        return sorted(
            (name for name, different in signatures.items() if len(different) > 1), key=lambda name: _ORDER[name]
        )

    def as_json(self) -> dict[str, Any]:
        """Return the study for `plain_json`."""
        return {
            "suite": self.suite,
            "against": self.against,
            **asdict(self.how),
            "level": LEVEL,
            "differing": self.differing,
            "models": [model.as_json() for model in self.models],
            "references": self.references,
        }


def models_of(
    folders: Sequence[Path], wanted: Sequence[str] | None, suite: Suite, submissions: Mapping[Path, Path]
) -> list[Model]:
    """Return the wanted scores in folders of results; submissions that were given are named by the folder of theirs."""
    scorers = [scorers_of_result(folder) for folder in folders]
    results = [require_result(folder) for folder in folders]
    for folder, result in zip(folders, results, strict=True):
        if result.suite_revision != suite.revision:
            raise InputError(
                f"{folder} is for revision {result.suite_revision} of {suite.name}, but the pairs are of "
                f"{suite.revision}",
                "score the submission again",
            )
    return [
        Model(name, result, *choose(result, usable, wanted, submissions.get(folder)))
        for name, folder, result, usable in zip(names_of(results), folders, results, scorers, strict=True)
    ]


def choose(
    result: Result, scorers: Iterable[Scorer], wanted: Sequence[str] | None, folder: Path | None = None
) -> tuple[tuple[Scorer, ...], dict[str, Missing]]:
    """Choose the wanted metrics of a result (None: all, and those of internals), in the published order.

    The others are missing with their reasons. A metric without a value on any prompt is missing: its accuracy is
    unknown, not 0. `folder` is that of the submission that was scored; None if a result was given instead.
    """
    scores = {score.metric: score for score in result.scores}
    has_internals = not _OF_INTERNALS.isdisjoint(scores)
    names = [*scores, *_OF_INTERNALS] if wanted is None else wanted
    chosen = sorted({name for name in names if _DIRECTION.get(name)}, key=lambda name: _ORDER[name])
    missing: dict[str, Missing] = {}
    for name in chosen:
        if name in scores and scores[name].n:
            continue
        if name in scores:
            reasons = scores[name].missing
            reason, hint = f"no prompt has a value: {max(reasons, key=lambda reason: reasons[reason])}", ""
        elif name in _OF_INTERNALS and not has_internals:
            reason, hint = no_internals(folder)
        elif folder is None:
            reason, hint = "not in the result", "give the submission instead"
        else:
            reason, hint = f"not made by the profile {result.profile}", "choose another by --profile"
        missing[name] = Missing(f"{reason} ({hint})" if hint else reason)
    usable = {scorer.name: scorer for scorer in scorers if scorer.name in scores and scores[scorer.name].n}
    return tuple(usable[name] for name in chosen if name in usable), missing


def no_internals(folder: Path | None) -> tuple[str, str]:
    """Return the reason that there are no internals, and a hint; None for a result whose submission is unknown."""
    then = ", then give the submission" if folder is None else ""
    return "there are no internals", f"divbench metrics internals {folder or 'SUBMISSION'} --model …{then}"


def names_of(results: Sequence[Result]) -> list[str]:
    """Return the name of each result's system, with a short id where several have the same."""
    ids = [result.result_id for result in results]
    if repeated := next((name for name in ids if ids.count(name) > 1), None):
        raise ConfigurationError(f"the result {repeated} is given twice", "give each submission or result once")
    systems = [(result.manifest.name, result.submission_id) for result in results]
    names = [name for name, _ in systems]
    return [
        name
        if names.count(name) == 1
        else f"{name} {(submission if systems.count((name, submission)) == 1 else result_id)[:8]}"
        for (name, submission), result_id in zip(systems, ids, strict=True)
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
    """Evaluate every metric of every model, and the references, and compare within each model."""
    if not any(model.scorers for model in models):
        reasons = [line for model in models for line in model.missing_lines]
        raise ConfigurationError(
            f"there is nothing to evaluate: {'; '.join(reasons)}", "name other metrics by --metric"
        )
    settings = asdict(how)

    def evaluation(scores: Mapping[str, float]) -> PairEvaluation:
        result = evaluate_pairs(pairs, scores, **settings)
        progress()
        return result

    evaluated = []
    for model in models:
        pool = {**references, **{scorer.name: scorer.scores for scorer in model.scorers}}
        other = pool.get(against or "")
        compared = [scorer for scorer in model.scorers if other is not None and scorer.name != against]
        evaluations = {scorer.name: evaluation(scorer.scores) for scorer in model.scorers}
        comparisons = {scorer.name: compare_pairs(pairs, scorer.scores, other or {}, **settings) for scorer in compared}
        evaluated.append(replace(model, evaluations=evaluations, comparisons=comparisons))
    of_references = {name: evaluation(scores) for name, scores in references.items()}
    return GssStudy(suite, tuple(evaluated), of_references, against, how, tuple(published))


def published_blocks(numbers: Iterable[Published]) -> tuple[Block, ...]:
    """Return the paper's Table A10, one block per model, with its margins as intervals and the means of Table 2."""
    cells = {number.place: number.value for number in numbers}
    blocks = []
    for column in dict.fromkeys(column for _, column in cells if not column.endswith(MARGIN)):
        rows = []
        for metric in TABLE_2:
            strict = {}
            for split in SPLITS:
                row = f"{_PAPER_SPLITS.get(split, split)} {_PAPER_METRICS.get(metric, metric)}"
                value, margin = cells[row, column], cells[row, f"{column}{MARGIN}"]
                strict[split] = Estimate(value, value - margin, value + margin)
            mean = sum(accuracy.value or 0.0 for accuracy in strict.values()) / len(strict)
            rows.append(Row(metric, {**strict, MEAN: Estimate(mean)}, None))
        blocks.append(Block(f"published: {column}", "arXiv:2510.12699, tables A10 and 2; other texts", tuple(rows)))
    return tuple(blocks)


def _rows(evaluations: Mapping[str, PairEvaluation]) -> tuple[Row, ...]:
    rows = []
    for name, evaluation in evaluations.items():
        cells = {part: accuracy.strict for part, accuracy in evaluation.accuracies.items()}
        mean = evaluation.mean_of_splits
        cells |= {HALF: mean.half, TIES: mean.tie_rate, MISSING: mean.missing_rate}
        rows.append(Row(name, cells, sum(split.pairs - split.missing for split in evaluation.splits.values())))
    return tuple(rows)


def _best(means: Mapping[str, Estimate]) -> set[str]:
    values = {name: mean.value for name, mean in means.items() if mean.value is not None}
    return {name for name, value in values.items() if value == max(values.values())}


def _about(model: Model) -> str:
    result = model.result
    if result is None:
        return "scores from a file"
    parts = [result.manifest.system.model_id, f"k = {result.k}", f"profile {result.profile}"]
    return ", ".join([*(part for part in parts if part), f"submission {result.submission_id[:8]}"])


def report_of(study: GssStudy) -> Report:
    """Make the report of a study."""
    blocks: list[tables.Block] = [legend(study)]
    printed: list[tables.Block] = []
    for block in filter(lambda block: block.rows, study.blocks):  # a model may have no rows; the notes say why
        below = []
        if block.model is not None and block.model.comparisons:
            below.append(_differences(f"Difference from {study.against}", block.model.comparisons))
        blocks += [_table(block, block.title, notes=[block.beneath]), *below]
        printed += [block.title, Styled(block.beneath, "dim"), *(_table(block, "", *part) for part in _PRINTED), *below]
    return Report(
        title="GSSBench: pair accuracy",
        blocks=[*blocks, *notes(study)],
        document=study.as_json(),
        printed=[*printed, legend(study), *(Styled(note, "yellow") for note in notes(study))],
        records=_records(study),
    )


def legend(study: GssStudy) -> str:
    """Say how to read the numbers."""
    backends = dict.fromkeys(model.equivalence for model in study.models if model.equivalence is not None)
    used = f" Equivalence backend: {'; '.join(backends)}." if backends else ""
    return (
        "Accuracy: share of pairs whose prompt with the larger generation space has the strictly more diverse "
        "responses; chance is .5. Ties are wrong, as published; half: a tie counts half. A pair with a missing score "
        "is wrong as well; n: pairs with both scores. Mean: of the six splits, the published overall accuracy. "
        "Balanced: mean over the splits whose longer prompt has the larger space and over those whose shorter prompt "
        f"has it, so that length alone gets .5. Intervals: {LEVEL:.0%}, bootstrap over the sets of pairs. "
        f"Bold: the highest mean of a model.{used}"
    )


def notes(study: GssStudy) -> list[str]:
    """Return a line for each group of numbers that are not comparable or missing."""
    lines = []
    if differing := study.differing:
        lines.append(
            "Accuracies of different models are not comparable where k, the profile or the equivalence backend "
            f"differs: {', '.join(differing)}"
        )
    for model in study.models:
        lines += model.missing_lines
        if study.against is not None and not model.comparisons:
            lines.append(f"{model.name}: nothing to compare with {study.against}")
    return lines


def _table(
    block: Block,
    title: str,
    parts: Iterable[str] = tuple(_HEADINGS),
    intervals: Collection[str] = (*SPLITS, MEAN, BALANCED),
    notes: Sequence[str] = (),
) -> Table:
    """Make a table of the known parts of a block's rows."""
    columns = [part for part in parts if any(part in row.cells or part == _N for row in block.rows)]
    best = block.best

    def cell(row: Row, part: str) -> Cell:
        if part == _N:
            return None if row.pairs is None else f"{row.pairs:,}"
        text = _text(row.cells.get(part), part in intervals)
        return Styled(text, "bold") if part == MEAN and row.metric in best else text

    rows = [[row.metric, *(cell(row, part) for part in columns)] for row in block.rows]
    return Table(title, ["metric", *(_HEADINGS[part] for part in columns)], rows, notes)


def _text(estimate: Estimate | None, interval: bool) -> str:
    if estimate is None:
        return "-"
    return str(estimate) if interval else number(estimate.value)


def _differences(title: str, comparisons: Mapping[str, PairComparison]) -> Table:
    """Make the table of differences of the overall strict accuracies."""
    rows = []
    for name, comparison in comparisons.items():
        strict = [comparison.strict.get(part) for part in _OVERALL]
        p = p_value(comparison.strict["mean_of_splits"].p)
        rows.append((name, *(_text(difference, interval=True) for difference in strict), p))
    return Table(title, ("scorer", *_OVERALL.values(), "p (mean of splits)"), rows)


def _records(study: GssStudy) -> Table:
    """Make a table of one row for each model, metric, part and number, in full precision."""
    scored: list[tuple[Sequence[str], Mapping[str, PairEvaluation]]] = []
    for model in study.models:
        ids = ("", "") if model.result is None else (model.result.submission_id, model.result.result_id)
        scored.append(((model.name, *ids), model.evaluations))
    scored.append((("references", "", ""), study.references))
    rows = []
    for about, evaluations in scored:
        for metric, evaluation in evaluations.items():
            for part, accuracy in evaluation.accuracies.items():
                for name in ("strict", "half", "tie_rate", "missing_rate"):
                    number: Estimate = getattr(accuracy, name)
                    rows.append((*about, metric, part, name, number.value, number.low, number.high))
    return Table("", ("model", "submission", "result", "metric", "part", "number", "value", "low", "high"), rows)
