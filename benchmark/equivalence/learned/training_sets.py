"""Training sets of the learned backend: published partitions, paraphrases of prompts, and answers in frame sentences.

*published*: NoveltyBench's responses to its curated prompts, with the published partitions. The classifier that made
those of the models puts short responses such as "Giraffe." and "Elephant" into one class; the project's later code has
a rule for responses of up to five words, which people's partitions follow. Pairs of short responses by models get the
label of that rule.
*paraphrases*: NoveltyBench's ten paraphrases of each prompt as equivalent responses, mixed with those of other prompts
of the same category.
*wrappers*: answers in frame sentences, both written by us; an answer is equivalent to itself in any sentence.
"""

import json
import random
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from benchmark.equivalence.backend import ResponsePair
from benchmark.equivalence.partitioning import normalised
from benchmark.equivalence.rules import short_answers_equivalent

PEOPLE = "humans"  # the system whose partitions follow the rule for short responses
_WRAPPERS = Path(__file__).with_name("wrappers.toml")


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """Responses to a prompt with their equivalence classes."""

    kind: str
    system: str  # system that generated the responses; empty for other kinds
    prompt_id: str  # id of the prompt, by which sets are held out; empty for wrappers
    prompt: str
    texts: tuple[str, ...]  # [k], the responses
    labels: tuple[int, ...]  # [k], their classes

    def pairs(self) -> list[ResponsePair]:
        """Return all pairs of responses, in the order of `combinations`."""
        return [ResponsePair(self.prompt, a, b) for a, b in combinations(self.texts, 2)]

    def published(self) -> list[bool]:
        """Return whether each pair is in one class, [pairs]."""
        return [a == b for a, b in combinations(self.labels, 2)]

    def corrected(self) -> list[bool]:
        """Return the labels for training, [pairs]; pairs of short responses by models are labelled by the rule."""
        if self.kind != "published" or self.system == PEOPLE:
            return self.published()
        ruled = [short_answers_equivalent(normalised(a), normalised(b)) for a, b in combinations(self.texts, 2)]
        return [label if rule is None else rule for label, rule in zip(self.published(), ruled, strict=True)]

    def identical(self) -> list[bool]:
        """Return whether the texts of each pair are equal once normalised, [pairs]; such pairs need no model."""
        forms = [normalised(text) for text in self.texts]
        return [a == b for a, b in combinations(forms, 2)]


def published_sets(mirror: Path) -> list[LabelledSet]:
    """Read NoveltyBench's released submissions with partitions from a mirror, sorted by system and prompt."""
    return [
        LabelledSet(
            "published", path.stem, row["id"], row["prompt"], tuple(row["generations"]), tuple(row["partition"])
        )
        for path in sorted((mirror / "noveltybench" / "submissions").glob("*.jsonl"))
        for row in sorted(_rows(path), key=lambda row: str(row["id"]))
    ]


def paraphrase_sets(mirror: Path) -> list[LabelledSet]:
    """Make a set per curated prompt: six of its wordings, and two of each of four other prompts of its category."""
    rows = sorted(_rows(mirror / "noveltybench" / "curated.jsonl"), key=lambda row: str(row["id"]))
    rng = random.Random(0)  # noqa: S311 - not for secrets
    made = []
    for row in rows:
        others = [each for each in rows if each["category"] == row["category"] and each is not row]
        chosen = rng.sample(others, min(4, len(others)))
        texts, labels = [row["prompt"], *rng.sample(row["prompt_paraphrases"], 5)], [0] * 6
        for label, other in enumerate(chosen, start=1):
            texts += rng.sample(other["prompt_paraphrases"], 2)
            labels += [label] * 2
        prompt = f"Ask something about {str(row['category']).lower()}."
        made.append(LabelledSet("paraphrases", "", row["id"], prompt, tuple(texts), tuple(labels)))
    return made


def wrapper_sets() -> list[LabelledSet]:
    """Make six sets for each prompt of `wrappers.toml`: four answers in three sentences."""
    given = tomllib.loads(_WRAPPERS.read_text(encoding="utf-8"))
    rng = random.Random(0)  # noqa: S311 - not for secrets
    made = []
    for prompt, answers in given["answers"].items():
        for _ in range(6):
            sentences, chosen = rng.sample(given["sentences"], 3), rng.sample(answers, 4)
            texts = tuple(sentence.format(answer) for sentence in sentences for answer in chosen)
            made.append(LabelledSet("wrappers", "", "", prompt, texts, tuple(range(4)) * 3))
    return made


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)
