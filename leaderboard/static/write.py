"""Writes the exported board into a temporary folder and renames it at the end.

The same results give the same bytes. An existing folder is replaced only if it is an earlier export.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark.metrics.metric import Missing
from datasets_build.sources.source import divbench_citation
from divbench.core.errors import ConfigurationError, InputError
from divbench.core.files import atomic_folder, write_text
from leaderboard.data.board import Board, Column
from leaderboard.data.live_results import LiveResults
from leaderboard.data.scores import BoardScores
from leaderboard.figures.response_plots import distributions_figure, stage_curves_figure
from leaderboard.static.board_pages import (
    COMPARE,
    EXPLORE,
    MODELS,
    TRADEOFF,
    Part,
    compare_page,
    models_page,
    plain_page,
    tradeoff_page,
)
from leaderboard.static.metrics_page import METRICS_TITLE, metrics_page
from leaderboard.static.render import Figure, Page, StaticTable, assets, figure_script, render, style_marks
from leaderboard.static.system_page import nearest, system_page
from leaderboard.static.texts import (
    explore_file,
    explore_page,
    keys_of,
    systems_page,
    texts_bytes,
    texts_file,
    texts_script,
)
from leaderboard.tables import about, dataset_cards, page_text, stages
from leaderboard.tables.export import export
from leaderboard.tables.systems import system_ids, system_labels
from submissions.untrusted.plain_text import shortened

STAGES_TITLE = "Post-training"


def stages_page(boards: Sequence[Board], scores: Mapping[str, BoardScores], file: str) -> Page:
    """All series of all boards: curves, distributions and contrasts.

    Raises:
        InputError: A result's files are gone or damaged.
    """
    parts: list[Part] = []
    for board in boards:
        for series in stages.find_series(board):
            parts += _series(board, scores[board.name], series)
    lead = (page_text.STAGES,) if parts else (page_text.STAGES, page_text.NO_STAGES)
    title = "How series are found and contrasts computed"
    parts.append(Part(title=title, text=(stages.RULE, page_text.CONTRASTS)))
    published = StaticTable(stages.published_table(), "published", page_text.PRINTED)
    parts.append(Part(title="Published", text=(page_text.PRINTED_STAGES,), tables=(published,)))
    return plain_page(file, STAGES_TITLE, lead, parts)


def _series(board: Board, scores: BoardScores, series: stages.Series) -> list[Part]:
    """The sections of a series."""
    title = f"{board.suite}, k = {board.k}, {board.profile}: {', '.join(series.stages)}"
    parts = [Part(title=title, said=(stages.about_series(board, series),)), _curves(board, series)]
    for metric in stages.METRICS:
        column = next((each for each in board.columns if each.metric == metric), None)
        if column is not None:
            parts.append(_metric(board, scores, series, column))
    return parts


def _key(board: Board, series: stages.Series) -> str:
    """A unique key for a series: the same systems may be on several boards, at another k or with another profile."""
    return f"{board.name}-{series.key}"


def _curves(board: Board, series: stages.Series) -> Part:
    found = stages.stage_curves(series, board.k)
    if isinstance(found, Missing):
        return Part(said=(stages.about_curves(found),))
    name = f"curves-{_key(board, series)}"
    drawn = stage_curves_figure(stages.by_stage(found.stages, found.means), stages.by_stage(found.stages, found.errors))
    alt = f"Mean a_k in bits/byte ± 1.96 standard errors over {found.prompts} prompts; the table has the same numbers."
    return Part(
        figure=Figure(name, alt, 420, drawn, f"figures/{name}.js"),
        said=(stages.about_curves(found),),
        tables=(StaticTable(stages.curves_table(found), f"{name}-table", "Mean a_k ± standard error"),),
    )


def _metric(board: Board, scores: BoardScores, series: stages.Series, column: Column) -> Part:
    values = stages.values_of(series, board, scores.matrix(column))
    name = f"{column.metric}-{_key(board, series)}"
    drawn = distributions_figure(stages.by_stage(series.stages, values.T), scores.prompts, column.label, column.unit)
    found = stages.contrasts(series, scores.prompts, values, column)
    alt = f"{column.label} of every prompt by stage; the table has the quantiles."
    return Part(
        title=column.title,
        figure=Figure(name, alt, 420, drawn, f"figures/{name}.js"),
        tables=(
            StaticTable(
                stages.contrasts_table(found, column),
                f"{name}-contrasts-table",
                "Paired contrasts of consecutive stages",
            ),
            StaticTable(stages.quantiles_table(series, values), f"{name}-quantiles-table", "Distribution over prompts"),
        ),
    )


DATASETS_TITLE, ABOUT_TITLE = "Datasets", "About"


def datasets_page(file: str) -> Page:
    """The suites and datasets, each with its card."""
    found = dataset_cards.cards()
    parts = [
        Part(title="Suites", tables=(StaticTable(dataset_cards.suites_table(), "suites", "Suites of prompts"),)),
        Part(title="Datasets", tables=(StaticTable(dataset_cards.overview(found), "overview", "All datasets"),)),
        *map(_dataset, found),
    ]
    return plain_page(file, DATASETS_TITLE, (page_text.DATASETS,), parts)


def _dataset(card: dataset_cards.Card) -> Part:
    first = card.splits[0]
    rows = dataset_cards.samples(card.name, first)
    tables = [
        StaticTable(dataset_cards.splits_table(card), f"{card.name}-splits", "Splits"),
        StaticTable(dataset_cards.fields_table(card), f"{card.name}-fields", "Fields"),
    ]
    if not isinstance(rows, Missing):
        tables.append(StaticTable(rows, f"{card.name}-rows", f"First rows of {first}"))
    return Part(
        title=card.name,
        facts=dataset_cards.facts(card),
        said=(rows.reason,) if isinstance(rows, Missing) else (),
        tables=tuple(tables),
        codes=(
            ("Load it in Python", dataset_cards.in_python(card, first)),
            ("On the command line", dataset_cards.in_the_shell(card)),
            ("Citation", card.source.citation),
        ),
    )


def about_page(file: str) -> Page:
    """How the board works, citations, versions of metrics, published results."""
    parts = [Part(title=section.title, text=section.paragraphs) for section in about.HOW_IT_WORKS]
    parts += [
        Part(
            title="How to cite",
            text=(page_text.CITE,),
            codes=(("DivBench", divbench_citation()), *about.paper_citations()),
        ),
        Part(
            title="Versions of metrics",
            text=(about.VERSIONS_NOTE,),
            tables=(StaticTable(about.versions(), "versions", "Version of each metric and its date"),),
        ),
        Part(
            title="Published elsewhere",
            text=(" ".join(about.PUBLISHED_NOTE.split()),),
            tables=(StaticTable(about.published(), "published", "Published results of NoveltyBench"),),
        ),
    ]
    return plain_page(file, ABOUT_TITLE, (), parts)


TEXTS_LIMIT = 50_000_000  # total size in bytes up to which responses are exported by default
MARK = "divbench-board.txt"  # marks a folder as an export
INDEX = "index.html"
_MARK_TEXT = "Written by divbench board export --html; the next one to this folder replaces all of it.\n"
_OF_BOARDS = (MODELS, TRADEOFF, COMPARE, EXPLORE)
_OTHERS = (
    (METRICS_TITLE, "metrics.html"),
    (STAGES_TITLE, "post-training.html"),
    (DATASETS_TITLE, "datasets.html"),
    (ABOUT_TITLE, "about.html"),
)
_STEMS = {MODELS: "models", TRADEOFF: "tradeoff", COMPARE: "compare", EXPLORE: "explore"}
_ASK = "To export them anyway, use `divbench board export --html --texts`."
_LETTERS = 300  # maximum characters of an error message


@dataclass(frozen=True, slots=True)
class Written:
    """A written export."""

    folder: Path
    texts: bool
    left_out: tuple[str, ...]  # data warnings: what is not shown and why, as on the pages


def write_static(
    live: LiveResults,
    folder: Path,
    *,
    texts: bool | None = None,
    progress: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> Written:
    """Write the board as files that open without a server.

    Args:
        folder: Folder to write; it may exist only if it is an earlier export.
        texts: Whether to write the responses; None: if they have at most `TEXTS_LIMIT` bytes in total.

    Raises:
        ConfigurationError: The folder exists and is not an export.
        MissingExtra: A library of the extra *board* is not installed.
    """
    _replaceable(folder)
    snapshot = live.snapshot()
    scores, faults = _open(live, snapshot.boards)
    length = int(sum(texts_bytes(each) for each in scores.values()))
    wanted = length <= TEXTS_LIMIT if texts is None else texts
    absent = None if wanted else f"The responses take {length / 1e6:,.1f} MB and were not exported. {_ASK}"
    keys = keys_of(snapshot.boards)
    warnings = [*snapshot.warnings, *faults]
    with atomic_folder(folder, replace=True) as made:
        for name in ("assets", "data", "figures", "texts"):
            (made / name).mkdir()
        for name, text in assets().items():
            write_text(made / "assets" / name, text)
        pages: list[Page] = []
        boards: list[Board] = []
        for done, board in enumerate(each for each in snapshot.boards if each.name in scores):
            progress(board.name, done, len(scores))
            first = boards[0].name if boards else board.name
            try:
                pages += _board_pages(board, scores[board.name], keys[board.name], absent, first, made)
                export(board, made / "data")
                boards.append(board)
            except InputError as error:  # its files were deleted during the export
                warnings.append(_fault(board, error))
        progress("other pages", len(scores), len(scores))
        pages.append(_kept(stages_page(boards, scores, "post-training.html"), made))
        pages.append(_kept(metrics_page(boards, live.study, "metrics.html"), made))
        pages += [datasets_page("datasets.html"), about_page("about.html")]
        if not boards:
            pages.append(plain_page(INDEX, MODELS, (page_text.NO_RESULTS,), [Part()]))
        _write(made, pages, boards, {"warnings": warnings, "styled": style_marks()})
        write_text(made / MARK, _MARK_TEXT)
    return Written(folder, wanted and bool(boards), tuple(warnings))


def _replaceable(folder: Path) -> None:
    there = folder.exists() or folder.is_symlink()
    if there and (folder.is_symlink() or not folder.is_dir()):
        raise ConfigurationError(f"{folder} is not a folder", "give a folder that does not exist yet")
    if there and any(folder.iterdir()) and not (folder / MARK).is_file():
        raise ConfigurationError(
            f"{folder} exists and is not an exported board", "give a folder that does not exist yet"
        )


def _open(live: LiveResults, boards: Sequence[Board]) -> tuple[dict[str, BoardScores], list[str]]:
    """The scores of the boards that can be read, and warnings for the others."""
    found, faults = {}, []
    for board in boards:
        try:
            if not board.columns:
                faults.append(f"{board.name}: not shown, no metric has a value")
                continue
            found[board.name] = live.scores(board)
        except InputError as error:
            faults.append(_fault(board, error))
    return found, faults


def _fault(board: Board, error: InputError) -> str:
    return f"{board.name}: not shown, {shortened(str(error), _LETTERS)}"


def address(section: str, board: str, first: str) -> str:
    """The file name of a board's page; the first board's models are the index."""
    return INDEX if (section, board) == (MODELS, first) else f"{_STEMS[section]}-{board}.html"


def _board_pages(
    board: Board, scores: BoardScores, keys: Sequence[str], absent: str | None, first: str, made: Path
) -> list[Page]:
    """All pages of a board; their data files are written, responses one system at a time."""
    names = {section: address(section, board.name, first) for section in _OF_BOARDS}
    files = [f"system-{key}.html" for key in keys]
    pages = [
        models_page(board, scores, names[MODELS], dict(zip(system_ids(board), files, strict=True))),
        _kept(tradeoff_page(board, scores, names[TRADEOFF]), made),
        compare_page(board, scores, names[COMPARE]),
        systems_page(board, keys, names[EXPLORE], absent),
    ]
    if absent is None:
        for label, entry, key in zip(system_labels(board), board.entries, keys, strict=True):
            write_text(made / texts_file(key), texts_script(board, entry))
            pages.append(explore_page(board, key, label, names[EXPLORE]))
    for place, (key, file) in enumerate(zip(keys, files, strict=True)):
        links = [] if absent else [("Read its responses", explore_file(key))]
        pages.append(system_page(scores, place, file, nearest(scores, place), links=links))
    return pages


def _kept(page: Page, made: Path) -> Page:
    """Write the scripts of a page's figures and return the page."""
    for part in page.values["parts"]:
        if part.figure:
            write_text(made / part.figure.file, figure_script(part.figure.id, part.figure.drawn))
    return page


def _write(made: Path, pages: Sequence[Page], boards: Sequence[Board], given: Mapping[str, Any]) -> None:
    """Write all pages, the index last."""
    first = boards[0].name if boards else ""

    def pages_of(board: str) -> list[tuple[str, str, str]]:
        own = _OF_BOARDS if boards else (MODELS,)
        return [
            *((section, address(section, board or first, first), section) for section in own),
            *((title, file, title) for title, file in _OTHERS),
        ]

    def boards_of(section: str) -> list[tuple[str, str, str]]:
        return [(each.label, address(section, each.name, first), each.name) for each in boards]

    frame = {**given, "pages_of": pages_of, "boards_of": boards_of, "assets": "assets"}
    for page in sorted(pages, key=lambda page: (page.file == INDEX, page.file)):
        write_text(made / page.file, render(page, frame))
