"""The folder of a Space: what it holds, and that it serves a store's board with no more than it names."""

import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from socket import socket

import pytest
import yaml

from divbench.core.errors import ConfigurationError
from leaderboard.space import checked_store, requirements, write_space
from submissions.gaming.baselines import write_demo_submissions
from submissions.storage.file_store import FolderStore
from submissions.work_queue.operations import submit
from submissions.work_queue.schema import Identity
from tests.conftest import divbench, document
from tests.leaderboard.servers import wait_for

LICENSE = Path(__file__).parents[2] / "LICENSE"
STORE = "hf://datasets/org/submissions"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("space") / "made"
    write_space(folder, STORE)
    return folder


def test_the_same_call_gives_the_same_bytes(space: Path, tmp_path: Path) -> None:
    written = write_space(tmp_path / "again", STORE)
    assert contents(tmp_path / "again") == contents(space)
    assert {str(path.relative_to(tmp_path / "again")) for path in written} == contents(space).keys()


def test_the_copied_package_has_its_licence(space: Path) -> None:
    assert contents(space)[f"package/divbench-{version('divbench')}.dist-info/licenses/LICENSE"] == LICENSE.read_bytes()


def test_it_holds_the_package_and_nothing_that_a_board_does_not_read(space: Path) -> None:
    names = contents(space).keys()
    assert {name for name in names if "/" not in name} == {"app.py", "requirements.txt", "README.md"}
    assert {name.split("/")[1] for name in names if "/" in name} == {
        "benchmark",
        "datasets_build",
        "divbench",
        "leaderboard",
        "submissions",
        f"divbench-{version('divbench')}.dist-info",
    }
    assert "package/leaderboard/app/assets/board.css" in names
    assert "package/submissions/gaming/demo/varied.jsonl" in names
    assert not [name for name in names if "__pycache__" in name or "bundled_lm/model" in name]
    assert max(len(content) for content in contents(space).values()) < 10 * 2**20  # more the Hub takes only as LFS


def test_its_metadata_says_what_it_is(space: Path) -> None:
    _, head, body = (space / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    found = yaml.safe_load(head)
    assert (found["title"], found["sdk"], found["sdk_version"]) == ("DivBench", "gradio", version("gradio"))
    assert (found["hf_oauth"], found["app_file"], found["license"]) == (True, "app.py", "apache-2.0")
    assert found["datasets"] == ["org/submissions"]
    assert found["python_version"] == f"{sys.version_info.major}.{sys.version_info.minor}"
    assert len(found["short_description"]) <= 60
    assert body.startswith("\n# DivBench\n")


def test_its_requirements_are_the_libraries_at_one_version_each() -> None:
    found = dict(line.split("==") for line in requirements() if "==" in line)
    assert found["gradio[oauth]"] == version("gradio")
    assert found.keys() >= {"pyarrow", "plotly", "scipy", "huggingface-hub"}
    assert not {"torch", "transformers", "selenium", "pytest"} & found.keys()
    assert [line for line in requirements() if "==" not in line] == ["pydantic>=2.13"]


def test_nothing_is_overwritten(space: Path, tmp_path: Path) -> None:
    before = contents(space)
    with pytest.raises(ConfigurationError, match="exists and is not empty"):
        write_space(space, STORE)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ConfigurationError, match="exists and is not empty"):
        write_space(tmp_path / "file", STORE)
    assert contents(space) == before


@pytest.mark.parametrize(
    "store",
    [
        "",
        "results",
        "hf://datasets/org",
        "hf://datasets/org/..",
        "hf://datasets/o rg/name",
        "https://huggingface.co/org/name",
        "hf://datasets/org/a\nb",
        "/a\nb",
    ],
)
def test_a_store_that_is_none_is_told(store: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="names no store"):
        write_space(tmp_path / "space", store)
    assert list(tmp_path.iterdir()) == []


def test_stores_are_datasets_of_the_hub_or_folders() -> None:
    assert checked_store("hf://datasets/org/name") == checked_store("hf://datasets/org/name/a/folder") == "org/name"
    assert checked_store("/data/store") is None


def test_the_command_writes_the_folder(space: Path, tmp_path: Path) -> None:
    ended = divbench("board", "space", tmp_path / "made", "--store", STORE, "--json")
    assert ended.returncode == 0, ended.stderr
    assert set(document(ended)["files"]) == contents(space).keys()


@contextmanager
def started(space: Path, python: str, store: Path, home: Path) -> Iterator[str]:
    """The address of a Space's application as a Space starts it, with nothing of this environment but the network's."""
    with closing(socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    network = {name: value for name, value in os.environ.items() if "proxy" in name.lower() or "CERT" in name}
    environment = network | {
        "PATH": os.defpath,
        "HOME": str(home),
        "DIVBENCH_HOME": str(home / "divbench"),
        "DIVBENCH_STORE": str(store),
        "GRADIO_SERVER_PORT": str(port),
        "GRADIO_ANALYTICS_ENABLED": "False",
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
    }
    with subprocess.Popen(
        [python, "app.py"],
        cwd=space,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as server:
        try:
            wait_for(url := f"http://127.0.0.1:{port}", server)
            yield url
        finally:
            os.killpg(server.pid, signal.SIGTERM)  # what it started, too
            server.wait(timeout=30)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    made = FolderStore(tmp_path / "store")
    submit(made, write_demo_submissions(tmp_path / "demo")[0], Identity(name="ann"), datetime.now(UTC))
    return made.folder


def fetch(url: str) -> str:
    with urllib.request.urlopen(url, timeout=60) as answer:  # noqa: S310 - our own address
        text: str = answer.read().decode()
    return text


def check_served(url: str) -> None:
    """The pages are there, and the endpoints answer."""
    from gradio_client import Client

    assert "DivBench" in fetch(url)
    assert "submit-panel" in fetch(f"{url}/submit")
    with closing(Client(url, verbose=False)) as client:
        boards = client.predict(api_name="/boards")  # of the reference results: the store's submission is pending
        assert {board["suite"] for board in boards} >= {"noveltybench-curated"}


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_it_serves_the_board_of_a_store_from_the_package_that_it_carries(
    space: Path, store: Path, tmp_path: Path
) -> None:
    code = "import leaderboard, importlib.metadata as m; print(leaderboard.__path__[0], m.version('divbench'))"
    ended = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env={"PYTHONPATH": str(space / "package")},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert ended.stdout.split() == [str(space / "package" / "leaderboard"), version("divbench")]
    with started(space, sys.executable, store, tmp_path) as url:
        check_served(url)
