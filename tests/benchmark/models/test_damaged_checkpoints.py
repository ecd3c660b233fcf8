"""Checkpoints that training has left incomplete or broken are refused with the reason, and never sampled or read."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmark.models.hf_lm import find_causal_lm_spec, load_causal_lm
from divbench.core.errors import ConfigurationError
from tests.benchmark.lms import one_thread, random_model, tokeniser

__all__ = ["one_thread"]  # a fixture

SAFETENSORS = "model.safetensors"


def save(folder: Path, change: Callable[[dict[str, Any]], dict[str, Any]] = lambda weights: weights) -> Path:
    own = tokeniser("merging")
    model = random_model("qwen2", len(own) + 8)
    own.save_pretrained(folder)
    model.save_pretrained(folder, state_dict=change(model.state_dict()))
    return folder


def refused(folder: Path) -> str:
    with pytest.raises(ConfigurationError) as caught:
        load_causal_lm(find_causal_lm_spec(str(folder)))
    return str(caught.value)


def test_a_whole_checkpoint_is_read_with_or_without_tied_embeddings(tmp_path: Path) -> None:
    load_causal_lm(find_causal_lm_spec(str(save(tmp_path / "whole"))))
    own = tokeniser("merging")
    own.save_pretrained(tmp_path / "tied")
    random_model("qwen2", len(own) + 8, tie_word_embeddings=True).save_pretrained(tmp_path / "tied")
    load_causal_lm(find_causal_lm_spec(str(tmp_path / "tied")))


def test_weights_that_are_missing_are_not_made_up(tmp_path: Path) -> None:
    lacking = save(tmp_path / "lacking", lambda weights: {k: v for k, v in weights.items() if "0.mlp.up_proj" not in k})
    assert "lacks weights, such as model.layers.0.mlp.up_proj.weight (save the whole model" in refused(lacking)


def test_weights_of_another_shape_are_named(tmp_path: Path) -> None:
    folder = save(tmp_path)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"intermediate_size": 64}))
    assert "weights of another shape than its config.json says, such as model.layers.0.mlp.down_proj" in refused(folder)


def test_a_file_that_breaks_off_is_named(tmp_path: Path) -> None:
    weights = save(tmp_path) / SAFETENSORS
    weights.write_bytes(weights.read_bytes()[:-1000])
    assert "could not be loaded: " in refused(tmp_path)


def test_weights_that_are_not_numbers_are_refused(tmp_path: Path) -> None:
    save(tmp_path, lambda weights: {name: torch.full_like(each, torch.nan) for name, each in weights.items()})
    assert "gives no finite probabilities (check its weights" in refused(tmp_path)


def test_an_adapter_alone_is_named(tmp_path: Path) -> None:
    weights = save(tmp_path) / SAFETENSORS
    weights.rename(tmp_path / "adapter_model.safetensors")
    (tmp_path / "config.json").unlink()
    (tmp_path / "adapter_config.json").write_text("{}")
    assert "it is an adapter: merge it into its base model" in refused(tmp_path)
