"""Tables and reports: one type each, and one writer and one escaper for Markdown, CSV, JSON and the terminal.

Cells may hold untrusted text. `escape_markdown`, `escape_csv` and `printable` are the only escapers; the writers call
them, so that callers need not.
"""

import csv
import io
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table as RichTable
from rich.text import Text

from divbench.core.errors import ConfigurationError
from divbench.core.files import plain_json, readable_json, write_text

_LONG_WORD = 12  # letters; longer words may be broken into lines
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
# Two things are harmless and stay unescaped: an underscore inside a word (metric names), and brackets around two
# numbers (intervals) unless a link's address follows.
_INTERVAL = r"-?[\d.]+, -?[\d.]+\](?![(\[:])"
_MARKUP = re.compile(rf"([\\`*<>|&~#!$]|\[(?!{_INTERVAL})|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")


@dataclass(frozen=True, slots=True)
class Styled:
    """A cell with a style."""

    text: str
    # "code" or "number" (a number whose digits are kept as written), or a style of rich. Markdown supports "bold" and
    # "code".
    style: str


# None is a missing value; the strings of a tuple are lines of one cell.
Cell = str | int | float | None | Styled | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table, independent of where it is shown."""

    title: str  # heading; "" for none
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]  # rows of cells, as long as `columns`
    notes: Sequence[str | Styled] = ()
    numbers: Collection[str] | None = None  # right-aligned columns; None: all but the first

    @classmethod
    def of_records(cls, records: Sequence[Mapping[str, Cell]]) -> "Table":
        """Make a table without title from one mapping per row; the longest mapping determines the columns."""
        columns = max(map(list, records), key=len, default=[])
        return cls("", columns, [[record.get(name) for name in columns] for record in records])

    def is_number(self, index: int) -> bool:
        """Whether a column is right-aligned."""
        return index > 0 if self.numbers is None else self.columns[index] in self.numbers


Block = str | Styled | Table


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a command in each of its formats."""

    title: str
    blocks: Sequence[Block]  # paragraphs and tables of the Markdown file
    document: Any  # JSON document, in which dataclasses and undefined numbers are allowed; see `plain_json`
    printed: Sequence[Block]  # paragraphs and tables for the terminal
    records: Table | None = None  # numbers in full precision for CSV; None: there is no CSV

    def text(self, ending: str) -> str:
        """Return the report as Markdown (".md"), CSV (".csv") or JSON (".json")."""
        if ending == ".json":
            return readable_json(plain_json(self.document))
        if ending == ".csv" and self.records is not None:
            return to_csv(self.records)
        blocks = [to_markdown(block) if isinstance(block, Table) else _markdown_cell(block) for block in self.blocks]
        return "\n\n".join([f"# {escape_markdown(self.title)}", *blocks]) + "\n"

    @property
    def endings(self) -> tuple[str, ...]:
        """Extensions of the files that the document can be written to."""
        return (".md", ".json") if self.records is None else (".md", ".csv", ".json")


def styled(cells: Sequence[Cell], style: str) -> list[Styled]:
    """Return the cells of a row in one style."""
    return [Styled(_text(cell), style) for cell in cells]


def number(value: float | None) -> str:
    """Format a number with four decimals (one from 100 on); a dash if it is missing."""
    return "-" if value is None else f"{value:.4f}" if abs(value) < 100 else f"{value:.1f}"


def interval(low: float | None, high: float | None) -> str:
    """Format the ends of an interval; empty if it is missing."""
    return "" if low is None or high is None else f"[{number(low)}, {number(high)}]"


def with_interval(value: float | None, low: float | None, high: float | None) -> str:
    """Format a number with three decimals and its interval, if any, in brackets; a dash if it is missing."""
    if value is None:
        return "-"
    return f"{value:.3f}" if low is None or high is None else f"{value:.3f} [{low:.2f}, {high:.2f}]"


def p_value(p: float | None, digits: int = 2) -> str:
    """Format a p-value with a number of significant digits; a dash if it is missing."""
    return "-" if p is None else f"{p:.{digits}g}"


def escape_markdown(text: str) -> str:
    r"""Escape text so that it is one line without markup or HTML and does not end a table's cell.

    >>> print(escape_markdown("<b>*bold*</b> [a](b) | distinct_n _c_"))
    \<b\>\*bold\*\</b\> \[a](b) \| distinct_n \_c\_
    """
    return _MARKUP.sub(r"\\\1", printable(" ".join(text.split())))


def escape_csv(value: object) -> object:
    r"""Put an apostrophe before a text that a spreadsheet would run as a formula.

    >>> [escape_csv(value) for value in ("=1+1", "\tx", "a-b", -1.5, None)]
    ["'=1+1", "'\tx", 'a-b', -1.5, None]
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def printable(text: str) -> str:
    r"""Escape unprintable characters, which could control a terminal or reverse the text's direction.

    >>> printable("\x1b[31mred")
    '\\x1b[31mred'
    """
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def plain(text: str) -> Text:
    """Return untrusted text for the terminal, without the effects of rich's markup and control characters."""
    return Text(printable(text))


def to_markdown(table: Table) -> str:
    """Write a table as Markdown, with its title as a second-level heading."""
    lines = [
        [escape_markdown(name) for name in table.columns],
        ["---:" if table.is_number(index) else "---" for index in range(len(table.columns))],
        *([_markdown_cell(cell).replace("\n", " ") for cell in row] for row in table.rows),
    ]
    parts = [f"## {escape_markdown(table.title)}"] * bool(table.title)
    parts += ["\n".join(f"| {' | '.join(line)} |" for line in lines)]
    return "\n\n".join([*parts, *map(_markdown_cell, table.notes)])


