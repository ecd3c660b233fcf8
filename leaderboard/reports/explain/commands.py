"""`divbench metrics explain`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchmark.scoring.options import OFFLINE, ProfileOptions
from divbench.core.console import JsonOption, MirrorOption, d_can_option, data_option, err, out, print_json, progress
from divbench.core.errors import ConfigurationError, InputError, counted
from divbench.core.option_groups import with_option_groups

if TYPE_CHECKING:
    from benchmark.analysis.explain import Explanation
    from benchmark.models.causal_lm import CausalLM
    from benchmark.scoring.profiles import Profile
    from benchmark.surprisal.engine import OrderPlan
    from benchmark.surprisal.prompt_layout import Layout
    from leaderboard.reports.explain.sources import Found


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

      divbench metrics explain --dataset scenarios --split scenarios --set-id noise-bread --out noise.html

    The responses of a submission to one prompt:

      divbench metrics explain subs/my-model --prompt curated-0

    Your own, as {"prompt": "...", "responses": ["...", "..."]}; and the orders needed for an error of 0.01 bits/byte:

      divbench metrics explain set.json --precision 0.01
    """
    from leaderboard.reports.explain.rows import figures_of, notes, print_explanation
    from leaderboard.reports.figure_page import check_figure_path, write_figures

    check_figure_path(destination)
    found = _find(source, dataset, split, set_id, prompt, mirror)
    profile = models.load(format=found.format)
    explained = _explain(found, load_model(profile), profile.layout, profile.orders)
    wanted = None if precision is None else explained.orders_for(precision)
    if destination is not None:
        said = [explained.given.prompt, *notes(explained, found.left_out, precision)]
        write_figures(figures_of(explained), found.title, destination, said)
    if json:
        document = explained.as_json() | {"left_out": found.left_out}
        print_json(document | ({} if wanted is None else {"balanced_orders_needed": wanted}))
    else:
        print_explanation(explained, found.title, out(), found.left_out, precision)


def load_model(profile: "Profile") -> "CausalLM":
    """Load the language model of a profile."""
    from benchmark.models.hf_lm import load_causal_lm
    from benchmark.models.server_lm import ServedLMSpec

    spec = profile.causal_lm
    if spec is None:
        hint = "choose --profile offline, or name a model: --set lm=MODEL"
        raise ConfigurationError(f"the profile {profile.name} has no language model", hint)
    return spec.load() if isinstance(spec, ServedLMSpec) else load_causal_lm(spec)


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
        raise ConfigurationError("--split and --set-id need a dataset", "give --dataset, too")
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
