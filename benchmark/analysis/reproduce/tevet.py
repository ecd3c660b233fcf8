"""Tevet & Berant 2021 (arXiv:2004.02990): tables 2, 4, 8, 9, 10.

The rows distinct-n and cos-sim are computed from the texts by this package's metrics; absHDS comes from the released
human scores, the others from the released columns.
"""

from functools import partial

import numpy as np

from benchmark.analysis.metaeval.decoding import resampled_spearman
from benchmark.analysis.metaeval.labelled import Labelled
from benchmark.analysis.reproduce.cells import Found, Made, Place, cannot, recomputed
from benchmark.analysis.reproduce.inputs import Inputs
from benchmark.analysis.reproduce.measures import Floats, both, ngram_columns, rho

SPLITS = {"storyGen": "story_gen", "respGen": "resp_gen", "promptGen": "prompt_gen"}
RELEASED = {"BERT-STS": "bert_sts", "sent-BERT": "sent_bert", "BERT-score": "bert_score"}
AUTOMATIC = ("distinct-n", "cos-sim", *RELEASED)
_DRAWS = 1000
_LACKING = cannot("the released column is not in the mirror")


def scores_of(task: Labelled) -> dict[str, tuple[Floats, str]]:
    """Return the available scores [sets] of the rows of the paper's tables, and their origin."""
    made = {name: (values, "from the texts") for name, values in ngram_columns(task).items()}
    for row, column in RELEASED.items():
        if column in task.released:
            made[row] = (task.released[column], "from the released column")
    if task.human is not None:
        made["absHDS"] = (task.human, "from the released human scores")
    return made


def decoding_test(inputs: Inputs) -> Made:
    """Recompute Table 2: rho with temperature over all sets, and its standard deviation over draws of 200.

    The table has the mean and standard deviation over the authors' hundred random draws, which cannot be repeated. That
    mean estimates rho of all sets. A standard deviation over 100 draws is only accurate to 7%, so ours is over 1,000.
    """
    made: dict[Place, Found] = {("simHDS", "respGen rho"): cannot("simHDS was not released")}
    for name, split in SPLITS.items():
        task = inputs.labelled(f"dectest/{split}")
        scores = scores_of(task)
        for row in AUTOMATIC:
            if row not in scores:
                made |= {(row, f"{name} rho"): _LACKING, (row, f"{name} sd"): _LACKING}
                continue
            values, about = scores[row]
            made[row, f"{name} rho"] = recomputed(rho(values, task.labels), about)
            made[row, f"{name} sd"] = recomputed(resampled_spearman(values, task.labels, draws=_DRAWS).sd, about)
        rated = inputs.labelled(f"dectest/{split}_with_hds")
        values, about = scores_of(rated)["absHDS"]
        made["absHDS", f"{name} rho"] = recomputed(rho(values, rated.labels), about)
    return made


def content_test(config: str, ending: str, human: tuple[str, ...], inputs: Inputs) -> Made:
    """Recompute tables 4, 8, 9 and 10: rho and OCA with the class of a set.

    Args:
        config: Config of the sets, such as `contest`.
    """
    made: dict[Place, Found] = {}
    for name, split in SPLITS.items():
        task = inputs.labelled(f"{config}/{split}{ending}")
        scores = scores_of(task)
        for row in (*AUTOMATIC, *human):
            columns = [f"{name} rho", f"{name} OCA"]
            if row in scores:
                values, about = scores[row]
                found = both(np.asarray(values), task.labels)
                made |= {(row, c): recomputed(found[c.split()[1]], about) for c in columns}
            else:
                lacking = cannot(f"{row} was not released") if row in human else _LACKING
                made |= {(row, column): lacking for column in columns}
    return made


content_test_contest = partial(content_test, "contest", "", ("absHDS", "aspHDS-form", "aspHDS-content"))
content_test_mcdiv = partial(content_test, "mcdiv", "", ())
content_test_nuggets = partial(content_test, "mcdiv_nuggets", "", ())
content_test_nuggets_200 = partial(content_test, "mcdiv_nuggets", "_with_hds", ("absHDS",))
