"""What small models find in one prompt's responses, read when a visitor asks: token by token, and what each one adds.

Only models that come with the package are run, one visitor at a time, on texts of a limited length. Where that is not
so, there is a sentence that says why.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmark.exports.diversities import centre_distances
from benchmark.metrics.eigenscore import leave_one_out, min_max
from benchmark.metrics.metric import Unscorable
from benchmark.models.causal_lm import CausalLM
from benchmark.models.embedder import Embedder, EmbedderSpec, SentenceTransformersEmbedder
from benchmark.models.hf_lm import load_causal_lm
from benchmark.scoring.profiles import OFFLINE_LM, PROFILES, Profile
from benchmark.surprisal.token_surprisals import TokenCost, token_surprisals
from datasets_build.errors import InputError
from leaderboard.tables.table_view import TableView, number_table
from submissions.checking.response_kinds import is_scorable
from submissions.untrusted.plain_text import shortened

MOST_BYTES = 12_000  # of a prompt and its answers: about what the context of the model that ships here holds
MOST_ANSWERS = 50
TOKENS_SHOWN = 400  # of one response, in the table beside the figure
_BUSY = threading.Lock()


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of the answers to a prompt.

    Attributes:
        numbers: Of the answers among the responses.
        costs: Of each answer, in the order of reading, which is the given one.
        model: The model's signature.
        layout: How prompt and answers became text.
    """

    numbers: tuple[int, ...]
    costs: tuple[tuple[TokenCost, ...], ...]
    model: str
    layout: str


@dataclass(frozen=True, slots=True)
class Added:
    """What each answer adds to the diversity of its prompt's.

    Attributes:
        numbers: As in `Tokens`.
        looe: E of all answers' embeddings less E without this one; more is more diverse.
        share: The same from 0, the least of the prompt, to 1, the greatest.
        distance: To the mean of all, cosine.
        embedder: Its signature.
    """

    numbers: tuple[int, ...]
    looe: tuple[float, ...]
    share: tuple[float, ...]
    distance: tuple[float, ...]
    embedder: str


def why_no_tokens(profile: str, prompt: str, responses: Sequence[str]) -> str | None:
    """Why tokens are not read here; None where they are.

    Args:
        profile: Of the board.
        prompt: Its text.
        responses: All of them.
    """
    spec = _profile(profile)
    if spec is None or spec.causal_lm is None:
        return f"The profile {profile} has no language model."
    if spec.causal_lm != OFFLINE_LM:
        return f"The profile {profile} reads with {spec.causal_lm.name}, which does not come with the package."
    return _not_installed("torch", "transformers") or _too_long(prompt, responses)


def why_not_added(profile: str, prompt: str, responses: Sequence[str]) -> str | None:
    """Why it is not told what each response adds; None where it is. Arguments as in `why_no_tokens`."""
    spec = _profile(profile)
    if spec is None or spec.embedder is None:
        return f"The profile {profile} has no embedder; LOOE of hidden states is not kept in results."
    wheel = spec.embedder.files.wheel
    if wheel is None:
        return f"The embedder {spec.embedder.files.name} does not come with the package."
    if sum(map(is_scorable, responses)) < 3:
        return "Fewer than three answers: without one of two, nothing is left to compare."
    return _not_installed("torch", "sentence_transformers", wheel) or _too_long(prompt, responses)


def read_tokens(profile: str, prompt: str, responses: Sequence[str], model: CausalLM | None = None) -> Tokens:
    """What each token of the answers costs, the answers read one after the other as they were drawn.

    Args:
        profile: Of the board; its language model and layout read.
        prompt: Verbatim.
        responses: All of them; what is no answer is left out, as it is when scored.
        model: In place of the profile's.

    Raises:
        InputError: They are not read here; the message says why.
        ConfigurationError: The model's files are not there or are others.
    """
    spec = _profile(profile)
    reason = why_no_tokens(profile, prompt, responses)
    if reason is not None or spec is None:
        raise InputError(reason or "no such profile", "")
    places = [place for place, text in enumerate(responses) if is_scorable(text)]
    with _BUSY:
        reads = model or _language_model()
        try:
            costs = token_surprisals(reads, spec.layout, prompt, [responses[place] for place in places])
        except Unscorable as error:
            raise InputError(f"The answers cannot be read: {error}", "") from error
    return Tokens(tuple(place + 1 for place in places), costs, reads.signature, str(spec.layout))


