"""The server itself, asked over HTTP without the clients' kindness."""

import base64
import hashlib
import json
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.hub import HubServer, hub
from tests.hub.cards import BadCard, card_data
from tests.hub.faults import Faults
from tests.hub.objects import Blob, Drop, Put, Refused, folder_oids, stored_by_lfs

WAIT = 60  # seconds for what happens at once: a test that would hang fails
DATA = "/api/datasets/alice/data"
JSON = {"Content-Type": "application/json"}


@dataclass
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def call(
    server: HubServer,
    method: str,
    url: str,
    body: Any = None,
    *,
    user: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Reply:
    target = urlsplit(url if url.startswith("http") else server.url + url)
    token = {"Authorization": f"Bearer {server.tokens.get(user, user)}"} if user else {}
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    connection = HTTPConnection(target.netloc, timeout=WAIT)
    try:
        path = f"{target.path}?{target.query}" if target.query else target.path
        connection.request(method, path, data, {**token, **(headers or {})})
        reply = connection.getresponse()
        return Reply(reply.status, {k.lower(): v for k, v in reply.getheaders()}, reply.read())
    finally:
        connection.close()


def lines(files: Mapping[str, bytes], parent: str | None = None, *more: Any) -> bytes:
    header = {"summary": "by hand", "description": "", **({"parentCommit": parent} if parent else {})}
    listed = [{"key": "header", "value": header}]
    for path, data in files.items():
        content = base64.b64encode(data).decode()
        listed.append({"key": "file", "value": {"path": path, "content": content, "encoding": "base64"}})
    return b"".join(json.dumps(one).encode() + b"\n" for one in [*listed, *more])


def put(server: HubServer, files: Mapping[str, bytes], parent: str | None = None, user: str = "alice") -> Reply:
    return call(server, "POST", f"{DATA}/commit/main", lines(files, parent), user=user)


# People


def test_a_token_says_who_one_is(server: HubServer) -> None:
    writer, reader = (call(server, "GET", "/api/whoami-v2", user=user).json for user in ("alice", "alice:read"))
    assert writer["name"] == reader["name"] == "alice"
    assert writer["auth"]["accessToken"]["role"] == "write"
    assert reader["auth"]["accessToken"]["role"] == "read"
    assert [(org["name"], org["roleInOrg"]) for org in writer["orgs"]] == [("lab", "write")]


@pytest.mark.parametrize(
    ("user", "status"), [(None, 401), ("hf_nobody", 401), ("alice:read", 403), ("bob", 403), ("alice", 200)]
)
def test_who_may_commit(server: HubServer, user: str | None, status: int) -> None:
    before = server.repo("alice/data").head
    assert call(server, "POST", f"{DATA}/commit/main", lines({"a.txt": b"a"}), user=user).status == status
    assert (server.repo("alice/data").head != before) == (status == 200)


@pytest.mark.parametrize(("user", "status"), [("alice", 200), ("bob", 403), (None, 401)])
def test_an_organisation_is_written_to_by_those_who_may(server: HubServer, user: str | None, status: int) -> None:
    wanted = {"name": "made", "organization": "lab", "type": "dataset"}
    assert call(server, "POST", "/api/repos/create", wanted, user=user).status == status
    assert ("lab/made" in server.repos()) == (status == 200)


def test_a_wrong_token_reads_not_even_what_is_public(server: HubServer) -> None:
    assert call(server, "GET", DATA).status == 200
    refused = call(server, "GET", DATA, user="hf_nobody")
    assert (refused.status, refused.headers["x-error-message"]) == (401, "Invalid credentials in Authorization header")


def test_a_private_repository_is_not_there_for_others(server: HubServer) -> None:
    server.add_repo("lab/secret", {"a.txt": b"a"}, private=True)
    path = "/datasets/lab/secret/resolve/main/a.txt"
    assert call(server, "GET", path, user="alice").body == b"a"
    assert call(server, "GET", path, user="bob").status == 200  # reads what the organisation has
    for reply in (call(server, "GET", path), call(server, "GET", "/datasets/lab/none/resolve/main/a.txt")):
        assert (reply.status, reply.headers["x-error-code"]) == (401, "RepoNotFound")
    listed = call(server, "GET", "/api/datasets?author=lab").json
    assert listed == []
    with hub(users=("carol",)) as other:
        other.add_repo("alice/secret", private=True)
        hidden = call(other, "GET", "/api/datasets/alice/secret", user="carol")
        assert (hidden.status, hidden.headers["x-error-code"]) == (404, "RepoNotFound")


# Files


def test_a_file_and_its_ranges(server: HubServer) -> None:
    server.repo("alice/data").commit({"ten.txt": b"0123456789", "empty.txt": b""})
    path = "/datasets/alice/data/resolve/main/ten.txt"
    whole = call(server, "GET", path)
    assert (whole.status, whole.body) == (200, b"0123456789")
    assert whole.headers["x-repo-commit"] == server.repo("alice/data").head
    head = call(server, "HEAD", path)
    assert head.body == b""
    same = ("content-length", "etag", "x-repo-commit", "accept-ranges")
    assert [head.headers[name] for name in same] == [whole.headers[name] for name in same]
    wanted = {"bytes=0-3": b"0123", "bytes=7-": b"789", "bytes=-2": b"89", "bytes=8-99": b"89", "bytes=-99": whole.body}
    for header, body in wanted.items():
        reply = call(server, "GET", path, headers={"Range": header})
        assert (reply.status, reply.body) == (206, body)
        start = whole.body.index(body)
        assert reply.headers["content-range"] == f"bytes {start}-{start + len(body) - 1}/10"
    unmet = call(server, "GET", path, headers={"Range": "bytes=10-"})
    assert (unmet.status, unmet.headers["content-range"]) == (416, "bytes */10")
    assert call(server, "GET", "/datasets/alice/data/resolve/main/empty.txt").body == b""


def test_what_is_not_there_is_told_apart(server: HubServer) -> None:
    head = server.repo("alice/data").head
    start = "/datasets/alice/data/resolve"
    no_file = call(server, "HEAD", f"{start}/main/none.txt")
    assert (no_file.status, no_file.headers["x-error-code"]) == (404, "EntryNotFound")
    assert no_file.headers["x-repo-commit"] == head  # so that a client remembers that it is not there
    no_revision = call(server, "HEAD", f"{start}/v9/README.md")
    assert (no_revision.status, no_revision.headers["x-error-code"]) == (404, "RevisionNotFound")
    no_repo = call(server, "HEAD", "/datasets/alice/none/resolve/main/README.md", user="alice")
    assert (no_repo.status, no_repo.headers["x-error-code"]) == (404, "RepoNotFound")
    assert call(server, "GET", f"{DATA}/tree/main/none").headers["x-error-code"] == "EntryNotFound"


def test_a_large_file_is_fetched_from_the_storage(server: HubServer) -> None:
    data = server.repo("alice/data").files()["large.bin"]
    sent_on = call(server, "GET", "/datasets/alice/data/resolve/main/large.bin", user="alice")
    assert (sent_on.status, sent_on.headers["x-linked-size"]) == (302, str(len(data)))
    assert sent_on.headers["x-linked-etag"] == f'"{hashlib.sha256(data).hexdigest()}"'
    link = sent_on.headers["location"]
    assert call(server, "GET", link).body == data
    assert call(server, "GET", link, headers={"Range": "bytes=-5"}).body == data[-5:]
    assert call(server, "GET", link.partition("?")[0]).status == 403
    # a token that is sent along to another host is a leak, and S3 takes no request with two proofs
    assert call(server, "GET", link, user="alice").status == 400


def test_content_is_stored_only_as_what_it_was_announced(server: HubServer) -> None:
    repo, data = server.repo("alice/data"), b"\0" * 5000
    oid = hashlib.sha256(data).hexdigest()
    wanted = {"operation": "upload", "transfers": ["basic"], "objects": [{"oid": oid, "size": len(data)}]}
    batch = "/datasets/alice/data.git/info/lfs/objects/batch"
    link = call(server, "POST", batch, wanted, user="alice").json["objects"][0]["actions"]["upload"]["href"]
    pointer = {"key": "lfsFile", "value": {"path": "new.bin", "algo": "sha256", "oid": oid, "size": len(data)}}
    assert call(server, "PUT", link, data[:-1]).status == 400
    assert call(server, "POST", f"{DATA}/commit/main", lines({}, None, pointer), user="alice").status == 400
    assert repo.object(oid) is None
    assert call(server, "PUT", link, data).status == 200
    assert "actions" not in call(server, "POST", batch, wanted, user="alice").json["objects"][0]
    assert call(server, "POST", f"{DATA}/commit/main", lines({}, None, pointer), user="alice").status == 200
    assert repo.files()["new.bin"] == data


def pages(server: HubServer, url: str) -> list[Any]:
    found: list[Any] = []
    for _ in range(99):
        page = call(server, "GET", url)
        found += page.json
        if "link" not in page.headers:
            return found
        url = page.headers["link"].partition("<")[2].partition(">")[0]
    raise AssertionError("pages without an end")


def test_lists_come_in_pages(server: HubServer) -> None:
    server.repo("alice/data").commit({f"folder/{i}.txt": b"x" for i in range(5)})
    listed = [one["path"] for one in pages(server, f"{DATA}/tree/main?recursive=True")]
    files = [f"folder/{i}.txt" for i in range(5)]
    assert listed == [".gitattributes", "README.md", "folder", *files, "large.bin"]
    assert len(server.requests("tree")) == 5
    assert len(pages(server, f"{DATA}/commits/main")) == 3
    assert len(call(server, "GET", f"{DATA}/commits/main?limit=1").json) == 1


# Commits


def test_ids_are_those_that_git_gives(tmp_path: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    files = {"a.txt": b"a\n", "a/b.txt": b"b", "a.d/c": b"", "ä/ö ü.txt": b"c", "a/b/c/d": b"e"}
    for path, data in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        if not (tmp_path / path).is_dir():
            (tmp_path / path).write_bytes(data)

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    git("init", "--quiet")
    git("-c", "core.autocrlf=false", "add", "--all")
    ours = folder_oids({path: Blob(data) for path, data in files.items()})
    assert ours[""] == git("write-tree").strip()
    assert Blob(b"a\n").oid == git("hash-object", "a.txt").strip()
    sha256 = hashlib.sha256(b"large").hexdigest()
    (tmp_path / "pointer").write_text(f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize 5\n")
    assert Blob(b"large", lfs=True).oid == git("hash-object", "pointer").strip()


def test_of_some_at_once_one_wins(server: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    repo, rounds, rivals = server.repo("alice/data"), 10, 4
    start, now = len(repo.history()), server.world.store.clock.now

    def late() -> datetime:
        time.sleep(0.01)  # between the look at the head and the new head, where a rival could come in
        return now()

    monkeypatch.setattr(server.world.store.clock, "now", late)
    with ThreadPoolExecutor(rivals) as pool:
        for i in range(rounds):
            parent, gate = repo.head, threading.Barrier(rivals, timeout=WAIT)

            def race(rival: int, i: int = i, parent: str = parent, gate: threading.Barrier = gate) -> int:
                gate.wait()
                return put(server, {f"{i}.txt": b"%d" % rival}, parent).status

            assert sorted(pool.map(race, range(rivals))) == [200, *[412] * (rivals - 1)]
    assert len(repo.history()) == start + rounds


def test_readers_see_a_commit_whole_or_not_at_all(server: HubServer) -> None:
    done, seen = threading.Event(), []

    def read() -> None:
        for _ in range(10_000):
            listed = call(
                server, "POST", f"{DATA}/paths-info/main", {"paths": ["pair-1.txt", "pair-2.txt"]}, headers=JSON
            )
            seen.append({one["oid"] for one in listed.json})
            if done.is_set():
                return

    server.repo("alice/data").commit({"pair-1.txt": b"-", "pair-2.txt": b"-"})
    with ThreadPoolExecutor(1) as pool:
        reader = pool.submit(read)
        for i in range(30):
            assert put(server, {"pair-1.txt": b"%d" % i, "pair-2.txt": b"%d" % i}).status == 200
        done.set()
        reader.result(WAIT)
    assert {len(oids) for oids in seen} == {1}


def test_a_commit_that_fails_leaves_nothing(server: HubServer) -> None:
    repo = server.repo("alice/data")
    before = repo.refs
    gone = {"key": "deletedFile", "value": {"path": "none.txt"}}
    assert call(server, "POST", f"{DATA}/commit/main", lines({"a.txt": b"a"}, None, gone), user="alice").status == 404
    for path in ("../a", "a//b", ".git/config", "/a", "", "README.md/a"):
        assert put(server, {"fine.txt": b"fine", path: b"a"}).status == 400
    pull = call(server, "POST", f"{DATA}/commit/main?create_pr=1", lines({"..": b"a"}), user="bob")
    assert (pull.status, repo.discussions) == (400, [])
    assert call(server, "POST", f"{DATA}/commit/main", b"[1]\n", user="alice").status == 400
    assert call(server, "POST", f"{DATA}/commit/none", lines({"a": b"a"}), user="alice").status == 404
    assert repo.refs == before


def test_a_folder_and_a_file_go(server: HubServer) -> None:
    repo = server.repo("alice/data")
    repo.commit({"x/1.txt": b"1", "x/y/2.txt": b"2"})
    repo.commit([Drop("x/", folder=True), Drop("README.md"), Put("x", Blob(b"now a file"))])
    assert sorted(repo.files()) == ["large.bin", "x"]
    with pytest.raises(Refused, match="doesn't exist"):
        repo.commit([Drop("x", folder=True)])


def test_a_request_that_ends_too_early_does_nothing(server: HubServer) -> None:
    before = server.repo("alice/data").refs
    body = lines({"half.txt": b"half"})
    target = urlsplit(server.url)
    head = f"POST {DATA}/commit/main HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer {server.tokens['alice']}\r\n"
    bodies = [
        f"Content-Length: {len(body) + 1}\r\n\r\n".encode() + body,  # all but the last byte
        b"Transfer-Encoding: chunked\r\n\r\n" + f"{len(body):x}\r\n".encode() + body + b"\r\n",  # no last chunk
    ]
    for sent in bodies:
        with socket.create_connection((str(target.hostname), int(target.port or 0)), timeout=WAIT) as connection:
            connection.sendall(head.encode() + sent)
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(1) == b""  # it hangs up: by now it has done all that it will do
    assert server.repo("alice/data").refs == before


def test_a_body_in_chunks_is_taken(server: HubServer) -> None:
    target, body = urlsplit(server.url), lines({"chunks.txt": b"x" * 1000})
    connection = HTTPConnection(target.netloc, timeout=WAIT)
    try:
        parts = iter([body[:100], body[100:]])
        headers = {"Authorization": f"Bearer {server.tokens['alice']}"}
        connection.request("POST", f"{DATA}/commit/main", parts, headers, encode_chunked=True)
        reply = connection.getresponse()
        assert (reply.status, json.load(reply)["commitOid"]) == (200, server.repo("alice/data").head)
    finally:
        connection.close()
    assert server.repo("alice/data").files()["chunks.txt"] == b"x" * 1000


# Pull requests


def test_a_pull_request_is_merged_or_conflicts(server: HubServer) -> None:
    repo = server.repo("alice/data")
    for files in ({"a.txt": b"bob's"}, {"b.txt": b"bob's"}, {"README.md": b"bob's"}):
        assert call(server, "POST", f"{DATA}/commit/main?create_pr=1", lines(files), user="bob").status == 200
    assert sorted(repo.files("refs/pr/2")) == ["README.md", "b.txt", "large.bin"]
    repo.commit({"README.md": b"alice's"})
    assert call(server, "POST", f"{DATA}/discussions/1/merge", user="bob").status == 403
    statuses = [call(server, "POST", f"{DATA}/discussions/{i}/merge", user="alice").status for i in (1, 1, 2, 3, 4)]
    assert statuses == [200, 409, 200, 409, 404]  # merged, merged already, merged, in conflict, not there
    assert {path: data for path, data in repo.files().items() if path != "large.bin"} == {
        "README.md": b"alice's",
        "a.txt": b"bob's",
        "b.txt": b"bob's",
    }
    assert [one.status for one in repo.discussions] == ["merged", "merged", "open"]
    listed = call(server, "GET", f"{DATA}/discussions?status=closed&type=pull_request").json
    assert [one["num"] for one in listed["discussions"]] == [2, 1]


def test_who_opened_a_pull_request_goes_on_with_it(server: HubServer) -> None:
    call(server, "POST", f"{DATA}/commit/main?create_pr=1", lines({"a.txt": b"1"}), user="bob")
    more = f"{DATA}/commit/refs%2Fpr%2F1"
    assert call(server, "POST", more, lines({"a.txt": b"2"}), user="bob").status == 200
    assert call(server, "POST", more, lines({"a.txt": b"3"}), user="alice").status == 200
    assert server.repo("alice/data").files("refs/pr/1")["a.txt"] == b"3"
    with hub(users=("alice", "bob", "carol")) as other:
        other.add_repo("alice/data")
        call(other, "POST", f"{DATA}/commit/main?create_pr=1", lines({"a.txt": b"1"}), user="bob")
        assert call(other, "POST", more, lines({"a.txt": b"2"}), user="carol").status == 403


# Cards, and what is stored how


def test_cards() -> None:
    assert card_data("# No block\n") == {}
    assert card_data("---\nlicense: mit\n---\ntext") == {"license": "mit"}
    for bad in ("---\na: [\n---\n", "---\n- a\n---\n", "---\nconfigs:\n- data_files: x\n---\n"):
        with pytest.raises(BadCard, match="YAML Metadata Error"):
            card_data(bad)


def test_a_bad_card_is_refused_and_a_missing_one_warned_of(server: HubServer) -> None:
    bad = call(server, "POST", "/api/validate-yaml", {"content": "---\na: [\n---\n", "repoType": "dataset"})
    assert bad.status == 400
    assert bad.json["errors"]
    assert call(server, "POST", "/api/validate-yaml", {"content": "# Hello"}).json["warnings"]


def test_what_goes_to_the_lfs_store() -> None:
    rules = b"*.parquet filter=lfs diff=lfs merge=lfs -text\ndata/** filter=lfs\n*.txt text\n"
    for path in ("a.parquet", "x/y/a.parquet", "data/x/a.csv"):
        assert stored_by_lfs(path, 10, b"text", rules)
    assert not stored_by_lfs("a.txt", 10, b"text", rules)
    assert stored_by_lfs("a.txt", 10, b"no\0text", rules)
    assert stored_by_lfs("a.txt", 10 * 1024 * 1024, b"text", rules)
    assert not stored_by_lfs("a.parquet", 0, b"", rules)


# Faults


def test_a_fault_is_for_the_next_requests_that_fit() -> None:
    faults = Faults()
    first = faults.fail(503, on="commit", times=2)
    second = faults.limit(7, on="commit", method="POST", path="alice/data")
    path = "/api/datasets/alice/data/commit/main"
    assert faults.take("tree", "GET", path) is None
    taken = [faults.take("commit", "POST", path) for _ in range(4)]
    assert taken == [first, first, second, None]
    assert (first.met, second.met) == (2, 1)


def test_failures_and_limits(server: HubServer) -> None:
    server.faults.fail(502, on="info")
    server.faults.limit(7, on="info")
    server.faults.slow(0.01, on="info")
    replies = [call(server, "GET", DATA) for _ in range(4)]
    assert [one.status for one in replies] == [502, 429, 200, 200]
    assert replies[1].headers["ratelimit"] == '"api";r=0;t=7'
    assert replies[1].headers["retry-after"] == "7"
    assert [one.status for one in server.requests("info")] == [502, 429, 200, 200]


def test_an_answer_may_be_lost_though_the_work_is_done(server: HubServer) -> None:
    server.faults.lose_answer(on="commit")
    server.faults.fail(504, acts=True, on="commit")
    with pytest.raises(HTTPException):
        put(server, {"a.txt": b"a"})
    assert put(server, {"b.txt": b"b"}).status == 504
    assert {"a.txt", "b.txt"} < set(server.repo("alice/data").files())
    assert [one.status for one in server.requests("commit")] == [None, 504]


def test_a_cut_download_and_a_cut_upload(server: HubServer) -> None:
    path = "/datasets/alice/data/resolve/main/README.md"
    server.faults.cut_download(5, on="resolve")
    server.faults.cut_download(5, reset=True, on="resolve")
    for _ in range(2):
        with pytest.raises((HTTPException, ConnectionError)):
            call(server, "GET", path)
    assert call(server, "GET", path).status == 200
    before = server.repo("alice/data").head
    for reset in (True, False):
        server.faults.cut_upload(5, reset=reset, on="commit")
        with pytest.raises((HTTPException, ConnectionError)):
            put(server, {"a.txt": b"a" * 100_000})
    assert server.repo("alice/data").head == before


def test_what_is_held_is_not_done_before_it_is_let_go(server: HubServer) -> None:
    repo = server.repo("alice/data")
    before, held = repo.head, server.faults.hold(on="commit")
    with ThreadPoolExecutor(1) as pool:
        reply = pool.submit(put, server, {"a.txt": b"a"})
        assert held.arrived.wait(WAIT)
        assert repo.head == before
        held.release()
        assert reply.result(WAIT).json["commitOid"] == repo.head != before


def test_somebody_is_faster(server: HubServer) -> None:
    repo = server.repo("alice/data")
    head = repo.head
    server.faults.meanwhile(lambda: repo.commit({"theirs.txt": b"theirs"}, author="bob"), on="commit")
    assert put(server, {"ours.txt": b"ours"}, head).status == 412
    assert put(server, {"ours.txt": b"ours"}, repo.head).status == 200
    assert [one.author for one in repo.history()][:2] == ["alice", "bob"]


def test_an_error_of_the_server_is_an_error_of_the_test() -> None:
    failing = hub()
    server = failing.__enter__()
    server.add_repo("alice/data")
    server.faults.meanwhile(lambda: 1 // 0, on="info")
    assert call(server, "GET", DATA).status == 500
    with pytest.raises(ExceptionGroup) as caught:
        failing.__exit__(None, None, None)
    assert isinstance(caught.value.exceptions[0], ZeroDivisionError)


def test_the_end_of_the_server_ends_what_it_holds() -> None:
    with hub() as server:
        server.add_repo("alice/data")
        held = server.faults.hold(on="info")
        slow = server.faults.slow(WAIT * 60, on="refs")
        idle = socket.create_connection(("127.0.0.1", int(urlsplit(server.url).port or 0)), timeout=WAIT)
        pool = ThreadPoolExecutor(2)
        replies = [pool.submit(call, server, "GET", path) for path in (DATA, f"{DATA}/refs")]
        assert held.arrived.wait(WAIT)
        assert slow.arrived.wait(WAIT)
    idle.close()
    for reply in replies:  # an answer, or a connection that has ended: in any case an end
        assert reply.exception(WAIT) is None or isinstance(reply.exception(), (HTTPException, OSError))
    pool.shutdown()
    with pytest.raises(OSError, match=r".*"):
        call(server, "GET", DATA)


def test_a_request_without_a_route_is_kept(server: HubServer) -> None:
    assert call(server, "GET", "/api/no-such-thing").status == 404
    assert [one.path for one in server.strange] == ["/api/no-such-thing"]
    server.seen.clear()
