"""The Gradio application: its pages, the frame around them, and its server."""

import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from signal import signal
from typing import Any

import gradio as gr
from markupsafe import Markup
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware

from divbench.core.console import err, termination_signals
from leaderboard.api import register
from leaderboard.app.intake import MAX_UPLOAD_BYTES
from leaderboard.app.limits import BodyLimits, OwnOrigin, fetch_no_addresses
from leaderboard.app.listening import be_patient, listening
from leaderboard.app.navigation import GROUPS, Link, navigation
from leaderboard.app.permalinks import QUIET, count_on
from leaderboard.app.theme import CSS, THEME, head
from leaderboard.data.live_results import LiveResults
from leaderboard.pages import about, alike, arena, compare, datasets, explore, metrics, models, stages, submit
from leaderboard.pages.system import PATH as SYSTEM_PATH
from leaderboard.pages.system import system_routes
from leaderboard.pages.trust import metric_sentences
from leaderboard.routes import ICON, PageHeads, no_page, routes

TITLE = "DivBench"
_UPLOADS = (600, 3600)  # seconds between clean-ups of uploads, and the age at which uploads are deleted
_WAITING = 64  # maximum number of queued events; further events are refused
_SESSIONS = 500  # each keeps its copy of the components, most of a megabyte


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the application."""

    title: str
    path: str  # path of its address; empty for the first page
    build: Callable[[gr.Blocks, LiveResults], None]  # creates its components; data is read when it is opened
    group: str = GROUPS[-1]  # group of the navigation
    about: str = "How many useful different answers do language models give? An open benchmark of output diversity."


_RESULTS, _RESPONSES, _METHODS, _TAKE_PART = GROUPS
PAGES: tuple[Page, ...] = (
    Page("Models", "", models.build, _RESULTS),
    Page("Compare", "compare", compare.build, _RESULTS, "Systems compared by metric, prompt and response."),
    Page("Alike or different?", "alike", alike.build, _RESULTS, "Do different models give the same answers?"),
    Page("Explore", "explore", explore.build, _RESPONSES, "What each system answered, grouped by meaning."),
    Page("Post-training", "post-training", stages.build, _RESPONSES, "How post-training changes a model."),
    Page("Metrics", "metrics", metrics.build, _METHODS, "Which metrics of diversity agree with people?"),
    Page("Datasets", "datasets", datasets.build, _METHODS, "Prompts and labelled data on output diversity."),
    Page("About", "about", about.build, _METHODS, "How DivBench scores, ranks and cites; versions of metrics."),
    Page("Arena", "arena", arena.build, _TAKE_PART, "Judge two sets of answers without knowing whose they are."),
    Page("Submit", "submit", submit.build, _TAKE_PART, "Check responses, and submit them to the board."),
)


def build_app(live: LiveResults, pages: tuple[Page, ...] = PAGES) -> gr.Blocks:
    """Build the application; `launch` makes its server. The first page is at the root, the others at their paths."""
    first, *others = pages
    with gr.Blocks(title=TITLE, analytics_enabled=False, fill_width=True, delete_cache=_UPLOADS) as app:
        _frame(app, live, first, pages)
        register(live)
    for page in others:
        with app.route(page.title, page.path) as blocks:
            _frame(blocks, live, page, pages)
    application: gr.Blocks = app
    return application


def _frame(blocks: gr.Blocks, live: LiveResults, page: Page, pages: tuple[Page, ...]) -> None:
    """Build a page below the navigation and the data warnings; `permalinks.wire` adds its footer."""
    skip = '<a class="jump" href="#content">Skip to content</a>'
    gr.HTML(f"{skip}{_navigation(pages, page.path)}", elem_id="nav", padding=False)
    heading = f"# {TITLE} · {page.title}" if page.path else f"# {TITLE}\n{page.about}"
    gr.Markdown(heading, elem_id="content", elem_classes="masthead")
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

    def shown_warnings() -> object:
        lines = live.snapshot().warnings
        return gr.Textbox("\n".join(lines), visible=bool(lines))

    opened = blocks.load(shown_warnings, None, warnings, queue=False, **QUIET)
    opened.then(None, js=count_on("opened"))


def _navigation(pages: tuple[Page, ...], path: str) -> Markup:
    return navigation([Link(page.title, page.path, page.group) for page in pages], path)


def launch(
    app: gr.Blocks,
    live: LiveResults,
    host: str,
    port: int | None,
    *,
    pages: tuple[Page, ...] = PAGES,
    wait: bool = True,
    query: str = "",
) -> str:
    """Serve the application on a port, or the first free one from Gradio's default, until it stops; return its URL.

    `query` is the table of the first page to open.
    """
    if wait:  # a plain signal would neither send pending votes nor delete temporary files
        for number in termination_signals():
            signal(number, lambda number, frame: sys.exit(128 + number))
    with suppress(ImportError):
        import_module("matplotlib.pyplot")  # otherwise Gradio imports it during the first event
    fetch_no_addresses()
    app.queue(api_open=False, max_size=_WAITING, default_concurrency_limit=4)
    beside = partial(_navigation, pages, SYSTEM_PATH)
    heads = {page.path: (f"{TITLE} · {page.title}", page.about) for page in pages}
    served: dict[str, Any] = {
        "routes": [*routes(live, beside), *system_routes(live, beside)],
        "exception_handlers": {404: no_page},
        # starlette leaves event streams as they are: compressed, an event would wait for the next.
        "middleware": [
            Middleware(OwnOrigin, host=host),
            Middleware(BodyLimits),
            Middleware(GZipMiddleware),
            Middleware(PageHeads, heads=heads),
        ],
    }
    be_patient()
    with listening(host, port):
        _, address, _ = app.launch(
            server_name=host,
            server_port=port,
            share=False,
            prevent_thread_lock=True,
            show_error=False,
            quiet=True,  # Gradio would suggest changing our code
            max_file_size=MAX_UPLOAD_BYTES,
            state_session_capacity=_SESSIONS,
            enable_monitoring=False,
            ssr_mode=False,
            footer_links=[],
            favicon_path=ICON,
            theme=THEME,
            css=CSS,
            head=head(metric_sentences(live.studies.study)),
            app_kwargs=served,
        )
    if wait:
        err().print(f"The board is at {address}{query} (Ctrl+C stops it)", markup=False, soft_wrap=True)
        app.block_thread()
    return address
