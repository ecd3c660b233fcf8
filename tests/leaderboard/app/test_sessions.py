"""A session holds what its visitor's components are, and no description of all components beside it."""

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import gradio as gr
from gradio import state_holder

from leaderboard.app.gradio_patches import keep_lean_sessions


def test_a_session_describes_no_component_and_keeps_states() -> None:
    box, token = gr.Textbox("shown"), gr.State(None)
    blocks = {each._id: each for each in (box, token)}
    described: list[int] = []
    sessions: Any = import_module("gradio.route_utils")
    config = SimpleNamespace(blocks=blocks, fns={}, config_for_block=lambda number, *_: described.append(number))
    app: Any = SimpleNamespace(default_config=config, blocks=blocks, state_session_capacity=10)
    for _ in range(2):  # a second application changes nothing
        keep_lean_sessions()
    holder: Any = state_holder.StateHolder()  # type: ignore[no-untyped-call]
    holder.set_blocks(app)
    for session in (holder["visitor"], sessions.SessionState(app)):
        own: Any = session
        own._update_value_in_config(box._id, "x" * 100_000)
        own._update_config(box._id)
        assert described == []
        assert own[box._id] is box
        own[token._id] = "secret"
        assert own[token._id] == "secret"
        described.clear()
        own[box._id] = replaced = gr.Textbox("its own")
        assert own[box._id] is replaced
        assert config.blocks[box._id] is box  # the others' is not changed
        assert own.blocks_config.fns is config.fns
        described.clear()
    assert type(holder["visitor"]).__mro__[1].__module__ == "gradio.state_holder"
