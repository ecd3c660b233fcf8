"""`divbench score` and `divbench metrics`."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Optional

import typer

from datasets_build.console import JsonOption, err, out, print_json, progress, table
from datasets_build.errors import ConfigurationError

if TYPE_CHECKING:
    from benchmark.metrics import Metric
    from benchmark.profiles import Profile

# As in layout.py, orders.py and models/, which import numpy: this file is read for `--help`, too.
Dtype = Literal["float32", "bfloat16", "float16"]
Attention = Literal["sdpa", "eager"]
Format = Literal["instruct", "completion"]
Boundaries = Literal["exact", "paper"]
OrderKind = Literal["balanced", "uniform", "exact", "endpoint"]
Partition = Literal["greedy", "components", "complete"]


def score(
    folder: Annotated[Path, typer.Argument(help="The submission folder.")],
    profile: Annotated[
        str,
        typer.Option(
            help="lexical (texts alone), offline (the models that come with the package) or paper (the papers')."
        ),
    ] = "offline",
    results: Annotated[Path, typer.Option("--out", help="The folder of results.")] = Path("results"),
    k: Annotated[Optional[int], typer.Option(help="Use the first k responses of each prompt; else all.")] = None,  # noqa: UP045
    resamples: Annotated[int, typer.Option(min=100, help="Of the bootstrap over prompts.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Of the bootstrap.")] = 0,
    lm: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="The language model of D_Can: ORG/NAME@COMMIT on the Hub, or a folder; else the profile's."),
    ] = None,
    dtype: Annotated[
        Dtype, typer.Option(help="Of the language model; all after its last layer is float32 or better.")
    ] = "float32",
    device: Annotated[str, typer.Option(help="Of the language model, as torch names it: cpu, cuda, cuda:1.")] = "cpu",
    attention: Annotated[
        Attention, typer.Option(help="Of the language model; eager for the few without sdpa.")
    ] = "sdpa",
    format: Annotated[
        Optional[Format],  # noqa: UP045
        typer.Option(help="Of the text that it reads; else the profile's (instruct)."),
    ] = None,
    boundaries: Annotated[
        Optional[Boundaries],  # noqa: UP045
        typer.Option(help="exact, or paper: to repeat published numbers; else the profile's."),
    ] = None,
    orders: Annotated[
        Optional[OrderKind],  # noqa: UP045
        typer.Option(
            help="In which it reads the responses (endpoint: for a_n and C alone, much cheaper); else the profile's: "
            "balanced, of paper 50 uniform ones."
        ),
    ] = None,
    order_count: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=1, help="Squares, trees (n orders each), or uniform orders; else the profile's, or 1."),
    ] = None,
    embedder: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="A sentence-transformers model, ORG/NAME@COMMIT or a folder; else the profile's."),
    ] = None,
    bert_score: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="The roberta-large of BERTScore, likewise."),
    ] = None,
    sts: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="The cross-encoder of STS diversity, likewise."),
    ] = None,
    equivalence: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            help="Which answers say the same: rouge-1, embedding, deberta=MODEL, deberta-full=MODEL, nli=MODEL, "
            "nli-lax=MODEL, judge=NAME@URL (MODEL: ORG/NAME@COMMIT or a folder); else the profile's."
        ),
    ] = None,
    algorithm: Annotated[
        Partition, typer.Option(help="Of --equivalence: greedy (as published), or free of the answers' order.")
    ] = "greedy",
    short_answers: Annotated[
        bool, typer.Option("--short-answers", help="Of --equivalence: answers of up to five words by shared words.")
    ] = False,
    reward: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="A reward model, for utility: skywork-27b or skywork-1.7b; else the profile's."),
    ] = None,
    internals: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="What the model said of its answers; else internals.parquet in the folder, if it is there."),
    ] = None,
    metric: Annotated[Optional[list[str]], typer.Option(help="Compute only this; may be repeated.")] = None,  # noqa: UP045
    cache: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="The file that keeps what the language model found; else one in the user's cache."),
    ] = None,
    mirror: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="A folder with released files, for suites that do not ship here. (env: DIVBENCH_MIRROR)"),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Score a submission with every metric of a profile.

    Writes OUT/RESULT_ID/result.json (means with 95% intervals, what is missing and why, the signature of every
    number) and per_prompt.parquet. Interrupted, it goes on where it stopped; done before, it computes nothing.

    D_Can and its family come from a language model that reads the responses of each prompt in several orders. The one
    that ships with the package is for trying things out; for numbers to publish, name a model by --lm. Models
    other than the language model run on a GPU where there is one.

    Systems with different numbers of responses are compared with --k set to the smallest. Perplexity, energy, entropies
    and EigenScores of hidden states need what divbench internals reads, or divbench generate --internals.
    """
    from benchmark.classes.backends import with_judges
    from benchmark.instruments import Instruments
    from benchmark.internals.file import find_internals
    from benchmark.models.hf_lm import find_spec_of
    from benchmark.profiles import find_profile, with_models, with_reading
    from benchmark.scorer import Options, score_submission
    from benchmark.surprisal_cache import default_cache_path
    from datasets_build.load import load_suite
    from submissions.validate import open_submission

    chosen = with_reading(find_profile(profile), format, boundaries, orders, order_count)
    chosen = with_models(chosen, embedder=embedder, bert_score=bert_score, sts=sts)
    chosen = with_judges(chosen, equivalence, algorithm, short_answers=short_answers, reward=reward, device=device)
    spec = chosen.causal_lm if lm is None else find_spec_of(lm)
    if spec is not None:
        chosen = replace(chosen, causal_lm=replace(spec, dtype=dtype, device=device, attention=attention))
    submission, suite, report = open_submission(folder, partial(load_suite, mirror=mirror))
    said = find_internals(submission, internals)
    with progress() as bar:
        task = bar.add_task(f"scoring {submission.manifest.name[:40]}", total=submission.prompts)
        scored = score_submission(
            submission,
            suite,
            Instruments(chosen, cache or default_cache_path()),
            results,
            Options(k=k, resamples=resamples, seed=seed),
            metrics=metrics_named(metric, chosen, internals=said is not None),
            internals=said,
            progress=lambda prompts: bar.update(task, completed=prompts),
        )
    if json:
        state = {"folder": str(scored.folder), "recognised": scored.recognised, "resumed_prompts": scored.resumed}
        print_json(state | {"result": scored.result.model_dump(mode="json")})
        return
    if report.findings.count("warning"):
        err().print(f"{report.findings.count('warning')} warnings: divbench submission validate {folder}", markup=False)
    from benchmark.printing import print_result

    print_result(scored.result, out())
    how = "recognised: computed before, nothing done" if scored.recognised else "written"
    out().print(f"{how}: {scored.folder}", markup=False)


