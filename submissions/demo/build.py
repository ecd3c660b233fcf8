"""The demonstration's submissions: three that we wrote, three known-bad ones derived from the first.

They answer the `demo` suite and differ in known ways, so that it can be seen what a metric does. No model made them.
"""

from datetime import date
from pathlib import Path

from submissions.checking.validate import validate
from submissions.gaming.derive import find_attack, write_baseline
from submissions.importing.importers import import_submission
from submissions.untrusted.findings import Rejected

TEXTS = Path(__file__).parent
WRITTEN: tuple[tuple[str, str], ...] = (
    ("varied", "ten different answers to each prompt, written by the authors of this package"),
    ("paraphrased", "one idea for each prompt in ten wordings, written by the authors of this package"),
    ("collapsed", "one answer for each prompt with two slight variants, written by the authors of this package"),
)
DERIVED = ("repeated", "random-characters", "shuffled-words")
MADE_ON = date(2026, 11, 20)


def write_demo_submissions(folder: Path) -> list[Path]:
    """Import the written texts and derive known-bad baselines; existing ones are left as they are.

    Returns:
        The submission folders, in the order of `WRITTEN` and `DERIVED`.
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
        raise Rejected(str(made[0]), report.findings)
    for name in DERIVED:
        made.append(folder / name)
        if not made[-1].exists():
            write_baseline(find_attack(name), report.submission, report.suite, made[-1])
    return made
