"""`divbench import` from the outside."""

import json
from pathlib import Path

from tests.conftest import divbench, document, import_demo
from tests.submissions.conftest import change_manifest


def test_all_options_go_into_the_manifest(demo_file: Path) -> None:
    options = {
        "--type": "trained method",
        "--model-id": "org/model",
        "--revision": "abc",
        "--parameters": "7000000000",
        "--licence": "MIT",
        "--mode": "in-context",
        "--temperature": "0.5",
        "--top-k": "10",
        "--top-p": "0.9",
        "--max-tokens": "100",
        "--seed": "-1",
        "--k": "2",
        "--contact": "me@example.org",
        "--link": "https://example.org",
        "--notes": "Über\nzwei Zeilen",
    }
    flat = [part for pair in options.items() for part in pair]
    assert import_demo(demo_file, *flat, "--link", "https://example.com", "--open-weights").returncode == 0
    manifest = json.loads((demo_file.parent / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["system"] == {
        "type": "trained method",
        "model_id": "org/model",
        "revision": "abc",
        "parameters": 7_000_000_000,
        "open_weights": True,
        "licence": "MIT",
    }
    drawn = {"k": 2, "mode": "in-context", "temperature": 0.5, "top_k": 10, "top_p": 0.9, "max_tokens": 100, "seed": -1}
    assert {name: value for name, value in manifest["generation"].items() if value not in (None, [])} == drawn
    assert manifest["submitter"] == {
        "name": "me",
        "date": "2026-01-02",
        "contact": "me@example.org",
        "links": ["https://example.org", "https://example.com"],
    }
    assert (manifest["name"], manifest["notes"]) == ("mine", "Über\nzwei Zeilen")


def test_responses_are_not_dated_in_the_future(demo_file: Path) -> None:
    ended = import_demo(demo_file, "--date", "2999-01-01")
    assert ended.returncode == 2
    assert "--date 2999-01-01 is in the future" in ended.stderr
    assert not (demo_file.parent / "out").exists()


def test_strict_rejects_for_warnings(demo_file: Path) -> None:
    lines = demo_file.read_text().replace('"a 3"', '"[Blocked]"')
    demo_file.write_text(lines)
    assert import_demo(demo_file).returncode == 0
    folder = demo_file.parent / "out"
    ended = divbench("validate", folder, "--json")
    assert (ended.returncode, document(ended)["accepted"], document(ended)["warnings"]) == (0, True, 1)
    ended = divbench("validate", folder, "--strict", "--json")
    assert (ended.returncode, document(ended)["accepted"], document(ended)["warnings"]) == (1, False, 1)


def test_a_baseline_is_made_from_a_submission(demo_file: Path) -> None:
    import_demo(demo_file)
    out = demo_file.parent / "repeated"
    ended = divbench(
        "metrics", "baseline", demo_file.parent / "out", "--kind", "repeated", "--out", out, "--json"
    )  # fmt: skip
    assert ended.returncode == 0
    found = document(divbench("validate", out, "--json"))
    assert (found["id"], found["counts"]["repeated"]) == (document(ended)["id"], 24)


def test_names_of_fields_do_not_drive_the_terminal(demo_file: Path) -> None:
    demo_file.write_text(demo_file.read_text().replace('"prompt_id"', r'"\u001b[31m[red]\ud800": 1, "prompt_id"'))
    ended = import_demo(demo_file)
    assert ended.returncode == 0, ended.stderr
    assert "\x1b" not in ended.stdout
    assert r"not used: \x1b[31m[red]\ud800" in ended.stdout


def test_json_can_be_written_whatever_the_encoding_of_stdout(demo_file: Path) -> None:
    # Half a surrogate pair stands in a file as an escape; no encoding has it.
    demo_file.write_text(demo_file.read_text().replace('"prompt_id"', r'"na\u00efve \ud800": 1, "prompt_id"'))
    ended = import_demo(demo_file, "--json")
    assert ended.returncode == 0, ended.stderr
    assert document(ended)["fields_not_used"] == ["naïve \ud800"]


def test_a_refused_folder_exits_1(tmp_path: Path, demo_file: Path) -> None:
    import_demo(demo_file)
    folder = change_manifest(tmp_path / "out", more=1, generation={"k": 3})
    ended = divbench("validate", folder, "--json")
    assert ended.returncode == 1
    made = document(ended)
    assert (made["accepted"], made["id"], made["errors"]) == (False, None, 1)
    assert made["problems"][0]["field"] == "more"
    ended = divbench("validate", folder)
    assert ended.returncode == 1
    assert "unknown field" in ended.stdout
    assert "rejected" in ended.stderr


def test_options_that_are_missing_are_named_together(demo_file: Path) -> None:
    ended = divbench("import", demo_file)
    assert ended.returncode == 2
    assert "missing options: --out, --name, --submitter" in ended.stderr


def test_a_mistake_in_every_row_is_told_on_one_line(demo_file: Path) -> None:
    ended = import_demo(demo_file, "--k", "3")
    assert ended.returncode == 1
    told = " ".join(ended.stderr.split())
    assert "1 and 23 more" in told
    assert told.count("but k is") == 1
    assert "24 errors" in told
