"""Makes submissions of OLMo-2-7B's four post-training stages on two suites, as sampled and length-matched.

Responses are length-matched as in the D_Can study: all 40 responses to a prompt are cut to the length of the shortest,
and prompts with a shortest response of under 50 bytes are left out. The remaining prompts form a separate suite.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from datasets_build.download import Fetcher
from datasets_build.load import load_suite
from datasets_build.schema import Prompt, Suite
from datasets_build.sources import olmo
from divbench.core.errors import UnknownSuite
from divbench.core.files import atomic_folder
from submissions.schema import Generation, Manifest, Row, Submitter, System
from submissions.storage.submission_folders import write_submission

CURATED, ALPACAEVAL = "noveltybench-curated", "alpacaeval-200"
MATCHED = "-matched"
STAGE_SUITES = (CURATED, f"{CURATED}{MATCHED}", ALPACAEVAL, f"{ALPACAEVAL}{MATCHED}")
_PROMPT_SETS = {CURATED: "nbcurated", ALPACAEVAL: "alpacaeval"}
_RELEASED = Submitter(name="DivBench (released with D_Can)", links=("https://github.com/AMindToThink/icl-diversity",))
_CUT = (
    "At most 100 tokens were sampled, so that most responses are unfinished. Finish reasons are left out: a class of "
    "unfinished responses alone would not count, and the stages would be ranked by their length."
)
_CUT_ALIKE = (
    "All 40 responses of the four stages to a prompt are cut to the length of the shortest, in the middle of a word; "
    "prompts whose shortest response has under 50 bytes are left out. Finish reasons are left out."
)


def is_matched(suite: str) -> bool:
    """Whether a suite is for length-matched responses."""
    return suite.endswith(MATCHED)


def stage_suite(name: str, mirror: Path | None = None) -> Suite:
    """Load a suite that the stages responded to.

    Args:
        name: One of `STAGE_SUITES`.
        mirror: Folder with released files; default: the folder that DIVBENCH_MIRROR names, or earlier downloads.

    Raises:
        UnknownSuite: The name is not one of these.
        ConfigurationError: The released files are missing.
        InputError: The released files differ from the pinned ones.
    """
    if name == CURATED:
        return load_suite(name, mirror, network=False)
    if name not in STAGE_SUITES:
        raise UnknownSuite(f"there is no suite {name!r} of training stages", f"one of {', '.join(STAGE_SUITES)}")
    rows = _rows(name, mirror)
    texts = {row["prompt_id"]: row["prompt"] for row in rows}
    if name == ALPACAEVAL:
        prompts = [Prompt(prompt_id, "AlpacaEval", text) for prompt_id, text in texts.items()]
        return Suite(name, "AlpacaEval, 200 of its prompts", tuple(prompts))
    whole = stage_suite(name.removesuffix(MATCHED), mirror)
    kept = tuple(prompt for prompt in whole.prompts if prompt.prompt_id in texts)
    return Suite(name, f"{whole.title}: those on which OLMo-2-7B's stages were length-matched", kept)


def write_stage(name: str, stage: str, system: System, suite: Suite, folder: Path, mirror: Path | None) -> None:
    """Write the responses of a training stage as a submission.

    Args:
        stage: One of `olmo.STAGES`.

    Raises:
        ConfigurationError: The released files are missing.
        InputError: The released files differ from the pinned ones.
    """
    found = {row["prompt_id"]: row for row in _rows(suite.name, mirror) if row["stage"] == stage}
    first: Mapping[str, Any] = next(iter(found.values()))
    sampling = Generation(
        k=len(first["responses"]),
        mode="resample",
        temperature=first["temperature"],
        top_p=first["top_p"],
        max_tokens=first["max_new_tokens"],
        seed=first["seed"],
        chat_template=stage != "base",
    )
    manifest = Manifest(
        name=name,
        suite=suite.name,
        system=system,
        generation=sampling,
        submitter=_RELEASED,
        notes=_CUT_ALIKE if is_matched(suite.name) else _CUT,
    )
    rows = [
        Row(place, each.prompt_id, row["prompt"], tuple(row["responses"]))
        for place, each in enumerate(suite.prompts, 1)
        for row in (found[each.prompt_id],)
    ]
    with atomic_folder(folder) as made:
        write_submission(made, manifest, rows)


def _rows(suite: str, mirror: Path | None) -> list[dict[str, Any]]:
    """The released responses to the prompts of a suite, one row per stage and prompt."""
    fetch = Fetcher(olmo.SOURCE, mirror, network=False)
    read = olmo.matched_rows if is_matched(suite) else olmo.raw_rows
    return list(read(_PROMPT_SETS[suite.removesuffix(MATCHED)], fetch))
