"""`divbench generate` and `divbench metrics internals`."""

from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import typer

from benchmark.models import Dtype
from benchmark.models.devices import device_named
from benchmark.scoring.options import DeviceOption, parse_settings
from divbench.core.console import (
    JsonOption,
    MirrorOption,
    err,
    internals_option,
    models_option,
    output_option,
    progress,
    prompts_option,
    sampling_option,
    say,
    with_option_groups,
)
from divbench.core.errors import ConfigurationError, InputError, counted
from submissions.choices import ABOUT_HELP, Mode, manifest_fields

if TYPE_CHECKING:
    from benchmark.generation.hf_sampler import HFSampler
    from benchmark.generation.internals import InternalsReader
    from benchmark.generation.journal import Journal
    from benchmark.generation.prompting import PromptingSettings, SamplingSettings
    from benchmark.generation.run import Plan
    from benchmark.generation.setup import Model
    from benchmark.models.hf_states import SamplingParameters
    from datasets_build.schema import Suite
    from submissions.checking.response_kinds import ResponseCounts
    from submissions.schema import Generation

_READ_AT_ONCE = 64
_USUAL_LENGTH = 256  # tokens of the greedy response where the manifest states no length


class Settings(TypedDict):
    """What `--set` of these commands sets."""

    dtype: Dtype | None
    thinking: bool | None
    layer: str
    average_layers: str | None


def _with_lines(text: str | None) -> str | None:
    return None if text is None else text.replace("\\n", "\n")


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """The options of a command that samples a model or reads its internals."""

    template: Annotated[
        str | None,
        prompts_option(
            callback=_with_lines,
            help='Prompt template in place of the chat template, such as "Q: {prompt}\\nA:"; for models without one.',
        ),
    ] = None
    device: DeviceOption = None
    settings: Annotated[
        list[str] | None,
        models_option(
            "--set",
            metavar="KEY=VALUE",
            help=(
                "Setting (repeatable): dtype=float32; thinking=true or false, of chat templates that have it; layer of "
                "E_original=middle (INSIDE's code), last (GSSBench's prose) or a number; average-layers of "
                "E_average=20,21,22 (default: as in INSIDE's code)."
            ),
        ),
    ] = None

    def parsed(self) -> Settings:
        """Return the settings."""
        defaults: Settings = {"dtype": None, "thinking": None, "layer": "middle", "average_layers": None}
        return defaults | parse_settings(self.settings, Settings.__annotations__)  # type: ignore[return-value]


