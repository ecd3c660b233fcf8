"""The page of one system, for the application and the export: its rank, its scores, and how it was sampled."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from datasets_build.sources.source import divbench_citation
from leaderboard.data.board import REFERENCE_TYPES, Column, ranking_column
from leaderboard.data.scores import BoardScores
from leaderboard.figures.board_plots import system_curves_figure
from leaderboard.figures.response_plots import TINTS
from leaderboard.static.board_pages import MODELS, Part
from leaderboard.static.render import Figure, Page, StaticTable
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

TEMPLATE = "system.html"
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
    file: str,
    near: Sequence[tuple[int, float]],
    *,
    links: Sequence[tuple[str, str]] = (),
    texts: bool = False,
) -> Page:
    """The page of a system.

    Args:
        near: From `nearest`.
        links: Label and address of the pages that it leads to.
        texts: Whether to show the prompts where it is most and least diverse, with the responses.

    Raises:
        InputError: The files of the result are gone.
    """
    board, main = scores.board, ranking_column(scores.board)
    if main is None:
        raise ValueError(f"{board.name} has no column to rank by")
    values = scores.matrix(main)
    overview = columns_of(board, "overview", ())[0] if values.size <= _RANKED else ()
    standing = [(c, scores.standings(c)[place] if c in (main, *overview) else None) for c in board.columns]
    people = [i for i, each in enumerate(board.entries) if each.result.manifest.system.type == REFERENCE_TYPES[0]]
    curves = distinct_curves(board, dict.fromkeys([place, *people[:1]]))
    said = headline(scores, main, place)
    all_scores = StaticTable(system_scores(board, place, standing), "scores", "Mean over prompts [95% interval]")
    sampling = StaticTable(facts_table(board, place), "facts", "How it was sampled, and where its result comes from")
    parts = [Part(said=(said,), links=tuple(links)), Part(title="All metrics", tables=(all_scores,))]
    drawn = None
    if curves:
        drawn = system_curves_figure(curves, "responses m", "expected different valid responses", diagonal=True)
        numbers = StaticTable(curves_table(curves, "m"), "curve-table", "Data of the figure")
        figure = Figure(_CURVE, FIGURES[_CURVE], 380)
        parts.append(Part(title="Expected different valid responses among m", figure=figure, tables=(numbers,)))
    parts.append(Part(title="Sampling and provenance", tables=(sampling,)))
    if texts:
        found = extremes(board, board.entries[place], scores.prompts, values[:, place], main.direction)
        for name, each in zip(("most", "least"), found, strict=True):
            if each:
                title = f"{name.capitalize()} diverse prompts"
                table = StaticTable(
                    extremes_table(each), name, f"{main.label} of each, and the responses by class", _tints(each)
                )
                parts.append(Part(title=title, tables=(table,)))
    if near:
        about = "Systems whose scores rise and fall on the same prompts; their means may be far apart"
        table = StaticTable(neighbours_table(board, near), "near", about)
        parts.append(Part(title="Most correlated systems", tables=(table,)))
    parts.append(Part(codes=(("Cite", divbench_citation()),)))
    made: Mapping[str, Any] = {
        "lead": (),
        "parts": parts,
        "about": said,
        "drawn": [(_CURVE, drawn.to_json(engine="json"))] if drawn else [],
    }
    title = system_labels(board)[place]
    return Page(file, title, TEMPLATE, made, MODELS, board.name, figures=drawn is not None)


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


def _tints(found: Sequence[Extreme]) -> list[str]:
    """A CSS class for each response: equivalent responses share a colour, and the others have none."""
    tints = []
    for each in found:
        shared = [group for group, size in sorted(Counter(each.groups).items(), key=str) if size > 1]
        colours = {group: f"tint-{place % len(TINTS)}" for place, group in enumerate(shared)}
        tints += ["" if group is None else colours.get(group, "") for group in each.groups]
    return tints
