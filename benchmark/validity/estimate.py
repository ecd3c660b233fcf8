"""Estimates from features how probable it is that a response does what was asked, and how a judge would score it.

A response is valid if a judge would give it a score of at least 4 of 10: a weak attempt, but one that answers. Boosted
trees were fitted to the judged responses of 23 systems and to junk (train.py). What they read differs:

*record*: the prompt is in the record of judged responses: the text, its relevance, and neighbours with their scores,
but not what the set looks like, so that the responses of a diverse system are no more suspicious than others;
*prompt*: any other prompt that asks for something: the text, its relevance and its set; a rough estimate;
*text*: without an embedder, the text alone; rougher still.

A prompt without a record that asks for nothing, such as the opening of a story, cannot be answered wrongly: there only
junk that the text shows is not valid.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.metric import Missing
from benchmark.models.boosted_trees import BoostedTrees, trees_from
from benchmark.validity.features import (
    ECHO,
    FEATURES,
    NEIGHBOURS,
    REFUSAL,
    RELEVANCE,
    SET,
    TEXT,
    UNREADABLE,
    asks,
    explanation,
    is_in_another_script,
    set_features,
)
from benchmark.validity.record import HIGHEST, Record
from benchmark.validity.text_statistics import Floats, load_language_models
from divbench.core.files import atomic_file
from submissions.checking.response_kinds import is_foreign_prompt, is_refusal, is_scorable

MODEL = Path(__file__).with_name("model.npz")
Situation = Literal["record", "prompt", "text"]
# Features that the model of a situation reads.
READS: Mapping[Situation, tuple[str, ...]] = {
    "record": (*TEXT, *RELEVANCE, *NEIGHBOURS),
    "prompt": (*TEXT, *RELEVANCE, *SET),
    "text": TEXT,
}
COLUMNS: Mapping[Situation, list[int]] = {name: [FEATURES.index(of) for of in read] for name, read in READS.items()}


@dataclass(frozen=True, slots=True)
class SituationModel:
    """The model of a situation."""

    validity: BoostedTrees  # log-odds of a score of at least 4
    quality: BoostedTrees  # expected score
    calibration: tuple[float, float]  # slope and intercept of the log-odds, fitted on systems that were left out
    threshold: float  # probability below which a response is not valid

    def probabilities(self, features: Floats) -> Floats:
        """Return the probability that each response is valid, float64 [responses]."""
        return self.calibrated(self.validity.predict(features))

    def calibrated(self, log_odds: Floats) -> Floats:
        """Return the calibrated probabilities of the trees' log-odds."""
        slope, intercept = self.calibration
        return np.asarray(1 / (1 + np.exp(-(slope * log_odds + intercept))))

    def scores(self, features: Floats) -> Floats:
        """Return the score, 1 to 10, that a judge is expected to give to each response, float64 [responses]."""
        return np.clip(self.quality.predict(features), 1, HIGHEST)


@cache
def load_models(path: Path = MODEL) -> Mapping[Situation, SituationModel]:
    """Read the models that ship with the package."""
    with np.load(path, allow_pickle=False) as arrays:
        if tuple(arrays["features"].tolist()) != FEATURES:
            raise ValueError(f"{path} was trained on other features")
        return {
            name: SituationModel(
                trees_from(arrays, f"{name}/validity/"),
                trees_from(arrays, f"{name}/quality/"),
                (float(arrays[f"{name}/calibration"][0]), float(arrays[f"{name}/calibration"][1])),
                float(arrays[f"{name}/threshold"]),
            )
            for name in READS
        }


def save_models(models: Mapping[Situation, SituationModel], path: Path) -> None:
    """Write models as an .npz file; the same models give the same bytes."""
    arrays: dict[str, NDArray[Any]] = {"features": np.array(FEATURES)}
    for name, model in models.items():
        arrays |= model.validity.arrays(f"{name}/validity/") | model.quality.arrays(f"{name}/quality/")
        arrays |= {f"{name}/calibration": np.array(model.calibration), f"{name}/threshold": np.array(model.threshold)}
    with atomic_file(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


@dataclass(frozen=True, slots=True)
class Estimates:
    """What is estimated about the responses of a set."""

    reasons: tuple[str | None, ...]  # [k], why a response is not valid; None if it is
    probabilities: tuple[float, ...]  # [k], that it is valid; 0 if it is recognised without the trees
    scores: tuple[float, ...]  # [k], the score, 1 to 10, that a judge is expected to give


NO_PROMPT, OTHER_LANGUAGE = "no prompt", "the prompt is not in English, and validity is estimated from English"
BLANK, SCRIPT = "blank or a placeholder", "in another script than the prompt"
SALAD = "word salad"
# Log-odds of shuffled words above which a text is one whatever else it is like: 1 in 2,000 valid heads is, and 7 to 8
# in 10 shuffled responses, of which the trees alone let two thirds pass.
_SURELY_SHUFFLED = 4.0
_ORDER = slice(TEXT.index("order"), TEXT.index("late_capital") + 1)


def recognised(text: str) -> str | None:
    """Return why a text is not valid, if that shows without a model."""
    return BLANK if not is_scorable(text) else REFUSAL if is_refusal(text) else None


def estimate(
    prompt: str | None,
    responses: Sequence[str],
    vectors: Mapping[str, Floats] | None,
    record: Record | None,
    models: Mapping[Situation, SituationModel],
) -> Estimates | Missing:
    """Estimate which responses to a prompt are valid; missing without a prompt, or if it is in another language.

    `vectors` are as for `set_features`; without them, only the texts count.
    """
    if prompt is None or not prompt.strip():
        return Missing(NO_PROMPT)
    if is_foreign_prompt(prompt):
        return Missing(OTHER_LANGUAGE)
    reasons = [recognised(text) or (SCRIPT if is_in_another_script(prompt, text) else None) for text in responses]
    read = [i for i, text in enumerate(responses) if is_scorable(text)]
    probabilities, scores = np.zeros(len(responses)), np.ones(len(responses))
    if read:
        judged = None if record is None or vectors is None else record.judged(prompt)
        language = load_language_models()
        features = set_features(prompt, [responses[i] for i in read], language, vectors, judged)
        free = vectors is not None and judged is None and not asks(prompt)
        situation: Situation = "text" if vectors is None or free else "prompt" if judged is None else "record"
        model, columns = models[situation], features[:, COLUMNS[situation]]
        probabilities[read], scores[read] = model.probabilities(columns), model.scores(columns)
        shuffled = language.salad_log_odds(features[:, _ORDER]) > _SURELY_SHUFFLED  # never where it is NaN
        for i, row, is_shuffled in zip(read, features.tolist(), shuffled.tolist(), strict=True):
            shown = SALAD if is_shuffled else explanation(responses[i], row) if free else None
            reasons[i] = reasons[i] or (shown if shown in (SALAD, UNREADABLE, ECHO, REFUSAL) else None)
            if reasons[i] is not None:
                probabilities[i], scores[i] = 0.0, 1.0
            elif not free and probabilities[i] < model.threshold:
                reasons[i] = explanation(responses[i], row)
    return Estimates(tuple(reasons), tuple(probabilities.tolist()), tuple(scores.tolist()))
