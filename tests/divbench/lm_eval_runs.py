"""A run of lm-evaluation-harness with a dummy model, for `test_lm_eval`; a process of its own: it sets up logging."""

import json
import random
import sys
from pathlib import Path
from typing import Any

import lm_eval
from lm_eval.api.model import LM
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager


class Dummy(LM):  # type: ignore[misc] # types of the harness are not read
    """A model that says two random words."""

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        rng = random.Random(0)  # noqa: S311
        return [" ".join(rng.choices(["red", "green", "blue", "cat", "dog", "bird"], k=2)) for _ in requests]

    def loglikelihood(self, requests: list[Any]) -> list[Any]:
        raise NotImplementedError

    loglikelihood_rolling = loglikelihood


def main(tasks: str, out: str) -> None:
    done = lm_eval.simple_evaluate(
        model=Dummy(),
        tasks=["divbench_demo"],
        task_manager=TaskManager(include_path=tasks),
        log_samples=True,
        bootstrap_iters=0,
    )
    samples = done.pop("samples")["divbench_demo"]
    tracker = EvaluationTracker(output_path=out)
    tracker.save_results_aggregated(results=done, samples={"divbench_demo": samples})
    tracker.save_results_samples(task_name="divbench_demo", samples=samples)
    Path(out, "done.json").write_text(
        json.dumps({"results": done["results"], "metadata": done["configs"]}, default=str)
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
