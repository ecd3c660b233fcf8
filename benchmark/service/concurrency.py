"""Several submissions in work at once: each in a lane of its own, a thread, while actors elsewhere score their shards.

So the next submission is claimed, fetched and checked while the last shards of this one are scored, and no actor waits.
"""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock, Semaphore

from benchmark.service.events import EventSink
from benchmark.service.host_faults import Machine
from benchmark.service.lease import TICK, Stop, wait

PREPARING = 8  # submissions that are claimed and not being scored yet, at most


class Admissions:
    """Who may take a submission on: one lane looks for it at a time, few prepare theirs, and only for who is hungry."""

    def __init__(self, has_capacity: Callable[[], bool] = lambda: True) -> None:
        self._hungry = has_capacity
        self._looking = Lock()
        self._preparing = Semaphore(PREPARING)

    def wait(self, stop: Stop) -> "Admission | None":
        """A turn to look, when it comes; None where the end is asked for."""
        while not stop.asked:
            if not self._preparing.acquire(timeout=TICK):
                continue
            if self._looking.acquire(timeout=TICK):
                self._wait_until_hungry(stop)
                return Admission(self._looking, self._preparing)
            self._preparing.release()
        return None

    def _wait_until_hungry(self, stop: Stop) -> None:
        while not stop.asked and not self._hungry():
            wait(TICK, stop)


class Admission:
    """One lane's. Each of its ends may be told more than once."""

    def __init__(self, looking: Lock, preparing: Semaphore) -> None:
        self._looking: Lock | None = looking
        self._preparing: Semaphore | None = preparing

    def found(self) -> None:
        """Another lane may look."""
        if self._looking is not None:
            self._looking.release()
            self._looking = None

    def prepared(self) -> None:
        """Another lane may prepare."""
        self.found()
        if self._preparing is not None:
            self._preparing.release()
            self._preparing = None


@dataclass(slots=True)
class WorkerState:
    """What a worker remembers from one submission to the next; its lanes share it.

    Attributes:
        stop: Ends it.
        tell: Hears of all that happens.
        machine: How it fares.
        turns: Which lane takes the next submission on.
        lock: Of what follows, and of how the machine fares.
        ended: How many claims ended how.
        failed: Submissions that failed here: others come first.
        passed_over: Without a state, and not to be adopted; each is looked at once.
        idle: Nothing was pending at the last look.
    """

    stop: Stop
    tell: EventSink
    machine: Machine
    turns: Admissions
    lock: Lock = field(default_factory=Lock)
    ended: Counter[str] = field(default_factory=Counter)
    failed: set[str] = field(default_factory=set)
    passed_over: set[str] = field(default_factory=set)
    idle: bool = False

    def count(self, how: str) -> None:
        """A claim that ended."""
        with self.lock:
            self.ended[how] += 1


def in_lanes(lane: Callable[[], None], count: int, stop: Stop) -> None:
    """Run a function in so many lanes until all have ended; one alone runs here.

    Raises:
        Exception: What the first lane that failed raised; the others were asked to end.
    """
    if count == 1:
        lane()
        return

    def guarded() -> None:
        try:
            lane()
        except BaseException:
            stop.asked = True
            raise

    with ThreadPoolExecutor(count, thread_name_prefix="lane") as threads:
        lanes = [threads.submit(guarded) for _ in range(count)]
    for each in lanes:  # all have ended
        each.result()
