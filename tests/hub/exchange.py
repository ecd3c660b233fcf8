"""A request as the routes see it, and the answer they give."""

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args
from urllib.parse import parse_qs, unquote, urlencode

from tests.hub.objects import Refused
from tests.hub.people import People, Token
from tests.hub.store import Kind, Repo, Store

Place = Literal["hub", "storage"]  # the Hub itself, and the storage that it sends large files to and from


@dataclass
class World:
    """All that the routes know: repositories, people, and where the servers are."""

    people: People
    store: Store = field(default_factory=Store)
    page: int = 1000  # entries of a list in one answer
    urls: dict[Place, str] = field(default_factory=dict)
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))

    def signed(self, method: str, path: str) -> str:
        """A link to the storage that needs no token: it carries the Hub's signature."""
        return f"{self.urls['storage']}{path}?signature={self._signature(method, path)}"

    def signature_holds(self, method: str, path: str, signature: str) -> bool:
        """Whether the Hub signed such a request."""
        return hmac.compare_digest(self._signature(method, path), signature)

    def _signature(self, method: str, path: str) -> str:
        return hmac.new(self.secret, f"{method} {path}".encode(), hashlib.sha256).hexdigest()


@dataclass
class Answer:
    """What is sent back."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Request:
    """What was asked for. `parts` are the pieces of the path that its route names, decoded."""

    world: World
    method: str
    path: str  # as sent, without the query
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]
    body: bytes
    parts: Mapping[str, str]
    token: Token | None

    def first(self, name: str, default: str = "") -> str:
        """The first value of a parameter in the query."""
        return self.query.get(name, [default])[0]

    def flag(self, name: str) -> bool:
        """Whether a parameter in the query says yes."""
        return self.first(name).lower() in {"1", "true"}

    def json(self) -> dict[str, Any]:
        """The body, which has to be a JSON object."""
        return parsed_object(self.body or b"{}")

    def form(self) -> dict[str, list[str]]:
        """The body, in the one or the other way that clients send lists of parameters."""
        if "json" in self.headers.get("content-type", ""):
            return {key: [str(one) for one in ([v] if isinstance(v, str) else v)] for key, v in self.json().items()}
        return parse_qs(self.body.decode())

    @property
    def revision(self) -> str:
        """The revision that the path names."""
        return self.parts["rev"]

    def user(self) -> Token:
        """Who asks.

        Raises:
            Refused: 401 if nobody says so.
        """
        if self.token is None:
            raise Refused(401, "Invalid username or password.")
        return self.token

    def writer(self, namespace: str) -> Token:
        """Who asks, if they may change what belongs to `namespace`.

        Raises:
            Refused: 401 if nobody says who they are, 403 if they may not.
        """
        token = self.user()
        if not self.world.people.may_write(token, namespace):
            raise Refused(403, f"You don't have the rights to change anything under the namespace {namespace!r}")
        return token

    def repo(self, kind: Kind | None = None, name: str | None = None) -> Repo:
        """The repository that the path names, or the one that is named.

        Raises:
            Refused: There is none, or it is not to be seen by who asks; the answer does not say which.
        """
        kind = kind or kind_of(self.parts["kind"])
        name = name or self.parts["id"]
        found = self.world.store.find(kind, name)
        if found is None or not self.world.people.may_read(self.token, found):
            # as the Hub: who shows no token is told to, and never whether the repository is there
            status = 404 if self.token else 401
            raise Refused(status, "Repository not found" if self.token else "Invalid username or password.", NO_REPO)
        return found

    def url_of(self, repo: Repo) -> str:
        """Where a repository's page would be."""
        prefix = "" if repo.kind == "model" else f"{repo.kind}s/"
        return f"{self.world.urls['hub']}/{prefix}{repo.name}"

    def page(self, items: Sequence[Any]) -> Answer:
        """A page of a list, with a link to the next one."""
        size = min(self.world.page, int(self.first("limit", "1000")))
        start = int(self.first("cursor", "0"))
        headers = {}
        if start + size < len(items) and not self.query.get("limit"):  # who sets a limit wants no more than that
            query = urlencode({**self.query, "cursor": str(start + size)}, doseq=True)
            headers["Link"] = f'<{self.world.urls["hub"]}{self.path}?{query}>; rel="next"'
        return as_json(items[start : start + size], headers=headers)


NO_REPO = "RepoNotFound"


def kind_of(plural: str | None) -> Kind:
    """The kind that a path names in the plural, or a model's where it names none."""
    for kind in get_args(Kind):
        if plural == f"{kind}s":
            return kind  # type: ignore[no-any-return]
    return "model"


def parsed_object(text: bytes) -> dict[str, Any]:
    """A JSON object.

    Raises:
        Refused: 400, it is not.
    """
    try:
        value = json.loads(text)
    except ValueError as error:
        raise Refused(400, f"Not JSON: {error}", "BadRequest") from error
    if not isinstance(value, dict):
        raise Refused(400, "Not a JSON object", "BadRequest")
    return value


def as_json(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """An answer in JSON."""
    return Answer(json.dumps(value).encode(), status, {"Content-Type": "application/json", **(headers or {})})


def refusal(refused: Refused) -> Answer:
    """The answer to what is refused: the clients read the headers first, as a HEAD has no body."""
    one_line = " ".join(refused.message.encode("ascii", "replace").decode().split())
    headers = {"X-Error-Message": one_line, **refused.headers}
    if refused.code:
        headers["X-Error-Code"] = refused.code
    return as_json({"error": refused.message}, refused.status, headers)


def part(data: bytes, wanted: str | None, headers: Mapping[str, str]) -> Answer:
    """Bytes, or the range of them that the header `Range` wants."""
    size = len(data)
    found = re.fullmatch(r"bytes=(\d*)-(\d*)", wanted or "")
    if found is None or not any(found.groups()):
        return Answer(data, 200, {"Accept-Ranges": "bytes", **headers})
    first, last = found.groups()
    start = int(first) if first else max(0, size - int(last))
    stop = min(size, int(last) + 1) if first and last else size
    if start >= stop:
        unmet = {"Content-Range": f"bytes */{size}", **headers}
        raise Refused(416, f"Range not satisfiable: {wanted}", headers=unmet)
    partly = {"Accept-Ranges": "bytes", "Content-Range": f"bytes {start}-{stop - 1}/{size}", **headers}
    return Answer(data[start:stop], 206, partly)


Handler = Callable[[Request], Answer]


@dataclass(frozen=True)
class Route:
    """What answers a method and a pattern of paths."""

    name: str
    place: Place
    methods: frozenset[str]
    pattern: re.Pattern[str]
    handler: Handler


@dataclass
class Routes:
    """The routes, asked in the order in which they were added."""

    known: list[Route] = field(default_factory=list)

    def add(self, name: str, methods: str, pattern: str, place: Place = "hub") -> Callable[[Handler], Handler]:
        """Make a function the answer to a pattern of paths; the names of its groups become `Request.parts`."""

        def keep(handler: Handler) -> Handler:
            self.known.append(Route(name, place, frozenset(methods.split()), re.compile(pattern), handler))
            return handler

        return keep

    def find(self, place: Place, method: str, path: str) -> tuple[Route, dict[str, str]] | None:
        """The route for a request, and the parts of its path, decoded one by one: a revision may hold a slash."""
        for route in self.known:
            found = route.pattern.fullmatch(path) if route.place == place and method in route.methods else None
            if found is not None:
                return route, {key: unquote(value) for key, value in found.groupdict().items() if value is not None}
        return None
