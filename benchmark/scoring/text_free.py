"""Writes results without texts (numbers, classes, lengths, signatures), for users who may not redistribute responses.

In `per_prompt.parquet` the column `response_facts` replaces `prompt` and `responses`. Everything else stays the same,
so code that reads results can read both kinds.
"""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.scoring.result_files import PER_PROMPT_FILE, RESULT_FILE, require_result
from benchmark.scoring.result_schema import Result
from divbench.core.files import atomic_folder, canonical_json, sha256_of
from submissions.checking.response_kinds import is_scorable

TEXTS = ("prompt", "responses")
COLUMN = "response_facts"
FIELD = pa.field(
    COLUMN,
    pa.struct(
        [
            pa.field("bytes", pa.list_(pa.int32())),  # of UTF-8, of each response in the given order
            pa.field("scored", pa.list_(pa.bool_())),  # neither blank nor a placeholder, likewise
        ]
    ),
)


def write_text_free(folder: Path, out: Path) -> Result:
    """Write a result without its texts; the same result gives the same bytes.

    The id is unchanged, because it is the same result.

    Args:
        out: Folder to create; an existing one is replaced.

    Raises:
        InputError: There is no readable result with texts.
    """
    found = require_result(folder)
    table = without_texts(pq.read_table(folder / PER_PROMPT_FILE))
    with atomic_folder(out, replace=True) as made:
        pq.write_table(
            table,
            made / PER_PROMPT_FILE,
            compression="zstd",
            compression_level=19,
            use_dictionary=False,  # statistics would be a fifth of the file, and do not help readers of a hundred rows
            write_statistics=False,
        )
        result = found.model_copy(update={"per_prompt_sha256": sha256_of(made / PER_PROMPT_FILE)})
        (made / RESULT_FILE).write_bytes(canonical_json(result.model_dump(mode="json")) + b"\n")
    return result


def without_texts(table: pa.Table) -> pa.Table:
    """Return a per-prompt table with facts about the responses in place of the texts."""
    lists: Any = table["responses"].to_pylist()
    facts = [
        {"bytes": [len(text.encode()) for text in texts], "scored": [is_scorable(text) for text in texts]}
        for texts in lists
    ]
    at = table.schema.get_field_index(TEXTS[0])
    kept = table.drop_columns(list(TEXTS))
    return kept.add_column(at, FIELD, pa.array(facts, FIELD.type))
