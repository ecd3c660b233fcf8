"""The real clients against the server: huggingface_hub and datasets, each in a process of its own."""

import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.hub import HubServer, client_says, run_client

pytestmark = pytest.mark.thorough  # the tests of the Hub stores and of publishing go through the client, too

# Before the code of the tests: `told(f)` is what `f` gives, or how it fails.
HUB = """
import json
from pathlib import Path
from huggingface_hub import CommitOperationAdd as Add, CommitOperationDelete as Delete
from huggingface_hub import HfApi, hf_hub_download, snapshot_download
from huggingface_hub.utils import httpx

api = HfApi()
data = {"repo_id": "alice/data", "repo_type": "dataset"}

def told(f):
    try:
        return f()
    except Exception as error:
        response = getattr(error, "response", None)
        return [type(error).__name__, response.status_code if response is not None else None]

def upload(name, content=b"\\0content", **more):
    return api.upload_file(path_or_fileobj=content, path_in_repo=name, **data, **more).oid

def got(name, **more):
    return Path(hf_hub_download("alice/data", name, repo_type="dataset", **more)).read_bytes().decode()

"""


def says(code: str, server: HubServer, user: str | None = "alice", home: Path | None = None) -> Any:
    return client_says(HUB + code, server, token=server.tokens[user] if user else None, home=home)


def parquet(rows: list[dict[str, Any]]) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), file)
    return file.getvalue()


# Without faults


def test_a_repository_from_its_making_to_its_end(server: HubServer) -> None:
    said = says(
        """
made = {"repo_id": "alice/made", "repo_type": "dataset"}
r = {"me": api.whoami()["name"]}
r["url"] = str(api.create_repo(**made))
r["again"] = told(lambda: api.create_repo(**made))
r["again, and well"] = str(api.create_repo(**made, exist_ok=True))
card, large = Add("README.md", b"---\\nlicense: mit\\n---\\n"), Add("d/large.bin", b"\\0" * 50_000)
first = api.create_commit(**made, operations=[card, large], commit_message="first", commit_description="more")
r["first"] = first.oid
api.create_tag(**made, tag="v1", tag_message="one", revision=first.oid)
r["tag again"] = told(lambda: api.create_tag(**made, tag="v1"))
api.create_tag(**made, tag="v1", exist_ok=True)
second = Add("d/ä b.txt", b"text")
r["second"] = api.create_commit(**made, operations=[second], commit_message="2", parent_commit=first.oid).oid
stale = [Add("d/ä b.txt", b"other")]
r["stale"] = told(lambda: api.create_commit(**made, operations=stale, commit_message="3", parent_commit=first.oid))
same = [Add("d/ä b.txt", b"text"), Add("d/large.bin", b"\\0" * 50_000)]
r["same"] = api.create_commit(**made, operations=same, commit_message="nothing new").oid
api.create_branch(**made, branch="side", revision="v1")
r["branch again"] = told(lambda: api.create_branch(**made, branch="side"))
api.upload_file(path_or_fileobj=b"s", path_in_repo="side.txt", **made, revision="side")
api.delete_file("d/large.bin", **made, revision="side")
refs = api.list_repo_refs(**made)
r["refs"] = {one.ref: one.target_commit for one in [*refs.branches, *refs.tags]}
r["files"] = api.list_repo_files(**made)
r["tagged"] = api.list_repo_files(**made, revision="v1")
r["side"] = api.list_repo_files(**made, revision="side")
tree = api.list_repo_tree(**made, path_in_repo="d", expand=True)
r["tree"] = {one.path: [one.size, one.lfs and one.lfs.sha256, one.last_commit.title] for one in tree}
r["paths"] = [one.path for one in api.get_paths_info("alice/made", ["d", "README.md", "no"], repo_type="dataset")]
r["log"] = [[one.title, one.message, one.authors] for one in api.list_repo_commits(**made)]
info = api.dataset_info("alice/made", revision="v1", files_metadata=True)
r["info"] = [info.sha, info.card_data.license, {one.rfilename: one.size for one in info.siblings}]
r["listed"] = sorted(one.id for one in api.list_datasets(author="alice"))
r["is there"] = [api.file_exists(filename="d/ä b.txt", **made, revision=one) for one in ("main", "v1")]
api.delete_branch(**made, branch="side")
api.delete_tag(**made, tag="v1")
r["after"] = [one.ref for one in api.list_repo_refs(**made).branches]
api.delete_repo(**made)
r["gone"] = [told(lambda: api.delete_repo(**made))[0], api.repo_exists("alice/made", repo_type="dataset")]
print(json.dumps(r))
""",
        server,
    )
    assert said["me"] == "alice"
    assert said["url"] == said["again, and well"] == f"{server.url}/datasets/alice/made"
    assert said["again"] == said["tag again"] == said["branch again"] == ["HfHubHTTPError", 409]
    assert said["stale"] == ["HfHubHTTPError", 412]
    assert said["same"] == said["second"]  # what changes nothing is no commit
    assert said["refs"].pop("refs/heads/side") not in said["refs"].values()
    assert said["refs"] == {"refs/heads/main": said["second"], "refs/tags/v1": said["first"]}
    assert said["files"] == [".gitattributes", "README.md", "d/large.bin", "d/ä b.txt"]
    assert said["tagged"] == [".gitattributes", "README.md", "d/large.bin"]
    assert said["side"] == [".gitattributes", "README.md", "side.txt"]
    assert said["tree"]["d/ä b.txt"] == [4, None, "2"]
    assert said["tree"]["d/large.bin"][::2] == [50_000, "first"]
    assert said["paths"] == ["d", "README.md"]
    assert said["log"] == [["2", "", ["alice"]], ["first", "more", ["alice"]], ["initial commit", "", ["alice"]]]
    assert said["info"][:2] == [said["first"], "mit"]
    assert said["info"][2]["d/large.bin"] == 50_000
    assert said["listed"] == ["alice/data", "alice/made"]
    assert said["is there"] == [True, False]
    assert said["after"] == ["refs/heads/main"]
    assert said["gone"] == ["RepositoryNotFoundError", False]
    assert server.repos() == ["alice/data"]


