"""The server: two listeners on loopback, one for the Hub and one for the storage behind it."""

import hashlib
import hmac
import secrets
import socket
import socketserver
import struct
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from typing import get_args
from urllib.parse import parse_qs, unquote, urlsplit

from tests.hub.faults import NOTHING, Fault, Faults
from tests.hub.repository import Refused, Repo
from tests.hub.routes import Answer, Place, Request, Route, Token, as_json, find_route

USERS = ("alice", "bob")
TOKENS = {f"hf_{user}_{role}": Token(user, role) for user in USERS for role in ("write", "read")}


@dataclass
class Seen:
    """One request, as it came and ended; `status` is None for one that got no answer."""

    method: str
    path: str
    route: str | None
    user: str | None = None
    status: int | None = None


@dataclass
class HubServer:
    """A running server, for tests to look at and to disturb."""

    page: int = 1000  # entries of a list in one answer
    faults: Faults = field(default_factory=Faults)
    seen: list[Seen] = field(default_factory=list)  # all requests so far
    repos: dict[str, Repo] = field(default_factory=dict)
    crashes: list[Exception] = field(default_factory=list)  # errors in the server itself; `hub` raises them at its end
    urls: dict[Place, str] = field(default_factory=dict)
    _secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))

    @property
    def url(self) -> str:
        """Address of the Hub, for HF_ENDPOINT."""
        return self.urls["hub"]

    @property
    def tokens(self) -> dict[str, str]:
        """Every user's token to write with, under the user's name, and to read with, under `<name>:read`."""
        return {token.user + ":read" * (token.role == "read"): text for text, token in TOKENS.items()}

    @property
    def strange(self) -> list[Seen]:
        """Requests for which there is no route: a client needs something that this server does not have."""
        return [request for request in self.seen if request.route is None]

    def requests(self, route: str) -> list[Seen]:
        """The requests so far of a route."""
        return [request for request in self.seen if request.route == route]

    def repo(self, name: str) -> Repo:
        """A repository, to look at or to commit to."""
        return self.repos[name]

    def add_repo(self, name: str, files: Mapping[str, bytes] | None = None, *, private: bool = False) -> Repo:
        """Make a repository, with a second commit that has the files if there are any."""
        repo = self.repos[name] = Repo(name, private)
        if files:
            repo.commit(files, title="files of a test", author=repo.namespace)
        return repo

    def signed(self, method: str, path: str) -> str:
        """A link to the storage that needs no token: it carries the Hub's signature."""
        return f"{self.urls['storage']}{path}?signature={self.signature(method, path)}"

    def signature(self, method: str, path: str) -> str:
        """The Hub's signature of a request."""
        return hmac.new(self._secret, f"{method} {path}".encode(), hashlib.sha256).hexdigest()


