"""The results in a folder."""

from pathlib import Path

from benchmark.metrics.metric import Missing
from benchmark.scoring.results import Result, read_result


def read_results(folder: Path) -> list[tuple[Path, Result | Missing]]:
    """Return every result in a folder, by name; hidden folders are runs that have not finished."""
    return [(each, read_result(each)) for each in sorted(folder.iterdir()) if not each.name.startswith(".")]
