"""Choices shared by command-line options and records, and `--about KEY=VALUE`. This module imports nothing heavy."""

from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta, timezone
from typing import Any, Literal

from divbench.core.errors import ConfigurationError, did_you_mean

# A *model* follows instructions; a *base model* only continues texts.
SystemType = Literal["human", "model", "base model", "inference-time method", "trained method", "baseline"]
Mode = Literal["resample", "paraphrase", "system-prompt", "in-context", "verbalized", "verbalized-tail"]
FormName = Literal["absolute", "aspects", "similarity", "ranking"]  # rating forms
# Formats of imported files; files of *lm-eval* and *openai-batch* are told by their fields.
Format = Literal["noveltybench", "jsonl", "json", "csv", "parquet", "xlsx", "lm-eval", "openai-batch", "inspect"]


def _boolean(text: str) -> bool:
    return {"true": True, "false": False}[text.lower()]


def _past_date(text: str) -> date:
    day = date.fromisoformat(text)
    if day > datetime.now(timezone(timedelta(hours=14))).date():  # the latest date anywhere on Earth
        raise ConfigurationError(f"date {day} is in the future", "give the day on which the responses were generated")
    return day


# Facts that `--about` can state: part and field of the manifest, and how the value is read.
ABOUT: dict[str, tuple[str, str, Callable[[str], Any]]] = {
    "type": ("system", "type", str),
    "model_id": ("system", "model_id", str),
    "revision": ("system", "revision", str),
    "parameters": ("system", "parameters", int),
    "open_weights": ("system", "open_weights", _boolean),
    "licence": ("system", "licence", str),
    "top_k": ("generation", "top_k", int),
    "top_p": ("generation", "top_p", float),
    "max_tokens": ("generation", "max_tokens", int),
    "seed": ("generation", "seed", int),
    "date": ("submitter", "date", _past_date),
    "contact": ("submitter", "contact", str),
    "link": ("submitter", "links", str),
    "notes": ("", "notes", str),
    "reported_by": ("", "reported", str),
}
ABOUT_HELP = f"Fact about the system, as KEY=VALUE; may be repeated. Keys: {', '.join(ABOUT)}."
_EXPECTED = {int: "a whole number", float: "a number", _boolean: "true or false", _past_date: "a date as 2026-01-31"}


def manifest_fields(facts: Sequence[str]) -> dict[str, Any]:
    """Return the fields of a manifest that `--about KEY=VALUE` states, by part; *reported* is that of its origin."""
    fields: dict[str, Any] = {"system": {}, "generation": {}, "submitter": {}}
    for fact in facts:
        key, _, text = fact.partition("=")
        if key not in ABOUT:
            raise ConfigurationError(f"--about has no key {key!r}", did_you_mean(key, ABOUT))
        part, field, read = ABOUT[key]
        try:
            value = read(text)
        except (ValueError, KeyError) as error:
            raise ConfigurationError(f"--about {fact}: expected {_EXPECTED[read]}", "give it as KEY=VALUE") from error
        target = fields[part] if part else fields
        if key == "link":
            value = (*target.get(field, ()), value)
        elif field in target:
            raise ConfigurationError(f"--about {key} is given twice", "leave one out")
        target[field] = value
    return fields