class Listener(ThreadingHTTPServer):
    """Listens at an unused port of loopback; its end ends all its connections and waits for their threads."""

    daemon_threads = False
    request_queue_size = 128

    def __init__(self, server: HubServer, place: Place) -> None:
        self.hub = server
        self.place = place
        self._live: set[socket.socket] = set()
        self.broken: set[socket.socket] = set()  # connections that are to end by a reset
        super().__init__(("127.0.0.1", 0), Handler)

    def server_bind(self) -> None:
        """Bind, without the look-up of a host name that HTTPServer makes."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def process_request(self, request: socket.socket | tuple[bytes, socket.socket], client_address: object) -> None:
        """Record which connections there are."""
        assert isinstance(request, socket.socket)
        self._live.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: socket.socket | tuple[bytes, socket.socket]) -> None:
        """End a connection in the way that it is to end."""
        assert isinstance(request, socket.socket)
        self._live.discard(request)
        if request in self.broken:
            # to linger for no time makes the end a reset; without the shutdown, no orderly end goes before it
            request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_request(request)
        else:
            super().shutdown_request(request)

    def handle_error(self, request: object, client_address: object) -> None:
        """Keep errors for the test; that a client ends its connection is none."""
        error = sys.exception()
        if isinstance(error, Exception) and not isinstance(error, ConnectionError):
            self.hub.crashes.append(error)

    def server_close(self) -> None:
        """Stop listening, hang up, and wait for the threads."""
        for connection in list(self._live):
            with suppress(OSError):  # it has ended by itself
                connection.shutdown(socket.SHUT_RDWR)
        super().server_close()


class Handler(BaseHTTPRequestHandler):
    """One connection: reads requests, lets the routes answer them, and does to both what the faults say."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or each answer waits 40 ms
    server: Listener

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class calls it so
        """Write nothing: the requests are in `HubServer.seen`."""

    def do_GET(self) -> None:
        """Answer whatever method it is."""
        hub = self.server.hub
        target = urlsplit(self.path)
        route, parts = find_route(self.server.place, self.command, target.path) or (None, {})
        path = unquote(target.path)
        seen = Seen(self.command, path, route.name if route else None)
        hub.seen.append(seen)
        fault = hub.faults.take(route.name, self.command, path) if route else None
        if fault is not None and fault.cut_request is not None:
            self._read(fault.cut_request)
            self._hang_up(fault)
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(hub, self.command, target.path, parse_qs(target.query), headers, self._read(), parts)
        answer = self._answer(route, request, fault)
        seen.user = request.token.user if request.token else None
        seen.status = None if fault is not None and fault.cut_answer == NOTHING else answer.status
        self._send(answer, fault)

    do_HEAD = do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815 - the base class calls them so

    def _answer(self, route: Route | None, request: Request, fault: Fault | None) -> Answer:
        """What the route answers, or the fault in its place."""
        try:
            if fault is not None:
                if fault.gate is not None:
                    fault.gate.wait()  # the end of the server opens it
                if fault.before is not None:
                    fault.before()
                if fault.status is not None and not fault.acts:
                    return _failure(fault)
            if self.server.place == "hub" and (authorization := request.headers.get("authorization")) is not None:
                request.token = TOKENS.get(authorization.removeprefix("Bearer "))
                if request.token is None:
                    raise Refused(401, "Invalid credentials in Authorization header")
            if route is None:
                raise Refused(404, f"The test server has no {request.method} {request.path}")
            answer = route.handler(request)
        except Refused as refused:  # the clients read the headers first, as a HEAD has no body
            one_line = " ".join(refused.message.encode("ascii", "replace").decode().split())
            headers = {"X-Error-Message": one_line, **refused.headers}
            headers |= {"X-Error-Code": refused.code} if refused.code else {}
            return as_json({"error": refused.message}, refused.status, headers)
        except Exception as error:  # kept for the test, which would take it for a fault of its own making
            self.server.hub.crashes.append(error)
            return as_json({"error": f"The test server failed: {error!r}"}, 500)
        return _failure(fault) if fault is not None and fault.status is not None else answer

    def _read(self, most: int | None = None) -> bytes:
        """The request's body, or the first bytes of it; a client that hung up before its end changes nothing."""
        if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            return _dechunked(self.rfile, most)
        length = int(self.headers.get("Content-Length", 0))
        return _exactly(self.rfile, length if most is None else min(length, most))

    def _send(self, answer: Answer, fault: Fault | None) -> None:
        """Send the answer, or as much of it as the fault lets through."""
        cut = None if fault is None else fault.cut_answer
        if cut != NOTHING:
            self.send_response(answer.status)
            for name, value in {"Content-Length": str(len(answer.body)), **answer.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(answer.body[:cut])
        if fault is not None and cut is not None:
            self._hang_up(fault)

    def _hang_up(self, fault: Fault) -> None:
        self.close_connection = True
        if fault.reset:
            self.server.broken.add(self.connection)


def _failure(fault: Fault) -> Answer:
    assert fault.status is not None
    return as_json({"error": "A fault that the test has set"}, fault.status, fault.headers)


def _exactly(stream: BufferedIOBase, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise ConnectionError("The client hung up in the middle of a request")
    return data


def _dechunked(stream: BufferedIOBase, most: int | None) -> bytes:
    """A body that is sent in chunks, or the first bytes of it."""
    body = bytearray()
    while most is None or len(body) < most:
        line = stream.readline()
        if not line.endswith(b"\n"):
            raise ConnectionError("The client hung up in the middle of a request")
        size = int(line.split(b";")[0], 16)
        body += _exactly(stream, size)
        stream.readline()  # the end of the chunk
        if size == 0:
            break
    return bytes(body[:most])


@contextmanager
def hub(*, page: int = 1000) -> Iterator[HubServer]:
    """Run a server; at its end, raise the errors that it had of its own."""
    server = HubServer(page)
    listeners = [Listener(server, place) for place in get_args(Place)]
    threads = [threading.Thread(target=one.serve_forever, kwargs={"poll_interval": 0.01}) for one in listeners]
    for listener, thread in zip(listeners, threads, strict=True):
        # Of another name, as on the Hub: clients that follow no link to another host would follow it to another port.
        host = "localhost" if listener.place == "storage" else "127.0.0.1"
        server.urls[listener.place] = f"http://{host}:{listener.server_port}"
        thread.start()
    try:
        yield server
    except BaseException as error:
        for crash in server.crashes:
            error.add_note(f"The test server failed too: {crash!r}")
        raise
    finally:
        server.faults.clear()
        for listener, thread in zip(listeners, threads, strict=True):
            listener.shutdown()
            thread.join()
            listener.server_close()
    if server.crashes:
        raise ExceptionGroup("the test server failed", server.crashes)
