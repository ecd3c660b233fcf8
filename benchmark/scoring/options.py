"""Options shared by every command that scores with a profile.

Each is part of a result's identity: it is in the signatures of the numbers, or in the key of the result.
"""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchmark.models.choices import EQUIVALENCE_NAMES, Algorithm, Attention, Boundaries, Format, OrderKind
from benchmark.models.device_options import DtypeOption, checked_device, device_named
from divbench.core.console import d_can_option, data_option, models_option
from divbench.core.errors import ConfigurationError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection

    from benchmark.metrics import Metric
    from benchmark.scoring.profiles import Profile
    from benchmark.scoring.scorer import Options

_equivalence_option = partial(typer.Option, rich_help_panel="Equivalence")

# Heavy modules are imported where they are used: this file is read for `--help`.

ProfileName = Annotated[
    str,
    models_option(
        help=(
            "Profile of models: lexical (texts only), syntax (adds part-of-speech tags), semantic (adds embeddings), "
            "offline (adds the language model that comes with the package) or paper (the papers' models)."
        )
    ),
]
MetricNames = Annotated[
    list[str] | None, data_option(help="Metric to compute (repeatable); default: all metrics of the profile.")
]
CacheOption = Annotated[
    Path | None,
    models_option(help="Cache file for surprisals from the language model; default: a file in the user's cache."),
]


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """Values of the options; each field has the name of its option."""

    lm: Annotated[
        str | None,
        models_option(help="Language model of D_Can: ORG/NAME@COMMIT on the Hub, or a folder; default: the profile's."),
    ] = None
    lm_server: Annotated[
        str | None,
        models_option(
            help=(
                "Server that runs the model of --lm and returns log-probabilities of prompts, such as vLLM: "
                "http://HOST:PORT, or NAME@URL if it has another name there; --lm then gives its tokeniser and commit."
            )
        ),
    ] = None
    dtype: DtypeOption = None
    device: Annotated[
        str | None,
        models_option(
            callback=checked_device,
            help=(
                "Device of the models: cuda, cuda:1, mps, cpu, or auto (the language model over all GPUs); default: "
                "the best available (printed to stderr)."
            ),
        ),
    ] = None
    attention: Annotated[
        Attention,
        models_option(help="Attention implementation of the language model; eager for the few models without sdpa."),
    ] = "sdpa"
    format: Annotated[
        Format | None, d_can_option(help="Prompt format of D_Can; default: the profile's (instruct).")
    ] = None
    boundaries: Annotated[
        Boundaries | None,
        d_can_option(help="Token boundaries: exact, or paper to replicate published numbers; default: the profile's."),
    ] = None
    orders: Annotated[
        OrderKind | None,
        d_can_option(
            help=(
                "Response orderings for D_Can (endpoint: only a_n and C, much cheaper); default: the profile's "
                "(balanced; paper: 50 uniform)."
            )
        ),
    ] = None
    order_count: Annotated[
        int | None,
        d_can_option(
            min=1,
            help=(
                "Number of Latin squares (balanced), trees of n orders (endpoint) or uniform orders; "
                "default: the profile's, or 1."
            ),
        ),
    ] = None
    embedder: Annotated[
        str | None,
        models_option(help="Sentence-transformers model: ORG/NAME@COMMIT or a folder; default: the profile's."),
    ] = None
    bert_score: Annotated[
        str | None,
        models_option(help="Model of BERTScore (roberta-large): ORG/NAME@COMMIT or a folder; default: the profile's."),
    ] = None
    sts: Annotated[
        str | None,
        models_option(help="Cross-encoder of STS diversity: ORG/NAME@COMMIT or a folder; default: the profile's."),
    ] = None
    equivalence: Annotated[
        str | None,
        _equivalence_option(
            help=f"Equivalence backend: {EQUIVALENCE_NAMES}; default: the profile's.",
        ),
    ] = None
    algorithm: Annotated[
        Algorithm | None,
        _equivalence_option(
            help=(
                "Clustering algorithm of --equivalence: greedy (as published, default), or order-independent "
                "(components, complete, average)."
            )
        ),
    ] = None
    short_answers: Annotated[
        bool,
        _equivalence_option(
            "--short-answers", help="Word-overlap rule of --equivalence for responses of up to five words."
        ),
    ] = False
    reward: Annotated[
        str | None, models_option(help="Reward model for utility: skywork-27b or skywork-1.7b; default: the profile's.")
    ] = None

    def profile(self, name: str, named: "Collection[str] | None" = None) -> "Profile":
        """Return the named profile with the chosen models and response orderings.

        Args:
            named: Ids of metrics requested by name; see `with_named`.

        Raises:
            ConfigurationError: There is no such profile, backend or reward model, or a model's name is malformed.
            ServerFault: A judge's server cannot be asked for the name of its model.
        """
        from benchmark.models.hf_lm import CausalLMSpec, find_causal_lm_spec
        from benchmark.models.server_lm import find_served_lm_spec
        from benchmark.scoring.profile_overrides import on_device, with_overrides
        from benchmark.scoring.profiles import find_profile, with_models, with_named, with_reading

        chosen = with_reading(
            with_named(find_profile(name), named), self.format, self.boundaries, self.orders, self.order_count
        )
        chosen = with_models(chosen, embedder=self.embedder, bert_score=self.bert_score, sts=self.sts)
        chosen = with_overrides(
            chosen,
            self.equivalence,
            self.algorithm,
            short_answers=self.short_answers,
            reward=self.reward,
        )
        spec = chosen.causal_lm if self.lm is None else find_causal_lm_spec(self.lm)
        if self.lm_server is not None:
            if self.lm is None:
                raise ConfigurationError("--lm-server needs --lm", "name the model: --lm ORG/NAME@COMMIT, or a folder")
            chosen = replace(chosen, causal_lm=find_served_lm_spec(self.lm, self.lm_server))
        elif isinstance(spec, CausalLMSpec):
            chosen = replace(chosen, causal_lm=replace(spec, attention=self.attention))
        return on_device(chosen, device_named(self.device, self.dtype)) if chosen.has_models else chosen


