"""`divbench people votes` and `export`: report and export the votes of the arena."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from divbench.core.console import JsonOption, deliver, err, say
from divbench.core.errors import InputError, counted
from divbench.core.tables import check_report_path

if TYPE_CHECKING:
    from leaderboard.data.live_results import LiveResults
    from submissions.judgements.vote_store import Votes

Store = Annotated[str, typer.Argument(help="Store of the votes: a folder, or hf://datasets/ORG/NAME.", metavar="STORE")]
Results = Annotated[
    Path | None,
    typer.Option(help="Folder of the judged results; default: those in the store.", show_default=False),
]


def report(
    store: Store,
    results: Results = None,
    output: Annotated[Path | None, typer.Option("--out", help="Report file: .md or .json.", show_default=False)] = None,
    json: JsonOption = False,
) -> None:
    """Report on arena votes: the strengths of systems, and how well each metric agrees with people.

    The two questions are reported separately, with 95% intervals over voters and prompts. Votes of visitors who fail
    checks count less.

    Example: divbench people votes votes --results results
    """
    from leaderboard.data.vote_results import vote_results
    from leaderboard.reports.arena.report import votes_report

    check_report_path(output, (".md", ".json"))
    live, found = _read(store, results)
    boards = {board.name: (board, live.scores(board)) for board in live.snapshot().boards}
    deliver(votes_report(vote_results(found.votes, boards)), output, as_json=json)


def export(
    store: Store,
    results: Results = None,
    destination: Annotated[Path, typer.Option("--out", help="Folder to create.")] = Path("votes-dataset"),
    json: JsonOption = False,
) -> None:
    """Write the votes as a dataset with a card: Parquet with prompt, both response sets, question, answer and check.

    Texts are null if their results no longer exist. Voters are salted hashes.

    Example: divbench people export votes --results results --out votes-dataset, then
    datasets.load_dataset("votes-dataset", "votes")
    """
    from leaderboard.reports.arena.dataset import write_dataset

    live, found = _read(store, results)
    written = write_dataset(destination, found.votes, live)
    document = {"votes": len(found.votes), "files": [str(path) for path in written]}
    say(document, f"{counted(len(found.votes), 'vote')} in {destination}", as_json=json)


def _read(store: str, results: Path | None) -> "tuple[LiveResults, Votes]":
    """Read the results and the votes."""
    from leaderboard.data.live_results import LiveResults
    from leaderboard.data.sources import FolderSource, StoreSource
    from submissions.judgements.vote_store import FOLDER, VoteReader
    from submissions.storage.file_store import open_store

    opened = open_store(store, existing=True)
    if not opened.head() and (Path(store) / FOLDER).is_dir():  # such as a downloaded repository
        hint = "read a Hub repository as hf://datasets/ORG/NAME, or the folder that divbench board serve --votes wrote"
        raise InputError(f"{store} has a folder {FOLDER} but no commits, so it is not a store", hint)
    found = VoteReader(opened).read()
    for place, reason in found.damaged:
        err().print(f"left out {place}: {reason}", style="yellow", markup=False, soft_wrap=True)
    return LiveResults(StoreSource(opened) if results is None else FolderSource(results), refresh=None), found
