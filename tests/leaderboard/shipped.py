"""The study of metrics that ships with the package: of the profile *offline* on Tevet & Berant's sets, and GSSBench."""

from leaderboard.data.metric_study.files import MEASURED, PAIRS_FILE, STUDY_FILE, read_record
from leaderboard.data.metric_study.pair_accuracies import PairStudy
from leaderboard.data.metric_study.record import MetricStudy


def shipped_study() -> MetricStudy:
    """Its numbers."""
    return read_record(MEASURED / STUDY_FILE, MetricStudy)


def shipped_pairs() -> PairStudy:
    """Its accuracies on prompt pairs."""
    return read_record(MEASURED / PAIRS_FILE, PairStudy)
