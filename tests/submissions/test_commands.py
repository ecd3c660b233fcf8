"""The commands `import`, `validate` and `metrics baseline`."""

import json
from pathlib import Path

import pytest

from divbench.core.errors import ConfigurationError
from submissions.choices import manifest_fields
from tests.cases import each
from tests.conftest import divbench, document, import_demo
from tests.submissions.conftest import change_manifest


def test_options_and_facts_are_in_the_manifest(demo_file: Path) -> None:
    facts = {
        "type": "trained method",
        "model_id": "org/model",
        "revision": "abc",
        "parameters": "7000000000",
        "open_weights": "true",
        "licence": "MIT",
        "top_k": "10",
        "top_p": "0.9",
        "max_tokens": "100",
        "seed": "-1",
        "contact": "me@example.org",
        "notes": "Über\nzwei=Zeilen",
        "link": "https://example.org",
    }
    options = [part for key, value in facts.items() for part in ("--about", f"{key}={value}")]
    options += ["--about", "link=https://example.com", "--mode", "in-context", "--temperature", "0.5", "--k", "2"]
    ended = import_demo(demo_file, *options)
    assert ended.returncode == 0, ended.stderr
    manifest = json.loads((demo_file.parent / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["system"] == {
        "type": "trained method",
        "model_id": "org/model",
        "revision": "abc",
        "parameters": 7_000_000_000,
        "open_weights": True,
        "licence": "MIT",
    }
    sampling = {name: value for name, value in manifest["generation"].items() if value not in (None, [])}
    numbers = {"temperature": 0.5, "top_k": 10, "top_p": 0.9, "max_tokens": 100, "seed": -1}
    assert sampling == {"k": 2, "mode": "in-context"} | numbers
    assert manifest["submitter"] == {
        "name": "me",
        "date": "2026-01-02",
        "contact": "me@example.org",
        "links": ["https://example.org", "https://example.com"],
    }
    assert manifest["notes"] == "Über\nzwei=Zeilen"


@each(
    ("facts", "message"),
    [
        (["seeed=1"], r"--about has no key 'seeed' \(did you mean seed\?"),
        (["seed=one"], r"--about seed=one: expected a whole number"),
        (["top_p"], r"--about top_p: expected a number \(give it as KEY=VALUE\)"),
        (["open_weights=yes"], "expected true or false"),
        (["date=yesterday"], "expected a date as 2026-01-31"),
        (["date=2999-01-01"], "date 2999-01-01 is in the future"),
        (["notes=a", "notes=b"], "--about notes is given twice"),
    ],
)
def test_wrong_facts_are_errors(facts: list[str], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        manifest_fields(facts)


def test_strict_validation_rejects_warnings(demo_file: Path) -> None:
    demo_file.write_text(demo_file.read_text().replace('"a 3"', '"[Blocked]"'))
    assert import_demo(demo_file).returncode == 0
    for options, accepted in (([], True), (["--strict"], False)):
        ended = divbench("validate", demo_file.parent / "out", *options, "--json")
        assert (ended.returncode, document(ended)["accepted"], document(ended)["warnings"]) == (
            not accepted,
            accepted,
            1,
        )


def test_a_rejected_folder_is_listed_and_exits_1(demo_file: Path) -> None:
    import_demo(demo_file)
    ended = divbench("validate", change_manifest(demo_file.parent / "out", more=1))
    assert ended.returncode == 1
    assert "unknown field" in ended.stdout
    assert "rejected" in ended.stderr


def test_a_baseline_is_made_from_a_submission(demo_file: Path) -> None:
    import_demo(demo_file)
    out = demo_file.parent / "repeated"
    ended = divbench("metrics", "baseline", demo_file.parent / "out", "--kind", "repeated", "--out", out, "--json")
    assert ended.returncode == 0, ended.stderr
    report = document(divbench("validate", out, "--json"))
    assert (report["id"], report["counts"]["repeated"]) == (document(ended)["id"], 24)


def test_names_of_fields_cannot_control_the_terminal(demo_file: Path) -> None:
    demo_file.write_text(demo_file.read_text().replace('"prompt_id"', r'"\u001b[31m[red]\ud800": 1, "prompt_id"'))
    ended = import_demo(demo_file)
    assert ended.returncode == 0, ended.stderr
    assert "\x1b" not in ended.stdout
    assert r"not used: \x1b[31m[red]\ud800" in ended.stdout


def test_a_mistake_in_every_row_is_shown_on_one_line(demo_file: Path) -> None:
    ended = import_demo(demo_file, "--k", "3")
    assert ended.returncode == 1
    words = " ".join(ended.stderr.split())
    assert "1 and 23 more" in words
    assert words.count("but k is") == 1
    assert "24 errors" in words
