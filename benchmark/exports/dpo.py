"""Writes preference pairs for DPO trainers from a submission with rewards and diversities.

The pairs are chosen by preference.py and written in one of TRL's two preference formats with explicit prompts
(dataset formats, *preference*). *Standard*: `prompt`, `chosen` and `rejected` are texts; the prompt is filled into the
manifest's template, if any, and a response follows it directly. *Conversational*: they are lists of messages; a system
prompt is a message before the prompt. Rows also have `prompt_id` and `meta`, which trainers ignore.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.exports.diversities import Measure
from benchmark.exports.preference import (
    Candidates,
    PoolRule,
    PreferencePairs,
    Provenance,
    preference_pairs,
    response_rows,
)
from benchmark.exports.rewards import Rewards
from benchmark.exports.scored import json_line
from benchmark.metrics.metric import Missing
from benchmark.scoring.result_schema import signature_parts
from datasets_build.schema import Suite
from divbench.core.errors import ConfigurationError, InputError
from divbench.core.files import atomic_file
from divbench.core.tables import Table, to_csv
from submissions.choices import Mode
from submissions.schema import Generation
from submissions.storage.submission_folders import Submission

PairFormat = Literal["conversational", "standard"]
_COLUMNS: "list[pa.Field[Any]]" = [
    pa.field("prompt_id", pa.string(), nullable=False),
    pa.field("prompt", pa.string(), nullable=False),
    pa.field("index", pa.int64(), nullable=False),
    pa.field("response", pa.string(), nullable=False),
    pa.field("metric", pa.string(), nullable=False),
    pa.field("reward", pa.float64()),
    pa.field("diversity", pa.float64()),
    pa.field("normalised_diversity", pa.float64()),
]
TABLE = pa.schema(_COLUMNS)
NO_REWARDS = "no rewards"
_TABLE_ENDINGS = (".csv", ".parquet", ".jsonl")
_OTHER_PROMPTS: dict[Mode | None, str] = {
    "in-context": "each response was generated with the earlier ones in its context",
    "paraphrase": "the responses are to paraphrases of the prompts",
    "verbalized": "all responses to a prompt were generated in one reply",
    "verbalized-tail": "all responses to a prompt were generated in one reply",
}
_PROMPTS_AT_ONCE = 64
_ROWS_A_GROUP = 1024
_PROMPT = "{prompt}"


@dataclass(frozen=True, slots=True)
class Files:
    """The files to write."""

    pairs: Path
    table: Path | None = None  # table of all responses, .csv, .parquet or .jsonl; None: none


@dataclass(frozen=True, slots=True)
class Exported:
    """Summary of an export."""

    pairs: PreferencePairs  # the pairs, and the prompts without a pair
    provenance: Provenance
    prompts: int
    unrewarded: int  # number of responses without a reward to prompts that have some rewards
    # Number of pairs whose chosen response was cut off at the token limit, as far as is known. Trainers append the end
    # token to it, so the model learns to stop there.
    truncated: int
    format: PairFormat
    files: Files

    @property
    def means(self) -> dict[str, dict[str, float]]:
        """Mean reward and diversity of the chosen and of the rejected responses."""
        found = {}
        for side in ("chosen", "rejected"):
            of_side = {}
            for name, column in (("reward", "rewards"), ("diversity", "diversities")):
                values = [row["meta"][column][row["meta"][f"{side}_index"]] for row in self.pairs.rows]
                of_side[name] = math.fsum(values) / len(values)
            found[side] = of_side
        return found

    @property
    def inverted(self) -> int:
        """Number of pairs whose chosen response has the lower reward, as overlapping pools allow."""
        return sum(margin < 0 for margin in self._margins)

    @property
    def tied(self) -> int:
        """Number of pairs with equal rewards, as overlapping pools and, by percentile, repeated rewards allow."""
        return sum(margin == 0 for margin in self._margins)

    @property
    def _margins(self) -> list[float]:
        metas = [row["meta"] for row in self.pairs.rows]
        return [meta["rewards"][meta["chosen_index"]] - meta["rewards"][meta["rejected_index"]] for meta in metas]

    def as_json(self) -> dict[str, Any]:
        """Return the document that `--json` prints."""
        return {
            "submission_id": self.provenance.submission_id,
            "prompts": self.prompts,
            "pairs": len(self.pairs.rows),
            "pairs_with_lower_chosen_reward": self.inverted,
            "pairs_with_equal_rewards": self.tied,
            "pairs_with_truncated_chosen": self.truncated,
            "skipped": dict(self.pairs.skipped),
            "responses_without_reward": self.unrewarded,
            "metric": self.provenance.metric,
            "signature": self.provenance.signature,
            "rho": self.provenance.rule.rho,
            "rule": self.provenance.rule.by,
            "seed": self.provenance.seed,
            "format": self.format,
            "means": self.means,
            "files": {
                "pairs": str(self.files.pairs),
                "table": None if self.files.table is None else str(self.files.table),
            },
        }


def format_of(generation: Generation, wanted: PairFormat | None = None) -> PairFormat:
    """Return the format of a submission's pairs: as requested, otherwise as the model was prompted.

    If the manifest does not say whether a chat template was used, a system prompt implies one.

    Raises:
        InputError: The responses were generated from other inputs than the prompts alone, or the manifest's template
            has no field for a prompt.
        ConfigurationError: There is a system prompt, for which the format has no field.
    """
    if generation.mode in _OTHER_PROMPTS:
        raise InputError(
            f"{_OTHER_PROMPTS[generation.mode]} (generation.mode is {generation.mode}), but a pair has one prompt",
            "export a submission whose mode is resample or system-prompt",
        )
    in_chat = generation.chat_template or (generation.chat_template is None and generation.system_prompt is not None)
    chosen: PairFormat = wanted or ("conversational" if in_chat else "standard")
    if chosen == "standard" and generation.system_prompt is not None:
        raise ConfigurationError(
            "the manifest has a system prompt, and a standard pair has no field for it", "use --conversational"
        )
    if chosen == "standard" and _PROMPT not in (generation.prompt_template or _PROMPT):
        raise InputError(f"the manifest's generation.prompt_template has no {_PROMPT}", "use --conversational")
    return chosen


def formatted(row: Mapping[str, Any], pair_format: PairFormat, generation: Generation) -> dict[str, Any]:
    """Return a row of `PreferencePairs` in the trainers' format, with its other fields unchanged."""
    if pair_format == "standard":
        template = generation.prompt_template or _PROMPT
        return {**row, "prompt": template.replace(_PROMPT, row["prompt"])}
    system = [] if generation.system_prompt is None else [_message("system", generation.system_prompt)]
    return {
        **row,
        "prompt": [*system, _message("user", row["prompt"])],
        "chosen": [_message("assistant", row["chosen"])],
        "rejected": [_message("assistant", row["rejected"])],
    }


