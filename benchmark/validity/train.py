"""Trains the discriminator: python -m benchmark.validity.train CORPUS --mirror MIRROR. Deterministic.

The models of word order and letters come from the books that trained the bundled language model, the weights from
released response sets and junk made from two of their systems. The thresholds reject at most 3.75% of any system's
responses. The printed tables are for held-out prompts, and for held-out kinds of junk.
"""

import itertools
import json
import math
import random
import string
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from benchmark.models.bundled_lm.train import read_books
from benchmark.models.embedder import ALL_MINILM_L6_V2, Embedder, SentenceTransformersEmbedder
from benchmark.validity.discriminator import (
    FEATURES,
    PARAMETERS,
    VERSION,
    Discriminator,
    Features,
    Logistic,
    Reason,
    evidence,
    judge,
    refusal_texts,
    suspicions,
)
from benchmark.validity.text_statistics import (
    CLASSES,
    Floats,
    WordOrderModel,
    beginnings,
    endings,
    letter_class,
    token_of,
    words_of,
)
from datasets_build.load import load_table
from datasets_build.sources.olmo import STAGES
from divbench.core.console import out
from divbench.core.errors import InputError
from divbench.core.files import write_text
from divbench.core.tables import Cell, Table, to_terminal
from submissions.gaming.attacks import banks
from submissions.gaming.baselines import attacked, find_attack

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
_COMMON = 200  # most common words, each of which gets a class of its own
_PSEUDO_COUNT = 5.0  # added to observed and expected counts


@dataclass(frozen=True, slots=True)
class System:
    """A system's response sets."""

    name: str
    prompts: Mapping[str, str]  # prompts by their ids
    responses: Responses  # responses by prompt id


def read_systems(mirror: Path, k: int) -> list[System]:
    """Read the first k responses of NoveltyBench's released systems and of OLMo's four stages on the same prompts."""
    systems = []
    for path in sorted((mirror / "noveltybench" / "submissions").glob("*.jsonl")):
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        prompts = {row["id"]: row["prompt"] for row in rows}
        systems.append(System(path.stem, prompts, {row["id"]: tuple(row["generations"][:k]) for row in rows}))
    if not systems:
        raise InputError(f"{mirror}: no noveltybench/submissions/*.jsonl", "name a folder of released files")
    rows = load_table("olmo_stages", "nbcurated", mirror=mirror).to_pylist()
    for stage in STAGES:
        of_stage = [row for row in rows if row["stage"] == stage]
        prompts = {row["prompt_id"]: row["prompt"] for row in of_stage}
        systems.append(
            System(f"olmo-{stage}", prompts, {row["prompt_id"]: tuple(row["responses"][:k]) for row in of_stage})
        )
    return systems


def junk(kind: str, system: System) -> dict[str, tuple[str, ...]]:
    """Make junk of one of `KINDS` from a system's responses."""
    if kind == "own-word-salads":
        return {i: _word_salads(responses, i) for i, responses in system.responses.items()}
    if kind == "own-echoes":
        return {i: _echoes(system.prompts[i], len(responses), i) for i, responses in system.responses.items()}
    if kind == "own-refusals":
        return {i: _refusals(len(responses), i) for i, responses in system.responses.items()}
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
    salads = [" ".join(itertools.islice(dealt, len(text.split()))) for text in responses]
    return tuple(rng.choice((str, _bare, partial(_in_sentences, rng=rng)))(text) for text in salads)


def _in_sentences(text: str, rng: random.Random) -> str:
    """Return a text with a capital at its beginning and a full stop at its end, and both every few words."""
    words, sentences = _bare(text).split(), []
    while words:
        length = rng.randint(4, 14)
        first, *others = words[:length]
        sentences.append(" ".join((first.capitalize(), *others)) + ".")
        words = words[length:]
    return rng.choice((" ", "\n")).join(sentences)


def _bare(text: str) -> str:
    """Return a text in lower case without punctuation around words; unchanged if nothing would be left."""
    words = (word.strip(string.punctuation) for word in text.lower().split())
    return " ".join(filter(None, words)) or text