@dataclass(frozen=True, slots=True)
class ScoringOptions(ModelOptions):
    """Values of the options of models and of numbers."""

    k: Annotated[
        int | None, data_option(min=1, help="Number of responses to use per prompt, from the first; default: all.")
    ] = None
    resamples: Annotated[int, data_option(min=100, help="Number of bootstrap resamples over prompts.")] = 10_000
    seed: Annotated[int, data_option(min=0, help="Random seed of the bootstrap.")] = 0

    def numbers(self) -> "Options":
        """Return the options that do not concern models."""
        from benchmark.scoring.scorer import Options

        return Options(k=self.k, resamples=self.resamples, seed=self.seed)


def metrics_named(names: "list[str] | None", profile: "Profile", *, internals: bool = False) -> "tuple[Metric, ...]":
    """Return the named metrics of a profile; all of them if none is named.

    Raises:
        ConfigurationError: The profile has no such metric.
    """
    from benchmark.metrics import METRICS
    from benchmark.scoring.inputs import input_of

    there = profile.metrics(internals=internals)
    for name in names or []:
        if all(each.id != name for each in there):
            if any(each.id == name for each in profile.metrics(internals=True)):
                hint = "compute them: divbench metrics internals SUBMISSION --model ID"
                raise ConfigurationError(f"{name} needs the internals of the model that generated the responses", hint)
            curve = any(m.id == name and input_of(m).whole_curve for m in METRICS)
            if curve and profile.causal_lm is not None and not profile.orders.whole_curve:
                message = f"{name} needs surprisals at every position, and {profile.orders.kind} orders give the last"
                raise ConfigurationError(message, "choose --orders balanced, or leave --orders out")
            if profile.reward is None and any(m.id == name and "reward" in input_of(m).sources for m in METRICS):
                hint = "choose one: --reward skywork-1.7b or skywork-27b, or --profile paper"
                raise ConfigurationError(f"{name} needs a reward model, and the profile {profile.name} has none", hint)
            hint = did_you_mean(name, [each.id for each in there])
            raise ConfigurationError(f"the profile {profile.name} has no metric {name!r}", hint)
    return tuple(each for each in there if not names or each.id in names)
