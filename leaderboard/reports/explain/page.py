"""An explanation as one HTML file that needs nothing else: figures, the code that draws them, tables.

Texts are untrusted. They are escaped, and should one slip through, the page's policy runs no script but the two whose
hashes it names, and fetches nothing.
"""

import base64
import hashlib
import html
from collections.abc import Iterable, Sequence

from benchmark.analysis.explain import Explanation
from benchmark.metrics.metric import Missing
from datasets_build.errors import need
from leaderboard.figures.plots import curve_figure, pair_figure, token_figure
from leaderboard.reports.explain.rows import (
    CURVE_COLUMNS,
    RESPONSE_COLUMNS,
    SCALAR_COLUMNS,
    curve_rows,
    notes,
    response_rows,
    scalar_rows,
)

# Plotly offers a button that uploads the chart to its makers' server: not with untrusted texts, nor unasked.
_DRAW = """
const how = {responsive: true, displaylogo: false, showSendToCloud: false, plotlyServerURL: ""};
for (const [name, figure] of Object.entries(JSON.parse(document.getElementById("figures").textContent))) {
  Plotly.newPlot(name, figure.data, figure.layout, how);
}
"""
_STYLE = """
body { font: 16px/1.5 system-ui, "DejaVu Sans", sans-serif; color: #222 }
body { max-width: 75rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin: 1rem 0 }
caption { text-align: left; font-weight: bold; font-size: 1.1rem }
th, td { text-align: left; vertical-align: top; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid #ddd }
td { white-space: nowrap }
.text { white-space: pre-wrap; overflow-wrap: anywhere }
"""


def page(found: Explanation, title: str, left_out: int = 0, precision: float | None = None) -> str:
    """The file's text; the same for the same explanation.

    Args:
        left_out: Number of blank responses and placeholders, which were ignored.
        precision: Target standard error of a_n in bits/byte, to state the number of orders for; or None.

    Raises:
        ConfigurationError: As in `Explanation.orders_for`.
    """
    figures = {"curve": curve_figure(found.rate, found.bits)}
    if not isinstance(found.pairs, Missing):
        figures["pairs"] = pair_figure(found.pairs, found.given.responses)
    figures["tokens"] = token_figure(found.tokens)
    # Plotly's own JSON, with its own way of writing gaps; in an element of text a "<" could end the element.
    drawn = ",".join(f'"{name}":{figure.to_json(engine="json")}' for name, figure in figures.items())
    scripts = [need("plotly.offline", "board").get_plotlyjs(), _DRAW]
    said = [f"{len(found.given.responses)} responses, read by {found.model} ({found.layout})."]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            f'<head>\n<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="{_policy(scripts)}">',
            f"<title>{_text(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>",
            f'<h1><bdi>{_text(title)}</bdi></h1>\n<p class="text"><bdi>{_text(found.given.prompt)}</bdi></p>',
            *(f"<p>{_text(line)}</p>" for line in [*said, *notes(found, left_out, precision)]),
            *(f'<div id="{name}"></div>' for name in figures),
            _table("What the model finds", SCALAR_COLUMNS, scalar_rows(found)),
            _table("The curve, with standard errors (SE)", CURVE_COLUMNS, curve_rows(found)),
            _table("The responses", RESPONSE_COLUMNS, _whole_responses(found)),
            f'<script type="application/json" id="figures">{_in_script(f"{{{drawn}}}")}</script>',
            *(f"<script>{script}</script>" for script in scripts),
            "</body>\n</html>\n",
        ]
    )


def _whole_responses(found: Explanation) -> list[tuple[str, ...]]:
    """The rows of the responses with their whole texts."""
    rows = zip(response_rows(found, 1), found.given.responses, strict=True)
    return [(*numbers, text) for (*numbers, _), text in rows]


def _policy(scripts: Sequence[str]) -> str:
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    sources = " ".join(f"'sha256-{each}'" for each in hashes)
    # Plotly styles what it draws by attributes, and saves a picture by way of an image of its own.
    return (
        f"default-src 'none'; script-src {sources}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; "
        "form-action 'none'"
    )


def _table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{_text(column)}</th>" for column in columns)
    body = "\n".join(_row(row) for row in rows)
    return f"<table>\n<caption>{_text(caption)}</caption>\n<tr>{head}</tr>\n{body}\n</table>"


def _row(cells: Sequence[str]) -> str:
    """The last cell is the one for words, which may be long."""
    *numbers, words = cells
    short = "".join(f"<td>{_text(cell)}</td>" for cell in numbers)
    return f'<tr>{short}<td class="text"><bdi>{_text(words)}</bdi></td></tr>'


def _text(text: str) -> str:
    return html.escape(text)


def _in_script(document: str) -> str:
    """JSON that no HTML parser can find an end of the element in."""
    return document.replace("<", "\\u003c")
