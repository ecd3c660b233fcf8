"""How wrong the estimates are: the systems that have both values, and a scatter in which no name is markup."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from leaderboard.data.reference.results import WithReference
from leaderboard.pages.accuracy import FEWEST, Accuracy, Compared, accuracy, accuracy_line, accuracy_section
from tests.leaderboard.boards import load_boards
from tests.leaderboard.injections import HTML, SVG

BOARDS = WithReference().read().boards
MADE = Accuracy("a-suite", 10, tuple(Compared(name, i / 2, i / 2 + 1) for i, name in enumerate((*HTML, *SVG))), 1.0)


def test_systems_with_one_of_the_values_are_left_out(results: Path) -> None:
    suite = next(board.suite for board in BOARDS if board.profile == "noveltybench-1.1")
    by_profile = {board.profile: board for board in BOARDS if (board.suite, board.k) == (suite, 10)}
    keys = [{entry.system for entry in by_profile[name].entries} for name in ("noveltybench-1.1", "offline")]
    measured = accuracy(BOARDS, suite, 10)
    assert measured is not None
    assert 0 < len(measured.systems) == len(keys[0] & keys[1]) < len(keys[0])
    assert (measured.rho is None) == (len(measured.systems) < FEWEST)
    alone = load_boards(results)[0]
    assert accuracy(alone, alone[0].suite, alone[0].k) is None
    assert accuracy_line(None) == ""
    assert "No system on this board is both judged and estimated." in accuracy_section(None, None)


def test_the_line_and_the_scatter_have_the_numbers_and_no_name_becomes_markup() -> None:
    assert accuracy_line(MADE) == (
        f"Over the {len(MADE.systems)} systems with both, the estimate is off by 1.00 of 10 on average, Spearman 1.00."
    )
    tree = ElementTree.fromstring(str(accuracy_section(MADE, None)))  # noqa: S314 - our own section
    sentences = " ".join("".join(tree.itertext()).split())
    assert "With systems left out of training and record: off by ." in sentences  # as the card of validity says
    assert not {element.tag for element in tree.iter()} & {"img", "script", "iframe", "input", "style"}
    dots = [(float(dot.get("cx", 0)), float(dot.get("cy", 0))) for dot in tree.iter("circle")]
    assert len(dots) == len(MADE.systems)
    (x, y), (far, up) = dots[0], dots[-1]
    steps = len(dots) - 1
    assert (far - x) / steps == pytest.approx((dots[1][0] - x), abs=0.1)
    assert up < y  # a higher estimate is further up
    rows = [[cell.text or "".join(cell.itertext()) for cell in row] for row in tree.find(".//tbody") or ()]
    assert rows == [[each.system, f"{each.judged:.2f}", f"{each.estimated:.2f}"] for each in MADE.systems]
    few = Accuracy("a-suite", 10, MADE.systems[: FEWEST - 1], None)
    assert "<svg" not in str(accuracy_section(few, None))
