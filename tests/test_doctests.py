"""The examples in docstrings are right: one test runs them all, so that no other has to look for them."""

import doctest
from importlib import import_module

from tests.test_architecture import MODULES, ROOT

WITH_EXAMPLES = [path for path in MODULES if ">>>" in path.read_text(encoding="utf-8")]


def test_the_examples_in_docstrings_are_right() -> None:
    tried, wrong = 0, []
    for path in WITH_EXAMPLES:
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        failed, attempted = doctest.testmod(import_module(name))  # it prints what failed
        tried += attempted
        wrong += [name] if failed else []
    assert wrong == []
    assert tried > len(WITH_EXAMPLES)
