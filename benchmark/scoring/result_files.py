"""Reads a result folder and checks it against its manifest, `result.json`."""

import json
from pathlib import Path

from pydantic import ValidationError

from benchmark.metrics.metric import Missing
from benchmark.scoring.result_schema import Result, from_version_1
from divbench.core.errors import InputError
from divbench.core.files import sha256_of
from submissions.untrusted.json_files import strict_json

RESULT_FILE = "result.json"
PER_PROMPT_FILE = "per_prompt.parquet"
MAX_RESULT_BYTES = 4 * 2**20


def require_result(folder: Path) -> Result:
    """Read the result in a folder.

    Raises:
        InputError: Its files are damaged or inconsistent.
    """
    if not (folder / RESULT_FILE).is_file():
        hint = "give a folder that divbench score wrote, such as results/0123456789abcdef"
        raise InputError(f"there is no result in {folder}", hint)
    result = read_result(folder)
    if isinstance(result, Missing):
        raise InputError(f"{folder} is not a complete result: {result.reason}", "score the submission again")
    return result


def read_result(folder: Path) -> Result | Missing:
    """Read the result in a folder; return `Missing` with a reason if its files are damaged or inconsistent."""
    path = folder / RESULT_FILE
    try:
        if path.stat().st_size > MAX_RESULT_BYTES:
            return Missing(f"{RESULT_FILE} has more than {MAX_RESULT_BYTES:,} bytes")
        text = path.read_bytes().decode("utf-8")
        document = strict_json(text)
        if isinstance(document, dict) and document.get("schema_version") == 1:
            text = json.dumps(from_version_1(document))
        result = Result.model_validate_json(text)
        if sha256_of(folder / PER_PROMPT_FILE) != result.per_prompt_sha256:
            return Missing(f"{PER_PROMPT_FILE} is not the one that {RESULT_FILE} names")
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        return Missing(f"{RESULT_FILE}: {'.'.join(map(str, first['loc']))}: {first['msg']}")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        return Missing(str(error))
    return result
