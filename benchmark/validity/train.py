"""Trains the models of validity: `python -m benchmark.validity.train --mirror DIR`. Deterministic.

Positives and negatives are the first responses of classes that a judge scored (NoveltyBench, metric version 1.1); the
other responses of a class have its score. Junk of our own is negative; nothing is positive by assumption. The systems
are language models of 2024, so three kinds of copies teach what is no evidence: *bare* answers without frames, as
people write them; *novel* responses, whose most similar neighbours are hidden; and responses among *companions* of
other systems, so that a diverse set is no evidence of a weak system.

The table is measured with a fifth of the systems at a time left out of training and record, and for prompts without a
record also with a fifth of the prompts, neighbouring ones together, since many of them are nearly the same.
"""

import json
import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from string import punctuation
from typing import Annotated, Any, Literal

import numpy as np
import typer
from numpy.typing import NDArray

from benchmark.models.boosted_trees import BoostedTrees, as_trees
from benchmark.models.embedder import ALL_MINILM_L6_V2, SentenceTransformersEmbedder
from benchmark.validity.estimate import COLUMNS, MODEL, READS, Situation, SituationModel, save_models
from benchmark.validity.features import (
    NEIGHBOURS,
    RELEVANCE,
    SET,
    TEXT,
    cosines,
    neighbours,
    other_prompts,
    refusal_texts,
    set_features,
    set_shape,
    training_sentences,
)
from benchmark.validity.record import (
    HIGHEST,
    SHIPPED,
    VALID_FROM,
    Judgement,
    Record,
    bare_answer,
    prompt_key,
    quantised,
    record_of,
    save_record,
)
from benchmark.validity.text_statistics import Floats, load_language_models
from datasets_build.download import mirror_folder
from divbench.core.console import MirrorOption, out
from divbench.core.errors import ConfigurationError
from divbench.core.files import content_id, sha256_of
from divbench.core.tables import Cell, Table, to_terminal
from submissions.checking.response_kinds import is_scorable
from submissions.gaming.attacks import banks
from submissions.gaming.baselines import attacked, find_attack

Mask = NDArray[np.bool_]
FOLDS = 5  # of prompts, and of systems where both are held out
_NEIGHBOURING = 5  # consecutive prompts that stay together
JUNK_SOURCES = ("gpt-4o", "Llama-3.2-1B-Instruct", "gemma-2-2b-it")  # short and long, strong and weak
_EVERY = 4  # junk is made for every fourth prompt
_SEED = 1  # of junk; another than that of the board's attacks
# Junk made by the attacks themselves; random sentences, Chinese characters and openings of the prompt stay unseen.
_ATTACKS = (
    *("random-characters", "homoglyphs", "shuffled-words", "random-words", "echoes", "refusals"),
    *("other-prompts", "book-sentences"),
)
# Chosen with systems left out, as was the set of features. More trees, or larger ones, change nothing that matters.
_TREES = {"learning_rate": 0.05, "l2_regularization": 1.0, "early_stopping": False, "random_state": 0}
_SIZES: Mapping[Situation, dict[str, int]] = {
    "record": {"max_iter": 200, "max_leaf_nodes": 15, "min_samples_leaf": 20},
    "prompt": {"max_iter": 150, "max_leaf_nodes": 12, "min_samples_leaf": 30},
    "text": {"max_iter": 120, "max_leaf_nodes": 10, "min_samples_leaf": 30},
}
# Highest shares below the threshold: of valid heads, of those of one system, and of all responses by people, which no
# judge has scored.
_REFUSED, _REFUSED_OF_ONE, _REFUSED_OF_PEOPLE = 0.08, 0.12, 0.15
PEOPLE = "humans"
Kind = Literal["judged", "bare", "junk", "unscored"]
# Weight of a response in training. With 1 for junk, half of the trees' splits concern it, and the AUC on judged
# responses falls by .02 to .05; with 0.03, a third of the word salads pass.
_WEIGHTS: Mapping[Kind, float] = {"judged": 1.0, "bare": 0.5, "junk": 0.1, "unscored": 0.0}
_NOVEL = 0.5  # weight of a copy whose neighbours are hidden
_HIDDEN_ABOVE = (0.25, 0.8)  # range of the cosine above which they are
_COMPANIONS = 9
_SEEDS = 3  # of the learning curve


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """The responses of a system to a prompt, with their classes and the scores of these."""

    system: str
    prompt_id: str
    prompt: str
    responses: tuple[str, ...]  # [k]
    labels: tuple[int, ...]  # [k]
    scores: tuple[int | None, ...]  # [k], of each response's class; None for unscored
    kind: Kind = "judged"

    def heads(self) -> Iterator[tuple[str, int]]:
        """Yield text and score of the first response of each scored class."""
        for i, (text, label, score) in enumerate(zip(self.responses, self.labels, self.scores, strict=True)):
            if label not in self.labels[:i] and score is not None:
                yield text, score


