"""Computes metrics of response sets; defines the kinds of metric input: how each is made, and from which models.

To add a kind, add a line to `METRIC_INPUTS` and a word to `Reads`. No other code depends on a metric's `reads`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from benchmark.equivalence.backend import ResponsePair
from benchmark.equivalence.learned.backend import PairReader
from benchmark.equivalence.learned.features import FEATURES
from benchmark.metrics import METRICS, Metric, Reads, Unscorable
from benchmark.metrics.internals import ClassedInternals, Internals
from benchmark.metrics.learned_diversity import COLUMNS
from benchmark.metrics.lexical import Tokeniser, ngram_statistics, tevet_tokens, whitespace_tokens
from benchmark.metrics.metric import MOST_FOR_MODELS, Missing, bounds_text, too_many
from benchmark.metrics.partition import JudgedPartition, Partition
from benchmark.models.embedder import ALL_MINILM_L6_V2, Embedder, EmbedderSpec, TokenEmbedder
from benchmark.models.pair_scorer import PairScorer
from benchmark.models.tagger import Tagger, is_in_latin_script
from benchmark.surprisal.engine import SetSurprisals
from benchmark.validity.backend import QualityJudge, Reasons, ValidityJudge
from benchmark.validity.estimate import Estimates
from benchmark.validity.stated import StatedJudge, Verdicts
from divbench.core.errors import DivBenchError
from submissions.checking.response_kinds import is_scorable, scorable_responses
from submissions.schema import Reported

# Sources of inputs beside the texts: a model of the profile (by the name of its field), internals of the generating
# model, or values that came with the submission (*reported*), or validity that is stated of each response (*stated*).
Source = Literal[
    "embedder",
    "tagger",
    "pair_scorers",
    "causal_lm",
    "partition",
    "quality",
    "validity",
    "estimates",
    "internals",
    "reported",
    "stated",
]


@dataclass(frozen=True)
class Materials:
    """Response sets and everything that metric inputs are made from; None if not available."""

    sets: Sequence[Sequence[str]]
    embedder: Embedder | None = None
    # Models that compare two responses, keyed by the metric input that they make.
    pair_scorers: Mapping[Reads, PairScorer] = field(default_factory=dict)
    surprisals: Sequence[SetSurprisals | Missing] | None = None
    partitions: Sequence[Partition | Missing] | None = None  # equivalence classes of each set's scorable responses
    internals: Sequence[Internals] | None = None
    reported: Sequence[Reported | None] | None = None
    prompts: Sequence[str] | None = None  # the prompt of each set; None where prompts are unknown
    validity: ValidityJudge | QualityJudge | StatedJudge | None = None
    verdicts: Sequence[Verdicts | None] | None = None  # what is stated of each set, for a `StatedJudge`
    pair_reader: PairReader | None = None  # makes features of pairs of responses; None: a reader based on the embedder
    tagger: Tagger | None = None

    @cached_property
    def vectors(self) -> Mapping[str, Any]:
        """The embeddings of all scorable responses by their texts, from one call; empty without an embedder."""
        texts = [text for responses in self.scorable for text in responses]
        if self.embedder is None or not texts:
            return {}
        return dict(zip(texts, self.embedder.embed(texts), strict=True))

    @cached_property
    def estimates(self) -> list[Estimates | Missing] | None:
        """What is estimated about the validity of each set's responses; None if it is not, or judged by quality."""
        if not isinstance(self.validity, ValidityJudge) or self.partitions is None:
            return None
        known = self.vectors if self.validity.embedder is not None and self.validity.embedder is self.embedder else {}
        prompts = [None] * len(self.sets) if self.prompts is None else self.prompts
        return self.validity.estimates(prompts, self.sets, known)

    @cached_property
    def reasons(self) -> Sequence[Reasons | Missing] | None:
        """Why each response of each set is invalid; None if validity is not judged or there are no partitions."""
        if self.validity is None or self.partitions is None:
            return None
        if isinstance(self.validity, QualityJudge):
            return self.validity.reasons(self.sets, self.partitions)
        if isinstance(self.validity, StatedJudge):
            return self.validity.reasons(self.sets, self.verdicts or [None] * len(self.sets))
        return [each if isinstance(each, Missing) else each.reasons for each in self.estimates or ()]

    @cached_property
    def scorable(self) -> list[tuple[str, ...]]:
        """The scorable responses of each set: those that are neither blank nor placeholders."""
        return [scorable_responses(texts) for texts in self.sets]


