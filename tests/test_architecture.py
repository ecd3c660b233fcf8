"""The shape of the tree: imports go one way, files are small and named by what they do, no list lacks an item."""

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from benchmark.metrics import METRICS
from datasets_build.sources import DATASETS, Source
from leaderboard.cli import COMMANDS
from submissions.checking.checks import CHECKS
from submissions.demo.baselines import BASELINES

ROOT = Path(__file__).parent.parent
PACKAGES = ("datasets_build", "submissions", "benchmark", "leaderboard")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
VAGUE = {"utils", "util", "common", "manager", "base", "helpers", "helper", "misc", "core", "tools"}
MAX_LINES = 420  # "about 400"; a bank of words may want a few more

every_module = pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    code = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_imports_go_one_way() -> None:
    ended = lint_imports(ROOT)
    assert ended.returncode == 0, ended.stdout
    assert "4 kept, 0 broken" in ended.stdout


@pytest.mark.parametrize(
    ("module", "wrong"),
    [
        ("datasets_build/errors.py", "import submissions.schema"),
        ("submissions/untrusted/findings.py", "from benchmark.scoring import result_schema"),
        ("benchmark/scoring/result_schema.py", "def later() -> None:\n    import leaderboard.cli"),
    ],
)
def test_an_import_the_other_way_would_be_found(tmp_path: Path, module: str, wrong: str) -> None:
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / module).open("a") as file:
        file.write(f"\n{wrong}\n")
    ended = lint_imports(tmp_path)
    assert ended.returncode == 1
    assert "Folders are the data flow: imports go one way BROKEN" in ended.stdout


def test_there_are_modules_to_look_at() -> None:
    assert {path.relative_to(ROOT).parts[0] for path in MODULES} == set(PACKAGES)


@every_module
def test_a_module_is_named_by_what_it_does(path: Path) -> None:
    assert not VAGUE & {path.stem, *path.relative_to(ROOT).parts[:-1]}


@every_module
def test_a_module_can_be_read_in_one_go(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_LINES


def undocumented(node: ast.AST, name: str) -> Iterator[str]:
    """The public functions, classes and methods below a node that have no docstring."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) or child.name.startswith("_"):
            continue
        if ast.get_docstring(child) is None:
            yield f"{name}.{child.name}"
        if isinstance(child, ast.ClassDef):
            yield from undocumented(child, f"{name}.{child.name}")


@every_module
def test_what_is_public_is_documented(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree)
    assert list(undocumented(tree, path.stem)) == []


def test_what_is_not_documented_would_be_found() -> None:
    tree = ast.parse("class A:\n    '''A.'''\n    def f(self): ...\n    def _g(self): ...\ndef h(): ...")
    assert list(undocumented(tree, "m")) == ["m.A.f", "m.h"]


@every_module
def test_imports_are_absolute(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert [node.lineno for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level] == []


@pytest.mark.parametrize(
    "names",
    [
        pytest.param([source.name for source in DATASETS], id="DATASETS"),
        pytest.param([check.name for check in CHECKS], id="CHECKS"),
        pytest.param([metric.id for metric in METRICS], id="METRICS"),
        pytest.param([baseline.name for baseline in BASELINES], id="BASELINES"),
    ],
)
def test_what_stands_in_a_list_has_a_name_of_its_own(names: list[str]) -> None:
    assert names
    assert len(set(names)) == len(names)


def test_every_source_is_in_the_list_of_datasets() -> None:
    folder = ROOT / "datasets_build" / "sources"
    for path in folder.glob("*.py"):
        if path.stem in {"__init__", "source"}:
            continue
        module = import_module(f"datasets_build.sources.{path.stem}")
        found = [value for value in vars(module).values() if isinstance(value, Source)]
        assert found, f"{path.name} has no Source"
        assert all(any(source is known for known in DATASETS) for source in found), f"{path.name} is not in DATASETS"


def test_every_command_is_where_the_front_door_looks_for_it() -> None:
    for command in COMMANDS:
        assert callable(getattr(import_module(command.module), command.attribute)), command
        assert "command" in command.module.rpartition(".")[2], command
