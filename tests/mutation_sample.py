"""A sample of small mutations of the product's functions, and the share of them that the tests catch.

    python -m tests.mutation_sample --out before.json
    python -m tests.mutation_sample --out after.json --like before.json

Each mutation is written into a scratch copy of the repository. The test files nearest to the mutated module run there,
in a process that is forked from this one, which has imported third-party libraries but no product code. The choice of
mutations depends on the shape of the functions and on no name, so it survives moving and renaming.
"""

import argparse
import ast
import compileall
import json
import os
import py_compile
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib import import_module
from multiprocessing import forkserver
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn
from unittest.mock import patch

import pytest
from rich.console import Console
from rich.table import Table

from tests.mutations import FOLDERS, Mutation, candidates_of, choose, product_modules

ROOT = Path(__file__).resolve().parent.parent
MOST_FILES = 8  # test files per mutation
BATCH = 20  # mutations, in the order of their keys, so that an unfinished report is a sample, too
PATIENCE = 12  # times the processor time allowed, on the clock
MEMORY = 16 << 30  # bytes of address space, so that a runaway mutation does not use up the memory
SLOW = ("demo", "page_", "app", "hostile_names", "static_browser", "perf", "cluster")  # after test_
NOT_COPIED = (".venv*", ".git", "__pycache__", ".*_cache", ".hypothesis", "demo-run", "build", "*.egg-info")
FORKED = (
    *("numpy", "pandas", "pyarrow.dataset", "pyarrow.parquet", "pydantic.main", "rapidfuzz", "rich.console"),
    *("rouge_score.rouge_scorer", "sacrebleu", "scipy.stats", "sklearn.cluster", "tenacity", "torch", "typer"),
)
PRELOADED = (*FORKED, "datasets", "hypothesis", "transformers", "sentence_transformers", "plotly.graph_objects")
SURROUNDINGS = {"GRADIO_ANALYTICS_ENABLED": "False", "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_OFFLINE": "1"}


class NearestTests:
    """The test files that are likely to notice a change of a module."""

    def __init__(self, root: Path) -> None:
        """Read all imports."""
        self.paths = product_modules(root)
        helpers = {".".join(path.relative_to(root).with_suffix("").parts): path for path in root.glob("tests/**/*.py")}
        known = {*self.paths, *helpers}
        read = {path: _imports(path, known) for path in helpers.values()}
        self.within = {name: _imports(root / path, {*self.paths}) - {name} for name, path in self.paths.items()}
        self.direct: dict[str, set[str]] = {}
        self.all: dict[str, set[str]] = {}
        for path in helpers.values():
            if path.name.startswith("test_"):
                name = path.relative_to(root).as_posix()
                reached, new = set(read[path]), set(read[path])
                while (
                    new := {
                        more
                        for helper in new & {*helpers}
                        if not helper.endswith("conftest")
                        for more in read[helpers[helper]]
                    }
                    - reached
                ):
                    reached |= new
                mirrored = {module for module in self.paths if _mirrors(name, module)}
                self.direct[name] = (read[path] | mirrored) & {*self.paths}
                self.all[name] = (reached | mirrored) & {*self.paths}
        self.doctested = {path for path in self.paths.values() if ">>> " in (root / path).read_text("utf-8")}

    def of(self, path: str) -> list[str]:
        """The module's own doctests, files that import it, then those that import a module that does."""
        module = next(name for name, known in self.paths.items() if known == path)
        ranked = []
        for test, direct in self.direct.items():
            hops = {more for name in self.all[test] for more in self.within[name]}
            distance = 0 if module in direct else 1 if module in self.all[test] else 2 if module in hops else 3
            slow = test.rpartition("/test_")[2].startswith(SLOW)
            elsewhere = test.split("/")[1] != module.split(".")[0]
            if distance < 3:
                order = (slow, distance, not _mirrors(test, module), elsewhere, len(self.all[test]), test)
                ranked.append((order, test))
        quick = [test for order, test in sorted(ranked) if not order[0]]
        own = [path] if path in self.doctested else []
        return (own + (quick or [test for _, test in sorted(ranked)]))[:MOST_FILES]


