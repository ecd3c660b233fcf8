"""Runs benchmarks one after the other, each in a process of its own, and keeps what each printed.

A file of its own is kept of each, so a run that was broken off goes on with the others, and one that fails or lacks
what it needs stops nothing. The report is made of what is kept, and written last.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from filelock import FileLock, Timeout
from pydantic import ValidationError

from benchmark.perf.machine import load, this_machine, versions, without_paths
from benchmark.perf.report import markdown
from benchmark.perf.schema import Entry, Findings, Kept, Machine, Report, Size
from benchmark.perf.suite import LIMITS, Benchmark
from datasets_build.download import MIRROR_VARIABLE
from datasets_build.errors import ConfigurationError
from datasets_build.files import readable_json, write_text

KEPT, FAILED, REPORT, PAGE = "measured", "failed", "report.json", "report.md"
NOT_ASKED = "it was not asked for"
PATIENCE = 20  # times what a benchmark is expected to take, and at least half an hour
MAX_BYTES = 1 << 26  # of a document
MAX_REASON = 300  # characters


class _Failed(Exception):
    """A benchmark ended without a document."""


@dataclass(frozen=True, slots=True)
class Here:
    """What must be the same for a kept benchmark to count."""

    machine: Machine
    versions: dict[str, str]
    mirror: bool

    def fits(self, kept: Kept, benchmark: Benchmark) -> bool:
        """Whether it was run here, as it would be now, in one size or the other.

        A library that was not there then had no part in it; all others are to be those that there are now.
        """
        same = (kept.machine, kept.mirror) == (self.machine, self.mirror)
        same = same and kept.versions.items() <= self.versions.items()
        return same and kept.name == benchmark.name and kept.arguments == benchmark.arguments(kept.size)


def run_suite(
    chosen: Sequence[Benchmark],
    every: Sequence[Benchmark],
    out: Path,
    *,
    size: Size = "quick",
    mirror: Path | None = None,
    again: bool = False,
    tell: Callable[[Benchmark | None, int], None] = lambda benchmark, done: None,
) -> Report:
    """Run benchmarks and write the report of all that are kept.

    Args:
        chosen: To run. Those that are kept already, in this size or the full one, are not run again.
        every: Of the report.
        out: A folder: `measured/NAME.json` for each, `failed/NAME.txt` for what one that failed said, and the report.
        size: Of each.
        mirror: A folder with the released files, if there is one.
        again: Run also what is kept.
        tell: Called with the benchmark that is begun, or None at the end, and the number of those done.

    Raises:
        ConfigurationError: Another run writes there.
    """
    here = Here(this_machine(), versions(), mirror is not None)
    for name in (KEPT, FAILED):
        (out / name).mkdir(parents=True, exist_ok=True)
    try:
        held = FileLock(out / ".lock", timeout=0).acquire()
    except Timeout as error:
        raise ConfigurationError(f"another run writes to {out}", "wait for it, or name another --out") from error
    with held:
        troubles: dict[str, str] = {}
        for done, benchmark in enumerate(chosen):
            tell(benchmark, done)
            kept = None if again else read_kept(out, benchmark, here)
            if kept is not None and kept.size in (size, "full"):
                continue
            if benchmark.needs.lacking(mirror=here.mirror) is not None:
                continue
            try:
                _keep(out, _measured(benchmark, size, mirror, here, out))
            except _Failed as error:
                troubles[benchmark.name] = str(error)
        tell(None, len(chosen))
        report = _report(every, out, here, troubles)
        write_text(out / PAGE, markdown(report))
        write_text(out / REPORT, readable_json(report.model_dump(mode="json")))
    return report


def read_kept(out: Path, benchmark: Benchmark, here: Here) -> Kept | None:
    """What is kept of a benchmark; None where there is nothing, or it is of another machine, version or call."""
    path = out / KEPT / f"{benchmark.name}.json"
    try:
        kept = Kept.model_validate_json(path.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None
    return kept if here.fits(kept, benchmark) else None


def _keep(out: Path, kept: Kept) -> None:
    write_text(out / KEPT / f"{kept.name}.json", readable_json(kept.model_dump(mode="json")))
    (out / FAILED / f"{kept.name}.txt").unlink(missing_ok=True)


def _measured(benchmark: Benchmark, size: Size, mirror: Path | None, here: Here, out: Path) -> Kept:
    """Run one.

    Raises:
        _Failed: It ended with an error, took too long, or printed no document that can be read.
    """
    began, before, start = datetime.now(UTC), load(), perf_counter()
    document = _document(benchmark, size, mirror, out / FAILED / f"{benchmark.name}.txt")
    seconds = perf_counter() - start
    _read(benchmark, document, None)
    return Kept(
        name=benchmark.name,
        size=size,
        arguments=benchmark.arguments(size),
        mirror=here.mirror,
        machine=here.machine,
        versions=here.versions,
        began=began.replace(microsecond=0),
        seconds=round(seconds, 1),
        load_before=before,
        load_after=load(),
        document=document,
    )


def _document(benchmark: Benchmark, size: Size, mirror: Path | None, said: Path) -> Any:
    """What a benchmark prints, from a process of its own; what else it says goes to the file `said`."""
    environment = {name: value for name, value in os.environ.items() if name != MIRROR_VARIABLE}
    if mirror is not None:
        environment[MIRROR_VARIABLE] = str(mirror.resolve())
    patience = max(30.0, PATIENCE * benchmark.expected(size)) * 60
    with TemporaryDirectory(prefix="divbench-perf-") as folder:
        path = Path(folder) / "document.json"
        asked = ["--json"] if benchmark.document is None else [benchmark.document, str(path)]
        command = [sys.executable, "-m", benchmark.module, *benchmark.arguments(size), *asked]
        printed = path if benchmark.document is None else Path(folder) / "printed"
        with printed.open("wb") as output, said.open("wb") as errors:
            status = _run(command, environment, output, errors, patience)
        if status is None:
            raise _Failed(f"not done after {patience / 60:.0f} minutes")
        if status != 0:
            raise _Failed(_last_words(said, status))
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            raise _Failed("it wrote no document, or one that is too large")
        try:
            return json.loads(path.read_bytes())
        except ValueError as error:
            raise _Failed(f"what it printed is no JSON document: {without_paths(str(error))}") from error


def _run(command: list[str], environment: dict[str, str], output: Any, errors: Any, patience: float) -> int | None:
    """Its exit status; None where it took too long. Whatever it started ends with it."""
    running = subprocess.Popen(  # noqa: S603 - our own module
        command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, start_new_session=True
    )
    try:
        return running.wait(patience)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        running.wait()


def _last_words(said: Path, status: int) -> str:
    lines = said.read_text(encoding="utf-8", errors="replace").splitlines()
    last = next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")
    ended = f"ended by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
    return f"{ended}: {without_paths(last)}"[:MAX_REASON]


def _read(benchmark: Benchmark, document: Any, limits: Any) -> Findings:
    """The figures of a document.

    Raises:
        _Failed: It lacks what they are made of.
    """
    try:
        return benchmark.read(document, limits)
    except (LookupError, TypeError, ValueError, ArithmeticError) as error:
        raise _Failed(f"its document is not as expected: {type(error).__name__} {error}"[:MAX_REASON]) from error


def _report(every: Sequence[Benchmark], out: Path, here: Here, troubles: dict[str, str]) -> Report:
    """Of all benchmarks: those that are kept, those that failed now, and the others."""
    kept = {each.name: read_kept(out, each, here) for each in every}
    measured = kept.get(LIMITS)
    limits = None if measured is None else measured.document
    entries = []
    for each in every:
        found, trouble = kept[each.name], troubles.get(each.name)
        if trouble is None and found is not None:
            try:
                entries.append(_entry(each, found, _read(each, found.document, limits)))
                continue
            except _Failed as error:
                trouble = str(error)
        state: Any = "skipped" if trouble is None else "failed"
        reason = trouble or each.needs.lacking(mirror=here.mirror) or NOT_ASKED
        entries.append(
            Entry(
                name=each.name,
                about=each.about,
                needs=str(each.needs),
                state=state,
                reason=reason,
                command=_command(each, each.full),
            )
        )
    return Report(
        made=datetime.now(UTC).replace(microsecond=0),
        machine=here.machine,
        versions=here.versions,
        threads=None if limits is None else limits["threads"],
        entries=tuple(entries),
    )


def _entry(benchmark: Benchmark, kept: Kept, findings: Findings) -> Entry:
    return Entry(
        name=benchmark.name,
        about=benchmark.about,
        needs=str(benchmark.needs),
        state="measured",
        command=_command(benchmark, kept.arguments),
        size=kept.size,
        began=kept.began,
        seconds=kept.seconds,
        load_before=kept.load_before,
        load_after=kept.load_after,
        findings=findings,
    )


def _command(benchmark: Benchmark, arguments: Sequence[str]) -> str:
    return " ".join(["python -m", benchmark.module, *arguments])
