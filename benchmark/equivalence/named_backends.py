"""Finds equivalence backends by their names on the command line."""

from benchmark.equivalence.backend import EquivalenceSpec
from benchmark.equivalence.classifiers import BothWaysNLI, find_generation_similarity
from benchmark.equivalence.learned.backend import Learned
from benchmark.equivalence.llm_judge import JudgementCache, LLMJudgeSpec, default_judgements_path
from benchmark.equivalence.partitioning import ALGORITHMS, PartitionSpec
from benchmark.equivalence.rules import MINILM_COSINE, Rouge1, ShortAnswers
from benchmark.models.choices import EQUIVALENCE_NAMES
from benchmark.models.model_files import find_model_files
from divbench.core.errors import ConfigurationError


def find_partition_spec(name: str, algorithm: str = "greedy", *, short_answers: bool = False) -> PartitionSpec:
    """Return the partition spec for the name of a backend."""
    chosen = next((each for each in ALGORITHMS if each == algorithm), None)
    if chosen is None:
        raise ConfigurationError(f"there is no algorithm {algorithm!r}", f"one of {', '.join(ALGORITHMS)}")
    kind, _, model = name.partition("=")
    if kind == "judge":
        judge, _, url = model.partition("@")
        if not judge or not url or short_answers:
            raise ConfigurationError(f"{name!r} names no judge", "write judge=NAME@URL, without short-answers")
        # The server's name for its model is part of the signature; it is requested once, then cached.
        return PartitionSpec(LLMJudgeSpec(url, judge).identified(JudgementCache(default_judgements_path())), "judge")
    backend = _backend(kind, model)
    if backend is None:
        raise ConfigurationError(f"there is no backend {name!r}", f"one of {EQUIVALENCE_NAMES}")
    return PartitionSpec(ShortAnswers(backend) if short_answers else backend, chosen)


def _backend(kind: str, model: str) -> EquivalenceSpec | None:
    if not model:
        plain: dict[str, EquivalenceSpec] = {"rouge-1": Rouge1(), "embedding": MINILM_COSINE, "learned": Learned()}
        return plain.get(kind)
    if kind in ("deberta", "deberta-full"):
        return find_generation_similarity(model, 128 if kind == "deberta" else None)
    if kind in ("nli", "nli-lax"):
        return BothWaysNLI(find_model_files(model), "strict" if kind == "nli" else "lax")
    return None
