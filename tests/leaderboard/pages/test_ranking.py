"""The first page: the sentence's numbers are the data's, marks lie where the values are, and no name is markup."""

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.stats import spearmanr

from benchmark.analysis.ranking import unranked
from leaderboard.data.board import REFERENCE_TYPES, Board, Column, Entry
from leaderboard.data.reference.results import WithReference
from leaderboard.data.scores import BoardScores
from leaderboard.pages.ranking import Forest, forest, forest_table, other_boards
from leaderboard.pages.system import extreme_prompts, nearest_systems
from leaderboard.pages.trust import agreements, kinds_of_diversity
from tests.leaderboard.boards import load_boards
from tests.leaderboard.injections import HTML, MARKDOWN, SVG
from tests.leaderboard.shipped import shipped_study


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


def _forest(board: Board, label: str = "distinct_n") -> Forest:
    column = _column(board, label)
    return forest(board, column, BoardScores(board).standings(column))


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
        said[judge] = forest(board, replace(column, signature=signature), standings).title.partition(". ")[2]
    estimated, rewarded, scored = said.values()
    assert "by a rough estimate" in estimated
    models = ("validity-v6@0,record@0,an-embedder",)
    compared = column.signature.model_copy(update={"models": models, "suite": "noveltybench-curated@0"})
    title = forest(board, replace(column, signature=compared), standings).title
    assert "by comparison with others that a judge scored" in title
    assert rewarded == ""  # it judges quality
    assert scored.endswith("a judge scores the first of their class 4 or more of 10")


@pytest.mark.parametrize("label", ["distinct_n", "self_bleu"])
def test_rows_are_ranked_systems_and_marks_lie_where_the_values_are(board: Board, label: str) -> None:
    made, column = _forest(board, label), _column(board, label)
    values = {e.result.manifest.name: e.cells[column.signature] for e in board.entries}
    types = {e.result.manifest.name: e.result.manifest.system.type for e in board.entries}
    assert {row.system for row in made.rows} == {name for name, kind in types.items() if kind not in REFERENCE_TYPES}
    assert {each.system for each in made.references} == {n for n, kind in types.items() if kind in REFERENCE_TYPES}
    marks = [(row.mark, values[row.system]) for row in made.rows]
    marks += [(each.mark, values[each.system]) for each in made.references]
    at = np.array([[mark.at, mark.low, mark.high] for mark, _ in marks], float).ravel()
    real = np.array([[cell.value, cell.low, cell.high] for _, cell in marks], float).ravel()
    assert np.corrcoef(at, real)[0, 1] == pytest.approx(1, abs=1e-6)  # one linear scale for all
    assert at.min() >= 0
    assert at.max() <= 100
    slope, start = np.polyfit(at, real, 1)
    assert len(made.ticks) > 2
    for position, text in made.ticks:
        assert float(text) == pytest.approx(start + slope * position, abs=1e-3)
    assert [row.rank for row in made.rows] == sorted(row.rank for row in made.rows)
    assert made.rows[0].opens
    assert made.rows[-1].closes


def test_bars_begin_at_zero_or_are_not_drawn(board: Board) -> None:
    """On a phone, bars from the end of a scale without 0 made a value of 5.7 an eighth of 9.8."""
    made = _forest(board)
    assert made.zero is None
    assert "<rect" not in forest_table(made)
    column = _column(board, "distinct_n")
    zero = {"value": 0.0, "low": 0.0}
    cells = [{column.signature: e.cells[column.signature].model_copy(update=zero)} for e in board.entries[:2]]
    zeros = tuple(replace(e, cells=e.cells | own) for e, own in zip(board.entries[:2], cells, strict=True))
    made = _forest(replace(board, entries=(*zeros, *board.entries[2:])))
    assert made.zero is not None
    assert 0 < made.zero < 100
    assert "<rect" in forest_table(made)


def test_the_sentence_has_the_best_system_its_value_and_those_tied_with_it(board: Board) -> None:
    made = _forest(board)
    best = made.rows[0]
    assert f"the most diverse system, {best.system}" in made.sentence
    assert best.mark.text in made.sentence
    tied = [row.system for row in made.rows[1:] if row.group == best.group]
    assert ("statistically tied with" in made.sentence) == bool(tied)
    assert all(name in made.sentence for name in tied[:3])
    assert str(board.entries[0].result.prompts) in made.sentence


