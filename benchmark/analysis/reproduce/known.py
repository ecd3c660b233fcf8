"""Differences with a known reason, each bound to its two numbers, so that it hides no other difference."""

import tomllib

from benchmark.analysis.reproduce.cells import PUBLISHED, Known

KNOWN: tuple[Known, ...] = tuple(
    Known(table, row, column, printed, ours, each["reason"])
    for each in tomllib.loads((PUBLISHED / "known.toml").read_text(encoding="utf-8"))["differences"]
    for table, row, column, printed, ours in each["numbers"]
)
