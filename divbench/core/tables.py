"""Tables, reports and numbers: one type each, with one writer for the terminal, Markdown, CSV, JSON and pages.

Cells may hold untrusted text. `escape_markdown`, `escape_csv` and `printable` are the only escapers; the writers call
them, so that callers need not.
"""

import csv
import io
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table as RichTable
from rich.text import Text

from divbench.core.errors import ConfigurationError
from divbench.core.files import plain_json, readable_json, write_text

if TYPE_CHECKING:
    import pandas as pd

_LONG_WORD = 12  # letters; longer words may be broken into lines
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
# Two things are harmless and stay unescaped: an underscore inside a word (metric names), and brackets around two
# numbers (intervals) unless a link's address follows.
_INTERVAL = r"-?[\d.]+, -?[\d.]+\](?![(\[:])"
_MARKUP = re.compile(rf"([\\`*<>|&~#!$]|\[(?!{_INTERVAL})|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")

_LATEX = {letter: f"\\{letter}" for letter in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "−": "$-$",
    "×": r"$\times$",
    "≠": r"$\neq$",
    "…": r"\dots{}",
    "–": "--",
    "→": r"$\rightarrow$",
    "±": r"$\pm$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
}


@dataclass(frozen=True, slots=True)
class Styled:
    """A cell with a style, or a number with its own text."""

    text: str
    style: str = ""  # "code" or a style of rich; Markdown supports "bold" and "code"
    value: float | None = None  # number that the text shows: CSV files contain it, and pages sort by it


Cell = str | int | float | None | Styled  # None is a missing value


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

    @classmethod
    def of_frame(cls, frame: "pd.DataFrame") -> "Table":
        """Make a table without title from a data frame."""
        return cls("", list(frame.columns), frame.astype(object).where(frame.notna(), None).to_numpy().tolist())

    def is_number(self, index: int) -> bool:
        """Whether a column is right-aligned."""
        return index > 0 if self.numbers is None else self.columns[index] in self.numbers

    @property
    def values(self) -> tuple[tuple[str | float | None, ...], ...]:
        """The cells as texts and numbers, by which pages sort."""
        return tuple(tuple(map(_value, row)) for row in self.rows)

    @property
    def texts(self) -> tuple[tuple[str, ...], ...]:
        """The cells as a page shows them; missing ones are empty."""
        return tuple(tuple("" if cell is None else _text(cell) for cell in row) for row in self.rows)

    @property
    def kinds(self) -> list[str]:
        """Whether each column is of kind *number* or *str*, as for `gr.Dataframe`."""
        columns = list(zip(*self.values, strict=True)) or [("",) for _ in self.columns]
        return ["str" if any(isinstance(value, str) for value in column) else "number" for column in columns]

    def frame(self) -> "pd.DataFrame":
        """The values as a data frame; columns of numbers are integers if all their values are, else floats."""
        import pandas as pd

        frame = pd.DataFrame(self.values, columns=list(self.columns))
        for name, kind, *values in zip(self.columns, self.kinds, *self.values, strict=True):
            if kind == "number":
                is_whole = any(value is not None for value in values) and all(
                    isinstance(value, int | None) for value in values
                )
                frame[name] = frame[name].astype("Int64" if is_whole else "float64")
        return frame


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
        """Return the report as Markdown (".md"), LaTeX (".tex"), CSV (".csv") or JSON (".json")."""
        if ending == ".json":
            return readable_json(plain_json(self.document))
        if ending == ".csv" and self.records is not None:
            return to_csv(self.records)
        if ending == ".tex":
            return "\n".join(to_latex(block) for block in self.blocks if isinstance(block, Table))
        blocks = [to_markdown(block) if isinstance(block, Table) else _markdown_cell(block) for block in self.blocks]
        return "\n\n".join([f"# {escape_markdown(self.title)}", *blocks]) + "\n"

    @property
    def endings(self) -> tuple[str, ...]:
        """Extensions of the files that the report can be written to."""
        return (".md", ".tex", ".json") if self.records is None else (".md", ".tex", ".csv", ".json")


def styled(cells: Sequence[Cell], style: str) -> list[Styled]:
    """Return the cells of a row in one style."""
    return [Styled(_text(cell), style) for cell in cells]


def number(value: float | None, places: int | None = None) -> str:
    """Format a number with three decimals (one from 100 on) or as many as told; a dash if it is missing.

    >>> number(0.12345), number(-1234.5), number(-0.001, 2), number(None)
    ('0.123', '-1234.5', '0.00', '-')
    """
    if value is None or isnan(value):
        return "-"
    digits = (3 if abs(value) < 100 else 1) if places is None else places
    return f"{round(value, digits) + 0.0:.{digits}f}"  # + 0.0: no negative zero


