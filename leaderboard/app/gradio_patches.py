"""What no setting of Gradio does: lean sessions, one server for all pages, and tolerance of stale choices."""

from collections import ChainMap
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import gradio as gr


def drop_stale_choices() -> None:
    """Make Gradio's dropdowns and radio buttons drop values that they do not offer; they count as not chosen.

    What a dropdown offers depends on other controls. Gradio compares each value with what the session offers when the
    event arrives, so a value that the browser sent before it got the new choices is an error, and the visitor sees raw
    ids. This is normal use: a choice by mouse makes two `input` events at once (Gradio's Dropdown.svelte dispatches one
    for the choice and one for the loss of focus), and the first changes what the session offers before the second
    arrives. `trigger_mode` does not help, because Gradio's browser code counts an event as pending only once sent.
    """
    for kind in (gr.Dropdown, gr.Radio):
        if kind.preprocess.__module__ != __name__:  # else already done for another application
            kind.preprocess = _dropping(kind.preprocess)  # type: ignore[method-assign]


def _dropping(preprocess: Any) -> Any:
    def dropping(self: Any, payload: Any) -> Any:
        if not getattr(self, "allow_custom_value", False):
            several = bool(getattr(self, "multiselect", False))
            payload = offered_part([value for _, value in self.choices], payload, several=several)
        return preprocess(self, payload)

    return dropping


def offered_part(offered: Sequence[Any], value: Any, *, several: bool) -> Any:
    """The value if it is offered, else None; of a list for a control of several values, those that are offered."""
    if several:
        return [each for each in value if each in offered] if isinstance(value, list) else None
    return value if value in offered else None


@contextmanager
def without_servers() -> Iterator[None]:
    """Build pages without servers and descriptions. Afterwards, `Blocks.queue` or `Blocks.launch` makes them.

    After each page, Gradio makes the whole server with its hundred routes, and describes all components so far. For
    eleven pages this takes half of the time in which a board starts.
    """
    from gradio.blocks import Blocks
    from gradio.routes import App

    with ExitStack() as stack:
        for owner, name, kind in ((App, "create_app", type(None)), (Blocks, "get_config_file", dict)):
            if hasattr(owner, name):  # if another version of Gradio lacks it, the board only starts more slowly
                stack.enter_context(patch.object(owner, name, lambda *_, kind=kind, **__: kind()))
        yield


class _WithoutComponents:
    """A proxy of the application without components."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self.blocks: dict[int, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._app, name)


def keep_lean_sessions() -> None:
    """Make Gradio open sessions without descriptions of the components.

    It opens one for each page view and each API call, and keeps thousands. Each has a copy of every component's
    description and value, for Gradio's own links that restore a page; our permalinks hold the choices themselves. The
    copy takes most of a megabyte, and making it takes longer than most calls (31 ms of CPU time for 409 components).
    `state_session_capacity` limits the number of sessions, `delete_cache` concerns files, `time_to_live` states.
    """
    from gradio import route_utils, state_holder

    if state_holder.SessionState.__module__ == __name__:
        return  # already done for another application

    class LeanSession(state_holder.SessionState):
        def __init__(self, blocks: Any) -> None:
            super().__init__(_WithoutComponents(blocks))  # type: ignore[arg-type]
            own: Any = self.blocks_config
            own.fns, own.blocks = blocks.default_config.fns, ChainMap({}, blocks.default_config.blocks)

        def _update_config(self, key: int) -> None:
            """Keep nothing."""

        def _update_value_in_config(self, key: int, value: Any) -> None:
            """Keep nothing."""

    for module in (state_holder, route_utils):
        module.SessionState = LeanSession  # type: ignore[attr-defined]
