"""Groups contexts that belong together, so that no set is used both for fitting and for reporting.

McDiv contains conTest's sets, McDiv_nuggets is a part of McDiv, and a few contexts differ only in spacing or share a
long response: such contexts form one group in all tasks that contain them.
"""

import hashlib
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmark.analysis.metaeval.labelled import Labelled

Integers = NDArray[np.int64]
LONG = 6  # words; shorter responses, such as "I have no idea", occur in many contexts
_NOT_WORD = re.compile(r"\W+")


def context_groups(tasks: Sequence[Labelled]) -> dict[str, str]:
    """Name the group of each context: contexts are linked by equal words, a set in both, or a long response in both.

    Returns:
        By context, the first of its group in alphabetical order.
    """
    first: dict[tuple[str, str], str] = {}  # what links contexts, by the first context that has it
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while parent[name] != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    for task in tasks:
        for set_id, context, responses in zip(task.set_ids, task.contexts, task.responses, strict=True):
            parent.setdefault(context, context)
            said = [_words(text) for text in responses]
            long = {text for text in said if len(text.split()) >= LONG}
            links = [("context", _words(context)), ("id", set_id), ("set", "\n".join(sorted(said)))]
            for link in [*links, *(("response", text) for text in sorted(long))]:
                one, other = sorted((root(context), root(first.setdefault(link, context))))
                parent[other] = one
    return {context: root(context) for context in parent}


def folds(groups: Sequence[str], count: int, seed: int) -> Integers:
    """Return the fold of each row by its group's name, [rows], 0 … count − 1; it does not depend on other rows."""
    return np.array([int(hashlib.sha256(f"{seed}/{name}".encode()).hexdigest()[:12], 16) % count for name in groups])


def _words(text: str) -> str:
    return _NOT_WORD.sub(" ", text.lower()).strip()
