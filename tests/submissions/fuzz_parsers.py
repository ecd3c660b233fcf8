"""What parses others' bytes, alone, so that a million inputs take minutes: good bytes, and what must hold."""

import hashlib
import io
import json
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import pandas as pd
import pyarrow as pa

from benchmark.metrics.metric import Missing
from benchmark.scoring.results import PER_PROMPT_FILE, RESULT_FILE, Result, read_result
from submissions.checking.checks import reported_problems
from submissions.importing import inspect_logs, inspect_reader
from submissions.importing.imported import Imported
from submissions.importing.importers import DEFAULT_OPTIONS, FORMATS, Format, _manifest
from submissions.judgements.rating_forms import FORM_OF, RatedSet
from submissions.judgements.rating_study import Study, make_study
from submissions.judgements.ratings import read_ratings
from submissions.judgements.votes import parsed_vote
from submissions.schema import Manifest
from submissions.storage.commits import StoreFault, checked_path, is_commit_id
from submissions.storage.folder_store import FolderStore
from submissions.untrusted.findings import Findings, Rejected
from submissions.untrusted.json_files import read_manifest, strict_json
from submissions.untrusted.limited_process import limit
from submissions.untrusted.parquet_reader import BATCH_BYTES, MEMORY, reply
from submissions.work_queue.queue_files import read_listing
from tests.conftest import TOY, toy_manifest, toy_rows
from tests.submissions.conftest import KNOWN
from tests.submissions.importing.test_import_openai_batch import chat
from tests.submissions.judgements.test_rating_study import answered
from tests.submissions.judgements.test_votes import a_vote
from tests.submissions.lm_eval_samples import samples
from tests.submissions.queueing import T0, MemoryStore, as_file
from tests.submissions.work_queue.test_queue_damage import CLAIMED, PENDING

Check = Callable[[Path, bytes], object]
MOST_BYTES = 2**26  # that a Parquet file may decode to, so that an input takes no time to fill memory
SCORED = PENDING | {"state": "scored", "results": ["1" * 16], "versions": {"divbench": "1"}, "profile": "lexical"}
_SHIPPED = Path(__file__).parents[2] / "leaderboard" / "measured" / "reference"
_ENDINGS: dict[Format, str] = {"noveltybench": "jsonl", "lm-eval": "jsonl", "openai-batch": "jsonl", "inspect": "json"}


def check_json(folder: Path, data: bytes) -> None:
    """What is JSON to us is JSON to Python, and the same."""
    with suppress(ValueError, RecursionError):
        text = data.decode("utf-8")
        assert strict_json(text) == json.loads(text)


def check_parquet(folder: Path, data: bytes) -> None:
    """What the reader's process does with a file, without the process: plain batches within the limits, or a reason."""
    out = io.BytesIO()
    said = reply({"columns": None, "most": MOST_BYTES}, io.BytesIO(data), out)
    assert json.loads(json.dumps(said)) == said
    if "message" in said:
        assert said["check"]
        assert said["hint"]
    elif said["rows"]:
        stream = pa.BufferReader(out.getvalue())
        pa.ipc.read_message(stream)  # the schema
        batches = list(pa.ipc.open_stream(stream))
        assert sum(batch.num_rows for batch in batches) == said["rows"] == said["declared"]
        assert all(batch.nbytes <= BATCH_BYTES for batch in batches)


def limit_as_the_reader() -> None:
    """Take the limit of addresses of the process that reads Parquet files."""
    pa.set_memory_pool(pa.system_memory_pool())
    limit(MEMORY, 10**6, 2**30)


def check_manifest(folder: Path, data: bytes) -> None:
    """A manifest or a problem; and it is read again as it was."""
    findings = Findings()
    manifest = read_manifest(_written(folder, "json", data), findings)
    assert (manifest is None) == findings.rejected()
    if manifest is not None:
        assert Manifest.model_validate_json(manifest.model_dump_json()) == manifest


