"""What the application remembers of a visitor.

Gradio opens a session for each page that somebody looks at and for each call of the API, and keeps thousands of them.
In each it describes every component of the application, and later writes down what the component shows, for links that
restore a page. Our permalinks hold their choices themselves: that copy, most of a megabyte, is never read here, and
making it takes longer than most calls (31 ms of the processor for 409 components). Gradio's settings do not change
that: `state_session_capacity` bounds how many sessions are kept, `delete_cache` is about files, `time_to_live` about
states.
"""

from typing import Any


class _WithoutComponents:
    """An application that names no components to describe."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self.blocks: dict[int, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._app, name)


def keep_lean_sessions() -> None:
    """Have Gradio open sessions without descriptions of the components."""
    from gradio import route_utils, state_holder

    if state_holder.SessionState.__module__ == __name__:
        return  # another application did it

    class LeanSession(state_holder.SessionState):
        def __init__(self, blocks: Any) -> None:
            super().__init__(_WithoutComponents(blocks))  # type: ignore[arg-type]

        def _update_config(self, key: int) -> None:
            """Nothing is written down."""

        def _update_value_in_config(self, key: int, value: Any) -> None:
            """Nothing is written down."""

    for module in (state_holder, route_utils):
        module.SessionState = LeanSession  # type: ignore[attr-defined]
