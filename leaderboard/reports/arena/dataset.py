"""The votes as a dataset: one row per answer, with both response sets as they were shown."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from divbench.core.files import atomic_folder, write_text
from leaderboard.data.arena_pairs import shuffled_texts
from leaderboard.data.arena_sets import responses_of
from leaderboard.data.board import Entry
from leaderboard.data.live_results import LiveResults
from submissions.judgements.votes import VOTES, Vote

CONFIG = "votes"
_TEXTS = pa.list_(pa.string())
SCHEMA = pa.schema(
    [
        *VOTES,
        pa.field("passed", pa.bool_()),
        pa.field("prompt", pa.string()),
        pa.field("left_responses", _TEXTS),
        pa.field("right_responses", _TEXTS),
    ]
)
_CARD = """---
configs:
- config_name: {config}
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


def write_dataset(folder: Path, votes: Sequence[Vote], live: LiveResults) -> list[Path]:
    """Write the dataset: `votes.parquet` and its card. The same votes and results give the same bytes.

    Args:
        folder: Folder to make; it must not exist or be empty.

    Raises:
        FileExistsError: The folder is not empty.
    """
    # Votes name the results that were shown, which a later result of the same submission may have replaced.
    entries = {name: entry for board in live.snapshot().boards for entry in board.entries for name in entry.results}
    rows = [_row(vote, entries) for vote in votes]
    with atomic_folder(folder) as made:
        pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), made / "votes.parquet")
        voters = len({vote.voter for vote in votes})
        write_text(made / "README.md", _CARD.format(config=CONFIG, votes=len(votes), voters=voters))
    return [folder / "README.md", folder / "votes.parquet"]


def _row(vote: Vote, entries: dict[str, Entry]) -> dict[str, Any]:
    known = {each.name: getattr(vote, each.name) for each in fields(vote)}
    prompt, left = _shown(vote, "left", entries.get(vote.left_result))
    other, right = _shown(vote, "right", entries.get(vote.right_result))
    return known | {
        "passed": vote.passed,
        "prompt": prompt if prompt is not None else other,
        "left_responses": left,
        "right_responses": right,
    }


def _shown(vote: Vote, side: str, entry: Entry | None) -> tuple[str | None, list[str] | None]:
    """Return the prompt, and the responses as shown on a side; None for what no longer exists."""
    prompt, responses = (None, None) if entry is None else responses_of(entry, vote.prompt_id)
    positions = vote.left_positions if side == "left" else vote.right_positions
    if responses is None or max(positions) >= len(responses):
        return prompt, None
    texts = tuple(responses[position] for position in positions)
    if vote.check == "shuffled" and vote.altered == side:
        texts = shuffled_texts(vote.left_result, vote.prompt_id, texts)
    return prompt, list(texts)