def _imports(path: Path, known: set[str]) -> set[str]:
    """The known modules that a file imports, or names in a text, as a table of commands does."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
    return found & known


def _mirrors(test: str, module: str) -> bool:
    """Whether a test file is named after a module: `tests/a/test_export_dpo.py` after `a.exports.dpo`."""
    folder, _, name = test.removeprefix("tests/").removesuffix(".py").rpartition("/test_")
    own, *parts = module.split(".")
    words = {word.rstrip("s") for part in parts for word in part.split("_")}
    named = {word.rstrip("s") for word in name.split("_")}
    return (
        folder == own
        and bool(parts)
        and (named <= words or words <= named)
        and parts[-1].split("_")[-1].rstrip("s") in named
    )


@dataclass(frozen=True)
class Job:
    """Test files to run within a limit of seconds, for the baseline or with a mutation."""

    files: tuple[str, ...]
    limit: float
    mutation: Mutation | None = None


@dataclass(frozen=True)
class Slot:
    """A folder with a copy of the repository, in which one job at a time runs."""

    folder: Path
    server: forkserver.ForkServer

    @cached_property
    def tree(self) -> Path:
        """The copy."""
        return self.folder / "tree"

    def start(self, job: Job) -> int:
        """Fork a process that runs a job."""
        self.clear()
        if job.mutation:
            target = self.tree / job.mutation.module
            target.write_bytes(job.mutation.applied(target.read_bytes()))
        return os.fork() or self._run(job.files)

    def end(self, job: Job, process: int) -> str:
        """Clean up after a job, and say which test file failed first."""
        with suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)
        os.waitpid(process, 0)
        failed = self.folder / "failed"
        by = failed.read_text("utf-8") if failed.exists() else ""
        if job.mutation:
            shutil.copyfile(ROOT / job.mutation.module, self.tree / job.mutation.module)
        self.clear()
        return by

    def spent(self, session: int) -> float:
        """The processor time, in seconds, of a session and of all commands that the fork server has run."""
        server, ticks = vars(self.server)["_forkserver_pid"], 0
        for path in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                number, rest = path.read_text("utf-8").split(" ", 1)
                fields = rest.rpartition(")")[2].split()
                if int(fields[3]) == session or server in {int(number), int(fields[1])}:
                    ticks += sum(map(int, fields[11:15]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def clear(self) -> None:
        """Kill what tests left behind, and delete their files."""
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if (process / "cwd").readlink().is_relative_to(self.folder):
                    os.kill(int(process.name), signal.SIGKILL)
        shutil.rmtree(self.folder / "tmp", ignore_errors=True)
        (self.folder / "tmp").mkdir(exist_ok=True)
        (self.folder / "failed").unlink(missing_ok=True)

    def _run(self, files: Sequence[str]) -> NoReturn:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        log = os.open(self.folder / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        sys.stdout, sys.stderr = (os.fdopen(os.dup2(log, number), "w", closefd=False) for number in (1, 2))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
        os.chdir(self.tree)
        os.environ.update(PYTHONPATH=str(self.tree), TMPDIR=str(self.folder / "tmp"))
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(self.folder / "tmp" / "hypothesis")
        tempfile.tempdir = None
        for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
            del sys.modules[name]
        sys.modules["__main__"] = ModuleType("__main__")
        sys.path[:] = [str(self.tree), *(path for path in sys.path if path and Path(path).resolve() != ROOT)]
        # The fork server for commands runs already. Only the process that started it can ask whether it does.
        patch.object(self.server, "ensure_running").start()
        patch.object(forkserver, "connect_to_new_process", self.server.connect_to_new_process).start()
        options = [
            "-x",
            "-q",
            "--doctest-modules",
            "-p",
            "no:cacheprovider",
            "--hypothesis-seed=0",
            "-m",
            "not browser",
        ]
        options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
        status = 1
        with suppress(BaseException):
            status = int(pytest.main([*options, *files], plugins=[_FirstFailure(self.folder / "failed")]))
        sys.stdout.flush()
        os._exit(status)


class _FirstFailure:
    def __init__(self, path: Path) -> None:
        self.path = path

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.note(report)

    def note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.failed and not self.path.exists():
            self.path.write_text(report.nodeid.split("::")[0], "utf-8")


def run_jobs(jobs: Sequence[Job], slots: Sequence[Slot], done: Callable[[Job, str, str, float], None]) -> None:
    """Run jobs, one per slot at a time.

    Args:
        jobs: In their order.
        slots: As many as may run at once.
        done: Called with the job, how it ended, the test file that failed first and the seconds it took.
    """
    waiting, free, running = [*reversed(jobs)], [*slots], dict[int, tuple[Slot, Job, float, float]]()
    try:
        while waiting or running:
            while waiting and free:
                slot, job = free.pop(), waiting.pop()
                before = slot.spent(-1)
                running[slot.start(job)] = (slot, job, before, time.monotonic())
            time.sleep(0.1)
            for process, (slot, job, before, begun) in [*running.items()]:
                ended = os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                seconds = slot.spent(process) - before
                if ended or seconds > job.limit or time.monotonic() - begun > PATIENCE * job.limit:
                    del running[process]
                    outcome = "timeout" if not ended else "passed" if ended.si_status in {0, 5} else "failed"
                    done(job, outcome, slot.end(job, process), round(seconds, 1))
                    free.append(slot)
    finally:
        for process, (slot, job, _, _) in running.items():
            slot.end(job, process)


def prepared(folder: Path) -> Slot:
    """A slot with a copy whose compiled modules are told apart by their contents, not by their times."""
    server = forkserver.ForkServer()
    server.set_forkserver_preload([*FORKED])
    server.ensure_running()
    slot = Slot(folder, server)
    shutil.copytree(ROOT, slot.tree, ignore=shutil.ignore_patterns(*NOT_COPIED))
    for name in FOLDERS:
        mode = py_compile.PycInvalidationMode.CHECKED_HASH
        compileall.compile_dir(slot.tree / name, quiet=1, invalidation_mode=mode)
    return slot


def measure(options: argparse.Namespace, folder: Path, console: Console) -> dict[str, Any]:
    """Run the baseline and each mutation that the report does not have yet."""
    candidates, nearest = candidates_of(ROOT, options.seed), NearestTests(ROOT)
    if options.like:
        wanted = {each["key"] for each in json.loads(options.like.read_text("utf-8"))["mutations"]}
        chosen = [each for each in candidates if each.key in wanted]
        console.print(f"{len(chosen)} of {len(wanted)} mutations are still possible")
    else:
        chosen = choose(candidates, options.count)
    report: dict[str, Any] = {"seed": options.seed, "seconds": options.seconds, "baseline": {}, "mutations": []}
    if options.out.exists():
        report |= json.loads(options.out.read_text("utf-8"))
    baseline: dict[str, float | str] = report["baseline"]
    slots = [prepared(folder / str(number)) for number in range(options.jobs)]

    def save() -> None:
        options.out.write_text(json.dumps(report, indent=1) + "\n", "utf-8")

    def passed(job: Job, outcome: str, by: str, seconds: float) -> None:
        baseline[job.files[0]] = seconds if outcome == "passed" else f"{outcome} within {job.limit:g} s"
        console.print(f"baseline {len(baseline)} {job.files[0]} {outcome} {seconds}", highlight=False)
        save()

    def tried(job: Job, outcome: str, by: str, seconds: float) -> None:
        assert job.mutation
        word = {"passed": "survived", "failed": "caught"}.get(outcome, outcome)
        ended = {"outcome": word, "by": by, "seconds": seconds, "files": job.files}
        report["mutations"].append(asdict(job.mutation) | ended)
        place = f"{job.mutation.module}:{job.mutation.line} {job.mutation.kind}"
        console.print(f"{len(report['mutations'])} {word} {place} {by} {seconds}", highlight=False, markup=False)
        save()

    known = {each["key"] for each in report["mutations"]}
    waiting = sorted((each for each in chosen if each.key not in known), key=lambda each: each.key)
    while waiting:
        batch, waiting = waiting[:BATCH], waiting[BATCH:]
        files = {each.module: nearest.of(each.module) for each in batch}
        for unmutated in _baseline_jobs(files, baseline, options.seconds):
            run_jobs(unmutated, slots, passed)
        jobs = [_within(files[each.module], baseline, options.seconds, each) for each in batch]
        for job in [job for job in jobs if not job.files]:
            tried(job, "untested", "", 0.0)
        run_jobs([job for job in jobs if job.files], slots, tried)
    return report


def _baseline_jobs(files: dict[str, list[str]], baseline: dict[str, float | str], limit: float) -> Iterator[list[Job]]:
    """Rounds of test files to run unmutated: the nearest of each module first, until they take a third of the limit."""
    part = limit / 3
    for place in range(MOST_FILES):
        unfilled = [t for t in files.values() if len(t) > place and _taken(t[:place], baseline) < 0.8 * part]
        yield [Job((test,), part) for test in sorted({tests[place] for tests in unfilled} - {*baseline})]
    # A module that only slow files test gets the nearest of them, and the time it needs.
    ended = f"timeout within {part:g} s"
    slow = {tests[0] for tests in files.values() if tests and all(baseline.get(test) == ended for test in tests)}
    yield [Job((test,), 2 * limit) for test in sorted(slow)]


def _taken(tests: Sequence[str], baseline: dict[str, float | str]) -> float:
    return sum(seconds for test in tests if isinstance(seconds := baseline.get(test), float))


def _within(tests: Sequence[str], baseline: dict[str, float | str], limit: float, mutation: Mutation) -> Job:
    """The nearest files that together take a third of the limit, or one that takes more."""
    taken = {test: seconds for test in tests if isinstance(seconds := baseline.get(test), float)}
    left, within = limit / 3, []
    for test, seconds in taken.items():
        if seconds <= left:
            within.append(test)
            left -= seconds
    within = within or [*taken][:1]
    return Job(tuple(within), max(limit, 3 * sum(taken[test] for test in within)), mutation)


def print_report(report: dict[str, Any], console: Console) -> None:
    """Print the dropped test files and a table of the folders."""
    for test, taken in report["baseline"].items():
        if isinstance(taken, str):
            console.print(f"Not used, as unmutated it ends with {taken}: {test}", highlight=False)
    words = ("caught", "timeout", "survived", "untested")
    table = Table("Folder", "Mutations", *(word.capitalize() for word in words), "Share caught")
    for name in (*FOLDERS, "all"):
        outcomes = Counter(each["outcome"] for each in report["mutations"] if name in {each["folder"], "all"})
        if total := outcomes.total():
            share = (outcomes["caught"] + outcomes["timeout"]) / total
            table.add_row(name, str(total), *(str(outcomes[word]) for word in words), f"{share:.1%}")
    console.print(table)


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=0, help="seed of the choice")
    parser.add_argument("--count", type=int, default=200, help="number of mutations")
    parser.add_argument("--jobs", type=int, default=2, help="number of processes that run tests at a time")
    parser.add_argument("--seconds", type=float, default=60.0, help="processor time allowed to each mutation")
    parser.add_argument("--out", type=Path, required=True, help="report to write, or to go on with if it exists")
    parser.add_argument("--like", type=Path, help="report whose mutations are tried again, instead of a new choice")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # after cleaning up
    os.environ.update(SURROUNDINGS, OMP_NUM_THREADS="1")
    for name in PRELOADED:
        import_module(name)
    console = Console()
    with tempfile.TemporaryDirectory(prefix="mutations-") as scratch:
        print_report(measure(options, Path(scratch).resolve(), console), console)


if __name__ == "__main__":
    main()