@with_option_groups
def generate(
    model: Annotated[
        str,
        typer.Argument(
            help="Model: ORG/NAME@COMMIT on the Hub, a folder, offline (the bundled model), or NAME@URL of a server."
        ),
    ],
    destination: Annotated[
        Path, output_option("--out", help="Submission folder to write; with --sweep, a .parquet file.")
    ],
    suite: Annotated[
        str,
        prompts_option(
            help=(
                "Suite of prompts: demo, noveltybench-curated, noveltybench-wildchat or gssbench; or a file: "
                ".jsonl, .csv, .parquet (prompt, and prompt_id or id), or .txt with one per line."
            )
        ),
    ],
    *,
    mode: Annotated[Mode, sampling_option(help="Sampling mode: NoveltyBench's four, or verbalized.")] = "resample",
    k: Annotated[int, sampling_option(min=1, max=1000, help="Number of responses per prompt.")] = 10,
    temperature: Annotated[float, sampling_option(min=0, help="Sampling temperature; 0 is greedy.")] = 1.0,
    top_k: Annotated[
        int | None, sampling_option(min=0, help="Most probable tokens to sample from; 0: all; gssbench's default: 10.")
    ] = None,
    top_p: Annotated[float, sampling_option(max=1, help="Nucleus sampling threshold (top-p).")] = 1.0,
    max_tokens: Annotated[
        int | None, sampling_option(min=1, help="New tokens per response; default: 256, noveltybench 512.")
    ] = None,
    seed: Annotated[int, sampling_option(help="Random seed; each response has a seed derived from it.")] = 0,
    system_prompt: Annotated[str | None, prompts_option(help="System prompt of every chat; default: none.")] = None,
    stop: Annotated[
        list[str] | None, sampling_option(help="Stop string, for models without an end token (repeatable).")
    ] = None,
    internals: Annotated[
        bool, internals_option("--internals", help="Recording of token likelihoods and hidden-state statistics.")
    ] = False,
    sweep: Annotated[
        str | None,
        sampling_option(help="Decoding parameter to sweep, such as temperature=0.2:1.2:100 or top_k=1:64:20."),
    ] = None,
    name: Annotated[str | None, output_option(help="System name; default: the model's name.")] = None,
    about: Annotated[list[str] | None, output_option(metavar="KEY=VALUE", help=ABOUT_HELP)] = None,
    models: ModelOptions,
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

      divbench generate offline --suite demo --template {prompt} --stop "\n" --max-tokens 30 --out subs/tiny

    A decoding test of your own, for divbench metrics metaeval:

      divbench generate offline --suite starts.txt --template {prompt} --sweep temperature=0.2:1.2:100 --out t.parquet
    """
    from benchmark.generation.journal import contents_of, open_journal, remove_journal
    from benchmark.generation.prompting import PromptingSettings
    from benchmark.generation.run import Plan, PlannedSet, parse_sweep, sweep_sets, write_sweep
    from benchmark.generation.setup import load, manifest_of, settings_of, suite_named, write_output
    from submissions.checking.prompts import OWN
    from submissions.checking.response_kinds import kinds_text

    points = None if sweep is None else parse_sweep(sweep)
    _check_output(destination, is_sweep=points is not None)
    chosen, facts = models.parsed(), manifest_fields(about or ())
    has_chat_options = models.template is not None or chosen["thinking"] is not None or bool(stop)
    _check_options(model, mode, internals=internals, is_sweep=points is not None, chat_options=has_chat_options)
    prompting = PromptingSettings(
        mode, system_prompt, models.template is None, models.template or "{prompt}", chosen["thinking"]
    )
    ends = tuple(str(_with_lines(text)) for text in stop or ())
    prompts = suite_named(suite, mirror)
    settings = settings_of(prompts.name, temperature, top_k, top_p, max_tokens)
    sets = (
        tuple(PlannedSet(prompt.prompt_id, prompt, settings) for prompt in prompts.prompts)
        if points is None
        else sweep_sets(prompts.prompts, points, settings, seed)
    )
    plan = Plan(sets, prompting, k, seed, greedy=internals)
    layers = [chosen["layer"], chosen["average_layers"]] if internals else None
    journal_path = destination.parent / f".{destination.name}.partial.sqlite"
    with open_journal(journal_path) as journal:
        loaded = load(model, prompting, ends, chosen["dtype"], models.device)
        manifest_of(loaded, plan, prompts.name, ends, name, facts)  # fails before the work if it is not valid
        reader = _reader(plan, loaded, chosen) if internals else None
        removable = contents_of(prompts.prompts) if prompts.name == OWN and points is None else None
        journal.begin(_identity(plan, loaded, prompts, ends, sweep, layers), removable)
        resumed = len(journal.done())
        _sample(plan, loaded, journal, removable=removable is not None)
        if reader is not None:
            _read(plan, loaded, reader, journal)
        manifest = manifest_of(loaded, plan, prompts.name, ends, name, facts)
        state: dict[str, Any] = {"model": loaded.sampler.signature, "k": k}
        if points is None:
            submission, counts = write_output(destination, manifest, prompts, plan, journal, reader)
            state |= {"submission_id": submission.id, "folder": str(destination), "prompts": len(plan.sets)}
            state |= {"resumed_prompts": resumed, "counts": asdict(counts)} | _warnings(counts, settings.max_tokens)
        else:
            write_sweep(destination, plan, points, journal, manifest, loaded.sampler.signature)
            contexts = len({item.prompt.prompt_id for item in plan.sets})
            state |= {"file": str(destination), "label": points.parameter, "sets": len(plan.sets)}
            state |= {"contexts": contexts, "resumed_sets": resumed}
    remove_journal(journal_path)
    before = f", {resumed} of them sampled before" if resumed else ""
    units, after = ("prompts", "score") if points is None else ("sets", "metrics metaeval")
    written = f"written: {destination}  ({len(plan.sets)} {units} × {counted(k, 'response')}{before})"
    kinds = [f"  {kinds_text(state['counts'])}"] if "counts" in state else []
    kinds += [f"  warning: {warning}" for warning in state.get("warnings", ())]
    say(state, written, *kinds, f"next: divbench {after} {destination}", as_json=json)


def _warnings(counts: "ResponseCounts", max_tokens: int) -> dict[str, list[str]]:
    """Say how many responses are blank or truncated, with the option that helps."""
    total, blank, cut = counts.responses, counts.blank + counts.placeholder, counts.cut_off
    warnings = []
    if blank:
        why = "see whether --template and --stop suit the model"
        if cut:
            why = f"a model may use all {max_tokens} tokens to reason: raise --max-tokens, or try --set thinking=false"
        warnings.append(f"{blank:,} of {counted(total, 'response')} blank, and a blank one is not valid; {why}")
    if cut:
        why = f"a class that has only truncated responses does not count; raise --max-tokens (now {max_tokens})"
        warnings.append(f"{cut:,} of {counted(total, 'response')} truncated; {why}")
    return {"warnings": warnings}


def _check_output(destination: Path, *, is_sweep: bool) -> None:
    """Check the destination, before anything is loaded."""
    if is_sweep and destination.suffix != ".parquet":
        raise ConfigurationError(f"a sweep is written to a .parquet file, not to {destination}", "--out NAME.parquet")
    if destination.name in ("", ".."):  # the journal would lie in it, and a folder cannot be replaced from inside
        raise ConfigurationError(f"--out {destination} is not a new folder", "give the name of a folder to create")
    if destination.exists() and (is_sweep or destination.is_file() or any(destination.iterdir())):
        raise ConfigurationError(f"{destination} exists", "choose another --out, or remove it")


def _check_options(model: str, mode: str, *, internals: bool, is_sweep: bool, chat_options: bool) -> None:
    """Reject options that would have no effect, or that exclude each other."""
    from benchmark.generation.prompting import is_verbalized
    from benchmark.generation.setup import is_server

    if is_server(model):
        if chat_options:
            hint = "leave out --template, --set thinking and --stop"
            raise ConfigurationError("a server is only sampled by chat", hint)
        if internals:
            name = model.partition("@")[0]
            hint = f"if its weights are open: divbench metrics internals SUBMISSION --model ORG/NAME@COMMIT ({name})"
            raise ConfigurationError("a server does not give access to its model's internals", hint)
    if internals and is_verbalized(mode):
        raise ConfigurationError(f"the mode {mode} has no tokens for single responses", "leave out --internals")
    if internals and is_sweep:
        raise ConfigurationError("a sweep has no internals", "leave out --internals")


def _identity(
    plan: "Plan",
    loaded: "Model",
    suite: "Suite",
    stop: tuple[str, ...],
    sweep: str | None,
    layers: list[str | None] | None,
) -> dict[str, Any]:
    """Return the settings that must be equal for a run to resume."""
    return {
        "model": loaded.sampler.signature,
        "software": loaded.software,
        "prompts": f"{suite.name} {suite.revision}",
        "mode": plan.prompting.mode,
        "asked": str(plan.prompting),
        "k": plan.k,
        "seed": plan.seed,
        "settings": asdict(plan.sets[0].settings),
        "sweep": None if sweep is None else f"{sweep}, {len(plan.sets)} sets",
        "stop": list(stop),
        "internals": layers,
    }


def _sample(plan: "Plan", loaded: "Model", journal: "Journal", *, removable: bool) -> None:
    """Sample the whole plan; report on stderr what failed and how often. Prompts of the user's own may be removed."""
    from benchmark.generation.prompting import SamplerFault
    from benchmark.generation.run import UNPARSED, failures, sample_plan
    from benchmark.generation.setup import expect_same_server, keep_server

    expect_same_server(loaded, journal)
    try:
        with progress() as bar:
            task = bar.add_task(f"sampling {loaded.name[:40]}", total=len(plan.sets))

            def show(done: int) -> None:
                bar.update(task, completed=done)
                keep_server(loaded, journal)

            sample_plan(plan, loaded.sampler, journal, show)
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
        other_fix = f"change the options, and remove {journal.path}"
        if removable:
            other_fix = "remove them from the file, if it has ids"
        raise InputError(
            f"{lacking} of {len(plan.sets)} prompts have no responses yet; most frequent reason: {reasons[0][0]}",
            f"the same command retries only these prompts; if they keep failing, {other_fix}",
        )


def _reader(plan: "Plan", loaded: "Model", settings: Settings) -> "InternalsReader":
    """Return the reader of internals; made before sampling, so that layers the model lacks are reported early."""
    from benchmark.generation.internals import InternalsReader, layers_named

    sampler: HFSampler | Any = loaded.sampler
    layers = layers_named(sampler.lm, settings["layer"], settings["average_layers"])
    return InternalsReader(sampler.lm, layers, _sampling_parameters(plan.sets[0].settings))


def _read(plan: "Plan", loaded: "Model", reader: "InternalsReader", journal: "Journal") -> None:
    from benchmark.generation.run import read_plan

    sampler: HFSampler | Any = loaded.sampler
    with progress() as bar:
        task = bar.add_task("reading internals", total=len(plan.sets))
        read_plan(plan, sampler, reader, journal, lambda done: bar.update(task, completed=done))


@with_option_groups
def internals(
    folder: Annotated[Path, typer.Argument(help="Submission folder.")],
    model: Annotated[
        str, typer.Option(help="Model that generated the responses: ORG/NAME@COMMIT on the Hub, a folder, or offline.")
    ],
    destination: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Output file; default: internals.parquet in the submission folder, where score finds it."
        ),
    ] = None,
    *,
    models: ModelOptions,
    mirror: MirrorOption = None,
    json: JsonOption = False,
) -> None:
    """Compute token likelihoods and hidden-state statistics of a submission's responses, for the uncertainty metrics.

    The open model that generated the responses reads each prompt with each response, and generates a greedy response
    per prompt. The file holds the sums and covariances from which perplexity, energy, entropies, EigenScores and LOOE
    are computed. divbench generate --internals records them during sampling, from the sampled tokens themselves, and
    after the reasoning of a reasoning model, which a submission does not contain. After an interruption, run the same
    command to resume.

      divbench metrics internals subs/qwen --model Qwen/Qwen3-0.6B@COMMIT --device cuda

      divbench score subs/qwen
    """
    from benchmark.generation.internals import InternalsReader, layers_named, tokenise_rows
    from benchmark.generation.journal import open_journal, remove_journal
    from benchmark.generation.prompting import check_prompts, prompting_of
    from benchmark.generation.setup import load_local, spec_named
    from benchmark.scoring.internals_file import INTERNALS_FILE, internals_of, record, write_internals
    from datasets_build.load import load_suite
    from divbench.core.files import content_id
    from submissions.checking.prompts import OWN
    from submissions.checking.validate import open_submission

    submission, suite, _ = open_submission(folder, partial(load_suite, mirror=mirror))
    generation, settings = submission.manifest.generation, models.parsed()
    stated = prompting_of(submission.manifest)
    prompting = _prompting(stated, models.template, settings["thinking"])
    if prompting.mode == "paraphrase" and suite.name == OWN:
        hint = "record them during sampling (divbench generate --internals), or score it without internals"
        raise ConfigurationError("a submission does not contain the paraphrases of its own prompts", hint)
    check_prompts(prompting, suite.prompts, generation.k)
    target = destination or folder / INTERNALS_FILE
    if target.exists():
        raise ConfigurationError(f"{target} exists", "remove it to compute it again, or choose another --out")
    choice = device_named(models.device, settings["dtype"], mps=False)
    loaded = load_local(spec_named(model, choice.dtype, choice.device), prompting, generation.stop)
    sampler: HFSampler | Any = loaded.sampler
    layers = layers_named(sampler.lm, settings["layer"], settings["average_layers"])
    reader = InternalsReader(sampler.lm, layers, _sampling_parameters(generation))
    changed = None if str(prompting) == str(stated) else f"prompt:{content_id(str(prompting))}"
    how = reader.how_read(submission.id, generation.k, prompting, "text").model_copy(update={"changed": changed})
    length = generation.max_tokens or _USUAL_LENGTH
    journal_path = target.parent / f".{target.name}.partial.sqlite"
    with open_journal(journal_path) as journal, progress() as bar:
        journal.begin(how.model_dump(mode="json") | {"greedy": length})
        was_read = journal.read()
        task = bar.add_task(f"reading with {loaded.name[:40]}", total=submission.prompts, completed=len(was_read))
        rows = (row for row in submission.rows() if row.prompt_id not in was_read)
        while part := list(islice(rows, _READ_AT_ONCE)):
            prompts = [suite.by_id[row.prompt_id] for row in part]
            tokenised = tokenise_rows(sampler, prompts, part, length, stops=bool(generation.stop))
            read = zip(part, reader.read(tokenised), strict=True)
            journal.put_internals({row.prompt_id: record(row.prompt_id, values) for row, values in read})
            bar.advance(task, len(part))
        ids = [prompt.prompt_id for prompt in suite.prompts]
        write_internals(target, how, ((name, internals_of(journal.internals(name), how)) for name in ids))
    remove_journal(journal_path)
    document: dict[str, Any] = {
        "file": str(target),
        "prompts": len(ids),
        "resumed_prompts": len(was_read),
        "read": how.model_dump(),
    }
    say(document, f"written: {target}", f"next: divbench score {folder}", as_json=json)


def _sampling_parameters(settings: "Generation | SamplingSettings") -> "SamplingParameters | None":
    """Return how tokens were sampled; None if it is unknown."""
    from benchmark.models.hf_states import SamplingParameters

    if settings.temperature is None:
        return None
    return SamplingParameters(float(settings.temperature), settings.top_k, settings.top_p or 1.0)


def _prompting(stated: "PromptingSettings", template: str | None, thinking: bool | None) -> "PromptingSettings":
    """Return how the prompts were presented, from the manifest and the options that replace parts of it."""
    from benchmark.generation.prompting import is_verbalized

    if is_verbalized(stated.mode):
        raise ConfigurationError(
            f"the mode {stated.mode} has no tokens for single responses: one reply in JSON had all of them",
            "score it without internals, or sample in another mode",
        )
    if template is not None:
        stated = replace(stated, chat_template=False, template=template)
    return stated if thinking is None else replace(stated, thinking=thinking)
