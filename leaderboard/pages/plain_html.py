"""Renders plain HTML pages, for the application and the export; everything except the template is escaped.

A strict Content-Security-Policy forbids inline scripts, inline styles and network access.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from markupsafe import Markup

from divbench.core.errors import need
from divbench.core.tables import Table

_ASSETS = Path(__file__).parents[1] / "app" / "assets"
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
_STYLES = re.compile(r'if\(!document\.getElementById\("([0-9a-f]{64})"\)\)')
# Characters that could end the element, or one of a script's lines.
_UNSAFE = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


@dataclass(frozen=True, slots=True)
class HtmlTable:
    """A table of a page, whose title is its caption; the first cell of each row is its header."""

    id: str
    table: Table
    marks: Sequence[str] = ()  # CSS class of each row, most empty; empty: no row has one


@dataclass(frozen=True, slots=True)
class Figure:
    """A plotly figure as JSON, with its element id, text alternative and height in pixels."""

    id: str
    alt: str
    height: int
    json: str


@dataclass(frozen=True, slots=True)
class Part:
    """A section of a page; its texts may be untrusted."""

    title: str = ""
    markup: Markup = field(default_factory=Markup)
    figure: Figure | None = None
    lines: tuple[str, ...] = ()
    tables: tuple[HtmlTable, ...] = ()
    codes: tuple[tuple[str, str], ...] = ()
    links: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """A page."""

    title: str
    parts: tuple[Part, ...]
    about: str = ""  # description for search engines and link previews

    @property
    def figure(self) -> bool:
        """Whether the page has a figure."""
        return any(part.figure for part in self.parts)


def _embedded(text: str) -> Markup:
    return Markup(text.translate(_UNSAFE))  # noqa: S704 - no markup is left


@cache
def _template() -> Any:
    jinja = need("jinja2", "board")
    environment = jinja.Environment(
        loader=jinja.FileSystemLoader(Path(__file__).parent / "templates", encoding="utf-8"),
        autoescape=True,
        undefined=jinja.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["embedded"] = _embedded
    return environment.get_template("page.html")


def style_sheet() -> str:
    """The style sheet of plain pages, which shares the application's."""
    names = ("variables.css", "static.css", "board.css", "forest.css")
    return "\n".join((_ASSETS / name).read_text(encoding="utf-8") for name in names)


@cache
def assets() -> Mapping[str, str]:
    """The files that a served page loads, by name: style sheets, our script, and plotly."""
    plotly = Path(str(files(need("plotly", "board")))) / "package_data" / "plotly.min.js"
    paths = {name: _ASSETS / name for name in ("page.js", "figures.css", "favicon.svg")} | {"plotly.min.js": plotly}
    return {"board.css": style_sheet(), **{name: path.read_text(encoding="utf-8") for name, path in paths.items()}}


@cache
def asset_address() -> str:
    """The address of the folder of these files, which changes with their bytes."""
    return f"page-assets/{sha256(chr(0).join(assets().values()).encode()).hexdigest()[:12]}"


@cache
def _style_marks() -> list[str]:
    """The ids of the style elements that plotly's script adds to a page unless an element with the id exists.

    The page's policy forbids them, and they are for maps, which the board does not use.
    """
    return _STYLES.findall(assets()["plotly.min.js"])


def render(
    page: Page,
    address: str,
    navigation: Markup,
    warnings: Sequence[str] = (),
    *,
    footer: Markup | str = "",
    picker: Sequence[tuple[str, str, Mapping[str, Sequence[tuple[str, str, bool]]]]] = (),
    action: str = "",
    script: bool = True,
) -> str:
    """The HTML of a page that loads its assets from an address; without `script`, it loads only the style sheet.

    The picker is a form with an action: fields by name and label with groups of options and the chosen one.
    """
    text: str = _template().render(
        page=page,
        assets=address,
        navigation=navigation,
        warnings=warnings,
        footer=footer,
        picker=picker,
        action=action,
        script=script,
        styled=_style_marks() if page.figure else (),
        policy=POLICY,
    )
    return text
