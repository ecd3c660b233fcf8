"""Check an untrusted folder in a child process, so that nothing in it can crash the caller.

The limits in `submissions.untrusted` keep memory and time small; the child process is the second line of defence. It
limits its own memory, time and written bytes before it reads anything. If a library crashes, only the child ends. Its
reply is JSON, never a pickled object. It does not inherit environment variables whose names suggest secrets. It is not
a full sandbox: it runs as the same user, with the same files and network.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from divbench.core.errors import ConfigurationError, DivBenchError
from submissions.schema import Problem
from submissions.untrusted.findings import Findings, problems_json
from submissions.untrusted.limited_process import environment, limit, reason
from submissions.untrusted.parquet_files import MAX_DECODED_BYTES

MAX_MEMORY = 4 * 2**30
MAX_SECONDS = 600.0
MAX_WRITTEN = 2 * MAX_DECODED_BYTES  # a Parquet file is written again as plain Arrow
MAX_REPLY = 64 * 2**20


def validate_in_child(
    folder: Path, *, mirror: Path | None = None, memory: int = MAX_MEMORY, seconds: float = MAX_SECONDS
) -> dict[str, Any]:
    """Check a submission folder as `validate` does, in a separate process.

    Args:
        mirror: Folder with released files, for suites that are not part of the package.
        memory: Address space of the process in bytes, including what it needs to start (half a gibibyte or less).
            Ignored on systems without such a limit.

    Returns:
        The document that `divbench validate --json` prints: `accepted`, `id`, `counts` (null if the process failed),
        `errors`, `warnings`, `by_check` and `problems`. Exceeding a limit, or a crash of the process, is a problem of
        the check *limits*.

    Raises:
        ConfigurationError: As `validate`.
    """
    asked = {"folder": str(folder.absolute()), "mirror": None if mirror is None else str(mirror.absolute())}
    return run_in_child("submissions.checking.sandbox", asked, memory=memory, seconds=seconds)


def run_in_child(module: str, asked: Mapping[str, Any], *, memory: int, seconds: float) -> dict[str, Any]:
    """Run a module, which calls `answer`, in a separate process.

    Args:
        module: Module to run with `python -m`.
        asked: Its input, as JSON.
        memory: Memory limit, as in `validate_in_child`.

    Returns:
        Its reply; if it fails, the document of `stopped`.

    Raises:
        ConfigurationError: The module raised it.
    """
    command = [sys.executable, "-P", "-m", module, str(memory), str(int(seconds) + 1)]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            ended = subprocess.run(  # noqa: S603 - this interpreter, with a module of ours
                command,
                input=json.dumps(asked).encode(),
                stdout=out,
                stderr=err,
                env=environment(),
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return stopped(f"took more than {seconds:g} s")
        document = _document(_content(out)) if ended.returncode == 0 else None
        if document is None:
            return stopped(reason(ended.returncode, _content(err)))
    if "error" in document:
        raise ConfigurationError(document["error"]["message"], document["error"]["hint"])
    return document


def _content(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read(MAX_REPLY)


def _document(written: bytes) -> dict[str, Any] | None:
    try:
        made = json.loads(written)
    except ValueError:
        return None
    return made if isinstance(made, dict) else None


def stopped(message: str) -> dict[str, Any]:
    """Return the document of a submission whose check did not finish."""
    findings = Findings()
    hint = "the file is too large or damaged: write it again, in smaller row groups, with fewer or shorter responses"
    findings.add(Problem("limits", "error", "", None, "", message, hint))
    return {"accepted": False, "id": None, "counts": None} | problems_json(findings)


def _checked(folder: Path, mirror: Path | None) -> dict[str, Any]:
    from functools import partial

    from datasets_build.load import load_suite
    from submissions.checking.validate import validate

    try:
        report = validate(folder, partial(load_suite, mirror=mirror))
    except MemoryError:
        return stopped("exceeded the memory limit")
    except DivBenchError as error:
        return error.as_json()
    return report.as_json()


def answer(reply: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """In the child: set the limits of the arguments, and write the reply to stdin's JSON to stdout."""
    memory, seconds = sys.argv[1:]
    limit(int(memory), int(seconds) * (os.cpu_count() or 1), MAX_WRITTEN)
    json.dump(reply(json.load(sys.stdin)), sys.stdout)


if __name__ == "__main__":
    answer(lambda asked: _checked(Path(asked["folder"]), Path(asked["mirror"]) if asked["mirror"] else None))
