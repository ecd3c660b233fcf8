"""The notebooks run, and print what is stored in them; `python -m tests.test_notebooks` stores it anew."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.benchmark.helpers import ROOT

nbformat = pytest.importorskip("nbformat", reason="notebooks need the extra dev")
nbclient = pytest.importorskip("nbclient")

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def executed(path: Path) -> Any:
    """A notebook after a run in a kernel of its own."""
    notebook = nbformat.read(path, as_version=4)
    os.environ |= {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore:IProgress"}  # a bar without widgets is text
    client = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(ROOT)}})
    client.execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times
    notebook.metadata.pop("language_info", None)  # the version of this Python
    return notebook


def shown(notebook: Any) -> list[list[str]]:
    """What each cell prints or displays as text."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [[each.get("text") or each.get("data", {}).get("text/plain", "") for each in cell.outputs] for cell in cells]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_is_stored_in_it(path: Path, mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", os.environ.copy() | {"DIVBENCH_MIRROR": str(mirror)})
    stored = nbformat.read(path, as_version=4)
    assert shown(stored) == shown(executed(path))
    assert any(any(texts) for texts in shown(stored))


if __name__ == "__main__":
    for each in NOTEBOOKS:
        nbformat.write(executed(each), each)
        sys.stdout.write(f"{each.name}\n")
