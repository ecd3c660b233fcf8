"""Lists the systems of the reference results, and makes their submissions from released files.

There are three kinds: the systems of NoveltyBench, with its judgements; the stages of OLMo-2-7B on the same prompts and
on AlpacaEval's, as sampled and length-matched; and attacks made from GPT-4o's responses, which look diverse but are
not. To add a system, add it to `SYSTEMS` and rebuild.

Responses are length-matched as in the D_Can study: all 40 responses to a prompt are cut to the length of the shortest,
and prompts with a shortest response of under 50 bytes are left out. The remaining prompts form a separate suite.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from datasets_build.download import Fetcher, mirror_folder
from datasets_build.load import load_suite
from datasets_build.schema import Prompt, Suite
from datasets_build.sources import olmo
from datasets_build.sources.noveltybench import SUBMISSIONS, judged_path, submission_path
from divbench.core.errors import DivBenchError, UnknownSuite
from divbench.core.files import atomic_folder
from submissions.checking.validate import open_submission
from submissions.gaming import attacks
from submissions.gaming.baselines import find_attack, write_baseline
from submissions.importing.noveltybench import read_judgements, read_noveltybench
from submissions.schema import Generation, Manifest, Origin, Reported, Row, Submitter, System, submission_id
from submissions.storage.submission_folders import RowsDigest, Submission, write_submission
from submissions.untrusted.findings import Findings, Rejected

FOLDER = Path(__file__).parents[2] / "measured" / "reference"
ABOUT_FILE, ACROSS_FILE = "about.json", "across.jsonl"

CURATED, ALPACAEVAL = "noveltybench-curated", "alpacaeval-200"
MATCHED = "-matched"
STAGE_SUITES = (CURATED, f"{CURATED}{MATCHED}", ALPACAEVAL, f"{ALPACAEVAL}{MATCHED}")
SUITE = CURATED
_PROMPT_SETS = {CURATED: "nbcurated", ALPACAEVAL: "alpacaeval"}
_CUT = (
    "At most 100 tokens were sampled, so that most responses are unfinished. Finish reasons are left out: a class of "
    "unfinished responses alone would not count, and the stages would be ranked by their length."
)
_CUT_ALIKE = (
    "All 40 responses of the four stages to a prompt are cut to the length of the shortest, in the middle of a word; "
    "prompts whose shortest response has under 50 bytes are left out. Finish reasons are left out."
)
_BY_NOVELTYBENCH = Submitter(
    name="DivBench (released by NoveltyBench)", links=("https://github.com/novelty-bench/novelty-bench",)
)
_BY_D_CAN = Submitter(name="DivBench (released with D_Can)", links=("https://github.com/AMindToThink/icl-diversity",))


@dataclass(frozen=True, slots=True)
class ReferenceSystem:
    """A system whose responses or judgements were released, or an attack on one."""

    name: str
    kind: Literal["noveltybench", "olmo", "attack"]  # origin of the responses
    of: str  # name of the released file, of the training stage, or of the attack
    k: int = 10  # number of released responses per prompt
    system: System = field(default_factory=lambda: System(type="baseline"))  # known facts; an attack is a baseline
    sampling: Mapping[str, Any] = field(default_factory=dict)  # known facts about its sampling
    suite: str = SUITE
    sampled: date | None = None  # when its responses were sampled, if that is known
    judged: tuple[str, ...] = ()  # versions of NoveltyBench's metric whose values were released
    run: str | None = None  # NoveltyBench's run on the Hub that has the responses, if no file of them is pinned

    @property
    def key(self) -> str:
        """Unique name: the system's name, with the suite if it is not `SUITE`."""
        return self.name if self.suite == SUITE else f"{self.name} on {self.suite}"


def is_matched(suite: str) -> bool:
    """Whether a suite is for length-matched responses."""
    return suite.endswith(MATCHED)


