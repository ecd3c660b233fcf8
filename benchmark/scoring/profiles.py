"""Profiles: named sets of models. A metric is computed only if the profile has the models that it needs.

*lexical* needs no model. *syntax* adds part-of-speech tags; the other profiles leave them out, because the tagger is
for English only and every metric of a profile is part of the identity of its results. *semantic* computes no
surprisals, so it takes seconds. *offline* works without a model hub. *paper* has the papers' models and response
orderings; use it to reproduce their numbers, not as a recommendation.
"""

from collections.abc import Collection, Mapping
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
from benchmark.models.server_lm import ServedLMSpec
from benchmark.models.tagger import PATTERN_TAGGER, TaggerSpec
from benchmark.scoring.inputs import input_of, metrics_from
from benchmark.surprisal.engine import OrderPlan
from benchmark.surprisal.prompt_layout import PAPER_INSTRUCT, Layout
from benchmark.validity.backend import ValiditySpec
from divbench.core.errors import ConfigurationError, did_you_mean


@dataclass(frozen=True, slots=True)
class Profile:
    """A named set of models. A metric is left out if its model is None."""

    name: str  # name, part of every signature
    about: str
    embedder: EmbedderSpec | None
    causal_lm: CausalLMSpec | ServedLMSpec | None = None
    # How prompt and responses become the text that the language model reads.
    layout: Layout = field(default_factory=Layout)
    orders: OrderPlan = field(default_factory=OrderPlan)  # response orderings that the language model reads
    pair_scorers: Mapping[Reads, PairScorerSpec] = field(default_factory=lambda: MappingProxyType({}))
    partition: PartitionSpec | None = None  # how responses are grouped into equivalence classes
    reward: RewardModelSpec | None = None
    tagger: TaggerSpec | None = None
    # Device of models without one in their specs (embedder, pair scorers, classifiers); in no signature.
    device: str = "cpu"

    @property
    def validity(self) -> ValiditySpec:
        """The model that judges validity: the reward model if there is one, else the discriminator."""
        if self.reward is not None:
            return ValiditySpec(reward=self.reward)
        return ValiditySpec(None if self.embedder is None else ALL_MINILM_L6_V2)

    @property
    def has_models(self) -> bool:
        """Whether the profile has any model."""
        return bool(self.embedder or self.causal_lm or self.pair_scorers or self.reward)

    def metrics(self, metrics: tuple[Metric, ...] = METRICS, *, internals: bool = False) -> tuple[Metric, ...]:
        """Return the metrics whose inputs this profile can make.

        Args:
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
        "syntax",
        "texts and their part-of-speech tags (extra syntax), no model",
        embedder=None,
        partition=PartitionSpec(Rouge1()),
        tagger=PATTERN_TAGGER,
    ),
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


def find_profile(name: str) -> Profile:
    """Return the profile with a name.

    Raises:
        ConfigurationError: There is no such profile.
    """
    for profile in PROFILES:
        if profile.name == name:
            return profile
    raise ConfigurationError(f"there is no profile {name!r}", did_you_mean(name, [p.name for p in PROFILES]))


def with_named(profile: Profile, names: Collection[str] | None) -> Profile:
    """Return the profile, with the tagger added if a named metric reads part-of-speech tags."""
    named = metrics_from("tagger", [metric for metric in METRICS if metric.id in (names or ())])
    return replace(profile, tagger=PATTERN_TAGGER) if named else profile


def with_models(
    profile: Profile, *, embedder: str | None = None, bert_score: str | None = None, sts: str | None = None
) -> Profile:
    """Replace models of a profile, each named as `ORG/NAME@COMMIT` or a folder; None keeps the profile's own.

    Args:
        embedder: Sentence-transformers model; texts are truncated as for the profile's own, or at 256 tokens.
        bert_score: A roberta-large model, because BERTScore's layer and baseline are specific to it.

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
    """Replace a profile's prompt format, token boundaries or response orderings; None keeps the profile's own.

    Boundaries also decide whether a beginning-of-text token is added: as the model does with *exact*, never with
    *paper*. If the kind of orders changes and no count is given, there is one Latin square, tree or order.
    """
    layout = replace(profile.layout, format=format or profile.layout.format)
    if boundaries is not None:
        layout = Layout(layout.format, boundaries, "model" if boundaries == "exact" else "never")
    plan = profile.orders
    if orders is not None and orders != plan.kind:
        plan = OrderPlan(orders)
    return replace(profile, layout=layout, orders=plan if count is None else replace(plan, count=count))