def check_import(kind: Format, folder: Path, data: bytes) -> None:
    """A file of another project's gives rows whose texts can be written, or problems."""
    findings = Findings()
    path = _written(folder, _ENDINGS.get(kind, kind), data)
    made = FORMATS[kind](path, findings, TOY, DEFAULT_OPTIONS)
    assert isinstance(made, Imported)
    texts = {row.prompt_id: row.responses for row in made.rows}
    for row in made.rows:
        json.dumps([row.prompt_id, row.prompt, row.responses, row.finish_reasons], ensure_ascii=False).encode()
    for prompt_id, (number, values) in made.reported.items():
        json.dumps(asdict(values), allow_nan=False)
        list(reported_problems(number, values, texts.get(prompt_id, ())))
    if made.rows:
        _manifest(made, path, kind, KNOWN, findings)
    assert all(p.check and p.message and p.hint for p in findings.problems)


def check_result(folder: Path, data: bytes) -> None:
    """A result, which is read again as it was, or the reason why it is none."""
    (folder / PER_PROMPT_FILE).write_bytes(b"a table")
    (folder / RESULT_FILE).write_bytes(data)
    result = read_result(folder)
    if isinstance(result, Missing):
        assert result.reason
    else:
        assert Result.model_validate_json(result.model_dump_json()) == result


def check_state(folder: Path, data: bytes) -> None:
    """A state of the queue, which is read again as it was, or the reason why it is none."""
    store = MemoryStore()
    path = f"states/{'0' * 16}.json"
    store.put(path, data)
    found = read_listing(store, store.head())
    assert len(found.states) + len(found.damaged) == 1
    for state in found.states:
        store.put(path, state.as_bytes())
        assert read_listing(store, store.head()).states == (state,)
        found.queue_position(state.submission_id, T0)
    assert all(each.reason and each.reason.isprintable() for each in found.damaged)


def check_commit(folder: Path, data: bytes) -> None:
    """A commit of a store in a folder: what its name says, or a `StoreFault`."""
    (folder / "commits").mkdir(exist_ok=True)
    commit = "0" * 40
    with suppress(ValueError, RecursionError, TypeError, KeyError):
        commit = str(json.loads(data)["id"])
    path = folder / "commits" / f"{commit if is_commit_id(commit) else '0' * 40}.json"
    path.write_bytes(data)
    with suppress(StoreFault):
        assert all(map(checked_path, FolderStore(folder).paths(path.stem)))
    path.unlink()


def check_inspect(folder: Path, data: bytes) -> None:
    """A log of Inspect's, read as by the process that reads logs, but in this one."""

    def here(module: str, asked: dict[str, Any], **limits: float) -> dict[str, Any]:
        said = inspect_reader.read(asked)
        assert json.loads(json.dumps(said)) == said
        return said

    with mock.patch.object(inspect_logs, "run_in_child", here):
        check_import("inspect", folder, data)


def check_vote(folder: Path, data: bytes) -> None:
    """A vote, which is read again as it was, or a `ValueError`."""
    with suppress(ValueError):
        vote = parsed_vote(data)
        assert parsed_vote(vote.as_line()) == vote


def check_ratings(ending: str, folder: Path, data: bytes) -> None:
    """What comes back from raters gives whole ratings, or is rejected."""
    study = _study()
    with suppress(Rejected):
        found = read_ratings(study, [_written(folder, ending, data)])
        most = {question.name: len(question.answers) for question in FORM_OF[study.form].questions}
        assert all(1 <= each.answer <= most[each.question] for each in found.ratings)
        assert {each.item for each in found.ratings} <= set(study.by_id())


def _written(folder: Path, ending: str, data: bytes) -> Path:
    path = folder / f"in.{ending}"
    path.write_bytes(data)
    return path


@cache
def _study() -> Study:
    sets = [RatedSet(f"set-{i}", f"Prompt {i}", (f"one {i}", f"two {i}")) for i in range(3)]
    return make_study("absolute", sets, raters_per_item=1, per_rater=3, seed=1)


