"""Lists the systems of the reference results, and makes their submissions from released files.

There are three kinds: NoveltyBench's released submissions; the stages of OLMo-2-7B on the same prompts and on
AlpacaEval's, as sampled and length-matched; and attacks made from gpt-4o's responses, which look diverse but are not.
To add a system, add it to `SYSTEMS` and rebuild.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from datasets_build.download import Fetcher
from datasets_build.schema import Suite
from datasets_build.sources.noveltybench import SUBMISSIONS, submission_path
from divbench.core.errors import ConfigurationError, did_you_mean
from leaderboard.data.reference.stages import CURATED, STAGE_SUITES, is_matched, stage_suite, write_stage
from submissions.checking.validate import open_submission
from submissions.gaming import attacks
from submissions.gaming.baselines import find_attack, write_baseline
from submissions.importing.importers import import_submission
from submissions.schema import Submitter, System
from submissions.storage.submission_folders import Submission

SUITE = CURATED
ATTACKED = "gpt-4o"  # the attacks are made from this system's responses
# NoveltyBench does not say when the responses were generated.
RELEASED = Submitter(
    name="DivBench (released by NoveltyBench)", links=("https://github.com/novelty-bench/novelty-bench",)
)


@dataclass(frozen=True, slots=True)
class ReferenceSystem:
    """A system whose responses were released, or an attack on one."""

    name: str
    kind: Literal["noveltybench", "olmo", "attack"]  # origin of the responses
    of: str  # name of the released file, of the training stage, or of the attack
    k: int = 10  # number of released responses per prompt
    system: System | None = None  # known facts about the system; None for an attack
    sampling: Mapping[str, Any] = field(default_factory=dict)  # known facts about its sampling
    suite: str = SUITE

    @property
    def key(self) -> str:
        """Unique name: the system's name, with the suite if it is not `SUITE`."""
        return self.name if self.suite == SUITE else f"{self.name} on {self.suite}"


def _noveltybench(name: str, system: System, mode: str | None, k: int = 10) -> ReferenceSystem:
    return ReferenceSystem(name, "noveltybench", name, k, system, {} if mode is None else {"mode": mode})


def _stages(suite: str) -> tuple[ReferenceSystem, ...]:
    made = []
    for stage, title, model in _STAGES:
        system = System(
            type="model", model_id=f"allenai/{model}", parameters=7_300_000_000, open_weights=True, licence="apache-2.0"
        )
        name = f"OLMo-2-7B {title}" + (", length-matched" if is_matched(suite) else "")
        made.append(ReferenceSystem(name, "olmo", stage, 10, system, suite=suite))
    return tuple(made)


_STAGES = (
    ("base", "base", "OLMo-2-1124-7B"),
    ("sft", "SFT", "OLMo-2-1124-7B-SFT"),
    ("dpo", "DPO", "OLMo-2-1124-7B-DPO"),
    ("instruct", "Instruct", "OLMo-2-1124-7B-Instruct"),
)
_GPT_4O = System(type="model", model_id="gpt-4o-2024-11-20", open_weights=False)
_METHOD = _GPT_4O.model_copy(update={"type": "inference-time method"})
_GEMINI = System(type="model", model_id="gemini-1.5-pro", open_weights=False)
REAL: tuple[ReferenceSystem, ...] = (
    _noveltybench("humans", System(type="human"), None, 8),
    _noveltybench("gpt-4o", _GPT_4O, "resample"),
    _noveltybench("gpt-4o-in-context", _METHOD, "in-context"),
    _noveltybench("gpt-4o-paraphrase", _METHOD, "paraphrase"),
    _noveltybench("gpt-4o-system-prompt", _METHOD, "system-prompt"),
    _noveltybench("gemini-1.5-pro", _GEMINI, "resample"),
    *_stages(SUITE),
)
ATTACKS: tuple[ReferenceSystem, ...] = tuple(
    ReferenceSystem(each.name, "attack", each.name) for each in attacks.ATTACKS
)
# The attacks of each kind that gain most under common metrics, and those that gain most under the headline
# (docs/gaming.md). The first page shows the others on demand.
SHOWN_ATTACKS = frozenset(
    (
        "repeated",
        "reworded",
        "random-characters",
        "shuffled-words",
        "other-prompts",
        "book-sentences",
        "prompt-openings",
        "random-suffixes",
        "random-prefixes",
        "translated-openings",
        "padded",
    )
)
STAGES: tuple[ReferenceSystem, ...] = tuple(each for suite in STAGE_SUITES if suite != SUITE for each in _stages(suite))
SYSTEMS: tuple[ReferenceSystem, ...] = (*REAL, *ATTACKS, *STAGES)


def find_system(key: str) -> ReferenceSystem:
    """The reference system with a key.

    Raises:
        ConfigurationError: There is no such system.
    """
    for system in SYSTEMS:
        if system.key == key:
            return system
    raise ConfigurationError(f"there is no reference system {key!r}", did_you_mean(key, [s.key for s in SYSTEMS]))


def make_submission(system: ReferenceSystem, folder: Path, mirror: Path | None = None) -> tuple[Submission, Suite]:
    """Make and check the submission of a system from released files; the same files give the same submission.

    Args:
        system: One of `SYSTEMS`.

    Raises:
        ConfigurationError: The released files are missing.
        InputError: The released files differ from the pinned ones.
    """
    suite = stage_suite(system.suite, mirror)
    if system.kind == "noveltybench":
        fetch = Fetcher(SUBMISSIONS, mirror, network=False)
        known = {
            "name": system.name,
            "suite": SUITE,
            "system": _stated(system).model_dump(exclude_none=True),
            "generation": {**system.sampling, "k": system.k},
            "submitter": RELEASED.model_dump(),
            "reported": "NoveltyBench's classifier (deberta-v3-large) and reward model, as released",
        }
        import_submission(fetch(submission_path(system.of)), "noveltybench", folder, known, lambda name: suite)
    elif system.kind == "olmo":
        write_stage(system.name, system.of, _stated(system), suite, folder, mirror)
    else:
        attack = find_attack(system.of)
        source, _ = make_submission(find_system(ATTACKED), folder.with_name(f"{folder.name}-source"), mirror)
        return write_baseline(attack, source, suite, folder), suite
    submission, suite, _ = open_submission(folder, lambda name: suite)
    return submission, suite


def _stated(system: ReferenceSystem) -> System:
    if system.system is None:
        raise ConfigurationError(f"{system.name} is an attack", "it is derived from a system")
    return system.system
