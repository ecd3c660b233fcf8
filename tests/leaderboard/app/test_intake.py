"""The intake: strangers' files taken aside, checked in a process of their own, handed in."""

import csv
import json
import os
import shutil
import stat
import threading
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from divbench.core.errors import ConfigurationError
from leaderboard.app import intake
from leaderboard.app.intake import (
    DOWNLOAD,
    MAX_PASTED_BYTES,
    Busy,
    Checked,
    Intake,
    accepted_text,
    error_text,
    form,
    receipt_text,
    rejected_text,
    take,
)
from leaderboard.app.limits import MAX_BODY_BYTES
from submissions.checking.validate import open_submission
from submissions.gaming.baselines import write_demo_submissions
from submissions.storage.file_store import FolderStore, StoreFault
from submissions.untrusted.process import Limits
from submissions.work_queue.operations import listing
from submissions.work_queue.schema import Identity, Quota, QuotaUsed
from tests.leaderboard.injections import INJECTIONS

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ANN = Identity(name="ann")
KNOWN: Mapping[str, Any] = {
    "name": "mine",
    "suite": "demo",
    "system.type": "model",
    "submitter.name": "ann",
    "submitter.date": "2026-01-02",
}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_demo_submissions(tmp_path_factory.mktemp("demo"))


@pytest.fixture
def given() -> Intake:
    return Intake()


def files_of(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def lines(k: int = 2, prompts: int = 24) -> str:
    rows = [{"prompt_id": f"demo-{i:02}", "responses": [f"{j} of {i}" for j in range(k)]} for i in range(prompts)]
    return "".join(json.dumps(row) + "\n" for row in rows)


def known(**changed: Any) -> dict[str, Any]:
    made, faults = form({**KNOWN, **changed})
    assert faults is None
    return made


def spooled(given: Intake) -> list[Path]:
    return list(given._spool.path().iterdir())


def test_a_good_folder_is_accepted_handed_in_and_leaves_nothing_behind(
    given: Intake, demo: list[Path], tmp_path: Path
) -> None:
    found = given.check_files(files_of(demo[0]))
    assert found.token is not None
    assert found.manifest is not None
    assert found.manifest.name == "varied"
    assert found.table().texts == ()
    store = FolderStore(tmp_path / "store")
    receipt = given.submit_kept(found.token, store, ANN, NOW)
    assert receipt.new
    [state] = listing(store).states
    assert (state.submission_id, state.submitter) == (found.report["id"], ANN)
    there = store.read(store.head(), f"submissions/{state.submission_id}/generations.parquet", 2**30)
    assert there == (demo[0] / "generations.parquet").read_bytes()
    assert spooled(given) == []
    with pytest.raises(ConfigurationError, match="has expired"):
        given.submit_kept(found.token, store, ANN, NOW)


def test_the_spool_is_for_this_process_alone_and_made_anew_if_old_temporary_files_are_deleted(
    given: Intake, demo: list[Path]
) -> None:
    shutil.rmtree(given._spool.path())
    given.check_files(files_of(demo[0]))
    assert stat.S_IMODE(given._spool.path().stat().st_mode) == 0o700
    assert len(spooled(given)) == 1


def test_a_rejected_folder_lists_its_problems_by_row_and_is_not_kept(
    given: Intake, demo: list[Path], tmp_path: Path
) -> None:
    folder = tmp_path / "bad"
    shutil.copytree(demo[0], folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["generation"]["k"] = 9
    manifest["extra"] = 1
    (folder / "manifest.json").write_text(json.dumps(manifest))
    found = given.check_files(files_of(folder))
    assert found.token is None
    assert [
        "error",
        "manifest.json",
        "",
        "extra",
        "unknown field",
        "remove it: a manifest has only the known fields",
    ] in list(map(list, found.table().texts))
    assert rejected_text(found).startswith("Rejected: 1 error,")
    assert spooled(given) == []


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([], [("manifest.json", "is missing"), ("generations.parquet", "is missing")]),
        (["manifest.json", "generations.parquet", "x.exe"], [("x.exe", "is none of manifest.json")]),
        (["manifest.json", "manifest.json", "generations.parquet"], [("manifest.json", "was given twice")]),
        (["manifest.json"], [("generations.parquet", "is missing")]),
    ],
)
def test_files_must_be_those_of_a_folder(
    given: Intake, demo: list[Path], tmp_path: Path, names: list[str], said: list[tuple[str, str]]
) -> None:
    uploads = []
    for place, name in enumerate(names):
        path = tmp_path / str(place) / name
        path.parent.mkdir()
        source = demo[0] / name
        path.write_bytes(source.read_bytes() if source.exists() else b"MZ")
        uploads.append(path)
    found = given.check_files(uploads)
    assert found.token is None
    assert [(row[1], row[4]) for row in found.table().texts if row[4].startswith(said[0][1])] == [
        (name, row[4]) for (name, text), row in zip(said, found.table().texts, strict=True) if row[4].startswith(text)
    ]


