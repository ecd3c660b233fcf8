"""Page Compare: two to four systems compared by metric, by prompt, and response by response."""

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import gradio as gr

from divbench.core.errors import DivBenchError
from divbench.core.tables import Table
from leaderboard.app import components
from leaderboard.app.asked import Asked
from leaderboard.app.downloads import Downloads
from leaderboard.app.permalinks import LATEST, chosen, chosen_or_first, chosen_several, count_on, remember, wire
from leaderboard.data.board import Board, Column
from leaderboard.data.live_results import LiveResults
from leaderboard.figures.board_plots import forest_figure
from leaderboard.tables import page_text
from leaderboard.tables.compare import (
    FEWEST,
    MOST,
    about_compare,
    compare,
    compare_table,
    differing,
    differing_table,
    explore_link,
    headline,
    side_by_side,
)
from leaderboard.tables.models import PRESETS, columns_of
from leaderboard.tables.systems import first_systems, places_of, system_ids, system_labels
from leaderboard.tables.tradeoff import default_axes
from submissions.untrusted.plain_text import shortened

_CHOOSE = "Choose two to four systems, and select a prompt to read their responses."
_NO_PROMPT = "No system here has this prompt"
TOO_FEW = f"Choose {FEWEST} to {MOST} systems."
SHOWN = [name for name in PRESETS if name != "cost"]
_ANSWER = 420  # pixels
_remembered = lru_cache(maxsize=8)(compare)  # so that choosing another prompt does not repeat all tests


def build(page: gr.Blocks, live: LiveResults) -> None:
    """Build the page: differences by metric, prompts with the largest differences, responses side by side."""
    downloads = Downloads()
    gr.Markdown(f"{page_text.COMPARE} {_CHOOSE}", elem_classes="lead")
    with gr.Row(equal_height=False):
        table = gr.Dropdown([], label="Table", elem_id="table", scale=2)
        systems = gr.Dropdown([], multiselect=True, max_choices=MOST, label="Systems", elem_id="systems", scale=3)
        metrics = gr.Dropdown(SHOWN, value="overview", label="Metrics", elem_id="show", scale=1)
    said = components.headline()
    plot = components.figure("forest")
    shown = components.table(
        "Data of the figure: paired differences over prompts", "gaps", height=560, pinned_columns=1
    )
    note = components.note("note", 4)
    taken = components.downloads()
    gr.Markdown("## Largest differences")
    by = gr.Dropdown([], label="Metric of the differences", elem_id="by")
    prompts = components.table(
        "Prompts, largest difference first; select a row to read the responses", "prompts", height=420
    )
    prompt = gr.Dropdown([], label="Prompt", elem_id="prompt")
    asked = gr.Textbox("", label="Text of the prompt", interactive=False, lines=2, elem_id="asked")
    responses = components.table("Responses side by side", "responses", height=700, wrap=True)
    with gr.Row(elem_classes="downloads"):
        buttons = [gr.Button("", size="sm", visible=False, elem_id=f"explore-{place}") for place in range(1, MOST + 1)]
    controls = [table, systems, metrics, by, prompt]
    reading = [asked, responses, *buttons]

    def show(given: Mapping[str, Any]) -> list[Any]:
        board = live.snapshot().board(given["table"])
        return _nothing(page_text.NO_RESULTS) if board is None else _shown(live, downloads, board, given)

    def read(name: str, ids: Sequence[str], prompt_id: str | None, event: gr.SelectData) -> list[Any]:
        board = live.snapshot().board(name)
        row = event.row_value
        picked = str(row[0]) if isinstance(row, list) and row else prompt_id
        if board is None:
            return [gr.Dropdown(), *_unread()]
        try:
            return [gr.Dropdown(value=picked), *_reading(board, places_of(board, ids), picked)]
        except DivBenchError as error:
            return [gr.Dropdown(), *_unread(components.told(error))]

    outputs = [said, note, plot, shown, *taken, prompts, *reading]
    wire(
        page,
        live,
        controls,
        partial(_controls, live),
        show,
        outputs,
        nothing=_nothing,
        cascade=("table", "systems", "by"),
    )
    selected = prompts.select(read, [table, systems, prompt], [prompt, *reading], **LATEST)
    # With the other choices: without them, the link would follow the board's defaults.
    noted = selected.then(
        None, controls, None, js=remember([str(each.elem_id) for each in controls]), api_visibility="private"
    )
    noted.then(None, js=count_on("shown"))


