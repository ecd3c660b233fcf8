"""Defines a metric: a pure function, and its card."""

import math
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
    "partition+estimates",
    "partition+stated",
    "internals",
    "partition+internals",
    "reported",
]


@dataclass(frozen=True, slots=True)
class Missing:
    """A missing value, with the reason."""

    reason: str


ARROWS = {1: "↑", 0: "", -1: "↓"}  # the direction of more diversity
MOST = 5_000  # responses whose pairs are compared with arithmetic; their distances take 200 MB
MOST_FOR_MODELS = 2_000  # responses whose pairs are compared with a model, or grouped: minutes, and some gigabytes


def too_many(most: int, what: str = "responses") -> str:
    """Return the reason why a set with more than `most` responses has no value.

    >>> too_many(MOST)
    'more than 5,000 responses, too many for all pairs'
    """
    return f"more than {most:,} {what}, too many for all pairs"


class Unscorable(ValueError):
    """Raised for a set on which a metric is undefined. The message is the reason, in fixed words.

    The scorer records the value as missing with this reason. Any other exception is a fault and stops the run.
    """


Bounds = tuple[float | None, float | Literal["k"] | None]  # lowest and highest value; None: unbounded
Family = Literal["words", "meaning", "surprise", "uncertainty", "classes"]

FAMILIES: dict[Family, str] = {
    "words": "Words: how much of the wording repeats. No model reads the responses.",
    "meaning": "Meaning: how far apart responses are, for a model that embeds texts or compares pairs.",
    "surprise": "Surprise: what a language model still learns from a response once it has read the others.",
    "uncertainty": "Uncertainty: how uncertain the generating model was, from its own probabilities and states.",
    "classes": "Classes: how many responses say something that no other says, by a rule or model that compares pairs.",
}


@dataclass(frozen=True, slots=True)
class Version:
    """A definition of a metric."""

    number: int  # number, as in `Metric.version`
    date: str  # date of the first numbers, YYYY-MM-DD
    change: str  # change since the previous version


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of one response set, and from `family` on its card, which explains it to readers."""

    id: str
    title: str
    # Function from one set's input of the kind `reads` to a number: no I/O, no model, no rounding.
    fn: Callable[[Any], float]
    # Kind of input, made once for all metrics that read it (see scoring/inputs.py): *responses* a sequence of texts;
    # *ngrams:…* an `NgramStatistics`; *tags* the part-of-speech tags of each response, sentence by sentence;
    # *embeddings* unit vectors float64 [responses, dimensions]; *pairs:…* similarities of all unordered pairs of
    # responses, float64 [pairs], under the scorer of that name (*beside_prompt*: [pairs, 3], see learned_diversity.py);
    # *surprisals* a `Surprisals`, of which it reads the last position and the responses alone, or with *:curve* all
    # positions; *partition* a `Partition`, with qualities for *+rewards*, or a `JudgedPartition` for *+validity*,
    # *+estimates* and *+stated*;
    # *internals* an `Internals` of the generating model, or with *partition+* a `ClassedInternals`; *reported* a
    # `Reported` from the submission.
    reads: Reads
    # +1 if higher is more diverse, −1 if lower is, 0 if neither (a component or a diagnostic).
    direction: Literal[1, 0, -1]
    bounds: Bounds  # lowest and highest value; None if unbounded, and "k" for the number of responses
    unit: str
    paper: str
    family: Family  # family of the metric; `FAMILIES` describes each
    # Parameters that are bound in `fn`, for the signature.
    parameters: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    needs: int = 1  # smallest number of responses for which it is defined
    formula: str = ""  # formula in plain text with mathematical symbols
    summary: str = ""  # one sentence for readers who do not know the metric
    failures: tuple[str, ...] = ()  # known failures, worst first
    history: tuple[Version, ...] = ()  # every version, the newest first. A changed definition is a new entry.

    def within_bounds(self, value: float, k: int, tolerance: float = 0.0) -> bool:
        """Whether a value of k responses is finite and within the bounds."""
        low, high = self.bounds
        most = k if high == "k" else high
        above = low is None or value >= low - tolerance
        return math.isfinite(value) and above and (most is None or value <= most + tolerance)

    @property
    def version(self) -> int:
        """Version of the definition; numbers of different versions never share a column."""
        return self.history[0].number if self.history else 1


def bounds_text(bounds: Bounds) -> str:
    """Write bounds for readers.

    >>> bounds_text((0, "k")), bounds_text((-1.5, None))
    ('0 to k', '−1.5 to ∞')
    """
    low, high = bounds
    return f"{_bound(low, '−∞')} to {high if high == 'k' else _bound(high, '∞')}"


def _bound(value: float | None, unbounded: str) -> str:
    return unbounded if value is None else f"{value:g}".replace("-", "−")
