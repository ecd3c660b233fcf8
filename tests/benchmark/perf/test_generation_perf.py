"""`benchmark/perf/generation.py` runs at a small size and reports what it says. How fast is not for tests to say."""

import json
from statistics import median
from typing import Any

import pytest

from benchmark.generation.prompting import PromptingSettings
from benchmark.generation.run import Plan, PlannedSet
from benchmark.generation.sampler import SamplingSettings
from benchmark.models.hf_lm import HFCausalLM
from benchmark.perf import generation
from datasets_build.schema import Prompt
from tests.benchmark.lms import one_thread, random_model, tokeniser

__all__ = ["one_thread"]


def tiny(*_: Any, **__: Any) -> HFCausalLM:
    return HFCausalLM(random_model("llama", len(tokeniser("gpt2"))), tokeniser("gpt2"), "tiny")


def plan() -> Plan:
    prompts = [Prompt(f"p{i}", "any", text) for i, text in enumerate(("The river", "One response is not like another"))]
    items = tuple(PlannedSet(each.prompt_id, each, SamplingSettings(top_k=10, max_tokens=6)) for each in prompts)
    return Plan(items, PromptingSettings(chat_template=False), 3, seed=0, greedy=True)


def test_both_ways_find_the_same_of_the_same_answers() -> None:
    lm = tiny()
    generation.forget_end(lm)
    found = generation.compare(lm, plan(), rounds=2)
    assert (found.about["prompts"], found.about["k"], found.about["tokens"]) == (2, 3, 6)
    assert (len(found.plain_seconds), len(found.package_seconds)) == (2, 2)
    assert found.largest_difference <= generation.TOLERANCE
    assert found.ratio == median(found.plain_seconds) / median(found.package_seconds)


def test_it_stops_where_the_numbers_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = tiny()
    generation.forget_end(lm)
    monkeypatch.setattr(generation, "TOLERANCE", -1.0)
    with pytest.raises(ValueError, match="the two ways differ by"):
        generation.compare(lm, plan(), rounds=1)


def test_it_prints_one_json_document(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generation, "load_causal_lm", tiny)
    options = ["--rounds", "1", "--prompts", "2", "--k", "2", "--tokens", "3"]
    generation.main(options)
    found = json.loads(capsys.readouterr().out)["about"]
    assert (found["prompts"], found["k"], found["tokens"]) == (2, 2, 3)
