"""What goes wrong between a client and the Hub, on demand: a test says what, and for which of the next requests."""

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypedDict, Unpack

NOTHING = -1  # instead of a number of bytes: not even the status line


class Where(TypedDict, total=False):
    """Which requests a fault is for; all that is left out fits any."""

    on: str  # name of a route, such as "commit" or "storage_get"
    method: str
    path: str  # regular expression to find in the decoded path
    times: int  # for how many of the requests that fit; 1 if left out


@dataclass
class Fault:
    """One thing that goes wrong, `left` more times; `met` counts the requests that it has hit."""

    where: Where
    left: int = 1
    met: int = 0
    status: int | None = None  # answer with this status
    headers: Mapping[str, str] = field(default_factory=dict)
    acts: bool = False  # with a status: do what was asked for all the same
    gate: threading.Event | None = None  # wait until this is set
    before: Callable[[], object] | None = None
    cut_request: int | None = None  # hang up after reading so many bytes of the request's body
    cut_answer: int | None = None  # hang up after sending so many bytes of the answer's body
    reset: bool = False  # hang up by a TCP reset, not by an orderly end

    def fits(self, route: str, method: str, path: str) -> bool:
        """Whether a request is one of those that this fault is for."""
        return (
            self.where.get("on", route) == route
            and self.where.get("method", method) == method
            and re.search(self.where.get("path", ""), path) is not None
        )

    def release(self) -> None:
        """Let go on what `Faults.hold` holds."""
        if self.gate is not None:
            self.gate.set()


class Faults:
    """The faults that are set. A request meets at most one: the first set that fits it and is not used up."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._set: list[Fault] = []

    def _add(self, fault: Fault) -> Fault:
        fault.left = fault.where.get("times", 1)
        with self._lock:
            self._set.append(fault)
        return fault

    def fail(self, status: int = 503, *, acts: bool = False, **where: Unpack[Where]) -> Fault:
        """Answer with a status; with `acts`, do first what was asked for, as when a gateway gives up too early."""
        return self._add(Fault(where, status=status, acts=acts))

    def limit(self, seconds: int = 0, **where: Unpack[Where]) -> Fault:
        """Answer 429, with the headers that say when to come back."""
        headers = {
            "RateLimit": f'"api";r=0;t={seconds}',
            "RateLimit-Policy": '"fixed window";"api";q=500;w=300',
            "Retry-After": str(seconds),
        }
        return self._add(Fault(where, status=429, headers=headers))

    def hold(self, **where: Unpack[Where]) -> Fault:
        """Answer after `release`."""
        return self._add(Fault(where, gate=threading.Event()))

    def meanwhile(self, action: Callable[[], object], **where: Unpack[Where]) -> Fault:
        """Do something just before the request is carried out, such as a rival's commit: the race is lost."""
        return self._add(Fault(where, before=action))

    def cut_upload(self, after: int = 0, *, reset: bool = True, **where: Unpack[Where]) -> Fault:
        """Hang up after reading so many bytes of the request's body: nothing of it is carried out."""
        return self._add(Fault(where, cut_request=after, reset=reset))

    def cut_download(self, after: int = 0, *, reset: bool = False, **where: Unpack[Where]) -> Fault:
        """Hang up after sending so many bytes of the answer's body, which was announced as longer."""
        return self._add(Fault(where, cut_answer=after, reset=reset))

    def lose_answer(self, **where: Unpack[Where]) -> Fault:
        """Do what was asked for and hang up without a word."""
        return self._add(Fault(where, cut_answer=NOTHING))

    def clear(self) -> None:
        """Set no faults any more, and hold nothing."""
        with self._lock:
            for fault in self._set:
                fault.left = 0
                fault.release()
            self._set.clear()

    def take(self, route: str, method: str, path: str) -> Fault | None:
        """The fault that this request meets."""
        with self._lock:
            for fault in self._set:
                if fault.left > 0 and fault.fits(route, method, path):
                    fault.left -= 1
                    fault.met += 1
                    return fault
        return None
