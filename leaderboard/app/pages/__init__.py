"""The pages of the application, one module each, built from Gradio components; `PAGES` lists them."""

from collections.abc import Callable
from dataclasses import dataclass

import gradio as gr

from leaderboard.app.navigation import GROUPS
from leaderboard.app.pages import (
    about,
    alike,
    arena,
    compare,
    datasets,
    explore,
    metrics,
    models,
    stages,
    submit,
    tradeoff,
)
from leaderboard.data.live_results import LiveResults


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the application."""

    title: str
    path: str  # path of its address; empty for the first page
    # Function that creates its components; data is read when the page is opened.
    build: Callable[[gr.Blocks, LiveResults], None]
    group: str = GROUPS[-1]  # group of the navigation, one of `navigation.GROUPS`
    about: str = ""
    # Function that makes a description from the results; it replaces `about`.
    answer: Callable[[LiveResults], str] | None = None


_RESULTS, _RESPONSES, _METHODS, _TAKE_PART = GROUPS
PAGES: tuple[Page, ...] = (
    Page("Models", "", models.build, _RESULTS, answer=models.answer),
    Page(
        "Diversity × quality", "tradeoff", tradeoff.build, _RESULTS, "Which language models are both diverse and good."
    ),
    Page("Compare", "compare", compare.build, _RESULTS, "Two to four systems compared prompt by prompt, with tests."),
    Page("Alike or different?", "alike", alike.build, _RESULTS, "How alike the responses of different systems are."),
    Page("Explore", "explore", explore.build, _RESPONSES, "The responses behind the scores, grouped by meaning."),
    Page(
        "Post-training",
        "post-training",
        stages.build,
        _RESPONSES,
        "How the diversity of responses changes in post-training.",
    ),
    Page(
        "Metrics", "metrics", metrics.build, _METHODS, "Which metric of diversity to trust, and where each one fails."
    ),
    Page(
        "Datasets",
        "datasets",
        datasets.build,
        _METHODS,
        "Prompts and labelled response sets, with licences, sizes and example rows.",
    ),
    Page("About", "about", about.build, _METHODS, "How the board works, citations, versions, published results."),
    Page(
        "Arena",
        "arena",
        arena.build,
        _TAKE_PART,
        "Compare two systems' responses blind, and see the results of all votes.",
    ),
    Page("Submit", "submit", submit.build, _TAKE_PART, "Validate and submit a system's responses."),
)
