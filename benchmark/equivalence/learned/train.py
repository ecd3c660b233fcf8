"""Trains the learned backend: `python -m benchmark.equivalence.learned.train --mirror DIR`.

It reads about 25,000 texts with the embedder, which takes half an hour or more; `--features` stores the features. The
same features give the same bytes. Prints a table of the agreement with judged partitions, with prompts and systems held
out, and with pairs that people labelled, with prompts held out.

Training sets:

*judged*: NoveltyBench's curated prompts with the partitions of its version 1.1, by a judge that reads whole sets.
*people*: pairs of responses to WildChat prompts that people labelled.
*paraphrases*: NoveltyBench's ten paraphrases of each prompt as equivalent responses, mixed with those of other prompts
of the same category.
*wrappers*: answers in frame sentences, both written by us: an answer is equivalent to itself in any sentence.
*wordings*: responses in free wording, written by us.

The pairs of judged sets are used three times: among all responses of their set, some of them among five, and some
alone, because the backend reads sets of any size.
"""

import json
import random
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from benchmark.equivalence.backend import Floats
from benchmark.equivalence.learned.backend import APART, MODEL
from benchmark.equivalence.learned.model_file import CLIP, LONG, Linear, PairModel, SetModel, save_set_model
from benchmark.equivalence.learned.set_features import set_features, set_text
from benchmark.equivalence.learned.words import BUCKETS, Prompt, bucket, words_of
from benchmark.equivalence.partitioning import average_linkage, normalised
from benchmark.models.boosted_trees import as_trees
from benchmark.models.embedder import ALL_MINILM_L6_V2, SentenceTransformersEmbedder, TokenEmbedder, read_whole
from datasets_build.download import mirror_folder
from divbench.core.console import MirrorOption, out
from divbench.core.errors import ConfigurationError
from divbench.core.files import sha256_of
from divbench.core.tables import Table, to_terminal

Mask = NDArray[np.bool_]
FOLDS = 5  # of the prompts, and of the systems
SIMILAR = 5  # neighbouring prompts in one fold: curated prompts of a kind stand together
# Chosen with prompts and systems held out. The linear part alone is almost as good as the trees.
TREES_SHARE = 0.6
_WEIGHTS = {"people": 3.0, "wordings": 12.0}  # the latter was chosen by the paraphrases of the tests
_TREES = {
    "max_iter": 150,
    "learning_rate": 0.08,
    "max_leaf_nodes": 16,
    "min_samples_leaf": 200,
    "l2_regularization": 5.0,
    "max_features": 0.2,
}
_DIFFERENT = 0.25  # share of the pairs of different responses in free wording that are used alone
_ALONE, _FEW = 6, 5  # pairs of a judged set that are also used alone; size of a smaller set
_WRAPPERS, _WORDINGS = (Path(__file__).with_name(f"{name}.toml") for name in ("wrappers", "wordings"))


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """Distinct responses to a prompt with their equivalence classes."""

    kind: str  # judged, people, paraphrases or wrappers
    system: str  # system that generated the responses; empty for other kinds
    group: int  # group of similar prompts, by which sets are held out; −1 for wrappers
    prompt: str
    texts: tuple[str, ...]  # [k], the responses, sorted
    labels: tuple[int, ...]  # [k], their classes

    @staticmethod
    def of(kind: str, system: str, group: int, prompt: str, labelled: Sequence[tuple[str, int]]) -> "LabelledSet":
        """Keep one text of those that are equal once normalised, as `partition_by_pairs` does."""
        kept: dict[str, tuple[str, int]] = {}
        for text, label in sorted(pair for pair in labelled if pair[0].strip()):
            kept.setdefault(normalised(text), (text, label))
        texts, labels = zip(*sorted(kept.values()), strict=True) if kept else ((), ())
        return LabelledSet(kind, system, group, prompt, texts, labels)

    def same(self) -> list[bool]:
        """Return whether each pair is in one class, [pairs]."""
        return [a == b for a, b in combinations(self.labels, 2)]

    def part(self, chosen: Sequence[int]) -> "LabelledSet":
        """Return the set of some of the responses."""
        texts, labels = tuple(self.texts[i] for i in chosen), tuple(self.labels[i] for i in chosen)
        return LabelledSet(self.kind, self.system, self.group, self.prompt, texts, labels)

    def with_parts(self) -> list["LabelledSet"]:
        """Return a judged set, some of its pairs, and one of its smaller sets; other sets as they are."""
        n = len(self.texts)
        if self.kind != "judged" or n < 3:
            return [self]
        rng = random.Random(f"{self.system}/{self.group}/{self.prompt}")  # noqa: S311 - not for secrets
        pairs = list(combinations(range(n), 2))
        parts = [self, *(self.part(pair) for pair in rng.sample(pairs, min(_ALONE, len(pairs))))]
        return [*parts, self.part(sorted(rng.sample(range(n), _FEW)))] if n > _FEW else parts


