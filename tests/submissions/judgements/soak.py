"""Votes under all that goes wrong: writers that are killed, faults of the server, lost races, cut connections.

Anybody may run it, from the repository's root: `python -m tests.submissions.judgements.soak --store hub --votes 50000`.
Four writers accept votes, two to a spool, and commit them; each says which votes it has accepted. They are killed and
started again all the while. At the end each accepted vote must be in the store, and count once. Exit 1 if not.
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
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path

from divbench.core.console import print_json
from submissions.judgements.vote_store import VoteReader, VoteSpool, merge_past_days
from submissions.judgements.votes import Vote
from submissions.storage.commits import StoreFault
from submissions.storage.file_store import open_store
from tests.forked import Forked, of_module
from tests.hub import client_environment
from tests.submissions.judgements.test_votes import a_vote
from tests.submissions.soak import Seen as Counts
from tests.submissions.soak import Troubles, a_place
from tests.submissions.stores import Place

WRITERS = 4


@dataclass
class Seen:
    """What is counted, and what was found to be wrong."""

    accepted: int = 0
    stored: int = 0
    lines: int = 0
    kills: int = 0
    commits: int = 0
    slowest_commit: float = 0.0  # seconds from an acceptance until the vote is in the store
    slow_accepts: int = 0  # over 0.3 s
    median_accept: float = 0.0  # seconds
    slowest_accept: float = 0.0
    rival_commits: int = 0
    faults: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list)


def the_votes(writer: int, number: int) -> list[Vote]:
    """The two votes of a writer's reply, always the same."""
    return [a_vote(writer * 10**9 + number, question) for question in ("more_different", "preferred")]


def write(store: str, spool: Path, writer: int, start: int, end: int, pause: float, rest: float) -> None:
    """Accept replies one by one, and say each; commit meanwhile. Faults of the store must not disturb it."""
    votes = VoteSpool(open_store(store), spool)
    over = threading.Event()

    def commit() -> None:
        while not over.wait(pause):
            began = time.monotonic()
            with suppress(StoreFault):
                if sent := votes.commit():
                    say("sent", sent, time.monotonic() - began)

    thread = threading.Thread(target=commit)
    thread.start()
    for number in range(start, end):
        began = time.monotonic()
        votes.accept(the_votes(writer, number))
        say("accepted", number, time.monotonic() - began)
        time.sleep(rest)
    over.set()
    thread.join()


def say(what: str, number: int, seconds: float) -> None:
    """Tell the parent, in one piece."""
    os.write(1, f"{what} {number} {seconds:.4f}\n".encode())


class Writer:
    """A writer's process and its successors."""

    def __init__(self, place: Place, number: int, replies: int, pause: float, rest: float) -> None:
        self.place, self.number, self.replies, self.pause, self.rest = place, number, replies, pause, rest
        self.accepted: list[int] = []
        self.seconds: list[float] = []
        self.times: list[float] = []  # when each was accepted
        self.sent: list[tuple[float, float]] = []  # begin and end of each commit
        self.start()

    def start(self) -> None:
        """Go on where the one before was killed: what it had not said is given again."""
        place, environment = self.place, dict(os.environ)
        if place.server is not None:
            environment = client_environment(place.server, place.home / "hf", place.server.tokens["alice"])
        environment["DIVBENCH_HOME"] = str(place.home / f"kept-{self.number}")
        begin = self.accepted[-1] + 1 if self.accepted else 0
        words = ["write", place.text, spool_of(place, self.number), self.number, begin]
        words += [self.replies, self.pause, self.rest]
        self.process = Forked(of_module("tests.submissions.judgements.soak"), words, environment)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self) -> None:
        for line in self.process.stdout:
            if not line.endswith("\n"):  # the last one of a process that was killed
                continue
            what, number, seconds = line.split()
            now = time.monotonic()
            if what == "accepted":
                self.accepted.append(int(number))
                self.seconds.append(float(seconds))
                self.times.append(now)
            else:
                self.sent.append((now - float(seconds), now))

    def kill(self) -> None:
        """Kill it where it stands; another takes its place."""
        self.process.kill()
        self.end()
        self.start()

    def end(self) -> int:
        """Wait for its end; its status."""
        status = self.process.wait(600)
        self.reader.join()
        self.process.stdout.close()
        return status


def spool_of(place: Place, writer: int) -> Path:
    return place.home / f"spool-{writer % 2}"


