"""Page Post-training: the training stages of a model among the systems of a board, side by side.

The comparison has the same parts as the study of OLMo's stages (arXiv:2606.01811, section 4.3): mean a_k curves, values
by prompt, and paired contrasts.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import gradio as gr
import numpy as np

from benchmark.analysis.contrast.paired import Contrast, paired_contrast, pairs_of
from benchmark.metrics.metric import Missing
from benchmark.scoring.estimate import Floats
from benchmark.scoring.inputs import Value
from benchmark.scoring.per_prompt import SURPRISALS
from benchmark.scoring.results import MOST
from divbench.core.errors import need
from divbench.core.tables import Cell, Table, estimate_cell, number, number_cell, p_value
from leaderboard.app import components
from leaderboard.app.components import Choices
from leaderboard.app.permalinks import chosen, chosen_or_first, wire
from leaderboard.data.board import Board, Column, Entry
from leaderboard.data.live_results import LiveResults
from leaderboard.data.scores import read_columns
from leaderboard.data.sources import Snapshot
from leaderboard.pages import page_text
from leaderboard.pages.compare import finding
from leaderboard.pages.figures import CLEAR, DASHES, LINES, NAME, SYMBOLS, banded_curve, captioned_figure, inert
from leaderboard.pages.figures import position_figure as figure_by_position
from leaderboard.pages.systems import board_choices, column_choices
from submissions.untrusted.plain_text import shortened

# Words in a name that indicate each stage, in training order; many RLVR models are called instruct.
STAGES: Mapping[str, tuple[str, ...]] = {
    "base": ("base", "pretrained", "pt"),
    "SFT": ("sft",),
    "DPO": ("dpo",),
    "RLVR (instruct)": ("rlvr", "rl", "grpo", "ppo", "instruct", "it"),
}
_WORDS = "; ".join(f"{stage}: {', '.join(words)}" for stage, words in STAGES.items())
RULE = (
    "Series are found only by the names of systems. Systems in one table from one submitter form a series if their "
    f"names differ only in a word that indicates the stage ({_WORDS}). A name without one of these words is the base "
    "stage. If a stage occurs twice, the submission with the latest date of generation is used."
)
# The first of these that a board has is the default.
METRICS = ("valid_distinct_k", "d_can", "embedding_diversity", "distinct_k")
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_ORDER = {word: (i, stage) for i, (stage, words) in enumerate(STAGES.items()) for word in words}
_NAME = 60  # characters of an untrusted name
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Series:
    """Systems that are training stages of one model."""

    name: str  # words that the names share; untrusted
    submitter: str  # submitter's name; untrusted
    stages: tuple[str, ...]  # names of the stages, in training order
    entries: tuple[Entry, ...]  # entries of the systems, in the same order

    @property
    def key(self) -> str:
        """The permalink id: the submission id of the first system."""
        return self.entries[0].result.submission_id

    @property
    def is_own(self) -> bool:
        """Whether any result is from the board's own source rather than from the reference results."""
        return any(not entry.origin for entry in self.entries)


def stage_of(name: str) -> tuple[str | None, tuple[str, ...]]:
    """Return the latest stage that a name indicates, and its other words.

    >>> stage_of("OLMo-2-7B-SFT"), stage_of("olmo-2-7b")
    (('SFT', ('olmo', '2', '7b')), (None, ('olmo', '2', '7b')))
    """
    words = _WORD.findall(name.casefold())
    stages = [_ORDER[word] for word in words if word in _ORDER]
    return (max(stages)[1] if stages else None), tuple(word for word in words if word not in _ORDER)


def find_series(board: Board) -> list[Series]:
    """Find the series of a board according to `RULE`: first those with own results, then the longest first."""

    def date(entry: Entry) -> tuple[str, str]:
        generated = entry.result.manifest.submitter.date
        return "" if generated is None else generated.isoformat(), entry.result.result_id

    families: dict[tuple[str, tuple[str, ...]], dict[str, list[Entry]]] = {}
    for entry in board.entries:
        stage, family = stage_of(entry.result.manifest.name)
        key = (entry.result.manifest.submitter.name, family)
        families.setdefault(key, {}).setdefault(stage or next(iter(STAGES)), []).append(entry)
    series = []
    for (submitter, family), by_stage in families.items():
        stages = tuple(stage for stage in STAGES if stage in by_stage)
        if len(stages) > 1:
            entries = tuple(max(by_stage[stage], key=date) for stage in stages)
            series.append(Series(" ".join(family), submitter, stages, entries))
    return sorted(series, key=lambda s: (not s.is_own, -len(s.entries), s.name, s.submitter))


