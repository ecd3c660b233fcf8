"""Page Explore: one system's responses to one prompt, with their classes, scores and surprisals, as plain text."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import gradio as gr

from benchmark.surprisal.prompt_layout import TokenCost
from divbench.core.errors import DivBenchError, need
from divbench.core.tables import printable
from leaderboard.app import components
from leaderboard.app.components import Choices
from leaderboard.app.permalinks import QUIET, chosen, count_on, plain_value, remember, wire
from leaderboard.data.board import Board, Entry
from leaderboard.data.live_results import LiveResults
from leaderboard.data.scores import prompt_row
from leaderboard.data.sources import Snapshot
from leaderboard.pages import live_models, page_text
from leaderboard.pages.figures import (
    TINTS,
    VERMILION,
    banded_curve,
    captioned_figure,
    inert,
    position_figure,
)
from leaderboard.pages.responses import (
    ListedPrompt,
    PromptView,
    curve_table,
    make_view,
    prompts_of,
    remarks,
    responses_table,
    scores_table,
    summary,
)
from leaderboard.pages.systems import board_choices, find_entry, first_entry, system_choices, system_ids
from submissions.untrusted.plain_text import cut, shortened

ANY = "any"
BLOCK = 500  # maximum number of prompts in a dropdown
_LABEL = 70  # maximum number of characters of a prompt in a dropdown
_CHOICES = ("table", "system", "category", "q", "prompt")
# The width of the response column is relative, so that narrow screens show it in full beside the class.
_WIDTHS: dict[str, int | str] = {"class": 140, "response": "62%", "#": 50, "note": 200, "bytes": 80}


def matching(prompts: Sequence[ListedPrompt], category: str = ANY, words: str = "") -> list[ListedPrompt]:
    """Return the prompts of a category with all words in their id, category or text; case is ignored."""
    wanted = dict.fromkeys(words.casefold().split())  # each once: only a browser limits the length of a search
    texts = [f"{prompt.prompt_id} {prompt.category} {prompt.text}".casefold() for prompt in prompts]
    return [
        prompt
        for prompt, text in zip(prompts, texts, strict=True)
        if category in (ANY, prompt.category) and all(word in text for word in wanted)
    ]


def index_of(prompts: Sequence[ListedPrompt], prompt_id: str | None) -> int | None:
    """Return the index of a prompt; None if it is not among them."""
    return next((i for i, prompt in enumerate(prompts) if prompt.prompt_id == prompt_id), None)


def position_curve_figure(view: PromptView) -> Any:
    """Draw a prompt's a_k curve ± 1.96 standard errors, and the surprisal of each response alone at position 1."""
    if view.curve is None:
        return None
    alone = [response.rate for response in view.responses if response.rate is not None]
    points = need("plotly.graph_objects", "board").Scatter(
        x=[1] * len(alone),
        y=alone,
        mode="markers",
        marker={"color": VERMILION, "symbol": "line-ew-open", "size": 14, "line": {"width": 2}},
        name="each response alone",
        hovertemplate="%{y:.3f} bits/byte alone<extra></extra>",
    )
    curve = banded_curve(view.curve.rate, view.curve.error, "%{y:.3f} bits/byte")
    return position_figure([*curve, points], 360, len(view.curve.rate))


def token_figure(tokens: Sequence[Sequence[TokenCost]]) -> Any:
    """Draw a strip of tokens for each response, in reading order, coloured by surprisal on one scale."""
    longest = max((len(row) for row in tokens), default=0)
    rows = range(1, len(tokens) + 1)
    texts = ["".join(token.text for token in row) for row in tokens]
    trace = need("plotly.graph_objects", "board").Heatmap(
        z=[[token.bits for token in row] + [None] * (longest - len(row)) for row in tokens],
        x=list(range(1, longest + 1)),
        y=list(rows),
        customdata=[[_quoted(token.text) for token in row] + [""] * (longest - len(row)) for row in tokens],
        hovertemplate="%{customdata}<br>%{z:.2f} bits<br>token %{x} of %{y}<extra></extra>",
        hoverongaps=False,
        colorscale="Cividis",
        zmin=0,
        colorbar={"title": {"text": "bits"}},
        xgap=1,
        ygap=3,
    )
    figure = captioned_figure([trace], max(340, 170 + 26 * len(tokens)))
    labels = [f"{row}: {inert(text, 30)}" for row, text in zip(rows, texts, strict=True)]
    figure.update_xaxes(title_text="token")
    figure.update_yaxes(title_text="response", autorange="reversed", tickmode="array", tickvals=list(rows))
    figure.update_yaxes(ticktext=labels)
    return figure


