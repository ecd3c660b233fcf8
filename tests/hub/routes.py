"""The part of the Hub's API that the clients use on repositories."""

import json
from typing import Any

from tests.hub.cards import BadCard, card_data
from tests.hub.exchange import Answer, Request, Routes, as_json, kind_of, part
from tests.hub.objects import Blob, Commit, Refused
from tests.hub.store import MAIN, Discussion, Repo

ROUTES = Routes()
KIND = "(?P<kind>models|datasets|spaces)"
API = f"/api/{KIND}/(?P<id>[^/]+/[^/]+)"
REV = "/(?P<rev>[^/]+)"


def _date(commit: Commit) -> str:
    return commit.date.strftime("%Y-%m-%dT%H:%M:%S.000Z")


@ROUTES.add("agents", "GET", "/api/agent-harnesses")
def agents(ask: Request) -> Answer:
    """The programs that a client is to look for around itself: none. The clients ask before anything else."""
    return as_json({"standardEnvVars": [], "harnesses": {}})


@ROUTES.add("validate_yaml", "POST", "/api/validate-yaml")
def validate_yaml(ask: Request) -> Answer:
    """Whether a README.md may be committed."""
    try:
        found = card_data(str(ask.json().get("content", "")))
    except BadCard as error:
        return as_json({"errors": [{"message": str(error)}], "warnings": []}, 400)
    warnings = [] if found else [{"message": "empty or missing yaml metadata in repo card"}]
    return as_json({"errors": [], "warnings": warnings})


@ROUTES.add("create_repo", "POST", "/api/repos/create")
def create_repo(ask: Request) -> Answer:
    """Make a repository."""
    wanted = ask.json()
    namespace = wanted.get("organization") or ask.user().user
    token = ask.writer(namespace)
    kind, name = kind_of(f"{wanted.get('type')}s"), f"{namespace}/{wanted['name']}"
    private = bool(wanted.get("private")) or wanted.get("visibility") == "private"
    try:
        made = ask.world.store.create(kind, name, token.user, private)
    except Refused as refused:
        there = ask.repo(kind, name)
        # a client that takes an existing repository for good reads its address from the refusal
        return as_json({"error": refused.message, "url": ask.url_of(there)}, refused.status)
    return as_json({"url": ask.url_of(made), "name": made.name})


def described(repo: Repo, commit: Commit, *, full: bool = True, sizes: bool = False) -> dict[str, Any]:
    """What the Hub says of a repository at a commit."""
    result: dict[str, Any] = {
        "_id": commit.oid[:24],
        "id": repo.name,
        "author": repo.namespace,
        "sha": commit.oid,
        "createdAt": repo.created.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
        "lastModified": _date(commit),
        "private": repo.private,
        "gated": False,
        "disabled": False,
        "downloads": 0,
        "likes": 0,
        "tags": [],
    }
    if full:
        result["siblings"] = [sibling(path, blob, sizes) for path, blob in sorted(commit.files.items())]
        try:
            readme = commit.files.get("README.md", Blob(b"")).data.decode(errors="replace")
            result["cardData"] = json.loads(json.dumps(card_data(readme), default=str))  # YAML has dates, JSON none
        except BadCard:
            result["cardData"] = {}  # as the Hub: such a card is no reason not to show the repository
    return result


def sibling(path: str, blob: Blob, sizes: bool) -> dict[str, Any]:
    """One file in a repository's description."""
    if not sizes:
        return {"rfilename": path}
    large = {"sha256": blob.sha256, "size": len(blob.data), "pointerSize": len(blob.pointer)}
    lfs = {"lfs": large} if blob.lfs else {}
    return {"rfilename": path, "size": len(blob.data), "blobId": blob.oid, **lfs}


@ROUTES.add("info", "GET HEAD", API)
@ROUTES.add("info", "GET HEAD", f"{API}/revision{REV}")
def info(ask: Request) -> Answer:
    """What there is to say of a repository at a revision."""
    repo = ask.repo()
    return as_json(described(repo, repo.at(ask.parts.get("rev", "main")), sizes=ask.flag("blobs")))


def entry(commit: Commit, path: str, changed: dict[str, Commit]) -> dict[str, Any]:
    """A file or a folder in a listing."""
    last = changed.get(path)
    more: dict[str, Any] = {"lastCommit": {"id": last.oid, "title": last.title, "date": _date(last)}} if last else {}
    if path in commit.folders:
        return {"type": "directory", "oid": commit.folders[path], "size": 0, "path": path, **more}
    blob = commit.files[path]
    if blob.lfs:
        more["lfs"] = {"oid": blob.sha256, "size": len(blob.data), "pointerSize": len(blob.pointer)}
    return {"type": "file", "oid": blob.oid, "size": len(blob.data), "path": path, **more}


@ROUTES.add("tree", "GET", f"{API}/tree{REV}(?:/(?P<folder>.*))?")
def tree(ask: Request) -> Answer:
    """The files and folders in a folder."""
    repo = ask.repo()
    commit = repo.at(ask.revision)
    folder = ask.parts.get("folder", "").strip("/")
    if folder not in commit.folders:
        raise missing_entry(folder, commit)
    inside = [
        path for path in sorted({*commit.files, *commit.folders} - {""}) if path.startswith(f"{folder}/"[not folder :])
    ]
    if not ask.flag("recursive"):
        inside = [path for path in inside if path.rpartition("/")[0] == folder]
    changed = repo.last_changes(commit.oid) if ask.flag("expand") else {}
    return ask.page([entry(commit, path, changed) for path in inside])


