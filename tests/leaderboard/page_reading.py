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
    return [[text.replace("\u00a0", " ").strip() for text in row] for row in found]


def column(browser: Any, table: str, place: int) -> list[str]:
    """The texts of a table's column."""
    return [row[place] for row in rows(browser, table)]


def value(browser: Any, element: str) -> str:
    """What a field shows; nothing where it is hidden."""
    found: str = browser.execute_script(_VALUE, element)
    return found


def displayed(browser: Any, *names: str) -> list[str]:
    """The names of the elements that can be seen."""
    return [each for each in names if any(e.is_displayed() for e in browser.find_elements("id", each))]


def described(browser: Any) -> dict[str, str]:
    """The text alternatives of the figures that are drawn, by the figures' names."""
    return dict(browser.execute_script(_FIGURES))


def query(browser: Any) -> dict[str, list[str]]:
    """The query of the page's address."""
    return parse_qs(urlsplit(browser.current_url).query)


# Labels of select boxes whose chosen text does not end before the caret, and of visible ones that show nothing.
_SELECTS = """
const cut = [], blank = [];
for (const input of document.querySelectorAll("input[role=listbox]")) {
  const box = input.getBoundingClientRect(), block = input.closest(".block");
  if (!box.width) continue;
  const style = getComputedStyle(input), canvas = document.createElement("canvas").getContext("2d");
  canvas.font = style.font;
  const room = box.width - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  if (canvas.measureText(input.value).width > room) cut.push([block.id, input.value]);
  const before = getComputedStyle(input.closest(".wrap-inner") ?? block, "::before").content;
  if (!input.value && !block.querySelector(".token") && before === "none") blank.push(block.id);
}
return [cut, blank];
"""
# Tables that leave room at their right, or whose heading is not above its column.
_GAPS = """
return [...document.querySelectorAll(".virtual-table-viewport")].filter((view) => {
  const row = view.querySelector("[role=row]:not(thead *)"), heads = [...view.querySelectorAll("th.header-cell")];
  if (!row || !view.clientWidth || row.parentElement.closest("thead")) return false;
  const cells = [...row.querySelectorAll("[role=gridcell]")], right = (e) => e.getBoundingClientRect().right;
  const blank = view.getBoundingClientRect().right - right(cells.at(-1)) > 20;
  return blank || cells.some((cell, i) => Math.abs(right(cell) - right(heads[i])) > 3);
}).map((view) => view.closest(".block").id);
"""


def selects(browser: Any) -> tuple[list[list[str]], list[str]]:
    """Select boxes whose text is cut under the caret, with the text, and those that show nothing at all."""
    cut, blank = browser.execute_script(_SELECTS)
    return cut, blank


def gaps(browser: Any) -> list[str]:
    """Tables with a blank rest at the right, or with headings beside their columns."""
    found: list[str] = browser.execute_script(_GAPS)
    return found
