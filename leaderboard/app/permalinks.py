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
from leaderboard.app.asked import Asked
from leaderboard.app.components import told
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
Restore = Callable[[Asked], Sequence[Any]]


def wire(
    page: gr.Blocks,
    live: LiveResults,
    components: Sequence[Any],
    restore: Restore,
    show: Callable[[Mapping[str, Any]], Sequence[Any]],
    outputs: Sequence[Any],
    *,
    nothing: Callable[[str], Sequence[Any]] | None = None,
    cascade: Sequence[str] = (),
) -> None:
    """Fill a page and its footer when it is opened and whenever the visitor changes a control.

    Args:
        components: Controls; their element ids are their names in the URL. Lists are separated by commas; commas in
            values are escaped.
        restore: Function from what is asked to a value or an update for each control, in their order. What is asked is
            limited to the controls' names and each value to `MAX_VALUE` characters.
        nothing: Function from an error message to the outputs, for a `DivBenchError` in `show`.
        cascade: Names of controls that determine what the others offer: when one of them changes, `restore` runs again.
    """
    controls = {str(each.elem_id): each for each in components}
    inputs, foot = list(components), gr.HTML("", elem_id="foot", padding=False)
    filling = [*outputs, foot]

    def restored(request: gr.Request) -> Any:
        given = dict(request.query_params)
        values = restore(Asked({name: given[name][:MAX_VALUE] for name in controls if name in given}))
        return (values[0] if len(inputs) == 1 else list(values)) if inputs else None

    def shown(*values: Any) -> Any:
        cut = (value[:MAX_VALUE] if isinstance(value, str) else value for value in values)
        given = dict(zip(controls, cut, strict=True))
        try:
            made = list(show(given))
        except DivBenchError as error:
            if nothing is None:
                raise
            made = list(nothing(told(error)))
        return [*made, str(footer(live.snapshot(), given))]

    # Not queued, because a crowd of callers may fill the queue, and a page without content looks broken.
    opened = page.load(restored, None, inputs, queue=False, **QUIET)
    filled = opened.then(shown, inputs, filling, queue=False, api_visibility="private", show_progress="minimal")
    filled.then(None, js=count_on("shown"))
    script = remember(list(controls))
    for name in cascade:

        def again(*values: Any, changing: str = name) -> Any:
            texts = {name: _text(value) for name, value in zip(controls, values, strict=True)}
            made = list(restore(Asked(texts, changing)))
            if isinstance(controls[changing], gr.Textbox):
                made[list(controls).index(changing)] = gr.skip()  # the visitor is still typing
            return made

        # Raw values, because `restore` checks them and says which of them are no longer offered. It must do so for the
        # second of two equal events, too (see `drop_stale_choices`), by then after the new choices.
        changed = controls[name].input(again, inputs, inputs, trigger_mode="always_last", preprocess=False, **QUIET)
        changed.then(shown, inputs, filling, js=script, **LATEST).then(None, js=count_on("shown"))
    events = [control.input for name, control in controls.items() if name not in cascade]
    if events:
        gr.on(events, shown, inputs, filling, js=script, **LATEST).then(None, js=count_on("shown"))


def count_on(name: str) -> str:
    """A script that counts events in a data attribute of the page's body, for tests and benchmarks."""
    return f"() => {{ const d = document.body.dataset; d.{name} = String(Number(d.{name} || 0) + 1); }}"


def _text(value: Any) -> str:
    """A control's value as it is written in a URL."""
    if isinstance(value, list | tuple):
        text = ",".join(quote(str(each), safe="") for each in value)
    else:
        text = "" if value is None else str(value)
    return text[:MAX_VALUE]


def remember(names: Sequence[str]) -> str:
    """A script that writes its arguments into the URL and returns them."""
    return _REMEMBER.replace("NAMES", json.dumps(list(names)))


def chosen(query: Mapping[str, str], name: str, offered: Sequence[str], default: str | None) -> str | None:
    """The value in the query if it is offered; otherwise the default."""
    value = query.get(name)
    return value if value in offered else default


def chosen_or_first(query: Mapping[str, str], name: str, offered: Sequence[str]) -> str | None:
    """The value in the query if it is offered; otherwise the first value offered; None if there is none."""
    return chosen(query, name, offered, offered[0] if offered else None)


def chosen_several(query: Mapping[str, str], name: str, offered: Sequence[str], default: Sequence[str]) -> list[str]:
    """The offered values in the query, in its order; the default if the query does not have the name."""
    if name not in query:
        return list(default)
    wanted = [unquote(value) for value in query[name].split(",")]
    return [value for value in dict.fromkeys(wanted) if value in offered]
