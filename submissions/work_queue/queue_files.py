"""Paths of the queue's files in a store, reading them as untrusted input, and changing them by one commit.

submissions/<id>/   manifest.json, generations.parquet, and reported.parquet where values came with the texts
states/<id>.json    what happened to it; see queue_schema.py
results/<id>/       result.json and per_prompt.parquet
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import ValidationError
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from datasets_build.errors import InputError
from submissions.storage.commits import Conflict
from submissions.storage.file_store import FileStore
from submissions.storage.submission_folders import GENERATIONS_FILE, MANIFEST_FILE, REPORTED_FILE
from submissions.untrusted.json_files import MAX_MANIFEST_BYTES, strict_json
from submissions.untrusted.limits import MAX_FILE_BYTES
from submissions.untrusted.plain_text import one_line
from submissions.work_queue.errors import DamagedState, QueueBusy, UnknownSubmission
from submissions.work_queue.schema import MAX_STATE_BYTES, Damaged, Listing, State

TRIES = 30
RESULT_FILES = ("result.json", "per_prompt.parquet")
SUBMISSION_FILES = (MANIFEST_FILE, GENERATIONS_FILE, REPORTED_FILE)  # the last need not be there

T = TypeVar("T")
_WAIT = wait_random_exponential(multiplier=0.05, max=2)  # all of it is jitter: who collided once should not again
_STATE = re.compile(r"states/([0-9a-f]{16})\.json")
_ID = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Step(Generic[T]):
    """What an operation has decided on one commit.

    Attributes:
        outcome: What it gives back when that is done.
        message: Of the commit to make.
        states: To write.
        files: To add, by path.
        gone: Paths to remove. Where nothing is to be written or removed there is no commit.
    """

    outcome: T
    message: str = ""
    states: tuple[State, ...] = ()
    files: Mapping[str, Path] = field(default_factory=dict)
    gone: tuple[str, ...] = ()

    def additions(self) -> dict[str, bytes | Path]:
        """What to commit, by path."""
        written = {state_path(state.submission_id): state.as_bytes() for state in self.states}
        return {**written, **self.files}


def change(store: FileStore, decide: Callable[[str], Step[T]]) -> T:
    """Look, decide and commit; where somebody else committed in between, look and decide again.

    Args:
        store: To change.
        decide: From the head to what is done about it. It may be asked often.

    Raises:
        QueueBusy: Others were faster each time.
        StoreFault: The store cannot be read or written.
    """

    def once() -> T:
        commit = store.head()
        step = decide(commit)
        add = step.additions()
        if add or step.gone:
            store.commit(commit, add, step.gone, step.message)
        return step.outcome

    retrying = Retrying(
        stop=stop_after_attempt(TRIES), wait=_WAIT, retry=retry_if_exception_type(Conflict), reraise=True
    )
    try:
        return retrying(once)
    except Conflict as error:
        raise QueueBusy(f"{store.address} changed during each of {TRIES} attempts", "retry later") from error


def checked_id(submission_id: str) -> str:
    """The id, if it can be one.

    Raises:
        UnknownSubmission: It cannot.
    """
    if not _ID.fullmatch(submission_id):
        message = f"{one_line(submission_id, 100)!r} is not a submission id"
        raise UnknownSubmission(message, "an id is 16 hex digits; see divbench submissions list")
    return submission_id


def state_path(submission_id: str) -> str:
    """Where the state of a submission lies."""
    return f"states/{submission_id}.json"


def submission_files(submission_id: str, folder: Path) -> dict[str, Path]:
    """The files of a submission folder by their paths in the store."""
    given = {f"submissions/{submission_id}/{file}": folder / file for file in SUBMISSION_FILES}
    return {path: file for path, file in given.items() if file.exists()}


def check_results(results: Mapping[str, Path]) -> None:
    """See that result folders have their files.

    Raises:
        InputError: One lacks a file.
    """
    for folder in results.values():
        for file in RESULT_FILES:
            if not (folder / file).is_file():
                raise InputError(f"there is no file {folder / file}", f"a result has {' and '.join(RESULT_FILES)}")


def new_results(store: FileStore, results: Mapping[str, Path], commit: str) -> dict[str, Path]:
    """The files of result folders by their paths in the store, without those of results that it has.

    A result is named by what it is of, so that one that is there is the same.
    """
    there = set(store.paths(commit, "results"))
    return {
        path: folder / file
        for result_id, folder in results.items()
        for file in RESULT_FILES
        if (path := f"results/{result_id}/{file}") not in there
    }


def read_state(store: FileStore, commit: str, submission_id: str) -> State:
    """The state of a submission in a commit.

    Raises:
        UnknownSubmission: There is none of that id.
        DamagedState: It cannot be read.
    """
    path = state_path(checked_id(submission_id))
    try:
        found = _read(store, commit, path)
    except FileNotFoundError as error:
        raise _unknown(submission_id, store.address) from error
    if isinstance(found, Damaged):
        raise damaged(found)
    return found


def read_listing(store: FileStore, commit: str) -> Listing:
    """All states of a commit, and what is damaged."""
    found = [_read(store, commit, path) for path in store.paths(commit, "states")]
    states = sorted((each for each in found if isinstance(each, State)), key=lambda s: (s.received, s.submission_id))
    return Listing(commit, tuple(states), tuple(each for each in found if isinstance(each, Damaged)))


def found_in(listing: Listing, submission_id: str, address: str) -> State:
    """The state of a submission among all.

    Args:
        listing: All.
        submission_id: Which.
        address: Of the store, for messages.

    Raises:
        UnknownSubmission: There is none of that id.
        DamagedState: It cannot be read.
    """
    path = state_path(checked_id(submission_id))
    for state in listing.states:
        if state.submission_id == submission_id:
            return state
    for each in listing.damaged:
        if each.path == path:
            raise damaged(each)
    raise _unknown(submission_id, address)


def _unknown(submission_id: str, address: str) -> UnknownSubmission:
    message = f"{address} has no submission {submission_id}"
    return UnknownSubmission(message, "see divbench submissions list")


def damaged(found: Damaged) -> DamagedState:
    """What is raised for a damaged state."""
    return DamagedState(f"{found.path} is damaged: {found.reason}", "ask the service's operator to repair or remove it")


def _read(store: FileStore, commit: str, path: str) -> State | Damaged:
    """A state, whatever its file holds."""
    named = _STATE.fullmatch(path)
    if named is None:
        return Damaged(path, "not the name of a state file")
    try:
        text = store.read(commit, path, MAX_STATE_BYTES).decode("utf-8")
        strict_json(text)  # pydantic's parser takes the last of repeated keys
        state = State.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        return Damaged(path, one_line(f"{'.'.join(map(str, first['loc'])) or 'the whole'}: {first['msg']}"))
    except InputError as error:
        return Damaged(path, one_line(str(error)))
    except (ValueError, RecursionError) as error:
        return Damaged(path, one_line(f"not JSON: {error}"))
    if state.submission_id != named[1]:
        return Damaged(path, f"it belongs to another submission, {state.submission_id}")
    return state


def result_paths(state: State) -> list[str]:
    """Where the results of a submission lie in the store of results; those of a withdrawn one were taken out."""
    return [] if state.current.state == "withdrawn" else all_result_paths(state)


def all_result_paths(state: State) -> list[str]:
    """Where the results of a submission lie, or lay before it was withdrawn."""
    return [f"results/{result_id}/{file}" for result_id in state.results for file in RESULT_FILES]


def fetch(store: FileStore, submission_id: str, target: Path) -> None:
    """Copy the files of a submission into an existing folder, to be checked there as untrusted input.

    Raises:
        UnknownSubmission: The store has none of that id, or it lacks a file.
        InputError: A file is larger than is taken.
        StoreFault: The store cannot be read.
    """
    under = f"submissions/{checked_id(submission_id)}"
    commit = store.head()
    there = set(store.paths(commit, under))
    for file in SUBMISSION_FILES:
        path = f"{under}/{file}"
        if path in there:
            store.fetch(commit, path, target / file, MAX_MANIFEST_BYTES if file == MANIFEST_FILE else MAX_FILE_BYTES)
        elif file != REPORTED_FILE:
            raise UnknownSubmission(f"{store.address} has no {path}", "submit it again")
