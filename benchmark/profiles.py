"""Profiles: named bundles of models. What a profile has no model for is not computed, and never invented.

*lexical* needs no model. *offline* works on a machine that reaches no model hub.
"""

from dataclasses import dataclass

from benchmark.metrics import METRICS, Metric
from benchmark.models.embedder import ALL_MINILM_L6_V2, EmbedderSpec
from datasets_build.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Profile:
    """Which models score.

    Attributes:
        name: Part of every signature.
        about: One line for people.
        embedder: For metrics that read embeddings; None: they are left out.
    """

    name: str
    about: str
    embedder: EmbedderSpec | None

    def metrics(self, metrics: tuple[Metric, ...] = METRICS) -> tuple[Metric, ...]:
        """The metrics whose inputs this profile can make."""
        return tuple(m for m in metrics if m.reads != "embeddings" or self.embedder is not None)


PROFILES: tuple[Profile, ...] = (
    Profile("lexical", "texts alone, no model", embedder=None),
    Profile("offline", "models that come with the package: all-MiniLM-L6-v2", embedder=ALL_MINILM_L6_V2),
)


def find_profile(name: str, profiles: tuple[Profile, ...] = PROFILES) -> Profile:
    """The profile of that name.

    Raises:
        ConfigurationError: There is none.
    """
    for profile in profiles:
        if profile.name == name:
            return profile
    raise ConfigurationError(f"there is no profile {name!r}", f"one of {', '.join(p.name for p in profiles)}")
