"""The shape of the tree: files are small and named by what they do, no list lacks an item, and no circle of imports."""

import ast
from collections.abc import Iterator, Mapping
from graphlib import TopologicalSorter
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
from submissions.schema import Origin

ROOT = Path(__file__).parent.parent
ORIGINS = Origin.model_fields["format"].annotation  # what a manifest takes
PACKAGES = ("datasets_build", "submissions", "benchmark", "leaderboard", "divbench")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
VAGUE = {"utils", "util", "common", "manager", "base", "helpers", "helper", "misc", "tools"}
MAX_LINES = 620


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def test_modules_are_named_by_what_they_do_and_can_be_read_in_one_go() -> None:
    assert [path for path in MODULES if VAGUE & {path.stem, *path.relative_to(ROOT).parts[:-1]}] == []
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {path: lines for path, lines in lengths.items() if lines > MAX_LINES} == {}


def imports(path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    """Our modules that a module imports, at its top or later."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from ({name if name in known else node.module for name in names}) & known.keys()


def test_no_two_files_import_each_other() -> None:
    known = {name_of(path): path for path in MODULES}
    graph = {name: set(imports(path, known)) - {name} for name, path in known.items()}
    assert len(list(TopologicalSorter(graph).static_order())) == len(known)  # raises CycleError, with the circle


@pytest.mark.parametrize(
    "names",
    [
        pytest.param([source.name for source in DATASETS], id="DATASETS"),
        pytest.param([check.name for check in CHECKS], id="CHECKS"),
        pytest.param([metric.id for metric in METRICS], id="METRICS"),
        pytest.param([attack.name for attack in ATTACKS], id="ATTACKS"),
    ],
)
def test_items_of_a_list_have_names_of_their_own(names: list[str]) -> None:
    assert names
    assert len(set(names)) == len(names)


def modules_of(folder: str) -> Iterator[ModuleType]:
    for path in sorted((ROOT / folder).glob("*.py")):
        if path.stem != "__init__":
            yield import_module(f"{folder.replace('/', '.')}.{path.stem}")


def test_every_source_and_every_metric_is_in_its_list() -> None:
    for module in modules_of("datasets_build/sources"):
        for source in vars(module).values():
            if isinstance(source, Source) and source.configs:
                assert any(source is known for known in DATASETS), f"add {source.name} to DATASETS"
    for module in modules_of("benchmark/metrics"):
        for metric in getattr(module, "METRICS", ()):
            assert any(metric is known for known in METRICS), f"add the METRICS of {module.__name__} to METRICS"


@pytest.mark.parametrize(
    ("words", "listed", "where"),
    [
        pytest.param(Reads, [item.name for item in METRIC_INPUTS], "METRIC_INPUTS of scoring/inputs.py", id="Reads"),
        pytest.param(ORIGINS, [*get_args(Format), "derived"], "Format of choices.py", id="Origin"),
    ],
)
def test_every_word_of_a_choice_is_in_its_list(words: Any, listed: list[str], where: str) -> None:
    assert sorted(get_args(words)) == sorted(listed), f"every word has one line in {where}"


# Calls that read a whole file, or any JSON; submissions.untrusted has both with limits.
READS = {"open", "read_text", "read_bytes", "loads", "load", "read_csv", "read_json", "read_parquet", "ParquetFile"}
IN_ITS_OWN_PROCESS = "inspect_logs.py"


def test_readers_of_formats_have_limits() -> None:
    for path in (ROOT / "submissions" / "importing").glob("*.py"):
        calls = [node.func for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
        names = {getattr(call, "attr", getattr(call, "id", "")) for call in calls}
        assert path.name == IN_ITS_OWN_PROCESS or not READS & names, f"{path.name}: use submissions.untrusted"


def test_every_command_is_where_the_front_door_looks_for_it() -> None:
    for command in COMMANDS:
        assert callable(getattr(import_module(command.module), command.attribute)), command


def test_no_checkout_changes_line_ends() -> None:
    assert "* -text" in (ROOT / ".gitattributes").read_text(encoding="utf-8").splitlines()
