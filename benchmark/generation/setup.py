"""Makes a sampler, a suite and a manifest from the options of `divbench generate`."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from benchmark.generation.hf_sampler import HFSampler
from benchmark.generation.journal import Journal
from benchmark.generation.prompting import PromptingSettings
from benchmark.generation.run import Plan
from benchmark.generation.sampler import Sampler, SamplingSettings
from benchmark.generation.server_sampler import ServerSampler
from benchmark.models import Dtype
from benchmark.models.bundled_lm import OFFLINE_LM
from benchmark.models.devices import device_named
from benchmark.models.hf_lm import CausalLMSpec, find_causal_lm_spec, load_causal_lm, with_supported_attention
from datasets_build.load import load_suite
from datasets_build.schema import Suite
from divbench.core.errors import ConfigurationError
from submissions.checking.prompts import OWN, read_prompts
from submissions.schema import Generation, Manifest, Submitter, System

OFFLINE = "offline"
_REPORTED = "what the server calls its model"
_LEFT_OUT = "fields that the server does not accept"
# Settings of the suites' authors: NoveltyBench's and GSSBench's (top-k 10; the length is from INSIDE).
_USUAL = {
    "gssbench": SamplingSettings(top_k=10, max_tokens=256),
    "noveltybench-curated": SamplingSettings(max_tokens=512),
    "noveltybench-wildchat": SamplingSettings(max_tokens=512),
}
# Where a field of a manifest comes from, if not from the option of its name.
_OPTION_OF = {"submitter.name": "--submitter", "generation.prompt_template": "--template"}


def settings_of(
    suite: str, temperature: float, top_k: int | None, top_p: float, max_tokens: int | None
) -> SamplingSettings:
    """Return the sampling settings, with the defaults of the suite's authors."""
    if not 0 < top_p <= 1:
        raise ConfigurationError(f"--top-p is {top_p:g}", "give a number above 0 and at most 1; 1 keeps all tokens")
    if not 0 <= temperature < math.inf:
        raise ConfigurationError(f"--temperature is {temperature:g}", "give a finite number of at least 0")
    usual = _USUAL.get(suite, SamplingSettings())
    kept = usual.top_k if top_k is None else top_k or None
    return SamplingSettings(temperature, kept, top_p, max_tokens or usual.max_tokens)


@dataclass(frozen=True, slots=True)
class Model:
    """A model to sample."""

    sampler: Sampler
    name: str
    revision: str | None  # revision of its weights; None: unknown
    parameters: int | None  # number of parameters; None: unknown
    open_weights: bool | None  # whether its weights are open; None: unknown
    software: str


def spec_named(name: str, dtype: Dtype = "float32", device: str = "cpu") -> CausalLMSpec:
    """Return the spec of a transformers model by its name; *offline* is the bundled model."""
    if name == OFFLINE:
        return CausalLMSpec(OFFLINE_LM.name, OFFLINE_LM.revision, OFFLINE_LM.folder, dtype, device)
    return find_causal_lm_spec(name, dtype, device)


def is_server(name: str) -> bool:
    """Return whether a model is named as `NAME@URL`."""
    return "@http://" in name or "@https://" in name


def load(
    name: str,
    prompting: PromptingSettings,
    stop: tuple[str, ...],
    dtype: Dtype | None,
    device: str | None,
    batch_tokens: int | None,
    concurrency: int,
    timeout: float,
) -> Model:
    """Load a model by its name, local or behind a server; arguments as in `load_local` and `load_server`.

    If no device or precision is given, it is chosen and printed to stderr. Sampling needs float64, which Apple's GPUs
    lack.
    """
    if is_server(name):
        return load_server(name, concurrency, timeout)
    choice = device_named(device, dtype, mps=False)
    return load_local(spec_named(name, choice.dtype, choice.device), prompting, stop, batch_tokens)


def load_local(
    spec: CausalLMSpec, prompting: PromptingSettings, stop: tuple[str, ...], batch_tokens: int | None
) -> Model:
    """Load a transformers model."""
    spec = with_supported_attention(spec)
    lm = load_causal_lm(spec)
    libraries = ", ".join(f"{name} {version(name)}" for name in ("divbench", "transformers", "torch"))
    return Model(
        HFSampler(lm, prompting, stop, batch_tokens),
        spec.name,
        spec.revision,
        int(lm.model.num_parameters()),
        True if spec.folder in (None, OFFLINE_LM.folder) else None,  # a user's folder does not say
        f"{libraries}, {spec.dtype}, {spec.device.split(':')[0]}",
    )


