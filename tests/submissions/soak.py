"""Workers under all that goes wrong, for minutes: kills, stops, faults of the server, lost races, cut connections.

Anybody may run it, from the repository's root: `python -m tests.submissions.soak --store hub --workers 4 --minutes 3`.
A reader looks at the store all the while: nothing may be half-visible, no history may lose a record, no submission may
vanish. At the end every submission must be scored once, with the bytes that a calm run gives. Exit 1 where that is not
so.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmark.scoring import shards
from benchmark.service.lease import Stop
from benchmark.service.worker import work
from divbench.core.console import out, print_json
from divbench.core.tables import Table, to_terminal
from submissions.storage.commits import Conflict, StoreFault
from submissions.storage.file_store import FileStore
from submissions.storage.folder_store import FolderStore
from submissions.work_queue.errors import QueueBusy
from submissions.work_queue.operations import listing
from submissions.work_queue.queue_files import read_listing
from submissions.work_queue.schema import MAX_ATTEMPTS, State
from tests.benchmark.run_worker import SHARD, worker
from tests.hub import HubServer
from tests.hub.faults import Fault
from tests.submissions.stores import REPO, Place, running_hub
from tests.submissions.working import Process, demo, results_at, submit_kept, wrong_with

DONE = {"scored", "rejected", "failed", "withdrawn"}
LONGEST_END = 300.0  # seconds for what is left when nothing goes wrong any more


@dataclass
class Seen:
    """What is counted, and what was found to be wrong."""

    kills: int = 0
    stops: int = 0
    ends: int = 0
    spared: int = 0
    takeovers: int = 0
    lost_claims: int = 0
    released: int = 0
    store_waits: int = 0
    conflicts: int = 0
    rival_commits: int = 0
    faults: dict[str, int] = field(default_factory=dict)
    polls: int = 0
    seconds: float = 0.0
    states: dict[str, int] = field(default_factory=dict)
    attempts: dict[int, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


class Reader(threading.Thread):
    """Looks at the store all the while, as anybody may."""

    def __init__(self, store: FileStore, seen: Seen) -> None:
        super().__init__()
        self.store, self.seen = store, seen
        self.over = False
        self.known: dict[str, State] = {}

    def run(self) -> None:
        while not self.over:
            try:
                self.look()
            except StoreFault:
                time.sleep(0.5)
            except Exception as error:  # a reader that fails must not fail unseen
                self.seen.problems.append(f"the reader failed: {error!r}")
            time.sleep(0.2)

    def look(self) -> None:
        """Read the head and hold it against what was there before."""
        found = read_listing(self.store, self.store.head())
        self.seen.polls += 1
        wrong = [f"{each.path} is damaged: {each.reason}" for each in found.damaged]
        now = {state.submission_id: state for state in found.states}
        wrong += [f"{name} has vanished" for name in self.known.keys() - now.keys()]
        for name, state in now.items():
            before = self.known.get(name)
            if before == state:
                continue
            if before is not None and state.history[: len(before.history)] != before.history:
                wrong.append(f"the history of {name} has lost a record")
            wrong += wrong_with(self.store, found.commit, state)
        self.known |= now
        self.seen.problems += wrong


class Crew:
    """The workers, and who torments them. Whoever is at the last attempt of a submission is spared."""

    def __init__(self, place: Place, given: argparse.Namespace, seen: Seen, chance: random.Random) -> None:
        self.place, self.given, self.seen, self.chance = place, given, seen, chance
        self.store = place.open()
        self.alive: dict[str, Process] = {}
        self.all: list[Process] = []
        for _ in range(given.workers):
            self.start()

    def start(self) -> None:
        """One worker more."""
        name = f"w{len(self.all)}"
        options = ("--name", name, "--lease", self.given.lease, "--seconds", 0.03, "--conflicts")
        self.alive[name] = Process(self.place, self.place.home / "results", *options)
        self.all.append(self.alive[name])

    def torment(self) -> None:
        """Kill, stop for longer than a lease, or end one of them; another takes its place."""
        self.replace_the_dead()
        name = self.chance.choice(sorted(self.alive))
        one = self.alive[name]
        if not one.events:  # it has hardly begun
            return
        how = self.chance.choice(["kill", "kill", "stop", "end"])
        if how == "end":
            self.seen.ends += 1
            del self.alive[name]
            if status := one.end(signal.SIGTERM):
                self.seen.problems.append(f"{name} ended with {status} on SIGTERM")
            self.start()
            return
        one.process.send_signal(signal.SIGSTOP)
        time.sleep(1.0 if self.place.server else 0.2)  # what it has sent arrives
        if self.at_last_attempt(name):
            self.seen.spared += 1
            one.process.send_signal(signal.SIGCONT)
        elif how == "kill":
            self.seen.kills += 1
            del self.alive[name]
            one.end(signal.SIGKILL)
            self.start()
        else:
            self.seen.stops += 1
            time.sleep(self.given.lease + 2)
            one.process.send_signal(signal.SIGCONT)

    def at_last_attempt(self, name: str) -> bool:
        """Whether a worker has, or may have, a claim whose end by its lease would be a failure."""
        try:
            last = [s.current for s in listing(self.store).states if s.current.attempt == MAX_ATTEMPTS]
        except StoreFault:
            return True
        return any(record.by == name for record in last)

    def replace_the_dead(self) -> None:
        """Find workers that ended by themselves, which none should."""
        for name, one in list(self.alive.items()):
            if (status := one.process.poll()) is not None:
                self.seen.problems.append(f"{name} ended by itself with {status}")
                one.end()
                del self.alive[name]
                self.start()

    def go_home(self) -> None:
        """End all of them, and count what they told."""
        for name, one in self.alive.items():
            one.process.send_signal(signal.SIGCONT)
            if status := one.end(signal.SIGTERM):
                self.seen.problems.append(f"{name} ended with {status} at the end")
        told = Counter(event["event"] for one in self.all for event in one.events)
        self.seen.lost_claims, self.seen.released = told["lost"], told["released"]
        self.seen.conflicts = told["conflict"]
        waits = [event for one in self.all for event in one.events if event["event"] == "waiting"]
        self.seen.store_waits = sum(event["reason"] == "the store" for event in waits)


class Troubles(threading.Thread):
    """Sets faults of the server, and commits what is of no interest, so that others lose races."""

    def __init__(self, place: Place, seen: Seen, chance: random.Random) -> None:
        super().__init__()
        self.place, self.seen, self.chance = place, seen, chance
        self.store = place.open()
        self.over = False
        self.set: list[tuple[str, Fault]] = []

    def run(self) -> None:
        while not self.over:
            if self.place.server is None:
                self.rival()
            else:
                kind = self.chance.choice(sorted(FAULTS))
                self.set.append((kind, FAULTS[kind](self.place.server, self)))
            time.sleep(self.chance.uniform(0.2, 1.2))
        if self.place.server is not None:
            self.place.server.faults.clear()
        for kind, fault in self.set:
            self.seen.faults[kind] = self.seen.faults.get(kind, 0) + fault.met

    def rival(self) -> None:
        """Commit something, if nobody else does."""
        try:
            self.store.commit(self.store.head(), {"noise": b"%d" % self.seen.rival_commits}, (), "of no interest")
            self.seen.rival_commits += 1
        except (Conflict, StoreFault):
            pass

    def rival_on_the_server(self) -> None:
        """The same from within the server, just before a commit of somebody else's is looked at."""
        assert self.place.server is not None
        self.seen.rival_commits += 1
        number = b"%d" % self.seen.rival_commits
        self.place.server.repo(REPO).commit({"noise": number}, title="of no interest", author="alice")


