"""The part of the Hub's API that the clients use: repositories, files, commits, pull requests, and the LFS store."""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import parse_qs, unquote, urlencode

from tests.hub.repository import MAIN, Blob, Commit, PullRequest, Refused, Repo, stored_by_lfs

if TYPE_CHECKING:
    from tests.hub.server import HubServer

Place = Literal["hub", "storage"]  # the Hub itself, and the storage that it sends large files to and from


@dataclass(frozen=True)
class Token:
    """A user's token; one with the role `read` changes nothing."""

    user: str
    role: str


@dataclass
class Answer:
    """A response."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Request:
    """A request; `parts` are the pieces of the path that its route names, decoded."""

    server: "HubServer"
    method: str
    path: str  # as sent, without the query
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]
    body: bytes
    parts: Mapping[str, str]
    token: Token | None = None

    def first(self, name: str, default: str = "") -> str:
        """The first value of a parameter in the query."""
        return self.query.get(name, [default])[0]

    def flag(self, name: str) -> bool:
        """Whether a parameter in the query says yes."""
        return self.first(name).lower() in {"1", "true"}

    def json(self) -> dict[str, Any]:
        """The body as a JSON object."""
        value: dict[str, Any] = json.loads(self.body or b"{}")
        return value

    def contributor(self) -> str:
        """The user, who may open pull requests."""
        if self.token is None:
            raise Refused(401, "Invalid username or password.")
        if self.token.role != "write":
            raise Refused(403, "Forbidden: this token is for reading only")
        return self.token.user

    def writer(self, namespace: str) -> str:
        """The user, who may change what is in a namespace."""
        if (user := self.contributor()) != namespace:
            raise Refused(403, f"You don't have the rights to change anything under the namespace {namespace!r}")
        return user

    def repo(self) -> Repo:
        """The repository that the path names; refused if there is none, or if the user may not see it."""
        found = self.server.repos.get(self.parts["id"])
        if found is None or (found.private and (self.token is None or self.token.user != found.namespace)):
            # as the Hub: without a token the answer is always 401, and never says whether the repository exists
            status = 404 if self.token else 401
            raise Refused(status, "Repository not found" if self.token else "Invalid username or password.", NO_REPO)
        return found

    def page(self, items: Sequence[Any]) -> Answer:
        """A page of a list, with a link to the next one."""
        size = min(self.server.page, int(self.first("limit", "1000")))
        start = int(self.first("cursor", "0"))
        headers = {}
        if start + size < len(items) and not self.query.get("limit"):  # who sets a limit wants no more than that
            query = urlencode({**self.query, "cursor": str(start + size)}, doseq=True)
            headers["Link"] = f'<{self.server.url}{self.path}?{query}>; rel="next"'
        return as_json(items[start : start + size], headers=headers)


NO_REPO = "RepoNotFound"
Handler = Callable[[Request], Answer]


@dataclass(frozen=True)
class Route:
    """The answer to a method and a pattern of paths."""

    name: str
    place: Place
    methods: frozenset[str]
    pattern: re.Pattern[str]
    handler: Handler


ROUTES: list[Route] = []
API = "/api/datasets/(?P<id>[^/]+/[^/]+)"
REV = "/(?P<rev>[^/]+)"
OBJECT = "/(?P<id>[^/]+/[^/]+)/(?P<oid>[0-9a-f]{64})"


def route(name: str, methods: str, pattern: str, place: Place = "hub") -> Callable[[Handler], Handler]:
    """Make a function the answer to a pattern of paths; the names of its groups become `Request.parts`."""

    def add(handler: Handler) -> Handler:
        ROUTES.append(Route(name, place, frozenset(methods.split()), re.compile(pattern), handler))
        return handler

    return add


def find_route(place: Place, method: str, path: str) -> tuple[Route, dict[str, str]] | None:
    """The route of a request, and the parts of its path, decoded one by one: a revision may hold a slash."""
    for known in ROUTES:
        match = known.pattern.fullmatch(path) if known.place == place and method in known.methods else None
        if match is not None:
            return known, {key: unquote(value) for key, value in match.groupdict().items() if value is not None}
    return None


def as_json(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """An answer in JSON."""
    return Answer(json.dumps(value).encode(), status, {"Content-Type": "application/json", **(headers or {})})


def part(data: bytes, request: Request, headers: Mapping[str, str]) -> Answer:
    """Bytes, or the range of them that the header `Range` wants."""
    match = re.fullmatch(r"bytes=(\d+)-(\d*)", request.headers.get("range", ""))
    if match is None:
        return Answer(data, 200, {"Accept-Ranges": "bytes", **headers})
    start, stop = int(match[1]), min(len(data), int(match[2] or len(data)) + 1)
    if start >= stop:
        raise Refused(416, "Range not satisfiable", headers={"Content-Range": f"bytes */{len(data)}"})
    return Answer(data[start:stop], 206, {"Content-Range": f"bytes {start}-{stop - 1}/{len(data)}", **headers})


def _date(commit: Commit | PullRequest) -> str:
    return commit.date.strftime("%Y-%m-%dT%H:%M:%S.000Z")


@route("agents", "GET", "/api/agent-harnesses")
def agents(request: Request) -> Answer:
    """The programs that a client is to look for around itself: none. The clients ask before anything else."""
    return as_json({"standardEnvVars": [], "harnesses": {}})


@route("validate_yaml", "POST", "/api/validate-yaml")
def validate_yaml(request: Request) -> Answer:
    """Whether a README.md may be committed: any may."""
    return as_json({"errors": [], "warnings": []})


@route("create_repo", "POST", "/api/repos/create")
def create_repo(request: Request) -> Answer:
    """Make a repository."""
    wanted = request.json()
    namespace = wanted.get("organization") or request.contributor()
    request.writer(namespace)
    name = f"{namespace}/{wanted['name']}"
    about = {"url": f"{request.server.url}/datasets/{name}", "name": name}
    if name in request.server.repos:
        return as_json({"error": f"You already created this dataset repo: {name}", **about}, 409)
    request.server.add_repo(name, private=bool(wanted.get("private")) or wanted.get("visibility") == "private")
    return as_json(about)


@route("info", "GET HEAD", API)
@route("info", "GET HEAD", f"{API}/revision{REV}")
def info(request: Request) -> Answer:
    """The description of a repository at a revision."""
    repo = request.repo()
    commit = repo.at(request.parts.get("rev", "main"))
    about = {"_id": commit.oid[:24], "id": repo.name, "author": repo.namespace, "sha": commit.oid}
    about |= {"lastModified": _date(commit), "createdAt": _date(repo.history()[-1])}
    flags = {"private": repo.private, "gated": False, "disabled": False, "downloads": 0, "likes": 0, "tags": []}
    siblings: list[dict[str, Any]] = []
    for path, blob in sorted(commit.files.items()):
        lfs = {"lfs": {"sha256": blob.sha256, "size": len(blob.data), "pointerSize": 130}} if blob.lfs else {}
        sizes = {"size": len(blob.data), "blobId": blob.oid, **lfs} if request.flag("blobs") else {}
        siblings.append({"rfilename": path, **sizes})
    return as_json({**about, **flags, "siblings": siblings, "cardData": {}})


def folders(commit: Commit) -> set[str]:
    """The folders at a commit; the root is ""."""
    parts = [path.split("/") for path in commit.files]
    return {"", *("/".join(names[:i]) for names in parts for i in range(1, len(names)))}


def entry(commit: Commit, path: str) -> dict[str, Any]:
    """A file or a folder in a listing."""
    blob = commit.files.get(path)
    if blob is None:
        return {"type": "directory", "oid": hashlib.sha1(path.encode()).hexdigest(), "size": 0, "path": path}  # noqa: S324
    lfs = {"lfs": {"oid": blob.sha256, "size": len(blob.data), "pointerSize": 130}} if blob.lfs else {}
    return {"type": "file", "oid": blob.oid, "size": len(blob.data), "path": path, **lfs}


@route("tree", "GET", f"{API}/tree{REV}(?:/(?P<folder>.*))?")
def tree(request: Request) -> Answer:
    """The files and folders in a folder."""
    commit = request.repo().at(request.parts["rev"])
    folder, known = request.parts.get("folder", "").strip("/"), folders(commit)
    if folder not in known:
        raise missing_entry(folder, commit)
    paths = [path for path in sorted({*commit.files, *known} - {""}) if path.startswith(f"{folder}/"[not folder :])]
    if not request.flag("recursive"):
        paths = [path for path in paths if path.rpartition("/")[0] == folder]
    return request.page([entry(commit, path) for path in paths])


@route("paths_info", "POST", f"{API}/paths-info{REV}")
def paths_info(request: Request) -> Answer:
    """The files and folders of these names; those that do not exist are left out."""
    commit = request.repo().at(request.parts["rev"])
    is_json = "json" in request.headers.get("content-type", "")
    paths = request.json()["paths"] if is_json else parse_qs(request.body.decode()).get("paths", [])
    known = {*commit.files, *folders(commit)} - {""}
    return as_json([entry(commit, path.strip("/")) for path in paths if path.strip("/") in known])


def missing_entry(path: str, commit: Commit) -> Refused:
    """There is no such file: the commit is named, so that a client can remember what it lacks."""
    return Refused(404, f"Entry not found: {path}", "EntryNotFound", {"X-Repo-Commit": commit.oid})


@route("resolve", "GET HEAD", f"/datasets/(?P<id>[^/]+/[^/]+)/resolve{REV}/(?P<path>.+)")
def resolve(request: Request) -> Answer:
    """A file: those in the LFS store are fetched from the storage, with a link that needs no token."""
    repo = request.repo()
    commit, path = repo.at(request.parts["rev"]), request.parts["path"]
    blob = commit.files.get(path)
    if blob is None:
        raise missing_entry(path, commit)
    headers = {"X-Repo-Commit": commit.oid, "ETag": f'"{blob.oid}"'}
    if not blob.lfs:
        return part(blob.data, request, {"Content-Type": "text/plain; charset=utf-8", **headers})
    linked = {
        "X-Linked-Size": str(len(blob.data)),
        "X-Linked-ETag": f'"{blob.sha256}"',
        "Location": request.server.signed("GET", f"/{repo.name}/{blob.sha256}"),
    }
    return Answer(b"", 302, {**headers, **linked})


@route("refs", "GET", f"{API}/refs")
def refs(request: Request) -> Answer:
    """The branches and tags."""
    repo = request.repo()

    def listed(folder: str) -> list[dict[str, str]]:
        named = sorted(repo.named(f"refs/{folder}/").items())
        return [{"name": name, "ref": f"refs/{folder}/{name}", "targetCommit": oid} for name, oid in named]

    return as_json({"branches": listed("heads"), "converts": [], "tags": listed("tags")})


@route("commits", "GET", f"{API}/commits{REV}")
def commits(request: Request) -> Answer:
    """The history of a revision."""
    history = request.repo().history(request.parts["rev"])
    return request.page(
        [
            {"id": c.oid, "title": c.title, "message": c.message, "date": _date(c), "authors": [{"user": c.author}]}
            for c in history
        ]
    )


@route("tag", "POST", f"{API}/tag{REV}")
def tag(request: Request) -> Answer:
    """Make a tag at a revision."""
    repo = request.repo()
    request.writer(repo.namespace)
    repo.tag(str(request.json()["tag"]), request.parts["rev"])
    return as_json({})


def discussed(repo: Repo, pull: PullRequest) -> dict[str, Any]:
    """The description of a pull request."""
    return {
        "num": pull.number,
        "title": pull.title,
        "status": pull.status,
        "author": {"name": pull.author, "type": "user"},
        "createdAt": _date(pull),
        "isPullRequest": True,
        "repo": {"name": repo.name, "type": "dataset"},
    }


@route("discussions", "GET", f"{API}/discussions")
def discussions(request: Request) -> Answer:
    """The open pull requests, the newest first, a page at a time; of one author if one is named."""
    repo, author = request.repo(), request.first("author")
    pulls = [
        discussed(repo, pull)
        for pull in reversed(repo.discussions)
        if pull.status == "open" and author in ("", pull.author)
    ]
    start = int(request.first("p", "0")) * request.server.page
    shown = pulls[start : start + request.server.page]
    return as_json({"discussions": shown, "count": len(pulls), "start": start})


@route("discussion", "GET", f"{API}/discussions/(?P<number>[0-9]+)")
def discussion(request: Request) -> Answer:
    """A pull request and its events."""
    repo = request.repo()
    pull = repo.discussion(int(request.parts["number"]))
    about = discussed(repo, pull)
    comment = {"edited": False, "hidden": False, "latest": {"raw": pull.message}}
    event = {"id": f"{pull.number:024x}", "type": "comment", "author": about["author"], "data": comment}
    changes = {"base": MAIN, "mergeCommitId": pull.merged_as}
    about["events"] = [{**event, "createdAt": about["createdAt"]}]
    return as_json({**about, "changes": changes, "filesWithConflicts": [], "diff": ""})


@route("merge", "POST", f"{API}/discussions/(?P<number>[0-9]+)/merge")
def merge(request: Request) -> Answer:
    """Bring a pull request's changes to `main`."""
    repo = request.repo()
    commit = repo.merge(int(request.parts["number"]), request.writer(repo.namespace))
    return as_json({"mergeCommitId": commit.oid})


