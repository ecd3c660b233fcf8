"""Page: what post-training does to diversity: stages of a model's training side by side."""

from collections.abc import Mapping
from typing import Any

import gradio as gr

from benchmark.contrast.paired import Expected, Pairing
from benchmark.sets import Missing
from datasets_build.errors import DivBenchError
from leaderboard.board import Board, Column
from leaderboard.figures.plots import shortened
from leaderboard.figures.response_plots import distributions_figure, stage_curves_figure
from leaderboard.links import chosen, wire
from leaderboard.site import Site, Snapshot
from leaderboard.tables.sheets import Sheet
from leaderboard.tables.stages import (
    RULE,
    Series,
    contrasts,
    contrasts_table,
    curves_table,
    find_series,
    published_table,
    quantiles_table,
    stage_curves,
    values_of,
)

LEAD = """What does post-training do to diversity? The same prompts, answered by a model after each stage of its
training: base, supervised fine-tuning (SFT), preference optimisation (DPO), reinforcement learning (RLVR). Contrasts
are paired, prompt by prompt."""
NONE_YET = (
    "No table here has systems that are stages of one model. The answers that the study of OLMo's stages released come "
    "with the dataset olmo_stages; `divbench contrast olmo_stages/base olmo_stages/sft --length both` compares them."
)
CHOICES = ("table", "series", "metric", "pairs", "expected")
MAINS = ("d_can", "embedding_diversity", "distinct_k")  # the first that a board has is shown first
PAIRS: tuple[Pairing, ...] = ("consecutive", "all")
EXPECTED: tuple[Expected, ...] = ("two-sided", "greater")


def build(page: gr.Blocks, site: Site) -> None:
    """A series of a table, its curves, and one metric's distributions and contrasts."""
    gr.Markdown(LEAD, elem_classes="lead")
    with gr.Row(equal_height=False):
        table = gr.Dropdown([], label="Table", elem_id="table", scale=2)
        series = gr.Dropdown([], label="Series of stages", elem_id="series", scale=2)
        metric = gr.Dropdown([], label="Metric", elem_id="metric", scale=2)
    with gr.Row(equal_height=False):
        pairs = gr.Radio(
            [("each stage and the next", "consecutive"), ("all pairs", "all")],
            value="consecutive",
            label="Contrasts of",
            elem_id="pairs",
        )
        expected = gr.Radio(
            [("stages differ (two-sided)", "two-sided"), ("the earlier is more diverse (one-sided)", "greater")],
            value="two-sided",
            label="Tested",
            elem_id="expected",
        )
    note = gr.Textbox("", show_label=False, container=False, interactive=False, lines=3, elem_id="note")
    tested = _frame("Paired contrasts between stages", "contrasts")
    with gr.Row(equal_height=False):
        with gr.Column(min_width=320):
            curves = gr.Plot(label="Mean a_k, ± 1.96 standard errors over prompts", elem_id="curves")
            places = _frame("Mean a_k in bits/byte, ± its standard error over prompts", "places")
        with gr.Column(min_width=320):
            spread = gr.Plot(label="Every prompt's value, by stage", elem_id="spread")
            quantiles = _frame("The distribution over prompts", "quantiles")
    with gr.Accordion("What makes a series, and how contrasts are made", open=False):
        gr.Textbox(f"{RULE}\n\n{_HOW}", show_label=False, container=False, interactive=False, lines=9, elem_id="rule")
    with gr.Accordion("What the study of OLMo's stages printed", open=False):
        gr.Textbox(_PUBLISHED, show_label=False, container=False, interactive=False, lines=3)
        made = published_table()
        gr.Dataframe(made.value(), datatype="str", interactive=False, column_widths=made.widths(), elem_id="published")
    controls = dict(zip(CHOICES, (table, series, metric, pairs, expected), strict=True))

    def restore(asked: Mapping[str, str]) -> list[Any]:
        return _controls(site.now(), asked)

    def show(*values: Any) -> list[Any]:
        return _shown(site, dict(zip(CHOICES, values, strict=True)))

    outputs = [note, tested, curves, places, spread, quantiles]
    wire(page, controls, restore, show, outputs, cascade=("table", "series"))


_HOW = (
    "Contrasts: Wilcoxon's signed-rank test of the prompts that both stages have a value on; Holm's correction over "
    "the pairs shown; d_z is the mean difference over the standard deviation of the differences; intervals are 95% "
    "percentile bootstrap intervals over prompts, 10,000 resamples. Curves are means over the prompts on which every "
    "stage has a whole curve; their bands are 1.96 standard errors over prompts. Later stages often answer at another "
    "length, and length moves most metrics: a series cut to equal length takes that away."
)
_PUBLISHED = (
    "arXiv:2606.01811, Table 4: D_Ca_n of OLMo-2-7B's stages under Qwen2.5-3B, ten responses a prompt, cut to equal "
    "length. Tests are one-sided but for the last; p is Bonferroni's. Another language model, other responses a prompt "
    "or uncut responses give other values: what can be compared is the order of the stages and d_z."
)


def _frame(label: str, name: str) -> Any:
    return gr.Dataframe(
        interactive=False, label=label, show_label=True, max_height=420, buttons=["fullscreen", "copy"], elem_id=name
    )