def metrics_named(names: "list[str] | None", profile: "Profile", *, internals: bool = False) -> "tuple[Metric, ...]":
    """The profile's metrics of these names; all of them where none is named.

    Args:
        names: Of metrics.
        profile: That has them.
        internals: Whether internals are at hand.

    Raises:
        ConfigurationError: It has none of a name.
    """
    there = profile.metrics(internals=internals)
    for name in names or []:
        if all(each.id != name for each in there):
            if any(each.id == name for each in profile.metrics(internals=True)):
                mend = "read them: divbench internals SUBMISSION --model ID"
                raise ConfigurationError(f"{name} needs the internals of the model that answered", mend)
            raise ConfigurationError(
                f"the profile {profile.name} has no metric {name!r}", f"one of {', '.join(each.id for each in there)}"
            )
    return tuple(each for each in there if not names or each.id in names)


def metrics(json: JsonOption = False) -> None:
    """List the metrics: what each reads, its direction, bounds, unit and source."""
    from benchmark.metrics import METRICS

    if json:
        print_json(
            [
                {
                    "id": m.id,
                    "version": m.version,
                    "title": m.title,
                    "reads": m.reads,
                    "direction": m.direction,
                    "bounds": list(m.bounds),
                    "unit": m.unit,
                    "paper": m.paper,
                    "parameters": dict(m.parameters),
                    "needs_answers": m.needs,
                }
                for m in METRICS
            ]
        )
        return
    shown = table("Metrics", "id", "v", "title", "reads", "more diverse", "bounds", "unit", "source", numbers=("v",))
    shown.columns[0].no_wrap = True  # names are to be copied
    for m in METRICS:
        low, high = ("" if bound is None else f"{bound:g}" for bound in m.bounds)
        way = {1: "higher", 0: "neither", -1: "lower"}[m.direction]
        shown.add_row(m.id, str(m.version), m.title, m.reads, way, f"{low} … {high}", m.unit, m.paper)
    out().print(shown)