def committer(request: Request, repo: Repo) -> str:
    """The user, who may commit to a branch, or to a new pull request, or to one that they opened."""
    user = request.contributor()
    ref = repo.ref(request.parts["rev"]) or ""
    mine = ref.startswith("refs/pr/") and repo.discussion(int(ref.rpartition("/")[2])).author == user
    if not (request.flag("create_pr") or user == repo.namespace or mine):
        raise Refused(403, "Forbidden: pass `create_pr=1` as a query parameter to create a Pull Request")
    return user


@route("preupload", "POST", f"{API}/preupload{REV}")
def preupload(request: Request) -> Answer:
    """How each file is to be sent, and what is there under its name, by which a client knows that nothing changes."""
    repo = request.repo()
    committer(request, repo)
    present = repo.at(request.parts["rev"]).files
    answers = []
    for file in request.json()["files"]:
        path, old = file["path"], present.get(file["path"])
        lfs = stored_by_lfs(path, file["size"], base64.b64decode(file["sample"]))
        oid = None if old is None else old.sha256 if old.lfs else old.oid
        answers.append({"path": path, "uploadMode": "lfs" if lfs else "regular", "shouldIgnore": False, "oid": oid})
    return as_json({"files": answers})


@route("lfs_batch", "POST", r"/datasets/(?P<id>[^/]+/[^/]+)\.git/info/lfs/objects/batch")
def lfs_batch(request: Request) -> Answer:
    """Where to send the content of large files; those that are there need not be sent."""
    repo = request.repo()
    request.contributor()  # for a pull request, perhaps: that is seen at the commit
    objects = []
    for wanted in request.json()["objects"]:
        oid, actions = str(wanted["oid"]), {}
        if oid not in repo.objects:
            href = request.server.signed("PUT", f"/{repo.name}/{oid}")
            actions = {"actions": {"upload": {"href": href, "header": {}}}}
        objects.append({"oid": oid, "size": wanted["size"], **actions})
    answer = as_json({"transfer": "basic", "objects": objects})
    return Answer(answer.body, headers={"Content-Type": "application/vnd.git-lfs+json"})


