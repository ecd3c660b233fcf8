"""What a submitter is told of a check and of handing in: plain text."""

from datetime import datetime

from leaderboard.app.submitting.intake import Checked
from submissions.untrusted.plain_text import one_line
from submissions.work_queue.printing import person, when
from submissions.work_queue.schema import Listing, Receipt


def refused_text(found: Checked) -> str:
    """How much is wrong; the table beneath says what."""
    errors, warnings = found.report["errors"], found.report["warnings"]
    lines = [f"Refused: {_number(errors, 'error')}, {_number(warnings, 'warning')}. Nothing was kept."]
    if errors + warnings > len(found.rows):
        lines.append(f"The first {len(found.rows)} are shown, at most 200 of a kind.")
    return " ".join(lines)


def accepted_text(found: Checked, address: str | None, *, login: bool) -> str:
    """What was accepted, and what happens next.

    Args:
        found: With a manifest.
        address: Of the store that takes submissions; None where there is none.
        login: Whether submitters log in.
    """
    manifest, counts = found.manifest, found.report["counts"]
    assert manifest is not None  # noqa: S101 - it was accepted
    lines = [
        f"Accepted: {manifest.name} as {found.report['id']}.",
        f"{manifest.suite}, {counts['prompts']:,} prompts, {counts['responses']:,} responses (k = "
        f"{manifest.generation.k}): {counts['blank']} blank, {counts['placeholder']} placeholders, {counts['refused']} "
        f"refusals, {counts['cut_off']} cut off, {counts['repeated']} repeat an earlier one. "
        f"{_number(found.report['warnings'], 'warning')}.",
    ]
    if unused := found.report.get("passed_over"):
        names = ", ".join(unused[:20]) + (", …" if len(unused) > 20 else "")
        lines.append(f"Fields of the file that were not used: {names}.")
    if address is None:
        lines.append(
            "This board shows a folder of results and takes nothing in: divbench submit DIR --to STORE hands a "
            "submission in to a service, divbench score DIR scores it where you are."
        )
    else:
        who = "Hand it in below under your login" if login else "Hand it in below"
        lines.append(
            f"{who}. It then waits in the queue; a worker checks it again, scores it with every metric, and its row "
            "appears on the board. You can follow it on this page by its id."
        )
    return "\n".join(one_line(line, 2000) for line in lines)


def receipt_text(receipt: Receipt, listing: Listing | None, address: str, now: datetime) -> str:
    """What came of handing in."""
    state = receipt.state
    if receipt.new:
        lines = [f"Handed in: {state.name} as {state.submission_id}, by {person(state.submitter)}."]
    else:
        known = f"was handed in before, on {when(state.received)}, and is {state.current.state}"
        lines = [f"{state.name} ({state.submission_id}) {known}. Nothing was changed."]
    place = None if listing is None else listing.queue_position(state.submission_id, now)
    if place is not None and place.position is not None:
        lines.append(f"It is number {place.position} of {place.waiting} that wait; {place.claimed} being scored.")
    lines += [f"The same answers are there as {twin.name}, {twin.submission_id}." for twin in receipt.same_rows[:10]]
    lines.append(f"Follow it here, or: divbench submissions status {state.submission_id} --store {address}")
    return "\n".join(one_line(line, 2000) for line in lines)


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
