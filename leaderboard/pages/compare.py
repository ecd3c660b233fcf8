"""Page: two to four systems beside each other, by metric, by prompt and in their own words."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import gradio as gr

from datasets_build.errors import DivBenchError
from leaderboard.board import Board, Column
from leaderboard.downloads import Downloads
from leaderboard.figures.board_plots import forest_figure
from leaderboard.links import chosen, chosen_several, count_on, remember, wire
from leaderboard.pages.tradeoff import board_label, frame_of
from leaderboard.site import Site, Snapshot
from leaderboard.tables.compare import (
    FEWEST,
    LETTERS,
    MOST,
    about_compare,
    compare,
    compare_sheet,
    differing,
    differing_sheet,
    explore_link,
    side_by_side,
)
from leaderboard.tables.models import PRESETS, columns_of
from leaderboard.tables.systems import first_systems, places_of, system_ids, system_labels
from leaderboard.tables.tradeoff import default_axes

LEAD = """Systems that answered the same prompts can be compared **prompt by prompt**, which tells more than two means
beside each other. Choose two to four; choose a row of a prompt to read what they answered."""
NONE_YET = "There are no results yet. `divbench score SUBMISSION --out RESULTS` makes one; the page Submit takes one."
ALONE = "This table has one system: there is nothing to compare it with."
TOO_FEW = f"Choose {FEWEST} to {MOST} systems."
SHOWN = [name for name in PRESETS if name != "cost"]
CHOICES = ("table", "systems", "show", "by", "prompt")
_ANSWER = 420  # pixels
_remembered = lru_cache(maxsize=8)(compare)  # another prompt is no reason to test everything again


def build(page: gr.Blocks, site: Site) -> None:
    """Differences by metric, the prompts where they are greatest, and the answers side by side."""
    downloads = Downloads()
    gr.Markdown(LEAD, elem_classes="lead")
    with gr.Row(equal_height=False):
        table = gr.Dropdown([], label="Table", elem_id="table", scale=2)
        systems = gr.Dropdown([], multiselect=True, max_choices=MOST, label="Systems", elem_id="systems", scale=3)
        metrics = gr.Dropdown(SHOWN, value="overview", label="Metrics", elem_id="show", scale=1)
    note = gr.Textbox("", show_label=False, container=False, interactive=False, lines=4, elem_id="note")
    plot = gr.Plot(show_label=False, elem_id="forest")
    shown = gr.Dataframe(
        interactive=False,
        pinned_columns=1,
        max_height=560,
        buttons=["fullscreen", "copy"],
        label="The figure in numbers: paired differences over prompts",
        show_label=True,
        elem_id="gaps",
    )
    with gr.Row(elem_classes="downloads"):
        csv = gr.DownloadButton("Download this table as CSV", size="sm", elem_id="csv")
        parquet = gr.DownloadButton("as Parquet", size="sm", elem_id="parquet")
    gr.Markdown("### Where they differ most")
    by = gr.Dropdown([], label="By", elem_id="by")
    prompts = gr.Dataframe(
        interactive=False,
        max_height=420,
        label="Prompts, the greatest difference first. Choose a row to read the answers",
        show_label=True,
        elem_id="prompts",
    )
    prompt = gr.Dropdown([], label="Prompt", elem_id="prompt")
    asked = gr.Textbox("", label="What was asked", interactive=False, lines=2, elem_id="asked")
    answers = gr.Dataframe(
        interactive=False, wrap=True, max_height=700, label="Answers side by side", show_label=True, elem_id="answers"
    )
    with gr.Row(elem_classes="downloads"):
        buttons = [
            gr.Button(f"Explore {letter}'s answers", size="sm", visible=False, elem_id=f"explore-{letter}")
            for letter in LETTERS
        ]
    controls = dict(zip(CHOICES, (table, systems, metrics, by, prompt), strict=True))
    reading = [asked, answers, *buttons]

    def restore(given: Mapping[str, str]) -> list[Any]:
        return _controls(site, given)

    def show(*values: Any) -> list[Any]:
        given = dict(zip(CHOICES, values, strict=True))
        board = site.now().board(given["table"])
        try:
            return _nothing(NONE_YET) if board is None else _shown(site, downloads, board, given)
        except DivBenchError as error:
            return _nothing(" ".join(str(error).split()))

    def read(name: str, ids: Sequence[str], prompt_id: str | None, event: gr.SelectData) -> list[Any]:
        board = site.now().board(name)
        row = event.row_value
        picked = str(row[0]) if isinstance(row, list) and row else prompt_id
        if board is None:
            return [gr.Dropdown(), *_unread()]
        try:
            return [gr.Dropdown(value=picked), *_reading(board, places_of(board, ids), picked)]
        except DivBenchError as error:
            return [gr.Dropdown(), " ".join(str(error).split()), *_unread()[1:]]

    outputs = [note, plot, shown, csv, parquet, prompts, *reading]
    wire(page, controls, restore, show, outputs, cascade=("table", "systems", "by"))
    selected = prompts.select(
        read, [table, systems, prompt], [prompt, *reading], api_visibility="private", show_progress="minimal"
    )
    noted = selected.then(None, [prompt], None, js=remember(["prompt"]), api_visibility="private")
    noted.then(None, js=count_on("shown"))


def _controls(site: Site, asked: Mapping[str, str]) -> list[Any]:
    """The controls with what they offer, set to what is asked for where they offer it."""
    snapshot: Snapshot = site.now()
    tables = [(board_label(board), board.name) for board in snapshot.boards]
    names = [name for _, name in tables]
    table = chosen(asked, "table", names, names[0] if names else None)
    board = snapshot.board(table)
    if board is None:
        return [gr.Dropdown([], value=None) for _ in CHOICES]
    ids = system_ids(board)
    systems = chosen_several(asked, "systems", ids, [ids[place] for place in first_systems(board, FEWEST)])[:MOST]
    labels = [(f"{column.label}: {column.title}", column.label) for column in board.columns]
    axes = default_axes(board)
    by = chosen(asked, "by", [label for _, label in labels], axes[0].label if axes else None)
    prompts = _prompts(site, board, places_of(board, systems), by)
    first = prompts[0] if prompts else None
    wanted = asked.get("prompt")
    if wanted and wanted not in prompts and _has(site, board, wanted):
        prompts = [wanted, *prompts]
    return [
        gr.Dropdown(tables, value=table),
        gr.Dropdown(list(zip(system_labels(board), ids, strict=True)), value=systems),
        gr.Dropdown(SHOWN, value=chosen(asked, "show", SHOWN, "overview")),
        gr.Dropdown(labels, value=by),
        gr.Dropdown(prompts, value=chosen(asked, "prompt", prompts, first)),
    ]


def _prompts(site: Site, board: Board, places: Sequence[int], by: str | None) -> list[str]:
    """The prompts where systems differ most; none where they cannot be read, which `show` then says."""
    column = _column(board, by)
    if column is None or len(places) < FEWEST:
        return []
    try:
        return [row.prompt_id for row in differing(site.scores(board), places, column)]
    except DivBenchError:
        return []


def _has(site: Site, board: Board, prompt_id: str) -> bool:
    try:
        return prompt_id in site.scores(board).prompts
    except DivBenchError:
        return False


def _column(board: Board, label: str | None) -> Column | None:
    """The column of a label; the board's first axis where it has none of it; None where it has no column."""
    axes = default_axes(board)
    return next((column for column in board.columns if column.label == label), axes[0] if axes else None)


