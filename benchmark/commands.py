"""`divbench score` and `divbench metrics`."""

from functools import partial
from pathlib import Path
from typing import Annotated, Optional

import typer

from datasets_build.console import JsonOption, err, out, print_json, progress, table


def score(
    folder: Annotated[Path, typer.Argument(help="The submission folder.")],
    profile: Annotated[str, typer.Option(help="lexical (texts alone) or offline (with all-MiniLM-L6-v2).")] = "offline",
    results: Annotated[Path, typer.Option("--out", help="The folder of results.")] = Path("results"),
    k: Annotated[Optional[int], typer.Option(help="Use the first k responses of each prompt; else all.")] = None,  # noqa: UP045
    resamples: Annotated[int, typer.Option(min=100, help="Of the bootstrap over prompts.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Of the bootstrap.")] = 0,
    mirror: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="A folder with released files, for suites that do not ship here. (env: DIVBENCH_MIRROR)"),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Score a submission with every metric of a profile.

    Writes OUT/RESULT_ID/result.json (means with 95% intervals, what is missing and why, the signature of every
    number) and per_prompt.parquet. Interrupted, it goes on where it stopped; done before, it computes nothing.

    Systems with different numbers of responses are compared with --k set to the smallest.
    """
    from benchmark.profiles import find_profile
    from benchmark.scorer import Options, score_submission
    from datasets_build.load import load_suite
    from submissions.validate import open_submission

    chosen = find_profile(profile)
    submission, suite, report = open_submission(folder, partial(load_suite, mirror=mirror))
    with progress() as bar:
        task = bar.add_task(f"scoring {submission.manifest.name[:40]}", total=submission.prompts)
        scored = score_submission(
            submission,
            suite,
            chosen,
            results,
            Options(k=k, resamples=resamples, seed=seed),
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
    for m in METRICS:
        low, high = ("" if bound is None else f"{bound:g}" for bound in m.bounds)
        way = "higher" if m.direction > 0 else "lower"
        shown.add_row(m.id, str(m.version), m.title, m.reads, way, f"{low} … {high}", m.unit, m.paper)
    out().print(shown)