Make = Callable[[Materials], Sequence[Any] | None]


@dataclass(frozen=True, slots=True)
class MetricInput:
    """A kind of metric input."""

    name: Reads  # name in `Metric.reads`
    # Function that makes one input per response set (`Missing` if a set has none); it returns None if the materials
    # lack a source.
    make: Make
    sources: tuple[Source, ...] = ()  # sources other than the texts, in the order in which signatures name them
    whole_curve: bool = False  # whether the language model must have read responses at every position of the orders
    only: EmbedderSpec | None = None  # the one embedder for which the input is defined; None: any


def _ngrams(tokenise: Tokeniser) -> Make:
    return lambda materials: ngram_statistics(materials.scorable, tokenise)


def _tags(materials: Materials) -> list[Any] | None:
    """Tag each set's responses; the tagger is for English, so a set with text in another script has no tags."""
    if materials.tagger is None:
        return None
    other = Missing("a response is not in Latin script, and the tagger reads English")
    return [
        materials.tagger.tag(texts) if all(map(is_in_latin_script, texts)) else other for texts in materials.scorable
    ]


def _embeddings(materials: Materials) -> list[Any] | None:
    """Stack the embeddings of each set's responses; None for a set without responses."""
    if materials.embedder is None:
        return None
    vectors = materials.vectors
    return [np.array([vectors[text] for text in responses]) if responses else None for responses in materials.scorable]


def _similarities(name: Reads) -> Make:
    """Score all unordered pairs, with one call per set, so that its numbers do not depend on other sets.

    A scorer may give (a, b) and (b, a) different scores; pairs are in the order of their texts, so that the order of
    the responses does not matter.
    """

    def make(materials: Materials) -> list[Any] | None:
        scorer = materials.pair_scorers.get(name)
        if scorer is None:
            return None
        return [
            scorer.score_pairs(list(combinations(sorted(texts), 2)))
            if len(texts) <= MOST_FOR_MODELS
            else Missing(too_many(MOST_FOR_MODELS))
            for texts in materials.scorable
        ]

    return make


_COSINES = [FEATURES.index(name) for name in COLUMNS[1:]]


def _beside_prompt(materials: Materials) -> list[Any] | None:
    """Make the relevance and similarities of all unordered pairs; those of equal texts are 1, without rounding."""
    embedder, reader = materials.embedder, materials.pair_reader
    if embedder is None:
        return None
    if reader is None:
        if not isinstance(embedder, TokenEmbedder):
            return [Missing("the embedder gives no states of tokens")] * len(materials.sets)
        reader = PairReader(embedder)
    prompts = [""] * len(materials.sets) if materials.prompts is None else materials.prompts
    sets = [_pairs(prompt, texts) for prompt, texts in zip(prompts, materials.scorable, strict=True)]
    every = [pair for pairs in sets if not isinstance(pairs, Missing) for pair in pairs]
    features = np.ones((len(every), len(COLUMNS)))
    if every:
        features[:, 1:] = reader.features(every)[:, _COSINES]  # first: what is read here is not embedded again
        features[[pair.a == pair.b for pair in every], 1:] = 1.0
        vectors, known = materials.vectors, sorted({pair.prompt for pair in every})
        directions = dict(zip(known, embedder.embed(known), strict=True))
        features[:, 0] = [np.sum((vectors[p.a] + vectors[p.b]) * directions[p.prompt]) / 2 for p in every]
    ends = np.cumsum([0 if isinstance(pairs, Missing) else len(pairs) for pairs in sets])
    parts = np.split(features, ends[:-1]) if sets else []
    return [pairs if isinstance(pairs, Missing) else part for pairs, part in zip(sets, parts, strict=True)]


