"""Diversity of rollouts: values of `divbench.score`, rewards by hand, the alarm, and what does not fit is told."""

import asyncio
import json
import subprocess
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import divbench as db
from divbench.integrations.groups import CollapseWarning
from divbench.integrations.rollouts import DiversityReward, change_of, compute_score, compute_scores
from tests.cases import each

SCRIPT = Path(__file__).with_name("trl_runs.py")
PET, COLOUR = "Name a pet.", "Name a colour."
TEXTS = {PET: ["cat", "dog", "Cat.", "parrot"], COLOUR: ["Red", "", "blue", "green"]}
PROMPTS = [prompt for prompt, texts in TEXTS.items() for _ in texts]
COMPLETIONS = [text for texts in TEXTS.values() for text in texts]


def test_the_values_of_a_step_are_those_of_score() -> None:
    values = DiversityReward().observe(PROMPTS, COMPLETIONS)
    expected = db.score(TEXTS, ["distinct_k", "distinct_n"], profile="lexical")
    assert values == {f"diversity/{mean.metric}": mean.value for mean in expected.means}
    right = [[text != "dog" for text in texts] for texts in TEXTS.values()]
    monitor = DiversityReward(quality=lambda **kwargs: [float(mark) for row in right for mark in row], gate=1)
    scores = db.score(TEXTS, ["valid_distinct_k"], profile="lexical", valid=right)
    assert monitor.observe(PROMPTS, COMPLETIONS)["diversity/valid_distinct_k"] == scores.means[0].value
    assert "|model:validity-as-stated,quality-from-1|" in monitor.signatures["valid_distinct_k"]


def test_a_reward_is_the_share_of_the_group_that_differs_times_quality_behind_a_gate() -> None:
    pets, colours = [2 / 3, 1, 2 / 3, 1], [1, 0, 1, 1]  # two cats among four; the blank says nothing
    assert DiversityReward()(PROMPTS, COMPLETIONS) == [*pets, *colours]
    qualities = [0.5, 0.25, 1, 0.1, 1, 1, 0.5, 1]
    reward = DiversityReward(quality=lambda prompts, completions, **kwargs: qualities, gate=0.2)
    assert reward(PROMPTS, COMPLETIONS) == [1 / 3, 0.25, 2 / 3, 0.0, 1.0, 0.0, 0.5, 1.0]
    qualities[6] = None  # type: ignore[call-overload] # then nothing is known of its group
    assert reward(PROMPTS, COMPLETIONS)[4:] == [None] * 4


def test_what_trl_gives_is_read_and_what_it_takes_is_logged() -> None:
    logged: dict[str, float] = {}
    prompts = [[{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}] for text in PROMPTS]
    made = [[{"role": "assistant", "content": [{"type": "text", "text": text}]}] for text in COMPLETIONS]
    reward = DiversityReward()
    assert reward(prompts, made, log_metric=logged.__setitem__) == DiversityReward()(PROMPTS, COMPLETIONS)
    assert logged == DiversityReward().observe(PROMPTS, COMPLETIONS)
    assert reward.__name__ == "diversity"


def test_a_prompt_that_comes_twice_in_a_step_makes_two_groups_of_k() -> None:
    twice = DiversityReward(k=4).observe([*PROMPTS, *PROMPTS], [*COMPLETIONS, *COMPLETIONS])
    assert twice == pytest.approx(DiversityReward().observe(PROMPTS, COMPLETIONS))


def is_short(source: str, text: str, truth: int, info: dict[str, Any]) -> bool:
    """A reward function of verl's form."""
    return len(text) < truth


def test_verl_is_answered_when_a_group_is_complete_or_as_a_batch() -> None:
    async def all_at_once() -> list[dict[str, float]]:
        calls = [
            compute_score("sums", text, None, {"index": i}, k=4, window=9, reward_router_address="unused")
            for i, texts in enumerate(TEXTS.values())
            for text in texts
        ]
        return await asyncio.gather(*calls)

    scores = [2 / 3, 1, 2 / 3, 1, 1, 0, 1, 1]
    assert [row["score"] for row in asyncio.run(all_at_once())] == scores
    infos = [{"prompt": prompt} for prompt in PROMPTS]
    rows = compute_scores(["sums"] * 8, COMPLETIONS, [None] * 8, infos, k=4, window=10)
    assert [row["score"] for row in rows] == scores
    assert rows[0]["diversity/distinct_k"] == 3.0
    settings: dict[str, Any] = {"k": 4, "quality": f"{__name__}:is_short", "gate": 1}
    rows = compute_scores(["sums"] * 8, COMPLETIONS, [5] * 8, infos, **settings)
    assert [row["score"] for row in rows] == [2 / 3, 1, 2 / 3, 0, 1, 0, 1, 0]
    assert rows[0]["diversity/valid_distinct_k"] == 2.0  # cat and dog; red and blue
    with pytest.raises(db.InputError, match=r"1 of 4 completions to 'Name a pet\.' came in 0\.01 seconds"):
        asyncio.run(compute_score("sums", "a cat", None, {"prompt": PET}, k=4, timeout=0.01))
    with pytest.raises(db.InputError, match="neither prompt nor index"):
        compute_scores(["sums"], ["a"], [None], [{}], k=4)