def _stages(suite: str) -> tuple[ReferenceSystem, ...]:
    systems = []
    for stage, title, model in _STAGES:
        system = System(
            type="base model" if stage == "base" else "model",
            model_id=f"allenai/{model}",
            parameters=7_300_000_000,
            open_weights=True,
            licence="apache-2.0",
        )
        name = f"OLMo-2-7B {title}" + (", length-matched" if is_matched(suite) else "")
        systems.append(ReferenceSystem(name, "olmo", stage, 10, system, suite=suite))
    return tuple(systems)


_STAGES = (
    ("base", "base", "OLMo-2-1124-7B"),
    ("sft", "SFT", "OLMo-2-1124-7B-SFT"),
    ("dpo", "DPO", "OLMo-2-1124-7B-DPO"),
    ("instruct", "Instruct", "OLMo-2-1124-7B-Instruct"),
)
_NOVELTYBENCH = tuple(
    ReferenceSystem(
        kind="noveltybench", **facts | {"system": System(**facts["system"]), "judged": tuple(facts["judged"])}
    )
    for facts in tomllib.loads(Path(__file__).with_name("noveltybench.toml").read_text(encoding="utf-8"))["systems"]
)
_OF_THE_PAPER = tuple(system for system in _NOVELTYBENCH if system.sampled is None)  # it does not say when
PEOPLE = next(system for system in _OF_THE_PAPER if system.of == "humans")
ATTACKED = next(system for system in _OF_THE_PAPER if system.of == "gpt-4o")  # attacks are made from its responses
# Systems whose responses to each prompt are grouped together, for the page Alike or different?
GROUPED = (*_OF_THE_PAPER, *_stages(SUITE))
REAL = (*GROUPED, *(system for system in _NOVELTYBENCH if system.sampled is not None and system.run is None))
ATTACKS = tuple(ReferenceSystem(attack.name, "attack", attack.name) for attack in attacks.ATTACKS)
# The attacks of each kind that gain most under common metrics, and those that gain most under the headline
# (docs/gaming.md). The first page shows the others on demand.
SHOWN_ATTACKS = frozenset(
    (
        *("repeated", "reworded", "random-characters", "shuffled-words", "other-prompts", "book-sentences"),
        *("prompt-openings", "questions-back", "continuations", "random-suffixes", "random-prefixes"),
        *("translated-openings", "padded"),
    )
)
STAGES = tuple(system for suite in STAGE_SUITES if suite != SUITE for system in _stages(suite))
SYSTEMS: tuple[ReferenceSystem, ...] = (*REAL, *ATTACKS, *STAGES)  # all whose responses were released: scored here
JUDGED = tuple(system for system in _NOVELTYBENCH if system.judged)


def make_submission(system: ReferenceSystem, folder: Path, mirror: Path | None = None) -> tuple[Submission, Suite]:
    """Make and check the submission of a system from released files; the same files give the same submission.

    It has no reported values, which are results of their own.
    """
    suite = stage_suite(system.suite, mirror)
    if system.kind == "attack":
        source, _ = make_submission(ATTACKED, folder.with_name(f"{folder.name}-source"), mirror)
        return write_baseline(find_attack(system.of), source, suite, folder), suite
    if system.kind == "olmo":
        _write_stage(system, suite, folder, mirror)
    else:
        file = SUBMISSIONS.file(submission_path(system.of))
        findings = Findings()
        imported = read_noveltybench(Fetcher(SUBMISSIONS, mirror, network=False)(file.path), findings, suite)
        if findings.rejected():
            raise Rejected(file.path, findings)
        with atomic_folder(folder) as target:
            rows = sorted(imported.rows, key=lambda row: suite.position[row.prompt_id])
            write_submission(target, released_manifest(system, file.sha256), rows)
    submission, suite, _ = open_submission(folder, lambda name: suite)
    return submission, suite


def released_manifest(system: ReferenceSystem, sha256: str) -> Manifest:
    """Return the manifest of a system of NoveltyBench; `sha256` is that of its released file."""
    return Manifest(
        name=system.name,
        suite=system.suite,
        system=system.system,
        generation=Generation(k=system.k, **system.sampling),
        submitter=_BY_NOVELTYBENCH.model_copy(update={"date": system.sampled}),
        origin=Origin(format="noveltybench", sha256=sha256),
    )


