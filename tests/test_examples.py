"""The code in README, the tutorials and the page of the Python API runs as it stands there.

Commands run on the bundled suite and the lexical profile in place of the large ones. Those that install, serve or name
somebody's repository do not run here; test_readme.py checks their options.
"""

import json
import re
import shlex
import shutil
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from datasets_build.load import load_suite
from submissions.gaming.baselines import write_demo_submissions
from tests.benchmark.helpers import ROOT
from tests.conftest import divbench

PAGES = [
    "README.md",
    "docs/python.md",
    *sorted(f"docs/tutorials/{p.name}" for p in (ROOT / "docs/tutorials").glob("*.md")),
]
ELSEWHERE = re.compile(r"ORG/|^(make|pip|cat) |board serve|@software")
INSTEAD = {
    "noveltybench-curated": "demo",
    "quick responses.jsonl": "quick responses.jsonl --suite demo --no-board --k 3",
    "import responses.jsonl": "import responses.jsonl --suite demo",
    "divbench score": "divbench score --profile lexical",
    "divbench contrast": "divbench contrast --profile lexical",
}
MINE = "def spread(responses):\n    return float(len(set(' '.join(responses).split())))\n"


def blocks(page: str) -> list[str]:
    """The indented blocks of code."""
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    found = re.findall(r"(?<=\n\n)((?: {4}.*\n|\n(?= {4}))+)", text + "\n")
    return [textwrap.dedent(block).strip("\n") for block in found]


def is_shell(block: str) -> bool:
    return block.split(maxsplit=1)[0] in ("divbench", "make", "pip", "python")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what the pages speak of: responses, submissions, a metric of one's own."""
    monkeypatch.chdir(tmp_path)
    rows = [
        {"prompt_id": p.prompt_id, "responses": [f"A cat. {n}" for n in range(10)]} for p in load_suite("demo").prompts
    ]
    Path("responses.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for folder, name in zip(write_demo_submissions(tmp_path / "demo")[:2], ("mine", "other"), strict=True):
        (tmp_path / "subs").mkdir(exist_ok=True)
        folder.rename(tmp_path / "subs" / name)
    Path("mine.py").write_text(MINE)
    return tmp_path


def here(line: str) -> str:
    """A command as it runs here."""
    for said, instead in INSTEAD.items():
        line = line.replace(said, instead)
    return line


def test_commands_run(place: Path, mirror: Path) -> None:
    shell = [block.replace("\\\n", " ") for page in PAGES for block in blocks(page) if is_shell(block)]
    lines = [line for block in shell for line in block.splitlines() if not ELSEWHERE.search(line)]
    shutil.rmtree(place / "subs" / "mine")  # which `import` makes, though a page may read it before it says how
    commands = {tuple(shlex.split(here(line), comments=True)): line for line in lines}  # each once
    for (program, *words), line in sorted(commands.items(), key=lambda each: "import" not in each[0]):
        assert program == "divbench", line
        ended = divbench(*words, DIVBENCH_MIRROR=str(mirror))
        assert ended.returncode == 0, f"{line}\n{ended.stderr}"


@pytest.mark.parametrize("page", PAGES)
def test_python_runs(page: str, place: Path, mirror: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import divbench as db

    sets = {p.prompt: ["A cat.", "A dog!", "No."] for p in load_suite("demo").prompts[:3]}
    known: dict[str, Any] = {"db": db, "mine": sets, "theirs": {prompt: ["Yes."] * 3 for prompt in sets}}
    known["prompts"] = list(sets)
    for block in blocks(page):
        if is_shell(block) or block.startswith(("{", "@")) or "trainer" in block:
            continue
        exec(compile(block, page, "exec"), known)  # noqa: S102 - our own pages
    printed = capsys.readouterr().out
    fenced = re.findall(r"^```\n(\d.*?)^```$", (ROOT / page).read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for output in fenced:
        assert output in printed


if __name__ == "__main__":
    for each in PAGES:
        sys.stdout.write(f"{each}\n" + "\n---\n".join(blocks(each)) + "\n\n")
