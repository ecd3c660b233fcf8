"""One server of Gradio for all pages.

After each page, Gradio makes the whole server with its hundred routes, and describes all components so far. For eleven
pages this takes half of the time in which a board starts. `launch` makes the only server that is used. No Gradio
setting turns the others off.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch


@contextmanager
def without_servers() -> Iterator[None]:
    """Build pages without servers and descriptions. Afterwards, `Blocks.queue` or `Blocks.launch` makes them."""
    from gradio.blocks import Blocks
    from gradio.routes import App

    with ExitStack() as stack:
        for owner, name, kind in ((App, "create_app", type(None)), (Blocks, "get_config_file", dict)):
            if hasattr(owner, name):  # if another version of Gradio lacks it, the board only starts more slowly
                stack.enter_context(patch.object(owner, name, lambda *_, kind=kind, **__: kind()))
        yield
