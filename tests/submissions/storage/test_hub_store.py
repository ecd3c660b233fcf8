"""A store in a Hub repository, under all that goes wrong between a client and the Hub."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from divbench.core.errors import InputError
from divbench.core.hub_retries import ATTEMPTS, LONGEST_WAIT
from submissions.storage import hub_store as module
from submissions.storage.file_store import Conflict, DamagedFile, NoWriteAccess, StoreFault
from submissions.storage.hub_store import HubStore
from tests.hub import HubServer
from tests.hub.faults import Fault
from tests.hub.repository import Repo
from tests.submissions.stores import REPO, hub_store, running_hub

pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # by the Hub's client

LARGE = b"\0large" * 20_000  # in LFS


@pytest.fixture
def server(tmp_path: Path) -> Iterator[HubServer]:
    with running_hub(tmp_path) as running:
        yield running


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that would have been waited."""
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    return slept


@pytest.fixture
def store(server: HubServer, tmp_path: Path) -> HubStore:
    """The store with two files at its head."""
    made = hub_store(server, tmp_path)
    made.commit(made.head(), {"a": b"1", "large.bin": LARGE}, [], "first")
    server.seen.clear()
    return made


@pytest.fixture
def repo(server: HubServer, store: HubStore) -> Repo:
    return server.repo(REPO)


def titles(repo: Repo) -> list[str]:
    """The messages of the commits after the first two, the latest first."""
    return [one.title for one in repo.history()][:-2]


TROUBLE: dict[str, Callable[[HubServer, str], Fault]] = {
    "503": lambda server, route: server.faults.fail(503, on=route, times=2),
    "409": lambda server, route: server.faults.fail(409, on=route),
    "429": lambda server, route: server.faults.limit(3, on=route),
    "cut": lambda server, route: server.faults.cut_upload(0, on=route),
    "no answer": lambda server, route: server.faults.lose_answer(on=route),
}


COMMIT_ROUTES = ["info", "paths_info", "preupload", "lfs_batch", "storage_put", "commit", "commits"]


@pytest.mark.parametrize(
    ("trouble", "route"), [*((trouble, "commit") for trouble in TROUBLE), *(("503", route) for route in COMMIT_ROUTES)]
)
def test_a_commit_goes_through_trouble_once(
    route: str, trouble: str, server: HubServer, store: HubStore, repo: Repo
) -> None:
    head = store.head()
    fault = TROUBLE[trouble](server, route)
    made = store.commit(head, {"b": b"2", "more.bin": LARGE[::-1]}, ["a"], "second")
    assert fault.left == 0
    assert made == repo.head
    assert titles(repo) == ["second"]
    assert repo.files() == {"b": b"2", "large.bin": LARGE, "more.bin": LARGE[::-1]}


@pytest.mark.parametrize(
    ("trouble", "route"),
    [*((trouble, "resolve") for trouble in TROUBLE), ("cut", "tree"), ("503", "paths_info"), ("cut", "storage_get")],
)
def test_reading_goes_through_trouble(route: str, trouble: str, server: HubServer, store: HubStore) -> None:
    head = store.head()
    fault = TROUBLE[trouble](server, route)
    assert store.read(head, "large.bin", 10**6) == LARGE
    assert store.paths(head) == ["a", "large.bin"]
    assert fault.left == 0


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("path", ["a", "large.bin"])
def test_a_download_that_is_cut_is_begun_again(path: str, reset: bool, server: HubServer, store: HubStore) -> None:
    server.faults.cut_download(0, reset=reset, on="resolve", method="GET")
    server.faults.cut_download(len(LARGE) - 1, reset=reset, on="storage_get")
    assert store.read(store.head(), path, 10**6) == {"a": b"1", "large.bin": LARGE}[path]


def test_a_commit_that_was_made_and_answered_by_an_error_is_not_made_again(
    server: HubServer, store: HubStore, repo: Repo
) -> None:
    fault = server.faults.fail(504, acts=True, on="commit")
    assert store.commit(store.head(), {"b": b"2"}, [], "second") == repo.head
    assert (fault.met, titles(repo), len(server.requests("commit"))) == (1, ["second"], 1)


def test_a_commit_whose_answer_was_lost_is_found_under_later_ones(
    server: HubServer, store: HubStore, repo: Repo
) -> None:
    server.faults.lose_answer(on="commit")
    server.faults.meanwhile(lambda: repo.commit({"theirs": b"1"}, title="theirs"), on="commits")
    made = store.commit(store.head(), {"b": b"2"}, [], "second")
    assert titles(repo) == ["theirs", "second"]
    assert made == repo.history()[1].oid


@pytest.mark.parametrize("fault", ["cut", "503"])
@pytest.mark.parametrize("content", [b"2", b"theirs"])
def test_a_rival_with_the_same_message_is_not_taken_for_us(
    content: bytes, fault: str, server: HubServer, store: HubStore, repo: Repo
) -> None:
    head = store.head()
    TROUBLE[fault](server, "commit").left = 1
    server.faults.meanwhile(lambda: repo.commit({"b": content}, title="second"), on="commits")
    with pytest.raises(Conflict):
        store.commit(head, {"b": b"2"}, [], "second")
    assert titles(repo) == ["second"]
    assert repo.files()["b"] == content