def judged_sets(mirror: Path) -> list[JudgedSet]:
    """Read the systems whose texts and judgements (version 1.1) are in a mirror, sorted by system and prompt."""
    folder, sets = mirror / "noveltybench", []
    for path in sorted((folder / "v1.1").glob("*.jsonl")):
        texts = [folder / name / path.name for name in ("submissions", "systems")]
        source = next((file for file in texts if file.exists()), None)
        if source is None:
            continue
        judged = {row["id"]: row for row in _rows(path)}
        for row in sorted(_rows(source), key=lambda row: str(row["id"])):
            labels, scores = judged[row["id"]]["partition"], judged[row["id"]]["partition_scores"]
            of_class = dict(zip(dict.fromkeys(labels), scores, strict=True))
            scored = [
                (text, label) for text, label in zip(row["generations"], labels, strict=True) if is_scorable(text)
            ]
            sets.append(
                JudgedSet(
                    *(path.stem, row["id"], row["prompt"]),
                    tuple(text for text, _ in scored),
                    tuple(label for _, label in scored),
                    tuple(of_class[label] for _, label in scored),
                )
            )
    if not sets:
        raise ConfigurationError(f"{mirror}: no judged systems", "name a mirror with noveltybench/v1.1")
    return sets


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def junk_sets(sets: Sequence[JudgedSet]) -> list[JudgedSet]:
    """Make junk from some systems' responses, with the lowest score; several kinds have other words in the attacks."""
    junk = []
    for source in JUNK_SOURCES:
        of_source = [one for one in sets if one.system == source]
        prompts = {one.prompt_id: one.prompt for one in of_source}
        responses = {one.prompt_id: one.responses for one in of_source}
        for kind in _ATTACKS:
            texts = attacked(find_attack(kind), prompts, responses, _SEED)
            junk += [_junk(one, texts[one.prompt_id]) for one in of_source[::_EVERY]]
        for kind, make in _OWN_KINDS.items():
            junk += [
                _junk(one, make(one, random.Random(f"{kind}/{one.system}/{one.prompt_id}")))  # noqa: S311
                for one in of_source[::_EVERY]
            ]
    return junk


def _junk(source: JudgedSet, texts: Sequence[str]) -> JudgedSet:
    labels, scores = tuple(range(len(texts))), (1,) * len(texts)
    return JudgedSet(source.system, source.prompt_id, source.prompt, tuple(texts), labels, scores, "junk")


def bare_sets(sets: Sequence[JudgedSet]) -> list[JudgedSet]:
    """Return the bare answers of judged responses that have one, with their classes and scores."""
    bare = []
    for one in sets:
        answers = [bare_answer(one.prompt, text) for text in one.responses]
        rows = [row for row in zip(answers, one.labels, one.scores, strict=True) if row[0] is not None]
        if rows:
            texts, labels, scores = zip(*rows, strict=True)
            bare.append(replace(one, responses=texts, labels=labels, scores=scores, kind="bare"))
    return bare


