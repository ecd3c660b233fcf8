"""How the systems, columns and cells of a board are named, chosen and written, on pages and in the terminal."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from benchmark.analysis.ranking import Standing
from benchmark.metrics import FAMILIES, METRICS
from divbench.core.tables import Cell, estimate_cells
from leaderboard.data.board import REFERENCE_TYPES, Board, Column, Entry, distinct_labels
from leaderboard.data.kinds import KINDS, kind_of
from submissions.untrusted.plain_text import shortened

FEWEST_DIGITS = 6  # minimum number of digits of an id in a permalink
QUALITY = (
    "utility_k",
    "utility_k_reported",
    "mean_head_quality",
    "mean_head_quality_reported",
    "estimated_quality",
    "valid_share",
    "first_quality",
    "coherence",
)
# Metrics that a table shows at first, without those of the language model: results of the bundled one mean little.
OVERVIEW = (
    *("valid_distinct_k", "distinct_k", "valid_distinct_k_reported", "distinct_k_reported", "embedding_diversity"),
    *("vendi_score", "utility_k", "utility_k_reported", "mean_head_quality_reported", "valid_share"),
)
DIRECTIONS: Mapping[int, str] = {1: "higher is more diverse", -1: "lower is more diverse", 0: "no direction"}
_FAMILY = {metric.id: metric.family for metric in METRICS}


def system_labels(board: Board) -> tuple[str, ...]:
    """Return a unique label for each entry: its name, and the start of its submission id if the name is not unique."""
    return distinct_labels([entry.result.manifest.name for entry in board.entries], system_ids(board))


def system_ids(board: Board) -> tuple[str, ...]:
    """Return the permalink id of each entry, which is its submission id."""
    return tuple(entry.result.submission_id for entry in board.entries)


def indices_of(board: Board, ids: Sequence[str]) -> tuple[int, ...]:
    """Return the indices of the systems with these permalink ids, in the order of the ids, without unknown ones."""
    indices = {system_id: index for index, system_id in enumerate(system_ids(board))}
    return tuple(indices[system_id] for system_id in dict.fromkeys(ids) if system_id in indices)


def first_systems(board: Board, count: int) -> tuple[int, ...]:
    """Return the indices of the systems to show if there are too many: people first, known-bad baselines last."""
    order = {"human": 0, "baseline": 2}
    ordered = sorted(
        range(len(board.entries)), key=lambda i: order.get(board.entries[i].result.manifest.system.type, 1)
    )
    return tuple(sorted(ordered[:count]))


def first_entry(board: Board) -> Entry:
    """Return the system to show first: the best one that is neither people nor a known-bad baseline."""
    ranked = (entry for entry in board.entries if entry.result.manifest.system.type not in REFERENCE_TYPES)
    return next(ranked, board.entries[0])


def find_entry(board: Board, start: str | None) -> Entry | None:
    """Find the system whose submission or result id begins so; permalinks use ids because names are not unique."""
    if not isinstance(start, str) or len(start) < FEWEST_DIGITS:
        return None
    submissions = (entry for entry in board.entries if entry.result.submission_id.startswith(start))
    results = (entry for entry in board.entries if any(result.startswith(start) for result in entry.results))
    return next(submissions, None) or next(results, None)


def system_choices(board: Board) -> list[tuple[str, str]]:
    """Return the label and permalink id of each system, for a dropdown, by kind; kinds without ranks are named."""
    kinds = [kind_of(entry) for entry in board.entries]
    systems = sorted(zip(kinds, system_labels(board), system_ids(board), strict=True), key=lambda s: KINDS.index(s[0]))
    return [(shortened(text, 80) + ("" if kind.is_ranked else f" · {kind.name}"), i) for kind, text, i in systems]


def board_choices(boards: Sequence[Board], *, suites: bool = True) -> list[tuple[str, str]]:
    """Return the short label and name of each board; with the revision only if boards differ in nothing else."""
    labels = [f"{f'{b.suite}, ' if suites else ''}k {b.k}, {b.profile}" for b in boards]
    count = Counter(labels)
    return [
        (f"{label}, {board.revision[:6]}" if count[label] > 1 else label, board.name)
        for label, board in zip(labels, boards, strict=True)
    ]


def column_choices(board: Board | None) -> list[tuple[str, str]]:
    """Return the short text and label of each column of a board, for a dropdown, in the groups of `FAMILIES`."""
    if board is None:
        return []
    groups = list(FAMILIES)
    columns = [(_FAMILY.get(column.metric, "other"), column.label) for column in board.columns]
    columns.sort(key=lambda column: groups.index(column[0]) if column[0] in groups else len(groups))
    return [(f"{group}: {label}", label) for group, label in columns]


def overview(board: Board) -> tuple[Column, ...]:
    """Return the columns of the most important metrics; all if the board has none of these."""
    columns = [column for column in board.columns if column.metric in OVERVIEW]
    return tuple(sorted(columns, key=lambda column: OVERVIEW.index(column.metric))) or board.columns


def heading(column: Column) -> str:
    """Return a column's heading, which says if lower is more diverse; an arrow there would show the sort order."""
    return f"{column.label} (lower = more diverse)" if column.direction < 0 else column.label


def better_end(column: Column) -> int:
    """Return the direction in which a column is better: +1 higher, as for quality; −1 lower; 0 none."""
    return column.direction or (1 if column.metric in QUALITY else 0)


def direction_text(column: Column) -> str:
    """Return the direction in which a column is better or more diverse."""
    return "higher is better" if not column.direction and column.metric in QUALITY else DIRECTIONS[column.direction]


def score_cells(board: Board, column: Column) -> list[Cell]:
    """Return the value of each entry in a column, shown with its interval, such as `2.89 [2.50, 3.31]`."""
    cells = [entry.cells.get(column.signature) for entry in board.entries]
    return estimate_cells([(None, None, None) if cell is None else (cell.value, cell.low, cell.high) for cell in cells])


def rank_text(standing: Standing) -> str:
    """Return a rank with its interval and tie group, such as `3 [2–5] C`; a shared letter means statistically tied."""
    if standing.rank is None or standing.group is None:
        return ""
    interval = "" if standing.low is None else f" [{standing.low}–{standing.high}]"
    return f"{standing.rank}{interval} {group_name(standing.group)}"


def group_name(group: int) -> str:
    """Return the letters of tie group 1, 2, …: A, B, …, Z, AA, AB, …

    >>> [group_name(n) for n in (1, 26, 27, 52, 53)]
    ['A', 'Z', 'AA', 'AZ', 'BA']
    """
    name = ""
    while group:
        group, letter = divmod(group - 1, 26)
        name = chr(ord("A") + letter) + name
    return name


def fact_text(name: str, value: Any) -> str:
    """Return a fact about a system as display text; empty if unknown."""
    if value is None:
        return ""
    if name == "parameters":
        scale, unit = (10**9, "B") if value >= 10**9 else (10**6, "M")
        return f"{value / scale:.3g}{unit}"
    if name == "bytes_a_response":
        return f"{value:,.0f}"
    return {True: "open", False: "closed"}[value] if isinstance(value, bool) else str(value)
