"""Exported pairs as trainers read them: standard and conversational, and the same bytes from the same input."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets
import pytest

from benchmark.exports.dpo import format_of, formatted
from benchmark.scoring.internals_file import INTERNALS_FILE
from divbench.core.errors import ConfigurationError, InputError
from submissions.checking.validate import open_submission
from submissions.schema import Generation
from submissions.storage.submission_folders import Submission
from tests.benchmark.export_samples import (
    OWN,
    K,
    by_prompt,
    make,
    read_lines,
    responses_of,
    with_nan,
    write_own_internals,
    write_rows,
)
from tests.conftest import divbench, divbench_anew


def exported(tmp_path: Path, submission: Submission, *options: str) -> tuple[datasets.Dataset, list[dict[str, Any]]]:
    """The pairs as `datasets` reads them, and as they stand."""
    given, out = write_rows(tmp_path / "r.jsonl", by_prompt()), tmp_path / "pairs.jsonl"
    wanted = ["--rewards", given, "--diversity", "nll", "--out", out, *options]
    ended = divbench("export", "dpo", submission.folder, *wanted)
    assert ended.returncode == 0, ended.stderr
    loaded = datasets.load_dataset("json", data_files=str(out), split="train", cache_dir=str(tmp_path / "cache"))
    return loaded, read_lines(out)


def assert_same(loaded: datasets.Dataset, rows: Sequence[Mapping[str, Any]]) -> None:
    """All but for numbers' last digits: the library's reader does not keep them."""
    assert len(loaded) == len(rows)
    for found, row in zip(loaded.to_list(), rows, strict=True):
        read, written = found.pop("meta"), dict(row["meta"])
        assert found == {key: value for key, value in row.items() if key != "meta"}
        for name in ("rewards", "diversities"):
            assert with_nan(read.pop(name)) == pytest.approx(with_nan(written.pop(name)), nan_ok=True)
        assert read == written | {"rho": pytest.approx(written["rho"])}


def test_standard_pairs_are_texts(tmp_path: Path) -> None:
    loaded, rows = exported(tmp_path, make(tmp_path / "plain"))
    assert loaded.column_names == ["prompt_id", "prompt", "chosen", "rejected", "meta"]
    assert {loaded.features[name].dtype for name in ("prompt", "chosen", "rejected")} == {"string"}
    assert_same(loaded, rows)
    assert loaded[0]["prompt"].startswith("Naïve “ask” ")


def test_conversational_pairs_are_messages(tmp_path: Path) -> None:
    made = make(tmp_path / "chat", chat_template=True, system_prompt="Be brief.")
    loaded, rows = exported(tmp_path, made)
    assert loaded.column_names == ["prompt_id", "prompt", "chosen", "rejected", "meta"]
    assert_same(loaded, rows)
    by_id = {prompt.prompt_id: prompt.prompt for prompt in OWN.prompts}
    for row in loaded:
        assert row["prompt"] == [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": by_id[row["prompt_id"]]},
        ]
        for side in ("chosen", "rejected"):
            [message] = row[side]
            assert message["role"] == "assistant"
            own = responses_of(int(row["prompt_id"].removeprefix("q-")))
            assert message["content"] == own[row["meta"][f"{side}_index"]]
    message = {"content": "string", "role": "string"}
    for name in ("prompt", "chosen", "rejected"):
        feature = loaded.features[name].feature
        assert {key: value.dtype for key, value in feature.items()} == message


def test_the_format_follows_how_the_model_was_asked() -> None:
    def found(**generation: Any) -> str:
        return format_of(Generation(k=K, **generation))

    assert found() == found(chat_template=False) == "standard"
    assert found(chat_template=True) == found(system_prompt="Be brief.") == "conversational"
    assert format_of(Generation(k=K, chat_template=True), "standard") == "standard"
    assert format_of(Generation(k=K), "conversational") == "conversational"
    with pytest.raises(ConfigurationError, match="no field for it"):
        found(chat_template=False, system_prompt="Be brief.")
    with pytest.raises(ConfigurationError, match="no field for it"):
        format_of(Generation(k=K, system_prompt="Be brief."), "standard")
    with pytest.raises(InputError, match=r"prompt_template has no \{prompt\}"):
        found(prompt_template="Q: A:")


def test_a_standard_prompt_stands_in_its_template() -> None:
    row = {"prompt_id": "p", "prompt": "Say {prompt}.", "chosen": "a", "rejected": "b", "meta": {}}
    asked = Generation(k=K, chat_template=False, prompt_template="Q: {prompt}\nA:")
    assert formatted(row, "standard", asked) == row | {"prompt": "Q: Say {prompt}.\nA:"}
    assert formatted(row, "conversational", asked)["prompt"] == [{"role": "user", "content": "Say {prompt}."}]
    assert list(formatted(row, "conversational", asked)) == list(row)


def test_responses_to_other_prompts_are_refused(tmp_path: Path) -> None:
    for mode in ("in-context", "paraphrase", "verbalized", "verbalized-tail"):
        with pytest.raises(InputError, match=rf"\(generation\.mode is {mode}\), but a pair has one prompt"):
            format_of(Generation.model_validate({"k": K, "mode": mode}), "conversational")
    made = make(tmp_path / "sub", mode="paraphrase")
    given, out = write_rows(tmp_path / "r.jsonl", by_prompt()), tmp_path / "pairs.jsonl"
    ended = divbench(
        "export", "dpo", made.folder, "--rewards", given, "--diversity", "nll", "--out", out, "--conversational"
    )
    assert ended.returncode == 1
    assert "generation.mode is paraphrase" in ended.stderr
    assert not out.exists()


def test_the_same_input_gives_the_same_bytes_in_the_suites_order(tmp_path: Path) -> None:
    # demo ships with the package; its rows stand in the file the wrong way round.
    rows: list[dict[str, Any]] = [
        {"prompt_id": f"demo-{i:02}", "responses": [f"{word} {i}" for word in ("red", "=1+1", "blue")]}
        for i in reversed(range(24))
    ]
    given = write_rows(tmp_path / "in.jsonl", rows)
    named = ["--suite", "demo", "--name", "n", "--submitter", "me", "--out", tmp_path / "sub"]
    assert divbench("import", given, "--from", "jsonl", *named).returncode == 0
    rewards = [{"prompt_id": row["prompt_id"], "rewards": [1, 2.5, 3]} for row in rows]
    one, two = write_rows(tmp_path / "1.jsonl", rewards), write_rows(tmp_path / "2.jsonl", rewards[::-1])
    write_own_internals(tmp_path / "sub" / INTERNALS_FILE, open_submission(tmp_path / "sub")[0], k=3)
    for name, each, start in (("a", one, divbench), ("b", two, divbench_anew)):
        options = ["--diversity", "nll", "--rho", 0.2, "--out", tmp_path / f"{name}.jsonl"]
        more = ["--table", tmp_path / f"{name}.csv"]
        ended = start("export", "dpo", tmp_path / "sub", "--rewards", each, *options, *more)
        assert ended.returncode == 0, ended.stderr
    for ending in ("jsonl", "csv"):
        assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()
    assert [row["prompt_id"] for row in read_lines(tmp_path / "a.jsonl")] == [f"demo-{i:02}" for i in range(24)]
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    assert [row["response"] for row in table[:3]] == ["red 0", "'=1+1 0", "blue 0"]  # no formula in a spreadsheet
    assert [row["reward"] for row in table[:3]] == ["1.0", "2.5", "3.0"]
    assert sorted(each.name for each in tmp_path.iterdir() if each.name.startswith(".")) == []
