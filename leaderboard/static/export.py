"""Writes the board's tables, and the pages that the application shows as HTML, as files that need no server."""

from collections.abc import Mapping
from pathlib import Path

from markupsafe import Markup

from divbench.core.errors import InputError
from divbench.core.files import write_text
from leaderboard.data.board import Board, ranking_column
from leaderboard.data.live_results import LiveResults
from leaderboard.data.metric_study.study import Studies
from leaderboard.data.scores import BoardScores
from leaderboard.figures.forest_table import forest_table, trust_table
from leaderboard.static.render import Page, Part, render, style_sheet
from leaderboard.static.system_page import nearest, system_page
from leaderboard.tables import page_text
from leaderboard.tables.export import export
from leaderboard.tables.forest import forest
from leaderboard.tables.systems import system_ids
from leaderboard.tables.trust import (
    dominated_sentence,
    fitted_sentence,
    released_sentence,
    trust_caption,
    trust_sentence,
    trusted,
)

INDEX, METRICS = "index.html", "metrics.html"
_NAVIGATION = Markup(
    '<nav aria-label="Pages"><div id="pages"><ul><li><a href="{}">Models</a></li><li><a href="{}">Metrics</a></li></ul>'
    "</div></nav>"
).format(INDEX, METRICS)


def export_boards(live: LiveResults, folder: Path, *, html: bool) -> tuple[list[Path], list[str]]:
    """Write every table and, with `html`, the pages; return the paths, and what was left out, with the reasons."""
    written: list[Path] = []
    left_out: list[str] = []
    pages: dict[str, Page] = {}
    rankings: dict[str, tuple[str, Part]] = {}  # by board: the page's file, and the ranking
    for board in live.snapshot().boards:
        try:
            written += export(board, folder, live.scores)
            if html and board.columns:
                files = {name: f"system-{board.name}-{name}.html" for name in system_ids(board)}
                file = f"models-{board.name}.html" if rankings else INDEX
                rankings[board.label] = file, _ranking(board, live.scores(board), files)
                pages |= _system_pages(live.scores(board), files)
        except InputError as error:  # a result's files are gone or damaged
            left_out.append(f"{board.name}: not shown, {error.message}")
    if not html:
        return written, left_out
    tables = Part("Tables", links=tuple((label, file) for label, (file, _) in rankings.items()))
    pages[METRICS] = Page("Metrics", _trust(live.studies))
    pages[INDEX] = Page("Models", (Part(lines=(page_text.NO_RESULTS,)),))
    pages |= {file: Page("Models", (ranking, tables)) for file, ranking in rankings.values()}
    warnings = [*live.snapshot().warnings, *left_out]
    (folder / "assets").mkdir(parents=True, exist_ok=True)
    write_text(folder / "assets" / "board.css", style_sheet())
    for name, page in pages.items():
        write_text(folder / name, render(page, "assets", _NAVIGATION, warnings, script=False))
    return [*written, *(folder / name for name in pages)], left_out


def _ranking(board: Board, scores: BoardScores, files: Mapping[str, str]) -> Part:
    """A board's ranking as on the first page, with links to its systems and its tables."""
    main = ranking_column(board) or board.columns[0]
    table = forest_table(forest(board, main, scores.standings(main)), files.__getitem__)
    endings = {"CSV": ".csv", "Parquet": ".parquet", "column descriptions": ".columns.json"}
    return Part(board.label, table, links=tuple((label, f"{board.name}{ending}") for label, ending in endings.items()))


def _system_pages(scores: BoardScores, files: Mapping[str, str]) -> dict[str, Page]:
    return {
        file: system_page(scores, place, near=nearest(scores, place), script=False)
        for place, file in enumerate(files.values())
    }


def _trust(studies: Studies) -> tuple[Part, ...]:
    """Which metric to trust, as on the page Metrics."""
    if studies.study is None:
        return (Part(lines=studies.faults),)
    study, gaming = studies.study, studies.gaming
    rows = trusted(study, gaming)
    notes = (trust_caption(gaming), released_sentence(rows), dominated_sentence(study, gaming), fitted_sentence(study))
    table = trust_table(rows, trust_sentence(rows, study, gaming), " ".join(filter(None, notes)))
    return (Part(forest=table, lines=studies.faults),)
