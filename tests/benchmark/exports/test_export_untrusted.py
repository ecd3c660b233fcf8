"""Exports of results that strangers made: nothing of theirs names a path, what does not fit together is refused."""

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from benchmark.exports.every_eval_ever import write_every_eval_ever
from benchmark.exports.harness import write_harness
from benchmark.exports.scored import ScoredResult, open_result
from benchmark.scoring.result_files import PER_PROMPT_FILE, RESULT_FILE
from divbench.core.errors import ConfigurationError, DivBenchError, InputError
from divbench.core.files import readable_json, sha256_of
from tests.benchmark.interchange import Json, exported, files_in, fits, read_json, scored_by, submitted
from tests.conftest import divbench, document


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result with nearly all metrics."""
    made = tmp_path_factory.mktemp("interchange")
    return scored_by(submitted(made / "sub"), made / "results")


@pytest.fixture
def scored(folder: Path) -> ScoredResult:
    return open_result(folder)


WRITERS: dict[str, Callable[[ScoredResult, Path], object]] = {
    "every-eval-ever": write_every_eval_ever,
    "harness": write_harness,
}
every_writer = pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)


@every_writer
def test_the_same_result_gives_the_same_bytes_and_no_stranger_names_a_path(
    scored: ScoredResult, tmp_path: Path, write: Callable[[ScoredResult, Path], object]
) -> None:
    for name in ("one", "two", "one"):  # the third in place of the first
        write(scored, tmp_path / name)
    one, two = files_in(tmp_path / "one"), files_in(tmp_path / "two")
    assert one == two
    assert len(one) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]
    assert all(re.fullmatch(r"[\w./-]+", path) and ".." not in path for path in one)
    assert not any(b"\r" in content or not content.endswith(b"\n") for content in one.values())
    [lines] = (content.decode() for path, content in one.items() if path.endswith(".jsonl"))
    assert len(lines.splitlines()) == lines.count("\n")  # the published validator parts lines so


def damaged(folder: Path, to: Path, change: Callable[[list[Json]], object], rehash: bool = True) -> Path:
    """A copy with another table that its `result.json` names, as a stranger could make it."""
    to.mkdir()
    table = pq.read_table(folder / PER_PROMPT_FILE)
    rows = table.to_pylist()
    change(rows)
    fields = [field for field in table.schema if any(field.name in row for row in rows)]
    pq.write_table(pa.Table.from_pylist(rows, schema=pa.schema(fields)), to / PER_PROMPT_FILE)
    result = json.loads((folder / RESULT_FILE).read_bytes())
    if rehash:
        result["per_prompt_sha256"] = sha256_of(to / PER_PROMPT_FILE)
    (to / RESULT_FILE).write_text(readable_json(result), encoding="utf-8")
    return to


def set_in(row: int, **values: Any) -> Callable[[list[Json]], object]:
    return lambda rows: rows[row].update(values)


@every_writer
@pytest.mark.parametrize(
    ("change", "said"),
    [
        pytest.param(lambda rows: rows.pop(), "has 5 prompts, result.json says 6", id="a prompt less"),
        pytest.param(set_in(2, distinct_n=None), "has 4 values of distinct_n, result.json says 5", id="a value less"),
        pytest.param(set_in(2, distinct_n=math.nan), "row 3: distinct_n is nan", id="NaN"),
        pytest.param(set_in(2, distinct_n=math.inf), "row 3: distinct_n is inf", id="infinity"),
        pytest.param(set_in(2, prompt_id="p-0001"), "row 3: 'p-0001' is listed twice", id="a prompt twice"),
        pytest.param(set_in(2, responses=["a", None]), "row 3: a value is missing", id="a null response"),
        pytest.param(
            lambda rows: [row.pop("distinct_n") for row in rows], "has no single column distinct_n", id="no column"
        ),
        pytest.param(lambda rows: [row.pop("answers") for row in rows], "no single column answers", id="no answers"),
    ],
)
def test_a_strangers_table_that_is_not_what_its_result_says_is_refused(
    folder: Path,
    tmp_path: Path,
    write: Callable[[ScoredResult, Path], object],
    change: Callable[[list[Json]], object],
    said: str,
) -> None:
    made = damaged(folder, tmp_path / "in", change)
    with pytest.raises(InputError, match=re.escape(said)):
        write(open_result(made, ["distinct_n"]), tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_what_is_no_whole_result_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a complete result"):
        open_result(damaged(folder, tmp_path / "in", set_in(1, distinct_n=0.5), rehash=False))
    with pytest.raises(ConfigurationError, match="has no metric 'no_such'"):
        open_result(folder, ["no_such"])


def changed(folder: Path, to: Path, change: Callable[[Json], object]) -> Path:
    made = damaged(folder, to, lambda rows: None)
    result = json.loads((made / RESULT_FILE).read_bytes())
    change(result)
    (made / RESULT_FILE).write_text(readable_json(result), encoding="utf-8")
    return made


def test_metrics_without_a_value_are_left_out_and_told(folder: Path, tmp_path: Path) -> None:
    def empty(rows: list[Json]) -> None:
        for row in rows:
            row["distinct_n"] = None

    made = damaged(folder, tmp_path / "a", empty)
    result = json.loads((made / RESULT_FILE).read_bytes())
    score = next(each for each in result["scores"] if each["metric"] == "distinct_n")
    score |= {"value": None, "low": None, "high": None, "n": 0, "missing": {"too short": 6}}
    (made / RESULT_FILE).write_text(readable_json(result), encoding="utf-8")
    scored = open_result(made, ["distinct_n", "ead"])
    assert [each.metric for each in scored.scores] == ["ead"]
    assert scored.left_out == {"distinct_n": {"too short": 6}}
    record, _ = exported(scored, tmp_path / "out")
    fits(record, "every_eval_ever_aggregate")
    assert record["source_metadata"]["additional_details"]["metrics_without_value"] == '["distinct_n"]'
    results, _ = write_harness(scored, tmp_path / "out")
    told = read_json(results)["configs"]["made-up"]["metadata"]["divbench"]
    assert told["left_out"] == {"distinct_n": {"too short": 6}}
    with pytest.raises(InputError, match="no metric has a value"):
        open_result(made, ["distinct_n"])


def test_odd_results_of_strangers_are_refused_where_they_fit_no_format(folder: Path, tmp_path: Path) -> None:
    def twice(result: Json) -> None:
        result["scores"].append(result["scores"][0])

    with pytest.raises(InputError, match="has a metric twice"):
        open_result(changed(folder, tmp_path / "twice", twice))

    def named(rows: list[Json]) -> None:
        for row in rows:
            row["filter"] = row["distinct_n"]

    table = pq.read_table(folder / PER_PROMPT_FILE)
    names = ["filter" if name == "distinct_n" else name for name in table.column_names]
    (tmp_path / "taken").mkdir()
    pq.write_table(table.rename_columns(names), tmp_path / "taken" / PER_PROMPT_FILE)
    result = json.loads((folder / RESULT_FILE).read_bytes())
    result["per_prompt_sha256"] = sha256_of(tmp_path / "taken" / PER_PROMPT_FILE)
    next(each for each in result["scores"] if each["metric"] == "distinct_n")["metric"] = "filter"
    (tmp_path / "taken" / RESULT_FILE).write_text(readable_json(result), encoding="utf-8")
    with pytest.raises(InputError, match="a sample has a field 'filter' already"):
        write_harness(open_result(tmp_path / "taken"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_result_is_not_written_into(folder: Path) -> None:
    before = files_in(folder)
    with pytest.raises(DivBenchError, match="the result's own folder"):
        write_harness(open_result(folder), folder.parent)
    assert files_in(folder) == before


def test_the_commands(folder: Path, tmp_path: Path) -> None:
    chosen = ("--metric", "distinct_n", "--metric", "self_bleu", "--json")
    name = folder.name
    made = document(divbench("export", "every-eval-ever", folder, "--out", tmp_path / "eee", *chosen))
    [one] = made["exported"]
    assert (one["result_id"], one["metrics"], one["left_out"]) == (name, ["distinct_n", "self_bleu"], {})
    assert sorted(one["files"]) == sorted(str(tmp_path / "eee" / path) for path in files_in(tmp_path / "eee"))
    assert files_in(tmp_path / "eee")
    made = document(divbench("export", "harness", folder, "--out", tmp_path / "lm", *chosen))
    assert len(made["exported"][0]["files"]) == len(files_in(tmp_path / "lm")) == 2
    made = document(divbench("export", "dataset", folder, "--out", tmp_path / "hub", *chosen))
    assert sorted(made["exported"][0]["files"]) == sorted(
        str(tmp_path / "hub" / path) for path in files_in(tmp_path / "hub")
    )
    yaml_file = tmp_path / "x.yaml"
    ended = divbench("export", "eval-results", folder, "--out", yaml_file, "--dataset", "org/divbench@main")
    assert ended.returncode == 0, ended.stderr
    assert f"written: {yaml_file}" in ended.stdout
    assert "<b>system</b>" in ended.stdout
    fits(yaml.safe_load(yaml_file.read_text(encoding="utf-8")), "hub_eval_results")
    ended = divbench("export", "every-eval-ever", folder, tmp_path, "--out", tmp_path / "none")
    assert (ended.returncode, (tmp_path / "none").exists()) == (1, False)
