"""The curves of distinct answers under several backends, as one file."""

from collections.abc import Sequence

from benchmark.analysis.equivalence_study import BackendClasses
from leaderboard.figures.plots import curves_figure
from leaderboard.reports.metaeval.figure import page


def curves_page(found: Sequence[BackendClasses]) -> str:
    """One HTML file with a figure a backend.

    Raises:
        MissingExtra: plotly is not installed.
    """
    curves = [{each.system: each.curve for each in backend.systems} for backend in found]
    figures = [curves_figure(backend.backend, own) for backend, own in zip(found, curves, strict=True)]
    return page(figures, "Curves of distinct answers")