def judged_sets(mirror: Path) -> list[LabelledSet]:
    """Read the responses whose partitions of version 1.1 are in a mirror, sorted by system and prompt."""
    folder = mirror / "noveltybench"
    sets = []
    for path in sorted((folder / "v1.1").glob("*.jsonl")):
        sources = [found for name in ("systems", "submissions") if (found := folder / name / path.name).exists()]
        if not sources:
            continue  # partitions without the responses
        rows = {row["id"]: row for row in _rows(sources[0])}
        for judged in sorted(_rows(path), key=lambda row: str(row["id"])):
            row = rows[judged["id"]]
            labelled = list(zip(row["generations"], judged["partition"], strict=True))
            sets.append(LabelledSet.of("judged", path.stem, group_of(row["id"]), row["prompt"], labelled))
    return sets


def people_sets(mirror: Path) -> list[LabelledSet]:
    """Read the pairs that people labelled; their groups are numbered from −2 downwards."""
    return [
        LabelledSet.of(
            "people",
            "",
            -2 - number,
            row["prompt"],
            [(row["generation_0"], 0), (row["generation_1"], 1 - int(row["similar"]))],
        )
        for number, row in enumerate(_rows(mirror / "noveltybench" / "human_pairs.jsonl"))
    ]


def paraphrase_sets(mirror: Path) -> list[LabelledSet]:
    """Make a set per curated prompt: six of its wordings, and two of each of four other prompts of its category."""
    rows = sorted(_rows(mirror / "noveltybench" / "curated.jsonl"), key=lambda row: str(row["id"]))
    rng = random.Random(1)  # noqa: S311 - not for secrets
    sets = []
    for row in rows:
        others = [other for other in rows if other["category"] == row["category"] and other is not row]
        labelled = [(text, 0) for text in [row["prompt"], *rng.sample(row["prompt_paraphrases"], 5)]]
        for label, other in enumerate(rng.sample(others, min(4, len(others))), start=1):
            labelled += [(text, label) for text in rng.sample(other["prompt_paraphrases"], 2)]
        prompt = f"Ask something about {str(row['category']).lower()}."
        whole = LabelledSet.of("paraphrases", "", group_of(row["id"]), prompt, labelled)
        sets += [whole, *(whole.part(pair) for pair in rng.sample(list(combinations(range(len(whole.texts)), 2)), 4))]
    return sets


def wrapper_sets() -> list[LabelledSet]:
    """Make sets of the answers and sentences of `wrappers.toml`: bare, in one sentence, in several, and pairs."""
    document = tomllib.loads(_WRAPPERS.read_text(encoding="utf-8"))
    sentences: list[str] = document["sentences"]
    rng = random.Random(0)  # noqa: S311 - not for secrets
    sets: list[LabelledSet] = []
    for prompt, answers in document["answers"].items():
        made = [[(answer, label) for label, answer in enumerate(rng.sample(answers, 8))] for _ in range(2)]
        for sentence in rng.sample(sentences, 5):
            chosen = rng.sample(answers, rng.choice([3, 5, 8, 8]))
            made.append([(sentence.format(answer), label) for label, answer in enumerate(chosen)])
        for _ in range(4):
            several, chosen = rng.sample(sentences, 3), rng.sample(answers, 4)
            made.append([(s.format(answer), label) for s in several for label, answer in enumerate(chosen)])
        for others in (1, 2, 3):  # one answer in many sentences, and a few others
            first, *rest = rng.sample(answers, others + 1)
            made.append([(s.format(first), 0) for s in rng.sample(sentences, rng.choice([3, 6, 8]))])
            made[-1] += [(rng.choice(sentences).format(answer), label) for label, answer in enumerate(rest, start=1)]
        for _ in range(12):
            (a, b), (one, other) = rng.sample(answers, 2), rng.sample(sentences, 2)
            made.append([(one.format(a), 0), (one.format(b), 1)])
            made.append([(one.format(a), 0), (other.format(a), 0)])
            made.append([(one.format(a), 0), (other.format(b), 1)])
        for rows in made:
            labelled = [(text[:1].upper() + text[1:], label) for text, label in rows]
            sets.append(LabelledSet.of("wrappers", "", -1, prompt, labelled))
    return [labelled for labelled in sets if len(labelled.texts) > 1]


