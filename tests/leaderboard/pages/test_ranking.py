"""The first page: the sentence's numbers are the data's, marks lie where the values are, and no name is markup."""

from dataclasses import replace
from datetime import date
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.stats import spearmanr

from benchmark.analysis.ranking import standings, unranked
from leaderboard.data.board import REFERENCE_TYPES, Board, Column, Entry
from leaderboard.data.scores import BoardScores
from leaderboard.pages.picture import picture
from leaderboard.pages.ranking import MOST, Line, Ranking, beside, ranking, ranking_table
from leaderboard.pages.system import extreme_prompts, nearest_systems
from tests.leaderboard.boards import load_boards
from tests.leaderboard.injections import HTML, MARKDOWN, SVG


@pytest.fixture(scope="module")
def board(results: Path) -> Board:
    """The demonstration's board with four of its systems as models, one as people, two as known-bad baselines."""
    made = load_boards(results)[0][0]
    return replace(made, entries=tuple(_typed(e, kind) for e, kind in zip(made.entries, TYPES, strict=True)))


TYPES = ("baseline", "model", "human", "model", "model", "baseline", "model")


def _typed(entry: Entry, kind: str) -> Entry:
    manifest = entry.result.manifest
    system = manifest.system.model_copy(update={"type": kind})
    return replace(
        entry, result=entry.result.model_copy(update={"manifest": manifest.model_copy(update={"system": system})})
    )


def _column(board: Board, label: str) -> Column:
    return next(column for column in board.columns if column.label == label)


def _ranking(board: Board, label: str = "distinct_n") -> Ranking:
    column = _column(board, label)
    return ranking(board, column, BoardScores(board).standings(column))


def _unranked(view: Ranking) -> list[Line]:
    return [line for _, lines in view.groups for line in lines]


def _renamed(entry: Entry, name: str) -> Entry:
    manifest = entry.result.manifest.model_copy(update={"name": name})
    return replace(entry, result=entry.result.model_copy(update={"manifest": manifest}))


def test_the_title_says_what_the_judge_of_validity_looks_for(board: Board) -> None:
    column = _column(board, "valid_distinct_k")
    said = {}
    judges = ("validity-v6@0,texts", "validity-over-0.1,a-reward-model@1", "validity-from-4,a-judge,judge-score-v1")
    for judge in judges:
        signature = column.signature.model_copy(update={"models": (judge,)})
        standings = BoardScores(board).standings(column)
        said[judge] = ranking(board, replace(column, signature=signature), standings).title.partition(". ")[2]
    estimated, rewarded, scored = said.values()
    assert "by a rough estimate" in estimated
    models = ("validity-v6@0,record@0,an-embedder",)
    compared = column.signature.model_copy(update={"models": models, "suite": "noveltybench-curated@0"})
    title = ranking(board, replace(column, signature=compared), standings).title
    assert "by comparison with others that a judge scored" in title
    assert rewarded == ""  # it judges quality
    assert scored.endswith("a judge scores the first of their class 4 or more of 10")


@pytest.mark.parametrize("label", ["distinct_n", "self_bleu"])
def test_lines_are_ranked_systems_and_marks_lie_where_the_values_are(board: Board, label: str) -> None:
    made, column = _ranking(board, label), _column(board, label)
    values = {e.result.manifest.name: e.cells[column.signature] for e in board.entries}
    types = {e.result.manifest.name: e.result.manifest.system.type for e in board.entries}
    assert {line.system for line in made.lines} == {name for name, kind in types.items() if kind not in REFERENCE_TYPES}
    assert {line.system for line in _unranked(made)} == {n for n, kind in types.items() if kind in REFERENCE_TYPES}
    assert [kind.name for kind, _ in made.groups] == ["people", "known-bad baseline"]
    marks = [(line.mark, values[line.system]) for line in made.everyone]
    at = np.array([[mark.at, mark.low, mark.high] for mark, _ in marks], float).ravel()
    real = np.array([[cell.value, cell.low, cell.high] for _, cell in marks], float).ravel()
    assert np.corrcoef(at, real)[0, 1] == pytest.approx(1, abs=1e-6)  # one linear scale for all
    assert at.min() >= 0
    assert at.max() <= 100
    slope, start = np.polyfit(at, real, 1)
    assert len(made.ticks) > 2
    for position, text in made.ticks:
        assert float(text) == pytest.approx(start + slope * position, abs=1e-3)
    assert [line.rank for line in made.lines] == sorted(line.rank for line in made.lines)
    assert made.lines[0].opens
    assert made.lines[-1].closes