def _quoted(text: str) -> str:
    """Return a token for a hover label, in quotation marks that show its white space."""
    escaped = cut(printable(text), 80).replace("&", "&amp;").replace("<", "&lt;")
    return f"“{escaped}”" if text else "(of the character before, or the space)"


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
    text = gr.Textbox(label="Prompt", interactive=False, lines=2, max_lines=12, elem_id="asked", buttons=["copy"])
    responses = components.table("Responses, grouped by class", "responses", height=900)
    note = components.note("note", 2)
    with gr.Row(equal_height=False):
        with gr.Column(min_width=320):
            scores = components.table("Scores of this prompt", "scores", height=560)
        with gr.Column(min_width=320):
            curve = components.figure(
                "curve", "a_k: surprisal of the response at position k, given the k − 1 responses before it"
            )
            points = components.table("Data of the curve", "places", height=260)
    controls = [table, system, category, query, prompt]
    outputs = [text, responses, note, scores, curve, points, *_requested(live, controls)]
    wire(
        page,
        live,
        controls,
        partial(_controls, live),
        partial(_shown, live),
        outputs,
        cascade=("table", "system", "category", "q"),
    )
    for button, by in ((back, -1), (forward, 1)):
        moved = button.click(
            _stepper(live, by),
            controls,
            [prompt, *outputs],  # in one event: a second one would double the waiting time
            trigger_mode="always_last",
            preprocess=False,
            queue=False,  # reading one prompt need not queue
            **QUIET,
        )
        moved.then(None, controls, None, js=remember(_CHOICES)).then(None, js=count_on("shown"))


def _requested(live: LiveResults, controls: Sequence[Any]) -> list[Any]:
    """Create the components for token surprisals on request, which serve one request at a time."""
    with gr.Accordion("Token surprisals", open=False, elem_id="deeper"):
        gr.Markdown(
            "Computed on request by the small model that ships with the package. The first request takes a few "
            "seconds, and requests are served one at a time."
        )
        read = gr.Button("Surprisal of every token", size="sm", elem_id="read-tokens")
        note = components.note("deeper-note", 2)
        strip = components.figure("strip", visible=False)
        table = components.table("Data of the figure", "tokens", height=420, visible=False)

    def analysed(*values: Any) -> list[Any]:
        try:
            board, view = _view(live.snapshot(), dict(zip(_CHOICES, map(plain_value, values), strict=True)))
            texts = [response.text for response in view.responses]
            tokens = live_models.read_tokens(board.profile, view.prompt.text, texts)
        except DivBenchError as error:
            return [components.error_line(error), components.drawn(None), components.no_table()]
        text = (
            f"Prompt {view.prompt.prompt_id}: the responses in sampling order under {tokens.model} ({tokens.layout}). "
            "The surprisal of each token, in bits, is conditioned on everything before it."
        )
        filled = components.filled(live_models.tokens_table(tokens), column_widths=[44, 80, 80, "66%"])
        return [text, components.drawn(token_figure(tokens.costs)), filled]

    limits: dict[str, Any] = {"concurrency_limit": 1, "concurrency_id": "small models"}
    read.click(analysed, list(controls), [note, strip, table], preprocess=False, api_visibility="private", **limits)
    return [read, note, strip, table]