def _race(server: HubServer, troubles: Troubles) -> Fault:
    return server.faults.meanwhile(troubles.rival_on_the_server, on="commit")


FAULTS = {
    "503 to a commit": lambda server, troubles: server.faults.fail(503, on="commit"),
    "502 to a commit that is made": lambda server, troubles: server.faults.fail(502, acts=True, on="commit"),
    "403": lambda server, troubles: server.faults.fail(403, times=2),
    "403 to a commit that is made": lambda server, troubles: server.faults.fail(403, acts=True, on="commit"),
    "500": lambda server, troubles: server.faults.fail(500, method="GET", times=2),
    "429": lambda server, troubles: server.faults.limit(1, method="GET"),
    "a commit's answer lost": lambda server, troubles: server.faults.lose_answer(on="commit"),
    "a commit cut": lambda server, troubles: server.faults.cut_upload(50, on="commit"),
    "a download cut": lambda server, troubles: server.faults.cut_download(60, path="/resolve/"),
    "an answer cut": lambda server, troubles: server.faults.cut_download(10, path="/api/", method="GET"),
    "slow": lambda server, troubles: server.faults.slow(0.3, times=3),
    "a rival before a commit": _race,
}


@contextmanager
def a_place(kind: str, home: Path) -> Iterator[Place]:
    """An empty store."""
    if kind == "folder":
        yield Place(str(home / "store"), home)
        return
    with running_hub(home) as server:
        yield Place(f"hf://datasets/{REPO}", home, server)


def hand_in_each(store: FileStore, folders: list[Path], pause: float, ids: list[str]) -> None:
    """Hand submissions in over time, each until it is there."""
    for folder in folders:
        while True:
            try:
                ids += submit_kept(store, [folder])
                break
            except (StoreFault, QueueBusy):
                time.sleep(0.5)
        time.sleep(pause)


