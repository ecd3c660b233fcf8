"""Response sets with known diversity: each has a label by construction, and some have human ratings."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from datasets_build.load import load_table
from datasets_build.sources import find_config
from datasets_build.sources.tevet import REPORTED, TASKS
from divbench.core.errors import ConfigurationError, did_you_mean

Floats = NDArray[np.float64]
CONFIGS = ("contest", "mcdiv", "mcdiv_nuggets", "dectest")
BINARY_TASKS = tuple(f"{config}/{task}" for config in CONFIGS[:3] for task in TASKS)
"""The nine tasks of D_Can's Table 2: sets written by people for high or low content diversity."""


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """One task: a split of labelled response sets."""

    name: str  # name of the task, such as `contest/story_gen`
    # *binary*: 1 for high content diversity, 0 for low; *graded*: of many values, greater for more diverse.
    label: Literal["binary", "graded"]
    set_ids: tuple[str, ...]  # [sets]; a set has the same id in every task that holds it
    contexts: tuple[str, ...]  # [sets], the prompt of each set; sets of one context are one cluster in every resample
    responses: tuple[tuple[str, ...], ...]  # [sets]
    labels: Floats  # [sets]
    lengths: Floats  # [sets], mean bytes of a response in UTF-8
    human: Floats | None  # [sets], mean score of about ten raters; None for tasks without human scores
    human_spread: Floats | None  # [sets], standard deviation of the scores over raters
    released: dict[str, Floats]  # metric columns published with the texts, each [sets], NaN where missing
    label_name: str = "label"  # name of the label, such as `temperature` or `top_k`
    raters: Floats | None = None  # [sets], number of raters of each set; None: ten, or a task without human scores

    def rows(self, keep: NDArray[np.bool_]) -> "Labelled":
        """Return the task with only the sets where `keep` [sets] is true."""
        places = np.flatnonzero(keep)
        return replace(
            self,
            set_ids=tuple(self.set_ids[i] for i in places),
            contexts=tuple(self.contexts[i] for i in places),
            responses=tuple(self.responses[i] for i in places),
            labels=self.labels[places],
            lengths=self.lengths[places],
            human=None if self.human is None else self.human[places],
            human_spread=None if self.human_spread is None else self.human_spread[places],
            released={name: values[places] for name, values in self.released.items()},
            raters=None if self.raters is None else self.raters[places],
        )


def task_names(given: Sequence[str]) -> list[str]:
    """Return the names of the tasks asked for: `contest` for all its splits, `contest/story_gen` for one.

    Raises:
        ConfigurationError: There is no such config of labelled sets, or no such split.
    """
    made: list[str] = []
    for name in given:
        config_name, _, split = name.partition("/")
        if config_name not in CONFIGS:
            hint = f"{did_you_mean(name, CONFIGS)}; with or without a split; or a file named .parquet"
            if config_name == "gssbench":
                hint = "it has pairs of prompts: divbench metrics gss"
            raise ConfigurationError(f"{name!r} is not a dataset with labels to test a metric against", hint)
        splits = [each.name for each in find_config(config_name)[1].splits]
        if split and split not in splits:
            raise ConfigurationError(f"{config_name} has no split {split!r}", did_you_mean(split, splits))
        # Without a split, the larger version of a dataset is meant; the one with human scores must be named.
        whole = [each for each in splits if config_name == "contest" or not each.endswith("_with_hds")]
        made += [f"{config_name}/{each}" for each in ([split] if split else whole)]
    return list(dict.fromkeys(made))


def load_labelled(name: str, *, mirror: Path | None = None) -> Labelled:
    """Load the sets of a task.

    Raises:
        ConfigurationError: There is no such task, or its files are not available.
        InputError: A file has the wrong content.
    """
    config, _, split = name.partition("/")
    rows = load_table(config, split, mirror=mirror).to_pylist()

    def column(field: str) -> Floats:
        return np.array([np.nan if row[field] is None else row[field] for row in rows], np.float64)

    human = column("abs_hds_mean")
    graded = rows[0]["label_name"] == "temp"
    released = {metric: column(f"reported_{metric}") for metric in REPORTED}
    return Labelled(
        name=name,
        label="graded" if graded else "binary",
        set_ids=tuple(row["set_id"] for row in rows),
        contexts=tuple(row["context"] for row in rows),
        responses=tuple(tuple(row["responses"]) for row in rows),
        labels=column("label"),
        lengths=np.array([np.mean([len(text.encode()) for text in row["responses"]]) for row in rows]),
        human=human if np.isfinite(human).all() else None,
        human_spread=column("abs_hds_std") if np.isfinite(human).all() else None,
        released={metric: values for metric, values in released.items() if np.isfinite(values).any()},
        label_name="temperature" if graded else "content diversity",
    )
