"""The page of post-training: the stages of each model that a board has as a series."""

from collections.abc import Mapping, Sequence

from benchmark.sets import Missing
from leaderboard.board import Board, Column
from leaderboard.figures.plots import shortened
from leaderboard.figures.response_plots import distributions_figure, stage_curves_figure
from leaderboard.scores import BoardScores
from leaderboard.static.board_pages import Made, Part
from leaderboard.static.render import Figure, Page, Table, figure_script, table_of
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

STAGES_TITLE = "Post-training"
METRICS = ("d_can", "embedding_diversity", "distinct_k")  # those that a board has are contrasted
LEAD = (
    "What does post-training do to diversity? The same prompts, answered by a model after each stage of its training: "
    "base, supervised fine-tuning (SFT), preference optimisation (DPO), reinforcement learning (RLVR). Contrasts are "
    "paired, prompt by prompt, by Wilcoxon's signed-rank test, two-sided, with Holm's correction over the pairs of a "
    "table; intervals are 95% percentile bootstrap intervals over prompts."
)
NONE_YET = "No table here has systems that are stages of one model."
PUBLISHED = (
    "arXiv:2606.01811, Table 4: D_Ca_n of OLMo-2-7B's stages under Qwen2.5-3B, ten responses a prompt, cut to equal "
    "length. Another language model, other responses a prompt or uncut responses give other values: what can be "
    "compared is the order of the stages and d_z."
)


def stages_page(boards: Sequence[Board], scores: Mapping[str, BoardScores], file: str) -> Made:
    """All series of all boards: curves, distributions and contrasts.

    Raises:
        InputError: The files of a result are not there any more, or are damaged.
    """
    parts: list[Part] = []
    scripts: dict[str, str] = {}
    for board in boards:
        for series in find_series(board):
            made, figures = _series(board, scores[board.name], series)
            parts += made
            scripts |= {f"figures/{name}.js": figure_script(name, figure) for name, figure in figures.items()}
    lead = (LEAD,) if parts else (LEAD, NONE_YET)
    parts.append(Part(title="What makes a series", text=(RULE,)))
    published = table_of(published_table(), "published", "What the study of OLMo's stages printed")
    parts.append(Part(title="Published", text=(PUBLISHED,), tables=(published,)))
    values = {"lead": lead, "parts": parts}
    page = Page(file, STAGES_TITLE, "plain.html", values, STAGES_TITLE, "", tuple(scripts), bool(scripts))
    return Made((page,), scripts)


def _series(board: Board, scores: BoardScores, series: Series) -> tuple[list[Part], dict[str, object]]:
    """The sections of a series, and its figures by name; a result's id is of our own making."""
    names = (
        f"{stage}: {shortened(entry.result.manifest.name, 60)}"
        for stage, entry in zip(series.stages, series.entries, strict=True)
    )
    cut = "cut to equal length, as the names say" if series.matched else "as sampled, of unequal length"
    said = f"{', '.join(names)}. Handed in by {shortened(series.submitter, 60)}; responses {cut}."
    if series.passed_over:
        said += f" {series.passed_over} earlier submissions of the same stages are passed over."
    figures: dict[str, object] = {}
    title = f"{board.suite}, k = {board.k}, {board.profile}: {', '.join(series.stages)}"
    parts = [Part(title=title, said=(said,)), _curves(board, series, figures)]
    for metric in METRICS:
        column = next((each for each in board.columns if each.metric == metric), None)
        if column is not None:
            parts.append(_metric(board, scores, series, column, figures))
    return parts, figures


def _curves(board: Board, series: Series, figures: dict[str, object]) -> Part:
    found = stage_curves(series, board.k)
    if isinstance(found, Missing):
        return Part(said=(f"There are no curves: {found.reason}.",))
    name = f"curves-{series.key}"
    means = dict(zip(found.stages, found.means.tolist(), strict=True))
    errors = dict(zip(found.stages, found.errors.tolist(), strict=True))
    figures[name] = stage_curves_figure(means, errors)
    alt = f"Mean a_k in bits/byte, 1.96 standard errors over {found.prompts} prompts; the table has the same numbers."
    return Part(figure=Figure(name, alt, 420), tables=(_table(curves_table(found), name, "Mean a_k ± standard error"),))


def _metric(board: Board, scores: BoardScores, series: Series, column: Column, figures: dict[str, object]) -> Part:
    values = values_of(series, board, scores.matrix(column))
    name = f"{column.metric}-{series.key}"
    figures[name] = distributions_figure(
        dict(zip(series.stages, values.T.tolist(), strict=True)), scores.prompts, column.title, column.unit
    )
    found = contrasts(series, scores.prompts, values, column)
    return Part(
        title=column.title,
        figure=Figure(name, f"Every prompt's {column.label} by stage; the table has its quantiles.", 420),
        tables=(
            _table(contrasts_table(found), f"{name}-contrasts", "Paired contrasts of each stage and the next"),
            _table(quantiles_table(series, values), f"{name}-quantiles", "The distribution over prompts"),
        ),
    )


def _table(made: Sheet, name: str, caption: str) -> Table:
    return table_of(made, f"{name}-table", caption)
