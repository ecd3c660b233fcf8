"""Page Explore: one system's responses to one prompt, with their classes, scores and surprisals.

Untrusted text is shown as plain text.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import gradio as gr

from divbench.core.errors import DivBenchError
from leaderboard.app import components, live_models
from leaderboard.app.asked import Asked
from leaderboard.app.permalinks import QUIET, chosen, count_on, remember, wire
from leaderboard.data.board import Board, Entry
from leaderboard.data.live_results import LiveResults
from leaderboard.data.scores import prompt_row
from leaderboard.data.sources import Snapshot
from leaderboard.figures.plots import token_figure
from leaderboard.figures.response_plots import TINTS, position_curve_figure
from leaderboard.tables import page_text
from leaderboard.tables.prompts import (
    ANY,
    BLOCK,
    ListedPrompt,
    block_of,
    categories_of,
    find_entry,
    first_entry,
    matching,
    place_of,
    prompt_choices,
    prompts_of,
    stepped,
    system_choices,
)
from leaderboard.tables.responses import (
    PromptView,
    by_class,
    curve_table,
    make_view,
    remarks,
    responses_table,
    scores_table,
    shared_classes,
    summary,
)
from leaderboard.tables.systems import system_ids

CHOICES = ("table", "system", "category", "q", "prompt")
# Makes the permalink absolute: the server knows only its query.
_ABSOLUTE = "(query) => query.startsWith('?') ? window.location.origin + window.location.pathname + query : query"
# The width of the response column is relative, so that narrow screens show it in full beside the class.
_WIDTHS: dict[str, int | str] = {
    "class": 140,
    "response": "62%",
    "#": 50,
    "note": 200,
    "bytes": 80,
}


def build(page: gr.Blocks, live: LiveResults) -> None:
    """Build the page: choose a table, a system and a prompt, read the responses, and go to the next prompt."""
    gr.Markdown(page_text.EXPLORE, elem_classes="lead")
    with gr.Row(equal_height=False):
        table = gr.Dropdown([], label="Table", elem_id="table", scale=2)
        system = gr.Dropdown([], label="System", elem_id="system", scale=2)
        category = gr.Dropdown([ANY], value=ANY, label="Prompt category", elem_id="category", scale=1)
        query = gr.Textbox(label="Search prompts", placeholder="words or id", elem_id="q", scale=1, max_length=200)
    prompt = gr.Dropdown([], label="Prompt", elem_id="prompt", info=" ")
    with gr.Row(elem_classes="downloads"):
        back = gr.Button("Previous prompt", size="sm", elem_id="previous")
        forward = gr.Button("Next prompt", size="sm", elem_id="next")
    asked = gr.Textbox(label="Prompt", interactive=False, lines=2, max_lines=12, elem_id="asked", buttons=["copy"])
    responses = components.table("Responses, grouped by class", "responses", height=900, wrap=True)
    note = components.note("note", 2)
    link = gr.Textbox("", label="Permalink", interactive=False, max_lines=4, buttons=["copy"], elem_id="link")
    with gr.Row(equal_height=False):
        with gr.Column(min_width=320):
            scores = components.table("Scores of this prompt", "scores", height=560, wrap=True)
        with gr.Column(min_width=320):
            curve = components.figure(
                "curve", "a_k: surprisal of the response at position k, given the k − 1 responses before it"
            )
            places = components.table("Data of the curve", "places", height=260)
    deeper = _deeper()
    given = [table, system, category, query, prompt]
    script = remember(CHOICES)
    outputs = [asked, responses, note, link, scores, curve, places, *deeper.values()]

    wire(
        page,
        live,
        given,
        lambda asked_for: _controls(live.snapshot(), asked_for),
        lambda chosen_now: _shown(live.snapshot(), chosen_now),
        outputs,
        cascade=("table", "system", "category", "q"),
    )
    for button, by in ((back, -1), (forward, 1)):
        moved = button.click(
            _stepper(live, by),
            given,
            [prompt, *outputs],  # in one event: a second one would double the waiting time
            trigger_mode="always_last",
            **QUIET,
            queue=False,  # reading one prompt need not queue
        )
        moved.then(None, given, None, js=script).then(None, js=count_on("shown"))
    link.change(None, link, link, js=_ABSOLUTE, api_visibility="private")
    _wire_deeper(live, given, deeper)


def _deeper() -> dict[str, Any]:
    """Create the components for analyses on request."""
    with gr.Accordion("Token surprisals and marginal contributions", open=False, elem_id="deeper"):
        gr.Markdown(
            "Computed on request by small models that ship with the package. The first request takes a few seconds, "
            "and requests are served one at a time."
        )
        with gr.Row():
            read = gr.Button("Surprisal of every token", size="sm", elem_id="read-tokens")
            add = gr.Button("Contribution of each response", size="sm", elem_id="read-added")
        said = components.note("deeper-note", 2)
        strip = components.figure("strip", visible=False)
        tokens = components.table("Data of the figure", "tokens", height=420, wrap=True, visible=False)
        added = components.table("Contribution of each response to diversity", "added", height=420, visible=False)
    return {"read": read, "add": add, "said": said, "strip": strip, "tokens": tokens, "added": added}


def _wire_deeper(live: LiveResults, given: Sequence[Any], deeper: Mapping[str, Any]) -> None:
    """Wire the two buttons, which serve one request at a time between them."""

    def read(*values: Any) -> list[Any]:
        return _read_tokens(live.snapshot(), dict(zip(CHOICES, values, strict=True)))

    def add(*values: Any) -> list[Any]:
        return _read_added(live.snapshot(), dict(zip(CHOICES, values, strict=True)))

    for button, look, outputs in (
        (deeper["read"], read, [deeper["said"], deeper["strip"], deeper["tokens"]]),
        (deeper["add"], add, [deeper["said"], deeper["added"]]),
    ):
        button.click(
            look, list(given), outputs, api_visibility="private", concurrency_limit=1, concurrency_id="small models"
        )


def _stepper(live: LiveResults, by: int) -> Callable[..., Any]:
    """Make a handler that moves forward by a number of prompts among those that match the filter.

    It returns the updated list of prompts and all outputs for the new prompt.
    """

    def step(*values: Any) -> Any:
        given = dict(zip(CHOICES, values, strict=True))
        try:
            _, entry = _found(live.snapshot(), given)
            prompts = matching(prompts_of(entry), given["category"] or ANY, given["q"] or "")
        except DivBenchError:
            return [gr.skip(), *_shown(live.snapshot(), given)]  # which shows the error
        old, new = given["prompt"], stepped(prompts, given["prompt"], by)
        moved = _prompt_list(prompts, new, same_block=block_of(prompts, old)[0] == block_of(prompts, new)[0])
        return [moved, *_shown(live.snapshot(), given | {"prompt": new})]

    return step


def _prompt_list(
    prompts: Sequence[ListedPrompt], prompt_id: str | None, *, same_block: bool = False, gone: str = ""
) -> Any:
    """The dropdown of prompts around one of them; for long suites it holds only a block of prompts."""
    start, block = block_of(prompts, prompt_id)
    place = place_of(prompts, prompt_id)
    info = "No prompt matches." if place is None else f"Prompt {place + 1:,} of {len(prompts):,}."
    if len(prompts) > BLOCK:
        info += f" The list shows prompts {start + 1:,} to {start + len(block):,}; search covers all prompts."
    info = f"{gone} {info}" if gone else info
    if same_block:
        return gr.update(value=prompt_id, info=info)
    return gr.Dropdown(prompt_choices(block), value=None if place is None else prompt_id, info=info)


def _controls(snapshot: Snapshot, asked: Asked) -> list[Any]:
    """Fill the controls with choices, and select those in the permalink if they are offered."""
    board = snapshot.board(asked.get("table"))
    words = asked.get("q", "")[:200]
    if board is None:
        return [
            *(components.no_choice() for _ in range(3)),
            gr.Textbox(words, visible=False),
            components.no_choice(),
        ]
    wanted = find_entry(board, asked.get("system"))
    entry = wanted or first_entry(board)
    try:
        prompts = prompts_of(entry)
    except DivBenchError:
        prompts = ()  # `show` reports the error
    categories = categories_of(prompts)
    category = chosen(asked, "category", categories, ANY) or ANY
    left = matching(prompts, category, words)
    prompt_id = asked.get("prompt")
    known = place_of(left, prompt_id) is not None
    # A prompt hidden only by the filter, for example after choosing another category, still exists.
    exists = place_of(prompts, prompt_id) is not None
    gone = components.gone(asked, "prompt", prompt_id if exists else None, missing="Not among this system's prompts")
    return [
        gr.Dropdown(
            components.board_choices(snapshot.boards),
            value=board.name,
            info=components.gone(asked, "table", board.name),
        ),
        gr.Dropdown(
            system_choices(board),
            value=system_ids(board)[board.entries.index(entry)],
            info=components.gone(asked, "system", asked.get("system") if wanted else None),
        ),
        gr.Dropdown([ANY, *categories], value=category),
        words,
        _prompt_list(left, prompt_id if known else left[0].prompt_id if left else None, gone=gone),
    ]


def _found(snapshot: Snapshot, given: Mapping[str, Any]) -> tuple[Board, Entry]:
    """The chosen board and system."""
    board = next((each for each in snapshot.boards if each.name == given["table"]), None)
    entry = None if board is None else find_entry(board, given["system"])
    if board is None or entry is None:
        why = "This system no longer exists; reload the page." if snapshot.boards else page_text.NO_RESULTS
        raise DivBenchError(why)
    return board, entry


def _view(snapshot: Snapshot, given: Mapping[str, Any]) -> tuple[Board, PromptView]:
    """The chosen board and the details of the chosen prompt."""
    board, entry = _found(snapshot, given)
    if not given["prompt"]:
        raise DivBenchError("No prompt is chosen.")
    row = prompt_row(entry, given["prompt"])
    if row is None:
        raise DivBenchError("This system has no such prompt.")
    return board, make_view(board, entry, row)


def _shown(snapshot: Snapshot, given: Mapping[str, Any]) -> list[Any]:
    """Return all outputs for some choices, and clear results computed on request for another prompt."""
    cleared = [
        gr.Button(interactive=True),
        gr.Button(interactive=True),
        "",
        components.drawn(None),
        components.no_table(),
        components.no_table(),
    ]
    try:
        board, view = _view(snapshot, given)
    except DivBenchError as error:
        hidden = components.no_table()
        return ["", hidden, components.told(error), "", hidden, components.drawn(None), hidden, *cleared]
    texts = [response.text for response in view.responses]
    reasons = [
        why(board.profile, view.prompt.text, texts) for why in (live_models.why_no_tokens, live_models.why_not_added)
    ]
    cleared[:2] = [gr.Button(interactive=reason is None) for reason in reasons]
    names = ("Token surprisals are unavailable", "Contributions are unavailable")
    cleared[2] = "\n".join(f"{name}: {reason}" for name, reason in zip(names, reasons, strict=True) if reason)
    link = "?" + urlencode({name: given[name] for name in ("table", "system", "prompt")})
    said = [summary(view), *remarks(view, board.profile)]
    figure, numbers = _curve(view)
    return [
        view.prompt.text,
        _answers(view),
        " ".join(said),
        link,
        components.filled(scores_table(view)),
        figure,
        numbers,
        *cleared,
    ]


def _curve(view: PromptView) -> tuple[Any, Any]:
    """The curve as a figure and as a table."""
    if view.curve is None:
        return components.drawn(None), components.no_table()
    alone = [response.rate for response in view.responses if response.rate is not None]
    figure = position_curve_figure(view.curve.rate, view.curve.error, alone)
    return components.drawn(figure), components.filled(curve_table(view))


def _answers(view: PromptView) -> Any:
    """The responses, equivalent ones in the colour of their class."""
    made, colours = responses_table(view), shared_classes(view)
    places = [None if response.group is None else colours.get(response.group) for response in by_class(view)]
    tints = ["" if place is None else components.tinted(*TINTS[place % len(TINTS)]) for place in places]
    widths = [_WIDTHS.get(name, 110) for name in made.columns]
    return components.filled(made, styling=[[tint] * len(made.columns) for tint in tints], column_widths=widths)


def _read_tokens(snapshot: Snapshot, given: Mapping[str, Any]) -> list[Any]:
    try:
        board, view = _view(snapshot, given)
        read = live_models.read_tokens(board.profile, view.prompt.text, [response.text for response in view.responses])
    except DivBenchError as error:
        return [components.told(error), components.drawn(None), components.no_table()]
    said = (
        f"Prompt {view.prompt.prompt_id}: the responses in sampling order under {read.model} ({read.layout}). The "
        "surprisal of each token, in bits, is conditioned on everything before it."
    )
    return [
        said,
        components.drawn(token_figure(read.costs)),
        components.filled(live_models.tokens_table(read), column_widths=[44, 80, 80, "66%"]),
    ]


def _read_added(snapshot: Snapshot, given: Mapping[str, Any]) -> list[Any]:
    try:
        board, view = _view(snapshot, given)
        added = live_models.read_added(board.profile, view.prompt.text, [response.text for response in view.responses])
    except DivBenchError as error:
        return [components.told(error), components.no_table()]
    said = (
        f"Prompt {view.prompt.prompt_id}: LOOE is the EigenScore of all responses' embeddings ({added.embedder}) minus "
        "that without the response; higher means a larger contribution. GSSBench computes it from hidden states, which "
        "results do not contain."
    )
    return [said, components.filled(live_models.added_table(added))]
