"""A causal language model behind a server that speaks OpenAI's completions and tells what a prompt's tokens cost.

It is asked for `prompt_logprobs`, an extension of vLLM's that names each token by its id. A server that does not know
that is asked in OpenAI's older way, `echo` with `logprobs`. Texts become tokens here and the server gets ids, so that
nothing is added to them; what it says about their number, and in the first way about the ids, is checked.
"""

import math
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.models.causal_lm import Encoding, Floats, Integers, TokenSequence
from benchmark.models.hf_lm import find_causal_lm_spec
from benchmark.models.hf_tokeniser import HFTokeniser
from benchmark.models.http_client import Endpoint, ServerFault
from datasets_build.errors import ConfigurationError, need

__all__ = ["ServerFault", "ServerLM", "connect", "load_tokeniser"]

_PATH = "/v1/completions"
_BATCH_TOKENS = 16_384  # for each connection: so many requests that few connections idle at the end of a batch
_ANSWER_BYTES, _TOKEN_BYTES, _MOST_BYTES = 1 << 20, 4096, 1 << 28
_NO_PROBABILITY = -9999.0  # servers write it for −∞, which JSON cannot hold
_ROUNDING = 1e-6  # by which a log-probability of nearly 0 may be above it
_NEEDS = "a server is needed that gives `prompt_logprobs`, as vLLM does, or `echo` with `logprobs` and `max_tokens` 0"


class _MalformedError(Exception):
    """What is wrong with an answer."""


