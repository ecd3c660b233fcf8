"""The surprisal engine: response sets under a language model → the `Surprisals` that D_Can and its family read.

Sets that are alike are read once, and those of an earlier run come from a cache. The others are laid out as token
sequences, one for each order and one for each response alone, and go to the model in batches of about equal length, the
longest first, so that a lack of memory shows at once. While the model reads a batch, a thread prepares the next ones.
The model reads what sequences share once. A batch that does not fit is halved until it does; a set that cannot be read
is missing with its reason, and the others go on.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.metric import Missing, Unscorable
from benchmark.metrics.surprisal_curve import Surprisals
from benchmark.models.causal_lm import CausalLM, OutOfMemory, SupportsPrepare, TokenSequence
from benchmark.models.trie import prefix_sort_key
from benchmark.surprisal.prompt_layout import Layout, TokenisedText, lay_out, pieces
from benchmark.surprisal.response_orders import OrderDesign, balanced, endpoint, exact, uniform
from datasets_build.errors import ConfigurationError
from datasets_build.files import content_id

Floats = NDArray[np.float64]
OrderKind = Literal["balanced", "uniform", "exact", "endpoint"]
DEFAULT_LAYOUT = Layout()
_AHEAD = 2  # batches that are prepared while the model reads
T = TypeVar("T")
ENGINE_VERSION = 2  # of what numbers depend on here beside model, layout and orders; part of the cache's keys


@dataclass(frozen=True, slots=True)
class ResponseSet:
    """Responses to one prompt."""

    prompt: str
    responses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OrderPlan:
    """Which orders a set of any size is read in.

    Attributes:
        kind: As the functions of orders.py.
        count: *balanced*: Latin squares; *endpoint*: trees; *uniform*: orders; *exact*: nothing.
        seed: *uniform*: of Python's generator, the same for all sets; else of the labels, drawn for each set.
    """

    kind: OrderKind = "balanced"
    count: int = 1
    seed: int = 42

    def __str__(self) -> str:
        """As in signatures, such as `balanced-1-seed:42`."""
        return "exact" if self.kind == "exact" else f"{self.kind}-{self.count}-seed:{self.seed}"

    @property
    def whole_curve(self) -> bool:
        """Whether the means of all slots are estimated, not the last one's alone."""
        return self.kind != "endpoint"

    def design(self, given: ResponseSet) -> OrderDesign:
        """The orders for a set.

        Raises:
            ConfigurationError: `exact` with more than six responses, or a count below 1.
        """
        n = len(given.responses)
        if self.kind == "uniform":
            return uniform(n, self.count, self.seed)
        # By their texts, so that a set's numbers do not depend on the order in which its responses are given.
        ranked = sorted(range(n), key=given.responses.__getitem__)
        label = f"{self.seed}/{content_id([given.prompt, [given.responses[i] for i in ranked]])}"
        if self.kind == "exact":
            made = exact(n)
        else:
            made = balanced(n, self.count, label) if self.kind == "balanced" else endpoint(n, self.count, label)
        return replace(made, orders=np.array(ranked, np.int64)[made.orders])


@dataclass(frozen=True, slots=True, eq=False)
class SetSurprisals:
    """A set that was read."""

    surprisals: Surprisals
    design: OrderDesign


@dataclass(frozen=True, slots=True, eq=False)
class SurprisalReader:
    """A model with all that decides how it reads; `read` is `read_sets`."""

    model: CausalLM
    layout: Layout
    plan: OrderPlan
    cache: "Cache | None" = None

    def read(self, sets: Sequence[ResponseSet]) -> list[SetSurprisals | Missing]:
        """See `read_sets`."""
        return read_sets(sets, self.model, self.layout, self.plan, cache=self.cache)


class Cache(Protocol):
    """Keeps what was read, by key; see surprisal_cache.py."""

    def get(self, key: str, orders: int, responses: int) -> tuple[Floats, Floats] | None:
        """Bits [orders, responses] and unconditional bits [responses] of a key, or None."""
        ...

    def put(self, found: Sequence[tuple[str, Floats, Floats]]) -> None:
        """Keep bits and unconditional bits of keys, all or none."""
        ...


