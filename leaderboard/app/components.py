"""What pages are made of, each as all pages have it: tables, notes, figures, downloads, lists to choose from.

The first of each pair makes a component when the page is built, the second fills or hides it when the page is shown.
Strangers' texts go into tables and text boxes only, where they are never more than text.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gradio as gr

from leaderboard.data.board import Board
from leaderboard.tables.page_text import FIGURES
from leaderboard.tables.table_view import TableView

GONE = "The address names one that is not here; this is the first."


def table(label: str, name: str, *, height: int = 520, **more: Any) -> gr.Dataframe:
    """A table to read.

    Args:
        label: Above it.
        name: Of the element.
        height: In pixels, at most; what is longer scrolls.
        more: As `gr.Dataframe` takes it.
    """
    given: dict[str, Any] = {"interactive": False, "show_label": True, "buttons": ["fullscreen", "copy"], **more}
    return gr.Dataframe(label=label, max_height=height, elem_id=name, **given)


def filled(
    view: TableView, *, styling: list[list[str]] | None = None, widths: Sequence[int | str] | None = None, **more: Any
) -> gr.Dataframe:
    """A table with what it shows.

    Args:
        view: Table to show.
        styling: CSS of each cell, of our own making.
        widths: Of the columns; None: as wide as their longest text.
        more: As `gr.Dataframe` takes it.
    """
    value = view.value()
    if styling is not None:
        value["metadata"]["styling"] = styling
    kinds: Any = list(view.kinds)
    wide: Any = list(widths or view.widths())
    return gr.Dataframe(value=value, datatype=kinds, column_widths=wide, visible=True, **more)


def no_table() -> gr.Dataframe:
    """A table that is not shown."""
    return gr.Dataframe(value=None, visible=False)


def figure(name: str, label: str | None = None, *, visible: bool = True) -> gr.Plot:
    """A figure; what it is, is told by `words.FIGURES` to who does not see it.

    Args:
        name: Of the element, a key there.
        label: Above it, where it has one.
        visible: Whether it is there at first.
    """
    if name not in FIGURES:
        raise KeyError(f"words.FIGURES does not say what {name} is")
    return gr.Plot(label=label, show_label=label is not None, visible=visible, elem_id=name)


def drawn(found: Any) -> gr.Plot:
    """A figure with what it shows; none where there is None."""
    return gr.Plot(value=found, visible=found is not None)


def note(name: str, lines: int = 3, text: str = "") -> gr.Textbox:
    """Words beneath something; strangers' may be among them.

    Args:
        name: Of the element.
        lines: High.
        text: At first.
    """
    return gr.Textbox(text, show_label=False, container=False, interactive=False, lines=lines, elem_id=name)


def downloads() -> list[gr.DownloadButton]:
    """The buttons to take a table away."""
    with gr.Row(elem_classes="downloads"):
        return [
            gr.DownloadButton("Download this table as CSV", size="sm", elem_id="csv", scale=0, min_width=240),
            gr.DownloadButton("as Parquet", size="sm", elem_id="parquet", scale=0, min_width=120),
        ]


def files(paths: Sequence[Path]) -> list[gr.DownloadButton]:
    """The buttons with their files."""
    return [gr.DownloadButton(value=str(path), visible=True) for path in paths]


def no_files() -> list[gr.DownloadButton]:
    """The buttons where there is nothing to take away."""
    return [gr.DownloadButton(visible=False), gr.DownloadButton(visible=False)]


def board_choices(boards: Sequence[Board]) -> list[tuple[str, str]]:
    """What a list shows of each board, and its name."""
    return [(board.label, board.name) for board in boards]


def column_choices(board: Board | None) -> list[tuple[str, str]]:
    """What a list shows of each column of a board, and its label."""
    return [] if board is None else [(f"{column.label}: {column.title}", column.label) for column in board.columns]


def gone(asked: Mapping[str, str], name: str, value: str | None) -> str:
    """What stands beneath a control where the address asks for something that it does not offer."""
    return GONE if asked.get(name) not in (None, "", value) else ""


def told(error: Exception) -> str:
    """What is wrong, on one line."""
    return " ".join(str(error).split())
