"""Writes preference pairs for DPO trainers from a submission with rewards and diversities.

The pairs are chosen by preference.py and written in one of TRL's two preference formats with explicit prompts
(dataset formats, *preference*). *Standard*: `prompt`, `chosen` and `rejected` are texts; the prompt is filled into the
manifest's template, if any, and a response follows it directly. *Conversational*: they are lists of messages; a system
prompt is a message before the prompt. Rows also have `prompt_id` and `meta`, which trainers ignore.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark.exports.preference import Measure, Numbers, choose
from benchmark.exports.results import json_line
from benchmark.metrics.metric import Missing
from benchmark.scoring.results import signature_parts
from datasets_build.schema import Suite
from divbench.core.errors import ConfigurationError, InputError
from divbench.core.files import atomic_file
from submissions.choices import Mode
from submissions.schema import Generation, Row
from submissions.storage.submission_folders import Submission
from submissions.untrusted.findings import Findings, Problem, Rejected
from submissions.untrusted.table_files import lacks_column, read_columns

NO_REWARDS = "no rewards"
_OTHER_PROMPTS: dict[Mode | None, str] = {
    "in-context": "each response was generated with the earlier ones in its context",
    "paraphrase": "the responses are to paraphrases of the prompts",
    "verbalized": "all responses to a prompt were generated in one reply",
    "verbalized-tail": "all responses to a prompt were generated in one reply",
}
_COLUMNS = ("prompt_id", "index", "reward")
_PROMPTS_AT_ONCE = 64
_PROMPT = "{prompt}"


def read_rewards(path: Path, prompt_ids: Collection[str], k: int) -> dict[str, list[float | None]]:
    """Read the rewards of responses by prompt id from rows of `prompt_id`, `index` and `reward`."""
    findings = Findings()
    table = read_columns(path, _COLUMNS, findings)
    if table is None or [column for column in _COLUMNS if lacks_column(table, column, findings)]:
        raise Rejected(str(path), findings)
    rewards: dict[str, list[float | None]] = {}
    first: dict[tuple[str, float | None], int] = {}
    for number, row in table.rows:
        name, index, reward = str(row.get("prompt_id")), _number(row.get("index")), _number(row.get("reward"))
        if name not in prompt_ids:
            field, message = "prompt_id", f"{name[:40]!r} is not a prompt id of the submission"
        elif index is None or index not in range(k):
            field, message = "index", f"{str(row.get('index'))[:40]!r}, expected a whole number in 0 … {k - 1}"
        elif reward is not None and not math.isfinite(reward):
            field, message = "reward", f"{str(row['reward'])[:40]!r}, expected a finite number"
        elif (earlier := first.setdefault((name, index), number)) != number:
            field, message = "index", f"response {index:g} of {name!r} already appears in row {earlier}"
        else:
            rewards.setdefault(name, [None] * k)[int(index)] = reward
            continue
        hint = "write one row for each response, counted from 0, with a finite number or null"
        findings.add(Problem("rewards", "error", path.name, number, field, message, hint))
    rewards = {name: values for name, values in rewards.items() if any(value is not None for value in values)}
    if not rewards and not findings.rejected():
        findings.add(Problem("rewards", "error", path.name, None, "", "no response has a reward", "write one row each"))
    if findings.rejected():
        raise Rejected(str(path), findings)
    return rewards


def _number(value: Any) -> float | None:
    """Return a cell as a number; None if it is empty, NaN if it is no number."""
    if value is None or value == "":
        return None
    try:
        return math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def is_conversational(generation: Generation, wanted: bool | None = None) -> bool:
    """Whether pairs are lists of messages: as requested, otherwise as the model was prompted.

    If the manifest does not say whether a chat template was used, a system prompt implies one.
    """
    if generation.mode in _OTHER_PROMPTS:
        raise InputError(
            f"{_OTHER_PROMPTS[generation.mode]} (generation.mode is {generation.mode}), but a pair has one prompt",
            "export a submission whose mode is resample or system-prompt",
        )
    in_chat = generation.chat_template or (generation.chat_template is None and generation.system_prompt is not None)
    if conversational := bool(in_chat) if wanted is None else wanted:
        return conversational
    if generation.system_prompt is not None:
        raise ConfigurationError(
            "the manifest has a system prompt, and a standard pair has no field for it", "use --conversational"
        )
    if _PROMPT not in (generation.prompt_template or _PROMPT):
        raise InputError(f"the manifest's generation.prompt_template has no {_PROMPT}", "use --conversational")
    return False


def formatted(row: Mapping[str, Any], generation: Generation, *, conversational: bool) -> dict[str, Any]:
    """Return a pair in the trainers' format, with its other fields unchanged."""
    if not conversational:
        return {**row, "prompt": (generation.prompt_template or _PROMPT).replace(_PROMPT, row["prompt"])}
    roles = {"prompt": "user", "chosen": "assistant", "rejected": "assistant"}
    messages = {field: [{"role": role, "content": row[field]}] for field, role in roles.items()}
    if generation.system_prompt is not None:
        messages["prompt"].insert(0, {"role": "system", "content": generation.system_prompt})
    return {**row, **messages}