def test_a_file_is_taken_by_its_bytes_and_never_through_a_link(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"x" * 11)
    link = tmp_path / "manifest.json"
    link.symlink_to(secret)
    assert "was not uploaded" in getattr(take(link, tmp_path / "a", 100), "message", "")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "is not a regular file" in getattr(take(pipe, tmp_path / "b", 100), "message", "")
    problem = take(secret, tmp_path / "c", 10)
    assert problem is not None
    assert (problem.file, problem.message) == ("secret", "has 11 bytes")
    assert not any((tmp_path / name).exists() for name in "abc")
    assert take(secret, tmp_path / "d", 11) is None
    assert (tmp_path / "d").read_bytes() == secret.read_bytes()


def test_json_lines_are_imported_and_can_be_handed_in(given: Intake, tmp_path: Path) -> None:
    upload = tmp_path / "<b>my answers.exe"  # whatever a client calls it
    upload.write_text(lines(3))
    found = given.check_file(
        upload, "jsonl", known(**{"submitter.links": "https://example.org/a\nhttps://example.org/b"})
    )
    assert found.token is not None
    assert found.manifest is not None
    assert found.manifest.generation.k == 3
    assert len(found.manifest.submitter.links) == 2
    assert "24 prompts, 72 responses (k = 3)" in accepted_text(found, "the store", login=False)
    assert given.submit_kept(found.token, FolderStore(tmp_path / "store"), ANN, NOW).new
    assert spooled(given) == []


def test_pasted_text_is_the_same_submission_as_its_file(given: Intake, tmp_path: Path) -> None:
    upload = tmp_path / "generations.jsonl"
    upload.write_text(lines())
    filed, pasted = given.check_file(upload, "jsonl", known()), given.check_text(lines(), known())
    assert pasted.report["id"] == filed.report["id"] is not None


def test_a_pasted_submission_can_be_taken_home(given: Intake, tmp_path: Path) -> None:
    found = given.check_text(lines(), known())
    zipped = given.zipped(found.token)
    assert zipped is not None
    with ZipFile(zipped) as archive:
        archive.extractall(tmp_path)
    assert open_submission(tmp_path / DOWNLOAD)[0].id == found.report["id"]
    alone = accepted_text(found, None, login=False)
    assert (f"divbench score {DOWNLOAD} --out results" in alone, "--to" in alone) == (True, False)
    store = "hf://datasets/some/store"
    assert f"divbench submit {DOWNLOAD} --to {store}" in accepted_text(found, store, login=False)
    given.forget(found.token)
    assert (given.zipped(found.token), spooled(given)) == (None, [])


def test_problems_of_a_file_name_its_rows_and_are_called_as_the_client_calls_it(given: Intake, tmp_path: Path) -> None:
    upload = tmp_path / "my answers.jsonl"
    rows = lines().splitlines()
    rows[2] = '{"prompt_id": "demo-02", "responses": ["a", 7]}'
    rows[4] = "{broken"
    upload.write_text("\n".join(rows))
    found = given.check_file(upload, "jsonl", known())
    assert [list(row[:4]) for row in found.table().texts] == [
        ["error", "my answers.jsonl", "5", ""],
        ["error", "my answers.jsonl", "3", "responses[1]"],
    ]


