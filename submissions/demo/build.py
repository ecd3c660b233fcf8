"""The demonstration's submissions: three that we wrote, three known-bad ones derived from the first.

They answer the `demo` suite and differ in known ways, so that it can be seen what a metric does. No model made them.
"""

from dataclasses import replace
from datetime import date
from pathlib import Path

from datasets_build.errors import ConfigurationError
from datasets_build.files import atomic_folder
from datasets_build.schema import Suite
from submissions.checking.validate import validate
from submissions.demo.baselines import BASELINES, Baseline, derive
from submissions.importing.importers import import_submission
from submissions.storage.submission_folders import Submission, write_submission
from submissions.untrusted.findings import Refused

TEXTS = Path(__file__).parent
WRITTEN: tuple[tuple[str, str], ...] = (
    ("varied", "ten different answers to each prompt, written by the authors of this package"),
    ("paraphrased", "one idea for each prompt in ten wordings, written by the authors of this package"),
    ("collapsed", "one answer for each prompt with two slight variants, written by the authors of this package"),
)
MADE_ON = date(2026, 11, 20)


def write_demo_submissions(folder: Path) -> list[Path]:
    """Import the written texts and derive the baselines; existing ones are left as they are.

    Returns:
        The submission folders, in the order of `WRITTEN` and `BASELINES`.
    """
    made = []
    for name, about in WRITTEN:
        made.append(folder / name)
        if not made[-1].exists():
            known = {
                "name": name,
                "suite": "demo",
                "system": {"type": "human"},
                "submitter": {"name": "DivBench", "date": MADE_ON},
                "notes": about,
            }
            import_submission(TEXTS / f"{name}.jsonl", "jsonl", made[-1], known)
    report = validate(made[0])
    if report.submission is None or report.suite is None:
        raise Refused(str(made[0]), report.findings)
    for baseline in BASELINES:
        made.append(folder / baseline.name)
        if not made[-1].exists():
            write_baseline(baseline, report.submission, report.suite, made[-1])
    return made


def write_baseline(baseline: Baseline, given: Submission, suite: Suite, out: Path, seed: int = 0) -> Submission:
    """Write a baseline derived from a submission as a submission folder, checked.

    Raises:
        ConfigurationError: `out` is in use.
        Refused: What was made does not pass the checks.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ConfigurationError(f"{out} already exists", "choose another folder with --out, or remove it")
    manifest, rows = derive(baseline, given, seed)
    with atomic_folder(out) as folder:
        write_submission(folder, manifest, rows)
        report = validate(folder, lambda name: suite)
        if report.submission is None:
            raise Refused(baseline.name, report.findings)
    return replace(report.submission, folder=out)
