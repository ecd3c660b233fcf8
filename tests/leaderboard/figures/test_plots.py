"""The figures hold the numbers that they were given, and strangers' texts only as text."""

import json
from typing import Any

import pytest

from benchmark.analysis.explain import Explanation, explain
from benchmark.surprisal.engine import ResponseSet
from benchmark.surprisal.prompt_layout import TokenCost
from leaderboard.figures.plots import HOVER, LABEL, inert, token_figure
from submissions.untrusted.plain_text import shortened
from tests.benchmark.fakes import HashLM

HOSTILE = (
    "<script>window.hacked=1</script>",
    "<b>bold</b> <a href='javascript:window.hacked=1'>x</a>",
    "[bold]rich[/bold] </s> %{z} %{customdata[0]} &lt;i&gt;",
    "\x1b[31mred \u202eturned $x^2$",
)
RESPONSES = (*HOSTILE, "雨が降っている。", "a long one " * 40)


@pytest.fixture(scope="module")
def found() -> Explanation:
    return explain(HashLM(), ResponseSet("Say one.", RESPONSES))


def drawn(figure: Any) -> dict[str, Any]:
    """What the browser gets, with gaps as null and no other constant."""

    def refuse(name: str) -> None:
        raise AssertionError(name)

    made: dict[str, Any] = json.loads(figure.to_json(engine="json"), parse_constant=refuse)
    return made


def strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return [text for each in inner for text in strings(each)]


def test_the_strip_of_tokens_has_a_row_a_response_on_one_scale(found: Explanation) -> None:
    made = drawn(token_figure(found.tokens))
    (trace,) = made["data"]
    longest = max(map(len, found.tokens))
    for row, tokens in zip(trace["z"], found.tokens, strict=True):
        assert row == [token.bits for token in tokens] + [None] * (longest - len(tokens))
    assert trace["zmin"] == 0
    assert trace["zmax"] == max(bits for row in trace["z"] for bits in row if bits is not None)
    assert made["layout"]["yaxis"]["autorange"] == "reversed"


def test_a_token_shows_its_white_space_and_what_has_no_text_says_so() -> None:
    rows = ((TokenCost(" a\n", 1.0), TokenCost("<i>", 2.0), TokenCost("", 3.0)), ())
    (trace,) = drawn(token_figure(rows))["data"]
    assert trace["customdata"] == [["“ a\\n”", "“&lt;i&gt;”", "(of the character before, or the space)"], [""] * 3]
    assert drawn(token_figure(()))["data"][0]["z"] == []


def test_untrusted_texts_are_cut_and_hold_no_html(found: Explanation) -> None:
    figure = drawn(token_figure(found.tokens))
    texts = strings(figure["data"]) + strings(figure["layout"])
    template = figure["data"][0]["hovertemplate"]
    assert not [text for text in texts if "<" in text and text != template]
    assert all(len(text) < 5 * HOVER for text in texts)
    assert not [text for text in texts if "\x1b" in text or "\u202e" in text]
    labels = figure["layout"]["yaxis"]["ticktext"]
    assert labels[:2] == [
        "1: &lt;script&gt;window.hacked=1&lt;/scri…",
        "2: &lt;b&gt;bold&lt;/b&gt; &lt;a href='javascri…",
    ]
    assert labels[4] == "5: 雨が降っている。"


@pytest.mark.parametrize("text", [*RESPONSES, "", "\ud800", "&" * 100, "a\x00b"])
def test_a_text_is_cut_before_it_is_escaped(text: str) -> None:
    cut = shortened(text, LABEL)
    assert len(cut) <= LABEL
    assert cut.isprintable()
    escaped = inert(text, LABEL)
    assert not {"<", ">"} & set(escaped)
    assert escaped.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") == cut