def _echoes(prompt: str, count: int, label: str) -> tuple[str, ...]:
    """Return copies of the prompt, some truncated, or with a few words before or after it."""
    rng = random.Random(f"own-echoes/{label}")  # noqa: S311 - not for secrets
    words, echoes = prompt.split(), []
    for _ in range(count):
        beginning = words[: max(2, round(len(words) * rng.choice((0.8, 1.0, 1.0))))]
        more = rng.choices(banks()["words"], k=rng.randrange(6))
        echoes.append(" ".join(rng.choice((beginning + more, more + beginning))))
    return tuple(echoes)


def _refusals(count: int, label: str) -> tuple[str, ...]:
    """Join two refusals each, so that none equals a refusal that responses are compared with."""
    rng = random.Random(f"own-refusals/{label}")  # noqa: S311 - not for secrets
    return tuple(" ".join(rng.sample(refusal_texts(), k=2)) for _ in range(count))


Judged = Sequence[Sequence[Features]]  # response sets
_DOUBT = 0.45  # highest threshold: in doubt, a response is an answer


def fit_reason(real: Sequence[Sequence[tuple[float, ...]]], none: Sequence[Sequence[tuple[float, ...]]]) -> Logistic:
    """Fit the log-odds of junk of one reason against answers, as if both were equally common."""
    from sklearn.linear_model import LogisticRegression

    groups = [*real, *none]
    x = np.array([features for group in groups for features in group])
    y = np.repeat([0] * len(real) + [1] * len(none), [len(group) for group in groups])
    weight = np.repeat([1 / max(1, len(group)) for group in groups], [len(group) for group in groups])
    low, high = np.quantile(x, [0.002, 0.998], axis=0)
    x = np.clip(x, low, high)
    mean, scale = x.mean(axis=0), np.maximum(x.std(axis=0), 1e-9)
    model = LogisticRegression(C=1.0, max_iter=1000).fit((x - mean) / scale, y, weight * len(x) / weight.sum())
    weights = model.coef_[0] / scale
    intercept = float(model.intercept_[0] - weights @ mean)
    return Logistic(
        round(intercept, 4),
        tuple(round(float(w), 4) for w in weights),
        tuple(round(float(v), 4) for v in low),
        tuple(round(float(v), 4) for v in high),
    )


def fit(
    real: Sequence[Judged],
    junk: Mapping[str, Sequence[Judged]],
    models: Discriminator,
) -> Discriminator:
    """Fit the weights of every reason.

    The sources differ in length. Each has the same weight, so that short texts are not more likely to be junk. Only for
    "not about the prompt" are they pooled, because few answers are short: a short one must show what it is about.
    """
    weights = {}
    for reason in FEATURES:
        kinds = [kind for kind in junk if KINDS[kind] == reason]
        answers = [_features([source], reason) for source in real]
        bad = [_features([junk[kind][i] for kind in kinds], reason) for i in range(len(real))]
        if reason == "not about the prompt":
            answers, bad = [[*chain(*answers)]], [[*chain(*bad)]]
        weights[reason] = fit_reason(answers, bad)
    return replace(models, weights=weights)


def _features(sources: Sequence[Judged], reason: Reason) -> list[tuple[float, ...]]:
    return [
        f for sets in sources for responses in sets for features in responses if (f := features.get(reason)) is not None
    ]


def refused_share(sets: Judged, models: Discriminator) -> float:
    """Return the share of responses that are rejected."""
    refused = [reason is not None for responses in sets for reason in judge(responses, models)]
    return float(np.mean(refused)) if refused else 0.0


