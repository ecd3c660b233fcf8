"""Page: how the board works, how to cite it, versions of metrics with dates, what others published."""

from typing import Any

import gradio as gr

from leaderboard.links import wire
from leaderboard.site import Site
from leaderboard.tables.about import (
    HOW_IT_WORKS,
    PUBLISHED_NOTE,
    VERSIONS_NOTE,
    divbench_citation,
    paper_citations,
    published,
    versions,
)
from leaderboard.tables.sheets import Sheet


def build(page: gr.Blocks, site: Site) -> None:
    """Texts and tables of our own; nothing here depends on the results."""
    text = "\n\n".join(f"## {each.title}\n\n" + "\n\n".join(each.paragraphs) for each in HOW_IT_WORKS)
    gr.Markdown(text, elem_id="how")
    gr.Markdown("## How to cite\n\nThis package, and the paper of each dataset and metric that you use.")
    gr.Code(divbench_citation(), label="DivBench", language=None, interactive=False, elem_id="cite")
    with gr.Accordion("The papers", open=True):
        for place, (name, bibtex) in enumerate(paper_citations()):
            gr.Code(bibtex, label=name, language=None, interactive=False, elem_id=f"paper-{place}")
    gr.Markdown(f"## Versions of metrics\n\n{VERSIONS_NOTE}")
    _table(versions(), "Each metric's version, and since when", "versions")
    gr.Markdown(f"## Published elsewhere\n\n{PUBLISHED_NOTE}")
    _table(published(), "NoveltyBench as published", "published")
    wire(page, {}, lambda query: [], lambda: None, [])


def _table(made: Sheet, label: str, name: str) -> None:
    kinds: Any = list(made.kinds)
    gr.Dataframe(
        made.value(),
        datatype=kinds,
        column_widths=made.widths(),
        interactive=False,
        wrap=True,
        show_search="filter",
        max_height=640,
        label=label,
        show_label=True,
        buttons=["copy"],
        elem_id=name,
    )
