"""Submissions to gssbench whose accuracies are known, with internals: to some of its sets of pairs, or to all."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.analysis.gss.pairs import load_pairs, sanity_scores
from benchmark.metrics.eigenscore import Covariances
from benchmark.metrics.internals import Internals, ResponseScores
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.internals_file import INTERNALS_FILE, HowRead, write_internals
from benchmark.scoring.profiles import find_profile
from benchmark.scoring.scorer import Options, score_submission
from datasets_build.load import load_suite
from datasets_build.schema import Suite
from submissions.checking.validate import open_submission
from submissions.schema import Generation, Manifest, Row, Submitter, System
from submissions.storage.submission_folders import Submission, write_submission
from tests.benchmark.helpers import hash_internals, rows_of

WHOLE = load_suite("gssbench")
_SETS = {"complement": 60, "factualqa": 60, "random_choice": 60, "subset": 6, "union": 3, "intersection": 3}


def _first_sets(split: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Whole sets: pairs of one share prompts."""
    kept = list(dict.fromkeys(row["set_id"] for row in rows))[: _SETS[split]]
    return [row for row in rows if row["set_id"] in kept]


ALL_PAIRS = load_pairs()
PAIRS = {split: _first_sets(split, rows) for split, rows in ALL_PAIRS.items()}
_IN_PAIRS = {row[name] for rows in PAIRS.values() for row in rows for name in ("a_id", "b_id")}
SUITE = replace(WHOLE, prompts=tuple(prompt for prompt in WHOLE.prompts if prompt.prompt_id in _IN_PAIRS))
LEVELS = sanity_scores(ALL_PAIRS)["oracle"]  # of each prompt: they order every pair


def texts_of(place: int, k: int, suite: Suite = SUITE) -> tuple[str, ...]:
    """The larger the prompt's space, the fewer words its responses share: ROUGE-L, of which less is more, finds all."""
    level = int(LEVELS[suite.prompts[place].prompt_id])
    same = [f"w{n}" for n in range(9 - level)]
    return tuple(" ".join([*same, *(f"x{j}{n}" for n in range(level))]) for j in range(k))


def submitted(
    folder: Path, name: str, texts: Callable[[int, int], tuple[str, ...]], model_id: str, suite: Suite = SUITE
) -> Submission:
    folder.mkdir(parents=True)
    manifest = Manifest(
        name=name,
        suite="gssbench",
        system=System(type="model", model_id=model_id),
        generation=Generation(k=2),
        submitter=Submitter(name="tester", date=date(2026, 1, 1)),
    )
    write_submission(folder, manifest, rows_of(suite, 2, texts))
    return open_submission(folder, lambda name: suite)[0]


def add_internals(submission: Submission, states: bool = True) -> dict[str, float]:
    """E_average orders all pairs, E_original all the other way round, energy none; perplexities are drawn and given."""
    rows = list(submission.rows())[::-1]  # the file may have another order than the suite
    drawn = np.random.default_rng(3).exponential(size=len(rows)).round(1).tolist()
    perplexities = {row.prompt_id: value for row, value in zip(rows, drawn, strict=True)}
    how = HowRead(
        submission_id=submission.id,
        k=2,
        model="a-model@1",
        blocks=4,
        features=16,
        original_layer=2 if states else None,
        average_layers=(2, 3) if states else (),
        tokens="text",
        drawing=None,
        prompt="chat template",
    )

    def internals(row: Row) -> Internals:
        spread, level = np.eye(2)[None], LEVELS[row.prompt_id]
        return replace(
            hash_internals(row.responses),
            greedy=ResponseScores(2, -2 * perplexities[row.prompt_id], -3.0, 80.0, 5.0),
            last=Covariances(4, 16, (2,), spread * 10.0**-level, "last") if states else None,
            mean=Covariances(4, 16, (2, 3), np.repeat(spread * 10.0**level, 2, axis=0), "mean") if states else None,
        )

    write_internals(submission.folder / INTERNALS_FILE, how, ((row.prompt_id, internals(row)) for row in rows))
    return perplexities


def unusable(kind: str, parent: Path, plain: Path, result: Path) -> Path:
    """A folder that `divbench metrics gss` must refuse.

    Args:
        kind: *empty*; *demo*, a manifest for the suite demo; *demo_result*, a result of that; *old*, a result of
            another revision of gssbench; *damaged*, one with a broken file; *strange*, a copy of `plain`.
        parent: Where it is made.
        plain: A submission to gssbench.
        result: A result of one.
    """
    folder = parent / kind
    if kind in ("old", "damaged"):
        shutil.copytree(result, folder)
        path = folder / "result.json"
        changed = json.loads(path.read_text()) | {"suite_revision": "0" * 12}
        path.write_text(json.dumps(changed) if kind == "old" else "{")
    elif kind == "strange":
        shutil.copytree(plain, folder)
    else:
        folder.mkdir()
    if kind.startswith("demo"):
        opened = open_submission(plain, lambda name: SUITE)[0]
        manifest = opened.manifest.model_copy(update={"suite": "demo"})
        write_submission(folder, manifest, rows_of(load_suite("demo"), 2))
    if kind == "demo_result":
        submission, suite, _ = open_submission(folder)
        backends = ScoringBackends(find_profile("lexical"))
        return score_submission(submission, suite, backends, parent / "results", Options(resamples=100)).folder
    return folder