def people_sets(mirror: Path) -> list[JudgedSet]:
    """Read people's responses, which are not judged: only the threshold takes them into account."""
    rows = _rows(mirror / "noveltybench" / "submissions" / f"{PEOPLE}.jsonl")
    return [
        JudgedSet(PEOPLE, row["id"], row["prompt"], texts, tuple(range(len(texts))), (None,) * len(texts), "unscored")
        for row in sorted(rows, key=lambda row: str(row["id"]))
        if (texts := tuple(filter(is_scorable, row["generations"])))
    ]


def _word_salads(source: JudgedSet, rng: random.Random) -> list[str]:
    """Redistribute the words of all responses, with and without the punctuation of sentences."""
    words = [word for text in source.responses for word in text.split()]
    rng.shuffle(words)
    dealt = iter(words)
    salads = [" ".join(islice(dealt, len(text.split()))) for text in source.responses]
    return [rng.choice((str, _bare, partial(_in_sentences, rng=rng)))(text) for text in salads]


def _in_sentences(text: str, rng: random.Random) -> str:
    words, parts = _bare(text).split(), []
    while words:
        length = rng.randint(4, 14)
        parts.append(" ".join((words[0].capitalize(), *words[1:length])) + ".")
        words = words[length:]
    return rng.choice((" ", "\n")).join(parts)


def _bare(text: str) -> str:
    """Return a text in lower case without marks around words; unchanged if nothing would be left."""
    return " ".join(filter(None, (word.strip(punctuation) for word in text.lower().split()))) or text


def _echoes(source: JudgedSet, rng: random.Random) -> list[str]:
    """Copy the prompt, or most of it, with a few words before or after it."""
    words, echoes = source.prompt.split(), []
    for _ in source.responses:
        beginning = words[: max(2, round(len(words) * rng.choice((0.8, 1.0, 1.0))))]
        more = rng.choices(banks()["words"], k=rng.randrange(6))
        echoes.append(" ".join(rng.choice((beginning + more, more + beginning))))
    return echoes


def _refusals(source: JudgedSet, rng: random.Random) -> list[str]:
    return [" ".join(rng.sample(refusal_texts(), k=2)) for _ in source.responses]


def _questions_back(source: JudgedSet, rng: random.Random) -> list[str]:
    """Ask back, with words of the prompt in half of the questions."""
    words = [word.strip(punctuation) for word in source.prompt.split() if len(word) > 4] or source.prompt.split()
    about = [
        f" about {' '.join(rng.sample(words, k=min(2, len(words))))}" if rng.random() < 0.5 else ""
        for _ in source.responses
    ]
    return [rng.choice(training_sentences("questions_back")).format(topic) for topic in about]


def _continuations(source: JudgedSet, rng: random.Random) -> list[str]:
    """Continue the prompt as its author would, instead of answering."""
    return [
        " ".join(rng.sample(training_sentences("continuations"), k=rng.choice((1, 2, 3)))) for _ in source.responses
    ]


_OWN_KINDS: Mapping[str, Callable[[JudgedSet, random.Random], list[str]]] = {
    "own-word-salads": _word_salads,
    "own-echoes": _echoes,
    "own-refusals": _refusals,
    "own-questions-back": _questions_back,
    "own-continuations": _continuations,
}


