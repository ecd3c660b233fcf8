"""The Gradio application: the frame around the pages."""

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
_UPLOADS = (600, 3600)  # seconds: how often uploads are looked through, and how old they get
_WAITING = 64  # events; who comes later is told to come again


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
    """A page with what is wrong above it, where something is."""
    gr.Markdown(f"# {TITLE} · {page.title}", elem_classes="masthead")
    trouble = gr.Textbox(
        "",
        label="Not all is well",
        visible=False,
        interactive=False,
        lines=2,
        elem_id="trouble",
        elem_classes="trouble",
    )
    page.build(blocks, live)
    opened = blocks.load(lambda: _trouble(live), None, trouble, api_visibility="private", show_progress="hidden")
    opened.then(None, js=count_on("opened"))


def _trouble(live: LiveResults) -> object:
    """What visitors must know of the state of what they see."""
    lines = live.snapshot().warnings
    return gr.Textbox("\n".join(lines), visible=bool(lines))


def launch(app: gr.Blocks, host: str, port: int | None, *, wait: bool = True) -> str:
    """Serve the application and give its address; with `wait` only when it has ended."""
    with suppress(ImportError):
        import_module("matplotlib.pyplot")  # Gradio would at the first event, and let its visitor wait
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
