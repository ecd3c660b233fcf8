"""`divbench generate` killed, interrupted and run twice at once: no prompt's answers are lost, or asked for again."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.benchmark.generating import Command, command, hasty_disk, journal_of, manifest_in, rows_in
from tests.benchmark.helpers import ROOT
from tests.benchmark.lms import one_thread
from tests.benchmark.sampling_server import SamplingServer, sampling_server, saying
from tests.conftest import RUN, divbench
from tests.forked import Forked, run_forked

__all__ = ["command", "hasty_disk", "one_thread"]
STARTS = [f"{start} {middle}" for start in ("The river", "Nobody", "A lamp") for middle in ("was", "had", "and the")]
FILES = ("manifest.json", "generations.parquet", "tokens.parquet", "internals.parquet")
# The libraries that a program is forked with have read OMP_NUM_THREADS already.
ONE_THREAD = "import torch; torch.set_num_threads(1); "
KILLED = ONE_THREAD + "import runpy; runpy.run_module('tests.benchmark.run_generate', None, '__main__')"
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "NO_COLOR": "1", "COLUMNS": "200"}


@pytest.fixture
def starts(tmp_path: Path) -> Path:
    path = tmp_path / "starts.txt"
    path.write_text("\n".join(STARTS))
    return path


@pytest.fixture
def server() -> Iterator[SamplingServer]:
    with sampling_server() as shown:
        yield shown


def offline(starts: Path, out: Path, *more: object) -> list[str]:
    options = ("--template", "{prompt}", "--suite", starts, "--k", 3, "--max-tokens", 8, "--out", out, *more)
    return ["generate", "offline", *map(str, options)]


class Started(Forked):
    """The real command, at work while the test goes on."""

    def __init__(self, err: Path, *arguments: object) -> None:
        super().__init__(ONE_THREAD + RUN, arguments, ENVIRONMENT, err)
        self._err = err

    def ended(self) -> tuple[int, str, str]:
        """Its status, and what it wrote, when it has ended."""
        return self.wait(120), self.stdout.read(), self._err.read_text()


@pytest.fixture
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Started]]:
    made: list[Started] = []

    def start(*arguments: object) -> Started:
        made.append(Started(tmp_path_factory.mktemp("started") / "err", *arguments))
        return made[-1]

    yield start
    for each in made:
        each.kill()
        each.stdout.close()


def waited(event: threading.Event, server: SamplingServer) -> bool:
    """Wait for the event, but not beyond the end of the test."""
    while not event.is_set() and not server.closing.is_set():
        event.wait(0.01)
    return event.is_set()


def test_a_killed_run_goes_on_and_ends_with_the_bytes_of_a_calm_one(
    command: Command, starts: Path, tmp_path: Path
) -> None:
    calm, out = tmp_path / "calm", tmp_path / "out"
    assert command(*offline(starts, calm, "--internals")).status == 0

    def killed(number: int, statement: str) -> None:
        given = [number, statement, *offline(starts, out, "--internals")]
        ended = run_forked(KILLED, given, ENVIRONMENT, ROOT)
        assert ended.returncode == -signal.SIGKILL, ended.stderr
        assert not out.exists()

    killed(4, "DELETE FROM errors WHERE")  # all of the fourth prompt's answers were put in, and not yet committed
    before = rows_in(journal_of(out))
    assert len(before) == 3
    killed(2, "INSERT OR REPLACE INTO internals")
    between = rows_in(journal_of(out))
    assert len(between) == len(STARTS)
    assert between.items() >= before.items()
    assert rows_in(journal_of(out), "internals") == {}

    ended = command(*offline(starts, out, "--internals"))
    assert (ended.status, "9 of them sampled before" in ended.out) == (0, True), ended.err
    for name in FILES:
        assert (out / name).read_bytes() == (calm / name).read_bytes(), name
    assert sorted(path.name for path in tmp_path.iterdir()) == ["calm", "out", "starts.txt"]


def test_of_two_at_once_one_is_refused_and_the_other_not_disturbed(
    started: Callable[..., Started], server: SamplingServer, starts: Path, tmp_path: Path
) -> None:
    go_on = threading.Event()
    server.before = lambda asked: waited(go_on, server)
    arguments = ["generate", f"wise@{server.url}", "--suite", starts, "--k", 2, "--out", tmp_path / "out"]
    first = started(*arguments)
    while not server.seen:
        assert first.poll() is None, first.ended()
        time.sleep(0.01)
    second = divbench(*arguments)
    assert (second.returncode, "another run is using" in second.stderr) == (2, True), second.stderr
    go_on.set()
    status, shown, told = first.ended()
    assert (status, "(9 prompts × 2 responses)" in shown) == (0, True), told
    assert len(server.seen) == 18
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "starts.txt"]


def test_a_run_goes_on_with_the_same_model_of_a_server_or_not_at_all(
    command: Command, server: SamplingServer, starts: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    arguments = ["generate", f"wise@{server.url}", "--suite", starts, "--k", 1, "--out", out]
    server.plans[STARTS[4]] = [saying("", "content_filter")]
    server.reported = "wise-2026-01-01"
    ended = command(*arguments)
    assert ended.status == 1
    assert "1 prompt: the server's content filter withheld the response" in ended.err
    server.reported = "wise-2026-02-02"
    ended = command(*arguments)
    assert (ended.status, "now serves wise-2026-02-02, and served wise-2026-01-01 before" in ended.err) == (
        2, True,
    ), ended.err  # fmt: skip
    server.reported = "wise-2026-01-01"
    assert command(*arguments).status == 0
    assert len(server.seen) == 9 + 1 + 1
    assert manifest_in(out).system.revision == "wise-2026-01-01"


@pytest.mark.parametrize("name", ["seed", "top_p"])
def test_what_a_server_does_not_take_is_not_said_to_have_been_so(
    name: str, command: Command, server: SamplingServer, starts: Path, tmp_path: Path
) -> None:
    server.unknown = [name]
    assert command("generate", f"wise@{server.url}", "--suite", starts, "--k", 1, "--out", tmp_path / "out").status == 0
    manifest = manifest_in(tmp_path / "out")
    drawn = {"seed": manifest.generation.seed, "top_p": manifest.generation.top_p}
    assert drawn == {"seed": 0, "top_p": 1.0} | {name: None}
    assert (manifest.system.model_id, manifest.system.revision, manifest.system.open_weights) == ("wise", None, None)
