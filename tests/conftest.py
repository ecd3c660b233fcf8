"""What tests share: no network, the mirror where there is one, small suites and submissions."""

import os

# Before any import of huggingface_hub, which reads them once.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

import pytest

from datasets_build.load import MIRROR_VARIABLE
from datasets_build.schema import Prompt, Suite
from submissions.schema import Generation, Manifest, Row, Submitter, System
from submissions.store import write_submission

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
