"""`python -m benchmark.perf`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from datasets_build.console import JsonOption, err, out, print_json, progress, table
from datasets_build.errors import ConfigurationError

if TYPE_CHECKING:
    from benchmark.perf.schema import Report, Size
    from benchmark.perf.suite import Benchmark


def perf(
    names: Annotated[list[str] | None, typer.Argument(help="Benchmarks, as --list names them; default: all.")] = None,
    destination: Annotated[
        Path | None, typer.Option("--out", help="Output folder for the report and each benchmark's document.")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full/--quick", help="Sizes: full takes hours in all, quick takes minutes.")
    ] = False,
    again: Annotated[bool, typer.Option("--again", help="Repeated measurement of what --out already has.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="List of the benchmarks; runs none.")] = False,
    mirror: Annotated[
        Path | None, typer.Option(help="Folder with released files, for real data. (env: DIVBENCH_MIRROR)")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Measure how fast this package is on this machine, and write a report.

    Each benchmark runs in a process of its own, one after the other; what it compares is in turns in that process, so
    that what else the machine does strikes both. The limits of the machine are measured, too. One that lacks what it
    needs is left out with its reason, one that fails stops nothing (exit status 1 at the end), and a run that was
    broken off goes on with the others. The report is OUT/report.json and OUT/report.md.

      python -m benchmark.perf --list

      python -m benchmark.perf --quick --out perf

      python -m benchmark.perf lexical surprisal --full --out perf
    """
    from benchmark.perf import suite
    from benchmark.perf.running import PAGE, run_suite
    from datasets_build.download import mirror_folder

    found = mirror_folder(mirror)
    chosen = suite.named(names or (), suite.BENCHMARKS)
    if listed:
        _list(chosen, has_mirror=found is not None, as_json=json)
        return
    if destination is None:
        raise ConfigurationError("there is no folder for the report", "name one: --out DIR")
    if found is not None and not found.is_dir():
        raise ConfigurationError(f"{found} is no folder", "name one with the released files, or none")
    size: Size = "full" if full else "quick"
    with progress() as bar:
        task = bar.add_task("", total=len(chosen))

        def tell(benchmark: "Benchmark | None", done: int) -> None:
            bar.update(task, completed=done, description="" if benchmark is None else benchmark.name)
            if benchmark is not None:
                about = f"about {benchmark.expected(size):g} minutes on two free cores"
                bar.console.print(f"{done + 1} of {len(chosen)}: {benchmark.name}, {about}", markup=False)

        report = run_suite(chosen, suite.BENCHMARKS, destination, size=size, mirror=found, again=again, tell=tell)
    if json:
        print_json(report.model_dump(mode="json"))
    else:
        _tell(report, destination / PAGE)
    if any(entry.state == "failed" for entry in report.entries):
        raise typer.Exit(1)


def _list(benchmarks: "tuple[Benchmark, ...]", *, has_mirror: bool, as_json: bool) -> None:
    """What there is, what it takes, and what this machine lacks for it."""
    lacking = {each.name: each.needs.lacking(mirror=has_mirror) for each in benchmarks}
    if as_json:
        print_json(
            [
                {
                    "name": each.name,
                    "about": each.about,
                    "needs": str(each.needs),
                    "lacking": lacking[each.name],
                    "minutes": {"quick": each.minutes[0], "full": each.minutes[1]},
                    "module": each.module,
                    "arguments": {"quick": each.quick, "full": each.full},
                }
                for each in benchmarks
            ]
        )
        return
    from rich.markup import escape

    shown = table("", "name", "what it measures", "needs", "quick", "full", "here", numbers=("quick", "full"))
    for each in benchmarks:
        here = escape(lacking[each.name] or "yes")
        shown.add_row(each.name, each.about, str(each.needs), *(f"{m:g} min" for m in each.minutes), here)
    out().print(shown)


def _tell(report: "Report", page: Path) -> None:
    """The ratios, and what could not be measured."""
    from benchmark.perf.running import NOT_ASKED

    for entry in report.entries:
        if entry.findings is None:
            if entry.reason == NOT_ASKED:
                continue
            err().print(f"{entry.name} ({entry.state}): {entry.reason}", markup=False, soft_wrap=True)
            continue
        for figure in entry.findings.ratios:
            out().print(f"{entry.name}: {figure.what}: {figure.value:.2f} {figure.unit}", markup=False, soft_wrap=True)
        for share in entry.findings.shares:
            out().print(f"{entry.name}: {share.what}: {share.share:.0%} of the limit", markup=False, soft_wrap=True)
    out().print(f"written: {page}", markup=False, soft_wrap=True)
