"""Read the queue's files from a store as untrusted input, and change them in one commit. Their paths:

submissions/<id>/   manifest.json, generations.parquet, and reported.parquet if values were submitted with the texts
states/<id>.json    its state and history; see schema.py
results/<id>/       result.json and per_prompt.parquet
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from divbench.core.errors import ConfigurationError, InputError
from submissions.storage.file_store import ATTEMPTS, Conflict, FileStore, folders_of, retrying_conflicts
from submissions.storage.submission_folders import GENERATIONS_FILE, MANIFEST_FILE, MAX_MANIFEST_BYTES, REPORTED_FILE
from submissions.untrusted.findings import MAX_FILE_BYTES
from submissions.untrusted.json_files import strict_model
from submissions.untrusted.plain_text import one_line
from submissions.work_queue import schema, signatures

RESULT_FILES = ("result.json", "per_prompt.parquet")
SUBMISSION_FILES = (MANIFEST_FILE, GENERATIONS_FILE, REPORTED_FILE)  # the last is optional

T = TypeVar("T")

_STATE = re.compile(r"states/([0-9a-f]{16})\.json")
_ID = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Step(Generic[T]):
    """Decision of an operation on one commit. If nothing is to be written or removed, no commit is made."""

    outcome: T
    message: str = ""
    states: tuple[schema.State, ...] = ()
    files: Mapping[str, Path] = field(default_factory=dict)
    removed: tuple[str, ...] = ()

    def additions(self) -> dict[str, bytes | Path]:
        """Return what to write, by path."""
        written = {state_path(state.submission_id): _signed(state) for state in self.states}
        return {**written, **self.files}


def _signed(state: schema.State) -> bytes:
    """Return the content of a state's file, signed if this service has a key."""
    if (key := signatures.service_key()) is not None:
        signature = signatures.signature_of(state.model_dump(mode="json"), key)
        return state.model_copy(update={"signature": signature}).as_bytes()
    if state.signature is not None:
        hint = f"set {signatures.KEY_VARIABLE} to the key of the service"
        raise ConfigurationError(f"the state of {state.submission_id} is signed, and you have no key", hint)
    return state.as_bytes()


def change(store: FileStore, decide: Callable[[str], Step[T]]) -> T:
    """Read the head, decide and commit; if another commit came first, start again."""

    def once() -> T:
        commit = store.head()
        step = decide(commit)
        add = step.additions()
        if add or step.removed:
            try:
                store.commit(commit, add, step.removed, step.message)
            except InputError:
                if not (blocking := _in_the_way(store.paths(commit), add)):
                    raise
                store.commit(commit, add, {*step.removed, *blocking}, step.message)
        return step.outcome

    try:
        return retrying_conflicts()(once)
    except Conflict as error:
        raise schema.QueueBusy(f"{store.address} changed during each of {ATTEMPTS} attempts", "retry later") from error


def _in_the_way(paths: Sequence[str], add: Mapping[str, object]) -> list[str]:
    """Return the files where folders must be, and those in folders where files must be, as a pull request may have."""
    folders = {folder for path in add for folder in folders_of(path)}
    return [path for path in paths if path in folders or not add.keys().isdisjoint(folders_of(path))]


def checked_id(submission_id: str) -> str:
    """Return a submission's id if it is well-formed."""
    if not _ID.fullmatch(submission_id):
        message = f"{one_line(submission_id, 100)!r} is not a submission id"
        raise schema.UnknownSubmission(message, "an id is 16 hex digits; see divbench submissions list")
    return submission_id


def id_of_state(path: str) -> str | None:
    """Return the id of the submission whose state has a path; None if it is no such path."""
    return match[1] if (match := _STATE.fullmatch(path)) else None


def state_path(submission_id: str) -> str:
    """Return the path of a submission's state."""
    return f"states/{submission_id}.json"


def submission_files(submission_id: str, folder: Path) -> dict[str, Path]:
    """Return the files of a submission folder by their paths in the store."""
    files = {f"submissions/{submission_id}/{file}": folder / file for file in SUBMISSION_FILES}
    return {path: file for path, file in files.items() if file.exists()}


def check_results(results: Mapping[str, Path]) -> None:
    """Check that result folders have their files."""
    for folder in results.values():
        for file in RESULT_FILES:
            if not (folder / file).is_file():
                raise InputError(f"there is no file {folder / file}", f"a result has {' and '.join(RESULT_FILES)}")


def result_files(results: Mapping[str, Path]) -> dict[str, Path]:
    """Return the files of result folders by their paths in the store, where they replace whatever is there.

    A result's id follows from its input, so anyone can compute it and put other files there first.
    """
    return {f"results/{key}/{file}": folder / file for key, folder in results.items() for file in RESULT_FILES}


