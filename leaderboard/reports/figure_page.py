"""Plotly figures as one self-contained HTML file."""

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from datasets_build.console import err
from datasets_build.errors import need
from datasets_build.files import write_text
from datasets_build.tables import check_report_path


def check_figure_path(path: Path | None) -> None:
    """Check, before the work, that a figure can be drawn and written.

    Raises:
        ConfigurationError: The folder of the file does not exist.
    """
    if path is not None:
        need("plotly", "board")
        check_report_path(path, endings=())


def write_figures(figures: Sequence[Any], title: str, path: Path) -> None:
    """Write figures to a file, and name it on stderr."""
    write_text(path, page(figures, title))
    err().print(f"written: {path}", markup=False, soft_wrap=True)


def page(figures: Sequence[Any], title: str) -> str:
    """Return figures as one HTML document that loads nothing."""
    need("plotly", "board")
    # Plotly can offer a button that uploads the chart to its makers' server; these settings remove it.
    config = {"displaylogo": False, "responsive": True, "showSendToCloud": False, "plotlyServerURL": ""}
    parts = [
        f'<div role="figure" aria-label="{html.escape(each.layout.title.text or title)}">'
        f"{each.to_html(full_html=False, include_plotlyjs=index == 0, div_id=f'figure-{index}', config=config)}</div>"
        for index, each in enumerate(figures)
    ]
    view = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    head = f'<meta charset="utf-8">{view}<title>{html.escape(title)}</title>'
    return "\n".join(
        [
            "<!DOCTYPE html>",
            f'<html lang="en"><head>{head}</head><body><main><h1>{html.escape(title)}</h1>',
            *parts,
            "</main></body></html>\n",
        ]
    )