def soak(
    place: Place,
    votes: int,
    *,
    pause: float,
    chance: random.Random,
    kill_every: float,
    seen: Seen,
    rest: float = 0.0,
) -> None:
    """The whole run, on an empty store.

    Args:
        place: The store.
        votes: How many in all.
        pause: Seconds between commits of a writer.
        chance: Of kills and faults.
        kill_every: Seconds between kills, about.
        seen: What is counted.
        rest: Seconds between the replies of a writer.
    """
    began, counts = time.monotonic(), Counts()
    troubles = Troubles(place, counts, random.Random(chance.random()))  # noqa: S311 - to be repeated
    writers = [Writer(place, number, votes // 2 // WRITERS, pause, rest) for number in range(WRITERS)]
    troubles.start()
    while any(writer.process.poll() is None for writer in writers):
        time.sleep(chance.uniform(0.5, 1.5) * kill_every)
        alive = [writer for writer in writers if writer.process.poll() is None and writer.accepted]
        if alive:
            chance.choice(alive).kill()
            seen.kills += 1
    seen.problems += [f"writer {w.number} ended with {status}" for w in writers if (status := w.end())]
    troubles.over = True
    troubles.join()
    for number in range(2):  # what the last ones left
        start = time.monotonic()
        VoteSpool(place.open(), spool_of(place, number)).commit()
        writers[number].sent.append((start, time.monotonic()))
    seen.rival_commits, seen.faults = counts.rival_commits, counts.faults
    check_the_end(place, writers, votes, seen)
    seen.seconds = round(time.monotonic() - began, 1)


def check_the_end(place: Place, writers: Sequence[Writer], votes: int, seen: Seen) -> None:
    """Each accepted vote is there, counts once, and is what was accepted; merging the days changes nothing."""
    store = place.open()
    accepted = {v.vote_id: v for w in writers for number in w.accepted for v in the_votes(w.number, number)}
    found = VoteReader(store).read()
    ids = Counter(vote.vote_id for vote in found.votes)
    head = store.head()
    batches = [store.read(head, path, 2**26) for path in store.paths(head, "votes")]
    seconds = sorted(each for writer in writers for each in writer.seconds)
    seen.accepted, seen.stored, seen.lines = len(accepted), len(ids), sum(each.count(b"\n") for each in batches)
    seen.commits = len(batches)
    seen.median_accept, seen.slowest_accept = seconds[len(seconds) // 2], seconds[-1]
    seen.slow_accepts = sum(each > 0.3 for each in seconds)
    seen.slowest_commit = round(max(waits(writers, spool) for spool in range(2)), 1)
    if len(accepted) != votes // 2 // WRITERS * WRITERS * 2:
        seen.problems.append(f"{len(accepted)} votes were accepted")
    if lost := accepted.keys() - ids.keys():
        seen.problems.append(f"{len(lost)} accepted votes are lost, such as {min(lost)}")
    if more := ids.keys() - accepted.keys():
        seen.problems.append(f"{len(more)} votes were never accepted")
    if max(ids.values()) > 1 or found.damaged:
        seen.problems.append(f"a vote counts twice, or is damaged: {found.damaged[:3]}")
    if any(accepted.get(vote.vote_id, vote) != vote for vote in found.votes):
        seen.problems.append("a vote has changed")
    merge_past_days(store, datetime.now(UTC).date() + timedelta(days=2))
    merged = VoteReader(store).read()
    if merged.votes != found.votes or len(store.paths(store.head(), "votes")) > 2:
        seen.problems.append("merging the days changed the votes")


def waits(writers: Sequence[Writer], spool: int) -> float:
    """The longest time from an acceptance to the end of a commit that began after it."""
    ours = [writer for writer in writers if writer.number % 2 == spool]
    commits = sorted(each for writer in ours for each in writer.sent)
    begins, ends = [begin for begin, _ in commits], list(accumulate((end for _, end in reversed(commits)), min))[::-1]
    return max(ends[bisect_left(begins, time)] - time for writer in ours for time in writer.times)


def main() -> None:
    if sys.argv[1:2] == ["write"]:
        store, spool, writer, start, end, pause, rest = sys.argv[2:]
        write(store, Path(spool), int(writer), int(start), int(end), float(pause), float(rest))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", choices=["folder", "hub"], default="folder")
    parser.add_argument("--votes", type=int, default=50_000)
    parser.add_argument("--pause", type=float, default=1.0, help="seconds between commits of a writer")
    parser.add_argument("--kill-every", type=float, default=2.0, help="seconds, about")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.filterwarnings("ignore", message="Use 'content=", category=DeprecationWarning)  # by the Hub's client
    os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"  # before anything imports the client
    seen = Seen()
    with tempfile.TemporaryDirectory(prefix="divbench-votes-") as home, a_place(given.store, Path(home)) as place:
        chance = random.Random(given.seed)  # noqa: S311 - to be repeated
        soak(place, given.votes, pause=given.pause, chance=chance, kill_every=given.kill_every, seen=seen)
    print_json(vars(given) | asdict(seen))
    sys.exit(1 if seen.problems else 0)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    main()
