"""Judges of validity for a profile: the discriminator, with an embedder or from texts alone; a reward model; a judge.

A reward model and a judge give the first response of each class a quality of 1 to 10, which decides for the class.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from benchmark.equivalence.llm_judge import JudgeScores
from benchmark.metrics.metric import Missing
from benchmark.metrics.partition import Partition
from benchmark.models.embedder import Embedder, EmbedderSpec, SentenceTransformersEmbedder
from benchmark.models.reward import RewardModelSpec
from benchmark.validity.discriminator import (
    VERSION,
    Discriminator,
    evidence,
    is_in_another_script,
    judge,
    load_discriminator,
    other_prompts,
    refusal_texts,
)
from submissions.checking.response_kinds import is_refusal, is_scorable

Floats = NDArray[np.float64]
Reasons = tuple[str | None, ...]  # [k], why a response is invalid; None if it is valid
BLANK, REFUSAL, LOWEST = "blank or a placeholder", "refusal", "rated lowest by the reward model"
SCRIPT = "in another script than the prompt"
_LOWEST_QUALITY = 1.0  # of 1 to 10
VALID_FROM = 4  # lowest score of a judge for a valid response: a weak attempt that still answers
FAILED = f"scored below {VALID_FROM} by the judge"
CUT = "truncated, in a class that does not count and is not scored"


@dataclass(frozen=True, slots=True)
class ValiditySpec:
    """Names the models that judge validity."""

    embedder: EmbedderSpec | None = None  # embedder of the discriminator; None: it judges texts alone
    # Source of the qualities that decide instead of the discriminator, if there is one.
    scores_from: RewardModelSpec | JudgeScores | None = None

    @property
    def signature(self) -> str:
        """Return the signature, such as `validity-v5,name@revision,float32,256-tokens`."""
        if isinstance(self.scores_from, JudgeScores):
            return f"validity-from-{VALID_FROM},{self.scores_from.signature}"
        if self.scores_from is not None:
            return f"validity-over-{_LOWEST_QUALITY:g},{self.scores_from.signature}"
        return f"validity-v{VERSION},{'texts' if self.embedder is None else self.embedder.signature}"

    def load(self, loaded: Embedder | None = None, device: str = "cpu") -> "ValidityJudge | QualityJudge":
        """Load the discriminator and its embedder, unless qualities decide."""
        if self.scores_from is not None:
            return QualityJudge(by_judge=isinstance(self.scores_from, JudgeScores))
        embedder = None
        if self.embedder is not None:
            is_it = loaded is not None and loaded.signature == self.embedder.signature
            embedder = loaded if is_it else SentenceTransformersEmbedder(self.embedder, device)
        return ValidityJudge(load_discriminator(), embedder)


@dataclass(frozen=True, slots=True)
class ValidityJudge:
    """Judges which responses are valid."""

    discriminator: Discriminator = field(default_factory=load_discriminator)
    embedder: Embedder | None = None  # embedder of the discriminator
    _banks: dict[str, Floats] = field(default_factory=dict, init=False, repr=False, compare=False)

    def reasons(
        self,
        prompts: Sequence[str | None],
        sets: Sequence[Sequence[str]],
        partitions: Sequence[Partition | Missing],
        known: Mapping[str, Floats],
    ) -> list[Reasons]:
        """Judge every response of every set."""
        features = evidence(prompts, sets, self.discriminator, self.embedder, {**self._compared(), **known})
        judged = [
            [
                SCRIPT if prompt is not None and is_in_another_script(prompt, text) else reason
                for text, reason in zip(texts, judge(evidence_of_set, self.discriminator), strict=True)
            ]
            for prompt, texts, evidence_of_set in zip(prompts, sets, features, strict=True)
        ]
        return [
            tuple(_recognised(text) or reason for text, reason in zip(texts, judgement, strict=True))
            for texts, judgement in zip(sets, judged, strict=True)
        ]

    def _compared(self) -> Mapping[str, Floats]:
        """Vectors of the texts that all responses are compared with; embedded once, in a batch of their own."""
        if self.embedder is not None and not self._banks:
            texts = sorted({*refusal_texts(), *other_prompts()})
            self._banks.update(zip(texts, self.embedder.embed(texts), strict=True))
        return self._banks


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
        return tuple(_recognised(text) or reason for text, reason in zip(texts, reasons, strict=True))

    def _reason(self, quality: float | None) -> str | None:
        if quality is None:
            return None
        if self.by_judge:
            return None if quality >= VALID_FROM else FAILED
        return None if quality > _LOWEST_QUALITY else LOWEST


def _recognised(text: str) -> str | None:
    """Return why a text is no answer, if that shows without a model."""
    return BLANK if not is_scorable(text) else REFUSAL if is_refusal(text) else None
