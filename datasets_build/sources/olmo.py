"""Generations of OLMo-2-7B's four post-training stages, from the D_Can study (arXiv:2606.01811).

Raw, and length-matched as published: all 40 responses to a prompt are cut to the length in bytes of the shortest;
prompts whose shortest response has under 50 bytes are dropped.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from datasets_build.sources.source import Fetch, Split, described
from divbench.core.errors import InputError

STAGES = ("base", "sft", "dpo", "instruct")
PROMPT_SETS = ("alpacaeval", "nbcurated")
SHORTEST = 50
REPORT = "olmo/reference/length_match_report.json"

SCHEMA = pa.schema(
    [
        pa.field("set_id", pa.string(), nullable=False),
        pa.field("stage", pa.string(), nullable=False),
        pa.field("model", pa.string(), nullable=False),
        pa.field("prompt_id", pa.string(), nullable=False),
        pa.field("prompt", pa.string(), nullable=False),
        pa.field("responses", pa.list_(pa.string()), nullable=False),
        pa.field("finish_reasons", pa.list_(pa.string()), nullable=False),
        pa.field("original_bytes", pa.list_(pa.int32()), nullable=False),
        pa.field("matched_bytes", pa.int32()),
        pa.field("temperature", pa.float64(), nullable=False),
        pa.field("top_p", pa.float64(), nullable=False),
        pa.field("max_new_tokens", pa.int32(), nullable=False),
        pa.field("seed", pa.int32(), nullable=False),
    ]
)
_CONSTANT = ("model", "prompt", "temperature", "top_p", "max_new_tokens", "seed")


def raw_rows(prompt_set: str, fetch: Fetch) -> Iterator[dict[str, Any]]:
    """Yield one row per stage and prompt, with the stages in order of training."""
    for stage in STAGES:
        path = fetch(_path(stage, prompt_set))
        by_prompt: dict[str, list[dict[str, Any]]] = {}
        with path.open(encoding="utf-8") as file:
            for line in file:
                row = json.loads(line)
                by_prompt.setdefault(row["prompt_id"], []).append(row)
        for prompt_id, samples in by_prompt.items():
            samples.sort(key=lambda row: int(row["sample_idx"]))
            if [row["sample_idx"] for row in samples] != list(range(10)):
                raise InputError(f"{path}: {prompt_id} does not have exactly the samples 0 to 9")
            if any(len({row[name] for row in samples}) > 1 for name in _CONSTANT):
                raise InputError(f"{path}: a value of {prompt_id} varies that should be constant")
            responses = [row["response"] for row in samples]
            yield {
                "set_id": f"{stage}/{prompt_id}",
                "stage": stage,
                "prompt_id": prompt_id,
                "responses": responses,
                "finish_reasons": [row["finish_reason"] for row in samples],
                "original_bytes": [len(text.encode()) for text in responses],
                "matched_bytes": None,
                **{name: samples[0][name] for name in _CONSTANT},
            }


def matched_rows(prompt_set: str, fetch: Fetch) -> Iterator[dict[str, Any]]:
    """Yield the rows of `raw_rows`, length-matched and checked against the published report if it is available."""
    rows = list(raw_rows(prompt_set, fetch))
    shortest = shortest_of(rows)
    _compare(fetch, prompt_set, shortest)
    for row in rows:
        length = shortest[row["prompt_id"]]
        if length >= SHORTEST:
            yield row | {"responses": [cut(text, length) for text in row["responses"]], "matched_bytes": length}


def shortest_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return the length in bytes of each prompt's shortest response, over all stages."""
    shortest: dict[str, int] = {}
    for row in rows:
        shortest[row["prompt_id"]] = min(shortest.get(row["prompt_id"], 2**31), *row["original_bytes"])
    return shortest


def cut(text: str, length: int) -> str:
    """Return the first `length` UTF-8 bytes of a text, without a character that the cut would split.

    >>> cut("naïve", 3), cut("naïve", 4)
    ('na', 'naï')
    """
    return text.encode()[:length].decode(errors="ignore")


def dropped(prompt_set: str, fetch: Fetch) -> dict[str, int]:
    """Count the prompts that the length-matched split leaves out, by reason."""
    lengths = shortest_of(raw_rows(prompt_set, fetch)).values()
    return {f"a response of under {SHORTEST} bytes": sum(length < SHORTEST for length in lengths)}


def _compare(fetch: Fetch, prompt_set: str, shortest: dict[str, int]) -> None:
    path = fetch.optional(REPORT)
    if path is None:
        return
    published = json.loads(path.read_text(encoding="utf-8"))["L_prompt_per_prompt"]
    for prompt_id, length in shortest.items():
        expected = published[f"{prompt_set}::{prompt_id}"]["L_bytes"]
        if length != expected:
            raise InputError(f"{path}: {prompt_id} is matched at {expected} bytes there, at {length} here")


def _path(stage: str, prompt_set: str) -> str:
    return f"olmo/generations/{stage}_{prompt_set}.jsonl"


def _splits() -> tuple[Split, ...]:
    counts = {"alpacaeval": (800, 600), "nbcurated": (400, 156)}
    splits = []
    for prompt_set in PROMPT_SETS:
        reads = tuple(_path(stage, prompt_set) for stage in STAGES)
        raw, matched = counts[prompt_set]
        splits.append(Split(prompt_set, partial(raw_rows, prompt_set), reads, raw))
        name, rows = f"{prompt_set}_length_matched", partial(matched_rows, prompt_set)
        splits.append(Split(name, rows, (*reads, REPORT), matched, partial(dropped, prompt_set)))
    return tuple(splits)


SOURCE = described("olmo", "1.0.0", {"olmo_stages": (SCHEMA, _splits())})
