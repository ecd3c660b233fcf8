"""Components that pages share: tables, notes, figures, downloads, dropdown choices.

The first function of each pair creates a component when the page is built; the second fills or hides it when the page
is shown. Untrusted texts go only into tables and text boxes, which show them as plain text.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import gradio as gr

from benchmark.metrics import FAMILIES, METRICS
from divbench.core.errors import counted
from divbench.core.tables import Table
from leaderboard.app.asked import Asked
from leaderboard.data.board import Board
from leaderboard.tables.page_text import FIGURES

_FAMILY = {metric.id: metric.family for metric in METRICS}
_WIDEST = 42  # maximum letters per column
_CURVE = 98  # column width in pixels at which an interval wraps below its mean
GONE = "The link asks for one that is not here. This one is shown instead."
_OF_BOARD = ("table", "suite")  # controls whose values do not depend on a table


def table(label: str, name: str, *, height: int = 520, **more: Any) -> gr.Dataframe:
    """A read-only table.

    It has no button to copy it: a spreadsheet would run a name that begins with "=". Downloads are escaped.

    Args:
        height: Maximum height in pixels; longer tables scroll.
        more: Other arguments of `gr.Dataframe`.
    """
    given: dict[str, Any] = {"interactive": False, "show_label": True, "buttons": ["fullscreen"], **more}
    return gr.Dataframe(label=label, max_height=height, elem_id=name, **given)


def filled(view: Table, *, styling: list[list[str]] | None = None, **more: Any) -> gr.Dataframe:
    """An update that fills a table and shows it; the columns fit their longest texts unless `column_widths` are given.

    Args:
        more: Other arguments of `gr.Dataframe`.
    """
    arguments = content(view) | more
    if styling is not None:
        arguments["value"]["metadata"]["styling"] = styling
    return gr.Dataframe(visible=True, **arguments)


def content(view: Table) -> dict[str, Any]:
    """The arguments of a `gr.Dataframe` that shows a table: values to sort by with their texts, kinds and widths."""
    metadata = {"display_value": view.texts}
    value = {"headers": list(view.columns), "data": view.values, "metadata": metadata}
    return {"value": value, "datatype": view.kinds, "column_widths": widths(view)}


def widths(view: Table, letter: int = 8, room: int = 30) -> list[int | str]:
    """Column widths that fit each column's longest text on one line, for a letter's width and the room around texts."""
    longest = [max([len(name) + 3, *map(len, texts)]) for name, *texts in zip(view.columns, *view.texts, strict=True)]
    return [letter * min(length, _WIDEST) + room for length in longest]


def tinted(colour: str, percent: int) -> str:
    """The style of a tinted cell; opaque, because other columns scroll below the first."""
    return f"background: color-mix(in srgb, {colour} {percent}%, var(--table-even-background-fill))"


def filled_curves(view: Table) -> gr.Dataframe:
    """An update that fills a table of curves with narrow columns, so that ten fit: intervals wrap below their means."""
    return filled(view, column_widths=[*widths(view)[:1], *[_CURVE for _ in view.columns[1:]]])


def no_table() -> gr.Dataframe:
    """An update that hides a table."""
    return gr.Dataframe(value=None, visible=False)


def figure(name: str, label: str | None = None, *, visible: bool = True) -> gr.Plot:
    """A figure with a text alternative.

    Args:
        name: Element id, a key of `FIGURES`.
    """
    if name not in FIGURES:
        raise KeyError(f"page_text.FIGURES has no text alternative for {name}")
    return gr.Plot(label=label, show_label=label is not None, visible=visible, elem_id=name)


def drawn(found: Any) -> gr.Plot:
    """An update that shows a figure; None hides it."""
    return gr.Plot(value=found, visible=found is not None)


def note(name: str, lines: int = 3, text: str = "") -> gr.Textbox:
    """Plain text below a component; it may contain untrusted text. It is hidden while it is empty.

    The style sheet hides it, which knows by the placeholder that it is empty, so pages fill it with nothing but text.
    """
    return gr.Textbox(
        text,
        label="Note",  # for screen readers, as Gradio's default is "Textbox"
        show_label=False,
        container=False,
        interactive=False,
        lines=lines,
        max_lines=80,  # on a phone, more than Gradio's 20, below which nothing shows that the text goes on
        placeholder=" ",
        elem_id=name,
        elem_classes="note",
    )


def headline() -> gr.Textbox:
    """The page's main finding in one sentence; it may contain untrusted text."""
    return gr.Textbox(
        "",
        label="Main finding",
        show_label=False,
        container=False,
        interactive=False,
        lines=1,
        max_lines=4,
        elem_id="headline",
    )