def test_csv_rows_are_numbered_as_in_the_file(given: Intake, tmp_path: Path) -> None:
    def written(*changed: tuple[int, list[str]]) -> Checked:
        path = tmp_path / "answers.csv"
        table = [["prompt_id", "response", "temperature", "mood"]]
        table += [[f"demo-{i:02}", f"{j}, of\n{i}", "0.5", "good"] for i in range(24) for j in range(2)]
        for number, cells in changed:
            table[number - 1] = cells
        with path.open("w", newline="") as file:
            csv.writer(file).writerows(table)
        return given.check_file(path, "csv", known())

    good = written()
    assert good.manifest is not None
    assert (good.manifest.generation.temperature, good.manifest.generation.k) == (0.5, 2)
    assert good.report["passed_over"] == ["mood"]
    bad = written((4, ["demo-01", "x", "warm", ""]), (7, ["demo-02", "one cell less", ""]))
    assert [list(row[1:4]) for row in bad.table().texts] == [
        ["answers.csv", "7", ""],
        ["answers.csv", "4", "temperature"],
    ]
    assert written((1, ["id", "text", "temperature", "mood"])).manifest is not None
    assert [row[3] for row in written((1, ["of", "words", "temperature", "mood"])).table().texts] == ["prompt_id"]


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "  "}, "name"),
        ({"name": "a\u202eb"}, "name"),
        ({"suite": "../demo"}, "suite"),
        ({"suite": None}, "suite"),
        ({"system.type": "god"}, "system.type"),
        ({"submitter.date": "yesterday"}, "submitter.date"),
        ({"submitter.links": "javascript:alert(1)"}, "submitter.links.0"),
        ({"system.parameters": "7.5"}, "system.parameters"),
        ({"generation.top_p": "2"}, "generation.top_p"),
        ({"generation.top_k": "1.5"}, "generation.top_k"),
        ({"generation.temperature": "warm"}, "generation.temperature"),
        ({"system.licence": {"a": 1}}, "system.licence"),
        ({"notes": "x" * 2001}, "notes"),
    ],
)
def test_a_form_is_wrong_by_field(changed: dict[str, Any], field: str) -> None:
    _, faults = form({**KNOWN, **changed})
    assert faults is not None
    assert [list(row[1:4]) for row in faults.table().texts] == [["form", "", field]]


def test_numbers_of_a_form_are_texts_and_blank_ones_unknown() -> None:
    numbers = {"system.parameters": " 7000000000", "generation.temperature": "0.7", "generation.seed": "-3"}
    found, faults = form({**KNOWN, **numbers, "generation.top_k": "", "generation.top_p": " "})
    assert faults is None
    assert found["system"]["parameters"] == 7 * 10**9
    assert found["generation"] == {"temperature": 0.7, "seed": -3}


@pytest.mark.parametrize("value", ["nan", "inf", "half \ud800"])
def test_what_cannot_be_written_down_is_no_form(value: Any) -> None:
    _, faults = form({**KNOWN, "generation.temperature": value})
    assert faults is not None
    assert "has an invalid value" in faults.table().texts[0][4]


def test_all_that_is_wrong_with_a_form_is_told_at_once() -> None:
    _, faults = form({"system.open_weights": "open", "generation.temperature": "-1"})
    assert faults is not None
    assert {row[3] for row in faults.table().texts} == {"name", "suite", "system.type", "submitter.name"} | {
        "generation.temperature"
    }


@pytest.mark.parametrize(("text", "said"), [(" \n", "is empty"), ("x" * 500_001, "has 500,001 bytes")])
def test_pasted_text_has_a_size(given: Intake, text: str, said: str) -> None:
    found = given.check_text(text, known())
    assert (found.token, found.table().texts[0][4]) == (None, said)


