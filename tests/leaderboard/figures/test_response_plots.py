"""The figures hold the numbers that they were given, and strangers' texts only as text."""

import math
from itertools import pairwise

import pytest

from leaderboard.figures.plots import WITHIN
from leaderboard.figures.response_plots import TINTS, distributions_figure, position_curve_figure, stage_curves_figure
from tests.leaderboard.figures.test_plots import drawn, strings
from tests.leaderboard.injections import INJECTIONS


def test_a_prompts_curve_has_its_band_and_each_response_alone() -> None:
    rate, error, alone = [2.0, 1.5, 1.0], [0.0, 0.1, math.nan], [2.5, 1.5]
    high, low, line, points = drawn(position_curve_figure(rate, error, alone))["data"]
    assert line["x"] == [1, 2, 3]
    assert line["y"] == rate
    assert line["customdata"] == [", standard error 0", ", standard error 0.1", ""]  # not 0.0 where unknown
    assert high["y"][:2] == pytest.approx([2.0, 1.5 + WITHIN * 0.1])
    assert low["y"][:2] == pytest.approx([2.0, 1.5 - WITHIN * 0.1])
    assert high["y"][2] is low["y"][2] is None
    assert (points["x"], points["y"]) == ([1, 1], alone)


def test_stages_differ_by_colour_dash_and_symbol() -> None:
    means = {name: [3.0 - place, 2.0] for place, name in enumerate("abcd")}
    errors = {name: [0.1, 0.2] for name in means}
    data = drawn(stage_curves_figure(means, errors))["data"]
    lines = data[2::3]
    assert [line["name"] for line in lines] == list(means)
    assert [line["y"] for line in lines] == list(means.values())
    assert [line["customdata"] for line in lines] == [[", standard error 0.1", ", standard error 0.2"]] * 4
    for high, low, line in zip(data[::3], data[1::3], lines, strict=True):
        assert high["y"] == pytest.approx([y + WITHIN * e for y, e in zip(line["y"], [0.1, 0.2], strict=True)])
        assert low["y"] == pytest.approx([y - WITHIN * e for y, e in zip(line["y"], [0.1, 0.2], strict=True)])
        assert low["fill"] == "tonexty"
    for one, other in pairwise(lines):
        assert one["line"]["color"] != other["line"]["color"]
        assert one["line"]["dash"] != other["line"]["dash"]
        assert one["marker"]["symbol"] != other["marker"]["symbol"]


def test_distributions_hold_every_value_that_is_there() -> None:
    made = drawn(distributions_figure({"a": [1.0, math.nan, 3.0], "b": [2.0, 2.5, 2.5]}, ["p", "q", "r"], "D", "bits"))
    a, b = made["data"]
    assert (a["y"], a["customdata"]) == ([1.0, 3.0], ["p", "r"])
    assert (b["y"], b["customdata"]) == ([2.0, 2.5, 2.5], ["p", "q", "r"])
    assert made["layout"]["yaxis"]["title"]["text"] == "D, bits"


@pytest.mark.parametrize("text", INJECTIONS)
def test_strangers_texts_are_escaped_and_never_templates(text: str) -> None:
    figures = [
        stage_curves_figure({text: [1.0]}, {text: [0.1]}),
        distributions_figure({text: [1.0]}, [text], text, text),
    ]
    for figure in figures:
        made = drawn(figure)
        for trace in made["data"]:
            own = [trace.get("name") or "", *strings(trace.get("customdata"))]
            assert all(letter.isprintable() and letter not in "<>" for words in own for letter in words)
            assert "hacked" not in trace.get("hovertemplate", "")
        assert not [words for words in strings(made["layout"]["yaxis"]) if "<" in words]


def test_there_are_as_many_tints_as_classes_that_ten_responses_can_share() -> None:
    assert len(set(TINTS)) == len(TINTS) >= 5
