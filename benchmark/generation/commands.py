"""`divbench generate`."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from benchmark.generation.options import AverageLayers, ChatTemplate, Layer, ModelName, Template, Thinking, with_lines
from benchmark.models import Dtype
from benchmark.models.devices import checked_device
from divbench.core.console import (
    JsonOption,
    MirrorOption,
    err,
    internals_option,
    out,
    output_option,
    print_json,
    progress,
    prompts_option,
    sampling_option,
)
from divbench.core.errors import ConfigurationError, InputError, counted
from submissions.choices import Mode

if TYPE_CHECKING:
    from benchmark.generation.hf_sampler import HFSampler
    from benchmark.generation.internals.read import InternalsReader
    from benchmark.generation.journal import Journal
    from benchmark.generation.run import Plan, PlannedSet
    from benchmark.generation.sampler import Sampler, SamplingSettings
    from benchmark.generation.setup import Model
    from benchmark.generation.sweep import Sweep
    from datasets_build.schema import Suite

_hardware_option = partial(typer.Option, rich_help_panel="Hardware")


def generate(
    model: ModelName,
    destination: Annotated[
        Path, output_option("--out", help="Submission folder to write; with --sweep, a .parquet file.")
    ],
    suite: Annotated[
        str | None,
        prompts_option(
            help=(
                "Suite of prompts: demo, noveltybench-curated, noveltybench-wildchat or gssbench (its unique prompts)."
            )
        ),
    ] = None,
    prompts: Annotated[
        Path | None,
        prompts_option(
            help=(
                "File of your own prompts (or contexts) instead of a suite: .jsonl, .csv, .parquet, or .txt "
                "with one per line."
            )
        ),
    ] = None,
    prompt_column: Annotated[str, prompts_option(help="Name of the text column of --prompts.")] = "prompt",
    id_column: Annotated[
        str | None,
        prompts_option(
            help="Name of the id column of --prompts; default: prompt_id or id if present, otherwise p0001 and so on."
        ),
    ] = None,
    mode: Annotated[Mode, sampling_option(help="Sampling mode: NoveltyBench's four, or verbalized.")] = "resample",
    k: Annotated[int, sampling_option(min=1, max=1000, help="Number of responses per prompt.")] = 10,
    temperature: Annotated[float, sampling_option(min=0, help="Sampling temperature; 0 is greedy.")] = 1.0,
    top_k: Annotated[
        int | None,
        sampling_option(
            min=0,
            help="Number of most probable tokens to sample from; 0: all. Default: the suite authors' (gssbench 10).",
        ),
    ] = None,
    top_p: Annotated[float, sampling_option(max=1, help="Nucleus sampling threshold (top-p).")] = 1.0,
    max_tokens: Annotated[
        int | None,
        sampling_option(
            min=1,
            help=(
                "Maximum number of new tokens per response; default: the suite authors' (noveltybench 512, others 256)."
            ),
        ),
    ] = None,
    seed: Annotated[
        int,
        sampling_option(
            help="Random seed of the run. Each response has a seed of its own; rounding still depends on the batches."
        ),
    ] = 0,
    chat_template: ChatTemplate = True,
    template: Template = None,
    system_prompt: Annotated[str | None, prompts_option(help="System prompt of every chat; default: none.")] = None,
    thinking: Thinking = None,
    stop: Annotated[
        list[str] | None,
        sampling_option(help="Stop string, for models without an end token; \\n is a line break (repeatable)."),
    ] = None,
    internals: Annotated[
        bool,
        internals_option(
            "--internals",
            help="Recording of token likelihoods and hidden-state statistics, for the uncertainty metrics.",
        ),
    ] = False,
    layer: Layer = "middle",
    average_layers: AverageLayers = None,
    sweep: Annotated[
        str | None,
        sampling_option(help="Decoding parameter to sweep: temperature=0.2:1.2:100, top_p=0.1:1:50 or top_k=1:64:20."),
    ] = None,
    sets: Annotated[
        int | None,
        sampling_option(
            min=2,
            help=(
                "Number of response sets of a sweep; default: the number of settings or contexts, whichever is larger."
            ),
        ),
    ] = None,
    name: Annotated[str | None, output_option(help="System name; default: the model's name.")] = None,
    submitter: Annotated[str, output_option(help="Submitter's name.")] = "not stated",
    notes: Annotated[str | None, output_option(help="Notes in the manifest.")] = None,
    dtype: Annotated[
        Dtype | None,
        _hardware_option(help="Precision of a transformers model; default: float16 on cuda, else float32."),
    ] = None,
    device: Annotated[
        str | None,
        _hardware_option(
            callback=checked_device,
            help="Device of a transformers model: cuda, cuda:1, cpu; default: the best available (printed to stderr).",
        ),
    ] = None,
    batch_tokens: Annotated[
        int | None,
        _hardware_option(
            min=64, help="Tokens per batch, padding included; lowered automatically when memory runs out."
        ),
    ] = None,
    concurrency: Annotated[
        int, _hardware_option(min=1, max=256, help="Number of concurrent requests to a server.")
    ] = 8,
    timeout: Annotated[float, _hardware_option(min=1, help="Timeout of a server's response, in seconds.")] = 120.0,
    restart: Annotated[
        bool, output_option("--restart", help="Fresh start, discarding the responses of an interrupted run.")
    ] = False,
    mirror: MirrorOption = None,
    json: JsonOption = False,
) -> None:
    r"""Sample responses to every prompt of a suite and write a submission.

    After an interruption or a partial failure, run the same command to resume: prompts that have all their responses
    are not sampled again. Errors are reported per prompt; an empty response counts as a response. Set the environment
    variable DIVBENCH_API_KEY to the server's API key.

    A chat model from the Hub, on a GPU, with internals for the uncertainty metrics:

      divbench generate Qwen/Qwen3-0.6B@COMMIT --suite gssbench --internals --device cuda --out subs/qwen

    A server, with one growing chat per prompt:

      divbench generate my-model@http://localhost:8000 --suite noveltybench-curated --mode in-context --out subs/mine

    The bundled model, which has no chat template and no end token:

      divbench generate offline --suite demo --no-chat-template --stop "\n" --max-tokens 30 --out subs/tiny

    A decoding test of your own, for divbench metrics metaeval:

      divbench generate offline --no-chat-template --prompts starts.txt --sweep temperature=0.2:1.2:100 --out t.parquet
    """
    from dataclasses import asdict

    from benchmark.generation.journal import contents_of, open_journal, remove_journal
    from benchmark.generation.output import write_output
    from benchmark.generation.prompting import PromptingSettings
    from benchmark.generation.run import Plan
    from benchmark.generation.setup import load, manifest_of, settings_of, suite_named
    from benchmark.generation.sweep import parse_sweep, write_sweep
    from submissions.checking.response_kinds import kinds_text

    points = None if sweep is None else parse_sweep(sweep)
    _check_output(destination, is_sweep=points is not None)
    _check_options(
        model, internals=internals, swept=sweep, sets=sets, chat_template=chat_template, template=template,
        thinking=thinking, stop=stop, mode=mode,
    )  # fmt: skip
    asked = PromptingSettings(mode, system_prompt, chat_template, template or "{prompt}", thinking)
    ends = tuple(str(with_lines(each)) for each in stop or ())
    found = suite_named(suite, prompts, {"prompt": prompt_column, "id": id_column}, mirror)
    settings = settings_of(found.name, temperature, top_k, top_p, max_tokens)
    plan = Plan(_items(found, points, settings, sets, seed), asked, k, seed, greedy=internals)
    given = {"name": name, "submitter": submitter, "notes": notes}
    journal_path = destination.parent / f".{destination.name}.partial.sqlite"
    with open_journal(journal_path, restart=restart) as journal:
        loaded = load(model, asked, ends, dtype, device, batch_tokens, concurrency, timeout)
        manifest_of(loaded, plan, found.name, ends, given)  # fails before the work if the manifest is not valid
        reader = _reader(plan, loaded.sampler, layer, average_layers) if internals else None
        layers = [layer, average_layers] if internals else None
        removable = None if prompts is None or points is not None else contents_of(found.prompts)
        journal.begin(_identity(plan, loaded, found, ends, sweep, layers), removable)
        resumed = len(journal.done())
        _sample(plan, loaded, journal, own=removable is not None)
        if reader is not None:
            _read(plan, loaded.sampler, reader, journal)
        manifest = manifest_of(loaded, plan, found.name, ends, given)
        if points is None:
            submission, counts = write_output(destination, manifest, found, plan, journal, reader)
            state: dict[str, Any] = {"submission_id": submission.id, "folder": str(destination)}
            state |= {"prompts": len(plan.sets), "k": k, "resumed_prompts": resumed, "counts": asdict(counts)}
        else:
            write_sweep(destination, plan, points, journal, manifest, loaded.sampler.signature)
            contexts = len({item.prompt.prompt_id for item in plan.sets})
            state = {"file": str(destination), "label": points.parameter, "sets": len(plan.sets)}
            state |= {"contexts": contexts, "k": k, "resumed_sets": resumed}
    remove_journal(journal_path)
    state |= {"model": loaded.sampler.signature}
    if json:
        print_json(state)
        return
    before = f", {resumed} of them sampled before" if resumed else ""
    units, after = ("prompts", "score") if points is None else ("sets", "metrics metaeval")
    written = f"written: {destination}  ({len(plan.sets)} {units} × {counted(k, 'response')}{before})"
    kinds = [f"  {kinds_text(state['counts'])}"] if "counts" in state else []
    for line in (written, *kinds, f"next: divbench {after} {destination}"):
        out().print(line, markup=False, soft_wrap=True)


def _check_output(destination: Path, *, is_sweep: bool) -> None:
    """Check the destination, before anything is loaded."""
    if is_sweep and destination.suffix != ".parquet":
        raise ConfigurationError(f"a sweep is written to a .parquet file, not to {destination}", "--out NAME.parquet")
    if destination.name in ("", ".."):  # the journal would lie in it, and a folder cannot be replaced from inside
        raise ConfigurationError(f"--out {destination} is not a new folder", "give the name of a folder to create")
    if destination.exists() and (is_sweep or destination.is_file() or any(destination.iterdir())):
        raise ConfigurationError(f"{destination} exists", "choose another --out, or remove it")


def _check_options(
    model: str,
    *,
    internals: bool,
    swept: str | None,
    sets: int | None,
    chat_template: bool,
    template: str | None,
    thinking: bool | None,
    stop: list[str] | None,
    mode: str,
) -> None:
    """Reject options that would have no effect, or that exclude each other."""
    from benchmark.generation.setup import is_server
    from benchmark.generation.verbalized import is_verbalized

    if is_server(model):
        if not chat_template or template is not None or thinking is not None or stop:
            hint = "leave out --no-chat-template, --template, --thinking and --stop"
            raise ConfigurationError("a server is only sampled by chat", hint)
        if internals:
            name = model.partition("@")[0]
            hint = f"if its weights are open: divbench metrics internals SUBMISSION --model ORG/NAME@COMMIT ({name})"
            raise ConfigurationError("a server does not give access to its model's internals", hint)
    if internals and is_verbalized(mode):
        raise ConfigurationError(f"the mode {mode} has no tokens for single responses", "leave out --internals")
    if template is not None and chat_template:
        raise ConfigurationError("--template needs --no-chat-template", "add --no-chat-template")
    if internals and swept is not None:
        raise ConfigurationError("a sweep has no internals", "leave out --internals")
    if sets is not None and swept is None:
        raise ConfigurationError("--sets needs --sweep", "use --k for the number of responses per prompt")


def _items(
    found: "Suite", points: "Sweep | None", settings: "SamplingSettings", sets: int | None, seed: int
) -> "tuple[PlannedSet, ...]":
    """Return the response sets to sample: one per prompt of a suite, or the sets of a sweep."""
    from benchmark.generation.run import PlannedSet
    from benchmark.generation.sweep import sweep_items

    if points is None:
        return tuple(PlannedSet(prompt.prompt_id, prompt, settings) for prompt in found.prompts)
    return sweep_items(found.prompts, points, settings, sets or max(len(points.values), len(found.prompts)), seed)


def _identity(
    plan: "Plan",
    loaded: "Model",
    found: "Suite",
    stop: tuple[str, ...],
    sweep: str | None,
    layers: list[str | None] | None,
) -> dict[str, Any]:
    """Return the settings that must be equal for a run to resume."""
    from dataclasses import asdict

    return {
        "model": loaded.sampler.signature,
        "software": loaded.software,
        "prompts": f"{found.name} {found.revision}",
        "mode": plan.prompting.mode,
        "asked": str(plan.prompting),
        "k": plan.k,
        "seed": plan.seed,
        "settings": asdict(plan.sets[0].settings),
        "sweep": None if sweep is None else f"{sweep}, {len(plan.sets)} sets",
        "stop": list(stop),
        "internals": layers,
    }


def _sample(plan: "Plan", loaded: "Model", journal: "Journal", *, own: bool) -> None:
    """Sample the whole plan; report on stderr what failed and how often."""
    from benchmark.generation.run import UNPARSED, failures, sample_plan
    from benchmark.generation.sampler import SamplerFault
    from benchmark.generation.setup import expect_same_server, keep_server

    expect_same_server(loaded, journal)
    try:
        with progress() as bar:
            task = bar.add_task(f"sampling {loaded.name[:40]}", total=len(plan.sets))

            def tell(done: int) -> None:
                bar.update(task, completed=done)
                keep_server(loaded, journal)

            sample_plan(plan, loaded.sampler, journal, tell)
    except SamplerFault:
        err().print(f"{len(journal.done())} of {len(plan.sets)} prompts have all their responses, which are kept")
        raise
    if unparsed := journal.told(UNPARSED):
        err().print(f"{unparsed} {UNPARSED}; they were requested again", style="yellow")
    lacking = len(plan.sets) - len(journal.done())
    if lacking:
        reasons = failures(journal)
        for reason, count in reasons[:10]:
            err().print(f"{counted(count, 'prompt')}: {reason}", style="yellow", markup=False)
        failed = sorted(journal.errors())
        shown = ", ".join(failed[:10]) + (", …" if len(failed) > 10 else "")
        err().print(f"without responses: {shown}", style="yellow", markup=False, soft_wrap=True)
        last = "remove them from the file, if it has ids" if own else "change the options and use --restart"
        raise InputError(
            f"{lacking} of {len(plan.sets)} prompts have no responses yet; most frequent reason: {reasons[0][0]}",
            f"the same command retries only these prompts; if they keep failing, {last}",
        )


def _reader(plan: "Plan", sampler: "Sampler", layer: str, average: str | None) -> "InternalsReader":
    """Return the reader of internals; made before sampling, so that layers the model lacks are reported early."""
    from benchmark.generation.internals.read import InternalsReader
    from benchmark.models.hf_states import SamplingParameters

    lm, settings = _of_transformers(sampler).lm, plan.sets[0].settings
    cut = SamplingParameters(settings.temperature, settings.top_k, settings.top_p)
    return InternalsReader(lm, chosen_layers(lm, layer, average), cut)


def _read(plan: "Plan", sampler: "Sampler", reader: "InternalsReader", journal: "Journal") -> None:
    from benchmark.generation.run import read_plan

    with progress() as bar:
        task = bar.add_task("reading internals", total=len(plan.sets))
        read_plan(plan, _of_transformers(sampler), reader, journal, lambda done: bar.update(task, completed=done))


def _of_transformers(sampler: "Sampler") -> "HFSampler":
    from benchmark.generation.hf_sampler import HFSampler

    if not isinstance(sampler, HFSampler):
        raise ConfigurationError("a server does not give access to its model's internals", "leave out --internals")
    return sampler


def chosen_layers(lm: Any, layer: str, average: str | None) -> Any:
    """Return the layers chosen by --layer and --average-layers."""
    from benchmark.generation.internals.read import layers_of

    try:
        original = layer if layer in ("middle", "last") else int(layer)
        several = None if average is None else [int(each) for each in average.split(",")]
    except ValueError as error:
        raise ConfigurationError(
            f"invalid layers: {error}", "use --layer middle, last or a number; --average-layers such as 20,21"
        ) from error
    return layers_of(lm, original, several)