@dataclass(frozen=True)
class Examples:
    """All responses as rows of features, and what is known about them."""

    sets: Sequence[JudgedSet]
    vectors: Mapping[str, Floats]
    plain: Floats  # [responses, features], NaN for neighbours
    system: NDArray[np.str_]  # [responses]
    kind: NDArray[np.str_]  # [responses]
    prompt: NDArray[np.str_]  # [responses], id
    fold: NDArray[np.int64]  # [responses], the fold of the prompt
    score: Floats  # [responses], NaN for unscored
    head: Mask  # [responses], whether it is the first of a judged class

    @staticmethod
    def of(sets: Sequence[JudgedSet], vectors: Mapping[str, Floats]) -> "Examples":
        """Compute the features of sets."""
        models, sizes = load_language_models(), [len(one.responses) for one in sets]
        blocks = {name: n // _NEIGHBOURING % FOLDS for n, name in enumerate(_in_order({one.prompt_id for one in sets}))}
        heads = [label not in one.labels[:i] for one in sets for i, label in enumerate(one.labels)]
        scores = [np.nan if score is None else score for one in sets for score in one.scores]
        kinds, prompts = (np.repeat([getattr(one, name) for one in sets], sizes) for name in ("kind", "prompt_id"))
        return Examples(
            sets,
            vectors,
            np.concatenate([set_features(one.prompt, one.responses, models, vectors) for one in sets]),
            np.repeat([one.system for one in sets], sizes),
            kinds,
            prompts,
            np.array([blocks[name] for name in prompts.tolist()]),
            np.array(scores, np.float64),
            np.array(heads) & ~np.isnan(scores) & (kinds == "judged"),
        )

    @cached_property
    def systems(self) -> list[str]:
        """The judged systems."""
        return sorted(set(self.system[self.kind == "judged"].tolist()))

    @cached_property
    def _matrices(self) -> list[Floats]:
        return [np.array([self.vectors[text] for text in one.responses]) for one in self.sets]

    @cached_property
    def _similarity(self) -> list[tuple[Floats, Floats, NDArray[np.str_]]]:
        """For each set its cosines with all judged heads of its prompt, bare ones too, their scores and systems."""
        heads: dict[str, list[tuple[str, int, str]]] = {}
        for one in self.sets:
            if one.kind in ("judged", "bare"):
                heads.setdefault(one.prompt_id, []).extend((*head, one.system) for head in one.heads())
        judged = {name: np.array([self.vectors[text] for text, _, _ in rows]) for name, rows in heads.items()}
        return [
            (
                cosines(matrix, judged[one.prompt_id]),
                np.array([score for _, score, _ in heads[one.prompt_id]], np.float64),
                np.array([system for _, _, system in heads[one.prompt_id]]),
            )
            for one, matrix in zip(self.sets, self._matrices, strict=True)
        ]

    def features(self, without: Collection[str] = (), *, hidden: bool = False, wanted: Mask | None = None) -> Floats:
        """Return all features; the neighbours are those of other systems, except those left out.

        With `hidden`, those are left out that are more similar to a response than a level drawn for it. Sets without a
        `wanted` response lack neighbours.
        """
        features, start, rng = self.plain.copy(), 0, np.random.default_rng(0)
        for one, (similarity, scores, systems) in zip(self.sets, self._similarity, strict=True):
            kept = ~np.isin(systems, [*without, one.system])
            of_set = slice(start, start + len(one.responses))
            rows, start = features[of_set, -len(NEIGHBOURS) :], of_set.stop
            levels = rng.uniform(*_HIDDEN_ABOVE, len(rows)) if hidden and one.kind != "junk" else ()
            if wanted is not None and not wanted[of_set].any():
                continue
            if not hidden:
                rows[:] = neighbours(similarity[:, kept], scores[kept])
            elif one.kind != "junk":
                for row, cosine, level in zip(rows, similarity, levels, strict=True):
                    some = kept & (cosine <= level)
                    row[:] = neighbours(cosine[None, some], scores[some])[0]
        return features

    @cached_property
    def among_companions(self) -> Floats:
        """The features of each response in a set with responses of the same kind from other systems."""
        features, rng = self.plain.copy(), np.random.default_rng(0)
        starts = np.cumsum([0, *(len(one.responses) for one in self.sets)])
        for kind in ("judged", "bare"):
            by_prompt: dict[str, list[int]] = {}
            for number, one in enumerate(self.sets):
                if one.kind == kind:
                    by_prompt.setdefault(one.prompt_id, []).append(number)
            for numbers in by_prompt.values():
                rows = np.concatenate([np.arange(starts[n], starts[n + 1]) for n in numbers])
                matrix = np.concatenate([self._matrices[n] for n in numbers])
                for i, row in enumerate(rows):
                    others = np.flatnonzero(self.system[rows] != self.system[row])
                    chosen = [i, *rng.choice(others, min(_COMPANIONS, len(others)), replace=False)]
                    like_prompt = self.plain[rows[chosen], len(TEXT)]
                    features[row, _SET] = set_shape(matrix[chosen], like_prompt)[0]
        return features

    def training(
        self, situation: Situation, chosen: Mask, without: Collection[str] = ()
    ) -> tuple[Floats, Floats, Floats]:
        """Return features, scores and weights of chosen responses and of their copies."""
        rows = chosen & ~np.isnan(self.score)
        real = rows & (self.kind != "junk")
        weights = np.array([_WEIGHTS[kind] for kind in self.kind.tolist()])
        first, copy, share = self.plain, self.among_companions, 1.0
        if situation == "record":
            first, copy = (self.features(without, hidden=hidden, wanted=rows) for hidden in (False, True))
            share = _NOVEL
        columns = COLUMNS[situation]
        return (
            np.concatenate([first[rows][:, columns], copy[real][:, columns]]),
            np.concatenate([self.score[rows], self.score[real]]),
            np.concatenate([weights[rows], share * weights[real]]),
        )


_SET = slice(len(TEXT) + len(RELEVANCE), len(TEXT) + len(RELEVANCE) + len(SET))


def _in_order(prompt_ids: Collection[str]) -> list[str]:
    return sorted(prompt_ids, key=lambda name: int(name.rpartition("-")[2]))


def fit(features: Floats, scores: Floats, weights: Floats, situation: Situation) -> tuple[BoostedTrees, BoostedTrees]:
    """Fit the trees of validity and of quality."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    options: dict[str, Any] = {**_TREES, **_SIZES[situation]}
    quality = HistGradientBoostingRegressor(**options).fit(features, scores, weights)
    return fit_validity(features, scores, weights, situation), as_trees(quality)


def fit_validity(features: Floats, scores: Floats, weights: Floats, situation: Situation) -> BoostedTrees:
    """Fit the trees of validity."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    options: dict[str, Any] = {**_TREES, **_SIZES[situation]}
    return as_trees(HistGradientBoostingClassifier(**options).fit(features, scores >= VALID_FROM, weights))


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Predictions by models that saw neither a response's system nor, where prompts are held out, its prompt."""

    log_odds: Floats  # [responses]; NaN for junk
    scores: Floats  # [responses]


def held_out(examples: Examples, situation: Situation, *, prompts: bool) -> HeldOut:
    """Predict every judged response by a model without its system, and with `prompts` without its prompt."""
    log_odds, scores = np.full((2, len(examples.score)), np.nan)
    for group in (examples.systems[i::FOLDS] for i in range(FOLDS)):
        features = examples.features(group) if situation == "record" else examples.plain
        tested = np.isin(examples.system, group) & (examples.kind == "judged")
        for fold in range(FOLDS) if prompts else (-1,):
            chosen = tested & (examples.fold == fold) if prompts else tested
            trained = ~np.isin(examples.system, group) & (examples.fold != fold)
            validity, quality = fit(*examples.training(situation, trained, group), situation)
            columns = features[chosen][:, COLUMNS[situation]]
            log_odds[chosen], scores[chosen] = validity.predict(columns), quality.predict(columns)
    return HeldOut(log_odds, np.clip(scores, 1, HIGHEST))


def calibrate(examples: Examples, predictions: HeldOut, people: Floats) -> tuple[tuple[float, float], float]:
    """Return slope and intercept of the log-odds (Platt 1999), and the threshold, from held-out heads.

    `people` are the log-odds of people's responses by the model that ships.
    """
    from sklearn.linear_model import LogisticRegression

    heads, log_odds = examples.head, predictions.log_odds
    valid = examples.score >= VALID_FROM
    platt = LogisticRegression(C=np.inf).fit(log_odds[heads][:, None], valid[heads])
    slope, intercept = float(platt.coef_[0, 0]), float(platt.intercept_[0])
    highest = min(np.quantile(log_odds[heads & valid], _REFUSED), np.quantile(people, _REFUSED_OF_PEOPLE))
    for name in examples.systems:
        of_system = heads & valid & (examples.system == name)
        highest = min(highest, np.quantile(log_odds[of_system], _REFUSED_OF_ONE))
    return (slope, intercept), float(1 / (1 + np.exp(-(slope * highest + intercept))))


def judged_record(sets: Sequence[JudgedSet], vectors: Mapping[str, Floats]) -> Record:
    """Make the record of the first responses of scored classes, and of their bare answers."""
    return record_of(
        Judgement(prompt_key(one.prompt), one.system, quantised(vectors[text]), score)
        for one in sets
        for text, score in one.heads()
    )


def accuracy(examples: Examples, predictions: HeldOut, model: SituationModel, people: Floats) -> list[float]:
    """Return a row of the table: how well held-out predictions agree with the judge on class heads."""
    from scipy.stats import spearmanr
    from sklearn.metrics import roc_auc_score

    heads = examples.head
    valid, judged = examples.score >= VALID_FROM, examples.score
    probability = model.calibrated(predictions.log_odds)
    refused = probability < model.threshold
    of_system = [heads & (examples.system == system) for system in examples.systems]
    ours, theirs = ([int((rows & chosen).sum()) for rows in of_system] for chosen in (~refused, valid))
    # Expected calibration error in ten bins of equal size (Naeini et al. 2015).
    bins = np.array_split(np.argsort(probability[heads]), 10)
    error = np.mean([abs(probability[heads][part].mean() - valid[heads][part].mean()) for part in bins])
    scores, wrong = predictions.scores[heads], refused[heads & valid]
    return [
        *(roc_auc_score(valid[heads], probability[heads]), refused[heads & ~valid].mean(), wrong.mean()),
        *(max(refused[rows & valid].mean() for rows in of_system), np.mean(model.calibrated(people) < model.threshold)),
        *(error, spearmanr(ours, theirs)[0], np.corrcoef(scores, judged[heads])[0, 1]),
        np.abs(scores - judged[heads]).mean(),
    ]


def learning_curve(examples: Examples, situation: Situation) -> Iterator[tuple[Cell, ...]]:
    """Yield the AUC on held-out heads, mean and standard deviation over seeds, by number of systems or prompts used.

    For speed, models are fitted to heads alone; without a record, a different fifth of the prompts is held out with
    each fifth of the systems.
    """
    from sklearn.metrics import roc_auc_score

    prompts = _in_order({one.prompt_id for one in examples.sets})
    for what, size in (*(("systems", n) for n in (4, 8, 12, 16, 18)), *(("prompts", n) for n in (20, 40, 60, 80))):
        areas = []
        for seed in range(_SEEDS):
            rng, log_odds = np.random.default_rng(seed), np.full(len(examples.score), np.nan)
            for part in range(FOLDS):
                group = examples.systems[part::FOLDS]
                tested = np.isin(examples.system, group) & (examples.kind == "judged")
                known, others = prompts, [name for name in examples.systems if name not in group]
                if situation != "record":
                    held = examples.fold == (part + seed) % FOLDS
                    tested, known = tested & held, [name for name in prompts if name not in examples.prompt[held]]
                kept = rng.choice(others, size, replace=False) if what == "systems" else np.array(others)
                learnt = rng.choice(known, size, replace=False) if what == "prompts" else np.array(known)
                without = sorted({*examples.systems} - {*kept.tolist()})
                trained = examples.head & np.isin(examples.system, kept) & np.isin(examples.prompt, learnt)
                trees = fit_validity(*examples.training(situation, trained, without), situation)
                features = examples.features(without, wanted=tested) if situation == "record" else examples.plain
                log_odds[tested] = trees.predict(features[tested][:, COLUMNS[situation]])
            scored = examples.head & ~np.isnan(log_odds)
            areas.append(roc_auc_score(examples.score[scored] >= VALID_FROM, log_odds[scored]))
        yield situation, what, size, float(np.mean(areas)), float(np.std(areas))


_COLUMNS = (
    *("knowledge; held out", "AUC", "failing refused", "valid refused", "of the worst system", "people refused"),
    *("calibration error", "systems' rank correlation", "correlation of scores", "error of scores"),
)


def train(
    mirror: MirrorOption = None,
    cache: Annotated[Path | None, typer.Option(help="File of the texts' vectors: read if there, else written.")] = None,
    path: Annotated[Path, typer.Option("--out", help="Output file of the models.")] = MODEL,
    record: Annotated[Path, typer.Option(help="Output file of the record.")] = SHIPPED,
    curve: Annotated[bool, typer.Option("--curve", help="Only print the learning curve; slow.")] = False,
) -> None:
    """Train the models, write them and the record, and print their agreement with the judge."""
    folder = mirror_folder(mirror)
    if folder is None:
        raise ConfigurationError("no mirror with NoveltyBench's files", "give --mirror")
    judged = judged_sets(folder)
    bare = bare_sets(judged)
    sets = [*judged, *bare, *junk_sets(judged), *people_sets(folder)]
    vectors = _vectors(sets, cache)
    examples = Examples.of(sets, vectors)
    if curve:
        points = [point for situation in ("record", "prompt") for point in learning_curve(examples, situation)]
        names = ("knowledge", "number of", "learnt from", "AUC", "standard deviation")
        out().print(to_terminal(Table("Learning curve", names, points, numbers=names[2:])))
        return
    save_record(judged_record([*judged, *bare], vectors), record)
    models, rows = {}, list[tuple[Cell, ...]]()
    for situation in READS:
        fitted = fit(*examples.training(situation, np.ones(len(examples.score), bool)), situation)
        features = examples.features() if situation == "record" else examples.plain
        people = fitted[0].predict(features[examples.kind == "unscored"][:, COLUMNS[situation]])
        predictions = held_out(examples, situation, prompts=situation != "record")
        models[situation] = SituationModel(*fitted, *calibrate(examples, predictions, people))
        name = f"{situation}; {'systems' if situation == 'record' else 'prompts and systems'}"
        rows.append((name, *accuracy(examples, predictions, models[situation], people)))
    save_models(models, path)
    for file in (path, record):
        out().print(f"{file}: {file.stat().st_size:,} bytes, {sha256_of(file)}", markup=False)
    out().print(to_terminal(Table("Agreement with the judge on class heads", _COLUMNS, rows, numbers=_COLUMNS[1:])))


def _vectors(sets: Sequence[JudgedSet], cache: Path | None) -> dict[str, Floats]:
    """Return the vectors of all texts, by text."""
    texts = {text for one in sets for text in (one.prompt, *one.responses)}
    ordered = sorted(texts.union(refusal_texts(), other_prompts()))
    if cache is not None and cache.exists():
        with np.load(cache, allow_pickle=False) as arrays:
            known = dict(zip(arrays["keys"].tolist(), arrays["vectors"].astype(np.float64), strict=True))
        return {text: known[content_id(text)] for text in ordered}
    vectors = SentenceTransformersEmbedder(ALL_MINILM_L6_V2).embed(ordered)
    if cache is not None:
        np.savez(cache, keys=np.array([content_id(text) for text in ordered]), vectors=vectors)
    return dict(zip(ordered, vectors, strict=True))


if __name__ == "__main__":
    typer.run(train)
