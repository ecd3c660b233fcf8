"""Print the queue in a terminal and as JSON. Untrusted names and reasons are printed as text, never as markup."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from divbench.core.errors import counted
from divbench.core.tables import Styled, Table, plain, styled, to_terminal
from submissions.checking.printing import print_findings
from submissions.untrusted.findings import Findings, Problem
from submissions.work_queue.schema import Identity, QueuePosition, Receipt, Record, State

HISTORY_HEADERS = ("time", "state", "attempt", "by", "waits", "reason")
_COLOURS = {"scored": "green", "rejected": "red", "failed": "red", "withdrawn": "dim"}


def when(time: datetime) -> str:
    """Format a time for people."""
    return f"{time:%Y-%m-%d %H:%M} UTC"


def duration_text(span: timedelta) -> str:
    """Format a duration in one unit.

    >>> duration_text(timedelta(seconds=50)), duration_text(timedelta(hours=30)), duration_text(timedelta(days=3))
    ('50 s', '30 h', '3 days')
    """
    seconds = max(0, int(span.total_seconds()))
    for size, unit, from_ in ((86400, "days", 2), (3600, "h", 2), (60, "min", 2)):
        if seconds >= from_ * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def standing(state: State) -> str:
    """Return the state in words, with a note on a pause."""
    return "pending, after a pause" if state.current.state == "pending" and state.wait else state.current.state


def person(submitter: Identity) -> str:
    """Return a submitter's name, with a note if no login verifies it."""
    return submitter.name if submitter.verified else f"{submitter.name} (not verified)"


def state_json(state: State) -> dict[str, Any]:
    """Return a submission as `--json` prints it."""
    known = state.model_dump(mode="json", exclude={"history", "signature"})
    history = [record.model_dump(mode="json", exclude_defaults=True) for record in state.history]
    return known | {"state": state.current.state, "waits": state.current.state == "pending", "history": history}


def receipt_json(receipt: Receipt, position: QueuePosition | None) -> dict[str, Any]:
    """Return a receipt as `--json` prints it."""
    return {
        "id": receipt.state.submission_id,
        "new": receipt.new,
        "state": receipt.state.current.state,
        "pull_request": receipt.address,
        "queue_position": None if position is None else position.as_json(),
        "same_rows": [state.submission_id for state in receipt.same_rows],
        "warnings": receipt.warnings,
    }


def print_receipt(
    receipt: Receipt, position: QueuePosition | None, folder: Path, to: str, console: Console, aside: Console
) -> None:
    """Print a receipt and how to follow the submission; warnings go to the second console."""
    state = receipt.state
    proposed = receipt.address is not None
    if receipt.new:
        done = "Proposed: " if proposed else "Submitted: "
        console.print(Text.assemble((done, "green"), plain(state.name), f" as {state.submission_id}"))
    else:
        known = f" was already submitted as {state.submission_id} on {when(state.received)}"
        console.print(Text.assemble(plain(state.name), known, f" and is {state.current.state}. Nothing was changed."))
        if state.current.state == "withdrawn":
            console.print("  The operator withdrew it; ask them before you submit these responses in another form.")
    if position is not None and position.position is not None:
        console.print(f"  {_position(position)}")
    if proposed:
        console.print(f"Waiting to be merged: {receipt.address}", markup=False, soft_wrap=True)
    follow = "Follow it once it is merged and a worker has found it" if proposed else "Follow it"
    console.print(
        f"{follow}: divbench submissions status {state.submission_id} --store {to}", markup=False, soft_wrap=True
    )
    for twin in receipt.same_rows:
        line = Text.assemble(
            "the store already has the same generations: ", plain(twin.name), f", {twin.submission_id}"
        )
        aside.print(line, style="yellow")
    if receipt.warnings:
        line = Text(f"{counted(receipt.warnings, 'warning')}: see divbench validate {folder}")
        aside.print(line, style="yellow")


def print_list(states: Sequence[State], address: str, now: datetime, console: Console) -> None:
    """Print a table of submissions in the order of the queue."""
    if not states:
        console.print(f"there are no submissions in {address}", markup=False)
        return
    columns = ("id", "system", "suite", "submitter", "state", "attempt", "age", "in this state for")
    rows = []
    for state in states:
        last = state.current
        ages = (duration_text(now - state.received), duration_text(now - last.at))
        texts = (state.name, state.suite, person(state.submitter), standing(state))
        cells = styled((*texts, last.attempt, *ages), _COLOURS.get(last.state, ""))
        rows.append((Styled(state.submission_id, "code"), *cells))  # an id is never broken, so that it can be copied
    console.print(to_terminal(Table("Submissions", columns, rows, numbers=columns[5:])))


def print_state(state: State, console: Console) -> None:
    """Print a submission's name, id, suite, time and submitter."""
    about = f" ({state.submission_id}) for suite {state.suite}; submitted on {when(state.received)} by "
    console.print(Text.assemble(plain(state.name), about, plain(person(state.submitter))))


def print_status(state: State, position: QueuePosition, now: datetime, console: Console) -> None:
    """Print a submission's state and position, for its submitter."""
    print_state(state, console)
    line = standing(state)
    if position.position is not None:
        line = f"{line}: {_position(position)}"
    console.print(line, style=_COLOURS.get(state.current.state))
    if state.current.state in ("pending", "claimed"):
        seen = "no worker has been seen yet" if position.worker_seen is None else None
        console.print(seen or f"a worker was last seen {duration_text(now - (position.worker_seen or now))} ago")


def _position(position: QueuePosition) -> str:
    return f"number {position.position} of {position.waiting} waiting, {position.claimed} being scored"


def history_cells(record: Record) -> tuple[str, ...]:
    """Return a record of a submission's history as cells under `HISTORY_HEADERS`."""
    wait = duration_text(timedelta(seconds=record.wait)) if record.wait else ""
    return when(record.at), record.state, str(record.attempt), record.by, wait, record.reason or ""


def print_history(state: State, console: Console) -> None:
    """Print a submission's history, with the problems of a rejection and the logs of failed attempts below."""
    rows = [styled(history_cells(record), _COLOURS.get(record.state, "")) for record in state.history]
    console.print(to_terminal(Table("History", HISTORY_HEADERS, rows, numbers=("attempt",))))
    for record in state.history:
        if record.problems:
            findings = Findings()
            for problem in record.problems:
                findings.add(Problem(**problem.model_dump()))
            print_findings(findings, console)
        if record.log:
            console.print(f"The end of the log of attempt {record.attempt - (record.state == 'pending')}:")
            for line in record.log:
                console.print(Text("  ") + plain(line), soft_wrap=True)


def print_files(
    files: Sequence[str], results: Sequence[str], same: Sequence[State], address: str, console: Console
) -> None:
    """Print the paths of a submission's files and results, and the submissions with the same generations."""
    console.print(f"In {address}:", markup=False, soft_wrap=True)
    for path in (*files, *results):
        console.print(f"  {path}", markup=False, soft_wrap=True)
    for twin in same:
        line = Text.assemble("Same generations: ", plain(twin.name), f", {twin.submission_id}")
        console.print(line)
