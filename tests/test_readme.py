"""README says what the code does: its table of metrics, its map, its commands."""

import re
import sys
from pathlib import Path

import pytest

from benchmark.metrics import METRICS
from datasets_build.sources import DATASETS
from tests.conftest import divbench

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def metrics_table() -> str:
    lines = ["| metric | what it is | reads | more diverse | bounds | source |", "|---|---|---|---|---|---|"]
    for m in METRICS:
        low, high = ("" if bound is None else f"{bound:g}" for bound in m.bounds)
        way = {1: "higher", 0: "neither", -1: "lower"}[m.direction]
        lines.append(f"| `{m.id}` v{m.version} | {m.title} | {m.reads} | {way} | {low} … {high} | {m.paper} |")
    return "\n".join(lines)


def test_the_table_of_metrics_is_that_of_the_code() -> None:
    found = README.split("<!-- metrics -->\n")[1].split("\n<!-- /metrics -->")[0]
    assert found == metrics_table(), "paste the table that this test compares with: python -m tests.test_readme"


def datasets_table() -> str:
    lines = ["| config | rows | what | from | licence |", "|---|---|---|---|---|"]
    for source in DATASETS:
        for config in source.configs:
            rows = sum(split.count for split in config.splits)
            lines.append(
                f"| `{config.name}` | {rows:,} | {config.about} | {source.paper or 'ours'} | {source.licence} |"
            )
    return "\n".join(lines)


def test_the_table_of_datasets_is_that_of_the_code() -> None:
    found = README.split("<!-- datasets -->\n")[1].split("\n<!-- /datasets -->")[0]
    assert found == datasets_table(), "paste the table that this test compares with: python -m tests.test_readme"


@pytest.mark.parametrize("folder", ["datasets_build", "submissions", "benchmark", "leaderboard"])
def test_the_map_names_every_module(folder: str) -> None:
    section = README.split("## Map")[1].split("## A submission")[0]
    modules = {path.name for path in (ROOT / folder).glob("*.py")} - {"__init__.py", "commands.py", "printing.py"}
    part = re.split(r"\n(?=\S)", section.split(f"\n{folder}/")[1])[0]
    assert {name for name in modules if not re.search(rf"\b{name}\b", part)} == set()


def test_every_command_that_readme_names_exists() -> None:
    named = sorted(set(re.findall(r"`divbench ((?:[a-z]+ )?[a-z][a-z-]*)\b", README)))
    assert len(named) > 6
    for words in (each.split() for each in named):
        run = divbench(*words, "--help")
        assert run.returncode == 0, (words, run.stderr)


if __name__ == "__main__":
    sys.stdout.write(f"{metrics_table()}\n\n{datasets_table()}\n")