def calibrate(systems: Mapping[str, Judged], models: Discriminator, most: float) -> Discriminator:
    """Lower the thresholds until few of each system's responses are rejected."""
    suspected = [
        [suspicion for of_system in sets for suspicion in suspicions(of_system, models)] for sets in systems.values()
    ]
    thresholds: dict[Reason, float] = {}
    for reason in FEATURES:
        thresholds[reason] = _DOUBT
        for of_system in suspected:
            ranked = sorted(answer for why, answer in of_system if why == reason)
            allowed = int(len(of_system) * most / 2)
            if len(ranked) > allowed:  # the next one must be accepted
                thresholds[reason] = min(thresholds[reason], ranked[allowed])
    while any(sum(p < thresholds[why] for why, p in of_system) > most * len(of_system) for of_system in suspected):
        thresholds = {reason: 0.97 * threshold for reason, threshold in thresholds.items()}
    return replace(models, thresholds={reason: math.floor(1e4 * t) / 1e4 for reason, t in thresholds.items()})


K = 8  # number of responses by people per prompt
MOST_REFUSED = 0.0375  # share of any system's responses, so that it is at most 0.05 on other prompts
SOURCES = ("humans", "gpt-4o")  # systems that junk is made from: short responses and long ones
EVERY = 5  # junk is made for every fifth prompt, to save time
Measured = Mapping[str, list[Features]]  # by prompt id


def fit_word_order(text: str) -> WordOrderModel:
    """Estimate a model of word order from English prose."""
    words = words_of(text)
    counts = Counter(token for token in map(token_of, words) if token[:1].isalpha())
    common = tuple(sorted(counts, key=lambda word: (-counts[word], word))[:_COMMON])
    empty = WordOrderModel(common, *[np.zeros(0)] * 4)
    classes, ended, begun = empty.classes(words), endings(words), beginnings(words)
    stopped = ended == 2
    return WordOrderModel(
        common,
        _pair_ratios(classes[:-1], classes[1:], empty.size),
        _pair_ratios(ended[:-1], begun[1:], 3),
        _ratios(classes[np.append(True, stopped[:-1])], classes, empty.size),
        _ratios(classes[stopped], classes, empty.size),
    )


def _ratios(chosen: NDArray[np.int64], every: NDArray[np.int64], size: int) -> Floats:
    """Return log2 of how much more often each class is among the chosen words than by chance, [classes]."""
    counts, expected = (np.bincount(classes, minlength=size).astype(np.float64) for classes in (chosen, every))
    return _log2_ratios(counts, expected * (len(chosen) / len(every)))


def _pair_ratios(before: NDArray[np.int64], after: NDArray[np.int64], size: int) -> Floats:
    counts = np.zeros((size, size))
    np.add.at(counts, (before, after), 1)
    return _log2_ratios(counts, np.outer(counts.sum(1), counts.sum(0)) / counts.sum())


def _log2_ratios(counts: Floats, expected: Floats) -> Floats:
    ratios: Floats = np.clip(np.log2((counts + _PSEUDO_COUNT) / (expected + _PSEUDO_COUNT)), -4, 4)
    return np.round(ratios, 1)


def fit_spelling(text: str) -> Floats:
    """Estimate a bigram model of letter classes from running text: float64 [CLASSES, CLASSES], in bits."""
    classes = np.array([letter_class(letter) for letter in text], np.int64)
    counts = np.ones((CLASSES, CLASSES))  # a pseudo-count of 1
    np.add.at(counts, (classes[:-1], classes[1:]), 1)
    bits: Floats = -np.log2(counts / counts.sum(1, keepdims=True))
    return np.asarray(np.round(np.minimum(bits, 12), 1), np.float64)


def language_models(corpus: Path) -> Discriminator:
    """Estimate the models of word order and letters from books."""
    text = "\n".join(
        " ".join(paragraph.split()) for book in read_books(corpus) for paragraph in book.train.split("\n\n")
    )
    return Discriminator(fit_word_order(text), fit_spelling(text), {})


def measure(
    systems: Iterable[System], models: Discriminator, embedder: Embedder
) -> tuple[dict[str, Measured], dict[tuple[str, str], Measured]]:
    """Compute the features of every system's responses, and of junk by source and kind."""
    real, none = {}, {}
    for system in systems:
        real[system.name] = _measured(system, system.responses, models, embedder)
        if system.name in SOURCES:
            for kind in KINDS:
                texts = junk(kind, system)
                some = {prompt_id: texts[prompt_id] for prompt_id in sorted(texts)[::EVERY]}
                none[system.name, kind] = _measured(system, some, models, embedder)
    return real, none


