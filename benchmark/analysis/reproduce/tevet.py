"""Tevet & Berant 2021 (arXiv:2004.02990): tables 2, 4, 8, 9, 10.

The rows distinct-n and cos-sim are computed from the texts by this package's metrics; absHDS comes from the released
human scores, the others from the released columns.
"""

import numpy as np

from benchmark.analysis.metaeval import agreement
from benchmark.analysis.metaeval.labelled import Floats, Labelled
from benchmark.analysis.reproduce.cells import Inputs, Ours, Place
from benchmark.metrics.lexical import distinct_n, ngram_cosine_diversity, ngram_statistics, tevet_tokens
from benchmark.metrics.metric import Missing
from divbench.core.errors import ConfigurationError

SPLITS = {"storyGen": "story_gen", "respGen": "resp_gen", "promptGen": "prompt_gen"}
RELEASED = {"BERT-STS": "bert_sts", "sent-BERT": "sent_bert", "BERT-score": "bert_score"}
_DRAWS = 1000


def rho(scores: Floats, labels: Floats) -> float:
    """Compute Spearman's rho of scores [sets] with labels [sets]."""
    return float(agreement.spearman(scores, labels, agreement.ones(len(scores)))[0])


def rho_and_oca(scores: Floats, labels: Floats) -> dict[str, float]:
    """Compute both measures of the papers; OCA as in Tevet & Berant's code, with a slack of 1e-5, at least 0.5."""
    weights = agreement.ones(len(scores))
    accuracy = agreement.optimal_accuracy(scores, labels == 1, weights, folded=True, slack=1e-5)
    return {"rho": rho(scores, labels), "OCA": float(accuracy[0])}


def released(task: Labelled, column: str) -> Floats:
    """Return a metric column published with the texts, [sets]."""
    if column not in task.released:
        raise ConfigurationError(f"the released column {column} of {task.name} is not in the mirror", "add its file")
    return task.released[column]


def ngram_columns(task: Labelled) -> dict[str, Floats]:
    """Compute `distinct-n` and `cos-sim` of each set, [sets], by this package's metrics on the texts.

    Blank responses count, and values are rounded to 3 decimals, as in the released columns: rounding changes ties, and
    therefore rho by up to 0.001. (The scorer leaves blank responses out and does not round.)
    """
    statistics = ngram_statistics(task.responses, tevet_tokens)
    columns = {"distinct-n": map(distinct_n, statistics), "cos-sim": map(ngram_cosine_diversity, statistics)}
    return {name: np.array([float(f"{value:.3f}") for value in values]) for name, values in columns.items()}


def scores_of(task: Labelled) -> dict[str, tuple[Floats, str]]:
    """Return the scores [sets] of the automatic rows of the paper's tables, and their origin."""
    scores = {name: (values, "from the texts") for name, values in ngram_columns(task).items()}
    return scores | {row: (released(task, column), "from the released column") for row, column in RELEASED.items()}


def decoding_test(inputs: Inputs) -> Ours:
    """Recompute Table 2: rho with temperature over all sets, and its standard deviation over draws of 200.

    The table has the mean and standard deviation over the authors' hundred random draws, which cannot be repeated. That
    mean estimates rho of all sets. A standard deviation over 100 draws is only accurate to 7%, so ours is over 1,000.
    """
    ours: dict[Place, tuple[float, str] | Missing] = {("simHDS", "respGen rho"): Missing("simHDS was not released")}
    for name, split in SPLITS.items():
        task = inputs.labelled(f"dectest/{split}")
        for row, (scores, about) in scores_of(task).items():
            ours[row, f"{name} rho"] = rho(scores, task.labels), about
            ours[row, f"{name} sd"] = agreement.resampled_spearman(scores, task.labels, draws=_DRAWS).sd, about
        ours["absHDS", f"{name} rho"] = _human(inputs.labelled(f"dectest/{split}_with_hds"))["rho"]
    return ours


def content_test(inputs: Inputs, config: str, ending: str = "", not_released: tuple[str, ...] = ()) -> Ours:
    """Recompute tables 4, 8, 9 and 10: rho and OCA with the class of a set, also of people's scores if it has them."""
    ours: dict[Place, tuple[float, str] | Missing] = {}
    for name, split in SPLITS.items():
        task = inputs.labelled(f"{config}/{split}{ending}")
        for row, (scores, about) in scores_of(task).items():
            for measure, value in rho_and_oca(scores, task.labels).items():
                ours[row, f"{name} {measure}"] = value, about
        if task.human is not None:
            ours |= {("absHDS", f"{name} {measure}"): cell for measure, cell in _human(task).items()}
        for row in not_released:
            ours |= {(row, f"{name} {measure}"): Missing(f"{row} was not released") for measure in ("rho", "OCA")}
    return ours


def _human(task: Labelled) -> dict[str, tuple[float, str]]:
    """Return both measures of the mean human scores of a task that has them."""
    measures = rho_and_oca(np.asarray(task.human), task.labels)
    return {measure: (value, "from the released human scores") for measure, value in measures.items()}
