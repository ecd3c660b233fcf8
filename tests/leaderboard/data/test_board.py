"""Tables from results: what is comparable stands together, and nothing else does."""

import math
import os
from datetime import date
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import ValidationError

from benchmark.analysis.ranking import Standing
from benchmark.scoring.results import Aggregate, Counts, IntervalMethod, Result, Signature
from divbench.core.files import content_id
from divbench.core.tables import Styled, Table, to_csv
from leaderboard.data.board import Board, Column, frame, is_roughly_estimated, make_boards, ranking_column
from leaderboard.data.scores import BoardScores
from leaderboard.pages.export import about_json, export
from leaderboard.pages.systems import find_entry, score_cells, system_labels
from submissions.schema import Generation, Manifest, Submitter, System


def unranked(board: Board) -> BoardScores:
    """Scores without ranks, for results without files."""

    class Scores:
        def standings(self, column: Column) -> list[Standing]:
            return [Standing(math.nan, None, None, None, None)] * len(board.entries)

    return cast("BoardScores", Scores())


def aggregate(metric: str, value: float | None, version: int = 1, parameters: str = "", **changes: Any) -> Aggregate:
    """One score; its interval is 0.1 to both sides."""
    key, _, parameter = parameters.partition(":")
    signature = Signature(
        metric=metric,
        version=version,
        parameters=((key, parameter),) if key else (),
        profile="lexical",
        models=(),
        suite="toy@" + "a" * 12,
        k=3,
        divbench="0.1",
    )
    values: dict[str, Any] = {
        "metric": metric,
        "version": version,
        "direction": 1,
        "value": value,
        "low": None if value is None else value - 0.1,
        "high": None if value is None else value + 0.1,
        "n": 0 if value is None else 4,
        "missing": {} if value is not None else {"no response": 4},
        "origin": "computed",
        "signature": signature,
    }
    return Aggregate(**(values | changes))


def result(name: str, *scores: Aggregate, k: int = 3, profile: str = "lexical", revision: str = "a" * 12) -> Result:
    """A result of a made-up submission."""
    return Result(
        result_id=content_id([name, k, profile, revision]),
        submission_id=content_id(name),
        manifest=Manifest(
            name=name,
            suite="toy",
            system=System(type="model"),
            generation=Generation(k=k),
            submitter=Submitter(name="tester", date=date(2026, 1, 1)),
        ),
        suite="toy",
        suite_revision=revision,
        prompts=4,
        profile=profile,
        k=k,
        divbench="0.1.0",
        libraries={},
        interval=IntervalMethod(level=0.95, resamples=100, seed=0),
        counts=Counts(prompts=4, responses=12, blank=1, placeholder=2, refused=4, cut_off=0, repeated=0),
        scores=list(scores),
        per_prompt_sha256="0" * 64,
    )


def boards(*results: Result) -> list[Board]:
    return make_boards([(Path(each.result_id), each) for each in results])


def test_a_submission_scored_twice_is_one_row_and_the_newest_result_is_shown(tmp_path: Path) -> None:
    """Partly, then wholly, then again: two ranks for one submission would push others down."""
    wholly = result("a", aggregate("distinct_n", 0.5), aggregate("ead", 0.5))
    partly = result("a", aggregate("distinct_n", 0.5), aggregate("ead", None))
    partly = partly.model_copy(update={"result_id": "1" * 16, "submission_id": wholly.submission_id})
    again = wholly.model_copy(update={"result_id": "2" * 16})
    other = result("b", aggregate("distinct_n", 0.4))
    written = []
    for age, each in enumerate((partly, again, wholly, other)):
        folder = tmp_path / str(age)
        folder.mkdir()
        (folder / "result.json").write_text(each.model_dump_json(), encoding="utf-8")
        os.utime(folder / "result.json", (1000 - age, 1000 - age))
        written.append((folder, each))
    (board,) = make_boards(written)
    assert [entry.result.result_id for entry in board.entries] == [again.result_id, other.result_id]
    assert board.entries[0].older == (partly.result_id, wholly.result_id)
    assert find_entry(board, wholly.result_id) is find_entry(board, partly.result_id) is board.entries[0]
    assert frame(board)["older_results"].tolist()[0] == 2
    header, first, second = (line.split(",") for line in to_csv(Table.of_frame(frame(board))).splitlines())
    place = header.index("older_results")
    assert (first[place], second[place]) == ("2", "")  # whole numbers stay whole beside a missing one
    (board,) = make_boards(written, older={written[2][0]: ("4" * 16,), written[1][0]: ("5" * 16,)})
    assert board.entries[0].older == (partly.result_id, "4" * 16, wholly.result_id, "5" * 16)
    (board,) = make_boards(written, published={wholly.result_id: 1})
    assert board.entries[0].result is wholly  # published last; times of downloaded files tell nothing
    newer = partly.model_copy(update={"result_id": "3" * 16, "divbench": "0.2.0"})
    (board,) = make_boards([*written, (tmp_path / "none", newer)])
    assert board.entries[0].result is newer


