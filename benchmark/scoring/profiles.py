"""Profiles: named sets of models. A metric is computed only if the profile has the models that it needs.

*lexical* needs no model, so it has no metric of validity. *syntax* adds part-of-speech tags; the other profiles leave
them out, because the tagger is for English only and every metric of a profile is part of the identity of its results.
*semantic* computes no surprisals, so it takes seconds. *offline* works without a model hub. *standard* has small open
models of today, for a GPU. *paper* has the papers' models and response orderings; use it to reproduce their numbers,
not as a recommendation.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypedDict, Unpack

from pydantic import Field

from benchmark.equivalence.classifiers import GENERATION_SIMILARITY
from benchmark.equivalence.learned.backend import Learned
from benchmark.equivalence.llm_judge import LLMJudgeSpec
from benchmark.equivalence.partitioning import PartitionSpec, find_partition_spec
from benchmark.equivalence.rules import Rouge1
from benchmark.metrics import METRICS, Metric, Reads
from benchmark.models import Algorithm, Attention, Boundaries, Dtype, Format, OrderKind, OuterSpace
from benchmark.models.bundled_lm import OFFLINE_LM
from benchmark.models.devices import single_device
from benchmark.models.embedder import ALL_MINILM_L6_V2, EmbedderSpec
from benchmark.models.hf_lm import CausalLMSpec, find_causal_lm_spec
from benchmark.models.model_files import ModelFiles, find_model_files
from benchmark.models.pair_scorer import (
    ROBERTA_LARGE_BERT_SCORE,
    STSB_ROBERTA_LARGE,
    CrossEncoderSpec,
    PairScorerSpec,
)
from benchmark.models.reward import (
    SKYWORK_REWARD_GEMMA_27B,
    SKYWORK_REWARD_QWEN3_1_7B,
    HFRewardSpec,
    JudgeScores,
    RewardModelSpec,
)
from benchmark.models.server_lm import ServedLMSpec, find_served_lm_spec
from benchmark.models.tagger import PATTERN_TAGGER, TaggerSpec
from benchmark.scoring.inputs import MetricInput, Source, input_of, metrics_from
from benchmark.scoring.internals_file import HowRead
from benchmark.surprisal.engine import OrderPlan
from benchmark.surprisal.prompt_layout import PAPER_INSTRUCT, Layout
from benchmark.validity.backend import ValiditySpec
from benchmark.validity.record import SHIPPED, load_record
from divbench.core.errors import ConfigurationError, did_you_mean

# Reward models by their names on the command line; quality thresholds are specific to a model.
REWARDS = {"skywork-27b": SKYWORK_REWARD_GEMMA_27B, "skywork-1.7b": SKYWORK_REWARD_QWEN3_1_7B}


class Changes(TypedDict, total=False):
    """What `Profile.replace` changes; None keeps the profile's own. Models are `ORG/NAME@COMMIT` or a folder."""

    lm: str | None  # language model of D_Can
    lm_server: str | None  # server that runs it: http://HOST:PORT, or NAME@URL if it has another name there
    dtype: Dtype | None  # precision of the language model
    device: str | None  # device of all models, as torch names it, or *auto*: the language model over all GPUs
    attention: Attention | None
    format: Format | None
    outer_space: OuterSpace | None  # *kept* or *stripped*, before the language model reads responses
    boundaries: Boundaries | None  # *exact* also adds the beginning-of-text token as the model does, *paper* never
    orders: OrderKind | None  # another kind has one Latin square, tree or order if no count is named
    order_count: Annotated[int | None, Field(ge=1)]
    embedder: str | None  # truncates texts as the profile's own does, or at 256 tokens
    bert_score: str | None  # a roberta-large model, because BERTScore's layer and baseline are specific to it
    sts: str | None
    equivalence: str | None  # as `find_partition_spec` names backends
    algorithm: Algorithm | None  # of the named backend; default: *greedy*
    short_answers: bool
    reward: str | None  # one of `REWARDS`, or any sequence classifier with one output
    reward_threshold: float | None  # lowest reward of a valid response, for a model without published thresholds
    validity: Literal["offline"] | None  # by the model that comes with the package, whatever else rates responses
    record: str | None  # file of judged responses, made by `divbench metrics record`
    stated: str | None  # rule of the validity that is stated of each response, which comes with the responses
    metrics: Collection[str] | None  # ids of metrics requested by name; those that read tags add the tagger


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
    offline_validity: bool = False  # whether validity ignores a judge's or reward model's qualities
    stated: str | None = None  # rule of the validity that is stated of each response; None: it is judged
    record: Path = SHIPPED  # judged responses, with which the estimate of validity compares those to the same prompts
    tagger: TaggerSpec | None = None
    # Device of models without one in their specs (embedder, pair scorers, classifiers); in no signature.
    device: str = "cpu"

    @property
    def quality(self) -> RewardModelSpec | JudgeScores | None:
        """What gives responses a quality: the reward model; without one, the judge that makes the classes."""
        if self.reward is not None:
            return self.reward
        backend = None if self.partition is None or self.offline_validity else self.partition.backend
        return backend.scores if isinstance(backend, LLMJudgeSpec) else None

    @property
    def validity(self) -> ValiditySpec:
        """What judges validity: what is stated; else the quality of responses if there is one; else our estimate."""
        if self.stated is not None:
            return ValiditySpec(stated=self.stated)
        if self.quality is not None and not self.offline_validity:
            return ValiditySpec(scores_from=self.quality)
        return ValiditySpec(None if self.embedder is None else ALL_MINILM_L6_V2, self.record)

    @property
    def estimates(self) -> ValiditySpec | None:
        """The model that estimates validity and quality; None if qualities decide."""
        return self.validity if self.validity.scores_from is None and self.stated is None else None

    @property
    def has_validity(self) -> bool:
        """Whether validity is stated, or there are models to judge it: words alone do not tell."""
        return self.estimates is None or self.embedder is not None

    @property
    def has_models(self) -> bool:
        """Whether the profile has any model."""
        return bool(self.embedder or self.causal_lm or self.pair_scorers or self.reward)

    def metrics(self, metrics: tuple[Metric, ...] = METRICS, *, internals: bool = False) -> tuple[Metric, ...]:
        """Return the metrics whose inputs can be made, given whether internals of the generating model exist."""
        return tuple(metric for metric in metrics if self._can_make(input_of(metric), internals=internals))

    def signed(
        self,
        metric: Metric,
        reported_by: str | None = None,
        read: HowRead | None = None,
        reported_version: str | None = None,
        prompts: Iterable[str] | None = None,
    ) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
        """Return the models and parameters in the signature of a metric, its own parameters first."""
        source = input_of(metric)
        specs = {**self._models(source), "internals": read if "internals" in source.sources else None}
        models = tuple(dict.fromkeys(spec.signature for spec in specs.values() if spec is not None))
        parameters = tuple(sorted(metric.parameters.items()))
        if specs.get("causal_lm") is not None:
            parameters += (("layout", str(self.layout)), ("orders", str(self.orders)))
        elif "reported" in source.sources:
            parameters += (("reported-by", reported_by or "not stated"),)
            parameters += () if reported_version is None else (("reported-version", reported_version),)
        elif "validity" in source.sources:
            parameters += self.validity.parameters(prompts)
        return models, parameters

    def replace(self, **changes: Unpack[Changes]) -> "Profile":
        """Return the profile with other models, another way of reading responses, or on another device."""
        device = changes.get("device")
        tags = metrics_from("tagger", [metric for metric in METRICS if metric.id in (changes.get("metrics") or ())])
        return replace(
            self,
            embedder=self._embedder(changes.get("embedder")),
            causal_lm=self._causal_lm(changes),
            layout=self._layout(changes),
            orders=self._orders(changes.get("orders"), changes.get("order_count")),
            pair_scorers=self._pair_scorers(changes.get("bert_score"), changes.get("sts")),
            partition=self._partition(changes),
            reward=self._reward(changes.get("reward"), changes.get("reward_threshold"), device),
            offline_validity=self.offline_validity or changes.get("validity") == "offline",
            stated=changes.get("stated") or self.stated,
            record=self._record(changes.get("record")),
            tagger=PATTERN_TAGGER if tags else self.tagger,
            device=self.device if device is None else single_device(device),
        )

    def _models(self, source: MetricInput) -> dict[Source, Any]:
        """Return the specification of each model of an input; None for a model that the profile lacks."""
        models = [name for name in source.sources if name not in ("internals", "reported", "stated")]
        specs = {name: getattr(self, name) for name in models}
        return {name: spec.get(source.name) if name == "pair_scorers" else spec for name, spec in specs.items()}

    def _can_make(self, source: MetricInput, *, internals: bool) -> bool:
        lacks = (
            any(spec is None for spec in self._models(source).values()),
            "stated" in source.sources and self.stated is None,
            source.name == "partition+rewards"
            and isinstance(self.quality, HFRewardSpec)
            and not self.quality.has_scale,
            "validity" in source.sources and not self.has_validity,
            source.whole_curve and not self.orders.whole_curve,
            source.only is not None and source.only != self.embedder,
            "internals" in source.sources and not internals,
        )
        return not any(lacks)

    def _embedder(self, name: str | None) -> EmbedderSpec | None:
        return (
            self.embedder if name is None else replace(self.embedder or ALL_MINILM_L6_V2, files=find_model_files(name))
        )

    def _causal_lm(self, changes: Changes) -> CausalLMSpec | ServedLMSpec | None:
        name, server = changes.get("lm"), changes.get("lm_server")
        if server is not None:
            if name is None:
                raise ConfigurationError("lm-server needs lm", "name the model: --set lm=ORG/NAME@COMMIT, or a folder")
            return find_served_lm_spec(name, server)
        spec = self.causal_lm if name is None else find_causal_lm_spec(name)
        if not isinstance(spec, CausalLMSpec):
            return spec
        return replace(
            spec,
            device=changes.get("device") or spec.device,
            dtype=changes.get("dtype") or spec.dtype,
            attention=changes.get("attention") or spec.attention,
        )

    def _layout(self, changes: Changes) -> Layout:
        boundaries, space = changes.get("boundaries"), changes.get("outer_space") or self.layout.outer_space
        layout = replace(self.layout, format=changes.get("format") or self.layout.format, outer_space=space)
        if boundaries is None:
            return layout
        return replace(layout, boundaries=boundaries, bos="model" if boundaries == "exact" else "never")

    def _orders(self, kind: OrderKind | None, count: int | None) -> OrderPlan:
        plan = self.orders if kind in (None, self.orders.kind) else OrderPlan(kind or "balanced")
        return plan if count is None else replace(plan, count=count)

    def _pair_scorers(self, bert_score: str | None, sts: str | None) -> Mapping[Reads, PairScorerSpec]:
        scorers = dict(self.pair_scorers)
        if bert_score is not None:
            scorers["pairs:bert_score"] = replace(ROBERTA_LARGE_BERT_SCORE, files=find_model_files(bert_score))
        if sts is not None:
            scorers["pairs:sts"] = CrossEncoderSpec(find_model_files(sts))
        return MappingProxyType(scorers)

    def _partition(self, changes: Changes) -> PartitionSpec | None:
        name, algorithm = changes.get("equivalence"), changes.get("algorithm")
        short_answers = changes.get("short_answers", False)
        if name is not None:
            return find_partition_spec(name, algorithm or "greedy", short_answers=short_answers)
        if algorithm is not None or short_answers:
            hint = "name the backend with it: --set equivalence=NAME"
            raise ConfigurationError("algorithm and short-answers need equivalence", hint)
        return self.partition

    def _record(self, name: str | None) -> Path:
        if name is None:
            return self.record
        load_record(Path(name))  # refuses what is no record before anything is scored
        return Path(name)

    def _reward(self, name: str | None, threshold: float | None, device: str | None) -> RewardModelSpec | None:
        if threshold is not None and (name is None or name in REWARDS):
            hint = "name the model with it: --set reward=ORG/NAME@COMMIT"
            raise ConfigurationError("reward-threshold is for a reward model without published thresholds", hint)
        spec = self.reward if name is None else REWARDS.get(name) or _find_reward_model(name, threshold)
        if device is None or not isinstance(spec, HFRewardSpec):
            return spec
        return replace(spec, device=single_device(device))


