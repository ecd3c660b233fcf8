"""Renews a claim during work, watches those of others, waits while a store is unreachable, and stops on request."""

import json
import platform
import random
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from benchmark.service.failures import public_message
from divbench.core.errors import DivBenchError
from divbench.core.files import write_text
from submissions.storage.file_store import FileStore, LocalDiskFault, NoWriteAccess, StoreFault
from submissions.untrusted.plain_text import one_line
from submissions.work_queue.operations import release, renew
from submissions.work_queue.schema import (
    Claim,
    ClaimLost,
    DamagedState,
    QueueBusy,
    State,
    UnknownSubmission,
)

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


class Watch:
    """Since when this machine has seen each claim and pause unchanged, by a clock that no change of the date affects.

    A lease is over once its record was seen without a new heartbeat for the length of the lease, whatever date the
    machine of its worker shows. A file keeps the times, so that workers that exit when the queue is empty see it, too;
    after a restart of the machine they begin anew.
    """

    def __init__(self, file: Path | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._file, self._clock = file, clock
        self._seen: dict[str, tuple[str, float]] = {}  # by submission: its last record, and when it was first seen
        self._boot = platform.node()
        with suppress(OSError):
            self._boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
            known = json.loads(file.read_text(encoding="utf-8")) if file is not None else {}
            if known["boot"] == self._boot:
                self._seen = {name: (str(mark), float(since)) for name, (mark, since) in known["seen"].items()}

    def free(self, states: Sequence[State]) -> set[str]:
        """Return the ids of those submissions, which are claimed or paused, whose wait is over."""
        now, seen = self._clock(), {}
        for state in states:
            last, name = state.current, state.submission_id
            mark, since = f"{last.state} {last.token} {last.heartbeat} {len(state.history)}", now
            known = self._seen.get(name)
            seen[name] = mark, min(known[1], now) if known is not None and known[0] == mark else since
        if seen != self._seen:
            self._seen = seen
            with suppress(OSError):  # then only this process knows
                if self._file is not None:
                    write_text(self._file, json.dumps({"boot": self._boot, "seen": seen}))
        return {state.submission_id for state in states if now - seen[state.submission_id][1] >= state.wait}


class ClaimKeeper:
    """Keeps a claim while the block runs: a thread renews it every third of its lease and releases it on a stop."""

    def __init__(
        self, store: FileStore, claim: Claim, stop: Stop, clock: Callable[[], datetime], emit: EventSink
    ) -> None:
        self.claim = claim
        self.progress = claim.record.progress  # number of prompts that are scored
        self._before = self.progress
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

    def report(self, prompts: int) -> None:
        """Take the number of prompts that are scored, for the next renewal."""
        self.progress = max(self.progress, prompts)

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
            # After a lapse, the first progress is reported at once: it shows that the submission is not to blame.
            first = self.claim.record.lapses and self.progress > self._before == self.claim.record.progress
            if time.monotonic() < due and not (first and pause == 1.0):
                continue
            try:
                self.claim = renew(self._store, self.claim, self._clock(), self.progress)
                due, pause = time.monotonic() + third, 1.0
            except CLAIM_GONE as error:
                self._lost = error
                return
            except Exception as error:  # whatever the error is, the next renewal may succeed
                seconds = min(pause, third)
                self._emit("waiting", reason="the lease", seconds=round(seconds, 1), said=public_message(error))
                due, pause = time.monotonic() + seconds, 2 * pause