def test_files_come_as_they_were_at_a_revision(server: HubServer, tmp_path: Path) -> None:
    repo = server.repo("alice/data")
    repo.add_ref("tags", "v1", "main")
    repo.commit({"README.md": b"# New\n", "new/file.txt": b"new", "large.bin": b"\0other"})
    said = says(
        """
def folder(**more):
    top = Path(snapshot_download(**data, **more))
    return {str(p.relative_to(top)): p.read_bytes().decode() for p in top.rglob("*") if p.is_file()}

r = {"tag": got("README.md", revision="v1"), "main": got("README.md"), "large": got("large.bin", revision="v1")}
r["folders"] = [folder(revision="v1"), folder(), folder(allow_patterns="new/*", revision="main")]
for code in ("none.txt", "main"), ("README.md", "v9"):
    r[code[0]] = told(lambda: got(code[0], revision=code[1]))
r["other host"] = told(lambda: httpx.get("https://huggingface.co"))
print(json.dumps(r))
""",
        server,
        user=None,
        home=tmp_path,
    )
    old, new = ({k: v.decode() for k, v in repo.files(revision).items()} for revision in ("v1", "main"))
    assert [said["tag"], said["main"], said["large"]] == [old["README.md"], "# New\n", old["large.bin"]]
    folders = [{k: v for k, v in one.items() if k != ".gitattributes"} for one in said["folders"]]
    assert folders == [old, new, new]  # the third takes place in the folder of the second
    assert said["none.txt"] == ["RemoteEntryNotFoundError", 404]
    assert said["README.md"] == ["RevisionNotFoundError", 404]
    assert said["other host"] == ["ConnectError", None]  # no client gets beyond loopback
    fetched = len(server.requests("storage_get"))
    assert says('print(json.dumps(got("large.bin", revision="v1")))', server, home=tmp_path) == old["large.bin"]
    assert len(server.requests("storage_get")) == fetched  # the folder for HF_HOME has kept it


def test_others_propose_and_do_not_write(server: HubServer) -> None:
    server.add_repo("alice/hidden", private=True)
    code = """
r = {"commit": told(lambda: upload("a.txt", b"a")), "large": told(lambda: upload("b.bin"))}
r["tag"] = told(lambda: api.create_tag(**data, tag="v1"))
r["make"] = told(lambda: api.create_repo("alice/new", repo_type="dataset"))
r["delete"] = told(lambda: api.delete_repo(**data))
r["hidden"] = told(lambda: api.dataset_info("alice/hidden").id)
print(json.dumps(r))
"""
    asked = {user: says(code, server, user=user) for user in ("bob", "alice:read", None)}
    writes = ("commit", "large", "tag", "make", "delete")
    assert {what: asked["bob"][what][1] for what in writes} == dict.fromkeys(writes, 403)
    assert {what: asked["alice:read"][what][1] for what in writes} == dict.fromkeys(writes, 403)
    assert {what: asked[None][what][1] for what in writes} == dict.fromkeys(writes, 401)
    assert asked["bob"]["hidden"] == ["RepositoryNotFoundError", 404]
    assert asked["alice:read"]["hidden"] == "alice/hidden"
    assert asked[None]["hidden"] == ["RepositoryNotFoundError", 401]
    asks = HUB + "print(json.dumps(told(lambda: got('README.md'))))"
    assert client_says(asks, server, token="hf_nobody")[1] == 401  # noqa: S106 - nobody's
    assert len(server.repo("alice/data").history()) == 2


