"""Verbalized sampling: one call for all responses, parsed without trust, and asked again where it is no list."""

import json
from pathlib import Path

import pytest

from benchmark.generation.journal import open_journal
from benchmark.generation.prompting import (
    ATTEMPTS,
    Failed,
    Outcome,
    PromptingSettings,
    Request,
    Sampled,
    parse,
)
from benchmark.generation.run import UNPARSED
from tests.benchmark.generating import PROMPTS, FakeSampler, answer_of, hasty_disk, plan_of, rows_in, sampled

__all__ = ["hasty_disk"]
pytestmark = pytest.mark.usefixtures("hasty_disk")
VERBALIZED = PromptingSettings("verbalized")


def listed(request: Request) -> Outcome:
    """A list of three, of which one has no probability."""
    texts = [f"{answer_of(request)} {i}" for i in range(3)]
    return Sampled(
        json.dumps([{"text": texts[0], "probability": 0.5}, {"text": texts[1]}, {"response": texts[2]}]), "stop"
    )


def test_one_call_a_prompt_gives_all_responses_with_their_probabilities(tmp_path: Path) -> None:
    plan, sampler = plan_of(prompting=VERBALIZED), FakeSampler(listed)
    found = sampled(tmp_path / "a", plan, sampler)
    assert len(sampler.asked) == len(PROMPTS)
    assert {name: len(texts) for name, texts in found.items()} == {prompt.prompt_id: 3 for prompt in PROMPTS}
    assert {request.settings.max_tokens for request in sampler.asked} == {60}  # three responses of 20
    (asked,) = [r for r in sampler.asked if r.messages[-1].content.endswith("Say thing 2.")]
    assert asked.messages[-1].content.startswith("Give 3 different responses to the message below")
    with open_journal(tmp_path / "a") as journal:
        assert [each.probability for each in journal.samples_of("p2").samples] == [0.5, None, None]
        assert journal.told(UNPARSED) is None
    tail = FakeSampler(listed)
    sampled(tmp_path / "b", plan_of(PROMPTS[:1], PromptingSettings("verbalized-tail", "Be odd.")), tail)
    assert [each.role for each in tail.asked[0].messages] == ["system", "user"]
    assert "each probability is below 0.1" in tail.asked[0].messages[-1].content


def test_replies_that_are_no_list_are_counted_and_asked_again_with_another_seed(tmp_path: Path) -> None:
    def second_time(request: Request) -> Outcome:
        return listed(request) if len(sampler.asked) > len(PROMPTS) else Sampled("I cannot.", "stop")

    sampler = FakeSampler(second_time, at_once=100)
    assert len(sampled(tmp_path / "a", plan_of(prompting=VERBALIZED), sampler)) == len(PROMPTS)
    assert len({request.seed for request in sampler.asked}) == 2 * len(PROMPTS)
    with open_journal(tmp_path / "a") as journal:
        assert journal.told(UNPARSED) == "5"
    never = FakeSampler(lambda request: Sampled("[]", "stop"), at_once=100)
    assert sampled(tmp_path / "b", plan_of(PROMPTS[:1], VERBALIZED), never) == {}
    assert len(never.asked) == ATTEMPTS
    assert rows_in(tmp_path / "b", "errors") == {"p0": "no list of 3 responses in 4 replies"}
    refused = FakeSampler(lambda request: Failed("refused"))
    assert sampled(tmp_path / "c", plan_of(PROMPTS[:1], VERBALIZED), refused) == {}
    assert (len(refused.asked), rows_in(tmp_path / "c", "errors")) == (1, {"p0": "refused"})


def test_greedy_responses_are_to_the_plain_prompt(tmp_path: Path) -> None:
    sampler = FakeSampler(lambda r: listed(r) if r.settings.temperature else Sampled("plain", "stop"))
    sampled(tmp_path / "a", plan_of(PROMPTS[:2], VERBALIZED, greedy=True), sampler)
    with open_journal(tmp_path / "a") as journal:
        greedy = journal.samples_of("p1").greedy
    assert greedy is not None
    assert greedy.text == "plain"
    assert [r.messages[-1].content for r in sampler.asked if not r.settings.temperature] == [
        "Say thing 0.",
        "Say thing 1.",
    ]


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "A cat.",
        "[",
        "]",
        "[1, 2]",
        '[{"text": 1}, {"text": "b"}]',
        '[{"text": "a"}]',
        "[" * 100_000,
        '[{"text": "\\ud800"}, {"text": "b"}]',
    ],
    ids=range(9),
)
def test_what_is_no_list_of_k_texts_is_not_taken(reply: str) -> None:
    assert parse(reply, 2) is None


def test_a_list_is_found_in_other_text_and_odd_probabilities_are_none() -> None:
    stated = [0.25, 1, 0, 2, -1, True, None, "0.5", [1]]
    reply = "```json\n" + json.dumps([{"text": str(i), "probability": p} for i, p in enumerate(stated)]) + "\n```"
    found = parse(reply, 8)
    assert found is not None
    assert [text for text, _ in found] == [str(i) for i in range(8)]
    assert [p for _, p in found] == [0.25, 1, 0, None, None, None, None, None]
