"""Whatever a folder holds, its check in a process of its own says so in JSON, and the caller goes on."""

import json
import sys
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from divbench.core.errors import ConfigurationError
from submissions.checking import sandbox
from submissions.checking.sandbox import validate_in_child
from submissions.demo.build import write_demo_submissions
from submissions.storage.submission_folders import GENERATIONS_FILE
from tests.conftest import divbench, document
from tests.submissions.crafted import Chunk, data_page, generations, levels, run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems do not keep all limits")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_demo_submissions(tmp_path_factory.mktemp("demo"))[0]


@pytest.fixture
def good(kept: Path, tmp_path: Path) -> Path:
    return copytree(kept, tmp_path / "out")


def stopped(made: dict[str, Any]) -> str:
    """Why a check did not come to an end; its document is whole."""
    (problem,) = made["problems"]
    assert (made["accepted"], made["id"], made["counts"], made["errors"]) == (False, None, None, 1)
    assert (problem["check"], problem["severity"], made["by_check"]) == ("limits", "error", {"limits": 1})
    assert problem["hint"]
    return str(problem["message"])


def at_start(folder: Path, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that runs first in each Python from now on."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(code)
    monkeypatch.setenv("PYTHONPATH", str(folder))


def test_it_says_what_the_command_says(good: Path) -> None:
    assert validate_in_child(good) == document(divbench("validate", good, "--json"))
    (good / GENERATIONS_FILE).write_bytes(generations())
    made = validate_in_child(good)
    assert made == document(divbench("validate", good, "--json"))
    assert not made["accepted"]
    assert set(made["by_check"]) == {"prompt_ids", "k"}


def test_a_bomb_is_rejected_there_too(good: Path) -> None:
    starts = levels(run(1, 0) + run(10**9 - 1, 1)) + levels(run(10**9, 2))
    (good / GENERATIONS_FILE).write_bytes(generations(finish_reasons=Chunk(data_page(10**9, starts), 10**9)))
    made = validate_in_child(good, memory=2**30)
    assert made["by_check"] == {"sizes": 1}


def test_a_folder_that_is_not_there_is_the_callers_mistake(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="there is no folder") as caught:
        validate_in_child(tmp_path / "none")
    assert caught.value.hint == "give a submission folder"
    (tmp_path / "responses.csv").write_text("prompt,response\n")
    with pytest.raises(ConfigurationError, match="is a file, not a submission folder") as caught:
        validate_in_child(tmp_path / "responses.csv")
    assert "divbench import" in str(caught.value.hint)


def test_a_mirror_that_is_not_there_is_the_callers_mistake(good: Path, tmp_path: Path) -> None:
    manifest = json.loads((good / "manifest.json").read_text())
    (good / "manifest.json").write_text(json.dumps(manifest | {"suite": "noveltybench-curated"}))
    with pytest.raises(ConfigurationError):
        validate_in_child(good, mirror=tmp_path / "none")


def test_no_check_downloads_a_suite(good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.delenv("DIVBENCH_MIRROR", raising=False)
    manifest = json.loads((good / "manifest.json").read_text())
    (good / "manifest.json").write_text(json.dumps(manifest | {"suite": "noveltybench-curated"}))
    with pytest.raises(ConfigurationError, match="not available locally"):
        validate_in_child(good)


def test_too_much_time_ends_it(good: Path) -> None:
    assert stopped(validate_in_child(good, seconds=0.05)) == "took more than 0.05 s"


def test_a_check_that_never_ends_is_ended(good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import submissions.checking.validate as v\ndef work(*a, **b):\n    while True: pass\nv.validate = work\n"
    at_start(tmp_path / "first", code, monkeypatch)
    assert stopped(validate_in_child(good, seconds=1)) == "took more than 1 s"


def test_too_little_memory_ends_it(good: Path) -> None:
    message = stopped(validate_in_child(good, memory=100 * 2**20))
    assert message.startswith("ended its process with status ") or "memory" in message


def test_memory_that_runs_out_in_a_check_is_told(good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import submissions.checking.validate as v\ndef work(*a, **b):\n    bytearray(2**40)\nv.validate = work\n"
    at_start(tmp_path / "first", code, monkeypatch)
    assert stopped(validate_in_child(good)) == "exceeded the memory limit"


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        ("os.abort()", "ended its process by SIGABRT"),
        ("os.kill(os.getpid(), 11)", "ended its process by SIGSEGV"),
        ("os._exit(7)", "ended its process with status 7: ''"),
        (r"raise RuntimeError('\x1b[2J')", r"ended its process with status 1: 'RuntimeError: \x1b[2J'"),
        ("print('{}' * 10**6) or os._exit(0)", "ended its process with status 0: ''"),
        ("print('x' * 2**27, flush=True) or os._exit(0)", "ended its process with status 0: ''"),
    ],
)
def test_the_end_of_the_process_is_told(
    good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: str, message: str
) -> None:
    code = f"import os\nimport submissions.checking.validate as v\ndef work(*a, **b):\n    {ends}\nv.validate = work\n"
    at_start(tmp_path / "first", code, monkeypatch)
    assert stopped(validate_in_child(good)) == message


def test_no_module_of_the_current_folder_is_imported(good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Who works in a folder of strangers' files should not run them.
    for name in ("json.py", "signal.py", "pyarrow.py", "submissions.py", "datasets_build.py"):
        (good / name).write_text("open('was-run', 'w')")
    monkeypatch.chdir(good)
    assert validate_in_child(good)["accepted"]
    assert not (good / "was-run").exists()


def test_the_child_takes_its_limits_before_it_reads(
    good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = (
        "import resource as r\nimport submissions.checking.validate as v\n"
        "def work(*a, **b):\n"
        "    raise RuntimeError([r.getrlimit(k)[1] for k in (r.RLIMIT_AS, r.RLIMIT_FSIZE, r.RLIMIT_CORE)])\n"
        "v.validate = work\n"
    )
    at_start(tmp_path / "first", code, monkeypatch)
    message = stopped(validate_in_child(good, memory=3 * 2**30))
    assert message == f"ended its process with status 1: 'RuntimeError: [{3 * 2**30}, {sandbox.MAX_WRITTEN}, 0]'"


def test_the_child_gets_no_secret(good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import os\nimport submissions.checking.validate as v\n"
        "def work(*a, **b):\n"
        "    raise RuntimeError([name for name, value in os.environ.items() if 'hush' in value])\n"
        "v.validate = work\n"
    )
    at_start(tmp_path / "first", code, monkeypatch)
    for name in (
        "HF_TOKEN",
        "aws_secret_access_key",
        "OPENAI_API_KEY",
        "DB_PASSWORD",
        "DIVBENCH_VOTES_SALT",
        "HARMLESS",
    ):
        monkeypatch.setenv(name, "hush-0123456789")
    assert stopped(validate_in_child(good)) == "ended its process with status 1: \"RuntimeError: ['HARMLESS']\""