def _controls(live: LiveResults, asked: Asked) -> list[Any]:
    """Fill the controls with choices, and select those in the permalink if they are offered."""
    snapshot = live.snapshot()
    board = snapshot.board(asked.get("table"))
    if board is None:
        return [components.no_choice() for _ in range(5)]
    ids = system_ids(board)
    first = [ids[place] for place in first_systems(board, FEWEST)]
    systems = chosen_several(asked, "systems", ids, first)[:MOST]
    if asked.changed == "table":
        systems = filled_up(systems, first)
    labels = components.column_choices(board)
    axes = default_axes(board)
    by = chosen(asked, "by", [label for _, label in labels], axes[0].label if axes else None)
    prompts = _prompts(live, board, places_of(board, systems), by)
    wanted = asked.get("prompt")
    if wanted and wanted not in prompts and _has(live, board, wanted):
        prompts = [wanted, *prompts]
    prompt = chosen_or_first(asked, "prompt", prompts)
    return [
        gr.Dropdown(
            components.board_choices(snapshot.boards),
            value=board.name,
            info=components.gone(asked, "table", board.name),
        ),
        gr.Dropdown(
            list(zip(system_labels(board), ids, strict=True)),
            value=systems,
            info=components.several_gone(asked, "systems", ids, MOST),
        ),
        gr.Dropdown(SHOWN, value=chosen(asked, "show", SHOWN, "overview")),
        gr.Dropdown(labels, value=by, info=components.gone(asked, "by", by)),
        gr.Dropdown(
            prompts,
            value=prompt,
            visible=bool(prompts),
            info=components.gone(asked, "prompt", prompt, missing=_NO_PROMPT),
        ),
    ]


def filled_up(kept: Sequence[str], first: Sequence[str]) -> list[str]:
    """Systems that are still there after another table was chosen, and as many of its first as a comparison lacks."""
    return [*kept, *[each for each in first if each not in kept][: max(FEWEST - len(kept), 0)]]


def _prompts(live: LiveResults, board: Board, places: Sequence[int], by: str | None) -> list[str]:
    """The prompts with the largest differences; none if they cannot be read, which `show` then reports."""
    column = _column(board, by)
    if column is None or len(places) < FEWEST:
        return []
    try:
        return [row.prompt_id for row in differing(live.scores(board), places, column)]
    except DivBenchError:
        return []


def _has(live: LiveResults, board: Board, prompt_id: str) -> bool:
    try:
        return prompt_id in live.scores(board).prompts
    except DivBenchError:
        return False


def _column(board: Board, label: str | None) -> Column | None:
    """The column of a label; else the board's default axis; None if the board has no columns."""
    axes = default_axes(board)
    return board.column(label) or (axes[0] if axes else None)


def _shown(live: LiveResults, downloads: Downloads, board: Board, given: Mapping[str, Any]) -> list[Any]:
    places = places_of(board, given["systems"] or ())[:MOST]
    by = _column(board, given["by"])
    if len(places) < FEWEST or by is None:
        return _nothing(page_text.ALONE if len(board.entries) < FEWEST else TOO_FEW)
    scores = live.scores(board)
    columns, _ = columns_of(board, given["show"], ())
    gaps = _remembered(scores, places, columns or board.columns)
    view = compare_table(board, places, gaps)
    files = downloads.write(view.frame(), f"{board.name}-compare")
    labels = [system_labels(board)[place] for place in places]
    return [
        headline(gaps, labels),
        about_compare(gaps),
        components.drawn(forest_figure(gaps)),
        components.filled(view),
        *components.files(files),
        components.filled(differing_table(differing(scores, places, by), labels)),
        *_reading(board, places, given["prompt"]),
    ]


def _reading(board: Board, places: Sequence[int], prompt_id: str | None) -> list[Any]:
    """The prompt, the responses and the links to Explore."""
    if prompt_id is None or not places:
        return _unread()
    beside = side_by_side(board, places, prompt_id)
    widths: Any = [_ANSWER if holds else 60 for holds in beside.texts]
    table = (
        components.filled(Table("", beside.headers, beside.rows), column_widths=widths)
        if beside.rows
        else components.no_table()
    )
    labels = system_labels(board)
    links = [(f"Explore {shortened(labels[place], 40)}", explore_link(board, place, prompt_id)) for place in places]
    return [
        _prompt_text(beside.prompt),
        table,
        *(gr.Button(words, link=link, visible=True) for words, link in links),
        *(gr.Button(visible=False) for _ in range(MOST - len(links))),
    ]


def _prompt_text(text: str) -> Any:
    """The prompt or why there is none; hidden if there is nothing to say."""
    return gr.Textbox(text, visible=bool(text))


def _unread(why: str = "") -> list[Any]:
    return [_prompt_text(why), components.no_table(), *(gr.Button(visible=False) for _ in range(MOST))]


def _nothing(why: str) -> list[Any]:
    return [
        why,
        "",
        components.drawn(None),
        components.no_table(),
        *components.no_files(),
        components.no_table(),
        *_unread(),
    ]
