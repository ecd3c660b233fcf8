"""The page of one system: its rank, its scores, and how it was sampled."""

from collections import Counter
from collections.abc import Sequence

from datasets_build.sources.source import divbench_citation
from leaderboard.data.board import REFERENCE_TYPES, Column, ranking_column
from leaderboard.data.scores import BoardScores
from leaderboard.figures.board_plots import system_curves_figure
from leaderboard.figures.response_plots import TINTS
from leaderboard.static.render import Figure, Page, Part, StaticTable
from leaderboard.tables.curves import curves_table, distinct_curves
from leaderboard.tables.forest import score_text
from leaderboard.tables.models import columns_of
from leaderboard.tables.page_text import FIGURES
from leaderboard.tables.system_card import (
    Extreme,
    extremes,
    extremes_table,
    facts_table,
    nearest_systems,
    neighbours_table,
    system_scores,
)
from leaderboard.tables.systems import system_labels

_RANKED = 10**5  # systems × prompts up to which all overview metrics are ranked; above, that takes seconds
_CURVE = "classes-plot"


def nearest(scores: BoardScores, place: int) -> list[tuple[int, float]]:
    """The systems with the most correlated scores over prompts, by index, with Spearman's rho, without baselines."""
    main = ranking_column(scores.board)
    if main is None:
        return []
    baselines = [i for i, each in enumerate(scores.board.entries) if each.result.manifest.system.type == "baseline"]
    return nearest_systems(scores.matrix(main), scores.ranks(main), place, excluded=baselines)


def system_page(
    scores: BoardScores,
    place: int,
    *,
    near: Sequence[tuple[int, float]] = (),
    links: Sequence[tuple[str, str]] = (),
    script: bool = True,
) -> Page:
    """The page of a system; with `script`, also the figure, and the prompts where it is most and least diverse."""
    board, main = scores.board, ranking_column(scores.board)
    if main is None:
        raise ValueError(f"{board.name} has no column to rank by")
    values = scores.matrix(main)
    overview = columns_of(board, "overview", ())[0] if values.size <= _RANKED else ()
    standing = [(c, scores.standings(c)[place] if c in (main, *overview) else None) for c in board.columns]
    about = headline(scores, main, place)
    all_scores = StaticTable(system_scores(board, place, standing), "scores", "Mean over prompts [95% interval]")
    parts = [Part(lines=(about,), links=tuple(links)), Part(title="All metrics", tables=(all_scores,))]
    people = [i for i, entry in enumerate(board.entries) if entry.result.manifest.system.type == REFERENCE_TYPES[0]]
    curves = distinct_curves(board, dict.fromkeys([place, *people[:1]]))
    if curves:
        drawn = system_curves_figure(curves, "responses m", "expected different valid responses", diagonal=True)
        figure = Figure(_CURVE, FIGURES[_CURVE], 380, drawn.to_json(engine="json")) if script else None
        numbers = StaticTable(curves_table(curves, "m"), "curve-table", "Expected different valid responses among m")
        parts.append(Part(title="Expected different valid responses among m", figure=figure, tables=(numbers,)))
    sampling = StaticTable(facts_table(board, place), "facts", "How it was sampled, and where its result comes from")
    parts.append(Part(title="Sampling and provenance", tables=(sampling,)))
    if script:
        ends = extremes(board, board.entries[place], scores.prompts, values[:, place], main.direction)
        for name, end in zip(("most", "least"), ends, strict=True):
            if end:
                caption = f"{main.label} of each, and the responses by class"
                table = StaticTable(extremes_table(end), name, caption, _tints(end))
                parts.append(Part(title=f"{name.capitalize()} diverse prompts", tables=(table,)))
    if near:
        caption = "Systems whose scores rise and fall on the same prompts; their means may be far apart"
        table = StaticTable(neighbours_table(board, near), "near", caption)
        parts.append(Part(title="Most correlated systems", tables=(table,)))
    parts.append(Part(codes=(("Cite", divbench_citation()),)))
    return Page(system_labels(board)[place], tuple(parts), about)


def headline(scores: BoardScores, main: Column, place: int) -> str:
    """A system's score and rank in the column that ranks its board, as plain text, since its name is untrusted."""
    board, label = scores.board, system_labels(scores.board)[place]
    stands = scores.standings(main)[place]
    ranked = sum(each.rank is not None for each in scores.standings(main))
    cell = board.entries[place].cells.get(main.signature)
    value = None if cell is None else cell.value
    between = "" if stands.low is None else f" (95% interval {stands.low}–{stands.high})"
    is_reference = board.entries[place].result.manifest.system.type in REFERENCE_TYPES
    unranked = "a reference, not ranked" if is_reference else "not ranked"
    rank = f"rank {stands.rank}{between} of {ranked}" if stands.rank else unranked
    return f"{label}: {score_text(main, board.k, value)}; {rank} on {board.suite}, {board.terms}."


def _tints(prompts: Sequence[Extreme]) -> list[str]:
    """A CSS class for each response: equivalent responses share a colour, and the others have none."""
    tints = []
    for extreme in prompts:
        shared = [group for group, size in sorted(Counter(extreme.groups).items(), key=str) if size > 1]
        colours = {group: f"tint-{i % len(TINTS)}" for i, group in enumerate(shared)}
        tints += ["" if group is None else colours.get(group, "") for group in extreme.groups]
    return tints
