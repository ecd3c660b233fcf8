"""The bundled language model; its card (model/README.md) says how it was trained and how good it is."""

from pathlib import Path

from benchmark.models.hf_lm import CausalLMSpec

OFFLINE_LM = CausalLMSpec(
    name="divbench/offline-lm",
    revision="a26048d55dda98a44c415591d8cb9861d4911d4e1eaa09b79084e91c13b94b39",
    folder=Path(__file__).parent / "model",
)
