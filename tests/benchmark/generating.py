"""What the tests of `divbench generate` share: a sampler that remembers what it was asked, and the command in here."""

import hashlib
import random
import sqlite3
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from benchmark.generation.journal import open_journal
from benchmark.generation.prompting import (
    Failed,
    Outcome,
    PromptingSettings,
    Request,
    Sampled,
    SamplerFault,
    SamplingSettings,
)
from benchmark.generation.run import Plan, PlannedSet, sample_plan
from benchmark.generation.setup import Model
from datasets_build.schema import Prompt
from divbench.command_line import main
from submissions.schema import Manifest
from submissions.storage.submission_folders import MANIFEST_FILE

PARAPHRASES = 3
PROMPTS = tuple(
    Prompt(f"p{i}", "any", f"Say thing {i}.", tuple(f"Thing {i}, in wording {j}." for j in range(PARAPHRASES)))
    for i in range(5)
)


def answer_of(request: Request) -> str:
    """What the fake answers: it follows from all of the request, and from nothing else."""
    return f"answer {hashlib.sha256(repr(request).encode()).hexdigest()[:12]}"


def well(request: Request) -> Sampled:
    """An answer of seven tokens, three of them before it."""
    return Sampled(answer_of(request), "stop", tokens=7, reasoning_tokens=3)


@dataclass
class FakeSampler:
    """A sampler without a model.

    Attributes:
        answer: To each request.
        at_once: As in `Sampler`.
        faults_after: Answers until nothing works any more; None: it always works.
        shuffled: Tell answers in another order than asked.
        longest: Letters of a chat's texts that still fit.
        calls: The requests of each call of `sample`.
    """

    answer: Callable[[Request], Outcome] = well
    at_once: int = 4
    faults_after: int | None = None
    shuffled: bool = False
    longest: int = 10_000
    signature: str = "fake"
    calls: list[list[Request]] = field(default_factory=list)

    @property
    def asked(self) -> list[Request]:
        """All requests so far."""
        return [request for call in self.calls for request in call]

    def check(self, requests: Sequence[Request]) -> list[str | None]:
        """As `Sampler.check`."""
        return [None if self._fits(request) else "too long" for request in requests]

    def _fits(self, request: Request) -> bool:
        return sum(len(message.content) for message in request.messages) <= self.longest

    def sample(self, requests: Sequence[Request], done: Callable[[int, Outcome], None]) -> None:
        """As `Sampler.sample`."""
        self.calls.append(list(requests))
        places = list(range(len(requests)))
        if self.shuffled:
            random.Random(0).shuffle(places)  # noqa: S311 - no secret
        for place in places:
            if self.faults_after == 0:
                raise SamplerFault("the model is gone", "look for it")
            if self.faults_after is not None:
                self.faults_after -= 1
            fits = self._fits(requests[place])
            done(place, self.answer(requests[place]) if fits else Failed("too long"))


def plan_of(
    prompts: Sequence[Prompt] = PROMPTS,
    prompting: PromptingSettings | None = None,
    *,
    k: int = 3,
    seed: int = 0,
    greedy: bool = False,
) -> Plan:
    """A plan of all prompts with other settings than the default ones."""
    settings = SamplingSettings(temperature=0.7, top_k=9, top_p=0.9, max_tokens=20)
    items = tuple(PlannedSet(prompt.prompt_id, prompt, settings) for prompt in prompts)
    return Plan(items, prompting or PromptingSettings(), k, seed, greedy)


def sampled(path: Path, plan: Plan, sampler: FakeSampler) -> dict[str, list[str]]:
    """Run a plan with the journal at a path; the texts of what is done, by item."""
    with open_journal(path) as journal:
        journal.begin({"k": plan.k})
        sample_plan(plan, sampler, journal)
        return {item: [each.text for each in journal.samples_of(item).samples] for item in sorted(journal.done())}


def journal_of(out: Path) -> Path:
    """Where the command keeps what it has of an output."""
    return out.with_name(f".{out.name}.partial.sqlite")


def manifest_in(folder: Path) -> Manifest:
    """The manifest of a submission."""
    return Manifest.model_validate_json((folder / MANIFEST_FILE).read_bytes())


def rows_in(path: Path, table: str = "answers") -> dict[str, str]:
    """What stands in a journal, read by other eyes than the package's, also while a run is at work on it."""
    if not path.exists():
        return {}
    # Not for reading alone: what was being written when a run was killed has to be taken back first.
    database = sqlite3.connect(f"file:{path}?mode=rw", uri=True, timeout=30)
    try:
        return dict(database.execute(f"SELECT * FROM {table}").fetchall())  # noqa: S608 - a test's own words
    except sqlite3.OperationalError as error:
        if "no such table" not in str(error):  # it is being made
            raise
        return {}
    finally:
        database.close()


@pytest.fixture
def hasty_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written is not waited for until it is on the disk: nobody cuts the power here."""
    connect = sqlite3.connect

    def hasty(*arguments: Any, **options: Any) -> sqlite3.Connection:
        made: sqlite3.Connection = connect(*arguments, **options)
        try:
            made.execute("PRAGMA synchronous=OFF")
        except sqlite3.Error:  # the file is no database
            made.close()
            raise
        return made

    monkeypatch.setattr(sqlite3, "connect", hasty)


@dataclass(frozen=True)
class Ended:
    """What a command left."""

    status: int
    out: str
    err: str


class Command:
    """`divbench` in this process, so that models need not be loaded for each test, and fakes can stand for them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *arguments: object) -> Ended:
        """Run it."""
        self._monkeypatch.setattr(sys, "argv", ["divbench", *map(str, arguments)])
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        code: Any = end.value.code
        shown = self._capsys.readouterr()
        return Ended(int(code or 0), shown.out, shown.err)

    def asks(self, sampler: FakeSampler) -> None:
        """From now on every model is this sampler."""

        def load(*arguments: object) -> Model:
            return Model(sampler, "fake/model", "f" * 40, 7, True, "fake 1.0")

        self._monkeypatch.setattr("benchmark.generation.setup.load", load)


@pytest.fixture
def command(hasty_disk: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command."""
    return Command(monkeypatch, capsys)