@pytest.mark.parametrize("route", ["paths_info", "preupload", "commit"])
@pytest.mark.parametrize("theirs", [{"b": b"2"}, {"b": b"2", "c": b"3"}, {"x": b"4"}], ids=["same", "more", "other"])
def test_a_rival_who_is_first_at_any_step_wins(
    theirs: dict[str, bytes], route: str, server: HubServer, store: HubStore, repo: Repo
) -> None:
    head = store.head()
    fault = server.faults.meanwhile(lambda: repo.commit(theirs, title="theirs"), on=route)
    with pytest.raises(Conflict):
        store.commit(head, {"b": b"2"}, [], "second")
    assert fault.met == 1
    assert titles(repo) == ["theirs"]
    assert store.commit(repo.head, {"b": b"3"}, [], "second") == repo.head


def test_what_does_not_pass_is_a_fault_after_some_attempts(
    server: HubServer, store: HubStore, repo: Repo, waits: list[float]
) -> None:
    head = store.head()
    fault = server.faults.fail(503, on="commit", times=100)
    with pytest.raises(StoreFault, match="503") as caught:
        store.commit(head, {"b": b"2"}, [], "second")
    assert REPO in caught.value.message
    assert "retry" in caught.value.hint
    assert fault.met == ATTEMPTS
    assert len(waits) == ATTEMPTS - 1
    assert waits[-1] > waits[0]
    assert sum(waits) < 60
    assert repo.head == head
    server.faults.clear()
    assert store.commit(head, {"b": b"2"}, [], "second") == repo.head


def test_a_commit_whose_answers_are_all_lost_is_found_at_the_end(
    server: HubServer, store: HubStore, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = store.head()
    server.faults.fail(503, on="commit", times=ATTEMPTS - 1)
    server.faults.lose_answer(on="commit")
    assert store.commit(head, {"b": b"2"}, [], "second") == repo.head != head
    assert titles(repo) == ["second"]
    server.faults.lose_answer(on="commit")
    server.faults.lose_answer(on="commits", times=1000)
    with pytest.raises(StoreFault, match="out of reach") as caught:  # it was made, and nobody can say so
        store.commit(repo.head, {"b": b"3"}, [], "third")
    assert "head" in caught.value.hint
    assert titles(repo) == ["third", "second"]


def test_the_hub_is_left_alone_for_as_long_as_it_asks(server: HubServer, store: HubStore, waits: list[float]) -> None:
    server.faults.limit(37, on="commit")
    server.faults.limit(3000, on="commit")
    store.commit(store.head(), {"b": b"2"}, [], "second")
    assert [round(one) for one in waits] == [37, LONGEST_WAIT]


@pytest.mark.parametrize("user", ["bob", "alice:read", None])
def test_without_the_right_to_write_it_is_refused_with_a_hint(
    user: str | None, server: HubServer, store: HubStore, repo: Repo, tmp_path: Path
) -> None:
    head, other = store.head(), hub_store(server, tmp_path / "other", user)
    assert other.read(head, "a", 10) == b"1"
    with pytest.raises(NoWriteAccess, match=REPO) as caught:
        other.commit(head, {"b": b"2"}, [], "second")
    assert "hf auth login" in caught.value.hint
    assert repo.head == head
    assert len(server.requests("preupload")) == 1  # tried once


def test_a_repository_that_cannot_be_seen_is_a_fault(server: HubServer, tmp_path: Path) -> None:
    server.add_repo("alice/hidden", private=True)
    for name, user in (("alice/none", "alice"), ("alice/hidden", "bob"), ("alice/hidden", None)):
        token = server.tokens[user] if user else None
        store = HubStore(name, token=token, endpoint=server.url, cache=tmp_path / "kept")
        for call in (
            store.head,
            lambda s=store: s.paths("0" * 40),
            lambda s=store: s.read("0" * 40, "a", 1),
        ):
            with pytest.raises(StoreFault, match="cannot be seen") as caught:
                call()
            assert name in caught.value.message
    wrong = HubStore(REPO, token="hf_nobody", endpoint=server.url, cache=tmp_path / "kept")  # noqa: S106 - nobody's
    with pytest.raises(StoreFault, match="hf auth login"):
        wrong.head()


def test_who_may_not_write_proposes(server: HubServer, store: HubStore, repo: Repo, tmp_path: Path) -> None:
    bob, head = hub_store(server, tmp_path / "bob", "bob"), repo.head
    address = bob.as_pull_request({"b": b"2", "more.bin": LARGE[::-1]}, "Bob's files")
    assert address == f"{server.url}/datasets/{REPO}/discussions/1"
    assert repo.head == head
    repo.merge(1, "alice")
    assert store.read(store.head(), "b", 10) == b"2"
    with pytest.raises(InputError, match="already has these files"):
        bob.as_pull_request({"b": b"2"}, "Bob's files again")
    with pytest.raises(StoreFault):
        hub_store(server, tmp_path / "bob", None).as_pull_request({"c": b"2"}, "Nobody's files")
    with pytest.raises(InputError, match="not a path"):
        bob.as_pull_request({"README.md": b"2"}, "Not a file of a store")
    assert len(repo.discussions) == 1


def test_what_came_damaged_is_never_given(server: HubServer, store: HubStore, repo: Repo, tmp_path: Path) -> None:
    head, blob = store.head(), repo.at().files["large.bin"]
    for damaged in (b"x" + LARGE[1:], LARGE + b"x", LARGE[:-1], b""):
        repo.objects[blob.sha256] = damaged
        with pytest.raises(DamagedFile, match="damaged"):
            store.read(head, "large.bin", 10**6)
        with pytest.raises(DamagedFile, match="damaged"):
            store.fetch(head, "large.bin", tmp_path / "x", 10**6)
    assert not (tmp_path / "x").exists()
    assert [path for path in (tmp_path / "kept").rglob("*") if path.is_file()] == []
    repo.objects[blob.sha256] = LARGE
    assert store.read(head, "large.bin", 10**6) == LARGE


def test_what_was_read_is_kept_and_looked_at_again(
    server: HubServer, store: HubStore, repo: Repo, tmp_path: Path
) -> None:
    first = store.head()
    assert [store.read(first, path, 10**6) for path in ("a", "large.bin")] == [b"1", LARGE]
    second = store.commit(first, {"b": b"2"}, [], "second")
    other = hub_store(server, tmp_path)
    other.fetch(second, "large.bin", tmp_path / "x", 10**6)
    assert [other.read(second, "a", 10), (tmp_path / "x").read_bytes()] == [b"1", LARGE]
    assert (len(server.requests("resolve")), len(server.requests("storage_get"))) == (2, 1)
    for path in (tmp_path / "kept").rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[:-1] + b"x")
    assert [other.read(first, path, 10**6) for path in ("a", "large.bin")] == [b"1", LARGE]
    assert (len(server.requests("resolve")), len(server.requests("storage_get"))) == (4, 2)


