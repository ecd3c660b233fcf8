"""Whose fault a failure is: this machine's, on which nothing goes well any more, or that of what is being scored."""

import errno
from collections.abc import Iterator
from dataclasses import dataclass, field

from benchmark.models.causal_lm import OutOfMemory
from benchmark.models.http_client import ServerFault
from benchmark.service.lease import said
from datasets_build.errors import ConfigurationError, UnknownSuite
from submissions.storage.commits import LocalDiskFault
from submissions.work_queue.errors import UnknownSubmission

FAULTS = 3  # in a row, after which a worker ends
_MEMORY = "give it more memory, end what else uses it, or take a smaller model, --dtype or another --device"
_DISK = "make room on its disks (results, caches, temporary files), or give it the right to write there"
_DEVICE = "start the worker again; if that does not help, look at the device and its driver"
_ERRORS_OF_DISKS = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO),
    *(errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE),
}


class HostFault(ConfigurationError):
    """This machine failed too often to go on."""


@dataclass(slots=True)
class Machine:
    """How this machine fares.

    Attributes:
        limit: After so many faults of its own, with nothing scored in between, it is to end.
        faults: So many there were since something was last scored.
        scored: How often it scored something.
        met: For each submission that met a fault here, how many had been scored before.
        last: What the last fault came from: one that several submissions meet at once is one.
    """

    limit: int = FAULTS
    faults: int = 0
    scored: int = 0
    met: dict[str, int] = field(default_factory=dict)
    last: BaseException | None = None

    def went_well(self) -> None:
        """Something was scored."""
        self.faults = 0
        self.scored += 1

    def to_blame(self, submission_id: str, error: BaseException) -> bool:
        """Whether a failure is this machine's fault, as far as can be told; if so, it is counted.

        A submission that meets a second fault, though others were scored here since its first, is its own fault: it
        may be too large, and would otherwise end one worker after the other.
        """
        if mend_of(error) is None or self.scored > self.met.get(submission_id, self.scored):
            return False
        self.met[submission_id] = self.scored
        *_, came_from = _causes(error)
        self.faults += self.last is None or came_from is not self.last
        # Without its traceback, which would keep all that it names.
        self.last = None if came_from is error else came_from.with_traceback(None)
        return True

    def check(self, error: BaseException) -> None:
        """Nothing, while the work is to go on after a fault.

        Raises:
            MachineFault: There were too many.
        """
        if self.faults >= self.limit:
            times = "time" if self.faults == 1 else "times in a row"
            message = f"this machine failed {self.faults} {times}, the last one with: {said(error)}"
            raise HostFault(message, mend_of(error) or "") from error


def mend_of(error: BaseException) -> str | None:
    """What to do about a failure that is the fault of the machine, or of how it was set up; None of all others."""
    return next((hint for each in _causes(error) if (hint := _mend(each)) is not None), None)


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__


def _mend(error: BaseException) -> str | None:
    if isinstance(error, LocalDiskFault) or (isinstance(error, OSError) and error.errno in _ERRORS_OF_DISKS):
        return _DISK
    if isinstance(error, OutOfMemory | MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return _MEMORY
    if isinstance(error, ConfigurationError) and not isinstance(error, UnknownSuite | UnknownSubmission):
        return error.hint or "look at how this worker was started"
    if isinstance(error, ServerFault) and (error.kind == "transient" or error.status in {401, 403, 404}):
        return error.hint or "look at the server that judges"
    text = str(error) if isinstance(error, RuntimeError) else ""  # torch's kinds of errors differ by version
    full = "out of memory" in text or "allocate memory" in text
    return _MEMORY if full else _DEVICE if "CUDA error" in text else None
