"""Reading results: a folder of result folders, each checked against its own manifest, `result.json`."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from benchmark.scoring.result_schema import Result
from datasets_build.files import sha256_of
from submissions.untrusted.untrusted_files import strict_json

RESULT_FILE = "result.json"
PER_PROMPT_FILE = "per_prompt.parquet"
MAX_RESULT_BYTES = 4 * 2**20


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A folder that is no whole result."""

    folder: Path
    reason: str


def read_result(folder: Path) -> Result | Unreadable:
    """The result in a folder, if its files are whole and fit together."""
    path = folder / RESULT_FILE
    try:
        if path.stat().st_size > MAX_RESULT_BYTES:
            return Unreadable(folder, f"{RESULT_FILE} has more than {MAX_RESULT_BYTES:,} bytes")
        text = path.read_bytes().decode("utf-8")
        strict_json(text)
        result = Result.model_validate_json(text)
        if sha256_of(folder / PER_PROMPT_FILE) != result.per_prompt_sha256:
            return Unreadable(folder, f"{PER_PROMPT_FILE} is not the one that {RESULT_FILE} names")
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        return Unreadable(folder, f"{RESULT_FILE}: {'.'.join(map(str, first['loc']))}: {first['msg']}")
    except (OSError, ValueError, RecursionError) as error:
        return Unreadable(folder, str(error))
    return result


def read_results(folder: Path) -> Iterator[tuple[Path, Result | Unreadable]]:
    """Every result folder in a folder of results, by name. Hidden ones are runs that have not finished."""
    if not folder.is_dir():
        return
    for each in sorted(folder.iterdir()):
        if each.is_dir() and not each.name.startswith("."):
            yield each, read_result(each)
