"""Reported values that contradict the generations or themselves, or are no values."""

import math
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from submissions.schema import REPORTED
from tests.conftest import TOY
from tests.submissions.attack import Attack, Json, Make, R, both
from tests.submissions.attacks_on_answers import second

# The file's schema, but that nothing must be there.
LOOSE = pa.schema([pa.field(field.name, field.type) for field in REPORTED])
RIGHT: Json = {"partition": [0, 1, 1], "generation_scores": [7.0, 3.0, 0.0], "distinct": 2, "utility": 2.5}


def reported(*more: Json, schema: pa.Schema = LOOSE, **second: Any) -> Make:
    """Two classes a prompt; the second row's values are changed, and more rows added."""

    def make(folder: Path, rng: Random) -> None:
        rows = [{"prompt_id": p.prompt_id} | RIGHT | (second if i == 1 else {}) for i, p in enumerate(TOY.prompts)]
        pq.write_table(pa.Table.from_pylist([*rows, *(RIGHT | row for row in more)], schema=schema), folder / R)

    return make


def wrong(name: str, make: Make, field: str, says: str, row: int = 2) -> Attack:
    return Attack(f"reported-{name}", make, (("reported", R, row, field),), says)


def of_shape(name: str, make: Make, field: str, says: str) -> Attack:
    return Attack(f"reported-{name}", make, (("schema", R, None, field),), says)


def retyped(name: str, kind: pa.DataType) -> pa.Schema:
    return REPORTED.set(REPORTED.get_field_index(name), pa.field(name, kind))


def labels(count: int) -> Make:
    """As many labels of the first prompt, all alike: some kilobytes."""

    def make(folder: Path, rng: Random) -> None:
        ends = pa.array([0, count, *(count + 3 * i for i in range(1, 4))], pa.int32())
        partition = pa.ListArray.from_arrays(ends, pa.array(np.zeros(count + 9, np.int32)))
        rows = [{"prompt_id": p.prompt_id} | RIGHT for p in TOY.prompts]
        table = pa.Table.from_pylist(rows, schema=LOOSE)
        pq.write_table(table.set_column(1, "partition", partition), folder / R, compression="zstd")

    return make


WRONG = (
    wrong("labels-too-few", reported(partition=[0, 1]), "partition", "2 labels for 3 responses"),
    wrong("labels-too-many", reported(partition=[0] * 100_000), "partition", "100,000 labels for 3 responses"),
    wrong("labels-out-of-order", reported(partition=[1, 0, 0]), "partition", "labels [1, 0, 0]"),
    wrong("labels-with-a-gap", reported(partition=[0, 5, 5]), "partition", "labels [0, 5, 5]"),
    wrong("negative-labels", reported(partition=[0, -1, -1]), "partition", "labels [0, -1"),
    wrong("another-distinct", reported(distinct=3), "distinct", "distinct is 3, but the partition has 2 classes"),
    wrong("a-negative-distinct", reported(distinct=-(2**31)), "distinct", "but the partition has 2"),
    wrong("a-utility-that-is-no-number", reported(utility=math.nan), "utility", "nan is not between 0 and 10"),
    wrong("an-endless-utility", reported(utility=math.inf), "utility", "inf is not between 0 and 10"),
    wrong("a-utility-too-high", reported(utility=10.1), "utility", "10.1 is not between 0 and 10"),
    wrong("a-score-that-is-no-number", reported(generation_scores=[math.nan, 3.0, 0.0]), "generation_scores[0]", "nan"),
    wrong("an-endless-score", reported(generation_scores=[-math.inf, 3.0, 0.0]), "generation_scores[0]", "-inf"),
    wrong("a-score-too-high", reported(generation_scores=[11.0, 3.0, 0.0]), "generation_scores[0]", "11.0"),
    wrong("a-score-for-who-is-not-first", reported(generation_scores=[7.0, 3.0, 5.0]), "generation_scores[2]", "5.0"),
    wrong("scores-too-few", reported(generation_scores=[7.0]), "generation_scores", "1 score for 3 responses"),
    wrong("a-null-label", reported(partition=[0, None, 1]), "partition", "null where a value is required"),
    wrong("a-null-score", reported(generation_scores=[None, 3.0, 0.0]), "generation_scores", "null where a value"),
    wrong("a-null-id", reported(prompt_id=None), "prompt_id", "null where a value is required"),
    wrong("an-unknown-prompt", reported(prompt_id="toy-9"), "prompt_id", "'toy-9' has no responses"),
    wrong("an-id-of-escapes", reported(prompt_id="\x1b[2J"), "prompt_id", r"\x1b[2J"),
    wrong("a-prompt-twice", reported({"prompt_id": "toy-0"}), "prompt_id", "is repeated", row=5),
)
SHAPES = (
    of_shape("64-bit-labels", reported(schema=retyped("partition", pa.list_(pa.int64()))), "partition", "int64"),
    of_shape(
        "64-bit-distinct", reported(schema=retyped("distinct", pa.int64())), "distinct", "type int64, expected int32"
    ),
    of_shape("32-bit-utility", reported(schema=retyped("utility", pa.float32())), "utility", "type float"),
)
BOMBS = (
    Attack(
        "reported-labels-by-the-million", labels(4 * 10**6), (("sizes", R, 1, ""),), "a row of more than 33,554,432"
    ),
    Attack(
        "reported-labels-by-ten-millions",
        labels(10**7),
        (("sizes", "reported.parquet", 1, ""),),
        "a row of more than 33,554,432 bytes when decoded",
    ),
)
SHARED = Attack(
    "reported-classes-that-share-a-text",
    both(second(responses=["a", "a", "b"]), reported(partition=[0, 1, 1])),
    (("reported", R, 2, "partition"),),
    "identical responses are in different classes",
    accepted=True,
)
ATTACKS = (*WRONG, *SHAPES, *BOMBS, SHARED)
