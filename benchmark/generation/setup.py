"""Makes a sampler, a suite and a manifest for `divbench generate`, and writes a finished journal as a submission.

The folder is checked before it is renamed into place.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from benchmark.generation.hf_sampler import HFSampler
from benchmark.generation.internals import InternalsReader
from benchmark.generation.journal import Journal
from benchmark.generation.prompting import PromptingSettings, Sampler, SamplingSettings
from benchmark.generation.run import Plan, PlannedSet
from benchmark.generation.server_sampler import ServerSampler
from benchmark.models import Dtype
from benchmark.models.bundled_lm import OFFLINE_LM
from benchmark.models.devices import device_named
from benchmark.models.hf_lm import CausalLMSpec, find_causal_lm_spec, load_causal_lm, with_supported_attention
from benchmark.scoring.internals_file import INTERNALS_FILE, internals_of, write_internals
from datasets_build.load import load_suite
from datasets_build.schema import Suite
from divbench.core.errors import ConfigurationError
from divbench.core.files import atomic_folder
from submissions.checking.prompts import OWN, read_prompts
from submissions.checking.response_kinds import ResponseCounts
from submissions.checking.validate import validate
from submissions.schema import Generation, Manifest, Row, Submitter, System
from submissions.storage.submission_folders import Submission, write_submission
from submissions.untrusted.findings import Rejected

OFFLINE = "offline"
_PROMPT_FILES = (".txt", ".jsonl", ".csv", ".tsv", ".parquet")
_REPORTED = "what the server calls its model"
_LEFT_OUT = "fields that the server does not accept"
# Settings of the suites' authors: NoveltyBench's and GSSBench's (top-k 10; the length is from INSIDE).
_USUAL = {
    "gssbench": SamplingSettings(top_k=10, max_tokens=256),
    "noveltybench-curated": SamplingSettings(max_tokens=512),
    "noveltybench-wildchat": SamplingSettings(max_tokens=512),
}
# Where a field of a manifest comes from, if not from the option of its name.
_OPTION_OF = {"generation.prompt_template": "--template", "notes": "--about notes=TEXT"}
TOKENS_FILE = "tokens.parquet"
_COLUMNS: list[tuple[str, pa.DataType]] = [
    ("prompt_id", pa.string()),
    ("mean_tokens", pa.float64()),  # sampled for a response, including reasoning and EOS
    ("mean_reasoning_tokens", pa.float64()),  # of those, reasoning; null where unknown
    ("probabilities", pa.list_(pa.float64())),  # stated with the responses in verbalized sampling; else null
]
TOKENS = pa.schema(_COLUMNS)


def settings_of(
    suite: str, temperature: float, top_k: int | None, top_p: float, max_tokens: int | None
) -> SamplingSettings:
    """Return the sampling settings, with the defaults of the suite's authors."""
    if not 0 < top_p <= 1:
        raise ConfigurationError(f"--top-p is {top_p:g}", "give a number above 0 and at most 1; 1 keeps all tokens")
    if not 0 <= temperature < math.inf:
        raise ConfigurationError(f"--temperature is {temperature:g}", "give a finite number of at least 0")
    usual = _USUAL.get(suite, SamplingSettings())
    chosen_top_k = usual.top_k if top_k is None else top_k or None
    return SamplingSettings(temperature, chosen_top_k, top_p, max_tokens or usual.max_tokens)


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
    name: str, prompting: PromptingSettings, stop: tuple[str, ...], dtype: Dtype | None, device: str | None
) -> Model:
    """Load a model by its name, local or behind a server (`NAME@URL`).

    If no device or precision is given, it is chosen and printed to stderr. Sampling needs float64, which Apple's GPUs
    lack.
    """
    if is_server(name):
        model, _, url = name.partition("@http")
        software = f"divbench {version('divbench')}, a server of OpenAI's protocol"
        return Model(ServerSampler(f"http{url}", model), model, None, None, None, software)
    choice = device_named(device, dtype, mps=False)
    return load_local(spec_named(name, choice.dtype, choice.device), prompting, stop)