def about_series(board: Board, series: Series) -> str:
    """Describe the systems and the suite of a series; the text contains untrusted names."""
    named = zip(series.stages, series.entries, strict=True)
    systems = ", ".join(f"{stage}: {shortened(entry.result.manifest.name, _NAME)}" for stage, entry in named)
    text = (
        f"{systems}. Submitted by {shortened(series.submitter, _NAME)}; {board.suite}, {board.k} responses per prompt."
    )
    generations = [entry.result.manifest.generation for entry in series.entries]
    if len({(g.mode, g.temperature, g.top_k, g.top_p) for g in generations}) > 1:
        text += " The stages were not sampled alike, which also changes diversity."
    return text


@dataclass(frozen=True, slots=True, eq=False)
class StageCurves:
    """Mean a_k curves in bits/byte over the prompts on which every stage has a complete curve."""

    stages: tuple[str, ...]
    means: Floats  # means [stages, n]
    errors: Floats  # standard errors over prompts [stages, n]; NaN with one prompt
    prompts: int  # number of prompts on which every stage has a complete curve
    left_out: int  # number of other prompts, on which some response was not valid or not scored


def stage_curves(series: Series, k: int) -> StageCurves | Missing:
    """Return the mean curves of k responses: shorter curves come from other orders and would distort them."""
    curves = [_curves_of(entry, k) for entry in series.entries]
    shared = sorted(set.intersection(*map(set, curves)))
    if not shared:
        return Missing(
            "no prompt has a complete curve in every stage; the profile's language model must score all positions"
        )
    stacked = np.array([[curve[prompt] for prompt in shared] for curve in curves])
    means, n = stacked.mean(axis=1), len(shared)
    errors = stacked.std(axis=1, ddof=1) / math.sqrt(n) if n > 1 else np.full_like(means, np.nan)
    prompts = max(entry.result.prompts for entry in series.entries)
    return StageCurves(series.stages, means, errors, n, prompts - n)


def _curves_of(entry: Entry, k: int) -> dict[str, list[float]]:
    """Return the complete curves of a system in bits/byte, by prompt."""
    table = read_columns(entry, "prompt_id", f"{SURPRISALS}.curve_rate")
    if SURPRISALS not in table.column_names:
        return {}
    curves = {}
    for prompt, part in zip(table["prompt_id"].to_pylist(), table[SURPRISALS].to_pylist(), strict=True):
        curve = part.get("curve_rate") if isinstance(part, dict) else None
        if curve is not None and len(curve) == k and all(x is not None and abs(x) < MOST for x in curve):
            curves[str(prompt)] = [float(x) for x in curve]
    return curves


def about_curves(curves: StageCurves | Missing) -> str:
    """Describe the curves."""
    if isinstance(curves, Missing):
        return f"There are no curves: {curves.reason}."
    left = f"; {curves.left_out} without a complete curve in every stage are left out" if curves.left_out else ""
    return f"The curves are means over {curves.prompts} prompts{left}."


def values_of(series: Series, board: Board, matrix: Floats) -> Floats:
    """Return the values [prompts, stages] of a metric from its scores [prompts, entries of the board]."""
    ids = [entry.result.result_id for entry in board.entries]
    return matrix[:, [ids.index(entry.result.result_id) for entry in series.entries]]


def contrasts(
    series: Series, prompts: Sequence[str], values: Floats, column: Column, *, resamples: int = 10_000
) -> tuple[Contrast, ...]:
    """Test consecutive stages on one metric [prompts, stages], two-sided and paired, corrected over all pairs."""
    by_stage: dict[str, dict[str, Value]] = {
        stage: dict(zip(prompts, values[:, i].tolist(), strict=True)) for i, stage in enumerate(series.stages)
    }
    pairs = pairs_of(series.stages, "consecutive")
    return paired_contrast(by_stage, pairs, expected="two-sided", direction=column.direction, resamples=resamples)