def unpublished_submission(system: ReferenceSystem, values: Mapping[str, Reported]) -> tuple[Manifest, str]:
    """Return the manifest and id of a submission whose responses are not here: the id is that of their judgements."""
    digest = RowsDigest()
    for prompt_id, reported in values.items():
        digest.add_reported(prompt_id, reported)
    manifest = released_manifest(system, SUBMISSIONS.file(judged_path(system.of)).sha256)
    return manifest, submission_id(manifest, digest.hex())


def released_judgements(system: ReferenceSystem, version: str, mirror: Path | None = None) -> dict[str, Reported]:
    """Read one version's values of a system from released files."""
    path = judged_path(system.of) if version == "1.1" else submission_path(system.of)
    return read_judgements(Fetcher(SUBMISSIONS, mirror, network=False)(path), version)


def stage_suite(name: str, mirror: Path | None = None) -> Suite:
    """Load one of `STAGE_SUITES` from a folder of released files, DIVBENCH_MIRROR, or earlier downloads."""
    if name == CURATED:
        return load_suite(name, mirror, network=False)
    if name not in STAGE_SUITES:
        raise UnknownSuite(f"there is no suite {name!r} of training stages", f"one of {', '.join(STAGE_SUITES)}")
    rows = stage_rows(name, mirror)
    texts = {row["prompt_id"]: row["prompt"] for row in rows}
    if name == ALPACAEVAL:
        prompts = [Prompt(prompt_id, "AlpacaEval", text) for prompt_id, text in texts.items()]
        return Suite(name, "AlpacaEval, 200 of its prompts", tuple(prompts))
    whole = stage_suite(name.removesuffix(MATCHED), mirror)
    matched = tuple(prompt for prompt in whole.prompts if prompt.prompt_id in texts)
    return Suite(name, f"{whole.title}: those on which OLMo-2-7B's stages were length-matched", matched)


def _write_stage(system: ReferenceSystem, suite: Suite, folder: Path, mirror: Path | None) -> None:
    """Write the responses of a training stage as a submission."""
    released = {row["prompt_id"]: row for row in stage_rows(suite.name, mirror) if row["stage"] == system.of}
    first: Mapping[str, Any] = next(iter(released.values()))
    sampling = Generation(
        k=len(first["responses"]),
        mode="resample",
        temperature=first["temperature"],
        top_p=first["top_p"],
        max_tokens=first["max_new_tokens"],
        seed=first["seed"],
        chat_template=system.of != "base",
    )
    manifest = Manifest(
        name=system.name,
        suite=suite.name,
        system=system.system,
        generation=sampling,
        submitter=_BY_D_CAN,
        notes=_CUT_ALIKE if is_matched(suite.name) else _CUT,
    )
    rows = []
    for line, prompt in enumerate(suite.prompts, 1):
        row = released[prompt.prompt_id]
        rows.append(Row(line, prompt.prompt_id, row["prompt"], tuple(row["responses"])))
    with atomic_folder(folder) as target:
        write_submission(target, manifest, rows)


def stage_rows(suite: str, mirror: Path | None) -> list[dict[str, Any]]:
    """The released responses to the prompts of a suite, one row per stage and prompt."""
    fetch = Fetcher(olmo.SOURCE, mirror, network=False)
    read = olmo.matched_rows if is_matched(suite) else olmo.raw_rows
    return list(read(_PROMPT_SETS[suite.removesuffix(MATCHED)], fetch))


def suite_prompts(suite: str) -> Mapping[str, str]:
    """The texts of a suite's prompts by id; empty if they are not available."""
    try:
        return _suite_prompts(suite, mirror_folder())
    except (DivBenchError, OSError):  # not cached, since they may be downloaded later
        return {}


@lru_cache(maxsize=4)
def _suite_prompts(suite: str, mirror: Path | None) -> Mapping[str, str]:
    loaded = stage_suite(suite, mirror) if suite in STAGE_SUITES else load_suite(suite, mirror, network=False)
    return {prompt.prompt_id: prompt.prompt for prompt in loaded.prompts}
