"""Preference pairs that favour diverse responses, for DPO: DivPO (Lanchantin et al. 2025, arXiv:2501.18101).

For each prompt, responses with high rewards form the chosen pool and responses with low rewards the rejected pool; the
pair consists of the most diverse response of the chosen pool and the least diverse of the rejected pool. GSSBench
(arXiv:2510.12699, section 4.3) measures diversity by leave-one-out EigenScore (*looe*), mean negative log-likelihood
(*nll*) or the distance from the mean embedding (*embedding*). Higher is more diverse. Blank responses and placeholders
have no diversity and do not affect that of other responses.

Pairs are written in one of TRL's two preference formats with explicit prompts (dataset formats, *preference*).
*Standard*: `prompt`, `chosen` and `rejected` are texts; the prompt is filled into the manifest's template, if any, and
a response follows it directly. *Conversational*: they are lists of messages; a system prompt is a message before the
prompt. Rows also have `prompt_id` and `meta`, which trainers ignore.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchmark.exports.results import json_line
from benchmark.metrics.internals import METRICS, Internals, leave_one_out_of, surprise_per_token
from benchmark.metrics.metric import Missing, Unscorable
from benchmark.models.embedder import Embedder
from benchmark.scoring.internals_file import InternalsFile
from benchmark.scoring.results import signature_parts
from datasets_build.schema import Suite
from divbench.core.errors import ConfigurationError, InputError
from divbench.core.files import atomic_file
from submissions.checking.response_kinds import is_scorable
from submissions.choices import Mode
from submissions.schema import Generation, Row
from submissions.storage.submission_folders import Submission

Floats = NDArray[np.float64]
Numbers = Sequence[float | None]  # [K], None where missing
PUBLISHED_RHO: Mapping[str, float] = MappingProxyType({"looe": 0.6, "nll": 0.3, "embedding": 0.6})  # GSSBench's
_SLACK = 1e-12  # of the range: a reward on the boundary is in the pool, however the boundary was rounded
_NO_CENTRE = 1e-12  # length below which a mean of unit vectors is rounding error


def choose(responses: Sequence[str], rewards: Numbers, diversities: Numbers, rho: float) -> tuple[int, int] | Missing:
    """Return the positions of the chosen and of the rejected response, or why a prompt gives no pair.

    Chosen rewards are at least max − rho (max − min), rejected ones at most min + rho (max − min). From rho = 0.5 on,
    the pools overlap, so that the chosen response may have the lower reward. Ties in diversity go to the higher (for
    the rejected: lower) reward, then to the first response; the papers do not say how to break them.
    """
    known = {
        position: (reward, diversity)
        for position, (reward, diversity) in enumerate(zip(rewards, diversities, strict=True))
        if reward is not None and diversity is not None
    }
    if len(known) < 2:
        return Missing("fewer than two responses with reward and diversity")
    low, high = min(known.values())[0], max(known.values())[0]
    if low == high:
        return Missing("all rewards equal")
    reach = (rho + _SLACK * bool(rho)) * (high - low)
    chosen_pool = [position for position, (reward, _) in known.items() if reward >= high - reach]
    rejected_pool = [position for position, (reward, _) in known.items() if reward <= low + reach]
    chosen = max(chosen_pool, key=lambda position: (known[position][1], known[position][0], -position))
    rejected = min(rejected_pool, key=lambda position: (known[position][1], known[position][0], position))
    if chosen == rejected:
        return Missing("chosen and rejected are one response")
    if responses[chosen].split() == responses[rejected].split():  # white space is no preference
        return Missing("chosen and rejected are the same text")
    return chosen, rejected


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure of the diversity of single responses, with its model."""

    name: str
    parameters: tuple[tuple[str, str], ...]  # names and values of its parameters, for the signature
    model: str
    of: Callable[[Sequence[Row]], list[Numbers | Missing]]


def leave_one_out_diversities(responses: Sequence[str], internals: Internals) -> Numbers:
    """Return each response's LOOE under E_average; None for one that is not scorable or has no hidden states."""
    positions = _scorable(responses)
    return _spread(leave_one_out_of(internals.take(positions)).tolist(), positions, len(responses))


def surprises(responses: Sequence[str], internals: Internals) -> Numbers:
    """Return each response's mean negative log-likelihood in nats per token; None if it is not scorable or empty."""
    positions = _scorable(responses)
    if not positions:
        raise Unscorable("no response")
    scores = [internals.responses[position] for position in positions]
    values = [None if score is None or score.tokens == 0 else surprise_per_token(score) for score in scores]
    if all(value is None for value in values):
        raise Unscorable("no likelihoods")
    return _spread(values, positions, len(responses))


