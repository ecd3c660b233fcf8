"""Page Compare: two to four systems compared by metric with tests, by prompt, and response by response."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import combinations
from typing import Any
from urllib.parse import urlencode

import gradio as gr
import numpy as np

from benchmark.analysis.ranking import prompt_wins
from benchmark.scoring.estimate import FEWEST_PAIRS, Estimate, bootstrap_means, differences, holm, mean_agrees, wilcoxon
from benchmark.scoring.per_prompt import CLASSES
from divbench.core.errors import DivBenchError, need
from divbench.core.tables import Cell, Table, estimate_cell, number, number_cell, p_value, places_for
from leaderboard.app import components
from leaderboard.app.components import Choices
from leaderboard.app.permalinks import LATEST, chosen, chosen_or_first, chosen_several, count_on, remember, wire
from leaderboard.data.board import Board, Column, ranking_column
from leaderboard.data.live_results import LiveResults
from leaderboard.data.scores import BoardScores, prompt_row
from leaderboard.pages import page_text
from leaderboard.pages.figures import COLOURS, GREY, LABEL, LINES, NAME, SYMBOLS, error_bars, inert, inert_name
from leaderboard.pages.figures import wide_figure as figure_of
from leaderboard.pages.responses import prompts_of
from leaderboard.pages.systems import (
    QUALITY,
    better_end,
    board_choices,
    column_choices,
    first_systems,
    indices_of,
    overview,
    score_cells,
    system_choices,
    system_ids,
    system_labels,
)
from submissions.untrusted.plain_text import shortened

FEWEST, MOST = 2, 4
LEVEL = 0.05  # significance level
NO_DIFFERENCE, DISAGREE, NOT_TESTED = "no significant difference", "means and ranks disagree", "not tested"
SHOWN_PROMPTS = 50
_EXCERPT = 120  # characters of a prompt in a table
_RESPONSE = 420  # pixels
_CHOOSE = "Choose two to four systems, and select a prompt to read their responses."
_TOO_FEW = f"Choose {FEWEST} to {MOST} systems."
_METRICS = ["overview", "everything"]


@dataclass(frozen=True, slots=True)
class Gap:
    """Difference between two systems on one metric, over the prompts on which both have a value."""

    column: Column
    names: tuple[str, str]  # labels of the two systems; untrusted
    n: int  # number of prompts
    difference: Estimate  # mean of first − second, with its 95% percentile bootstrap interval over prompts
    # Difference divided by the standard deviation of the prompts' differences; no value if they do not vary. For its
    # interval, the standard deviation is resampled, too.
    d_z: Estimate
    wins: int  # number of prompts on which the first is better (for a metric without direction, higher)
    ties: int
    losses: int  # number of prompts on which the second is better
    rank_biserial: float | None  # rank-biserial correlation of first − second; None if untested
    p: float | None  # p-value of Wilcoxon's two-sided signed-rank test; None if untested
    p_holm: float | None  # p-value after Holm's correction over all differences that are shown together
    untested: str | None

    @property
    def pair(self) -> str:
        """The two systems, such as `people − gpt-4o`."""
        return f"{self.names[0]} − {self.names[1]}"

    @property
    def ahead(self) -> str | None:
        """The system that is ahead if the corrected test finds a significant difference; else None."""
        return self._outcome[1]

    @property
    def finding(self) -> str:
        """The finding in words, such as `people more diverse`."""
        return self._outcome[0]

    @property
    def _outcome(self) -> tuple[str, str | None]:
        mean, ranks = self.difference.value, self.rank_biserial or 0.0
        agree = mean_agrees(mean or 0.0, self.d_z.value, ranks, self.n)
        return finding(self.p_holm, mean, agree, self.names, self.column)


def finding(
    p: float | None, difference: float | None, means_agree: bool, names: tuple[str, str], column: Column
) -> tuple[str, str | None]:
    """Return the finding of a test by its corrected p-value, such as `people more diverse`, and who is ahead.

    The test is of ranks, so no system is ahead where the means do not agree, as from `mean_agrees`.
    """
    if p is None or difference is None:
        return NOT_TESTED, None
    if p >= LEVEL or difference == 0:
        return NO_DIFFERENCE, None
    if not means_agree:
        return DISAGREE, None
    ahead = names[0] if (difference > 0) == (better_end(column) >= 0) else names[1]
    how = "more diverse" if column.direction else "better" if column.metric in QUALITY else "higher"
    return f"{ahead} {how}", ahead


@lru_cache(maxsize=8)  # so that choosing another prompt does not repeat all tests
def compare(
    scores: BoardScores, indices: tuple[int, ...], columns: tuple[Column, ...], *, resamples: int = 10_000
) -> tuple[Gap, ...]:
    """Return paired differences between every two systems, by metric, then by pair.

    The numbers equal those of `paired_contrast` in `benchmark.analysis.contrast.paired`, two-sided and over prompts,
    except that Holm's correction is over everything returned here. Metrics with values for fewer than two of the
    systems are left out.
    """
    board, labels = scores.board, system_labels(scores.board)

    def has_value(column: Column, index: int) -> bool:
        cell = board.entries[index].cells.get(column.signature)
        return cell is not None and cell.value is not None

    pairs = [
        (column, first, second)
        for column in columns
        for first, second in combinations(indices, 2)
        if has_value(column, first) and has_value(column, second)
    ]
    if not pairs:
        return ()
    values = [scores.matrix(column)[:, [first, second]] for column, first, second in pairs]
    gaps = np.stack([differences(*pair.T) for pair in values], axis=1)
    means = bootstrap_means(gaps, resamples=resamples)
    standardised = bootstrap_means(gaps, resamples=resamples, standardise=True)
    tests = [wilcoxon(*pair.T) for pair in values]
    adjusted = holm([np.nan if test.p is None else test.p for test in tests])
    rows = []
    for i, (column, first, second) in enumerate(pairs):
        won = prompt_wins(values[i][np.isfinite(gaps[:, i])], better_end(column) or 1)[:, 0, 1]
        rows.append(
            Gap(
                column=column,
                names=(labels[first], labels[second]),
                n=len(won),
                difference=means[i],
                d_z=standardised[i] if means[i].interval else Estimate(None),
                wins=int((won == 1).sum()),
                ties=int((won == 0.5).sum()),
                losses=int((won == 0).sum()),
                rank_biserial=tests[i].rank_biserial,
                p=tests[i].p,
                p_holm=None if tests[i].p is None else float(adjusted[i]),
                untested=tests[i].untested,
            )
        )
    return tuple(rows)


def compare_table(board: Board, indices: Sequence[int], gaps: Sequence[Gap]) -> Table:
    """Return the differences, one row per metric and pair; the means are the same as on the page Models."""
    labels = system_labels(board)
    names = [f"mean of {labels[index]}" for index in indices]
    counts = ("prompts won", "tied", "lost")
    columns = (
        *("metric", "difference [95%]", "finding", *names, "pair", "d_z [95%]", *counts),
        *("p (Holm)", "p", "prompts"),
    )
    means = {gap.column.signature: score_cells(board, gap.column) for gap in gaps}
    rows: list[tuple[Cell, ...]] = [
        (
            gap.column.label,
            estimate_cell(gap.difference.value, gap.difference.low, gap.difference.high),
            gap.finding,
            *(means[gap.column.signature][index] for index in indices),
            gap.pair,
            estimate_cell(gap.d_z.value, gap.d_z.low, gap.d_z.high, 2),
            *(gap.wins, gap.ties, gap.losses),
            number_cell(gap.p_holm, p_value(gap.p_holm)),
            gap.untested or "" if gap.p is None else number_cell(gap.p, p_value(gap.p)),
            gap.n,
        )
        for gap in gaps
    ]
    return Table("", columns, rows)


def headline(gaps: Sequence[Gap], labels: Sequence[str]) -> str:
    """Summarise the comparison in one sentence, such as `humans: more diverse on 4 of 5 metrics; …`.

    Only diversity metrics are counted, which are the metrics with a direction. The sentence contains untrusted names.
    """
    tested = [gap for gap in gaps if gap.column.direction and gap.p_holm is not None]
    if not tested:
        return f"{' and '.join(labels)} have no tested diversity metric in common."
    unit = "metrics" if len(labels) == FEWEST else "tests"
    wins = sorted(((sum(gap.ahead == label for gap in tested), label) for label in labels), key=lambda win: -win[0])
    parts = [f"{label}: more diverse on {won} of {len(tested)} {unit}" for won, label in wins if won]
    unclear = sum(gap.finding == DISAGREE for gap in tested)
    if unclear:
        parts.append(f"{DISAGREE} on {unclear} of {len(tested)}{'' if parts else f' {unit}'}")
    even = sum(gap.ahead is None for gap in tested) - unclear
    if even:
        who = "" if parts else f" between {' and '.join(labels)}"
        parts.append(f"{NO_DIFFERENCE}{who} on {even} of {len(tested)}{'' if parts else f' {unit}'}")
    return f"{'; '.join(parts)}."


def about_compare(gaps: Sequence[Gap]) -> str:
    """Explain how to read the numbers."""
    if not gaps:
        return "These systems have no values for the same metric."
    tested = sum(gap.p is not None for gap in gaps)
    significant_ones = sum(gap.ahead is not None for gap in gaps)
    outcome = (
        f"{significant_ones} of {tested} tests find a significant difference at {LEVEL:g} after Holm's correction over "
        f"all {tested} shown."
        if tested
        else f"Nothing is tested, because the systems have fewer than {FEWEST_PAIRS} prompts in common."
    )
    return f"{outcome} {page_text.COMPARE_METHOD}"


def forest_figure(gaps: Sequence[Gap]) -> Any:
    """Draw standardised paired differences with intervals: a row per metric, a symbol per pair; None if none varies.

    Right of 0 the first system of the pair is better, also on metrics where lower is better. Open symbols mark metrics
    without direction: right of 0 the first system is higher.
    """
    graph = need("plotly.graph_objects", "board")
    gaps = [gap for gap in gaps if gap.d_z.value is not None]
    if not gaps:
        return None
    labels = list(dict.fromkeys(gap.column.label for gap in gaps))
    pairs = list(dict.fromkeys(gap.names for gap in gaps))
    traces = []
    for i, pair in enumerate(pairs):
        shown = [gap for gap in gaps if gap.names == pair]
        points = [_turned(gap) for gap in shown]
        shift = (i - (len(pairs) - 1) / 2) * 0.8 / len(pairs)
        symbols = [SYMBOLS[i] + ("" if better_end(gap.column) else "-open") for gap in shown]
        traces.append(
            graph.Scatter(
                x=[point.value for point in points],
                y=[labels.index(gap.column.label) + shift for gap in shown],
                error_x=error_bars(points, LINES[i % COLOURS]),
                mode="markers",
                marker={"color": LINES[i % COLOURS], "symbol": symbols, "size": 9},
                customdata=[[inert(gap.column.label, NAME), inert_name(gap.finding, 2 * NAME)] for gap in shown],
                hovertemplate="%{customdata[0]}: %{x:.2f}<br>%{customdata[1]}<extra></extra>",
                name=" − ".join(inert_name(name, NAME) for name in pair),
            )
        )
    figure = figure_of(traces, 170 + len(labels) * max(28, 16 * len(pairs)))
    figure.add_vline(x=0, line={"color": GREY, "width": 1})
    figure.update_yaxes(
        tickmode="array",
        tickvals=list(range(len(labels))),
        ticktext=[inert(label, 28) for label in labels],
        range=[len(labels) - 0.4, -0.6],
        automargin=True,
        zeroline=False,
    )
    one, other = (inert_name(name, LABEL) for name in pairs[0]) if len(pairs) == 1 else ("first", "second")
    figure.update_xaxes(zeroline=False)
    # Not the axis's title, which is centred, so that a narrow screen would cut it.
    at = {"xref": "paper", "yref": "paper", "x": 1, "y": 0, "xanchor": "right", "yanchor": "top", "yshift": -22}
    figure.add_annotation(text=f"d_z<br>← {other} better<br>{one} better →", align="right", showarrow=False, **at)
    figure.update_layout(margin_b=90)
    figure.update_layout(showlegend=len(pairs) > 1)  # for one pair, the x-axis names both systems
    return figure


def _turned(gap: Gap) -> Estimate:
    """Return the standardised difference, positive if the first system is better."""
    value, low, high = gap.d_z.value or 0.0, gap.d_z.low, gap.d_z.high
    if better_end(gap.column) >= 0:
        return Estimate(value, low, high)
    return Estimate(-value, None if high is None else -high, None if low is None else -low)


@dataclass(frozen=True, slots=True)
class Differing:
    """A prompt on which systems differ."""

    prompt_id: str
    category: str
    prompt: str
    values: tuple[float | None, ...]
    spread: float  # difference between the largest and the smallest value


def differing(
    scores: BoardScores, indices: Sequence[int], column: Column, most: int = SHOWN_PROMPTS
) -> tuple[Differing, ...]:
    """Return the prompts on which systems differ most on a metric, ties in the suite's order.

    Prompts on which fewer than two systems have a value are left out.
    """
    values = scores.matrix(column)[:, list(indices)]
    rows = np.flatnonzero(np.isfinite(values).sum(axis=1) > 1)
    spread = np.nanmax(values[rows], axis=1) - np.nanmin(values[rows], axis=1)
    order = np.argsort(-spread, kind="stable")[:most].tolist()
    wanted = [scores.prompts[rows[i]] for i in order]
    texts: dict[str, tuple[str, str]] = {}
    for entry in (scores.board.entries[index] for index in indices):
        if not texts.keys() >= set(wanted):
            texts |= {prompt.prompt_id: (prompt.category, prompt.text) for prompt in prompts_of(entry)}
    return tuple(
        Differing(
            prompt_id,
            *texts.get(prompt_id, ("", "")),
            tuple(float(value) if np.isfinite(value) else None for value in values[rows[i]]),
            float(spread[i]),
        )
        for prompt_id, i in zip(wanted, order, strict=True)
    )


def differing_table(prompts: Sequence[Differing], labels: Sequence[str]) -> Table:
    """Return the prompts as a table, one row each."""
    places = places_for(prompt.spread / 10 for prompt in prompts)
    rows: list[tuple[Cell, ...]] = [
        (
            prompt.prompt_id,
            *(number_cell(value, number(value, places)) for value in (prompt.spread, *prompt.values)),
            shortened(prompt.prompt, _EXCERPT),
            prompt.category,
        )
        for prompt in prompts
    ]
    return Table("", ("prompt", "difference", *labels, "text", "category"), rows)


def side_by_side(board: Board, indices: Sequence[int], prompt_id: str) -> tuple[str, Table]:
    """Return a prompt, if any system has it, and the responses of systems to it, each with its class if it has one."""
    rows = [prompt_row(board.entries[index], prompt_id) for index in indices]
    prompt = next((row["prompt"] for row in rows if row is not None), "")
    names, columns = ["#"], []
    labels = system_labels(board)
    for index, row in zip(indices, rows, strict=True):
        names.append(labels[index])
        columns.append([] if row is None else list(row["responses"]))
        classes = None if row is None else row.get(CLASSES)
        if classes and classes["labels"]:
            names.append("class")
            columns.append(["" if label is None else str(label + 1) for label in classes["labels"]])
    longest = max(map(len, columns), default=0)
    texts = [(str(i + 1), *(column[i] if i < len(column) else "" for column in columns)) for i in range(longest)]
    return prompt, Table("", names, texts)


def explore_link(board: Board, index: int, prompt_id: str) -> str:
    """Return the permalink to a system's responses on the page Explore, relative to the other pages."""
    return f"explore?{urlencode({'table': board.name, 'system': system_ids(board)[index], 'prompt': prompt_id})}"


