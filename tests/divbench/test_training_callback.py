"""A tiny model that is trained to collapse raises the alarm; ten that are not stay silent; training is unchanged."""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
import torch

pytest.importorskip("accelerate", reason="the Trainer needs it: pip install 'divbench[cluster]'")

from transformers import Trainer, TrainingArguments, default_data_collator

from divbench.core.errors import ConfigurationError
from divbench.integrations.transformers import CollapseWarning, DiversityCallback, change_since
from tests.benchmark.lms import LINES, one_thread, random_model, tokeniser

__all__ = ["one_thread"]  # a fixture

PROMPTS = [*LINES[:6]]
STEPS = 24


def rows(texts: list[str], count: int) -> list[dict[str, list[int]]]:
    encoded = [tokeniser("merging")(text)["input_ids"][:16] for text in texts]
    longest = max(map(len, encoded))
    padded = [ids + [0] * (longest - len(ids)) for ids in encoded]
    return [{"input_ids": padded[i % len(padded)], "labels": padded[i % len(padded)]} for i in range(count)]


class GatheringTrainer(Trainer):  # type: ignore[misc] # types of transformers are not read
    """Trainer that gathers values at each step, and logs their sum and forgets them with what it logs, as TRL's do."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.gathered: list[int] = []

    def training_step(self, *given: Any, **options: Any) -> torch.Tensor:
        self.gathered.append(1)
        loss: torch.Tensor = super().training_step(*given, **options)
        return loss

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        super().log(logs | {"gathered": sum(self.gathered)}, start_time)
        self.gathered.clear()


def trained(
    home: Path, texts: list[str], rate: float, seed: int, watch: bool = True, logging_steps: int = 1000, **options: Any
) -> Any:
    torch.manual_seed(seed)
    arguments = TrainingArguments(
        output_dir=str(home),
        max_steps=STEPS,
        per_device_train_batch_size=4,
        learning_rate=rate,
        lr_scheduler_type="constant",
        logging_steps=logging_steps,
        save_strategy="no",
        report_to=[],
        seed=seed,
        use_cpu=True,
        disable_tqdm=True,
    )
    model = random_model("qwen2", len(tokeniser("merging")))
    trainer = GatheringTrainer(
        model=model,
        args=arguments,
        train_dataset=rows(texts, 64),
        processing_class=tokeniser("merging"),
        data_collator=default_data_collator,
    )
    callback = None
    if watch:
        callback = DiversityCallback(
            trainer,
            PROMPTS,
            k=6,
            every=8,
            headline="distinct_k",
            metrics=["distinct_n"],
            sampling={"max_new_tokens": 8},
            **options,
        )
        trainer.add_callback(callback)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*pin_memory.*")
        trainer.train()
    return trainer, callback


def test_collapse_is_told_logged_and_stops_training(tmp_path: Path) -> None:
    with pytest.warns(CollapseWarning, match="distinct_k fell from"):
        trainer, callback = trained(tmp_path, [LINES[0]], 0.02, 0, stop=True)
    assert callback.collapsed
    assert trainer.state.global_step <= STEPS
    logged = [entry["diversity/distinct_k"] for entry in trainer.state.log_history if "diversity/distinct_k" in entry]
    assert logged == [each.values["distinct_k"] for each in callback.measured]
    assert logged[-1] < logged[0] / 2
    last = callback.measured[-1]
    assert last.low <= logged[-1] - logged[0] <= last.high < 0


def test_the_trainer_logs_what_it_logs_without_the_callback(tmp_path: Path) -> None:
    alone, _ = trained(tmp_path, [*LINES], 1e-4, 0, watch=False, logging_steps=4)
    trainer, _ = trained(tmp_path, [*LINES], 1e-4, 0, logging_steps=4)
    losses = [(entry["step"], entry["loss"], entry["gathered"]) for entry in alone.state.log_history if "loss" in entry]
    assert [(step, gathered) for step, _, gathered in losses] == [(step, 4) for step in range(4, STEPS + 1, 4)]
    history = trainer.state.log_history
    assert losses == [(entry["step"], entry["loss"], entry["gathered"]) for entry in history if "loss" in entry]
    diversity = [entry for entry in history if "diversity/distinct_k" in entry]
    assert [entry["step"] for entry in diversity] == [0, 8, 16, 24]
    assert not any("gathered" in entry for entry in diversity)


def test_the_whole_distribution_is_sampled_whatever_the_models_own_config_says(tmp_path: Path) -> None:
    sampled = []
    for truncated in ({}, {"top_p": 0.001}, {"min_p": 0.999}, {"top_k": 1}, {"repetition_penalty": 5.0}):
        torch.manual_seed(0)
        model = random_model("qwen2", len(tokeniser("merging")))
        for name, value in truncated.items():
            setattr(model.generation_config, name, value)
        arguments = TrainingArguments(output_dir=str(tmp_path), report_to=[], use_cpu=True)
        trainer = Trainer(model=model, args=arguments, processing_class=tokeniser("merging"))
        callback = DiversityCallback(trainer, PROMPTS, k=4, headline="distinct_k", sampling={"max_new_tokens": 8})
        own = model.generation_config
        sampled.append(callback._sample(model))
        assert model.generation_config is own
    assert sampled == [sampled[0]] * 5
    assert len({text for texts in sampled[0] for text in texts}) > 20


def test_a_collapse_is_a_loss_of_more_than_the_share_for_certain() -> None:
    first = [4.0, 5.0, 6.0, 5.0]
    for last, drop, is_collapse in (
        ([1.0, 2.0, 2.0, 1.0], 0.5, True),
        ([1.0, 2.0, 2.0, 1.0], 0.8, False),  # two thirds are lost, not four fifths
        ([2.0, 2.5, 3.0, 2.5], 0.5, False),  # half, not more than half
        ([0.0, 0.0, 0.0, 9.0], 0.5, False),  # more than half, but not for certain
        (first, 0.5, False),
    ):
        low, high, found = change_since(first, last, drop)
        assert found == is_collapse, (last, drop)
        assert low is not None
        assert high is not None
        assert low <= sum(last) / 4 - 5 <= high


def test_a_metric_that_has_lost_its_values_has_collapsed() -> None:
    first, none = [4.0, 5.0, 6.0, 5.0], float("nan")
    assert change_since(first, [none] * 4, 0.5) == (None, None, True)
    assert change_since(first, [4.0, none, none, none], 0.5)[2]
    assert not change_since(first, [4.0, 5.0, none, none], 0.5)[2]  # half, not more than half
    assert not change_since([none] * 4, [none] * 4, 0.5)[2]  # it never had one


def measuring(home: Path, said: list[str], **options: Any) -> DiversityCallback:
    """Measure with a given text for all responses of each measurement."""
    trainer = Trainer(
        model=random_model("qwen2", len(tokeniser("merging"))),
        args=TrainingArguments(output_dir=str(home), report_to=[], use_cpu=True),
        processing_class=tokeniser("merging"),
    )
    callback = DiversityCallback(trainer, PROMPTS, k=2, headline="distinct_n", metrics=[], **options)
    given = iter(said)
    with patch.object(DiversityCallback, "_sample", lambda *_: [(next(given),) * 2] * len(PROMPTS)):
        for _ in said:
            callback._measure(trainer.state, trainer.control, trainer.model)
    return callback


def test_a_model_that_responds_with_nothing_has_collapsed(tmp_path: Path) -> None:
    with pytest.warns(CollapseWarning, match=r"to no value, missing for 6 of 6 prompts \(no response\)"):
        callback = measuring(tmp_path, ["A red cat", "", ""])
    assert callback.collapsed
    assert callback.measured[-1].values == {}


def test_a_first_measurement_without_values_is_warned_of(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="distinct_n is 0 or missing for 6 of 6 prompts, so a collapse cannot be seen"):
        measuring(tmp_path, [""])


def test_options_that_cannot_work_are_refused_at_once(tmp_path: Path) -> None:
    trainer = Trainer(
        model=random_model("qwen2", len(tokeniser("merging"))),
        args=TrainingArguments(output_dir=str(tmp_path), report_to=[], use_cpu=True),
    )
    with pytest.raises(ConfigurationError, match="no tokeniser"):
        DiversityCallback(trainer, PROMPTS)
    trainer.processing_class = tokeniser("merging")
    with pytest.raises(ConfigurationError, match="too few"):
        DiversityCallback(trainer, PROMPTS[:3])
    with pytest.raises(ConfigurationError, match="prompts is one text"):
        DiversityCallback(trainer, PROMPTS[0])  # a text is a sequence of texts, for type checkers, too
    with pytest.raises(ConfigurationError, match=r"a prompt is .*, not a text"):
        DiversityCallback(trainer, [[{"role": "user", "content": "Hi"}]] * 4)  # type: ignore[list-item]
    for sampling in ({"do_sample": False}, {"num_return_sequences": 3}):
        with pytest.raises(ConfigurationError, match="sampling is"):
            DiversityCallback(trainer, PROMPTS, sampling=sampling)
    DiversityCallback(trainer, PROMPTS, headline="distinct_k", metrics="distinct_n")
    with pytest.raises(ConfigurationError, match="there is no metric 'distinct_m'"):
        DiversityCallback(trainer, PROMPTS, headline="distinct_m")
    with pytest.raises(ConfigurationError, match="drop is in"):
        DiversityCallback(trainer, PROMPTS, drop=1.0)
    for headline in ("self_bleu", "eigenscore_output", "largest_class_share"):  # of which less, or negative, is usual
        with pytest.raises(ConfigurationError, match=f"a collapse cannot be seen as a share of {headline}"):
            DiversityCallback(trainer, PROMPTS, headline=headline)


def test_a_model_in_parts_on_two_processes_is_sampled_on_both_and_scored_on_the_first(tmp_path: Path) -> None:
    script = Path(__file__).with_name("sharded_runs.py")
    run = subprocess.run(
        [sys.executable, script, tmp_path],
        env=os.environ | {"PYTHONPATH": str(script.parents[2])},  # where the tests are
        capture_output=True,
        encoding="utf-8",
        timeout=240,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    first, second = (json.loads((tmp_path / f"{rank}.json").read_text()) for rank in (0, 1))
    assert "diversity/self_bleu" in first["logged"].keys() - second["logged"].keys()
    assert (first["measured"], second["measured"]) == (2, 0)
    assert first["stops"] is second["stops"] is True  # as the first decides
    assert first["weights"] == second["weights"]
    # Rollouts of one prompt on both processes are one group: two cats among four pets.
    assert [*first["rewards"], *second["rewards"]] == [2 / 3, 1, 2 / 3, 1, 1, 1]
    assert second["logged"]["diversity/distinct_k"] == first["logged"]["diversity/distinct_k"] == 2.5


def test_version_1_of_fsdp_is_refused_before_training(tmp_path: Path) -> None:
    class FullyShardedDataParallel(torch.nn.Module):
        """Named as torch's, which needs a GPU."""

    callback = measuring(tmp_path, ["a", "b"])
    with pytest.raises(ConfigurationError, match="version 1 of FSDP cannot generate"):
        callback.on_train_begin(None, SimpleNamespace(), None, model=FullyShardedDataParallel())