@dataclass(frozen=True, slots=True)
class Exported:
    """The pairs of a submission, and what to know about them."""

    rows: list[dict[str, Any]]  # `prompt_id`, the texts `prompt`, `chosen`, `rejected`, and `meta`, by prompt
    skipped: Counter[str]  # number of prompts without a pair, by reason
    unrewarded: int  # number of responses without a reward to prompts that have some rewards
    truncated: int  # number of pairs whose chosen response was cut off at the token limit, as far as is known

    def means(self, side: str) -> tuple[float, float]:
        """Return the mean reward and diversity of the chosen or of the rejected responses."""
        metas = [row["meta"] for row in self.rows]
        reward, diversity = (
            math.fsum(meta[column][meta[f"{side}_index"]] for meta in metas) / len(metas)
            for column in ("rewards", "diversities")
        )
        return reward, diversity

    def margins(self) -> list[float]:
        """Return how much higher the chosen response's reward is than the rejected one's, by pair."""
        metas = [row["meta"] for row in self.rows]
        return [meta["rewards"][meta["chosen_index"]] - meta["rewards"][meta["rejected_index"]] for meta in metas]


def preference_pairs(
    submission: Submission,
    suite: Suite,
    rewards: Mapping[str, Numbers],
    measure: Measure,
    rho: float,
    progress: Callable[[int], None] = lambda prompts: None,
) -> Exported:
    """Choose a pair for each prompt that gives one, in the suite's order."""
    generation = submission.manifest.generation
    parts = signature_parts(
        1, measure.parameters, (measure.model,), suite=f"{suite.name}@{suite.revision}", k=generation.k
    )
    shared = {
        "k": generation.k,
        "metric": measure.name,
        "rho": rho,
        "rule": "range",
        "seed": generation.seed,
        "signature": "|".join((measure.name, *parts)),
        "submission_id": submission.id,
    }
    pairs: list[dict[str, Any]] = []
    skipped: Counter[str] = Counter()
    truncated = 0
    rows = sorted(submission.rows(), key=lambda row: suite.position[row.prompt_id])
    for start in range(0, len(rows), _PROMPTS_AT_ONCE):
        batch = rows[start : start + _PROMPTS_AT_ONCE]
        for row, diversities in zip(batch, measure.of(batch), strict=True):
            pair = _pair(row, rewards.get(row.prompt_id), diversities, rho)
            if isinstance(pair, Missing):
                skipped[pair.reason] += 1
                continue
            pair["meta"] |= shared
            pairs.append({"prompt_id": row.prompt_id, "prompt": suite.by_id[row.prompt_id].prompt} | pair)
            reasons = row.finish_reasons
            truncated += reasons is not None and reasons[pair["meta"]["chosen_index"]] == "length"
        progress(start + len(batch))
    if not pairs:
        why = ", ".join(f"{count} {reason}" for reason, count in skipped.items())
        raise InputError(f"no prompt gives a pair, and nothing is written: {why}")
    return Exported(pairs, skipped, sum(list(own).count(None) for own in rewards.values()), truncated)


def _pair(row: Row, rewards: Numbers | None, diversities: Numbers | Missing, rho: float) -> dict[str, Any] | Missing:
    if rewards is None:
        return Missing(NO_REWARDS)
    if isinstance(diversities, Missing):
        return diversities
    pair = choose(row.responses, rewards, diversities, rho)
    if isinstance(pair, Missing):
        return pair
    chosen, rejected = pair
    numbers = {"rewards": list(rewards), "diversities": list(diversities)}
    indices = {"chosen_index": chosen, "rejected_index": rejected}
    return {"chosen": row.responses[chosen], "rejected": row.responses[rejected], "meta": numbers | indices}


def write_pairs(path: Path, exported: Exported, generation: Generation, *, conversational: bool) -> None:
    """Write the pairs as JSON Lines; the same pairs give the same bytes."""
    with atomic_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for row in exported.rows:
            file.write(json_line(formatted(row, generation, conversational=conversational)))