def test_two_stores_in_one_repository_do_not_meet(server: HubServer, repo: Repo, tmp_path: Path) -> None:
    repo.commit({"README.md": b"# Store\n", "one/.hidden": b"", "one/Name": b"", "onestep": b""})
    one, two = (hub_store(server, tmp_path, prefix=prefix) for prefix in ("one", "two/deep"))
    head = one.commit(one.head(), {"a": b"1", "b/c": b"2"}, [], "one")
    head = two.commit(head, {"a": b"3"}, [], "two")
    assert (one.paths(head), two.paths(head)) == (["a", "b/c"], ["a"])
    assert (one.paths(head, "b"), two.paths(head, "b")) == (["b/c"], [])
    assert [one.read(head, "a", 1), two.read(head, "a", 1)] == [b"1", b"3"]
    with pytest.raises(Conflict):
        one.commit(repo.history()[1].oid, {"a": b"4"}, [], "they share the head")
    one.commit(head, {}, ["a"], "removed")
    assert sorted(repo.files()) == [
        *("README.md", "a", "large.bin", "one/.hidden", "one/Name", "one/b/c", "onestep", "two/deep/a")
    ]


def test_long_lists_come_in_pages(server: HubServer, store: HubStore, repo: Repo) -> None:
    server.page = 2
    names = [f"n/{number:02}" for number in range(9)]
    head = store.commit(store.head(), dict.fromkeys(names, b"1"), [], "many")
    assert store.paths(head) == ["a", "large.bin", *names]


def test_no_network_is_a_fault(store: HubStore, waits: list[float]) -> None:
    from huggingface_hub import constants

    nowhere = HubStore(REPO, endpoint="http://127.0.0.1:9", cache=store.cache)
    with pytest.raises(StoreFault, match="out of reach"):
        nowhere.head()
    assert len(waits) == ATTEMPTS - 1
    with pytest.MonkeyPatch.context() as patch:  # undone before the server's, or what it set would stay
        patch.setattr(constants, "HF_HUB_OFFLINE", True)
        for call in (store.head, lambda: store.read("0" * 40, "a", 1)):
            with pytest.raises(StoreFault, match="offline"):
                call()
    assert len(waits) == ATTEMPTS - 1  # who is offline by choice is not kept waiting


def test_a_connection_that_stands_still_is_given_up(
    server: HubServer, store: HubStore, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import close_session, get_session

    head = store.head()
    monkeypatch.setattr(module, "SILENCE", 0.5)
    close_session()
    held = server.faults.hold(on="commit")
    made = store.commit(head, {"b": b"2"}, [], "second")
    assert (held.met, made, titles(repo)) == (1, repo.head, ["second"])
    held.release()
    get_session().timeout = 7.0
    assert store.head() == made
    assert get_session().timeout.read == 7.0  # whoever has set a limit keeps it
