"""The pages that do not depend on results: Datasets and About."""

from benchmark.metrics.metric import Missing
from datasets_build.citation import divbench_citation
from leaderboard.static.board_pages import Part, plain_page
from leaderboard.static.render import Page, Table
from leaderboard.tables import about, dataset_cards, page_text

DATASETS_TITLE, ABOUT_TITLE = "Datasets", "About"


def datasets_page(file: str) -> Page:
    """The suites and datasets, each with its card."""
    found = dataset_cards.cards()
    parts = [
        Part(title="Suites", tables=(Table(dataset_cards.suites_table(), "suites", "Suites of prompts"),)),
        Part(title="Datasets", tables=(Table(dataset_cards.overview(found), "overview", "All datasets"),)),
        *map(_dataset, found),
    ]
    return plain_page(file, DATASETS_TITLE, (page_text.DATASETS,), parts)


def _dataset(card: dataset_cards.Card) -> Part:
    first = card.splits[0]
    rows = dataset_cards.samples(card.name, first)
    tables = [
        Table(dataset_cards.splits_table(card), f"{card.name}-splits", "Splits"),
        Table(dataset_cards.fields_table(card), f"{card.name}-fields", "Fields"),
    ]
    if not isinstance(rows, Missing):
        tables.append(Table(rows, f"{card.name}-rows", f"First rows of {first}"))
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
            tables=(Table(about.versions(), "versions", "Version of each metric and its date"),),
        ),
        Part(
            title="Published elsewhere",
            text=(" ".join(about.PUBLISHED_NOTE.split()),),
            tables=(Table(about.published(), "published", "Published results of NoveltyBench"),),
        ),
    ]
    return plain_page(file, ABOUT_TITLE, (), parts)
