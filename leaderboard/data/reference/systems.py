"""The systems of the reference results, and how their submissions are made from a folder of released files.

Three kinds: NoveltyBench's released submissions, the stages of OLMo-2-7B on the same prompts, and attacks made from
gpt-4o's responses, which look diverse without being so. To add a system, add it to `SYSTEMS` and rebuild.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from datasets_build.download import Fetcher
from datasets_build.errors import ConfigurationError, did_you_mean
from datasets_build.files import atomic_folder
from datasets_build.load import load_suite
from datasets_build.schema import Suite
from datasets_build.sources import olmo
from datasets_build.sources.noveltybench import SUBMISSIONS, submission_path
from submissions.checking.validate import open_submission
from submissions.gaming.derive import find_attack, write_baseline
from submissions.importing.importers import import_submission
from submissions.schema import Generation, Manifest, Row, Submitter, System
from submissions.storage.submission_folders import Submission, write_submission

SUITE = "noveltybench-curated"
ATTACKED = "gpt-4o"  # the system from whose responses the attacks are made
# When the responses were generated is not stated.
RELEASED = Submitter(
    name="DivBench (released by NoveltyBench)", links=("https://github.com/novelty-bench/novelty-bench",)
)
STAGES = Submitter(name="DivBench (released with D_Can)", links=("https://github.com/AMindToThink/icl-diversity",))
_CUT = (
    "At most 100 tokens were sampled, so that most responses are unfinished. Finish reasons are left out: a class of "
    "unfinished responses alone would not count, and the stages would be ranked by their length."
)


@dataclass(frozen=True, slots=True)
class ReferenceSystem:
    """A system whose responses were released, or an attack on one.

    Attributes:
        name: Name on the board.
        kind: Where its responses come from.
        of: Name of the released file, of the training stage, or of the attack.
        k: Number of released responses per prompt.
        system: What is known of the system; None: an attack.
        sampling: What is known of its sampling.
    """

    name: str
    kind: Literal["noveltybench", "olmo", "attack"]
    of: str
    k: int = 10
    system: System | None = None
    sampling: Mapping[str, Any] = field(default_factory=dict)


def _noveltybench(name: str, system: System, mode: str | None, k: int = 10) -> ReferenceSystem:
    return ReferenceSystem(name, "noveltybench", name, k, system, {} if mode is None else {"mode": mode})


def _stage(name: str, stage: str, model: str) -> ReferenceSystem:
    system = System(
        type="model", model_id=f"allenai/{model}", parameters=7_300_000_000, open_weights=True, licence="apache-2.0"
    )
    return ReferenceSystem(name, "olmo", stage, 10, system)


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
    _stage("OLMo-2-7B base", "base", "OLMo-2-1124-7B"),
    _stage("OLMo-2-7B SFT", "sft", "OLMo-2-1124-7B-SFT"),
    _stage("OLMo-2-7B DPO", "dpo", "OLMo-2-1124-7B-DPO"),
    _stage("OLMo-2-7B Instruct", "instruct", "OLMo-2-1124-7B-Instruct"),
)
# Of each kind those that gain most under common metrics, and those that gain most under the headline (docs/gaming.md).
ATTACKS: tuple[ReferenceSystem, ...] = tuple(
    ReferenceSystem(name, "attack", name)
    for name in (
        "repeated",
        "reworded",
        "random-characters",
        "shuffled-words",
        "other-prompts",
        "book-sentences",
        "random-suffixes",
        "random-prefixes",
        "translated-openings",
        "padded",
    )
)
SYSTEMS: tuple[ReferenceSystem, ...] = (*REAL, *ATTACKS)


def find_system(name: str) -> ReferenceSystem:
    """The reference system of a name.

    Raises:
        ConfigurationError: There is none.
    """
    for system in SYSTEMS:
        if system.name == name:
            return system
    raise ConfigurationError(f"there is no reference system {name!r}", did_you_mean(name, [s.name for s in SYSTEMS]))


def make_submission(system: ReferenceSystem, folder: Path, mirror: Path | None = None) -> tuple[Submission, Suite]:
    """Make the submission of a system from released files, checked; the same files give the same submission.

    Args:
        system: One of `SYSTEMS`.
        folder: Folder to make it in; it must not exist.
        mirror: Folder with released files; default: the one that DIVBENCH_MIRROR names, or earlier downloads.

    Raises:
        ConfigurationError: The released files are not there.
        InputError: They are not the pinned ones.
    """
    suite = load_suite(SUITE, mirror)
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
        _write_stage(system, suite, folder, mirror)
    else:
        attack = find_attack(system.of)
        source, _ = make_submission(find_system(ATTACKED), folder.with_name(f"{folder.name}-source"), mirror)
        return write_baseline(attack, source, suite, folder), suite
    submission, suite, _ = open_submission(folder, lambda name: suite)
    return submission, suite


def _write_stage(system: ReferenceSystem, suite: Suite, folder: Path, mirror: Path | None) -> None:
    """Write the responses of a training stage of OLMo."""
    fetch = Fetcher(olmo.SOURCE, mirror, network=False)
    found = {row["prompt_id"]: row for row in olmo.raw_rows("nbcurated", fetch) if row["stage"] == system.of}
    first = next(iter(found.values()))
    sampling = Generation(
        k=system.k,
        mode="resample",
        temperature=first["temperature"],
        top_p=first["top_p"],
        max_tokens=first["max_new_tokens"],
        seed=first["seed"],
        chat_template=system.of != "base",
    )
    manifest = Manifest(
        name=system.name,
        suite=SUITE,
        system=_stated(system),
        generation=sampling,
        submitter=STAGES,
        notes=_CUT,
    )
    rows = [
        Row(place, each.prompt_id, row["prompt"], tuple(row["responses"]))
        for place, each in enumerate(suite.prompts, 1)
        for row in (found[each.prompt_id],)
    ]
    with atomic_folder(folder) as made:
        write_submission(made, manifest, rows)


def _stated(system: ReferenceSystem) -> System:
    if system.system is None:
        raise ConfigurationError(f"{system.name} is an attack", "it is derived from a system")
    return system.system
