"""Suites of prompts, and tables of exactly a schema."""

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from divbench.core.errors import InputError
from divbench.core.files import content_id

PROMPTS = pa.schema(
    [
        pa.field("prompt_id", pa.string(), nullable=False),
        pa.field("category", pa.string()),
        pa.field("prompt", pa.string(), nullable=False),
        pa.field("paraphrases", pa.list_(pa.string()), nullable=False),
        pa.field("original_prompt", pa.string()),  # the user's own words, if `prompt` is a rewrite
        pa.field("context_lost", pa.bool_()),  # the rewrite lost what the user had pasted
    ]
)
_NO_VALUE_OF_TYPE = (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError)


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt of a suite."""

    prompt_id: str
    category: str
    prompt: str
    paraphrases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Suite:
    """The prompts that submissions respond to, in a fixed order."""

    name: str  # name in manifests, such as `noveltybench-curated`
    title: str
    # Prompts in the order of all our files and tables.
    prompts: tuple[Prompt, ...] = dataclasses.field(repr=False)  # up to a megabyte at a Python prompt

    @cached_property
    def revision(self) -> str:
        """12 hex digits that change when an id, a text, a category or the order does."""
        return content_id([[p.prompt_id, p.category, p.prompt, list(p.paraphrases)] for p in self.prompts])[:12]

    @cached_property
    def by_id(self) -> dict[str, Prompt]:
        """The prompts by their ids."""
        return {p.prompt_id: p for p in self.prompts}

    @cached_property
    def position(self) -> dict[str, int]:
        """The position of each prompt id in the suite."""
        return {p.prompt_id: i for i, p in enumerate(self.prompts)}


def conform(rows: Iterable[Mapping[str, Any]], schema: pa.Schema, where: str) -> pa.Table:
    """Make a table of exactly this schema.

    `pa.Table.from_pylist` drops misspelt columns, fills missing ones with nulls, and accepts nulls in any field.
    """
    rows = list(rows)
    names = set(schema.names)
    for number, row in enumerate(rows, start=1):
        if set(row) != names:
            missing, unknown = sorted(names - set(row)), sorted(set(row) - names)
            raise InputError(f"{where}, row {number}: missing fields {missing}, unknown fields {unknown}")
        for field in schema:
            _check_kind(row[field.name], field, f"{where}, row {number}, field {field.name}")
    try:
        return pa.Table.from_pylist(rows, schema=schema)
    except _NO_VALUE_OF_TYPE:
        for number, row in enumerate(rows, start=1):
            for field in schema:
                try:
                    pa.array([row[field.name]], field.type)
                except _NO_VALUE_OF_TYPE as error:
                    message = f"{where}, row {number}, field {field.name}: {error}"
                    raise InputError(message, f"expected {field.type}") from error
        raise


def _check_kind(value: Any, field: "pa.Field[Any]", where: str) -> None:
    """Reject values that pyarrow would silently accept: a null in any field, 1.5 as 1, bytes as text."""
    if value is None and not field.nullable:
        raise InputError(f"{where}: null")
    if pa.types.is_integer(field.type) and not (value is None or type(value) is int):
        raise InputError(f"{where}: {value!r}", f"expected {field.type}")
    if pa.types.is_string(field.type) and isinstance(value, bytes):
        raise InputError(f"{where}: bytes", f"expected {field.type}")
