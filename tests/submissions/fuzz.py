"""Look for bytes that the validator does not survive, for as long as you like.

    python -m tests.submissions.fuzz generations --seconds 300
    python -m tests.submissions.fuzz parquet --runs 1000000

*generations* and *reported* validate and print a whole submission, hundreds a second; the others are parsers alone,
thousands a second. With atheris (`pip install atheris`; for Linux and macOS) the code under test tells which bytes lead
where, and the search follows. Without it, or with `--blind`, good bytes are changed blindly, which is better for
*parquet*: nothing tells where bytes lead in pyarrow. Either way each target starts from good files, and the length of a
Parquet file's footer is kept right. Bytes that break something are left in the current folder, as `crash-…`.
"""

import argparse
import hashlib
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from types import ModuleType

from divbench.core.console import err, out

_PARQUET = frozenset({"generations", "reported", "parquet"})
_HANGS = 20  # seconds for one input
_MEMORY = 2048  # MiB


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--runs", type=int, help="number of inputs, however long they take")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--blind", action="store_true", help="without atheris, though it is there")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    atheris = None if given.blind else _atheris()
    if atheris is not None and given.folder is None:
        from tests.submissions.fuzzing import scratch

        with scratch() as folder:  # atheris ends its process and leaves all as it is
            again = [sys.executable, "-m", "tests.submissions.fuzz", *sys.argv[1:], "--folder", str(folder)]
            sys.exit(subprocess.run(again, check=False).returncode)
    with nullcontext() if atheris is None else atheris.instrument_imports(include=["submissions", "benchmark.scoring"]):
        from tests.submissions import fuzzing
    if given.target not in fuzzing.TARGETS:
        parser.error(f"targets are {', '.join(fuzzing.TARGETS)}")
    check = fuzzing.TARGETS[given.target]
    good = fuzzing.seeds(given.target)
    if atheris is not None:
        _guided(atheris, given, good, lambda data: check(given.folder, data))
        return
    err().print("without atheris: good bytes are changed blindly", markup=False)
    if given.target == "parquet":
        from tests.submissions.fuzz_parsers import limit_as_the_reader

        limit_as_the_reader()
    with fuzzing.scratch() as folder:
        tried = _blindly(given, good, lambda data: check(folder, data))
    out().print(f"{tried:,} inputs to {given.target}, all survived", markup=False)


def _atheris() -> ModuleType | None:
    try:
        return import_module("atheris")
    except ImportError:
        return None


def changed(data: bytes, rng: random.Random) -> bytes:
    """Some bytes changed, moved, put in or left out."""
    made = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        at, size = rng.randrange(len(made) + 1), rng.randrange(1, 20)
        how = rng.randrange(6)
        if how == 0 and at < len(made):
            made[at] ^= 1 << rng.randrange(8)
        elif how == 1 and at < len(made):
            made[at] = rng.randrange(256)
        elif how == 2:
            del made[at : at + size]
        elif how == 3:
            made[at:at] = rng.randbytes(size)
        elif how == 4:
            made[at:at] = rng.choice((b"\xff", b"\x80", b"\xfe")) * rng.randrange(1, 10)
        else:
            other = rng.randrange(len(made) + 1)
            made[at : at + size] = made[other : other + size]
    return bytes(made)


def changed_parquet(data: bytes, change: Callable[[bytes], bytes], rng: random.Random) -> bytes:
    """A Parquet file changed in its footer, or before it, whose length is told as it is then."""
    from tests.submissions.fuzzing import footer_of, with_true_length

    place = footer_of(data)
    if not 4 <= place <= len(data) - 8:
        return change(data)
    if rng.random() < 0.6:
        return with_true_length(data[:place] + change(data[place:-8]) + data[-8:], place)
    pages = change(data[4:place])
    return data[:4] + pages + data[place:]


def _blindly(given: argparse.Namespace, good: list[bytes], check: Callable[[bytes], object]) -> int:
    rng = random.Random(given.seed)  # noqa: S311
    end = time.monotonic() + given.seconds
    tried = 0

    def change(part: bytes) -> bytes:
        return changed(part, rng)

    while time.monotonic() < end if given.runs is None else tried < given.runs:
        data = rng.choice(good)
        made = changed_parquet(data, change, rng) if given.target in _PARQUET else change(data)
        path = Path(f"crash-{hashlib.sha256(made).hexdigest()[:16]}")
        path.write_bytes(made)  # before: what ends the process leaves no time for it
        signal.setitimer(signal.ITIMER_PROF, _HANGS)  # of the processor: it ends the process
        check(made)
        path.unlink()
        tried += 1
    return tried


def _guided(
    atheris: ModuleType, given: argparse.Namespace, good: list[bytes], check: Callable[[bytes], object]
) -> None:
    def mutate(data: bytes, most: int, seed: int) -> bytes:
        def change(part: bytes) -> bytes:
            made: bytes = atheris.Mutate(part, most)
            return made

        return changed_parquet(data, change, random.Random(seed))[:most] if len(data) > 12 else change(data)  # noqa: S311

    corpus = given.folder / "corpus"
    corpus.mkdir()
    for i, data in enumerate(good):
        (corpus / f"good-{i}").write_bytes(data)
    options = {
        **({"max_total_time": given.seconds} if given.runs is None else {"runs": given.runs}),
        "seed": given.seed,
        "timeout": _HANGS,
        "rss_limit_mb": _MEMORY,
        "max_len": 8192,
    }
    arguments = [sys.argv[0], *(f"-{name}={value}" for name, value in options.items()), str(corpus)]
    atheris.Setup(arguments, check, **({"custom_mutator": mutate} if given.target in _PARQUET else {}))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
