"""Rebuilds the reference results from released files; existing results are reused."""

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmark.analysis.across import group_prompt
from benchmark.metrics import METRICS, Metric
from benchmark.metrics.metric import Missing
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.inputs import computed, metrics_from
from benchmark.scoring.per_prompt import write_packed, write_text_free
from benchmark.scoring.profiles import Changes, find_profile
from benchmark.scoring.reported import PREFIX, make_reported
from benchmark.scoring.results import read_result
from benchmark.scoring.scorer import Options, result_id, score_submission
from benchmark.surprisal.cache import default_cache_path
from divbench.core.files import atomic_file, canonical_json, readable_json, write_text
from leaderboard.data.reference.systems import (
    ABOUT_FILE,
    ACROSS_FILE,
    ATTACKS,
    GROUPED,
    JUDGED,
    REAL,
    SHOWN_ATTACKS,
    SUITE,
    SYSTEMS,
    ReferenceSystem,
    make_submission,
    released_judgements,
    stage_suite,
    unpublished_submission,
)

PROFILE = "offline"
# The surprisals of the reference results were read before outer white space was stripped.
READ: Changes = {"outer_space": "kept"}
SCORED = computed(METRICS)
# Numbers of responses per prompt. The largest is first, because its cached surprisals serve the other; people gave 8.
RESPONSES = (10, 8)
_DECIMALS = 4  # of the similarities of responses


@dataclass(frozen=True, slots=True)
class Done:
    """A finished reference result."""

    system: ReferenceSystem
    k: int  # number of responses per prompt
    result_id: str
    recognised: bool  # whether it existed before
    profile: str = PROFILE

    @property
    def label(self) -> str:
        """The result in the list of results: system, number of responses, and the profile if it is not `PROFILE`."""
        return f"{self.system.key}, k = {self.k}" + (f", {self.profile}" if self.profile != PROFILE else "")


def jobs(systems: Sequence[ReferenceSystem] = SYSTEMS) -> list[tuple[ReferenceSystem, int]]:
    """The results to make: systems and numbers of responses per prompt; attacks that are not shown at 8 only."""
    unshown = {attack.name for attack in ATTACKS} - SHOWN_ATTACKS
    return [
        (system, k)
        for system in systems
        for k in (RESPONSES if system.suite == SUITE else RESPONSES[:1])
        if k <= system.k and not (system.name in unshown and k == RESPONSES[0])
    ]


def backends() -> ScoringBackends:
    """The models of the reference results, with the setting that their signatures name."""
    return ScoringBackends(find_profile(PROFILE).replace(**READ), default_cache_path())


def metrics_of(system: ReferenceSystem) -> tuple[Metric, ...]:
    """Return the metrics of a system's results: surprisals, which take minutes, are left out of those of 2025."""
    if system not in REAL or system in GROUPED:
        return SCORED
    surprisals = metrics_from("causal_lm", SCORED)
    return tuple(metric for metric in SCORED if metric not in surprisals)


def make_reference(wanted: Sequence[tuple[ReferenceSystem, int]], out: Path, models: ScoringBackends) -> Iterator[Done]:
    """Score systems and write their results without texts; finished results are reused, and surprisals are cached."""
    out.mkdir(parents=True, exist_ok=True)
    for system, k in wanted:
        options, metrics = Options(k=k), metrics_of(system)
        with TemporaryDirectory() as folder:
            submission, suite = make_submission(system, Path(folder) / "submission")
            name = result_id(submission, suite, models.profile, options, metrics=metrics)
            recognised = not isinstance(read_result(out / name), Missing)
            if not recognised:
                scored = score_submission(submission, suite, models, Path(folder) / "results", options, metrics=metrics)
                write_text_free(scored.folder, out / name)
        yield Done(system, k, name, recognised)


def make_judged(out: Path) -> Iterator[Done]:
    """Write a result for each system and version of NoveltyBench's metric: released values, nothing is computed here.

    A result is of the same submission as the one that is scored here, if the responses are released.
    """
    for system in JUDGED:
        rows, suite = None, stage_suite(system.suite)
        with TemporaryDirectory() as folder:
            if system.run is None:
                submission, _ = make_submission(system, Path(folder) / "submission")
                manifest, name = submission.manifest, submission.id
                rows = {row.prompt_id: row for row in submission.rows()}
        for version in system.judged:
            values = released_judgements(system, version)
            if rows is None:
                manifest, name = unpublished_submission(system, values)
            for k in (k for k in RESPONSES if k <= system.k):
                result, table = make_reported(manifest, name, suite, values, rows, k)
                is_same = read_result(out / result.result_id)
                if isinstance(is_same, Missing):
                    write_packed(result, table, out / result.result_id)
                yield Done(system, k, result.result_id, not isinstance(is_same, Missing), result.profile)


def group_reference(out: Path, models: ScoringBackends) -> Iterator[str]:
    """Group each prompt's responses from all systems except attacks, and yield finished prompts.

    The file `ACROSS_FILE`, for the page Alike or different?, has one line per prompt: the class labels and the
    similarities. It is kept if submissions and models are the same.
    """
    submissions = []
    with TemporaryDirectory() as folder:
        for i, system in enumerate(GROUPED):
            submission, suite = make_submission(system, Path(folder) / str(i))
            submissions.append((submission.id, {row.prompt_id: row for row in submission.rows()}))
    specs = [spec.signature for spec in (models.profile.embedder, models.profile.partition) if spec is not None]
    head = canonical_json({"submissions": [name for name, _ in submissions], "models": specs})
    path = out / ACROSS_FILE
    if path.is_file() and path.read_bytes().splitlines()[0] == head:
        return
    lines = []
    for prompt in sorted(suite.prompts, key=lambda prompt: prompt.prompt_id):
        rows = [rows[prompt.prompt_id] for _, rows in submissions]
        texts, ended = [row.responses for row in rows], [row.finish_reasons for row in rows]
        grouped = group_prompt(prompt.prompt, texts, RESPONSES, models, ended)
        similarity = {
            str(k): [[None if np.isnan(x) else round(x, _DECIMALS) for x in row] for row in values.tolist()]
            for k, values in grouped.similarity.items()
        }
        record = {"prompt_id": prompt.prompt_id, "labels": grouped.labels, "similarity": similarity}
        lines.append(canonical_json(record))
        yield prompt.prompt_id
    with atomic_file(path) as temporary:
        temporary.write_bytes(b"".join(line + b"\n" for line in [head, *lines]))


def finish(done: Sequence[Done], out: Path, scored_on: str, *, keep: bool = False) -> None:
    """Write the date of scoring, or keep the earlier one if nothing new was scored, and delete all other results.

    With `keep`, results that are scored here stay, although none of them is done.
    """
    path = out / ABOUT_FILE
    before = json.loads(path.read_bytes()) if path.is_file() else {"results": {}}
    if "scored_on" in before and all(result.recognised for result in done if result.profile == PROFILE):
        scored_on = str(before["scored_on"])
    listed = {result.result_id: result.label for result in done}
    if keep:
        listed |= {name: label for name, label in before["results"].items() if f", {PREFIX}" not in label}
    for folder in out.iterdir():
        if folder.is_dir() and folder.name not in listed:
            shutil.rmtree(folder)
    write_text(path, readable_json({"scored_on": scored_on, "results": dict(sorted(listed.items()))}))
