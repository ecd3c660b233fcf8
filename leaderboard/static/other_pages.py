"""The pages that depend on no result: datasets, about."""

from leaderboard.static.board_pages import Part
from leaderboard.static.render import Page, table_of
from leaderboard.tables import page_text
from leaderboard.tables.about import (
    HOW_IT_WORKS,
    PUBLISHED_NOTE,
    VERSIONS_NOTE,
    divbench_citation,
    paper_citations,
    published,
    versions,
)
from leaderboard.tables.dataset_cards import (
    Card,
    cards,
    facts,
    fields_table,
    in_python,
    in_the_shell,
    overview,
    samples,
    splits_table,
    suites_table,
)
from leaderboard.tables.table_view import Sheet

DATASETS_TITLE, ABOUT_TITLE = "Datasets", "About"


def datasets_page(file: str) -> Page:
    """The suites and datasets, each with its card."""
    found = cards()
    parts = [
        Part(title="Suites of prompts", tables=(table_of(suites_table(), "suites", "Prompts that systems answer"),)),
        Part(title="Datasets", tables=(table_of(overview(found), "overview", "All datasets"),)),
        *map(_dataset, found),
    ]
    return Page(file, DATASETS_TITLE, "plain.html", {"lead": (page_text.DATASETS,), "parts": parts}, DATASETS_TITLE)


def _dataset(card: Card) -> Part:
    first = card.splits[0].name
    rows = samples(card.name, first)
    tables = [
        table_of(splits_table(card), f"{card.name}-splits", "Splits"),
        table_of(fields_table(card), f"{card.name}-fields", "Fields"),
    ]
    if isinstance(rows, Sheet):
        tables.append(table_of(rows, f"{card.name}-rows", f"First rows of {first}"))
    return Part(
        title=card.name,
        facts=facts(card),
        said=() if isinstance(rows, Sheet) else (rows,),
        tables=tuple(tables),
        codes=(
            ("Load it in Python", in_python(card, first)),
            ("and by command", in_the_shell(card)),
            ("Cite it", card.citation),
        ),
    )


def about_page(file: str) -> Page:
    """How the board works, how to cite it, versions of metrics, what others published."""
    parts = [Part(title=section.title, text=section.paragraphs) for section in HOW_IT_WORKS]
    parts += [
        Part(
            title="How to cite",
            text=(page_text.CITE,),
            codes=(("DivBench", divbench_citation()), *paper_citations()),
        ),
        Part(
            title="Versions of metrics",
            text=(VERSIONS_NOTE,),
            tables=(table_of(versions(), "versions", "Each metric's version, and since when"),),
        ),
        Part(
            title="Published elsewhere",
            text=(" ".join(PUBLISHED_NOTE.split()),),
            tables=(table_of(published(), "published", "NoveltyBench as published"),),
        ),
    ]
    return Page(file, ABOUT_TITLE, "plain.html", {"lead": (), "parts": parts}, ABOUT_TITLE)
