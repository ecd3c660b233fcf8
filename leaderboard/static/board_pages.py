"""The pages of one board: Models, Diversity × quality and Compare."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import nan

from markupsafe import Markup

from divbench.core.tables import Cell, Styled, Table, places_for, with_interval
from leaderboard.data.board import Board, Column, ranking_column
from leaderboard.data.scores import BoardScores
from leaderboard.figures.board_plots import system_curves_figure, tradeoff_figure
from leaderboard.figures.forest_table import forest_table
from leaderboard.static.render import Figure, Page, StaticTable
from leaderboard.tables import page_text
from leaderboard.tables.compare import LEVEL, Gap, compare
from leaderboard.tables.curves import Curve, curves_table, distinct_curves, patience_curves
from leaderboard.tables.forest import forest
from leaderboard.tables.models import (
    PRESETS,
    Filter,
    ModelsTable,
    about_models,
    columns_of,
    columns_table,
    models_table,
)
from leaderboard.tables.systems import first_systems, system_labels
from leaderboard.tables.tradeoff import about_tradeoff, default_axes, tradeoff, tradeoff_table

MODELS, TRADEOFF, COMPARE, EXPLORE = "Models", "Diversity × quality", "Compare", "Explore"
MOST_PAIRED = 12  # maximum number of systems that are compared pairwise
MARKS = {"human": "human", "baseline": "baseline"}


@dataclass(frozen=True, slots=True)
class Part:
    """A section of a page without its own template.

    Untrusted text occurs only in `said`, tables and links, and escaped in `forest`.
    """

    title: str = ""
    text: tuple[str, ...] = ()
    forest: Markup | None = None
    figure: Figure | None = None
    said: tuple[str, ...] = ()
    tables: tuple[StaticTable, ...] = ()
    codes: tuple[tuple[str, str], ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    links: tuple[tuple[str, str], ...] = ()


def plain_page(file: str, title: str, lead: Sequence[str], parts: Sequence[Part], board: str = "") -> Page:
    """A page without its own template."""
    scripts = tuple(part.figure.file for part in parts if part.figure)
    return Page(file, title, "plain.html", {"lead": lead, "parts": parts}, title, board, scripts, bool(scripts))


def models_page(board: Board, scores: BoardScores, file: str, systems: Mapping[str, str]) -> Page:
    """The page Models: the ranking in one sentence and a forest plot, then a table with column presets."""
    columns, beside = columns_of(board, "everything", ())
    ranks = ranking_column(board) or board.columns[0]  # boards without columns are left out
    standing = scores.standings(ranks)
    made = models_table(board, ranks, standing, columns, beside, Filter(), scores.bytes_a_response)
    presets = {name: _shown(board, name, made, columns) for name in PRESETS}
    marks = [MARKS.get(entry.result.manifest.system.type, "") for entry in made.entries]
    first = frozenset(presets["overview"])
    values = {
        "forest": forest_table(forest(board, ranks, standing), systems.__getitem__),
        "lead": (page_text.MODELS,),
        "presets": presets,
        "systems": StaticTable(made.table, "systems", "Mean over prompts [95% interval]", marks, first),
        "said": about_models(board, made),
        "notes": (
            f"Ranks are by {ranks.label}. Click a column header to sort by it; ranks do not change. Human responses "
            "are green and known-bad baselines yellow; the type column has the same information.",
        ),
        "about_columns": (page_text.COLUMNS,),
        "columns": StaticTable(columns_table(board), "columns", "Column descriptions"),
        "files": {
            "csv": f"data/{board.name}.csv",
            "parquet": f"data/{board.name}.parquet",
            "columns": f"data/{board.name}.columns.json",
        },
    }
    return Page(file, MODELS, "models.html", values, MODELS, board.name)


def _shown(board: Board, preset: str, made: ModelsTable, columns: Sequence[Column]) -> list[int]:
    """The indices of the columns that a preset shows; the first two are the system and its rank."""
    wanted, facts = columns_of(board, preset, ())
    signatures = {column.signature for column in wanted}
    shown = [0, 1, *(2 + place for place, column in enumerate(columns) if column.signature in signatures)]
    start = 2 + len(columns)
    return shown + [start + place for place, name in enumerate(made.beside) if name in facts]


def tradeoff_page(board: Board, scores: BoardScores, file: str) -> Page:
    """The page Diversity × quality: the Pareto front, and the curves over responses and patience."""
    axes = default_axes(board)
    parts = []
    if axes is not None:
        found = tradeoff(scores, *axes)
        name = f"{axes[0].label} and {axes[1].label}"
        alt = f"Each system by {name}, with 95% intervals; the table has the same numbers."
        figure = Figure("tradeoff", alt, 560, tradeoff_figure(found), f"figures/{board.name}-tradeoff.js")
        table = StaticTable(tradeoff_table(board, found), "points", f"Systems by {name}")
        parts.append(Part(figure=figure, said=(about_tradeoff(board, found),), tables=(table,)))
    parts.append(Part(title="More responses, more patience", text=(page_text.CURVES,)))
    kinds: tuple[tuple[str, str, str, str, Callable[..., tuple[Curve, ...]]], ...] = (
        (
            "distinct",
            "Expected different valid responses among m",
            "responses m",
            "expected different valid responses",
            distinct_curves,
        ),
        ("patience", "Utility by the reader's patience", "patience p", "utility (0 to 10)", patience_curves),
    )
    places = first_systems(board)
    names = [system_labels(board)[place] for place in places]
    for own, title, at, of, make in kinds:
        curves = make(board, places)
        if curves:
            alt = f"{title}, one line per system; the table has the same numbers."
            drawn = system_curves_figure(curves, at, of, systems=names, diagonal=own == "distinct")
            figure = Figure(own, alt, 480, drawn, f"figures/{board.name}-{own}.js")
            table = StaticTable(curves_table(curves, at.split()[-1]), f"{own}-table", f"{title} [95% interval]")
            systems = len(board.entries)
            said = f"Of {systems} systems, {len(curves)} are shown: those with a curve among the first {len(places)}."
            text = (said,) if len(curves) < systems else ()
            parts.append(Part(title=title, text=text, figure=figure, tables=(table,)))
        elif own == "patience":
            parts.append(Part(text=(page_text.NO_PATIENCE,)))
    return plain_page(file, TRADEOFF, (page_text.TRADEOFF,), parts, board.name)


def compare_page(board: Board, scores: BoardScores, file: str) -> Page:
    """The page Compare: paired differences between every two systems on the main metrics, with tests."""
    columns = columns_of(board, "overview", ())[0] or board.columns[:1]
    places = first_systems(board, MOST_PAIRED)
    labels = system_labels(board)
    gaps = compare(scores, places, columns)
    tested = sum(gap.p is not None for gap in gaps)
    names = [labels[place] for place in places]
    parts = [
        _pairs(f"pairs-{number}", column, [gap for gap in gaps if gap.column is column], names)
        for number, column in enumerate(columns, 1)
    ]
    method = (
        "Mean difference (row minus column) over the prompts for which both systems have a value, with its 95% "
        "percentile bootstrap interval. ▲: the row's system is ahead; ▽: the column's is, by Wilcoxon's two-sided "
        f"signed-rank test at {LEVEL:g} after Holm's correction over all {tested} tests on this page. "
        "No symbol: no significant difference, or means and ranks disagree."
    )
    lead = [page_text.COMPARE, *([method] if gaps else [])]
    if len(places) < len(board.entries):
        lead.append(f"The first {len(places)} of {len(board.entries)} systems of the table are compared.")
    if len(places) < 2:
        lead.append(page_text.ALONE)
    return plain_page(file, COMPARE, lead, [part for part in parts if part.tables], board.name)


def _pairs(name: str, column: Column, gaps: Sequence[Gap], names: Sequence[str]) -> Part:
    """The differences on a metric as a table of systems by systems."""
    if not gaps:
        return Part()
    digits = places_for(gap.interval[1] - gap.interval[0] for gap in gaps if gap.interval is not None)
    count = len(names)
    rows: list[list[Cell]] = [[name, *[None] * count] for name in names]
    for place in range(count):
        rows[place][place + 1] = Styled("·", value=nan)
    for gap in gaps:
        for row, other, sign in ((gap.first, gap.second, 1), (gap.second, gap.first, -1)):
            if gap.difference is not None:
                rows[row][other + 1] = Styled(_difference(gap, sign, digits), value=sign * gap.difference)
    headers = ("row − column", *names)
    view = Table("", headers, rows)
    caption = f"{column.label}: {column.title}{f' [{column.unit}]' if column.unit else ''}"
    return Part(title=column.label, tables=(StaticTable(view, name, caption),))


def _difference(gap: Gap, sign: int, digits: int) -> str:
    """A difference with its interval and the system ahead, from the row's point of view."""
    if gap.difference is None:
        return ""
    value = sign * gap.difference
    low, high = (None, None) if gap.interval is None else sorted(sign * end for end in gap.interval)
    text = f"{'+' if value > 0 else ''}{with_interval(value, low, high, digits)}"
    if gap.ahead is None:
        return text
    return f"{text} {'▲' if gap.ahead == gap.names[0 if sign > 0 else 1] else '▽'}"
