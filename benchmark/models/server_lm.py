"""A causal language model behind a server with OpenAI's completions API that returns the log-probabilities of prompts.

Requests ask for `prompt_logprobs`, a vLLM extension that identifies each token by its id. If a server does not support
it, they fall back to OpenAI's older `echo` with `logprobs`. Texts are tokenised here and sent as ids, so that the
server adds nothing. The number of log-probabilities is checked, and with `prompt_logprobs` also their ids.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from benchmark.models.causal_lm import Encoding, Floats, Integers, TokenSequence
from benchmark.models.devices import ModelRun
from benchmark.models.model_files import ModelFiles, find_model_files, loading
from benchmark.models.servers import Server, ServerFault, first_choice, malformed
from benchmark.models.tokenisers import HFTokeniser
from divbench.core.errors import ConfigurationError, need

_CONCURRENCY, _LOCAL_CONCURRENCY = 8, 64  # requests: a server of one's own batches many
_LOCAL = ("localhost", "127.0.0.1", "::1")
_BATCH_TOKENS = 16_384  # per connection: enough requests that few connections idle at the end of a batch
_NO_PROBABILITY = -9999.0  # what servers write instead of −∞, which JSON cannot represent
_ROUNDING = 1e-6  # tolerance for log-probabilities above 0
_NEEDS = "use a server that supports `prompt_logprobs`, such as vLLM, or `echo` with `logprobs` and `max_tokens` 0"


@dataclass(frozen=True, slots=True)
class ServedLMSpec:
    """Names a language model behind a server without connecting to it."""

    # Its files on the Hub or in a folder, with the tokeniser; their revision is in the signature as the user states it,
    # because a server cannot prove which weights it has.
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
        """Load the tokeniser and check that the server has the model; the context is the server's."""
        transformers = need("transformers", "score")
        where, options = self.files.locate()
        with loading(where):
            tokeniser = HFTokeniser(transformers.AutoTokenizer.from_pretrained(where, **options))
        lm = ServerLM(Server.at(self.url), self.served, tokeniser, self.signature)
        contexts = lm.served_contexts()
        if self.served not in contexts:
            names = ", ".join(sorted(contexts)[:10])[:400] or "nothing"
            raise ConfigurationError(f"{self.url} does not serve {self.served}; it serves {names}", "name one of those")
        lm.context = contexts[self.served]
        return lm


def find_served_lm_spec(name: str, server: str) -> ServedLMSpec:
    """Make the spec of the model `ORG/NAME@COMMIT` or a folder, behind the server `URL` or `NAME@URL`."""
    files = find_model_files(name)
    before, _, address = server.rpartition("://")
    served, _, scheme = before.rpartition("@")
    if scheme not in ("http", "https") or not address:
        raise ConfigurationError(f"{server!r} is not the address of a server", "write http://HOST:PORT")
    return ServedLMSpec(files, f"{scheme}://{address}", served or files.name)


