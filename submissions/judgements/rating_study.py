"""Plans rating studies and writes their pages: the four forms of Tevet & Berant (2021, section 6.2 and appendix A).

The questions and instructions are in our own words. An *item* is one screen: a context, one or two panels of texts, and
the form's questions. Training items come first and explain the answer; checks have a known answer that raters do not
see.
"""

import base64
import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from pydantic import TypeAdapter, ValidationError

from divbench.core.errors import ConfigurationError, InputError, first_fault
from divbench.core.files import content_id, readable_json, write_text
from submissions.choices import FormName

FORMS: tuple[FormName, ...] = get_args(FormName)
Kind = Literal["rating", "check", "training"]
Span = tuple[int, int]
Panels = tuple[tuple[str, ...], ...]
TRAINING = 2  # number of built-in examples for training; the others are checks
SHOWN = 5  # responses in a built-in set
STUDY_FILE = "study.json"
CHECK_SHARE = 10  # ratings to one attention check
FEWEST_CHECKS = 2
MAX_RATERS = 10_000
_FOLDER = files("submissions.judgements")
_EXAMPLES: list[dict[str, Any]] = tomllib.loads(_FOLDER.joinpath("rating_examples.toml").read_text("utf-8"))["example"]
_LOW, _HIGH = (1, 2), (4, 5)
_WHY = {
    "repeated": "All responses are the same text.",
    "different": "No two responses have an idea in common.",
    "reworded": "All responses have the same idea, in different words.",
    "": "One set repeats a single text; in the other, no two responses have an idea in common.",
}


@dataclass(frozen=True, slots=True)
class Question:
    """A question with answers from 1 up."""

    name: str
    text: str
    answers: tuple[str, ...]  # what each answer means, from 1


@dataclass(frozen=True, slots=True)
class Form:
    """A rating form."""

    instructions: tuple[str, ...]  # paragraphs before the first item
    questions: tuple[Question, ...]
    panels: tuple[str, ...]  # headings


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
    kind: Kind
    context: str
    panels: Panels
    sets: tuple[str, ...] = ()  # ids of the rated sets: one, or two for *ranking*; empty for other kinds
    expected: Mapping[str, Span] | None = None  # lowest and highest correct answer by question, for checks and training
    why: str = ""  # reason for the expected answer, for training


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
        return {item.item: item for item in self.items}


_STUDY = TypeAdapter(Study)


def _forms() -> dict[FormName, Form]:
    known = tomllib.loads(_FOLDER.joinpath("rating_forms.toml").read_text("utf-8"))
    questions = {name: Question(name, row["text"], tuple(row["answers"])) for name, row in known["questions"].items()}
    return {
        name: Form(
            tuple(known["forms"][name]["instructions"]),
            tuple(questions[question] for question in known["forms"][name]["questions"]),
            tuple(known["forms"][name]["panels"]),
        )
        for name in FORMS
    }


FORM_OF: Mapping[FormName, Form] = _forms()


def make_study(
    form: FormName, sets: Sequence[RatedSet], *, raters_per_item: int, per_rater: int, seed: int = 0
) -> Study:
    """Plan a study: each item for so many different raters, each of whom gives at most `per_rater` ratings."""
    ratings = _rating_items(form, sets, seed)
    training, checks = _built_in_items(form, seed)
    rng = np.random.default_rng([seed, 2])
    rows = []
    for rater, chosen in enumerate(assign(len(ratings), raters_per_item, per_rater, seed)):
        number = min(len(checks), max(FEWEST_CHECKS, round(len(chosen) / CHECK_SHARE)))
        order = [ratings[i].item for i in chosen]
        # Checks are anywhere but first; each rater starts at another place in their list.
        for step in range(number):
            order.insert(1 + int(rng.integers(len(order))), checks[(rater + step * 3) % len(checks)].item)
        rows.append((*(item.item for item in training), *order))
    items = (*ratings, *training, *checks)
    content = [form, seed, raters_per_item, [asdict(rated) for rated in sets], [asdict(item) for item in items], rows]
    return Study(content_id(content), form, seed, raters_per_item, tuple(sets), items, tuple(rows))


def _rating_items(form: FormName, sets: Sequence[RatedSet], seed: int) -> list[Item]:
    """Make the rating items of a form: one per set, per pair of a set's responses, or per pair of sets."""
    rng = np.random.default_rng([seed, FORMS.index(form)])
    items: list[Item] = []
    for context, panels, names in _screens(form, sets, rng):
        items.append(Item(_item_id([form, seed, len(items), names, panels]), "rating", context, panels, names))
    if not items:
        hints = {"similarity": "give sets of two or more responses", "ranking": "give two or more sets of one prompt"}
        raise ConfigurationError(
            f"there is nothing to rate with the form {form}", hints.get(form, "give at least one set")
        )
    return items


def _screens(
    form: FormName, sets: Sequence[RatedSet], rng: np.random.Generator
) -> Iterator[tuple[str, Panels, tuple[str, ...]]]:
    """Yield context, panels and set ids of each item."""
    if form == "ranking":
        by_context: dict[str, list[RatedSet]] = {}
        for rated in sets:
            by_context.setdefault(rated.context, []).append(rated)
        for context, group in by_context.items():
            for pair in combinations(group, 2):
                first, second = (pair[i] for i in rng.permutation(2).tolist())
                panels = (_shuffled(first.responses, rng), _shuffled(second.responses, rng))
                yield context, panels, (first.set_id, second.set_id)
        return
    for rated in sets:
        if form == "similarity":
            for texts in combinations(rated.responses, 2):
                one, other = _shuffled(texts, rng)
                yield rated.context, ((one,), (other,)), (rated.set_id,)
        else:
            yield rated.context, (_shuffled(rated.responses, rng),), (rated.set_id,)


