"""The Gradio application: the frame around its pages."""

from contextlib import suppress
from importlib import import_module

import gradio as gr
from gradio.components import Navbar

from leaderboard.app.api import register
from leaderboard.app.pages import PAGES, Page
from leaderboard.app.permalinks import count_on
from leaderboard.app.submitting.intake import MAX_UPLOAD_BYTES
from leaderboard.app.theme import CSS, HEAD, THEME
from leaderboard.data.live_results import LiveResults

TITLE = "DivBench"
_UPLOADS = (600, 3600)  # seconds between clean-ups of uploads, and the age at which uploads are deleted
_WAITING = 64  # queued events; further ones are refused


def build_app(live: LiveResults, pages: tuple[Page, ...] = PAGES) -> gr.Blocks:
    """Build the application.

    Args:
        live: Results to show.
        pages: Pages, the first at the root, each of the others at its own path.
    """
    first, *others = pages
    with gr.Blocks(title=TITLE, analytics_enabled=False, fill_width=True, delete_cache=_UPLOADS) as app:
        Navbar(main_page_name=first.title)
        _frame(app, live, first)
        register(live)
    for page in others:
        with app.route(page.title, page.path) as blocks:
            Navbar(main_page_name=first.title)
            _frame(blocks, live, page)
    made: gr.Blocks = app
    return made


def _frame(blocks: gr.Blocks, live: LiveResults, page: Page) -> None:
    """Build a page with the data warnings above it."""
    gr.Markdown(f"# {TITLE} · {page.title}", elem_classes="masthead")
    warnings = gr.Textbox(
        "",
        label="Data warnings",
        visible=False,
        interactive=False,
        lines=2,
        elem_id="warnings",
        elem_classes="warnings",
    )
    page.build(blocks, live)
    opened = blocks.load(lambda: _warnings(live), None, warnings, api_visibility="private", show_progress="hidden")
    opened.then(None, js=count_on("opened"))


def _warnings(live: LiveResults) -> object:
    lines = live.snapshot().warnings
    return gr.Textbox("\n".join(lines), visible=bool(lines))


def launch(app: gr.Blocks, host: str, port: int | None, *, wait: bool = True) -> str:
    """Serve the application and return its address, with `wait` once it has stopped."""
    with suppress(ImportError):
        import_module("matplotlib.pyplot")  # else Gradio imports it during the first event
    app.queue(api_open=False, max_size=_WAITING, default_concurrency_limit=4)
    _, local, _ = app.launch(
        server_name=host,
        server_port=port,
        share=False,
        prevent_thread_lock=not wait,
        show_error=False,
        quiet=not wait,
        max_file_size=MAX_UPLOAD_BYTES,
        enable_monitoring=False,
        ssr_mode=False,
        footer_links=["api"],
        theme=THEME,
        css=CSS,
        head=HEAD,
    )
    return local