def test_a_pull_request_by_another_user(server: HubServer) -> None:
    said = says(
        """
files = [Add("new.bin", b"\\0new"), Add("README.md", b"---\\nlicense: mit\\n---\\n# Bob's\\n")]
made = api.create_commit(**data, operations=files, commit_message="Better", commit_description="Why", create_pr=True)
r = {"made": [made.pr_num, made.pr_revision], "url": made.pr_url}
r["more"] = upload("more.txt", b"more", revision=made.pr_revision)
r["read"] = [got("new.bin", revision="refs/pr/1"), got("README.md")]
listed = list(api.get_repo_discussions(**data))
r["listed"] = [[one.num, one.title, one.author, one.status, one.is_pull_request] for one in listed]
r["refs"] = [one.ref for one in api.list_repo_refs(**data, include_pull_requests=True).pull_requests]
detail = api.get_discussion_details(**data, discussion_num=1)
r["detail"] = [detail.target_branch, detail.events[0].content]
r["empty"] = api.create_pull_request(**data, title="Later").status
r["merge"] = told(lambda: api.merge_pull_request(**data, discussion_num=1))
owner = HfApi(token="TOKEN")
owner.merge_pull_request(**data, discussion_num=1)
r["merged"] = [got("README.md"), api.get_discussion_details(**data, discussion_num=1).status]
print(json.dumps(r))
""".replace("TOKEN", server.tokens["alice"]),
        server,
        user="bob",
    )
    repo = server.repo("alice/data")
    assert said["made"] == [1, "refs/pr/1"]
    assert said["url"] == f"{server.url}/datasets/alice/data/discussions/1"
    assert said["more"] == repo.pulls["1"]
    assert said["read"] == ["\0new", "---\nlicense: mit\n---\n# Data\n"]
    assert said["listed"] == [[1, "Better", "bob", "open", True]]
    assert said["refs"] == ["refs/pr/1"]
    assert said["detail"] == ["refs/heads/main", "Why"]
    assert said["empty"] == "draft"
    assert said["merge"] == ["HfHubHTTPError", 403]
    assert said["merged"] == ["---\nlicense: mit\n---\n# Bob's\n", "merged"]
    assert sorted(repo.files()) == ["README.md", "large.bin", "more.txt", "new.bin"]


CARD = """---
license: mit
configs:
- config_name: first
  default: true
  data_files:
  - split: train
    path: data/first/train-*.parquet
  - split: test
    path: data/first/test.parquet
- config_name: second
  data_files: data/second/*.parquet
---
"""


