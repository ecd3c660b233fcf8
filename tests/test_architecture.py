"""The shape of the tree: imports go one way, files are small and named by what they do, no list lacks an item."""

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import pytest

from benchmark.metrics import METRICS, Reads
from benchmark.scoring.inputs import METRIC_INPUTS
from datasets_build.sources import DATASETS, Source
from divbench.command_line import COMMANDS
from submissions.checking.checks import CHECKS
from submissions.choices import Format
from submissions.gaming.attacks import ATTACKS
from submissions.importing.importers import FORMATS
from submissions.schema import Origin

ROOT = Path(__file__).parent.parent
ORIGINS = Origin.model_fields["format"].annotation  # what a manifest takes
PACKAGES = ("datasets_build", "submissions", "benchmark", "leaderboard", "divbench")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
VAGUE = {"utils", "util", "common", "manager", "base", "helpers", "helper", "misc", "core", "tools"}
MAX_LINES = 420  # "about 400"; a bank of words may want a few more


def is_code(name: str) -> bool:
    """Whether a file or folder may hold modules."""
    return name.endswith(".py") or ("." not in name and name != "__pycache__")


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


# Modules, imports that they must not have, and how the checker reports them.
WRONG = (
    ("divbench/core/errors.py", "import submissions.schema", "divbench.core.errors -> submissions.schema"),
    (
        "submissions/untrusted/findings.py",
        "from benchmark.scoring import result_schema",
        "submissions.untrusted.findings -> benchmark.scoring.result_schema",
    ),
    (
        "benchmark/scoring/result_schema.py",
        "def later() -> None:\n    import divbench.command_line",
        "benchmark.scoring.result_schema -> divbench.command_line",
    ),
)


def test_imports_the_other_way_would_be_found(tmp_path: Path) -> None:
    for package in PACKAGES:
        shutil.copytree(
            ROOT / package, tmp_path / package, ignore=lambda _, names: [n for n in names if not is_code(n)]
        )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for module, wrong, _ in WRONG:
        with (tmp_path / module).open("a") as file:
            file.write(f"\n{wrong}\n")
    ended = lint_imports(tmp_path)
    assert ended.returncode == 1
    assert "Folders are the data flow: imports go one way BROKEN" in ended.stdout
    for _, _, reported in WRONG:
        assert reported in ended.stdout


def test_no_checkout_changes_line_ends() -> None:
    assert "* -text" in (ROOT / ".gitattributes").read_text(encoding="utf-8").splitlines()


def test_there_are_modules_to_look_at() -> None:
    assert {path.relative_to(ROOT).parts[0] for path in MODULES} == set(PACKAGES)


def test_modules_are_named_by_what_they_do() -> None:
    vague = [path for path in MODULES if VAGUE & {path.stem, *path.relative_to(ROOT).parts[:-1]}]
    assert vague == []


def test_each_module_can_be_read_in_one_go() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {path: lines for path, lines in lengths.items() if lines > MAX_LINES} == {}


def undocumented(node: ast.AST, name: str) -> Iterator[str]:
    """The public functions, classes and methods below a node that have no docstring."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) or child.name.startswith("_"):
            continue
        if ast.get_docstring(child) is None:
            yield f"{name}.{child.name}"
        if isinstance(child, ast.ClassDef):
            yield from undocumented(child, f"{name}.{child.name}")


def relative_imports(tree: ast.Module) -> list[int]:
    """The lines that import from `.` or `..`."""
    return [node.lineno for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level]


def test_what_is_public_is_documented_and_imports_are_absolute() -> None:
    problems = []
    for path in MODULES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if not ast.get_docstring(tree):
            problems.append(f"{path} has no docstring")
        problems += [f"{path}: {name} has no docstring" for name in undocumented(tree, path.stem)]
        problems += [f"{path}, line {line}: a relative import" for line in relative_imports(tree)]
    assert problems == []


def test_relative_imports_would_be_found() -> None:
    assert relative_imports(ast.parse("import os\nfrom os import path\nfrom . import a\nfrom ..b import c")) == [3, 4]


def test_what_is_not_documented_would_be_found() -> None:
    tree = ast.parse("class A:\n    '''A.'''\n    def f(self): ...\n    def _g(self): ...\ndef h(): ...")
    assert list(undocumented(tree, "m")) == ["m.A.f", "m.h"]


@pytest.mark.parametrize(
    "names",
    [
        pytest.param([source.name for source in DATASETS], id="DATASETS"),
        pytest.param([check.name for check in CHECKS], id="CHECKS"),
        pytest.param([metric.id for metric in METRICS], id="METRICS"),
        pytest.param([attack.name for attack in ATTACKS], id="ATTACKS"),
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
        found = [value for value in vars(module).values() if isinstance(value, Source) and value.configs]
        assert found, f"{path.name} has no Source"
        assert all(any(source is known for known in DATASETS) for source in found), f"{path.name} is not in DATASETS"


def modules_of(folder: str) -> Iterator[ModuleType]:
    for path in sorted((ROOT / folder).glob("*.py")):
        if path.stem != "__init__":
            yield import_module(f"{folder.replace('/', '.')}.{path.stem}")


def test_every_metric_of_a_file_is_in_the_list_of_metrics() -> None:
    for module in modules_of("benchmark/metrics"):
        for metric in getattr(module, "METRICS", ()):
            assert any(metric is known for known in METRICS), (
                f"{metric.id}: add the METRICS of {module.__name__} to those in benchmark/metrics/__init__.py"
            )


@pytest.mark.parametrize(
    ("words", "listed", "where"),
    [
        pytest.param(Reads, [each.name for each in METRIC_INPUTS], "METRIC_INPUTS of scoring/inputs.py", id="Reads"),
        pytest.param(Format, list(FORMATS), "FORMATS of importing/importers.py", id="Format"),
        pytest.param(ORIGINS, [*FORMATS, "derived"], "FORMATS of importing/importers.py", id="Origin"),
    ],
)
def test_every_word_of_a_choice_is_in_its_list(words: Any, listed: list[str], where: str) -> None:
    assert sorted(get_args(words)) == sorted(listed), f"every word has one line in {where}"


# What reads a whole file, or any JSON: a reader of formats has submissions.untrusted for both, which has limits.
READS = {"open", "read_text", "read_bytes", "loads", "load", "read_csv", "read_json", "read_parquet", "ParquetFile"}
IN_ITS_OWN_PROCESS = "inspect_reader.py"


def unlimited(tree: ast.Module) -> list[tuple[int, str]]:
    """The calls that read without limits, by line."""
    called = [(node.lineno, node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = [(line, getattr(each, "attr", getattr(each, "id", ""))) for line, each in called]
    return [(line, name) for line, name in names if name in READS]


def test_readers_of_formats_have_limits() -> None:
    for path in (ROOT / "submissions" / "importing").glob("*.py"):
        found = [] if path.name == IN_ITS_OWN_PROCESS else unlimited(ast.parse(path.read_text(encoding="utf-8")))
        assert not found, f"{path.name}, {found}: read untrusted files with submissions.untrusted, which has limits"


def test_a_reader_without_limits_would_be_found() -> None:
    tree = ast.parse("import json\nfor line in open(path):\n    json.loads(line)\npath.read_text()\nread_jsonl(path)")
    assert unlimited(tree) == [(2, "open"), (4, "read_text"), (3, "loads")]


def test_every_command_is_where_the_front_door_looks_for_it() -> None:
    for command in COMMANDS:
        assert callable(getattr(import_module(command.module), command.attribute)), command
        assert "command" in command.module.rpartition(".")[2], command