def publish_apart(
    store: FileStore,
    results_store: FileStore,
    submission_id: str,
    results: Mapping[str, Path],
    message: str,
    conclude: Callable[[], schema.State],
) -> schema.State:
    """Publish results in a store of their own, then conclude, so that no state names a result that does not exist.

    If the submission is withdrawn in between, which finds none of these results, they are removed here.
    """
    change(results_store, lambda commit: Step(None, message, files=result_files(results)))
    try:
        return conclude()
    except schema.QueueError:
        states = read_listing(store, store.head()).states
        if any(state.submission_id == submission_id and state.current.state == "withdrawn" for state in states):
            published = {path for result_id in results for path in paths_of_result(result_id)}
            kept = {path for state in states for path in result_paths(state)}
            remove_results(results_store, published - kept, message)
        raise


def remove_results(results_store: FileStore, paths: Set[str], message: str) -> None:
    """Remove those of the files of results that are there."""

    def decide(commit: str) -> Step[None]:
        return Step(None, message, removed=tuple(sorted(paths & {*results_store.paths(commit, "results")})))

    change(results_store, decide)


def read_state(store: FileStore, commit: str, submission_id: str) -> schema.State:
    """Read the state of a submission in a commit."""
    try:
        return _read(store, commit, state_path(checked_id(submission_id)))
    except FileNotFoundError as error:
        raise _unknown(submission_id, store.address) from error


def read_listing(store: FileStore, commit: str) -> schema.Listing:
    """Read all states of a commit, and list the damaged ones."""
    states: list[schema.State] = []
    damaged: list[schema.DamagedState] = []
    for path in store.paths(commit, "states"):
        try:
            states.append(_read(store, commit, path))
        except schema.DamagedState as error:
            damaged.append(error)
    return schema.Listing(commit, tuple(sorted(states, key=lambda s: (s.received, s.submission_id))), tuple(damaged))


def found_in(listing: schema.Listing, submission_id: str, address: str) -> schema.State:
    """Return the state of a submission in a listing."""
    path = state_path(checked_id(submission_id))
    for state in listing.states:
        if state.submission_id == submission_id:
            return state
    for error in listing.damaged:
        if error.path == path:
            raise error
    raise _unknown(submission_id, address)


def _unknown(submission_id: str, address: str) -> schema.UnknownSubmission:
    hint = "see divbench submissions list; a pull request is listed once it is merged and a worker has found it"
    return schema.UnknownSubmission(f"{address} has no submission {submission_id}", hint)


def _read(store: FileStore, commit: str, path: str) -> schema.State:
    """Read a state from an untrusted file."""
    name = _STATE.fullmatch(path)
    if name is None:
        raise schema.DamagedState(path, "not the name of a state file")
    try:
        content = store.read(commit, path, schema.MAX_STATE_BYTES)
        state = strict_model(content, schema.State.model_validate_json)
        flaw = signatures.flaw_of(json.loads(content))
    except (InputError, ValueError) as error:
        raise schema.DamagedState(path, one_line(str(error))) from error
    if state.submission_id != name[1]:
        flaw = f"it belongs to another submission, {state.submission_id}"
    if flaw is not None:
        raise schema.DamagedState(path, flaw)
    return state


def result_paths(state: schema.State) -> list[str]:
    """Return the paths of a submission's results in the store of results; none if it was withdrawn."""
    return [] if state.current.state == "withdrawn" else all_result_paths(state)


def all_result_paths(state: schema.State) -> list[str]:
    """Return the paths of a submission's results, even if it was withdrawn."""
    return [path for result_id in state.results for path in paths_of_result(result_id)]


def paths_of_result(result_id: str) -> list[str]:
    """Return the paths of one result in the store of results."""
    return [f"results/{result_id}/{file}" for file in RESULT_FILES]


def fetch(store: FileStore, submission_id: str, target: Path, commit: str | None = None) -> None:
    """Copy the files of a submission into an existing folder. They are untrusted until checked there."""
    under = f"submissions/{checked_id(submission_id)}"
    commit = store.head() if commit is None else commit
    existing = set(store.paths(commit, under))
    for file in SUBMISSION_FILES:
        path = f"{under}/{file}"
        if path in existing:
            store.fetch(commit, path, target / file, MAX_MANIFEST_BYTES if file == MANIFEST_FILE else MAX_FILE_BYTES)
        elif file != REPORTED_FILE:
            raise schema.UnknownSubmission(f"{store.address} has no {path}", "submit it again")
