"""Pages of the application, one file each: live results in, Gradio components out. New pages are listed in `PAGES`."""

from collections.abc import Callable
from dataclasses import dataclass

import gradio as gr

from leaderboard.app.pages import (
    about,
    alike,
    compare,
    datasets,
    explore,
    metrics,
    models,
    stages,
    submit,
    system,
    tradeoff,
)
from leaderboard.data.live_results import LiveResults


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the application.

    Attributes:
        title: Title in the navigation.
        path: Path of its address; empty for the first page.
        build: Function that creates its components; data is read when the page is opened.
    """

    title: str
    path: str
    build: Callable[[gr.Blocks, LiveResults], None]


PAGES: tuple[Page, ...] = (
    Page("Models", "", models.build),
    Page("System", "system", system.build),
    Page("Diversity × quality", "tradeoff", tradeoff.build),
    Page("Compare", "compare", compare.build),
    Page("Explore", "explore", explore.build),
    Page("Alike or different?", "alike", alike.build),
    Page("Metrics", "metrics", metrics.build),
    Page("Post-training", "post-training", stages.build),
    Page("Datasets", "datasets", datasets.build),
    Page("Submit", "submit", submit.build),
    Page("About", "about", about.build),
)
