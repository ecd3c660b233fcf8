"""Sampling a plan: what is asked, in which order, what is kept of it, and what is asked again."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from benchmark.generation.journal import PromptSamples, open_journal
from benchmark.generation.prompting import ANOTHER, Failed, Outcome, PromptingSettings, Request, Sampled, SamplerFault
from benchmark.generation.run import failures, request_of, sample_plan
from divbench.core.errors import ConfigurationError
from submissions.choices import Mode
from tests.benchmark.generating import (
    PROMPTS,
    FakeSampler,
    answer_of,
    hasty_disk,
    plan_of,
    rows_in,
    sampled,
    well,
)

__all__ = ["hasty_disk"]
MODES: tuple[Mode, ...] = ("resample", "paraphrase", "system-prompt", "in-context")
pytestmark = pytest.mark.usefixtures("hasty_disk")
each_mode = pytest.mark.parametrize("mode", MODES)


@pytest.fixture
def journal_path(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite"


def failing(*texts: str) -> Callable[[Request], Outcome]:
    """Fails where the last message is one of the texts."""

    def answer(request: Request) -> Outcome:
        return Failed("refused") if request.messages[-1].content in texts else well(request)

    return answer


@each_mode
def test_each_answer_is_asked_for_once_with_its_settings_and_a_seed_of_its_own(mode: Mode, journal_path: Path) -> None:
    plan, sampler = plan_of(prompting=PromptingSettings(mode), greedy=True), FakeSampler()
    found = sampled(journal_path, plan, sampler)
    assert {item: len(texts) for item, texts in found.items()} == {prompt.prompt_id: 3 for prompt in PROMPTS}
    drawn = [request for request in sampler.asked if request.settings.temperature == 0.7]
    greedy = [request for request in sampler.asked if request.settings.temperature == 0]
    assert (len(drawn), len(greedy), len({request.seed for request in drawn})) == (15, 5, 15)
    assert {request.settings for request in drawn} == {plan.sets[0].settings}
    assert {request.settings.max_tokens for request in greedy} == {20}
    for item in plan.sets:
        texts = found[item.id]
        for place, text in enumerate(texts):
            assert text == answer_of(request_of(plan, item, place, texts[:place]))


def test_answers_do_not_depend_on_the_order_the_batches_or_the_other_prompts(tmp_path: Path) -> None:
    for mode in MODES:
        calm = sampled(tmp_path / mode, plan_of(prompting=PromptingSettings(mode)), FakeSampler())
        backwards = plan_of(PROMPTS[::-1], PromptingSettings(mode))
        assert sampled(tmp_path / f"{mode}-2", backwards, FakeSampler(at_once=1, shuffled=True)) == calm
        alone = sampled(
            tmp_path / f"{mode}-3", plan_of(PROMPTS[3:4], PromptingSettings(mode)), FakeSampler(at_once=100)
        )
        assert alone == {"p3": calm["p3"]}
        other = sampled(tmp_path / f"{mode}-4", plan_of(prompting=PromptingSettings(mode), seed=1), FakeSampler())
        assert not set(other["p3"]) & set(calm["p3"])


def test_in_context_each_round_shows_all_answers_before_it(journal_path: Path) -> None:
    plan, sampler = plan_of(PROMPTS[:2], PromptingSettings("in-context")), FakeSampler(shuffled=True)
    found = sampled(journal_path, plan, sampler)
    assert [len(call) for call in sampler.calls] == [2, 2, 2]
    for place, call in enumerate(sampler.calls):
        for prompt, request in zip(PROMPTS[:2], call, strict=True):
            turns = [("user", prompt.prompt)]
            for text in found[prompt.prompt_id][:place]:
                turns += [("assistant", text), ("user", ANOTHER)]
            assert [(each.role, each.content) for each in request.messages] == turns


def test_in_context_a_failed_round_stops_that_chat_alone(journal_path: Path) -> None:
    def answer(request: Request) -> Outcome:
        second_of_p1 = request.messages[0].content == "Say thing 1." and len(request.messages) == 3
        return Failed("refused") if second_of_p1 else well(request)

    plan, sampler = plan_of(prompting=PromptingSettings("in-context")), FakeSampler(answer, at_once=8)
    assert set(sampled(journal_path, plan, sampler)) == {"p0", "p2", "p3", "p4"}
    assert [len(call) for call in sampler.calls] == [5, 5, 4]
    assert rows_in(journal_path, "errors") == {"p1": "refused"}
    again = FakeSampler()
    assert len(sampled(journal_path, plan, again)) == 5
    assert [len(request.messages) for request in again.asked] == [1, 3, 5]  # from the beginning, and that chat alone
    assert rows_in(journal_path, "errors") == {}


@each_mode
@pytest.mark.parametrize("answers", [4, 14])
def test_after_a_fault_only_what_is_not_finished_is_asked_again(mode: Mode, answers: int, tmp_path: Path) -> None:
    plan = plan_of(prompting=PromptingSettings(mode))
    calm = sampled(tmp_path / "calm", plan, FakeSampler())
    path = tmp_path / "journal"
    broken = FakeSampler(at_once=2, faults_after=answers, shuffled=True)
    with pytest.raises(SamplerFault, match="the model is gone"):
        sampled(path, plan, broken)
    done = set(rows_in(path))
    assert len(done) < 5
    assert done or answers < 14
    mended = FakeSampler(at_once=2)
    assert sampled(path, plan, mended) == calm
    assert len(mended.asked) == 3 * (5 - len(done))  # a prompt of which some answers were there is sampled anew
    assert rows_in(path, "errors") == {}
    idle = FakeSampler()
    assert sampled(path, plan, idle) == calm
    assert idle.asked == []


@pytest.mark.parametrize("mode", ["resample", "paraphrase"])
def test_what_failed_is_kept_as_an_error_and_tried_again_alone(mode: Mode, journal_path: Path) -> None:
    plan = plan_of(prompting=PromptingSettings(mode))
    wordings = [[p.prompt] * 3 if mode == "resample" else list(p.paraphrases) for p in PROMPTS]
    bad = wordings[1][2], wordings[4][1]
    assert set(sampled(journal_path, plan, FakeSampler(failing(*bad)))) == {"p0", "p2", "p3"}
    assert rows_in(journal_path, "errors") == {"p1": "refused", "p4": "refused"}
    half = FakeSampler(failing(bad[1]))
    assert len(sampled(journal_path, plan, half)) == 4
    assert [request.messages[0].content for request in half.asked] == wordings[1] + wordings[4]
    with open_journal(journal_path) as journal:
        assert failures(journal) == [("refused", 1)]
    assert sampled(journal_path, plan, FakeSampler()) == sampled(journal_path.with_name("calm"), plan, FakeSampler())


def test_prompts_that_can_never_be_answered_are_told_together_before_anything_is_asked(journal_path: Path) -> None:
    long = [PROMPTS[1], PROMPTS[3]]
    prompts = [PROMPTS[0], *(type(p)(p.prompt_id, "any", p.prompt * 50) for p in long), PROMPTS[2]]
    sampler = FakeSampler(longest=100)
    with pytest.raises(ConfigurationError, match="2 of 4 prompts cannot be used: p1: too long; p3: too long"):
        sampled(journal_path, plan_of(prompts), sampler)
    assert sampler.calls == []
    assert not journal_path.exists()  # nothing came to stand in it
    assert set(sampled(journal_path, plan_of(), sampler)) == {"p0", "p1", "p2", "p3", "p4"}  # nor is it in the way


@pytest.mark.parametrize("at_once", [1, 1000])
def test_progress_counts_each_prompt_once_and_those_of_earlier_runs(at_once: int, journal_path: Path) -> None:
    plan, told = plan_of(), list[int]()
    with open_journal(journal_path) as journal:
        journal.begin({})
        sample_plan(plan_of(PROMPTS[:2]), FakeSampler(), journal)
        sample_plan(plan, FakeSampler(failing("Say thing 3."), at_once=at_once), journal, told.append)
    assert told == [2, 3, 4, 5]


# The journal itself.


PLAN: dict[str, Any] = {"k": 3, "seed": 0, "stop": []}


def test_answers_of_another_run_are_not_gone_on_with(journal_path: Path) -> None:
    with open_journal(journal_path) as journal:
        journal.begin(PLAN)
        journal.put("p0", PromptSamples((Sampled("a", None),)))
    with open_journal(journal_path) as journal:
        journal.begin(PLAN)
        other = {"k": 4, "seed": 0, "mode": "new"}
        with pytest.raises(ConfigurationError, match=r"k 3, now 4; mode None, now 'new'; stop \[\], now None") as error:
            journal.begin(other)
        assert "seed" not in error.value.message
        assert journal.done() == {"p0"}


def test_prompts_that_keep_failing_may_be_removed(journal_path: Path) -> None:
    with open_journal(journal_path) as journal:
        journal.begin(PLAN | {"prompts": "own 1"}, {"p0": "a", "p1": "b", "p2": "c"})
        journal.put("p0", PromptSamples((Sampled("a", None),)))
        journal.put_error("p1", "too long")
    with open_journal(journal_path) as journal:
        for others in ({"p0": "other", "p2": "c"}, {"p2": "c"}, {"p0": "a", "p3": "d"}, None):
            with pytest.raises(ConfigurationError, match="prompts 'own 1', now 'own 2'"):
                journal.begin(PLAN | {"prompts": "own 2"}, others)
        with pytest.raises(ConfigurationError, match="k 3, now 4"):
            journal.begin(PLAN | {"prompts": "own 2", "k": 4}, {"p0": "a"})
        journal.begin(PLAN | {"prompts": "own 2"}, {"p0": "a", "p2": "c"})
        assert (journal.done(), journal.errors()) == ({"p0"}, {})
        journal.begin(PLAN | {"prompts": "own 2"}, {"p0": "a", "p2": "c"})


def test_a_run_without_answers_is_not_in_the_way_of_another(journal_path: Path) -> None:
    with open_journal(journal_path) as journal:
        journal.begin(PLAN)
        journal.put_error("p0", "refused")
        journal.tell("server", "wise")
    with open_journal(journal_path) as journal:
        assert journal.told("server") == "wise"
        journal.begin(PLAN | {"k": 4})
        assert (journal.errors(), journal.told("server")) == ({}, None)


def test_one_run_at_a_time(journal_path: Path) -> None:
    with open_journal(journal_path) as journal:
        journal.begin(PLAN)
        journal.put_error("p0", "refused")
        with pytest.raises(ConfigurationError, match="another run is using"), open_journal(journal_path):
            pytest.fail("two at once")
        assert journal.errors() == {"p0": "refused"}
    with open_journal(journal_path) as journal:
        assert journal.errors() == {"p0": "refused"}
    assert [path.name for path in journal_path.parent.iterdir()] == ["journal.sqlite"]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="/proc takes no files, even from root")
def test_a_folder_that_cannot_be_written_is_named() -> None:
    for path in (Path("/proc/journal.sqlite"), Path("/proc/folder/journal.sqlite")):
        with pytest.raises(ConfigurationError, match=r"the folder /proc\S* cannot be written: "), open_journal(path):
            pytest.fail("it was opened")


@pytest.mark.parametrize("damage", ["[", "7", '{"greedy": null, "samples": [{"text": "a"}]}'])
def test_a_damaged_row_of_a_journal_is_named(journal_path: Path, damage: str) -> None:
    with open_journal(journal_path) as journal:
        journal.put("p1", PromptSamples(()))
    with closing(sqlite3.connect(journal_path)) as database, database:
        database.execute("UPDATE answers SET answers = ?", (damage,))
    with (
        pytest.raises(ConfigurationError, match="cannot be used: the responses to p1 are damaged"),
        open_journal(journal_path) as journal,
    ):
        journal.samples_of("p1")


def test_what_is_no_journal_is_refused_and_left(journal_path: Path) -> None:
    journal_path.write_bytes(b"not a database " * 100)
    with pytest.raises(ConfigurationError, match="cannot be used: file is not a database"), open_journal(journal_path):
        pytest.fail("it was opened")
    assert journal_path.read_bytes().startswith(b"not a database")
