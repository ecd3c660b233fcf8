"""What the tests of results in others' formats share: a result with nearly all metrics, and what is published."""

import json
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow.parquet as pq
import pytest

from benchmark.equivalence.partitioning import PartitionSpec
from benchmark.equivalence.rules import Rouge1
from benchmark.exports.every_eval_ever import write_every_eval_ever
from benchmark.exports.results import ScoredResult
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.profiles import find_profile
from benchmark.scoring.results import PER_PROMPT_FILE, Result, read_result
from benchmark.scoring.scorer import Options, score_submission
from submissions.checking.validate import open_submission
from submissions.schema import Generation, Manifest, Row, Submitter, System
from submissions.storage.submission_folders import Submission, write_submission
from tests.benchmark.fakes import HashEmbedder, HashReward
from tests.benchmark.helpers import (
    GOLDEN,
    HASH_PAIR_SCORERS,
    HASH_READER,
    internals_of_submission,
    random_responses,
    suite_of,
    text_classes,
)

Json = dict[str, Any]
K = 4
SUITE = suite_of(6)
OFFLINE = replace(  # so that all metrics are computed
    find_profile("offline"), pair_scorers=HASH_PAIR_SCORERS, reward=HashReward(), partition=PartitionSpec(Rouge1())
)
HASHED = ScoringBackends(OFFLINE, embedder=HashEmbedder(), reader=HASH_READER)
UUID4 = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
DAY = date(2025, 3, 27)
MIDNIGHT = 1743033600  # of that day, UTC
MANIFEST = Manifest(
    name="../../a <b>system</b> “é”",  # a stranger's: it must not become a path
    suite="made-up",
    system=System(type="model", model_id="../../org/model:x", revision="abc", parameters=7, open_weights=True),
    generation=Generation(
        k=K, temperature=0.1, top_p=0.9, max_tokens=64, seed=3, stop=("\n\n",), prompt_template="Q: {prompt}\nA:"
    ),
    submitter=Submitter(name="me", date=DAY, links=("https://example.org/a",)),
)


def responses_of(place: int) -> tuple[str, ...]:
    """Odd letters, and a prompt without any answer: its values are missing."""
    if place == 5:
        return ("", " ", "[Blocked]", "\n")
    return (*random_responses(place, K - 1), '“naïve” \u2028 \U0010ffff \\ " é\x85')


ROWS = [
    Row(i + 1, p.prompt_id, p.prompt, responses_of(i), ("stop", None, "eos", "stop") if i == 0 else None)
    for i, p in enumerate(SUITE.prompts)
]


def scored_by(submission: Submission, out: Path, k: int | None = None) -> Path:
    options = Options(k=k, resamples=200)
    internals = internals_of_submission(submission) if k is None else None
    return score_submission(submission, SUITE, HASHED, out, options, internals=internals).folder


def submitted(folder: Path, manifest: Manifest = MANIFEST) -> Submission:
    folder.mkdir(parents=True)
    answered = [(row.prompt_id, replace(text_classes(row.responses), utility=2.5)) for row in ROWS]
    write_submission(folder, manifest, ROWS, answered)
    return open_submission(folder, lambda name: SUITE)[0]


def result_of(folder: Path) -> Result:
    found = read_result(folder)
    assert isinstance(found, Result)
    return found


def fits(value: object, name: str) -> None:
    """Whether a value fits what is published; see the schema's `origin`."""
    schema = json.loads((GOLDEN / "schemas" / f"{name}.json").read_text(encoding="utf-8"))
    assert schema["origin"]
    jsonschema.Draft202012Validator(schema).validate(value)


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"), parse_constant=pytest.fail)


def read_lines(path: Path) -> list[Json]:
    return [json.loads(line, parse_constant=pytest.fail) for line in path.read_bytes().splitlines()]


def table_of(folder: Path) -> list[Json]:
    return pq.read_table(folder / PER_PROMPT_FILE).to_pylist()


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def exported(scored: ScoredResult, out: Path) -> tuple[Json, list[Json]]:
    numbers, samples = write_every_eval_ever(scored, out)
    return read_json(numbers), read_lines(samples)
