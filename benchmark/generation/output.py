"""Writes a finished journal as a submission folder, which is checked before it is renamed into place."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.generation.internals.read import InternalsReader
from benchmark.generation.journal import Journal
from benchmark.generation.run import Plan, PlannedSet
from benchmark.scoring.internals_file import INTERNALS_FILE, internals_of, write_internals
from datasets_build.schema import Suite
from divbench.core.files import atomic_folder
from submissions.checking.response_kinds import ResponseCounts
from submissions.checking.validate import validate
from submissions.schema import Manifest, Row
from submissions.storage.submission_folders import Submission, write_submission
from submissions.untrusted.findings import Rejected

TOKENS_FILE = "tokens.parquet"
_COLUMNS: list[tuple[str, pa.DataType]] = [
    ("prompt_id", pa.string()),
    ("mean_tokens", pa.float64()),  # sampled for a response, including reasoning and EOS
    ("mean_reasoning_tokens", pa.float64()),  # of those, reasoning; null where unknown
    ("probabilities", pa.list_(pa.float64())),  # stated with the responses in verbalized sampling; else null
]
TOKENS = pa.schema(_COLUMNS)


def write_output(
    folder: Path, manifest: Manifest, suite: Suite, plan: Plan, journal: Journal, reader: InternalsReader | None = None
) -> tuple[Submission, ResponseCounts]:
    """Write the submission, its token counts, and the internals if there are any."""
    with atomic_folder(folder) as made:
        write_submission(made, manifest, rows_of(plan.sets, journal))
        report = validate(made, lambda name: suite)
        if report.submission is None:
            raise Rejected(str(folder), report.findings)
        _write_tokens(made / TOKENS_FILE, plan.sets, journal)
        if reader is not None:
            how = reader.how_read(report.submission.id, plan.k, plan.prompting, "sampled")
            rows = ((item.id, internals_of(journal.internals(item.id), how)) for item in plan.sets)
            write_internals(made / INTERNALS_FILE, how, rows)
    return replace(report.submission, folder=folder), report.counts


def rows_of(items: Sequence[PlannedSet], journal: Journal) -> Iterator[Row]:
    """Yield the rows of a submission, in the items' order."""
    for number, item in enumerate(items, start=1):
        samples = journal.samples_of(item.id).samples
        reasons = tuple(sample.finish_reason for sample in samples)
        yield Row(number, item.id, item.prompt.prompt, tuple(sample.text for sample in samples), reasons)


def _write_tokens(path: Path, items: Sequence[PlannedSet], journal: Journal) -> None:
    rows = []
    for item in items:
        samples = journal.samples_of(item.id).samples
        row: dict[str, object] = {"prompt_id": item.id}
        for name, values in (
            ("mean_tokens", [sample.tokens for sample in samples]),
            ("mean_reasoning_tokens", [sample.reasoning_tokens for sample in samples]),
        ):
            known = [value for value in values if value is not None]
            row[name] = sum(known) / len(known) if len(known) == len(values) else None
        stated = [sample.probability for sample in samples]
        row["probabilities"] = stated if any(each is not None for each in stated) else None
        rows.append(row)
    pq.write_table(pa.Table.from_pylist(rows, schema=TOKENS), path, compression="zstd")
