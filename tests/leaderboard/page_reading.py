"""Reading a page of the application in a browser: the cells of its tables, the values of its fields, its address."""

from importlib.resources import files
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


def described(browser: Any) -> dict[str, str]:
    """The text alternatives of the figures that are drawn, by the figures' names."""
    return dict(browser.execute_script(_FIGURES))


def query(browser: Any) -> dict[str, list[str]]:
    """The query of the page's address."""
    return parse_qs(urlsplit(browser.current_url).query)


# Visible texts whose contrast is below that of WCAG 2 at level AA: 4.5, or 3 for large text.
_PALE = """
const pen = Object.assign(document.createElement("canvas"), {width: 1, height: 1});
const ink = pen.getContext("2d", {willReadFrequently: true}), known = new Map(), found = new Map();
const rgba = (text) => {
  if (!known.has(text)) {
    ink.clearRect(0, 0, 1, 1);
    ink.fillStyle = text;
    ink.fillRect(0, 0, 1, 1);
    known.set(text, [...ink.getImageData(0, 0, 1, 1).data].map((c, i) => i === 3 ? c / 255 : c));
  }
  return known.get(text);
};
const over = (top, alpha, below) => below.map((c, i) => alpha * top[i] + (1 - alpha) * c);
const light = (colour) => {
  const [r, g, b] = colour.map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walk.nextNode()) {
  const text = walk.currentNode.textContent.trim(), own = walk.currentNode.parentElement;
  const box = own.getBoundingClientRect(), style = getComputedStyle(own), above = [];
  if (!text || box.width < 2 || box.height < 2 || !own.checkVisibility({visibilityProperty: true})) continue;
  if (own.closest("style, script, :disabled, .js-plotly-plot, [class*=sr-only]")) continue;
  let seen = 1, back = rgba(getComputedStyle(document.body).backgroundColor).slice(0, 3);
  for (let each = own; each; each = each.parentElement) above.unshift(getComputedStyle(each));
  for (const {backgroundColor, opacity} of above) {
    seen *= opacity;
    back = over(rgba(backgroundColor), rgba(backgroundColor)[3], back);
  }
  const colour = rgba(own.closest("svg") ? style.fill : style.color);
  const front = over(colour, colour[3] * seen, back), [low, high] = [light(front), light(back)].sort((a, b) => a - b);
  const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
  const ratio = (high + 0.05) / (low + 0.05);
  if (ratio < (large ? 3 : 4.5)) found.set(`${own.localName}.${own.className.baseVal ?? own.className}`,
    `${text.slice(0, 30)}: ${ratio.toFixed(2)}`);
}
return Object.fromEntries(found);
"""


def pale(browser: Any) -> dict[str, str]:
    """Texts that are too pale on their background, with their contrast, by element and classes: one of each."""
    found: dict[str, str] = browser.execute_script(_PALE)
    return found


_AXE = """
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ["violations"]}).then(({violations}) => done(violations.filter(
  ({impact}) => ["serious", "critical"].includes(impact)).map(({id, nodes}) => [id, nodes[0].html.slice(0, 200)])));
"""


def violations(browser: Any) -> dict[str, str]:
    """The serious violations of accessibility that axe-core finds, with an element of each."""
    browser.execute_script((files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8"))
    return dict(browser.execute_async_script(_AXE))
