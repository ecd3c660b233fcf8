"""`divbench score --cluster`, as a shell starts it: what it refuses, and the demonstration on two actors."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from submissions.demo.build import write_demo_submissions
from submissions.storage.folder_store import FolderStore
from tests.forked import run_forked
from tests.submissions.working import results_at

RUN = "from divbench.command_line import main; main()"
# As where it is not installed. The fork server has imported DivBench's modules, and none of them has imported Ray.
WITHOUT_RAY = f"import sys; assert 'ray' not in sys.modules; sys.modules['ray'] = None; {RUN}"


@pytest.fixture(scope="module")
def submission(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_demo_submissions(tmp_path_factory.mktemp("demo"))[0]


def divbench(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}  # as Ray's actors have it: more threads add in another order
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], env=environment, capture_output=True, text=True, check=False
    )


def forked(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_forked(program, arguments, os.environ)


def test_without_ray_the_extra_is_named_and_nothing_written(submission: Path, tmp_path: Path) -> None:
    done = forked(WITHOUT_RAY, "score", str(submission), "--out", str(tmp_path), "--cluster", "local")
    assert done.returncode == 2
    assert "divbench[cluster]" in done.stderr
    assert not list(tmp_path.iterdir())


def test_without_ray_all_else_works(submission: Path, tmp_path: Path) -> None:
    done = forked(WITHOUT_RAY, "score", str(submission), "--out", str(tmp_path), "--profile", "lexical")
    assert done.returncode == 0, done.stderr


def test_actors_without_a_cluster_are_refused(submission: Path, tmp_path: Path) -> None:
    done = forked(RUN, "score", str(submission), "--out", str(tmp_path), "--actors", "2")
    assert done.returncode == 2
    assert "--cluster" in done.stderr


@pytest.mark.thorough
def test_the_demonstration_on_two_actors_has_the_same_bytes(submission: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'divbench[cluster]'")
    here, there = tmp_path / "here", tmp_path / "there"
    cache = ["--cache", str(tmp_path / "cache.sqlite")]
    done = divbench(RUN, "score", str(submission), "--out", str(here), *cache)
    assert done.returncode == 0, done.stderr
    command = ["score", str(submission), "--out", str(there), "--cluster", "local", "--actors", "2", "--json"]
    [said] = json.loads(divbench(RUN, *command).stdout)["results"]  # and nothing else is on stdout
    assert (said["recognised"], said["lost_actors"], said["repeated_prompts"]) == (False, 0, 0)
    names = sorted(path.relative_to(here) for path in here.rglob("*"))
    assert names == sorted(path.relative_to(there) for path in there.rglob("*"))
    assert all((here / name).read_bytes() == (there / name).read_bytes() for name in names if (here / name).is_file())


@pytest.mark.thorough
def test_a_worker_on_two_actors_publishes_the_same_bytes_and_tells_json_alone(submission: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'divbench[cluster]'")
    made = []
    for name, cluster in (("here", []), ("there", ["--cluster", "local", "--actors", "2"])):
        store = tmp_path / name
        assert divbench(RUN, "submit", str(submission), "--to", str(store)).returncode == 0
        command = [
            "submissions",
            "score",
            "--store",
            str(store),
            "--profile",
            "lexical",
            "--once",
            "--results",
            str(tmp_path / f"{name}-r"),
        ]
        done = divbench(RUN, *command, *cluster)
        assert done.returncode == 0, done.stderr
        assert [json.loads(line)["event"] for line in done.stdout.splitlines()] == ["claimed", "scored", "ended"]
        opened = FolderStore(store)
        made.append(results_at(opened, opened.head()))
    assert made[0] == made[1]
    assert made[0]
