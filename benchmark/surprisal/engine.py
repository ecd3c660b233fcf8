"""The surprisal engine: computes the `Surprisals` of response sets that D_Can and related metrics read.

Equal sets are read once, and surprisals from earlier runs come from a cache. All other sets become token sequences, one
per order and one per response alone, which the model reads in batches of similar length, the longest first, so that a
lack of memory shows at once. While the model reads a batch, a thread prepares the next ones. The model reads shared
prefixes once. A batch that does not fit is halved until it does; a set that cannot be read is missing, with its reason.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.metric import Missing, Unscorable
from benchmark.metrics.surprisal import Surprisals
from benchmark.models import OrderKind
from benchmark.models.causal_lm import CausalLM, SupportsPrepare, TokenSequence
from benchmark.models.memory import OutOfMemory
from benchmark.models.trie import prefix_sort_key
from benchmark.surprisal.prompt_layout import Layout, TokenisedText, lay_out, pieces
from benchmark.surprisal.response_orders import OrderDesign, balanced, endpoint, exact, uniform
from divbench.core.errors import ConfigurationError
from divbench.core.files import content_id

Floats = NDArray[np.float64]
DEFAULT_LAYOUT = Layout()
_AHEAD = 2  # batches that are prepared while the model reads
T = TypeVar("T")
ENGINE_VERSION = 2  # part of the cache's keys; changed when this module changes the numbers


@dataclass(frozen=True, slots=True)
class ResponseSet:
    """Responses to one prompt."""

    prompt: str
    responses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OrderPlan:
    """Rule for the orders in which a set of any size is read."""

    kind: OrderKind = "balanced"
    count: int = 1  # number of Latin squares (*balanced*), trees (*endpoint*) or orders (*uniform*); unused for *exact*
    # Random seed; for *uniform* of Python's generator, the same for all sets, otherwise of each set's labels.
    seed: int = 42

    def __str__(self) -> str:
        """Return the plan as signatures name it, such as `balanced-1-seed:42`."""
        return "exact" if self.kind == "exact" else f"{self.kind}-{self.count}-seed:{self.seed}"

    @property
    def whole_curve(self) -> bool:
        """Whether the means of all positions are estimated, not only that of the last."""
        return self.kind != "endpoint"

    def design(self, given: ResponseSet) -> OrderDesign:
        """Choose the orders of a set."""
        n = len(given.responses)
        if self.kind == "uniform":
            return uniform(n, self.count, self.seed)
        # Sorted by text, so that the numbers of a set do not depend on the given order of its responses.
        ranked = sorted(range(n), key=given.responses.__getitem__)
        label = f"{self.seed}/{content_id([given.prompt, [given.responses[i] for i in ranked]])}"
        if self.kind == "exact":
            made = exact(n)
        else:
            made = balanced(n, self.count, label) if self.kind == "balanced" else endpoint(n, self.count, label)
        return replace(made, orders=np.array(ranked, np.int64)[made.orders])


@dataclass(frozen=True, slots=True, eq=False)
class SetSurprisals:
    """The surprisals of a response set, and the orders in which it was read."""

    surprisals: Surprisals
    design: OrderDesign


@dataclass(frozen=True, slots=True, eq=False)
class SurprisalReader:
    """A language model with the settings that determine how it reads response sets."""

    model: CausalLM
    layout: Layout
    plan: OrderPlan
    cache: "Cache | None" = None

    def read(self, sets: Sequence[ResponseSet]) -> list[SetSurprisals | Missing]:
        """As `read_sets`."""
        return read_sets(sets, self.model, self.layout, self.plan, cache=self.cache)


class Cache(Protocol):
    """Keeps surprisals by key; see cache.py."""

    def get(self, key: str, orders: int, responses: int) -> tuple[Floats, Floats] | None:
        """Return the bits [orders, responses] and unconditional bits [responses] of a key, or None if unknown."""
        ...

    def put(self, found: Sequence[tuple[str, Floats, Floats]]) -> None:
        """Keep keys with their bits and unconditional bits, all or none."""
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
    """Compute the surprisals of each response set (arXiv:2606.01811, section 3).

    In float32, the other sets, their order and the batches change a response's surprisal by at most 1e-3 bits. In half
    precision, kernels that change with the batch round differently: expect tenths of a bit in float16, and several bits
    in bfloat16. The same sets with the same cache and batches give the same bytes.
    """
    plan = plan or OrderPlan()
    keys = [_key(each, model, layout, plan) for each in sets]
    made: dict[str, SetSurprisals | Missing] = {}
    unread: list[_UnreadSet] = []
    for key, given in dict(zip(keys, sets, strict=True)).items():
        found = _cached(key, given, plan, cache)
        if isinstance(found, _UnreadSet):
            unread.append(found)
        else:
            made[key] = found
    # By bytes, because the number of tokens is not known yet.
    unread.sort(key=lambda each: (-each.longest(layout), each.key))
    progress(sum(key in made for key in keys))
    with closing(_prefetched(_batches(unread, model, layout, model.batch_tokens))) as batches:
        for batch in batches:
            read = _read_batch(model, batch)
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
class _UnreadSet:
    """A set to be read, and its orders."""

    key: str
    given: ResponseSet
    design: OrderDesign

    def longest(self, layout: Layout) -> int:
        """Return the bytes of the longest sequence."""
        return sum(len(text.encode()) for text, _ in pieces(layout, self.given.prompt, self.given.responses))


@dataclass(frozen=True, slots=True, eq=False)
class _TokenisedSet:
    """A set as token sequences: first one per order, then one per response alone."""

    unread: _UnreadSet
    tokenised: list[TokenisedText]

    @property
    def sequences(self) -> list[TokenSequence]:
        return [each.sequence for each in self.tokenised]

    @property
    def tokens(self) -> int:
        return sum(len(sequence.ids) for sequence in self.sequences)

    def result(self, found: Sequence[Floats | None]) -> SetSurprisals | Missing:
        if any(bits is None for bits in found):
            return Missing("out of memory, one sequence at a time")
        given, design = self.unread.given, self.unread.design
        n = len(given.responses)
        rows = [
            np.bincount(tokenised.positions, weights=bits, minlength=n).astype(np.float64)  # without weights, it is int
            for tokenised, bits in zip(self.tokenised, found, strict=True)
            if bits is not None
        ]
        orders = len(design.orders)
        return _result(given, design, np.array(rows[:orders]), np.array([row[0] for row in rows[orders:]]))


@dataclass(frozen=True, slots=True, eq=False)
class _Chunk:
    """Sequences to be read at once: their indices in the batch, and the function that reads them."""

    at: list[int]
    sequences: list[TokenSequence]
    read: Callable[[], list[Floats]]

    @property
    def tokens(self) -> int:
        return sum(len(sequence.ids) for sequence in self.sequences)


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """Sets with their sequences in chunks that fit the budget, and sets that cannot be read."""

    members: list[_TokenisedSet]
    chunks: list[_Chunk]
    failed: dict[str, Missing]


def _key(given: ResponseSet, model: CausalLM, layout: Layout, plan: OrderPlan) -> str:
    said = [ENGINE_VERSION, model.signature, str(layout), str(plan), given.prompt, list(given.responses)]
    return content_id(said)


def _cached(
    key: str, given: ResponseSet, plan: OrderPlan, cache: Cache | None
) -> "_UnreadSet | SetSurprisals | Missing":
    """Return the result of an empty or cached set; otherwise the set with its orders."""
    n = len(given.responses)
    if n == 0:
        return Missing("no response")
    design = plan.design(given)
    kept = cache.get(key, len(design.orders), n) if cache is not None else None
    return _UnreadSet(key, given, design) if kept is None else _result(given, design, *kept)


def _tokenise(unread: _UnreadSet, model: CausalLM, layout: Layout) -> _TokenisedSet | Missing:
    given = unread.given
    texts = [[given.responses[i] for i in order] for order in unread.design.orders.tolist()]
    tokenised = lay_out(model, layout, given.prompt, [*texts, *([response] for response in given.responses)])
    longest = max(len(each.sequence.ids) for each in tokenised)
    if model.context is not None and longest > model.context:
        return Missing("longer than the model's context")
    if any(each.sequence.scored[:1].tolist() == [0] for each in tokenised):
        raise ConfigurationError("a text begins with a response, so nothing predicts its first token", "add a prompt")
    return _TokenisedSet(unread, tokenised)


def _result(given: ResponseSet, design: OrderDesign, bits: Floats, unconditional: Floats) -> SetSurprisals | Missing:
    counts = np.array([len(response.encode()) for response in given.responses], np.int64)
    try:
        return SetSurprisals(Surprisals(bits, design.orders, unconditional, counts), design)
    except Unscorable as error:
        return Missing(f"the model gave {error}")


def _batches(unread: Sequence[_UnreadSet], model: CausalLM, layout: Layout, budget: int) -> Iterator[_Batch]:
    """Yield batches that fit the budget, each of at least one set, prepared for the model."""
    members: list[_TokenisedSet] = []
    failed: dict[str, Missing] = {}
    tokens = 0
    for each in unread:
        member = _tokenise(each, model, layout)
        if isinstance(member, Missing):
            failed[each.key] = member
            continue
        if members and tokens + member.tokens > budget:
            yield _batch(members, failed, model, budget)
            members, failed, tokens = [], {}, 0
        members.append(member)
        tokens += member.tokens
    if members or failed:
        yield _batch(members, failed, model, budget)


def _batch(members: list[_TokenisedSet], failed: dict[str, Missing], model: CausalLM, budget: int) -> _Batch:
    sequences = [sequence for member in members for sequence in member.sequences]
    # Neighbours in this order share the longest prefixes, so little is lost if a large set has to be split.
    keys = [prefix_sort_key(sequence.ids) for sequence in sequences]
    ranked = sorted(range(len(sequences)), key=keys.__getitem__)
    return _Batch(members, _chunks(ranked, dict(enumerate(sequences)), model, budget), failed)


def _chunks(
    ranked: Sequence[int], sequence_of: Mapping[int, TokenSequence], model: CausalLM, budget: int
) -> list[_Chunk]:
    made = []
    for at in _chunk_up(ranked, {i: len(sequence.ids) for i, sequence in sequence_of.items()}, budget):
        sequences = [sequence_of[i] for i in at]
        read = model.prepare(sequences) if isinstance(model, SupportsPrepare) else partial(model.surprisals, sequences)
        made.append(_Chunk(at, sequences, read))
    return made


def _prefetched(items: Iterator[T]) -> Generator[T, None, None]:
    """Yield the items, which a thread makes up to `_AHEAD` items in advance; its exceptions are raised here."""
    with ThreadPoolExecutor(1, "prepare") as thread:
        futures = deque(thread.submit(next, items, None) for _ in range(_AHEAD))
        try:
            while (item := futures.popleft().result()) is not None:
                futures.append(thread.submit(next, items, None))
                yield item
        finally:
            for future in futures:
                future.cancel()


def _read_batch(model: CausalLM, batch: _Batch) -> dict[str, SetSurprisals | Missing]:
    """Return the results of a batch; if the model's budget proves too large, lower it for all later calls."""
    found: dict[int, Floats | None] = {}
    chunks = deque(batch.chunks)
    while chunks:
        chunk = chunks.popleft()
        if chunk.tokens > model.batch_tokens and len(chunk.at) > 1:  # prepared before the budget fell
            sequence_of = dict(zip(chunk.at, chunk.sequences, strict=True))
            chunks.extendleft(reversed(_chunks(chunk.at, sequence_of, model, model.batch_tokens)))
            continue
        bits, too_many = _surprisals(model, chunk.sequences, chunk.read)
        found.update(zip(chunk.at, bits, strict=True))
        if too_many is not None:
            model.batch_tokens = max(1, min(model.batch_tokens, too_many // 2))
    at, made = 0, dict[str, SetSurprisals | Missing](batch.failed)
    for member in batch.members:
        count = len(member.tokenised)
        made[member.unread.key] = member.result([found[i] for i in range(at, at + count)])
        at += count
    return made


def _chunk_up(ranked: Sequence[int], lengths: Mapping[int, int], budget: int) -> Iterator[list[int]]:
    """Split into chunks of at most `budget` tokens, each with at least one sequence."""
    chunk: list[int] = []
    tokens = 0
    for i in ranked:
        if chunk and tokens + lengths[i] > budget:
            yield chunk
            chunk, tokens = [], 0
        chunk.append(i)
        tokens += lengths[i]
    if chunk:
        yield chunk


def _surprisals(
    model: CausalLM, sequences: list[TokenSequence], read: Callable[[], list[Floats]]
) -> tuple[list[Floats | None], int | None]:
    """Read sequences; if they do not fit together, read them by halves."""
    try:
        return list(read()), None
    except OutOfMemory:
        if len(sequences) == 1:
            return [None], None
    # Outside the handler, so that no exception keeps memory alive while the halves are read.
    middle = len(sequences) // 2
    halves = (sequences[:middle], sequences[middle:])
    (first, few), (second, more) = (_surprisals(model, half, partial(model.surprisals, half)) for half in halves)
    bits = first + second
    tokens = None if any(each is None for each in bits) else sum(len(each.ids) for each in sequences)
    return bits, min((each for each in (few, more, tokens) if each is not None), default=None)
