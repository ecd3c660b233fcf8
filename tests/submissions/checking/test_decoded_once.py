"""A submission's responses are decoded once to validate them and once to score them."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from submissions.checking.sandbox import validate_in_child
from submissions.checking.validate import open_checked, open_submission
from submissions.schema import Row
from submissions.storage.folder_store import FolderStore
from submissions.storage.submission_folders import RowsDigest, write_submission
from submissions.untrusted import parquet_files
from submissions.untrusted.findings import Findings, Rejected
from submissions.work_queue.maintenance import adopt
from submissions.work_queue.operations import submit
from tests.conftest import TOY, toy_manifest, toy_rows, write_toy
from tests.submissions.conftest import find_toy
from tests.submissions.queueing import ME, T0

OWN_ROWS = [replace(row, prompt_id=f"mine-{row.number}", prompt=f"Say {row.number}.") for row in reversed(toy_rows(3))]


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of every row whose responses are decoded in this process."""
    seen: list[int] = []
    inner = parquet_files._decoded

    def counted(batch: pa.RecordBatch, before: int, name: str, findings: Findings) -> Iterator[dict[str, Any]]:
        if "responses" in batch.schema.names:
            seen.extend(range(before + 1, before + batch.num_rows + 1))
        return inner(batch, before, name, findings)

    monkeypatch.setattr(parquet_files, "_decoded", counted)
    return seen


def own(folder: Path) -> Path:
    folder.mkdir()
    write_submission(folder, toy_manifest(3, "own").model_copy(update={"suite": "own"}), OWN_ROWS)
    return folder


def test_in_one_process(tmp_path: Path, decoded: list[int]) -> None:
    for folder in (write_toy(tmp_path / "toy"), own(tmp_path / "own")):
        decoded.clear()
        submission, suite, _ = open_submission(folder, find_toy)
        once = list(range(1, submission.prompts + 1))
        assert decoded == once, folder.name
        rows = list(submission.rows())
        assert decoded == once + once, folder.name
        assert sorted(row.prompt_id for row in rows) == sorted(suite.position)
        digest = RowsDigest()
        for row in reversed(rows):
            digest.add(row)
        assert submission.rows_digest == digest.hex()


def test_after_a_check_in_another_process_nothing_is_left_but_scoring(tmp_path: Path, decoded: list[int]) -> None:
    folder = own(tmp_path / "own")
    found = validate_in_child(folder)
    opened = open_checked(folder, found)
    assert decoded == []
    assert opened == open_submission(folder)[:2]
    assert (opened[1].prompts[0].prompt, len(opened[1].prompts)) == ("Say 1.", 4)


def test_a_folder_damaged_after_its_check_is_rejected(tmp_path: Path) -> None:
    for file in ("manifest.json", "generations.parquet"):
        folder = own(tmp_path / file)
        found = validate_in_child(folder)
        (folder / file).write_bytes((folder / file).read_bytes()[:-3])
        with pytest.raises(Rejected):
            open_checked(folder, found)


def test_the_queue_decodes_once(tmp_path: Path, decoded: list[int]) -> None:
    folder = write_toy(tmp_path / "toy")
    submission, _, _ = open_submission(folder, find_toy)
    decoded.clear()
    (tmp_path / "store").mkdir()
    store = FolderStore(tmp_path / "store")
    state = submit(store, folder, ME, T0, find_suite=find_toy).state
    assert decoded == [1, 2, 3, 4]
    assert adopt(store, submission, "w", T0) == state
    assert decoded == [1, 2, 3, 4]


def test_the_order_of_rows_is_known(tmp_path: Path) -> None:
    def in_order(name: str, rows: list[Row]) -> bool:
        submission, suite, _ = open_submission(write_toy(tmp_path / name, rows), find_toy)
        assert suite is TOY
        return submission.in_suite_order

    rows = toy_rows(3)
    assert in_order("as the suite", rows)
    assert not in_order("reversed", rows[::-1])
    assert not in_order("last two exchanged", [*rows[:2], rows[3], rows[2]])
