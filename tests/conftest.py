"""What tests share: no network, the mirror where there is one, small suites and submissions."""

import atexit
import gc
import os
import shutil
import sys
import tempfile

# Compiled modules are kept even where the environment says otherwise: else each worker would rewrite the assertions of
# all tests anew, and each of the many interpreters that tests start would compile DivBench again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# What libraries made at import never goes: it is searched for garbage less often, and not at all after collection.
gc.set_threshold(100_000, 20, 20)

# No test pulls the plug: what the system has taken is there, whatever is killed, so nothing waits for the disk.
os.fsync = lambda fd: None

# Before any import of huggingface_hub, which reads them once.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

# A home of the tests' own: what a person has built or downloaded is neither read nor touched.
os.environ["DIVBENCH_HOME"] = tempfile.mkdtemp(prefix="divbench-tests-")
atexit.register(shutil.rmtree, os.environ["DIVBENCH_HOME"], ignore_errors=True)

# But for the test that installs, none asks an address that has a certificate: a client that reads those of the machine
# takes longer to make than most tests.
if not os.environ.get("DIVBENCH_TEST_INSTALLS"):
    os.environ.pop("SSL_CERT_FILE", None)
    os.environ["SSL_CERT_DIR"] = os.environ["DIVBENCH_HOME"]

if os.environ.get("DIVBENCH_MIRROR"):  # absolute: tests run programs in other folders
    os.environ["DIVBENCH_MIRROR"] = os.path.abspath(os.environ["DIVBENCH_MIRROR"])  # noqa: PTH100

import json
import subprocess
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from datasets_build.download import MIRROR_VARIABLE
from datasets_build.schema import Prompt, Suite
from submissions.schema import Generation, Manifest, Row, Submitter, System
from submissions.storage.submission_folders import write_submission
from tests.forked import run_forked

# Examples are judged by what comes out, not by how fast a busy machine is.
settings.register_profile("divbench", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("divbench")

# The files that take longest, longest first: begun first, so that none is still at work when all else is done.
LONGEST = (
    *("test_worker", "test_attacks", "test_reference", "test_server_lm", "test_training_callback", "test_gpu_check"),
    *("test_metaeval_command", "test_explain", "test_scorer_interrupted", "test_examples", "test_properties"),
    *("test_metric_laws", "test_explain_command", "test_demo", "test_reproduce_tables", "test_batch_budget"),
    *("test_publish", "test_surprise", "test_contrast", "test_gss_command", "test_file_store", "test_scorer"),
    *("test_engine_agreement", "test_validity", "test_hub_store", "test_service_end_to_end", "test_space"),
    *("test_sources"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first; `--no-loadscope-reorder` keeps that order for several workers.

    Soaks and second looks run before a release, and whenever `DIVBENCH_TESTS` asks for all tests.
    """
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.stem, len(LONGEST)))
    if os.environ.get("DIVBENCH_TESTS") != "all":
        for item in items:
            if item.get_closest_marker("thorough"):
                item.add_marker(pytest.mark.skip(reason="a soak or a second look: DIVBENCH_TESTS=all runs it"))


def pytest_collection_finish() -> None:
    """Leave all that imports made out of the search for garbage."""
    gc.freeze()


TOY = Suite(
    name="toy",
    title="Toy",
    prompts=tuple(Prompt(f"toy-{i}", "Even" if i % 2 == 0 else "Odd", f"Say thing {i}.") for i in range(4)),
)


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The folder with the real data; a test that asks for it is skipped where there is none."""
    named = os.environ.get(MIRROR_VARIABLE)
    if not named:
        pytest.skip(f"{MIRROR_VARIABLE} names no folder with the released data")
    return Path(named)


@pytest.fixture
def toy() -> Suite:
    """A suite of four prompts."""
    return TOY


def toy_rows(k: int = 3, text: Callable[[int, int], str] = lambda i, j: f"answer {j} to thing {i}") -> list[Row]:
    """Rows that answer the toy suite."""
    return [Row(i + 1, p.prompt_id, p.prompt, tuple(text(i, j) for j in range(k))) for i, p in enumerate(TOY.prompts)]


def toy_manifest(k: int = 3, name: str = "toy-system") -> Manifest:
    """A manifest that fits `toy_rows`."""
    return Manifest(
        name=name,
        suite="toy",
        system=System(type="model"),
        generation=Generation(k=k),
        submitter=Submitter(name="tester", date=date(2026, 1, 1)),
    )


def write_toy(folder: Path, rows: Sequence[Row] | None = None, k: int = 3, name: str = "toy-system") -> Path:
    """A submission folder for the toy suite."""
    folder.mkdir(parents=True)
    write_submission(folder, toy_manifest(k, name), toy_rows(k) if rows is None else rows)
    return folder


RUN = "from divbench.command_line import main; main()"
_READ_AT_THE_START = ("PYTHON", "OMP_", "RAY_")  # variables: by an interpreter, or by libraries that are there already


def divbench(*arguments: object, code: str = RUN, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, with no mirror but one that is given.

    It is forked from one that has imported the libraries of others: see `tests/forked.py`. Other code, and variables
    that are read at the start, get a new interpreter.
    """
    if code != RUN or any(name.startswith(_READ_AT_THE_START) for name in environment):
        return divbench_anew(*arguments, code=code, **environment)
    return run_forked(RUN, arguments, _surroundings(environment))


def divbench_anew(*arguments: object, code: str = RUN, **environment: str) -> subprocess.CompletedProcess[str]:
    """The same in a new interpreter."""
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env=_surroundings(environment),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def _surroundings(given: dict[str, str]) -> dict[str, str]:
    known = {key: value for key, value in os.environ.items() if key != "DIVBENCH_MIRROR"}
    return known | {"COLUMNS": "200", "NO_COLOR": "1"} | given


def document(ended: subprocess.CompletedProcess[str]) -> Any:
    """The one JSON document on stdout: `json.loads` takes no second one, and no other line."""
    return json.loads(ended.stdout)


@pytest.fixture
def demo_file(tmp_path: Path) -> Path:
    """A file that can be imported for the demo suite."""
    path = tmp_path / "in.jsonl"
    lines = [{"prompt_id": f"demo-{i:02}", "responses": [f"a {i}", f"b {i}"]} for i in range(24)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def import_demo(path: Path, *more: object) -> subprocess.CompletedProcess[str]:
    """The import of such a file into the folder `out` beside it, as a command."""
    options = (
        "--from",
        "jsonl",
        "--suite",
        "demo",
        "--name",
        "mine",
        "--submitter",
        "me",
        "--about",
        "date=2026-01-02",
    )
    return divbench("import", path, *options, "--out", path.parent / "out", *more)
