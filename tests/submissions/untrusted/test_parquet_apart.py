"""Whatever a Parquet file does to the process that reads it, the caller goes on, and is told why there are no rows."""

import errno
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from submissions.schema import GENERATIONS
from submissions.untrusted import parquet_files, parquet_reader, table_files
from submissions.untrusted.findings import Findings
from submissions.untrusted.limited_process import environment, limit
from submissions.untrusted.parquet_files import ParquetTable, open_parquet, read_parquet
from submissions.untrusted.table_files import read_table
from tests.cases import each
from tests.conftest import write_toy
from tests.submissions.conftest import places
from tests.submissions.crafted import file_of, generations, toy_chunks

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")

# In the process that reads, a file does what its first bytes say.
DOES = """
import os, signal, socket, sys, time
if sys.argv[:1] == ["-m"]:
    import pyarrow.parquet as pq
    alarm = signal.alarm
    signal.alarm = lambda seconds: alarm(1)
    does = {
        b"sound": lambda source: right(source),
        b"crash": lambda source: os.kill(os.getpid(), signal.SIGSEGV),
        b"abort": lambda source: print("terminate called", file=sys.stderr, flush=True) or os.abort(),
        b"leave": lambda source: print("gone", file=sys.stderr, flush=True) or os._exit(3),
        b"sleep": lambda source: time.sleep(60),
        b"heavy": lambda source: bytearray(2**40),
        b"opens": lambda source: open("/etc/hostname"),
        b"calls": lambda source: socket.socket(),
        b"write": lambda source: open("was-written", "w"),
        b"starts": lambda source: os.popen("true"),
        b"secret": lambda source: exec("raise OSError(repr([k for k, v in os.environ.items() if 'hush' in v]))"),
        b"full": lambda source: exec("raise OSError(28, 'No space left on device')"),
    }
    right = pq.ParquetFile
    def patched(source, **options):
        word = source.read(6).strip()
        source.seek(0)
        return does.get(word, right)(source) if word in does else right(source, **options)
    pq.ParquetFile = patched
"""
SAID = {
    "crash": ("limits", "reading it ended its process by SIGSEGV"),
    "abort": ("limits", "reading it ended its process by SIGABRT"),
    "leave": ("limits", "reading it ended its process with status 3: 'gone'"),
    "sleep": ("limits", "reading it took too much time"),
    "heavy": ("sizes", "takes too much memory"),
    "opens": ("parquet", "Too many open files"),
    "calls": ("parquet", "Too many open files"),
    "write": ("parquet", "Too many open files"),
    "starts": ("parquet", "Too many open files"),
    "secret": ("parquet", "['HARMLESS']"),
}


