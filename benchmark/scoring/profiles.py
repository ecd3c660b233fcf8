"""Profiles: named bundles of models. What a profile has no model for is not computed, and never invented.

*lexical* needs no model. *semantic* reads no surprisals, so it takes seconds. *offline* works on a machine that reaches
no model hub. *paper* has the models and the way of
reading of the papers: what is needed to repeat their numbers, not what we recommend.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from benchmark.equivalence.classifiers import GENERATION_SIMILARITY
from benchmark.equivalence.learned.backend import Learned
from benchmark.equivalence.partitioning import PartitionSpec
from benchmark.equivalence.rules import Rouge1
from benchmark.metrics import METRICS, Metric, Reads
from benchmark.models.bundled_lm.spec import OFFLINE_LM
from benchmark.models.choices import Boundaries, Format, OrderKind
from benchmark.models.embedder import ALL_MINILM_L6_V2, EmbedderSpec
from benchmark.models.hf_lm import CausalLMSpec
from benchmark.models.model_files import ModelFiles, find_model_files
from benchmark.models.pair_scorer import (
    ROBERTA_LARGE_BERT_SCORE,
    STSB_ROBERTA_LARGE,
    CrossEncoderSpec,
    PairScorerSpec,
)
from benchmark.models.reward import SKYWORK_REWARD_GEMMA_27B, RewardModelSpec
from benchmark.scoring.inputs import input_of
from benchmark.surprisal.engine import OrderPlan
from benchmark.surprisal.prompt_layout import PAPER_INSTRUCT, Layout
from benchmark.validity.backend import ValiditySpec
from datasets_build.errors import ConfigurationError, did_you_mean


@dataclass(frozen=True, slots=True)
class Profile:
    """Which models score.

    Attributes:
        name: Part of every signature.
        about: One line for people.
        embedder: For metrics that read embeddings; None: they are left out.
        pair_scorers: By what they make, for metrics that read similarities of pairs; what is not there is left out.
        partition: For metrics that read classes; None: they are left out.
        reward: Judges quality, for utility; None: utility is left out, never invented.
        causal_lm: For metrics that read surprisals; None: they are left out.
        layout: Of the text that it reads.
        orders: In which it reads the responses.
        device: Of the models whose specs name none: embedder, pair scorers, classifiers. It is in no signature.
    """

    name: str
    about: str
    embedder: EmbedderSpec | None
    causal_lm: CausalLMSpec | None = None
    layout: Layout = field(default_factory=Layout)
    orders: OrderPlan = field(default_factory=OrderPlan)
    pair_scorers: Mapping[Reads, PairScorerSpec] = field(default_factory=lambda: MappingProxyType({}))
    partition: PartitionSpec | None = None
    reward: RewardModelSpec | None = None
    device: str = "cpu"

    @property
    def validity(self) -> ValiditySpec:
        """What judges which responses are valid: the reward model, or a discriminator with an embedder of its own."""
        if self.reward is not None:
            return ValiditySpec(reward=self.reward)
        return ValiditySpec(None if self.embedder is None else ALL_MINILM_L6_V2)

    @property
    def has_models(self) -> bool:
        """Whether it has any."""
        return bool(self.embedder or self.causal_lm or self.pair_scorers or self.reward)

    def metrics(self, metrics: tuple[Metric, ...] = METRICS, *, internals: bool = False) -> tuple[Metric, ...]:
        """The metrics whose inputs this profile can make.

        Args:
            metrics: To choose from.
            internals: Whether internals of the generating model are available; no profile can make them.
        """
        return tuple(m for m in metrics if input_of(m).is_available(self, internals=internals))


# The sent-BERT of Tevet & Berant (arXiv:2004.02990, section 5), under which `embedding_diversity` ranks as theirs. We
# found no commit of its repository in a source that we could check: its user names one. (Its later name seems to be
# sentence-transformers/stsb-bert-large; whether the weights are the same is not checked.)
SENT_BERT = EmbedderSpec(ModelFiles("sentence-transformers/bert-large-nli-stsb-mean-tokens", None), max_tokens=128)

# The commit is on the model's page, with safetensors; the paper names none.
QWEN_25_3B = CausalLMSpec("Qwen/Qwen2.5-3B", "3aab1f1954e9cc14eb9509a215f9e5ca08227a9b")

# Closer than ROUGE-1 to NoveltyBench's published partitions on both halves of the prompts, with prompts and systems
# held out; the tables are on its card.
LEARNED_CLASSES = PartitionSpec(Learned(), "average")

PROFILES: tuple[Profile, ...] = (
    Profile("lexical", "texts alone, no model", embedder=None, partition=PartitionSpec(Rouge1())),
    Profile(
        "semantic",
        "texts, embeddings (all-MiniLM-L6-v2) and equivalence classes, no language model",
        embedder=ALL_MINILM_L6_V2,
        partition=LEARNED_CLASSES,
    ),
    Profile(
        "offline",
        "models that come with the package: all-MiniLM-L6-v2, and a small language model of our own",
        embedder=ALL_MINILM_L6_V2,
        causal_lm=OFFLINE_LM,
        partition=LEARNED_CLASSES,
    ),
    Profile(
        "paper",
        "the papers' models: sent-BERT, BERTScore, a stand-in for BERT-STS, and Qwen2.5-3B read as D_Can's authors did",
        embedder=SENT_BERT,
        causal_lm=QWEN_25_3B,
        layout=PAPER_INSTRUCT,
        orders=OrderPlan("uniform", 50, 42),
        pair_scorers=MappingProxyType({"pairs:bert_score": ROBERTA_LARGE_BERT_SCORE, "pairs:sts": STSB_ROBERTA_LARGE}),
        partition=PartitionSpec(GENERATION_SIMILARITY),
        reward=SKYWORK_REWARD_GEMMA_27B,
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
    raise ConfigurationError(f"there is no profile {name!r}", did_you_mean(name, [p.name for p in profiles]))


def with_models(
    profile: Profile, *, embedder: str | None = None, bert_score: str | None = None, sts: str | None = None
) -> Profile:
    """The profile with other models, each named `ORG/NAME@COMMIT` or by its folder; None: the profile's own.

    Args:
        profile: What is not named stays.
        embedder: Of sentence-transformers. Cut at as many tokens as the profile's own, or at 256 where it has none.
        bert_score: roberta-large: BERTScore's layer and baseline are of that.
        sts: A cross-encoder with one output.

    Raises:
        ConfigurationError: As `find_model_files`.
    """
    scorers = dict(profile.pair_scorers)
    if embedder is not None:
        own = profile.embedder or ALL_MINILM_L6_V2
        profile = replace(profile, embedder=replace(own, files=find_model_files(embedder)))
    if bert_score is not None:
        scorers["pairs:bert_score"] = replace(ROBERTA_LARGE_BERT_SCORE, files=find_model_files(bert_score))
    if sts is not None:
        scorers["pairs:sts"] = CrossEncoderSpec(find_model_files(sts))
    return replace(profile, pair_scorers=MappingProxyType(scorers))


def with_reading(
    profile: Profile,
    format: Format | None = None,  # noqa: A002 - as the command's option
    boundaries: Boundaries | None = None,
    orders: OrderKind | None = None,
    count: int | None = None,
) -> Profile:
    """The profile with another way of reading; None: the profile's own.

    Boundaries bring their rule for the token before a text: *model* with *exact*, *never* with *paper*. Orders of
    another kind than the profile's are one square or tree, or one order, where no count is given.
    """
    layout = replace(profile.layout, format=format or profile.layout.format)
    if boundaries is not None:
        layout = Layout(layout.format, boundaries, "model" if boundaries == "exact" else "never")
    plan = profile.orders
    if orders is not None and orders != plan.kind:
        plan = OrderPlan(orders)
    return replace(profile, layout=layout, orders=plan if count is None else replace(plan, count=count))
