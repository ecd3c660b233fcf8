"""The systems of a contrast: their responses to the same prompts, as sampled or cut to equal length."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path

from datasets_build.load import load_suite, load_table
from datasets_build.schema import Prompt, Suite
from datasets_build.sources.olmo import SHORTEST, SOURCE, STAGES, cut
from divbench.core.errors import ConfigurationError, counted
from divbench.core.files import content_id
from submissions.checking.validate import open_submission

STAGE = "olmo_stages/"
Responses = Mapping[str, tuple[str, ...]]  # by prompt id


@dataclass(frozen=True, slots=True)
class Systems:
    """The systems that are compared."""

    suite: Suite
    origins: Mapping[str, str]  # source of each system's responses: `submission:ID` or `olmo_stages@VERSION`
    k: int
    responses: Mapping[str, Responses]
    length: str = "raw"  # *raw*, or an id of the lengths that the texts were cut to; part of signatures
    left_out: Mapping[str, int] = field(default_factory=dict)  # number of excluded prompts, by reason
    # Finish reasons of the responses by system and prompt id, where known: as in `divbench score`, a class that has
    # only truncated responses does not count. OLMo's stages have none, because most of their responses are truncated,
    # and neither do length-matched texts, which are all cut.
    finish_reasons: Mapping[str, Mapping[str, tuple[str | None, ...]]] = field(default_factory=dict)

    def reasons(self, name: str, prompt_id: str) -> tuple[str | None, ...] | None:
        """Return the finish reasons of a system's responses to a prompt; None if unknown."""
        return self.finish_reasons.get(name, {}).get(prompt_id)

    def truncated(self, name: str) -> int | None:
        """Return the number of a system's responses that are truncated; None if unknown."""
        ended = self.finish_reasons.get(name)
        return sum(reason == "length" for each in ended.values() for reason in each) if ended else None

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """The prompts that are compared, in the suite's order."""
        there = {prompt for own in self.responses.values() for prompt in own}
        return tuple(prompt for prompt in self.suite.prompts if prompt.prompt_id in there)


def open_systems(
    names: Sequence[str], *, prompt_set: str = "alpacaeval", k: int | None = None, mirror: Path | None = None
) -> Systems:
    """Open the systems of a contrast.

    Args:
        names: Folders of submissions, each checked, or stages of OLMo such as `olmo_stages/base`.
        k: Use the first k responses of each prompt; None: as many as every system has.

    Raises:
        ConfigurationError: There are fewer than two systems, one is named twice, they belong to different suites, or
            one has fewer than k responses.
        Rejected: A folder does not pass the checks.
    """
    if len(names) < 2:
        raise ConfigurationError("a contrast needs at least two systems, and one was named", "name two or more")
    stages = [name for name in names if name.startswith(STAGE)]
    if stages and len(stages) < len(names):
        raise ConfigurationError(
            "stages of OLMo and submissions have different prompts", "compare stages only, or submissions only"
        )
    if stages:
        found = _stages([name.removeprefix(STAGE) for name in stages], prompt_set, mirror)
    else:
        found = _submissions([Path(name) for name in names], mirror)
    if len(found.origins) < len(names) or len(set(found.origins.values())) < len(found.origins):
        raise ConfigurationError("a system is named twice", "name each system once")
    chosen = found.k if k is None else k
    if not 1 <= chosen <= found.k:
        raise ConfigurationError(
            f"k = {k}, but a system has {found.k} responses per prompt", f"choose k from 1 to {found.k}"
        )
    chosen_texts = {name: {i: texts[:chosen] for i, texts in own.items()} for name, own in found.responses.items()}
    ended = {name: {i: each[:chosen] for i, each in own.items()} for name, own in found.finish_reasons.items()}
    return replace(found, k=chosen, responses=chosen_texts, finish_reasons=ended)


