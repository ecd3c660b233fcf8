"""Permalinks: every choice on a page stands in the address, and an address restores every choice.

A page names its controls; what the visitor changes goes into the query by script, and what the query says goes
through the page's own `restore`, which takes only what it offers: an address is a stranger's text.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote

import gradio as gr

MAX_VALUE = 2000  # letters of one value
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
Restore = Callable[[Mapping[str, str]], Sequence[Any]]


def wire(
    page: gr.Blocks,
    controls: Mapping[str, Any],
    restore: Restore,
    show: Callable[..., Any],
    outputs: Sequence[Any],
    *,
    cascade: Sequence[str] = (),
) -> None:
    """Fill a page when it is opened, and again whenever the visitor changes a control.

    Args:
        page: The page's blocks.
        controls: By their names in the address. The values of lists stand between commas, their own
            escaped.
        restore: From the query to a value or an update for each control, in their order. It sees no more than the
            names of the controls, each cut to `MAX_VALUE` letters.
        show: From the controls' values to the outputs.
        outputs: What `show` fills.
        cascade: Controls on which it depends what the others offer: when one of these changes, all go through
            `restore` again.
    """
    inputs = list(controls.values())

    def restored(request: gr.Request) -> Any:
        given = dict(request.query_params)
        values = restore({name: given[name][:MAX_VALUE] for name in controls if name in given})
        return (values[0] if len(inputs) == 1 else list(values)) if inputs else None

    opened = page.load(restored, None, inputs, api_visibility="private", show_progress="hidden")
    filled = opened.then(show, inputs, list(outputs), api_visibility="private", show_progress="minimal")
    filled.then(None, js=count_on("shown"))
    script = remember(list(controls))
    for name in cascade:

        def again(*values: Any, changing: str = name) -> Any:
            made = list(restore({name: _text(value) for name, value in zip(controls, values, strict=True)}))
            if isinstance(controls[changing], gr.Textbox):
                made[list(controls).index(changing)] = gr.skip()  # its visitor is typing
            return made

        changed = controls[name].input(
            again, inputs, inputs, trigger_mode="always_last", api_visibility="private", show_progress="hidden"
        )
        then = changed.then(
            show,
            inputs,
            list(outputs),
            js=script,
            trigger_mode="always_last",  # it may still be at the letter before
            api_visibility="private",
            show_progress="minimal",
        )
        then.then(None, js=count_on("shown"))
    events = [control.input for name, control in controls.items() if name not in cascade]
    if events:
        done = gr.on(
            events,
            show,
            inputs,
            list(outputs),
            trigger_mode="always_last",
            js=script,
            show_progress="minimal",
            api_visibility="private",
        )
        done.then(None, js=count_on("shown"))


def count_on(name: str) -> str:
    """A script that counts on the page's body how often something was done, for programs that watch it."""
    return f"() => {{ const d = document.body.dataset; d.{name} = String(Number(d.{name} || 0) + 1); }}"


def _text(value: Any) -> str:
    """A control's value as an address has it."""
    if isinstance(value, list | tuple):
        text = ",".join(quote(str(each), safe="") for each in value)
    else:
        text = "" if value is None else str(value)
    return text[:MAX_VALUE]


def remember(names: Sequence[str]) -> str:
    """A script that writes the values it is given into the address, and passes them on.

    Args:
        names: Of the values, in their order.
    """
    return _REMEMBER.replace("NAMES", json.dumps(list(names)))


def chosen(query: Mapping[str, str], name: str, offered: Sequence[str], default: str | None) -> str | None:
    """The value of the query, if it is offered."""
    value = query.get(name)
    return value if value in offered else default


def chosen_several(query: Mapping[str, str], name: str, offered: Sequence[str], default: Sequence[str]) -> list[str]:
    """The values of the query that are offered, in the order of the query; the default where it names none."""
    if name not in query:
        return list(default)
    wanted = [unquote(value) for value in query[name].split(",")]
    return [value for value in dict.fromkeys(wanted) if value in offered]
