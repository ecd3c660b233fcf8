"""What the tests of exports share: a submission with odd prompts, its internals, and rewards as files."""

import csv
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.scoring.internals_file import INTERNALS_FILE, HowRead, write_internals
from datasets_build.schema import Prompt, Suite
from divbench.core.files import readable_json
from submissions.checking.validate import open_submission
from submissions.schema import Row
from submissions.storage.submission_folders import Submission
from tests.benchmark.helpers import hash_internals, random_responses, submit

K = 5
PROMPTS = 30
OWN = Suite("own", "own prompts", tuple(Prompt(f"q-{i:02}", "own", f"Naïve “ask” {i}") for i in range(PROMPTS)))

# What is odd about a few prompts; the others have five different answers with rewards.
FEW_ANSWERS, SAME_TEXT, EQUAL_REWARDS, UNREWARDED, ONE_REWARD, WITH_BLANK = range(6)


def responses_of(place: int) -> tuple[str, ...]:
    texts = random_responses(place, K)
    if place == FEW_ANSWERS:
        return ("", "[Blocked]", texts[2], " \n", texts[4])
    if place == SAME_TEXT:
        return ("the same",) * K
    return ("", *texts[1:]) if place == WITH_BLANK else texts


def rewards_of(place: int) -> list[float | None]:
    """Whole numbers, so that no border of a pool is rounded, and few, so that there are ties."""
    drawn = np.random.default_rng(100 + place).integers(-5, 6, K).tolist()
    odd: dict[int, list[float | None]] = {
        EQUAL_REWARDS: [2.0] * K,
        UNREWARDED: [None] * K,
        ONE_REWARD: [None, 1.0, None, None, None],
        WITH_BLANK: [99.0, *range(K - 1)],
    }
    return odd.get(place, [float(value) for value in drawn])


def make(folder: Path, reasons: tuple[str, ...] | None = None, **generation: Any) -> Submission:
    """A submission to own prompts, with its internals; `reasons` are the finish reasons of the responses to each."""
    rows = [
        Row(i + 1, prompt.prompt_id, prompt.prompt, responses_of(i), reasons) for i, prompt in enumerate(OWN.prompts)
    ]
    made = submit(folder, OWN, rows)
    if generation:
        manifest = made.manifest.model_dump(mode="json")
        manifest["generation"] |= generation
        (folder / "manifest.json").write_text(readable_json(manifest), encoding="utf-8")
        made = open_submission(folder)[0]
    write_own_internals(folder / INTERNALS_FILE, made)
    return made


def write_own_internals(path: Path, submission: Submission, **how: Any) -> None:
    known: dict[str, Any] = {
        "submission_id": submission.id,
        "k": K,
        "model": "made-up@0,float32,cpu,eager",
        "blocks": 4,
        "features": 16,
        "original_layer": 2,
        "average_layers": (2, 3),
        "tokens": "text",
        "drawing": None,
        "prompt": "chat template",
    }
    rows = ((row.prompt_id, hash_internals(row.responses)) for row in submission.rows())
    write_internals(path, HowRead(**(known | how)), rows)


def by_response() -> list[dict[str, Any]]:
    """A row a response; responses without a reward are not there, but for one whose reward is null."""
    return [
        {"prompt_id": prompt.prompt_id, "index": i, "reward": reward, "model": "another column"}
        for place, prompt in enumerate(OWN.prompts)
        for i, reward in enumerate(rewards_of(place))
        if reward is not None or (place, i) == (ONE_REWARD, 0)
    ]


def by_prompt() -> list[dict[str, Any]]:
    return [
        {"prompt_id": prompt.prompt_id, "rewards": rewards_of(place)}
        for place, prompt in enumerate(OWN.prompts)
        if place != UNREWARDED
    ]


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    elif path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), path)
    else:
        with path.open("w", newline="", encoding="utf-8") as file:
            lines = csv.DictWriter(file, list(rows[0]))
            lines.writeheader()
            lines.writerows({k: json.dumps(v) if isinstance(v, list) else v for k, v in row.items()} for row in rows)
    return path


def with_nan(values: Iterable[float | None]) -> list[float]:
    return [math.nan if value is None else value for value in values]


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
