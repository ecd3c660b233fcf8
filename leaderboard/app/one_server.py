"""One server of Gradio for all pages.

After each page, Gradio makes the whole server with its hundred routes, and describes all components so far. For eleven
pages this takes half of the time in which a board starts. `launch` makes the only server that is used. No Gradio
setting turns the others off.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def without_servers() -> Iterator[None]:
    """Build pages without servers and descriptions. Afterwards, `Blocks.queue` or `Blocks.launch` makes them."""
    from gradio.blocks import Blocks
    from gradio.routes import App

    server, description = App.create_app, Blocks.get_config_file

    def no_server(*_: Any, **__: Any) -> None:
        return None

    def no_description(*_: Any, **__: Any) -> dict[str, Any]:
        return {}

    setattr(App, "create_app", staticmethod(no_server))  # noqa: B010 - mypy knows other signatures
    setattr(Blocks, "get_config_file", no_description)  # noqa: B010
    try:
        yield
    finally:
        setattr(App, "create_app", staticmethod(server))  # noqa: B010
        setattr(Blocks, "get_config_file", description)  # noqa: B010
