"""Page Datasets: each suite and dataset with its description, licence, source, first rows, and code to load it."""

from collections.abc import Mapping
from typing import Any

import gradio as gr

from benchmark.metrics.metric import Missing
from datasets_build.sources import DATASETS
from leaderboard.app import components
from leaderboard.app.asked import Asked
from leaderboard.app.permalinks import chosen_or_first, wire
from leaderboard.data.live_results import LiveResults
from leaderboard.tables import dataset_cards, page_text


def build(page: gr.Blocks, live: LiveResults) -> None:
    """Build the page; nothing on it depends on the results."""
    names = [config.name for source in DATASETS for config in source.configs]
    gr.Markdown(page_text.DATASETS, elem_classes="lead")
    suites = components.table("Suites of prompts", "suites", **_TABLE)
    table = components.table("Datasets", "overview", **_TABLE)
    with gr.Row(equal_height=False):
        dataset = gr.Dropdown(names, label="Dataset", elem_id="dataset")
        split = gr.Dropdown([], label="Split", elem_id="split")
    known = gr.Markdown(elem_id="facts", latex_delimiters=[])
    splits = components.table("Splits", "splits", **_TABLE)
    rows = components.table(f"First {dataset_cards.SAMPLES} rows", "samples", visible=False, **_TABLE)
    absent = gr.Textbox(label="First rows", interactive=False, visible=False, elem_id="absent")
    fields = components.table("Fields", "fields", **_TABLE)
    python = gr.Code(label="Load it in Python", language="python", interactive=False, elem_id="python")
    shell = gr.Code(label="On the command line", language="shell", interactive=False, elem_id="shell")
    citation = gr.Code(label="Citation", language=None, interactive=False, elem_id="citation")

    def restore(asked: Asked) -> list[Any]:
        name = chosen_or_first(asked, "dataset", names)
        offered = dataset_cards.find_card(dataset_cards.cards(), name).splits
        asked_for = gr.Dropdown(value=name, info=components.gone(asked, "dataset", name))
        return [asked_for, gr.Dropdown(offered, value=chosen_or_first(asked, "split", offered))]

    def show(given: Mapping[str, Any]) -> list[Any]:
        found = dataset_cards.cards()
        card = dataset_cards.find_card(found, given["dataset"])
        part = given["split"] if given["split"] in card.splits else card.splits[0]
        return [
            components.filled(dataset_cards.suites_table()),
            components.filled(dataset_cards.overview(found)),
            _facts(card),
            components.filled(dataset_cards.splits_table(card)),
            *_first_rows(card, part),
            components.filled(dataset_cards.fields_table(card)),
            dataset_cards.in_python(card, part),
            dataset_cards.in_the_shell(card),
            card.source.citation,
        ]

    outputs = [suites, table, known, splits, rows, absent, fields, python, shell, citation]
    wire(page, live, (dataset, split), restore, show, outputs, cascade=("dataset",))


_TABLE: dict[str, Any] = {"wrap": True, "buttons": ["copy"], "height": 2000}  # high enough for all rows


def _facts(card: dataset_cards.Card) -> str:
    """Format a dataset's facts as a Markdown list; they are trusted, since they come from this package."""
    return "\n".join(f"- **{what}**: {text}" for what, text in dataset_cards.facts(card))


def _first_rows(card: dataset_cards.Card, split: str) -> list[Any]:
    """Show the first rows, or instructions to get them; the other component is hidden."""
    found = dataset_cards.samples(card.name, split)
    if isinstance(found, Missing):
        return [components.no_table(), gr.Textbox(found.reason, visible=True)]
    return [components.filled(found, label=f"First rows of {split}"), gr.Textbox(visible=False)]
