"""Rebuilds the reference results from released files; existing results are reused."""

import json
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmark.analysis.across import group_prompt
from benchmark.metrics.metric import Missing
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.per_prompt import write_text_free
from benchmark.scoring.profiles import find_profile
from benchmark.scoring.results import read_result
from benchmark.scoring.scorer import Options, result_id, score_submission
from benchmark.surprisal.cache import default_cache_path
from divbench.core.files import readable_json, write_text
from leaderboard.data.reference.across import ACROSS_FILE, AcrossWriter
from leaderboard.data.reference.results import ABOUT_FILE
from leaderboard.data.reference.systems import REAL, SUITE, SYSTEMS, find_system, make_submission
from submissions.schema import Row

PROFILE = "offline"
# Numbers of responses per prompt. The largest is first, because its cached surprisals serve the other; people gave 8.
RESPONSES = (10, 8)


@dataclass(frozen=True, slots=True)
class Job:
    """A reference result to make: the key of the system, and the number of responses per prompt."""

    system: str
    k: int


@dataclass(frozen=True, slots=True)
class Done:
    """A finished reference result."""

    job: Job
    result_id: str
    recognised: bool  # whether it existed before


def jobs(names: Sequence[str] = ()) -> list[Job]:
    """List the results of the systems with these keys; default: of all systems.

    Raises:
        ConfigurationError: There is no such system.
    """
    chosen = [find_system(name) for name in names] or SYSTEMS
    return [
        Job(system.key, k)
        for system in chosen
        for k in (RESPONSES if system.suite == SUITE else RESPONSES[:1])
        if k <= system.k
    ]


def make_reference(wanted: Sequence[Job], out: Path, mirror: Path | None = None, processes: int = 1) -> Iterator[Done]:
    """Score systems and write their results without texts, in the order of the jobs.

    An interrupted run can be continued: finished results are reused, and surprisals are cached.

    Args:
        out: Folder of the reference results.
        mirror: Folder with released files; default: the folder that DIVBENCH_MIRROR names, or earlier downloads.

    Raises:
        ConfigurationError: Released files are missing.
    """
    out.mkdir(parents=True, exist_ok=True)
    run = partial(_score, out=out, mirror=mirror)
    if processes == 1:
        yield from map(run, wanted)
        return
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        yield from pool.map(run, wanted)


def group_reference(out: Path, mirror: Path | None = None) -> Iterator[str]:
    """Group each prompt's responses from all systems except attacks, write `ACROSS_FILE`, and yield finished prompts.

    An interrupted run continues with the next prompt.

    Raises:
        ConfigurationError: Released files are missing.
    """
    rows: list[dict[str, Row]] = []
    ids = []
    with TemporaryDirectory() as folder:
        for place, system in enumerate(REAL):
            submission, suite = make_submission(system, Path(folder) / str(place), mirror)
            rows.append({row.prompt_id: row for row in submission.rows()})
            ids.append(submission.id)
    backends = _backends()
    writer = AcrossWriter(out / ACROSS_FILE, ids, backends.profile)
    for prompt in (*suite.prompts[::2], *suite.prompts[1::2]):  # so that an interrupted run covers all kinds of prompts
        if prompt.prompt_id not in writer.done:
            own = [each[prompt.prompt_id] for each in rows]
            texts, ended = [row.responses for row in own], [row.finish_reasons for row in own]
            writer.add(prompt.prompt_id, group_prompt(prompt.prompt, texts, RESPONSES, backends, ended))
        yield prompt.prompt_id


def finish(done: Sequence[Done], out: Path, scored_on: str) -> None:
    """Write the date of scoring, and delete results that are not in `done`.

    Args:
        done: All results that the folder should contain.
        scored_on: Date as YYYY-MM-DD; the earlier one is kept if no result is new.
    """
    path = out / ABOUT_FILE
    if path.is_file() and all(each.recognised for each in done):
        scored_on = str(json.loads(path.read_bytes())["scored_on"])
    keep = {each.result_id for each in done}
    for folder in out.iterdir():
        if folder.is_dir() and folder.name not in keep:
            shutil.rmtree(folder)
    listed = {each.result_id: f"{each.job.system}, k = {each.job.k}" for each in done}
    write_text(path, readable_json({"scored_on": scored_on, "results": dict(sorted(listed.items()))}))


@cache
def _backends() -> ScoringBackends:
    return ScoringBackends(find_profile(PROFILE), default_cache_path())


def _score(job: Job, out: Path, mirror: Path | None) -> Done:
    backends, options = _backends(), Options(k=job.k)
    with TemporaryDirectory() as folder:
        submission, suite = make_submission(find_system(job.system), Path(folder) / "submission", mirror)
        name = result_id(submission, suite, backends.profile, options)
        if not isinstance(read_result(out / name), Missing):
            return Done(job, name, recognised=True)
        scored = score_submission(submission, suite, backends, Path(folder) / "results", options)
        write_text_free(scored.folder, out / name)
    return Done(job, name, recognised=False)