def to_csv(table: Table) -> str:
    """Write a table as CSV, without title and notes: numbers in full precision, missing values empty."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    for row in (table.columns, *table.rows):
        writer.writerow([_csv_cell(cell) for cell in row])
    return file.getvalue()


def to_terminal(table: Table, *, break_numbers: bool = True) -> RenderableType:
    """Make a table for a terminal, with its notes below; a paragraph per row where columns would break short words.

    Args:
        break_numbers: Whether numbers may be broken into lines if the terminal is too narrow for the table.
    """
    made = RichTable(title=plain(table.title) if table.title else None, title_justify="left", header_style="bold")
    for index, name in enumerate(table.columns):
        right = table.is_number(index)
        code = all(isinstance(cell, Styled) and cell.style == "code" for cell in (row[index] for row in table.rows))
        made.add_column(
            plain(name),
            justify="right" if right else "left",
            overflow="fold" if break_numbers or not right else "ellipsis",
            no_wrap=code or (right and not break_numbers),
        )
    for row in table.rows:
        made.add_row(*map(_terminal_cell, row))
    shown = _Fitted(table, made) if break_numbers else made
    return Group(shown, *map(_terminal_cell, table.notes)) if table.notes else shown


@dataclass(frozen=True, slots=True)
class _Fitted:
    """A table for a terminal, or its rows as paragraphs where the terminal is too narrow for its columns."""

    table: Table
    wide: RichTable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        headers = [plain(name) for name in self.table.columns]
        rows = [[_terminal_cell(cell) for cell in row] for row in self.table.rows]
        columns = zip(headers, *rows, strict=True)
        words = [max((len(word) for cell in column for word in cell.plain.split()), default=0) for column in columns]
        if sum(min(longest, _LONG_WORD) + 3 for longest in words) < options.max_width:
            yield self.wide
            return
        if self.table.title:
            yield plain(self.table.title)
        for row in rows:
            there = [(name.plain, cell) for name, cell in zip(headers, row, strict=True) if cell.plain]
            yield Text("; ").join([Text.assemble((name, "bold"), " ", cell) for name, cell in there])


def to_text(table: Table) -> str:
    """Write a table as plain text, without colours."""
    written = io.StringIO()
    # Without `force_jupyter=False`, rich would also display the table in a notebook.
    console = Console(file=written, width=120, color_system=None, highlight=False, emoji=False, force_jupyter=False)
    console.print(to_terminal(table))
    return "\n".join(line.rstrip() for line in written.getvalue().rstrip().splitlines())


def print_blocks(blocks: Sequence[Block], console: Console) -> None:
    """Print paragraphs and tables."""
    for block in blocks:
        if isinstance(block, Table):
            console.print(to_terminal(block))
        else:
            console.print(_terminal_cell(block))


def check_report_path(path: Path | None, endings: Collection[str] = (".md", ".csv", ".json")) -> None:
    """Check, before the work, that a report's file can be written.

    Args:
        endings: Allowed extensions; empty: any.

    Raises:
        ConfigurationError: It has another extension, or its folder does not exist.
    """
    if path is None:
        return
    if endings and path.suffix not in endings:
        raise ConfigurationError(f"{path} does not end in {', '.join(endings)}", "choose one of these endings")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise ConfigurationError(f"{path} cannot be written", "name a file in an existing folder")


def write_report(report: Report, path: Path) -> None:
    """Write a report as Markdown, CSV or JSON, by the file's extension; the same report gives the same bytes.

    Raises:
        ConfigurationError: As in `check_report_path`.
    """
    check_report_path(path, report.endings)
    write_text(path, report.text(path.suffix))


def _text(cell: Cell) -> str:
    """Return a cell as text; a tuple becomes lines."""
    if isinstance(cell, Styled):
        return cell.text
    if isinstance(cell, tuple):
        return "\n".join(map(printable, cell))
    return number(cell) if isinstance(cell, float) or cell is None else str(cell)


def _markdown_cell(cell: Cell) -> str:
    if isinstance(cell, Styled):
        if cell.style == "code":
            return _code_span(cell.text)
        return f"**{escape_markdown(cell.text)}**" if "bold" in cell.style.split() else escape_markdown(cell.text)
    return escape_markdown(_text(cell)) if isinstance(cell, str | tuple) else _text(cell)


def _code_span(text: str) -> str:
    """Format text as code, with a fence longer than any run of backticks inside."""
    inside = printable(" ".join(text.split())).replace("|", r"\|")
    longest = max(map(len, re.findall("`+", inside)), default=0)
    fence, space = "`" * (longest + 1), " " if longest else ""
    return f"{fence}{space}{inside}{space}{fence}"


def _csv_cell(cell: Cell) -> object:
    if isinstance(cell, Styled) and cell.style == "number" and _NUMBER.fullmatch(cell.text):
        return cell.text
    return escape_csv(_text(cell).replace("\n", " ") if isinstance(cell, Styled | tuple) else cell)


def _terminal_cell(cell: Cell) -> Text:
    if isinstance(cell, tuple):
        return Text(_text(cell))
    style = cell.style if isinstance(cell, Styled) and cell.style not in ("code", "number") else ""
    return Text(printable(_text(cell)), style=style)
