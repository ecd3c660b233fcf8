"""Page Submit: validate a submission, submit it, and follow it through the queue."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, get_args

import gradio as gr

from datasets_build.load import SUITES
from divbench.core.errors import ConfigurationError, DivBenchError
from divbench.core.tables import Table
from leaderboard.app import components
from leaderboard.app.identity import login_is_real, submitter, takes_names
from leaderboard.app.intake import (
    ENDINGS,
    Checked,
    Intake,
    accepted_text,
    error_text,
    form,
    receipt_text,
    rejected_text,
)
from leaderboard.app.permalinks import QUIET, chosen, chosen_several, count_on, plain_value, remember, wire
from leaderboard.data.live_results import LiveResults
from submissions.checking.prompts import OWN
from submissions.choices import Mode, SystemType
from submissions.gaming.baselines import DEMO_TEXTS
from submissions.untrusted.plain_text import one_line
from submissions.work_queue.printing import HISTORY_HEADERS, duration_text, history_cells, person, standing, when
from submissions.work_queue.schema import Listing, State, StateName, utc_seconds

LEAD = """Validate a system's responses: the page lists all problems by row, each with a suggested fix. """
QUEUE = """You can then submit a valid submission to be scored with every metric; **its responses and all fields below
become as public as the store that receives them**. It can be withdrawn later, but its name, the submitter's and its
history stay. On the command line, use `divbench import`, `divbench validate` and `divbench submit`."""
WAYS = {"folder": "files of a submission folder", "file": "file of responses", "paste": "pasted text"}
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
NO_QUEUE = """**This board takes no submissions**: download a valid one here, and score it on your own machine."""
NO_SUBMISSION = "There is no submission with the id in the link."
EDITED = "This was changed after it was validated. Validate it again to submit it."
QUEUE_COLUMNS = ("position", "system", "suite", "submitter", "state", "attempt", "since", "submitted", "id")
STATES: tuple[StateName, ...] = get_args(StateName)
MAX_ROWS = 1000
_CHOICES = ("way", "state", "submission")
_FRESH_SECONDS = 5.0  # age from which the button rereads the snapshot
_TURNS: Mapping[str, Any] = {"api_visibility": "private", "concurrency_limit": 2, "concurrency_id": "submissions"}


def queue_table(listing: Listing, now: datetime, states: Sequence[str] = ()) -> Table:
    """Return the queue in order, submissions being scored, then the others, latest change first; each cell one line."""
    at = utc_seconds(now)
    waiting = (state for state in listing.states if state.current.state == "pending")
    positions = {state.submission_id: position for position, state in enumerate(waiting, 1)}

    def order(state: State) -> int:
        return positions.get(state.submission_id, len(positions) + (1 if state.current.state == "claimed" else 2))

    shown = [state for state in listing.states if not states or state.current.state in states]
    shown.sort(key=lambda state: state.current.at, reverse=True)
    shown.sort(key=order)
    rows = []
    for state in shown[:MAX_ROWS]:
        last, position = state.current, positions.get(state.submission_id)
        cells = ["" if position is None else str(position), state.name, state.suite, person(state.submitter)]
        cells += [standing(state), str(last.attempt), duration_text(at - last.at), when(state.received)]
        rows.append([one_line(cell) for cell in (*cells, state.submission_id)])
    return Table("", QUEUE_COLUMNS, rows)


def queue_text(listing: Listing, now: datetime) -> str:
    """Return sentences about the length of the queue and the last activity of a worker."""
    queue = listing.queue_position("", now)
    text = f"{queue.waiting} waiting, {queue.claimed} being scored, {len(listing.states)} in total."
    if queue.worker_seen is None:
        return f"{text} No worker has been seen yet."
    return f"{text} A worker was last active {duration_text(utc_seconds(now) - queue.worker_seen)} ago."


def find(listing: Listing | None, submission_id: str | None) -> State | None:
    """Return the submission with an id; None if there is none."""
    states = () if listing is None else listing.states
    return next((state for state in states if state.submission_id == submission_id), None)