def _message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def candidates_of(
    submission: Submission,
    suite: Suite,
    rewards: Rewards,
    measure: Measure,
    progress: Callable[[int], None] = lambda prompts: None,
) -> list[Candidates]:
    """Return the responses of each prompt with their rewards and diversities, in the suite's order.

    If a prompt has no rewards, or its responses have no diversity, `why` gives the reason.

    Raises:
        InputError: As in `Measure`.
    """
    rows = sorted(submission.rows(), key=lambda row: suite.position[row.prompt_id])
    made: list[Candidates] = []
    for start in range(0, len(rows), _PROMPTS_AT_ONCE):
        shard = rows[start : start + _PROMPTS_AT_ONCE]
        for row, found in zip(shard, measure.of(shard), strict=True):
            nothing = (None,) * len(row.responses)
            reason = found.reason if isinstance(found, Missing) else None
            made.append(
                Candidates(
                    prompt_id=row.prompt_id,
                    prompt=suite.by_id[row.prompt_id].prompt,
                    responses=row.responses,
                    rewards=rewards.get(row.prompt_id, nothing),
                    diversities=nothing if isinstance(found, Missing) else found,
                    why=reason if row.prompt_id in rewards else NO_REWARDS,
                )
            )
        progress(len(made))
    return made


def export_pairs(
    submission: Submission,
    suite: Suite,
    candidates: Sequence[Candidates],
    measure: Measure,
    rule: PoolRule,
    pair_format: PairFormat,
    files: Files,
) -> Exported:
    """Choose the pairs and write the files atomically; the same input gives the same bytes.

    Args:
        files: Files that passed `check_files`.

    Raises:
        InputError: No prompt gives a pair; nothing is written.
    """
    generation = submission.manifest.generation
    parts = signature_parts(
        1, measure.parameters, (measure.model,), suite=f"{suite.name}@{suite.revision}", k=generation.k
    )
    provenance = Provenance(measure.name, rule, generation.seed, "|".join((measure.name, *parts)), submission.id)
    pairs = preference_pairs(candidates, provenance)
    if not pairs.rows:
        reasons = ", ".join(f"{count} {reason}" for reason, count in pairs.skipped.items())
        raise InputError(f"no prompt gives a pair, and nothing is written: {reasons}")
    if files.table is not None:
        write_table(files.table, candidates, measure.name)
    with atomic_file(files.pairs) as temporary, _text(temporary) as file:
        _write_lines(file, (formatted(row, pair_format, generation) for row in pairs.rows))
    rewarded = [each.rewards for each in candidates if any(reward is not None for reward in each.rewards)]
    unrewarded = sum(rewards.count(None) for rewards in rewarded)
    ended = {row.prompt_id: row.finish_reasons for row in submission.rows() if row.finish_reasons is not None}
    chosen = ((row["prompt_id"], row["meta"]["chosen_index"]) for row in pairs.rows if row["prompt_id"] in ended)
    truncated = sum(ended[name][position] == "length" for name, position in chosen)
    return Exported(pairs, provenance, len(candidates), unrewarded, truncated, pair_format, files)


