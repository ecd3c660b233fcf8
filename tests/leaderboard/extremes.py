"""Results at the edges of their schema: each field at its least, at its most, empty, and absent where it may be."""

import json
import math
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from benchmark.scoring.results import RESULT_FILE, Result
from divbench.core.files import content_id

Place = tuple[str | int, ...]
_LETTERS = ("W", "<b>&amp;\"'|", "\u05d0")  # wide; markup; from right to left
_NAMES = {"result_id", "submission_id", "per_prompt_sha256"}  # of files: others would be other files


def extremes_of(schema: Mapping[str, Any]) -> Iterator[Any]:
    """The extreme values that a JSON schema allows; references and constants have none of their own.

    Raises:
        KeyError: A number has no range, a text no length, or an object no maximum number of members.
    """
    for each in schema.get("anyOf", ()):
        yield from extremes_of(each)
    if "enum" in schema:
        yield from schema["enum"]
    elif "const" not in schema and schema.get("type") in _KINDS:
        yield from _KINDS[schema["type"]](schema)


def _texts(schema: Mapping[str, Any]) -> Iterable[Any]:
    if "pattern" in schema or "format" in schema:
        return "0" * schema.get("maxLength", 64), "https://example.org/" + "a" * 480, "9999-12-31"
    return ((letters * schema["maxLength"])[: schema["maxLength"]] for letters in _LETTERS)


def _objects(schema: Mapping[str, Any]) -> Iterable[Any]:
    if "properties" in schema:
        return ()
    value = next(extremes_of(schema["additionalProperties"]))
    return {}, {f"{_LETTERS[1]}{number}": value for number in range(schema["maxProperties"])}


def _edges(schema: Mapping[str, Any], step: int) -> Iterator[Any]:
    for inner, outer, way in (("minimum", "exclusiveMinimum", 1), ("maximum", "exclusiveMaximum", -1)):
        if inner in schema:
            yield schema[inner]
        else:
            edge = schema[outer]
            yield edge + way * step if step else math.nextafter(edge, way * math.inf)


_KINDS: Mapping[str, Callable[[Mapping[str, Any]], Iterable[Any]]] = {
    "null": lambda _: (None,),
    "boolean": lambda _: (False, True),
    "integer": lambda schema: _edges(schema, 1),
    "number": lambda schema: _edges(schema, 0),
    "string": _texts,
    "array": lambda _: ([],),
    "object": _objects,
}


def places_of(value: Any, schema: Mapping[str, Any], known: Mapping[str, Any]) -> Iterator[tuple[Place, Any]]:
    """Every place of a document with each extreme value there; of a list its first element stands for all."""
    if "$ref" in schema:
        schema = known[schema["$ref"].rpartition("/")[2]]
    for each in extremes_of(schema):
        yield (), each
    for option in schema.get("anyOf", ()):
        if "$ref" in option:
            yield from places_of(value, option, known)
    for name, inner in schema.get("properties", {}).items():
        if name not in _NAMES and isinstance(value, dict):
            for place, each in places_of(value.get(name), inner, known):
                yield (name, *place), each
    if schema.get("type") == "array" and isinstance(value, list) and value and "items" in schema:
        for place, each in places_of(value[0], schema["items"], known):
            yield (0, *place), each


def changed(document: Any, place: Place, value: Any) -> Any:
    """A copy of a document with another value at a place; objects on the way there are made."""
    if not place:
        return value
    copy: Any = list(document) if isinstance(place[0], int) else dict(document or {})
    copy[place[0]] = changed(copy[0] if isinstance(place[0], int) else copy.get(place[0]), place[1:], value)
    return copy


def extreme_results(given: Path, out: Path, step: int = 1) -> list[Place]:
    """A result for every extreme that the schema takes, beside each other in a folder; the places of them.

    Args:
        given: Folder of a result.
        out: Folder to fill.
        step: Only every so many of them.
    """
    document = json.loads((given / RESULT_FILE).read_bytes())
    schema = Result.model_json_schema()
    schema["$defs"]["ModelRun"] = {}  # its ranges are in no schema
    made: list[Place] = []
    for place, value in list(places_of(document, schema, schema["$defs"]))[::step]:
        name = f"{len(made)} {'.'.join(map(str, place))}"[:100]
        own = {"result_id": content_id(name), "submission_id": content_id([name])}
        tried = changed(document, ("manifest", "name"), name) | own
        tried = changed(tried, place, value)
        try:
            Result.model_validate_json(json.dumps(tried))
        except ValidationError:
            continue  # such as a text that is empty after all: other rules than those of the schema
        shutil.copytree(given, out / f"{len(made)}")
        (out / f"{len(made)}" / RESULT_FILE).write_text(json.dumps(tried), encoding="utf-8")
        made.append(place)
    return made
