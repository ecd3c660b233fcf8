"""Batches are prepared by a thread while the model reads: the same batches, not too many, errors and stops in place."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.metrics.metric import Missing
from benchmark.models.causal_lm import Encoding, Floats, TokenSequence
from benchmark.surprisal.cache import SurprisalCache
from benchmark.surprisal.engine import OrderPlan, ResponseSet, SetSurprisals, read_sets
from divbench.core.errors import ConfigurationError
from tests.benchmark.fakes import HashLM
from tests.benchmark.lms import one_thread

__all__ = ["one_thread"]  # a fixture

SETS = [ResponseSet(f"Say {i}.", (f"Item {i}.", "A lamp, " * (i % 7), "The river.")) for i in range(24)]
FIRST = 6  # sets, more than the first batch has


class Waiting(HashLM):
    """A model of which is known what was prepared before what was read, and that can be made to wait.

    Attributes:
        encoded: Sets that were encoded.
        seen: How many those were, at each reading.
        asked: What was read.
        threads: That prepared.
    """

    def __init__(self, wait: Callable[["Waiting"], None] = lambda lm: None) -> None:
        super().__init__(batch_tokens=400)
        self._wait = wait
        self.encoded = 0
        self.seen: list[int] = []
        self.asked: list[list[tuple[int, ...]]] = []
        self.threads: set[str] = set()

    def encode(self, texts: Sequence[str], *, begin: bool = False) -> list[Encoding]:
        self.encoded += 1
        return super().encode(texts, begin=begin)

    def prepare(self, sequences: Sequence[TokenSequence]) -> Callable[[], list[Floats]]:
        self.threads.add(threading.current_thread().name)
        return lambda: self.surprisals(sequences)

    def surprisals(self, sequences: Sequence[TokenSequence]) -> list[Floats]:
        assert threading.current_thread() is threading.main_thread()
        self._wait(self)
        self.seen.append(self.encoded)
        self.asked.append([tuple(each.ids.tolist()) for each in sequences])
        return super().surprisals(sequences)


def threads_that_prepare() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name.startswith("prepare")]


def numbers(found: Sequence[SetSurprisals | Missing]) -> list[Any]:
    return [each.surprisals.bits.tolist() if isinstance(each, SetSurprisals) else each for each in found]


def let_the_thread_work(lm: Waiting) -> None:
    """Until it has prepared all that it may before the first batch is read."""
    for _ in range(3000):
        if lm.asked or lm.encoded > FIRST:
            return
        threading.Event().wait(0.01)
    pytest.fail("nothing is prepared while the model reads")


def test_batches_are_the_same_whichever_is_faster_and_only_few_are_ahead() -> None:
    eager, patient = Waiting(), Waiting(let_the_thread_work)
    assert numbers(read_sets(SETS, eager)) == numbers(read_sets(SETS, patient)) == numbers(read_sets(SETS, HashLM()))
    assert eager.asked == patient.asked
    assert len(patient.asked) > 8
    # At a batch's turn were encoded: its own sets, those of the two batches after it at most, and one that shows that
    # the last of these is full.
    sizes = [len(call) // 6 for call in patient.asked]  # sequences of a set: three orders, three responses alone
    assert sizes[0] < FIRST < patient.seen[0] <= sum(sizes[:3]) + 1 < len(SETS) / 2
    most = [sum(sizes[: i + 3]) + 1 for i in range(len(sizes))]
    assert all(seen <= limit for lm in (eager, patient) for seen, limit in zip(lm.seen, most, strict=True))
    assert all(name.startswith("prepare") for name in patient.threads)
    assert threads_that_prepare() == []


def test_an_error_of_the_thread_comes_in_its_place(tmp_path: Path) -> None:
    class Refusing(Waiting):
        def encode(self, texts: Sequence[str], *, begin: bool = False) -> list[Encoding]:
            if self.encoded == 12:
                raise ConfigurationError("no such text", "another")
            return super().encode(texts, begin=begin)

    lm, cache, told = Refusing(), SurprisalCache(tmp_path / "cache.sqlite"), list[int]()
    with pytest.raises(ConfigurationError, match="no such text"):
        read_sets(SETS, lm, cache=cache, progress=told.append)
    assert threads_that_prepare() == []
    assert 0 < told[-1] < 12  # what was read before is kept
    again = Waiting()
    assert numbers(read_sets(SETS, again, cache=cache)) == numbers(read_sets(SETS, HashLM()))
    assert again.encoded == len(SETS) - told[-1]


def test_a_stop_ends_both() -> None:
    def stop(lm: Waiting) -> None:
        if len(lm.asked) == 2:
            raise KeyboardInterrupt

    lm = Waiting(stop)
    with pytest.raises(KeyboardInterrupt):
        read_sets(SETS, lm)
    assert threads_that_prepare() == []
    assert lm.encoded < len(SETS)


def test_what_was_prepared_for_more_memory_is_cut() -> None:
    class Small(Waiting):
        def __init__(self) -> None:
            super().__init__(let_the_thread_work)
            self.refused = 0

        def surprisals(self, sequences: Sequence[TokenSequence]) -> list[Floats]:
            from benchmark.models.memory import OutOfMemory

            if sum(len(each.ids) for each in sequences) > 220:
                self.refused += 1
                raise OutOfMemory("too many tokens for a test")
            return super().surprisals(sequences)

    lm = Small()
    assert numbers(read_sets(SETS, lm)) == numbers(read_sets(SETS, HashLM()))
    assert lm.refused == 1  # the budget that has proved to fit is kept to
    assert np.mean([len(call) for call in lm.asked]) > 1


def test_sets_that_are_all_too_long_are_told_without_reading() -> None:
    lm = Waiting()
    lm.context = 5
    assert read_sets(SETS, lm, plan=OrderPlan("uniform", 2)) == [Missing("longer than the model's context")] * len(SETS)
    assert lm.asked == []
