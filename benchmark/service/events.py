"""Reports the events of a worker: as JSON lines for programs, and as messages for people."""

import json
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Protocol, TextIO

from submissions.untrusted.plain_text import one_line

# For people; an event that is not listed is shown by its name and facts.
SENTENCES: Mapping[str, str] = {
    "adopted": "adopted {submission}, {system}: it was submitted as a pull request",
    "passed_over": "passed over {submission}: {reason}",
    "claimed": "claimed {submission}, {system}, attempt {attempt}",
    "scored": "scored {submission} in {seconds} s: {prompts} prompts, result {result}",
    "rejected": "rejected {submission}: {reason}",
    "failed": "failed {submission} at attempt {attempt}: {reason}",
    "released": "released {submission}: {reason}",
    "lost": "lost the claim on {submission}, nothing was published: {reason}",
    "host_failure": "host failure {faults} in a row, at {submission}: {reason}",
    "actor_lost": "{reason}",
    "stopped": "stopped: {reason}",
    "waiting": "waiting {seconds} s: {reason}",
    "there": "left {submission} as it is: it already has this result",
}
_OUTCOMES: Mapping[str, str] = {"there": "already there", "passed_over": "passed over"}  # others are words already


class EventSink(Protocol):
    """Takes events; any thread may call it."""

    def __call__(self, event: str, /, **facts: Any) -> None:
        """Report that something happened."""
        ...


def event_writer(worker: str, out: TextIO, show: Callable[[str], None]) -> EventSink:
    """Return a sink that writes events as JSON lines and shows them in words."""
    lock = threading.Lock()

    def emit(event: str, /, **facts: Any) -> None:
        at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        line = json.dumps({"event": event, "at": at, "worker": worker, **facts}, allow_nan=False)
        with lock, suppress(OSError):
            out.write(f"{line}\n")
            out.flush()
            show(one_line(_in_words(event, facts), 500))

    return emit


def _in_words(event: str, facts: Mapping[str, Any]) -> str:
    if event == "waiting" and "said" in facts:
        return f"waiting {facts['seconds']} s for {facts['reason']}: {facts['said']}"
    if event == "ended":
        return f"ended: {', '.join(f'{number} {_OUTCOMES.get(how, how)}' for how, number in facts.items())}"
    if (sentence := SENTENCES.get(event)) is not None:
        return sentence.format(**facts)
    return f"{event}: {', '.join(f'{name} {value}' for name, value in facts.items())}"
