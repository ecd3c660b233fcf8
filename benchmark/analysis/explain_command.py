"""`divbench metrics explain`: the response set, and its explanation as tables and sentences."""

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import BaseModel, ConfigDict, Field

from benchmark.scoring.options import OFFLINE, ProfileOptions
from divbench.core.console import (
    JsonOption,
    MirrorOption,
    d_can_option,
    data_option,
    err,
    out,
    print_json,
    progress,
    with_option_groups,
)
from divbench.core.errors import ConfigurationError, InputError, counted
from divbench.core.tables import Block, Table, number, print_blocks
from submissions.untrusted.json_files import strict_model
from submissions.untrusted.plain_text import shortened

if TYPE_CHECKING:
    from benchmark.analysis.explain import Explanation
    from benchmark.models import Format
    from benchmark.models.causal_lm import CausalLM
    from benchmark.scoring.profiles import Profile
    from benchmark.surprisal.engine import ResponseSet

MAX_BYTES = 1 << 20  # of a JSON file
MAX_RESPONSES = 200
MAX_TOKENS = 6  # of a pair, in a sentence
MAX_ROWS = 50  # of a table
TEXT_LENGTH, PROMPT_LENGTH = 60, 200  # characters shown


class _SetFile(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    prompt: str
    responses: Annotated[list[str], Field(max_length=MAX_RESPONSES)]


@with_option_groups
def explain(
    source: Annotated[
        Path | None,
        typer.Argument(help="Response set: a JSON file, - for stdin, or a submission folder; none with --dataset."),
    ] = None,
    dataset: Annotated[str | None, data_option(help="Dataset to take the set from, such as contest.")] = None,
    split: Annotated[str | None, data_option(help="Split of the dataset, such as prompt_gen.")] = None,
    set_id: Annotated[str | None, data_option("--set-id", help="Id of the set (set_id).")] = None,
    prompt: Annotated[str | None, data_option(help="Id of a submission's prompt (prompt_id).")] = None,
    models: ProfileOptions = OFFLINE,
    precision: Annotated[
        float | None,
        d_can_option(
            min=1e-6,
            help="Target standard error of a_n in bits/byte; the number of balanced orders it takes is printed.",
        ),
    ] = None,
    mirror: MirrorOption = None,
    json: JsonOption = False,
) -> None:
    """Explain the D_Can of one response set (arXiv:2606.01811): curve, coherence, pairs of responses and tokens.

    The model reads the responses in several orders. The curve a_k is the cost in bits of a response after k − 1 others:
    it falls as far as they help to predict it. D_Ca_n is its end, a_n, times the coherence C. Also shown: the cost of
    each response alone and in the last position, and the bits that responses save each other; --json has them all, and
    every token's bits.

    A set of a dataset:

      divbench metrics explain --dataset scenarios --split scenarios --set-id noise-bread

    The responses of a submission to one prompt:

      divbench metrics explain subs/my-model --prompt curated-0

    Your own, as {"prompt": "...", "responses": ["...", "..."]}; and the orders needed for an error of 0.01 bits/byte:

      divbench metrics explain set.json --precision 0.01
    """
    from benchmark.analysis.explain import explain as explain_set
    from benchmark.metrics import Unscorable

    chosen = _find(source, dataset, split, set_id, prompt, mirror)
    profile = models.load(format=chosen.format)
    if chosen.left_out:
        blanks = counted(chosen.left_out, "blank response or placeholder", "blank responses or placeholders")
        err().print(f"left out: {blanks}")
    n = len(chosen.response_set.responses)
    with progress() as bar:
        task = bar.add_task("reading pairs", total=n * (n + 1) // 2)
        try:
            explanation = explain_set(
                load_model(profile),
                chosen.response_set,
                profile.layout,
                profile.orders,
                progress=lambda done: bar.update(task, completed=done),
            )
        except Unscorable as error:
            hint = "give two or more responses that fit the model"
            raise InputError(f"{chosen.title} cannot be scored: {error}", hint) from error
    blocks: list[Block] = [
        f"{chosen.title}: {counted(n, 'response')}, read by {explanation.model} ({explanation.layout})",
        f"Prompt: {shortened(chosen.response_set.prompt, PROMPT_LENGTH)}",
        *tables(explanation),
    ]
    if n > MAX_ROWS:
        blocks.append(f"The first {MAX_ROWS} positions and responses are shown; --json has all.")
    blocks += notes(explanation)
    document = explanation.as_json() | {"left_out": chosen.left_out}
    if precision is not None:
        orders = document["balanced_orders_needed"] = explanation.orders_for(precision)
        target = f"a standard error of {precision:g} bits/byte"
        blocks.append(f"For a_n with {target}: at most about {orders} balanced orders.")
    if json:
        print_json(document)
    else:
        print_blocks(blocks, out())


def load_model(profile: "Profile") -> "CausalLM":
    """Load the language model of a profile."""
    from benchmark.models.hf_lm import load_causal_lm
    from benchmark.models.server_lm import ServedLMSpec

    spec = profile.causal_lm
    if spec is None:
        hint = "choose --profile offline, or name a model: --set lm=MODEL"
        raise ConfigurationError(f"the profile {profile.name} has no language model", hint)
    return spec.load() if isinstance(spec, ServedLMSpec) else load_causal_lm(spec)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A response set to explain."""

    title: str
    response_set: "ResponseSet"  # its responses, without blank ones and placeholders, as when scored
    left_out: int  # number of blank responses and placeholders
    format: "Format"  # default prompt format for such sets


def _find(
    source: Path | None,
    dataset: str | None,
    split: str | None,
    set_id: str | None,
    prompt: str | None,
    mirror: Path | None,
) -> Chosen:
    if (source is None) == (dataset is None):
        raise ConfigurationError(
            "name exactly one response set", "give a JSON file, the folder of a submission, -, or --dataset"
        )
    if prompt is not None and (source is None or not source.is_dir()):
        raise ConfigurationError("--prompt needs a submission", "give its folder")
    if source is None:
        return from_dataset(str(dataset), split, set_id, mirror)
    if split is not None or set_id is not None:
        raise ConfigurationError("--split and --set-id need a dataset", "give --dataset, too")
    return from_submission(source, prompt, mirror) if source.is_dir() else from_json(source)


def from_dataset(name: str, split: str | None, set_id: str | None, mirror: Path | None = None) -> Chosen:
    """Read a set of a dataset that has sets."""
    from datasets_build.load import load_table
    from datasets_build.sources import DATASETS, find_config

    source, config = find_config(name)
    prompt_of = {
        entry.name: next((name for name in ("context", "prompt") if name in entry.schema.names), None)
        for entry in (entry for dataset in DATASETS for entry in dataset.configs)
        if {"set_id", "responses"} <= set(entry.schema.names)
    }
    prompt = prompt_of.get(name)
    if prompt is None:
        raise ConfigurationError(f"{name} has no response sets", f"one of {', '.join(prompt_of)}")
    if split is None:
        splits = ", ".join(entry.name for entry in config.splits)
        raise ConfigurationError("no split is named", f"name one of {name} with --split: {splits}")
    table = load_table(name, split, mirror=mirror).select(["set_id", prompt, "responses"])
    ids = [str(name) for name in table["set_id"].to_pylist()]
    if set_id is None or set_id not in ids:
        what = "no set is named" if set_id is None else f"{name}/{split} has no set {set_id!r}"
        raise ConfigurationError(what, f"name one with --set-id, such as {', '.join(ids[:3])}")
    (row,) = table.slice(ids.index(set_id), 1).to_pylist()
    form: Format = "completion" if source.name == "tevet" else "instruct"  # its contexts are beginnings to continue
    return _chosen(f"{name}/{split}, set {set_id}", str(row[prompt]), row["responses"], form)


def from_submission(folder: Path, prompt_id: str | None, mirror: Path | None = None) -> Chosen:
    """Read the responses of a submission to one prompt."""
    from datasets_build.load import load_suite
    from submissions.checking.validate import open_submission

    submission, suite, _ = open_submission(folder, partial(load_suite, mirror=mirror))
    ids = []
    for row in submission.rows():
        if row.prompt_id == prompt_id:
            title = f"{submission.manifest.name}, prompt {prompt_id}"
            return _chosen(title, suite.by_id[row.prompt_id].prompt, row.responses)
        ids.append(row.prompt_id)
    what = "no prompt is named" if prompt_id is None else f"{folder} has no prompt {prompt_id!r}"
    raise ConfigurationError(what, f"name one with --prompt, such as {', '.join(ids[:3])}")


def from_json(path: Path) -> Chosen:
    """Read a set from a JSON file, or from stdin if the path is `-`."""
    if str(path) == "-":
        name, content = "stdin", sys.stdin.buffer.read(MAX_BYTES + 1)
    elif path.is_file():
        with path.open("rb") as file:
            name, content = path.name, file.read(MAX_BYTES + 1)
    else:
        raise ConfigurationError(f"there is no file {path}", "give a JSON file, the folder of a submission, or -")
    if len(content) > MAX_BYTES:
        raise InputError(f"{name}: more than {MAX_BYTES:,} bytes", f"at most {MAX_BYTES:,} are allowed")
    try:
        document = strict_model(content.removeprefix(b"\xef\xbb\xbf"), _SetFile.model_validate_json)
    except ValueError as error:
        raise InputError(f"{name}: {error}", 'write {"prompt": "...", "responses": ["...", "..."]}') from error
    return _chosen(name, document.prompt, document.responses)


def _chosen(title: str, prompt: str, responses: Sequence[str], form: "Format" = "instruct") -> Chosen:
    from benchmark.surprisal.engine import ResponseSet
    from submissions.checking.response_kinds import scorable_responses

    scorable = scorable_responses(responses)
    return Chosen(title, ResponseSet(prompt, scorable), len(responses) - len(scorable), form)


def tables(explanation: "Explanation") -> tuple[Table, Table, Table]:
    """Return the scalars, and the first rows of the curve and of the responses, as tables."""
    from benchmark.analysis.explain import SCALARS
    from benchmark.metrics.metric import Missing

    scalars = [
        (metric.title, f"missing: {value.reason}" if isinstance(value, Missing) else number(value), metric.unit)
        for metric, value in ((metric, explanation.values[metric.id]) for metric in SCALARS)
    ]
    curves = explanation.rate, explanation.rate_error, explanation.bits, explanation.bits_error
    positions = zip(*(column.tolist() for column in curves), strict=True)
    curve = [(str(position), *map(_number, row)) for position, row in enumerate(positions, 1)]
    saved = explanation.alone - explanation.last
    columns = explanation.read.surprisals.byte_counts, explanation.alone, explanation.last, saved
    responses = [
        (str(position), str(size), *(_number(bits, 1) for bits in costs), shortened(text, TEXT_LENGTH))
        for position, (text, size, *costs) in enumerate(
            zip(explanation.response_set.responses, *(column.tolist() for column in columns), strict=True), 1
        )
    ]
    units = ("a_k (bits/byte)", "± SE (bits/byte)", "a_k (bits)", "± SE (bits)")
    sizes = ("bytes", "bits alone", "bits in last position", "bits saved")
    return (
        Table("What the model finds", ("number", "value", "unit"), scalars, numbers=("value",)),
        Table("The curve, with standard errors (SE)", ("position k", *units), curve[:MAX_ROWS]),
        Table("The responses", ("response", *sizes, "text"), responses[:MAX_ROWS], numbers=sizes),
    )


def notes(explanation: "Explanation") -> Iterator[str]:
    """Yield the other findings as sentences."""
    design = explanation.read.design
    orders = f"{len(design.orders)} orders ({design.name})"
    yield f"Standard errors: due to the choice of {orders}, estimated by {explanation.estimator}."
    (low, high), (less, more) = explanation.bands.coherence, explanation.bands.d_can
    yield (
        f"Over the spread of coherence, C runs from {number(low)} to {number(high)} and D_Ca_n from {number(less)} to "
        f"{number(more)} bits/byte; this is not a confidence interval."
    )
    yield from _notes_on_pairs(explanation)


def _notes_on_pairs(explanation: "Explanation") -> Iterator[str]:
    from benchmark.metrics.metric import Missing

    pairs = explanation.pairs
    if isinstance(pairs, Missing):
        yield f"Responses were not read in pairs: {pairs.reason}."
        return
    summary = pairs.summary
    other, itself = (
        f"{abs(bits):.1f} bits {'less' if bits >= 0 else 'more'}" for bits in (summary.off_diagonal, summary.diagonal)
    )
    yield (
        f"Right after another response, a response costs {other} on average, and right after itself {itself}; "
        f"{summary.share_positive:.0%} of the pairs save bits."
    )
    tokens = explanation.strongest or ()
    saved = sum(token.saved for token in tokens)
    if pairs.strongest and saved > 0:
        i, j = pairs.strongest
        helpful = sorted((t for t in tokens if t.text and t.saved > 0), key=lambda token: -token.saved)[:MAX_TOKENS]
        words = ", ".join(f"“{shortened(token.text, 20)}” {token.saved:.1f}" for token in helpful)
        yield f"Response {i + 1} saves most, {saved:.1f} bits after response {j + 1}; most of them in {words}."


def _number(value: float, digits: int = 4) -> str:
    return f"{value:.{digits}f}" if math.isfinite(value) else "-"