def test_a_newer_result_of_a_few_metrics_does_not_take_the_headline_from_a_submission() -> None:
    whole = result("a", aggregate("valid_distinct_k", 2.0), aggregate("distinct_k", 2.0), aggregate("ead", 0.5))
    new = {"result_id": "1" * 16, "divbench": "0.2.0"}
    for few in (whole.scores[2:], whole.scores[1:]):
        (board,) = boards(whole, whole.model_copy(update=new | {"scores": few}))
        assert board.entries[0].result is whole
        assert board.entries[0].older == ("1" * 16,)
    renewed = whole.model_copy(update=new | {"scores": whole.scores[:1]})
    (board,) = boards(whole, renewed)
    assert board.entries[0].result is renewed


def test_results_of_other_k_profile_or_revision_stand_on_other_boards() -> None:
    score = aggregate("distinct_n", 0.5)
    made = boards(
        result("a", score),
        result("b", score),
        result("c", score, k=2),
        result("d", score, profile="offline"),
        result("e", score, revision="b" * 12),
    )
    names = [[entry.result.manifest.name for entry in board.entries] for board in made]
    assert names[0] == ["a", "b"]  # the largest first
    assert sorted(names[1:]) == [["c"], ["d"], ["e"]]


def test_two_versions_of_a_metric_never_share_a_column() -> None:
    (board,) = boards(result("a", aggregate("ead", 0.5)), result("b", aggregate("ead", 0.6, version=2)))
    assert [column.label for column in board.columns] == ["ead [v:1]", "ead [v:2]"]
    table = frame(board).set_index("system")
    assert table.loc["a", "ead [v:1]"] == 0.5
    assert table.loc["b", "ead [v:2]"] == 0.6
    assert table["ead [v:1]"].isna().to_dict() == {"a": False, "b": True}


def test_other_parameters_make_other_columns_named_by_the_difference() -> None:
    (board,) = boards(
        result("a", aggregate("utility", 1.0, parameters="reported-by:x")),
        result("b", aggregate("utility", 2.0, parameters="reported-by:y")),
    )
    assert [column.label for column in board.columns] == ["utility [reported-by:y]", "utility [reported-by:x]"]


def test_a_column_without_any_value_is_left_out_and_an_unknown_metric_comes_last() -> None:
    (board,) = boards(
        result("a", aggregate("of_the_future", 1.0), aggregate("distinct_n", 0.5), aggregate("vendi_score", None))
    )
    assert [column.label for column in board.columns] == ["distinct_n", "of_the_future"]


def test_entries_are_ordered_by_the_main_metric_and_those_without_it_come_last() -> None:
    def one(name: str, value: float | None) -> Result:
        return result(name, aggregate("embedding_diversity", value))

    (board,) = boards(one("low", 0.1), one("none", None), one("high", 0.9))
    assert names_of(board) == ["high", "low", "none"]


def names_of(board: Board) -> list[str]:
    return [entry.result.manifest.name for entry in board.entries]


def test_a_board_is_sorted_by_the_column_that_ranks_it() -> None:
    def one(name: str, distinct: float, embeddings: float) -> Result:
        return result(name, aggregate("distinct_k", distinct), aggregate("embedding_diversity", embeddings))

    (board,) = boards(one("near", 9.0, 0.1), one("far", 2.0, 0.9))
    ranks = ranking_column(board)
    assert ranks is not None
    assert ranks.label == "distinct_k"
    assert names_of(board) == ["near", "far"]
    assert about_json(board)["sorted_by"] == "distinct_k"
    for direction, wanted in ((-1, ["low", "high"]), (0, ["high", "low"])):
        (board,) = boards(
            result("low", aggregate("self_bleu", 0.1, direction=direction)),
            result("high", aggregate("self_bleu", 0.9, direction=direction)),
        )
        assert names_of(board) == wanted


def test_the_model_of_most_systems_ranks_a_board_and_among_equals_the_newest() -> None:
    def one(name: str, version: int) -> Result:
        return result(name, aggregate("valid_distinct_k", 2.0, parameters=f"validity:v{version}"))

    def ranks(*versions: int) -> str:
        (board,) = boards(*(one(str(place), version) for place, version in enumerate(versions)))
        column = ranking_column(board)
        assert column is not None
        return column.label

    assert ranks(2, 5, 5) == ranks(5, 2, 5) == "valid_distinct_k [v:1, validity:v5]"
    assert ranks(2, 2, 5) == "valid_distinct_k [v:1, validity:v2]"
    assert ranks(9, 10) == "valid_distinct_k [v:1, validity:v10]"


def test_people_and_baselines_are_ranked_only_if_there_is_nobody_else() -> None:
    given = []
    for kind, value in (("human", 0.3), ("model", 0.2), ("base model", 0.1)):
        made = result(kind, aggregate("ead", value))
        manifest = made.manifest.model_copy(update={"system": System.model_validate({"type": kind})})
        given.append(made.model_copy(update={"manifest": manifest}))
    assert [board.ranked for board in (*boards(*given), *boards(given[0], given[2]))] == [(1,), (0, 1)]


