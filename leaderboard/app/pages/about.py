"""Page About: how the board works, citations, versions of metrics, published results."""

import gradio as gr

from datasets_build.sources.source import divbench_citation
from divbench.core.tables import Table
from leaderboard.app import components
from leaderboard.app.permalinks import wire
from leaderboard.data.live_results import LiveResults
from leaderboard.tables import about
from leaderboard.tables.page_text import CITE


def build(page: gr.Blocks, live: LiveResults) -> None:
    """Build the page; nothing on it depends on the results."""
    text = "\n\n".join(f"## {each.title}\n\n" + "\n\n".join(each.paragraphs) for each in about.HOW_IT_WORKS)
    gr.Markdown(text, elem_id="how")
    gr.Markdown(f"## How to cite\n\n{CITE}")
    gr.Code(divbench_citation(), label="DivBench", language=None, interactive=False, elem_id="cite")
    with gr.Accordion("The papers", open=True):
        for place, (name, bibtex) in enumerate(about.paper_citations()):
            gr.Code(bibtex, label=name, language=None, interactive=False, elem_id=f"paper-{place}")
    gr.Markdown(f"## Versions of metrics\n\n{about.VERSIONS_NOTE}")
    _table(about.versions(), "Version of each metric and its date", "versions")
    gr.Markdown(f"## Published elsewhere\n\n{about.PUBLISHED_NOTE}")
    _table(about.published(), "Published results of NoveltyBench", "published")
    wire(page, live, [], lambda query: [], lambda given: [], [])


def _table(made: Table, label: str, name: str) -> None:
    components.table(
        label, name, height=640, wrap=True, show_search="filter", buttons=["copy"], **components.content(made)
    )
