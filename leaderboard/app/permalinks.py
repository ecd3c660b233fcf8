"""Permalinks: the URL of a page holds every choice made on it, and opening the URL restores them.

A page names its controls, and a script writes changed choices into the query of the URL. When the page is opened,
`restore` reads the query and accepts only values that the page offers, because a URL is untrusted.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote

import gradio as gr

from divbench.core.errors import DivBenchError
from leaderboard.app.components import Choices, error_line
from leaderboard.app.navigation import footer
from leaderboard.data.live_results import LiveResults

MAX_VALUE = 2000  # characters of one value; a field's own limit holds only in browsers
# Arguments of Gradio's events: none of these is an endpoint of the API.
QUIET: Mapping[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
LATEST: Mapping[str, Any] = {  # events for earlier choices or keystrokes may still be running
    "api_visibility": "private",
    "show_progress": "minimal",
    "trigger_mode": "always_last",
}
_REMEMBER = """(...values) => {
  const address = new URL(window.location);
  NAMES.forEach((name, place) => {
    const value = values[place];
    const text = Array.isArray(value) ? value.map(encodeURIComponent).join(",") : String(value ?? "");
    if (text === "") address.searchParams.delete(name); else address.searchParams.set(name, text);
  });
  window.history.replaceState(null, "", address);
  return values;
}"""


def wire(
    page: gr.Blocks,
    live: LiveResults,
    components: Sequence[Any],
    restore: Callable[[Choices], Sequence[Any]],
    show: Callable[[Mapping[str, Any]], Sequence[Any]],
    outputs: Sequence[Any],
    *,
    nothing: Callable[[str], Sequence[Any]] | None = None,
    cascade: Sequence[str] = (),
) -> None:
    """Fill a page and its footer when it is opened and whenever the visitor changes a control.

    The element ids of the controls are their names in the URL; lists are separated by commas. `restore` returns a value
    or an update for each control; `show` returns the outputs for the controls' values, and `nothing` those for the
    message of an error in `show`. When a control of the cascade changes, which determines what others offer, `restore`
    runs again.
    """
    controls = {str(component.elem_id): component for component in components}
    inputs, foot = list(components), gr.HTML("", elem_id="foot", padding=False)
    filling = [*outputs, foot]

    def restored(request: gr.Request) -> Any:
        query = dict(request.query_params)
        values = restore(Choices({name: query[name][:MAX_VALUE] for name in controls if name in query}))
        return (values[0] if len(inputs) == 1 else list(values)) if inputs else None

    def shown(*values: Any) -> Any:
        choices = dict(zip(controls, map(plain_value, values), strict=True))
        try:
            filled = list(show(choices))
        except DivBenchError as error:
            if nothing is None:
                raise gr.Error(error_line(error), print_exception=False) from error
            filled = list(nothing(error_line(error)))
        return [*filled, str(footer(live.snapshot(), choices))]

    # Raw values (`preprocess=False`) throughout: a browser may send a choice before it gets the new ones, which Gradio
    # would refuse with an error; the pages use only values that they offer. Not queued when a page is opened, because
    # a crowd of callers may fill the queue, and a page without content looks broken.
    opened = page.load(restored, None, inputs, queue=False, **QUIET)
    filled = opened.then(
        shown, inputs, filling, queue=False, preprocess=False, api_visibility="private", show_progress="minimal"
    )
    filled.then(None, js=count_on("shown"))
    script = remember(list(controls))
    for name in cascade:

        def again(*values: Any, changing: str = name) -> Any:
            texts = {name: _text(value) for name, value in zip(controls, values, strict=True)}
            restored = list(restore(Choices(texts, changing)))
            if isinstance(controls[changing], gr.Textbox):
                restored[list(controls).index(changing)] = gr.skip()  # the visitor is still typing
            return restored

        changed = controls[name].input(again, inputs, inputs, trigger_mode="always_last", preprocess=False, **QUIET)
        after = changed.then(shown, inputs, filling, js=script, preprocess=False, **LATEST)
        after.then(None, js=count_on("shown"))
    events = [control.input for name, control in controls.items() if name not in cascade]
    if events:
        after = gr.on(events, shown, inputs, filling, js=script, preprocess=False, **LATEST)
        after.then(None, js=count_on("shown"))


def plain_value(value: Any) -> str | list[str] | None:
    """Return a control's value, which is untrusted, as a text of limited length, a list of texts, or None."""
    if isinstance(value, list):
        return [str(item)[:MAX_VALUE] for item in value]
    return None if value is None else str(value)[:MAX_VALUE]


def count_on(name: str) -> str:
    """Return a script that counts events in a data attribute of the page's body, for tests and benchmarks."""
    return f"() => {{ const d = document.body.dataset; d.{name} = String(Number(d.{name} || 0) + 1); }}"


def _text(value: Any) -> str:
    """Return a control's value as it is written in a URL."""
    plain = plain_value(value)
    text = ",".join(quote(item, safe="") for item in plain) if isinstance(plain, list) else plain or ""
    return text[:MAX_VALUE]


def remember(names: Sequence[str]) -> str:
    """Return a script that writes its arguments into the URL and returns them."""
    return _REMEMBER.replace("NAMES", json.dumps(list(names)))


def chosen(query: Mapping[str, str], name: str, offered: Sequence[str], default: str | None) -> str | None:
    """Return the value in the query if it is offered; otherwise the default."""
    value = query.get(name)
    return value if value in offered else default


def chosen_or_first(query: Mapping[str, str], name: str, offered: Sequence[str]) -> str | None:
    """Return the value in the query if it is offered; otherwise the first value offered; None if there is none."""
    return chosen(query, name, offered, offered[0] if offered else None)


def chosen_several(query: Mapping[str, str], name: str, offered: Sequence[str], default: Sequence[str]) -> list[str]:
    """Return the offered values in the query, in its order; the default if the query does not have the name."""
    if name not in query:
        return list(default)
    wanted = [unquote(value) for value in query[name].split(",")]
    return [value for value in dict.fromkeys(wanted) if value in offered]
