"""Renders tables, figures and texts to HTML and data files; everything except the templates is escaped.

A strict Content-Security-Policy forbids inline scripts, inline styles and network access. Data for scripts is in
separate script files, because pages opened from a folder cannot use `fetch`.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import zip_longest
from math import isfinite
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from divbench.core.errors import need
from divbench.core.tables import Table

HERE = Path(__file__).parent
# A page opened from a folder has the origin `file:`, which 'self' does not match in some browsers. Plotly adds an image
# to the page as `data:`.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self' file:",
        "style-src 'self' file:",
        "img-src 'self' file: data:",
        "base-uri 'none'",
        "form-action 'self'",
    )
)
_CODE = re.compile(r"`([^`]+)`")
_STRONG = re.compile(r"\*\*([^*]+)\*\*")
_STYLES = re.compile(r'if\(!document\.getElementById\("([0-9a-f]{64})"\)\)')
# Characters that could end the script or one of its lines, or be read as HTML markup.
_UNSAFE = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


@dataclass(frozen=True, slots=True)
class StaticTable:
    """A table of a page; the first cell of each row is its header."""

    view: Table
    id: str
    caption: str
    marks: Sequence[str] = ()  # CSS class of each row, most empty; empty: no row has one
    shown: frozenset[int] | None = None  # columns that are visible at first; None: all

    @property
    def sortable(self) -> bool:
        """Whether rows make sense in any order: a row that begins blank belongs to the row above."""
        return all(texts[0] for texts in self.view.texts)

    def rows(self) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        """The CSS class of each row, and the text and the sort value of its cells; only numbers have a sort value."""
        for mark, values, texts in zip_longest(self.marks, self.view.values, self.view.texts, fillvalue=""):
            keys = map(_sort_value, values, self.view.kinds)
            yield mark, list(zip(texts, keys, strict=True))


def _sort_value(value: Any, kind: str) -> str:
    number = kind == "number" and isinstance(value, (int, float)) and isfinite(value)
    return repr(value) if number else ""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure on a page: its element id, text alternative, height in pixels, plotly figure and data file.

    Without a file the page has what is drawn itself.
    """

    id: str
    alt: str
    height: int
    drawn: Any = None
    file: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """A page to write."""

    file: str
    title: str
    template: str  # template in `templates`
    values: Mapping[str, Any]
    section: str  # entry of the navigation that it belongs to
    board: str = ""  # name of its board; empty if it has none
    scripts: tuple[str, ...] = ()  # data files to load after board.js
    figures: bool = False


def figure_script(name: str, figure: Any) -> str:
    """The data file that passes a plotly figure to board.js under a name."""
    return f"divbench.figures[{json.dumps(name)}] = {_safe(figure.to_json(engine='json'))};\n"


def data_script(name: str, value: Any) -> str:
    """The data file that passes a value to board.js under a name."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return f"divbench.{name} = {_safe(text)};\n"


def _safe(text: str) -> str:
    return text.translate(_UNSAFE)


def embedded(text: str) -> Markup:
    """JSON for a data element of the page: nothing in it can end the element."""
    return Markup(_safe(text))  # noqa: S704 - no markup is left


def coded(text: str) -> Markup:
    """An escaped text with `code` marked up."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped before


def marked(text: str) -> Markup:
    """An escaped text with `code` and **emphasis** marked up, as in page_text.py."""
    return Markup(_STRONG.sub(r"<strong>\1</strong>", str(coded(text))))  # noqa: S704 - escaped before


@cache
def environment() -> Any:
    """Load the templates; every value is escaped, and an undefined name is an error.

    Raises:
        MissingExtra: jinja2 is not installed.
    """
    jinja = need("jinja2", "board")
    made = jinja.Environment(
        loader=jinja.FileSystemLoader(HERE / "templates", encoding="utf-8"),
        autoescape=True,
        undefined=jinja.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["coded"] = coded
    made.filters["embedded"] = embedded
    made.filters["marked"] = marked
    return made


@cache
def assets() -> Mapping[str, str]:
    """The files that the pages load, by name: the style sheet, board.js, and plotly with its styles."""
    own, shared = HERE / "assets", HERE.parent / "app" / "assets"
    sheets = (own / "variables.css", own / "static.css", shared / "board.css", shared / "forest.css")
    plotly = Path(str(files(need("plotly", "board")))) / "package_data" / "plotly.min.js"
    loaded = {"board.js": own / "board.js", "figures.css": own / "figures.css", "plotly.min.js": plotly}
    made = {name: path.read_text(encoding="utf-8") for name, path in loaded.items()}
    return {"board.css": "\n".join(sheet.read_text(encoding="utf-8") for sheet in sheets), **made}


@cache
def style_marks() -> list[str]:
    """The ids of the style elements that plotly's script adds to a page unless an element with the id exists.

    The page's policy forbids them, and they are for maps, which the board does not use.
    """
    return _STYLES.findall(assets()["plotly.min.js"])


def render(page: Page, frame: Mapping[str, Any]) -> str:
    """The HTML of a page.

    Args:
        frame: Values that every page needs: navigation, boards, data warnings, `style_marks`, the folder of the assets.
    """
    scripts = [f"{frame['assets']}/board.js", *page.scripts]
    if page.figures:
        scripts.insert(0, f"{frame['assets']}/plotly.min.js")
    text: str = (
        environment()
        .get_template(page.template)
        .render(**frame, **page.values, page=page, policy=POLICY, scripts=scripts)
    )
    return text
