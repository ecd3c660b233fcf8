"""A causal language model behind a server with OpenAI's completions API that returns the log-probabilities of prompts.

Requests ask for `prompt_logprobs`, a vLLM extension that identifies each token by its id. If a server does not support
it, they fall back to OpenAI's older `echo` with `logprobs`. Texts are tokenised here and sent as ids, so that the
server adds nothing. The number of log-probabilities is checked, and with `prompt_logprobs` also their ids.
"""

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from benchmark.models.causal_lm import Encoding, Floats, Integers, TokenSequence
from benchmark.models.hf_tokeniser import HFTokeniser
from benchmark.models.http_client import Endpoint, MalformedError, ServerFault, first_choice
from benchmark.models.model_files import ModelFiles, find_model_files, loading
from benchmark.models.provenance import ModelRun
from divbench.core.errors import ConfigurationError, need

_PATH = "/v1/completions"
_AT_ONCE, _AT_ONCE_HERE = 8, 64  # requests: a server of one's own batches many
_HERE = ("localhost", "127.0.0.1", "::1")
_BATCH_TOKENS = 16_384  # per connection: enough requests that few connections idle at the end of a batch
_ANSWER_BYTES, _TOKEN_BYTES, _MOST_BYTES = 1 << 20, 4096, 1 << 28
_NO_PROBABILITY = -9999.0  # what servers write instead of −∞, which JSON cannot represent
_ROUNDING = 1e-6  # tolerance for log-probabilities above 0
_NEEDS = "use a server that supports `prompt_logprobs`, such as vLLM, or `echo` with `logprobs` and `max_tokens` 0"


@dataclass(frozen=True, slots=True)
class ServedLMSpec:
    """Names a language model behind a server without connecting to it."""

    # Its files on the Hub or in a folder: the tokeniser is read from them, and their revision is that of the server's
    # weights, as stated by the user.
    files: ModelFiles
    url: str  # server's address
    served: str  # server's name of the model

    @property
    def name(self) -> str:
        """Name of the model."""
        return self.files.name

    @property
    def signature(self) -> str:
        """`CausalLM.signature`, known without loading; it has the server's name of the model if that is another."""
        return f"{self.files.signature},server" + ("" if self.served == self.name else f"={self.served}")

    def load(self) -> "ServerLM":
        """Load the tokeniser and connect to the server.

        Raises:
            ConfigurationError: There is no tokeniser, it needs remote code, or the server does not serve the model.
            MissingExtra: transformers is not installed.
            ServerFault: As for `connect`.
        """
        at_once = _AT_ONCE_HERE if urlsplit(self.url).hostname in _HERE else _AT_ONCE
        lm = connect(self.url, self.served, load_tokeniser(self.files), revision=self.files.pin, concurrency=at_once)
        lm.signature = self.signature
        return lm


def find_served_lm_spec(name: str, server: str) -> ServedLMSpec:
    """Make the spec of a model behind a server.

    Args:
        name: The model, `ORG/NAME@COMMIT` on the Hub or a folder.
        server: Address of the server; `NAME@URL` if it has the model under another name.

    Raises:
        ConfigurationError: As `find_model_files`; or the server is not named by its address.
    """
    files = find_model_files(name)
    before, _, address = server.rpartition("://")
    served, _, scheme = before.rpartition("@")
    if scheme not in ("http", "https") or not address:
        raise ConfigurationError(f"{server!r} is not the address of a server", "write http://HOST:PORT")
    return ServedLMSpec(files, f"{scheme}://{address}", served or files.name)


def load_tokeniser(files: ModelFiles) -> HFTokeniser:
    """Load the tokeniser of a served model.

    Raises:
        ConfigurationError: It does not exist, or needs remote code.
        MissingExtra: transformers is not installed.
    """
    transformers = need("transformers", "score")
    where, options = files.locate()
    with loading(where):
        return HFTokeniser(transformers.AutoTokenizer.from_pretrained(where, **options))