def places_for(widths: Iterable[float]) -> int:
    """Return the number of decimals that the median width of intervals justifies; 2 if none has a width.

    >>> [places_for(widths) for widths in ([0.01], [0.1], [1], [30], [], [0, 0, 0.1])]
    [4, 3, 2, 0, 2, 3]
    """
    positive = [width for width in widths if width > 0]  # identical responses have width 0, which says nothing
    width = median(positive) if positive else 1.0
    return 4 if width < 0.02 else 3 if width < 0.2 else 2 if width < 20 else 0


def interval(low: float | None, high: float | None, places: int | None = None) -> str:
    """Format an interval with the decimals that its width justifies, or as many as told; empty if it is missing.

    >>> interval(0.1, 0.25), interval(None, None)
    ('[0.100, 0.250]', '')
    """
    if low is None or high is None:
        return ""
    digits = places_for([high - low]) if places is None else places
    return f"[{number(low, digits)}, {number(high, digits)}]"


def with_interval(value: float | None, low: float | None, high: float | None, places: int | None = None) -> str:
    """Format a number with its interval, if any; a dash if it is missing.

    >>> with_interval(2.888, 2.5, 3.312), with_interval(0.5, None, None), with_interval(None, None, None)
    ('2.89 [2.50, 3.31]', '0.500', '-')
    """
    if low is None or high is None:
        return number(value, places)
    digits = places_for([high - low]) if places is None else places
    return f"{number(value, digits)} {interval(low, high, digits)}"


def p_value(p: float | None) -> str:
    """Format a p-value with two significant digits; a dash if it is missing.

    >>> p_value(0.01234), p_value(0.00001), p_value(1.0), p_value(None)
    ('0.012', '< 0.0001', '1', '-')
    """
    return "-" if p is None or isnan(p) else "< 0.0001" if p < 0.0001 else f"{p:.2g}"


def listed(names: Sequence[str], most: int) -> str:
    """Join names by commas, cut to a maximum number.

    >>> listed(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")


def number_cell(value: float | None, text: str) -> Cell:
    """Return a number with its own text as a cell; missing if the number is."""
    return None if value is None or isnan(value) else Styled(text, value=value)


def estimate_cell(value: float | None, low: float | None, high: float | None, places: int | None = None) -> Cell:
    """Return a number with its interval as a cell."""
    return number_cell(value, with_interval(value, low, high, places))


def estimate_cells(numbers: Sequence[tuple[float | None, float | None, float | None]]) -> list[Cell]:
    """Return a column of numbers (value, low, high) as cells with as many decimals as the intervals justify."""
    places = places_for(high - low for _, low, high in numbers if low is not None and high is not None)
    return [estimate_cell(*estimate, places) for estimate in numbers]


def escape_markdown(text: str) -> str:
    r"""Escape text so that it is one line without markup or HTML and does not end a table's cell.

    >>> print(escape_markdown("<b>*bold*</b> [a](b) | distinct_n _c_"))
    \<b\>\*bold\*\</b\> \[a](b) \| distinct_n \_c\_
    """
    return _MARKUP.sub(r"\\\1", printable(" ".join(text.split())))


def escape_csv(value: object) -> object:
    r"""Put an apostrophe before a text that a spreadsheet would run as a formula.

    >>> [escape_csv(value) for value in ("=1+1", "\tx", "-1+2", "-1.5", "a-b", -1.5, None)]
    ["'=1+1", "'\tx", "'-1+2", '-1.5', 'a-b', -1.5, None]
    """
    is_formula = isinstance(value, str) and value.startswith(_FORMULA) and not _NUMBER.fullmatch(value)
    return f"'{value}" if is_formula else value


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
        *(list(map(_markdown_cell, row)) for row in table.rows),
    ]
    parts = [f"## {escape_markdown(table.title)}"] * bool(table.title)
    parts += ["\n".join(f"| {' | '.join(line)} |" for line in lines)]
    return "\n\n".join([*parts, *map(_markdown_cell, table.notes)])


def escape_latex(text: str) -> str:
    r"""Escape text for LaTeX, on one line, with the signs that tables use as commands.

    >>> print(escape_latex("distinct_n ↑ 5% of $x"))
    distinct\_n $\uparrow$ 5\% of \$x
    """
    return "".join(_LATEX.get(letter, letter) for letter in printable(" ".join(text.split())))


def to_latex(table: Table) -> str:
    """Write a table as LaTeX: a tabular that needs no package, with its title and notes as comments and a paragraph."""
    kinds = "".join("r" if table.is_number(index) else "l" for index in range(len(table.columns)))
    lines = [[escape_latex(name) for name in table.columns]]
    lines += [["" if cell is None else _latex_cell(cell) for cell in row] for row in table.rows]
    head, *rows = [f"{' & '.join(line)} \\\\" for line in lines]
    title = [f"% {escape_latex(table.title)}"] * bool(table.title)
    notes = [f"\\par\\footnotesize {_latex_cell(note)}" for note in table.notes]
    body = [f"\\begin{{tabular}}{{{kinds}}}", "\\hline", head, "\\hline", *rows, "\\hline", "\\end{tabular}"]
    return "\n".join([*title, *body, *notes]) + "\n"


def _latex_cell(cell: Cell) -> str:
    text = escape_latex(_text(cell))
    style = cell.style.split() if isinstance(cell, Styled) else []
    return f"\\texttt{{{text}}}" if "code" in style else f"\\textbf{{{text}}}" if "bold" in style else text


def to_csv(table: Table) -> str:
    """Write a table as CSV, without title and notes: numbers in full precision, missing values empty."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    for row in (table.columns, *table.rows):
        writer.writerow([escape_csv(_value(cell)) for cell in row])
    return file.getvalue()


