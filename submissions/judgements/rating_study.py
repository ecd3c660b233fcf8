"""Plan a rating study: its items and their assignment to raters, in a file that raters must not see."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError

from divbench.core.errors import ConfigurationError, InputError, first_fault
from divbench.core.files import content_id, readable_json, write_text
from submissions.choices import FormName
from submissions.judgements.rating_forms import FORM_OF, Item, RatedSet, built_in_items, rating_items

STUDY_FILE = "study.json"
CHECK_SHARE = 10  # ratings to one attention check
FEWEST_CHECKS = 2
MAX_RATERS = 10_000
MAX_STUDY_BYTES = 2**28


@dataclass(frozen=True, slots=True)
class Study:
    """A study."""

    study: str  # id, a hash of the fields below
    form: FormName
    seed: int
    raters_per_item: int
    sets: tuple[RatedSet, ...]
    items: tuple[Item, ...]  # all items: ratings, then training, then checks
    # Items of each rater in order: training first, then ratings with checks among them.
    assignment: tuple[tuple[str, ...], ...]

    def by_id(self) -> dict[str, Item]:
        """The items by their ids."""
        return {each.item: each for each in self.items}


_STUDY = TypeAdapter(Study)


def make_study(form: FormName, sets: Sequence[RatedSet], *, raters_per_item: int, per_rater: int, seed: int) -> Study:
    """Plan a study.

    Args:
        raters_per_item: Number of different people who rate each item.
        per_rater: Maximum number of ratings per rater, without training and checks.

    Raises:
        ConfigurationError: There is nothing to rate, or it takes too many raters.
    """
    ratings = rating_items(form, sets, seed)
    training, checks = built_in_items(form, seed)
    rng = np.random.default_rng([seed, 2])
    rows = []
    for rater, chosen in enumerate(assign(len(ratings), raters_per_item, per_rater, seed)):
        number = min(len(checks), max(FEWEST_CHECKS, round(len(chosen) / CHECK_SHARE)))
        order = [ratings[i].item for i in chosen]
        # Checks are anywhere but first; each rater starts at another place in their list.
        for step in range(number):
            place = 1 + int(rng.integers(len(order)))
            order.insert(place, checks[(rater + step * 3) % len(checks)].item)
        rows.append((*(each.item for each in training), *order))
    items = (*ratings, *training, *checks)
    content = [form, seed, raters_per_item, [asdict(each) for each in sets], [asdict(each) for each in items], rows]
    return Study(content_id(content), form, seed, raters_per_item, tuple(sets), items, tuple(rows))


def assign(items: int, raters_per_item: int, per_rater: int, seed: int) -> list[list[int]]:
    """Assign each item to `raters_per_item` raters, once to a rater, with loads that differ by at most 1.

    Each rater in turn takes the items that still need most raters, ties broken at random. If a valid assignment exists,
    this order finds one (Gale 1957; Ryser 1957).

    Returns:
        Indices of each rater's items, in random order.

    Raises:
        ConfigurationError: It takes more than `MAX_RATERS` raters.
    """
    total = items * raters_per_item
    raters = max(raters_per_item, -(-total // per_rater))
    if raters > MAX_RATERS:
        raise ConfigurationError(
            f"{total:,} ratings take {raters:,} raters", "ask each for more (--per-rater), or rate fewer sets (--sets)"
        )
    rng = np.random.default_rng([seed, 3])
    needed = np.full(items, raters_per_item)
    made = []
    for rater in range(raters):
        load = total // raters + (rater < total % raters)
        shuffled = rng.permutation(items)
        chosen = shuffled[np.argsort(-needed[shuffled], kind="stable")[:load]]
        needed[chosen] -= 1
        made.append(rng.permutation(chosen).tolist())
    return made


def write_study(study: Study, folder: Path) -> None:
    """Write the researcher's file."""
    write_text(folder / STUDY_FILE, readable_json(_STUDY.dump_python(study, mode="json")))


def read_study(folder: Path) -> Study:
    """Read the researcher's file of a study.

    Raises:
        ConfigurationError: The file does not exist.
        InputError: It is damaged.
    """
    path = folder / STUDY_FILE
    if not path.is_file():
        raise ConfigurationError(f"there is no study in {folder}", "make one: divbench people forms --help")
    try:
        if path.stat().st_size > MAX_STUDY_BYTES:
            raise ValueError(f"over {MAX_STUDY_BYTES:,} bytes")
        return _STUDY.validate_json(path.read_bytes())
    except ValueError as error:
        said = first_fault(error) if isinstance(error, ValidationError) else error
        hint = "restore the file, or make the study again with the same options and seed"
        raise InputError(f"{path} is not a study: {said}", hint) from error


def shown_to(study: Study, rater: int) -> dict[str, Any]:
    """Return the data of one rater's form, in which checks look like ratings.

    Args:
        rater: Number of the rater, from 0.
    """
    form, items = FORM_OF[study.form], study.by_id()
    return {
        "study": study.study,
        "form": rater + 1,
        "instructions": form.instructions,
        "questions": [asdict(each) for each in form.questions],
        "headings": form.panels,
        "items": [_shown(items[name]) for name in study.assignment[rater]],
    }


def _shown(item: Item) -> Mapping[str, Any]:
    shown: dict[str, Any] = {"item": item.item, "context": item.context, "panels": item.panels}
    return shown | ({"expected": item.expected, "why": item.why} if item.kind == "training" else {})