PARSERS: dict[str, Check] = {
    "json": check_json,
    "parquet": check_parquet,
    "manifest": check_manifest,
    "jsonl": lambda folder, data: check_import("jsonl", folder, data),
    "csv": lambda folder, data: check_import("csv", folder, data),
    "noveltybench": lambda folder, data: check_import("noveltybench", folder, data),
    "lm-eval": lambda folder, data: check_import("lm-eval", folder, data),
    "openai-batch": lambda folder, data: check_import("openai-batch", folder, data),
    "result": check_result,
    "votes": check_vote,
    "states": check_state,
    "commits": check_commit,
    "inspect": check_inspect,
    "ratings": lambda folder, data: check_ratings("json", folder, data),
    "ratings-csv": lambda folder, data: check_ratings("csv", folder, data),
}
"""Parsers by name: each takes a folder to write in, and any bytes."""


def parser_seeds(target: str) -> list[bytes]:
    """Good bytes for a parser; those of *parquet* are the good files of submissions."""
    made: dict[str, Callable[[], list[bytes]]] = {
        "json": lambda: [*_lines(_plain()), toy_manifest().model_dump_json().encode()],
        "manifest": lambda: [toy_manifest().model_dump_json().encode()],
        "jsonl": lambda: [b"\n".join(_lines(_plain())), b"\n".join(_lines(_single()))],
        "csv": lambda: [_as_csv(_single())],
        "noveltybench": lambda: [b"\n".join(_lines(_noveltybench()))],
        "lm-eval": lambda: [b"\n".join(_lines(samples()[:2]))],
        "openai-batch": lambda: [b"\n".join(_lines([chat(row.prompt_id, *row.responses) for row in toy_rows()[:2]]))],
        "result": _results,
        "votes": lambda: [a_vote().as_line(), a_vote(check="self", expected="tie").as_line()],
        "states": lambda: [as_file(), as_file(history=[PENDING, CLAIMED]), as_file(history=[PENDING, CLAIMED, SCORED])],
        "commits": _commits,
        "inspect": lambda: [_inspect_log()],
        "ratings": lambda: [json.dumps(answered(_study(), 0)).encode()],
        "ratings-csv": lambda: [_as_csv([{"rater": "r", **each} for each in answered(_study(), 0)["answers"]])],
    }
    return made[target]()


def _commits() -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        store = FolderStore(Path(folder))
        made = store.commit("", {"states/a.json": b"{}", "results/a/result.json": b"[]"}, (), "two files")
        made = store.commit(made, {"b": b"x"}, ["states/a.json"], "one more")
        return [path.read_bytes() for path in sorted((Path(folder) / "commits").iterdir())]


def _inspect_log() -> bytes:
    """A log as Inspect writes it in JSON: in a zip file, a changed byte is a wrong checksum."""
    from tests.submissions.importing.test_import_inspect import sample, written

    with tempfile.TemporaryDirectory() as folder:
        samples = [sample(f"toy-{i}", epoch, f"Say thing {i}.", "x", "y") for i in range(2) for epoch in (1, 2)]
        return written(Path(folder) / "log.json", samples).read_bytes()


def _lines(rows: list[object]) -> list[bytes]:
    return [json.dumps(row).encode() for row in rows]


def _plain() -> list[object]:
    return [{"prompt_id": row.prompt_id, "prompt": row.prompt, "responses": row.responses} for row in toy_rows()[:2]]


def _single() -> list[object]:
    return [
        {"prompt_id": row.prompt_id, "response": text, "sample_idx": place, "temperature": 0.7}
        for row in toy_rows()[:2]
        for place, text in enumerate(row.responses)
    ]


def _noveltybench() -> list[object]:
    values = {
        "partition": [0, 1, 1],
        "distinct": 2,
        "generation_scores": [7.0, 3.0, 0.0],
        "partition_scores": [7.0, 3.0],
        "utility": 2.5,
    }
    return [
        {"id": row.prompt_id, "prompt": row.prompt, "generations": row.responses, **values} for row in toy_rows()[:2]
    ]


def _as_csv(rows: list[Any]) -> bytes:
    return pd.DataFrame(rows).to_csv(index=False).encode()


def _results() -> list[bytes]:
    """A result that ships with the package, with fewer metrics, and the digest of the table that the check writes."""
    document = json.loads(min(_SHIPPED.glob(f"*/{RESULT_FILE}")).read_bytes())
    document |= {"scores": document["scores"][:3], "per_prompt_sha256": hashlib.sha256(b"a table").hexdigest()}
    return [json.dumps(document).encode()]
