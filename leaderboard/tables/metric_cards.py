"""What each metric is, for readers: a formula, a sentence, its known failures. `ABOUT` has every one of `METRICS`.

In order of the families; what is scored, with parameters, versions and papers, stands in `benchmark.metrics.METRICS`.
"""

from leaderboard.tables.about_classes import CLASSES
from leaderboard.tables.about_meaning import MEANING
from leaderboard.tables.about_surprise import SURPRISE
from leaderboard.tables.about_uncertainty import UNCERTAINTY
from leaderboard.tables.about_words import WORDS
from leaderboard.tables.explained import FAMILIES, About, Family

BY_FAMILY: dict[Family, dict[str, About]] = {
    "meaning": MEANING,
    "classes": CLASSES,
    "surprise": SURPRISE,
    "uncertainty": UNCERTAINTY,
    "words": WORDS,
}
ABOUT: dict[str, About] = {metric: about for family in BY_FAMILY.values() for metric, about in family.items()}

__all__ = ["ABOUT", "BY_FAMILY", "FAMILIES", "About", "Family", "family_of"]


def family_of(metric: str) -> Family | None:
    """The family of a metric of this package; None of another."""
    return next((family for family, known in BY_FAMILY.items() if metric in known), None)