@ROUTES.add("paths_info", "POST", f"{API}/paths-info{REV}")
def paths_info(ask: Request) -> Answer:
    """The files and folders of these names; those that are not there are left out."""
    repo, form = ask.repo(), ask.form()
    commit = repo.at(ask.revision)
    expand = form.get("expand", [""])[0].lower() == "true"
    changed = repo.last_changes(commit.oid) if expand else {}
    wanted = [path.strip("/") for path in form.get("paths", [])]
    return as_json(
        [entry(commit, path, changed) for path in wanted if path and (path in commit.files or path in commit.folders)]
    )


def missing_entry(path: str, commit: Commit) -> Refused:
    """There is no such file: the commit is named, so that a client can remember what it lacks."""
    return Refused(404, f"Entry not found: {path}", "EntryNotFound", {"X-Repo-Commit": commit.oid})


@ROUTES.add("resolve", "GET HEAD", f"/(?:{KIND}/)?(?P<id>[^/]+/[^/]+)/resolve{REV}/(?P<path>.+)")
def resolve(ask: Request) -> Answer:
    """A file: those in the LFS store are fetched from the storage, with a link that needs no token."""
    repo = ask.repo(kind_of(ask.parts.get("kind")))
    commit = repo.at(ask.revision)
    path = ask.parts["path"]
    blob = commit.files.get(path)
    if blob is None:
        raise missing_entry(path, commit)
    headers = {"X-Repo-Commit": commit.oid, "ETag": f'"{blob.oid}"'}
    if not blob.lfs:
        return part(blob.data, ask.headers.get("range"), {"Content-Type": "text/plain; charset=utf-8", **headers})
    linked = {
        "X-Linked-Size": str(len(blob.data)),
        "X-Linked-ETag": f'"{blob.sha256}"',
        "Location": ask.world.signed("GET", f"/{repo.kind}s/{repo.name}/{blob.sha256}"),
    }
    return Answer(b"", 302, {**headers, **linked})


@ROUTES.add("refs", "GET", f"{API}/refs")
def refs(ask: Request) -> Answer:
    """The branches, tags and pull requests."""
    repo = ask.repo()

    def listed(folder: str, named: dict[str, str]) -> list[dict[str, str]]:
        ordered = sorted(named.items())
        return [{"name": name, "ref": f"refs/{folder}/{name}", "targetCommit": oid} for name, oid in ordered]

    result = {"branches": listed("heads", repo.branches), "converts": [], "tags": listed("tags", repo.tags)}
    if ask.flag("include_prs"):
        result["pullRequests"] = listed("pr", repo.pulls)
    return as_json(result)


@ROUTES.add("commits", "GET", f"{API}/commits{REV}")
def commits(ask: Request) -> Answer:
    """How a revision came about."""
    return ask.page(
        [
            {
                "id": one.oid,
                "title": one.title,
                "message": one.message,
                "date": _date(one),
                "authors": [{"user": one.author}],
            }
            for one in ask.repo().history(ask.revision)
        ]
    )


@ROUTES.add("tag", "POST", f"{API}/tag{REV}")
def tag(ask: Request) -> Answer:
    """Make a tag at a revision."""
    repo = ask.repo()
    ask.writer(repo.namespace)
    repo.add_ref("tags", str(ask.json().get("tag", "")), ask.revision)
    return as_json({})


def discussed(repo: Repo, one: Discussion) -> dict[str, Any]:
    """What the Hub says of a discussion."""
    return {
        "num": one.number,
        "title": one.title,
        "status": one.status,
        "author": {"name": one.author, "type": "user"},
        "createdAt": one.date.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
        "isPullRequest": bool(one.base),
        "repo": {"name": repo.name, "type": repo.kind},
    }


@ROUTES.add("discussions", "GET", f"{API}/discussions")
def discussions(ask: Request) -> Answer:
    """The discussions and pull requests, the newest first, a page at a time."""
    repo = ask.repo()
    listed = [discussed(repo, one) for one in reversed(repo.discussions)]
    kinds = {"pull_request": True, "discussion": False}
    found = [
        one
        for one in listed
        if (
            one["isPullRequest"] == kinds.get(ask.first("type"), one["isPullRequest"])
            and ask.first("author", one["author"]["name"]) == one["author"]["name"]
            and (one["status"] in {"open", "draft"}) == (ask.first("status", "open") == "open")
        )
        or ask.first("status") == "all"
    ]
    start = int(ask.first("p", "0")) * ask.world.page
    shown = found[start : start + ask.world.page]
    return as_json({"discussions": shown, "count": len(found), "start": start})


@ROUTES.add("discussion", "GET", f"{API}/discussions/(?P<number>[0-9]+)")
def discussion(ask: Request) -> Answer:
    """A discussion or pull request and what happened in it."""
    repo = ask.repo()
    one = repo.discussion(int(ask.parts["number"]))
    shown = discussed(repo, one)
    said = {"edited": False, "hidden": False, "latest": {"raw": one.message}}
    event = {"id": f"{one.number:024x}", "type": "comment", "author": shown["author"], "data": said}
    changes = {"base": MAIN, "mergeCommitId": one.merged_as}
    return as_json(
        {
            **shown,
            "events": [{**event, "createdAt": shown["createdAt"]}],
            **({"changes": changes, "filesWithConflicts": [], "diff": ""} if one.base else {}),
        }
    )


@ROUTES.add("merge", "POST", f"{API}/discussions/(?P<number>[0-9]+)/merge")
def merge(ask: Request) -> Answer:
    """Bring a pull request's changes to `main`."""
    repo = ask.repo()
    token = ask.writer(repo.namespace)
    made = repo.merge(int(ask.parts["number"]), token.user)
    return as_json({"mergeCommitId": made.oid})


def contributor(ask: Request) -> str:
    """Who opens a pull request: anybody who may read the repository and holds a token to write with."""
    token = ask.user()
    if token.role != "write":
        raise Refused(403, "Forbidden: this token is for reading only")
    return token.user
