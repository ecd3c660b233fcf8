"""lm-evaluation-harness (EleutherAI): what the task files of `divbench data lm-eval-tasks` call.

A task asks for each prompt of a suite with repeats, keeps all responses, and gives each prompt the values of
`divbench.score` for its responses; the harness averages them. It does not say why a response ended, so truncated ones
count as whole.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from datasets import Dataset
from lm_eval.api.filter import Filter
from lm_eval.api.registry import register_filter

from datasets_build.load import load_suite
from divbench.core.errors import InputError
from divbench.integrations.groups import group_scorer, metric_names


@register_filter("divbench_keep_all")
class KeepAll(Filter):  # type: ignore[misc] # types of the harness are not read
    """Keeps every response to a prompt; the harness's default filter keeps the first."""

    def apply(self, resps: Iterable[Any], docs: Sequence[Any]) -> Iterable[Any]:
        """Return the responses unchanged."""
        return resps


def prompts_of(suite: str) -> Callable[..., dict[str, Dataset]]:
    """Return a function that loads a suite's prompts as a task's documents (`custom_dataset`)."""

    def documents(**settings: Any) -> dict[str, Dataset]:
        prompts = load_suite(suite).prompts
        rows = [{"prompt_id": p.prompt_id, "prompt": p.prompt, "category": p.category} for p in prompts]
        return {"test": Dataset.from_list(rows)}

    return documents


def values_of(
    metrics: str | Sequence[str], profile: str | None = None
) -> Callable[[dict[str, Any], Sequence[Any]], dict[str, float]]:
    """Return a function that computes metrics of all responses to a document (`process_results`).

    A metric without a value is left out for the document; `missing_values` counts them.
    """
    names = metric_names(metrics)

    def values(doc: dict[str, Any], results: Sequence[Any]) -> dict[str, float]:
        [responses] = results
        if isinstance(responses, str) or len(responses) < 2:
            hint = "keep repeats and the filter divbench_keep_all of the task"
            raise InputError("a prompt has one response, and diversity is that of several", hint)
        of_groups = group_scorer(names, profile)
        [row] = of_groups.values(of_groups.materials([doc["prompt"]], [responses]))
        numbers = {name: value for name, value in row.items() if isinstance(value, float)}
        return numbers | {"missing_values": float(len(row) - len(numbers))}

    return values
