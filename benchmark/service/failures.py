"""Failures: whether this machine or a submission is to blame, and what may be published of them."""

import errno
import os
import re
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmark.models.memory import OutOfMemory, is_out_of_memory
from benchmark.models.servers import ServerFault
from divbench.core.errors import ConfigurationError, DivBenchError, UnknownSuite
from submissions.storage.file_store import LocalDiskFault
from submissions.untrusted.plain_text import one_line
from submissions.untrusted.process import SECRET_NAME
from submissions.work_queue.schema import MAX_LOG_LINES, UnknownSubmission

MAX_HOST_FAILURES = 3  # in a row, after which a worker ends
_MEMORY = "free some memory or add more, or choose a smaller model, another dtype or another --device"
_DISK = "free disk space (results, caches, temporary files), or grant write permission"
_DEVICE = "start the worker again; if that does not help, check the device and its driver"
_DISK_ERRORS = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO),
    *(errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE),
}
_REMOVED = "[removed]"
_SHORTEST_SECRET = 8  # letters; a shorter value, such as "1", may be part of any word
_SECRETS = (
    re.compile(r"\b(?:hf_|sk-|gh[a-z]_|xox[a-z]-)[A-Za-z0-9_-]{8,}"),
    re.compile(r"(?<=Bearer )\S+|(?<=Basic )\S+", re.IGNORECASE),
    re.compile(r"(?<=://)[^/\s@]+(?=@)"),
    re.compile(r"(?i)\b(?:token|api[_-]?key|secret|password|signature|x-amz-[a-z-]+)\b\s*[=:]\s*['\"]?[^\s'\"&,)]+"),
)
_HOMES = re.compile(r"(?:/home/|/Users/|[A-Za-z]:\\Users\\)[^/\\\s'\"]+|/root(?=[/\s'\"]|$)")
_PATH = re.compile(
    r"(?<![\w/:.…~])(?:/[^/\s'\"<>|]+)+/(?=[^/\s'\"<>|]+/[^/\s'\"<>|]+)|(?<!\w)[A-Za-z]:\\(?:[^\\\s]+\\)+"
)


class HostFault(ConfigurationError):
    """This machine failed too often to continue."""


@dataclass(slots=True)
class HostHealth:
    """Counts the failures of this machine."""

    limit: int = MAX_HOST_FAILURES  # host failures, with nothing scored in between, after which the worker ends
    failures: int = 0  # host failures since something was last scored
    scored: int = 0
    met: dict[str, int] = field(default_factory=dict)  # value of `scored` at the last host failure of each submission
    # Root cause of the last host failure, so that one shared by several submissions is counted once.
    last: BaseException | None = None

    def record_success(self) -> None:
        """Record that something was scored."""
        self.failures = 0
        self.scored += 1

    def record_failure(self, submission_id: str, error: BaseException) -> bool:
        """Return whether a failure appears to be this machine's fault; if so, count it.

        If a submission has a second host failure although others were scored here since its first, the submission is
        to blame: it may be too large, and would otherwise end one worker after another.
        """
        if hint_of(error) is None or self.scored > self.met.get(submission_id, self.scored):
            return False
        self.met[submission_id] = self.scored
        *_, root = _causes(error)
        self.failures += self.last is None or root is not self.last
        # Without the traceback, which would keep its local variables alive.
        self.last = None if root is error else root.with_traceback(None)
        return True

    def check(self, error: BaseException) -> None:
        """End the worker by a `HostFault` if there were too many host failures."""
        if self.failures >= self.limit:
            times = "time" if self.failures == 1 else "times in a row"
            message = f"this machine failed {self.failures} {times}, the last one with: {public_message(error)}"
            raise HostFault(message, hint_of(error) or "") from error


def hint_of(error: BaseException) -> str | None:
    """Return what to do about a host failure (of the machine or of its configuration); None for any other error."""
    return next((hint for cause in _causes(error) if (hint := _hint(cause)) is not None), None)


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
        return error.hint or "check the options and environment of this worker"
    if isinstance(error, ServerFault) and (error.kind == "transient" or error.status in {401, 403, 404}):
        return error.hint or "check the judge's server"
    return _DEVICE if isinstance(error, RuntimeError) and "CUDA error" in str(error) else None


def public_text(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return a text without tokens, keys, values of environment variables named like secrets, and local folders."""
    values = {value for name, value in environment.items() if SECRET_NAME.search(name)}
    for value in sorted(values, key=len, reverse=True):
        if len(value) >= _SHORTEST_SECRET and not Path(value).is_dir():
            text = text.replace(value, _REMOVED)
    for secret in _SECRETS:
        text = secret.sub(_REMOVED, text)
    home = str(Path.home())
    if len(home) > 1:
        text = text.replace(home, "~")
    return _PATH.sub("…/", _HOMES.sub("~", text))


def public_message(error: BaseException) -> str:
    """Return an error's message as one public line."""
    text = error.message if isinstance(error, DivBenchError) else f"{type(error).__name__}: {error}"
    return one_line(public_text(text))


def log_tail(error: BaseException) -> str:
    """Return the last lines of an error's traceback, redacted, for the state of a submission."""
    text = public_text("".join(traceback.format_exception(error)))
    lines = [one_line(line) for line in text.splitlines()]
    return "\n".join([line for line in lines if line][-MAX_LOG_LINES:])
