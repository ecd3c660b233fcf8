"""Judges of validity for a profile: the estimate of our models, a reward model, or a judge.

A reward model and a judge give the first response of each class a quality of 1 to 10, which decides for the class.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmark.metrics.metric import Missing
from benchmark.metrics.partition import Partition
from benchmark.models.embedder import Embedder, EmbedderSpec, SentenceTransformersEmbedder
from benchmark.models.reward import JudgeScores, RewardModelSpec
from benchmark.validity.estimate import MODEL, Estimates, estimate, load_models, recognised
from benchmark.validity.features import other_prompts, refusal_texts
from benchmark.validity.record import SHIPPED, VALID_FROM, Record, load_record
from benchmark.validity.stated import StatedJudge
from benchmark.validity.text_statistics import Floats
from divbench.core.files import sha256_of
from submissions.checking.response_kinds import is_scorable

VERSION = 6  # changed with the features; part of signatures, as are the hashes of model and record
RULE = 1  # version of the rule which prompts ask for something; in signatures where not all prompts are in the record
Reasons = tuple[str | None, ...]  # [k], why a response is invalid; None if it is valid
LOWEST = "rated lowest by the reward model"
_LOWEST_QUALITY = 1.0  # of 1 to 10
FAILED = f"scored below {VALID_FROM} by the judge"
CUT = "truncated, in a class that does not count and is not scored"


@dataclass(frozen=True, slots=True)
class ValiditySpec:
    """Names the models that judge validity."""

    embedder: EmbedderSpec | None = None  # embedder of the estimate; None: it reads texts alone
    record: Path = SHIPPED  # judged responses with which those to the same prompts are compared
    # Source of the qualities that decide instead of the estimate, if there is one.
    scores_from: RewardModelSpec | JudgeScores | None = None
    stated: str | None = None  # rule of what is stated of each response, which decides before all others

    @property
    def signature(self) -> str:
        """Return the signature, such as `validity-v6@HASH,record@HASH,name@revision,float32,256-tokens`."""
        if self.stated is not None:
            return f"validity-as-stated,{self.stated}"
        if isinstance(self.scores_from, JudgeScores):
            return f"validity-from-{VALID_FROM},{self.scores_from.signature}"
        if self.scores_from is not None:
            return f"validity-over-{_LOWEST_QUALITY:g},{self.scores_from.signature}"
        model = f"validity-v{VERSION}@{sha256_of(MODEL)[:12]}"
        if self.embedder is None:
            return f"{model},texts"
        return f"{model},record@{sha256_of(self.record)[:12]},{self.embedder.signature}"

    def parameters(self, prompts: Iterable[str] | None) -> tuple[tuple[str, str], ...]:
        """Return what else the estimate for some prompts depends on; None for unknown prompts."""
        if self.stated is not None or self.scores_from is not None or self.embedder is None:
            return ()
        is_judged = prompts is not None and load_record(self.record).has_all(prompts)
        return () if is_judged else (("prompts-that-ask", f"rule-{RULE}"),)

    def load(self, loaded: Embedder | None = None, device: str = "cpu") -> "ValidityJudge | QualityJudge | StatedJudge":
        """Load the record and the embedder of the estimate, unless qualities or statements decide."""
        if self.stated is not None:
            return StatedJudge()
        if self.scores_from is not None:
            return QualityJudge(by_judge=isinstance(self.scores_from, JudgeScores))
        if self.embedder is None:
            return ValidityJudge()
        if loaded is None or loaded.signature != self.embedder.signature:
            loaded = SentenceTransformersEmbedder(self.embedder, device)
        return ValidityJudge(loaded, load_record(self.record))


@dataclass(frozen=True, slots=True)
class ValidityJudge:
    """Estimates which responses do what was asked."""

    embedder: Embedder | None = None
    record: Record | None = None
    _compared: dict[str, Floats] = field(default_factory=dict, init=False, repr=False, compare=False)

    def estimates(
        self,
        prompts: Sequence[str | None],
        sets: Sequence[Sequence[str]],
        known: Mapping[str, Floats],
    ) -> list[Estimates | Missing]:
        """Judge every response of every set; `known` are vectors of the embedder, by text."""
        vectors = None if self.embedder is None else self._vectors(self.embedder, prompts, sets, known)
        return [
            estimate(prompt, responses, vectors, self.record, load_models())
            for prompt, responses in zip(prompts, sets, strict=True)
        ]

    def _vectors(
        self,
        embedder: Embedder,
        prompts: Sequence[str | None],
        sets: Sequence[Sequence[str]],
        known: Mapping[str, Floats],
    ) -> Mapping[str, Floats]:
        if not self._compared:  # embedded once, in a batch of their own
            banks = sorted({*refusal_texts(), *other_prompts()})
            self._compared.update(zip(banks, embedder.embed(banks), strict=True))
        vectors = {**known, **self._compared}
        texts = {text for responses in sets for text in responses if is_scorable(text)}
        new = sorted(
            texts.union(prompt for prompt in prompts if prompt is not None and prompt.strip()) - vectors.keys()
        )
        return {**vectors, **(dict(zip(new, embedder.embed(new), strict=True)) if new else {})}


@dataclass(frozen=True, slots=True)
class QualityJudge:
    """Judges which responses are valid by the quality of the first response of their class, the only one rated."""

    by_judge: bool  # whether it is a judge's score, not the quality by a reward model

    def reasons(
        self, sets: Sequence[Sequence[str]], partitions: Sequence[Partition | Missing]
    ) -> list[Reasons | Missing]:
        """Judge every response of every set; missing where a class has no quality."""
        return [self._reasons(texts, partition) for texts, partition in zip(sets, partitions, strict=True)]

    def _reasons(self, texts: Sequence[str], partition: Partition | Missing) -> Reasons | Missing:
        if isinstance(partition, Missing):
            return partition
        qualities = [None if partition.qualities is None else partition.qualities[head] for head in partition.heads]
        if None in qualities:
            return Missing(partition.unscored or "no quality of a class's first response")
        reason_of: dict[int | None, str | None] = dict(enumerate(map(self._reason, qualities)))
        reason_of[None] = CUT if self.by_judge else None
        reasons = (reason_of[label] for label in partition.labels)
        return tuple(recognised(text) or reason for text, reason in zip(texts, reasons, strict=True))

    def _reason(self, quality: float | None) -> str | None:
        if quality is None:
            return None
        if self.by_judge:
            return None if quality >= VALID_FROM else FAILED
        return None if quality > _LOWEST_QUALITY else LOWEST
