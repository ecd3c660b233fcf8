"""What an address may ask of a page."""

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Any, cast

import gradio as gr
import pytest

from leaderboard.app.asked import Asked
from leaderboard.app.components import GONE, gone, several_gone
from leaderboard.app.gradio_patches import without_servers
from leaderboard.app.pages.models import CHOICES, _controls
from leaderboard.app.permalinks import MAX_VALUE, _text, chosen, chosen_several, remember, wire
from leaderboard.data.live_results import LiveResults
from leaderboard.data.reference.results import WithReference
from leaderboard.tables.models import ANY


def test_only_what_is_offered_is_taken() -> None:
    assert chosen({"a": "x"}, "a", ["x", "y"], "y") == "x"
    assert chosen({"a": "<b>"}, "a", ["x", "y"], "y") == "y"
    assert chosen({}, "a", ["x"], None) is None


def test_several_are_taken_once_in_the_order_asked() -> None:
    assert chosen_several({"a": "y,x,y,<b>"}, "a", ["x", "y"], ["x"]) == ["y", "x"]
    assert chosen_several({}, "a", ["x", "y"], ["x"]) == ["x"]
    assert chosen_several({"a": ""}, "a", ["x", "y"], ["x"]) == []


def test_the_script_holds_names_as_json_alone() -> None:
    script = remember(["a", "b'\"</script>"])
    found = re.search(r"(\[.*\])\.forEach", script)
    assert found is not None
    assert json.loads(found[1]) == ["a", "b'\"</script>"]


def test_a_comma_in_a_value_of_a_list_is_no_border() -> None:
    offered = ["x [a, b]", "y"]
    assert chosen_several({"c": "x%20%5Ba%2C%20b%5D,y"}, "c", offered, []) == offered
    assert chosen_several({"c": _text(offered)}, "c", offered, []) == offered


def test_a_hint_speaks_of_a_link_only_where_one_was_opened() -> None:
    values = {"table": "t", "system": "s"}
    assert gone(Asked(values), "system", "s") == gone(Asked(values, "table"), "system", "s") == ""
    assert gone(Asked({"system": ""}, "table"), "system", "r") == gone(Asked(), "system", "r") == ""
    assert gone(Asked(values), "system", "r") == GONE
    assert gone(Asked(values, "table"), "system", "r") == "Not in this table; this one is shown instead."
    assert gone(Asked(values, "table"), "table", "u") == "No longer on this board; this one is shown instead."


def test_a_link_to_systems_that_are_gone_says_how_many() -> None:
    offered = ["a", "b,c"]
    assert several_gone({"systems": "a,b%2Cc"}, "systems", offered, 2) == ""
    assert several_gone({}, "systems", offered, 2) == several_gone({"systems": ""}, "systems", offered, 2) == ""
    assert several_gone({"systems": "a,<b>,z"}, "systems", offered, 2) == "Not in this table: 2 of 3 chosen systems."
    assert several_gone({"systems": "a,a,b%2Cc"}, "systems", offered, 1) == "Only the first 1 of 2 are shown."
    both = "Not in this table: 1 of 3 chosen systems. Only the first 1 of 2 are shown."
    assert several_gone({"systems": "a,b%2Cc,z"}, "systems", offered, 1) == both


@pytest.mark.filterwarnings(
    "ignore:The value passed into gr.Dropdown"
)  # a list for what is an update of several values
def test_a_link_to_filters_that_are_gone_says_so_at_each_of_them() -> None:
    snapshot = WithReference().read()

    def hints(**filters: str) -> list[str]:
        made = dict(zip(CHOICES, _controls(snapshot, Asked(filters), None), strict=True))
        return [str(made[name].info or "") for name in ("columns", "types", "modes", "licence")]

    assert hints() == hints(types="baseline,model", modes="", licence=ANY) == [""] * 4
    assert hints(types="baseline,<b>", modes="x", licence="MIT, or so", columns="none") == [
        "Not in this table: 1 of 1 chosen column.",
        "Not in this table: 1 of 2 chosen types.",
        "Not in this table: 1 of 1 chosen mode.",
        GONE,
    ]


def test_a_call_can_give_no_longer_text_than_an_address() -> None:
    # A search for 500,000 words kept the board busy for many seconds; only browsers keep to a field's `max_length`.
    seen: list[Mapping[str, Any]] = []

    def show(given: Mapping[str, Any]) -> list[Any]:
        seen.append(given)
        raise KeyError

    async def built() -> Any:  # in an event loop, because Gradio would make one and leave it open
        with without_servers(), gr.Blocks(analytics_enabled=False) as page:
            query = gr.Textbox(max_length=200, elem_id="q")
            wire(page, cast("LiveResults", None), [query], lambda asked: [""], show, [query])
        return page.fns.values()

    shown = next(each.fn for each in asyncio.run(built()) if getattr(each.fn, "__name__", "") == "shown")
    with pytest.raises(KeyError):
        shown("x" * 1_000_000)
    assert seen == [{"q": "x" * MAX_VALUE}]
