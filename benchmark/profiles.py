"""Profiles: named bundles of models. What a profile has no model for is not computed, and never invented.

*lexical* needs no model. *offline* works on a machine that reaches no model hub.
"""

from dataclasses import dataclass, field
from pathlib import Path

from benchmark.engine import OrderPlan
from benchmark.layout import Layout
from benchmark.metrics import METRICS, Metric
from benchmark.models.embedder import ALL_MINILM_L6_V2, EmbedderSpec
from benchmark.models.hf_lm import CausalLMSpec
from datasets_build.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Profile:
    """Which models score.

    Attributes:
        name: Part of every signature.
        about: One line for people.
        embedder: For metrics that read embeddings; None: they are left out.
        causal_lm: For metrics that read surprisals; None: they are left out.
        layout: Of the text that it reads.
        orders: In which it reads the responses.
    """

    name: str
    about: str
    embedder: EmbedderSpec | None
    causal_lm: CausalLMSpec | None = None
    layout: Layout = field(default_factory=Layout)
    orders: OrderPlan = field(default_factory=OrderPlan)

    def metrics(self, metrics: tuple[Metric, ...] = METRICS) -> tuple[Metric, ...]:
        """The metrics whose inputs this profile can make."""
        lacking = set() if self.embedder else {"embeddings"}
        if self.causal_lm is None:
            lacking |= {"surprisals", "surprisals:curve"}
        elif not self.orders.whole_curve:
            lacking.add("surprisals:curve")
        return tuple(m for m in metrics if m.reads not in lacking)


# The language model that comes with the package; its card tells how it was made and how good it is.
OFFLINE_LM = CausalLMSpec(
    name="divbench/offline-lm",
    revision="a26048d55dda98a44c415591d8cb9861d4911d4e1eaa09b79084e91c13b94b39",
    folder=Path(__file__).parent / "models" / "offline_lm" / "model",
)

PROFILES: tuple[Profile, ...] = (
    Profile("lexical", "texts alone, no model", embedder=None),
    Profile(
        "offline",
        "models that come with the package: all-MiniLM-L6-v2, and a small language model of our own",
        embedder=ALL_MINILM_L6_V2,
        causal_lm=OFFLINE_LM,
    ),
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
