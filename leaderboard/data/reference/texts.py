"""Finds the texts of reference results in released files, if they are available; the package has none."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from datasets_build.download import mirror_folder
from datasets_build.load import load_suite
from divbench.core.errors import DivBenchError
from leaderboard.data.reference.stages import STAGE_SUITES, stage_suite
from leaderboard.data.reference.systems import SYSTEMS, make_submission
from submissions.schema import Row

NOT_INCLUDED = "(the text is not included)"


def released_rows(name: str, submission_id: str) -> Mapping[str, Row]:
    """The rows of a reference submission by prompt id; empty if its released files are not available.

    Args:
        submission_id: Id of the submission; rows of other submissions are not returned.
    """
    return _rows(name, submission_id, mirror_folder())


def suite_prompts(suite: str) -> Mapping[str, str]:
    """The texts of a suite's prompts by id; empty if they are not available."""
    return _prompts(suite, mirror_folder())


@lru_cache(maxsize=4)
def _rows(name: str, submission_id: str, mirror: Path | None) -> Mapping[str, Row]:
    for system in SYSTEMS:
        if system.name != name:
            continue
        try:
            with TemporaryDirectory() as folder:
                submission, _ = make_submission(system, Path(folder) / "made", mirror)
                if submission.id == submission_id:
                    return {row.prompt_id: row for row in submission.rows()}
        except (DivBenchError, OSError):
            return {}
    return {}


@lru_cache(maxsize=4)
def _prompts(suite: str, mirror: Path | None) -> Mapping[str, str]:
    try:
        found = stage_suite(suite, mirror) if suite in STAGE_SUITES else load_suite(suite, mirror, network=False)
        return {prompt.prompt_id: prompt.prompt for prompt in found.prompts}
    except (DivBenchError, OSError):
        return {}
