"""`divbench metrics equivalence`."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from benchmark.models.choices import EQUIVALENCE_NAMES
from divbench.core.console import JsonOption, MirrorOption, deliver, err, progress
from divbench.core.errors import ConfigurationError
from divbench.core.tables import check_report_path

if TYPE_CHECKING:
    from benchmark.analysis.equivalence_study import BackendClasses, Choice, Parts, System
    from benchmark.analysis.estimate import Resampling
    from benchmark.equivalence.agreement import Sensitivity
    from benchmark.equivalence.partitioning import PartitionSpec


def classes(
    submissions: Annotated[list[Path], typer.Argument(help="Submission folders of one suite.")],
    equivalence: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Equivalence backend: {EQUIVALENCE_NAMES}; may be repeated; default: rouge-1 and embedding."
        ),
    ] = None,
    algorithm: Annotated[
        list[str] | None,
        typer.Option(
            help=(
                "Clustering algorithm: greedy (as published; depends on the order), components, complete, average; "
                "may be repeated."
            )
        ),
    ] = None,
    short_answers: Annotated[
        bool, typer.Option("--short-answers", help="Word-overlap rule for pairs of responses of up to five words.")
    ] = False,
    k: Annotated[int | None, typer.Option(help="Number of responses per prompt, from the first; default: all.")] = None,
    orders: Annotated[
        int, typer.Option(min=0, help="Number of random orders, to measure the effect of the order; 0: none.")
    ] = 0,
    choose: Annotated[
        bool,
        typer.Option(
            "--choose", help="Choice of the backend closest to the published classes, made on half of the prompts."
        ),
    ] = False,
    resamples: Annotated[int, typer.Option(min=100, help="Number of bootstrap resamples over prompts.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of halves, orders and resamples.")] = 0,
    destination: Annotated[Path | None, typer.Option("--out", help="Output file: .json or .md.")] = None,
    figure: Annotated[Path | None, typer.Option(help="Output file of the distinct-classes curves: .html.")] = None,
    mirror: MirrorOption = None,
    json: JsonOption = False,
) -> None:
    """Group responses by meaning, and compare equivalence backends with each other and with published classes.

    Reports for each backend and system the number of equivalence classes (distinct_k), with an interval over prompts,
    and the number expected among fewer responses; and the agreement with a submission's own partition, if it has one
    (adjusted Rand index, F1 of pairs).

      divbench metrics equivalence subs/gpt-4o subs/humans --equivalence rouge-1 --equivalence embedding
    """
    from benchmark.analysis.equivalence_study import choose as choose_backend
    from benchmark.analysis.equivalence_study import utility_curves
    from benchmark.analysis.estimate import Resampling
    from leaderboard.reports.equivalence.report import report_of
    from leaderboard.reports.figure_page import check_figure_path, write_figures

    check_report_path(destination, endings=(".md", ".json"))
    check_figure_path(figure)
    how = Resampling(resamples=resamples, seed=seed)
    systems = _systems(submissions, k, mirror)
    specs = _specs(equivalence or ["rouge-1", "embedding"], algorithm or ["greedy"], short_answers=short_answers)
    with progress() as bar:
        task = bar.add_task("grouping", total=len(specs))
        parts, found, sensitivities = _study(systems, specs, orders, how, lambda: bar.advance(task))
    choices: list[Choice] = choose_backend(parts, systems, how) if choose else []
    utilities = utility_curves(systems, how)
    sizes = {own.k for each in found for own in each.systems}
    if len(sizes) > 1:
        said = f"counts of different k are not comparable: use --k {min(sizes)}"
        err().print(f"warning: the submissions have {min(sizes)} to {max(sizes)} responses per prompt; {said}")
    deliver(report_of(systems, found, sensitivities, choices, utilities), destination, as_json=json)
    if figure is not None:
        write_figures(list(map(_curves_figure, found)), "Curves of distinct responses", figure)


def _curves_figure(found: "BackendClasses") -> Any:
    from leaderboard.figures.board_plots import system_curves_figure
    from leaderboard.figures.plots import inert
    from leaderboard.tables.curves import Curve

    curves = []
    for each in found.systems:
        unknown = (None,) * len(each.curve)
        curves.append(Curve(each.system, tuple(range(1, len(each.curve) + 1)), tuple(each.curve), unknown, unknown, ()))
    figure = system_curves_figure(curves, "responses m", "expected classes", diagonal=True)
    title = f"Expected distinct responses among m ({inert(found.backend, 60)})"
    return figure.update_layout(title_text=title, margin_t=90)


def _systems(folders: list[Path], k: int | None, mirror: Path | None) -> "list[System]":
    """Open submissions, with their published classes if they have any."""
    from functools import partial

    from benchmark.analysis.equivalence_study import System
    from benchmark.equivalence.partitioning import ResponsesToGroup
    from benchmark.metrics.reported import of_reported
    from datasets_build.load import load_suite
    from submissions.checking.validate import open_submission

    made = []
    suites = set()
    for folder in folders:
        submission, suite, _ = open_submission(folder, partial(load_suite, mirror=mirror))
        suites.add(f"{suite.name}@{suite.revision}")
        has = submission.manifest.generation.k
        if k is not None and not 1 <= k <= has:
            raise ConfigurationError(
                f"k = {k}, but {folder} has {has} responses per prompt", f"choose k from 1 to {has}"
            )
        size = k or has
        rows = sorted(submission.rows(), key=lambda row: suite.position[row.prompt_id])
        reported = submission.reported()
        published = [reported.get(row.prompt_id) for row in rows]
        made.append(
            System(
                submission.manifest.name,
                tuple(row.prompt_id for row in rows),
                tuple(
                    ResponsesToGroup.of(
                        suite.by_id[row.prompt_id].prompt,
                        row.responses[:size],
                        None if row.finish_reasons is None else row.finish_reasons[:size],
                    )
                    for row in rows
                ),
                tuple(each.first(size).partition for each in published if each is not None)
                if all(each is not None for each in published)
                else None,
                tuple(of_reported(each.first(size)) for each in published if each is not None)
                if all(each is not None and each.generation_scores is not None for each in published)
                else None,
            )
        )
    if len(suites) > 1:
        raise ConfigurationError(f"submissions of several suites: {', '.join(sorted(suites))}", "compare one at a time")
    names = [each.name for each in made]
    if len(set(names)) < len(names):
        raise ConfigurationError("two submissions have the same name", "give each its own")
    return made


def _specs(names: list[str], algorithms: list[str], *, short_answers: bool) -> "dict[str, PartitionSpec]":
    """Return each backend with each algorithm, by the name shown; a judge has its own algorithm.

    A model is named only where several backends of its kind are compared.
    """
    from benchmark.equivalence.named_backends import find_partition_spec

    kinds = Counter(name.partition("=")[0] for name in dict.fromkeys(names))
    made = {}
    for name in names:
        for algorithm in algorithms:
            spec = find_partition_spec(name, algorithm, short_answers=short_answers)
            kind = name.partition("=")[0]
            shown = kind if kinds[kind] == 1 else name
            made[f"{shown}, {spec.algorithm}{', short answers' if short_answers else ''}"] = spec
    return made


def _study(
    systems: "list[System]",
    specs: "dict[str, PartitionSpec]",
    orders: int,
    how: "Resampling",
    advance: Callable[[], None],
) -> "tuple[dict[str, tuple[str, dict[str, Parts]]], list[BackendClasses], dict[str, dict[str, Sensitivity]]]":
    from benchmark.analysis.equivalence_study import measure
    from benchmark.equivalence.agreement import order_sensitivity
    from benchmark.equivalence.llm_judge import LLMJudge
    from benchmark.equivalence.partitioning import judge_note, partition_sets
    from benchmark.metrics.metric import Missing
    from benchmark.models.device_options import device_named

    by_backend: dict[str, tuple[str, dict[str, Parts]]] = {}
    found, sensitivities = [], {}
    device = device_named().one
    for name, spec in specs.items():
        backend = spec.load(device)
        if isinstance(backend, LLMJudge):
            err().print(judge_note([system.responses for system in systems], backend), markup=False, soft_wrap=True)
        parts: dict[str, Parts] = {}
        for system in systems:
            labels = partition_sets(system.responses, backend, spec)
            parts[system.name] = [each.reason if isinstance(each, Missing) else each for each in labels]
        by_backend[name] = (spec.signature, parts)
        found.append(measure(name, spec.signature, systems, parts, how))
        if orders > 1 and spec.algorithm == "greedy":
            decides: Any = backend
            sensitivities[name] = {
                system.name: order_sensitivity(
                    [
                        responses
                        for responses, made in zip(system.responses, parts[system.name], strict=True)
                        if not isinstance(made, str)
                    ],
                    decides,
                    orders=orders,
                    seed=how.seed,
                )
                for system in systems
            }
        advance()
    return by_backend, found, sensitivities
