"""Processes several submissions at once, each on its own thread, while actors score their shards.

The next submission is claimed, fetched and checked while the last shards of the current one are scored, so that no
actor is idle.
"""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock, Semaphore

from benchmark.service.events import EventSink
from benchmark.service.host_faults import HostHealth
from benchmark.service.lease import TICK, Stop, wait

MAX_PREPARING = 8  # submissions that are claimed and not being scored yet


class Admissions:
    """Admits threads to their next submission: one at a time may claim, a few may prepare, if there is capacity."""

    def __init__(self, has_capacity: Callable[[], bool] = lambda: True) -> None:
        self._has_capacity = has_capacity
        self._claiming = Lock()
        self._preparing = Semaphore(MAX_PREPARING)

    def wait(self, stop: Stop) -> "Admission | None":
        """Wait for admission; None if a stop is requested first."""
        while not stop.requested:
            if not self._preparing.acquire(timeout=TICK):
                continue
            if self._claiming.acquire(timeout=TICK):
                self._wait_for_capacity(stop)
                return Admission(self._claiming, self._preparing)
            self._preparing.release()
        return None

    def _wait_for_capacity(self, stop: Stop) -> None:
        while not stop.requested and not self._has_capacity():
            wait(TICK, stop)


class Admission:
    """One thread's admission. Its methods may be called more than once."""

    def __init__(self, claiming: Lock, preparing: Semaphore) -> None:
        self._claiming: Lock | None = claiming
        self._preparing: Semaphore | None = preparing

    def claimed(self) -> None:
        """Let another thread claim."""
        if self._claiming is not None:
            self._claiming.release()
            self._claiming = None

    def prepared(self) -> None:
        """Let another thread claim and prepare."""
        self.claimed()
        if self._preparing is not None:
            self._preparing.release()
            self._preparing = None


@dataclass(slots=True)
class WorkerState:
    """State that the threads of a worker share across submissions."""

    stop: Stop
    emit: EventSink
    host: HostHealth
    admissions: Admissions
    lock: Lock = field(default_factory=Lock)  # guards all fields below, and `host`
    outcomes: Counter[str] = field(default_factory=Counter)
    failed: set[str] = field(default_factory=set)  # submissions that failed on this worker; others take precedence
    # Submissions that were not adopted, or that cannot be scored here; each is reported only once.
    passed_over: set[str] = field(default_factory=set)
    # Submissions without a state that failed the checks; they are not checked again.
    unacceptable: set[str] = field(default_factory=set)
    idle: bool = False  # whether nothing was pending at the last look

    def count(self, outcome: str) -> None:
        """Count a claim by its outcome."""
        with self.lock:
            self.outcomes[outcome] += 1


def run_concurrently(task: Callable[[], None], count: int, stop: Stop) -> None:
    """Run a function on `count` threads until all have ended; with one thread, on the calling thread."""
    if count == 1:
        task()
        return

    def guarded() -> None:
        try:
            task()
        except BaseException:
            stop.requested = True
            raise

    with ThreadPoolExecutor(count, thread_name_prefix="worker") as threads:
        running = [threads.submit(guarded) for _ in range(count)]
    for each in running:  # all have ended
        each.result()
