"""A scorer that is killed or runs out of disk, in a process of its own."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from shutil import copytree
from typing import Any

import pyarrow.parquet as pq
import pytest

from submissions.storage.submission_folders import Submission
from tests.benchmark.helpers import ROOT, rows_of, submit, suite_of, text_classes
from tests.benchmark.run_scorer import SHARD
from tests.forked import run_forked

PROMPTS = 2 * SHARD + 2  # three shards
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def submission(tmp_path_factory: pytest.TempPathFactory) -> Submission:
    suite = suite_of(PROMPTS)
    rows = rows_of(suite, k=5)
    return submit(
        tmp_path_factory.mktemp("made") / "in", suite, rows, [(r.prompt_id, text_classes(r.responses)) for r in rows]
    )


def run(submission: Submission, out: Path, *options: str) -> subprocess.CompletedProcess[str]:
    given = [str(submission.folder), str(out), "--prompts", str(PROMPTS), *options]
    return run_forked("from tests.benchmark.run_scorer import main; main()", given, os.environ, ROOT)


def run_anew(submission: Submission, out: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """The same in a new interpreter, which has loaded nothing and has another hash seed."""
    command = [sys.executable, "-m", "tests.benchmark.run_scorer", str(submission.folder), str(out)]
    return subprocess.run(
        [*command, "--prompts", str(PROMPTS), *options], cwd=ROOT, capture_output=True, text=True, check=False
    )


def finished(submission: Submission, out: Path, *options: str, start: Run = run) -> dict[str, Any]:
    done = start(submission, out, *options)
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def undisturbed(submission: Submission, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """All files of a run that nothing disturbed."""
    out = tmp_path_factory.mktemp("undisturbed")
    report = finished(submission, out, start=run_anew)
    assert (report["recognised"], report["resumed"]) == (False, 0)
    return tree(out)


@pytest.fixture(scope="module")
def older(submission: Submission, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of results with one of another k."""
    out = tmp_path_factory.mktemp("older")
    finished(submission, out, "--k", "2")
    return out


@pytest.mark.parametrize("prompts", [SHARD, 2 * SHARD, PROMPTS])
def test_a_killed_run_goes_on_and_ends_with_the_same_bytes(
    submission: Submission, undisturbed: dict[str, bytes], tmp_path: Path, prompts: int
) -> None:
    assert run(submission, tmp_path, "--kill-after", str(prompts)).returncode == -signal.SIGKILL
    assert not [path for path in tmp_path.iterdir() if not path.name.startswith(".")]  # no half result is on show
    report = finished(submission, tmp_path)
    assert (report["recognised"], report["resumed"]) == (False, prompts)
    assert tree(tmp_path) == undisturbed


@pytest.mark.parametrize("fault", ["cut off", "other columns"])
def test_a_finished_shard_that_is_damaged_or_from_another_version_is_scored_again(
    submission: Submission, undisturbed: dict[str, bytes], tmp_path: Path, fault: str
) -> None:
    assert run(submission, tmp_path, "--kill-after", str(2 * SHARD)).returncode == -signal.SIGKILL
    path = min(tmp_path.glob(".*.partial/*.parquet"))
    if fault == "cut off":
        os.truncate(path, path.stat().st_size - 1)
    else:
        pq.write_table(pq.read_table(path).drop_columns("answers"), path)
    assert finished(submission, tmp_path)["resumed"] == SHARD
    assert tree(tmp_path) == undisturbed


@pytest.mark.parametrize("ends", ["full disk", "killed"])
@pytest.mark.parametrize(("during", "resumed"), [("the first shard", 0), ("the table, after all shards", PROMPTS)])
def test_an_end_in_the_middle_of_a_write_leaves_older_results_as_they_were(
    submission: Submission,
    undisturbed: dict[str, bytes],
    older: Path,
    tmp_path: Path,
    during: str,
    resumed: int,
    ends: str,
) -> None:
    copytree(older, tmp_path, dirs_exist_ok=True)
    [table] = [len(data) for name, data in undisturbed.items() if name.endswith("per_prompt.parquet")]
    # Less than a shard has, and more than the traceback, which goes into a file too.
    options = ["--largest-file", "10000" if during == "the first shard" else str(table - 1)]
    if ends == "killed":
        failed = run(submission, tmp_path, *options, "--deadly")
        assert failed.returncode == -signal.SIGXFSZ
    else:
        failed = run(submission, tmp_path, *options)
        assert failed.returncode == 1
        assert "File too large" in failed.stderr
    now = tree(tmp_path)
    assert {name: now[name] for name in now if not name.startswith(".")} == tree(older)
    assert finished(submission, tmp_path)["resumed"] == resumed
    assert tree(tmp_path) == tree(older) | undisturbed


def test_the_lexical_profile_loads_no_model_library(submission: Submission, tmp_path: Path) -> None:
    modules = set(finished(submission, tmp_path, "--profile", "lexical", start=run_anew)["modules"])
    assert modules & {"torch", "transformers", "sentence_transformers", "datasets", "gradio"} == set()
    assert modules >= {"sacrebleu", "rapidfuzz", "rouge_score"}  # so the list is of what was loaded
