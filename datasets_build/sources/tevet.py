"""Tevet & Berant's response sets with known diversity: conTest, McDiv, McDiv_nuggets and decTest (arXiv:2004.02990).

Their `sample_id` is not unique: the high and the low set of one worker share it. So `set_id` is a hash of the content,
the same for the same set in conTest, McDiv and McDiv_nuggets; `pair_id` links the two sets of one worker.
"""

import csv
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from datasets_build.sources.source import Fetch, Split, described
from divbench.core.errors import InputError
from divbench.core.files import canonical_json

TASKS = ("story_gen", "resp_gen", "prompt_gen")
REPORTED = ("averaged_distinct_ngrams", "averaged_cosine_similarity", "bert_score", "bert_sts", "sent_bert")

_STEM = {
    "contest": "conTest/con_test_200_with_hds_",
    "mcdiv": "McDiv/mcdiv_all_no_hds_",
    "mcdiv_nuggets": "McDiv_nuggets/mcdiv_nuggets_no_hds_",
    "mcdiv_nuggets_with_hds": "McDiv_nuggets/mcdiv_nuggets_200_with_hds_",
    "dectest": "decTest/dec_test_1000_no_hds_",
    "dectest_with_hds": "decTest/dec_test_200_with_hds_",
}
_COUNTS = {  # in the order of TASKS
    "contest": (250, 220, 200),
    "mcdiv": (2000, 2002, 2000),
    "mcdiv_nuggets": (1012, 1049, 1008),
    "mcdiv_nuggets_with_hds": (200, 200, 200),
    "dectest": (985, 994, 1000),
    "dectest_with_hds": (203, 203, 203),
}

SCHEMA = pa.schema(
    [
        pa.field("set_id", pa.string(), nullable=False),
        pa.field("pair_id", pa.string()),
        pa.field("sample_id", pa.string(), nullable=False),
        pa.field("context", pa.string(), nullable=False),
        pa.field("responses", pa.list_(pa.string()), nullable=False),
        pa.field("label", pa.float64(), nullable=False),
        pa.field("label_name", pa.string(), nullable=False),
        pa.field("blank", pa.bool_(), nullable=False),
        pa.field("abs_hds_mean", pa.float64()),
        pa.field("abs_hds_std", pa.float64()),
        *(pa.field(f"reported_{name}", pa.float64()) for name in REPORTED),
    ]
)


def read_csv(path: Path, columns: tuple[str, ...]) -> list[dict[str, str]]:
    """Read the rows of a CSV file, each with exactly the header's fields."""
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.reader(file, strict=True)
        try:
            header = next(reader, [])
            lacking = [name for name in columns if name not in header]
            if lacking or len(set(header)) != len(header):
                raise InputError(
                    f"{path}: the header lacks {lacking or 'nothing, but repeats a column'}", "download it again"
                )
            rows = []
            for values in reader:
                if len(values) != len(header):
                    message = f"{path}, line {reader.line_num}: {len(values)} fields, the header has {len(header)}"
                    raise InputError(message, "look for an extra quote or comma")
                rows.append(dict(zip(header, values, strict=True)))
        except csv.Error as error:
            raise InputError(f"{path}, line {reader.line_num}: {error}", "look for an extra quote") from error
    return rows


def responses_of(row: dict[str, str]) -> list[str]:
    """Return the values of `resp_0`, `resp_1`, … of a raw row."""
    return [row[name] for name in sorted((n for n in row if n.startswith("resp_")), key=lambda n: int(n[5:]))]


def set_id(task: str, row: dict[str, str]) -> str:
    """Name a set by its task and its content."""
    return f"{task}-{content_digits(row['context'], responses_of(row))}"


def content_digits(context: str, responses: Sequence[str]) -> str:
    """Return 12 hex digits over context and responses: the end of a set's id."""
    return hashlib.sha256(canonical_json([context, list(responses)])).hexdigest()[:12]


def pairs(task: str, rows: list[dict[str, str]]) -> dict[str, str]:
    """Pair the sets of McDiv: the n-th high set of a `sample_id` with the n-th low one."""
    seen: Counter[tuple[str, str]] = Counter()
    names = {}
    for row in rows:
        key = (row["sample_id"], row["label_value"])
        names[set_id(task, row)] = f"{row['sample_id']}#{seen[key]}"
        seen[key] += 1
    return names