def test_the_interval_of_a_change_is_that_of_two_samples() -> None:
    from scipy.stats import ttest_ind

    rng = np.random.default_rng(0)
    first, last = rng.normal(5, 1, 32), rng.normal(4, 2, 24)
    change = change_of(first.tolist(), last.tolist(), 0.5)
    expected = ttest_ind(last, first, equal_var=False).confidence_interval(0.95)
    assert (change.low, change.high) == pytest.approx((expected.low, expected.high))
    assert not change.collapsed
    assert change_of([5.0] * 8, [1.0] * 8, 0.5).collapsed
    assert not change_of([5.0] * 8, [2.5] * 8, 0.5).collapsed


def test_ten_steady_runs_are_silent_and_a_collapse_is_told_once() -> None:
    rng = np.random.default_rng(1)
    animals = ["cat", "dog", "horse", "lion", "bear", "wolf", "fox", "owl"]

    def steps(collapse: bool) -> tuple[list[str], DiversityReward]:
        monitor = DiversityReward(window=8, patience=2)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for step in range(20):
                few = 1 if collapse and step > 9 else 8
                monitor.observe([PET] * 8, rng.choice(animals[:few], 8).tolist(), step)
        return [str(one.message) for one in caught if one.category is CollapseWarning], monitor

    assert [steps(collapse=False)[0] for _ in range(10)] == [[]] * 10
    [alarm], monitor = steps(collapse=True)
    assert "distinct_k fell from" in alarm
    assert "95% interval" in alarm
    assert monitor.collapsed


@each(
    "prompts, completions, says",
    [
        ([], [], "0 prompts for 0 completions"),
        ([PET], ["a cat", "a dog"], "1 prompt for 2 completions"),
        ([PET, COLOUR, PET], ["a cat", "red", "a dog"], "the prompt 'Name a colour.' has a group of 1 completion"),
        ([PET] * 2, ["a cat", None], "a completion or prompt is None"),
        (
            [PET] * 2,
            [[{"role": "assistant", "content": "", "tool_calls": [{}]}]] * 2,
            "is a call of a tool, not a text",
        ),
        ([PET] * 2, [[{"role": "assistant", "content": [{"type": "image"}]}]] * 2, "content other than text"),
    ],
)
def test_what_is_no_group_of_texts_is_told(prompts: list[Any], completions: list[Any], says: str) -> None:
    with pytest.raises(db.InputError) as caught:
        DiversityReward().observe(prompts, completions)
    assert says in str(caught.value)


@each("qualities, says", [([1.0], "quality gave 1 values for 8 completions"), ([float("nan")] * 8, "quality gave nan")])
def test_qualities_that_do_not_fit_are_told(qualities: list[float], says: str) -> None:
    with pytest.raises(db.InputError, match=says):
        DiversityReward(quality=lambda **kwargs: qualities, gate=1)(PROMPTS, COMPLETIONS)


def test_a_grpo_run_logs_every_step_and_raises_the_alarm_only_for_a_collapse(tmp_path: Path) -> None:
    if find_spec("trl") is None:
        pytest.skip("TRL is not installed: pip install trl")
    run = subprocess.run([sys.executable, SCRIPT, tmp_path, "1"], capture_output=True, encoding="utf-8", check=False)
    assert run.returncode == 0, run.stderr
    done = json.loads((tmp_path / "done.json").read_text())
    for made in (done["overhead"], *done["silent"], done["collapse"]):
        assert all({"diversity/valid_distinct_k", "diversity/distinct_n"} <= row.keys() for row in made["logged"])
    assert [made["alarms"] for made in done["silent"]] == [[]]
    assert len(done["collapse"]["alarms"]) == 1
    assert done["overhead"]["share"] < 0.1