def test_counts_of_answers_are_drawn_from_zero(board: Board) -> None:
    made = _ranking(board, "valid_distinct_k")
    assert made.ticks[0] == (0.0, "0")
    assert made.heading == f"useful different answers of {board.k}"


def test_the_sentence_has_the_best_system_its_value_and_those_tied_with_it(board: Board) -> None:
    made = _ranking(board, "valid_distinct_k")
    best, (people, *_) = made.lines[0], _unranked(made)
    assert (
        f"{best.system} gives the most useful different answers of the {len(made.lines)} systems shown" in made.sentence
    )
    assert f", {best.mark.text}" in made.sentence
    tied = [line.system for line in made.lines[1:] if line.group == best.group]
    assert ("statistically tied with" in made.sentence) == bool(tied)
    assert all(name in made.sentence for name in tied[:3])
    assert f"people give {people.mark.text}." in made.sentence


def _judged(board: Board, systems: list[tuple[str, str, int, float, float]]) -> Board:
    """The board with systems of a mode, year, value and quality, as they ship with the package."""
    column, quality = _column(board, "valid_distinct_k"), _column(board, "distinct_n")
    entries = []
    for place, (name, mode, year, value, judged) in enumerate(systems):
        entry = _renamed(_typed(board.entries[0], "model"), name)
        manifest = entry.result.manifest
        changed = manifest.model_copy(
            update={
                "generation": manifest.generation.model_copy(update={"mode": mode}),
                "submitter": manifest.submitter.model_copy(update={"date": date(year, 9, 10)}),
            }
        )
        cells = {
            column.signature: entry.cells[column.signature].model_copy(update={"value": value}),
            quality.signature: entry.cells[quality.signature].model_copy(update={"value": judged}),
        }
        result = entry.result.model_copy(update={"manifest": changed, "submission_id": f"{place:016}"})
        entries.append(replace(entry, result=result, cells=cells, origin="released"))
    columns = column, replace(quality, metric="mean_head_quality_reported", label="quality")
    return replace(board, k=10, columns=columns, entries=tuple(entries))


SYSTEMS = [
    ("old", "resample", 2025, 3.9, 6.0),
    ("one", "resample", 2026, 2.64, 7.6),
    ("two", "resample", 2026, 3.1, 8.4),
    ("one, asked for a different one", "in-context", 2026, 8.1, 6.2),
    ("two, asked for a different one", "in-context", 2026, 9.38, 8.0),
]


@pytest.mark.parametrize(
    ("systems", "said"),
    [
        (
            SYSTEMS,
            "Asked ten times, the best models of 2026 give about three useful different answers (2.6 to 3.1); "
            "asked each time for a different one, eight to nine.",
        ),
        (
            [("old", "resample", 2025, 4.9, 8.0), *SYSTEMS[1:3], ("three", "resample", 2026, 4.6, 9.0)],
            "Asked ten times, the three models sampled in 2026 give three to five useful different answers "
            "(2.6 to 4.6).",
        ),
        (SYSTEMS[:2], "Asked ten times, old gives the most useful different answers of the 2 systems shown, 3.9"),
    ],
)
def test_the_sentence_is_about_the_newest_models_as_far_as_the_data_support_it(
    board: Board, systems: list[tuple[str, str, int, float, float]], said: str
) -> None:
    made = _judged(board, systems)
    standing = standings(np.array([[value for *_, value, _ in systems]] * 2), direction=1)
    sentence = ranking(made, made.columns[0], standing).sentence
    assert sentence.startswith(said)
    own = replace(made, entries=tuple(replace(entry, origin="") for entry in made.entries))  # whose dates prove nothing
    assert "models" not in ranking(own, own.columns[0], standing).sentence
    some = ranking(made, made.columns[0], standing, lambda entry: entry is not made.entries[0])
    assert "models" not in some.sentence  # the visitor has filtered


def test_a_system_alone_is_not_called_the_most_diverse(board: Board) -> None:
    alone = next(e for e in board.entries if e.result.manifest.system.type not in REFERENCE_TYPES)
    made = _ranking(replace(board, entries=(alone,)), "valid_distinct_k")
    assert f"{made.lines[0].system} gives {made.lines[0].mark.text} useful different answers." in made.sentence
    once = _ranking(replace(board, k=1, entries=(alone,)), "valid_distinct_k").sentence
    assert once.startswith("Asked one time, ")


