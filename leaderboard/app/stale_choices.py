"""Choices that are no longer offered count as not chosen, instead of being errors.

What a dropdown offers depends on other controls, for example the systems on the table. Gradio compares each value with
what the visitor's session offers when the event arrives, so a value that the browser sent before it got the new choices
is an error, and the visitor sees a message with raw ids. This is normal use: a choice by mouse makes two `input`
events at once (Gradio's Dropdown.svelte dispatches one for the choice and one for the loss of focus), and the first
changes what the session offers before the second arrives. `trigger_mode` does not help, because Gradio's browser code
counts an event as pending only once it is sent.

Pages still get only values that they offered: a value that was never offered is dropped, too.
"""

from collections.abc import Sequence
from typing import Any

import gradio as gr


def drop_stale_choices() -> None:
    """Make Gradio's dropdowns and radio buttons drop values that they do not offer. No Gradio setting does this."""
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
