"""Page: systems × metrics, with intervals."""

import atexit
import tempfile
from collections.abc import Sequence
from pathlib import Path
from shutil import rmtree
from typing import Any, Literal

import gradio as gr

from benchmark.printing import ARROWS
from leaderboard.board import Board, cell_texts, facts
from leaderboard.export import export

LETTER = 8  # width of a letter in pixels
FACTS = ["system", "type", "mode"]


def build(boards: Sequence[Board]) -> None:
    """A board at a time, with search, sorting and downloads."""
    names = [board.name for board in boards]
    folder = Path(tempfile.mkdtemp(prefix="divbench-board-"))
    atexit.register(rmtree, folder, ignore_errors=True)
    with gr.Row():
        choice = gr.Dropdown(
            names,
            value=names[0],
            label="Suite, responses a prompt (k) and profile",
            info="Numbers of different k or profile are not comparable, so each has its own table.",
            scale=3,
        )
        with gr.Column(scale=1):
            files = [gr.DownloadButton(f"Download {name}", size="sm") for name in ("CSV", "Parquet", "columns (JSON)")]
    table = gr.Dataframe(
        table_of(boards[0]),
        datatype=types(boards[0]),
        interactive=False,
        show_search="search",
        pinned_columns=1,
        max_height=700,
        buttons=["fullscreen", "copy"],
        label="Mean over prompts, with the 95% bootstrap interval over prompts",
        show_label=True,
        column_widths=widths(boards[0]),
        elem_id="systems",
    )
    note = gr.Textbox(about(boards[0]), show_label=False, container=False, interactive=False, lines=2)

    def show(name: str) -> tuple[object, ...]:
        board = boards[names.index(name)]
        written = [gr.DownloadButton(value=str(path)) for path in export(board, folder)]
        return (
            gr.Dataframe(table_of(board), datatype=types(board), column_widths=widths(board)),
            about(board),
            *written,
        )

    for button, path in zip(files, export(boards[0], folder), strict=True):
        button.value = str(path)
    choice.change(show, choice, [table, note, *files], api_name="board")


def about(board: Board) -> str:
    """What stands under the table."""
    known_bad = [e.result.manifest.name for e in board.entries if e.result.manifest.system.type == "baseline"]
    people = [e.result.manifest.name for e in board.entries if e.result.manifest.system.type == "human"]
    lines = [
        f"{len(board.entries)} systems on {board.suite} ({board.entries[0].result.prompts} prompts, revision "
        f"{board.revision}). ↑ higher is more diverse, ↓ lower is. Sort by the menu ⋮ of a heading. Columns ending in "
        "_reported hold values that came with the submission; all others are computed here from the texts."
    ]
    if known_bad:
        lines.append(f"Known-bad systems, for calibration: {', '.join(known_bad)}.")
    if people:
        lines.append(f"Written by people: {', '.join(people)}.")
    return " ".join(lines)


def table_of(board: Board) -> dict[str, Any]:
    """The table as the component takes it: cells are numbers, so that they sort as numbers, and show their interval."""
    arrows = [f"{column.label} {ARROWS[column.direction]}" for column in board.columns]
    texts = zip(*(cell_texts(board, column) for column in board.columns), strict=True)
    data, shown = [], []
    for entry, intervals in zip(board.entries, texts, strict=True):
        known = facts(entry)
        words = ["" if known[name] is None else known[name] for name in FACTS]
        cells = (entry.cells.get(column.signature) for column in board.columns)
        data.append([*words, *(cell.value if cell else None for cell in cells)])
        shown.append([*words, *intervals])
    return {"headers": [*FACTS, *arrows], "data": data, "metadata": {"display_value": shown}}


def types(board: Board) -> list[Literal["str", "number"]]:
    """Of the table's columns. Words are never Markdown or HTML."""
    kinds: list[Literal["str", "number"]] = ["str"] * len(FACTS)
    return kinds + ["number"] * len(board.columns)


def widths(board: Board) -> list[int | str]:
    """Room for the longest name, or value with its interval, on one line."""
    names = max(len(entry.result.manifest.name) for entry in board.entries)
    texts = [max(len(column.label) + 4, *map(len, cell_texts(board, column))) for column in board.columns]
    return [LETTER * size + 40 for size in (min(names, 40), 14, 13, *texts)]