def wording_sets() -> list[LabelledSet]:
    """Make sets of the responses of `wordings.toml`: all of a prompt, some of them, and pairs."""
    document = tomllib.loads(_WORDINGS.read_text(encoding="utf-8"))
    rng = random.Random(0)  # noqa: S311 - not for secrets
    sets: list[LabelledSet] = []
    for prompt, responses in document.items():
        labelled = [(text, label) for label, wordings in enumerate(responses) for text in wordings]
        whole = LabelledSet.of("wordings", "", -1, prompt, labelled)
        size = len(whole.texts)
        pairs = [
            (i, j)
            for i, j in combinations(range(size), 2)
            if whole.labels[i] == whole.labels[j] or rng.random() < _DIFFERENT
        ]
        some = [sorted(rng.sample(range(size), min(_FEW, size))) for _ in range(3)]
        sets += [whole, *(whole.part(chosen) for chosen in (*pairs, *some))]
    return sets


def group_of(prompt_id: str) -> int:
    """Return the group of similar prompts of a curated prompt."""
    return int(prompt_id.rsplit("-", 1)[1]) // SIMILAR


def generic_words(sets: Sequence[LabelledSet]) -> NDArray[np.float32]:
    """Count in how many of the people's pairs each word is; return how telling each is, in [0, 1], [BUCKETS]."""
    counts = np.zeros(BUCKETS)
    people = [labelled for labelled in sets if labelled.kind == "people"]
    for labelled in people:
        counts[sorted({bucket(word) for text in labelled.texts for word in words_of(text)})] += 1
    size = len(people) + 1
    return np.asarray(np.log(size / (counts + 1)) / np.log(size), np.float32)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


@dataclass(frozen=True, slots=True, eq=False)
class LabelledPairs:
    """The pairs of several sets, concatenated."""

    names: tuple[str, ...]  # of the features
    features: NDArray[np.float32]  # [pairs, features]
    same: Mask  # [pairs], whether both responses are in one class
    set_index: NDArray[np.int64]  # [pairs], which set each is of
    sets: Sequence[LabelledSet]

    @staticmethod
    def of(sets: Sequence[LabelledSet], embedder: TokenEmbedder, generic: NDArray[np.float32]) -> "LabelledPairs":
        """Compute the features of all pairs of sets with at least two responses, prompt by prompt."""
        rows: dict[int, NDArray[np.float32]] = {}
        names: tuple[str, ...] = ()
        by_source: dict[tuple[str, str, str], list[int]] = {}
        for index, labelled in enumerate(sets):
            by_source.setdefault((labelled.kind, labelled.system, labelled.prompt), []).append(index)
        for (_, _, prompt), indices in by_source.items():
            texts = sorted({text for index in indices for text in sets[index].texts} | {prompt})
            read = {text: whole for text, (_, whole) in zip(texts, read_whole(embedder, texts), strict=True)}
            asked = Prompt(prompt, words_of(prompt), generic)
            parts = {text: set_text(text, read[text], asked) for text in texts}
            for index in indices:
                features = set_features(asked, read[prompt].vector, [parts[text] for text in sets[index].texts])
                names = tuple(features)
                rows[index] = np.stack(list(features.values()), axis=1).astype(np.float32)
        return LabelledPairs(
            names,
            np.concatenate([rows[index] for index in range(len(sets))]),
            np.array([same for labelled in sets for same in labelled.same()]),
            np.repeat(np.arange(len(sets)), [len(rows[index]) for index in range(len(sets))]),
            sets,
        )

    def of_sets(self, chosen: Sequence[bool]) -> Mask:
        """Return the pairs of some sets, as a mask."""
        return np.array(chosen, np.bool_)[self.set_index]


