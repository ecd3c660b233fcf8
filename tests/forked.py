"""Programs in processes of their own that need not import anything first.

A new interpreter spends seconds on importing pandas, pyarrow, torch and DivBench, hundreds of times over in these
tests. The fork server of the standard library imports them once, and each program is forked from it: a process with its
own environment, folder, streams and exit status. DivBench's modules read no environment variable when they are
imported; gradio and the Hub's client do. So a program imports gradio itself, and the Hub's client and transformers too
where its variables of the Hub are not those of the tests. What a new interpreter is needed for (which libraries a
command loads, another hash seed, `datasets` with other variables of the Hub, which cannot be imported a second time)
starts one: `tests.conftest.divbench_anew`.
"""

import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from typing import Self

PACKAGES = ("datasets_build", "submissions", "benchmark", "leaderboard")
READ_THE_HUBS_VARIABLES = {"huggingface_hub", "sentence_transformers", "transformers"}


@cache
def _server() -> ForkServerContext:
    made = multiprocessing.get_context("forkserver")
    made.set_forkserver_preload(["tests.forked_from"])
    return made


def run_forked(
    code: str,
    arguments: Sequence[object],
    environment: Mapping[str, str],
    folder: Path | None = None,
    timeout: float | None = None,
) -> "subprocess.CompletedProcess[str]":
    """Run a program to its end, as `python -c CODE ARGUMENTS` does."""
    words = [str(each) for each in arguments]
    with tempfile.TemporaryDirectory(prefix="forked-") as kept:
        streams = Path(kept, "out"), Path(kept, "err")
        process = _started(code, words, environment, folder, *streams)
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired([code, *words], timeout or 0.0)
        out, err = (path.read_text("utf-8") if path.exists() else "" for path in streams)
        status = process.exitcode
        process.close()
        return subprocess.CompletedProcess([code, *words], status, out, err)


def run_piped(
    code: str, arguments: Sequence[object], environment: Mapping[str, str]
) -> "subprocess.CompletedProcess[str]":
    """`run_forked` for a program that may write no files, and prints less than a pipe holds."""
    words = [str(each) for each in arguments]
    pipes = [Pipe(duplex=False) for _ in range(2)]
    (out, to_out), (err, to_err) = pipes
    process = _started(code, words, environment, None, to_out, to_err)
    for each in (to_out, to_err):
        each.close()
    printed = []
    for each in (out, err):
        with os.fdopen(os.dup(each.fileno()), encoding="utf-8") as stream:
            printed.append(stream.read())
        each.close()
    process.join()
    status = process.exitcode or 0
    process.close()
    return subprocess.CompletedProcess([code, *words], status, *printed)


def of_module(name: str) -> str:
    """The code of a program that a module is, as `python -m` takes it."""
    return f"import runpy; runpy.run_module({name!r}, run_name='__main__', alter_sys=True)"


class Forked:
    """A program at work, as `subprocess.Popen([python, "-c", CODE, …], stdout=PIPE)` has it."""

    def __init__(
        self, code: str, arguments: Sequence[object], environment: Mapping[str, str], err: Path | None = None
    ) -> None:
        """Start it."""
        reader, writer = Pipe(duplex=False)
        self._process = _started(code, [str(each) for each in arguments], environment, None, writer, err)
        writer.close()
        self.stdout = os.fdopen(os.dup(reader.fileno()), encoding="utf-8")
        reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.wait()
        self.stdout.close()

    def poll(self) -> int | None:
        """The exit status; None while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end; the exit status."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("a forked program", timeout or 0.0)
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Send a signal; one to a program that has ended is an error of the test, which would wait for its effect."""
        status = self.poll()
        assert status is None, f"the program ended with status {status} before signal {number}"
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    def kill(self) -> None:
        """End it at once, if it has not ended."""
        if self.poll() is None:
            self.send_signal(signal.SIGKILL)


def _started(
    code: str,
    words: list[str],
    environment: Mapping[str, str],
    folder: Path | None,
    out: Path | Connection,
    err: Path | Connection | None,
) -> ForkServerProcess:
    given = (code, words, {**environment}, folder or Path.cwd(), out, err)
    process = _server().Process(target=_program, args=given)
    process.start()
    return process


def _program(
    code: str,
    words: list[str],
    environment: dict[str, str],
    folder: Path,
    out: Path | Connection,
    err: Path | Connection | None,
) -> None:
    for number, given in ((1, out), (2, err)):
        if given is not None:
            with given.open("wb") if isinstance(given, Path) else given as stream:
                os.dup2(stream.fileno(), number)
    # The fork server's own may lie on a file in which one can seek, and are shared with all that it forked.
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, "utf-8", "backslashreplace", closefd=False)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which the fork server ignores
    os.chdir(folder)
    if _of_the_hub(environment) != _of_the_hub(os.environ):
        for name in [name for name in sys.modules if name.split(".")[0] in READ_THE_HUBS_VARIABLES]:
            del sys.modules[name]
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[:] = ["-c", *words]
    exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102 - code of the tests


def _of_the_hub(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that the Hub's client and transformers read when they are imported, and the folders they lie in."""
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(("HF_", "HUGGING", "TRANSFORMERS_", "XDG_")) or name in {"HOME", "DISABLE_TELEMETRY"}
    }
