"""`divbench metrics explain`."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchmark.models.choices import Boundaries, Dtype, Format, OrderKind
from benchmark.models.device_options import DeviceOption, DtypeOption, device_named
from divbench.core.console import JsonOption, MirrorOption, d_can_option, data_option, err, out, print_json, progress
from divbench.core.errors import ConfigurationError, InputError, counted

if TYPE_CHECKING:
    from benchmark.analysis.explain import Explanation
    from benchmark.models.causal_lm import CausalLM
    from benchmark.surprisal.engine import OrderPlan
    from benchmark.surprisal.prompt_layout import Layout
    from leaderboard.reports.explain.sources import Found

_UNIFORM_ORDERS = 50  # where --count is not given: as in the paper


def explain(
    source: Annotated[
        Path | None,
        typer.Argument(help="Response set: a JSON file, - for stdin, or a submission folder; none with --dataset."),
    ] = None,
    dataset: Annotated[str | None, data_option(help="Dataset to take the set from, such as contest.")] = None,
    split: Annotated[str | None, data_option(help="Split of the dataset, such as prompt_gen.")] = None,
    set_id: Annotated[str | None, data_option("--set", help="Id of the set (set_id).")] = None,
    prompt: Annotated[str | None, data_option(help="Id of a submission's prompt (prompt_id).")] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="Causal language model: a folder, or ORG/NAME@COMMIT; default: the bundled one.",
            rich_help_panel="Models",
        ),
    ] = None,
    device: DeviceOption = None,
    dtype: DtypeOption = None,
    format: Annotated[
        Format | None,
        d_can_option(
            help="Prompt format; default: completion for contest, mcdiv and dectest, instruct for all others."
        ),
    ] = None,
    boundaries: Annotated[
        Boundaries, d_can_option(help="Token boundaries; paper replicates published numbers.")
    ] = "exact",
    orders: Annotated[OrderKind, d_can_option(help="Response orderings; endpoint gives a_n alone.")] = "balanced",
    count: Annotated[
        int | None,
        d_can_option(
            min=1,
            help="Number of Latin squares (balanced), trees (endpoint) or orders (uniform); default: 1, or 50 orders.",
        ),
    ] = None,
    seed: Annotated[int, d_can_option(min=0, help="Random seed of the orders.")] = 42,
    precision: Annotated[
        float | None,
        d_can_option(
            min=1e-6,
            help="Target standard error of a_n in bits/byte; the number of balanced orders it takes is printed.",
        ),
    ] = None,
    destination: Annotated[
        Path | None, typer.Option("--out", help="Output file with figures, to open in a browser: .html.")
    ] = None,
    mirror: MirrorOption = None,
    json: JsonOption = False,
) -> None:
    """Explain the D_Can of one response set (arXiv:2606.01811): curve, coherence, pairs of responses and tokens.

    The model reads the responses in several orders. The curve a_k is the cost in bits of a response after k − 1 others:
    it falls as far as they help to predict it. D_Ca_n is its end, a_n, times the coherence C. Also shown: the cost of
    each response alone and in the last position, the bits that each response saves every other, and every token's bits.

    A set of a dataset, with figures:

      divbench metrics explain --dataset scenarios --split scenarios --set noise-bread --out noise.html

    The responses of a submission to one prompt:

      divbench metrics explain subs/my-model --prompt curated-0

    Your own, as {"prompt": "...", "responses": ["...", "..."]}; and the orders needed for an error of 0.01 bits/byte:

      divbench metrics explain set.json --precision 0.01
    """
    from benchmark.surprisal.engine import OrderPlan
    from benchmark.surprisal.prompt_layout import Layout
    from leaderboard.reports.explain.rows import figures_of, notes, print_explanation
    from leaderboard.reports.figure_page import check_figure_path, write_figures

    check_figure_path(destination)
    found = _find(source, dataset, split, set_id, prompt, mirror)
    layout = Layout(
        found.format if format is None else format,
        boundaries,
        "never" if boundaries == "paper" else "model",
    )
    plan = OrderPlan(orders, count or (_UNIFORM_ORDERS if orders == "uniform" else 1), seed)
    explained = _explain(found, load_model(model, device, dtype), layout, plan)
    wanted = None if precision is None else explained.orders_for(precision)
    if destination is not None:
        said = [explained.given.prompt, *notes(explained, found.left_out, precision)]
        write_figures(figures_of(explained), found.title, destination, said)
    if json:
        document = explained.as_json() | {"left_out": found.left_out}
        print_json(document | ({} if wanted is None else {"balanced_orders_needed": wanted}))
    else:
        print_explanation(explained, found.title, out(), found.left_out, precision)


def load_model(name: str | None, device: str | None = None, dtype: "Dtype | None" = None) -> "CausalLM":
    """Load the language model.

    Args:
        name: A folder, or `ORG/NAME@COMMIT`; None: the bundled one.
        device: Device, as torch names it; None: the best one, reported on stderr.
        dtype: Precision of the model; None: by the device.

    Raises:
        ConfigurationError: It cannot be found or loaded.
        MissingExtra: torch or transformers is not installed.
    """
    from benchmark.models.bundled_lm.spec import OFFLINE_LM
    from benchmark.models.hf_lm import find_causal_lm_spec, load_causal_lm

    choice = device_named(device, dtype)
    spec = OFFLINE_LM if name is None else find_causal_lm_spec(name)
    return load_causal_lm(replace(spec, device=choice.device, dtype=choice.dtype))


def _find(
    source: Path | None,
    dataset: str | None,
    split: str | None,
    set_id: str | None,
    prompt: str | None,
    mirror: Path | None,
) -> "Found":
    from leaderboard.reports.explain import sources

    if (source is None) == (dataset is None):
        raise ConfigurationError(
            "name exactly one response set", "give a JSON file, the folder of a submission, -, or --dataset"
        )
    if prompt is not None and (source is None or not source.is_dir()):
        raise ConfigurationError("--prompt needs a submission", "give its folder")
    if source is None:
        return sources.from_dataset(str(dataset), split, set_id, mirror)
    if split is not None or set_id is not None:
        raise ConfigurationError("--split and --set need a dataset", "give --dataset, too")
    return sources.from_submission(source, prompt, mirror) if source.is_dir() else sources.from_json(source)


def _explain(found: "Found", model: "CausalLM", layout: "Layout", plan: "OrderPlan") -> "Explanation":
    from benchmark.analysis.explain import explain as explain_set
    from benchmark.metrics import Unscorable

    if found.left_out:
        blanks = counted(found.left_out, "blank response or placeholder", "blank responses or placeholders")
        err().print(f"left out: {blanks}")
    n = len(found.given.responses)
    with progress() as bar:
        task = bar.add_task("reading pairs", total=n * (n + 1) // 2)
        try:
            return explain_set(model, found.given, layout, plan, progress=lambda done: bar.update(task, completed=done))
        except Unscorable as error:
            raise InputError(
                f"{found.title} cannot be scored: {error}", "give two or more responses that fit the model"
            ) from error