def write_table(path: Path, candidates: Iterable[Candidates], metric: str) -> None:
    """Write `response_rows` of all prompts as .csv (escaped as by `to_csv`), .parquet or .jsonl."""
    rows = (row for each in candidates for row in response_rows(each, metric))
    with atomic_file(path) as temporary:
        if path.suffix == ".parquet":
            with pq.ParquetWriter(temporary, TABLE, compression="zstd") as writer:
                while group := list(islice(rows, _ROWS_A_GROUP)):
                    writer.write_table(pa.Table.from_pylist(group, schema=TABLE))
            return
        with _text(temporary) as file:
            if path.suffix == ".jsonl":
                _write_lines(file, rows)
                return
            file.write(to_csv(Table("", TABLE.names, [tuple(row.values()) for row in rows])))


def check_files(files: Files, inputs: Iterable[Path | None]) -> None:
    """Check that the files can be written: known suffixes, existing folders, no input file overwritten.

    Raises:
        ConfigurationError: A file cannot be written.
    """
    wanted = [(files.pairs, (".jsonl",)), *([] if files.table is None else [(files.table, _TABLE_ENDINGS)])]
    taken = [path.resolve() for path in inputs if path is not None]
    for path, endings in wanted:
        if path.suffix not in endings:
            raise ConfigurationError(f"{path} does not end in {' or '.join(endings)}", "choose one of these suffixes")
        if not path.parent.is_dir():
            raise ConfigurationError(f"there is no folder {path.parent} for {path.name}", "create it, or name another")
        if path.is_dir() or path.resolve() in taken:
            raise ConfigurationError(f"{path} is a folder, or another input or output", "name another")
        taken.append(path.resolve())


def _text(path: Path) -> TextIO:
    return path.open("w", encoding="utf-8", newline="\n")


def _write_lines(file: TextIO, rows: Iterator[dict[str, Any]]) -> None:
    for row in rows:
        file.write(json_line(row))
