"""The server: two listeners on loopback, one for the Hub and one for the storage behind it."""

import socket
import socketserver
import struct
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from typing import get_args
from urllib.parse import parse_qs, unquote, urlsplit

from tests.hub import routes, uploads
from tests.hub.exchange import Answer, Place, Request, Route, Routes, World, as_json, refusal
from tests.hub.faults import NOTHING, Fault, Faults
from tests.hub.objects import Refused
from tests.hub.people import People, Role
from tests.hub.store import Kind, Repo

ROUTES = Routes([*routes.ROUTES.known, *uploads.ROUTES.known])


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
    """What a test holds of a running server.

    Attributes:
        url: For HF_ENDPOINT.
        faults: What is to go wrong.
        seen: All requests so far, in the order in which they came.
        crashes: Errors in the server itself; `hub` raises them at its end.
    """

    world: World
    faults: Faults = field(default_factory=Faults)
    seen: list[Seen] = field(default_factory=list)
    crashes: list[Exception] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        """Address of the Hub."""
        return self.world.urls["hub"]

    @property
    def tokens(self) -> dict[str, str]:
        """Every user's token to write with, under the user's name, and to read with, under `<name>:read`."""
        return self.world.people.tokens

    @property
    def strange(self) -> list[Seen]:
        """Requests for which there is no route: a client needs something that this server does not have."""
        return [one for one in self.seen if one.route is None]

    def requests(self, route: str) -> list[Seen]:
        """The requests so far that a route was for."""
        return [one for one in self.seen if one.route == route]

    def repo(self, name: str, kind: Kind = "dataset") -> Repo:
        """A repository, to look at or to commit to.

        Raises:
            KeyError: There is none.
        """
        found = self.world.store.find(kind, name)
        if found is None:
            raise KeyError(name)
        return found

    def add_repo(
        self, name: str, files: Mapping[str, bytes] | None = None, *, kind: Kind = "dataset", private: bool = False
    ) -> Repo:
        """Make a repository, with a second commit that has the files if there are any."""
        made = self.world.store.create(kind, name, name.partition("/")[0], private)
        if files:
            made.commit(files, title="files of a test", author=made.namespace)
        return made


