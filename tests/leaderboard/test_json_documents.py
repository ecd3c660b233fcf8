"""The fields that docs/questions.md promises of `--json` are those of the commands' documents."""

import json
import re
from pathlib import Path
from typing import Any

from benchmark.analysis.metaeval.labelled import write_sets
from tests.conftest import divbench, document

_PAGE = Path(__file__).parents[2] / "docs" / "questions.md"


def _promised() -> dict[str, set[str]]:
    rows = re.findall(r"^\| `divbench ([a-z ]+)` \| (.*) \|$", _PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return {command: set(re.findall(r"`([a-z_]+)`", fields)) for command, fields in rows}


def _names(value: Any) -> set[str]:
    """Names of the fields of a document, at any depth."""
    if isinstance(value, dict):
        return set(value).union(*map(_names, value.values()))
    return set[str]().union(*map(_names, value)) if isinstance(value, list) else set()


def test_the_page_names_the_fields_that_documents_have(tmp_path: Path) -> None:
    file, labelled, store, results = (tmp_path / name for name in ("r.jsonl", "sets.parquet", "store", "results"))
    rows = [{"prompt": f"Name {w}.", "responses": [f"{w} one", f"the {w}"]} for w in ("a pet", "a city")]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    sets = [
        {"set_id": f"{i}", "context": f"c{i % 6}", "responses": ["a b", "a c", "b"], "label": i % 3, "label_name": "t"}
        for i in range(18)
    ]
    write_sets(labelled, sets, {})
    about = ("--suite", "own", "--submitter", "me", "--mode", "resample", "--temperature", 1)
    one, two = tmp_path / "one", tmp_path / "two"
    lexical = ("--profile", "lexical", "--metric", "distinct_n")
    calls: dict[str, tuple[object, ...]] = {
        "import": (file, *about, "--name", "one", "--out", one),
        "validate": (one,),
        "score": (one, *lexical, "--out", results),
        "quick": (file, "--suite", "own", "--k", 2, "--out", tmp_path / "quick"),
        "board show": ("--results", results),
        "submit": (one, "--to", store),
        "submissions list": ("--store", store),
        "contrast": (one, two, *lexical[:2]),
        "metrics metaeval": (labelled, "--metric", "distinct_n"),
    }
    promised = _promised()
    assert promised.keys() == calls.keys()
    found = {}
    for command, arguments in calls.items():
        if command == "contrast":
            other = divbench("import", file, *about, "--name", "two", "--out", two, "--json")
            assert other.returncode == 0, other.stderr
        ended = divbench(*command.split(), *arguments, "--json")
        assert ended.returncode == 0, (command, ended.stderr)
        found[command] = document(ended)
    for command, fields in promised.items():
        assert fields <= _names(found[command]), command
    assert found["score"].keys() == {"results"}