def submissions(listing: Listing | None) -> list[tuple[str, str]]:
    """Return the label and id of each submission, the latest first, for a dropdown."""
    states = () if listing is None else listing.states[::-1][:MAX_ROWS]
    return [(one_line(f"{s.name} · {s.submission_id} · {s.current.state}"), s.submission_id) for s in states]


def history_table(state: State) -> Table:
    """Return the history of a submission."""
    return Table("", HISTORY_HEADERS, [list(map(one_line, history_cells(record))) for record in state.history])


def details(state: State, listing: Listing, now: datetime) -> str:
    """Return lines of text about the submitter, state, results and problems of a submission."""
    queue = listing.queue_position(state.submission_id, now)
    lines = [f"{state.name} ({state.submission_id}) responds to {state.suite}; submitted by {person(state.submitter)}."]
    if queue.position is not None:
        lines.append(f"It is number {queue.position} of {queue.waiting} in the queue; {queue.claimed} being scored.")
    else:
        lines.append(f"It is {standing(state)}.")
    if state.results and state.current.state != "withdrawn":  # withdrawing deletes the results
        lines.append(f"Results: {', '.join(state.results)}.")
    for problem in state.current.problems:
        row = "" if problem.row is None else f", row {problem.row}"
        field = f", {problem.field}" if problem.field else ""
        lines.append(f"{problem.severity}: {problem.file}{row}{field}: {problem.message} ({problem.hint})")
    lines += [f"log: {line}" for line in state.current.log]
    return "\n".join(one_line(line, 1200) for line in lines)


@dataclass(frozen=True, slots=True)
class _Upload:
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
    download: gr.DownloadButton
    name: gr.Textbox
    submit: gr.Button
    receipt: gr.Textbox

    def outputs(self) -> list[Any]:
        """List the components that a validation updates."""
        return [self.token, self.text, self.problems, self.panel, self.download]


def build(page: gr.Blocks, live: LiveResults) -> None:
    """Build the page: upload, validation result, submitting, queue."""
    intake = Intake()
    has_queue = live.source.store is not None
    gr.Markdown(LEAD + (QUEUE if has_queue else NO_QUEUE), elem_classes="lead")
    if login_is_real():
        with gr.Row():  # at the top, because signing in leaves the page and discards a validated submission
            gr.LoginButton(size="md", scale=0, min_width=240, elem_id="login")
    upload, verdict = _upload(), _verdict(intake)
    with gr.Column(visible=has_queue, elem_id="queue-panel"):
        gr.Markdown("## The queue")
        text = components.note("queue-text", 2)
        with gr.Row(equal_height=False):
            states = gr.Dropdown(
                list(STATES),
                multiselect=True,
                label="Show only these states",
                elem_id="state",
                elem_classes="keeps-all",
                scale=2,
            )
            refresh = gr.Button("Refresh", size="sm", scale=0, min_width=120, elem_id="refresh")
        queue = components.table(
            "Submissions: first the queue in order, then the others, most recently changed first", "queue"
        )
        which = gr.Dropdown([], label="History of", elem_id="submission")
        about = components.note("details", 2)
        history = components.table("History", "history", visible=False)
    inputs, outputs = [upload.way, states, which], [*upload.panels, text, queue, about, history]
    show = partial(_shown, live)

    def show_values(*values: Any) -> list[Any]:
        return show(dict(zip(_CHOICES, map(plain_value, values), strict=True)))

    def again(way: str, states: list[str], which: str | None) -> list[Any]:
        snapshot = live.snapshot()
        if snapshot.fault is not None or (datetime.now(UTC) - snapshot.as_of).total_seconds() > _FRESH_SECONDS:
            live.reload()
        return _controls(live, {"way": way, "state": ",".join(states), "submission": which or ""})

    wire(page, live, inputs, partial(_controls, live), show, outputs)
    _wire_check(live, intake, upload, verdict)
    _wire_edits(intake, upload, verdict)
    submitted = _wire_submit(live, intake, verdict, which)
    for event in (submitted, refresh.click(again, inputs, inputs, **QUIET)):
        shown = event.then(show_values, inputs, outputs, js=remember(_CHOICES), preprocess=False, **QUIET)
        shown.then(None, js=count_on("shown"))


