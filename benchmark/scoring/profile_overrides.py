"""Replaces the models of a profile with those named on the command line."""

from dataclasses import replace

from benchmark.equivalence.named_backends import find_partition_spec
from benchmark.models.device_map import DeviceChoice
from benchmark.models.hf_lm import CausalLMSpec
from benchmark.models.reward import SKYWORK_REWARD_GEMMA_27B, SKYWORK_REWARD_QWEN3_1_7B, HFRewardSpec
from benchmark.scoring.profiles import Profile
from divbench.core.errors import ConfigurationError

REWARDS = {"skywork-27b": SKYWORK_REWARD_GEMMA_27B, "skywork-1.7b": SKYWORK_REWARD_QWEN3_1_7B}
"""Reward models by their names on the command line; quality thresholds are specific to a model."""


def with_overrides(
    profile: Profile,
    equivalence: str | None = None,
    algorithm: str | None = None,
    *,
    short_answers: bool = False,
    reward: str | None = None,
) -> Profile:
    """Replace a profile's equivalence backend and reward model if others are named.

    Args:
        equivalence: Name of an equivalence backend, see `find_partition_spec`; None: the profile's own, with its own
            algorithm.
        algorithm: Clustering algorithm of the named backend; None: *greedy*.
        reward: One of `REWARDS`; None: the profile's own.

    Raises:
        ConfigurationError: There is no such backend, algorithm or reward model, or an algorithm is given without a
            backend.
    """
    if equivalence is not None:
        spec = find_partition_spec(equivalence, algorithm or "greedy", short_answers=short_answers)
        profile = replace(profile, partition=spec)
    elif algorithm is not None or short_answers:
        raise ConfigurationError("--algorithm and --short-answers need --equivalence", "name the backend with it")
    if reward is not None:
        if reward not in REWARDS:
            raise ConfigurationError(f"there is no reward model {reward!r}", f"one of {', '.join(REWARDS)}")
        profile = replace(profile, reward=REWARDS[reward])
    return profile


def on_device(profile: Profile, choice: DeviceChoice) -> Profile:
    """Place all models of a profile on a device, the language model in its precision."""
    lm, reward = profile.causal_lm, profile.reward
    if isinstance(lm, CausalLMSpec):
        lm = replace(lm, device=choice.device, dtype=choice.dtype)
    if isinstance(reward, HFRewardSpec):
        reward = replace(reward, device=choice.one)
    return replace(profile, causal_lm=lm, reward=reward, device=choice.one)
