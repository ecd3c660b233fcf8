"""Reads and writes the files of a metric study: numbers, texts of disagreements, GSSBench accuracies.

The files are untrusted: their size is checked before parsing, repeated JSON keys and unknown fields are errors, and
error messages name the file and field. The texts must be shown as plain text.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict, Field

from benchmark.analysis.metaeval.labelled import Labelled
from datasets_build.schema import conform
from divbench.core.errors import DivBenchError, InputError
from divbench.core.files import atomic_file, write_text
from leaderboard.data.metric_study.pair_accuracies import PairStudy
from leaderboard.data.metric_study.record import Line, MetricName, MetricStudy, Number
from submissions.schema import Problem
from submissions.untrusted.findings import Findings, Rejected
from submissions.untrusted.json_files import strict_model
from submissions.untrusted.limits import openable
from submissions.untrusted.parquet_files import open_parquet
from submissions.untrusted.plain_text import shortened

PAID = 0.15  # a metric rewards an attack that gains more than this share of the range of the real systems
_MOST = 200


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)


class _Estimate(_Part):
    value: float | None
    low: float | None
    high: float | None


class _Scores(_Part):
    gain: _Estimate | None


class GamingRecord(_Part):
    """The content of `gaming.json`; fields that the board does not show are ignored."""

    source: Line
    suite: Line
    k: Annotated[int, Field(ge=1, le=10_000)]
    prompts: Annotated[int, Field(ge=1, le=1_000_000)]
    profile: Line
    systems: dict[Line, object] = Field(min_length=1, max_length=_MOST)
    attacks: dict[MetricName, dict[MetricName, _Scores]] = Field(min_length=1, max_length=_MOST)

    def gains(self, metric: str) -> dict[str, Number]:
        """The gain of each attack under a metric, as a share of the range of the real systems; empty if unknown."""
        found = {attack: scores[metric].gain for attack, scores in self.attacks.items() if metric in scores}
        return {
            attack: Number(gain.value, gain.low, gain.high)
            for attack, gain in found.items()
            if gain is not None and gain.value is not None
        }


STUDY_FILE, TEXTS_FILE, PAIRS_FILE = "metric_study.json", "disagreements.parquet", "gssbench.json"
GAMING_FILE, SCORES_FILE = "gaming.json", "scores.parquet"
MAX_STUDY_BYTES = 8 * 2**20
MAX_TEXT_BYTES = 64 * 2**20  # decoded size of all texts together
MEASURED = Path(__file__).parents[2] / "measured"
TEXTS = pa.schema(
    [
        pa.field("task", pa.string(), nullable=False),
        pa.field("set_id", pa.string(), nullable=False),
        pa.field("context", pa.string(), nullable=False),
        pa.field("responses", pa.list_(pa.string()), nullable=False),
    ]
)
SetTexts = tuple[str, tuple[str, ...]]  # context and responses
_Record = TypeVar("_Record", bound=BaseModel)
_Found = TypeVar("_Found")
_LETTERS = 300  # maximum number of characters of an error message, which may quote untrusted text
_FLAT = 400  # maximum number of characters of a JSON value on one line
_AGAIN = "rebuild it: divbench metrics study"
_HINTS: Mapping[type[BaseModel], str] = {
    MetricStudy: _AGAIN,
    PairStudy: f"{_AGAIN} --gss",
    GamingRecord: "rebuild it: divbench metrics gaming --out gaming.json",
}


@dataclass(frozen=True, slots=True)
class Studies:
    """The studies that the page Metrics shows."""

    study: MetricStudy | None
    pairs: PairStudy | None
    gaming: GamingRecord | None
    texts: Mapping[tuple[str, str], SetTexts]  # context and responses of disagreements, by task and set
    faults: tuple[str, ...]  # files that could not be read, with the reasons; without local paths


def load_studies(folder: Path | None) -> Studies:
    """Load each file of a study from the folder or else from the package; a damaged file is recorded as a fault."""
    faults: list[str] = []
    study = _found(folder, STUDY_FILE, partial(read_record, record=MetricStudy), faults)
    pairs = _found(folder, PAIRS_FILE, partial(read_record, record=PairStudy), faults)
    gaming = _found(folder, GAMING_FILE, partial(read_record, record=GamingRecord), faults)
    texts = _found(folder, TEXTS_FILE, read_texts, faults)
    return Studies(study, pairs, gaming, texts or {}, tuple(faults))


def _found(folder: Path | None, name: str, read: Callable[[Path], _Found], faults: list[str]) -> _Found | None:
    own = None if folder is None else folder / name
    path = own if own is not None and own.exists() else MEASURED / name
    try:
        return read(path) if path.exists() else None
    except DivBenchError as error:
        faults.append(f"{name}: not shown, {shortened(error.message.replace(str(path), name), _LETTERS)}")
        return None


def write_record(path: Path, record: MetricStudy | PairStudy) -> None:
    """Write a record atomically, with one row of numbers per line, so that diffs are readable."""
    document = {"schema_version": record.schema_version, **record.model_dump(mode="json", exclude_defaults=True)}
    write_text(path, _lines(document) + "\n")


def disagreement_texts(study: MetricStudy, tasks: Sequence[Labelled]) -> list[dict[str, object]]:
    """The rows of `TEXTS`: each set with a disagreement once per task, sorted by id."""
    rows: list[dict[str, object]] = []
    for task in tasks:
        found = study.task(task.name)
        named = {} if found is None else found.disagreements
        wanted = {each.set_id for worst in named.values() for each in worst}
        texts = zip(task.set_ids, task.contexts, task.responses, strict=True)
        made = {name: (context, responses) for name, context, responses in texts if name in wanted}
        rows += [
            {"task": task.name, "set_id": name, "context": made[name][0], "responses": list(made[name][1])}
            for name in sorted(made)
        ]
    return rows


def write_texts(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write the texts of disagreements atomically."""
    table = conform(rows, TEXTS, path.name)
    with atomic_file(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")


def read_texts(path: Path) -> dict[tuple[str, str], SetTexts]:
    """Read the context and responses of each set, by task and set id.

    Raises:
        InputError: There is no such file.
        Rejected: The file is invalid; each problem names its row and field.
    """
    if not path.is_file():
        raise InputError(f"there is no file {path}", _AGAIN)
    findings = Findings()
    file = open_parquet(path, TEXTS, findings, MAX_TEXT_BYTES)
    found: dict[tuple[str, str], SetTexts] = {}
    for number, row in [] if file is None else file.rows(findings):
        texts = row.get("responses")
        if None in (row.get("task"), row.get("set_id"), row.get("context"), texts) or None in (texts or []):
            message = "a field is null, or not UTF-8"
            findings.add(Problem("texts", "error", path.name, number, "", message, _AGAIN))
            continue
        found[row["task"], row["set_id"]] = (row["context"], tuple(texts or []))
    if findings.rejected():
        raise Rejected(str(path), findings)
    return found


def read_record(path: Path, record: type[_Record]) -> _Record:
    """Read the record of a study: its numbers, GSSBench's accuracies, or the gains of attacks.

    Raises:
        InputError: The file is missing or invalid; the message names the field.
    """
    findings, hint = Findings(), _HINTS[record]
    if not openable(path, findings, MAX_STUDY_BYTES):
        raise InputError(f"{path}: {findings.problems[0].message}", hint)
    try:
        return strict_model(path.read_bytes(), record.model_validate_json)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {str(error)[:_LETTERS]}", hint) from error


def _lines(value: object, depth: int = 0) -> str:
    """Format JSON with each short object or list on one line."""
    flat = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    if not isinstance(value, dict | list) or not value or len(flat) <= _FLAT:
        return flat
    indent = " " * (depth + 1)
    if isinstance(value, dict):
        inside = [f"{json.dumps(key, ensure_ascii=False)}:{_lines(each, depth + 1)}" for key, each in value.items()]
    else:
        inside = [_lines(each, depth + 1) for each in value]
    first, last = ("{", "}") if isinstance(value, dict) else ("[", "]")
    return f"{first}\n{indent}" + f",\n{indent}".join(inside) + f"\n{' ' * depth}{last}"
