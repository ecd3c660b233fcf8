"""What kind of system an entry is, and the facts about it that a row shows: size, weights, model link, cut."""

import re
from dataclasses import dataclass
from typing import Literal

from leaderboard.data.board import REFERENCE_TYPES, Entry
from submissions.choices import SystemType

CUT_TOKENS = 512  # limits of at most so many tokens cut long responses
_HUB_MODEL = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.A)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of system."""

    type: SystemType  # as in manifests
    name: str
    plural: str  # heading of its group
    about: str

    @property
    def is_ranked(self) -> bool:
        """Whether its systems have ranks; the others are for comparison."""
        return self.type not in REFERENCE_TYPES


KINDS: tuple[Kind, ...] = (
    Kind("model", "chat model", "Chat models", "Models that follow instructions, asked as their users ask them."),
    Kind(
        "inference-time method",
        "inference-time method",
        "Inference-time methods",
        "Models that are asked in a way that makes their responses differ, such as for a different one each time.",
    ),
    Kind("trained method", "trained method", "Trained methods", "Models that were trained for diverse responses."),
    Kind("human", "people", "People", "Responses that people wrote: one from each author."),
    Kind(
        "base model",
        "base model",
        "Base models",
        "Models before instruction tuning: they continue the prompt instead of answering it, so that most of what they "
        "write is different and little of it is useful.",
    ),
    Kind(
        "baseline",
        "known-bad baseline",
        "Known-bad baselines",
        "Responses made to look diverse, such as random characters: a metric that ranks them high is wrong.",
    ),
)
_BY_TYPE = {kind.type: kind for kind in KINDS}

Asked = Literal["independently", "for a different one"]


def kind_of(entry: Entry) -> Kind:
    """The kind of a system."""
    return _BY_TYPE[entry.result.manifest.system.type]


def asked(entry: Entry) -> Asked | None:
    """How a model was asked for several responses; None for people, baselines and other methods."""
    if kind_of(entry).type in ("human", "baseline"):
        return None
    modes: dict[str | None, Asked] = {"resample": "independently", "in-context": "for a different one"}
    return modes.get(entry.result.manifest.generation.mode)


def size_of(entry: Entry) -> str | None:
    """The number of parameters in words, such as `8B`; None if it is not known."""
    count = entry.result.manifest.system.parameters
    if count is None:
        return None
    value, unit = (count / 1e9, "B") if count >= 1e9 else (count / 1e6, "M")
    return f"{value:.3g}{unit}"


def weights_of(entry: Entry) -> Literal["open weights", "closed weights"] | None:
    """Whether the weights are open; None if it is not known."""
    is_open = entry.result.manifest.system.open_weights
    return None if is_open is None else "open weights" if is_open else "closed weights"


def model_link(entry: Entry) -> str | None:
    """The model's page on the Hub; None if its weights are closed or its id is no repository."""
    system = entry.result.manifest.system
    if not system.open_weights or not _HUB_MODEL.fullmatch(system.model_id or ""):
        return None
    return f"https://huggingface.co/{system.model_id}"


def cut_of(entry: Entry) -> str | None:
    """A sentence for systems whose responses a limit on tokens cut short; None for others."""
    most = entry.result.manifest.generation.max_tokens
    if most is None or most > CUT_TOKENS:
        return None
    return f"At most {most} tokens were sampled for each response, so that longer ones are cut off."
