"""The pages that do not depend on results: Datasets and About."""

from benchmark.metrics.metric import Missing
from leaderboard.static.board_pages import Part, plain_page
from leaderboard.static.render import Page, Table
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

DATASETS_TITLE, ABOUT_TITLE = "Datasets", "About"


def datasets_page(file: str) -> Page:
    """The suites and datasets, each with its card."""
    found = cards()
    parts = [
        Part(title="Suites", tables=(Table(suites_table(), "suites", "Suites of prompts"),)),
        Part(title="Datasets", tables=(Table(overview(found), "overview", "All datasets"),)),
        *map(_dataset, found),
    ]
    return plain_page(file, DATASETS_TITLE, (page_text.DATASETS,), parts)


def _dataset(card: Card) -> Part:
    first = card.splits[0].name
    rows = samples(card.name, first)
    tables = [
        Table(splits_table(card), f"{card.name}-splits", "Splits"),
        Table(fields_table(card), f"{card.name}-fields", "Fields"),
    ]
    if not isinstance(rows, Missing):
        tables.append(Table(rows, f"{card.name}-rows", f"First rows of {first}"))
    return Part(
        title=card.name,
        facts=facts(card),
        said=(rows.reason,) if isinstance(rows, Missing) else (),
        tables=tuple(tables),
        codes=(
            ("Load it in Python", in_python(card, first)),
            ("On the command line", in_the_shell(card)),
            ("Citation", card.citation),
        ),
    )


def about_page(file: str) -> Page:
    """How the board works, citations, versions of metrics, published results."""
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
            tables=(Table(versions(), "versions", "Version of each metric and its date"),),
        ),
        Part(
            title="Published elsewhere",
            text=(" ".join(PUBLISHED_NOTE.split()),),
            tables=(Table(published(), "published", "Published results of NoveltyBench"),),
        ),
    ]
    return plain_page(file, ABOUT_TITLE, (), parts)