def test_a_filter_does_not_make_another_system_the_most_diverse(board: Board) -> None:
    column = _column(board, "distinct_n")
    standing = BoardScores(board).standings(column)
    ranks = [each.rank or 0 for each in standing]
    lower = [place for place, rank in enumerate(ranks) if rank > 1]
    best = min(ranks[place] for place in lower)
    said = forest(board, column, standing, lower).sentence
    assert f"the most diverse of the {len(lower)} systems shown, " in said
    name = board.entries[ranks.index(best)].result.manifest.name
    assert f", {name}" in said
    few = [place for place, rank in enumerate(ranks) if rank in (1, best)]
    assert "the most diverse system, " in forest(board, column, standing, few).sentence
    for none in ([], [place for place, rank in enumerate(ranks) if not rank]):
        assert forest(board, column, standing, none).sentence == "No ranked system matches the filters."
    assert "<table" not in str(forest_table(forest(board, column, standing, [])))  # no axis without values
    judged = replace(column, metric="valid_share", direction=0)
    made = forest(board, judged, standing)
    assert "the highest-scoring system, " in made.sentence
    assert made.title.endswith("; higher is better")


def test_a_system_alone_is_not_called_the_most_diverse(board: Board) -> None:
    alone = next(e for e in board.entries if e.result.manifest.system.type not in REFERENCE_TYPES)
    made = _forest(replace(board, entries=(alone,)))
    assert made.sentence.startswith(f"On {alone.result.prompts} open prompts, {made.rows[0].system}")
    once = replace(alone, result=alone.result.model_copy(update={"prompts": 1}))
    assert _forest(replace(board, entries=(once,))).sentence.startswith("On 1 open prompt, ")


def test_a_board_of_references_alone_ranks_them(board: Board) -> None:
    entries = tuple(e for e in board.entries if e.result.manifest.system.type in REFERENCE_TYPES)
    made = _forest(replace(board, entries=entries))
    assert len(made.rows) == len(entries)
    assert made.references == ()
    html = str(forest_table(made))
    assert [html.count(f'<span class="chip">{kind}</span>') for kind in ("people", "known-bad baseline")] == [1, 2]


def test_references_show_their_quality_as_systems_do(board: Board) -> None:
    judged = _column(board, "distinct_n")
    columns = [replace(judged, metric="valid_share"), *(c for c in board.columns if c is not judged)]
    made = _forest(replace(board, columns=tuple(columns)), "self_bleu")
    shown = {row.system: row.quality for row in made.rows} | {each.system: each.quality for each in made.references}
    assert made.references
    for entry in board.entries:
        assert shown[entry.result.manifest.name] == f"{entry.cells[judged.signature].value:.0%}"
    assert 'class="none"' not in str(forest_table(made))


def test_a_board_without_values_says_so(board: Board) -> None:
    entries = tuple(replace(entry, cells={}) for entry in board.entries)
    column = _column(board, "distinct_n")
    made = forest(replace(board, entries=entries), column, [unranked(np.array([]))] * len(entries))
    assert made.sentence == "No system has a value here yet."
    assert (made.rows, made.references) == ((), ())


def test_systems_without_a_value_are_counted_and_named(board: Board) -> None:
    assert "lacking" not in str(forest_table(_forest(board)))
    column, names = _column(board, "distinct_n"), ["<b>one</b>", *"23456"]
    standing = [*BoardScores(board).standings(column), *[unranked(np.array([]))] * len(names)]
    without = [replace(_renamed(board.entries[0], name), cells={}) for name in names]
    made = forest(replace(board, entries=(*board.entries, *without)), column, standing)
    assert f"the most diverse of the {len(made.rows)} systems with this score, {made.rows[0].system}" in made.sentence
    assert [name.partition(" (")[0] for name in made.lacking] == names
    html = str(forest_table(made))
    assert "6 systems have no such score: <bdi>&lt;b&gt;one&lt;/b&gt;, 2, 3, 4, 5</bdi> and 1 more." in html
    assert "score these again" not in html
    twice = replace(board, entries=(*board.entries, *without), columns=(*board.columns, column))
    assert "score these again.</p>" in str(forest_table(forest(twice, column, standing)))
    alone = str(forest_table(replace(made, lacking=("one",))))
    assert "1 system has no such score: <bdi>one</bdi>." in alone


def test_means_over_some_of_the_prompts_are_pointed_out(board: Board) -> None:
    assert "fewer prompts" not in str(forest_table(_forest(board)))
    column, entry = _column(board, "distinct_n"), board.entries[0]
    few = entry.result.prompts - 1
    cell = entry.cells[column.signature].model_copy(update={"n": few})
    partly = replace(entry, cells={**entry.cells, column.signature: cell})
    made = _forest(replace(board, entries=(partly, *board.entries[1:])))
    name = f"{entry.result.manifest.name} ({few} of {entry.result.prompts})"
    assert made.partial == (name,)
    assert f"Means over fewer prompts, those with a value: <bdi>{name}</bdi>." in str(forest_table(made))


