"""Page About: how the board works, citations, versions of metrics."""

from pathlib import Path

import gradio as gr

from benchmark.metrics import METRICS
from datasets_build.sources import DATASETS
from datasets_build.sources.source import divbench_citation
from divbench.core.tables import Table
from leaderboard.app import components
from leaderboard.app.permalinks import wire
from leaderboard.data.live_results import LiveResults
from leaderboard.pages.page_text import CITE
from submissions.gaming.baselines import DERIVED, find_attack

_BASELINES = "; ".join(f"`{name}` ({find_attack(name).about})" for name in DERIVED)
HOW_IT_WORKS = (Path(__file__).parent / "how_it_works.md").read_text(encoding="utf-8").replace("BASELINES", _BASELINES)
_VERSIONS = "A changed definition gets a new version; numbers of different versions never share a column."


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


def build(page: gr.Blocks, live: LiveResults) -> None:
    """Build the page; nothing on it depends on the results."""
    gr.Markdown(HOW_IT_WORKS, elem_id="how")
    gr.Markdown(f"## How to cite\n\n{CITE}")
    gr.Code(divbench_citation(), label="DivBench", language=None, interactive=False, elem_id="cite")
    with gr.Accordion("The papers", open=True):
        for i, (name, bibtex) in enumerate(paper_citations().items()):
            gr.Code(bibtex, label=name, language=None, interactive=False, elem_id=f"paper-{i}")
    gr.Markdown(f"## Versions of metrics\n\n{_VERSIONS}")
    arguments = components.content(versions())
    label = "Version of each metric and its date"
    components.table(label, "versions", height=640, show_search="filter", buttons=["copy"], **arguments)
    wire(page, live, [], lambda choices: [], lambda choices: [], [])
