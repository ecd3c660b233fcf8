"""Token surprisals of one prompt's responses, computed on request by the language model that ships with the package.

One request at a time is served, on texts of limited length. If the analysis is unavailable, the page says why.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec

from benchmark.metrics.metric import Unscorable
from benchmark.models.bundled_lm import OFFLINE_LM
from benchmark.models.causal_lm import CausalLM
from benchmark.models.hf_lm import load_causal_lm
from benchmark.scoring.profiles import PROFILES, find_profile
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


def why_no_tokens(profile: str, prompt: str, responses: Sequence[str]) -> str | None:
    """Return the reason why token surprisals are unavailable; None if they are available."""
    spec = next((known for known in PROFILES if known.name == profile), None)
    if NOT_INCLUDED in responses:
        return NO_TEXTS
    if spec is None or spec.causal_lm is None:
        return f"The profile {profile} has no language model."
    if spec.causal_lm != OFFLINE_LM:
        return f"The profile {profile} uses {spec.causal_lm.name}, which is not bundled with the package."
    absent = [module for module in ("torch", "transformers") if find_spec(module) is None]
    if absent:
        return f"{' and '.join(absent)} {'is' if len(absent) == 1 else 'are'} not installed here."
    size = sum(len(text.encode("utf-8", errors="replace")) for text in (prompt, *responses))
    if size > MOST_BYTES:
        return f"Prompt and responses have {size:,} bytes; the limit here is {MOST_BYTES:,}."
    count = len(responses)
    return f"There are {count} responses; the limit here is {MOST_RESPONSES}." if count > MOST_RESPONSES else None


def read_tokens(profile: str, prompt: str, responses: Sequence[str], model: CausalLM | None = None) -> Tokens:
    """Compute the surprisal of each token of the valid responses, read in sampling order by the profile's model."""
    reason = why_no_tokens(profile, prompt, responses)
    if reason is not None:
        raise InputError(reason, "")
    layout = find_profile(profile).layout
    numbers = tuple(number for number, text in enumerate(responses, 1) if is_scorable(text))
    with _BUSY:
        reader = model or _language_model()
        try:
            texts = [layout.as_read(responses[number - 1]) for number in numbers]
            costs = token_surprisals(reader, layout, prompt, texts)
        except Unscorable as error:
            raise InputError(f"The responses cannot be scored: {error}", "") from error
    return Tokens(numbers, costs, reader.signature, str(layout))


def tokens_table(tokens: Tokens) -> Table:
    """Return the tokens as text, one row per response: its total bits, and each token with its bits."""
    rows = []
    for number, costs in zip(tokens.numbers, tokens.costs, strict=True):
        texts = [f"{shortened(token.text, 40) or '·'} ({token.bits:.1f})" for token in costs[:TOKENS_SHOWN]]
        rows.append((number, sum(token.bits for token in costs), len(costs), " ".join(texts)))
    return Table("", ("#", "bits", "tokens", "token (bits)"), rows)


@cache
def _language_model() -> CausalLM:
    return load_causal_lm(OFFLINE_LM)
