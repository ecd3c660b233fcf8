"""Journal of a sampling run: an SQLite file beside the output that survives a kill.

A prompt is stored with all its responses or not at all. The error of a prompt is kept until the prompt has its
responses. The file records the settings of its run, so that a run with other settings does not resume it.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from filelock import FileLock, Timeout

from benchmark.generation.prompting import Sampled
from datasets_build.schema import Prompt
from divbench.core.errors import ConfigurationError
from divbench.core.files import canonical_json, content_id

_PROMPTS = "content of the prompts"
_TABLES = (
    "CREATE TABLE IF NOT EXISTS plan (one INTEGER PRIMARY KEY CHECK (one = 1), plan TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS answers (item TEXT PRIMARY KEY, answers TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS errors (item TEXT PRIMARY KEY, reason TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS internals (item TEXT PRIMARY KEY, row TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS told (name TEXT PRIMARY KEY, value TEXT NOT NULL)",  # about the run
)


@dataclass(frozen=True, slots=True)
class PromptSamples:
    """The sampled responses to one prompt."""

    samples: tuple[Sampled, ...]  # [K], the responses
    greedy: Sampled | None = None  # additional response by greedy decoding; None if not requested


def contents_of(prompts: Iterable[Prompt]) -> dict[str, str]:
    """Return a hash of the content of each prompt, by id."""
    return {prompt.prompt_id: content_id([prompt.prompt, *prompt.paraphrases]) for prompt in prompts}


class Journal:
    """The journal of one run at a time; see `open_journal`."""

    def __init__(self, path: Path, database: sqlite3.Connection) -> None:
        self.path = path
        self._database = database

    def begin(self, plan: Mapping[str, Any], prompts: Mapping[str, str] | None = None) -> None:
        """Record the settings of this run, replacing those of an earlier run without responses."""
        text = canonical_json(dict(plan)).decode()
        row = self._database.execute("SELECT plan FROM plan").fetchone()
        if row is not None and row[0] == text:
            return
        if row is None or not self._has("answers", "internals"):
            with self._database:
                for table in ("plan", "errors", "told"):
                    self._database.execute(f"DELETE FROM {table}")  # noqa: S608 - the names above
                self._database.execute("INSERT INTO plan VALUES (1, ?)", (text,))
            if prompts:
                self.tell(_PROMPTS, json.dumps(dict(prompts)))
        else:
            before = json.loads(row[0])
            differs = sorted(key for key in {*before, *plan} if before.get(key) != json.loads(text).get(key))
            if differs == ["prompts"] and prompts and self._lacks_only_failed(prompts):
                with self._database:
                    self._database.execute("UPDATE plan SET plan = ?", (text,))
                    removed = [(item,) for item in self.errors().keys() - prompts.keys()]
                    self._database.executemany("DELETE FROM errors WHERE item = ?", removed)
                return
            shown = "; ".join(f"{key} {before.get(key)!r}, now {plan.get(key)!r}" for key in differs)
            raise ConfigurationError(
                f"{self.path} has responses of a run with other settings: {shown}",
                f"use the same options to resume that run, choose another --out, or remove {self.path} to discard it",
            )

    def _lacks_only_failed(self, prompts: Mapping[str, str]) -> bool:
        """Return whether all prompts are those of the earlier runs, without some that have no responses."""
        known: dict[str, str] = json.loads(self.told(_PROMPTS) or "{}")
        return prompts.items() <= known.items() and self.done() <= prompts.keys()

    def _has(self, *tables: str) -> bool:
        rows = (self._database.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() for table in tables)  # noqa: S608
        return any(row is not None for row in rows)

    @property
    def blank(self) -> bool:
        """Whether the file has nothing worth keeping."""
        return not self._has("answers", "errors", "internals")

    def tell(self, name: str, value: str) -> None:
        """Keep a value for the runs that resume this one."""
        with self._database:
            self._database.execute("INSERT OR REPLACE INTO told VALUES (?, ?)", (name, value))

    def told(self, name: str) -> str | None:
        """Return the value that an earlier run kept under a name."""
        row = self._database.execute("SELECT value FROM told WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def done(self) -> set[str]:
        """Return the prompts that have all their responses."""
        return {row[0] for row in self._database.execute("SELECT item FROM answers")}

    def read(self) -> set[str]:
        """Return the prompts that have internals."""
        return {row[0] for row in self._database.execute("SELECT item FROM internals")}

    def errors(self) -> dict[str, str]:
        """Return the errors of prompts, by prompt."""
        return dict(self._database.execute("SELECT item, reason FROM errors ORDER BY item").fetchall())

    def put(self, item: str, samples: PromptSamples) -> None:
        """Keep a prompt's responses and forget its error."""
        text = json.dumps(asdict(samples))
        with self._database:
            self._database.execute("INSERT INTO answers VALUES (?, ?)", (item, text))
            self._database.execute("DELETE FROM errors WHERE item = ?", (item,))

    def put_error(self, item: str, reason: str) -> None:
        """Keep the error of a prompt."""
        with self._database:
            self._database.execute("INSERT OR REPLACE INTO errors VALUES (?, ?)", (item, reason))

    def put_internals(self, rows: Mapping[str, Mapping[str, Any]]) -> None:
        """Keep the internals of prompts, as rows of the internals file."""
        with self._database:
            values = [(item, json.dumps(dict(row))) for item, row in rows.items()]
            self._database.executemany("INSERT OR REPLACE INTO internals VALUES (?, ?)", values)

    def samples_of(self, item: str) -> PromptSamples:
        """Return the responses of a finished prompt."""
        row = self._database.execute("SELECT answers FROM answers WHERE item = ?", (item,)).fetchone()
        try:
            document = json.loads(row[0])
            greedy = document["greedy"]
            return PromptSamples(
                tuple(map(_sampled, document["samples"])), None if greedy is None else _sampled(greedy)
            )
        except (ValueError, TypeError, LookupError) as error:
            raise sqlite3.DatabaseError(f"the responses to {item} are damaged") from error

    def internals(self, item: str) -> dict[str, Any]:
        """Return the internals of a prompt."""
        (text,) = self._database.execute("SELECT row FROM internals WHERE item = ?", (item,)).fetchone()
        row: dict[str, Any] = json.loads(text)
        return row