def soak(given: argparse.Namespace, home: Path, seen: Seen) -> None:
    """The whole run."""
    chance, began, ids = random.Random(given.seed), time.monotonic(), list[str]()  # noqa: S311 - to be repeated
    folders = [demo(home / "in" / f"{i}", f"system-{i}") for i in range(given.submissions)]
    over = began + 60 * given.minutes
    with a_place(given.store, home) as place:
        store = place.open()
        half = len(folders) // 2
        hand_in_each(store, folders[:half], 0, ids)
        pause = 0.4 * 60 * given.minutes / max(1, len(folders) - half)
        later = threading.Thread(target=hand_in_each, args=(place.open(), folders[half:], pause, ids))
        reader, troubles = Reader(place.open(), seen), Troubles(place, seen, random.Random(given.seed + 1))  # noqa: S311
        crew = Crew(place, given, seen, chance)
        threads: list[threading.Thread] = [later, reader, troubles]
        for thread in threads:
            thread.start()
        try:
            while time.monotonic() < over and not (len(ids) == len(folders) and _done(store)):
                time.sleep(chance.uniform(1, 4))
                crew.torment()
            troubles.over = True
            troubles.join()
            while time.monotonic() < over + LONGEST_END and not (len(ids) == len(folders) and _done(store)):
                crew.replace_the_dead()
                time.sleep(0.5)
        finally:
            reader.over = troubles.over = True
            crew.go_home()
            for thread in threads:
                thread.join()
        reader.look()
        check_the_end(store, ids, calm_run(home, folders), seen)
    seen.seconds = round(time.monotonic() - began, 1)


def _done(store: FileStore) -> bool:
    try:
        return all(state.current.state in DONE for state in listing(store).states)
    except StoreFault:
        return False


def calm_run(home: Path, folders: list[Path]) -> dict[str, bytes]:
    """The results that one worker makes of the same submissions while nothing goes wrong."""
    store = FolderStore(home / "calm-store")
    submit_kept(store, folders)
    shards.SHARD_PROMPTS = SHARD
    work(worker(store, home / "calm-results"), Stop(), lambda event, /, **facts: None, once=True)
    return results_at(store, store.head())


def check_the_end(store: FileStore, ids: list[str], calm: dict[str, bytes], seen: Seen) -> None:
    """Every submission is scored once, and the results are those of the calm run."""
    states = listing(store).states
    seen.states = dict(Counter(state.current.state for state in states))
    seen.attempts = dict(sorted(Counter(state.current.attempt for state in states).items()))
    records = [record for state in states for record in state.history]
    seen.takeovers = sum((record.reason or "").startswith("the lease of") for record in records)
    if {state.submission_id for state in states} != set(ids):
        seen.problems.append("the submissions are not those that were handed in")
    ends = Counter(commit.message.split(" by ")[0] for commit in store.history(100_000))
    for state in states:
        times = [record.state for record in state.history].count("scored")
        if (state.current.state, times, len(state.results)) != ("scored", 1, 1):
            seen.problems.append(f"{state.submission_id} is {state.current.state}, scored {times} times")
        if (commits := ends[f"finish {state.submission_id}"]) != 1:
            seen.problems.append(f"{state.submission_id} was finished by {commits} commits")
    if results_at(store, store.head()) != calm:
        seen.problems.append("the results are not those of the calm run")


def show(given: argparse.Namespace, seen: Seen) -> None:
    """The summary for people."""
    rows: list[tuple[str, str]] = []
    for name, value in asdict(seen).items():
        if isinstance(value, dict):
            for key, number in value.items():
                rows.append((f"{name}: {key}", str(number)))
        elif isinstance(value, list):
            rows.append((name, str(len(value))))
        else:
            rows.append((name.replace("_", " "), str(value)))
    title = f"Soak: {given.submissions} submissions, {given.workers} workers, {given.store}"
    out().print(to_terminal(Table(title, ("what", "number"), rows)))
    for problem in seen.problems[:50]:
        out().print(problem, style="red", markup=False, soft_wrap=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", choices=["folder", "hub"], default="folder")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--submissions", type=int, default=60)
    parser.add_argument("--minutes", type=float, default=3.0, help="for which things go wrong, at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lease", type=float, default=10.0, help="seconds")
    parser.add_argument("--keep", type=Path, help="a new folder to leave everything in")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    warnings.filterwarnings("ignore", message="Use 'content=", category=DeprecationWarning)  # by the Hub's client
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # the workers go home first
    os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"  # before anything imports the client
    seen = Seen()
    with nullcontext(given.keep) if given.keep else tempfile.TemporaryDirectory(prefix="divbench-soak-") as home:
        soak(given, Path(home), seen)
    if given.json:
        print_json(vars(given) | {"keep": None} | asdict(seen))
    else:
        show(given, seen)
    sys.exit(1 if seen.problems else 0)


if __name__ == "__main__":
    main()