def test_datasets_reads_configs_and_writes_its_own(server: HubServer) -> None:
    train = [{"n": i, "words": [str(i), "ä"]} for i in range(3000)]
    repo = server.add_repo(
        "alice/configs",
        {
            "README.md": CARD.encode(),
            "data/first/train-0.parquet": parquet(train[:2000]),
            "data/first/train-1.parquet": parquet(train[2000:]),
            "data/first/test.parquet": parquet([{"n": -1, "words": []}]),
            "data/second/only.parquet": parquet([{"x": 0.5}]),
        },
    )
    repo.add_ref("tags", "v1", "main")
    repo.commit({"data/first/test.parquet": parquet([{"n": -2, "words": ["new"]}])})
    said = says(
        """
from datasets import Dataset, get_dataset_config_names, load_dataset

name = "alice/configs"
r = {"names": get_dataset_config_names(name)}
r["test"] = [load_dataset(name, "first", split="test", revision=one)[:] for one in ("v1", "main")]
r["default"] = {split: rows.num_rows for split, rows in load_dataset(name).items()}
r["second"] = load_dataset(name, "second", split="train")[:]
stream = load_dataset(name, "first", split="train", streaming=True)
r["stream"] = [sum(1 for _ in stream), next(iter(stream))]
r["no config"] = told(lambda: load_dataset(name, "third"))
r["no revision"] = told(lambda: load_dataset(name, revision="v9"))
r["no repository"] = told(lambda: load_dataset("alice/nothing"))

mine = Dataset.from_list([{"q": "what?", "answers": ["a", "b"]}] * 5)
mine.push_to_hub("alice/pushed", "one", split="train")
mine.select(range(2)).push_to_hub("alice/pushed", "two", split="test")
r["pushed"] = [load_dataset("alice/pushed", "one", split="train").to_list() == mine.to_list()]
r["pushed"].append(load_dataset("alice/pushed", "two", split="test").num_rows)
print(json.dumps(r))
""",
        server,
    )
    assert said["names"] == ["first", "second"]
    assert said["test"] == [{"n": [-1], "words": [[]]}, {"n": [-2], "words": [["new"]]}]
    assert said["default"] == {"train": 3000, "test": 1}
    assert said["second"] == {"x": [0.5]}
    assert said["stream"] == [3000, train[0]]
    assert said["no config"] == ["ValueError", None]
    assert said["no revision"] == said["no repository"] == ["DatasetNotFoundError", None]
    assert said["pushed"] == [True, 2]
    pushed = server.repo("alice/pushed")
    assert sorted(pushed.files()) == [
        "README.md",
        "one/train-00000-of-00001.parquet",
        "two/test-00000-of-00001.parquet",
    ]
    assert "config_name: two" in pushed.files()["README.md"].decode()
    assert {one.status for one in server.requests("storage_get")} == {200, 206}  # a stream reads parts of files


def test_the_command_of_the_hub(server: HubServer, tmp_path: Path) -> None:
    (tmp_path / "up").mkdir()
    (tmp_path / "up" / "a.txt").write_text("a")
    command = ["hf", "upload", "alice/data", "up", "folder", "--repo-type", "dataset"]
    up = run_client(command, server, token=server.tokens["alice"], cwd=tmp_path)
    assert up.returncode == 0, up.stderr
    assert server.repo("alice/data").files()["folder/a.txt"] == b"a"


# With faults


def test_what_the_client_tries_again(server: HubServer) -> None:
    faults = server.faults
    set_ = [
        faults.fail(503, on="preupload"),
        faults.limit(2, on="lfs_batch"),
        faults.fail(500, on="storage_put", times=2),
        faults.limit(2, on="storage_get"),
        faults.fail(503, on="tree"),
    ]
    said = says(
        'print(json.dumps([upload("new.bin"), got("new.bin"), len(api.list_repo_files(**data))]))',
        server,
    )
    assert said == [server.repo("alice/data").head, "\0content", 4]
    assert [one.left for one in set_] == [0] * len(set_)
    assert [one.status for one in server.requests("storage_put")] == [500, 500, 200]


@pytest.mark.parametrize("status", [429, 503])
def test_what_the_client_does_not_try_again(server: HubServer, status: int) -> None:
    repo = server.repo("alice/data")
    before = repo.refs
    for route in ("commit", "tag", "info", "create_repo"):
        server.faults.fail(status, on=route)
    said = says(
        """
r = [told(lambda: upload("new.bin")), told(lambda: api.create_tag(**data, tag="v1"))]
r += [told(lambda: api.dataset_info("alice/data").id), told(lambda: api.create_repo("alice/x", repo_type="dataset"))]
print(json.dumps([r, upload("new.bin")]))
""",
        server,
    )
    assert said == [[["HfHubHTTPError", status]] * 4, repo.head]
    assert before["refs/heads/main"] == repo.history()[1].oid  # one commit, not two
    assert len(server.requests("storage_put")) == 1  # the content was there when it was tried again


def test_a_cut_upload_leaves_nothing_and_the_next_try_goes_through(server: HubServer) -> None:
    repo = server.repo("alice/data")
    before = repo.head
    heads: list[str] = []
    cuts = [
        server.faults.cut_upload(1000, on="storage_put"),
        server.faults.cut_upload(500_000, reset=False, on="storage_put"),
        server.faults.meanwhile(lambda: heads.append(repo.head), on="storage_put"),
        server.faults.cut_upload(10, on="commit"),
        server.faults.lose_answer(on="commit"),
    ]
    said = says(
        """
content = b"\\0content" * 250_000
r = [told(lambda: upload("new.bin", content)) for _ in range(3)]
print(json.dumps(r))
""",
        server,
    )
    assert [one.left for one in cuts] == [0] * len(cuts)
    assert heads == [before]  # two cut uploads later: no trace of them
    assert said[0][0] in {"ReadError", "WriteError", "RemoteProtocolError"}  # a cut commit is not tried again
    assert said[1] == ["RemoteProtocolError", None]  # it was made, and the answer lost
    assert said[2] == repo.head  # so the third time finds nothing to change
    assert repo.at().parents == (before,)
    assert repo.files()["new.bin"] == b"\0content" * 250_000