@contextmanager
def open_journal(path: Path) -> Iterator[Journal]:
    """Open the journal at a path, creating it if needed; an empty one is removed at the end."""
    lock = FileLock(path.with_name(f"{path.name}.lock"))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=path.parent):  # a lock in a folder that takes no files looks like one that is held
            pass
        lock.acquire(timeout=0)
    except Timeout as error:
        raise ConfigurationError(f"another run is using {path}", "wait for it, or choose another --out") from error
    except OSError as error:
        hint = "choose another --out, or check the folder's permissions"
        raise ConfigurationError(f"the folder {path.parent} cannot be written: {error.strerror}", hint) from error
    try:
        database = sqlite3.connect(path, timeout=60, check_same_thread=False)  # samplers call it from their own threads
        blank = False
        try:
            for table in _TABLES:
                database.execute(table)
            journal = Journal(path, database)
            try:
                yield journal
            finally:
                blank = journal.blank
        finally:
            database.close()
            if blank:
                remove_journal(path)
    except sqlite3.Error as error:
        hint = "check the disk and the file's permissions, or remove it to start again"
        raise ConfigurationError(f"{path} cannot be used: {error}", hint) from error
    finally:
        # Before the lock is released: a process that has opened the file then sees that it is gone, and makes another.
        with suppress(PermissionError):  # Windows removes no open file; filelock removes it there
            path.with_name(f"{path.name}.lock").unlink(missing_ok=True)
        lock.release()


def remove_journal(path: Path) -> None:
    """Remove a journal after its content has been written to the output."""
    for ending in ("", "-journal"):
        path.with_name(path.name + ending).unlink(missing_ok=True)


def _sampled(document: dict[str, Any]) -> Sampled:
    ids = document["ids"]
    lists = {"reasoning_ids": tuple(document["reasoning_ids"]), "ids": None if ids is None else tuple(ids)}
    return Sampled(**document | lists)
