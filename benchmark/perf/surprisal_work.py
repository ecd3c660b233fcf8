"""Inputs for timing the surprisal engine: released response sets, or synthetic ones of their shape."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.surprisal.engine import OrderPlan, ResponseSet
from benchmark.surprisal.prompt_layout import PAPER_COMPLETION, PAPER_INSTRUCT, Layout
from datasets_build.errors import ConfigurationError
from datasets_build.load import load_split

RELEASED = {
    "olmo-matched": (("olmo_stages", ("alpacaeval_length_matched", "nbcurated_length_matched"), "prompt"),),
    "mcdiv": tuple(
        (name, ("story_gen", "resp_gen", "prompt_gen"), "context") for name in ("mcdiv", "contest", "mcdiv_nuggets")
    ),
}


@dataclass(frozen=True, slots=True)
class Work:
    """Sets, with the orders of the published code and of this package."""

    name: str  # name in the report
    sets: list[ResponseSet]  # sets to read
    layout: Layout
    uniform: int

    @property
    def plans(self) -> tuple[tuple[Layout, OrderPlan], ...]:
        """Layout and orders as published, and the defaults of this package."""
        return (
            (self.layout, OrderPlan("uniform", self.uniform)),
            (Layout(self.layout.format), OrderPlan("balanced", 1)),
        )


def works(mirror: Path | None, small: int, large: int) -> list[Work]:
    """Make conTest-like and OLMo-like work: released sets if there is a mirror, otherwise synthetic ones."""
    if mirror is None:
        rng = np.random.default_rng(0)
        words = [f"{a}{b}" for a in ("ri", "sto", "la", "vi", "en") for b in ("ver", "ne", "mp", "olet", "gine")]

        def texts(length: int, k: int) -> tuple[str, ...]:
            return tuple(" ".join(rng.choice(words, size=length)) + "." for _ in range(k))

        contest = [ResponseSet("Suppose there is an open door", texts(9, 5)) for _ in range(small)]
        olmo = [ResponseSet("What should I cook tonight?", texts(75, 10)) for _ in range(large)]
    else:
        rows: list[dict[str, Any]] = load_split("contest", "prompt_gen", mirror=mirror).to_list()
        contest = [ResponseSet(row["context"], tuple(row["responses"])) for row in rows[:small]]
        rows = load_split("olmo_stages", "alpacaeval", mirror=mirror).to_list()
        of_stage = [row for row in rows if row["stage"] == "sft"]
        olmo = [ResponseSet(row["prompt"], tuple(row["responses"])) for row in of_stage[:large]]
    return [
        Work("conTest-like: n = 5, completion, 50 uniform orders", contest, PAPER_COMPLETION, 50),
        Work("OLMo-like: n = 10, instruct, 25 uniform orders", olmo, PAPER_INSTRUCT, 25),
    ]


def released(name: str, mirror: Path | None, sets: int | None) -> Work:
    """Load the sets of a published study, or a number of evenly spaced ones.

    Raises:
        ConfigurationError: There is no folder with the released files.
    """
    if mirror is None:
        raise ConfigurationError("these are released sets", "name the folder: --mirror or DIVBENCH_MIRROR")
    found: list[ResponseSet] = []
    for dataset, splits, prompt in RELEASED[name]:
        for split in splits:
            rows: list[dict[str, Any]] = load_split(dataset, split, mirror=mirror).to_list()
            found += [ResponseSet(row[prompt], tuple(row["responses"])) for row in rows]
    if sets is not None and sets < len(found):
        found = [found[i] for i in np.linspace(0, len(found), sets, endpoint=False).astype(int).tolist()]
    if name == "mcdiv":
        return Work("McDiv, conTest and nuggets: n = 5, completion", found, PAPER_COMPLETION, 50)
    return Work("OLMo, length-matched: n = 10, instruct", found, PAPER_INSTRUCT, 25)
