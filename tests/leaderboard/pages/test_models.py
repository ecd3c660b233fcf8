"""The table of models: ranks, filters and what cells say."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from benchmark.analysis.ranking import Standing, standings
from leaderboard.data.board import Board
from leaderboard.data.scores import BoardScores
from leaderboard.pages.models import FACTS, Filter, ModelsTable, about_models, columns_table, facets, models_table
from leaderboard.pages.systems import direction_text, fact_text, heading, rank_text
from tests.leaderboard.boards import load_boards


@pytest.fixture(scope="module")
def board(results: Path) -> Board:
    return load_boards(results)[0][0]


def _table(board: Board, keep: Filter | None = None, rank: str = "distinct_n") -> ModelsTable:
    ranked_by = next(column for column in board.columns if column.label == rank)
    scores = BoardScores(board)
    return models_table(
        board, ranked_by, scores.standings(ranked_by), board.columns, FACTS, keep or Filter(), scores.bytes_a_response
    )


def test_systems_stand_by_rank_and_ranks_are_those_of_the_whole_board(board: Board) -> None:
    whole, some = _table(board), _table(board, Filter(types=("baseline",)))
    ranks = [int(row[1].split()[0]) for row in whole.table.texts]
    assert ranks == sorted(ranks)
    by_name = {row[0]: row[1] for row in whole.table.values}
    assert {row[0]: row[1] for row in some.table.values} == {row[0]: by_name[row[0]] for row in some.table.values}
    assert 0 < len(some.table.values) < len(whole.table.values)


def test_ranks_follow_the_direction_of_the_metric(board: Board) -> None:
    column = next(column for column in board.columns if column.label == "self_bleu")
    assert column.direction == -1
    made = _table(board, rank="self_bleu")
    values = [entry.cells[column.signature].value or 0.0 for entry in made.entries]
    assert values == sorted(values)


def test_values_are_those_of_the_results_and_texts_say_them(board: Board) -> None:
    made = _table(board)
    column = board.columns[0]
    place = made.table.columns.index(column.label)
    for row, texts, entry in zip(made.table.values, made.table.texts, made.entries, strict=True):
        cell = entry.cells[column.signature]
        assert row[place] == cell.value
        assert float(texts[place].split()[0]) == pytest.approx(cell.value, abs=0.005)


def test_everything_begins_with_metrics_and_has_no_empty_column(board: Board) -> None:
    made = _table(board)
    metrics = len(board.columns)
    assert made.table.columns[2 : 2 + metrics] == tuple(map(heading, board.columns))
    shown = made.table.columns[2 + metrics :]
    assert set(shown) < set(FACTS)  # nobody stated a size or a licence
    for place, head in enumerate(made.table.columns[2:], 2):
        assert any(row[place] not in (None, "") for row in made.table.texts), head
    assert shown[-1] == "signature"  # a submission's newest
    assert not [head for head in made.table.columns if set(head) & set("↑↓")]  # an arrow is the order of a table
    assert "self_bleu (lower = more diverse)" in made.table.columns


def test_the_mean_length_of_responses_is_counted_in_bytes(board: Board, results: Path) -> None:
    from submissions.checking.validate import open_submission

    made = _table(board)
    place = made.table.columns.index("bytes_a_response")
    shown = dict(zip((row[0] for row in made.table.values), (row[place] for row in made.table.values), strict=True))
    submission, _, _ = open_submission(results.parent / "submissions" / "varied")
    sizes = [len(text.encode()) for row in submission.rows() for text in row.responses]
    assert shown["varied"] == pytest.approx(sum(sizes) / len(sizes))


def _with(board: Board, **system: object) -> Board:
    """The board with its first entry's manifest changed."""
    first = board.entries[0]
    manifest = first.result.manifest
    changed = manifest.model_copy(
        update={
            "system": manifest.system.model_copy(update=system),
            "submitter": manifest.submitter.model_copy(update={"date": date(2030, 1, 1)}),
        }
    )
    entry = replace(first, result=first.result.model_copy(update={"manifest": changed}))
    return replace(board, entries=(entry, *board.entries[1:]))


