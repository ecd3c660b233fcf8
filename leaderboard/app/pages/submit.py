"""Page Submit: validate a submission, submit it, and follow it through the queue."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import gradio as gr

from datasets_build.load import SUITES
from divbench.core.errors import ConfigurationError, DivBenchError
from leaderboard.app import components
from leaderboard.app.permalinks import QUIET, chosen, chosen_several, count_on, remember, wire
from leaderboard.app.submitting.identity import login_is_real, submitter, takes_names
from leaderboard.app.submitting.intake import (
    ENDINGS,
    PROBLEM_HEADERS,
    Checked,
    Intake,
    error_text,
    form,
    with_stand_ins,
)
from leaderboard.app.submitting.messages import accepted_text, receipt_text, rejected_text
from leaderboard.data.live_results import LiveResults
from leaderboard.tables import submission_queue
from submissions.checking.prompts import OWN
from submissions.choices import Mode, SystemType
from submissions.gaming.baselines import DEMO_TEXTS
from submissions.work_queue.printing import HISTORY_HEADERS

LEAD = """Validate a system's responses: the page lists all problems by row, each with a suggested fix. You can then
submit a valid submission to be scored with every metric; **its responses and all fields below become as public as the
store that receives them**. It can be withdrawn later, but its name, the submitter's and its history stay. On the
command line, use `divbench import`, `divbench validate` and `divbench submit`."""
WAYS = {
    "folder": "files of a submission folder",
    "file": "file of responses",
    "paste": "pasted text",
}
ABOUT_FOLDERS = """`manifest.json`, `generations.parquet` and optionally `reported.parquet`, up to 64 MB each, as
written by `divbench generate` and `divbench import`."""
ABOUT_LINES = """One JSON object per line with `prompt_id` and `responses` (a list), or one per response with
`prompt_id` and `response`. Optional fields: `prompt`, `sample_idx`, `finish_reason`, `model`, `temperature`, `top_k`,
`top_p`, `max_tokens`, `seed`."""
ABOUT_FORMATS = f"""*jsonl*: {ABOUT_LINES[0].lower()}{ABOUT_LINES[1:]}
*csv*: the same names as columns, one response per row. *noveltybench*: generations.jsonl, partitions.jsonl or
scores.jsonl from its code. *lm-eval*: sample files of lm-evaluation-harness. Up to 64 MB."""
EXAMPLE_FIELDS = {"name": "an example", "suite": "demo", "system.type": "human", "submitter.name": "me"}
EXAMPLE = '{"prompt_id": "demo-00", "responses": ["one response", "another response"]}'
NO_QUEUE = (
    "This board shows a results folder: it validates, and takes no submissions. To submit to a service, use "
    "`divbench submit`."
)
_CHOICES = ("way", "state", "submission")
NO_SUBMISSION = "There is no submission with the id in the link."
EDITED = "This was changed after it was validated. Validate it again to submit it."
FRESH_SECONDS = 5.0  # age from which the button rereads the snapshot
_TURNS: Mapping[str, Any] = {"api_visibility": "private", "concurrency_limit": 2, "concurrency_id": "submissions"}


@dataclass(frozen=True, slots=True)
class _Given:
    """Components for the upload."""

    way: gr.Radio
    panels: tuple[gr.Column, ...]  # one for each kind of upload, and the form
    files: gr.File
    file: gr.File
    kind: gr.Dropdown
    pasted: gr.Textbox
    fields: dict[str, Any]  # by the manifest's field names
    check: gr.Button
    example: gr.Button


@dataclass(frozen=True, slots=True)
class _Verdict:
    """Components for the outcome of the validation and for submitting."""

    token: gr.State
    text: gr.Textbox
    problems: gr.Dataframe
    panel: gr.Column
    name: gr.Textbox
    submit_kept: gr.Button
    receipt: gr.Textbox


@dataclass(frozen=True, slots=True)
class _Queue:
    """Components for the queue."""

    states: gr.Dropdown
    refresh: gr.Button
    text: gr.Textbox
    table: gr.Dataframe
    which: gr.Dropdown
    details: gr.Textbox
    history: gr.Dataframe


def build(page: gr.Blocks, live: LiveResults) -> None:
    """Build the page: upload, validation result, submitting, queue."""
    intake = Intake()
    has_queue = live.source.store is not None
    gr.Markdown(LEAD if has_queue else f"{LEAD} {NO_QUEUE}", elem_classes="lead")
    if login_is_real():
        with gr.Row():  # at the top, because signing in leaves the page and discards a validated submission
            gr.LoginButton(size="md", scale=0, min_width=240, elem_id="login")
    given, verdict = _given(), _verdict(intake)
    with gr.Column(visible=has_queue, elem_id="queue-panel"):
        queue = _queue()
    inputs = [given.way, queue.states, queue.which]
    outputs = [*given.panels, queue.text, queue.table, queue.details, queue.history]

    def restore(asked: Mapping[str, str]) -> list[Any]:
        offered = submission_queue.choices(live.snapshot().queue)
        return [
            chosen(asked, "way", list(WAYS), "folder"),
            chosen_several(asked, "state", submission_queue.STATES, []),
            gr.Dropdown(
                offered,
                value=(which := chosen(asked, "submission", [name for _, name in offered], None)),
                visible=bool(offered),
                info=NO_SUBMISSION if asked.get("submission") and which is None else "",
            ),
        ]

    def show(given: Mapping[str, Any]) -> list[Any]:
        return [*_panels(given["way"]), *_waiting(live, given["state"], given["submission"])]

    def show_values(*values: Any) -> list[Any]:
        return show(dict(zip(_CHOICES, values, strict=True)))

    def again(way: str, states: list[str], which: str | None) -> list[Any]:
        snapshot = live.snapshot()
        if snapshot.fault is not None or (datetime.now(UTC) - snapshot.as_of).total_seconds() > FRESH_SECONDS:
            live.reload()
        return restore({"way": way, "state": ",".join(states), "submission": which or ""})

    wire(page, live, inputs, restore, show, outputs)
    _wire_check(live, intake, given, verdict)
    _wire_edits(intake, given, verdict)
    _wire_example(intake, given, verdict)
    for event in (_wire_submit(live, intake, verdict, queue), queue.refresh.click(again, inputs, inputs, **QUIET)):
        event.then(show_values, inputs, outputs, js=remember(_CHOICES), **QUIET).then(None, js=count_on("shown"))


def _given() -> _Given:
    ways = [(words, way) for way, words in WAYS.items()]
    way = gr.Radio(ways, value="folder", label="Upload", elem_id="way")
    with gr.Column() as folder:
        gr.Markdown(ABOUT_FOLDERS)
        files = gr.File(label="Files", file_count="multiple", height=180, elem_id="files")
    with gr.Column(visible=False) as single:
        gr.Markdown(ABOUT_FORMATS)
        kind = gr.Dropdown(list(ENDINGS), value="jsonl", label="Format", elem_id="kind")
        file = gr.File(label="File", height=180, elem_id="file")
    with gr.Column(visible=False) as paste:
        gr.Markdown(f"{ABOUT_LINES} Up to 0.5 MB; upload a larger file.")
        pasted = gr.Textbox(label="JSON Lines", placeholder=EXAMPLE, lines=6, max_lines=16, elem_id="pasted")
    with gr.Column(visible=False) as about:
        fields = _fields()
    with gr.Row():
        check = gr.Button("Validate", variant="primary", scale=0, min_width=160, elem_id="check")
        example = gr.Button("Fill in an example", scale=0, min_width=240, elem_id="example")
    return _Given(way, (folder, single, paste, about), files, file, kind, pasted, fields, check, example)


def _panels(way: str) -> list[gr.Column]:
    """The panels of a kind of upload: folder, file, text, form."""
    return [gr.Column(visible=visible) for visible in (way == "folder", way == "file", way == "paste", way != "folder")]


def _fields() -> dict[str, Any]:
    """The form for a manifest: required fields, then optional ones."""
    suites = [suite.name for suite in SUITES]
    with gr.Row(equal_height=False):
        needed = {
            "name": gr.Textbox(label="System name on the board", max_length=100, elem_id="f-name"),
            "suite": gr.Dropdown([*suites, OWN], value=suites[0], label="Suite", elem_id="f-suite"),
            "system.type": gr.Dropdown([*get_args(SystemType)], value="model", label="System type", elem_id="f-type"),
            "submitter.name": gr.Textbox(label="Submitter", max_length=100, elem_id="f-submitter"),
            "submitter.date": gr.Textbox(
                label="Date of the responses (default: unknown)", placeholder="YYYY-MM-DD", elem_id="f-date"
            ),
        }
    with gr.Accordion("Details of the system and its sampling", open=False), gr.Row(equal_height=False):
        more = {
            "system.model_id": gr.Textbox(label="Model (Hub id, or the provider's name)", max_length=200),
            "system.revision": gr.Textbox(label="Revision of the weights or API", max_length=200),
            "system.parameters": _number("Parameters (in full: 7000000000)"),
            "system.open_weights": gr.Dropdown([("unknown", ""), "open", "closed"], value="", label="Weights"),
            "system.licence": gr.Textbox(label="Licence", max_length=200),
            "generation.mode": gr.Dropdown([("unknown", ""), *get_args(Mode)], value="", label="Sampling mode"),
            "generation.temperature": _number("Temperature"),
            "generation.top_p": _number("Top-p"),
            "generation.top_k": _number("Top-k"),
            "generation.max_tokens": _number("Maximum tokens per response"),
            "generation.seed": _number("Seed"),
            "submitter.contact": gr.Textbox(label="Contact", max_length=200),
            "submitter.links": gr.Textbox(label="Links, one per line", lines=2),
            "reported": gr.Textbox(label="Source of the partition and scores in the file, if any", max_length=200),
            "notes": gr.Textbox(label="Notes", lines=2, max_length=2000),
        }
    return needed | more


def _number(label: str) -> gr.Textbox:
    """A field for a number that may be unknown; gr.Number would turn the unknown number of a closed part into 0."""
    return gr.Textbox(label=label, placeholder="unknown", max_length=40, elem_classes="a-number")


def _verdict(intake: Intake) -> _Verdict:
    text = gr.Textbox(label="Result", visible=False, interactive=False, lines=2, max_lines=12, elem_id="verdict")
    problems = components.table(
        "Problems by row",
        "problems",
        headers=list(PROBLEM_HEADERS),
        datatype="str",
        visible=False,
        wrap=True,
        column_widths=[90, 190, 70, 170, 330, 330],
    )
    with gr.Column(visible=False, elem_id="submit-panel") as panel:
        label = "Your name (shown as unverified, since there is no login)"
        name = gr.Textbox(label=label, visible=takes_names(), max_length=100, elem_id="submitter")
        with gr.Row():
            submit_kept = gr.Button("Submit", variant="primary", scale=0, min_width=160, elem_id="submit")
    receipt = gr.Textbox(label="Receipt", visible=False, interactive=False, lines=3, elem_id="receipt")
    token = gr.State(None, time_to_live=3600, delete_callback=intake.forget)
    return _Verdict(token, text, problems, panel, name, submit_kept, receipt)


def _queue() -> _Queue:
    gr.Markdown("## The queue")
    text = components.note("queue-text", 2)
    with gr.Row(equal_height=False):
        states = gr.Dropdown(
            list(submission_queue.STATES),
            multiselect=True,
            label="Show only these states",
            elem_id="state",
            elem_classes="keeps-all",
            scale=2,
        )
        refresh = gr.Button("Refresh", size="sm", scale=0, min_width=120, elem_id="refresh")
    table = components.table(
        "Submissions: first the queue in order, then the others, most recently changed first",
        "queue",
        headers=list(submission_queue.QUEUE_HEADERS),
        datatype="str",
        column_widths=[90, 240, 180, 160, 110, 90, 190, 190, 190],
    )
    which = gr.Dropdown([], label="History of", elem_id="submission")
    about = components.note("details", 2)
    history = components.table(
        "History",
        "history",
        headers=list(HISTORY_HEADERS),
        datatype="str",
        visible=False,
        wrap=True,
        column_widths=[190, 100, 90, 160, 190, 380],
    )
    return _Queue(states, refresh, text, table, which, about, history)


def _waiting(live: LiveResults, states: list[str], which: str | None) -> list[Any]:
    """The text and table of the queue, and the details and history of one submission."""
    listing, now = live.snapshot().queue, datetime.now(UTC)
    if listing is None:
        return ["", components.no_table(), gr.Textbox("", visible=False), components.no_table()]
    rows = submission_queue.queue_rows(listing, now, states)
    state = submission_queue.find(listing, which)
    shown: list[Any] = [submission_queue.queue_text(listing, now), gr.Dataframe(value=rows, visible=True)]
    if state is None:
        return [*shown, gr.Textbox("", visible=False), components.no_table()]
    history = gr.Dataframe(value=submission_queue.history_rows(state), visible=True)
    return [*shown, gr.Textbox(submission_queue.details(state, listing, now), visible=True), history]


def _wire_check(live: LiveResults, intake: Intake, given: _Given, verdict: _Verdict) -> None:
    def check(old: str | None, way: str, files: Any, file: Any, kind: str, pasted: str, *form_: Any) -> list[Any]:
        intake.forget(old)
        no_receipt = gr.Textbox("", visible=False)
        try:
            values = dict(zip(given.fields, form_, strict=True))
            known, faults = form(values)
            usable = known if faults is None else with_stand_ins(known, faults)
            if way == "folder":
                found, faults = intake.check_files([Path(each) for each in files or ()]), None
            elif usable is None and faults is not None:
                found, faults = faults, None
            elif way == "paste":
                found = intake.check_text(pasted or "", usable or known)
            elif file is None:
                raise ConfigurationError("no file was uploaded", "choose a file and wait for the upload to finish")
            else:
                found = intake.check_file(Path(file), kind, usable or known)
            if faults is not None:
                found = intake.add_faults(found, faults)
        except (DivBenchError, OSError) as error:
            said = gr.Textbox(f"Not validated: {error_text(error)}", visible=True)
            return [None, said, components.no_table(), gr.Column(visible=False), "", no_receipt]
        return [*_judged(live, found), no_receipt]

    inputs = [verdict.token, given.way, given.files, given.file, given.kind, given.pasted, *given.fields.values()]
    outputs = [verdict.token, verdict.text, verdict.problems, verdict.panel, verdict.name, verdict.receipt]
    given.check.click(check, inputs, outputs, **_TURNS).then(None, js=count_on("checked"))


def _wire_edits(intake: Intake, given: _Given, verdict: _Verdict) -> None:
    """Forget a valid submission once its text, file or form is edited, so that only what is shown can be submitted."""

    def edited(token: str | None) -> list[Any]:
        if token is None:
            return [gr.skip()] * 4
        intake.forget(token)
        return [None, gr.Textbox(EDITED, visible=True), components.no_table(), gr.Column(visible=False)]

    events = [each.input for each in (given.way, given.kind, given.pasted, *given.fields.values())]
    outputs = [verdict.token, verdict.text, verdict.problems, verdict.panel]
    gr.on([*events, given.files.change, given.file.change], edited, verdict.token, outputs, queue=False, **QUIET)


def _wire_example(intake: Intake, given: _Given, verdict: _Verdict) -> None:
    """Fill in a complete example submission, and remove what was said about the one before it."""

    def example(old: str | None) -> list[Any]:
        intake.forget(old)
        text = (DEMO_TEXTS / "varied.jsonl").read_text(encoding="utf-8")
        hidden = [gr.Textbox("", visible=False), components.no_table(), gr.Column(visible=False)]
        return [None, *hidden, "paste", *_panels("paste"), text, *EXAMPLE_FIELDS.values()]

    fields = [given.fields[name] for name in EXAMPLE_FIELDS]
    said = [verdict.token, verdict.text, verdict.problems, verdict.panel]
    filled = given.example.click(
        example, verdict.token, [*said, given.way, *given.panels, given.pasted, *fields], **QUIET
    )
    filled.then(None, js=count_on("filled"))


def _judged(live: LiveResults, found: Checked) -> list[Any]:
    """The token, the result's text, its problems, the panel for submitting and the name in it."""
    store, rows = live.source.store, found.rows
    problems = gr.Dataframe(value=rows or None, visible=bool(rows))
    if found.manifest is None:
        return [None, gr.Textbox(rejected_text(found), visible=True), problems, gr.Column(visible=False), ""]
    words = accepted_text(found, None if store is None else store.address, login=login_is_real())
    panel = gr.Column(visible=store is not None)
    return [found.token, gr.Textbox(words, visible=True), problems, panel, found.manifest.submitter.name]


def _wire_submit(live: LiveResults, intake: Intake, verdict: _Verdict, queue: _Queue) -> Any:
    def submit_kept(token: str | None, called: str, profile: gr.OAuthProfile | None, request: gr.Request) -> list[Any]:
        store = live.source.store
        try:
            if token is None or store is None:
                raise ConfigurationError("there is nothing to submit", "validate a submission first")
            by = submitter(called or "", None if profile is None else profile.username, dict(request.headers))
            receipt = intake.submit_kept(token, store, by, datetime.now(UTC))
        except (DivBenchError, OSError) as error:
            said = gr.Textbox(f"Not submitted: {error_text(error)}", visible=True)
            return [token, said, gr.Column(), gr.Dropdown()]
        listing = live.reload().queue
        said = gr.Textbox(receipt_text(receipt, listing, store.address, datetime.now(UTC)), visible=True)
        which = gr.Dropdown(submission_queue.choices(listing), value=receipt.state.submission_id)
        return [None, said, gr.Column(visible=False), which]

    outputs = [verdict.token, verdict.receipt, verdict.panel, queue.which]
    done = verdict.submit_kept.click(submit_kept, [verdict.token, verdict.name], outputs, **_TURNS)
    done.then(None, js=count_on("submitted"))
    return done
