"""The tables over HTTP: what each endpoint gives is what the board holds, and what is wrong is told."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from leaderboard.data.board import Board
from leaderboard.data.scores import BoardScores
from tests.leaderboard.boards import load_boards
from tests.leaderboard.conftest import HOSTILE_NAME
from tests.leaderboard.servers import serving

DOCS = Path(__file__).parents[3] / "docs" / "api.md"
Call = Callable[..., Any]


@pytest.fixture(scope="module")
def board(results: Path) -> Board:
    return load_boards(results)[0][0]


@pytest.fixture(scope="module")
def address(results: Path) -> Iterator[str]:
    with serving(results, pages="submit") as url:
        yield url


@pytest.fixture(scope="module")
def call(address: str) -> Iterator[Call]:
    from gradio_client import Client

    with closing(Client(address, verbose=False)) as client:

        def calling(name: str, *arguments: Any, **named: Any) -> Any:
            return client.predict(*arguments, api_name=f"/{name}", **named)

        yield calling


pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")


def test_boards_and_columns_are_those_of_the_results(call: Call, board: Board) -> None:
    assert [(each["name"], each["systems"]) for each in call("boards")] == [(board.name, 7)]
    found = call("columns", board.name)
    assert [(each["label"], each["signature"]) for each in found] == [
        (c.label, str(c.signature)) for c in board.columns
    ]


def test_a_board_has_every_score_with_its_interval_and_the_ranks_of_a_column(call: Call, board: Board) -> None:
    column = board.column("self_bleu")
    assert column is not None
    standing = BoardScores(board).standings(column)
    rows = {row["result_id"]: row for row in call("board", board.name, rank_by="self_bleu")}
    for entry, stands in zip(board.entries, standing, strict=True):
        row = rows[entry.result.result_id]
        assert (row["rank"], row["rank_low"], row["rank_high"], row["tie_group"]) == (
            stands.rank,
            stands.low,
            stands.high,
            stands.group,
        )
        for each in board.columns:
            cell = entry.cells[each.signature]
            assert row["scores"][each.label] == cell.model_dump(mode="json")
    ranks = [row["rank"] for row in rows.values()]
    assert ranks == sorted(ranks)
    assert HOSTILE_NAME in [row["system"] for row in rows.values()]


def test_values_by_prompt_and_responses_are_those_of_the_result(call: Call, board: Board) -> None:
    entry = next(entry for entry in board.entries if entry.result.manifest.name == "paraphrased")
    kept = pq.read_table(entry.folder / "per_prompt.parquet").to_pylist()
    by_name = call("per_prompt", board.name, "paraphrased", "distinct_n")
    assert [(row["prompt_id"], row["value"]) for row in by_name] == [(r["prompt_id"], r["distinct_n"]) for r in kept]
    assert call("per_prompt", board.name, entry.result.submission_id, "distinct_n") == by_name
    found = call("responses", board.name, entry.result.result_id, kept[3]["prompt_id"])
    assert (found["prompt"], found["responses"]) == (kept[3]["prompt"], kept[3]["responses"])
    assert found["distinct_n"] == kept[3]["distinct_n"]


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("columns", ["none"], "no such board (/boards lists them)"),
        ("board", ["BOARD", "none"], "no such column (/columns lists them)"),
        ("per_prompt", ["BOARD", "none", "distinct_n"], "no such system (/board lists them"),
        ("responses", ["BOARD", "varied", "../x"], "no such prompt (/per_prompt lists them)"),
        ("responses", ["BOARD", "varied", {"a": 1}], "no such prompt"),
        ("responses", ["BOARD", ["varied"], "demo-00"], "no such system"),
    ],
)
def test_what_is_wrong_is_told_with_its_hint(
    call: Call, board: Board, name: str, arguments: list[Any], said: str
) -> None:
    with pytest.raises(Exception, match=re.escape(said)):
        call(name, *(board.name if each == "BOARD" else each for each in arguments))


def test_the_example_of_the_documentation_runs(address: str, board: Board) -> None:
    code = re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)[0]
    assert "http://127.0.0.1:7860" in code
    ended = subprocess.run(
        [sys.executable, "-c", code.replace("http://127.0.0.1:7860", address)],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.splitlines()
    assert lines[0] == f"{board.name} 7 systems"
    column = next(column for column in board.columns if column.label == "distinct_n")
    values = [entry.cells[column.signature].value or 0.0 for entry in board.entries]
    assert f" {max(values):.3f} [" in lines[1]
    assert len(lines) == 1 + 7


def test_the_documentation_names_every_endpoint(call: Call) -> None:
    named = re.findall(r"^\| `/(\w+)`", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    assert named == ["boards", "columns", "board", "per_prompt", "responses"]
