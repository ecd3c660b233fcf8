"""The command `divbench metrics internals`."""

from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from benchmark.generation.options import AverageLayers, Layer, Template, Thinking

from benchmark.generation.commands import chosen_layers
from benchmark.models import Dtype
from benchmark.models.devices import checked_device, device_named
from divbench.core.console import JsonOption, MirrorOption, models_option, out, print_json, progress, prompts_option
from divbench.core.errors import ConfigurationError
from divbench.core.files import content_id

if TYPE_CHECKING:
    from benchmark.generation.prompting import PromptingSettings
    from submissions.schema import Manifest

_READ_AT_ONCE = 64
_WITHOUT = "record them during sampling (divbench generate --internals), or score it without internals"
_USUAL_LENGTH = 256  # tokens of the greedy response where the manifest states no length


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
    greedy: Annotated[
        bool,
        typer.Option(help="Additional greedy response per prompt, for perplexity and energy as published."),
    ] = True,
    max_tokens: Annotated[
        int | None,
        typer.Option(min=1, help="Maximum number of tokens of the greedy response; default: the manifest's, or 256."),
    ] = None,
    chat_template: Annotated[
        bool | None,
        prompts_option(
            "--chat-template/--no-chat-template",
            help="Prompt formatting with the model's chat template; default: as in the manifest.",
        ),
    ] = None,
    template: Template = None,
    thinking: Thinking = None,
    layer: Layer = "middle",
    average_layers: AverageLayers = None,
    dtype: Annotated[
        Dtype | None,
        models_option(
            help=(
                "Precision of the model; log-probabilities are float32 or better; default: float16 on cuda, else "
                "float32."
            )
        ),
    ] = None,
    device: Annotated[
        str | None,
        models_option(
            callback=checked_device,
            help="Device: cuda, cuda:1 or cpu; default: the best available (printed to stderr).",
        ),
    ] = None,
    restart: Annotated[
        bool, typer.Option("--restart", help="Fresh start, discarding the data of an interrupted run.")
    ] = False,
    mirror: MirrorOption = None,
    json: JsonOption = False,
) -> None:
    """Compute token likelihoods and hidden-state statistics of a submission's responses, for the uncertainty metrics.

    The open model that generated the responses reads each prompt with each response. The file holds the sums and
    covariances from which perplexity, energy, entropies, EigenScores and LOOE are computed. divbench generate
    --internals records them during sampling, from the sampled tokens themselves, and after the reasoning of a reasoning
    model, which a submission does not contain. After an interruption, run the same command to resume.

      divbench metrics internals subs/qwen --model Qwen/Qwen3-0.6B@COMMIT --device cuda

      divbench score subs/qwen
    """
    from benchmark.generation.internals import InternalsReader, tokenise_rows
    from benchmark.generation.journal import open_journal, remove_journal
    from benchmark.generation.prompting import check_prompts
    from benchmark.generation.setup import load_local, spec_named
    from benchmark.models.hf_states import SamplingParameters
    from benchmark.scoring.internals_file import INTERNALS_FILE, internals_of, record, write_internals
    from datasets_build.load import load_suite
    from submissions.checking.prompts import OWN
    from submissions.checking.validate import open_submission

    submission, suite, _ = open_submission(folder, partial(load_suite, mirror=mirror))
    drawn = submission.manifest.generation
    prompting = _prompting(submission.manifest, chat_template, template, thinking)
    if prompting.mode == "paraphrase" and suite.name == OWN:
        raise ConfigurationError("a submission does not contain the paraphrases of its own prompts", _WITHOUT)
    check_prompts(prompting, suite.prompts, drawn.k)
    target = destination or folder / INTERNALS_FILE
    if target.exists():
        raise ConfigurationError(f"{target} exists", "remove it to compute it again, or choose another --out")
    choice = device_named(device, dtype, mps=False)
    loaded = load_local(spec_named(model, choice.dtype, choice.device), prompting, drawn.stop, None)
    sampler: Any = loaded.sampler
    known = drawn.temperature is not None
    cut = SamplingParameters(float(drawn.temperature or 0), drawn.top_k, drawn.top_p or 1.0) if known else None
    reader = InternalsReader(sampler.lm, chosen_layers(sampler.lm, layer, average_layers), cut)
    how = reader.how_read(submission.id, drawn.k, prompting, "text").model_copy(
        update={"changed": _changed(prompting, submission.manifest, max_tokens if greedy else None)}
    )
    length = (max_tokens or drawn.max_tokens or _USUAL_LENGTH) if greedy else None
    journal_path = target.parent / f".{target.name}.partial.sqlite"
    with open_journal(journal_path, restart=restart) as journal, progress() as bar:
        journal.begin(how.model_dump(mode="json") | {"greedy": length})
        was_read = journal.read()
        task = bar.add_task(f"reading with {loaded.name[:40]}", total=submission.prompts, completed=len(was_read))
        rows = (row for row in submission.rows() if row.prompt_id not in was_read)
        while part := list(islice(rows, _READ_AT_ONCE)):
            prompts = [suite.by_id[row.prompt_id] for row in part]
            asked = tokenise_rows(sampler, prompts, part, length, stops=bool(drawn.stop))
            found = zip(part, reader.read(asked), strict=True)
            journal.put_internals({row.prompt_id: record(row.prompt_id, own) for row, own in found})
            bar.advance(task, len(part))
        ids = [prompt.prompt_id for prompt in suite.prompts]
        write_internals(target, how, ((each, internals_of(journal.internals(each), how)) for each in ids))
    remove_journal(journal_path)
    if json:
        print_json(
            {"file": str(target), "prompts": len(ids), "resumed_prompts": len(was_read), "read": how.model_dump()}
        )
        return
    out().print(f"written: {target}", markup=False, soft_wrap=True)
    out().print(f"next: divbench score {folder}", markup=False, soft_wrap=True)


def _prompting(
    manifest: "Manifest", chat_template: bool | None, template: str | None, thinking: bool | None
) -> "PromptingSettings":
    """Return how the prompts were presented, from the manifest and the options that replace parts of it."""
    from dataclasses import replace

    from benchmark.generation.prompting import is_verbalized, prompting_of

    found = prompting_of(manifest)
    if is_verbalized(found.mode):
        raise ConfigurationError(
            f"the mode {found.mode} has no tokens for single responses: one reply in JSON had all of them",
            "score it without internals, or sample in another mode",
        )
    if chat_template is not None:
        found = replace(found, chat_template=chat_template)
    if template is not None and found.chat_template:
        raise ConfigurationError("--template needs --no-chat-template", "add --no-chat-template")
    found = replace(found, template=template or found.template)
    return found if thinking is None else replace(found, thinking=thinking)


def _changed(prompting: "PromptingSettings", manifest: "Manifest", max_tokens: int | None) -> str | None:
    """Say how a reading departs from the manifest; None if it does not."""
    from benchmark.generation.prompting import prompting_of

    parts = []
    if str(prompting) != str(prompting_of(manifest)):
        parts.append(f"prompt:{content_id(str(prompting))}")
    if max_tokens not in (None, manifest.generation.max_tokens or _USUAL_LENGTH):
        parts.append(f"greedy-tokens:{max_tokens}")
    return ",".join(parts) or None
