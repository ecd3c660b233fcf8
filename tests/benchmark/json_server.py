"""A server on loopback that answers in JSON, and answers amiss on demand. What it answers with, others say."""

import json
import socketserver
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Reply:
    """How a request is answered if not simply well.

    Attributes:
        status: The HTTP status.
        headers: More of them.
        body: Instead of the model's answer.
        change: What the model's answer becomes.
        endless: Send the body again and again, until the client has enough.
        hang: Say nothing until the test ends.
        cut: How many bytes are promised beyond those sent.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    change: Callable[[dict[str, Any]], object] | None = None
    endless: bool = False
    hang: bool = False
    cut: int = 0


@dataclass(kw_only=True)
class JsonServer:
    """What a test holds of a running server.

    Attributes:
        url: Its address.
        replies: How the next requests are answered, in order; then well.
        always: How the others are, if not well.
        models: What `/v1/models` lists.
        seen: The bodies of all requests so far.
        headers: Their headers.
        crashes: Errors in the server itself.
    """

    url: str = ""
    replies: list[Reply] = field(default_factory=list)
    always: Reply = field(default_factory=Reply)
    models: object = field(default_factory=dict)
    seen: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    crashes: list[Exception] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, asked: dict[str, Any]) -> tuple[int, object]:
        """The status and the document for a request."""
        raise NotImplementedError


class _Listener(ThreadingHTTPServer):
    daemon_threads = True  # a client that was stopped may leave a connection open

    def __init__(self, server: JsonServer) -> None:
        self.shown = server
        super().__init__(("127.0.0.1", 0), _Handler)

    def server_bind(self) -> None:
        # without the look-up of a host name that HTTPServer makes
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def handle_error(self, request: object, client_address: object) -> None:
        error = sys.exception()
        if isinstance(error, Exception) and not isinstance(error, ConnectionError):
            self.shown.crashes.append(error)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or each answer waits 40 ms
    server: _Listener

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Write nothing."""

    def do_GET(self) -> None:
        self._send(Reply(), 200 if self.path == "/v1/models" else 404, self.server.shown.models)

    def do_POST(self) -> None:
        shown = self.server.shown
        body = self.rfile.read(length := int(self.headers["Content-Length"]))
        if len(body) < length:  # the client has closed the connection
            self.close_connection = True
            return
        asked = json.loads(body)
        with shown.lock:
            shown.seen.append(asked)
            shown.headers.append({name.title(): value for name, value in self.headers.items()})
            reply = shown.replies.pop(0) if shown.replies else shown.always
        if reply.hang:
            shown.closing.wait()
            self.close_connection = True
            return
        status, document = (reply.status, None) if reply.body is not None else shown.answer(asked)
        if reply.change is not None and isinstance(document, dict):
            document = reply.change(document)
        self._send(reply, status if reply.status == 200 else reply.status, document)

    def _send(self, reply: Reply, status: int, document: object) -> None:
        body = json.dumps(document).encode() if reply.body is None else reply.body
        self.send_response(status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if reply.endless or reply.cut:
            self.close_connection = True
        if not reply.endless:
            self.send_header("Content-Length", str(len(body) + reply.cut))
        self.end_headers()
        self.wfile.write(body)
        while reply.endless and not self.server.shown.closing.is_set():
            self.wfile.write(body)


@contextmanager
def serving(shown: JsonServer) -> Iterator[None]:
    """Run the server at an unused port, until the end of the block."""
    with _Listener(shown) as listener:
        shown.url = f"http://127.0.0.1:{listener.server_port}"
        thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield
        finally:
            shown.closing.set()
            listener.shutdown()
            thread.join()
    assert shown.crashes == []