def test_a_cut_download_goes_on_where_it_ended(server: HubServer, tmp_path: Path) -> None:
    size = 11 * 1024 * 1024  # the client keeps what it has got by 10 MB
    content = bytes(range(251)) * (size // 251)
    server.repo("alice/data").commit({"huge.bin": content})
    server.faults.cut_download(len(content) - 10, on="storage_get")
    server.faults.cut_download(5, on="resolve", method="GET", path="README")
    code = """
import hashlib
r = [hashlib.sha256(Path(hf_hub_download("alice/data", "huge.bin", repo_type="dataset")).read_bytes()).hexdigest()]
print(json.dumps([*r, got("README.md")]))
"""
    said = says(code, server, user=None, home=tmp_path)
    assert said == [server.repo("alice/data").at().files["huge.bin"].sha256, "---\nlicense: mit\n---\n# Data\n"]
    assert [one.status for one in server.requests("storage_get")] == [200, 206]


def test_a_download_that_fails_is_an_error_and_keeps_nothing_broken(server: HubServer, tmp_path: Path) -> None:
    server.faults.cut_download(50, reset=True, on="storage_get")
    server.faults.fail(503, on="storage_get")
    server.faults.lose_answer(on="storage_get", times=6)
    code = """
print(json.dumps([told(lambda: got("large.bin")) for _ in range(4)]))
"""
    said = says(code, server, user=None, home=tmp_path)
    assert said[0] == ["ReadError", None]
    assert said[1] == ["HfHubHTTPError", 503]
    assert said[2] == ["RemoteProtocolError", None]  # five times tried again
    assert said[3].encode() == server.repo("alice/data").files()["large.bin"]


def test_of_two_clients_at_once_one_wins(server: HubServer) -> None:
    rounds = 5
    said = says(
        f"""
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

def race(i, rival, parent, gate):
    gate.wait(60)
    return told(lambda: upload(f"{{i}}.bin", f"\\0{{rival}}".encode(), parent_commit=parent))

r = []
with ThreadPoolExecutor(2) as pool:
    for i in range({rounds}):
        parent, gate = api.dataset_info("alice/data").sha, Barrier(2)
        r.append([one.result() for one in [pool.submit(race, i, rival, parent, gate) for rival in (1, 2)]])
print(json.dumps(r))
""",
        server,
    )
    won = [one for pair in said for one in pair if isinstance(one, str)]
    lost = [one for pair in said for one in pair if not isinstance(one, str)]
    assert lost == [["HfHubHTTPError", 412]] * rounds
    assert [one.oid for one in reversed(server.repo("alice/data").history())][2:] == won


def test_a_lost_race_is_run_again_on_the_new_head(server: HubServer) -> None:
    repo = server.repo("alice/data")
    server.faults.meanwhile(lambda: repo.commit({"theirs.txt": b"theirs"}, author="bob"), on="commit", times=2)
    said = says(
        """
tries = []
for _ in range(5):
    tries.append(told(lambda: upload("ours.bin", parent_commit=api.dataset_info("alice/data").sha)))
    if isinstance(tries[-1], str):
        break
print(json.dumps(tries))
""",
        server,
    )
    assert said == [["HfHubHTTPError", 412]] * 2 + [repo.head]
    assert [one.author for one in repo.history()][:3] == ["alice", "bob", "bob"]


def test_a_stream_goes_on_after_a_fault(server: HubServer) -> None:
    rows = [{"n": i} for i in range(2000)]
    server.add_repo("alice/rows", {"rows.parquet": parquet(rows)})
    server.faults.fail(503, on="storage_get")
    server.faults.cut_download(100, on="storage_get")
    server.faults.cut_download(100, reset=True, on="storage_get")
    said = says(
        """
from datasets import load_dataset
rows = load_dataset("alice/rows", split="train", streaming=True)
print(json.dumps([row["n"] for row in rows]))
""",
        server,
    )
    assert said == list(range(2000))