@pytest.fixture
def own_reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A reader of this test alone, started with its environment."""
    monkeypatch.setattr(parquet_files, "_server", cache(parquet_files._server.__wrapped__))
    yield
    parquet_files._server().close()


def rows_of(table: ParquetTable | None, findings: Findings) -> list[dict[str, Any]]:
    return [] if table is None else [row for _, row in table.rows(findings)]


@pytest.mark.usefixtures("own_reader")
def test_what_a_file_does_to_its_reader_is_a_refusal_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(DOES)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for name in ("HF_TOKEN", "aws_secret_access_key", "HARMLESS"):
        monkeypatch.setenv(name, "hush")
    path = tmp_path / "x.parquet"
    for word, (check, message) in SAID.items():
        path.write_bytes(word.ljust(6).encode() + bytes(9))
        findings = Findings()
        assert read_parquet(path, findings) is None
        (problem,) = findings.problems
        assert (problem.check, problem.message) == (check, f"not a valid Parquet file: {message}"), word
        assert problem.hint
        good = Findings()  # and the next file is read as if nothing had been
        assert len(rows_of(open_parquet(SAMPLE, GENERATIONS, good), good)) == 4, word
    assert not (tmp_path / "was-written").exists()
    path.write_bytes(b"full  " + bytes(9))
    with pytest.raises(OSError, match="No space left on device") as caught:  # not the file's fault
        read_parquet(path, Findings())
    assert caught.value.errno == errno.ENOSPC


SAMPLE = Path(__file__).parents[1] / "samples" / "duckdb-v2.parquet"


@pytest.mark.usefixtures("own_reader")
def test_a_reader_that_somebody_ended_is_started_again() -> None:
    for _ in range(2):
        assert read_parquet(SAMPLE, Findings()) is not None
        parquet_files._server().shutdown(socket.SHUT_RDWR)  # it ends as soon as nobody can ask it
    assert read_parquet(SAMPLE, Findings()) is not None


@pytest.mark.usefixtures("own_reader")
def test_many_may_ask_at_once_and_each_gets_its_own_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text(DOES)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    for word in ("leave", "sleep"):
        (tmp_path / word).write_bytes(word.ljust(6).encode() + bytes(9))
    asked = ["sleep", *["leave", SAMPLE] * 60]

    def answer(name: str | Path) -> tuple[int, list[str]]:
        findings = Findings()
        rows = rows_of(read_parquet(tmp_path / name, findings), findings)
        return len(rows), [problem.message for problem in findings.problems]

    with ThreadPoolExecutor(8) as threads:
        found = [*threads.map(answer, asked)]
    refused = {word: (0, [f"not a valid Parquet file: {SAID[word][1]}"]) for word in ("leave", "sleep")}
    assert found == [refused.get(str(name), (4, [])) for name in asked]


def test_more_metadata_than_a_schema_needs_is_rejected(tmp_path: Path) -> None:
    # Of 70 MB an earlier reader's answer was cut, and its caller raised.
    with pq.ParquetWriter(tmp_path / "x.parquet", GENERATIONS, store_schema=False) as writer:
        writer.write_table(pa.Table.from_pylist([], schema=GENERATIONS))
        writer.add_key_value_metadata({"x": "x" * 33 * 2**20})
    findings = Findings()
    assert read_parquet(tmp_path / "x.parquet", findings) is None
    assert "a schema of more than 33,554,432 bytes" in findings.problems[0].message


def test_rows_beyond_the_limits_are_rejected_and_none_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"prompt_id": str(i), "responses": ["x" * 1000]} for i in range(1000)]
    path = tmp_path / "x.parquet"
    pq.write_table(pa.Table.from_pylist(rows, schema=GENERATIONS), path, row_group_size=300)
    findings = Findings()
    assert len(rows_of(open_parquet(path, GENERATIONS, findings), findings)) == 1000
    assert rows_of(open_parquet(path, GENERATIONS, findings, limit=500_000), findings) == []
    assert places(findings.problems) == [("sizes", 257, "")]  # a batch of 256 is within it
    assert findings.problems[0].message == "cannot be read after row 256: more than 500,000 bytes when decoded"


def test_batches_are_small_and_plain(tmp_path: Path) -> None:
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 100, pa.int32()), pa.array(["x" * 2**20]))
    pq.write_table(pa.table({"a": texts, "b": pa.array([[1.5]] * 100, pa.list_(pa.float32(), 1))}), tmp_path / "x")
    table = read_parquet(tmp_path / "x", Findings())
    assert table is not None
    batches = list(table.batches(Findings()))
    assert sum(batch.num_rows for batch in batches) == table.count == 100
    assert max(batch.nbytes for batch in batches) <= parquet_reader.BATCH_BYTES
    assert batches[0].schema == pa.schema([("a", pa.string()), ("b", pa.list_(pa.float32()))])


@each("name", ["a", "a.b", "é.list.element", "", "list", "\x1b"])
def test_a_bomb_in_a_table_is_found_whatever_its_column_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    # pyarrow names columns by paths with dots. What it did not find under its name would be decoded.
    monkeypatch.setattr(table_files, "MAX_KEPT_BYTES", 2**22)
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 2000, pa.int32()), pa.array(["x" * 2**14]))
    pq.write_table(pa.table([texts], names=[name]), tmp_path / "x.parquet", store_schema=False)
    findings = Findings()
    made = read_table(tmp_path / "x.parquet", [name], findings)
    assert made is None or made.rows == ()
    assert places(findings.problems) == [("sizes", 1, "")]
    assert "more than 4,194,304 bytes when decoded" in findings.problems[0].message


def test_columns_that_are_not_asked_for_are_not_read(tmp_path: Path) -> None:
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 2000, pa.int32()), pa.array(["x" * 2**20]))
    pq.write_table(pa.table([pa.array(range(2000)), texts], names=["a", "b"]), tmp_path / "x.parquet")
    findings = Findings()
    made = read_table(tmp_path / "x.parquet", ["a"], findings)
    assert made is not None
    assert (len(made.rows), findings.problems) == (2000, [])


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_caller_takes_no_memory_for_what_it_does_not_look_at(tmp_path: Path) -> None:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 500, pa.int32()), pa.array(["x" * 2**20]))
    pq.write_table(pa.table([texts], names=["a"]), tmp_path / "x.parquet")
    read_parquet(SAMPLE, Findings())
    before = resident()
    table = read_parquet(tmp_path / "x.parquet", Findings())
    assert table is not None
    assert resident() - before < 50 * 2**20  # of 500


def test_files_made_by_hand_are_read_by_pyarrow_too(tmp_path: Path) -> None:
    for number, data in ((4, generations()), (2, file_of(toy_chunks(2), rows=2))):
        (tmp_path / "x.parquet").write_bytes(data)
        ids = pq.read_table(tmp_path / "x.parquet").column("prompt_id").to_pylist()
        assert ids == [f"toy-{i}" for i in range(number)]


def test_a_link_that_leads_away_after_the_check_is_read_as_nothing_else(tmp_path: Path) -> None:
    path = write_toy(tmp_path / "toy") / "generations.parquet"
    table = open_parquet(path, GENERATIONS, Findings())
    path.unlink()  # what was read stays
    assert len(rows_of(table, Findings())) == 4


def test_macos_which_refuses_limits_of_address_space_is_not_asked_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    limited: list[int] = []
    monkeypatch.setattr(resource, "setrlimit", lambda kind, _: limited.append(kind))
    for platform, expected in (("linux", True), ("darwin", False)):
        monkeypatch.setattr(sys, "platform", platform)
        limited.clear()
        limit(2**32, 1, 1, files=0)
        assert resource.RLIMIT_CPU in limited
        assert (resource.RLIMIT_AS in limited) == expected


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="there is no list of threads")
def test_the_process_that_forks_has_one_thread() -> None:
    code = f"import os, {parquet_reader.__name__}; print(len(os.listdir('/proc/self/task')))"
    ended = subprocess.run(
        [sys.executable, "-P", "-c", code], env=environment(), capture_output=True, encoding="utf-8", check=True
    )
    assert ended.stdout == "1\n"