def load_local(spec: CausalLMSpec, prompting: PromptingSettings, stop: tuple[str, ...]) -> Model:
    """Load a transformers model."""
    spec = with_supported_attention(spec)
    lm = load_causal_lm(spec)
    libraries = ", ".join(f"{name} {version(name)}" for name in ("divbench", "transformers", "torch"))
    return Model(
        HFSampler(lm, prompting, stop),
        spec.name,
        spec.revision,
        int(lm.model.num_parameters()),
        True if spec.folder in (None, OFFLINE_LM.folder) else None,  # a user's folder does not say
        f"{libraries}, {spec.dtype}, {spec.device.split(':')[0]}",
    )


def suite_named(name: str, mirror: Path | None) -> Suite:
    """Load a suite by its name, or the user's own prompts from a file."""
    if Path(name).suffix.lower() in _PROMPT_FILES:
        return Suite(OWN, "own prompts", tuple(read_prompts(Path(name))))
    return load_suite(name, mirror)


def manifest_of(
    model: Model, plan: Plan, suite: str, stop: tuple[str, ...], name: str | None, facts: Mapping[str, Any]
) -> Manifest:
    """Make the manifest of a run from what is known and the user's facts; a server's once it has responded."""
    if facts["generation"]:
        key = next(iter(facts["generation"])).replace("_", "-")
        raise ConfigurationError(f"--about states {key}, which is an option", f"use --{key}")
    settings, prompting = plan.sets[0].settings, plan.prompting
    system: dict[str, Any] = {
        "type": "model" if prompting.mode == "resample" else "inference-time method",
        "model_id": model.name,
        "revision": model.revision or _reported(model),
        "parameters": model.parameters,
        "open_weights": model.open_weights,
    }
    try:
        return Manifest(
            name=name or model.name,
            suite=suite,
            system=System(**system | facts["system"]),
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
            submitter=Submitter(**{"name": "not stated", "date": date.today()} | facts["submitter"]),
            notes=facts.get("notes"),
        )
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        field = ".".join([error.title.lower(), *map(str, fault["loc"])]).removeprefix("manifest.")
        reason = fault["msg"].removeprefix("Value error, ")
        option = _OPTION_OF.get(field) or f"--{fault['loc'][0]}".replace("_", "-")
        hint = "name another model" if field.startswith("system.") else f"give another value by {option}"
        message = f"invalid value in the manifest: {field} = {str(fault['input'])[:60]!r}: {reason}"
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


def write_output(
    folder: Path, manifest: Manifest, suite: Suite, plan: Plan, journal: Journal, reader: InternalsReader | None = None
) -> tuple[Submission, ResponseCounts]:
    """Write the submission, its token counts, and the internals if there are any."""
    with atomic_folder(folder) as temporary:
        write_submission(temporary, manifest, rows_of(plan.sets, journal))
        report = validate(temporary, lambda name: suite)
        if report.submission is None:
            raise Rejected(str(folder), report.findings)
        _write_tokens(temporary / TOKENS_FILE, plan.sets, journal)
        if reader is not None:
            how = reader.how_read(report.submission.id, plan.k, plan.prompting, "sampled")
            rows = ((item.id, internals_of(journal.internals(item.id), how)) for item in plan.sets)
            write_internals(temporary / INTERNALS_FILE, how, rows)
    return replace(report.submission, folder=folder), report.counts


def rows_of(items: Sequence[PlannedSet], journal: Journal) -> Iterator[Row]:
    """Yield the rows of a submission, in the items' order."""
    for number, item in enumerate(items, start=1):
        samples = journal.samples_of(item.id).samples
        reasons = tuple(sample.finish_reason for sample in samples)
        yield Row(number, item.id, item.prompt.prompt, tuple(sample.text for sample in samples), reasons)


def _write_tokens(path: Path, items: Sequence[PlannedSet], journal: Journal) -> None:
    rows = []
    for item in items:
        samples = journal.samples_of(item.id).samples
        row: dict[str, object] = {"prompt_id": item.id}
        for name, values in (
            ("mean_tokens", [sample.tokens for sample in samples]),
            ("mean_reasoning_tokens", [sample.reasoning_tokens for sample in samples]),
        ):
            known = [value for value in values if value is not None]
            row[name] = sum(known) / len(known) if len(known) == len(values) else None
        stated = [sample.probability for sample in samples]
        row["probabilities"] = stated if any(probability is not None for probability in stated) else None
        rows.append(row)
    pq.write_table(pa.Table.from_pylist(rows, schema=TOKENS), path, compression="zstd")