def _stepper(live: LiveResults, by: int) -> Callable[..., Any]:
    """Make a handler that moves by a number of prompts among those that match the filter, cyclically.

    It returns the updated list of prompts and all outputs for the new prompt.
    """

    def step(*values: Any) -> Any:
        choices: dict[str, Any] = dict(zip(_CHOICES, map(plain_value, values), strict=True))
        try:
            _, entry = _system(live.snapshot(), choices)
            prompts = matching(prompts_of(entry), choices["category"] or ANY, choices["q"] or "")
        except DivBenchError:
            prompts = []
        if not prompts:
            return [gr.skip(), *_shown(live, choices)]  # which shows the error
        old = index_of(prompts, choices["prompt"])
        new = 0 if old is None else (old + by) % len(prompts)
        moved = _prompt_list(prompts, prompts[new].prompt_id, same_block=(old or 0) // BLOCK == new // BLOCK)
        return [moved, *_shown(live, choices | {"prompt": prompts[new].prompt_id})]

    return step


def _prompt_list(
    prompts: Sequence[ListedPrompt], prompt_id: str | None, *, same_block: bool = False, hint: str = ""
) -> Any:
    """Return the dropdown of prompts around one of them; for long suites it holds only a block of prompts."""
    index = index_of(prompts, prompt_id)
    start = (index or 0) // BLOCK * BLOCK
    block = prompts[start : start + BLOCK]
    info = "No prompt matches." if index is None else f"Prompt {index + 1:,} of {len(prompts):,}."
    if len(prompts) > BLOCK:
        info += f" The list shows prompts {start + 1:,} to {start + len(block):,}; search covers all prompts."
    info = f"{hint} {info}" if hint else info
    if same_block:
        return gr.update(value=prompt_id, info=info)
    labels = [(f"{shortened(p.prompt_id, 40)} · {shortened(p.text, _LABEL)}", p.prompt_id) for p in block]
    return gr.Dropdown(labels, value=None if index is None else prompt_id, info=info)


def _controls(live: LiveResults, choices: Choices) -> list[Any]:
    """Fill the controls with choices, and select those in the permalink if they are offered."""
    snapshot = live.snapshot()
    board = snapshot.board(choices.get("table"))
    words = choices.get("q", "")[:200]
    if board is None:
        nothing = components.no_choice
        return [nothing(), nothing(), nothing(), gr.Textbox(words, visible=False), nothing()]
    wanted = find_entry(board, choices.get("system"))
    entry = wanted or first_entry(board)
    try:
        prompts = prompts_of(entry)
    except DivBenchError:
        prompts = ()  # `show` reports the error
    categories = list(dict.fromkeys(prompt.category for prompt in prompts))
    category = chosen(choices, "category", categories, ANY) or ANY
    left = matching(prompts, category, words)
    asked = choices.get("prompt")
    prompt_id = asked if index_of(left, asked) is not None else left[0].prompt_id if left else None
    # A prompt hidden only by the filter, for example after choosing another category, still exists.
    present = asked if index_of(prompts, asked) is not None else None
    hint = partial(components.missing_hint, choices)
    return [
        gr.Dropdown(board_choices(snapshot.boards), value=board.name, info=hint("table", board.name)),
        gr.Dropdown(
            system_choices(board),
            value=system_ids(board)[board.entries.index(entry)],
            info=hint("system", choices.get("system") if wanted else None),
        ),
        gr.Dropdown([ANY, *categories], value=category),
        words,
        _prompt_list(left, prompt_id, hint=hint("prompt", present, missing="Not among this system's prompts")),
    ]


def _system(snapshot: Snapshot, choices: Mapping[str, Any]) -> tuple[Board, Entry]:
    """Return the chosen board and system."""
    board = next((board for board in snapshot.boards if board.name == choices["table"]), None)
    entry = None if board is None else find_entry(board, choices["system"])
    if board is None or entry is None:
        raise DivBenchError(
            "This system no longer exists; reload the page." if snapshot.boards else page_text.NO_RESULTS
        )
    return board, entry


def _view(snapshot: Snapshot, choices: Mapping[str, Any]) -> tuple[Board, PromptView]:
    """Return the chosen board and the details of the chosen prompt."""
    board, entry = _system(snapshot, choices)
    if not choices["prompt"]:
        raise DivBenchError("No prompt is chosen.")
    row = prompt_row(entry, choices["prompt"])
    if row is None:
        raise DivBenchError("This system has no such prompt.")
    return board, make_view(board, entry, row)


def _shown(live: LiveResults, choices: Mapping[str, Any]) -> list[Any]:
    """Return all outputs for some choices, and clear results computed on request for another prompt."""
    hidden = [components.drawn(None), components.no_table()]
    try:
        board, view = _view(live.snapshot(), choices)
    except DivBenchError as error:
        nothing = ["", components.no_table(), components.error_line(error), components.no_table(), *hidden]
        return [*nothing, gr.Button(interactive=True), "", *hidden]
    texts = [response.text for response in view.responses]
    reason = live_models.why_no_tokens(board.profile, view.prompt.text, texts)
    return [
        view.prompt.text,
        _response_table(view),
        " ".join([summary(view), *remarks(view, board.profile)]),
        components.filled(scores_table(view)),
        components.drawn(position_curve_figure(view)),
        components.filled(curve_table(view.curve)) if view.curve else components.no_table(),
        gr.Button(interactive=reason is None),
        f"Token surprisals are unavailable: {reason}" if reason else "",
        *hidden,
    ]


def _response_table(view: PromptView) -> Any:
    """Return the responses, equivalent ones in the colour of their class."""
    table, colours = responses_table(view), view.shared_classes
    indices = [None if response.group is None else colours.get(response.group) for response in view.by_class]
    tints = ["" if i is None else components.tinted(*TINTS[i % len(TINTS)]) for i in indices]
    pixels = [_WIDTHS.get(name, 110) for name in table.columns]
    return components.filled(table, styling=[[tint] * len(table.columns) for tint in tints], column_widths=pixels)