def connect(
    url: str,
    model: str,
    tokeniser: HFTokeniser,
    *,
    revision: str,
    key: str | None = None,
    concurrency: int = 8,
    timeout: float = 120.0,
    context: int | None = None,
) -> "ServerLM":
    """Make a `ServerLM` and check that the server has the model; its context is limited to the server's.

    Raises:
        ConfigurationError: The server does not serve the model; or as for `ServerLM`.
        ServerFault: The server is unreachable, refuses the request, or is of the wrong kind.
    """
    settings: dict[str, Any] = {"key": key, "concurrency": concurrency, "timeout": timeout, "context": context}
    lm = ServerLM(url, model, tokeniser, revision=revision, **settings)
    served = lm.served()
    if model not in served:
        names = ", ".join(sorted(served)[:10])[:400] or "nothing"
        raise ConfigurationError(f"{url} does not serve {model}; it serves {names}", "name one of those")
    lm.context = min((limit for limit in (context, served[model]) if limit is not None), default=None)
    return lm


class ServerLM:
    """A language model behind a server. See `CausalLM`.

    The signature contains the revision that the user states, because a server cannot prove which weights it has, in
    which precision, or that it will still have them tomorrow. To publish numbers, serve the model yourself.
    """

    def __init__(
        self,
        url: str,
        model: str,
        tokeniser: HFTokeniser,
        *,
        revision: str,
        key: str | None = None,
        concurrency: int = 8,
        timeout: float = 120.0,
        context: int | None = None,
    ) -> None:
        """Check the settings; no request is sent (`connect` sends one).

        Args:
            url: Server's address, such as `http://localhost:8000`; with or without `/v1`.
            tokeniser: The model's own tokeniser.
            revision: Revision of the weights, as stated by the user.
            key: API key; None: from DIVBENCH_API_KEY.
            timeout: Maximum wait in seconds for the first byte of an answer, and again for the rest of it.
            context: Maximum number of tokens per sequence; None: unknown.

        Raises:
            ConfigurationError: The address or the key is malformed, the revision is empty, or a number is too small.
        """
        if concurrency < 1:
            raise ConfigurationError(f"{concurrency} requests at once", "give at least 1")
        revision = revision.strip()
        if not revision:
            raise ConfigurationError(f"no revision of {model}", "give the commit of the server's weights")
        self.signature = f"{model}@{revision[:12]},server"
        self.context = context
        self.batch_tokens = _BATCH_TOKENS * concurrency
        self.bos = tokeniser.bos
        self._model = model
        self._tokeniser = tokeniser
        self._endpoint = Endpoint(url, key, timeout)
        self._concurrency = concurrency
        self._echo = False  # whether to use the older API

    @property
    def run(self) -> ModelRun:
        """How the model runs; its address stays private."""
        return ModelRun(self.signature, "server")

    def encode(self, texts: Sequence[str], *, begin: bool = False) -> list[Encoding]:
        """Implement `CausalLM.encode`."""
        return self._tokeniser.encode(texts, begin=begin)

    def surprisals(self, sequences: Sequence[TokenSequence]) -> list[Floats]:
        """Implement `CausalLM.surprisals`; equal sequences are sent once.

        Raises:
            ServerFault: The server is unreachable, refused, or sent a malformed answer.
        """
        different = {each.ids.tobytes(): each.ids for each in sequences if len(each.scored)}
        found = self._endpoint.map(list(different.values()), self._all_bits, self._concurrency)
        bits = dict(zip(different, found, strict=True))
        return [bits[each.ids.tobytes()][each.scored] if len(each.scored) else np.empty(0) for each in sequences]

    def served(self) -> dict[str, int | None]:
        """Return the server's models with the maximum number of tokens per sequence, or None if the server gives none.

        Raises:
            ServerFault: As for `surprisals`.
        """
        with self._endpoint.client() as client:
            document = self._endpoint.request(client, "/v1/models")
        models = document.get("data") if isinstance(document, dict) else None
        if not isinstance(models, list):
            raise self._endpoint.malformed("/v1/models", "no list of models")
        named = {each["id"]: each for each in models if isinstance(each, dict) and isinstance(each.get("id"), str)}
        return {name: _context_of(each.get("max_model_len")) for name, each in named.items()}

    def _all_bits(self, client: Any, ids: Integers, halt: threading.Event) -> Floats:
        """Return the bits of each token [tokens]; NaN for the first one."""
        # A temperature of 0 also disables any truncation of the distribution in the server's own settings.
        body = {"model": self._model, "prompt": ids.tolist(), "temperature": 0}
        try:
            if not self._echo:
                choice = self._choice(client, body | {"max_tokens": 1, "prompt_logprobs": 0}, halt)
                if choice.get("prompt_logprobs") is not None:
                    return _bits(_by_id(choice["prompt_logprobs"], ids), len(ids))
                self._echo = True
            choice = self._choice(client, body | {"max_tokens": 0, "echo": True, "logprobs": 1}, halt)
            values = choice.get("logprobs")
            if not isinstance(values, dict) or values.get("token_logprobs") is None:
                raise ServerFault(f"{self._endpoint.base}{_PATH} returns no log-probabilities of prompts", _NEEDS)
            return _bits(values["token_logprobs"], len(ids))
        except MalformedError as error:
            raise self._endpoint.malformed(_PATH, str(error)) from error

    def _choice(self, client: Any, body: Mapping[str, Any], halt: threading.Event) -> dict[str, Any]:
        """Return the first choice of the answer; an empty one if the server does not support `prompt_logprobs`."""
        size = len(body["prompt"])
        limit = min(_MOST_BYTES, _ANSWER_BYTES + _TOKEN_BYTES * size)
        try:
            return first_choice(self._endpoint.request(client, _PATH, body, limit, halt))
        except ServerFault as error:
            if error.status not in {400, 413, 422}:
                raise
            if "prompt_logprobs" in body and "prompt_logprobs" in error.said:
                return {}
            if error.too_long:
                raise ServerFault(
                    f"{self._endpoint.base}{_PATH} refuses {size:,} tokens as too long for its context: {error.said}",
                    "score fewer or shorter responses at once, or serve the model with a longer context",
                    error.status,
                    error.said,
                ) from error
            raise


