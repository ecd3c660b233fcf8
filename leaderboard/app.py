"""The Gradio application: the frame around the pages."""

from collections.abc import Sequence

import gradio as gr

from benchmark.results import Unreadable
from leaderboard.board import Board
from leaderboard.pages import PAGES, Page

# System fonts: nothing is fetched from elsewhere.
THEME = gr.themes.Base(
    primary_hue="teal",
    neutral_hue="slate",
    font=["system-ui", "sans-serif"],
    font_mono=["ui-monospace", "monospace"],
)
INTRO = """# DivBench
How diverse are the outputs of a language model? Every number is a mean over the prompts of a suite; ranges are 95%
intervals over prompts. Two systems whose intervals overlap widely are not told apart by that metric. Diversity is not
quality: noise is diverse, too."""


def build_app(
    boards: Sequence[Board], unreadable: Sequence[Unreadable] = (), pages: tuple[Page, ...] = PAGES
) -> gr.Blocks:
    """The application over some boards.

    Args:
        boards: At least one, unless it is to say that there is nothing to show.
        unreadable: Result folders that could not be read; they are named, and the rest works.
        pages: The tabs.
    """
    app: gr.Blocks
    with gr.Blocks(title="DivBench", analytics_enabled=False, fill_width=True) as app:
        gr.Markdown(INTRO)
        if unreadable:
            text = "\n".join(f"{item.folder.name}: {item.reason}" for item in unreadable)
            gr.Textbox(text, label="Results that could not be read", interactive=False)
        if not boards:
            gr.Markdown("There are no results yet. `divbench score SUBMISSION --out RESULTS` makes one.")
            return app
        for page in pages:
            with gr.Tab(page.title):
                page.build(boards)
    return app


def launch(app: gr.Blocks, host: str, port: int | None, *, wait: bool = True) -> str:
    """Serve the application and give its address; with `wait` only when it has ended."""
    _, local, _ = app.launch(
        server_name=host,
        server_port=port,
        share=False,
        prevent_thread_lock=not wait,
        show_error=False,
        quiet=not wait,
        max_file_size="1mb",  # nothing is uploaded
        enable_monitoring=False,
        ssr_mode=False,
        footer_links=["api"],
        theme=THEME,
    )
    return local
