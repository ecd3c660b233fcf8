"""What `metaeval` evaluates: the tasks, and the scores of metrics, functions and files."""

from collections.abc import Iterable
from pathlib import Path

from benchmark.analysis.metaeval.labelled import BINARY_TASKS, Labelled, load_labelled, task_names
from benchmark.analysis.metaeval.scores import (
    Progress,
    Scores,
    external_scores,
    file_scores,
    metric_scores,
    unique_sets,
)
from benchmark.analysis.metaeval.set_files import SUFFIX, check_apart, read_set_file
from benchmark.analysis.reproduce import qwen25_scores
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.inputs import computed
from benchmark.scoring.profiles import Profile
from benchmark.surprisal.cache import default_cache_path
from divbench.core.errors import ConfigurationError


def load_tasks(named: list[str], mirror: Path | None) -> list[Labelled]:
    """Load tasks by name or from files; default: the nine with two labels."""
    files = [Path(name) for name in dict.fromkeys(named) if name.endswith(SUFFIX)]
    tasks = task_names([name for name in named if not name.endswith(SUFFIX)]) if named else BINARY_TASKS
    made = [read_set_file(path) for path in files]  # first: the others are larger
    made = [load_labelled(name, mirror=mirror) for name in tasks] + made
    if files:
        check_apart(made)
    return made


def package_metrics(
    labelled: list[Labelled], chosen: Profile, wanted: list[str] | None, progress: Progress
) -> list[Scores]:
    """Score all sets by the wanted metrics of a profile, or by all that have a direction.

    Raises:
        ConfigurationError: The profile lacks a wanted metric.
    """
    there = {metric.id: metric for metric in computed(chosen.metrics())}
    unknown = [name for name in wanted or [] if name not in there]
    if unknown:
        raise ConfigurationError(
            f"the profile {chosen.name} has no metric {unknown[0]!r}",
            f"one of {', '.join(there)}; or with another --profile",
        )
    metrics = [there[name] for name in wanted] if wanted else [m for m in there.values() if m.direction]
    return metric_scores(labelled, metrics, ScoringBackends(chosen, default_cache_path()), progress)


def given_scores(
    labelled: list[Labelled],
    functions: Iterable[str],
    files: Iterable[Path],
    time_limit: float,
    progress: Progress,
    *,
    lower_is_more_diverse: bool = False,
    mirror: Path | None = None,
) -> list[Scores]:
    """Collect the scores in files or of `qwen25_curves`, and those of functions given as MODULE:FUNCTION."""
    known = unique_sets(labelled).keys()
    made = []
    for path in files:
        if str(path) == qwen25_scores.NAME:
            made += qwen25_scores.curve_scores(labelled, mirror)
            continue
        made += file_scores(path, "set_id", known, lower_is_more_diverse=lower_is_more_diverse)
    for name in functions:
        made.append(
            external_scores(
                labelled, name, lower_is_more_diverse=lower_is_more_diverse, time_limit=time_limit, progress=progress
            )
        )
    return made