def _context_of(most: object) -> int | None:
    """Return the server's limit minus one, because servers insist on generating at least one token."""
    return most - 1 if isinstance(most, int) and most > 1 else None


def _by_id(entries: object, ids: Integers) -> list[object]:
    """Return each token's log-probability from vLLM's list, which has null or a map by token id for each position."""
    if not isinstance(entries, list) or len(entries) != len(ids):
        raise MalformedError(f"{_count(entries)} entries of prompt_logprobs for {len(ids)} tokens")
    found: list[object] = []
    for entry, token in zip(entries, ids.tolist(), strict=True):
        known = entry.get(str(token)) if isinstance(entry, dict) else None
        if entry is not None and not isinstance(known, dict):
            raise MalformedError(f"no log-probability of token {token}, which was sent; is it another tokeniser?")
        found.append(known.get("logprob") if isinstance(known, dict) else None)
    return found


def _bits(values: object, tokens: int) -> Floats:
    """Convert log-probabilities (null: missing) to bits."""
    if not isinstance(values, list) or len(values) != tokens:
        raise MalformedError(f"{_count(values)} log-probabilities for {tokens} tokens")
    if values[0] is not None:
        raise MalformedError("a log-probability of the first token, so the server added something before it")
    return np.array([_bits_of(value) for value in values], np.float64)


def _bits_of(value: object) -> float:
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise MalformedError(f"a {type(value).__name__} instead of a log-probability")
    if value > _ROUNDING:
        raise MalformedError("a log-probability above 0")
    return math.nan if value <= _NO_PROBABILITY or math.isnan(value) else max(0.0, -value / math.log(2))


def _count(values: object) -> str:
    return f"{len(values):,}" if isinstance(values, list) else "no"