def _controls(live: LiveResults, choices: Mapping[str, str]) -> list[Any]:
    offered = submissions(live.snapshot().queue)
    which = chosen(choices, "submission", [name for _, name in offered], None)
    hint = NO_SUBMISSION if choices.get("submission") and which is None else ""
    return [
        chosen(choices, "way", list(WAYS), "folder"),
        chosen_several(choices, "state", STATES, []),
        gr.Dropdown(offered, value=which, visible=bool(offered), info=hint),
    ]


def _shown(live: LiveResults, choices: Mapping[str, Any]) -> list[Any]:
    """Return the panels of the upload, the queue, and the details and history of one submission."""
    listing, now = live.snapshot().queue, datetime.now(UTC)
    panels = _panels(choices["way"] or "folder")
    if listing is None:
        return [*panels, "", components.no_table(), "", components.no_table()]
    state = find(listing, choices["submission"])
    shown = [queue_text(listing, now), components.filled(queue_table(listing, now, choices["state"] or ()))]
    if state is None:
        return [*panels, *shown, "", components.no_table()]
    return [*panels, *shown, details(state, listing, now), components.filled(history_table(state))]


def _upload() -> _Upload:
    way = gr.Radio([(words, way) for way, words in WAYS.items()], value="folder", label="Upload", elem_id="way")
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
    return _Upload(way, (folder, single, paste, about), files, file, kind, pasted, fields, check, example)


def _panels(way: str) -> list[gr.Column]:
    """Return the panels of a kind of upload: folder, file, text, form."""
    return [gr.Column(visible=visible) for visible in (way == "folder", way == "file", way == "paste", way != "folder")]


def _fields() -> dict[str, Any]:
    """Return the form for a manifest: required fields, then optional ones."""
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
    """Return a field for a number that may be unknown; gr.Number turns the unknown number of a closed part into 0."""
    return gr.Textbox(label=label, placeholder="unknown", max_length=40, elem_classes="a-number")


def _verdict(intake: Intake) -> _Verdict:
    text = gr.Textbox(label="Result", visible=False, interactive=False, lines=2, max_lines=12, elem_id="verdict")
    problems = components.table("Problems by row", "problems", visible=False)
    with gr.Row():
        words = "Download the submission (zip)"
        download = gr.DownloadButton(words, visible=False, elem_id="zip", scale=0, min_width=260)
    with gr.Column(visible=False, elem_id="submit-panel") as panel:
        label = "Your name (shown as unverified, since there is no login)"
        name = gr.Textbox(label=label, visible=takes_names(), max_length=100, elem_id="submitter")
        with gr.Row():
            submit = gr.Button("Submit", variant="primary", scale=0, min_width=160, elem_id="submit")
    receipt = gr.Textbox(label="Receipt", visible=False, interactive=False, lines=3, elem_id="receipt")
    token = gr.State(None, time_to_live=3600, delete_callback=intake.forget)
    return _Verdict(token, text, problems, panel, download, name, submit, receipt)


def _wire_check(live: LiveResults, intake: Intake, upload: _Upload, verdict: _Verdict) -> None:
    def check(old: str | None, way: str, files: Any, file: Any, kind: str, pasted: str, *values: Any) -> list[Any]:
        intake.forget(old)
        no_receipt = gr.Textbox("", visible=False)
        try:
            known, faults = form(dict(zip(upload.fields, values, strict=True)))
            if way == "folder":
                checked = intake.check_files([Path(path) for path in files or ()])
            elif faults is not None:
                checked = faults
            elif way == "paste":
                checked = intake.check_text(pasted or "", known)
            elif file is None:
                raise ConfigurationError("no file was uploaded", "choose a file and wait for the upload to finish")
            else:
                checked = intake.check_file(Path(file), kind, known)
        except (DivBenchError, OSError) as error:
            text = gr.Textbox(f"Not validated: {error_text(error)}", visible=True)
            return [None, text, *_hidden(), "", no_receipt]
        return [*_judged(live, intake, checked), no_receipt]

    inputs = [verdict.token, upload.way, upload.files, upload.file, upload.kind, upload.pasted, *upload.fields.values()]
    outputs = [*verdict.outputs(), verdict.name, verdict.receipt]
    upload.check.click(check, inputs, outputs, **_TURNS).then(None, js=count_on("checked"))


