"""Judges of validity for a profile: the discriminator, with an embedder or from texts alone, or a reward model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

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


@dataclass(frozen=True, slots=True)
class ValiditySpec:
    """Names the models that judge validity."""

    embedder: EmbedderSpec | None = None  # embedder of the discriminator; None: it judges texts alone
    # Reward model; if there is one, its quality decides instead of the discriminator.
    reward: RewardModelSpec | None = None

    @property
    def signature(self) -> str:
        """Return the signature, such as `validity-v5,name@revision,float32,256-tokens`."""
        if self.reward is not None:
            return f"validity-over-{_LOWEST_QUALITY:g},{self.reward.signature}"
        return f"validity-v{VERSION},{'texts' if self.embedder is None else self.embedder.signature}"

    def load(self, loaded: Embedder | None = None, device: str = "cpu") -> "ValidityJudge":
        """Load the discriminator and its embedder."""
        embedder = None
        if self.reward is None and self.embedder is not None:
            is_it = loaded is not None and loaded.signature == self.embedder.signature
            embedder = loaded if is_it else SentenceTransformersEmbedder(self.embedder, device)
        return ValidityJudge(None if self.reward is not None else load_discriminator(), embedder)


@dataclass(frozen=True, slots=True)
class ValidityJudge:
    """Judges which responses are valid."""

    # Parameters of the discriminator; None: the qualities of a partition decide.
    discriminator: Discriminator | None = field(default_factory=load_discriminator)
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
        if self.discriminator is None:
            judged: Sequence[Sequence[str | None]] = [
                _rated_lowest(partition, len(texts)) for partition, texts in zip(partitions, sets, strict=True)
            ]
        else:
            features = evidence(prompts, sets, self.discriminator, self.embedder, {**self._compared(), **known})
            judged = [
                [
                    SCRIPT if prompt is not None and is_in_another_script(prompt, text) else reason
                    for text, reason in zip(texts, judge(evidence_of_set, self.discriminator), strict=True)
                ]
                for prompt, texts, evidence_of_set in zip(prompts, sets, features, strict=True)
            ]
        return [
            tuple(
                BLANK if not is_scorable(text) else REFUSAL if is_refusal(text) else reason
                for text, reason in zip(texts, judgement, strict=True)
            )
            for texts, judgement in zip(sets, judged, strict=True)
        ]

    def _compared(self) -> Mapping[str, Floats]:
        """Vectors of the texts that all responses are compared with; embedded once, in a batch of their own."""
        if self.embedder is not None and not self._banks:
            texts = sorted({*refusal_texts(), *other_prompts()})
            self._banks.update(zip(texts, self.embedder.embed(texts), strict=True))
        return self._banks


def _rated_lowest(partition: Partition | Missing, size: int) -> list[str | None]:
    """Return the reason for each response; a class has the quality of its first response, the only one rated."""
    if isinstance(partition, Missing) or partition.qualities is None:
        return [None] * size
    heads = partition.heads
    low = {partition.labels[i] for i in heads if (partition.qualities[i] or 0.0) <= _LOWEST_QUALITY}
    return [LOWEST if label in low and label is not None else None for label in partition.labels]
