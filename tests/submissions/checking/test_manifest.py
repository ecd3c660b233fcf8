"""A manifest has the known fields and no other, each of its type; names show as what they are."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from submissions.schema import Manifest
from submissions.storage.submission_folders import MAX_MANIFEST_BYTES
from tests.cases import each
from tests.conftest import toy_manifest, write_toy
from tests.submissions.conftest import change_manifest, check

GOOD: dict[str, Any] = toy_manifest().model_dump(mode="json")


def changed(**values: Any) -> str:
    """The good manifest as JSON with values in place; `part__field` sets a field of a part."""
    made = json.loads(json.dumps(GOOD))
    for name, value in values.items():
        part, _, field = name.rpartition("__")
        (made[part] if part else made)[field] = value
    return json.dumps(made)


@each(
    "name",
    ["gpt-4o", "Llama 3 (8B)", "Übergröße", "大模型", "نموذج", "मॉडल", "e\u0301", "🙂"],
)
def test_names_in_any_script_are_taken(name: str) -> None:
    assert Manifest.model_validate_json(changed(name=name)).name == name


@each(
    "letter",
    [
        *("\x00", "\x1b", "\n", "\t", "\x7f", "\x9b"),  # control
        *("\u202e", "\u202a", "\u2066", "\u2069", "\u200e", "\u061c"),  # direction
        *("\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u180e", "\ufff9"),  # zero width
        *("\u2028", "\u2029", "\u0085", "\u00a0", "\u3000"),  # white space that is no space
        *("\U000e0041", "\U000e0001"),  # tags, with which text is smuggled
        *("\u034f", "\u115f", "\u1160", "\u3164", "\uffa0", "\u2800"),  # letters and marks that show nothing
        *("\ue000", "\U000f0000", "\uffff", "\u0378"),  # private or unassigned
    ],
    ids=lambda letter: f"U+{ord(letter):04X}",
)
@each("field", ["name", "submitter__name", "system__model_id"])
def test_a_name_with_a_letter_that_does_not_show_is_rejected(field: str, letter: str) -> None:
    with pytest.raises(ValidationError, match="has a control, invisible or unassigned character"):
        Manifest.model_validate_json(changed(**{field: f"gpt{letter}4"}))


@each(
    ("values", "field", "message"),
    [
        ({"more": 1}, "more", "unknown field"),
        ({"name": 5}, "name", "valid string"),
        ({"name": "x" * 101}, "name", "at most 100 characters"),
        ({"suite": "../etc"}, "suite", "should match pattern"),
        ({"suite": "no-such-suite"}, "suite", "there is no suite 'no-such-suite'"),
        ({"schema_version": 2}, "schema_version", "Input should be 1"),
        ({"schema_version": True}, "schema_version", "must be a number"),
        ({"submitter__date": "1949-12-31"}, "submitter.date", "Input should be greater than or equal to 1950-01-01"),
        ({"submitter__links": ["https://me:key@a.org/"]}, "submitter.links.0", "has a user name or a password"),
        ({"system": None}, "system", "object"),
        ({"system__type": "llm"}, "system.type", "'human', 'model', 'base model'"),
        ({"system__parameters": 0}, "system.parameters", "greater than 0"),
        ({"system__parameters": 10**400}, "system.parameters", "less than 10000000000000000"),
        ({"generation__temperature": 1000}, "generation.temperature", "less than 1000"),
        ({"generation__seed": 2**128}, "generation.seed", f"less than {2**128}"),
        ({"system__parameters": "7B"}, "system.parameters", "valid integer"),
        ({"system__open_weights": "yes"}, "system.open_weights", "valid boolean"),
        ({"generation__k": 0}, "generation.k", "greater than or equal to 1"),
        ({"generation__k": 1001}, "generation.k", "less than or equal to 1000"),
        ({"generation__k": 3.0}, "generation.k", "valid integer"),
        ({"generation__temperature": -0.5}, "generation.temperature", "greater than or equal to 0"),
        ({"generation__top_p": 0}, "generation.top_p", "greater than 0"),
        ({"generation__mode": "greedy"}, "generation.mode", "'resample', 'paraphrase'"),
        ({"submitter__date": "yesterday"}, "submitter.date", "date"),
        ({"submitter__links": ["javascript:alert(1)"]}, "submitter.links.0", "should match pattern"),
        ({"submitter__links": ["https://a.b"] * 11}, "submitter.links", "at most 10 items"),
        ({"notes": "x" * 2001}, "notes", "at most 2000 characters"),
        (
            {"origin": {"format": "docx"}},
            "origin.format",
            "'lm-eval', 'openai-batch', 'inspect' or 'derived'",
        ),
        ({"origin": {"format": "jsonl", "sha256": "abc"}}, "origin.sha256", "should match pattern"),
    ],
    ids=str,
)
def test_a_wrong_field_is_named(tmp_path: Path, values: dict[str, Any], field: str, message: str) -> None:
    folder = write_toy(tmp_path / "bad")
    (folder / "manifest.json").write_text(changed(**values))
    report = check(folder)
    assert report.submission is None
    (problem,) = report.findings.problems
    assert (problem.check, problem.file, problem.row, problem.field) == ("manifest", "manifest.json", None, field)
    assert message in problem.message
    assert problem.hint


def test_all_wrong_fields_are_named_at_once(tmp_path: Path) -> None:
    folder = change_manifest(write_toy(tmp_path / "bad"), more=1, name=" ", generation={"k": 3, "seed": "x"})
    problems = check(folder).findings.problems
    assert sorted(p.field for p in problems) == ["generation.seed", "more", "name"]
    assert [p.message for p in problems if p.field == "name"] == ["must not be blank, or begin or end with white space"]


@each(
    ("content", "kind", "message"),
    [
        (b"", "file", "the file is empty"),
        (b'{"name": "x"', "json", "not JSON: "),
        (b"[]", "manifest", "object"),
        (b'{"name": NaN}', "json", "not JSON: NaN is not a JSON value"),
        (changed(generation__temperature="@").replace('"@"', "1e999").encode(), "manifest", "finite number"),
        (b'{"name": "a", "name": "b"}', "json", "the key 'name' is repeated"),
        (b"[" * 60_000, "json", "nested more than 8 deep"),
        ('{"name": "é"}'.encode("latin-1"), "encoding", "not UTF-8 at byte 10"),
        (b"\xef\xbb\xbf" + changed().encode(), "json", "BOM"),
        (changed(name="\ud800").encode(), "manifest", "Invalid JSON: unexpected end of hex escape"),
        (
            changed(generation__seed=0).replace('"seed": 0', '"seed": ' + "9" * 5000).encode(),
            "json",
            "Exceeds the limit",
        ),
        (b" " * (MAX_MANIFEST_BYTES + 1), "sizes", "65,537 bytes"),
    ],
    ids=lambda value: repr(value[:24]) if isinstance(value, bytes) else "",
)
def test_a_file_that_is_no_manifest_is_rejected(tmp_path: Path, content: bytes, kind: str, message: str) -> None:
    folder = write_toy(tmp_path / "bad")
    (folder / "manifest.json").write_bytes(content)
    report = check(folder)
    assert report.submission is None
    assert {(p.check, p.file) for p in report.findings.problems} == {(kind, "manifest.json")}
    assert any(message in p.message for p in report.findings.problems)


def test_a_manifest_that_is_not_there_is_rejected(tmp_path: Path) -> None:
    folder = write_toy(tmp_path / "bad")
    (folder / "manifest.json").rename(tmp_path / "elsewhere.json")
    assert check(folder).findings.problems[0].message == "manifest.json is missing or is not a regular file"


def test_numbers_that_people_write_are_taken() -> None:
    drawn = Manifest.model_validate_json(changed(generation__temperature=1, generation__seed=-(2**63) * 4)).generation
    assert (drawn.temperature, drawn.seed) == (1.0, -(2**65))
