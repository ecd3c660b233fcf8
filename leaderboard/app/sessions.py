"""Lean Gradio sessions, which do not copy the description of every component.

Gradio opens a session for each page view and each API call, and keeps thousands of them. Each session holds a copy of
every component's description and current value, for Gradio's own links that restore a page. Our permalinks hold the
choices themselves, so we never read that copy. It takes most of a megabyte, and making it takes longer than most calls
(31 ms of CPU time for 409 components). Each also holds a table of all components and functions (27 kB), in which it
replaces a few. No Gradio setting turns them off: `state_session_capacity` limits the number of sessions,
`delete_cache` concerns files, and `time_to_live` concerns states.
"""

from collections import ChainMap
from typing import Any


class _WithoutComponents:
    """A proxy of the application without components."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self.blocks: dict[int, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._app, name)


def keep_lean_sessions() -> None:
    """Make Gradio open sessions without descriptions of the components."""
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
