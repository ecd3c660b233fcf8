"""*factualqa*: a question with one answer, and a request that many answers fulfil, that one among them."""

import random
from collections.abc import Iterator
from itertools import islice
from typing import Any

from datasets_build.gssbench.banks.arts import ARTS
from datasets_build.gssbench.banks.countries import COUNTRIES
from datasets_build.gssbench.banks.geography import GEOGRAPHY
from datasets_build.gssbench.banks.governments import GOVERNMENTS
from datasets_build.gssbench.banks.history import HISTORY
from datasets_build.gssbench.banks.nature import NATURE
from datasets_build.gssbench.banks.science import SCIENCE
from datasets_build.gssbench.facts import Fact, Template
from datasets_build.gssbench.rng import by_turns, shuffled
from datasets_build.gssbench.rows import pair_row

TEMPLATES: tuple[Template, ...] = (*COUNTRIES, *GOVERNMENTS, *GEOGRAPHY, *SCIENCE, *NATURE, *HISTORY, *ARTS)

PAIRS_IN_ALL = 500


def rows(rng: random.Random) -> Iterator[dict[str, Any]]:
    """500 pairs: every template has its turn until there are enough, so that no large bank crowds out the others.

    Pairs with the same open request are one set: they share its text, and with it whatever a model makes of it.
    """
    decks = [[(template, fact) for fact in shuffled(template.facts(), rng)] for template in TEMPLATES]
    dealt = list(islice(by_turns(decks), PAIRS_IN_ALL))
    sets: dict[str, str] = {}
    number = 0
    for template in TEMPLATES:
        for fact in _of(template, dealt):
            number += 1
            set_id = sets.setdefault(fact.naming, f"factualqa-{len(sets) + 1:03d}")
            pair_id = f"factualqa-{number:04d}"
            yield pair_row(
                pair_id, fact.question, fact.naming, set_id=set_id, relation="one<many", template=template.name
            )


def _of(template: Template, dealt: list[tuple[Template, Fact]]) -> list[Fact]:
    return [fact for owner, fact in dealt if owner is template]