def _find_reward_model(name: str, threshold: float | None) -> HFRewardSpec:
    """Find a model that is not one of `REWARDS`; its user states which rewards are those of valid responses."""
    if "@" not in name and not Path(name).is_dir():
        hint = f"one of {', '.join(REWARDS)}, or a sequence classifier with one output: ORG/NAME@COMMIT or a folder"
        raise ConfigurationError(f"there is no reward model {name!r}", hint)
    files = find_model_files(name)
    if threshold is None:
        message = f"no thresholds of {files.name} are published, so its rewards do not say what is valid"
        raise ConfigurationError(message, "state the lowest reward of a valid response: --set reward-threshold=0")
    return HFRewardSpec(files, lowest_valid=threshold)


# The sent-BERT of Tevet & Berant (arXiv:2004.02990, section 5), under which `embedding_diversity` ranks as theirs. We
# found no commit of its repository in a source that we could check: its user names one. (Its later name seems to be
# sentence-transformers/stsb-bert-large; whether the weights are the same is not checked.)
SENT_BERT = EmbedderSpec(ModelFiles("sentence-transformers/bert-large-nli-stsb-mean-tokens", None), max_tokens=128)

# The commit is on the model's page, with safetensors; the paper names none.
QWEN_25_3B = CausalLMSpec("Qwen/Qwen2.5-3B", "3aab1f1954e9cc14eb9509a215f9e5ca08227a9b")

# What we recommend on a GPU: small open models of today, 10 GB in float16 with the embedder in float32. The commits are
# those under which public code loads the models; they have safetensors and need no remote code.
QWEN3_EMBEDDING = EmbedderSpec(
    ModelFiles("Qwen/Qwen3-Embedding-0.6B", "97b0c614be4d77ee51c0cef4e5f07c00f9eb65b3"), max_tokens=512
)
QWEN3_BASE = CausalLMSpec("Qwen/Qwen3-1.7B-Base", "ea980cb0a6c2ae4b936e82123acc929f1cec04c1")

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
        "standard",
        "small open models of today, for a GPU with 12 GB: Qwen3-Embedding-0.6B, Qwen3-1.7B-Base and a reward model",
        embedder=QWEN3_EMBEDDING,
        causal_lm=QWEN3_BASE,
        partition=LEARNED_CLASSES,
        reward=SKYWORK_REWARD_QWEN3_1_7B,
        offline_validity=True,  # compared with judges; what the reward model rates lowest has not been
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
    """Return the profile with a name."""
    for profile in PROFILES:
        if profile.name == name:
            return profile
    raise ConfigurationError(f"there is no profile {name!r}", did_you_mean(name, [p.name for p in PROFILES]))
