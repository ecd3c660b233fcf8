"""The page Post-training: every series of training stages on the boards."""

from collections.abc import Mapping, Sequence

from benchmark.metrics.metric import Missing
from leaderboard.data.board import Board, Column
from leaderboard.data.scores import BoardScores
from leaderboard.figures.response_plots import distributions_figure, stage_curves_figure
from leaderboard.static.board_pages import Part, plain_page
from leaderboard.static.render import Figure, Page, Table
from leaderboard.tables import page_text, stages

STAGES_TITLE = "Post-training"


def stages_page(boards: Sequence[Board], scores: Mapping[str, BoardScores], file: str) -> Page:
    """All series of all boards: curves, distributions and contrasts.

    Raises:
        InputError: A result's files are gone or damaged.
    """
    parts: list[Part] = []
    for board in boards:
        for series in stages.find_series(board):
            parts += _series(board, scores[board.name], series)
    lead = (page_text.STAGES,) if parts else (page_text.STAGES, page_text.NO_STAGES)
    title = "How series are found and contrasts computed"
    parts.append(Part(title=title, text=(stages.RULE, page_text.CONTRASTS)))
    published = Table(stages.published_table(), "published", page_text.PRINTED)
    parts.append(Part(title="Published", text=(page_text.PRINTED_STAGES,), tables=(published,)))
    return plain_page(file, STAGES_TITLE, lead, parts)


def _series(board: Board, scores: BoardScores, series: stages.Series) -> list[Part]:
    """The sections of a series."""
    title = f"{board.suite}, k = {board.k}, {board.profile}: {', '.join(series.stages)}"
    parts = [Part(title=title, said=(stages.about_series(board, series),)), _curves(board, series)]
    for metric in stages.METRICS:
        column = next((each for each in board.columns if each.metric == metric), None)
        if column is not None:
            parts.append(_metric(board, scores, series, column))
    return parts


def _key(board: Board, series: stages.Series) -> str:
    """A unique key for a series: the same systems may be on several boards, at another k or with another profile."""
    return f"{board.name}-{series.key}"


def _curves(board: Board, series: stages.Series) -> Part:
    found = stages.stage_curves(series, board.k)
    if isinstance(found, Missing):
        return Part(said=(stages.about_curves(found),))
    name = f"curves-{_key(board, series)}"
    drawn = stage_curves_figure(stages.by_stage(found.stages, found.means), stages.by_stage(found.stages, found.errors))
    alt = f"Mean a_k in bits/byte ± 1.96 standard errors over {found.prompts} prompts; the table has the same numbers."
    return Part(
        figure=Figure(name, alt, 420, drawn, f"figures/{name}.js"),
        said=(stages.about_curves(found),),
        tables=(Table(stages.curves_table(found), f"{name}-table", "Mean a_k ± standard error"),),
    )


def _metric(board: Board, scores: BoardScores, series: stages.Series, column: Column) -> Part:
    values = stages.values_of(series, board, scores.matrix(column))
    name = f"{column.metric}-{_key(board, series)}"
    drawn = distributions_figure(stages.by_stage(series.stages, values.T), scores.prompts, column.label, column.unit)
    found = stages.contrasts(series, scores.prompts, values, column)
    alt = f"{column.label} of every prompt by stage; the table has the quantiles."
    return Part(
        title=column.title,
        figure=Figure(name, alt, 420, drawn, f"figures/{name}.js"),
        tables=(
            Table(
                stages.contrasts_table(found, column),
                f"{name}-contrasts-table",
                "Paired contrasts of consecutive stages",
            ),
            Table(stages.quantiles_table(series, values), f"{name}-quantiles-table", "Distribution over prompts"),
        ),
    )
