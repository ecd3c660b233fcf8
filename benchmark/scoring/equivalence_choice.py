"""Backends of equivalence by the names that commands take."""

from dataclasses import replace

from benchmark.equivalence.backend import EquivalenceSpec
from benchmark.equivalence.classifiers import BothWaysNLI, find_generation_similarity
from benchmark.equivalence.judgement_cache import JudgementCache, default_judgements_path
from benchmark.equivalence.llm_judge import JudgeSpec
from benchmark.equivalence.partitioning import ALGORITHMS, PartitionSpec
from benchmark.equivalence.rules import MINILM_COSINE, Rouge1, ShortAnswers
from benchmark.models.model_files import find_model_files
from benchmark.models.reward import SKYWORK_REWARD_GEMMA_27B, SKYWORK_REWARD_QWEN3_1_7B, HFRewardSpec
from benchmark.scoring.profiles import Profile
from datasets_build.errors import ConfigurationError

NAMES = (
    "rouge-1, embedding, deberta=MODEL, deberta-full=MODEL, nli=MODEL, nli-lax=MODEL (MODEL: ORG/NAME@COMMIT or a "
    "folder), or judge=NAME@URL (of a server that speaks OpenAI's chat completions)"
)


def find_partition(name: str, algorithm: str = "greedy", *, short_answers: bool = False) -> PartitionSpec:
    """How to part answers, by the name of a backend.

    Args:
        name: One of `NAMES`.
        algorithm: Of `ALGORITHMS`; makes classes of a backend's decisions. A judge makes its own.
        short_answers: Decide answers of up to five words by shared words, as NoveltyBench's code does since v1.0.

    Raises:
        ConfigurationError: There is no such backend or algorithm, or its model's name cannot be one.
        ServerFault: A judge's server cannot be asked for the name of its model.
    """
    chosen = next((each for each in ALGORITHMS if each == algorithm), None)
    if chosen is None:
        raise ConfigurationError(f"there is no algorithm {algorithm!r}", f"one of {', '.join(ALGORITHMS)}")
    kind, _, model = name.partition("=")
    if kind == "judge":
        judged, _, url = model.partition("@")
        if not judged or not url or short_answers:
            raise ConfigurationError(f"{name!r} names no judge", "write judge=NAME@URL, without --short-answers")
        # What the server calls its model is part of the signature; it is asked once, then the cache knows.
        return PartitionSpec(JudgeSpec(url, judged).identified(JudgementCache(default_judgements_path())), "judge")
    backend = _pairwise(kind, model)
    if backend is None:
        raise ConfigurationError(f"there is no backend {name!r}", f"one of {NAMES}")
    return PartitionSpec(ShortAnswers(backend) if short_answers else backend, chosen)


def _pairwise(kind: str, model: str) -> EquivalenceSpec | None:
    if not model:
        plain: dict[str, EquivalenceSpec] = {"rouge-1": Rouge1(), "embedding": MINILM_COSINE}
        return plain.get(kind)
    if kind in ("deberta", "deberta-full"):
        return find_generation_similarity(model, 128 if kind == "deberta" else None)
    if kind in ("nli", "nli-lax"):
        return BothWaysNLI(find_model_files(model), "strict" if kind == "nli" else "lax")
    return None


REWARDS = {"skywork-27b": SKYWORK_REWARD_GEMMA_27B, "skywork-1.7b": SKYWORK_REWARD_QWEN3_1_7B}
"""Reward models by the names that commands take; thresholds of quality belong to a model."""


def with_judges(
    profile: Profile,
    equivalence: str | None = None,
    algorithm: str = "greedy",
    *,
    short_answers: bool = False,
    reward: str | None = None,
    device: str = "cpu",
) -> Profile:
    """The profile with another way to part answers, and another reward model; None: the profile's own.

    Args:
        profile: What is not named stays.
        equivalence: As `find_partition`.
        algorithm: Likewise.
        short_answers: Likewise.
        reward: One of `REWARDS`.
        device: Of the reward model, the profile's own, too; as torch names it.

    Raises:
        ConfigurationError: There is no such backend, algorithm or reward model.
    """
    if equivalence is not None:
        profile = replace(profile, partition=find_partition(equivalence, algorithm, short_answers=short_answers))
    if reward is not None:
        if reward not in REWARDS:
            raise ConfigurationError(f"there is no reward model {reward!r}", f"one of {', '.join(REWARDS)}")
        profile = replace(profile, reward=REWARDS[reward])
    if isinstance(profile.reward, HFRewardSpec):
        profile = replace(profile, reward=replace(profile.reward, device=device))
    return profile
