"""A profile's models, loaded when first needed, and what metrics make of response sets with them.

The scorer, contrasts and meta-evaluation all score through here, so a set has the same values wherever it is scored.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmark.equivalence.backend import EquivalenceBackend, SetJudge
from benchmark.equivalence.partitioning import ResponsesToGroup, partition_sets, rate_first_responses
from benchmark.metrics import Metric, Reads
from benchmark.metrics.internals import Internals
from benchmark.metrics.metric import Missing
from benchmark.metrics.partition import Partition
from benchmark.models.embedder import Embedder, SentenceTransformersEmbedder
from benchmark.models.hf_lm import load_causal_lm
from benchmark.models.pair_scorer import PairScorer
from benchmark.models.reward import RewardModel
from benchmark.scoring.compute import answers_of
from benchmark.scoring.inputs import Materials, input_of, metrics_from
from benchmark.scoring.profiles import Profile
from benchmark.surprisal.cache import SurprisalCache
from benchmark.surprisal.engine import ResponseSet, SetSurprisals, SurprisalReader
from submissions.schema import Reported

_READ_AT_ONCE = 200  # sets; what was read goes to the cache, so an interrupted run goes on there


@dataclass(slots=True)
class ScoringBackends:
    """What a profile scores with.

    Attributes:
        profile: Names the models.
        cache: A file that keeps what the language model found; None: nothing is kept.
        embedder: Already loaded, or one to use in place of the profile's.
        reader: Likewise.
        pair_scorers: Likewise, by what they make.
        equivalence: Likewise, the equivalence backend.
        reward: Likewise, judges the quality of answers.
    """

    profile: Profile
    cache: Path | None = None
    embedder: Embedder | None = None
    reader: SurprisalReader | None = None
    pair_scorers: dict[Reads, PairScorer] = field(default_factory=dict)
    equivalence: EquivalenceBackend | SetJudge | None = None
    reward: RewardModel | None = None

    def load(self, metrics: Sequence[Metric]) -> None:
        """Load what these metrics need, the small models first: they fail sooner, if they do.

        Raises:
            ConfigurationError: A model is not pinned, cannot be had, or is of another kind.
            MissingExtra: A library is not installed.
        """
        profile, sources = self.profile, {source for metric in metrics for source in input_of(metric).sources}
        if "embedder" in sources and self.embedder is None and profile.embedder is not None:
            self.embedder = SentenceTransformersEmbedder(profile.embedder)
        paired = {metric.reads for metric in metrics_from("pair_scorers", metrics)}
        for name in sorted((paired & profile.pair_scorers.keys()) - self.pair_scorers.keys()):
            self.pair_scorers[name] = profile.pair_scorers[name].load()
        if "partition" in sources and self.equivalence is None and profile.partition is not None:
            self.equivalence = profile.partition.load()
        if "reward" in sources and self.reward is None and profile.reward is not None:
            self.reward = profile.reward.load()
        if "causal_lm" in sources and self.reader is None and profile.causal_lm is not None:
            kept = None if self.cache is None else SurprisalCache(self.cache)
            self.reader = SurprisalReader(load_causal_lm(profile.causal_lm), profile.layout, profile.orders, kept)

    def read(
        self,
        sets: Sequence[ResponseSet],
        metrics: Sequence[Metric],
        progress: Callable[[int], None] = lambda sets: None,
    ) -> list[SetSurprisals | Missing] | None:
        """What the language model finds of the answers of each set; None where no metric asks, or there is no model.

        Args:
            sets: Prompts with all their responses; those that are no answers are left out here.
            metrics: That are to be computed.
            progress: Called with the number of sets done.
        """
        self.load(metrics)
        if self.reader is None or not metrics_from("causal_lm", metrics):
            return None
        made: list[SetSurprisals | Missing] = []
        for start in range(0, len(sets), _READ_AT_ONCE):
            part = sets[start : start + _READ_AT_ONCE]
            made += self.reader.read([ResponseSet(each.prompt, answers_of(each.responses)) for each in part])
            progress(len(made))
        return made

    def part(
        self,
        sets: Sequence[ResponseSet],
        metrics: Sequence[Metric],
        finish_reasons: Sequence[Sequence[str | None] | None] | None = None,
    ) -> list[Partition | Missing] | None:
        """The classes of each set's responses; None where no metric asks, or the profile does not part them.

        Args:
            sets: Prompts with all their responses.
            metrics: That are to be computed.
            finish_reasons: Of each set's responses, where they are known.
        """
        self.load(metrics)
        if self.equivalence is None or self.profile.partition is None or not metrics_from("partition", metrics):
            return None
        reasons = finish_reasons or [None] * len(sets)
        answers = [
            ResponsesToGroup.of(each.prompt, each.responses, own) for each, own in zip(sets, reasons, strict=True)
        ]
        labels = partition_sets(answers, self.equivalence, self.profile.partition)
        return rate_first_responses(answers, labels, self.reward if metrics_from("reward", metrics) else None)

    def materials(
        self,
        sets: Sequence[ResponseSet],
        metrics: Sequence[Metric],
        *,
        surprisals: Sequence[SetSurprisals | Missing] | None = None,
        finish_reasons: Sequence[Sequence[str | None] | None] | None = None,
        internals: Sequence[Internals] | None = None,
        reported: Sequence[Reported | None] | None = None,
    ) -> Materials:
        """What the metrics' inputs are made of, for `score_sets`.

        Args:
            sets: Prompts with all their responses.
            metrics: Metrics that the profile has models for.
            surprisals: Result of `read`; None: the sets are read here.
            finish_reasons: Why each response of a set ended, where that is known.
            internals: What the generating model said of each set's responses.
            reported: What came with each set.

        Raises:
            ConfigurationError: As in `load`.
        """
        self.load(metrics)
        return Materials(
            [each.responses for each in sets],
            self.embedder,
            self.pair_scorers,
            partitions=self.part(sets, metrics, finish_reasons),
            surprisals=self.read(sets, metrics) if surprisals is None else surprisals,
            internals=internals,
            reported=reported,
        )
