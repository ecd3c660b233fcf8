"""The figure of scores by label shows the scores and no others."""

import numpy as np

from benchmark.analysis.metaeval.labelled import Labelled
from benchmark.analysis.metaeval.scores import Scores
from leaderboard.reports.metaeval.figure import label_figure


def test_violins_end_where_the_scores_do_and_negated_metrics_say_so() -> None:
    ids, values = ("a", "b", "c", "d"), (1.0, 3.0, 4.0, 5.0)
    labels, lengths = np.array([0.0, 0.0, 1.0, 1.0]), np.ones(4)
    task = Labelled("t", "binary", ids, ids, (("x", "y"),) * 4, labels, lengths, None, None, {})
    counted = Scores("distinct_k", "metric v1", dict(zip(ids, values, strict=True)))
    negated = Scores("self_bleu", "metric v1, negated", {name: -v for name, v in zip(ids, values, strict=True)})
    figure = label_figure(task, [counted, negated])
    assert [each.text for each in figure.layout.annotations] == ["distinct_k", "−self_bleu"]
    assert {trace.spanmode for trace in figure.data} == {"hard"}  # else a violin shows 6 different responses of 5
    assert [list(trace.y) for trace in figure.data] == [[1, 3], [4, 5], [-1, -3], [-4, -5]]
