"""`divbench quick` from the outside: a file as people have it becomes a row; a second call computes nothing."""

import json
import os
from pathlib import Path

import pytest

import divbench as db
from tests.conftest import divbench, document
from tests.forked import run_forked


def test_a_file_becomes_a_row_and_the_same_file_is_scored_once(tmp_path: Path) -> None:
    prompts = {f"demo-{i:02}": [f"The {w} of {i}." for w in ("lamp", "river", "clock")] for i in range(24)}
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps({"id": key, "outputs": texts}) + "\n" for key, texts in prompts.items()))
    options = ["--suite", "demo", "--out", tmp_path / "out", "--json", "--no-board"]
    first = divbench("quick", path, *options)
    assert first.returncode == 0, first.stderr
    (row,) = document(first)["rows"]
    assert (row["rank"], row["system"], row["type"]) == (1, "mine", "chat model")
    assert "Asked three times, mine gives " in document(first)["sentence"]
    folder = Path(document(first)["folder"])
    result = json.loads((folder / "result.json").read_text())
    [headline] = [score for score in result["scores"] if score["metric"] == document(first)["metric"]]
    assert {name: row[name] for name in ("value", "low", "high")} == {
        name: headline[name] for name in ("value", "low", "high")
    }
    assert (result["profile"], result["manifest"]["submitter"]["date"]) == ("offline", None)
    assert not {"d_can", "coherence"} & {score["metric"] for score in result["scores"]}
    written = (folder / "result.json").stat().st_mtime_ns
    again = divbench("quick", path, *options)
    assert document(again) == document(first)
    assert (folder / "result.json").stat().st_mtime_ns == written
    without = "import sys; sys.modules['gradio'] = None; from divbench.command_line import main; main()"
    environment = os.environ | {"COLUMNS": "200", "NO_COLOR": "1", "DIVBENCH_MIRROR": ""}
    shown = run_forked(without, ["quick", path, *options[:-2]], environment)  # the extra board is not installed
    assert (shown.returncode, document(first)["sentence"] in shown.stdout) == (0, True)
    assert "There are reference results for other suites." in shown.stdout
    assert "no board: gradio is not installed" in shown.stderr


def test_prompts_are_own_where_the_suite_cannot_be_read_which_is_said(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text('{"prompt": "Name a pet.", "outputs": ["a", "b"]}\n')
    ended = divbench("quick", path, "--out", tmp_path / "out", "--no-board", DIVBENCH_MIRROR="", HF_HUB_OFFLINE="1")
    assert ended.returncode == 0
    assert "cannot be read here, so the prompts count as your own" in " ".join(ended.stderr.split())


@pytest.mark.mirror
def test_prompts_that_are_in_no_suite_are_ones_own(mirror: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    asked = ("Name a pet for a child.", "Name a city by the sea.")
    path.write_text("".join(json.dumps({"prompt": text, "outputs": ["Lisbon", "A cat."] * 5}) + "\n" for text in asked))
    options = ["--out", tmp_path / "out", "--json", "--no-board"]
    mine = divbench("quick", path, *options, DIVBENCH_MIRROR=str(mirror))
    assert mine.returncode == 0, mine.stderr
    assert "None of the prompts is in noveltybench-curated" in mine.stderr
    assert len(document(mine)["rows"]) == 1
    result = json.loads((Path(document(mine)["folder"]) / "result.json").read_text())
    assert result["k"] == 10  # all
    python = db.score(path, result["scores"][0]["metric"])
    assert python.means[0].value == pytest.approx(result["scores"][0]["value"])
    with path.open("a") as file:  # one is of the suite: the others are mistakes
        known = "Tell me a story in five sentences about a girl and her dog."
        file.write(json.dumps({"prompt": known, "outputs": ["Once.", "Twice."] * 5}) + "\n")
    assert (
        "not in noveltybench-curated"
        in divbench("quick", path, *options[:2], "--no-board", DIVBENCH_MIRROR=str(mirror)).stderr
    )


def test_what_is_wrong_is_told_before_anything_is_scored(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text('{"prompt": "Say something.", "outputs": ["a", "b"]}\n')
    ended = divbench("quick", path, "--suite", "demo", "--out", tmp_path / "out", "--no-board")
    assert ended.returncode == 1
    assert "not in demo" in ended.stderr
    assert not (tmp_path / "out" / "results").exists()
    assert "there is no file" in divbench("quick", tmp_path / "none.jsonl", "--no-board").stderr
    ended = divbench("quick", path, "--suite", "own", "--k", "3", "--out", tmp_path / "out", "--no-board")
    assert (ended.returncode, "2 responses, but k is 3" in ended.stderr) == (1, True)
    path.write_text('{"prompt": "Say something.", "outputs": ["a", " "]}\n')
    ended = divbench("quick", path, "--suite", "own", "--k", "3", "--out", tmp_path / "out", "--no-board")
    assert "outputs[1]" in ended.stderr
