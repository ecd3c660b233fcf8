"""The scorer on Ray: the bytes of one process, whatever is killed. Machines are `ray start` on this one."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmark.scoring import shards
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.profiles import find_profile
from benchmark.scoring.scorer import Options, score_submission
from benchmark.validity.backend import ValidityJudge
from submissions.storage.submission_folders import Submission
from tests.benchmark.clusters import OURS, cluster, end, start_machine
from tests.benchmark.fakes import HashEmbedder
from tests.benchmark.helpers import HASH_READER, ROOT, rows_of, submit, suite_of
from tests.benchmark.run_cluster import DOOMED_NODE, SHARD

pytest.importorskip("ray", reason="Ray is not installed: pip install 'divbench[cluster]'")

PROMPTS = 4 * SHARD + 4  # five shards


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Of a cluster that all tests use."""
    with cluster() as made:
        yield made


@pytest.fixture(scope="module")
def submission(tmp_path_factory: pytest.TempPathFactory) -> Submission:
    suite = suite_of(PROMPTS)
    return submit(tmp_path_factory.mktemp("made") / "in", suite, rows_of(suite, k=3))


def here(submission: Submission, out: Path) -> int:
    """Score in this process; how many prompts an earlier run had done."""
    backends = ScoringBackends(
        find_profile("offline"), embedder=HashEmbedder(), reader=HASH_READER, validity=ValidityJudge()
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shards, "SHARD_PROMPTS", SHARD)
        return score_submission(submission, suite_of(PROMPTS), backends, out, Options(resamples=200)).resumed


@pytest.fixture(scope="module")
def undisturbed(submission: Submission, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """All files of a run in one process."""
    out = tmp_path_factory.mktemp("undisturbed")
    assert here(submission, out) == 0
    return tree(out)


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def run(submission: Submission, out: Path, address: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.benchmark.run_cluster", str(submission.folder), str(out)]
    command += ["--prompts", str(PROMPTS), "--address", address, *options]
    return subprocess.run(command, cwd=ROOT, env=os.environ | OURS, capture_output=True, text=True, check=False)


def report(submission: Submission, out: Path, address: str, *options: str) -> dict[str, Any]:
    done = run(submission, out, address, *options)
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said | {"stderr": done.stderr}


@pytest.mark.thorough  # test_cluster_worker.py does the same with several submissions, and kills an actor
def test_two_actors_give_the_bytes_of_one_process(
    submission: Submission, undisturbed: dict[str, bytes], tmp_path: Path, address: str
) -> None:
    said = report(submission, tmp_path, address)
    assert "error" not in said, said
    assert (said["recognised"], said["resumed"], said["lost"], said["again"]) == (False, 0, 0, 0)
    assert tree(tmp_path) == undisturbed


@pytest.mark.thorough
def test_what_a_killed_actor_was_scoring_is_scored_again(
    submission: Submission, undisturbed: dict[str, bytes], tmp_path: Path, address: str
) -> None:
    text = submission_text(submission, SHARD + 3)  # in the second shard
    options = ["--trouble", "actor", "--text", text, "--marker", str(tmp_path / "killed")]
    said = report(submission, tmp_path / "out", address, *options)
    assert (said["lost"], said["again"]) == (1, SHARD)
    assert tree(tmp_path / "out") == undisturbed


@pytest.mark.thorough
def test_a_killed_run_is_finished_on_the_cluster_or_in_one_process(
    submission: Submission, undisturbed: dict[str, bytes], tmp_path: Path, address: str
) -> None:
    """The process that hands out is killed: its actors end, and what they had handed in is kept."""
    assert run(submission, tmp_path, address, "--kill-after", str(SHARD)).returncode == -signal.SIGKILL
    assert not [path for path in tmp_path.iterdir() if not path.name.startswith(".")]  # no half result is on show
    assert run(submission, tmp_path, address, "--kill-after", str(3 * SHARD + 1)).returncode == -signal.SIGKILL
    assert here(submission, tmp_path) >= 3 * SHARD
    assert tree(tmp_path) == undisturbed


@pytest.mark.thorough
def test_a_prompt_that_ends_every_actor_is_named(submission: Submission, tmp_path: Path, address: str) -> None:
    text = submission_text(submission, PROMPTS - 2)  # in the last shard, of four prompts
    said = report(submission, tmp_path, address, "--trouble", "actor", "--text", text)
    assert said["error"]["kind"] == "ScoringFault"
    assert said["error"]["message"] == f"prompt p-{PROMPTS - 2:04}: every actor that scores it is lost"
    assert said["lost"] == 4  # three tries of the shard, and the prompt alone
    assert not [path for path in tmp_path.iterdir() if not path.name.startswith(".")]
    assert not list(tmp_path.glob(".*/*.tmp*"))


@pytest.mark.thorough
def test_an_error_of_ours_comes_back_as_it_is(submission: Submission, tmp_path: Path, address: str) -> None:
    """It would be the same on any other actor, so it is not tried again."""
    said = report(submission, tmp_path, address, "--trouble", "refuses")
    assert said["error"] == {
        "kind": "ConfigurationError",
        "message": "the embedder is out of order",
        "hint": "repair it",
    }
    assert said["lost"] == 0


@pytest.mark.thorough
def test_a_killed_machine_changes_nothing(
    submission: Submission, undisturbed: dict[str, bytes], tmp_path: Path, address: str
) -> None:
    doomed = start_machine(f"--address={address}", **{DOOMED_NODE: "1"})
    try:
        marker = tmp_path / "killed"
        options = ["--actors", "4", "--trouble", "machine", "--marker", str(marker)]
        said = report(submission, tmp_path / "out", address, *options)
    finally:
        end(doomed)
    assert marker.exists()  # it was given work, and was killed with that in hand
    assert said["lost"] >= 1
    assert 1 <= said["again"] <= 2 * SHARD  # what its two actors had in hand, and no more
    assert tree(tmp_path / "out") == undisturbed


@pytest.mark.thorough
def test_a_machine_with_another_library_is_refused(submission: Submission, tmp_path: Path, address: str) -> None:
    said = report(submission, tmp_path, address, "--other-numpy")
    assert said["error"]["kind"] == "ConfigurationError"
    assert "has numpy" in said["error"]["message"]
    assert "and this one 0.1" in said["error"]["message"]
    assert said["lost"] == 0


@pytest.mark.thorough
def test_no_cluster_is_said(submission: Submission, tmp_path: Path) -> None:
    said = report(submission, tmp_path, "127.0.0.1:1")
    assert said["error"]["kind"] == "ConfigurationError"
    assert "no Ray cluster at 127.0.0.1:1" in said["error"]["message"]


@pytest.mark.thorough
def test_no_place_is_said(submission: Submission, tmp_path: Path) -> None:
    with cluster("--num-cpus=0") as full:
        said = report(submission, tmp_path, full, "--patience", "2")
    assert said["error"]["kind"] == "ConfigurationError"
    assert said["error"]["message"].startswith("no actor started in 2 s: each needs 1 CPU and 0 GPU")


def submission_text(submission: Submission, place: int) -> str:
    """A response that no other prompt has."""
    rows = list(submission.rows())
    text = max(rows[place].responses, key=len)
    assert sum(any(text in each for each in row.responses) for row in rows) == 1
    return text
