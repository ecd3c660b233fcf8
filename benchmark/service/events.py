"""What a worker says: one JSON object a line for machines, and the same in words for people."""

import json
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Protocol, TextIO

from submissions.untrusted.plain_text import one_line

# For people; an event that is not named here is said by its name and facts.
WORDS: Mapping[str, str] = {
    "adopted": "adopted {submission}, {system}: it came as a proposal",
    "passed_over": "passed over {submission}: {reason}",
    "claimed": "claimed {submission}, {system}, attempt {attempt}",
    "scored": "scored {submission} in {seconds} s: {prompts} prompts, result {result}",
    "refused": "refused {submission}: {reason}",
    "failed": "failed {submission} at attempt {attempt}: {reason}",
    "released": "released {submission}: {reason}",
    "lost": "lost {submission}, nothing was published: {reason}",
    "machine_fault": "fault {faults} in a row of this machine, at {submission}: {reason}",
    "actor_lost": "{reason}",
    "stopped": "stopped: {reason}",
    "waiting": "waiting {seconds} s: {reason}",
    "ended": "ended: {scored} scored, {refused} refused, {failed} failed",
}


class EventSink(Protocol):
    """Takes events; any thread may call it."""

    def __call__(self, event: str, /, **facts: Any) -> None:
        """Say that something happened."""
        ...


def teller(worker: str, out: TextIO, words: Callable[[str], None]) -> EventSink:
    """Says events on a stream as JSON lines, and in words.

    Args:
        worker: Its name, which stands in each event.
        out: For the lines; each is written at once. Where nobody reads it any more, the work goes on.
        words: Takes the line for people.
    """
    lock = threading.Lock()

    def tell(event: str, /, **facts: Any) -> None:
        at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        line = json.dumps({"event": event, "at": at, "worker": worker, **facts}, allow_nan=False)
        with lock, suppress(OSError):
            out.write(f"{line}\n")
            out.flush()
            words(one_line(error_text(event, facts), 500))

    return tell


def error_text(event: str, facts: Mapping[str, Any]) -> str:
    """An event for people."""
    if (words := WORDS.get(event)) is not None:
        return words.format(**facts)
    return f"{event}: {', '.join(f'{name} {value}' for name, value in facts.items())}"
