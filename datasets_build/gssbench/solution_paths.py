"""Pairs of prompts that ask to solve a user's question by one given method, or by any of several.

The seventh kind of pair of GSSBench (Yu et al. 2025, arXiv:2510.12699, section on reasoning); the wording is ours.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from datasets_build.gssbench.rows import pair_row
from divbench.core.errors import ConfigurationError, InputError

_ENDED = re.compile(r"[.?!:;…][\"'”’»)\]$]*$")  # a sentence, perhaps within quotes, brackets or a formula


def read_questions(path: Path) -> Iterator[dict[str, Any]]:
    """Read the rows of a JSON Lines file of questions with their methods."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}", "give a JSON Lines file") from error
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}, row {number}: not JSON: {error}", "write one JSON object per line") from error
        if not isinstance(row, dict):
            raise InputError(f"{path}, row {number}: not a JSON object", "write one JSON object per line")
        yield row


def solution_path_pairs(rows: Iterable[Mapping[str, Any]], source: str = "questions") -> Iterator[dict[str, Any]]:
    """Make one pair from each question, as rows that fit `PAIRS`."""
    row_of: dict[str, int] = {}
    for number, row in enumerate(rows, start=1):
        at = f"{source}, row {number}, field"
        question, methods = row.get("question"), row.get("methods")
        if not isinstance(question, str) or not question.strip():
            raise InputError(f"{at} question: not a text", "give the question")
        texts = [text.strip() for text in methods if isinstance(text, str)] if isinstance(methods, list) else []
        if not isinstance(methods, list) or len(texts) != len(methods) or len(set(texts)) < 2 or "" in texts:
            raise InputError(f"{at} methods: not at least two different texts", "list the methods")
        if len(set(texts)) != len(texts):
            raise InputError(f"{at} methods: one occurs twice", "list each method once")
        listed = " ".join(f"{order}. {text}" for order, text in enumerate(texts, start=1))
        sentence = question.strip()
        sentence = sentence if _ENDED.search(sentence) else f"{sentence}."
        a = f"{sentence} Solve it by this method: {texts[0]}"
        b = f"{sentence} Solve it by one of these methods: {listed}"
        name = f"{number:04}" if row.get("id") in (None, "") else str(row["id"])
        if row_of.setdefault(name, number) != number:
            hint = "give each question its own id, or none"
            raise InputError(f"{at} id: {name!r} is also the id of row {row_of[name]}", hint)
        pair_id = f"solution_paths-{name}"
        sizes = (1, len(texts))
        yield pair_row(pair_id, a, b, set_id=pair_id, relation="one<many", template="solution_paths", sizes=sizes)
