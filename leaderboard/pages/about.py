"""Page About: how the board works, citations, versions of metrics, published results."""

import csv
from pathlib import Path

import gradio as gr

from benchmark.metrics import METRICS
from datasets_build.sources import DATASETS
from datasets_build.sources.source import divbench_citation
from divbench.core.tables import Cell, Table, number, number_cell
from leaderboard.app import components
from leaderboard.app.permalinks import wire
from leaderboard.data.live_results import LiveResults
from leaderboard.pages.page_text import CITE
from submissions.gaming.baselines import DERIVED, find_attack

PUBLISHED = Path(__file__).parents[1] / "published"
_COLUMNS = ("system", "distinct", "utility", "prompts", "date", "source", "note", "distinct_as_printed")
_NUMBERS = ("distinct", "utility", "distinct_as_printed")
_BASELINES = "; ".join(f"`{name}` ({find_attack(name).about})" for name in DERIVED)
HOW_IT_WORKS = (Path(__file__).parent / "how_it_works.md").read_text(encoding="utf-8").replace("BASELINES", _BASELINES)
_VERSIONS = "A changed definition gets a new version; numbers of different versions never share a column."
_PUBLISHED = """Results published by others are listed separately from ours, because they come from other judges and
samples. `distinct` is the number of classes; the paper's Table 1 prints one more. NoveltyBench 1.0 and 1.1 use
different judges, so they are comparable neither with each other nor with the columns of our tables."""


def paper_citations() -> dict[str, str]:
    """Return the BibTeX entry of each dataset's paper by its identifier, in the order of the datasets."""
    return {
        source.paper: source.citation
        for source in DATASETS
        if source.paper and not source.citation.startswith("@software")
    }


def versions() -> Table:
    """Return the newest version of each metric, its date and its changes, one row per metric."""
    rows = [(m.id, m.title, m.history[0].number, m.history[0].date, m.history[0].change) for m in METRICS]
    return Table("", ("metric", "what it is", "version", "since", "what changed"), rows)


def published() -> Table:
    """Return results published by others; a name says in which mode and by which version it was measured."""

    def cell(column: str, text: str) -> Cell:
        return number_cell(float(text), number(float(text), 2)) if column in _NUMBERS else text

    rows = []
    for path in sorted(PUBLISHED.glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                mode = "" if row["mode"] == "resample" else f", {row['mode']}"
                row["system"] += f"{mode} (NoveltyBench {row['metric_version']})"
                rows.append([cell(name, row[name]) for name in _COLUMNS])
    return Table("", _COLUMNS, rows)


def build(page: gr.Blocks, live: LiveResults) -> None:
    """Build the page; nothing on it depends on the results."""
    gr.Markdown(HOW_IT_WORKS, elem_id="how")
    gr.Markdown(f"## How to cite\n\n{CITE}")
    gr.Code(divbench_citation(), label="DivBench", language=None, interactive=False, elem_id="cite")
    with gr.Accordion("The papers", open=True):
        for i, (name, bibtex) in enumerate(paper_citations().items()):
            gr.Code(bibtex, label=name, language=None, interactive=False, elem_id=f"paper-{i}")
    gr.Markdown(f"## Versions of metrics\n\n{_VERSIONS}")
    _table(versions(), "Version of each metric and its date", "versions")
    gr.Markdown(f"## Published elsewhere\n\n{_PUBLISHED}")
    _table(published(), "Published results of NoveltyBench", "published")
    wire(page, live, [], lambda choices: [], lambda choices: [], [])


def _table(table: Table, label: str, name: str) -> None:
    arguments = components.content(table)
    components.table(label, name, height=640, show_search="filter", buttons=["copy"], **arguments)
