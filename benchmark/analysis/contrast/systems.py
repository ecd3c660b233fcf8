"""The systems of a contrast: their responses to the same prompts, as sampled or cut to equal length."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from benchmark.analysis.contrast.equal_numbers import equal_positions
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
        reasons = self.finish_reasons.get(name)
        return sum(reason == "length" for row in reasons.values() for reason in row) if reasons else None

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """The prompts that are compared, in the suite's order."""
        answered = {prompt for responses in self.responses.values() for prompt in responses}
        return tuple(prompt for prompt in self.suite.prompts if prompt.prompt_id in answered)


def open_systems(names: Sequence[str], *, k: int | None = None, mirror: Path | None = None) -> Systems:
    """Open systems: folders of submissions, or stages of OLMo as `olmo_stages/STAGE` or `olmo_stages/PROMPTS/STAGE`.

    Of each prompt, the first k responses are used; by default as many as every system has.
    """
    if len(names) < 2:
        raise ConfigurationError("a contrast needs at least two systems, and one was named", "name two or more")
    stages = [name.removeprefix(STAGE) for name in names if name.startswith(STAGE)]
    if stages and len(stages) < len(names):
        raise ConfigurationError(
            "stages of OLMo and submissions have different prompts", "compare stages only, or submissions only"
        )
    systems = _stages(stages, mirror) if stages else _submissions([Path(name) for name in names], mirror)
    if len(systems.origins) < len(names) or len(set(systems.origins.values())) < len(systems.origins):
        raise ConfigurationError("a system is named twice", "name each system once")
    chosen = systems.k if k is None else k
    if not 1 <= chosen <= systems.k:
        raise ConfigurationError(
            f"k = {k}, but a system has {systems.k} responses per prompt", f"choose k from 1 to {systems.k}"
        )
    responses = {name: {i: texts[:chosen] for i, texts in sets.items()} for name, sets in systems.responses.items()}
    reasons = {name: {i: why[:chosen] for i, why in sets.items()} for name, sets in systems.finish_reasons.items()}
    return replace(systems, k=chosen, responses=responses, finish_reasons=reasons)


def length_matched(systems: Systems) -> Systems:
    """Cut every response to the UTF-8 bytes of its prompt's shortest one over all systems, as in the OLMo study.

    A character that the cut would split is dropped. Prompts whose shortest response is under 50 bytes are excluded:
    metrics say little about texts this short.
    """
    shortest: dict[str, int] = {}
    for sets in systems.responses.values():
        for prompt, texts in sets.items():
            shortest[prompt] = min([shortest.get(prompt, 2**31), *(len(text.encode()) for text in texts)])
    lengths = {prompt: length for prompt, length in shortest.items() if length >= SHORTEST}
    responses = {
        name: {
            prompt: tuple(cut(text, lengths[prompt]) for text in sets[prompt]) for prompt in sets if prompt in lengths
        }
        for name, sets in systems.responses.items()
    }
    # The lengths depend on all systems, so a system's numbers change with the systems it is compared with.
    length = f"matched:{content_id(lengths)}"
    left_out = {f"a response of under {SHORTEST} bytes": len(shortest) - len(lengths)}
    return replace(systems, responses=responses, length=length, left_out=left_out, finish_reasons={})


def on_equal_numbers(systems: Systems) -> Systems:
    """Return the sets with more scored responses than another system's, cut to as many; none of those with too few."""
    positions = equal_positions(systems.responses)

    def cut_to(
        sets: Mapping[str, Sequence[str | None]], kept: Mapping[str, tuple[int, ...]]
    ) -> dict[str, tuple[Any, ...]]:
        return {prompt: tuple(sets[prompt][i] for i in chosen) for prompt, chosen in kept.items() if prompt in sets}

    return replace(
        systems,
        responses={name: cut_to(systems.responses[name], kept) for name, kept in positions.items()},
        finish_reasons={name: cut_to(systems.finish_reasons.get(name, {}), kept) for name, kept in positions.items()},
    )


def _difference(one: Suite, other: Suite) -> str:
    """Say where the prompts of two suites first differ."""
    if len(one.prompts) != len(other.prompts):
        return f"one has {counted(len(one.prompts), 'prompt')}, another {len(other.prompts)}"
    pairs = enumerate(zip(one.prompts, other.prompts, strict=True), start=1)
    position, (a, b) = next((position, pair) for position, pair in pairs if pair[0] != pair[1])
    ids = f"{a.prompt_id} and {b.prompt_id}" if a.prompt_id != b.prompt_id else f"two texts of {a.prompt_id}"
    return f"prompt {position} is {ids}"


def _submissions(folders: Sequence[Path], mirror: Path | None) -> Systems:
    find_suite = cache(partial(load_suite, mirror=mirror))
    submissions, suites, _ = zip(*(open_submission(folder, find_suite) for folder in folders), strict=True)
    if other := next((suite for suite in suites if suite.revision != suites[0].revision), None):
        suite_names = sorted({suite.name for suite in suites})
        if len(suite_names) == 1:  # own prompts
            what = "the submissions bring their own prompts, which differ in ids or texts"
            hint = "compare submissions with the same prompts and ids"
            raise ConfigurationError(f"{what}: {_difference(suites[0], other)}", hint)
        raise ConfigurationError(
            f"the submissions are of several suites: {', '.join(suite_names)}", "compare submissions of one suite"
        )
    names = [submission.manifest.name for submission in submissions]
    # Submissions of the same name are distinguished by their ids.
    labels = [
        f"{name} {submission.id[:8]}" if names.count(name) > 1 else name
        for name, submission in zip(names, submissions, strict=True)
    ]
    rows = {label: list(submission.rows()) for label, submission in zip(labels, submissions, strict=True)}
    return Systems(
        suite=suites[0],
        origins={label: f"submission:{submission.id}" for label, submission in zip(labels, submissions, strict=True)},
        k=min(len(row.responses) for sets in rows.values() for row in sets),
        responses={label: {row.prompt_id: row.responses for row in sets} for label, sets in rows.items()},
        finish_reasons={
            label: {row.prompt_id: row.finish_reasons for row in sets if row.finish_reasons is not None}
            for label, sets in rows.items()
        },
    )


def _stages(names: Sequence[str], mirror: Path | None) -> Systems:
    sets, stages = zip(*(name.rpartition("/")[::2] for name in names), strict=True)
    if unknown := [stage for stage in stages if stage not in STAGES]:
        raise ConfigurationError(f"OLMo has no stage {unknown[0]!r}", f"one of {', '.join(STAGES)}")
    if len(set(sets)) > 1:
        raise ConfigurationError("the stages are of different prompts", "name stages of one prompt set")
    prompt_set = sets[0] or "alpacaeval"
    responses: dict[str, dict[str, tuple[str, ...]]] = {stage: {} for stage in stages}
    prompts: dict[str, Prompt] = {}
    for row in load_table("olmo_stages", prompt_set, mirror=mirror).to_pylist():
        prompts[row["prompt_id"]] = Prompt(row["prompt_id"], prompt_set, row["prompt"])
        if row["stage"] in responses:
            responses[row["stage"]][row["prompt_id"]] = tuple(row["responses"])
    return Systems(
        suite=Suite(f"olmo_stages-{prompt_set}", SOURCE.title, tuple(prompts.values())),
        origins={stage: f"{STAGE}{stage}@{SOURCE.version}" for stage in stages},
        k=min(len(texts) for sets in responses.values() for texts in sets.values()),
        responses=responses,
    )
