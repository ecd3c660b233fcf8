"""Holding on: to a claim while it is worked on, to a store that is out of reach, and ending when that is asked for."""

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Self, TypeVar

from benchmark.service.events import EventSink
from benchmark.service.redaction import public_text
from datasets_build.errors import DivBenchError
from submissions.storage.commits import LocalDiskFault, NoWriteAccess, StoreFault
from submissions.storage.file_store import FileStore
from submissions.untrusted.plain_text import one_line
from submissions.work_queue.errors import ClaimLost, DamagedState, QueueBusy, QueueError, UnknownSubmission
from submissions.work_queue.operations import release, renew
from submissions.work_queue.schema import Claim

TICK = 0.1  # seconds: how soon a wish to end is seen
LONGEST_PAUSE = 60.0
DENIALS = 3  # in a row, after which a store that may not be written is taken to mean it
GRACE = 30.0  # seconds: for how long one who ends goes on trying to give a claim back

LOST = (ClaimLost, DamagedState, UnknownSubmission)  # what says that a claim is no more ours, or its state is broken
T = TypeVar("T")


@dataclass(slots=True)
class Stop:
    """Whether somebody has asked to end. A plain flag, no lock: a signal may come while this thread has the lock."""

    asked: bool = False


class Stopped(Exception):
    """Somebody has asked to end, and what was being done is not done."""


def wait(seconds: float, stop: Stop) -> None:
    """Wait, but no longer than until the end is asked for."""
    until = time.monotonic() + seconds
    while not stop.asked and (left := until - time.monotonic()) > 0:
        time.sleep(min(TICK, left))


def with_backoff(call: Callable[[], T], stop: Stop, tell: EventSink, grace: float = GRACE) -> T:
    """The answer to a call, which is made again while the store is out of reach, after longer and longer waits.

    Args:
        call: May be made twice without harm.
        stop: Ends it.
        tell: Hears of each wait.
        grace: Seconds for which it is tried after the end was asked for.

    Raises:
        Stopped: The end was asked for, and the store is out of reach.
        NoWriteAccess: The store may not be written: it said so `DENIALS` times in a row. (One refusal may be a fault.)
        LocalDiskFault: A disk of this machine is full, or not writable.
    """
    pause, until, denied = 1.0, float("inf"), 0
    while True:
        try:
            return call()
        except LocalDiskFault:  # no waiting helps
            raise
        except (StoreFault, QueueBusy) as error:
            denied = denied + 1 if isinstance(error, NoWriteAccess) else 0
            if denied == DENIALS:
                raise
            if stop.asked:
                until = min(until, time.monotonic() + grace)
                if time.monotonic() >= until:
                    raise Stopped(said(error)) from error
            seconds = pause * random.uniform(0.5, 1)  # noqa: S311 - so that workers do not come back together
            tell("waiting", reason="the store", seconds=round(seconds, 1), said=said(error))
            if stop.asked:
                time.sleep(min(seconds, 1.0))
            else:
                wait(seconds, stop)
            pause = min(2 * pause, LONGEST_PAUSE)


def said(error: BaseException) -> str:
    """An error in a line that anybody may read."""
    text = error.message if isinstance(error, DivBenchError) else f"{type(error).__name__}: {error}"
    return one_line(public_text(text))


class Hold:
    """Keeps a claim while the block runs: a thread renews it every third of its lease, and gives it back on a stop.

    Attributes:
        claim: As renewed last.
    """

    def __init__(
        self, store: FileStore, claim: Claim, stop: Stop, clock: Callable[[], datetime], tell: EventSink
    ) -> None:
        self.claim = claim
        self._store = store
        self._stop = stop
        self._clock = clock
        self._tell = tell
        self._lock = threading.Lock()  # of how the claim ends: given back, or by what was made
        self._lost: DivBenchError | None = None
        self._ending = False
        self._given_back: bool | None = None
        self._left = False
        # A renewal that hangs on a store keeps nobody from ending: it finds its claim gone.
        self._thread = threading.Thread(target=self._keep, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._left = True
        self._thread.join(10 * TICK)

    def go_on(self) -> None:
        """Nothing, while the work is to go on.

        Raises:
            ClaimLost: The submission is somebody else's now.
            DamagedState: Its state is broken.
            UnknownSubmission: Its state is gone.
            Stopped: The end was asked for.
        """
        if self._lost is not None:
            raise self._lost
        if self._stop.asked:
            raise Stopped

    def begin_the_end(self) -> None:
        """As `go_on`; from here on a stop does not give the claim back: what was made is about to be published."""
        with self._lock:
            self.go_on()
            self._ending = True

    def give_back(self, reason: str = "the worker was asked to end") -> bool:
        """Release the claim, if that has not been done; where the store cannot be reached it is left to its lease.

        Args:
            reason: Why; anybody may read it.

        Returns:
            Whether it was released.
        """
        with self._lock:
            if self._given_back is None:
                self._given_back = self._released(reason)
            return self._given_back

    def _released(self, reason: str) -> bool:
        name = self.claim.submission_id
        try:
            with_backoff(lambda: release(self._store, self.claim, reason, self._clock()), self._stop, self._tell)
        except LOST as error:
            self._tell("lost", submission=name, reason=said(error))
        except Stopped as error:
            self._tell("lost", submission=name, reason=one_line(f"left to its lease: {error}"))
        else:
            self._tell("released", submission=name, reason=reason)
            return True
        return False

    def _keep(self) -> None:
        third = self.claim.lease.total_seconds() / 3
        due, pause = time.monotonic() + third, 1.0
        while not self._left:
            time.sleep(TICK)
            if self._stop.asked and not self._ending:
                self._give_back_unless_ending()
                return
            if time.monotonic() < due:
                continue
            try:
                self.claim = renew(self._store, self.claim, self._clock())
                due, pause = time.monotonic() + third, 1.0
            except LOST as error:
                self._lost = error
                return
            except Exception as error:  # whatever it is, the next renewal may go well
                if isinstance(error, QueueError) and not isinstance(error, QueueBusy):
                    return  # its history is full: the last lease holds
                seconds = min(pause, third)
                self._tell("waiting", reason="the lease", seconds=round(seconds, 1), said=said(error))
                due, pause = time.monotonic() + seconds, 2 * pause

    def _give_back_unless_ending(self) -> None:
        with self._lock:
            if self._ending:
                return
        self.give_back()
