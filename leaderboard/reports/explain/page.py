"""An explanation as one self-contained HTML file: figures, the code that draws them, tables.

Texts are untrusted. They are escaped; in addition the page's policy allows only two scripts, by their hashes, and no
requests.
"""

import base64
import hashlib
from collections.abc import Sequence
from html import escape

from benchmark.analysis.explain import Explanation
from benchmark.metrics.metric import Missing
from datasets_build.errors import counted, need
from datasets_build.tables import Table
from leaderboard.figures.plots import curve_figure, pair_figure, token_figure
from leaderboard.reports.explain.rows import notes, tables

# Plotly can offer a button that uploads the chart to its makers' server; these settings remove it.
_DRAW = """
const how = {responsive: true, displaylogo: false, showSendToCloud: false, plotlyServerURL: ""};
for (const [name, figure] of Object.entries(JSON.parse(document.getElementById("figures").textContent))) {
  Plotly.newPlot(name, figure.data, figure.layout, how);
}
"""
_SHOWS = {
    "curve": "Cost of a response by its position, with standard errors. The second table has the numbers.",
    "pairs": "Bits that each response saves every other. divbench metrics explain --json has the numbers.",
    "tokens": "Surprisal of each token of the responses. divbench metrics explain --json has the numbers.",
}
_STYLE = """
body { font: 100%/1.5 system-ui, "DejaVu Sans", sans-serif; color: #222 }
body { max-width: 75rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin: 1rem 0 }
caption { text-align: left; font-weight: bold; font-size: 1.1rem }
th, td { text-align: left; vertical-align: top; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid #ddd }
td { white-space: nowrap }
.text { white-space: pre-wrap; overflow-wrap: anywhere }
"""


def page(found: Explanation, title: str, left_out: int = 0, precision: float | None = None) -> str:
    """Return the file's text, which depends on the explanation alone.

    Raises:
        ConfigurationError: As in `Explanation.orders_for`.
    """
    figures = {"curve": curve_figure(found.rate, found.bits)}
    if not isinstance(found.pairs, Missing):
        figures["pairs"] = pair_figure(found.pairs, found.given.responses)
    figures["tokens"] = token_figure(found.tokens)
    # Plotly's own JSON, with its own encoding of gaps. An escaped "<" cannot end the script element.
    drawn = ",".join(f'"{name}":{figure.to_json(engine="json")}' for name, figure in figures.items())
    drawn = drawn.replace("<", "\\u003c")
    scripts = [need("plotly.offline", "board").get_plotlyjs(), _DRAW]
    said = [f"{counted(len(found.given.responses), 'response')}, read by {found.model} ({found.layout})."]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            '<head>\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{_policy(scripts)}">',
            f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>",
            "<main>",
            f'<h1><bdi>{escape(title)}</bdi></h1>\n<p class="text"><bdi>{escape(found.given.prompt)}</bdi></p>',
            *(f"<p>{escape(line)}</p>" for line in [*said, *notes(found, left_out, precision)]),
            *(f'<div id="{name}" role="figure" aria-label="{_SHOWS[name]}"></div>' for name in figures),
            *map(_table, tables(found)),
            "</main>",
            f'<script type="application/json" id="figures">{{{drawn}}}</script>',
            *(f"<script>{script}</script>" for script in scripts),
            "</body>\n</html>\n",
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


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in table.columns)
    body = "\n".join(_row(list(map(str, row))) for row in table.rows)
    return f"<table>\n<caption>{escape(table.title)}</caption>\n<tr>{head}</tr>\n{body}\n</table>"


def _row(cells: Sequence[str]) -> str:
    """Return a row of a table; its last cell may hold a long text."""
    *numbers, words = cells
    short = "".join(f"<td>{escape(cell)}</td>" for cell in numbers)
    return f'<tr>{short}<td class="text"><bdi>{escape(words)}</bdi></td></tr>'
