"""Page Post-training: the training stages of a model side by side."""

from collections.abc import Mapping
from typing import Any

import gradio as gr

from benchmark.metrics.metric import Missing
from leaderboard.app import components
from leaderboard.app.asked import Asked
from leaderboard.app.permalinks import chosen, chosen_or_first, wire
from leaderboard.data.board import Board
from leaderboard.data.live_results import LiveResults
from leaderboard.data.sources import Snapshot
from leaderboard.figures.response_plots import distributions_figure, stage_curves_figure
from leaderboard.tables import page_text, stages
from submissions.untrusted.plain_text import shortened


def build(page: gr.Blocks, live: LiveResults) -> None:
    """Build the page: a series of stages, its curves, and one metric's distributions and contrasts."""
    gr.Markdown(page_text.STAGES, elem_classes="lead")
    with gr.Row(equal_height=False):
        table = gr.Dropdown([], label="Table", elem_id="table", scale=2)
        series = gr.Dropdown([], label="Series", elem_id="series", scale=2)
        metric = gr.Dropdown([], label="Metric", elem_id="metric", scale=2)
    note = components.note("note")
    tested = components.table("Paired contrasts between stages", "contrasts", height=420)
    with gr.Row(equal_height=False):
        with gr.Column(min_width=320):
            curves = components.figure("curves", "Mean a_k, ± 1.96 standard errors over prompts")
        with gr.Column(min_width=320):
            spread = components.figure("spread", "Value of every prompt, by stage")
    places = components.table("Mean a_k in bits/byte, ± standard error over prompts", "places", height=420)
    quantiles = components.table("Distribution over prompts", "quantiles", height=420)
    with gr.Accordion("How series are found and contrasts computed", open=False):
        components.note("rule", 9, f"{stages.RULE}\n\n{page_text.CONTRASTS}")
    with gr.Accordion(
        page_text.PRINTED, open=not _boards(live.snapshot())
    ):  # an example for boards without training stages
        components.note("printed", 3, page_text.PRINTED_STAGES)
        made = stages.published_table()
        components.table(
            page_text.PRINTED,
            "published",
            **components.content(made),
        )

    wire(
        page,
        live,
        (table, series, metric),
        lambda asked: _controls(live.snapshot(), asked),
        lambda given: _shown(live, given),
        [note, tested, curves, places, spread, quantiles],
        nothing=_nothing,
        cascade=("table", "series"),
    )


def _boards(snapshot: Snapshot) -> dict[str, tuple[Board, list[stages.Series]]]:
    """Boards with series, by name: those with your own series first, then those with the longest."""
    found = [(board, stages.find_series(board)) for board in snapshot.boards]

    def order(each: tuple[Board, list[stages.Series]]) -> tuple[bool, int]:
        return not any(series.is_own for series in each[1]), -len(each[1][0].entries)

    having = sorted((each for each in found if each[1]), key=order)
    return {board.name: (board, series) for board, series in having}


def _controls(snapshot: Snapshot, asked: Asked) -> list[Any]:
    """Fill the controls with choices, and select those in the permalink if they are offered."""
    boards = _boards(snapshot)
    name = chosen_or_first(asked, "table", list(boards))
    if name is None:
        return [components.no_choice() for _ in range(3)]
    board, series = boards[name]
    key = chosen_or_first(asked, "series", [each.key for each in series])
    labels = components.column_choices(board)
    offered = [label for _, label in labels]
    main = next(
        (c.label for metric in stages.METRICS for c in board.columns if c.metric == metric),
        offered[0] if offered else None,
    )
    metric = chosen(asked, "metric", offered, main)
    tables = components.board_choices([each for each, _ in boards.values()])
    return [
        gr.Dropdown(tables, value=name, info=components.gone(asked, "table", name)),
        gr.Dropdown(
            [(_label(each), each.key) for each in series],
            value=key,
            info=components.gone(asked, "series", key),
        ),
        gr.Dropdown(labels, value=metric, info=components.gone(asked, "metric", metric)),
    ]


def _label(series: stages.Series) -> str:
    cut = ", length-matched" if series.matched else ""
    how = f" ({series.sampling})" if series.sampling else ""
    return f"{shortened(series.name, 60)}: {', '.join(series.stages)}{cut}{how}"


def _shown(live: LiveResults, given: Mapping[str, Any]) -> list[Any]:
    """All outputs for some choices."""
    boards = _boards(live.snapshot())
    if given["table"] not in boards:
        return _nothing("This table no longer exists; reload the page." if boards else page_text.NO_STAGES)
    board, there = boards[given["table"]]
    series = next((each for each in there if each.key == given["series"]), there[0])
    column = board.column(given["metric"])
    if column is None:
        return _nothing(page_text.NO_RANKS)
    scores = live.scores(board)
    values = stages.values_of(series, board, scores.matrix(column))
    found = stages.contrasts(series, scores.prompts, values, column)
    tested = stages.contrasts_table(found, column)
    curves = stages.stage_curves(series, board.k)
    spread = distributions_figure(stages.by_stage(series.stages, values.T), scores.prompts, column.label, column.unit)
    return [
        _about(board, series, curves),
        components.filled(tested, column_widths=components.widths(tested, 7, 20)),
        *_curves(curves),
        components.drawn(spread),
        components.filled(stages.quantiles_table(series, values)),
    ]


def _nothing(why: str) -> list[Any]:
    return [why, components.no_table(), *[components.drawn(None), components.no_table()] * 2]


def _curves(found: stages.StageCurves | Missing) -> list[Any]:
    if isinstance(found, Missing):
        return [components.drawn(None), components.no_table()]
    figure = stage_curves_figure(
        stages.by_stage(found.stages, found.means), stages.by_stage(found.stages, found.errors)
    )
    return [components.drawn(figure), components.filled(stages.curves_table(found))]


def _about(board: Board, series: stages.Series, curves: stages.StageCurves | Missing) -> str:
    """Say what is compared and what is missing."""
    lengths = "" if series.matched else "The notes below explain the effect of unequal lengths."
    return " ".join(filter(None, [stages.about_series(board, series), stages.about_curves(curves), lengths]))
