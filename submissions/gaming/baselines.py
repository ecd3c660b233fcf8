"""Apply an attack to a submission, and write the result as a new submission: a known-bad baseline."""

import random
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path

from datasets_build.schema import Suite
from divbench.core.errors import ConfigurationError, did_you_mean
from divbench.core.files import atomic_folder
from submissions.checking.validate import validate
from submissions.gaming.attacks import ATTACKS, Attack, AttackedSet
from submissions.importing.importers import import_submission
from submissions.schema import Generation, Manifest, Origin, Row, Submitter, System
from submissions.storage.submission_folders import Submission, write_submission
from submissions.untrusted.findings import Rejected


def find_attack(name: str) -> Attack:
    """Return the attack with a name."""
    for attack in ATTACKS:
        if attack.name == name:
            return attack
    raise ConfigurationError(f"there is no baseline {name!r}", did_you_mean(name, [a.name for a in ATTACKS]))


def attacked(
    attack: Attack, prompts: Mapping[str, str], responses: Mapping[str, tuple[str, ...]], seed: int = 0
) -> dict[str, tuple[str, ...]]:
    """Attack the response sets of a system."""
    ids = sorted(responses)
    sets = [responses[prompt_id] for prompt_id in ids]
    texts = {}
    for i, prompt_id in enumerate(ids):
        rng = random.Random(f"{seed}/{attack.name}/{prompt_id}")  # noqa: S311 - not for secrets
        attacked_set = AttackedSet(prompts[prompt_id], sets[i], [*sets[:i], *sets[i + 1 :]])
        texts[prompt_id] = attack.fn(attacked_set, rng)
    return {prompt_id: texts[prompt_id] for prompt_id in responses}


def derive(attack: Attack, source: Submission, suite: Suite) -> tuple[Manifest, list[Row]]:
    """Make a baseline's manifest and rows from a submission's texts."""
    rows = list(source.rows())
    prompts = {prompt.prompt_id: prompt.prompt for prompt in suite.prompts}
    texts = attacked(attack, prompts, {row.prompt_id: row.responses for row in rows})
    manifest = Manifest(
        name=attack.name,
        suite=source.manifest.suite,
        system=System(type="baseline"),
        generation=Generation(k=source.manifest.generation.k, seed=0 if attack.seeded else None),
        submitter=Submitter(name=source.manifest.submitter.name, date=source.manifest.submitter.date),
        origin=Origin(format="derived"),
        notes=f"{attack.about}, from the submission {source.manifest.name!r} ({source.id})",
    )
    return manifest, [Row(row.number, row.prompt_id, row.prompt, texts[row.prompt_id]) for row in rows]


def write_baseline(attack: Attack, source: Submission, suite: Suite, out: Path) -> Submission:
    """Write a baseline derived from a submission as a submission folder, checked."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ConfigurationError(f"{out} already exists", "choose another folder with --out, or remove it")
    manifest, rows = derive(attack, source, suite)
    with atomic_folder(out) as folder:
        write_submission(folder, manifest, rows)
        report = validate(folder, lambda name: suite)
        if report.submission is None:
            raise Rejected(attack.name, report.findings)
    return replace(report.submission, folder=out)


DEMO_TEXTS = Path(__file__).parent / "demo"
WRITTEN: tuple[tuple[str, str], ...] = (
    ("varied", "ten different answers to each prompt, written by the authors of this package"),
    ("paraphrased", "one idea for each prompt in ten wordings, written by the authors of this package"),
    ("collapsed", "one answer for each prompt with two slight variants, written by the authors of this package"),
)
DERIVED = ("repeated", "random-characters", "shuffled-words")
MADE_ON = date(2026, 11, 20)


def write_demo_submissions(folder: Path) -> list[Path]:
    """Import the written texts and derive known-bad baselines; existing ones are left as they are."""
    folders: list[Path] = []
    for name, about in WRITTEN:
        folders.append(folder / name)
        if not folders[-1].exists():
            known = {
                "name": name,
                "suite": "demo",
                "system": {"type": "human"},
                "submitter": {"name": "DivBench", "date": MADE_ON},
                "notes": about,
            }
            import_submission(DEMO_TEXTS / f"{name}.jsonl", "jsonl", folders[-1], known)
    report = validate(folders[0])
    if report.submission is None or report.suite is None:
        raise Rejected(str(folders[0]), report.findings)
    for name in DERIVED:
        folders.append(folder / name)
        if not folders[-1].exists():
            write_baseline(find_attack(name), report.submission, report.suite, folders[-1])
    return folders