def build(page: gr.Blocks, live: LiveResults) -> None:
    """Build the page: differences by metric, prompts with the largest differences, responses side by side."""
    gr.Markdown(f"{page_text.COMPARE} {_CHOOSE}", elem_classes="lead")
    with gr.Row(equal_height=False):
        table = gr.Dropdown([], label="Table", elem_id="table", scale=2)
        systems = gr.Dropdown([], multiselect=True, max_choices=MOST, label="Systems", elem_id="systems", scale=3)
        metrics = gr.Dropdown(_METRICS, value="overview", label="Metrics", elem_id="show", scale=1)
    sentence = components.headline()
    plot = components.figure("forest")
    shown = components.table(
        "Data of the figure: paired differences over prompts", "gaps", height=560, pinned_columns=1
    )
    note = components.note("note", 4)
    gr.Markdown("## Largest differences")
    by = gr.Dropdown([], label="Metric of the differences", elem_id="by")
    prompts = components.table(
        "Prompts, largest difference first; select a row to read the responses", "prompts", height=420
    )
    prompt = gr.Dropdown([], label="Prompt", elem_id="prompt")
    text = gr.Textbox("", label="Text of the prompt", interactive=False, lines=2, elem_id="asked")
    responses = components.table("Responses side by side", "responses", height=700)
    with gr.Row(elem_classes="downloads"):
        buttons = [gr.Button("", size="sm", visible=False, elem_id=f"explore-{i}") for i in range(1, MOST + 1)]
    controls, reading = [table, systems, metrics, by, prompt], [text, responses, *buttons]

    def read(name: str, ids: Any, prompt_id: str | None, event: gr.SelectData) -> list[Any]:
        board = live.snapshot().board(name)
        row = event.row_value
        picked = str(row[0]) if isinstance(row, list) and row else prompt_id
        try:
            shown = _unread() if board is None else _reading(board, indices_of(board, ids or ()), picked)
        except DivBenchError as error:
            shown = _unread(components.error_line(error))
        return [gr.Dropdown(value=picked), *shown]

    wire(
        page,
        live,
        controls,
        partial(_controls, live),
        partial(_shown, live),
        [sentence, note, plot, shown, prompts, *reading],
        nothing=_nothing,
        cascade=("table", "systems", "by"),
    )
    selected = prompts.select(read, [table, systems, prompt], [prompt, *reading], preprocess=False, **LATEST)
    # With the other choices: without them, the link would follow the board's defaults.
    script = remember([str(control.elem_id) for control in controls])
    noted = selected.then(None, controls, None, js=script, api_visibility="private")
    noted.then(None, js=count_on("shown"))


