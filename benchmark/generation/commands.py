"""`divbench generate`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

import typer

from datasets_build.console import JsonOption, err, out, print_json, progress
from datasets_build.errors import ConfigurationError, InputError

if TYPE_CHECKING:
    from benchmark.generation.journal import Journal
    from benchmark.generation.run import Plan
    from benchmark.generation.setup import Model
    from benchmark.internals.read import Reader

Dtype = Literal["float32", "bfloat16", "float16"]
Mode = Literal["resample", "paraphrase", "system-prompt", "in-context"]
ModelName = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="ORG/NAME@COMMIT on the Hub, a folder, offline (the model that ships here), or NAME@URL of a server.",
    ),
]
Template = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(help='Without chat template: what the model reads, with {prompt} in it, such as "Q: {prompt}\\nA:".'),
]
ChatTemplate = Annotated[
    bool, typer.Option("--chat-template/--no-chat-template", help="Ask through the model's own chat template.")
]
Thinking = Annotated[
    Optional[bool],  # noqa: UP045
    typer.Option("--thinking/--no-thinking", help="For chat templates that know it; else as the template has it."),
]
Layer = Annotated[str, typer.Option(help="Of E_original: middle (INSIDE's code), last (GSSBench's prose) or a number.")]
AverageLayers = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(help="Of E_average: numbers such as 20,21,22; else those of INSIDE's code."),
]


def generate(
    model: ModelName,
    destination: Annotated[
        Path, typer.Option("--out", help="The submission folder to make; with --sweep a .parquet file.")
    ],
    suite: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="demo, noveltybench-curated, noveltybench-wildchat or gssbench (its unique prompts)."),
    ] = None,
    prompts: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="Your own prompts (or contexts) instead: .jsonl, .csv, .parquet, or .txt with one a line."),
    ] = None,
    prompt_column: Annotated[str, typer.Option(help="Of --prompts.")] = "prompt",
    id_column: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Of --prompts; else prompt_id or id if there, else p0001, …"),
    ] = None,
    mode: Annotated[
        Mode,
        typer.Option(help="How k answers are asked for: NoveltyBench's four ways."),
    ] = "resample",
    k: Annotated[int, typer.Option(min=1, max=1000, help="Answers for each prompt.")] = 10,
    temperature: Annotated[float, typer.Option(min=0, help="0: the most probable token.")] = 1.0,
    top_k: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=0, help="Keep that many tokens; 0: all. Else as the suite's authors: gssbench 10."),
    ] = None,
    top_p: Annotated[float, typer.Option(max=1, help="Keep the fewest tokens of this probability together.")] = 1.0,
    max_tokens: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=1, help="Of an answer. Else as the suite's authors: noveltybench 512, others 256."),
    ] = None,
    seed: Annotated[
        int, typer.Option(help="Of all draws. An answer depends on it and its prompt, not on batches.")
    ] = 0,
    chat_template: ChatTemplate = True,
    template: Template = None,
    system_prompt: Annotated[Optional[str], typer.Option(help="Before every chat; else none.")] = None,  # noqa: UP045
    thinking: Thinking = None,
    stop: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(help="A text that ends an answer, for models that know no end; \\n is a line's. May be repeated."),
    ] = None,
    internals: Annotated[
        bool, typer.Option("--internals", help="Also keep what the model says of its answers, for uncertainty metrics.")
    ] = False,
    layer: Layer = "middle",
    average_layers: AverageLayers = None,
    sweep: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Make a decoding test: temperature=0.2:1.2:100, top_p=0.1:1:50 or top_k=1:100:20."),
    ] = None,
    sets: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=2, help="Of --sweep, how many; else as many as settings or contexts, whichever are more."),
    ] = None,
    name: Annotated[Optional[str], typer.Option(help="Of the submission; else the model's.")] = None,  # noqa: UP045
    submitter: Annotated[str, typer.Option(help="Who hands in.")] = "not stated",
    notes: Annotated[Optional[str], typer.Option(help="For the manifest.")] = None,  # noqa: UP045
    dtype: Annotated[Dtype, typer.Option(help="Of a model of transformers.")] = "float32",
    device: Annotated[str, typer.Option(help="Likewise, as torch names it: cpu, cuda, cuda:1.")] = "cpu",
    batch_tokens: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(
            min=64, help="Tokens, padding included, that are worked on at once; lowered by itself if need be."
        ),
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, max=256, help="Requests that a server has at once.")] = 8,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds that a server may take.")] = 120.0,
    restart: Annotated[bool, typer.Option("--restart", help="Throw away what an interrupted run had sampled.")] = False,
    mirror: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="A folder with released files, for suites that do not ship here. (env: DIVBENCH_MIRROR)"),
    ] = None,
    json: JsonOption = False,
) -> None:
    r"""Sample a model for every prompt of a suite and write a submission.

    Interrupted or failed in part, the same command goes on: prompts that have all their answers are never asked again.
    Errors are told by prompt, and an empty answer is an answer. Keys of servers: the variable DIVBENCH_API_KEY.

    A chat model of the Hub, on a GPU, with what the uncertainty metrics need:

      divbench generate Qwen/Qwen3-0.6B@COMMIT --suite gssbench --internals --device cuda --out subs/qwen

    A server, in one growing chat a prompt:

      divbench generate my-model@http://localhost:8000 --suite noveltybench-curated --mode in-context --out subs/mine

    The small model that ships here, which knows no chat and no end:

      divbench generate offline --suite demo --no-chat-template --stop "\n" --max-tokens 30 --out subs/tiny

    A decoding test of your own, which divbench metaeval then takes:

      divbench generate offline --no-chat-template --prompts starts.txt --sweep temperature=0.2:1.2:100 --out t.parquet
    """
    from dataclasses import replace

    from benchmark.generation.journal import open_journal, remove_journal
    from benchmark.generation.output import write_output
    from benchmark.generation.prompting import Asking
    from benchmark.generation.run import Item, Plan
    from benchmark.generation.setup import (
        is_server,
        load_local,
        load_server,
        manifest_of,
        spec_named,
        suite_named,
        usual_settings,
    )
    from benchmark.generation.sweep import parse_sweep, sweep_items, write_sweep

    points = None if sweep is None else parse_sweep(sweep)
    local = not chat_template or template is not None or thinking is not None or bool(stop)
    _check(
        model, destination, is_sweep=points is not None, internals=internals, is_server=is_server(model), is_local=local
    )
    asked = Asking(mode, system_prompt, chat_template, template or "{prompt}", thinking)
    ends = tuple(each.replace("\\n", "\n") for each in stop or ())
    found = suite_named(suite, prompts, {"prompt": prompt_column, "id": id_column}, mirror)
    usual = usual_settings(found.name)
    settings = replace(
        usual,
        temperature=temperature,
        top_p=top_p,
        top_k=usual.top_k if top_k is None else top_k or None,
        max_tokens=max_tokens or usual.max_tokens,
    )
    if points is None:
        items = tuple(Item(prompt.prompt_id, prompt, settings) for prompt in found.prompts)
    else:
        count = sets or max(len(points.values), len(found.prompts))
        items = sweep_items(found.prompts, points, settings, count, seed)
    plan = Plan(items, asked, k, seed, greedy=internals)
    if is_server(model):
        answering = load_server(model, concurrency, timeout)
    else:
        answering = load_local(spec_named(model, dtype, device), asked, ends, batch_tokens)
    journal_path = destination.parent / f".{destination.name}.partial.sqlite"
    with open_journal(journal_path, restart=restart) as journal:
        journal.begin(_identity(plan, answering, found.revision, ends, sweep, sets))
        resumed = len(journal.done())
        _sample(plan, answering, journal)
        reader = _read(plan, answering, journal, layer, average_layers) if internals else None
        if points is None:
            given = {"name": name, "submitter": submitter, "notes": notes}
            manifest = manifest_of(answering, plan, found.name, ends, given)
            submission = write_output(destination, manifest, found, plan, journal, reader)
            state: dict[str, Any] = {"submission_id": submission.id, "folder": str(destination)}
        else:
            write_sweep(destination, plan, points, journal, answering.sampler.signature)
            state = {"sets": len(items), "file": str(destination)}
    remove_journal(journal_path)
    state |= {"prompts": len(items), "k": k, "resumed_prompts": resumed, "model": answering.sampler.signature}
    if json:
        print_json(state)
        return
    out().print(f"written: {destination}  ({len(items)} × {k} answers)", markup=False, soft_wrap=True)
    if points is None:
        out().print(f"next: divbench score {destination}", markup=False, soft_wrap=True)
    else:
        out().print(f"next: divbench metaeval {destination}", markup=False, soft_wrap=True)


def _check(model: str, destination: Path, *, is_sweep: bool, internals: bool, is_server: bool, is_local: bool) -> None:
    """Before anything is loaded."""
    if is_server and is_local:
        mend = "leave out --no-chat-template, --template, --thinking and --stop"
        raise ConfigurationError("a server is asked by chat", mend)
    if is_sweep and destination.suffix != ".parquet":
        raise ConfigurationError(f"a sweep is a file, and {destination} is not named as one", "--out NAME.parquet")
    if destination.exists() and (destination.is_file() or any(destination.iterdir())):
        raise ConfigurationError(f"{destination} exists", "name another --out, or remove it")
    if internals and (is_server or is_sweep):
        what = "a server's model cannot be looked into" if is_server else "a sweep is of texts"
        mend = f"give its weights: divbench internals SUBMISSION --model ORG/NAME@COMMIT ({model.partition('@')[0]})"
        raise ConfigurationError(what, mend if is_server else "leave out --internals")


def _identity(
    plan: "Plan", answering: "Model", revision: str, stop: tuple[str, ...], sweep: str | None, sets: int | None
) -> dict[str, Any]:
    """What must be the same for a run to go on."""
    from dataclasses import asdict

    return {
        "model": answering.sampler.signature,
        "prompts": revision,
        "asked": [plan.asking.mode, str(plan.asking)],
        "k": plan.k,
        "seed": plan.seed,
        "settings": asdict(plan.items[0].settings) if sweep is None else {},
        "sweep": None if sweep is None else [sweep, sets],
        "stop": list(stop),
        "greedy": plan.greedy,
    }


def _sample(plan: "Plan", answering: "Model", journal: "Journal") -> None:
    """All items, or an error that tells what failed and how often.

    Raises:
        InputError: Some have no answers yet.
    """
    from benchmark.generation.run import failures, sample_plan

    with progress() as bar:
        task = bar.add_task(f"sampling {answering.name[:40]}", total=len(plan.items))
        sample_plan(plan, answering.sampler, journal, lambda done: bar.update(task, completed=done))
    lacking = len(plan.items) - len(journal.done())
    if lacking:
        reasons = list(failures(journal))
        for reason, count in reasons[:10]:
            err().print(f"{count} prompts: {reason}", style="yellow", markup=False)
        raise InputError(
            f"{lacking} of {len(plan.items)} prompts have no answers yet, most often: {reasons[0][0]}",
            "the same command tries them again, and only them",
        )


def _read(plan: "Plan", answering: "Model", journal: "Journal", layer: str, average: str | None) -> "Reader":
    from benchmark.generation.hf_sampler import HFSampler
    from benchmark.generation.run import read_plan
    from benchmark.internals.read import Reader
    from benchmark.models.hf_states import Cut

    sampler = answering.sampler
    if not isinstance(sampler, HFSampler):
        raise ConfigurationError("a server's model cannot be looked into")
    settings = plan.items[0].settings
    cut = Cut(settings.temperature, settings.top_k, settings.top_p)
    reader = Reader(sampler.lm, chosen_layers(sampler.lm, layer, average), cut)
    with progress() as bar:
        task = bar.add_task("reading internals", total=len(plan.items))
        read_plan(plan, sampler, reader, journal, lambda done: bar.update(task, completed=done))
    return reader


def chosen_layers(lm: Any, layer: str, average: str | None) -> Any:
    """The layers of the options --layer and --average-layers.

    Raises:
        ConfigurationError: The model has no such layers, or these are no numbers.
    """
    from benchmark.internals.read import layers_of

    try:
        original = layer if layer in ("middle", "last") else int(layer)
        several = None if average is None else [int(each) for each in average.split(",")]
    except ValueError as error:
        raise ConfigurationError(
            f"no layers: {error}", "--layer middle, last or a number; --average-layers 20,21"
        ) from error
    return layers_of(lm, original, several)
