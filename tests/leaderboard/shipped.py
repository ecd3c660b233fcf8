"""The study of metrics that ships with the package: of the profile *offline* on Tevet & Berant's sets, and GSSBench."""

from leaderboard.data.metric_study.study import (
    MEASURED,
    PAIRS_FILE,
    STUDY_FILE,
    MetricStudy,
    PairStudy,
    read_pairs,
    read_study,
)


def shipped_study() -> MetricStudy:
    """Its numbers."""
    return read_study(MEASURED / STUDY_FILE)


def shipped_pairs() -> PairStudy:
    """Its accuracies on prompt pairs."""
    return read_pairs(MEASURED / PAIRS_FILE)
