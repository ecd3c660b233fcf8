"""Training and test sets of the discriminator: released response sets, and junk made from them."""

import itertools
import json
import random
import string
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmark.validity.evidence import Reason, refusal_texts
from datasets_build.errors import InputError
from datasets_build.load import load_table
from datasets_build.sources.olmo import STAGES
from submissions.gaming.derive import attacked, find_attack
from submissions.gaming.rewording import banks

Responses = Mapping[str, tuple[str, ...]]  # by prompt id
# Kinds of junk and the correct reason for each. The *own* kinds are made here; attacks have other wordings and orders.
KINDS: Mapping[str, Reason] = {
    "random-characters": "unreadable",
    "homoglyphs": "unreadable",
    "shuffled-words": "word salad",
    "random-words": "word salad",
    "own-word-salads": "word salad",
    "echoes": "echo of the prompt",
    "own-echoes": "echo of the prompt",
    "refusals": "refusal",
    "own-refusals": "refusal",
    "other-prompts": "not about the prompt",
    "book-sentences": "not about the prompt",
}
# Random seed of the attacks used as junk; different from that of the board's attacks, so that those are unseen.
_SEED = 1


@dataclass(frozen=True, slots=True)
class System:
    """A system's response sets."""

    name: str
    prompts: Mapping[str, str]  # prompts by their ids
    responses: Responses  # responses by prompt id


def read_systems(mirror: Path, k: int) -> list[System]:
    """Read the first k responses of NoveltyBench's released submissions and of OLMo's four stages on the same prompts.

    Raises:
        InputError: The mirror has no submissions.
    """
    made = []
    for path in sorted((mirror / "noveltybench" / "submissions").glob("*.jsonl")):
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        prompts = {row["id"]: row["prompt"] for row in rows}
        made.append(System(path.stem, prompts, {row["id"]: tuple(row["generations"][:k]) for row in rows}))
    if not made:
        raise InputError(f"{mirror}: no noveltybench/submissions/*.jsonl", "name a folder of released files")
    rows = load_table("olmo_stages", "nbcurated", mirror=mirror).to_pylist()
    for stage in STAGES:
        own = [row for row in rows if row["stage"] == stage]
        prompts = {row["prompt_id"]: row["prompt"] for row in own}
        made.append(System(f"olmo-{stage}", prompts, {row["prompt_id"]: tuple(row["responses"][:k]) for row in own}))
    return made


def junk(kind: str, system: System) -> dict[str, tuple[str, ...]]:
    """Make junk of one of `KINDS` from a system's responses."""
    if kind == "own-word-salads":
        return {i: _word_salads(own, i) for i, own in system.responses.items()}
    if kind == "own-echoes":
        return {i: _echoes(system.prompts[i], len(own), i) for i, own in system.responses.items()}
    if kind == "own-refusals":
        return {i: _refusals(len(own), i) for i, own in system.responses.items()}
    return attacked(find_attack(kind), system.prompts, system.responses, _SEED)


def _word_salads(responses: tuple[str, ...], label: str) -> tuple[str, ...]:
    """Redistribute the words of all responses, keeping lengths.

    A third of the texts are in lower case without punctuation, and a third have the punctuation of sentences, so that
    neither is evidence.
    """
    rng = random.Random(f"own-word-salads/{label}")  # noqa: S311 - not for secrets
    words = [word for text in responses for word in text.split()]
    rng.shuffle(words)
    dealt = iter(words)
    made = [" ".join(itertools.islice(dealt, len(text.split()))) for text in responses]
    return tuple(rng.choice((str, _bare, partial(_in_sentences, rng=rng)))(text) for text in made)


def _in_sentences(text: str, rng: random.Random) -> str:
    """Return a text with a capital at its beginning and a full stop at its end, and both every few words."""
    words, made = _bare(text).split(), []
    while words:
        length = rng.randint(4, 14)
        first, *others = words[:length]
        made.append(" ".join((first.capitalize(), *others)) + ".")
        words = words[length:]
    return rng.choice((" ", "\n")).join(made)


def _bare(text: str) -> str:
    """Return a text in lower case without punctuation around words; unchanged if nothing would be left."""
    words = (word.strip(string.punctuation) for word in text.lower().split())
    return " ".join(filter(None, words)) or text


def _echoes(prompt: str, count: int, label: str) -> tuple[str, ...]:
    """Return copies of the prompt, some truncated, or with a few words before or after it."""
    rng = random.Random(f"own-echoes/{label}")  # noqa: S311 - not for secrets
    words, made = prompt.split(), []
    for _ in range(count):
        kept = words[: max(2, round(len(words) * rng.choice((0.8, 1.0, 1.0))))]
        more = rng.choices(banks()["words"], k=rng.randrange(6))
        made.append(" ".join(rng.choice((kept + more, more + kept))))
    return tuple(made)


def _refusals(count: int, label: str) -> tuple[str, ...]:
    """Join two refusals each, so that none equals a refusal that responses are compared with."""
    rng = random.Random(f"own-refusals/{label}")  # noqa: S311 - not for secrets
    return tuple(" ".join(rng.sample(refusal_texts(), k=2)) for _ in range(count))
