"""A folder is checked here and in a limited process alike; what is opened later is what was checked."""

import json
import sys
from pathlib import Path
from shutil import copytree

import pytest

from divbench.core.errors import ConfigurationError
from submissions.checking.validate import open_checked, open_submission, validate, validate_in_child
from submissions.gaming.baselines import write_demo_submissions
from submissions.schema import Row
from submissions.storage.submission_folders import GENERATIONS_FILE, MANIFEST_FILE, RowsDigest
from submissions.untrusted.findings import Rejected
from submissions.untrusted.process import Limits
from tests.conftest import TOY, toy_rows, write_toy
from tests.submissions.conftest import change_manifest, find_toy
from tests.submissions.crafted import generations


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_demo_submissions(tmp_path_factory.mktemp("demo"))[0]


def test_the_limited_process_gives_the_same_report(demo: Path, tmp_path: Path) -> None:
    document = validate_in_child(demo)
    assert document == validate(demo).as_json()
    assert document["accepted"]
    assert open_checked(demo, document) == open_submission(demo)[:2]
    bad = copytree(demo, tmp_path / "bad")
    (bad / GENERATIONS_FILE).write_bytes(generations())
    document = validate_in_child(bad)
    assert document == validate(bad).as_json()
    assert set(document["by_check"]) == {"prompt_ids", "k"}


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not keep all limits")
@pytest.mark.parametrize("limits", [Limits(2**27, 60), Limits(2**32, 0.01)])
def test_a_check_that_exceeds_a_limit_is_a_problem(demo: Path, limits: Limits) -> None:
    document = validate_in_child(demo, limits=limits)
    (problem,) = document["problems"]
    assert (document["accepted"], document["id"], document["counts"]) == (False, None, None)
    assert (problem["check"], problem["severity"], document["by_check"]) == ("limits", "error", {"limits": 1})


def test_the_callers_mistakes_are_errors(demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "responses.csv").write_text("prompt,response\n")
    with pytest.raises(ConfigurationError, match="there is no folder"):
        validate_in_child(tmp_path / "none")
    with pytest.raises(ConfigurationError, match="is a file, not a submission folder"):
        validate_in_child(tmp_path / "responses.csv")
    monkeypatch.delenv("DIVBENCH_MIRROR", raising=False)
    folder = change_manifest(copytree(demo, tmp_path / "demo"), suite="noveltybench-curated")
    with pytest.raises(ConfigurationError, match="noveltybench"):
        validate_in_child(folder, mirror=tmp_path / "none")


def test_a_folder_damaged_after_its_check_is_rejected(tmp_path: Path) -> None:
    submission, _, _ = open_submission(write_toy(tmp_path / "toy"), find_toy)
    for file in (MANIFEST_FILE, GENERATIONS_FILE):
        path = submission.folder / file
        path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(Rejected, match=f"{GENERATIONS_FILE}, row 1: cannot be read after row 0"):
        list(submission.rows())
    with pytest.raises(Rejected, match=MANIFEST_FILE):
        open_checked(submission.folder, {}, find_toy)


def test_rows_and_their_digest_are_those_of_the_file(tmp_path: Path) -> None:
    def opened(name: str, rows: list[Row]) -> bool:
        submission, suite, _ = open_submission(write_toy(tmp_path / name, rows), find_toy)
        assert suite is TOY
        digest = RowsDigest()
        for row in reversed(list(submission.rows())):
            digest.add(row)
        assert submission.rows_digest == digest.hex()
        return submission.in_suite_order

    rows = toy_rows(3)
    assert opened("as the suite", rows)
    assert not opened("reversed", rows[::-1])


def test_a_report_is_json(tmp_path: Path) -> None:
    document = validate(change_manifest(write_toy(tmp_path / "bad"), name="\x1b[2J"), find_toy).as_json()
    assert json.loads(json.dumps(document)) == document
    assert (document["accepted"], document["errors"], document["counts"]["responses"]) == (False, 1, 12)