def rows(task: str, variant: str, fetch: Fetch) -> Iterator[dict[str, Any]]:
    """Yield the rows of one file, in its order."""
    path = fetch(f"tevet/raw/{_STEM[variant]}{task}.csv")
    raw = read_csv(path, ("sample_id", "context", "label_value", "label_name", "resp_0"))
    reported = _reported(fetch, variant, task, raw)
    of_pair: dict[str, str] = {}
    if not variant.startswith("dectest"):
        whole = raw if variant == "mcdiv" else read_csv(fetch(f"tevet/raw/{_STEM['mcdiv']}{task}.csv"), ())
        of_pair = pairs(task, whole)
    if variant == "mcdiv_nuggets_with_hds":
        nuggets = read_csv(fetch(f"tevet/raw/{_STEM['mcdiv_nuggets']}{task}.csv"), ())
        _check_subset(path, task, raw, {set_id(task, row) for row in nuggets}, "McDiv_nuggets")
    if of_pair:
        _check_subset(path, task, raw, set(of_pair), "McDiv")
    seen: Counter[str] = Counter()
    for row, values in zip(raw, reported, strict=True):
        name = set_id(task, row)
        seen[name] += 1
        if seen[name] > 1:
            raise InputError(f"{path}: the set of sample_id {row['sample_id']} occurs twice")
        responses = responses_of(row)
        yield {
            "set_id": name,
            "pair_id": of_pair.get(name),
            "sample_id": row["sample_id"],
            "context": row["context"],
            "responses": responses,
            "label": float(row["label_value"]),
            "label_name": row["label_name"],
            "blank": not any(text.strip() for text in responses),
            "abs_hds_mean": _number(row.get("metric_abs_hds_mean")),
            "abs_hds_std": _number(row.get("metric_abs_hds_std")),
            **{f"reported_{metric}": _number(values.get(f"metric_{metric}")) for metric in REPORTED},
        }


def _number(text: str | None) -> float | None:
    return float(text) if text else None


def _reported(fetch: Fetch, variant: str, task: str, raw: list[dict[str, str]]) -> list[dict[str, str]]:
    """Read the released metric columns of the same rows; empty if that file is not available."""
    path = fetch.optional(f"tevet/reference/{_STEM[variant]}{task}.csv")
    if path is None:
        return [{} for _ in raw]
    columns = read_csv(path, ("sample_id", "label_value", "metric_averaged_distinct_ngrams"))
    if len(columns) != len(raw):
        raise InputError(f"{path}: {len(columns)} rows for {len(raw)} sets")
    for number, (values, row) in enumerate(zip(columns, raw, strict=True), start=1):
        if values["sample_id"] != row["sample_id"] or float(values["label_value"]) != float(row["label_value"]):
            raise InputError(f"{path}, row {number}: sample_id {values['sample_id']}, expected {row['sample_id']}")
    return columns


def _check_subset(path: Path, task: str, raw: list[dict[str, str]], whole: set[str], name: str) -> None:
    outside = [row["sample_id"] for row in raw if set_id(task, row) not in whole]
    if outside:
        raise InputError(f"{path}: {len(outside)} sets are not in {name}, the first of sample_id {outside[0]}")


def _splits(variant: str, ending: str = "") -> tuple[Split, ...]:
    splits = []
    for task, count in zip(TASKS, _COUNTS[variant], strict=True):
        needed = [variant]
        if not variant.startswith("dectest") and variant != "mcdiv":
            needed.append("mcdiv")
        if variant == "mcdiv_nuggets_with_hds":
            needed.append("mcdiv_nuggets")
        raw = [f"tevet/raw/{_STEM[name]}{task}.csv" for name in needed]
        reads = (*raw, f"tevet/reference/{_STEM[variant]}{task}.csv")
        splits.append(Split(f"{task}{ending}", partial(rows, task, variant), reads, count))
    return tuple(splits)


SOURCE = described(
    "tevet",
    "1.0.0",
    {
        "contest": (SCHEMA, _splits("contest")),
        "mcdiv": (SCHEMA, _splits("mcdiv")),
        "mcdiv_nuggets": (SCHEMA, _splits("mcdiv_nuggets") + _splits("mcdiv_nuggets_with_hds", "_with_hds")),
        "dectest": (SCHEMA, _splits("dectest") + _splits("dectest_with_hds", "_with_hds")),
    },
)