def test_a_filter_changes_no_ranks_and_empties_are_said(board: Board) -> None:
    column, standing = _column(board, "distinct_n"), BoardScores(board).standings(_column(board, "distinct_n"))
    best = standing.index(next(stands for stands in standing if stands.rank == 1))
    made = ranking(board, column, standing, lambda entry: entry is not board.entries[best])
    assert made.lines[0].rank == 2
    none = ranking(board, column, standing, lambda entry: False)
    assert none.sentence == "No ranked system matches the filters."
    assert "<table" not in str(ranking_table(none))
    empty = replace(board, entries=tuple(replace(entry, cells={}) for entry in board.entries))
    made = ranking(empty, column, [unranked(np.array([]))] * len(board.entries))
    assert made.sentence == "No system has a value here yet."
    assert made.everyone == ()


def test_a_board_of_references_alone_ranks_them(board: Board) -> None:
    entries = tuple(e for e in board.entries if e.result.manifest.system.type in REFERENCE_TYPES)
    made = _ranking(replace(board, entries=entries))
    assert len(made.lines) == len(entries)
    assert made.groups == ()


def test_each_kind_without_a_rank_is_a_closed_group(board: Board) -> None:
    entries = tuple(
        _typed(e, "base model") if e.result.manifest.system.type == "baseline" else e for e in board.entries
    )
    html = str(ranking_table(_ranking(replace(board, entries=entries))))
    assert html.count('<details class="kind"><summary>') == 2
    assert "<summary>Base models <small>(2, not ranked). " in html
    assert "<details open" not in html


def test_systems_of_another_board_stand_beside_the_ranking(board: Board) -> None:
    systems = [e for e in board.entries if e.result.manifest.system.type == "model"]
    people = next(e for e in board.entries if e.result.manifest.system.type == "human")
    column = _column(board, "valid_distinct_k")
    judged = replace(board, profile="noveltybench-1.1", entries=(*systems[:2],))
    estimated = replace(board, profile="offline", entries=(*systems[1:3], people))
    fewer = replace(estimated, k=board.k - 1, entries=(systems[3], people))
    boards = [judged, estimated, fewer, replace(estimated, suite="other"), replace(estimated, profile="semantic")]
    found = beside(boards, judged, column)
    assert found == [(estimated, column), (fewer, column)]
    assert beside(boards, judged, _column(board, "distinct_n")) == []
    standing = BoardScores(judged).standings(column)
    made = ranking(judged, column, standing, others=[(fewer, column), (estimated, column)])
    assert [line.entry for line in made.lines if line.rank] == sorted(
        judged.entries, key=lambda entry: -(entry.cells[column.signature].value or 0.0)
    )
    assert [(line.entry, line.measured, line.is_aside) for line in made.beside] == [(systems[2], "estimated", True)]
    ((_, (wrote,)),) = made.groups  # people wrote fewer, so they stand there with their number
    assert (wrote.entry, wrote.of) == (people, fewer.k)
    html = str(ranking_table(made))
    assert "Not ranked: estimated, not judged" in html
    assert f"<small>of {fewer.k}</small>" in html


def test_systems_without_a_value_are_counted_and_named(board: Board) -> None:
    assert "no such score" not in str(ranking_table(_ranking(board)))
    column, names = _column(board, "distinct_n"), ["<b>one</b>", *"23456"]
    standing = [*BoardScores(board).standings(column), *[unranked(np.array([]))] * len(names)]
    without = [replace(_renamed(board.entries[0], name), cells={}) for name in names]
    made = ranking(replace(board, entries=(*board.entries, *without)), column, standing)
    assert f"of the {len(made.lines)} systems with this score is {made.lines[0].system}" in made.sentence
    assert [name.partition(" (")[0] for name in made.lacking] == names
    html = str(ranking_table(made))
    assert "6 systems have no such score: &lt;b&gt;one&lt;/b&gt;, 2, 3, 4, 5 and 1 more." in html
    assert "score these again" not in html
    twice = replace(board, entries=(*board.entries, *without), columns=(*board.columns, column))
    assert "score these again.</p>" in str(ranking_table(ranking(twice, column, standing)))
    assert "1 system has no such score: one." in str(ranking_table(replace(made, lacking=("one",))))


