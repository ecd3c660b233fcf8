"""Attacks made and checked, each in a process of its own: what is found, how long it takes, and how much memory.

The processes are forks of one that has imported everything and started no thread: so a fork costs milliseconds, its
peak of memory is its own, and one that ends or hangs says so and harms no other.
"""

import gc
import json
import os
import re
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from io import StringIO
from pathlib import Path
from random import Random
from shutil import copytree
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console

from datasets_build.load import load_suite
from datasets_build.schema import Suite
from submissions.checking.printing import print_report
from submissions.checking.validate import Report, validate
from submissions.untrusted.findings import Findings, problems_json
from submissions.untrusted.parquet_files import read_parquet
from tests.conftest import TOY, write_toy
from tests.submissions.attack import SHOWN, Attack

MEMORY = 4 * 2**30  # of addresses; pyarrow reserves more than it takes
HANGS = 60  # seconds
SAMPLE = Path(__file__).parent / "samples" / "polars.parquet"
_NOBODY = 65534
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")  # rich's own


@dataclass(frozen=True)
class Outcome:
    """What came of one attack.

    Attributes:
        ended: How its process ended, where that was not well: by a signal, or by what it raised.
        accepted: Whether the submission is taken.
        errors: How many.
        warnings: How many.
        found: The first `SHOWN` problems: check, file, row and field.
        message: Of the first.
        raw: The letters in what is printed that no terminal should get, as Python writes them.
        seconds: Of the processor that the checks took, so that a busy machine changes little.
        megabytes: Of the process at its largest, what it began with among them.
    """

    ended: str = ""
    accepted: bool = False
    errors: int = 0
    warnings: int = 0
    found: list[list[Any]] = field(default_factory=list)
    message: str = ""
    raw: str = ""
    seconds: float = 0.0
    megabytes: float = 0.0

    def as_expected(self, attack: Attack) -> bool:
        """Whether it is the right end, for the right reason."""
        places = [tuple(place) for place in self.found]
        right = places == list(attack.found) and attack.says in self.message
        return right and not self.ended and not self.raw and self.accepted == attack.accepted


def make(attacks: Iterable[Attack], out: Path, seed: int) -> None:
    """Make the folder of each attack; those that only root can make are left out where nobody is root."""
    out.mkdir(parents=True)
    with TemporaryDirectory() as folder:
        good = write_toy(Path(folder, "good"))
        for attack in attacks:
            if not attack.needs_root or os.geteuid() == 0:
                made = copytree(good, out / attack.name)
                attack.make(made, Random(f"{seed} {attack.name}"))  # noqa: S311


def make_apart(attacks: Iterable[Attack], out: Path, seed: int) -> None:
    """`make` in a process of its own: pyarrow starts threads when it writes, and a fork would lose them."""
    ended, _ = forked(lambda: make(attacks, out, seed))
    if ended:
        raise RuntimeError(f"making the attacks {ended}")


def outcomes(attacks: Iterable[Attack], out: Path) -> dict[str, Outcome]:
    """What comes of each attack that was made."""
    gc.freeze()  # else each fork copies what it searches for garbage
    read_parquet(SAMPLE, Findings())  # starts the process that reads them, which the forks share
    raw_letters(Report(Findings()))  # compiles rich's patterns, which each fork would compile anew
    there = [attack for attack in attacks if (out / attack.name).exists()]
    return {attack.name: _outcome(attack, out) for attack in there}


def _outcome(attack: Attack, out: Path) -> Outcome:
    ended, said = forked(lambda: asdict(checked(attack, out)))
    return Outcome(ended=ended) if ended or said is None else Outcome(**said)


def forked(work: Callable[[], Any]) -> tuple[str, Any]:
    """How a process that did some work ended, where that was not well, and what it found, as JSON carries it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with os.fdopen(writing, "w") as pipe:
            json.dump(_tried(work), pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return f"was ended by {signal.Signals(os.WTERMSIG(status)).name}", None
    raised, made = json.loads(said)
    return raised, made


def _tried(work: Callable[[], Any]) -> tuple[str, Any]:
    signal.alarm(HANGS)
    try:
        return "", work()
    except BaseException as error:
        return f"raised {type(error).__name__}: {str(error)[:500]!a}", None


def checked(attack: Attack, out: Path) -> Outcome:
    """Check an attack's folder in this process, which cannot go back from there."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    os.chdir(out)  # then nobody need look into the folders above
    if attack.as_nobody and os.geteuid() == 0:
        os.seteuid(_NOBODY)
    start = time.process_time()
    report = validate(Path(attack.name), find_suite)
    seconds = time.process_time() - start
    problems = report.findings.problems
    return Outcome(
        accepted=report.submission is not None,
        errors=report.findings.count("error"),
        warnings=report.findings.count("warning"),
        found=[[p.check, p.file, p.row, p.field] for p in problems[:SHOWN]],
        message=problems[0].message if problems else "",
        raw=raw_letters(report),
        seconds=seconds,
        megabytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024),
    )


def find_suite(name: str) -> Suite:
    """The toy suite under its name; others are looked up, as everywhere."""
    return TOY if name == "toy" else load_suite(name)


def raw_letters(report: Report) -> str:
    """What a report shows in a terminal or as JSON, beside colours and letters that can be printed."""
    out = StringIO()
    print_report(report, Console(file=out, width=160, force_terminal=True, color_system="standard", emoji=False))
    shown = _COLOURS.sub("", out.getvalue()) + json.dumps(problems_json(report.findings))
    return ascii("".join(sorted({letter for letter in shown if not letter.isprintable()} - {"\n"})))[1:-1]
