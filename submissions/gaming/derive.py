"""Apply an attack to a submission, and write the result as a new submission: a known-bad baseline."""

import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from datasets_build.schema import Suite
from divbench.core.errors import ConfigurationError, did_you_mean
from divbench.core.files import atomic_folder
from submissions.checking.validate import validate
from submissions.gaming.attacks import ATTACKS, Attack, AttackedSet
from submissions.schema import Generation, Manifest, Origin, Row, Submitter, System
from submissions.storage.submission_folders import Submission, write_submission
from submissions.untrusted.findings import Rejected


def find_attack(name: str) -> Attack:
    """Return the attack with a name.

    Raises:
        ConfigurationError: It does not exist.
    """
    for attack in ATTACKS:
        if attack.name == name:
            return attack
    raise ConfigurationError(f"there is no baseline {name!r}", did_you_mean(name, [a.name for a in ATTACKS]))


def attacked(
    attack: Attack, prompts: Mapping[str, str], responses: Mapping[str, tuple[str, ...]], seed: int = 0
) -> dict[str, tuple[str, ...]]:
    """Attack the response sets of a system.

    Args:
        seed: Random seed. Each prompt has its own stream, so that the order of the prompts does not matter.

    Returns:
        As many texts as there were responses, by prompt id.
    """
    ids = sorted(responses)
    sets = [responses[prompt_id] for prompt_id in ids]
    made = {}
    for i, prompt_id in enumerate(ids):
        rng = random.Random(f"{seed}/{attack.name}/{prompt_id}")  # noqa: S311 - not for secrets
        given = AttackedSet(prompts[prompt_id], sets[i], [*sets[:i], *sets[i + 1 :]])
        made[prompt_id] = attack.fn(given, rng)
    return {prompt_id: made[prompt_id] for prompt_id in responses}


def derive(attack: Attack, given: Submission, suite: Suite, seed: int = 0) -> tuple[Manifest, list[Row]]:
    """Make a baseline's manifest and rows from a submission's texts."""
    rows = list(given.rows())
    prompts = {prompt.prompt_id: prompt.prompt for prompt in suite.prompts}
    made = attacked(attack, prompts, {row.prompt_id: row.responses for row in rows}, seed)
    manifest = Manifest(
        name=attack.name,
        suite=given.manifest.suite,
        system=System(type="baseline"),
        generation=Generation(k=given.manifest.generation.k, seed=seed if attack.seeded else None),
        submitter=Submitter(name=given.manifest.submitter.name, date=given.manifest.submitter.date),
        origin=Origin(format="derived"),
        notes=f"{attack.about}, from the submission {given.manifest.name!r} ({given.id})",
    )
    return manifest, [Row(row.number, row.prompt_id, row.prompt, made[row.prompt_id]) for row in rows]


def write_baseline(attack: Attack, given: Submission, suite: Suite, out: Path, seed: int = 0) -> Submission:
    """Write a baseline derived from a submission as a submission folder, checked.

    Raises:
        ConfigurationError: `out` is in use.
        Rejected: The new submission does not pass the checks.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ConfigurationError(f"{out} already exists", "choose another folder with --out, or remove it")
    manifest, rows = derive(attack, given, suite, seed)
    with atomic_folder(out) as folder:
        write_submission(folder, manifest, rows)
        report = validate(folder, lambda name: suite)
        if report.submission is None:
            raise Rejected(attack.name, report.findings)
    return replace(report.submission, folder=out)
