"""A disk that fills up while a submission is written leaves what was there before, and nothing half-written."""

import json
import os
import random
import subprocess
from pathlib import Path

from tests.cases import each
from tests.forked import run_piped
from tests.submissions.conftest import jsonl

# A limit on the size of a file fails as a full disk does: in the midst of a write, with an error from the system.
# It would cut the compiled files of modules that are imported behind it, too. What is printed goes through pipes, which
# have no size.
CODE = """
import resource, sys
import submissions.importing.importers, submissions.gaming.baselines
from divbench.command_line import main
sys.dont_write_bytecode = True
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
main()
"""


def divbench(limit: int, *arguments: object) -> subprocess.CompletedProcess[str]:
    return run_piped(CODE.format(limit=limit), arguments, os.environ)


def demo_rows() -> list[dict[str, object]]:
    # Texts that do not compress well, so that each file has a known least size.
    rng = random.Random(0)  # noqa: S311
    return [{"prompt_id": f"demo-{i:02}", "responses": [rng.randbytes(90).hex() for _ in range(4)]} for i in range(24)]


@each("limit", [0, 2000], ids=["nothing fits", "some of it"])
def test_an_import_that_cannot_be_written_leaves_nothing(tmp_path: Path, limit: int) -> None:
    path = jsonl(tmp_path / "in.jsonl", demo_rows())
    out = tmp_path / "out"
    before = sorted(tmp_path.rglob("*"))
    options = ("--from", "jsonl", "--suite", "demo", "--name", "n", "--submitter", "me", "--out", out, "--json")
    ended = divbench(limit, "import", path, *options)
    assert ended.returncode == 2
    assert "File too large" in json.loads(ended.stdout)["error"]["message"]
    assert "Traceback" not in ended.stderr
    assert sorted(tmp_path.rglob("*")) == before
