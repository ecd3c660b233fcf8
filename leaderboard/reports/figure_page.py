"""Plotly figures as one self-contained HTML file."""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from divbench.core.console import err
from divbench.core.errors import need
from divbench.core.files import write_text
from divbench.core.tables import check_report_path

# Plotly can offer a button that uploads the chart to its makers' server; these settings remove it.
_DRAW = """
const how = {responsive: true, displaylogo: false, showSendToCloud: false, plotlyServerURL: ""};
for (const [name, figure] of Object.entries(JSON.parse(document.getElementById("figures").textContent))) {
  Plotly.newPlot(name, figure.data, figure.layout, how);
}
"""


def check_figure_path(path: Path | None) -> None:
    """Check, before the work, that a figure can be drawn and written.

    Raises:
        ConfigurationError: The folder of the file does not exist.
    """
    if path is not None:
        need("plotly", "board")
        check_report_path(path, endings=())


def write_figures(figures: Sequence[Any], title: str, path: Path, lines: Iterable[str] = ()) -> None:
    """Write figures to a file, below lines of text, and name it on stderr."""
    write_text(path, page(figures, title, lines))
    err().print(f"written: {path}", markup=False, soft_wrap=True)


def page(figures: Sequence[Any], title: str, lines: Iterable[str] = ()) -> str:
    """Return lines of untrusted text and figures as one HTML document that loads nothing and runs no other script."""
    # Plotly's own JSON, with its own encoding of gaps. An escaped "<" cannot end the script element.
    drawn = ",".join(f'"figure-{place}":{figure.to_json(engine="json")}' for place, figure in enumerate(figures))
    drawn = drawn.replace("<", "\\u003c")
    scripts = [need("plotly.offline", "board").get_plotlyjs(), _DRAW]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{_policy(scripts)}">',
            f"<title>{escape(title)}</title></head><body><main><h1><bdi>{escape(title)}</bdi></h1>",
            *(f'<p style="white-space: pre-wrap"><bdi>{escape(line)}</bdi></p>' for line in lines),
            *(
                f'<div id="figure-{place}" role="figure" aria-label="{escape(each.layout.title.text or title)}"></div>'
                for place, each in enumerate(figures)
            ),
            f'</main><script type="application/json" id="figures">{{{drawn}}}</script>',
            *(f"<script>{script}</script>" for script in scripts),
            "</body></html>\n",
        ]
    )


def _policy(scripts: Sequence[str]) -> str:
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    sources = " ".join(f"'sha256-{each}'" for each in hashes)
    # Plotly sets style attributes, and saves a picture through an image element.
    return (
        f"default-src 'none'; script-src {sources}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; "
        "form-action 'none'"
    )