def _shown(site: Site, downloads: Downloads, board: Board, given: Mapping[str, Any]) -> list[Any]:
    places = places_of(board, given["systems"] or ())[:MOST]
    by = _column(board, given["by"])
    if len(places) < FEWEST or by is None:
        return _nothing(ALONE if len(board.entries) < FEWEST else TOO_FEW)
    scores = site.scores(board)
    columns, _ = columns_of(board, given["show"], ())
    gaps = _remembered(scores, places, columns or board.columns)
    sheet = compare_sheet(gaps)
    files = downloads.write(sheet.frame(), f"{board.name}-compare")
    labels = system_labels(board)
    return [
        about_compare(gaps, [labels[place] for place in places]),
        gr.Plot(forest_figure(gaps), visible=bool(gaps)),
        frame_of(sheet),
        *(gr.DownloadButton(value=str(file), visible=True) for file in files),
        frame_of(differing_sheet(differing(scores, places, by), len(places))),
        *_reading(board, places, given["prompt"]),
    ]


def _reading(board: Board, places: Sequence[int], prompt_id: str | None) -> list[Any]:
    """What was asked, the answers, and the buttons that lead on."""
    if prompt_id is None or not places:
        return _unread()
    beside = side_by_side([board.entries[place] for place in places], prompt_id)
    widths: Any = [50 if head == "#" else 90 if "class" in head else _ANSWER for head in beside.headers]
    value = {"headers": list(beside.headers), "data": [list(row) for row in beside.rows]}
    links = [explore_link(board, place, prompt_id) for place in places]
    return [
        beside.prompt,
        gr.Dataframe(value=value, datatype="str", column_widths=widths, visible=bool(beside.rows)),
        *(gr.Button(link=link, visible=True) for link in links),
        *(gr.Button(visible=False) for _ in range(len(LETTERS) - len(links))),
    ]


def _unread() -> list[Any]:
    return ["", gr.Dataframe(visible=False), *(gr.Button(visible=False) for _ in LETTERS)]


def _nothing(why: str) -> list[Any]:
    hidden = [gr.DownloadButton(visible=False)] * 2
    return [why, gr.Plot(visible=False), gr.Dataframe(visible=False), *hidden, gr.Dataframe(visible=False), *_unread()]