def _pairs(prompt: str, texts: Sequence[str]) -> list[ResponsePair] | Missing:
    if not prompt.strip():
        return Missing("no prompt")
    if len(texts) > MOST_FOR_MODELS:
        return Missing(too_many(MOST_FOR_MODELS))
    return [ResponsePair(prompt, a, b) for a, b in combinations(sorted(texts), 2)]


def _surprisals(materials: Materials) -> list[Any] | None:
    if materials.surprisals is None:
        return None
    return [reading if isinstance(reading, Missing) else reading.surprisals for reading in materials.surprisals]


def _partitions(materials: Materials) -> Sequence[Partition | Missing] | None:
    return materials.partitions


def _judged_partitions(materials: Materials) -> list[JudgedPartition | Missing] | None:
    if materials.partitions is None or materials.reasons is None:
        return None
    judged: list[JudgedPartition | Missing] = []
    estimates: Sequence[Estimates | Missing | None] = materials.estimates or [None] * len(materials.sets)
    rows = zip(materials.sets, materials.partitions, materials.reasons, estimates, strict=True)
    for texts, partition, reasons, of_set in rows:
        if isinstance(partition, Missing):
            judged.append(partition)
        elif isinstance(reasons, Missing):
            judged.append(reasons)
        else:
            scored = [i for i, text in enumerate(texts) if is_scorable(text)]
            classes = Partition(tuple(partition.labels[i] for i in scored))
            scores = None if not isinstance(of_set, Estimates) else tuple(of_set.scores[i] for i in scored)
            judged.append(JudgedPartition(classes, tuple(reasons[i] for i in scored), len(texts) - len(scored), scores))
    return judged


def _internals(materials: Materials) -> list[Internals] | None:
    if materials.internals is None:
        return None
    scored = [[i for i, text in enumerate(texts) if is_scorable(text)] for texts in materials.sets]
    return [internals.take(positions) for positions, internals in zip(scored, materials.internals, strict=True)]


def _classed_internals(materials: Materials) -> list[ClassedInternals | Missing] | None:
    if materials.internals is None:
        return None
    partitions = materials.partitions or [Missing("no classes")] * len(materials.sets)
    return [
        partition if isinstance(partition, Missing) else ClassedInternals(partition, internals)
        for partition, internals in zip(partitions, materials.internals, strict=True)
    ]


def _reported(materials: Materials) -> list[Reported | Missing]:
    refused = Missing("the judge refused to score it")
    came = materials.reported or [None] * len(materials.sets)
    return [Missing("not reported") if r is None else refused if r.unscored else r for r in came]


METRIC_INPUTS: tuple[MetricInput, ...] = (
    MetricInput("responses", lambda materials: materials.scorable),
    MetricInput("ngrams:tevet", _ngrams(tevet_tokens)),
    MetricInput("ngrams:whitespace", _ngrams(whitespace_tokens)),
    MetricInput("tags", _tags, ("tagger",)),
    MetricInput("embeddings", _embeddings, ("embedder",)),
    MetricInput("pairs:bert_score", _similarities("pairs:bert_score"), ("pair_scorers",)),
    MetricInput("pairs:sts", _similarities("pairs:sts"), ("pair_scorers",)),
    MetricInput("pairs:beside_prompt", _beside_prompt, ("embedder",), only=ALL_MINILM_L6_V2),
    MetricInput("surprisals", _surprisals, ("causal_lm",)),
    MetricInput("surprisals:curve", _surprisals, ("causal_lm",), whole_curve=True),
    MetricInput("partition", _partitions, ("partition",)),
    MetricInput("partition+rewards", _partitions, ("partition", "quality")),
    MetricInput("partition+validity", _judged_partitions, ("partition", "validity")),
    MetricInput("partition+estimates", _judged_partitions, ("partition", "validity", "estimates")),
    MetricInput("partition+stated", _judged_partitions, ("partition", "validity", "stated")),
    MetricInput("internals", _internals, ("internals",)),
    MetricInput("partition+internals", _classed_internals, ("partition", "internals")),
    MetricInput("reported", _reported, ("reported",)),
)
_BY_NAME = {each.name: each for each in METRIC_INPUTS}


