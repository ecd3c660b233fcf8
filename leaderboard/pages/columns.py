"""Page: what each column is, where it comes from, and the signature that all its numbers share."""

from collections.abc import Sequence

import gradio as gr
import pandas as pd

from leaderboard.board import Board


def build(boards: Sequence[Board]) -> None:
    """All columns of all boards."""
    rows = [
        {
            "board": board.name,
            "column": column.label,
            "metric": column.title,
            "more diverse": {1: "higher", 0: "neither", -1: "lower"}[column.direction],
            "unit": column.unit,
            "origin": column.origin,
            "source": column.paper,
            "signature": column.signature,
        }
        for board in boards
        for column in board.columns
    ]
    gr.Dataframe(
        pd.DataFrame(rows),
        interactive=False,
        wrap=True,
        show_search="filter",
        max_height=800,
        label="Numbers with different signatures never share a column",
        show_label=True,
    )