# Features that may change the probability of equivalence in either direction, or only lower it; others only raise it.
_EITHER = re.compile(
    r"log_.*|length_ratio|set_(size|log_words|sd)|prompt_words|creative|several|relevance_.*|frame|.*_mean|words_f1|"
    r"bigrams_f1|numbers_(jaccard|set_shared)"
)
_LOWER = re.compile(r".*(lacking|far|set_only).*|conflict|.*_below_best")


def fit(pairs: LabelledPairs, chosen: Mask | None = None) -> PairModel:
    """Fit the trees and the linear part separately; deterministic."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    used = np.ones(len(pairs.same), np.bool_) if chosen is None else chosen
    features, labels = pairs.features[used].astype(np.float64), pairs.same[used]
    of_sets = np.array([_WEIGHTS.get(labelled.kind, 1.0) for labelled in pairs.sets])
    weights = of_sets[pairs.set_index][used]
    directions = [0 if _EITHER.fullmatch(n) else -1 if _LOWER.fullmatch(n) else 1 for n in pairs.names]
    trees = HistGradientBoostingClassifier(
        **_TREES, monotonic_cst=directions, early_stopping=False, random_state=0
    ).fit(features, labels, sample_weight=weights)
    usual = np.isnan(features).mean(axis=0) < 0.02
    return PairModel(as_trees(trees), _linear(features, labels, weights, usual, 0.02), np.array(TREES_SHARE))


def fit_alone(pairs: LabelledPairs, chosen: Mask) -> Linear:
    """Fit the linear model of long pairs alone to those that people labelled."""
    features = pairs.features[chosen].astype(np.float64)
    every = np.ones(features.shape[1], np.bool_)
    return _linear(features, pairs.same[chosen], np.ones(len(features)), every, 0.01)


def _linear(features: Floats, labels: Mask, weights: Floats, kept: Mask, strength: float) -> Linear:
    """Fit a logistic regression on some of the features; `strength` is the inverse of its regularisation."""
    from sklearn.linear_model import LogisticRegression

    filled = np.nan_to_num(features)
    mean, sd = filled.mean(axis=0), filled.std(axis=0) + 1e-9
    scaled = np.clip((filled - mean) / sd, -CLIP, CLIP)[:, kept]
    logistic = LogisticRegression(C=strength, max_iter=500).fit(scaled, labels, sample_weight=weights)
    slopes = np.zeros(len(mean))
    slopes[kept] = logistic.coef_[0]
    return Linear(mean, sd, np.append(slopes, logistic.intercept_))


def held_out_log_odds(pairs: LabelledPairs) -> Floats:
    """Return the log-odds of each pair by a model that saw neither its system nor its group of prompts; else NaN."""
    systems = sorted({labelled.system for labelled in pairs.sets} - {""})
    log_odds = np.full(len(pairs.same), np.nan)
    for fold in range(FOLDS):
        in_fold = pairs.of_sets([labelled.group != -1 and labelled.group % FOLDS == fold for labelled in pairs.sets])
        for part in range(FOLDS):
            left_out = set(systems[part::FOLDS])
            of_part = pairs.of_sets([labelled.system in left_out for labelled in pairs.sets])
            people = pairs.of_sets([labelled.kind == "people" and part == 0 for labelled in pairs.sets])
            model = fit(pairs, ~in_fold & ~of_part)
            tested = in_fold & (of_part | people)
            log_odds[tested] = model.log_odds(pairs.features[tested].astype(np.float64))
        long = pairs.features[:, pairs.names.index("log_words_lower")] >= np.log1p(LONG)
        of_people = pairs.of_sets([labelled.kind == "people" for labelled in pairs.sets])
        alone = of_people & long & in_fold
        if alone.any():
            log_odds[alone] = fit_alone(pairs, of_people & ~in_fold).log_odds(pairs.features[alone].astype(np.float64))
    return log_odds


def train(
    mirror: MirrorOption = None,
    features: Annotated[
        Path | None, typer.Option(help="File of the pairs' features: read if there, else written.")
    ] = None,
    path: Annotated[Path, typer.Option("--out", help="Output file of the model.")] = MODEL,
) -> None:
    """Train the model of pairs, and print its agreement with prompts and systems held out."""
    folder = mirror_folder(mirror)
    if folder is None:
        raise ConfigurationError("no mirror with NoveltyBench's files", "give --mirror")
    judged = judged_sets(folder)
    others = people_sets(folder) + paraphrase_sets(folder) + wrapper_sets() + wording_sets()
    sets = [part for labelled in judged + others for part in labelled.with_parts() if len(part.texts) > 1]
    generic = generic_words(sets)
    pairs = _pairs(sets, generic, features)
    of_people = pairs.of_sets([labelled.kind == "people" for labelled in pairs.sets])
    save_set_model(SetModel(pairs.names, fit(pairs), fit_alone(pairs, of_people), generic), path)
    out().print(f"{path}: {sha256_of(path)}", markup=False)
    rows = agreement(judged, pairs, 1 / (1 + np.exp(-held_out_log_odds(pairs))))
    out().print(to_terminal(Table("Held out", ("measure", "value"), rows, numbers=("value",))))


def _pairs(sets: Sequence[LabelledSet], generic: NDArray[np.float32], file: Path | None) -> LabelledPairs:
    """Return the features of all pairs of the sets, from a file if it is there."""
    if file is not None and file.exists():
        with np.load(file, allow_pickle=False) as arrays:
            same = np.array([same for labelled in sets for same in labelled.same()])
            index = np.repeat(np.arange(len(sets)), [len(labelled.same()) for labelled in sets])
            return LabelledPairs(tuple(arrays["names"].tolist()), arrays["features"], same, index, sets)
    pairs = LabelledPairs.of(sets, SentenceTransformersEmbedder(ALL_MINILM_L6_V2), generic)
    if file is not None:
        np.savez(file, names=np.array(pairs.names), features=pairs.features)
    return pairs


def agreement(judged: Sequence[LabelledSet], pairs: LabelledPairs, probabilities: Floats) -> list[tuple[str, float]]:
    """Compare held-out probabilities with the judged partitions of whole sets, and with people's labels."""
    from scipy.stats import spearmanr
    from sklearn.metrics import adjusted_rand_score, roc_auc_score

    rule = pairs.features[:, pairs.names.index("conflict")] == 1
    scores = dict(
        enumerate(np.split(np.where(rule, APART, probabilities), np.cumsum(np.bincount(pairs.set_index))[:-1]))
    )
    whole = {(s.system, s.prompt): i for i, s in reversed(list(enumerate(pairs.sets))) if s.kind == "judged"}
    indices, counts = [], []
    for labelled in judged:
        index = whole.get((labelled.system, labelled.prompt))
        labels = [0] * len(labelled.texts) if index is None else average_linkage(scores[index] - 0.5)
        indices.append(adjusted_rand_score(labelled.labels, labels))
        counts.append((labelled.system, len(set(labels)), len(set(labelled.labels))))
    ours, theirs = (np.array([row[column] for row in counts], np.float64) for column in (1, 2))
    systems = np.array([row[0] for row in counts])
    names = sorted(set(systems.tolist()))
    our_means, their_means = (np.array([values[systems == n].mean() for n in names]) for values in (ours, theirs))
    people = pairs.of_sets([labelled.kind == "people" for labelled in pairs.sets])
    return [
        ("adjusted Rand index", float(np.mean(indices))),
        ("classes over systems, Spearman", float(spearmanr(our_means, their_means).statistic)),
        ("classes per prompt, Pearson", float(np.corrcoef(ours, theirs)[0, 1])),
        ("mean absolute error of the classes", float(np.abs(ours - theirs).mean())),
        ("mean error of the classes", float((ours - theirs).mean())),
        ("AUC, people's pairs", float(roc_auc_score(pairs.same[people], probabilities[people]))),
    ]


if __name__ == "__main__":
    typer.run(train)