def _hidden() -> list[Any]:
    """Return updates that hide the problems, the panel for submitting and the download."""
    return [components.no_table(), gr.Column(visible=False), gr.DownloadButton(visible=False)]


def _judged(live: LiveResults, intake: Intake, checked: Checked) -> list[Any]:
    """Return the token, the result's text, its problems, the panel for submitting, the download and the name."""
    store, table = live.source.store, checked.table()
    problems = components.filled(table) if table.rows else components.no_table()
    if checked.manifest is None:
        return [None, gr.Textbox(rejected_text(checked), visible=True), problems, *_hidden()[1:], ""]
    words = accepted_text(checked, None if store is None else store.address, login=login_is_real())
    panel = gr.Column(visible=store is not None)
    path = intake.zipped(checked.token)
    download = gr.DownloadButton(value=None if path is None else str(path), visible=path is not None)
    return [checked.token, gr.Textbox(words, visible=True), problems, panel, download, checked.manifest.submitter.name]


def _wire_edits(intake: Intake, upload: _Upload, verdict: _Verdict) -> None:
    """Forget a valid submission once its text, file or form is edited, so that only what is shown can be submitted.

    The example fills in a complete submission, and removes what was said about the one before it.
    """

    def edited(token: str | None) -> list[Any]:
        if token is None:
            return [gr.skip()] * 5
        intake.forget(token)
        return [None, gr.Textbox(EDITED, visible=True), *_hidden()]

    def example(token: str | None) -> list[Any]:
        intake.forget(token)
        text = (DEMO_TEXTS / "varied.jsonl").read_text(encoding="utf-8")
        return [
            None,
            gr.Textbox("", visible=False),
            *_hidden(),
            "paste",
            *_panels("paste"),
            text,
            *EXAMPLE_FIELDS.values(),
        ]

    events = [control.input for control in (upload.way, upload.kind, upload.pasted, *upload.fields.values())]
    changes = [*events, upload.files.change, upload.file.change]
    gr.on(changes, edited, verdict.token, verdict.outputs(), queue=False, **QUIET)
    fields = [upload.fields[name] for name in EXAMPLE_FIELDS]
    filled = [*verdict.outputs(), upload.way, *upload.panels, upload.pasted, *fields]
    upload.example.click(example, verdict.token, filled, **QUIET).then(None, js=count_on("filled"))


def _wire_submit(live: LiveResults, intake: Intake, verdict: _Verdict, which: gr.Dropdown) -> Any:
    def submit(token: str | None, name: str, profile: gr.OAuthProfile | None, request: gr.Request) -> list[Any]:
        store = live.source.store
        try:
            if token is None or store is None:
                raise ConfigurationError("there is nothing to submit", "validate a submission first")
            login = None if profile is None else profile.username
            by = submitter(name or "", login, dict(request.headers))
            receipt = intake.submit_kept(token, store, by, datetime.now(UTC))
        except (DivBenchError, OSError) as error:
            text = gr.Textbox(f"Not submitted: {error_text(error)}", visible=True)
            return [token, text, gr.Column(), gr.Dropdown()]
        listing = live.reload().queue
        text = gr.Textbox(receipt_text(receipt, listing, store.address, datetime.now(UTC)), visible=True)
        choices = gr.Dropdown(submissions(listing), value=receipt.state.submission_id)
        return [None, text, gr.Column(visible=False), choices]

    outputs = [verdict.token, verdict.receipt, verdict.panel, which]
    done = verdict.submit.click(submit, [verdict.token, verdict.name], outputs, **_TURNS)
    done.then(None, js=count_on("submitted"))
    return done