def to_terminal(table: Table) -> RenderableType:
    """Make a table for a terminal, with its notes below; a paragraph per row where columns would break short words."""
    wide = RichTable(title=plain(table.title) if table.title else None, title_justify="left", header_style="bold")
    for index, name in enumerate(table.columns):
        is_code = all(isinstance(cell, Styled) and cell.style == "code" for cell in (row[index] for row in table.rows))
        justify: Literal["left", "right"] = "right" if table.is_number(index) else "left"
        wide.add_column(plain(name), justify=justify, overflow="fold", no_wrap=is_code)
    for row in table.rows:
        wide.add_row(*map(_terminal_cell, row))
    fitted = _Fitted(table, wide)
    return Group(fitted, *map(_terminal_cell, table.notes)) if table.notes else fitted


@dataclass(frozen=True, slots=True)
class _Fitted:
    """A table for a terminal, or its rows as paragraphs where the terminal is too narrow for its columns."""

    table: Table
    wide: RichTable

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return self.wide.__rich_measure__(console, options)

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
            pairs = [(name.plain, cell) for name, cell in zip(headers, row, strict=True) if cell.plain]
            yield Text("; ").join([Text.assemble((name, "bold"), " ", cell) for name, cell in pairs])


def to_text(table: Table) -> str:
    """Write a table as plain text, without colours."""
    file = io.StringIO()
    # Without `force_jupyter=False`, rich would also display the table in a notebook.
    console = Console(file=file, width=120, color_system=None, highlight=False, emoji=False, force_jupyter=False)
    console.print(to_terminal(table))
    return "\n".join(line.rstrip() for line in file.getvalue().rstrip().splitlines())


def print_blocks(blocks: Sequence[Block], console: Console) -> None:
    """Print paragraphs and tables."""
    for block in blocks:
        console.print(to_terminal(block) if isinstance(block, Table) else _terminal_cell(block))


def check_report_path(path: Path | None, endings: Collection[str] = (".md", ".tex", ".csv", ".json")) -> None:
    """Check, before the work, that a report's file can be written; without endings, with any extension."""
    if path is None:
        return
    if endings and path.suffix not in endings:
        raise ConfigurationError(f"{path} does not end in {', '.join(endings)}", "choose one of these endings")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise ConfigurationError(f"{path} cannot be written", "name a file in an existing folder")


def write_report(report: Report, path: Path) -> None:
    """Write a report as Markdown, CSV or JSON, by the file's extension; the same report gives the same bytes."""
    check_report_path(path, report.endings)
    write_text(path, report.text(path.suffix))


def _value(cell: Cell) -> str | float | None:
    """Return the number or text of a cell."""
    if isinstance(cell, Styled):
        return cell.text if cell.value is None else cell.value
    return cell


def _text(cell: Cell) -> str:
    """Return a cell as it is shown."""
    if isinstance(cell, Styled):
        return cell.text
    if isinstance(cell, str):
        return cell
    return f"{cell:,}" if isinstance(cell, int) else number(cell)


def _markdown_cell(cell: Cell) -> str:
    text = _text(cell)
    if isinstance(cell, Styled) and cell.style == "code":
        return _code_span(text)
    escaped = escape_markdown(text) if isinstance(cell, str | Styled) else text
    return f"**{escaped}**" if isinstance(cell, Styled) and "bold" in cell.style.split() else escaped


def _code_span(text: str) -> str:
    """Format text as code, with a fence longer than any run of backticks inside."""
    inside = printable(" ".join(text.split())).replace("|", r"\|")
    longest = max(map(len, re.findall("`+", inside)), default=0)
    fence, space = "`" * (longest + 1), " " if longest else ""
    return f"{fence}{space}{inside}{space}{fence}"


def _terminal_cell(cell: Cell) -> Text:
    style = cell.style if isinstance(cell, Styled) and cell.style != "code" else ""
    return Text(printable(_text(cell)), style=style)