def read_sets(
    sets: Sequence[ResponseSet],
    model: CausalLM,
    layout: Layout = DEFAULT_LAYOUT,
    plan: OrderPlan | None = None,
    *,
    cache: Cache | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> list[SetSurprisals | Missing]:
    """The surprisals of each set; arXiv:2606.01811, section 3.

    A set's numbers do not depend on the other sets, their order or the batches beyond 1e-3 bits a response; the same
    sets with the same cache give the same bytes.

    Args:
        sets: What to read.
        model: Reads.
        layout: How a set becomes text and tokens.
        plan: In which orders; one balanced square by default.
        cache: Of earlier runs; what is found is added to it batch by batch.
        progress: Called with the number of sets done.

    Raises:
        ConfigurationError: The plan or the layout cannot be had.
        DivBenchError: The model's server failed; sets read before are in the cache.
    """
    plan = plan or OrderPlan()
    keys = [_key(each, model, layout, plan) for each in sets]
    made: dict[str, SetSurprisals | Missing] = {}
    waiting: list[_Waiting] = []
    for key, given in dict(zip(keys, sets, strict=True)).items():
        found = _known(key, given, plan, cache)
        if isinstance(found, _Waiting):
            waiting.append(found)
        else:
            made[key] = found
    # By the bytes of what is to be read, which are known before the tokens are.
    waiting.sort(key=lambda each: (-each.longest(layout), each.key))
    progress(sum(key in made for key in keys))
    budget = model.batch_tokens
    with closing(_ahead(_batches(waiting, model, layout, budget))) as batches:
        for batch in batches:
            read, budget = _read(model, batch, budget)
            made |= read
            if cache is not None:
                cache.put(
                    [
                        (k, r.surprisals.bits, r.surprisals.unconditional)
                        for k, r in read.items()
                        if isinstance(r, SetSurprisals)
                    ]
                )
            progress(sum(key in made for key in keys))
    return [made[key] for key in keys]


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    """A set that is to be read in the orders of a design."""

    key: str
    given: ResponseSet
    design: OrderDesign

    def longest(self, layout: Layout) -> int:
        """The bytes of its longest sequence."""
        return sum(len(text.encode()) for text, _ in pieces(layout, self.given.prompt, self.given.responses))


@dataclass(frozen=True, slots=True, eq=False)
class _Work:
    """A set as token sequences: those of its orders, then those of its responses alone."""

    waiting: _Waiting
    laid: list[TokenisedText]

    @property
    def sequences(self) -> list[TokenSequence]:
        return [each.sequence for each in self.laid]

    @property
    def tokens(self) -> int:
        return sum(len(sequence.ids) for sequence in self.sequences)

    def result(self, found: Sequence[Floats | OutOfMemory]) -> SetSurprisals | Missing:
        for bits in found:
            if isinstance(bits, OutOfMemory):
                return Missing("out of memory, one sequence at a time")
        given, design = self.waiting.given, self.waiting.design
        n = len(given.responses)
        rows = [
            np.bincount(laid.slots, weights=bits, minlength=n).astype(np.float64)  # without weights, it is int
            for laid, bits in zip(self.laid, found, strict=True)
            if not isinstance(bits, OutOfMemory)
        ]
        orders = len(design.orders)
        return _result(given, design, np.array(rows[:orders]), np.array([row[0] for row in rows[orders:]]))


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """Sequences that are read at once: where they stand among their batch's, and what reads them."""

    at: list[int]
    sequences: list[TokenSequence]
    read: Callable[[], list[Floats]]

    @property
    def tokens(self) -> int:
        return sum(len(sequence.ids) for sequence in self.sequences)


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """Works with their sequences in runs that fit the budget, and sets that cannot be read."""

    works: list[_Work]
    runs: list[_Run]
    unread: dict[str, Missing]


def _key(given: ResponseSet, model: CausalLM, layout: Layout, plan: OrderPlan) -> str:
    said = [ENGINE_VERSION, model.signature, str(layout), str(plan), given.prompt, list(given.responses)]
    return content_id(said)


def _known(key: str, given: ResponseSet, plan: OrderPlan, cache: Cache | None) -> "_Waiting | SetSurprisals | Missing":
    """The result of a set if there is nothing to read."""
    n = len(given.responses)
    if n == 0:
        return Missing("no response")
    design = plan.design(given)
    kept = cache.get(key, len(design.orders), n) if cache is not None else None
    return _Waiting(key, given, design) if kept is None else _result(given, design, *kept)


def _laid_out(waiting: _Waiting, model: CausalLM, layout: Layout) -> _Work | Missing:
    given = waiting.given
    texts = [[given.responses[i] for i in order] for order in waiting.design.orders.tolist()]
    laid = lay_out(model, layout, given.prompt, [*texts, *([response] for response in given.responses)])
    longest = max(len(each.sequence.ids) for each in laid)
    if model.context is not None and longest > model.context:
        return Missing("longer than the model's context")
    if any(each.sequence.scored[:1].tolist() == [0] for each in laid):
        raise ConfigurationError("a text begins with a response, whose first token nothing predicts", "add a prompt")
    return _Work(waiting, laid)


def _result(given: ResponseSet, design: OrderDesign, bits: Floats, unconditional: Floats) -> SetSurprisals | Missing:
    counts = np.array([len(response.encode()) for response in given.responses], np.int64)
    try:
        return SetSurprisals(Surprisals(bits, design.orders, unconditional, counts), design)
    except Unscorable as error:
        return Missing(f"the model gave {error}")


def _batches(waiting: Sequence[_Waiting], model: CausalLM, layout: Layout, budget: int) -> Iterator[_Batch]:
    """Works that fit the budget together, at least one, prepared for the model; the same whatever is done meanwhile."""
    works: list[_Work] = []
    unread: dict[str, Missing] = {}
    tokens = 0
    for each in waiting:
        work = _laid_out(each, model, layout)
        if isinstance(work, Missing):
            unread[each.key] = work
            continue
        if works and tokens + work.tokens > budget:
            yield _batch(works, unread, model, budget)
            works, unread, tokens = [], {}, 0
        works.append(work)
        tokens += work.tokens
    if works or unread:
        yield _batch(works, unread, model, budget)


def _batch(works: list[_Work], unread: dict[str, Missing], model: CausalLM, budget: int) -> _Batch:
    sequences = [sequence for work in works for sequence in work.sequences]
    # Neighbours in this order share the longest beginnings, so little is lost where a large set has to be cut.
    keys = [prefix_sort_key(sequence.ids) for sequence in sequences]
    ranked = sorted(range(len(sequences)), key=keys.__getitem__)
    return _Batch(works, _runs(ranked, dict(enumerate(sequences)), model, budget), unread)


def _runs(ranked: Sequence[int], by_place: Mapping[int, TokenSequence], model: CausalLM, budget: int) -> list[_Run]:
    made = []
    for at in _cut(ranked, {i: len(sequence.ids) for i, sequence in by_place.items()}, budget):
        sequences = [by_place[i] for i in at]
        read = model.prepare(sequences) if isinstance(model, SupportsPrepare) else partial(model.surprisals, sequences)
        made.append(_Run(at, sequences, read))
    return made


def _ahead(made: Iterator[T]) -> Generator[T, None, None]:
    """The same, made by a thread while what came before is worked on; only so many wait.

    What is raised there is raised here, in its place.
    """
    with ThreadPoolExecutor(1, "prepare") as thread:
        waiting = deque(thread.submit(next, made, None) for _ in range(_AHEAD))
        try:
            while (one := waiting.popleft().result()) is not None:
                waiting.append(thread.submit(next, made, None))
                yield one
        finally:
            for each in waiting:
                each.cancel()


def _read(model: CausalLM, batch: _Batch, budget: int) -> tuple[dict[str, SetSurprisals | Missing], int]:
    """The results of a batch, and the budget that has proved to fit."""
    found: dict[int, Floats | OutOfMemory] = {}
    runs = deque(batch.runs)
    while runs:
        run = runs.popleft()
        if run.tokens > budget and len(run.at) > 1:  # prepared before the budget fell
            runs.extendleft(reversed(_runs(run.at, dict(zip(run.at, run.sequences, strict=True)), model, budget)))
            continue
        answers, fits = _surprisals(model, run.sequences, run.read)
        found.update(zip(run.at, answers, strict=True))
        if not fits:
            budget = max(1, min(budget, run.tokens // 2))
    at, made = 0, dict[str, SetSurprisals | Missing](batch.unread)
    for work in batch.works:
        count = len(work.laid)
        made[work.waiting.key] = work.result([found[i] for i in range(at, at + count)])
        at += count
    return made, budget


def _cut(ranked: Sequence[int], lengths: Mapping[int, int], budget: int) -> Iterator[list[int]]:
    """Cut into runs of at most so many tokens, each of one sequence at least."""
    run: list[int] = []
    tokens = 0
    for i in ranked:
        if run and tokens + lengths[i] > budget:
            yield run
            run, tokens = [], 0
        run.append(i)
        tokens += lengths[i]
    if run:
        yield run


def _surprisals(
    model: CausalLM, sequences: list[TokenSequence], read: Callable[[], list[Floats]]
) -> tuple[list[Floats | OutOfMemory], bool]:
    """The bits of each sequence, or that it does not fit alone; and whether all fitted together."""
    try:
        return list(read()), True
    except OutOfMemory as error:
        if len(sequences) == 1:
            return [error], False
    middle = len(sequences) // 2
    halves = (sequences[:middle], sequences[middle:])
    first, second = (_surprisals(model, half, partial(model.surprisals, half))[0] for half in halves)
    return first + second, False
