"""Options shared by every command that runs models.

Each is part of a result's identity: it is in the signatures of the numbers, or in the key of the result.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, cast

from benchmark.models import EQUIVALENCE_NAMES, Format, OuterSpace
from benchmark.models.devices import checked_device, device_named
from divbench.core.console import data_option, models_option
from divbench.core.errors import ConfigurationError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from benchmark.metrics import Metric
    from benchmark.scoring.profiles import Changes, Profile
    from benchmark.scoring.scorer import Options

# Heavy modules are imported where they are used: this file is read for `--help`.

MetricNames = Annotated[
    list[str] | None, data_option(help="Metric to compute (repeatable); default: all metrics of the profile.")
]
DeviceOption = Annotated[
    str | None,
    models_option(
        callback=checked_device,
        help=(
            "Device of the models: cuda, cuda:1, mps, cpu, or auto (the language model over all GPUs); default: the "
            "best available (printed to stderr)."
        ),
    ),
]
SETTINGS = (
    *("lm", "lm_server", "dtype", "attention", "format", "boundaries", "outer_space", "orders", "order_count"),
    *("embedder", "bert_score", "sts", "equivalence", "algorithm", "short_answers", "reward", "reward_threshold"),
    *("validity", "record"),
)
_SETTINGS_HELP = (
    "Setting in place of the profile's (repeatable): lm, embedder, bert-score or sts=MODEL (ORG/NAME@COMMIT or a "
    "folder); lm-server=URL; dtype=float32; attention=eager; format=completion; boundaries=paper; outer-space=kept; "
    f"orders=endpoint; order-count=2; equivalence=BACKEND ({EQUIVALENCE_NAMES}); algorithm=average; "
    "short-answers=true; reward=skywork-1.7b, or another classifier with one output and reward-threshold=NUMBER, the "
    "lowest of a valid response; validity=offline; record=FILE (of divbench metrics record). A judge also scores the "
    "first response of each class (one request each): 4 or more of 10 is valid. If a reward model is chosen, it rates "
    "them instead. With validity=offline, the package's own model decides what is valid, and a judge makes only the "
    "classes."
)


@dataclass(frozen=True, slots=True)
class ProfileOptions:
    """The options of a command that runs the models of a profile."""

    profile: Annotated[
        str,
        models_option(
            help=(
                "Profile of models: lexical (texts only), syntax (adds part-of-speech tags), semantic (adds "
                "embeddings), offline (adds the language model that comes with the package), standard (small open "
                "models for a GPU) or paper (the papers')."
            )
        ),
    ] = "offline"
    device: DeviceOption = None
    settings: Annotated[list[str] | None, models_option("--set", metavar="KEY=VALUE", help=_SETTINGS_HELP)] = None

    def load(
        self,
        metrics: "Collection[str] | None" = None,
        *,
        format: Format | None = None,  # noqa: A002
        outer_space: OuterSpace | None = None,
    ) -> "Profile":
        """Return the profile with its settings; `metrics` are ids requested by name, the others are defaults."""
        from typing import get_type_hints

        from benchmark.scoring.profiles import Changes, find_profile

        types = {name: kind for name, kind in get_type_hints(Changes, include_extras=True).items() if name in SETTINGS}
        settings = cast("Changes", parse_settings(self.settings, types))
        changes: Changes = {"metrics": metrics, "format": format, "outer_space": outer_space, **settings}
        profile = find_profile(self.profile).replace(**changes)
        if not profile.has_models:
            return profile
        choice = device_named(self.device, changes.get("dtype"))
        return profile.replace(device=choice.device, dtype=choice.dtype)


# Options of commands, with the profile that each runs by default.
SEMANTIC, OFFLINE = (ProfileOptions(profile=name) for name in ("semantic", "offline"))


@dataclass(frozen=True, slots=True)
class ScoringOptions(ProfileOptions):
    """The options of a command that scores submissions."""

    k: Annotated[
        int | None, data_option(min=1, help="Number of responses to use per prompt, from the first; default: all.")
    ] = None
    resamples: Annotated[int, data_option(min=100, help="Number of bootstrap resamples over prompts.")] = 10_000
    seed: Annotated[int, data_option(min=0, help="Random seed of the bootstrap.")] = 0

    def numbers(self) -> "Options":
        """Return the options that do not concern models."""
        from benchmark.scoring.scorer import Options

        return Options(k=self.k, resamples=self.resamples, seed=self.seed)


def parse_settings(texts: "Collection[str] | None", types: "Mapping[str, Any]") -> dict[str, Any]:
    """Parse the values of `--set KEY=VALUE` by the types of the keys."""
    from pydantic import TypeAdapter, ValidationError

    settings = {}
    for text in texts or ():
        key, _, value = text.partition("=")
        name = key.replace("-", "_")
        if name not in types:
            known = [setting.replace("_", "-") for setting in types]
            raise ConfigurationError(f"there is no setting {key!r}", did_you_mean(key, known))
        if not value:
            raise ConfigurationError(f"--set {text} has no value", f"write --set {key}=VALUE")
        try:
            settings[name] = TypeAdapter(types[name]).validate_python(value)
        except ValidationError as error:
            reason = error.errors(include_url=False)[0]["msg"]
            raise ConfigurationError(f"--set {text} is not valid", reason[0].lower() + reason[1:]) from error
    return settings


def metrics_named(names: "list[str] | None", profile: "Profile", *, internals: bool = False) -> "tuple[Metric, ...]":
    """Return the named metrics of a profile; all of them if none is named."""
    from benchmark.metrics import METRICS
    from benchmark.scoring.inputs import input_of

    available = profile.metrics(internals=internals)
    for name in names or []:
        if any(metric.id == name for metric in available):
            continue
        if any(metric.id == name for metric in profile.metrics(internals=True)):
            hint = "compute them: divbench metrics internals SUBMISSION --model ID"
            raise ConfigurationError(f"{name} needs the internals of the model that generated the responses", hint)
        source = next((input_of(metric) for metric in METRICS if metric.id == name), None)
        if source is not None and source.whole_curve and profile.causal_lm and not profile.orders.whole_curve:
            message = f"{name} needs surprisals at every position, and {profile.orders.kind} orders give the last"
            raise ConfigurationError(message, "choose --set orders=balanced, or leave orders out")
        if source is not None and "quality" in source.sources and profile.quality is None:
            hint = "choose one: --set reward=skywork-1.7b or skywork-27b, --set equivalence=judge=…, or --profile paper"
            message = f"{name} needs a reward model or a judge, and the profile {profile.name} has none"
            raise ConfigurationError(message, hint)
        if source is not None and "stated" in source.sources and profile.stated is None:
            message = f"{name} needs to know which responses are valid, from elsewhere"
            raise ConfigurationError(message, "give a file: divbench score --rewards FILE")
        hint = did_you_mean(name, [metric.id for metric in available])
        raise ConfigurationError(f"the profile {profile.name} has no metric {name!r}", hint)
    return tuple(metric for metric in available if not names or metric.id in names)
