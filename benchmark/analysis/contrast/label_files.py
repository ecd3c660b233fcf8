"""Readers of labels from a file and of scores from a result, for label_study.py."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.analysis.contrast.labels import Labels, MetricScores, PromptScores
from benchmark.metrics.metric import Missing
from benchmark.scoring.inputs import Value
from benchmark.scoring.results import PER_PROMPT_FILE, RESULT_FILE, Result, require_result
from divbench.core.errors import ConfigurationError, InputError, first_line
from submissions.untrusted.findings import Findings, Problem, Rejected
from submissions.untrusted.table_files import Columns, lacks_column, read_columns, rows_with_ids

_TRUTH = {"1": True, "1.0": True, "true": True, "0": False, "0.0": False, "false": False}
_NOT_THERE = "not in the file"


def read_scores(folder: Path) -> PromptScores:
    """Read a result's values by prompt, for all metrics that have any.

    Raises:
        InputError: The folder is not a complete result.
    """
    result = require_result(folder)
    names = [score.metric for score in result.scores if score.n]
    try:
        table = pq.read_table(folder / PER_PROMPT_FILE, columns=["prompt_id", "prompt", "missing", *names])
        prompt_ids: list[Any] = table["prompt_id"].to_pylist()
        prompts: list[Any] = table["prompt"].to_pylist()
        missing: list[Any] = table["missing"].to_pylist()
        return PromptScores(
            system=result.manifest.name,
            submission_id=result.submission_id,
            result_id=result.result_id,
            suite=f"{result.suite}@{result.suite_revision}",
            profile=result.profile,
            k=result.k,
            prompt_ids=tuple(prompt_ids),
            prompt_bytes=np.array([len(prompt.encode()) for prompt in prompts], np.float64),
            metrics=_metrics(result, names, table, _reasons(missing)),
        )
    except (pa.ArrowException, KeyError, TypeError, ValueError, AttributeError) as error:
        message = f"{folder / PER_PROMPT_FILE} does not match {RESULT_FILE}: {first_line(error)}"
        raise InputError(message, "score the submission again") from error


def _reasons(missing: Sequence[Sequence[Mapping[str, str]]]) -> dict[tuple[str, int], str]:
    return {(each["metric"], place): each["reason"] for place, own in enumerate(missing) for each in own}


def _metrics(
    result: Result, names: Sequence[str], table: pa.Table, reasons: Mapping[tuple[str, int], str]
) -> tuple[MetricScores, ...]:
    made = []
    for score in result.scores:
        if score.metric not in names:
            continue
        values: list[Value] = [
            Missing(reasons.get((score.metric, place), "no reason given")) if value is None else float(value)
            for place, value in enumerate(table[score.metric].to_pylist())
        ]
        made.append(
            MetricScores(
                score.metric, score.version, score.direction, score.origin, str(score.signature), tuple(values)
            )
        )
    return tuple(made)


def read_labels(
    path: Path,
    prompt_ids: Iterable[str],
    *,
    label_column: str = "label",
    positive: Sequence[str] = (),
    negative: Sequence[str] = (),
    against: Sequence[str] = (),
) -> Labels:
    """Read two groups of prompts, and columns of numbers, from a file.

    Args:
        path: .csv, .jsonl or .parquet, with a column `prompt_id` and one of labels: 0 and 1, true and false, or words.
            A row without a label is in no group.
        positive: Labels of group 1; empty: labels are 0 and 1, or true and false.
        negative: Labels of group 0; empty: all other labels. A prompt with any other label is in no group.

    Raises:
        ConfigurationError: A label is both positive and negative, or only negative labels are named.
        Rejected: The file cannot be read or lacks a column; an id is repeated or belongs to no prompt; a label is not
            valid, or a named label occurs nowhere; or a numeric column has a value that is not a finite number. All
            problems are reported at once.
    """
    _check_words(positive, negative)
    findings = Findings()
    table = read_columns(path, ["prompt_id", label_column, *against], findings)
    if table is None:
        raise Rejected(str(path), findings)
    lacking = [
        name for name in dict.fromkeys(["prompt_id", label_column, *against]) if lacks_column(table, name, findings)
    ]
    if "prompt_id" in lacking or label_column in lacking:
        raise Rejected(str(path), findings)
    known = dict.fromkeys(prompt_ids)
    rows = []
    for number, name, row in rows_with_ids(table, "prompt_id", findings):
        if name in known:
            rows.append((number, name, row))
        else:
            message = f"the submission has no response to a prompt with the id {name!r}"
            _add(findings, table, number, "prompt_id", message, "leave the row out")
    words = {name: _word(row.get(label_column)) for _, name, row in rows}
    groups: dict[str, bool] = {}
    left_out: Counter[str] = Counter()
    for number, name, _ in rows:
        word = words[name]
        group = None if word is None else _group(word, positive, negative)
        if group is not None:
            groups[name] = group
        elif word is None:
            left_out["no label"] += 1
        elif positive:
            left_out["a label of neither group"] += 1
        else:
            hint = "name the labels of group 1 with --positive"
            _add(findings, table, number, label_column, f"{word!r} is not 0, 1, true or false", hint)
    _check_named([*positive, *negative], words, label_column, table, findings)
    numbers = {column: _numbers(column, rows, table, findings) for column in dict.fromkeys(against)}
    if findings.rejected():
        raise Rejected(str(path), findings)
    left_out[_NOT_THERE] = len(known) - len(rows)
    return Labels(
        source=f"{path.name}, column {label_column}",
        group_1=", ".join(positive) or "1 or true",
        group_0=", ".join(negative) or ("all others" if positive else "0 or false"),
        is_1=groups,
        left_out={reason: count for reason, count in sorted(left_out.items()) if count},
        columns=numbers,
    )


def _add(findings: Findings, table: Columns, number: int | None, field: str, message: str, hint: str) -> None:
    findings.add(Problem("labels", "error", table.name, number, field, message, hint))


def _check_words(positive: Sequence[str], negative: Sequence[str]) -> None:
    if negative and not positive:
        raise ConfigurationError("--negative needs --positive", "name the labels of group 1 with --positive")
    if both := sorted(set(positive) & set(negative)):
        raise ConfigurationError(f"{both[0]!r} is named by --positive and --negative", "name it in one group only")


def _word(label: Any) -> str | None:
    """Return a label as text, as it would be written in a CSV file; None where there is no label."""
    if isinstance(label, bool):
        return "true" if label else "false"
    if isinstance(label, float):
        return None if math.isnan(label) else f"{label:g}"
    return None if label is None else str(label).strip() or None


def _group(word: str, positive: Sequence[str], negative: Sequence[str]) -> bool | None:
    """Whether a label belongs to group 1; None if it belongs to neither group."""
    if not positive:
        return _TRUTH.get(word.lower())
    if word in positive:
        return True
    return False if not negative or word in negative else None


def _check_named(
    named: Sequence[str], words: Mapping[str, str | None], column: str, table: Columns, findings: Findings
) -> None:
    """Report named labels that no row has: a misspelt label would leave its group too small."""
    there = sorted({word for word in words.values() if word is not None})
    for word in named:
        if word not in there:
            hint = f"labels in the file: {', '.join(there[:10])}{', …' if len(there) > 10 else ''}"
            _add(findings, table, None, column, f"no row has the label {word!r}", hint)


def _numbers(
    column: str, rows: Sequence[tuple[int, str, Mapping[str, Any]]], table: Columns, findings: Findings
) -> dict[str, float]:
    """Return a column's numbers by prompt id; empty fields, null and NaN are missing."""
    made: dict[str, float] = {}
    for number, name, row in rows:
        given = row.get(column)
        if given is None or (isinstance(given, str) and not given.strip()):
            continue
        try:
            value = float("x" if isinstance(given, bool) else given)
        except (TypeError, ValueError, OverflowError):
            value = math.inf
        if math.isinf(value):
            _add(findings, table, number, column, f"{str(given)[:50]!r} is not a finite number", "write a number")
        elif not math.isnan(value):
            made[name] = value
    return made
