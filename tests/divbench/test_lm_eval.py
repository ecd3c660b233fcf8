"""Inside lm-evaluation-harness: its results are those of `divbench.score`, and its samples can be imported."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

import divbench as db
from tests.conftest import divbench

METRICS = ("--metric", "distinct_k", "--metric", "distinct_n")
SUITES = ["demo", "gssbench", "noveltybench-curated", "noveltybench-wildchat"]
SCRIPT = Path(__file__).with_name("lm_eval_runs.py")


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("harness") / "tasks"
    done = divbench("data", "lm-eval-tasks", folder, "--k", 4, "--profile", "lexical", *METRICS)
    assert done.returncode == 0, done.stderr
    assert f"--include_path {folder}" in done.stderr
    return folder


def test_each_suite_is_a_task_with_repeats_and_signatures(tasks: Path) -> None:
    yaml.SafeLoader.add_constructor("!function", lambda loader, node: node.value)
    read = [yaml.safe_load(path.read_text()) for path in sorted(tasks.glob("*.yaml"))]
    assert [task["metadata"]["suite"] for task in read] == SUITES
    expected = db.score([["a", "b"]], ["distinct_k"], profile="lexical").signatures["distinct_k"]
    for task in read:
        assert task["repeats"] == 4
        assert task["metadata"]["signatures"]["distinct_k"] == expected
    compile((tasks / "divbench_tasks.py").read_text(), "divbench_tasks.py", "exec")


def test_a_run_has_the_numbers_of_score_and_its_samples_are_read_back(tasks: Path, tmp_path: Path) -> None:
    if find_spec("lm_eval") is None:
        pytest.skip("lm-evaluation-harness is not installed: pip install lm-eval")
    run = subprocess.run([sys.executable, SCRIPT, tasks, tmp_path], capture_output=True, encoding="utf-8", check=False)
    assert run.returncode == 0, run.stderr
    done: dict[str, Any] = json.loads((tmp_path / "done.json").read_text())
    results = done["results"]["divbench_demo"]
    [samples] = tmp_path.rglob("samples_*.jsonl")
    scores = db.score(str(samples), ["distinct_k", "distinct_n"], profile="lexical")
    assert scores.sizes == (4,) * 24
    for mean in scores.means:
        assert results[f"{mean.metric},all"] == pytest.approx(mean.value, abs=1e-12)
    assert results["missing_values,all"] == 0


def test_one_response_to_a_prompt_is_told() -> None:
    if find_spec("lm_eval") is None:
        pytest.skip("lm-evaluation-harness is not installed: pip install lm-eval")
    from divbench.integrations.lm_eval import values_of

    with pytest.raises(db.InputError, match="one response, and diversity is that of several"):
        values_of("distinct_n")({"prompt": "Name a pet."}, ["a cat"])