class Listener(ThreadingHTTPServer):
    """Listens at an unused port of loopback; its end ends all its connections and waits for their threads."""

    daemon_threads = False
    request_queue_size = 128

    def __init__(self, server: HubServer, place: Place) -> None:
        self.hub = server
        self.place = place
        self._lock = threading.Lock()
        self._live: set[socket.socket] = set()
        self._broken: set[socket.socket] = set()
        super().__init__(("127.0.0.1", 0), Handler)

    def server_bind(self) -> None:
        """Bind, without the look-up of a host name that HTTPServer makes."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def process_request(self, request: socket.socket | tuple[bytes, socket.socket], client_address: object) -> None:
        """Keep in mind which connections there are."""
        assert isinstance(request, socket.socket)
        with self._lock:
            self._live.add(request)
        super().process_request(request, client_address)

    def break_off(self, connection: socket.socket) -> None:
        """End a connection by a reset when its thread is done with it."""
        with self._lock:
            self._broken.add(connection)

    def shutdown_request(self, request: socket.socket | tuple[bytes, socket.socket]) -> None:
        """End a connection in the way that it is to end."""
        assert isinstance(request, socket.socket)
        with self._lock:
            self._live.discard(request)
            broken = request in self._broken
            self._broken.discard(request)
        if broken:
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
        with self._lock:
            for connection in self._live:
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
        found = ROUTES.find(self.server.place, self.command, target.path)
        route, parts = found or (None, {})
        path = unquote(target.path)
        seen = Seen(self.command, path, route.name if route else None)
        hub.seen.append(seen)
        fault = hub.faults.take(route.name, self.command, path) if route else None
        if fault is not None and fault.cut_request is not None:
            self._read(fault.cut_request)
            self._hang_up(fault.reset)
            return
        body = self._read()
        request = Request(
            hub.world,
            self.command,
            target.path,
            parse_qs(target.query),
            {name.lower(): value for name, value in self.headers.items()},
            body,
            parts,
            None,
        )
        answer = self._answer(route, request, fault)
        seen.user = request.token.user if request.token else None
        seen.status = None if fault is not None and fault.cut_answer == NOTHING else answer.status
        self._send(answer, fault)

    do_HEAD = do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815 - the base class calls them so

    def _answer(self, route: Route | None, request: Request, fault: Fault | None) -> Answer:
        """What the route answers, or the fault in its place."""
        try:
            if fault is not None:
                self._meet(fault)
                if fault.status is not None and not fault.acts:
                    return _failure(fault)
            if self.server.place == "hub":
                request.token = self.server.hub.world.people.who(request.headers.get("authorization"))
            if route is None:
                raise Refused(404, f"The test server has no {request.method} {request.path}")
            answer = route.handler(request)
        except Refused as refused:
            return refusal(refused)
        except Exception as error:  # kept for the test, which would take it for a fault of its own making
            self.server.hub.crashes.append(error)
            return as_json({"error": f"The test server failed: {error!r}"}, 500)
        return _failure(fault) if fault is not None and fault.status is not None else answer

    def _meet(self, fault: Fault) -> None:
        """What the fault does before the request is carried out."""
        fault.arrived.set()
        if fault.wait:
            self.server.hub.closing.wait(fault.wait)
        if fault.gate is not None:
            fault.gate.wait()  # the end of the server opens it
        if fault.before is not None:
            fault.before()

    def _read(self, most: int | None = None) -> bytes:
        """The request's body, or the first bytes of it.

        Raises:
            ConnectionError: The client hung up before its end. What it has sent is not acted upon.
        """
        if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            return _dechunked(self.rfile, most)
        length = int(self.headers.get("Content-Length", 0))
        return _exactly(self.rfile, length if most is None else min(length, most))

    def _send(self, answer: Answer, fault: Fault | None) -> None:
        """Send the answer, or as much of it as the fault lets through."""
        cut = None if fault is None else fault.cut_answer
        if cut == NOTHING:
            self._hang_up(fault is not None and fault.reset)
            return
        self.send_response(answer.status)
        for name, value in {"Content-Length": str(len(answer.body)), **answer.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body if cut is None else answer.body[:cut])
        if cut is not None:
            self._hang_up(fault is not None and fault.reset)

    def _hang_up(self, reset: bool) -> None:
        self.close_connection = True
        if reset:
            self.server.break_off(self.connection)


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
        while stream.readline() not in {b"\r\n", b"\n", b""}:  # the end of the chunk; after the last, trailers too
            pass
        if size == 0:
            break
    return bytes(body[:most])


@contextmanager
def hub(
    users: Sequence[str] = ("alice", "bob"), orgs: Mapping[str, Mapping[str, Role]] | None = None, *, page: int = 1000
) -> Iterator[HubServer]:
    """Run a server.

    Args:
        users: Names of users, with a token to write with and one to read with each.
        orgs: Organisations, their members, and what they may do there.
        page: Entries of a list in one answer.

    Raises:
        ExceptionGroup: The server had errors of its own.
    """
    server = HubServer(World(People(users, orgs or {}), page=page))
    listeners = [Listener(server, place) for place in get_args(Place)]
    threads = [threading.Thread(target=one.serve_forever, kwargs={"poll_interval": 0.01}) for one in listeners]
    for listener, thread in zip(listeners, threads, strict=True):
        # Of another name, as on the Hub: clients that follow no link to another host would follow it to another port.
        host = "localhost" if listener.place == "storage" else "127.0.0.1"
        server.world.urls[listener.place] = f"http://{host}:{listener.server_port}"
        thread.start()
    try:
        yield server
    except BaseException as error:
        for crash in server.crashes:
            error.add_note(f"The test server failed too: {crash!r}")
        raise
    finally:
        server.closing.set()
        server.faults.clear()
        for listener, thread in zip(listeners, threads, strict=True):
            listener.shutdown()
            thread.join()
            listener.server_close()
    if server.crashes:
        raise ExceptionGroup("the test server failed", server.crashes)
