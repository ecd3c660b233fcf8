"""Read the response set to explain from a dataset, a submission, or a JSON file."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from benchmark.models.choices import Format
from benchmark.surprisal.engine import ResponseSet
from divbench.core.errors import ConfigurationError, InputError
from submissions.checking.response_kinds import scorable_responses
from submissions.untrusted.json_files import strict_model

MAX_BYTES = 1 << 20
MAX_RESPONSES = 200
_COMPLETIONS = "tevet"  # the source whose contexts are beginnings that the responses continue
_SHAPE = 'write {"prompt": "...", "responses": ["...", "..."]}'


class _Given(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    prompt: str
    responses: Annotated[list[str], Field(max_length=MAX_RESPONSES)]


@dataclass(frozen=True, slots=True)
class Found:
    """A response set to explain."""

    title: str
    given: ResponseSet  # its responses, without blank ones and placeholders, as when scored
    left_out: int  # number of blank responses and placeholders
    format: Format  # default prompt format for such sets


def from_dataset(name: str, split: str | None, set_id: str | None, mirror: Path | None = None) -> Found:
    """Read a set of a dataset that has sets.

    Raises:
        ConfigurationError: No such config, split or set, or a config without sets; or as in `load_table`.
        InputError: A file is invalid.
    """
    from datasets_build.load import load_table
    from datasets_build.sources import find_config

    source, config = find_config(name)
    columns = set(config.schema.names)
    prompt = next((column for column in ("context", "prompt") if column in columns), None)
    if prompt is None or not {"set_id", "responses"} <= columns:
        raise ConfigurationError(f"{name} has no response sets", f"one of {', '.join(_with_sets())}")
    if split is None:
        splits = ", ".join(each.name for each in config.splits)
        raise ConfigurationError("no split is named", f"name one of {name} with --split: {splits}")
    table = load_table(name, split, mirror=mirror).select(["set_id", prompt, "responses"])
    ids = [str(each) for each in table["set_id"].to_pylist()]
    if set_id is None or set_id not in ids:
        what = "no set is named" if set_id is None else f"{name}/{split} has no set {set_id!r}"
        raise ConfigurationError(what, f"name one with --set-id, such as {', '.join(ids[:3])}")
    (row,) = table.slice(ids.index(set_id), 1).to_pylist()
    form: Format = "completion" if source.name == _COMPLETIONS else "instruct"
    return _found(f"{name}/{split}, set {set_id}", str(row[prompt]), row["responses"], form)


def from_submission(folder: Path, prompt_id: str | None, mirror: Path | None = None) -> Found:
    """Read the responses of a submission to one prompt.

    Raises:
        Rejected: The submission does not pass its checks.
        ConfigurationError: The folder does not exist, or has no such prompt.
    """
    from datasets_build.load import load_suite
    from submissions.checking.validate import open_submission

    submission, suite, _ = open_submission(folder, partial(load_suite, mirror=mirror))
    ids = []
    for row in submission.rows():
        if row.prompt_id == prompt_id:
            asked = suite.by_id[row.prompt_id].prompt
            return _found(f"{submission.manifest.name}, prompt {prompt_id}", asked, row.responses, "instruct")
        ids.append(row.prompt_id)
    what = "no prompt is named" if prompt_id is None else f"{folder} has no prompt {prompt_id!r}"
    raise ConfigurationError(what, f"name one with --prompt, such as {', '.join(ids[:3])}")


def from_json(path: Path) -> Found:
    """Read a set from a JSON file, or from stdin if the path is `-`.

    Raises:
        InputError: It is not a JSON object with a prompt and responses, or is too large; the message names the field.
        ConfigurationError: The file does not exist.
    """
    name, content = "stdin" if str(path) == "-" else path.name, _bytes_of(path)
    if len(content) > MAX_BYTES:
        raise InputError(f"{name}: more than {MAX_BYTES:,} bytes", f"at most {MAX_BYTES:,} are allowed")
    try:
        given = strict_model(content.removeprefix(b"\xef\xbb\xbf"), _Given.model_validate_json)
    except ValueError as error:
        raise InputError(f"{name}: {error}", _SHAPE) from error
    return _found(name, given.prompt, given.responses, "instruct")


def _bytes_of(path: Path) -> bytes:
    if str(path) == "-":
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    if not path.is_file():
        raise ConfigurationError(f"there is no file {path}", "give a JSON file, the folder of a submission, or -")
    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)


def _found(title: str, prompt: str, responses: Sequence[str], form: Format) -> Found:
    scorable = scorable_responses(responses)
    return Found(title, ResponseSet(prompt, scorable), len(responses) - len(scorable), form)


def _with_sets() -> list[str]:
    from datasets_build.sources import DATASETS

    configs = (config for source in DATASETS for config in source.configs)
    return [config.name for config in configs if {"set_id", "responses"} <= set(config.schema.names)]
