"""Analyses of one prompt's responses that run on request: token surprisals and the contribution of each response.

Only models that ship with the package are run, one request at a time, on texts of limited length. If an analysis is
unavailable, the page says why.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmark.exports.dpo import centre_distances
from benchmark.metrics.eigenscore import leave_one_out, min_max
from benchmark.metrics.metric import Unscorable
from benchmark.models.bundled_lm import OFFLINE_LM
from benchmark.models.causal_lm import CausalLM
from benchmark.models.embedder import Embedder, EmbedderSpec, SentenceTransformersEmbedder
from benchmark.models.hf_lm import load_causal_lm
from benchmark.scoring.profiles import PROFILES, Profile
from benchmark.surprisal.prompt_layout import TokenCost, token_surprisals
from divbench.core.errors import InputError
from divbench.core.tables import Table
from leaderboard.data.scores import NOT_INCLUDED
from leaderboard.data.texts import NO_TEXTS
from submissions.checking.response_kinds import is_scorable
from submissions.untrusted.plain_text import shortened

MOST_BYTES = 12_000  # limit for a prompt with its responses: about the context length of the bundled model
MOST_RESPONSES = 50
TOKENS_SHOWN = 400  # limit per response in the table below the figure
_BUSY = threading.Lock()


@dataclass(frozen=True, slots=True)
class Tokens:
    """Token surprisals of the valid responses to a prompt."""

    numbers: tuple[int, ...]
    costs: tuple[tuple[TokenCost, ...], ...]  # tokens of each valid response with their surprisals, in sampling order
    model: str
    layout: str


@dataclass(frozen=True, slots=True)
class Added:
    """The contribution of each valid response to the diversity of its response set."""

    numbers: tuple[int, ...]
    # Leave-one-out EigenScore: E of all embeddings minus E without this response; higher is more diverse.
    looe: tuple[float, ...]
    share: tuple[float, ...]  # the same, scaled to 0 for the smallest and 1 for the largest of the set
    distance: tuple[float, ...]  # cosine distance to the mean embedding
    embedder: str


def why_no_tokens(profile: str, prompt: str, responses: Sequence[str]) -> str | None:
    """Return the reason why token surprisals are unavailable; None if they are available."""
    spec = _profile(profile)
    if NOT_INCLUDED in responses:
        return NO_TEXTS
    if spec is None or spec.causal_lm is None:
        return f"The profile {profile} has no language model."
    if spec.causal_lm != OFFLINE_LM:
        return f"The profile {profile} uses {spec.causal_lm.name}, which is not bundled with the package."
    return _not_installed("torch", "transformers") or _too_long(prompt, responses)


def why_not_added(profile: str, prompt: str, responses: Sequence[str]) -> str | None:
    """Return the reason why contributions are unavailable; None if they are available."""
    spec = _profile(profile)
    if NOT_INCLUDED in responses:
        return NO_TEXTS
    if spec is None or spec.embedder is None:
        return f"The profile {profile} has no embedder, and results do not contain LOOE of hidden states."
    wheel = spec.embedder.files.wheel
    if wheel is None:
        return f"The embedder {spec.embedder.files.name} is not bundled with the package."
    if sum(map(is_scorable, responses)) < 3:
        return "There are fewer than three valid responses: with one left out, there would be nothing to compare."
    return _not_installed("torch", "sentence_transformers", wheel) or _too_long(prompt, responses)


def read_tokens(profile: str, prompt: str, responses: Sequence[str], model: CausalLM | None = None) -> Tokens:
    """Compute the surprisal of each token of the valid responses, read in sampling order by the profile's model."""
    spec = _profile(profile)
    reason = why_no_tokens(profile, prompt, responses)
    if reason is not None or spec is None:
        raise InputError(reason or "no such profile", "")
    numbers = tuple(number for number, text in enumerate(responses, 1) if is_scorable(text))
    with _BUSY:
        reader = model or _language_model()
        try:
            texts = [spec.layout.as_read(responses[number - 1]) for number in numbers]
            costs = token_surprisals(reader, spec.layout, prompt, texts)
        except Unscorable as error:
            raise InputError(f"The responses cannot be scored: {error}", "") from error
    return Tokens(numbers, costs, reader.signature, str(spec.layout))


def read_added(profile: str, prompt: str, responses: Sequence[str], embedder: Embedder | None = None) -> Added:
    """Compute each valid response's contribution to diversity under the profile's embedder.

    LOOE is `leave_one_out` of output embeddings; GSSBench uses the hidden states of the sampled model, which results
    do not contain.
    """
    spec = _profile(profile)
    reason = why_not_added(profile, prompt, responses)
    if reason is not None or spec is None or spec.embedder is None:
        raise InputError(reason or "no such profile", "")
    numbers = tuple(number for number, text in enumerate(responses, 1) if is_scorable(text))
    with _BUSY:
        encoder = embedder or _embedder(spec.embedder)
        vectors = encoder.embed([responses[number - 1] for number in numbers])
    try:
        looe, distances = leave_one_out(vectors), centre_distances(vectors)
    except Unscorable as error:
        raise InputError(f"The contributions cannot be computed: {error}", "") from error
    return Added(numbers, _floats(looe), _floats(min_max(looe)), _floats(distances), encoder.signature)


def tokens_table(tokens: Tokens) -> Table:
    """Return the tokens as text, one row per response: its total bits, and each token with its bits."""
    rows = []
    for number, costs in zip(tokens.numbers, tokens.costs, strict=True):
        texts = [f"{shortened(token.text, 40) or '·'} ({token.bits:.1f})" for token in costs[:TOKENS_SHOWN]]
        rows.append((number, sum(token.bits for token in costs), len(costs), " ".join(texts)))
    return Table("", ("#", "bits", "tokens", "token (bits)"), rows)


def added_table(added: Added) -> Table:
    """Return the contributions, one row per response."""
    rows = list(zip(added.numbers, added.looe, added.share, added.distance, strict=True))
    return Table("", ("#", "LOOE", "LOOE, scaled to 0–1", "distance to the mean"), rows)


def _floats(values: Any) -> tuple[float, ...]:
    return tuple(float(x) for x in np.asarray(values))


def _profile(name: str) -> Profile | None:
    return next((profile for profile in PROFILES if profile.name == name), None)


def _not_installed(*modules: str) -> str | None:
    absent = [module for module in modules if find_spec(module) is None]
    return f"{' and '.join(absent)} {'is' if len(absent) == 1 else 'are'} not installed here." if absent else None


def _too_long(prompt: str, responses: Sequence[str]) -> str | None:
    size = sum(len(text.encode("utf-8", errors="replace")) for text in (prompt, *responses))
    if size > MOST_BYTES:
        return f"Prompt and responses have {size:,} bytes; the limit here is {MOST_BYTES:,}."
    if len(responses) > MOST_RESPONSES:
        return f"There are {len(responses)} responses; the limit here is {MOST_RESPONSES}."
    return None


@cache
def _language_model() -> CausalLM:
    return load_causal_lm(OFFLINE_LM)


@cache
def _embedder(spec: EmbedderSpec) -> Embedder:
    return SentenceTransformersEmbedder(spec)
