"""The queue of the submission service as tables of text. Pure; every cell is one printable line."""

from collections.abc import Sequence
from datetime import datetime

from submissions.untrusted.plain_text import one_line
from submissions.work_queue.printing import duration_text, person, standing, when
from submissions.work_queue.schema import Listing, State, utc_seconds

QUEUE_HEADERS = ("place", "system", "suite", "submitter", "state", "attempt", "for", "handed in", "id")
HISTORY_HEADERS = ("when", "state", "attempt", "by", "until", "why")
STATES = ("pending", "claimed", "scored", "refused", "failed", "withdrawn")
MAX_ROWS = 1000


def queue_rows(listing: Listing, now: datetime, states: Sequence[str] = ()) -> list[list[str]]:
    """The submissions under `QUEUE_HEADERS`: those that wait in their order, those being scored, then the last changed.

    Args:
        listing: All of them.
        now: The moment.
        states: To keep; none: all.
    """
    at = utc_seconds(now)
    places = {
        state.submission_id: place for place, state in enumerate(filter(lambda s: s.is_waiting(at), listing.states), 1)
    }
    kept = [state for state in listing.states if not states or state.current.state in states]
    kept.sort(key=lambda s: s.current.at, reverse=True)
    kept.sort(key=lambda s: places.get(s.submission_id, len(places) + (1 if s.is_leased(at) else 2)))
    return [_queue_row(state, places.get(state.submission_id), at) for state in kept[:MAX_ROWS]]


def _queue_row(state: State, place: int | None, now: datetime) -> list[str]:
    last = state.current
    cells = ["" if place is None else str(place), state.name, state.suite, person(state.submitter)]
    cells += [standing(state, now), str(last.attempt), duration_text(now - last.at), when(state.received)]
    return [one_line(cell) for cell in (*cells, state.submission_id)]


def queue_text(listing: Listing, now: datetime) -> str:
    """How long the queue is, and whether anybody works on it."""
    place = listing.queue_position("", now)
    lines = [f"{place.waiting} wait, {place.claimed} being scored, {len(listing.states)} in all."]
    if place.worker_seen is None:
        lines.append("No worker was ever seen here.")
    else:
        lines.append(f"A worker last wrote {duration_text(utc_seconds(now) - place.worker_seen)} ago.")
    return " ".join(lines)


def find(listing: Listing | None, submission_id: str | None) -> State | None:
    """A submission of the listing."""
    states = () if listing is None else listing.states
    return next((state for state in states if state.submission_id == submission_id), None)


def choices(listing: Listing | None) -> list[tuple[str, str]]:
    """Submissions to choose from, the last handed in first: a label, and the id."""
    states = () if listing is None else listing.states[::-1][:MAX_ROWS]
    return [
        (one_line(f"{state.name} · {state.submission_id} · {state.current.state}"), state.submission_id)
        for state in states
    ]


def history_rows(state: State) -> list[list[str]]:
    """All that happened to a submission, under `HISTORY_HEADERS`."""
    made = []
    for record in state.history:
        until = "" if record.lease_until is None else when(record.lease_until)
        cells = (when(record.at), record.state, str(record.attempt), record.by, until, record.reason or "")
        made.append([one_line(cell) for cell in cells])
    return made


def details(state: State, listing: Listing, now: datetime) -> str:
    """Whose a submission is, where it stands, and what came of it: lines of text."""
    place = listing.queue_position(state.submission_id, now)
    lines = [f"{state.name} ({state.submission_id}) answers {state.suite}; handed in by {person(state.submitter)}."]
    if place.position is not None:
        lines.append(f"It is number {place.position} of {place.waiting} that wait; {place.claimed} being scored.")
    else:
        lines.append(f"It is {standing(state, utc_seconds(now))}.")
    if state.results and state.current.state != "withdrawn":  # whose results went with it
        lines.append(f"Results: {', '.join(state.results)}.")
    for problem in state.current.problems:
        row = "" if problem.row is None else f", row {problem.row}"
        field = f", {problem.field}" if problem.field else ""
        lines.append(f"{problem.severity}: {problem.file}{row}{field}: {problem.message} ({problem.hint})")
    lines += [f"log: {line}" for line in state.current.log]
    return "\n".join(one_line(line, 1200) for line in lines)
