"""The queue of the submission service as tables of text, in which every cell is one printable line."""

from collections.abc import Sequence
from datetime import datetime
from typing import get_args

from submissions.untrusted.plain_text import one_line
from submissions.work_queue.printing import duration_text, history_cells, person, standing, when
from submissions.work_queue.schema import Listing, State, StateName, utc_seconds

QUEUE_HEADERS = ("position", "system", "suite", "submitter", "state", "attempt", "since", "submitted", "id")
STATES: tuple[StateName, ...] = get_args(StateName)
MAX_ROWS = 1000


def queue_rows(listing: Listing, now: datetime, states: Sequence[str] = ()) -> list[list[str]]:
    """Rows under `QUEUE_HEADERS`: the queue in order, submissions being scored, then the others, latest change first.

    Args:
        states: States to keep; empty: all.
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
    """Sentences about the length of the queue and the last activity of a worker."""
    place = listing.queue_position("", now)
    lines = [f"{place.waiting} waiting, {place.claimed} being scored, {len(listing.states)} in total."]
    if place.worker_seen is None:
        lines.append("No worker has been seen yet.")
    else:
        lines.append(f"A worker was last active {duration_text(utc_seconds(now) - place.worker_seen)} ago.")
    return " ".join(lines)


def find(listing: Listing | None, submission_id: str | None) -> State | None:
    """The submission with an id; None if there is none."""
    states = () if listing is None else listing.states
    return next((state for state in states if state.submission_id == submission_id), None)


def choices(listing: Listing | None) -> list[tuple[str, str]]:
    """Label and id of each submission, the latest first, for a dropdown."""
    states = () if listing is None else listing.states[::-1][:MAX_ROWS]
    return [
        (one_line(f"{state.name} · {state.submission_id} · {state.current.state}"), state.submission_id)
        for state in states
    ]


def history_rows(state: State) -> list[list[str]]:
    """The history of a submission, as rows under `HISTORY_HEADERS`."""
    return [list(map(one_line, history_cells(record))) for record in state.history]


def details(state: State, listing: Listing, now: datetime) -> str:
    """Lines of text about the submitter, state, results and problems of a submission."""
    place = listing.queue_position(state.submission_id, now)
    lines = [f"{state.name} ({state.submission_id}) responds to {state.suite}; submitted by {person(state.submitter)}."]
    if place.position is not None:
        lines.append(f"It is number {place.position} of {place.waiting} in the queue; {place.claimed} being scored.")
    else:
        lines.append(f"It is {standing(state, utc_seconds(now))}.")
    if state.results and state.current.state != "withdrawn":  # withdrawing deletes the results
        lines.append(f"Results: {', '.join(state.results)}.")
    for problem in state.current.problems:
        row = "" if problem.row is None else f", row {problem.row}"
        field = f", {problem.field}" if problem.field else ""
        lines.append(f"{problem.severity}: {problem.file}{row}{field}: {problem.message} ({problem.hint})")
    lines += [f"log: {line}" for line in state.current.log]
    return "\n".join(one_line(line, 1200) for line in lines)