def load_server(name: str, concurrency: int, timeout: float) -> Model:
    """Make the sampler of a model behind a server, named `NAME@URL`."""
    model, _, url = name.partition("@http")
    sampler = ServerSampler(f"http{url}", model, concurrency, timeout)
    return Model(sampler, model, None, None, None, f"divbench {version('divbench')}, a server of OpenAI's protocol")


def suite_named(
    name: str | None, prompts: Path | None, columns: Mapping[str, str | None], mirror: Path | None
) -> Suite:
    """Load a suite by its name, or the user's own prompts from a file."""
    if (name is None) == (prompts is None):
        raise ConfigurationError("give a suite or a file of prompts", "--suite demo, or --prompts FILE")
    if prompts is None:
        return load_suite(str(name), mirror)
    found = read_prompts(prompts, prompt_column=columns["prompt"] or "prompt", id_column=columns["id"])
    return Suite(OWN, "own prompts", tuple(found))


def manifest_of(model: Model, plan: Plan, suite: str, stop: tuple[str, ...], given: Mapping[str, Any]) -> Manifest:
    """Make the manifest of a run; facts known only to a server are included once it has responded."""
    settings, prompting = plan.sets[0].settings, plan.prompting
    try:
        return Manifest(
            name=given["name"] or model.name,
            suite=suite,
            system=System(
                type="model" if prompting.mode == "resample" else "inference-time method",
                model_id=model.name,
                revision=model.revision or _reported(model),
                parameters=model.parameters,
                open_weights=model.open_weights,
            ),
            generation=Generation(
                k=plan.k,
                mode=prompting.mode,
                temperature=settings.temperature,
                top_k=settings.top_k,
                top_p=None if "top_p" in _gave_up(model) else settings.top_p,
                max_tokens=settings.max_tokens,
                seed=None if "seed" in _gave_up(model) else plan.seed,
                chat_template=prompting.chat_template,
                prompt_template=None if prompting.chat_template else prompting.template,
                system_prompt=prompting.system,
                thinking=prompting.thinking,
                stop=stop,
                software=model.software,
            ),
            submitter=Submitter(name=given["submitter"], date=date.today()),
            notes=given["notes"],
        )
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        field = ".".join([error.title.lower(), *map(str, fault["loc"])]).removeprefix("manifest.")
        said = fault["msg"].removeprefix("Value error, ")
        option = _OPTION_OF.get(field) or f"--{fault['loc'][0]}".replace("_", "-")
        hint = "name another model" if field.startswith("system.") else f"give another value by {option}"
        message = f"invalid value in the manifest: {field} = {str(fault['input'])[:60]!r}: {said}"
        raise ConfigurationError(message, hint) from error


def expect_same_server(model: Model, journal: Journal) -> None:
    """Require that a server reports the same model name as in an earlier run; leave out what it did not accept then."""
    if isinstance(model.sampler, ServerSampler):
        model.sampler.reported = journal.told(_REPORTED)
        model.sampler.leave_out(frozenset((journal.told(_LEFT_OUT) or "").split()))


def keep_server(model: Model, journal: Journal) -> None:
    """Record in the journal the model name that a server reports, and the fields that it does not accept."""
    name = model.sampler.reported if isinstance(model.sampler, ServerSampler) else None
    for key, value in ((_REPORTED, name), (_LEFT_OUT, " ".join(sorted(_gave_up(model))))):
        if value and value != journal.told(key):
            journal.tell(key, value)


def _reported(model: Model) -> str | None:
    """Return the model's version, if a server reports more than the requested name."""
    name = model.sampler.reported if isinstance(model.sampler, ServerSampler) else None
    return None if name == model.name else name


def _gave_up(model: Model) -> frozenset[str]:
    """Return the settings that a server does not accept, so that it used its own."""
    return model.sampler.gave_up if isinstance(model.sampler, ServerSampler) else frozenset()
