"""Messages to submitters about validation and submitting, as plain text."""

from datetime import datetime

from divbench.core.errors import counted
from leaderboard.app.submitting.intake import Checked
from submissions.checking.response_kinds import kinds_text
from submissions.untrusted.plain_text import one_line
from submissions.work_queue.printing import person, when
from submissions.work_queue.schema import Listing, Receipt


def rejected_text(found: Checked) -> str:
    """The message for a rejected submission; the table below it lists the problems."""
    errors, warnings = found.report["errors"], found.report["warnings"]
    lines = [f"Rejected: {counted(errors, 'error')}, {counted(warnings, 'warning')}. Nothing was saved."]
    if errors + warnings > len(found.rows):
        lines.append(f"Only the first {len(found.rows)} problems are shown, at most 200 of each kind.")
    return " ".join(lines)


def accepted_text(found: Checked, address: str | None, *, login: bool) -> str:
    """The message for a valid submission, with what happens next.

    Args:
        address: Address of the store that takes submissions; None if there is none.
    """
    manifest, counts = found.manifest, found.report["counts"]
    assert manifest is not None  # noqa: S101 - it was accepted
    lines = [
        f"{'Valid' if address is None else 'Accepted'}: {manifest.name} as {found.report['id']}.",
        f"{manifest.suite}, {counted(counts['prompts'], 'prompt')}, {counted(counts['responses'], 'response')} "
        f"(k = {manifest.generation.k}): {kinds_text(counts)}. "
        f"{counted(found.report['warnings'], 'warning')}.",
    ]
    if unused := found.report.get("passed_over"):
        names = ", ".join(unused[:20]) + (", …" if len(unused) > 20 else "")
        lines.append(f"Unused fields of the file: {names}.")
    if address is None:
        lines.append(
            "This board shows a results folder and accepts no submissions. Use divbench submit DIR --to STORE to "
            "submit to a service, or divbench score DIR to score on your own machine."
        )
    else:
        who = "Submit it below under your login" if login else "Submit it below"
        lines.append(
            f"{who}. It then waits in the queue until a worker validates it again and scores it with every metric; "
            "then it appears on the board. You can follow its progress on this page by its id."
        )
    return "\n".join(one_line(line, 2000) for line in lines)


def receipt_text(receipt: Receipt, listing: Listing | None, address: str, now: datetime) -> str:
    """The receipt for a submission."""
    state = receipt.state
    if receipt.new:
        lines = [f"Submitted: {state.name} as {state.submission_id}, by {person(state.submitter)}."]
    else:
        known = f"was already submitted on {when(state.received)} and is {state.current.state}"
        lines = [f"{state.name} ({state.submission_id}) {known}. Nothing changed."]
    place = None if listing is None else listing.queue_position(state.submission_id, now)
    if place is not None and place.position is not None:
        lines.append(f"It is number {place.position} of {place.waiting} in the queue; {place.claimed} being scored.")
    lines += [
        f"The same responses were submitted as {twin.name}, {twin.submission_id}." for twin in receipt.same_rows[:10]
    ]
    lines.append(f"Follow it here or with: divbench submissions status {state.submission_id} --store {address}")
    return "\n".join(one_line(line, 2000) for line in lines)