def _built_in_items(form: FormName, seed: int) -> tuple[list[Item], list[Item]]:
    """Make training items and attention checks of a form, from built-in sets with unambiguous answers."""
    rng = np.random.default_rng([seed, FORMS.index(form), 1])
    both = ("",) if form == "ranking" else ("repeated", "different")  # a ranking shows both at once
    shown = [(0, "")] if form == "ranking" else [(0, "different"), (1, "reworded")]
    training = [_built_in(form, "training", _EXAMPLES[i], name, rng) for i, name in shown]
    checks = [_built_in(form, "check", example, name, rng) for example in _EXAMPLES[TRAINING:] for name in both]
    return training, checks


def _built_in(form: FormName, kind: Kind, example: Mapping[str, Any], name: str, rng: np.random.Generator) -> Item:
    different, repeated = tuple(example["different"][:SHOWN]), (example["different"][0],) * SHOWN
    texts = {"different": different, "reworded": tuple(example["reworded"][:SHOWN])}.get(name, repeated)
    panels: Panels
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
    item = _item_id([form, kind, example["context"], name, panels])
    why = _WHY[name] if kind == "training" else ""
    return Item(item, kind, example["context"], panels, expected=expected, why=why)


def _item_id(content: object) -> str:
    """Return an id that no spreadsheet takes for a number, such as 368052211082 or 12e345678901, and rewrites."""
    name = content_id(content)[:12]
    return name if re.search("[a-df]", name) else _item_id([content])


def _shuffled(texts: Sequence[str], rng: np.random.Generator) -> tuple[str, ...]:
    return tuple(texts[i] for i in rng.permutation(len(texts)).tolist())


def assign(items: int, raters_per_item: int, per_rater: int, seed: int) -> list[list[int]]:
    """Return the items of each rater: each item for `raters_per_item` raters, with loads that differ by at most 1.

    Each rater in turn takes the items that still need most raters, ties broken at random. If a valid assignment exists,
    this order finds one (Gale 1957; Ryser 1957).
    """
    total = items * raters_per_item
    raters = max(raters_per_item, -(-total // per_rater))
    if raters > MAX_RATERS:
        raise ConfigurationError(
            f"{total:,} ratings take {raters:,} raters", "ask each for more (--per-rater), or rate fewer sets (--sets)"
        )
    rng = np.random.default_rng([seed, 3])
    needed = np.full(items, raters_per_item)
    assignment = []
    for rater in range(raters):
        load = total // raters + (rater < total % raters)
        shuffled = rng.permutation(items)
        chosen = shuffled[np.argsort(-needed[shuffled], kind="stable")[:load]]
        needed[chosen] -= 1
        assignment.append(rng.permutation(chosen).tolist())
    return assignment


def write_study(study: Study, folder: Path) -> None:
    """Write the researcher's file, which raters must not see, and the page of each rater: forms/rater-001.html, …"""
    write_text(folder / STUDY_FILE, readable_json(_STUDY.dump_python(study, mode="json")))
    (folder / "forms").mkdir()
    width = max(3, len(str(len(study.assignment))))
    for rater in range(len(study.assignment)):
        write_text(folder / "forms" / f"rater-{rater + 1:0{width}}.html", page(study, rater))


def read_study(folder: Path) -> Study:
    """Read the researcher's file of a study."""
    path = folder / STUDY_FILE
    if not path.is_file():
        raise ConfigurationError(f"there is no study in {folder}", "make one: divbench people forms --help")
    try:
        return _STUDY.validate_json(path.read_bytes())
    except ValidationError as error:
        hint = "restore the file, or make the study again with the same options"
        raise InputError(f"{path} is not a study: {first_fault(error)}", hint) from error


def page(study: Study, rater: int) -> str:
    """Return the form of a rater, numbered from 0: one page that needs neither a network nor a server.

    Its untrusted texts are embedded as JSON, which the browser does not execute, and are shown as text nodes; its
    content security policy allows only its own script.
    """
    form, items = FORM_OF[study.form], study.by_id()
    shown = {
        "study": study.study,
        "form": rater + 1,
        "instructions": form.instructions,
        "questions": [asdict(question) for question in form.questions],
        "headings": form.panels,
        "items": [_shown(items[name]) for name in study.assignment[rater]],
    }
    style, script = (_FOLDER.joinpath("assets", name).read_text("utf-8") for name in ("form.css", "form.js"))
    policy = (
        f"default-src 'none'; base-uri 'none'; form-action 'none'; style-src {_hash(style)}; script-src {_hash(script)}"
    )
    # It can contain neither "</script" nor "<!--", nor the line separators of JavaScript.
    data = json.dumps(shown, ensure_ascii=True).replace("<", "\\u003c").replace("&", "\\u0026")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>Rating responses</title>\n<style>{style}</style>\n</head>\n<body>\n<main></main>\n"
        "<noscript>This form needs JavaScript.</noscript>\n"
        f'<script type="application/json" id="data">{data}</script>\n<script>{script}</script>\n</body>\n</html>\n'
    )


def _shown(item: Item) -> dict[str, Any]:
    """Return what a rater sees of an item; checks look like ratings."""
    shown: dict[str, Any] = {"item": item.item, "context": item.context, "panels": item.panels}
    return shown | ({"expected": item.expected, "why": item.why} if item.kind == "training" else {})


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
