"""Host failures: telling failures of this machine from those of a submission, and ending a worker after too many."""

import errno
from collections.abc import Iterator
from dataclasses import dataclass, field

from benchmark.models.causal_lm import OutOfMemory
from benchmark.models.device_errors import is_out_of_memory
from benchmark.models.http_client import ServerFault
from benchmark.service.redaction import public_message
from datasets_build.errors import ConfigurationError, UnknownSuite
from submissions.storage.commits import LocalDiskFault
from submissions.work_queue.errors import UnknownSubmission

MAX_HOST_FAILURES = 3  # in a row, after which a worker ends
_MEMORY = "give it more memory, end what else uses it, or choose a smaller model, --dtype or another --device"
_DISK = "make room on its disks (results, caches, temporary files), or give it the right to write there"
_DEVICE = "start the worker again; if that does not help, check the device and its driver"
_DISK_ERRORS = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO),
    *(errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE),
}


class HostFault(ConfigurationError):
    """This machine failed too often to go on."""


@dataclass(slots=True)
class HostHealth:
    """The record of this machine's failures.

    Attributes:
        limit: Number of host failures, with nothing scored in between, after which the worker ends.
        failures: Host failures since something was last scored.
        met: Number `scored` at the time of each submission's host failure.
        last: Root cause of the last host failure: one that several submissions meet at once is counted once.
    """

    limit: int = MAX_HOST_FAILURES
    failures: int = 0
    scored: int = 0
    met: dict[str, int] = field(default_factory=dict)
    last: BaseException | None = None

    def record_success(self) -> None:
        """Record that something was scored."""
        self.failures = 0
        self.scored += 1

    def record_failure(self, submission_id: str, error: BaseException) -> bool:
        """Return whether a failure is this machine's, as far as can be told; if so, count it.

        A submission that meets a second one, although others were scored here since its first, is itself at fault: it
        may be too large, and would otherwise end one worker after the other.
        """
        if hint_of(error) is None or self.scored > self.met.get(submission_id, self.scored):
            return False
        self.met[submission_id] = self.scored
        *_, root = _causes(error)
        self.failures += self.last is None or root is not self.last
        # Without its traceback, which would keep alive all that it refers to.
        self.last = None if root is error else root.with_traceback(None)
        return True

    def check(self, error: BaseException) -> None:
        """End the worker if there were too many host failures.

        Raises:
            HostFault: There were.
        """
        if self.failures >= self.limit:
            times = "time" if self.failures == 1 else "times in a row"
            message = f"this machine failed {self.failures} {times}, the last one with: {public_message(error)}"
            raise HostFault(message, hint_of(error) or "") from error


def hint_of(error: BaseException) -> str | None:
    """Return what to do about a host failure (of the machine or of its configuration); None for any other error."""
    return next((hint for each in _causes(error) if (hint := _hint(each)) is not None), None)


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__


def _hint(error: BaseException) -> str | None:
    if isinstance(error, LocalDiskFault) or (isinstance(error, OSError) and error.errno in _DISK_ERRORS):
        return _DISK
    full = isinstance(error, OutOfMemory) or is_out_of_memory(error)
    if full or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return _MEMORY
    if isinstance(error, ConfigurationError) and not isinstance(error, UnknownSuite | UnknownSubmission):
        return error.hint or "check how this worker was started"
    if isinstance(error, ServerFault) and (error.kind == "transient" or error.status in {401, 403, 404}):
        return error.hint or "check the server of the judge"
    return _DEVICE if isinstance(error, RuntimeError) and "CUDA error" in str(error) else None