def _controls(live: LiveResults, choices: Choices) -> list[Any]:
    """Fill the controls with choices, and select those in the permalink if they are offered."""
    snapshot = live.snapshot()
    board = snapshot.board(choices.get("table"))
    if board is None:
        return [components.no_choice() for _ in range(5)]
    ids = system_ids(board)
    first = [ids[index] for index in first_systems(board, FEWEST)]
    systems = chosen_several(choices, "systems", ids, first)[:MOST]
    if choices.changed == "table":  # keep those that the new table has, and fill up with its first
        systems += [i for i in first if i not in systems][: max(FEWEST - len(systems), 0)]
    labels = column_choices(board)
    main = ranking_column(board)
    by = chosen(choices, "by", [label for _, label in labels], main.label if main else None)
    prompts = _prompts(live, board, indices_of(board, systems), by, choices.get("prompt"))
    prompt = chosen_or_first(choices, "prompt", prompts)
    hint = partial(components.missing_hint, choices)
    return [
        gr.Dropdown(board_choices(snapshot.boards), value=board.name, info=hint("table", board.name)),
        gr.Dropdown(
            system_choices(board),
            value=systems,
            info=components.several_missing_hint(choices, "systems", ids, MOST),
        ),
        gr.Dropdown(_METRICS, value=chosen(choices, "show", _METRICS, "overview")),
        gr.Dropdown(labels, value=by, info=hint("by", by)),
        gr.Dropdown(
            prompts,
            value=prompt,
            visible=bool(prompts),
            info=hint("prompt", prompt, missing="No system here has this prompt"),
        ),
    ]


