"""The responses of reference systems, which do not ship: from a mirror, earlier downloads, or where they were released.

What was read is checked: files that we know by their SHA-256, others by their prompts, their number of responses and
the classes of their judgements. Reading never downloads; `fetch_texts` does, once, in the background of the board.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow.parquet as pq

from benchmark.metrics.metric import Missing
from benchmark.scoring.per_prompt import REPORTED_CLASSES
from benchmark.scoring.results import PER_PROMPT_FILE
from datasets_build.download import MIRROR_VARIABLE, Fetcher, home, mirror_folder, offline
from datasets_build.load import load_suite
from datasets_build.sources import olmo
from datasets_build.sources.noveltybench import SUBMISSIONS, submission_path
from divbench.core.errors import DivBenchError, InputError
from divbench.core.files import atomic_file, canonical_json
from leaderboard.data.reference.results import reference_results
from leaderboard.data.reference.systems import (
    JUDGED,
    SUITE,
    SYSTEMS,
    ReferenceSystem,
    make_submission,
    stage_rows,
)
from submissions.importing.noveltybench import RESULTS, SPLITS, read_noveltybench
from submissions.importing.noveltybench_hub import downloaded_run
from submissions.untrusted.findings import Findings, Rejected

Texts = Mapping[str, tuple[str, ...]]  # responses by prompt id
NO_TEXTS = (
    "The responses are not here, because they belong to their owners: start divbench board serve with a network "
    f"connection, which downloads them from where they were released, or name a folder that has them with "
    f"{MIRROR_VARIABLE}."
)
_SYSTEMS_KEPT = 80  # in memory, about a megabyte each
_MOST_FAILURES = 3  # of a host, after which nothing more is asked of it
_FAULTS = (DivBenchError, OSError, LookupError, ValueError)


def texts_of(system: str) -> Texts | Missing:
    """The responses of a reference system by prompt id, found by the key of its entries; nothing is downloaded."""
    if system not in _entries():
        return Missing("the result came without its responses")
    try:
        return _texts(system, mirror_folder(), home())
    except _FAULTS:
        return Missing(NO_TEXTS)


@lru_cache(maxsize=1)
def _entries() -> dict[str, tuple[ReferenceSystem, Path]]:
    """The reference systems by key, each with the folder of one of its results, that with the most responses."""
    known = {(system.suite, system.name): system for system in (*SYSTEMS, *JUDGED)}
    return {
        result.submission_id: (known[result.suite, result.manifest.name], folder)
        for folder, result in sorted(reference_results().results.items(), key=lambda item: item[1].k)
        if (result.suite, result.manifest.name) in known
    }


@lru_cache(maxsize=_SYSTEMS_KEPT)
def _texts(key: str, mirror: Path | None, cache: Path) -> Texts:
    """Read the responses of a system; a failure is not cached, since they may be downloaded later."""
    system, result = _entries()[key]
    if system.run is not None:
        folder = None if mirror is None else mirror / "noveltybench" / "results" / system.run
        return read_run(folder, result) if folder and folder.is_dir() else _lines(_cached(system, cache))
    if system.kind == "noveltybench":
        return _lines(Fetcher(SUBMISSIONS, mirror, network=False)(submission_path(system.of)))
    if system.kind == "olmo":
        rows = stage_rows(system.suite, mirror)
        return {row["prompt_id"]: tuple(row["responses"]) for row in rows if row["stage"] == system.of}
    with TemporaryDirectory() as temporary:
        submission, _ = make_submission(system, Path(temporary) / "submission", mirror)
        return {row.prompt_id: row.responses for row in submission.rows()}


def _lines(path: Path) -> Texts:
    """Read responses from a verified file."""
    with path.open(encoding="utf-8") as file:
        rows = map(json.loads, file)
        return {row["id"]: tuple(row["generations"]) for row in rows}


def _cached(system: ReferenceSystem, cache: Path) -> Path:
    return cache / "texts" / f"{system.run}.jsonl"


def read_run(folder: Path, result: Path) -> Texts:
    """Read the responses of a released run and check that they are those whose judgements are in a result's folder."""
    findings = Findings()
    imported = read_noveltybench(folder / SPLITS[SUITE], findings)
    if findings.rejected():
        raise Rejected(str(folder), findings)
    texts = {row.prompt_id: row.responses for row in imported.rows}
    judged = {prompt_id: values.partition for (prompt_id, _), (*_, values) in imported.reported.items()}
    for row in pq.read_table(result / PER_PROMPT_FILE, columns=["prompt_id", REPORTED_CLASSES]).to_pylist():
        prompt_id, labels = row["prompt_id"], row[REPORTED_CLASSES]["labels"]
        responses = texts.get(prompt_id, ())
        of_run = judged.get(prompt_id, labels)[: len(labels)]
        if len(responses) < len(labels) or list(of_run) != list(labels):
            message = f"{folder.name}, {prompt_id}: not the responses that were judged"
            raise InputError(message, "get the run that NoveltyBench released")
    return texts


def fetch_texts(report: Callable[[str], None]) -> None:
    """Download the responses of reference systems that are neither in a mirror nor downloaded; say how far it is."""
    wanted = {key: system for key, (system, _) in _entries().items() if system.kind != "attack"}
    lacking = sorted((key for key in wanted if isinstance(texts_of(key), Missing)), key=lambda k: not wanted[k].run)
    if not lacking or mirror_folder() is not None:
        return
    if offline():
        report(f"Responses of {len(lacking)} reference systems are not here, and HF_HUB_OFFLINE forbids downloads.")
        return
    report(f"Downloading the responses of {len(lacking)} reference systems in the background (--no-texts: not at all).")
    with suppress(DivBenchError):
        load_suite(SUITE)  # the prompts
    faults: dict[bool, list[str]] = {True: [], False: []}  # of runs, which are on the Hub, and of others
    for key in lacking:
        if len(messages := faults[wanted[key].run is not None]) < _MOST_FAILURES:
            try:
                fetch(*_entries()[key])
            except _FAULTS as error:
                messages.append(" ".join(str(error).split())[:200])
    here = sum(not isinstance(texts_of(key), Missing) for key in wanted)
    why = "".join(f" Not downloaded: {messages[0]}" for messages in faults.values() if messages)
    report(f"Responses of {here} of {len(wanted)} reference systems are here.{why}")


def fetch(system: ReferenceSystem, result: Path) -> None:
    """Download the responses of one system."""
    if system.run is not None:
        with downloaded_run(f"{RESULTS}/{system.run}", system.suite) as (folder, _):
            texts = read_run(folder, result)
        path = _cached(system, home())
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [canonical_json({"id": key, "generations": responses}) for key, responses in texts.items()]
        with atomic_file(path) as temporary:
            temporary.write_bytes(b"".join(line + b"\n" for line in lines))
    elif system.kind == "olmo":
        for file in olmo.SOURCE.files:
            Fetcher(olmo.SOURCE).optional(file.path)
    else:
        Fetcher(SUBMISSIONS)(submission_path(system.of))
