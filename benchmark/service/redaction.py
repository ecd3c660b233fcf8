"""Removes secrets and local paths from errors and logs before they are published."""

import os
import re
import traceback
from collections.abc import Mapping
from pathlib import Path

from divbench.core.errors import DivBenchError
from submissions.untrusted.limited_process import SECRET_NAME
from submissions.untrusted.plain_text import one_line
from submissions.work_queue.schema import MAX_LOG_LINES

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
