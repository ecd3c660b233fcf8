"""The part of the Hub's API that brings files in: what kind each is, the LFS store, the commit; and the storage."""

import base64
import hashlib
import json
from collections.abc import Iterator
from typing import Any

from tests.hub.exchange import Answer, Request, Routes, as_json, kind_of, parsed_object, part
from tests.hub.objects import Blob, Drop, Put, Refused, stored_by_lfs
from tests.hub.routes import API, KIND, REV, contributor
from tests.hub.store import Repo

ROUTES = Routes()
OBJECT = f"/{KIND}/(?P<id>[^/]+/[^/]+)/(?P<oid>[0-9a-f]{{64}})"


def committer(ask: Request, repo: Repo) -> str:
    """Who commits.

    Writers commit to any branch, others to a pull request: a new one, or one that they opened.

    Raises:
        Refused: 401 if nobody says who they are, 403 if they may not.
    """
    user = contributor(ask)
    if ask.flag("create_pr") or ask.world.people.may_write(ask.token, repo.namespace):
        return user
    name = repo.ref(ask.revision) or ""
    if name.startswith("refs/pr/") and repo.discussion(int(name.rpartition("/")[2])).author == user:
        return user
    raise Refused(403, "Forbidden: pass `create_pr=1` as a query parameter to create a Pull Request")


@ROUTES.add("preupload", "POST", f"{API}/preupload{REV}")
def preupload(ask: Request) -> Answer:
    """How each file is to be sent, and what is there under its name, by which a client knows that nothing changes."""
    repo = ask.repo()
    committer(ask, repo)
    there = repo.at(ask.revision).files
    attributes = there.get(".gitattributes", Blob(b"")).data
    answers = []
    for file in ask.json().get("files", []):
        path, sample = file["path"], base64.b64decode(file["sample"])
        old = there.get(path)
        answers.append(
            {
                "path": path,
                "uploadMode": "lfs" if stored_by_lfs(path, file["size"], sample, attributes) else "regular",
                "shouldIgnore": False,
                "oid": None if old is None else old.sha256 if old.lfs else old.oid,
            }
        )
    return as_json({"files": answers})


@ROUTES.add("lfs_batch", "POST", rf"/(?:{KIND}/)?(?P<id>[^/]+/[^/]+)\.git/info/lfs/objects/batch")
def lfs_batch(ask: Request) -> Answer:
    """Where to send the content of large files; those that are there need not be sent."""
    repo = ask.repo(kind_of(ask.parts.get("kind")))
    contributor(ask)  # for a pull request, perhaps: that is seen at the commit
    objects = []
    for one in ask.json().get("objects", []):
        oid, size = str(one["oid"]), int(one["size"])
        actions = {}
        if repo.object(oid) is None:
            href = ask.world.signed("PUT", f"/{repo.kind}s/{repo.name}/{oid}")
            actions = {"actions": {"upload": {"href": href, "header": {}}}}
        objects.append({"oid": oid, "size": size, **actions})
    answer = as_json({"transfer": "basic", "objects": objects})
    return Answer(answer.body, headers={"Content-Type": "application/vnd.git-lfs+json"})


def stored(ask: Request) -> Repo:
    """The repository whose store a signed link leads to."""
    if "authorization" in ask.headers:
        # as S3; and a token that is sent along to another host is a leak
        raise Refused(400, "Only one auth mechanism allowed: the signature or the Authorization header")
    method = "GET" if ask.method == "HEAD" else ask.method
    repo = ask.world.store.find(kind_of(ask.parts["kind"]), ask.parts["id"])
    if repo is None or not ask.world.signature_holds(method, ask.path, ask.first("signature")):
        raise Refused(403, "The signature does not fit")
    return repo


@ROUTES.add("storage_put", "PUT", OBJECT, "storage")
def storage_put(ask: Request) -> Answer:
    """Take the content of a large file, if it is what it was announced as."""
    repo = stored(ask)
    if hashlib.sha256(ask.body).hexdigest() != ask.parts["oid"]:
        raise Refused(400, "The content does not have the SHA-256 that it was announced with")
    repo.put_object(ask.parts["oid"], ask.body)
    return Answer()


@ROUTES.add("storage_get", "GET HEAD", OBJECT, "storage")
def storage_get(ask: Request) -> Answer:
    """Give the content of a large file."""
    data = stored(ask).object(ask.parts["oid"])
    if data is None:
        raise Refused(404, "No such object")
    headers = {"Content-Type": "application/octet-stream", "ETag": f'"{ask.parts["oid"]}"'}
    return part(data, ask.headers.get("range"), headers)


def changes_in(lines: list[dict[str, Any]], repo: Repo) -> Iterator[Put | Drop]:
    """The changes that the lines of a commit describe."""
    for line in lines:
        key, value = line.get("key"), line.get("value", {})
        match key:
            case "file":
                content = value["content"]
                data = base64.b64decode(content) if value.get("encoding") == "base64" else content.encode()
                yield Put(value["path"], Blob(data))
            case "lfsFile":
                data = repo.object(value["oid"])
                if data is None or value.get("size", len(data)) != len(data):
                    raise Refused(400, f"LFS pointer pointed to a file that does not exist: {value['path']}")
                yield Put(value["path"], Blob(data, lfs=True))
            case "deletedFile" | "deletedFolder":
                yield Drop(value["path"], folder=key == "deletedFolder")
            case _:
                raise Refused(400, f"Unknown line in a commit: {json.dumps(key)}", "BadRequest")


@ROUTES.add("commit", "POST", f"{API}/commit{REV}")
def commit(ask: Request) -> Answer:
    """Make a commit on a branch, or a pull request with it."""
    repo = ask.repo()
    author = committer(ask, repo)
    lines = [parsed_object(line) for line in ask.body.splitlines() if line.strip()]
    if not lines or lines[0].get("key") != "header":
        raise Refused(400, "A commit starts with its header", "BadRequest")
    header = lines[0]["value"]
    parent, title, message = header.get("parentCommit"), header.get("summary", ""), header.get("description", "")
    changes = list(changes_in(lines[1:], repo))
    result: dict[str, Any] = {"success": True, "hookOutput": ""}
    if ask.flag("create_pr"):
        start = parent or ask.revision
        pull = repo.discuss(title, message, author, pull=True, parent=start, changes=changes)
        result["pullRequestUrl"] = f"{ask.url_of(repo)}/discussions/{pull.number}"
        oid = repo.at(f"refs/pr/{pull.number}").oid
    else:
        made = repo.commit(changes, title=title, message=message, author=author, revision=ask.revision, parent=parent)
        oid = made.oid
    return as_json({**result, "commitOid": oid, "commitUrl": f"{ask.url_of(repo)}/commit/{oid}"})