def load_tokeniser(name: str) -> HFTokeniser:
    """The tokeniser that goes with a served model.

    Args:
        name: A folder, or `ORG/NAME@COMMIT` on the Hub.

    Raises:
        ConfigurationError: There is none, it is not pinned, or it needs remote code.
        MissingExtra: transformers is not installed.
    """
    transformers = need("transformers", "score")
    where, options = name, dict[str, Any](trust_remote_code=False)
    if Path(name).is_dir():
        options["local_files_only"] = True
    else:
        spec = find_causal_lm_spec(name)
        where, options["revision"] = spec.name, spec.revision
    try:
        return HFTokeniser(transformers.AutoTokenizer.from_pretrained(where, **options))
    except (OSError, ValueError, ImportError, KeyError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise ConfigurationError(
            f"the tokeniser of {where} could not be loaded: {reason}",
            "one without remote code is wanted; with HF_HUB_OFFLINE, one downloaded before",
        ) from error


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
    """As `ServerLM`, after asking whether the server has the model; `context` becomes the server's if that is smaller.

    Raises:
        ConfigurationError: The server does not serve the model; or as `ServerLM`.
        ServerFault: The server cannot be reached, refuses, or is no such server.
    """
    settings: dict[str, Any] = {"key": key, "concurrency": concurrency, "timeout": timeout, "context": context}
    made = ServerLM(url, model, tokeniser, revision=revision, **settings)
    served = made.served()
    if model not in served:
        names = ", ".join(sorted(served)[:10])[:400] or "nothing"
        raise ConfigurationError(f"{url} does not serve {model}; it serves {names}", "name one of those")
    made.context = min((limit for limit in (context, served[model]) if limit is not None), default=None)
    return made


class ServerLM:
    """A model that a server reads texts with. See `CausalLM`.

    The signature says the revision that the user states: a server cannot be made to prove which weights it has, in what
    precision, nor that it will have the same ones tomorrow. For numbers to be published, serve the model yourself.
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
        """Nothing is asked yet; `connect` asks.

        Args:
            url: The server's address, such as `http://localhost:8000`; with or without `/v1`.
            model: The name under which it is served.
            tokeniser: The model's own; see `load_tokeniser`.
            revision: Of the weights, as the user states it.
            key: What the server asks for, if anything; None: what DIVBENCH_API_KEY says.
            concurrency: How many requests run at once.
            timeout: Seconds without a sign of the server, and again for all of its answer after the first.
            context: The most tokens that a sequence may have; None: unknown.

        Raises:
            ConfigurationError: The address or the key cannot be one, or revision, time or concurrency are none.
        """
        if concurrency < 1:
            raise ConfigurationError(f"{concurrency} requests at once", "give at least 1")
        revision = revision.strip()
        if not revision:
            raise ConfigurationError(f"no revision of {model}", "say which weights the server has, by their commit")
        self.signature = f"{model}@{revision[:12]},server"
        self.context = context
        self.batch_tokens = _BATCH_TOKENS * concurrency
        self.bos = tokeniser.bos
        self._model = model
        self._tokeniser = tokeniser
        self._endpoint = Endpoint(url, key, timeout)
        self._concurrency = concurrency
        self._echo = False  # whether to ask in the older way

    def encode(self, texts: Sequence[str], *, begin: bool = False) -> list[Encoding]:
        """As `CausalLM.encode`."""
        return self._tokeniser.encode(texts, begin=begin)

    def surprisals(self, sequences: Sequence[TokenSequence]) -> list[Floats]:
        """As `CausalLM.surprisals`; equal sequences are asked for once.

        Raises:
            ServerFault: The server could not be reached, refused, or gave what cannot be right.
        """
        different = {each.ids.tobytes(): each.ids for each in sequences if len(each.scored)}
        bits = dict(zip(different, self._read(list(different.values())), strict=True))
        return [bits[each.ids.tobytes()][each.scored] if len(each.scored) else np.empty(0) for each in sequences]

    def served(self) -> dict[str, int | None]:
        """The names of the models that the server has, each with the most tokens that a sequence may have, if it says.

        Raises:
            ServerFault: As `surprisals`.
        """
        with self._endpoint.client() as client:
            found = self._endpoint.ask(client, "/v1/models")
        models = found.get("data") if isinstance(found, dict) else None
        if not isinstance(models, list):
            raise self._endpoint.wrong("/v1/models", "no list of models")
        named = {each["id"]: each for each in models if isinstance(each, dict) and isinstance(each.get("id"), str)}
        return {name: _context_of(each.get("max_model_len")) for name, each in named.items()}

    def _read(self, texts: Sequence[Integers]) -> list[Floats]:
        """For each text the bits of all its tokens; the first one's are NaN."""
        return self._endpoint.each(texts, self._one, self._concurrency)

    def _one(self, client: Any, ids: Integers, halt: threading.Event) -> Floats:
        # A temperature of 0 also turns off what a server's own settings would cut from the distribution.
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
                raise ServerFault(f"{self._endpoint.base}{_PATH} gives no log-probabilities of prompts", _NEEDS)
            return _bits(values["token_logprobs"], len(ids))
        except _MalformedError as error:
            raise self._endpoint.wrong(_PATH, str(error)) from error

    def _choice(self, client: Any, body: Mapping[str, Any], halt: threading.Event) -> dict[str, Any]:
        """The first choice of the answer; an empty one where the server refuses to be asked for `prompt_logprobs`."""
        size = len(body["prompt"])
        limit = min(_MOST_BYTES, _ANSWER_BYTES + _TOKEN_BYTES * size)
        try:
            found = self._endpoint.ask(client, _PATH, body, limit, halt)
        except ServerFault as error:
            if error.status not in {400, 413, 422}:
                raise
            if "prompt_logprobs" in body and "prompt_logprobs" in error.said:
                return {}
            if error.too_long:
                raise ServerFault(
                    f"{self._endpoint.base}{_PATH} finds {size:,} tokens too long for its context: {error.said}",
                    "score fewer or shorter responses at once, or serve the model with a longer context",
                    error.status,
                    error.said,
                ) from error
            raise
        choices = found.get("choices") if isinstance(found, dict) else None
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            raise _MalformedError("no choices")
        first: dict[str, Any] = choices[0]
        return first


def _context_of(most: object) -> int | None:
    """One less than the server's limit, as it insists on adding a token of its own."""
    return most - 1 if isinstance(most, int) and most > 1 else None


def _by_id(entries: object, ids: Integers) -> list[object]:
    """The log-probability of each token, from vLLM's list: for each place null, or what is known of tokens by id."""
    if not isinstance(entries, list) or len(entries) != len(ids):
        raise _MalformedError(f"{_count(entries)} entries of prompt_logprobs for {len(ids)} tokens")
    found: list[object] = []
    for entry, token in zip(entries, ids.tolist(), strict=True):
        known = entry.get(str(token)) if isinstance(entry, dict) else None
        if entry is not None and not isinstance(known, dict):
            raise _MalformedError(f"no log-probability of token {token}, which was sent; is its tokeniser another?")
        found.append(known.get("logprob") if isinstance(known, dict) else None)
    return found


def _bits(values: object, tokens: int) -> Floats:
    """Bits from log-probabilities, which are null where there is none."""
    if not isinstance(values, list) or len(values) != tokens:
        raise _MalformedError(f"{_count(values)} log-probabilities for {tokens} tokens")
    if values[0] is not None:
        raise _MalformedError("a log-probability of the first token: something stands before it that was not sent")
    return np.array([_bits_of(value) for value in values], np.float64)


def _bits_of(value: object) -> float:
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _MalformedError(f"a {type(value).__name__} for a log-probability")
    if value > _ROUNDING:
        raise _MalformedError("a log-probability above 0")
    return math.nan if value <= _NO_PROBABILITY or math.isnan(value) else max(0.0, -value / math.log(2))


def _count(values: object) -> str:
    return f"{len(values):,}" if isinstance(values, list) else "no"
