"""The notebooks run, and print what is stored in them; `python -m tests.test_notebooks` stores it anew."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.benchmark.helpers import ROOT
from tests.forked import Forked, of_module

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


class ForkedKernel(Forked):
    """A kernel forked from a process that has imported the libraries, with what jupyter_client reads of a Popen."""

    pid = -1  # of no process group: it has that of the tests, and all of a group are killed together
    stdin = stderr = None

    def __init__(self, words: Sequence[str], *, env: dict[str, str], **options: object) -> None:
        # Which pandas asks when it is imported: whether it prints into a notebook.
        code = f"import pandas; pandas.options.display.max_columns = 20; {of_module('ipykernel_launcher')}"
        super().__init__(code, words[words.index("-f") :], env)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_is_stored_in_it(path: Path, mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jupyter_client.provisioning.local_provisioner.launch_kernel", ForkedKernel)
    monkeypatch.setattr(os, "environ", os.environ.copy() | {"DIVBENCH_MIRROR": str(mirror)})
    stored = nbformat.read(path, as_version=4)
    assert shown(stored) == shown(executed(path))
    assert any(any(texts) for texts in shown(stored))


if __name__ == "__main__":
    for each in NOTEBOOKS:
        nbformat.write(executed(each), each)
        sys.stdout.write(f"{each.name}\n")
