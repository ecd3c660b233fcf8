"""Repair a store after damage to its files: what can be rebuilt is, and the rest is named, or removed if asked."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from datasets_build.load import load_suite
from divbench.core.errors import InputError
from submissions.checking.validate import open_checked, validate_in_child
from submissions.storage.file_store import FileStore, FolderStore
from submissions.untrusted.findings import MAX_FILE_BYTES
from submissions.work_queue import operations, queue_files, schema, signatures

Fault = tuple[str, str]  # a path, and what is wrong with it


def repair(
    store: FileStore,
    by: str,
    now: datetime,
    *,
    drop: bool = False,
    results_store: FileStore | None = None,
    mirror: Path | None = None,
) -> Iterator[str]:
    """Repair a store, and yield what was done or remains to be done, one line each; nothing if all is intact.

    A lost head is set to the last intact commit; a damaged state is rebuilt as pending from its submission; what has
    damaged results waits to be scored again. A submission with damaged files stays until it is submitted again, unless
    `drop` removes it with its state and results. All files are read.
    """
    user, commit = schema.Identity(name=by), store.restore() if isinstance(store, FolderStore) else None
    operations.check_key(store)
    if commit is not None:
        yield f"HEAD is set to {commit}, the last intact commit; later changes are lost, and claims are released"
        claims = [state.submission_id for state in operations.states(store) if state.current.state == "claimed"]
        for name in claims:
            operations.retry(store, name, user, now, reason="the store was restored", of=("claimed",))
    listing = queue_files.read_listing(store, store.head())
    for damaged in listing.damaged:
        yield _rebuilt(store, damaged, by, now, mirror)
    place = store if results_store is None else results_store
    for state in listing.states:
        name = state.submission_id
        files = store.paths(listing.commit, f"submissions/{name}")
        if lost := next(_faults(store, listing.commit, files), None):
            if drop:
                _remove(store, (*files, queue_files.state_path(name), *queue_files.all_result_paths(state)), by, name)
            todo = "removed" if drop else "submit it again, or remove it by --drop"
            yield f"{name} ({state.name}): {lost[1]}; {todo}"
        elif state.current.state == "scored" and (lost := next(_result_faults(place, state), None)):
            yield f"{name} ({state.name}): {lost[1]}; it waits to be scored again"
            operations.retry(store, name, user, now, reason=lost[1], of=("scored",))


def _faults(store: FileStore, commit: str, paths: list[str]) -> Iterator[Fault]:
    for path in paths:
        try:
            store.read(commit, path, MAX_FILE_BYTES)
        except (InputError, FileNotFoundError) as error:
            yield path, error.message if isinstance(error, InputError) else f"{path} is missing"


def _result_faults(store: FileStore, state: schema.State) -> Iterator[Fault]:
    commit = store.head()
    yield from _faults(store, commit, queue_files.all_result_paths(state))
    for result_id, digest in state.digests.items():
        path = queue_files.paths_of_result(result_id)[0]
        if signatures.result_digest(store.read(commit, path, MAX_FILE_BYTES)) != digest:
            yield path, f"{path} is not what the service computed"


def _rebuilt(store: FileStore, damaged: schema.DamagedState, by: str, now: datetime, mirror: Path | None) -> str:
    """Replace a damaged state by one that waits, or remove it if its submission is not intact."""
    name = queue_files.id_of_state(damaged.path)
    files = [] if name is None else store.paths(store.head(), f"submissions/{name}")
    if name is not None and files:
        try:
            with TemporaryDirectory() as folder:
                queue_files.fetch(store, name, Path(folder))
                report = validate_in_child(Path(folder), mirror=mirror)
                if report["accepted"] and report["id"] == name:
                    submission, _ = open_checked(Path(folder), report, lambda suite: load_suite(suite, mirror))
                    operations.adopt(store, submission, by, now, overwrite=True)
                    return f"{damaged.path} is rebuilt from its submission, which waits to be scored"
        except (InputError, schema.UnknownSubmission):
            pass
    _remove(store, (damaged.path, *files), by, damaged.path)
    return f"{damaged.path} is removed: it has no intact submission, which can be submitted again"


def _remove(store: FileStore, paths: tuple[str, ...], by: str, what: str) -> None:
    def decide(commit: str) -> queue_files.Step[None]:
        present = set(store.paths(commit))
        return queue_files.Step(None, f"repair {what} by {by}", removed=tuple(p for p in paths if p in present))

    queue_files.change(store, decide)
