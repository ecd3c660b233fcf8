"""From what was asked for on the command line to a sampler, a suite and a manifest."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmark.generation.hf_sampler import HFSampler
from benchmark.generation.prompting import Asking
from benchmark.generation.run import Plan
from benchmark.generation.sampler import Sampler, Settings
from benchmark.generation.server_sampler import ServerSamplerSpec
from benchmark.models.causal_lm import Dtype
from benchmark.models.hf_lm import CausalLMSpec, find_spec_of, load_causal_lm
from benchmark.profiles import OFFLINE_LM
from datasets_build.errors import ConfigurationError
from datasets_build.load import load_suite
from datasets_build.schema import Suite
from submissions.prompts import OWN, read_prompts
from submissions.schema import Generation, Manifest, Submitter, System

OFFLINE = "offline"
# What the authors of a suite drew with: NoveltyBench's and GSSBench's settings (top-k 10; the length is INSIDE's).
_USUAL = {
    "gssbench": Settings(top_k=10, max_tokens=256),
    "noveltybench-curated": Settings(max_tokens=512),
    "noveltybench-wildchat": Settings(max_tokens=512),
}


def usual_settings(suite: str) -> Settings:
    """How answers to a suite are drawn where nothing else is said."""
    return _USUAL.get(suite, Settings())


@dataclass(frozen=True, slots=True)
class Model:
    """What answers.

    Attributes:
        sampler: Asks it.
        name: Its Hub id, or as its server knows it.
        revision: Of its weights; None where not known.
        parameters: How many; None where not known.
        open_weights: None where not known.
        software: What draws, with versions.
    """

    sampler: Sampler
    name: str
    revision: str | None
    parameters: int | None
    open_weights: bool | None
    software: str


def spec_named(name: str, dtype: Dtype = "float32", device: str = "cpu") -> CausalLMSpec:
    """The model of transformers of that name; *offline* is the one that comes with the package.

    Raises:
        ConfigurationError: As `find_spec_of`.
    """
    if name == OFFLINE:
        return CausalLMSpec(OFFLINE_LM.name, OFFLINE_LM.revision, OFFLINE_LM.folder, dtype, device)
    return find_spec_of(name, dtype, device)


def is_server(name: str) -> bool:
    """Whether a model is named as `NAME@URL`."""
    return "@http://" in name or "@https://" in name


def load_local(spec: CausalLMSpec, asking: Asking, stop: tuple[str, ...], batch_tokens: int | None) -> Model:
    """A model of transformers.

    Raises:
        ConfigurationError: As `load_causal_lm`.
    """
    lm = load_causal_lm(spec)
    libraries = ", ".join(f"{name} {version(name)}" for name in ("divbench", "transformers", "torch"))
    return Model(
        HFSampler(lm, asking, stop, batch_tokens),
        spec.name,
        spec.revision,
        int(lm.model.num_parameters()),
        True,
        f"{libraries}, {spec.dtype}, {spec.device.split(':')[0]}",
    )


def load_server(name: str, concurrency: int, timeout: float) -> Model:
    """A model behind a server, named `NAME@URL`.

    Raises:
        ConfigurationError: The address cannot be one.
    """
    model, _, url = name.partition("@http")
    sampler = ServerSamplerSpec(f"http{url}", model, concurrency, timeout).load()
    return Model(sampler, model, None, None, None, f"divbench {version('divbench')}, a server of OpenAI's protocol")


def suite_named(
    name: str | None, prompts: Path | None, columns: Mapping[str, str | None], mirror: Path | None
) -> Suite:
    """The suite of that name, or one's own prompts from a file.

    Raises:
        ConfigurationError: Both, neither, or there is no such suite.
        Refused: The file has problems.
    """
    if (name is None) == (prompts is None):
        raise ConfigurationError("give a suite or a file of prompts", "--suite demo, or --prompts FILE")
    if prompts is None:
        return load_suite(str(name), mirror)
    found = read_prompts(prompts, prompt_column=columns["prompt"] or "prompt", id_column=columns["id"])
    return Suite(OWN, "own prompts", tuple(found))


def manifest_of(model: Model, plan: Plan, suite: str, stop: tuple[str, ...], given: Mapping[str, Any]) -> Manifest:
    """The manifest of what was sampled.

    Args:
        model: That answered.
        plan: Of the run.
        suite: Its name.
        stop: Texts that ended answers.
        given: `name`, `submitter` and `notes`.
    """
    settings, asking = plan.items[0].settings, plan.asking
    return Manifest(
        name=given["name"] or model.name,
        suite=suite,
        system=System(
            type="model" if asking.mode == "resample" else "inference-time method",
            model_id=model.name,
            revision=model.revision,
            parameters=model.parameters,
            open_weights=model.open_weights,
        ),
        generation=Generation(
            k=plan.k,
            mode=asking.mode,
            temperature=settings.temperature,
            top_k=settings.top_k,
            top_p=settings.top_p,
            max_tokens=settings.max_tokens,
            seed=plan.seed,
            chat_template=asking.chat_template,
            prompt_template=None if asking.chat_template else asking.template,
            system_prompt=asking.system,
            stop=stop,
            software=model.software,
        ),
        submitter=Submitter(name=given["submitter"], date=date.today()),
        notes=given["notes"],
    )
