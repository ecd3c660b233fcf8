"""Decoding tests of one's own: how sets are laid out, what is written, and that a metric can be tested with them."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.analysis.metaeval.labelled import SETS, read_set_file
from benchmark.generation.prompting import Failed, Outcome, Request, Sampled, SamplingSettings
from benchmark.generation.run import Sweep, parse_sweep, sweep_sets
from datasets_build.schema import Prompt
from divbench.core.errors import ConfigurationError
from tests.benchmark.generating import Command, FakeSampler, command, hasty_disk, rows_in, well
from tests.benchmark.lms import one_thread

__all__ = ["command", "hasty_disk", "one_thread"]
STARTS = ("The river was", "Nobody had seen", "She opened the", "In the morning")
FEW = ("--resamples", 100, "--json")
Labels = list[tuple[float, str]]
LAX = pa.schema([each.with_nullable(True) for each in SETS])  # as other programs write it


def contexts(count: int) -> list[Prompt]:
    return [Prompt(f"c{i}", "any", f"Context {i}") for i in range(count)]


def layout(count: int, points: Sequence[float], sets: int, seed: int = 0) -> Labels:
    """The label and the context of each set."""
    items = sweep_sets(contexts(count), Sweep("temperature", tuple(points)), SamplingSettings(), seed, sets)
    return [(item.settings.temperature, item.prompt.prompt_id) for item in items]


@pytest.fixture
def starts(tmp_path: Path) -> Path:
    path = tmp_path / "starts.txt"
    path.write_text("\n".join(STARTS))
    return path


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("temperature", "it is not PARAMETER=LOWEST:HIGHEST:POINTS"),
        ("heat=0.2:1.2:10", "with temperature, top_p or top_k"),
        ("temperature=0.2:1.2", "with temperature, top_p or top_k"),
        ("temperature=-1:1:5", "with temperature, top_p or top_k"),
        ("temperature=1e-1:1:5", "with temperature, top_p or top_k"),
        ("temperature=1.2.3:4:5", "could not convert"),
        ("temperature=.:1:5", "could not convert"),
        ("temperature=1:0.5:5", "a lowest value below the highest"),
        ("temperature=1:1:5", "a lowest value below the highest"),
        ("temperature=0:1:1", "2 to 10,000 points"),
        ("temperature=0:1:10001", "2 to 10,000 points"),
        (f"temperature=0:{'9' * 400}:5", "a lowest value below the highest"),
        ("top_p=0:1:5", "top_p must be above 0 and at most 1"),
        ("top_p=0.5:1.1:5", "top_p must be above 0 and at most 1"),
        ("top_k=0:10:5", "top_k must be at least 1"),
        ("top_k=1:1.2:5", "it has one setting, 1.0"),
    ],
)
def test_what_is_no_sweep_is_refused_with_an_example(text: str, says: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a valid sweep") as error:
        parse_sweep(text)
    assert says in error.value.message
    assert "temperature=0.2:1.2:100" in error.value.hint


def test_settings_are_spaced_evenly_and_those_of_top_k_by_ratio() -> None:
    assert parse_sweep("temperature=0:1.5:4") == Sweep("temperature", (0.0, 0.5, 1.0, 1.5))
    assert parse_sweep("top_p=0.7:1:4") == Sweep("top_p", (0.7, 0.8, 0.9, 1.0))
    assert parse_sweep("top_k=1:8:4") == Sweep("top_k", (1, 2, 4, 8))
    assert parse_sweep("top_k=1:3:10") == Sweep("top_k", (1, 2, 3))


@given(st.integers(1, 12), st.integers(2, 12), st.integers(2, 60), st.integers(0, 9))
def test_each_setting_and_each_context_is_used_as_often_as_any_other_or_once_more(
    count: int, points: int, sets: int, seed: int
) -> None:
    found = layout(count, [float(i) for i in range(points)], sets, seed)
    assert len(found) == sets
    labels = Counter([float(i) for i in range(points)]) + Counter(label for label, _ in found)
    assert max(labels.values()) - min(labels.values()) <= 1
    used = Counter(f"c{i}" for i in range(count)) + Counter(context for _, context in found)
    assert max(used.values()) - min(used.values()) <= 1
    assert [label for label, _ in found] == sorted(label for label, _ in found)


def test_the_other_settings_stay() -> None:
    settings = SamplingSettings(0.3, 9, 0.8, 20)
    for text in ("temperature=0:1:3", "top_p=0.1:1:3", "top_k=1:5:3"):
        swept = parse_sweep(text)
        for item, value in zip(sweep_sets(contexts(2), swept, settings, 0, 3), swept.values, strict=True):
            expected = {"temperature": 0.3, "top_p": 0.8, "top_k": 9} | {swept.parameter: value}
            found = {name: getattr(item.settings, name) for name in expected}
            assert found == expected
            assert item.settings.max_tokens == 20
            assert isinstance(item.settings.top_k, int)


def spreading(level: Callable[[Request], float]) -> Callable[[Request], Outcome]:
    """An answer of twenty words; the higher the level, up to 1, the more of them no other answer has."""

    def answer(request: Request) -> Outcome:
        own = round(20 * level(request))
        return Sampled(" ".join([f"w{request.seed}x{i}" for i in range(own)] + ["same"] * (20 - own)), "stop")

    return answer


def sweep(command: Command, starts: Path, out: Path, text: str, *more: object) -> dict[str, Any]:
    ended = command("generate", "offline", "--suite", starts, "--sweep", text, "--k", 5, "--out", out, "--json", *more)
    assert ended.status == 0, ended.err
    found: dict[str, Any] = json.loads(ended.out)
    return found


def test_a_diversity_that_rises_with_the_parameter_is_found_to_do_so(
    command: Command, starts: Path, tmp_path: Path
) -> None:
    command.asks(FakeSampler(spreading(lambda request: request.settings.temperature)))
    made = sweep(command, starts, tmp_path / "mine.parquet", "temperature=0.1:1:40")
    assert made == {
        "file": str(tmp_path / "mine.parquet"), "label": "temperature", "sets": 40, "contexts": 4, "k": 5,
        "resumed_sets": 0, "model": "fake",
    }  # fmt: skip
    ended = command("metrics", "metaeval", tmp_path / "mine.parquet", "--metric", "distinct_n", *FEW)
    assert ended.status == 0, ended.err
    (task,) = json.loads(ended.out)["tasks"]
    assert (task["label_name"], task["sets"], task["contexts"]) == ("temperature", 40, 4)
    assert task["evaluations"][0]["measures"]["spearman"]["value"] > 0.97


def test_the_file_says_how_it_was_made_and_the_same_seed_makes_the_same_bytes(
    command: Command, starts: Path, tmp_path: Path
) -> None:
    paths = [tmp_path / f"{name}.parquet" for name in ("a", "b", "c")]
    for path, seed in zip(paths, (7, 7, 8), strict=True):
        command.asks(FakeSampler(shuffled=path == paths[1]))
        more = ("--system-prompt", "Be brief.", "--top-p", 0.5, "--max-tokens", 9, "--seed", seed)
        sweep(command, starts, path, "temperature=0.2:1.2:6", *more)
    assert paths[0].read_bytes() == paths[1].read_bytes() != paths[2].read_bytes()
    file = pq.ParquetFile(paths[0])
    about = json.loads(file.schema_arrow.metadata[b"divbench.sweep"])
    assert (about["model"], about["revision"], about["swept"]) == ("fake", "f" * 40, "temperature")
    drawn = about["generation"]
    assert {name: drawn[name] for name in ("temperature", "top_p", "max_tokens", "seed", "k", "mode")} == {
        "temperature": None, "top_p": 0.5, "max_tokens": 9, "seed": 7, "k": 5, "mode": "resample",
    }  # fmt: skip
    assert drawn["system_prompt"] == "Be brief."
    rows = file.read().to_pylist()
    assert [row["label"] for row in rows] == [0.2, 0.4, 0.6, 0.8, 1.0, 1.2]
    assert {row["label_name"] for row in rows} == {"temperature"}
    assert {row["context"] for row in rows} == set(STARTS)


def test_an_interrupted_sweep_goes_on_and_only_as_the_same_sweep(
    command: Command, starts: Path, tmp_path: Path
) -> None:
    out, text, calm = tmp_path / "t.parquet", "temperature=0.2:1.2:6", FakeSampler()
    command.asks(calm)
    sweep(command, starts, tmp_path / "calm.parquet", text)
    command.asks(FakeSampler(faults_after=12))
    arguments = ("generate", "offline", "--suite", starts, "--out", out, "--k", 5)
    ended = command(*arguments, "--sweep", text)
    assert (ended.status, "2 of 6 prompts have all their responses" in ended.err) == (2, True), ended.err
    assert set(rows_in(tmp_path / ".t.parquet.partial.sqlite")) == {"set-00000", "set-00001"}
    for other, says in (
        (("--sweep", "temperature=0.2:1.3:6"), "sweep 'temperature=0.2:1.2:6, 6 sets', now 'temperature=0.2:1.3:6"),
        (("--sweep", text, "--top-p", 0.5), "settings"),
        (("--sweep", text, "--seed", 1), "seed 0, now 1"),
    ):
        command.asks(FakeSampler())
        refused = command(*arguments, *other)
        assert (refused.status, says in refused.err) == (2, True), refused.err
    last = FakeSampler()
    command.asks(last)
    assert sweep(command, starts, out, text)["resumed_sets"] == 2
    assert last.asked == calm.asked[10:]
    assert out.read_bytes() == (tmp_path / "calm.parquet").read_bytes()
    assert not (tmp_path / ".t.parquet.partial.sqlite").exists()


def test_a_set_with_a_failure_is_not_written_without_it(command: Command, starts: Path, tmp_path: Path) -> None:
    def answer(request: Request) -> Outcome:
        return Failed("refused") if request.settings.temperature == 0.4 else well(request)

    command.asks(FakeSampler(answer))
    arguments = ("generate", "offline", "--suite", starts, "--out", tmp_path / "t.parquet")
    ended = command(*arguments, "--sweep", "temperature=0.2:1.2:6")
    assert (ended.status, "1 of 6 prompts have no responses yet" in ended.err) == (1, True), ended.err
    assert not (tmp_path / "t.parquet").exists()


def a_row(number: int, **changes: Any) -> dict[str, Any]:
    row = {"set_id": f"s{number}", "context": "c", "responses": [f"a {number}", "b"], "label": float(number)}
    return row | {"label_name": "heat"} | changes


def written(path: Path, rows: Sequence[dict[str, Any]], schema: pa.Schema = LAX) -> Path:
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), path)
    return path


@pytest.mark.parametrize(
    ("change", "field", "says"),
    [
        ({"set_id": "s0"}, "set_id", "'s0' occurs twice"),
        ({"responses": []}, "responses", "no responses, or one is null"),
        ({"responses": ["a", None]}, "responses", "no responses, or one is null"),
        ({"responses": None}, "responses", "null where a value is required"),
        ({"context": None}, "context", "null where a value is required"),
        ({"label": float("nan")}, "label", "nan is not a finite number"),
        ({"label": float("inf")}, "label", "inf is not a finite number"),
        ({"label": 0.0}, "label", "all labels are equal"),
        ({"label_name": "cold"}, "label_name", "more than one name: cold, heat"),
    ],
)
def test_what_is_wrong_with_a_file_of_sets_is_told(
    change: dict[str, Any], field: str, says: str, command: Command, tmp_path: Path
) -> None:
    path = written(tmp_path / "mine.parquet", [a_row(0), a_row(1, **change)])
    ended = command("metrics", "metaeval", path, "--json")
    assert ended.status == 1
    (problem,) = json.loads(ended.out)["problems"]
    assert (problem["field"], problem["message"]) == (field, says)


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint8(), pa.float32()])
def test_labels_may_be_any_numbers(kind: pa.DataType, tmp_path: Path) -> None:
    schema = LAX.set(LAX.get_field_index("label"), pa.field("label", kind))
    path = written(tmp_path / "mine.parquet", [a_row(0, label=0), a_row(1, label=1)], schema)
    task = read_set_file(path)
    assert (task.label, task.labels.dtype.name, task.labels.tolist()) == ("binary", "float64", [0.0, 1.0])


@pytest.mark.parametrize(
    ("name", "rows", "schema", "status", "says"),
    [
        ("none.parquet", None, LAX, 2, "there is no file"),
        ("mine.parquet", [], LAX, 1, "all labels are equal"),
        ("mine.parquet", [{"set_id": "a"}], pa.schema([("set_id", pa.string())]), 1, "the column is missing"),
        ("mine.csv", [a_row(0)], LAX, 2, "or a file named .parquet"),
    ],
)
def test_what_is_no_file_of_sets_is_told(
    name: str, rows: Any, schema: pa.Schema, status: int, says: str, command: Command, tmp_path: Path
) -> None:
    path = tmp_path / name
    if rows is not None:
        written(path, rows, schema)
    ended = command("metrics", "metaeval", path)
    assert (ended.status, says in ended.err) == (status, True), ended.err


def test_tasks_of_one_name_and_different_sets_of_one_id_are_refused(command: Command, tmp_path: Path) -> None:
    rows = [a_row(0), a_row(1)]
    one, same = written(tmp_path / "one.parquet", rows), written(tmp_path / "same.parquet", rows)
    namesake = written(tmp_path / "other" / "one.parquet", rows)
    different = written(tmp_path / "different.parquet", [a_row(0), a_row(1, responses=["c", "d"])])
    assert command("metrics", "metaeval", one, same, "--metric", "distinct_n", *FEW).status == 0
    for path, says in ((namesake, "two tasks are named one"), (different, "'s1' is one set in one and another in")):
        ended = command("metrics", "metaeval", one, path, "--metric", "distinct_n", *FEW)
        assert (ended.status, says in ended.err) == (2, True), ended.err


def test_a_sweep_of_the_real_model_can_be_tested_with(command: Command, starts: Path, tmp_path: Path) -> None:
    options = ("--template", "{prompt}", "--max-tokens", 12)
    assert sweep(command, starts, tmp_path / "t.parquet", "temperature=0.2:1.2:12", *options)["sets"] == 12
    ended = command("metrics", "metaeval", tmp_path / "t.parquet", *FEW)
    assert ended.status == 0, ended.err
    (task,) = json.loads(ended.out)["tasks"]
    assert (task["sets"], task["contexts"]) == (12, 4)
    (distinct,) = [each for each in task["evaluations"] if each["metric"] == "distinct_n"]
    assert -1 <= distinct["measures"]["spearman"]["value"] <= 1