def read_added(profile: str, prompt: str, responses: Sequence[str], embedder: Embedder | None = None) -> Added:
    """What each answer adds to the diversity of all, under the profile's embedder.

    LOOE as in `leave_one_out`, of output embeddings: GSSBench's is of the hidden states of the model that answered,
    which results do not keep.

    Args:
        profile: Of the board.
        prompt: Verbatim.
        responses: All of them; what is no answer is left out.
        embedder: In place of the profile's.

    Raises:
        InputError: It is not told here; the message says why.
        ConfigurationError: The embedder's files are not there or are others.
    """
    spec = _profile(profile)
    reason = why_not_added(profile, prompt, responses)
    if reason is not None or spec is None or spec.embedder is None:
        raise InputError(reason or "no such profile", "")
    places = [place for place, text in enumerate(responses) if is_scorable(text)]
    with _BUSY:
        reads = embedder or _embedder(spec.embedder)
        vectors = reads.embed([responses[place] for place in places])
    try:
        looe, distances = leave_one_out(vectors), centre_distances(vectors)
    except Unscorable as error:
        raise InputError(f"What each answer adds cannot be told: {error}", "") from error
    numbers = tuple(place + 1 for place in places)
    return Added(numbers, _floats(looe), _floats(min_max(looe)), _floats(distances), reads.signature)


def tokens_table(tokens: Tokens) -> TableView:
    """The tokens as text, a row an answer: its bits, and each token with its own."""
    rows = [
        (number, sum(token.bits for token in own), len(own), " ".join(map(_token, own[:TOKENS_SHOWN])))
        for number, own in zip(tokens.numbers, tokens.costs, strict=True)
    ]
    return number_table({"#": "number", "bits": "number", "tokens": "number", "token (bits)": "str"}, rows)


def added_table(added: Added) -> TableView:
    """What each answer adds, a row an answer."""
    kinds = {"#": "number", "LOOE": "number", "LOOE, 0 least to 1 most": "number", "distance to the mean": "number"}
    return number_table(kinds, list(zip(added.numbers, added.looe, added.share, added.distance, strict=True)))


def _token(token: TokenCost) -> str:
    return f"{shortened(token.text, 40) or '·'} ({token.bits:.1f})"


def _floats(values: Any) -> tuple[float, ...]:
    return tuple(float(x) for x in np.asarray(values))


def _profile(name: str) -> Profile | None:
    return next((each for each in PROFILES if each.name == name), None)


def _not_installed(*modules: str) -> str | None:
    absent = [module for module in modules if find_spec(module) is None]
    return f"{' and '.join(absent)} {'is' if len(absent) == 1 else 'are'} not installed here." if absent else None


def _too_long(prompt: str, responses: Sequence[str]) -> str | None:
    size = sum(len(text.encode("utf-8", errors="replace")) for text in (prompt, *responses))
    if size > MOST_BYTES:
        return f"Prompt and responses have {size:,} bytes; at most {MOST_BYTES:,} are read here."
    if len(responses) > MOST_ANSWERS:
        return f"There are {len(responses)} responses; at most {MOST_ANSWERS} are read here."
    return None


@cache
def _language_model() -> CausalLM:
    return load_causal_lm(OFFLINE_LM)


@cache
def _embedder(spec: EmbedderSpec) -> Embedder:
    return SentenceTransformersEmbedder(spec)
