"""Pull requests with forged states, claims and results: none is published or blocks the others, and each is listed."""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchmark.scoring import shards
from benchmark.service import fetch
from benchmark.service.lease import Stop
from benchmark.service.worker import rescore, work
from divbench.core.errors import ConfigurationError
from leaderboard.data.sources import StoreSource
from submissions.storage.file_store import FileStore, FolderStore
from submissions.work_queue import operations, signatures
from submissions.work_queue.pull_requests import check_pull_request
from submissions.work_queue.queue_files import submission_files
from tests.benchmark.run_worker import checked_here, worker
from tests.cases import each
from tests.submissions.queueing import T0
from tests.submissions.stores import hub_store, running_hub
from tests.submissions.working import demo, submit_kept

Files = dict[str, bytes]
KEY = "a key that only the service has"
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # by the Hub's client


@dataclass(frozen=True)
class Service:
    """A store with a scored submission and a pending one, what honest workers make of it, and an attacker's files."""

    folder: Path
    scored: str
    pending: str
    mine: str  # id of the attacker's submission
    files: Files  # the attacker's submission
    states: dict[str, dict[str, Any]]  # as an honest worker writes them, by id
    results: dict[str, Files]  # the same, by id of the submission
    numbers: dict[str, float | None]  # on the board, by id of the submission

    def forged(self, submission_id: str) -> Files:
        """The result of a submission under its true id, with other numbers and another table."""
        files = {
            path: content.replace(b'"value":', b'"value":9') for path, content in self.results[submission_id].items()
        }
        assert files != self.results[submission_id]
        return files

    def state(self, submission_id: str, **changes: Any) -> Files:
        """The state of a submission with other values, as JSON."""
        return {f"states/{submission_id}.json": json.dumps(self.states[submission_id] | changes).encode()}

    def claimed(self, submission_id: str) -> Files:
        """The state of a submission that a worker claims until 2999."""
        at = self.states[submission_id]["received"]
        first = {"state": "pending", "at": at, "by": "me", "attempt": 1}
        claim = first | {"state": "claimed", "lease_until": "2999-01-01T00:00:00Z", "token": "1" * 16}
        return self.state(submission_id, history=[first, claim], signature=None)

    def ended(self, submission_id: str, state: str) -> Files:
        """The state of a submission that ended as somebody says."""
        claim = json.loads(self.claimed(submission_id)[f"states/{submission_id}.json"])["history"]
        last = claim[0] | {"state": state, "reason": "so it is"}
        return self.state(submission_id, history=[*claim, last], signature=None)


def board(store: FileStore, cache: Path) -> dict[str, float | None]:
    """A number of each system on the board, by the id of its submission."""
    snapshot = StoreSource(store, cache).read()
    shown = [entry.result for board in snapshot.boards for entry in board.entries]
    return {
        result.submission_id: next(s.value for s in result.scores if s.metric == "unique_1grams") for result in shown
    }


def worked(store: FileStore, results: Path) -> None:
    work(worker(store, results), Stop(), lambda event, /, **facts: None, once=True)


@pytest.fixture(autouse=True)
def _protected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(signatures.KEY_VARIABLE, KEY)
    monkeypatch.setattr(fetch, "validate_in_child", checked_here)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    home = tmp_path_factory.mktemp("service")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(signatures.KEY_VARIABLE, KEY)
        patch.setattr(fetch, "validate_in_child", checked_here)
        patch.setattr(shards, "SHARD_PROMPTS", 64)
        store, honest = FolderStore(home / "store"), FolderStore(home / "honest")
        folders = [demo(home / name, name) for name in ("scored", "pending", "mine")]
        [scored] = submit_kept(store, folders[:1])
        worked(store, home / "results")
        [pending] = submit_kept(store, folders[1:2])
        ids = submit_kept(honest, folders)
        worked(honest, home / "results")
        head = honest.head()
        states = {name: operations.state_of(honest, name) for name in ids}
        results = {
            name: {path: honest.read(head, path, 2**29) for path in honest.paths(head, f"results/{state.results[0]}")}
            for name, state in states.items()
        }
        yield Service(
            home / "store", scored, pending, ids[2],
            {path: file.read_bytes() for path, file in submission_files(ids[2], folders[2]).items()},
            {name: json.loads(state.as_bytes()) for name, state in states.items()},
            results, board(honest, home / "cache"),
        )  # fmt: skip