def centre_distances(embeddings: Floats) -> Floats:
    """Return each response's cosine distance to the mean, 1 − z · c / |c| with c the mean of the unit vectors z.

    GSSBench's footnote 3 does not say which distance to the mean embedding it uses. The Euclidean one,
    |z − c|² = 1 − 2 z · c + |c|², gives the same order of a prompt's responses and hence the same pairs.

    >>> centre_distances(np.array([[1.0, 0], [1, 0], [0.6, 0.8]])).round(3)
    array([0.044, 0.044, 0.191])
    """
    if len(embeddings) < 2:
        raise Unscorable("fewer than two responses")
    centre = embeddings.mean(axis=0)
    length = float(np.linalg.norm(centre))
    if length < _NO_CENTRE:
        raise Unscorable("embeddings whose mean is zero")
    # Row by row: a product of matrices may add up equal rows in different orders.
    distances: Floats = np.clip(1 - (embeddings * centre).sum(axis=1) / length, 0.0, 2.0)
    return distances


def measure_internals(name: Literal["looe", "nll"], file: InternalsFile) -> Measure:
    """Return the measure *looe* or *nll*."""
    if name == "looe" and not file.how.average_layers:
        raise InputError(
            f"{file.path} has no hidden states", "record the internals again with hidden states, or use --diversity nll"
        )
    e_average = next(metric for metric in METRICS if metric.id == "e_average")
    parameters = {"of": e_average.id, **e_average.parameters} if name == "looe" else {"log": "e", "eos": "counted"}
    score = leave_one_out_diversities if name == "looe" else surprises

    def of(rows: Sequence[Row]) -> list[Numbers | Missing]:
        recorded = file.of([row.prompt_id for row in rows])
        return [_or_missing(score, row.responses, internals) for row, internals in zip(rows, recorded, strict=True)]

    return Measure(name, tuple(sorted(parameters.items())), file.how.signature, of)


def measure_embeddings(embedder: Embedder) -> Measure:
    """Return the measure *embedding*: `centre_distances` of the responses' embeddings."""

    def distances(responses: Sequence[str], vectors: Floats) -> Numbers:
        return _spread(centre_distances(vectors).tolist(), _scorable(responses), len(responses))

    def of(rows: Sequence[Row]) -> list[Numbers | Missing]:
        texts = [[row.responses[position] for position in _scorable(row.responses)] for row in rows]
        flat = [text for responses in texts for text in responses]
        vectors = embedder.embed(flat) if flat else np.empty((0, 0))
        parts = np.split(vectors, np.cumsum([len(responses) for responses in texts])[:-1])
        return [_or_missing(distances, row.responses, part) for row, part in zip(rows, parts, strict=True)]

    return Measure("embedding", (("distance", "1-cosine"), ("from", "mean")), embedder.signature, of)


def _or_missing(
    score: Callable[[Sequence[str], Any], Numbers], responses: Sequence[str], values: Any
) -> Numbers | Missing:
    try:
        return score(responses, values)
    except Unscorable as reason:
        return Missing(str(reason))


def _scorable(responses: Sequence[str]) -> list[int]:
    return [position for position, text in enumerate(responses) if is_scorable(text)]


def _spread(values: Numbers, positions: Sequence[int], k: int) -> Numbers:
    """Return the values of some of K responses at their positions; None for NaN and for all others."""
    spread: list[float | None] = [None] * k
    for position, value in zip(positions, values, strict=True):
        spread[position] = None if value is None or np.isnan(value) else value
    return spread


NO_REWARDS = "no rewards"
_OTHER_PROMPTS: dict[Mode | None, str] = {
    "in-context": "each response was generated with the earlier ones in its context",
    "paraphrase": "the responses are to paraphrases of the prompts",
    "verbalized": "all responses to a prompt were generated in one reply",
    "verbalized-tail": "all responses to a prompt were generated in one reply",
}
_PROMPTS_AT_ONCE = 64
_PROMPT = "{prompt}"


def is_conversational(generation: Generation, wanted: bool | None = None) -> bool:
    """Whether pairs are lists of messages: as requested, otherwise as the model was prompted.

    If the manifest does not say whether a chat template was used, a system prompt implies one.
    """
    if generation.mode in _OTHER_PROMPTS:
        raise InputError(
            f"{_OTHER_PROMPTS[generation.mode]} (generation.mode is {generation.mode}), but a pair has one prompt",
            "export a submission whose mode is resample or system-prompt",
        )
    in_chat = generation.chat_template or (generation.chat_template is None and generation.system_prompt is not None)
    if conversational := bool(in_chat) if wanted is None else wanted:
        return conversational
    if generation.system_prompt is not None:
        raise ConfigurationError(
            "the manifest has a system prompt, and a standard pair has no field for it", "use --conversational"
        )
    if _PROMPT not in (generation.prompt_template or _PROMPT):
        raise InputError(f"the manifest's generation.prompt_template has no {_PROMPT}", "use --conversational")
    return False


