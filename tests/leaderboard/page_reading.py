"""Reading a page of the application in a browser: the cells of its tables, the values of its fields, its address."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

_ROWS = """
const found = new Map();
for (const cell of document.querySelectorAll(`#${arguments[0]} [role=gridcell]`)) {
  if (!found.has(cell.dataset.row)) found.set(cell.dataset.row, []);
  found.get(cell.dataset.row)[Number(cell.dataset.col)] = cell.innerText;
}
return [...found.values()];
"""
_VALUE = "return document.querySelector(`#${arguments[0]} textarea, #${arguments[0]} input`)?.value ?? ''"

_FIGURES = """
return [...document.querySelectorAll('.js-plotly-plot')].map((plot) => {
  const named = plot.closest('[role=figure]');
  return [named?.id ?? "", named?.getAttribute('aria-label') ?? ""];
})
"""


def rows(browser: Any, table: str) -> list[list[str]]:
    """The texts of a table's cells by row, in the order in which the rows are shown; none where it is hidden."""
    found: list[list[str]] = browser.execute_script(_ROWS, table)
    return [[text.strip() for text in row] for row in found]


def column(browser: Any, table: str, place: int) -> list[str]:
    """The texts of a table's column."""
    return [row[place] for row in rows(browser, table)]


def value(browser: Any, element: str) -> str:
    """What a field shows; nothing where it is hidden."""
    found: str = browser.execute_script(_VALUE, element)
    return found


def described(browser: Any) -> dict[str, str]:
    """The text alternatives of the figures that are drawn, by the figures' names."""
    return dict(browser.execute_script(_FIGURES))


def query(browser: Any) -> dict[str, list[str]]:
    """The query of the page's address."""
    return parse_qs(urlsplit(browser.current_url).query)
