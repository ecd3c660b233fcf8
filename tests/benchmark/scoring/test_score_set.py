"""The two public names of the package, and scoring texts without files."""

import subprocess
import sys

import pytest

import benchmark
from benchmark.metrics import METRICS
from benchmark.metrics.metric import Missing
from benchmark.scoring.inputs import Materials, input_of, score_set, score_sets
from tests.benchmark.helpers import ROOT
from tests.benchmark.samples import ALIKE


def test_score_set_gives_every_metric_that_needs_no_model() -> None:
    found = benchmark.score_set(ALIKE["unrelated"])
    assert set(found) == {metric.id for metric in METRICS if not input_of(metric).sources}
    assert all(isinstance(value, float) for value in found.values())


def test_sets_scored_together_have_the_values_they_have_alone() -> None:
    metrics = [metric for metric in METRICS if not input_of(metric).sources]
    assert score_sets(Materials(list(ALIKE.values())), metrics) == [score_set(texts) for texts in ALIKE.values()]


def test_chosen_metrics_alone_are_computed() -> None:
    chosen = [metric for metric in METRICS if metric.id == "self_bleu"]
    assert score_set(["one"], chosen) == {"self_bleu": Missing("fewer than 2 responses")}


def test_importing_the_package_imports_no_library() -> None:
    code = (
        "import sys, benchmark; print(sorted({'numpy', 'pandas', 'pyarrow', 'torch', 'pydantic'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


def test_an_unknown_name_is_no_attribute() -> None:
    assert benchmark.METRICS is METRICS
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = benchmark.nothing
