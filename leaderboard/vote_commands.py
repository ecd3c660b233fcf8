"""`divbench people votes` and `people export`: report on the votes of the arena, and write them as a dataset."""

from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from divbench.core.console import JsonOption, deliver, err, say
from divbench.core.errors import InputError, counted
from divbench.core.files import atomic_folder, write_text
from divbench.core.tables import Block, Report, Table, check_report_path

if TYPE_CHECKING:
    from leaderboard.data.board import Entry
    from leaderboard.data.live_results import LiveResults
    from leaderboard.data.votes import VoteResults
    from submissions.judgements.vote_store import Votes
    from submissions.judgements.votes import Vote

NO_VOTES = "There are no votes. A board takes them: divbench board serve --results RESULTS --votes STORE"
_CARD = """---
configs:
- config_name: votes
  data_files: votes.parquet
---
# People's votes on pairs of response sets

{votes:,} answers by {voters:,} visitors of a DivBench board, one row per answer: which of two response sets to one
prompt has the more different ideas (`more_different`), and which one the visitor would rather have been given
(`preferred`). `answer` is *left*, *right* or *tie*. Systems were not named. Rows with a `check` have a known answer
(`expected`), and `passed` says whether it was given; leave them out of comparisons. `voter` is a salted hash, the same
for all answers of a visitor. Texts are null if the results that contain them no longer exist; they belong to those who
submitted them.
"""

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

    The two questions are reported separately, with 95% intervals over voters. Voters who failed half of their checks
    are left out.

    Example: divbench people votes votes --results results
    """
    from leaderboard.data.votes import vote_results

    check_report_path(output, (".md", ".json"))
    live, votes = _read(store, results)
    boards = {board.name: (board, live.scores(board)) for board in live.snapshot().boards}
    deliver(votes_report(vote_results(votes.votes, boards)), output, as_json=json)


def export(
    store: Store,
    results: Results = None,
    destination: Annotated[Path, typer.Option("--out", help="Folder to create.")] = Path("votes-dataset"),
) -> None:
    """Write the votes as a dataset with a card: Parquet with prompt, both response sets, question, answer and check.

    Texts are null if their results no longer exist. Voters are salted hashes.

    Example: divbench people export votes --results results --out votes-dataset, then
    datasets.load_dataset("votes-dataset", "votes")
    """
    live, votes = _read(store, results)
    write_dataset(destination, votes.votes, live)
    say({}, f"{counted(len(votes.votes), 'vote')} in {destination}", as_json=False)


def votes_report(suites: "Sequence[VoteResults]") -> Report:
    """Return the report of all suites."""
    from leaderboard.pages.votes import agreement_table, strengths_table, votes_text
    from submissions.judgements.votes import QUESTIONS

    blocks: list[Block] = [] if suites else [NO_VOTES]
    for suite in suites:
        blocks.append(f"{suite.suite}: {votes_text(suite)}")
        blocks.append(_table("Points per vote against an average system; a tie counts half", strengths_table(suite)))
        agreement = agreement_table(suite)
        if agreement.rows:
            blocks.append(_table("Share of votes for a side that a metric predicts", agreement))
        elif suite.board is None:
            blocks.append("The results of these systems were not found, so no metric can be compared: give --results.")
    document = [
        {
            "suite": suite.suite,
            "board": suite.board and suite.board.name,
            "pairs": suite.pairs,
            "voters": suite.voters,
            "voters_left_out": suite.careless,
            "checks": {"answered": suite.checks, "passed": suite.passed},
            "questions": {
                question: {
                    **asdict(suite.strengths[question]),
                    "agreement": suite.agreement[question],
                    "ceiling": suite.ceiling[question],
                }
                for question in QUESTIONS
            },
        }
        for suite in suites
    ]
    return Report("People's votes", blocks, {"suites": document}, blocks)


def _table(title: str, view: Table) -> Table:
    numbers = [name for name, kind in zip(view.columns, view.kinds, strict=True) if kind == "number"]
    return Table(title, view.columns, view.rows, numbers=numbers)


def write_dataset(folder: Path, votes: "Sequence[Vote]", live: "LiveResults") -> None:
    """Write `votes.parquet` and its card to a new or empty folder; the same votes and results give the same bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from submissions.judgements.votes import VOTES

    texts = pa.list_(pa.string())
    columns = {"passed": pa.bool_(), "prompt": pa.string(), "left_responses": texts, "right_responses": texts}
    schema = pa.schema([*VOTES, *(pa.field(name, kind) for name, kind in columns.items())])
    # Votes name the results that were shown, which a later result of the same submission may have replaced.
    entries = {name: entry for board in live.snapshot().boards for entry in board.entries for name in entry.results}
    rows = [_row(vote, entries) for vote in votes]
    with atomic_folder(folder) as unfinished:
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), unfinished / "votes.parquet")
        voters = len({vote.voter for vote in votes})
        write_text(unfinished / "README.md", _CARD.format(votes=len(votes), voters=voters))


def _row(vote: "Vote", entries: "dict[str, Entry]") -> dict[str, Any]:
    prompt, left = _shown(vote, "left", entries.get(vote.left_result))
    other_prompt, right = _shown(vote, "right", entries.get(vote.right_result))
    return {field.name: getattr(vote, field.name) for field in fields(vote)} | {
        "passed": vote.passed,
        "prompt": other_prompt if prompt is None else prompt,
        "left_responses": left,
        "right_responses": right,
    }


def _shown(vote: "Vote", side: str, entry: "Entry | None") -> tuple[str | None, list[str] | None]:
    """Return the prompt, and the responses as shown on a side; None for what no longer exists."""
    from leaderboard.data.arena import responses_of, shuffled_texts

    prompt, responses = (None, None) if entry is None else responses_of(entry, vote.prompt_id)
    positions = vote.left_positions if side == "left" else vote.right_positions
    if responses is None or max(positions) >= len(responses):
        return prompt, None
    texts = tuple(responses[position] for position in positions)
    if vote.check == "shuffled" and vote.altered == side:
        texts = shuffled_texts(vote.left_result, vote.prompt_id, texts)
    return prompt, list(texts)


def _read(store: str, results: Path | None) -> "tuple[LiveResults, Votes]":
    """Read the results and the votes."""
    from leaderboard.data.live_results import LiveResults
    from leaderboard.data.sources import FolderSource, StoreSource
    from submissions.judgements.vote_store import FOLDER, VoteReader
    from submissions.storage import open_store

    opened = open_store(store, existing=True)
    if not opened.head() and (Path(store) / FOLDER).is_dir():  # such as a downloaded repository
        hint = "read a Hub repository as hf://datasets/ORG/NAME, or the folder that divbench board serve --votes wrote"
        raise InputError(f"{store} has a folder {FOLDER} but no commits, so it is not a store", hint)
    votes = VoteReader(opened).read()
    for path, reason in votes.damaged:
        err().print(f"left out {path}: {reason}", style="yellow", markup=False, soft_wrap=True)
    return LiveResults(StoreSource(opened) if results is None else FolderSource(results), refresh=None), votes
