"""The distribution of a metric's scores at each label: the figure of `divbench metrics metaeval --figure`."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmark.analysis.metaeval.labelled import Labelled
from benchmark.analysis.metaeval.overall import kind_of
from benchmark.analysis.metaeval.scores import Scores
from divbench.core.errors import need
from leaderboard.figures.plots import BLUE, FONT, VERMILION, inert

_ROW, _FRAME = 230, 140  # pixels: height of a row of panels, of title and margins
_ACROSS = 3


def label_figure(task: Labelled, columns: Sequence[Scores]) -> Any:
    """Draw scores by label, one panel per metric: violins of low and high sets, or points over graded labels.

    OCA and AUC measure how far the violins are apart; no threshold can separate their overlap.

    Args:
        columns: The metrics' scores; sets without one are not drawn.
    """
    graph, subplots = need("plotly.graph_objects", "board"), need("plotly.subplots", "board")
    across = min(_ACROSS, len(columns))
    down = -(-len(columns) // across)
    # Negated scores bear a minus sign.
    titles = [f"{'−' * each.origin.endswith(', negated')}{inert(each.name, 40)}" for each in columns]
    figure = subplots.make_subplots(rows=down, cols=across, subplot_titles=titles, vertical_spacing=0.5 / (down + 1))
    for place, each in enumerate(columns):
        values = each.column(task.set_ids)
        for trace in _violins(graph, task, values) if task.label == "binary" else [_points(graph, task, values)]:
            figure.add_trace(trace, row=place // across + 1, col=place % across + 1)
    by_construction = task.label == "binary" and kind_of(task)
    said = "label (content diversity, by construction)" if by_construction else inert(task.label_name, 40)
    figure.update_layout(
        template="plotly_white",
        title={"text": f"{inert(task.name, 60)}: scores at each {said}", "font": {"size": 18}},
        font=FONT,
        height=_FRAME + _ROW * down,
        violinmode="overlay",
        showlegend=False,
    )
    return figure


def _violins(graph: Any, task: Labelled, values: Any) -> list[Any]:
    made = []
    for label, name, colour in ((0.0, "low", VERMILION), (1.0, "high", BLUE)):
        chosen = (task.labels == label) & np.isfinite(values)
        made.append(
            graph.Violin(
                x=[name] * int(chosen.sum()),
                y=values[chosen].tolist(),
                name=name,
                line={"color": colour},
                box={"visible": True},
                points=False,
                spanmode="hard",  # no smoothing beyond the data, such as to six different responses of five
                scalemode="width",
                scalegroup=name,
                width=0.8,
                hoverinfo="y",
            )
        )
    return made


def _points(graph: Any, task: Labelled, values: Any) -> Any:
    there = np.isfinite(values)
    return graph.Scatter(
        x=task.labels[there].tolist(),
        y=values[there].tolist(),
        mode="markers",
        marker={"color": BLUE, "size": 4, "opacity": 0.5},
        hovertemplate=f"{inert(task.label_name, 40)} %{{x:.4g}}: %{{y:.4g}}<extra></extra>",
    )