FORGED: dict[str, Callable[[Service], Files]] = {
    "a result beside its submission": lambda s: s.files | s.forged(s.mine),
    "a result and an unsigned state": lambda s: s.files | s.forged(s.mine) | s.state(s.mine, signature=None),
    "a state signed with another key": lambda s: s.files | s.forged(s.mine) | s.state(s.mine, signature="0" * 64),
    "a verified submitter": lambda s: s.files | s.state(s.mine, submitter={"name": "google", "verified": True}),
    "a claim until 2999": lambda s: s.files | s.claimed(s.mine),
    "a rejection": lambda s: s.files | s.ended(s.mine, "rejected"),
    "a withdrawal": lambda s: s.files | s.ended(s.mine, "withdrawn"),
    "a failure of another's": lambda s: s.ended(s.pending, "failed"),
    "a result of another's before it is scored": lambda s: s.forged(s.pending),
    "and a state that names it": lambda s: s.forged(s.pending) | s.state(s.pending, signature=None),
    "a claim of another's": lambda s: s.claimed(s.pending),
    "a withdrawal of another's": lambda s: s.ended(s.pending, "withdrawn"),
    "garbage as another's state": lambda s: {f"states/{s.pending}.json": b"\xff{"},
    "another's state emptied": lambda s: {f"states/{s.pending}.json": b""},
    "another's state huge": lambda s: {f"states/{s.pending}.json": b'"' + b"x" * 2**22 + b'"'},
    "a folder as another's state": lambda s: {f"states/{s.mine}.json/x": b""} | s.files,
    "a file as a folder of results": lambda s: {next(iter(s.results[s.mine])).rpartition("/")[0]: b""} | s.files,
    "a scored state with another's result": lambda s: s.state(s.scored, history=s.states[s.mine]["history"]) | s.files,
    "a signed state of another submission": lambda s: {
        f"states/{s.mine}.json": json.dumps(s.states[s.scored]).encode(), **s.files
    },
    "a scored state changed": lambda s: s.state(s.scored, name="the best"),
    "a scored state without its signature": lambda s: s.state(s.scored, signature=None),
    "a state without a submission": lambda s: s.state(s.mine, signature=None),
    "a file that is no state": lambda s: {"states/readme.md": b"trust me"},
    "a file added to another's submission": lambda s: {f"submissions/{s.pending}/reported.parquet": b"PAR1 not"},
    "another's files under an id": lambda s: {p.replace(s.mine, "0" * 16): c for p, c in s.files.items()},
    "a published result replaced": lambda s: s.forged(s.scored),
}  # fmt: skip


@each("forgery", FORGED)
def test_a_forgery_is_not_published_blocks_nobody_and_is_listed(service: Service, forgery: str, tmp_path: Path) -> None:
    store = FolderStore(shutil.copytree(service.folder, tmp_path / "store"))
    files = FORGED[forgery](service)
    head = store.head()
    removed = [path for path in store.paths(head) if any(path.startswith(f"{name}/") for name in files)]
    store.commit(head, files, removed, "merge a pull request")
    listing = operations.listing(store)
    listed = {*operations.ignored_results(store, listing), *(error.path for error in listing.damaged)}
    if forgery != "a published result replaced":  # which the board names
        assert {path for path in files if not path.startswith("submissions/")} <= listed
    assert board(store, tmp_path / "cache").items() <= service.numbers.items()
    worked(store, tmp_path / "results")
    if forgery == "a published result replaced":
        assert board(store, tmp_path / "cache").keys() == {service.pending}
        rescore(worker(store, tmp_path / "results"), Stop(), lambda event, /, **facts: None)
    expected = {service.scored, service.pending} | ({service.mine} if service.files.items() <= files.items() else set())
    assert board(store, tmp_path / "cache") == {name: service.numbers[name] for name in expected}
    for name in expected:
        state = operations.state_of(store, name)
        assert (state.current.state, state.submitter.verified) == ("scored", False)


def test_a_hub_with_all_forgeries_at_once(service: Service, tmp_path: Path) -> None:
    with running_hub(tmp_path) as server:
        store = hub_store(server, tmp_path)
        source = FolderStore(service.folder)
        store.commit(
            store.head(), {p: source.read(source.head(), p, 2**29) for p in source.paths(source.head())}, (), "x"
        )
        at_once = (
            "a result and an unsigned state",
            "a claim of another's",
            "and a state that names it",
            "a file that is no state",
        )
        files = {path: content for name in at_once for path, content in FORGED[name](service).items()}
        proposed = store.as_pull_request(files, "trust me")
        findings = check_pull_request(store, 1)
        assert proposed.endswith("/1")
        assert findings.by_check() == {"pull request": len(files) - len(service.files)}
        store.as_pull_request(service.files, "an honest one")
        assert check_pull_request(store, 2).problems == []
        server.repo(store.repo).merge(1, "alice")
        worked(store, tmp_path / "results")
        assert board(store, tmp_path / "cache") == service.numbers
        assert [error.path for error in operations.listing(store).damaged] == ["states/readme.md"]
        [problem] = check_pull_request(store, 2).problems[:1]
        assert problem.message == "it changes a submission that is there"


def test_a_worker_with_another_key_or_none_changes_nothing(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FolderStore(shutil.copytree(service.folder, tmp_path / "store"))
    before = store.head()
    for key in ("", "another key of the right length"):
        monkeypatch.setenv(signatures.KEY_VARIABLE, key)
        with pytest.raises(ConfigurationError, match="2 states signed with another key"):
            worked(store, tmp_path / "results")
    monkeypatch.setenv(signatures.KEY_VARIABLE, "")
    with pytest.raises(ConfigurationError, match="is signed, and you have no key"):
        operations.withdraw(
            store, service.pending, operations.state_of(store, service.pending).submitter, T0, operator=True
        )
    assert store.head() == before
    monkeypatch.setenv(signatures.KEY_VARIABLE, "short")
    with pytest.raises(ConfigurationError, match="fewer than 16"):
        signatures.service_key()