def _boards(snapshot: Snapshot) -> dict[str, tuple[Board, list[Series]]]:
    """The boards that have series, by name, those with the longest series first."""
    found = [(board, find_series(board)) for board in snapshot.boards]
    having = sorted((each for each in found if each[1]), key=lambda each: -len(each[1][0].entries))
    return {board.name: (board, series) for board, series in having}


def _controls(snapshot: Snapshot, asked: Mapping[str, str]) -> list[Any]:
    """The controls with what they offer, set to what is asked for where they offer it."""
    boards = _boards(snapshot)
    names = list(boards)
    name = chosen(asked, "table", names, names[0] if names else None)
    pairs, expected = (
        chosen(asked, "pairs", PAIRS, "consecutive"),
        chosen(asked, "expected", EXPECTED, "two-sided"),
    )
    if name is None:
        return [gr.Dropdown([], value=None) for _ in range(3)] + [pairs, expected]
    board, series = boards[name]
    keys = [each.key for each in series]
    labels = [(f"{column.label}: {column.title}", column.label) for column in board.columns]
    offered = [label for _, label in labels]
    main = next(
        (c.label for metric in MAINS for c in board.columns if c.metric == metric), offered[0] if offered else None
    )
    tables = [(f"{b.suite}, k = {b.k}, {b.profile}, revision {b.revision[:6]}", own) for own, (b, _) in boards.items()]
    return [
        gr.Dropdown(tables, value=name, info=_gone(asked, "table", name)),
        gr.Dropdown(
            [(_label(each), each.key) for each in series],
            value=(key := chosen(asked, "series", keys, keys[0])),
            info=_gone(asked, "series", key),
        ),
        gr.Dropdown(labels, value=chosen(asked, "metric", offered, main)),
        pairs,
        expected,
    ]


def _gone(asked: Mapping[str, str], name: str, value: str | None) -> str:
    return (
        "The address names one that is not here; this is the first." if asked.get(name) not in (None, "", value) else ""
    )


def _label(series: Series) -> str:
    cut = ", cut to equal length" if series.matched else ""
    return f"{shortened(series.name, 60)}: {', '.join(series.stages)}{cut}"


def _shown(site: Site, given: Mapping[str, Any]) -> list[Any]:
    """All outputs for some choices."""
    hidden = gr.Dataframe(value=None, visible=False)
    nothing = [hidden, gr.Plot(value=None, visible=False), hidden, gr.Plot(value=None, visible=False), hidden]
    boards = _boards(site.now())
    if given["table"] not in boards:
        return [NONE_YET if not boards else "This table is not here any more: reload the page.", *nothing]
    board, there = boards[given["table"]]
    series = next((each for each in there if each.key == given["series"]), there[0])
    column = next((each for each in board.columns if each.label == given["metric"]), None)
    if column is None:
        return ["This table has no scores.", *nothing]
    try:
        return _of_series(site, board, series, column, given)
    except DivBenchError as error:
        return [str(error), *nothing]


def _of_series(site: Site, board: Board, series: Series, column: Column, given: Mapping[str, Any]) -> list[Any]:
    scores = site.scores(board)
    values = values_of(series, board, scores.matrix(column))
    pairing: Pairing = "all" if given["pairs"] == "all" else "consecutive"
    expected: Expected = "greater" if given["expected"] == "greater" else "two-sided"
    found = contrasts(series, scores.prompts, values, column, pairing=pairing, expected=expected)
    curves = stage_curves(series, board.k)
    spread = distributions_figure(
        dict(zip(series.stages, values.T.tolist(), strict=True)), scores.prompts, column.title, column.unit
    )
    return [
        _about(board, series, curves),
        _table(contrasts_table(found)),
        *_curves(curves),
        gr.Plot(value=spread, visible=True),
        _table(quantiles_table(series, values)),
    ]


def _curves(found: Any) -> tuple[Any, Any]:
    if isinstance(found, Missing):
        return gr.Plot(value=None, visible=False), gr.Dataframe(value=None, visible=False)
    means = dict(zip(found.stages, found.means.tolist(), strict=True))
    errors = dict(zip(found.stages, found.errors.tolist(), strict=True))
    return gr.Plot(value=stage_curves_figure(means, errors), visible=True), _table(curves_table(found))


def _table(made: Sheet) -> Any:
    kinds: Any = list(made.kinds)
    return gr.Dataframe(value=made.value(), datatype=kinds, column_widths=made.widths(), visible=True)


def _about(board: Board, series: Series, curves: Any) -> str:
    """Which systems are compared, on what, and what is not there."""
    pairs = zip(series.stages, series.entries, strict=True)
    systems = ", ".join(f"{stage}: {shortened(entry.result.manifest.name, 60)}" for stage, entry in pairs)
    lines = [f"{systems}. Handed in by {shortened(series.submitter, 60)}; {board.suite}, {board.k} responses a prompt."]
    if series.passed_over:
        lines.append(f"{series.passed_over} earlier submissions of the same stages are passed over.")
    if isinstance(curves, Missing):
        lines.append(f"There are no curves: {curves.reason}.")
    else:
        left = f"; {curves.left_out} without a whole curve in every stage are left out" if curves.left_out else ""
        lines.append(f"The curves are over {curves.prompts} prompts{left}.")
    lines.append(
        "Responses were cut to equal length, as the names say."
        if series.matched
        else "Responses are as sampled, of unequal length; see below what that means."
    )
    return " ".join(lines)