def test_people_do_not_choose_the_column_that_ranks_a_board() -> None:
    made = []
    for kind, judge in (("human", "z"), ("baseline", "z"), ("model", "a")):
        one = result(kind, aggregate("distinct_k", 2.0, parameters=f"model:{judge}"))
        system = System.model_validate({"type": kind})
        made.append(one.model_copy(update={"manifest": one.manifest.model_copy(update={"system": system})}))
    (board,) = boards(*made)
    column = ranking_column(board)
    assert column is not None
    assert column.label == "distinct_k [model:a]"


def test_the_order_of_results_does_not_matter() -> None:
    results = [result(name, aggregate("distinct_n", 0.5)) for name in "abc"]
    assert boards(*results) == boards(*reversed(results))


def test_cells_show_the_places_that_their_intervals_make_meaningful() -> None:
    (board,) = boards(
        result("a", aggregate("distinct_n", 0.51234, low=0.1, high=0.9)),
        result("b", aggregate("distinct_n", -0.001, low=None, high=None)),
    )
    assert score_cells(board, board.columns[0]) == [
        Styled("0.51 [0.10, 0.90]", value=0.51234),
        Styled("0.00", value=-0.001),
    ]


def test_equal_names_are_told_apart() -> None:
    one, other = result("same", aggregate("distinct_n", 0.5)), result("same", aggregate("distinct_n", 0.4))
    (board,) = make_boards([(Path("x"), one), (Path("y"), other.model_copy(update={"submission_id": "fedcba987654"}))])
    assert sorted(system_labels(board)) == sorted(["same (fedcba)", f"same ({content_id('same')[:6]})"])


def test_the_frame_has_value_interval_and_count_of_every_column() -> None:
    (board,) = boards(result("a", aggregate("distinct_n", 0.5)), result("b", aggregate("ead", 0.7)))
    table = frame(board).set_index("system")
    names = ["distinct_n", "distinct_n_low", "distinct_n_high", "distinct_n_n"]
    assert [table.loc["a", name] for name in names] == [0.5, 0.4, 0.6, 4]
    assert table.loc["a", "ead_n"] == 0
    assert table.loc["a", "not_answered"] == 1 + 2 + 4


@pytest.mark.parametrize("name", ["=1+1", "+cmd", "@sum", "=HYPERLINK(0)"])
def test_exported_csv_holds_no_formula_and_parquet_holds_the_name_itself(name: str, tmp_path: Path) -> None:
    import pandas as pd

    (board,) = boards(result(name, aggregate("distinct_n", -0.5)))
    csv, parquet, columns = export(board, tmp_path, unranked)
    assert pd.read_csv(csv).loc[0, "system"] == f"'{name}"
    assert pd.read_csv(csv).loc[0, "distinct_n"] == -0.5  # a number stays a number
    assert pd.read_parquet(parquet).loc[0, "system"] == name
    assert f'"signature": "{board.columns[0].signature}"' in columns.read_text()


def test_boards_of_two_revisions_of_a_suite_never_share_a_file(tmp_path: Path) -> None:
    score = aggregate("distinct_n", 0.5)
    one, other = boards(result("a", score), result("a", score, revision="b" * 12))
    assert set(export(one, tmp_path, unranked)).isdisjoint(export(other, tmp_path, unranked))


@pytest.mark.parametrize("field", ["suite", "profile", "suite_revision", "result_id", "submission_id"])
@pytest.mark.parametrize("value", ["../outside", "a/b", "", ".hidden", "a\n"])
def test_a_result_whose_words_could_name_other_files_is_refused(field: str, value: str) -> None:
    values = result("a", aggregate("distinct_n", 0.5)).model_dump()
    with pytest.raises(ValidationError):
        Result.model_validate(values | {field: value})


def test_exporting_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    (board,) = boards(result("a", aggregate("distinct_n", 0.5)), result("b", aggregate("ead", 0.7)))
    first = [path.read_bytes() for path in export(board, tmp_path / "1", unranked)]
    assert first == [path.read_bytes() for path in export(board, tmp_path / "2", unranked)]


def test_a_title_says_if_validity_is_roughly_estimated() -> None:
    models = {
        "compared": ("validity-v6@0,record@0,e",),
        "texts": ("validity-v6@0,texts",),
        "judged": ("validity-from-4,j",),
    }
    signature = result("r", aggregate("valid_distinct_k", 1.0)).scores[0].signature
    rough = {
        (name, suite)
        for name, named in models.items()
        for suite in ("noveltybench-curated@0", "own@0")
        if is_roughly_estimated(signature.model_copy(update={"models": named, "suite": suite}))
    }
    assert rough == {("compared", "own@0"), ("texts", "own@0"), ("texts", "noveltybench-curated@0")}
