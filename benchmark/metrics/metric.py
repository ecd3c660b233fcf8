"""What a metric is: a pure function, and what a reader must know of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

Reads = Literal[
    "responses",
    "ngrams:tevet",
    "ngrams:whitespace",
    "tags",
    "embeddings",
    "pairs:bert_score",
    "pairs:sts",
    "pairs:beside_prompt",
    "surprisals",
    "surprisals:curve",
    "partition",
    "partition+rewards",
    "partition+validity",
    "internals",
    "partition+internals",
    "reported",
]


@dataclass(frozen=True, slots=True)
class Missing:
    """A missing value, with the reason."""

    reason: str


class Unscorable(ValueError):
    """A set that a metric is not defined for. The message is the reason, and the same reason has the same words.

    The scorer records the value as missing with this reason. Any other exception is a fault and stops the run.
    """


Family = Literal["words", "meaning", "surprise", "uncertainty", "classes"]

FAMILIES: dict[Family, str] = {
    "words": "Words: how much of the wording repeats. No model reads the responses.",
    "meaning": "Meaning: how far apart responses lie, for a model that turns texts into vectors or compares pairs.",
    "surprise": "Surprise: what a language model still learns from a response once it has read the others.",
    "uncertainty": "Uncertainty: how unsure the generating model was, from its own probabilities and states.",
    "classes": "Classes: how many responses say something that no other says, for a rule or model that judges pairs.",
}


@dataclass(frozen=True, slots=True)
class Version:
    """A definition of a metric.

    Attributes:
        number: Number, as in `Metric.version`.
        date: Date of the first numbers, YYYY-MM-DD.
        change: Change from the version before.
    """

    number: int
    date: str
    change: str


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of one response set, and its card: what readers should know of it, from `family` on.

    Attributes:
        fn: Function from one set's input of the kind `reads` to a number: no I/O, no model, no rounding.
        reads: Kind of input, made once for all metrics that read it (see scoring/inputs.py):
            *responses* a sequence of texts; *ngrams:…* an `NgramStatistics`; *tags* the
            part-of-speech tags of each response, sentence by sentence; *embeddings* unit vectors
            float64 [responses, dimensions]; *pairs:…* similarities of all unordered pairs of responses, float64
            [pairs], under the scorer of that name (*beside_prompt*: [pairs, 3], see learned_diversity.py);
            *surprisals* a `Surprisals`, of which it reads the last position and
            the responses alone, or with *:curve* all positions; *partition* a `Partition`, with qualities under
            *+rewards* and as a `JudgedPartition` under *+validity*; *internals* an `Internals` of the generating model,
            with *partition+* a `ClassedInternals`;
            *reported* a `Reported` that came with the submission.
        direction: +1 where more means more diverse, −1 where less does, 0 where neither: a part or a diagnostic.
        bounds: Lowest and highest value; None where there is none.
        parameters: Parameters that are bound in `fn`, for the signature.
        needs: Smallest number of responses for which it is defined.
        family: Its place among the metrics; `FAMILIES` says what each family measures.
        formula: Formula in plain text with mathematical symbols.
        summary: One sentence for readers who do not know it.
        failures: Known failures, worst first.
        history: Every version, the newest first. A changed definition is a new entry.
    """

    id: str
    title: str
    fn: Callable[[Any], float]
    reads: Reads
    direction: Literal[1, 0, -1]
    bounds: tuple[float | None, float | None]
    unit: str
    paper: str
    family: Family
    parameters: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    needs: int = 1
    formula: str = ""
    summary: str = ""
    failures: tuple[str, ...] = ()
    history: tuple[Version, ...] = ()

    @property
    def version(self) -> int:
        """Version of the definition; numbers of two versions never share a column."""
        return self.history[0].number if self.history else 1