class ServerLM:
    """A language model behind a server. See `CausalLM`."""

    def __init__(self, server: Server, model: str, tokeniser: HFTokeniser, signature: str) -> None:
        self.signature = signature
        self.context: int | None = None  # maximum number of tokens per sequence; None: unknown
        self.bos = tokeniser.bos
        local = urlsplit(server.url).hostname in _LOCAL
        self._concurrency = _LOCAL_CONCURRENCY if local else _CONCURRENCY
        self.batch_tokens = _BATCH_TOKENS * self._concurrency
        self._server = server
        self._model = model
        self._tokeniser = tokeniser
        self._echo = False  # whether to use the older API

    @property
    def run(self) -> ModelRun:
        """How the model runs; its address stays private."""
        return ModelRun(self.signature, "server")

    def encode(self, texts: Sequence[str], *, begin: bool = False) -> list[Encoding]:
        """Implement `CausalLM.encode`."""
        return self._tokeniser.encode(texts, begin=begin)

    def surprisals(self, sequences: Sequence[TokenSequence]) -> list[Floats]:
        """Implement `CausalLM.surprisals`; equal sequences are sent once."""
        distinct = {sequence.ids.tobytes(): sequence.ids for sequence in sequences if len(sequence.scored)}
        results = self._server.map(list(distinct.values()), self._all_bits, self._concurrency)
        bits = dict(zip(distinct, results, strict=True))
        return [
            bits[sequence.ids.tobytes()][sequence.scored] if len(sequence.scored) else np.empty(0)
            for sequence in sequences
        ]

    def served_contexts(self) -> dict[str, int | None]:
        """Return the server's models with the maximum number of tokens per sequence, None if unknown."""
        with self._server.connect() as client:
            models = self._server.request(client, "/models").get("data")
        if not isinstance(models, list):
            raise malformed("no list of models")
        named = {model["id"]: model for model in models if isinstance(model, dict) and isinstance(model.get("id"), str)}
        return {name: _context(model.get("max_model_len")) for name, model in named.items()}

    def _all_bits(self, client: Any, ids: Integers) -> Floats:
        """Return the bits of each token [tokens]; NaN for the first one."""
        # A temperature of 0 also disables any truncation of the distribution in the server's own settings.
        body = {"model": self._model, "prompt": ids.tolist(), "temperature": 0}
        if not self._echo:
            choice = self._choice(client, body | {"max_tokens": 1, "prompt_logprobs": 0})
            if choice.get("prompt_logprobs") is not None:
                return _bits(_by_id(choice["prompt_logprobs"], ids), len(ids))
            self._echo = True
        values = self._choice(client, body | {"max_tokens": 0, "echo": True, "logprobs": 1}).get("logprobs")
        if not isinstance(values, dict) or values.get("token_logprobs") is None:
            raise ServerFault("the server returns no log-probabilities of prompts", _NEEDS)
        return _bits(values["token_logprobs"], len(ids))

    def _choice(self, client: Any, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the first choice of the reply; an empty one if the server does not support `prompt_logprobs`."""
        try:
            return first_choice(self._server.request(client, "/completions", body))
        except ServerFault as error:
            if error.status in {400, 422} and "prompt_logprobs" in body and "prompt_logprobs" in error.reply:
                return {}
            if error.too_long:
                raise ServerFault(
                    f"the server refuses {len(body['prompt']):,} tokens as too long for its context: {error.reply}",
                    "score fewer or shorter responses at once, or serve the model with a longer context",
                    error.status,
                    error.reply,
                ) from error
            raise


def _context(limit: object) -> int | None:
    """Return the server's limit minus one, because servers insist on generating at least one token."""
    return limit - 1 if isinstance(limit, int) and limit > 1 else None


def _by_id(entries: object, ids: Integers) -> list[object]:
    """Return each token's log-probability from vLLM's list, which has null or a map by token id for each position."""
    if not isinstance(entries, list) or len(entries) != len(ids):
        raise malformed(f"{_count(entries)} entries of prompt_logprobs for {len(ids)} tokens")
    values: list[object] = []
    for entry, token in zip(entries, ids.tolist(), strict=True):
        known = entry.get(str(token)) if isinstance(entry, dict) else None
        if entry is not None and not isinstance(known, dict):
            raise malformed(f"no log-probability of token {token}, which was sent; is it another tokeniser?")
        values.append(known.get("logprob") if isinstance(known, dict) else None)
    return values


def _bits(values: object, tokens: int) -> Floats:
    """Convert log-probabilities (null: missing) to bits."""
    if not isinstance(values, list) or len(values) != tokens:
        raise malformed(f"{_count(values)} log-probabilities for {tokens} tokens")
    if values[0] is not None:
        raise malformed("a log-probability of the first token, so the server added something before it")
    return np.array([_bits_of(value) for value in values], np.float64)


def _bits_of(value: object) -> float:
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise malformed(f"a {type(value).__name__} instead of a log-probability")
    if value > _ROUNDING:
        raise malformed("a log-probability above 0")
    return math.nan if value <= _NO_PROBABILITY or math.isnan(value) else max(0.0, -value / math.log(2))


def _count(values: object) -> str:
    return f"{len(values):,}" if isinstance(values, list) else "no"
