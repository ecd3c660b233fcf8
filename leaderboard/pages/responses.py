"""Page: the responses of one system to one prompt, and their scores. Strangers' text is shown as text only."""

from collections.abc import Sequence
from typing import Any

import gradio as gr
import pandas as pd
import pyarrow.parquet as pq

from benchmark.results import PER_PROMPT_FILE
from leaderboard.board import Board, Entry
from submissions.texts import is_blank, is_placeholder

TEXT_COLUMNS = ["prompt_id", "category", "prompt"]


def build(boards: Sequence[Board]) -> None:
    """Choose a system and a prompt."""
    entries = {label(board, entry): (board, entry) for board in boards for entry in board.entries}
    first = next(iter(entries))
    prompts = prompt_choices(entries[first][1])
    with gr.Row():
        system = gr.Dropdown(list(entries), value=first, label="System", filterable=True)
        prompt = gr.Dropdown(prompts, value=prompts[0][1], label="Prompt", filterable=True)
    with gr.Row():
        back = gr.Button("Previous prompt", size="sm")
        forward = gr.Button("Next prompt", size="sm")
    asked = gr.Textbox(label="Prompt", interactive=False, lines=2)
    with gr.Row():
        texts = gr.Dataframe(
            headers=["#", "response", "note"],
            datatype=["number", "str", "str"],
            interactive=False,
            wrap=True,
            column_widths=[50, 700, 120],
            max_height=800,
            label="Responses, in the order in which they were drawn",
            show_label=True,
            scale=3,
            elem_id="responses",
        )
        values = gr.Dataframe(
            headers=["metric", "value", "why missing"],
            datatype=["str", "str", "str"],
            interactive=False,
            wrap=True,
            max_height=800,
            label="Scores of this prompt",
            show_label=True,
            scale=2,
        )

    def show(name: str, prompt_id: str) -> tuple[str, pd.DataFrame, pd.DataFrame]:
        board, entry = entries[name]
        return view(board, entry, prompt_id)

    def choose(name: str, prompt_id: str) -> Any:
        choices = prompt_choices(entries[name][1])
        there = [value for _, value in choices]
        return gr.Dropdown(choices, value=prompt_id if prompt_id in there else there[0])

    def step(by: int) -> Any:
        def move(name: str, prompt_id: str) -> str:
            there = [value for _, value in prompt_choices(entries[name][1])]
            return there[(there.index(prompt_id) + by) % len(there)]

        return move

    shown = [asked, texts, values]
    system.change(choose, [system, prompt], prompt, api_visibility="private")
    system.change(show, [system, prompt], shown, api_visibility="private")
    prompt.change(show, [system, prompt], shown, api_name="responses")
    back.click(step(-1), [system, prompt], prompt, api_visibility="private")
    forward.click(step(+1), [system, prompt], prompt, api_visibility="private")
    asked.value, texts.value, values.value = _initial(*view(*entries[first], prompts[0][1]), texts, values)


def _initial(asked: str, texts: pd.DataFrame, values: pd.DataFrame, *tables: gr.Dataframe) -> tuple[Any, Any, Any]:
    """First values in the form in which components hold them."""
    return asked, tables[0].postprocess(texts), tables[1].postprocess(values)


def label(board: Board, entry: Entry) -> str:
    """A system among all boards."""
    return f"{entry.result.manifest.name} · {board.name}"


def prompt_choices(entry: Entry) -> list[tuple[str, str]]:
    """What is shown and the prompt id, in the suite's order."""
    rows = pq.read_table(entry.folder / PER_PROMPT_FILE, columns=TEXT_COLUMNS).to_pylist()
    return [(f"{r['prompt_id']} · {r['category']} · {r['prompt'][:80]}", r["prompt_id"]) for r in rows]


def view(board: Board, entry: Entry, prompt_id: str) -> tuple[str, pd.DataFrame, pd.DataFrame]:
    """The prompt's text, its responses, and its scores under the board's metrics."""
    found = pq.read_table(entry.folder / PER_PROMPT_FILE, filters=[("prompt_id", "=", prompt_id)]).to_pylist()
    if not found:
        return "", pd.DataFrame(), pd.DataFrame()
    row = found[0]
    reasons = row["finish_reasons"] or [None] * len(row["responses"])
    texts = pd.DataFrame(
        {
            "#": range(1, len(row["responses"]) + 1),
            "response": row["responses"],
            "note": [note(text, reason) for text, reason in zip(row["responses"], reasons, strict=True)],
        }
    )
    why = {item["metric"]: item["reason"] for item in row["missing"]}
    scores = [
        (
            column.metric,
            "" if row.get(column.metric) is None else f"{row[column.metric]:.4f}",
            why.get(column.metric, ""),
        )
        for column in board.columns
        if column.metric in row
    ]
    return row["prompt"], texts, pd.DataFrame(scores, columns=["metric", "value", "why missing"])


def note(text: str, reason: str | None) -> str:
    """What is to be said of a response beside its words."""
    if is_blank(text):
        return "blank, not scored"
    if is_placeholder(text):
        return "no answer, not scored"
    return "cut off" if reason == "length" else ""
