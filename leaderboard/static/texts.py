"""The page Explore: a board's responses as data files, and the pages that show them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Any

import pyarrow.parquet as pq

from benchmark.scoring.results import PER_PROMPT_FILE
from divbench.core.tables import number
from leaderboard.data.board import Board, Column, Entry
from leaderboard.data.score_index import table_faults
from leaderboard.data.scores import BoardScores, no_texts
from leaderboard.static.board_pages import EXPLORE, Part, plain_page
from leaderboard.static.render import Page, data_script
from leaderboard.tables import page_text
from leaderboard.tables.models import columns_of
from leaderboard.tables.responses import MOST_LETTERS, PromptView, class_words, make_view, shared_classes
from leaderboard.tables.systems import system_labels

NOT_HERE = (
    "Token surprisals and the contribution of each response are available only on a served board "
    "(`divbench board serve`). The URL of this page is a permalink to the prompt."
)
_AT_ONCE = 100  # rows read at a time


def keys_of(boards: Sequence[Board]) -> dict[str, tuple[str, ...]]:
    """The stem of each system's files by board: the result's id, numbered if it occurs on several boards."""
    seen: Counter[str] = Counter()
    made = {}
    for board in boards:
        keys = []
        for entry in board.entries:
            own = entry.result.result_id
            seen[own] += 1
            keys.append(own if seen[own] == 1 else f"{own}-{seen[own]}")
        made[board.name] = tuple(keys)
    return made


def explore_file(key: str) -> str:
    """The file name of a system's page."""
    return f"explore-{key}.html"


def texts_file(key: str) -> str:
    """The file name of a system's responses."""
    return f"texts/{key}.js"


def texts_bytes(scores: BoardScores) -> float:
    """The total size of a board's responses in bytes of UTF-8."""
    means, entries = scores.bytes_a_response(), scores.board.entries
    sizes = (mean * entry.result.counts.responses for mean, entry in zip(means, entries, strict=True))
    return sum(size for size in sizes if isfinite(size))


def texts_script(board: Board, entry: Entry) -> str:
    """A system's prompts, responses and main scores as data for its Explore page.

    Raises:
        InputError: The result's files are gone or damaged.
    """
    columns = columns_of(board, "overview", ())[0]
    return data_script("texts", {"prompts": [_prompt(view, columns) for view in _views(board, entry)]})


def _views(board: Board, entry: Entry) -> Iterator[PromptView]:
    with table_faults(entry), pq.ParquetFile(entry.folder / PER_PROMPT_FILE) as file:
        for batch in file.iter_batches(batch_size=_AT_ONCE):
            for row in batch.to_pylist():
                # We may not redistribute the responses of reference results, even if they are available here.
                yield make_view(board, entry, row if "responses" in row else row | no_texts(entry, row))


def _prompt(view: PromptView, columns: Sequence[Column]) -> dict[str, Any]:
    wanted, colours = {column.signature for column in columns}, shared_classes(view)
    return {
        "id": view.prompt.prompt_id,
        "category": view.prompt.category,
        "text": view.prompt.text[:MOST_LETTERS],
        "responses": [
            {
                "number": response.number,
                "text": response.text[:MOST_LETTERS],
                "class": class_words(response, view),
                "colour": None if response.group is None else colours.get(response.group),
                "note": "; ".join(response.notes),
                "rate": number(response.rate, 3),
                "quality": number(response.quality, 1),
            }
            for response in view.responses
        ],
        "scores": [
            [
                score.column.label,
                score.reason if score.value is None else number(score.value, 4),
                number(score.system_mean, 4),
            ]
            for score in view.scores
            if score.column.signature in wanted
        ],
    }


def explore_page(board: Board, key: str, label: str, back: str) -> Page:
    """The page of one system's responses."""
    values = {"system": label, "lead": (page_text.EXPLORE, NOT_HERE), "back": back}
    return Page(explore_file(key), EXPLORE, "explore.html", values, EXPLORE, board.name, (texts_file(key),))


def systems_page(board: Board, keys: Sequence[str], file: str, absent: str | None) -> Page:
    """List a board's systems with links to their responses, or say why responses are not included."""
    labels = system_labels(board)
    links = [] if absent else [(label, explore_file(key)) for label, key in zip(labels, keys, strict=True)]
    lead = (absent or "Choose a system to read its responses.",)
    return plain_page(file, EXPLORE, lead, [Part(links=tuple(links))], board.name)