def input_of(metric: Metric) -> MetricInput:
    """Return the kind of input that a metric reads."""
    return _BY_NAME[metric.reads]


def metrics_from(source: Source, metrics: Sequence[Metric] = METRICS) -> tuple[Metric, ...]:
    """Return the metrics whose input comes from a source."""
    return tuple(metric for metric in metrics if source in input_of(metric).sources)


def computed(metrics: Sequence[Metric]) -> tuple[Metric, ...]:
    """Return the metrics that are computed here; the others are reported with a submission."""
    return tuple(metric for metric in metrics if "reported" not in input_of(metric).sources)


ROUNDING = 1e-12  # tolerance at a metric's bounds

Value = float | Missing


class ScoringFault(DivBenchError):
    """An unexpected failure of a metric. It stops the run, so that an error never becomes a score."""


def make_inputs(materials: Materials, metrics: Sequence[Metric]) -> dict[str, Sequence[Any]]:
    """Return the inputs that the metrics read, by name; each is made once."""
    inputs: dict[str, Sequence[Any]] = {}
    for source in dict.fromkeys(map(input_of, metrics)):
        values = source.make(materials)
        if values is None:
            raise ScoringFault(f"metrics read {source.name}, and there is nothing to make it", "choose another profile")
        inputs[source.name] = values
    return inputs


def score_sets(
    materials: Materials,
    metrics: Sequence[Metric],
    names: Sequence[str] | None = None,
    ready: Mapping[str, Sequence[Any]] = MappingProxyType({}),
) -> list[dict[str, Value]]:
    """Return the value of each metric for each response set.

    Blank responses and placeholders such as `[Blocked]` are left out before anything is counted, so that they are never
    scored as novel.
    """
    inputs = {**ready, **make_inputs(materials, [metric for metric in metrics if metric.reads not in ready])}
    where = [f"set {i}" for i in range(len(materials.sets))] if names is None else names
    scores: list[dict[str, Value]] = [{} for _ in materials.sets]
    sizes = [len(responses) for responses in materials.sets]
    for metric in metrics:
        rows = zip(scores, inputs[metric.reads], materials.scorable, sizes, where, strict=True)
        for values, metric_input, responses, k, name in rows:
            if isinstance(metric_input, Missing):
                values[metric.id] = metric_input
            elif len(responses) < metric.needs:
                values[metric.id] = Missing(f"fewer than {metric.needs} responses" if responses else "no response")
            else:
                try:
                    value = float(metric.fn(metric_input))
                    _check_bounds(metric, value, k, name)
                    values[metric.id] = value
                except Unscorable as error:
                    values[metric.id] = Missing(str(error))
                except DivBenchError:
                    raise
                except Exception as error:
                    raise ScoringFault(f"{metric.id} failed on {name}: {type(error).__name__}: {error}") from error
    return scores


def score_set(responses: Sequence[str], metrics: Sequence[Metric] | None = None) -> dict[str, Value]:
    """Return the values of one response set for all metrics that need no model.

    >>> values = score_set(["a red cat", "a red cat", "two dogs ran"])
    >>> values["type_token_ratio"]
    0.6666666666666666
    """
    chosen = [m for m in METRICS if not input_of(m).sources] if metrics is None else metrics
    return score_sets(Materials([responses]), chosen)[0]


def _check_bounds(metric: Metric, value: float, k: int, where: str) -> None:
    if not metric.within_bounds(value, k, ROUNDING):
        raise ScoringFault(f"{metric.id} gave {value} on {where}, outside its bounds {bounds_text(metric.bounds)}")