def contrasts_table(pairs: Sequence[Contrast], column: Column) -> Table:
    """Return the contrasts, one row per pair; if any pair is untested, the last column says why."""
    sides = ("prompts", "first", "second")
    columns = ("stages", "difference [95%]", "finding", *sides, "d_z", "p", "p (Holm)", "untested because")
    rows: list[tuple[Cell, ...]] = [
        (
            f"{c.a} − {c.b}",
            estimate_cell(c.difference, c.low, c.high, 3),
            finding(c.p_holm, c.difference, c.means_agree, (c.a, c.b), column)[0],
            c.n,
            c.mean_a,
            c.mean_b,
            number_cell(c.d_z, number(c.d_z, 2)),
            number_cell(c.p, p_value(c.p)),
            number_cell(c.p_holm, p_value(c.p_holm)),
            c.untested or "",
        )
        for c in pairs
    ]
    count = len(columns) if any(c.untested for c in pairs) else len(columns) - 1
    return Table("", columns[:count], [row[:count] for row in rows])


def quantiles_table(series: Series, values: Floats) -> Table:
    """Return the distribution of a metric [prompts, stages] over prompts, one row per stage."""
    rows: list[tuple[Cell, ...]] = []
    for stage, column, entry in zip(series.stages, values.T, series.entries, strict=True):
        finite = column[np.isfinite(column)]
        spread = float(finite.std(ddof=1)) if len(finite) > 1 else None
        mean, *quantiles = (
            [float(x) for x in (finite.mean(), *np.quantile(finite, QUANTILES))]
            if len(finite)
            else [None] * (1 + len(QUANTILES))
        )
        rows.append((stage, len(finite), mean, spread, *quantiles, entry.result.manifest.name))
    names = [f"{quantile:.0%}" for quantile in QUANTILES]
    return Table("", ("stage", "prompts", "mean", "standard deviation", *names, "system"), rows)


def curves_table(curves: StageCurves) -> Table:
    """Return the mean curves with their standard errors over prompts: one row per position, one column per stage."""
    rows: list[tuple[Cell, ...]] = []
    for k, (means, errors) in enumerate(zip(curves.means.T.tolist(), curves.errors.T.tolist(), strict=True), 1):
        texts = [
            number(mean) if math.isnan(error) else f"{number(mean)} ± {number(error)}"
            for mean, error in zip(means, errors, strict=True)
        ]
        rows.append((k, *map(number_cell, means, texts)))
    return Table("", ("position k", *curves.stages), rows)


def curves_figure(curves: StageCurves) -> Any:
    """Draw mean a_k curves ± 1.96 standard errors over prompts, each stage with its own colour, dash and symbol."""
    traces: list[Any] = []
    for i, stage in enumerate(curves.stages):
        marker = {"symbol": SYMBOLS[i % len(SYMBOLS)], "size": 7}
        style = LINES[i % len(LINES)], inert(stage, NAME), DASHES[i % len(DASHES)]
        traces += banded_curve(curves.means[i], curves.errors[i], "%{y:.3f} bits/byte", *style, marker=marker)
    return figure_by_position(traces, 420, curves.means.shape[1])


