"""Pages are built without servers, and Gradio is as before; the browser tests open what is then served."""

import asyncio
from typing import Any

import gradio as gr
import pytest
from gradio.blocks import Blocks
from gradio.routes import App

from leaderboard.app.gradio_patches import without_servers


async def built() -> Any:
    """Two pages. In an event loop, because Gradio would make one and leave it open."""
    with without_servers():
        with gr.Blocks(analytics_enabled=False) as app:
            said = gr.Textbox("first", elem_id="said")
            said.change(str.upper, said, said, api_name="louder")
        with app.route("Second", "second") as page:
            page.load(lambda: "second", None, gr.Textbox(elem_id="other"), api_name="filled")
    return app


def test_pages_have_no_server_and_are_described_afterwards() -> None:
    app = asyncio.run(built())
    assert app.app is None
    assert app.config == {}
    found = app.get_config_file()
    named = [each["props"].get("elem_id") for each in found["components"]]
    assert [name for name in named if name] == ["said", "other"]
    assert [each["api_name"] for each in found["dependencies"]] == ["louder", "filled"]
    assert list(found["page"]) == ["", "second"]


def test_gradio_is_as_before_even_after_an_error() -> None:
    before = App.create_app, Blocks.get_config_file
    with without_servers():
        assert App.create_app is not before[0]
    with pytest.raises(KeyError), without_servers():
        raise KeyError
    assert (App.create_app, Blocks.get_config_file) == before
