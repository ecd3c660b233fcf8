"""The demonstration's six submissions are good ones, differ in known ways, and say plainly what they are."""

from collections import Counter
from pathlib import Path

import pytest

from datasets_build.load import load_suite
from divbench.core.errors import ConfigurationError
from submissions.checking.validate import open_submission
from submissions.demo.build import DERIVED, WRITTEN, write_demo_submissions
from submissions.gaming.derive import find_attack, write_baseline
from submissions.storage.submission_folders import Submission

NAMES = ["varied", "paraphrased", "collapsed", "repeated", "random-characters", "shuffled-words"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("demo") / "submissions"
    write_demo_submissions(made)
    return made


@pytest.fixture(scope="module")
def submissions(folder: Path) -> dict[str, Submission]:
    return {name: open_submission(folder / name)[0] for name in NAMES}


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def test_there_are_six_folders_and_nothing_else(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == sorted(NAMES)
    assert [name for name, _ in WRITTEN] + list(DERIVED) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_each_passes_every_check(folder: Path, name: str) -> None:
    submission, suite, report = open_submission(folder / name)
    assert report.findings.problems == []
    assert suite == load_suite("demo")
    assert (submission.prompts, submission.manifest.generation.k) == (24, 10)
    assert report.counts.responses == 240


def test_writing_twice_changes_nothing(folder: Path, tmp_path: Path) -> None:
    before = contents(folder)
    assert [path.name for path in write_demo_submissions(folder)] == NAMES
    assert contents(folder) == before

    write_demo_submissions(tmp_path)
    assert {name: data for name, (data, _) in contents(tmp_path).items()} == {
        n: data for n, (data, _) in before.items()
    }


def test_a_folder_that_was_lost_is_written_again(folder: Path, tmp_path: Path) -> None:
    made = write_demo_submissions(tmp_path)
    before = contents(tmp_path)
    for path in made[-1].iterdir():
        path.unlink()
    made[-1].rmdir()
    write_demo_submissions(tmp_path)
    assert {name: data for name, (data, _) in contents(tmp_path).items()} == {
        n: data for n, (data, _) in before.items()
    }


@pytest.mark.parametrize("name", ["varied", "paraphrased"])
def test_no_text_stands_twice_where_all_are_different(submissions: dict[str, Submission], name: str) -> None:
    texts = [text for row in submissions[name].rows() for text in row.responses]
    assert len(set(texts)) == len(texts) == 240


def test_the_collapsed_ones_are_one_answer_with_two_slight_variants(submissions: dict[str, Submission]) -> None:
    for row in submissions["collapsed"].rows():
        assert sorted(Counter(row.responses).values()) == [1, 2, 7]


def test_the_repeated_ones_are_one_text(submissions: dict[str, Submission]) -> None:
    first = {row.prompt_id: row.responses[0] for row in submissions["varied"].rows()}
    assert {row.prompt_id: set(row.responses) for row in submissions["repeated"].rows()} == {
        name: {text} for name, text in first.items()
    }


def test_they_say_who_made_them(submissions: dict[str, Submission]) -> None:
    for name, submission in submissions.items():
        manifest = submission.manifest
        assert manifest.name == name
        assert manifest.system.type == ("human" if name in dict(WRITTEN) else "baseline")
        assert manifest.notes is not None
        assert ("written by the authors" in manifest.notes) == (name in dict(WRITTEN))
        assert manifest.system.model_id is None


def test_a_baseline_never_overwrites(folder: Path, submissions: dict[str, Submission]) -> None:
    before = contents(folder)
    with pytest.raises(ConfigurationError, match=r"collapsed already exists"):
        write_baseline(find_attack("repeated"), submissions["varied"], load_suite("demo"), folder / "collapsed")
    assert contents(folder) == before