def test_no_name_becomes_markup(board: Board) -> None:
    """The table parses as XML whose only elements are our own, whatever systems are called."""
    hostile = (*HTML, *MARKDOWN, *SVG)
    own = {"section", "div", "p", "bdi", "table", "caption", "thead", "tbody", "tr", "th", "td", "span", "small", "a"}
    own |= {"svg", "line", "circle", "rect", "text"}
    for start in range(0, len(hostile), len(board.entries)):
        names = hostile[start : start + len(board.entries)]
        entries = tuple(_renamed(*each) for each in zip(board.entries, names, strict=False))
        made = _forest(replace(board, entries=entries))
        html = str(forest_table(made, lambda own: f"system?system={own}"))
        tree = ElementTree.fromstring(html)  # noqa: S314 - our own table
        assert {element.tag for element in tree.iter()} <= own
        assert not [name for element in tree.iter() for name in element.attrib if name.startswith("on")]
        shown = [e.text for e in tree.iter("bdi")]
        assert all(row.system in shown for row in made.rows)
    assert "style=" not in html


def test_shipped_attacks_are_few_at_first_and_own_baselines_all(board: Board) -> None:
    shipped = ("padded", "numbered")
    baselines = [e for e in board.entries if e.result.manifest.system.type == "baseline"]
    renamed = [replace(_renamed(e, name), origin="scored") for e, name in zip(baselines, shipped, strict=True)]
    others = tuple(e for e in board.entries if e not in baselines)
    made = _forest(replace(board, entries=(*others, *renamed)))
    assert {each.system: each.folded for each in made.references if each.type == "baseline"} == {
        "padded": False,
        "numbered": True,
    }
    html = str(forest_table(made))
    folded = [row for row in html.split("<tr")[1:] if row.startswith(' class="folded"')]
    assert len(folded) == 1
    assert "numbered" in folded[0]
    assert "Show all 2 known-bad baselines" in html
    # The best baseline has a line across all rows with its name, so its row is there, whichever it is.
    swapped = [_renamed(e, name) for e, name in zip(renamed, reversed(shipped), strict=True)]
    best = next(e for e in _forest(replace(board, entries=(*others, *swapped))).references if e.type == "baseline")
    assert (best.system, best.folded) == ("numbered", False)
    own = _forest(replace(board, entries=(*others, *(replace(e, origin="") for e in renamed))))
    assert "folded" not in str(forest_table(own))
    assert "known-bad baselines" not in str(forest_table(own))


def test_systems_on_other_tables_are_linked(board: Board) -> None:
    first, second, *_ = board.entries
    here, there = replace(board, entries=(first,)), replace(board, k=board.k + 1, entries=(first, second))
    line = str(other_boards(here, [here, there], lambda table: f"?table={table}"))
    link = f'<a href="?table={there.name}">the table at k = {there.k}</a>'
    assert f"1 more system is in {link}, beside all of these." in line
    apart = replace(there, entries=(second,))  # as people scored at a k that nothing else has
    alone = str(other_boards(here, [here, apart], lambda table: f"?table={table}"))
    assert f"{link} (to join it, run <code>divbench score --k {there.k}</code>)." in alone
    assert str(other_boards(there, [here, there], lambda table: "")) == ""
    profile = replace(here, profile="other", entries=(second,))
    said = str(other_boards(here, [here, profile], lambda table: ""))
    assert "the table with profile other</a>" in said  # no k and no revision, which are the same
    assert "<code>divbench score --profile other</code>" in said
    newer = replace(apart, revision="0" * 12)
    assert "to join it" not in str(other_boards(here, [here, newer], lambda table: ""))  # other prompts
    other_suite = replace(there, suite="another")
    assert str(other_boards(here, [here, other_suite], lambda table: "")) == ""


def test_kinds_of_diversity_are_those_that_the_board_has(board: Board) -> None:
    found = kinds_of_diversity(board, None)
    assert found
    assert all(board.column(each.column.label) is each.column for each in found)
    assert all(re.fullmatch(r"[a-z' ]+", each.label) for each in found)  # without a study no agreement is claimed


def test_only_agreement_of_the_same_models_is_shown() -> None:
    study = shipped_study()
    board = next(each for each in WithReference().read().boards if each.profile == "offline")
    found = {each.name: each for each in kinds_of_diversity(board, study)}
    assert found["meaning"].agreement == agreements(study)["valid_distinct_k"].value
    column = found["meaning"].column
    other = replace(column, signature=column.signature.model_copy(update={"models": ("rouge-1",)}))
    columns = tuple(other if each is column else each for each in board.columns)
    (meaning,) = (each for each in kinds_of_diversity(replace(board, columns=columns), study) if each.name == "meaning")
    assert (meaning.column, meaning.label) == (other, "meaning")


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