def _prompts(live: LiveResults, board: Board, indices: Sequence[int], by: str | None, wanted: str | None) -> list[str]:
    """Return the wanted prompt and those with the largest differences; none if `show` will report an error."""
    column = board.column(by) or ranking_column(board)
    if column is None or len(indices) < FEWEST:
        return []
    try:
        scores = live.scores(board)
        prompts = [prompt.prompt_id for prompt in differing(scores, indices, column)]
    except DivBenchError:
        return []
    return [wanted, *prompts] if wanted in scores.prompts and wanted not in prompts else prompts


def _shown(live: LiveResults, choices: Mapping[str, Any]) -> list[Any]:
    board = live.snapshot().board(choices["table"])
    if board is None:
        return _nothing(page_text.NO_RESULTS)
    indices = indices_of(board, choices["systems"] or ())[:MOST]
    by = board.column(choices["by"]) or ranking_column(board)
    if len(indices) < FEWEST or by is None:
        return _nothing(page_text.ALONE if len(board.entries) < FEWEST else _TOO_FEW)
    scores = live.scores(board)
    gaps = compare(scores, indices, board.columns if choices["show"] == "everything" else overview(board))
    labels = [system_labels(board)[index] for index in indices]
    return [
        headline(gaps, labels),
        about_compare(gaps),
        components.drawn(forest_figure(gaps)),
        components.filled(compare_table(board, indices, gaps)),
        components.filled(differing_table(differing(scores, indices, by), labels)),
        *_reading(board, indices, choices["prompt"]),
    ]


def _reading(board: Board, indices: Sequence[int], prompt_id: str | None) -> list[Any]:
    """Return the prompt, the responses and the links to Explore."""
    if prompt_id is None or not indices:
        return _unread()
    prompt, table = side_by_side(board, indices, prompt_id)
    pixels: Any = [60 if name in ("#", "class") else _RESPONSE for name in table.columns]
    labels = system_labels(board)
    links = [(f"Explore {shortened(labels[index], 40)}", explore_link(board, index, prompt_id)) for index in indices]
    return [
        gr.Textbox(prompt, visible=bool(prompt)),
        components.filled(table, column_widths=pixels) if table.rows else components.no_table(),
        *(gr.Button(words, link=link, visible=True) for words, link in links),
        *(gr.Button(visible=False) for _ in range(MOST - len(links))),
    ]


def _unread(reason: str = "") -> list[Any]:
    buttons = (gr.Button(visible=False) for _ in range(MOST))
    return [gr.Textbox(reason, visible=bool(reason)), components.no_table(), *buttons]


def _nothing(reason: str) -> list[Any]:
    return [reason, "", components.drawn(None), components.no_table(), components.no_table(), *_unread()]
