"""Renews a claim during work, waits while a store is unreachable, and stops on request."""

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from benchmark.service.failures import public_message
from divbench.core.errors import DivBenchError
from submissions.storage.file_store import FileStore, LocalDiskFault, NoWriteAccess, StoreFault
from submissions.untrusted.plain_text import one_line
from submissions.work_queue.operations import release, renew
from submissions.work_queue.schema import Claim, ClaimLost, DamagedState, QueueBusy, QueueError, UnknownSubmission

TICK = 0.1  # seconds within which a request to stop is noticed
LONGEST_PAUSE = 60.0
MAX_DENIALS = 3  # consecutive denials after which we accept that the store denies writing
GRACE = 30.0  # seconds for which a stopping worker tries to release its claim

CLAIM_GONE = (ClaimLost, DamagedState, UnknownSubmission)  # the claim is another worker's, or its state is damaged
T = TypeVar("T")


class EventSink(Protocol):
    """Takes events; any thread may call it."""

    def __call__(self, event: str, /, **facts: Any) -> None:
        """Report that something happened."""
        ...


@dataclass(slots=True)
class Stop:
    """Whether a stop is requested. A flag without a lock, as a signal may interrupt the thread holding the lock."""

    requested: bool = False


class Stopped(Exception):
    """A stop was requested before the work was done."""


def wait(seconds: float, stop: Stop) -> None:
    """Wait, at most until a stop is requested."""
    until = time.monotonic() + seconds
    while not stop.requested and (left := until - time.monotonic()) > 0:
        time.sleep(min(TICK, left))


def with_backoff(call: Callable[[], T], stop: Stop, emit: EventSink, grace: float = GRACE) -> T:
    """Call a function, retrying with growing pauses while the store is unreachable; return its value.

    `call` must be safe to call more than once. After a request to stop it is retried for `grace` seconds. A store must
    deny writing `MAX_DENIALS` times in a row, because a single denial may be a transient fault; a full disk ends it.
    """
    pause, until, denials = 1.0, float("inf"), 0
    while True:
        try:
            return call()
        except LocalDiskFault:  # waiting does not help
            raise
        except (StoreFault, QueueBusy) as error:
            denials = denials + 1 if isinstance(error, NoWriteAccess) else 0
            if denials == MAX_DENIALS:
                raise
            if stop.requested:
                until = min(until, time.monotonic() + grace)
                if time.monotonic() >= until:
                    raise Stopped(public_message(error)) from error
            seconds = pause * random.uniform(0.5, 1)  # noqa: S311 - so that workers do not retry in step
            emit("waiting", reason="the store", seconds=round(seconds, 1), said=public_message(error))
            if stop.requested:
                time.sleep(min(seconds, 1.0))
            else:
                wait(seconds, stop)
            pause = min(2 * pause, LONGEST_PAUSE)


class ClaimKeeper:
    """Keeps a claim while the block runs: a thread renews it every third of its lease and releases it on a stop."""

    def __init__(
        self, store: FileStore, claim: Claim, stop: Stop, clock: Callable[[], datetime], emit: EventSink
    ) -> None:
        self.claim = claim
        self._store = store
        self._stop = stop
        self._clock = clock
        self._emit = emit
        self._lock = threading.Lock()  # of how the claim ends: released, or by its outcome
        self._lost: DivBenchError | None = None
        self._concluding = False
        self._released: bool | None = None
        self._left = threading.Event()
        # A renewal that hangs in a store does not keep the process alive; it will find its claim gone.
        self._thread = threading.Thread(target=self._keep, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._left.set()
        self._thread.join(10 * TICK)

    def check(self) -> None:
        """Check that the work may continue: the claim is still ours, and no stop was requested."""
        if self._lost is not None:
            raise self._lost
        if self._stop.requested:
            raise Stopped

    def conclude(self) -> None:
        """Do as `check`; from now on a stop does not release the claim, since its outcome is about to be published."""
        with self._lock:
            self.check()
            self._concluding = True

    def release(self, reason: str = "the worker was asked to stop") -> bool:
        """Release the claim once, and return whether it was released; otherwise, its lease will expire."""
        with self._lock:
            if self._released is None:
                self._released = self._release(reason)
            return self._released

    def _release(self, reason: str) -> bool:
        name = self.claim.submission_id
        try:
            with_backoff(lambda: release(self._store, self.claim, reason, self._clock()), self._stop, self._emit)
        except CLAIM_GONE as error:
            self._emit("lost", submission=name, reason=public_message(error))
        except Stopped as error:
            self._emit("lost", submission=name, reason=one_line(f"left until its lease expires: {error}"))
        else:
            self._emit("released", submission=name, reason=reason)
            return True
        return False

    def _keep(self) -> None:
        third = self.claim.lease.total_seconds() / 3
        due, pause = time.monotonic() + third, 1.0
        while not self._left.wait(TICK):
            if self._stop.requested and not self._concluding:
                with self._lock:
                    is_concluding = self._concluding
                if not is_concluding:
                    self.release()
                return
            if time.monotonic() < due:
                continue
            try:
                self.claim = renew(self._store, self.claim, self._clock())
                due, pause = time.monotonic() + third, 1.0
            except CLAIM_GONE as error:
                self._lost = error
                return
            except Exception as error:  # whatever the error is, the next renewal may succeed
                if isinstance(error, QueueError) and not isinstance(error, QueueBusy):
                    return  # its history is full: the last lease holds
                seconds = min(pause, third)
                self._emit("waiting", reason="the lease", seconds=round(seconds, 1), said=public_message(error))
                due, pause = time.monotonic() + seconds, 2 * pause