def _measured(
    system: System, responses: Mapping[str, tuple[str, ...]], models: Discriminator, embedder: Embedder
) -> Measured:
    prompts = [system.prompts[prompt_id] for prompt_id in responses]
    return dict(zip(responses, evidence(prompts, list(responses.values()), models, embedder), strict=True))


def fitted(
    real: Mapping[str, Measured],
    none: Mapping[tuple[str, str], Measured],
    models: Discriminator,
    prompts: frozenset[str],
) -> Discriminator:
    """Fit and calibrate the discriminator on some prompts."""
    used = {name: [features for i, features in sets.items() if i in prompts] for name, sets in real.items()}
    bad = {
        kind: [[features for i, features in none[source, kind].items() if i in prompts] for source in SOURCES]
        for kind in KINDS
    }
    short, *_ = SOURCES
    long = [features for name, sets in used.items() if name != short for features in sets]
    return calibrate(used, fit([used[short], long], bad, models), MOST_REFUSED)


def halves_of(prompts: Iterable[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the first and third quarter of the ids in order, and the others.

    Neighbours stay together, because many are nearly the same prompt, such as stories about a girl and about a boy.
    """
    ids = sorted(prompts)
    side = {prompt_id: 4 * n // len(ids) % 2 for n, prompt_id in enumerate(ids)}
    return frozenset(i for i in ids if not side[i]), frozenset(i for i in ids if side[i])


def held_out(real: Mapping[str, Measured], none: Mapping[tuple[str, str], Measured], models: Discriminator) -> Table:
    """Return the rejected shares of real systems' responses and of junk, with prompts held out."""
    halves = halves_of({i for sets in real.values() for i in sets})
    fits = [(test, fitted(real, none, models, train)) for train, test in (halves, halves[::-1])]

    def share(sets: Measured) -> float:
        refused = [
            refused_share([responses for i, responses in sets.items() if i in test], model) for test, model in fits
        ]
        return float(np.mean(refused))

    rows: list[tuple[Cell, ...]] = [(name, "", share(sets)) for name, sets in real.items()]
    rows += [(source, f"{kind}: {KINDS[kind]}", share(sets)) for (source, kind), sets in none.items()]
    return Table("Refused shares, prompts held out", ("system", "junk", "refused"), rows, numbers=("refused",))


def train(
    corpus: Annotated[Path, typer.Argument(help="Folder of *.txt.gz: public-domain books in English.")],
    mirror: Annotated[Path, typer.Option(help="Folder with released files.")],
    path: Annotated[Path, typer.Option("--out", help="Output file of parameters.")] = PARAMETERS,
) -> None:
    """Train the discriminator, write its parameters and print its evaluation."""
    models = language_models(corpus)
    real, none = measure(read_systems(mirror, K), models, SentenceTransformersEmbedder(ALL_MINILM_L6_V2))
    trained = fitted(real, none, models, frozenset(i for sets in real.values() for i in sets))
    text = json.dumps(to_json(trained), ensure_ascii=False)
    write_text(path, text.replace("], [", "],\n[").replace('}, "', '},\n"') + "\n")  # one line per row of a matrix
    out().print(to_terminal(held_out(real, none, models)))


def to_json(trained: Discriminator) -> dict[str, Any]:
    """Return the JSON document of parameters."""
    order = trained.order
    arrays = {name: getattr(order, name).tolist() for name in ("scores", "ends", "starts", "stops")}
    return {
        "version": VERSION,
        "thresholds": dict(trained.thresholds),
        "prior": trained.prior,
        "temper": dict(trained.temper),
        "reasons": {reason: asdict(model) for reason, model in trained.weights.items()},
        "word_order": {"words": order.words, **arrays},
        "letters": trained.bits.tolist(),
    }


if __name__ == "__main__":
    typer.run(train)
