"""Loads a profile's models on first use and runs them to prepare the inputs of metrics.

The scorer, contrasts and meta-evaluation all use this module, so a response set gets the same values everywhere.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

from benchmark.equivalence.backend import EquivalenceBackend, SetJudge
from benchmark.equivalence.learned.backend import Learned, LearnedEquivalence, PairReader
from benchmark.equivalence.llm_judge import LLMJudge, LLMJudgeSpec
from benchmark.equivalence.partitioning import (
    PartitionSpec,
    ResponsesToGroup,
    judge_note,
    partition_sets,
    rate_first_responses,
)
from benchmark.equivalence.rules import Rouge1
from benchmark.metrics import Metric, Reads
from benchmark.metrics.internals import Internals
from benchmark.metrics.metric import Missing
from benchmark.metrics.partition import Partition
from benchmark.models.devices import ModelRun
from benchmark.models.embedder import Embedder, SentenceTransformersEmbedder
from benchmark.models.hf_lm import load_causal_lm
from benchmark.models.pair_scorer import PairScorer
from benchmark.models.reward import HFRewardSpec, JudgeScores, RewardModel
from benchmark.models.server_lm import ServedLMSpec
from benchmark.models.tagger import Tagger
from benchmark.scoring.inputs import Materials, input_of, metrics_from
from benchmark.scoring.profiles import Profile
from benchmark.surprisal.cache import SurprisalCache
from benchmark.surprisal.engine import ResponseSet, SetSurprisals, SurprisalReader
from benchmark.validity.backend import QualityJudge, ValidityJudge
from benchmark.validity.stated import StatedJudge, Verdicts
from divbench.core.console import err
from divbench.core.errors import counted
from submissions.checking.response_kinds import scorable_responses
from submissions.schema import Reported

_READ_AT_ONCE = 200  # sets; what was read goes to the cache, so an interrupted run goes on there


def beyond_text(beyond: int, responses: int) -> str:
    """Say how many responses are longer than the embedder reads."""
    are = "is" if beyond == 1 else "are"
    return (
        f"{beyond:,} of {counted(responses, 'response')} {are} longer than the embedder reads: metrics of embeddings "
        "and validity see only the beginning; learned classes, words and surprise see the whole"
    )


@runtime_checkable
class Remembering(Protocol):
    """A model that caches what it has read."""

    def forget(self) -> None:
        """Clear the cache."""


@dataclass(slots=True)
class ScoringBackends:
    """A profile and its loaded models. A model passed in replaces the profile's own."""

    profile: Profile
    cache: Path | None = None  # file in which surprisals are cached; None: no cache
    embedder: Embedder | None = None
    reader: SurprisalReader | None = None
    # Models that score pairs of responses, keyed by the metric input that they make.
    pair_scorers: dict[Reads, PairScorer] = field(default_factory=dict)
    equivalence: EquivalenceBackend | SetJudge | None = None
    reward: RewardModel | None = None
    validity: ValidityJudge | QualityJudge | StatedJudge | None = None
    tagger: Tagger | None = None
    listener: Callable[[str], None] | None = None  # is told the steps within a shard, such as the texts embedded
    embedded: int = 0  # number of responses embedded by `materials`
    beyond: int = 0  # number of those that are longer than the embedder reads

    def load(self, metrics: Sequence[Metric]) -> None:
        """Load the models that the metrics need, the small ones first, so that a failure shows early."""
        profile, sources = self.profile, {source for metric in metrics for source in input_of(metric).sources}
        if "tagger" in sources and self.tagger is None and profile.tagger is not None:
            self.tagger = profile.tagger.load()
        if "embedder" in sources and self.embedder is None and profile.embedder is not None:
            self.embedder = SentenceTransformersEmbedder(profile.embedder, profile.device)
            self.embedder.progress = lambda done, total: self.tell(f"{done:,} of {total:,} texts embedded")
        paired = {metric.reads for metric in metrics_from("pair_scorers", metrics)}
        for name in sorted((paired & profile.pair_scorers.keys()) - self.pair_scorers.keys()):
            self.pair_scorers[name] = profile.pair_scorers[name].load(profile.device)
        if "partition" in sources and self.equivalence is None and profile.partition is not None:
            self.equivalence = self._load_equivalence(profile.partition)
        if "validity" in sources and self.validity is None:
            self.validity = profile.validity.load(self.embedder, profile.device)
        if self._are_rated(metrics) and self.reward is None and profile.reward is not None:
            self.reward = profile.reward.load()
        if "causal_lm" in sources and self.reader is None and profile.causal_lm is not None:
            cache, spec = None if self.cache is None else SurprisalCache(self.cache), profile.causal_lm
            lm = spec.load() if isinstance(spec, ServedLMSpec) else load_causal_lm(spec)
            self.reader = SurprisalReader(lm, profile.layout, profile.orders, cache)

    def _load_equivalence(self, partition: PartitionSpec) -> EquivalenceBackend | SetJudge:
        """Load the equivalence backend; if it uses the profile's embedder, each text is embedded only once."""
        backend = partition.backend
        if isinstance(backend, Learned) and backend.embedder == self.profile.embedder:
            return backend.load(self.profile.device, self.embedder)
        return partition.load(self.profile.device)

    def runs(self) -> list[ModelRun]:
        """Return how the loaded models run: libraries, precision, device."""
        profile, runs = self.profile, []
        if self.reader is not None and isinstance(run := getattr(self.reader.model, "run", None), ModelRun):
            runs.append(run)
        small: list[Any] = [self.embedder, *self.pair_scorers.values()]
        if profile.partition is not None and not isinstance(profile.partition.backend, Rouge1 | LLMJudgeSpec):
            small.append(self.equivalence)
        runs += [ModelRun(model.signature, profile.device) for model in small if model is not None]
        if self.reward is not None and isinstance(profile.reward, HFRewardSpec):
            runs.append(ModelRun(profile.reward.signature, profile.reward.device, profile.reward.dtype))
        return runs

    def read(
        self,
        sets: Sequence[ResponseSet],
        metrics: Sequence[Metric],
        progress: Callable[[int], None] = lambda sets: None,
    ) -> list[SetSurprisals | Missing] | None:
        """Read the surprisals of each set's scorable responses; None if no metric reads them or there is no model."""
        self.load(metrics)
        if self.reader is None or not metrics_from("causal_lm", metrics):
            return None
        surprisals: list[SetSurprisals | Missing] = []
        as_read = self.reader.layout.as_read
        for start in range(0, len(sets), _READ_AT_ONCE):
            part = sets[start : start + _READ_AT_ONCE]
            surprisals += self.reader.read(
                [ResponseSet(one.prompt, tuple(map(as_read, scorable_responses(one.responses)))) for one in part],
                partial(self._tell_read, start, len(sets)),
            )
            progress(len(surprisals))
        return surprisals

    def _tell_read(self, before: int, total: int, done: int) -> None:
        self.tell(f"language model: {before + done:,} of {total:,} prompts")

    def tell(self, step: str) -> None:
        """Say which step of the current shard is done, if somebody listens."""
        if self.listener is not None:
            self.listener(step)

    def _count_beyond(self, sets: Sequence[ResponseSet], metrics: Sequence[Metric]) -> None:
        """Count the responses of which the embedder reads only the beginning, where only that is embedded."""
        count = getattr(self.embedder, "count_beyond", None)
        if count is not None and any({"embedder", "validity"} & {*input_of(metric).sources} for metric in metrics):
            texts = [text for responses in sets for text in scorable_responses(responses.responses)]
            self.embedded, self.beyond = self.embedded + len(texts), self.beyond + count(texts)

    def beyond_note(self) -> str:
        """Say how many responses were longer than the embedder reads; empty if none was."""
        return beyond_text(self.beyond, self.embedded) if self.beyond else ""

    def announce(self, parts: Iterable[Sequence[ResponseSet]], metrics: Sequence[Metric]) -> None:
        """Print to stderr how many requests a judge will get for all parts together; nothing without a judge."""
        partition = self.profile.partition
        if partition is None or not metrics_from("partition", metrics):
            return
        judge = self.equivalence or (partition.load() if isinstance(partition.backend, LLMJudgeSpec) else None)
        if isinstance(judge, LLMJudge):
            groups = (
                [ResponsesToGroup.of(responses.prompt, responses.responses) for responses in sets] for sets in parts
            )
            scores = self._are_rated(metrics) and isinstance(self.profile.quality, JudgeScores)
            err().print(judge_note(groups, judge, scores=scores), markup=False, soft_wrap=True)

    def part(
        self,
        sets: Sequence[ResponseSet],
        metrics: Sequence[Metric],
        finish_reasons: Sequence[Sequence[str | None] | None] | None = None,
    ) -> list[Partition | Missing] | None:
        """Partition each set's responses; None if no metric reads partitions or the profile has no backend."""
        self.load(metrics)
        if self.equivalence is None or self.profile.partition is None or not metrics_from("partition", metrics):
            return None
        reasons = finish_reasons or [None] * len(sets)
        to_group = [
            ResponsesToGroup.of(responses.prompt, responses.responses, ended)
            for responses, ended in zip(sets, reasons, strict=True)
        ]
        labels = partition_sets(to_group, self.equivalence, self.profile.partition)
        if not self._are_rated(metrics):
            return rate_first_responses(to_group, labels, None)
        by_judge = isinstance(self.profile.quality, JudgeScores)
        return rate_first_responses(to_group, labels, cast("SetJudge", self.equivalence) if by_judge else self.reward)

    def _are_rated(self, metrics: Sequence[Metric]) -> bool:
        """Whether a metric reads the quality of responses, or their validity that depends on it."""
        by_quality = self.profile.validity.scores_from is not None
        return bool(metrics_from("quality", metrics) or (by_quality and metrics_from("validity", metrics)))

    def materials(
        self,
        sets: Sequence[ResponseSet],
        metrics: Sequence[Metric],
        *,
        surprisals: Sequence[SetSurprisals | Missing] | None = None,
        finish_reasons: Sequence[Sequence[str | None] | None] | None = None,
        internals: Sequence[Internals] | None = None,
        reported: Sequence[Reported | None] | None = None,
        verdicts: Sequence[Verdicts | None] | None = None,
    ) -> Materials:
        """Run the models on response sets and return the materials of the metrics' inputs, for `score_sets`.

        The result depends only on these sets: the last digits of an embedding depend on the other texts in its batch,
        so the models' caches are cleared first.
        """
        self.load(metrics)
        for model in (self.embedder, self.equivalence):
            if isinstance(model, Remembering):
                model.forget()
        self._count_beyond(sets, metrics)
        return Materials(
            [responses.responses for responses in sets],
            self.embedder,
            self.pair_scorers,
            partitions=self.part(sets, metrics, finish_reasons),
            surprisals=self.read(sets, metrics) if surprisals is None else surprisals,
            internals=internals,
            reported=reported,
            prompts=[responses.prompt for responses in sets],
            validity=self.validity if metrics_from("validity", metrics) else None,
            verdicts=verdicts,
            pair_reader=self._pair_reader(),
            tagger=self.tagger,
        )

    def _pair_reader(self) -> PairReader | None:
        """Return the equivalence backend's reader, so that pairs are not read twice; None if it has none."""
        learned = self.equivalence if isinstance(self.equivalence, LearnedEquivalence) else None
        return None if learned is None else learned.reader