def formatted(row: Mapping[str, Any], generation: Generation, *, conversational: bool) -> dict[str, Any]:
    """Return a pair in the trainers' format, with its other fields unchanged."""
    if not conversational:
        return {**row, "prompt": (generation.prompt_template or _PROMPT).replace(_PROMPT, row["prompt"])}
    roles = {"prompt": "user", "chosen": "assistant", "rejected": "assistant"}
    messages = {field: [{"role": role, "content": row[field]}] for field, role in roles.items()}
    if generation.system_prompt is not None:
        messages["prompt"].insert(0, {"role": "system", "content": generation.system_prompt})
    return {**row, **messages}


@dataclass(frozen=True, slots=True)
class Exported:
    """The pairs of a submission, and what to know about them."""

    rows: list[dict[str, Any]]  # `prompt_id`, the texts `prompt`, `chosen`, `rejected`, and `meta`, by prompt
    skipped: Counter[str]  # number of prompts without a pair, by reason
    unrewarded: int  # number of responses without a reward to prompts that have some rewards
    truncated: int  # number of pairs whose chosen response was cut off at the token limit, as far as is known

    def means(self, side: str) -> tuple[float, float]:
        """Return the mean reward and diversity of the chosen or of the rejected responses."""
        metas = [row["meta"] for row in self.rows]
        reward, diversity = (
            math.fsum(meta[column][meta[f"{side}_index"]] for meta in metas) / len(metas)
            for column in ("rewards", "diversities")
        )
        return reward, diversity

    def margins(self) -> list[float]:
        """Return how much higher the chosen response's reward is than the rejected one's, by pair."""
        metas = [row["meta"] for row in self.rows]
        return [meta["rewards"][meta["chosen_index"]] - meta["rewards"][meta["rejected_index"]] for meta in metas]


def preference_pairs(
    submission: Submission,
    suite: Suite,
    rewards: Mapping[str, Numbers],
    measure: Measure,
    rho: float,
    progress: Callable[[int], None] = lambda prompts: None,
) -> Exported:
    """Choose a pair for each prompt that gives one, in the suite's order."""
    generation = submission.manifest.generation
    parts = signature_parts(
        1, measure.parameters, (measure.model,), suite=f"{suite.name}@{suite.revision}", k=generation.k
    )
    shared = {
        "k": generation.k,
        "metric": measure.name,
        "rho": rho,
        "rule": "range",
        "seed": generation.seed,
        "signature": "|".join((measure.name, *parts)),
        "submission_id": submission.id,
    }
    pairs: list[dict[str, Any]] = []
    skipped: Counter[str] = Counter()
    truncated = 0
    rows = sorted(submission.rows(), key=lambda row: suite.position[row.prompt_id])
    for start in range(0, len(rows), _PROMPTS_AT_ONCE):
        batch = rows[start : start + _PROMPTS_AT_ONCE]
        for row, diversities in zip(batch, measure.of(batch), strict=True):
            pair = _pair(row, rewards.get(row.prompt_id), diversities, rho)
            if isinstance(pair, Missing):
                skipped[pair.reason] += 1
                continue
            pair["meta"] |= shared
            pairs.append({"prompt_id": row.prompt_id, "prompt": suite.by_id[row.prompt_id].prompt} | pair)
            reasons = row.finish_reasons
            truncated += reasons is not None and reasons[pair["meta"]["chosen_index"]] == "length"
        progress(start + len(batch))
    if not pairs:
        why = ", ".join(f"{count} {reason}" for reason, count in skipped.items())
        raise InputError(f"no prompt gives a pair, and nothing is written: {why}")
    return Exported(pairs, skipped, sum(list(values).count(None) for values in rewards.values()), truncated)


def _pair(row: Row, rewards: Numbers | None, diversities: Numbers | Missing, rho: float) -> dict[str, Any] | Missing:
    if rewards is None:
        return Missing(NO_REWARDS)
    if isinstance(diversities, Missing):
        return diversities
    pair = choose(row.responses, rewards, diversities, rho)
    if isinstance(pair, Missing):
        return pair
    chosen, rejected = pair
    numbers = {"rewards": list(rewards), "diversities": list(diversities)}
    indices = {"chosen_index": chosen, "rejected_index": rejected}
    return {"chosen": row.responses[chosen], "rejected": row.responses[rejected], "meta": numbers | indices}


def write_pairs(path: Path, exported: Exported, generation: Generation, *, conversational: bool) -> None:
    """Write the pairs as JSON Lines; the same pairs give the same bytes."""
    with atomic_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for row in exported.rows:
            file.write(json_line(formatted(row, generation, conversational=conversational)))
