"""Studies of some metrics each, put together."""

from dataclasses import replace

import pytest

from benchmark.scoring.estimate import Resampling
from divbench.core.errors import ConfigurationError
from leaderboard.data.metric_study.build import make_study
from leaderboard.data.metric_study.merge import merged
from tests.leaderboard.data.metric_study.test_build import HOW, LEXICAL, scores, task

TASKS = [task("contest/story_gen"), task("mcdiv/resp_gen", seed=1, human=False)]
A, B, C = (scores(name, TASKS, seed) for seed, name in enumerate(("distinct_n", "compression_ratio", "self_bleu")))


def test_results_are_those_of_one_study_but_for_agreement_that_nobody_computed() -> None:
    whole = make_study(TASKS, [A, B, C], LEXICAL, resampling=HOW)
    found = merged(make_study(TASKS, [B], LEXICAL, resampling=HOW), make_study(TASKS, [A, C], LEXICAL, resampling=HOW))
    assert (found.metrics, found.tasks, found.overall) == (whole.metrics, whole.tasks, whole.overall)
    for one, both in zip(found.agreements, whole.agreements, strict=True):
        assert one.metrics == ["distinct_n", "compression_ratio", "self_bleu"]
        assert one.rho == [[None, both.rho[0][1]], [None], []]


def test_a_metric_that_is_in_both_is_the_new_one() -> None:
    other = replace(B, values={name: -1.0 * float(str(value)) for name, value in B.values.items()})
    earlier = make_study(TASKS, [A, other], LEXICAL, resampling=HOW)
    new = make_study(TASKS, [B], LEXICAL, resampling=HOW)
    found = merged(new, earlier)
    assert found.tasks[0].results[1] == new.tasks[0].results[0] != earlier.tasks[0].results[1]
    # Under another signature its rank agreement is not known, either.
    entry = earlier.metrics[1].model_copy(update={"signature": "another"})
    changed = merged(new, earlier.model_copy(update={"metrics": [earlier.metrics[0], entry]}))
    assert [each.rho for each in changed.agreements] == [[[None], []]] * len(changed.agreements)


def test_studies_of_other_sets_or_another_bootstrap_are_refused() -> None:
    new = make_study(TASKS, [B], LEXICAL, resampling=HOW)
    for tasks, how in ((TASKS[:1], HOW), ([task("contest/story_gen", seed=3, sets=20), TASKS[1]], HOW)):
        with pytest.raises(ConfigurationError, match="has other tasks, other sets"):
            merged(new, make_study(tasks, [A], LEXICAL, resampling=how))
    with pytest.raises(ConfigurationError, match="another bootstrap"):
        merged(new, make_study(TASKS, [A], LEXICAL, resampling=Resampling(resamples=70)))
