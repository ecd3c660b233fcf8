"""Components that pages share: tables, notes, figures, hints of controls.

The first function of each pair creates a component when the page is built; the second fills or hides it when the page
is shown. Untrusted texts go only into tables and text boxes, which show them as plain text.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

import gradio as gr

from divbench.core.errors import counted
from divbench.core.tables import Table

_WIDEST = 42  # maximum letters per column
_SAME = "The table below has the same numbers."
# Text alternatives of the figures, by element id. A table next to each figure has the same numbers.
FIGURES = {
    "classes-plot": f"Expected number of different valid responses among m, one line per system. {_SAME}",
    "forest": f"Paired differences between systems with 95% intervals, one row per metric. {_SAME}",
    "curve": f"Surprisal of the response at each position, given those before it. {_SAME}",
    "strip": "The tokens of each response, coloured by surprisal. The table below has the responses as text.",
    "alike-plot": f"Systems by systems, coloured by how alike their responses are. {_SAME}",
    "curves": f"Mean surprisal of the response at each position, one line per training stage. {_SAME}",
    "spread": "Value of every prompt, one box per training stage. The table below summarises the distribution.",
    "correlations-plot": f"Metrics by tasks, coloured by agreement with people or labels. {_SAME}",
    "pairs-plot": f"Metrics by splits of prompt pairs, coloured by accuracy. {_SAME}",
    "agreement-plot": f"Metrics by metrics, coloured by rank correlation. {_SAME}",
}
OTHER_SHOWN = "The link asks for one that is not here. This one is shown instead."
_OF_BOARD = ("table", "suite")  # controls whose values do not depend on a table


class Choices(dict[str, str]):
    """The choices of a visitor by control, as they are written in a URL: untrusted; and which one was changed, if any.

    Without a changed control, a link was opened.
    """

    def __init__(self, choices: Mapping[str, str] | None = None, changed: str | None = None) -> None:
        super().__init__(choices or {})
        self.changed = changed


def table(label: str, name: str, *, height: int = 520, **more: Any) -> gr.Dataframe:
    """A read-only table of at most this height in pixels; `more` are other arguments of `gr.Dataframe`.

    It has no button to copy it: a spreadsheet would run a name that begins with "=". CSV files are escaped.
    """
    arguments: dict[str, Any] = {"interactive": False, "show_label": True, "buttons": ["fullscreen"]} | more
    arguments.setdefault("wrap", True)  # on a phone, long names would look the same
    return gr.Dataframe(label=label, max_height=height, elem_id=name, **arguments)


def filled(view: Table, *, styling: list[list[str]] | None = None, **more: Any) -> gr.Dataframe:
    """An update that fills a table and shows it; the columns fit their texts unless `column_widths` are given."""
    arguments = content(view) | more
    if styling is not None:
        arguments["value"]["metadata"]["styling"] = styling
    return gr.Dataframe(visible=True, **arguments)


def content(view: Table) -> dict[str, Any]:
    """The arguments of a `gr.Dataframe` that shows a table: values to sort by with their texts, kinds and widths."""
    value = {"headers": list(view.columns), "data": view.values, "metadata": {"display_value": view.texts}}
    return {"value": value, "datatype": view.kinds, "column_widths": widths(view)}


def widths(view: Table, letter: int = 8, room: int = 30) -> list[int | str]:
    """Column widths that fit each column's longest text on one line, for a letter's width and the room around texts."""
    longest = [max([len(name) + 3, *map(len, texts)]) for name, *texts in zip(view.columns, *view.texts, strict=True)]
    return [letter * min(length, _WIDEST) + room for length in longest]


def tinted(colour: str, percent: int) -> str:
    """The style of a tinted cell; opaque, because other columns scroll below the first."""
    return f"background: color-mix(in srgb, {colour} {percent}%, var(--table-even-background-fill))"


def no_table() -> gr.Dataframe:
    """An update that hides a table."""
    return gr.Dataframe(value=None, visible=False)


def figure(name: str, label: str | None = None, *, visible: bool = True) -> gr.Plot:
    """A figure with a text alternative; its name, a key of `FIGURES`, is its element id."""
    if name not in FIGURES:
        raise KeyError(f"FIGURES has no text alternative for {name}")
    return gr.Plot(label=label, show_label=label is not None, visible=visible, elem_id=name)


def drawn(figure: Any) -> gr.Plot:
    """An update that shows a figure; None hides it."""
    return gr.Plot(value=figure, visible=figure is not None)


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


def no_choice() -> gr.Dropdown:
    """An update that hides a dropdown without choices."""
    return gr.Dropdown([], value=None, visible=False)


def missing_hint(choices: Choices, name: str, value: str | None, *, missing: str | None = None) -> str:
    """The hint below a control that shows another value than a link asks for, or than was chosen before a change.

    It does not name the value, which the control shows: Gradio renders hints as Markdown, and names may be untrusted.
    `missing` is what it says after a change; by default that the table does not have the value.
    """
    if choices.get(name) in (None, "", value):
        return ""
    if choices.changed is None:
        return OTHER_SHOWN
    where = "No longer on this board" if name in _OF_BOARD else "Not in this table"
    return f"{missing or where}; this one is shown instead."


def several_missing_hint(
    choices: Mapping[str, str], name: str, offered: Sequence[str], most: float = math.inf, what: str = "chosen system"
) -> str:
    """The hint below a control of several values if it does not show all that are asked for."""
    wanted = list(dict.fromkeys(value for value in choices.get(name, "").split(",") if value))
    present = sum(unquote(value) in offered for value in wanted)
    sentences = []
    if present < len(wanted):
        sentences.append(f"Not in this table: {len(wanted) - present} of {counted(len(wanted), what)}.")
    if present > most:
        sentences.append(f"Only the first {most} of {present} are shown.")
    return " ".join(sentences)


def error_line(error: Exception) -> str:
    """An error message on one line."""
    return " ".join(str(error).split())