def signed_repo(request: Request) -> Repo:
    """The repository whose store a signed link leads to."""
    if "authorization" in request.headers:
        # as S3; and a token that is sent along to another host is a leak
        raise Refused(400, "Only one auth mechanism allowed: the signature or the Authorization header")
    method = "GET" if request.method == "HEAD" else request.method
    if request.first("signature") != request.server.signature(method, request.path):
        raise Refused(403, "The signature does not fit")
    return request.server.repos[request.parts["id"]]


@route("storage_put", "PUT", OBJECT, "storage")
def storage_put(request: Request) -> Answer:
    """Take the content of a large file, if it is what it was announced as."""
    repo, oid = signed_repo(request), request.parts["oid"]
    if hashlib.sha256(request.body).hexdigest() != oid:
        raise Refused(400, "The content does not have the SHA-256 that it was announced with")
    repo.objects[oid] = request.body
    return Answer()


@route("storage_get", "GET HEAD", OBJECT, "storage")
def storage_get(request: Request) -> Answer:
    """Give the content of a large file."""
    oid = request.parts["oid"]
    data = signed_repo(request).objects[oid]
    return part(data, request, {"Content-Type": "application/octet-stream", "ETag": f'"{oid}"'})


def changes_in(lines: Sequence[dict[str, Any]], repo: Repo) -> Iterator[tuple[str, Blob | None]]:
    """The changes that the lines of a commit describe."""
    for line in lines:
        value = line["value"]
        match line["key"]:
            case "file":
                yield value["path"], Blob(base64.b64decode(value["content"]))
            case "lfsFile":
                data = repo.objects.get(value["oid"])
                if data is None or value.get("size", len(data)) != len(data):
                    raise Refused(400, f"LFS pointer pointed to a file that does not exist: {value['path']}")
                yield value["path"], Blob(data, lfs=True)
            case "deletedFile":
                yield value["path"], None
            case key:
                raise Refused(400, f"Unknown line in a commit: {key}", "BadRequest")


@route("commit", "POST", f"{API}/commit{REV}")
def commit(request: Request) -> Answer:
    """Make a commit on a branch, or a pull request with it."""
    repo, revision = request.repo(), request.parts["rev"]
    author = committer(request, repo)
    lines = [json.loads(line) for line in request.body.splitlines() if line.strip()]
    header = lines[0]["value"]
    parent, title, message = header.get("parentCommit"), header.get("summary", ""), header.get("description", "")
    changes = dict(changes_in(lines[1:], repo))
    page = f"{request.server.url}/datasets/{repo.name}"
    answer: dict[str, Any] = {"success": True, "hookOutput": ""}
    if request.flag("create_pr"):
        pull = repo.propose(changes, title, message, author, parent or revision)
        answer["pullRequestUrl"] = f"{page}/discussions/{pull.number}"
        oid = repo.at(f"refs/pr/{pull.number}").oid
    else:
        oid = repo.change(changes, title, message, author, revision, parent).oid
    return as_json({**answer, "commitOid": oid, "commitUrl": f"{page}/commit/{oid}"})
