"""The gains of attacks by metric: the part of `gaming.json` (`divbench metrics gaming`) that the board shows."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from leaderboard.data.metric_study.record import Line, MetricName, Number

PAID = 0.15  # a metric rewards an attack that gains more than this share of the range of the real systems
_MOST = 200


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)


class _Estimate(_Part):
    value: float | None
    low: float | None
    high: float | None


class _Scores(_Part):
    gain: _Estimate | None


class GamingRecord(_Part):
    """The content of `gaming.json`; fields that the board does not show are ignored."""

    source: Line
    suite: Line
    k: Annotated[int, Field(ge=1, le=10_000)]
    prompts: Annotated[int, Field(ge=1, le=1_000_000)]
    profile: Line
    systems: dict[Line, object] = Field(min_length=1, max_length=_MOST)
    attacks: dict[MetricName, dict[MetricName, _Scores]] = Field(min_length=1, max_length=_MOST)

    def gains(self, metric: str) -> dict[str, Number]:
        """The gain of each attack under a metric, as a share of the range of the real systems; empty if unknown."""
        found = {attack: scores[metric].gain for attack, scores in self.attacks.items() if metric in scores}
        return {
            attack: Number(gain.value, gain.low, gain.high)
            for attack, gain in found.items()
            if gain is not None and gain.value is not None
        }
