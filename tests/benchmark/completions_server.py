"""A completions server on loopback that reads with a tiny model, and answers amiss on demand."""

import json
import socketserver
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

Dialect = Literal["vllm", "echo", "echo-strict", "none"]
CONTEXT = 256
BEGIN = "<s>"
TEXTS = ("The cat sat on the mat.\n\nResponse A: It is 42.", "数学はきれい 🙂", "def f(x):\n    return x ** 2", "")


def tiny_tokeniser(vocabulary: int = 300) -> PreTrainedTokenizerFast:
    """Byte-level, with merges of a few words; it puts `<s>` before texts."""
    tokeniser = Tokenizer(models.BPE())
    tokeniser.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokeniser.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=[BEGIN], initial_alphabet=sorted(alphabet), show_progress=False
    )
    tokeniser.train_from_iterator(["The cat sat on the mat.", "Response A: the man sat.\n\n"] * 20, trainer)
    tokeniser.post_processor = processors.TemplateProcessing(single=f"{BEGIN} $A", special_tokens=[(BEGIN, 0)])
    made: PreTrainedTokenizerFast = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokeniser, bos_token=BEGIN
    )
    return made


def tiny_model(seed: int = 0) -> LlamaForCausalLM:
    """Random weights, large enough that probabilities differ much."""
    config = LlamaConfig(
        vocab_size=300,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=CONTEXT,
        initializer_range=0.3,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config)
    model.eval()  # type: ignore[no-untyped-call]
    return model


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
        drip: Seconds between the bytes of the body.
        cut: How many bytes are promised beyond those sent.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    change: Callable[[dict[str, Any]], object] | None = None
    endless: bool = False
    hang: bool = False
    drip: float = 0.0
    cut: int = 0


@dataclass
class CompletionsServer:
    """What a test holds of a running server.

    Attributes:
        url: Its address.
        replies: How the next completions are answered, in order; then well.
        always: How the others are, if not well.
        models: What `/v1/models` lists.
        seen: The bodies of all requests for completions so far.
        headers: Their headers.
        crashes: Errors in the server itself.
    """

    model: LlamaForCausalLM
    dialect: Dialect
    url: str = ""
    replies: list[Reply] = field(default_factory=list)
    always: Reply = field(default_factory=Reply)
    models: object = field(default_factory=lambda: {"data": [{"id": "tiny", "max_model_len": CONTEXT}]})
    seen: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    crashes: list[Exception] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, asked: dict[str, Any]) -> tuple[int, object]:
        """The status and the document for a request."""
        ids = asked["prompt"]
        if len(ids) + asked["max_tokens"] > CONTEXT:
            words = f"This model's maximum context length is {CONTEXT} tokens.\n\tYou requested {len(ids)}."
            return 400, {"error": {"message": words, "type": "BadRequestError", "code": 400}}
        if self.dialect == "echo-strict" and "prompt_logprobs" in asked:
            return 400, {"error": {"message": "Unrecognized request argument supplied: prompt_logprobs"}}
        choice: dict[str, Any] = {"index": 0, "text": "", "finish_reason": "length", "logprobs": None}
        if self.dialect == "vllm":
            choice["prompt_logprobs"] = self._by_id(ids) if asked.get("prompt_logprobs") is not None else None
        elif self.dialect != "none" and asked.get("echo"):
            choice["logprobs"] = {"tokens": ["?"] * len(ids), "token_logprobs": self._logprobs(ids)}
        return 200, {"object": "text_completion", "model": asked["model"], "choices": [choice]}

    def _log_softmax(self, ids: Sequence[int]) -> torch.Tensor:
        with torch.inference_mode():
            return torch.log_softmax(self.model(input_ids=torch.tensor([ids])).logits[0], -1)

    def _logprobs(self, ids: Sequence[int]) -> list[float | None]:
        table = self._log_softmax(ids)
        return [None, *(float(table[place, token]) for place, token in enumerate(ids[1:]))]

    def _by_id(self, ids: Sequence[int]) -> list[dict[str, Any] | None]:
        found = self._logprobs(ids)
        return [
            None if value is None else {str(token): {"logprob": value, "rank": 1, "decoded_token": "?"}}
            for value, token in zip(found, ids, strict=True)
        ]


class _Listener(ThreadingHTTPServer):
    daemon_threads = False

    def __init__(self, server: CompletionsServer) -> None:
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
    server: _Listener

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Write nothing."""

    def do_GET(self) -> None:
        self._send(Reply(), 200 if self.path == "/v1/models" else 404, self.server.shown.models)

    def do_POST(self) -> None:
        shown = self.server.shown
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with shown.lock:
            shown.seen.append(asked)
            shown.headers.append(dict(self.headers))
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
        if reply.drip:
            for byte in body:
                self.wfile.write(bytes([byte]))
                self.server.shown.closing.wait(reply.drip)
            return
        self.wfile.write(body)
        while reply.endless and not self.server.shown.closing.is_set():
            self.wfile.write(body)


@contextmanager
def completions_server(model: LlamaForCausalLM, dialect: Dialect = "vllm") -> Iterator[CompletionsServer]:
    """A server at an unused port, until the end of the block."""
    shown = CompletionsServer(model, dialect)
    with _Listener(shown) as listener:
        shown.url = f"http://127.0.0.1:{listener.server_port}"
        thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield shown
        finally:
            shown.closing.set()
            listener.shutdown()
            thread.join()
    assert shown.crashes == []