def downloads() -> list[gr.DownloadButton]:
    """The buttons that download a table."""
    with gr.Row(elem_classes="downloads"):
        return [
            gr.DownloadButton("Download this table as CSV", size="sm", elem_id="csv", scale=0, min_width=240),
            gr.DownloadButton("as Parquet", size="sm", elem_id="parquet", scale=0, min_width=120),
        ]


def files(paths: Sequence[Path]) -> list[gr.DownloadButton]:
    """Updates that give the download buttons their files; they are hidden if there are none."""
    return [gr.DownloadButton(value=str(path), visible=True) for path in paths] or no_files()


def no_files() -> list[gr.DownloadButton]:
    """Updates that hide the download buttons."""
    return [gr.DownloadButton(visible=False), gr.DownloadButton(visible=False)]


def board_choices(boards: Sequence[Board], *, suites: bool = True) -> list[tuple[str, str]]:
    """Short label and name of each board, for a dropdown; with the revision only if boards differ in nothing else."""
    labels = [f"{f'{b.suite}, ' if suites else ''}k {b.k}, {b.profile}" for b in boards]
    count = Counter(labels)
    return [
        (f"{label}, {board.revision[:6]}" if count[label] > 1 else label, board.name)
        for label, board in zip(labels, boards, strict=True)
    ]


def column_choices(board: Board | None) -> list[tuple[str, str]]:
    """Short text and label of each column of a board, for a dropdown, in the groups of `FAMILIES`."""
    if board is None:
        return []
    groups = list(FAMILIES)
    of = [(_FAMILY.get(column.metric, "other"), column.label) for column in board.columns]
    of.sort(key=lambda each: groups.index(each[0]) if each[0] in groups else len(groups))
    return [(f"{group}: {label}", label) for group, label in of]


def no_choice() -> gr.Dropdown:
    """An update that hides a dropdown without choices."""
    return gr.Dropdown([], value=None, visible=False)


def gone(asked: Asked, name: str, value: str | None, *, missing: str | None = None) -> str:
    """The hint below a control that does not offer the value asked for, which a link has or was chosen before a change.

    It does not name the value, which the control shows: Gradio renders hints as Markdown, and names may be untrusted.

    Args:
        value: Value shown instead.
        missing: What is said of the value asked for after a change; default: that the table does not have it.
    """
    if asked.get(name) in (None, "", value):
        return ""
    if asked.changed is None:
        return GONE
    where = "No longer on this board" if name in _OF_BOARD else "Not in this table"
    return f"{missing or where}; this one is shown instead."


def several_gone(
    asked: Mapping[str, str], name: str, offered: Sequence[str], most: float = math.inf, what: str = "chosen system"
) -> str:
    """The hint below a control of several values if it does not offer all that are asked for, or shows only the first.

    Args:
        most: Maximum number of values that the control shows.
        what: What a value is.
    """
    wanted = list(dict.fromkeys(value for value in asked.get(name, "").split(",") if value))
    here = sum(unquote(value) in offered for value in wanted)
    said = []
    if here < len(wanted):
        said.append(f"Not in this table: {len(wanted) - here} of {counted(len(wanted), what)}.")
    if here > most:
        said.append(f"Only the first {most} of {here} are shown.")
    return " ".join(said)


def told(error: Exception) -> str:
    """An error message on one line."""
    return " ".join(str(error).split())