def distributions_figure(series: Series, values: Floats, prompts: Sequence[str], column: Column) -> Any:
    """Draw a box per stage with every prompt's value [prompts, stages] as a point."""
    graph = need("plotly.graph_objects", "board")
    traces = []
    for i, (stage, numbers) in enumerate(zip(series.stages, values.T.tolist(), strict=True)):
        points = [(x, prompt) for x, prompt in zip(numbers, prompts, strict=True) if not math.isnan(x)]
        colour, symbol = LINES[i % len(LINES)], SYMBOLS[i % len(SYMBOLS)]
        traces.append(
            graph.Box(
                y=[x for x, _ in points],
                customdata=[inert(prompt, NAME) for _, prompt in points],
                name=inert(stage, NAME),
                boxpoints="all",
                jitter=0.6,
                pointpos=0,
                boxmean=True,
                fillcolor=CLEAR,
                line={"color": colour, "width": 2},
                marker={"color": colour, "symbol": symbol, "size": 4, "opacity": 0.45},
                hovertemplate="%{customdata}: %{y:.4g}<extra></extra>",
                hoveron="points",
                showlegend=False,
            )
        )
    figure = captioned_figure(traces, 420)
    figure.update_xaxes(tickfont={"size": 11})  # larger names of stages run into each other on a phone
    title = f"{column.label}, {column.unit}" if column.unit else column.label
    figure.update_yaxes(title_text=inert(title, 60))
    return figure


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
    points = components.table("Mean a_k in bits/byte, ± standard error over prompts", "places", height=420)
    quantiles = components.table("Distribution over prompts", "quantiles", height=420)
    with gr.Accordion("How series are found and contrasts computed", open=False):
        components.note("rule", 9, f"{RULE}\n\n{page_text.CONTRASTS}")
    wire(
        page,
        live,
        (table, series, metric),
        partial(_controls, live),
        partial(_shown, live),
        [note, tested, curves, points, spread, quantiles],
        nothing=_nothing,
        cascade=("table", "series"),
    )


def _boards(snapshot: Snapshot) -> dict[str, tuple[Board, list[Series]]]:
    """Return the boards with series, by name: those with own results first, then those with the most systems."""
    boards = [(board, find_series(board)) for board in snapshot.boards]

    def order(pair: tuple[Board, list[Series]]) -> tuple[bool, int]:
        return not any(series.is_own for series in pair[1]), -len(pair[0].entries)

    return {board.name: (board, series) for board, series in sorted(boards, key=order) if series}


def _controls(live: LiveResults, choices: Choices) -> list[Any]:
    """Fill the controls with choices, and select those in the permalink if they are offered."""
    boards = _boards(live.snapshot())
    name = chosen_or_first(choices, "table", list(boards))
    if name is None:
        return [components.no_choice() for _ in range(3)]
    board, series = boards[name]
    key = chosen_or_first(choices, "series", [one.key for one in series])
    labels = column_choices(board)
    offered = [label for _, label in labels]
    main = next((c.label for metric in METRICS for c in board.columns if c.metric == metric), offered[0])
    metric = chosen(choices, "metric", offered, main)
    hint = partial(components.missing_hint, choices)
    return [
        gr.Dropdown(board_choices([board for board, _ in boards.values()]), value=name, info=hint("table", name)),
        gr.Dropdown(
            [(f"{shortened(one.name, _NAME)}: {', '.join(one.stages)}", one.key) for one in series],
            value=key,
            info=hint("series", key),
        ),
        gr.Dropdown(labels, value=metric, info=hint("metric", metric)),
    ]


def _shown(live: LiveResults, choices: Mapping[str, Any]) -> list[Any]:
    boards = _boards(live.snapshot())
    if choices["table"] not in boards:
        return _nothing("This table no longer exists; reload the page." if boards else page_text.NO_STAGES)
    board, offered = boards[choices["table"]]
    series = next((series for series in offered if series.key == choices["series"]), offered[0])
    column = board.column(choices["metric"])
    if column is None:
        return _nothing(page_text.NO_RANKS)
    scores = live.scores(board)
    values = values_of(series, board, scores.matrix(column))
    tested = contrasts_table(contrasts(series, scores.prompts, values, column), column)
    curves = stage_curves(series, board.k)
    return [
        f"{about_series(board, series)} {about_curves(curves)} The notes below explain the effect of unequal lengths.",
        components.filled(tested, column_widths=components.widths(tested, 7, 20)),
        components.drawn(None if isinstance(curves, Missing) else curves_figure(curves)),
        components.no_table() if isinstance(curves, Missing) else components.filled(curves_table(curves)),
        components.drawn(distributions_figure(series, values, scores.prompts, column)),
        components.filled(quantiles_table(series, values)),
    ]


def _nothing(reason: str) -> list[Any]:
    return [reason, components.no_table(), *[components.drawn(None), components.no_table()] * 2]
