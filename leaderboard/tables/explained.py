"""What a reader should know of a metric beside its title: how about.py and its families say it."""

from dataclasses import dataclass
from typing import Literal

Family = Literal["words", "meaning", "surprise", "uncertainty", "classes"]

FAMILIES: dict[Family, str] = {
    "words": "Words: how much of the wording repeats. No model reads the answers.",
    "meaning": "Meaning: how far apart answers lie, for a model that turns texts into vectors or compares pairs.",
    "surprise": "Surprise: what a language model still learns from an answer once it has read the others.",
    "uncertainty": "Uncertainty: how unsure the model that answered was, from its own probabilities and states.",
    "classes": "Classes: how many answers say something that no other says, for a rule or model that judges pairs.",
}


@dataclass(frozen=True, slots=True)
class About:
    """A metric in words.

    Attributes:
        formula: What is computed, in plain text with the signs of mathematics.
        plain: One sentence for readers who do not know it.
        failures: Where it is known to go wrong, worst first.
    """

    formula: str
    plain: str
    failures: tuple[str, ...]