def test_pasted_text_of_the_largest_size_fits_into_a_call() -> None:
    line = '{"id":"","response":""}\n'  # as JSON in JSON: hardly a line has a larger share of quotation marks
    text = line * (MAX_PASTED_BYTES // len(line))
    assert len(json.dumps({"data": [text]})) < MAX_BODY_BYTES


def test_hostile_values_are_lines_of_text(given: Intake) -> None:
    rows = [{"prompt_id": f"demo-{i:02}", "responses": ["a", "b"], text: 1} for i, text in enumerate(INJECTIONS[:24])]
    rows += [{"prompt_id": text, "responses": [1]} for text in INJECTIONS]
    found = given.check_text("".join(json.dumps(row) + "\n" for row in rows), known())
    assert found.token is None
    assert all(cell.isprintable() for row in found.table().texts for cell in row)


@pytest.mark.parametrize("limits", [Limits(2**27, 120), Limits(2**32, 0.01)])
def test_a_check_that_takes_too_much_is_a_problem(monkeypatch: pytest.MonkeyPatch, limits: Limits) -> None:
    monkeypatch.setattr(intake, "LIMITS", limits)
    found = Intake().check_text(lines(), known())
    assert found.token is None
    assert len(found.table().texts) == 1
    assert found.report["by_check"] == {"limits": 1}
    assert str(Path.home()) not in found.table().texts[0][4]


def test_an_error_for_a_page_has_its_hint() -> None:
    assert error_text(ConfigurationError("an answer is missing", "answer both questions")) == (
        "an answer is missing (answer both questions)"
    )


def test_who_comes_when_all_places_are_taken_is_told_to_come_again(demo: list[Path]) -> None:
    given = Intake(at_once=1, patience=0.01)
    inside, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        with given._turn():
            inside.set()
            go_on.wait()

    other = threading.Thread(target=hold)
    other.start()
    inside.wait()
    with pytest.raises(Busy):
        given.check_files(files_of(demo[0]))
    go_on.set()
    other.join()
    assert given.check_files(files_of(demo[0])).token is not None


def test_the_oldest_go_when_too_many_are_kept_or_an_hour_has_passed(
    demo: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "KEPT", 2)
    times = [0.0]
    given = Intake(clock=lambda: times[0])
    tokens = [given.check_text(lines(k), known()).token for k in (1, 2, 3)]
    assert list(given._kept) == tokens[1:]
    assert len(spooled(given)) == 2
    times[0] = 3601.0
    last = given.check_text(lines(4), known()).token
    assert list(given._kept) == [last]
    assert len(spooled(given)) == 1


def test_what_could_not_be_handed_in_can_be_tried_again(
    given: Intake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = given.check_text(lines(), known()).token
    assert token is not None
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreFault) as error:
        given.submit_kept(token, FolderStore(tmp_path / "file" / "store"), ANN, NOW)
    assert str(tmp_path.parent) not in error_text(error.value)
    store = FolderStore(tmp_path / "store")
    monkeypatch.setattr(intake, "QUOTA", Quota(number=1, days=7))
    assert given.submit_kept(token, store, ANN, NOW).new
    again = given.check_text(lines(3), known()).token
    assert again is not None
    with pytest.raises(QuotaUsed):
        given.submit_kept(again, store, ANN, NOW)
    assert given.submit_kept(again, store, ANN, NOW + timedelta(days=8)).new


def test_the_receipt_says_what_was_there_before(given: Intake, tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "store")
    made = [given.check_text(lines(), known(name=name)) for name in ("mine", "mine", "a twin")]
    receipts = [given.submit_kept(each.token or "", store, ANN, NOW) for each in made]
    texts = [receipt_text(receipt, listing(store), "hf://datasets/org/name", NOW) for receipt in receipts]
    assert texts[0].startswith("Submitted: mine as ")
    assert "of 2 in the queue" in texts[0]
    assert texts[1].endswith(texts[0].splitlines()[-1])
    assert "was already submitted on 2026-03-01 12:00 UTC and is pending. Nothing changed." in texts[1]
    assert f"The same responses were submitted as mine, {receipts[0].state.submission_id}." in texts[2]