def test_means_over_some_of_the_prompts_are_pointed_out(board: Board) -> None:
    assert "fewer prompts" not in str(ranking_table(_ranking(board)))
    column, entry = _column(board, "distinct_n"), board.entries[0]
    few = entry.result.prompts - 1
    cell = entry.cells[column.signature].model_copy(update={"n": few})
    partly = replace(entry, cells={**entry.cells, column.signature: cell})
    made = _ranking(replace(board, entries=(partly, *board.entries[1:])))
    name = f"{entry.result.manifest.name} ({few} of {entry.result.prompts})"
    assert made.partial == (name,)
    assert f"Means over fewer prompts, those with a value: {name}." in str(ranking_table(made))


def test_no_name_and_no_answer_becomes_markup(board: Board) -> None:
    """Sentence, picture and table parse as XML whose only elements are our own, whatever systems are called."""
    hostile = (*HTML, *MARKDOWN, *SVG)
    own = {
        "section",
        "div",
        "p",
        "bdi",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "span",
        "small",
        "a",
        "strong",
        "abbr",
    }
    own |= {"svg", "line", "circle", "rect", "path", "text", "tspan", "g", "title", "figure", "figcaption", "details"}
    own |= {"summary", "input", "label"}
    quality = replace(_column(board, "distinct_n"), metric="estimated_quality")
    board = replace(board, columns=(*(c for c in board.columns if c.label != "distinct_n"), quality))
    for start in range(0, len(hostile), len(board.entries)):
        names = (*hostile, *hostile)[start : start + len(board.entries)]
        entries = tuple(_renamed(*each) for each in zip(board.entries, names, strict=True))
        made = _ranking(replace(board, entries=entries), "valid_distinct_k")
        texts = {(line.board, line.id): names for line in made.everyone}
        table = ranking_table(made, lambda board, own: f"system?system={own}", names[0], texts, names, compare=True)
        html = f"<section>{picture(made, lambda board, own: own)}{table}</section>"
        assert 'class="picture"' in html
        tree = ElementTree.fromstring(html)  # noqa: S314 - our own table
        assert {element.tag for element in tree.iter()} <= own
        assert not [name for element in tree.iter() for name in element.attrib if name.startswith("on")]
        shown = [e.text for e in tree.iter("bdi")]
        assert all(line.system in shown for line in made.everyone)
        assert "style=" not in html


def test_of_many_systems_the_first_are_shown_and_the_others_on_demand(board: Board) -> None:
    entry, column = _typed(board.entries[0], "model"), _column(board, "distinct_n")
    many = [_renamed(entry, f"system {number}") for number in range(MOST + 2)]
    ids = [e.result.model_copy(update={"submission_id": f"{i:016}"}) for i, e in enumerate(many)]
    entries = tuple(replace(e, result=result) for e, result in zip(many, ids, strict=True))
    standing = standings(np.tile(np.arange(float(len(entries))), (9, 1)), direction=1)
    html = str(ranking_table(ranking(replace(board, entries=entries), column, standing)))
    assert html.count('<tr class="folded">') == 2
    assert "Show 2 more" in html


def test_extreme_prompts_follow_the_direction_and_skip_missing_values() -> None:
    values = np.array([0.1, np.nan, 0.9, 0.5, 0.2])
    assert extreme_prompts(values, 1) == ([2, 3], [0, 4])
    assert extreme_prompts(values, -1) == ([0, 4], [2, 3])
    assert extreme_prompts(np.array([1.0, np.nan]), 1) == ([], [])


def test_the_nearest_system_moves_with_it_over_the_prompts() -> None:
    base = np.arange(8.0)
    values = np.column_stack([base, base**3, -base, np.r_[base[1:], 0.0], np.full(8, 2.0)])
    assert nearest_systems(values, 0)[0][1] == pytest.approx(1.0)
    assert [place for place, _ in nearest_systems(values, 0)] == [
        1,
        3,
        2,
    ]  # a constant one has no correlation
    rng = np.random.default_rng(0)
    many = rng.normal(size=(60, 1)) + rng.normal(size=(60, 9))
    for values in (many, np.where(rng.random(many.shape) < 0.05, np.nan, many)):
        for index, rho in nearest_systems(values, 4, 8):
            wanted = spearmanr(values[:, 4], values[:, index], nan_policy="omit").statistic
            assert rho == pytest.approx(wanted, abs=1e-9)
