"""Run benchmarks one after the other, each in its own process, and report: `python -m benchmark.perf --help`."""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from benchmark.perf.figures import Figure, Limits
from benchmark.perf.limits import usable_cores
from benchmark.perf.suite import BENCHMARKS, Benchmark, named
from datasets_build.console import err, out, simplify_types
from datasets_build.files import readable_json, write_text
from datasets_build.tables import Table, to_markdown, to_terminal

LIBRARIES = ("divbench", "gradio", "numpy", "pyarrow", "ray", "scipy", "sentence-transformers", "torch", "transformers")
INTRODUCTION = """# Performance

`python -m benchmark.perf` writes this page. It runs each benchmark in a separate process, one after the other.

- A **ratio** compares two things that were measured side by side in one run, so it also says something about other
  machines.
- *here* marks an absolute number, measured on this machine in its state at the time. A load above the number of cores
  means that other programs were running.
- A **share** is relative to the most that the machine can reach, measured in the same way (`limits`)."""


def perf(
    names: Annotated[list[str] | None, typer.Argument(help="Benchmarks; default: all that need no GPU.")] = None,
    destination: Annotated[Path, typer.Option("--out", help="Output folder.")] = Path("perf"),
    full: Annotated[bool, typer.Option("--full", help="Full sizes: hours instead of minutes.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Rerun of benchmarks that --out already has.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="List of the benchmarks; nothing is run.")] = False,
) -> None:
    """Measure how fast the package is on this machine; writes OUT/NAME.json for each benchmark, and OUT/report.md.

    If a benchmark fails, the others still run (exit status 1 at the end). An interrupted run can be continued.

    Example: python -m benchmark.perf lexical surprisal --out perf
    """
    chosen = named(names or ())
    if listed:
        rows = [(each.name, each.about, "yes" if each.gpu else "") for each in BENCHMARKS]
        out().print(to_terminal(Table("Benchmarks", ("name", "what it measures", "GPU"), rows)))
        return
    destination.mkdir(parents=True, exist_ok=True)
    failed = [each.name for each in chosen if not _measure(each, full, again, destination)]
    write_text(destination / "report.md", report(destination))
    out().print(f"written: {destination / 'report.md'}", markup=False)
    if failed:
        raise typer.Exit(1)


def _measure(benchmark: Benchmark, full: bool, again: bool, destination: Path) -> bool:
    """Run a benchmark unless its document exists; return whether it exists in the end."""
    arguments = benchmark.full if full else benchmark.quick
    words = _command(benchmark, arguments)
    path = destination / f"{benchmark.name}.json"
    here = machine()
    if path.is_file():
        earlier = json.loads(path.read_bytes())
        if earlier["command"] == _command(benchmark, benchmark.full) != words:
            err().print(f"{benchmark.name}: kept the document of a full run; use --full or another --out", markup=False)
            return True
        if not again and (earlier["command"], earlier["machine"]) == (words, here):
            return True
    err().print(f"{benchmark.name}: {words}", markup=False)
    began, load, start = datetime.now(UTC), os.getloadavg()[0], perf_counter()
    command = [sys.executable, "-m", benchmark.module, *arguments]
    ended = subprocess.run(command, stdout=subprocess.PIPE, check=False)  # noqa: S603 - our own module
    if ended.returncode != 0:
        err().print(f"{benchmark.name} failed with exit status {ended.returncode}", style="red", markup=False)
        return False
    try:
        document = json.loads(ended.stdout)
    except ValueError as error:
        err().print(f"{benchmark.name} printed no JSON document: {error}", style="red", markup=False)
        return False
    kept = {
        "benchmark": benchmark.name,
        "command": words,
        "began": f"{began:%Y-%m-%d %H:%M} UTC",
        "seconds": round(perf_counter() - start, 1),
        "load": round(load, 1),
        "machine": here,
        "document": document,
    }
    write_text(path, readable_json(kept))
    return True


def _command(benchmark: Benchmark, arguments: Sequence[str]) -> str:
    return f"python -m {benchmark.module} {' '.join(arguments)}".strip()


def machine() -> dict[str, str]:
    """Describe the machine and the libraries, without host name or paths."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8") if Path("/proc/cpuinfo").is_file() else ""
    models = [line.partition(":")[2].strip() for line in lines.splitlines() if line.startswith("model name")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return {
        "processor": models[0] if models else platform.processor() or "unknown",
        "cores": str(usable_cores()),
        "memory": f"{memory:.0f} GB",
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "not set"),
        "versions": ", ".join([f"python {platform.python_version()}", *_versions()]),
    }


def _versions() -> list[str]:
    found = []
    for name in LIBRARIES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return found


def report(folder: Path) -> str:
    """Write the page of all benchmarks with a document in a folder."""
    kept = {each.name: _read(folder / f"{each.name}.json") for each in BENCHMARKS}
    limits: Limits = kept["limits"]["document"] if kept["limits"] else None
    there = [(each, kept[each.name]) for each in BENCHMARKS]
    parts = [section(each, found, each.read(found["document"], limits)) for each, found in there if found is not None]
    return "\n\n".join([INTRODUCTION, *parts]) + "\n"


def section(benchmark: Benchmark, kept: dict[str, Any], figures: list[Figure]) -> str:
    """Write a benchmark's part of the page."""
    rows = [
        (
            each.what,
            digits(each.value),
            each.unit,
            each.better,
            "ratio" if each.ratio else "",
            "" if each.limit is None else f"{each.value / each.limit:.0%} of {digits(each.limit)}",
        )
        for each in figures
    ]
    table = to_markdown(Table(benchmark.name, ("what", "value", "unit", "better", "", "limit"), rows))
    took = f"{kept['began']}, `{kept['command']}`; {kept['seconds']:.0f} s, load {kept['load']} before."
    here = "; ".join(f"{name}: {value}" for name, value in kept["machine"].items())
    return f"{table.rstrip()}\n\n{benchmark.about} {took} {here}."


def digits(value: float) -> str:
    """Format a number with three significant digits, or all digits before the point.

    >>> [digits(x) for x in (0.01234, 1.0, 12.345, 1234567.8)]
    ['0.0123', '1.00', '12.3', '1,234,568']
    """
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}" if abs(value) >= 1 or value == 0 else f"{value:.3g}"


def _read(path: Path) -> dict[str, Any] | None:
    return json.loads(path.read_bytes()) if path.is_file() else None


if __name__ == "__main__":
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(perf)
    command = typer.main.get_command(app)
    simplify_types(command)
    command(prog_name="python -m benchmark.perf")