@pytest.mark.parametrize(
    "keep",
    [
        Filter(weights="open"),
        Filter(size="3B"),
        Filter(licence="mit"),
        Filter(since="2029-12-31"),
        Filter(text="SOME  nice"),
    ],
    ids=repr,
)
def test_each_filter_keeps_what_it_says(board: Board, keep: Filter) -> None:
    changed = _with(board, open_weights=True, parameters=3 * 10**9, licence="mit", model_id="nice/Some-3B")
    assert [entry.result.submission_id for entry in changed.entries if keep.takes(entry)] == [
        changed.entries[0].result.submission_id
    ]
    other = _with(board, open_weights=False, parameters=4 * 10**9, licence="apache-2.0")
    if not keep.since:
        assert not any(keep.takes(entry) for entry in other.entries)


def test_a_filter_that_is_no_date_is_pointed_out(board: Board) -> None:
    made = _table(board)
    assert "needs a date" in about_models(board, made.entries, since="yesterday")
    assert not any(
        "needs a date" in about_models(board, made.entries, since=date) for date in ("", "2026", "2026-01-31")
    )


def test_an_empty_filter_keeps_all(board: Board) -> None:
    assert all(Filter().takes(entry) for entry in board.entries)


def test_facets_offer_what_manifests_say(board: Board) -> None:
    assert facets(_with(board, licence="mit"))["licences"] == ["mit"]
    assert set(facets(board)["types"]) == {"human", "baseline"}


def test_what_each_column_means_stands_in_a_table(board: Board) -> None:
    view = columns_table(board)
    assert [row[0] for row in view.values] == [column.label for column in board.columns]
    for row, column in zip(view.values, board.columns, strict=True):
        found = dict(zip(view.columns, row, strict=True))
        assert found["description"] == column.title
        assert (found["unit"], found["origin"], found["source"]) == (column.unit, column.origin, column.paper)
        assert (found["version"], found["signature"]) == (column.version, str(column.signature))
    said = {column.label: direction_text(column) for column in board.columns}
    assert said["distinct_n"] == "higher is more diverse"
    assert said["self_bleu"] == "lower is more diverse"
    quality = replace(board.columns[0], metric="mean_head_quality", direction=0)
    assert direction_text(quality) == "higher is better"
    assert direction_text(replace(quality, metric="excess_entropy")) == "no direction"


def test_under_the_table_stands_how_many_systems_it_shows(board: Board) -> None:
    once = replace(board.entries[0], result=board.entries[0].result.model_copy(update={"prompts": 1}))
    assert f"1 of 1 system on {board.suite} (1 prompt, " in about_models(replace(board, entries=(once,)), (once,))


def test_a_rank_says_its_interval_and_its_tie_group() -> None:
    assert rank_text(Standing(1.0, 3, 2, 5, 28)) == "3 [2–5] AB"
    assert rank_text(Standing(1.0, 3, None, None, 1)) == "3 A"
    assert rank_text(Standing(float("nan"), None, None, None, None)) == ""


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("parameters", 3_090_000_000, "3.09B"),
        ("parameters", 5_900_000, "5.9M"),
        ("open_weights", True, "open"),
        ("open_weights", False, "closed"),
        ("bytes_a_response", 1234.6, "1,235"),
        ("licence", None, ""),
    ],
)
def test_facts_are_written_for_people(name: str, value: object, text: str) -> None:
    assert fact_text(name, value) == text


def test_standings_are_those_of_the_per_prompt_scores(board: Board) -> None:
    column = next(column for column in board.columns if column.label == "distinct_n")
    scores = BoardScores(board)
    assert scores.standings(column) == standings(scores.matrix(column), direction=1)
    for place, entry in enumerate(board.entries):
        assert scores.standings(column)[place].mean == pytest.approx(entry.cells[column.signature].value)
