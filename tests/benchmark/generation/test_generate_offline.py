"""`divbench generate` with the model that ships here: internals, layers, and what it cannot do."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from benchmark.generation.setup import TOKENS_FILE
from benchmark.scoring.internals_file import INTERNALS_FILE, open_internals
from submissions.checking.validate import open_submission
from tests.benchmark.generating import Command, command, hasty_disk, journal_of, manifest_in, rows_in
from tests.benchmark.lms import one_thread

__all__ = ["command", "hasty_disk", "one_thread"]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "made" / "out"


@pytest.fixture
def starts(tmp_path: Path) -> Path:
    path = tmp_path / "starts.txt"
    path.write_text("The river was\nNobody had seen\nShe opened the\n")
    return path


def test_the_bundled_model_with_internals(command: Command, starts: Path, out: Path) -> None:
    arguments = ("generate", "offline", "--template", r"{prompt}\n", "--suite", starts)
    more = (
        "--k",
        3,
        "--max-tokens",
        8,
        "--stop",
        ".",
        "--top-k",
        50,
        "--out",
        out,
        "--internals",
        "--set",
        "average-layers=4,5",
    )
    ended = command(*arguments, *more)
    assert ended.status == 0, ended.err
    manifest = manifest_in(out)
    assert (manifest.generation.prompt_template, manifest.generation.chat_template) == ("{prompt}\n", False)
    assert (manifest.system.type, manifest.system.model_id, manifest.system.parameters) == (
        "model", "divbench/offline-lm", 5_874_944,
    )  # fmt: skip
    assert len(manifest.system.revision or "") == 64
    assert "transformers" in (manifest.generation.software or "")
    submission, _, _ = open_submission(out)
    read = open_internals(out / INTERNALS_FILE, submission.id)
    assert (read.how.tokens, read.how.k, read.how.average_layers) == ("sampled", 3, (4, 5))
    assert read.how.drawing is not None
    assert (read.how.drawing.temperature, read.how.drawing.top_k) == (1.0, 50)
    rows = dict(read.rows())
    assert list(rows) == ["p0001", "p0002", "p0003"]
    tokens = {row["prompt_id"]: row["mean_tokens"] for row in pq.read_table(out / TOKENS_FILE).to_pylist()}
    for prompt_id, internals in rows.items():
        lengths = [0 if each is None else each.tokens for each in internals.responses]
        assert sum(lengths) == pytest.approx(3 * tokens[prompt_id])
        assert internals.greedy is not None


def test_other_layers_are_another_run(
    command: Command, starts: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read of one layer stands in the journal: it is not taken for another."""

    def stop(*arguments: Any) -> None:
        raise KeyboardInterrupt

    arguments = ("generate", "offline", "--template", "{prompt}", "--suite", starts, "--k", 1, "--max-tokens", 2)
    with monkeypatch.context() as patched:
        patched.setattr("benchmark.generation.run.read_plan", stop)
        assert command(*arguments, "--internals", "--out", out).status == 130
    assert len(rows_in(journal_of(out))) == 3
    ended = command(*arguments, "--internals", "--set", "layer=last", "--out", out)
    assert (ended.status, "internals ['middle', None], now ['last', None]" in ended.err) == (2, True), ended.err
    assert "internals ['middle', None], now None" in command(*arguments, "--out", out).err
    assert command(*arguments, "--internals", "--out", out).status == 0


def test_what_the_bundled_model_cannot_do_is_told_with_a_hint(command: Command, starts: Path, out: Path) -> None:
    ended = command("generate", "offline", "--suite", starts, "--out", out)
    assert ended.status == 2
    assert "has no chat template (choose a chat model, or give a --template" in ended.err
    ended = command(
        "generate", "offline", "--template", "{prompt}", "--suite", starts, "--out", out, "--max-tokens", 5000
    )
    assert ended.status == 2
    assert "3 of 3 prompts cannot be used: p0001: a prompt of" in ended.err
    assert "(lower --max-tokens, or use a model with a longer context)" in ended.err
    for layers, says in (
        (("--set", "layer=7"), "middle, last, or 0 to 6"),
        (("--set", "layer=first"), "layer=middle, last or a number"),
        (("--set", "average-layers=3,9"), "has no layers [3, 9]"),
    ):
        asked = ("--internals", *layers, "--k", 1, "--max-tokens", 2)
        ended = command("generate", "offline", "--template", "{prompt}", *asked, "--suite", starts, "--out", out)
        assert (ended.status, says in ended.err) == (2, True), ended.err
    ended = command("generate", "no/such", "--suite", starts, "--out", out)
    assert (ended.status, "'no/such' is not pinned" in ended.err) == (2, True), ended.err
    assert list(out.parent.iterdir()) == []
