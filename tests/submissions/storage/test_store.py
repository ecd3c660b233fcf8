"""What is written is read back exactly; a submission's id depends on its content and on nothing else."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq

from submissions.checking.validate import open_submission, validate
from submissions.schema import GENERATIONS, REPORTED, Reported, Row
from submissions.storage.submission_folders import write_submission
from tests.conftest import TOY, toy_manifest, toy_rows, write_toy
from tests.submissions.conftest import add_reported, change_manifest, check, find_toy, rewrite


def id_of(folder: Path) -> str:
    report = check(folder)
    assert report.submission is not None, report.findings.problems
    return report.submission.id


def test_a_submission_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    rows = [
        replace(row, prompt=None if i else row.prompt, finish_reasons=("stop", None, "length") if i < 2 else None)
        for i, row in enumerate(toy_rows(text=lambda i, j: f"\N{GRINNING FACE} é\r\n\t\x00 {i} {j} "))
    ]
    reported = [(row.prompt_id, Reported((0, 1, 0), (1.5, 10.0, 0.0), 2, None)) for row in rows]
    folder = tmp_path / "written"
    folder.mkdir()
    write_submission(folder, toy_manifest(), rows, reported)
    submission, suite, report = open_submission(folder, find_toy)
    assert list(submission.rows()) == rows
    assert submission.reported() == {"1.0": dict(reported)}
    assert (submission.manifest, submission.folder, submission.prompts) == (toy_manifest(), folder, 4)
    assert suite is TOY
    assert report.submission == submission
    assert pq.read_schema(folder / "generations.parquet").equals(GENERATIONS)
    assert pq.read_schema(folder / "reported.parquet").equals(REPORTED)


def test_the_same_submission_is_written_in_the_same_bytes(tmp_path: Path) -> None:
    one, other = (add_reported(write_toy(tmp_path / name)) for name in ("one", "other"))
    for file in one.iterdir():
        assert file.read_bytes() == (other / file.name).read_bytes()


def test_rows_are_streamed_into_groups(tmp_path: Path) -> None:
    made = (Row(i + 1, f"p{i}", None, ("a",)) for i in range(2500))  # a generator: never all at once
    write_submission(tmp_path, toy_manifest(1), made)
    assert pq.read_metadata(tmp_path / "generations.parquet").num_row_groups == 3
    assert pq.read_table(tmp_path / "generations.parquet").num_rows == 2500


def test_the_id_does_not_depend_on_the_folder_the_order_of_rows_or_the_layout(tmp_path: Path) -> None:
    folder = write_toy(tmp_path / "one")
    turned = write_toy(tmp_path / "other", rows=toy_rows()[::-1])
    assert id_of(folder) == id_of(turned)
    pretty = folder / "manifest.json"
    pretty.write_text(json.dumps(dict(reversed(json.loads(pretty.read_text()).items())), separators=(",", ":")))
    assert id_of(folder) == id_of(turned)
    assert len(id_of(folder)) == 16


CHANGES: dict[str, Callable[[Path], Path]] = {
    "nothing": lambda folder: folder,
    "a letter": lambda f: rewrite(f, lambda row: row | {"responses": ["x", *row["responses"][1:]]}),
    "the order of responses": lambda f: rewrite(f, lambda row: row | {"responses": row["responses"][::-1]}),
    "responses of two prompts": lambda f: rewrite(
        f, lambda row: row | {"responses": [text.replace("thing 1", "thing 2") for text in row["responses"]]}
    ),
    "where one response ends": lambda f: rewrite(f, lambda row: row | {"responses": ["a,b", "c", "d"]}),
    "and the other begins": lambda f: rewrite(f, lambda row: row | {"responses": ["a", "b,c", "d"]}),
    "the prompt's text": lambda f: rewrite(f, lambda row: row | {"prompt": None}),
    "finish reasons": lambda f: rewrite(f, lambda row: row | {"finish_reasons": ["stop", "stop", "length"]}),
    "no finish reasons": lambda f: rewrite(f, lambda row: row | {"finish_reasons": [None, None, None]}),
    "the name": lambda f: change_manifest(f, name="other"),
    "the type": lambda f: change_manifest(f, system={"type": "human"}),
    "the temperature": lambda f: change_manifest(f, generation={"k": 3, "temperature": 0.5}),
    "the temperature a little": lambda f: change_manifest(f, generation={"k": 3, "temperature": 0.5000000000000001}),
    "the notes": lambda f: change_manifest(f, notes="other"),
    "reported values": add_reported,
    "a reported partition": lambda f: add_reported(f, partition=[0, 1, 0]),
    "a reported class": lambda f: add_reported(f, partition=[0, 0, 0], generation_scores=[7.0, 0.0, 0.0], distinct=1),
    "a reported score": lambda f: add_reported(f, generation_scores=[7.0, 3.5, 0.0]),
    "no reported scores": lambda f: add_reported(f, generation_scores=None),
    "a reported utility": lambda f: add_reported(f, utility=2.5000001),
    "no reported utility": lambda f: add_reported(f, utility=None),
}


def test_the_id_changes_with_all_that_a_result_may_depend_on(tmp_path: Path) -> None:
    ids = {name: id_of(change(write_toy(tmp_path / name))) for name, change in CHANGES.items()}
    same = {name for name, found in ids.items() if list(ids.values()).count(found) > 1}
    assert same == set()


def test_the_id_of_a_submission_is_the_same_tomorrow(tmp_path: Path) -> None:
    # Published results name it. A change here orphans them: it belongs into the changelog.
    assert id_of(write_toy(tmp_path / "toy")) == "b50f55487737299d"


def test_the_rows_done_are_told_as_they_pass(tmp_path: Path) -> None:
    seen: list[int] = []
    validate(write_toy(tmp_path / "toy"), find_toy, progress=seen.append)
    assert seen == [1, 2, 3, 4]
