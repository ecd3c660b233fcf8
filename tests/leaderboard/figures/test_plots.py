"""The figures hold the numbers that they were given, and strangers' texts only as text."""

import json
import math
from typing import Any

import numpy as np
import pytest

from benchmark.analysis.explain import Curve, Explanation, explain
from benchmark.metrics.metric import Missing
from benchmark.surprisal.engine import OrderPlan, ResponseSet
from benchmark.surprisal.pairwise_surprisal import PairwiseSurprisals
from benchmark.surprisal.token_surprisals import TokenCost
from leaderboard.figures.plots import HOVER, LABEL, curve_figure, inert, pair_figure, token_figure
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


def paired(found: Explanation) -> PairwiseSurprisals:
    assert not isinstance(found.pairs, Missing)
    return found.pairs


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


def test_the_curve_is_drawn_in_both_units_with_its_band(found: Explanation) -> None:
    made = drawn(curve_figure(found.rate, found.bits))
    assert len(made["data"]) == 8
    for curve, traces in ((found.rate, made["data"][:4]), (found.bits, made["data"][4:])):
        high, low, line, alone = traces
        assert line["y"] == pytest.approx(curve.mean.tolist())
        assert line["customdata"] == [f", standard error {error:.2g}" for error in curve.error]
        assert high["y"] == pytest.approx((curve.mean + 1.96 * curve.error).tolist())
        assert low["y"] == pytest.approx((curve.mean - 1.96 * curve.error).tolist())
        assert low["fill"] == "tonexty"
        assert (alone["x"], alone["y"]) == ([1, 6], [curve.alone] * 2)
        assert alone["line"]["dash"] == "dash"
        assert line["x"] == [1, 2, 3, 4, 5, 6]


def test_a_button_of_the_curve_shows_one_unit_and_says_which(found: Explanation) -> None:
    made = drawn(curve_figure(found.rate, found.bits))
    (menu,) = made["layout"]["updatemenus"]
    shown = [trace["visible"] for trace in made["data"]]
    assert shown == [True] * 4 + [False] * 4
    assert made["layout"]["yaxis"]["title"]["text"] == "bits/byte"
    first, second = (button["args"] for button in menu["buttons"])
    assert first == [{"visible": shown}, {"yaxis.title.text": "bits/byte"}]
    assert second == [{"visible": [not each for each in shown]}, {"yaxis.title.text": "bits of a response"}]


def test_what_is_not_estimated_is_a_gap() -> None:
    found = explain(HashLM(), ResponseSet("Say one.", RESPONSES), plan=OrderPlan("endpoint"))
    line = drawn(curve_figure(found.rate, found.bits))["data"][2]
    assert line["y"] == [None] * 5 + [found.values["a_n"]]
    unknown = Curve(np.array([2.0, 1.0]), np.full(2, math.nan), 2.0)
    high, low, line, _ = drawn(curve_figure(unknown, unknown))["data"][:4]
    assert (high["y"], low["y"], line["y"]) == ([None, None], [None, None], [2.0, 1.0])


def test_the_map_of_pairs_has_their_savings_about_a_middle_of_0(found: Explanation) -> None:
    (trace,) = drawn(pair_figure(paired(found), RESPONSES))["data"]
    saved = paired(found).saved
    for i, row in enumerate(trace["z"]):
        assert row == [None if i == j else saved[i, j] for j in range(len(RESPONSES))]
    assert trace["zmid"] == 0
    middle = trace["colorscale"][len(trace["colorscale"]) // 2]
    assert middle == [0.5, "rgba(128, 128, 128, 0.10)"]  # neither colour
    first, *_, last = trace["colorscale"]
    assert first[1] != last[1]


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


def test_strangers_texts_are_cut_and_hold_no_html(found: Explanation) -> None:
    figures = pair_figure(paired(found), RESPONSES), token_figure(found.tokens)
    for made in map(drawn, figures):
        texts = strings(made["data"]) + strings(made["layout"])
        ours = {made["data"][0]["hovertemplate"]}
        assert not [text for text in texts if "<" in text and text not in ours]
        assert all(len(text) < 5 * HOVER for text in texts)
        assert not [text for text in texts if "\x1b" in text or "\u202e" in text]
        for text in HOSTILE:  # never where it would be filled in
            assert text not in made["data"][0]["hovertemplate"]
    labels = drawn(figures[0])["layout"]["yaxis"]["ticktext"]
    assert labels[:2] == [
        "1: &lt;script&gt;window.hacked=1&lt;/scri…",
        "2: &lt;b&gt;bold&lt;/b&gt; &lt;a href='javascri…",
    ]
    assert labels[2].startswith("3: [bold]rich[/bold] &lt;/s&gt; ")
    assert labels[4] == "5: 雨が降っている。"


def test_what_is_read_beside_a_figure_has_a_unit(found: Explanation) -> None:
    pairs, tokens = drawn(pair_figure(paired(found), RESPONSES)), drawn(token_figure(found.tokens))
    assert pairs["data"][0]["colorbar"]["title"]["text"] == "bits saved"
    assert tokens["data"][0]["colorbar"]["title"]["text"] == "bits"
    for made in (pairs, tokens, drawn(curve_figure(found.rate, found.bits))):
        assert made["layout"]["title"]["text"]
        assert made["layout"]["xaxis"]["title"]["text"]
        assert made["layout"]["yaxis"]["title"]["text"]
        assert made["layout"]["font"]["size"] >= 14


@pytest.mark.parametrize("text", [*RESPONSES, "", "\ud800", "&" * 100, "a\x00b"])
def test_a_text_is_cut_before_it_is_escaped(text: str) -> None:
    cut = shortened(text, LABEL)
    assert len(cut) <= LABEL
    assert cut.isprintable()
    escaped = inert(text, LABEL)
    assert not {"<", ">"} & set(escaped)
    assert escaped.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") == cut
