"""Everything that shows results without a browser: tables, files, pages, endpoints, exporters."""

import json
from contextlib import suppress
from pathlib import Path

from gradio import Error
from rich.console import Console

from benchmark.exports.eval_results import entries, write_eval_results
from benchmark.exports.every_eval_ever import write_every_eval_ever
from benchmark.exports.results import ScoredResult, open_result
from benchmark.exports.results_dataset import write_results_dataset
from divbench.core.errors import DivBenchError
from leaderboard.app.api import Endpoints
from leaderboard.data.live_results import LiveResults
from leaderboard.data.sources import FolderSource
from leaderboard.static.write import write_static
from leaderboard.tables.export import export
from leaderboard.tables.printing import board_json, print_curves, print_front, print_metrics


def every_view(results: Path, out: Path) -> int:
    """Show a folder of results in every way. What cannot be shown is left out by a message; nothing else is raised.

    Args:
        results: Folder of results.
        out: Folder to write to.

    Returns:
        The number of results on the boards.
    """
    live = LiveResults(FolderSource(results))
    snapshot = live.snapshot()
    with (out / "terminal").open("w", encoding="utf-8") as file:
        console = Console(file=file, width=120)
        for board in snapshot.boards:
            for show in (print_front, print_metrics, print_curves):
                show(board, console)
            json.dumps(board_json(board), allow_nan=False)
            export(board, out / "tables")
    write_static(live, out / "pages", texts=False)
    _endpoints(live)
    _exporters(results, out)
    return sum(len(board.entries) for board in snapshot.boards)


def _endpoints(live: LiveResults) -> None:
    asked = Endpoints(live)
    for board in asked.boards():
        name, columns = board["name"], asked.columns(board["name"])
        with suppress(Error):  # no metric has a value, the files of a result are gone, a prompt is not its
            systems = asked.board(name)
            json.dumps([columns, systems], allow_nan=False)
            for system in systems[:: max(1, len(systems) // 10)]:
                prompts = asked.per_prompt(name, system["label"], columns[-1]["label"])
                json.dumps(asked.responses(name, system["label"], prompts[0]["prompt_id"]), allow_nan=False)


def _exporters(results: Path, out: Path) -> None:
    opened: list[ScoredResult] = []
    for folder in sorted(results.iterdir()):
        try:
            opened.append(open_result(folder))
        except DivBenchError:
            continue
        for write in (_every_eval_ever, _eval_results):
            with suppress(DivBenchError):  # such as a format that needs a date
                write(opened[-1], out)
    with suppress(DivBenchError):  # which names the result
        write_results_dataset(opened, out / "dataset")


def _every_eval_ever(scored: ScoredResult, out: Path) -> None:
    write_every_eval_ever(scored, out / "every-eval-ever")


def _eval_results(scored: ScoredResult, out: Path) -> None:
    write_eval_results(out / "results.yaml", entries(scored, "org/divbench"))
