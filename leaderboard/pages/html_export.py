"""Writes the pages that the application shows as plain HTML as files that need no server."""

from collections.abc import Mapping
from pathlib import Path

from markupsafe import Markup

from divbench.core.errors import InputError
from divbench.core.files import write_text
from leaderboard.app.theme import ASSETS
from leaderboard.data.board import Board, ranking_column
from leaderboard.data.live_results import LiveResults
from leaderboard.data.scores import BoardScores
from leaderboard.pages import page_text
from leaderboard.pages.accuracy import accuracy_section, best_accuracy
from leaderboard.pages.picture import picture
from leaderboard.pages.plain_html import Page, Part, render, style_sheet
from leaderboard.pages.ranking import ranking, ranking_table
from leaderboard.pages.system import nearest, system_page
from leaderboard.pages.systems import system_ids
from leaderboard.pages.trust import trust_table

ICON = "favicon.svg"
INDEX, METRICS = "index.html", "metrics.html"
_NAVIGATION = Markup(
    '<nav aria-label="Pages"><div id="pages"><ul><li><a href="{}">Models</a></li><li><a href="{}">Metrics</a></li></ul>'
    "</div></nav>"
).format(INDEX, METRICS)


def write_pages(live: LiveResults, folder: Path) -> tuple[list[Path], list[str]]:
    """Write the rankings, the systems and the metrics; return the paths, and what was left out, with the reasons."""
    left_out: list[str] = []
    pages: dict[str, Page] = {}
    rankings: dict[str, tuple[str, Part]] = {}  # by board: the page's file, and the ranking
    for board in live.snapshot().boards:
        if not board.columns:
            continue
        try:
            scores = live.scores(board)
            files = {name: f"system-{board.name}-{name}.html" for name in system_ids(board)}
            systems = {
                file: system_page(scores, i, near=nearest(scores, i), script=False)
                for i, file in enumerate(files.values())
            }
            file = f"models-{board.name}.html" if rankings else INDEX
            rankings[board.label] = file, _ranking(board, scores, files)
            pages |= systems
        except InputError as error:  # a result's files are gone or damaged
            left_out.append(f"{board.name}: not shown, {error.message}")
    pages[METRICS] = Page("Metrics", (_trust(live),))
    tables = Part("Tables", links=tuple((label, file) for label, (file, _) in rankings.items()))
    pages[INDEX] = Page("Models", (Part(lines=(page_text.NO_RESULTS,)),))
    pages |= {file: Page("Models", (ranking, tables)) for file, ranking in rankings.values()}
    (folder / "assets").mkdir(parents=True, exist_ok=True)
    write_text(folder / "assets" / "board.css", style_sheet())
    write_text(folder / "assets" / ICON, (ASSETS / ICON).read_text(encoding="utf-8"))
    warnings = [*live.snapshot().warnings, *left_out]
    for name, page in pages.items():
        write_text(folder / name, render(page, "assets", _NAVIGATION, warnings, script=False))
    return [folder / name for name in pages], left_out


def _ranking(board: Board, scores: BoardScores, files: Mapping[str, str]) -> Part:
    """Return a board's ranking as on the first page, with links to its systems and its tables."""
    main = ranking_column(board) or board.columns[0]
    view = ranking(board, main, scores.standings(main))
    sentence = Markup('<p class="answer"><bdi>{}</bdi></p>').format(view.sentence)

    def link(board: str, system: str) -> str:
        return files[system]

    table = sentence + picture(view, link) + ranking_table(view, link)
    names = {"CSV": ".csv", "Parquet": ".parquet", "column descriptions": ".columns.json"}
    return Part(board.label, table, links=tuple((label, f"{board.name}{ending}") for label, ending in names.items()))


def _trust(live: LiveResults) -> Part:
    """Return how wrong the estimates are and which metric to trust, as on the page Metrics."""
    studies = live.studies
    table = trust_table(studies.study, studies.gaming) if studies.study else Markup("")
    table += accuracy_section(best_accuracy(live.snapshot().boards), studies.gaming)
    return Part(markup=table, lines=studies.faults)
