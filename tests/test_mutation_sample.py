"""The choice of mutations depends on no name."""

import ast
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.mutations import FOLDERS, LEAST, Mutation, choose, mutations_of

BEFORE = '''
import json

class Shelf:
    """A shelf."""

    def longest(self, words: list[str], least: int = 2) -> str:
        """The longest word."""
        from benchmark.words import known
        if not words:
            raise ValueError("no words")
        kept = [word for word in words if len(word) >= least and word in known]
        return max(kept, key=len) + self.end
'''
AFTER = """
@final
class Box:
    def biggest(self, things: Sequence[Thing], floor: int = 2) -> Thing:
        if not things:
            raise Empty("the box is empty")
        left = [thing for thing in things if len(thing) >= floor and thing in all_things]
        return max(left, key=len) + self.tail
"""


def keys(source: str, seed: int = 0) -> Sequence[str]:
    return [each.key for each in mutations_of(source, "benchmark/shelf.py", seed)]


def test_renaming_keeps_the_keys() -> None:
    assert keys(AFTER) == keys(BEFORE)
    assert len(set(keys(BEFORE))) == len(keys(BEFORE))


def test_another_seed_and_other_code_have_other_keys() -> None:
    assert not {*keys(BEFORE, seed=1)} & {*keys(BEFORE)}
    assert not {*keys(BEFORE.replace(">=", "<="))} & {*keys(BEFORE)}


@pytest.mark.parametrize(
    ("kind", "after"),
    [
        ("integer", "least: int = 3"),
        ("guard", "if False:"),
        ("not", "if (words):"),
        ("comparison", "(len(word) > least)"),
        ("and", "(len(word) >= least or word in known)"),
        ("plus", "(max(kept, key=len) - self.end)"),
        ("min-max", "min(kept, key=len)"),
        ("return", "return None"),
    ],
)
def test_a_mutation_changes_one_expression(kind: str, after: str) -> None:
    first = next(each for each in mutations_of(BEFORE, "benchmark/shelf.py") if each.kind == kind)
    mutated = first.applied(BEFORE.encode()).decode()
    ast.parse(mutated)
    assert after in mutated
    assert mutated.splitlines()[: first.line - 1] == BEFORE.splitlines()[: first.line - 1]


def test_every_folder_of_the_product_has_its_share() -> None:
    packages = {path.parent.name for path in Path(__file__).parents[1].glob("*/__init__.py")}
    assert {*FOLDERS} == packages - {"tests"}
    sizes = dict(zip(FOLDERS, (200, 500, 2000, 1000, 100), strict=True))
    all_of_them = [Mutation(str(i), name, "", "", "", 1, 0, "", "") for name in FOLDERS for i in range(sizes[name])]
    # 200 × 200 / 3800 is 11, and so on; the largest gives up what the smallest are given
    assert Counter(each.folder for each in choose(all_of_them, 200)) == dict(
        zip(FOLDERS, (LEAST, 26, 71, 53, LEAST), strict=True)
    )
