"""The four rating forms of Tevet & Berant (2021, section 6.2 and appendix A), with training and attention checks.

The questions and instructions are in our own words. An *item* is one screen: a context, one or two panels of texts, and
the form's questions. Training items come first and explain the answer; checks have a known answer that raters do not
see.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import combinations
from typing import Literal, get_args

import numpy as np

from divbench.core.errors import ConfigurationError
from divbench.core.files import content_id
from submissions.choices import FormName

FORMS: tuple[FormName, ...] = get_args(FormName)
Kind = Literal["rating", "check", "training"]
Span = tuple[int, int]
TRAINING = 2  # number of built-in examples for training; the others are checks
SHOWN = 5  # responses in a built-in set


@dataclass(frozen=True, slots=True)
class Question:
    """A question with answers from 1 up."""

    name: str
    text: str
    answers: tuple[str, ...]  # what each answer means, from 1


@dataclass(frozen=True, slots=True)
class Form:
    """A rating form."""

    name: FormName
    instructions: tuple[str, ...]  # paragraphs before the first item
    questions: tuple[Question, ...]
    panels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RatedSet:
    """A response set to be rated."""

    set_id: str
    context: str
    responses: tuple[str, ...]
    label: float | None = None  # known label, greater for more diverse; None if there is none
    label_name: str = ""


@dataclass(frozen=True, slots=True)
class Item:
    """One screen of a form."""

    item: str  # id of 12 hex digits, which does not reveal the kind
    kind: Kind  # *rating*, *check* or *training*
    context: str
    panels: tuple[tuple[str, ...], ...]
    sets: tuple[str, ...] = ()  # ids of the rated sets: one, or two for *ranking*; empty for other kinds
    expected: Mapping[str, Span] | None = None  # lowest and highest correct answer by question, for checks and training
    why: str = ""  # reason for the expected answer, for training


def _forms() -> dict[FormName, Form]:
    known = tomllib.loads(files("submissions.judgements").joinpath("rating_forms.toml").read_text("utf-8"))
    asked = {name: Question(name, each["text"], tuple(each["answers"])) for name, each in known["questions"].items()}
    made = {}
    for name in FORMS:
        form = known["forms"][name]
        questions = tuple(asked[each] for each in form["questions"])
        made[name] = Form(name, tuple(form["instructions"]), questions, tuple(form["panels"]))
    return made


FORM_OF: Mapping[FormName, Form] = _forms()


def rating_items(form: FormName, sets: Sequence[RatedSet], seed: int) -> list[Item]:
    """Make the rating items of a form: one per set, per pair of a set's responses, or per pair of sets.

    Raises:
        ConfigurationError: There is nothing to rate: no set, for *similarity* no set of two responses, for *ranking* no
            two sets with the same context.
    """
    rng = np.random.default_rng([seed, FORMS.index(form)])
    made: list[Item] = []
    for context, panels, about in _asked(form, sets, rng):
        made.append(Item(_item_id([form, seed, len(made), about, panels]), "rating", context, panels, about))
    if not made:
        raise ConfigurationError(
            f"there is nothing to rate with the form {form}",
            {"similarity": "give sets of two or more responses", "ranking": "give two or more sets of one prompt"}.get(
                form, "give at least one set"
            ),
        )
    return made


def _asked(
    form: FormName, sets: Sequence[RatedSet], rng: np.random.Generator
) -> Iterator[tuple[str, tuple[tuple[str, ...], ...], tuple[str, ...]]]:
    """Yield context, panels and set ids of each item."""
    if form == "ranking":
        by_context: dict[str, list[RatedSet]] = {}
        for each in sets:
            by_context.setdefault(each.context, []).append(each)
        for context, group in by_context.items():
            for two in combinations(group, 2):
                first, second = (two[i] for i in rng.permutation(2).tolist())
                panels = (_shuffled(first.responses, rng), _shuffled(second.responses, rng))
                yield context, panels, (first.set_id, second.set_id)
        return
    for each in sets:
        if form == "similarity":
            for pair in combinations(each.responses, 2):
                one, other = _shuffled(pair, rng)
                yield each.context, ((one,), (other,)), (each.set_id,)
        else:
            yield each.context, (_shuffled(each.responses, rng),), (each.set_id,)


def built_in_items(form: FormName, seed: int) -> tuple[list[Item], list[Item]]:
    """Make training items and attention checks of a form, from built-in sets with unambiguous answers."""
    rng = np.random.default_rng([seed, FORMS.index(form), 1])
    examples = _examples()
    both = ("",) if form == "ranking" else ("repeated", "different")  # a ranking shows both at once
    shown = [(examples[0], "different"), (examples[1], "reworded")] if form != "ranking" else [(examples[0], "")]
    training = [_built_in(form, "training", example, name, rng) for example, name in shown]
    checks = [_built_in(form, "check", example, name, rng) for example in examples[TRAINING:] for name in both]
    return training, checks


@dataclass(frozen=True, slots=True)
class _Example:
    context: str
    different: tuple[str, ...]
    reworded: tuple[str, ...]


@cache
def _examples() -> tuple[_Example, ...]:
    text = files("submissions.judgements").joinpath("rating_examples.toml").read_text("utf-8")
    rows = tomllib.loads(text)["example"]
    return tuple(_Example(row["context"], tuple(row["different"]), tuple(row["reworded"])) for row in rows)


_WHY = {
    "repeated": "All responses are the same text.",
    "different": "No two responses have an idea in common.",
    "reworded": "All responses have the same idea, in different words.",
}
_LOW, _HIGH = (1, 2), (4, 5)


def _built_in(form: FormName, kind: Kind, example: _Example, name: str, rng: np.random.Generator) -> Item:
    repeated, different = (example.different[0],) * SHOWN, example.different[:SHOWN]
    texts = {"different": different, "reworded": example.reworded[:SHOWN]}.get(name, repeated)
    why = _WHY.get(name, "One set repeats a single text; in the other, no two responses have an idea in common.")
    panels: tuple[tuple[str, ...], ...]
    expected: dict[str, Span]
    if form == "ranking":
        first = bool(rng.integers(2))
        panels = (different, repeated) if first else (repeated, different)
        expected = {"more_different": (1, 1) if first else (3, 3)}
    elif form == "similarity":
        panels = ((texts[0],), (texts[1],))
        expected = {"similarity": _LOW if name == "different" else _HIGH}
    else:
        panels = (_shuffled(texts, rng),)
        expected = {"content": _HIGH if name == "different" else _LOW}
        if form == "aspects" and name != "different":
            expected["form"] = _LOW if name == "repeated" else _HIGH
    item = _item_id([form, kind, example.context, name, panels])
    return Item(item, kind, example.context, panels, expected=expected, why=why if kind == "training" else "")


def _item_id(content: object) -> str:
    """Return an id that no spreadsheet takes for a number, such as 368052211082 or 12e345678901, and rewrites."""
    name = content_id(content)[:12]
    return name if re.search("[a-df]", name) else _item_id([content])


def _shuffled(texts: Sequence[str], rng: np.random.Generator) -> tuple[str, ...]:
    return tuple(texts[i] for i in rng.permutation(len(texts)).tolist())