def length_matched(systems: Systems) -> Systems:
    """Cut every response to the UTF-8 bytes of its prompt's shortest one over all systems, as in the OLMo study.

    A character that the cut would split is dropped. Prompts whose shortest response is under 50 bytes are excluded:
    metrics say little about texts this short.
    """
    shortest: dict[str, int] = {}
    for own in systems.responses.values():
        for prompt, texts in own.items():
            shortest[prompt] = min([shortest.get(prompt, 2**31), *(len(text.encode()) for text in texts)])
    kept = {prompt: length for prompt, length in shortest.items() if length >= SHORTEST}
    responses = {
        name: {
            prompt: tuple(cut(text, kept[prompt]) for text in texts) for prompt, texts in own.items() if prompt in kept
        }
        for name, own in systems.responses.items()
    }
    # The lengths depend on all systems, so a system's numbers change with the systems it is compared with.
    length = f"matched:{content_id(kept)}"
    left_out = {f"a response of under {SHORTEST} bytes": len(shortest) - len(kept)}
    return replace(systems, responses=responses, length=length, left_out=left_out, finish_reasons={})


def _difference(one: Suite, other: Suite) -> str:
    """Say where the prompts of two suites first differ."""
    sizes = len(one.prompts), len(other.prompts)
    if sizes[0] != sizes[1]:
        return f"one has {counted(sizes[0], 'prompt')}, another {sizes[1]}"
    pairs = enumerate(zip(one.prompts, other.prompts, strict=True), start=1)
    place, (a, b) = next((place, pair) for place, pair in pairs if pair[0] != pair[1])
    ids = f"{a.prompt_id} and {b.prompt_id}" if a.prompt_id != b.prompt_id else f"two texts of {a.prompt_id}"
    return f"prompt {place} is {ids}"


def _submissions(folders: Sequence[Path], mirror: Path | None) -> Systems:
    find_suite = cache(partial(load_suite, mirror=mirror))
    opened, suites = [], []
    for folder in folders:
        submission, suite, _ = open_submission(folder, find_suite)
        opened.append(submission)
        suites.append(suite)
    if len({suite.revision for suite in suites}) > 1:
        asked = sorted({suite.name for suite in suites})
        if len(asked) == 1:  # own prompts
            first, other = next((suites[0], each) for each in suites if each.revision != suites[0].revision)
            what = "the submissions bring their own prompts, which differ in ids or texts"
            hint = "compare submissions with the same prompts and ids"
            raise ConfigurationError(f"{what}: {_difference(first, other)}", hint)
        raise ConfigurationError(
            f"the submissions are of several suites: {', '.join(asked)}", "compare submissions of one suite"
        )
    names = [submission.manifest.name for submission in opened]
    # Submissions of the same name are distinguished by their ids.
    labels = [
        f"{name} {submission.id[:8]}" if names.count(name) > 1 else name
        for name, submission in zip(names, opened, strict=True)
    ]
    rows = {label: list(submission.rows()) for label, submission in zip(labels, opened, strict=True)}
    responses = {label: {row.prompt_id: row.responses for row in own} for label, own in rows.items()}
    return Systems(
        suite=suites[0],
        origins={label: f"submission:{submission.id}" for label, submission in zip(labels, opened, strict=True)},
        k=_fewest(responses.values()),
        responses=responses,
        finish_reasons={
            label: {row.prompt_id: row.finish_reasons for row in own if row.finish_reasons is not None}
            for label, own in rows.items()
        },
    )


def _stages(stages: Sequence[str], prompt_set: str, mirror: Path | None) -> Systems:
    if unknown := [stage for stage in stages if stage not in STAGES]:
        raise ConfigurationError(f"OLMo has no stage {unknown[0]!r}", f"one of {', '.join(STAGES)}")
    rows = load_table("olmo_stages", prompt_set, mirror=mirror).to_pylist()
    responses: dict[str, dict[str, tuple[str, ...]]] = {stage: {} for stage in stages}
    prompts: dict[str, Prompt] = {}
    for row in rows:
        prompts[row["prompt_id"]] = Prompt(row["prompt_id"], prompt_set, row["prompt"])
        if row["stage"] in responses:
            responses[row["stage"]][row["prompt_id"]] = tuple(row["responses"])
    return Systems(
        suite=Suite(f"olmo_stages-{prompt_set}", SOURCE.title, tuple(prompts.values())),
        origins={stage: f"{STAGE}{stage}@{SOURCE.version}" for stage in stages},
        k=_fewest(responses.values()),
        responses=responses,
    )


def _fewest(responses: Iterable[Responses]) -> int:
    return min(len(texts) for own in responses for texts in own.values())
