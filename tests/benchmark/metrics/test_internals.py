"""The file of internals: what is written is read, some responses are those of a smaller file, damage is named."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.metrics import METRICS
from benchmark.metrics.eigenscore import e_average, e_original, leave_one_out_average
from benchmark.metrics.internals import (
    Internals,
    average,
    energy,
    leave_one_out_of,
    mean_token_entropy,
    normalised_entropy,
    original,
    perplexity,
)
from benchmark.metrics.metric import Unscorable
from benchmark.scoring.internals_file import (
    INTERNALS_FILE,
    SCHEMA,
    HowRead,
    find_internals,
    open_internals,
    write_internals,
)
from divbench.core.errors import ConfigurationError, InputError
from submissions.untrusted.findings import Rejected
from tests.benchmark.helpers import hash_internals, internals_of_submission, rows_of, submit, suite_of

TEXTS = ("a red cat", "two dogs ran", "", "the sea is wide")
SUITE = suite_of(130)  # three row groups
close: Callable[..., Any] = pytest.approx


def how_read(**changes: Any) -> HowRead:
    usual: dict[str, Any] = {
        "submission_id": "0" * 16,
        "k": 4,
        "model": "hash",
        "blocks": 4,
        "features": 16,
        "original_layer": 2,
        "average_layers": (2, 3),
        "tokens": "text",
        "drawing": None,
        "prompt": "none",
    }
    return HowRead(**usual | changes)


def same(a: Internals, b: Internals) -> bool:
    states = [(a.last, b.last), (a.mean, b.mean)]
    return (
        (a.responses, a.greedy) == (b.responses, b.greedy)
        and all((x is None) == (y is None) for x, y in states)
        and all(
            (x.layers, x.blocks, x.features, x.pooling) == (y.layers, y.blocks, y.features, y.pooling)
            and np.array_equal(x.matrices, y.matrices, equal_nan=True)
            for x, y in states
            if x is not None and y is not None
        )
    )


def test_what_is_written_is_read(tmp_path: Path) -> None:
    rows = [(f"p-{i}", hash_internals([f"{text} {i}".strip() for text in TEXTS])) for i in range(130)]
    write_internals(tmp_path / "i.parquet", how_read(), rows)
    file = open_internals(tmp_path / "i.parquet", "0" * 16)
    assert file.how == how_read()
    assert all(same(found, own) for (_, found), (_, own) in zip(file.rows(), rows, strict=True))
    chosen = ["p-129", "p-0", "p-64", "p-1"]
    assert all(same(found, dict(rows)[name]) for name, found in zip(chosen, file.of(chosen), strict=True))
    before = (tmp_path / "i.parquet").read_bytes()
    write_internals(tmp_path / "i.parquet", how_read(), rows)
    assert (tmp_path / "i.parquet").read_bytes() == before


def test_some_responses_are_scored_as_if_the_others_had_not_been_there() -> None:
    whole, part = hash_internals(TEXTS), hash_internals([TEXTS[3], TEXTS[0], TEXTS[1]])
    taken = whole.take([3, 0, 1])
    for metric in METRICS:
        if metric.reads == "internals":
            assert metric.fn(taken) == close(metric.fn(part), abs=1e-9)
    assert leave_one_out_of(taken) == close(leave_one_out_of(part), abs=1e-9)


def test_the_metrics_are_the_functions_of_their_papers() -> None:
    made = hash_internals(TEXTS)
    assert made.mean is not None
    assert made.last is not None
    assert perplexity(made) == 3 / 4
    assert energy(made) == -80 / 4
    assert average(made) == e_average(made.mean, [2, 3])
    assert original(made) == e_original(made.last, 2)
    assert leave_one_out_of(made) == close(leave_one_out_average(made.mean, [2, 3]), nan_ok=True)
    assert math.isnan(leave_one_out_of(made)[2])  # the blank one


def test_what_was_not_read_is_missing_with_its_reason() -> None:
    none = Internals((None, None))
    for score, reason in (
        (perplexity, "no greedy response"),
        (energy, "no greedy response"),
        (normalised_entropy, "no token"),
        (mean_token_entropy, "no token"),
        (original, "no hidden states"),
        (average, "no hidden states"),
        (leave_one_out_of, "no hidden states"),
    ):
        with pytest.raises(Unscorable, match=f"^{reason}$"):
            score(none)


# Bad files


def damaged(path: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    write_internals(path, how_read(), [("p", hash_internals(TEXTS)), ("q", hash_internals(TEXTS))])
    table = pq.read_table(path)
    rows = table.to_pylist()
    change(rows[1])
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)
    return path


CHANGES: dict[str, Callable[[dict[str, Any]], None]] = {
    "fewer responses": lambda row: row["tokens"].pop(),
    "fewer covariances": lambda row: row["mean"].pop(),
    "more covariances": lambda row: row["last"].append(1.0),
    "a probability above 1": lambda row: row["log_likelihood"].__setitem__(0, 5.0),
    "an infinite sum": lambda row: row["normaliser"].__setitem__(0, math.inf),
    "no number of tokens": lambda row: row["tokens"].__setitem__(0, -1),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_damaged_row_is_an_error_and_no_score(tmp_path: Path, change: str) -> None:
    file = open_internals(damaged(tmp_path / "i.parquet", CHANGES[change]), "0" * 16)
    with pytest.raises(InputError, match=r"i\.parquet, batch 0: .*divbench metrics internals"):
        file.of(["p", "q"])


def test_files_that_are_none_are_named(tmp_path: Path) -> None:
    submission = submit(tmp_path / "in", SUITE, rows_of(SUITE, 4))
    assert find_internals(submission) is None
    with pytest.raises(ConfigurationError, match="there is no file"):
        find_internals(submission, tmp_path / "none.parquet")
    file = internals_of_submission(submission)
    found = find_internals(submission)
    assert found is not None
    assert (found.path, found.digest) == (submission.folder / INTERNALS_FILE, file.digest)
    with pytest.raises(InputError, match=f"belongs to the submission {submission.id}, not to"):
        open_internals(file.path, "f" * 16)
    with pytest.raises(InputError, match="has no row of prompt 'other'"):
        file.of(["other"])
    pq.write_table(pa.Table.from_pylist([], schema=SCHEMA), tmp_path / "bare.parquet")
    with pytest.raises(InputError, match="does not record how the model was run"):
        open_internals(tmp_path / "bare.parquet", "0" * 16)
    pq.write_table(pa.table({"a": [1]}), tmp_path / "wrong.parquet")
    for wrong in (tmp_path / "wrong.parquet", tmp_path / "in" / "manifest.json"):
        with pytest.raises(Rejected):
            open_internals(wrong, "0" * 16)
