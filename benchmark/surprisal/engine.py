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
from itertools import combinations_with_replacement
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.metric import Missing, Unscorable
from benchmark.metrics.surprisal import CrossMode, Surprisals, cross_mode
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

    def design(self, response_set: ResponseSet) -> OrderDesign:
        """Choose the orders of a set."""
        n = len(response_set.responses)
        if self.kind == "uniform":
            return uniform(n, self.count, self.seed)
        # Sorted by text, so that the numbers of a set do not depend on the given order of its responses.
        ranked = sorted(range(n), key=response_set.responses.__getitem__)
        label = f"{self.seed}/{content_id([response_set.prompt, [response_set.responses[i] for i in ranked]])}"
        if self.kind == "exact":
            design = exact(n)
        else:
            design = balanced(n, self.count, label) if self.kind == "balanced" else endpoint(n, self.count, label)
        return replace(design, orders=np.array(ranked, np.int64)[design.orders])


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

    def read(
        self, sets: Sequence[ResponseSet], progress: Callable[[int], None] = lambda done: None
    ) -> list[SetSurprisals | Missing]:
        """As `read_sets`."""
        return read_sets(sets, self.model, self.layout, self.plan, cache=self.cache, progress=progress)


class Cache(Protocol):
    """Keeps surprisals by key; see cache.py."""

    def get(self, key: str, orders: int, responses: int) -> tuple[Floats, Floats] | None:
        """Return the bits [orders, responses] and unconditional bits [responses] of a key, or None if unknown."""
        ...

    def put(self, results: Sequence[tuple[str, Floats, Floats]]) -> None:
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

    In float32, other sets and the batches change a response's surprisal by at most 1e-3 bits; in half precision, where
    kernels that change with the batch round differently, by tenths of a bit (float16) or several bits (bfloat16).
    """
    plan = plan or OrderPlan()
    keys = [_key(response_set, model, layout, plan) for response_set in sets]
    results: dict[str, SetSurprisals | Missing] = {}
    unread: list[_UnreadSet] = []
    for key, response_set in dict(zip(keys, sets, strict=True)).items():
        result = _cached(key, response_set, plan, cache)
        if isinstance(result, _UnreadSet):
            unread.append(result)
        else:
            results[key] = result
    # By bytes, because the number of tokens is not known yet.
    unread.sort(key=lambda unread_set: (-unread_set.longest(layout), unread_set.key))
    progress(sum(key in results for key in keys))
    with closing(_prefetched(_batches(unread, model, layout, model.batch_tokens))) as batches:
        for batch in batches:
            new = _read_batch(model, batch)
            results |= new
            if cache is not None:
                read = [(key, result.surprisals) for key, result in new.items() if isinstance(result, SetSurprisals)]
                cache.put([(key, surprisals.bits, surprisals.unconditional) for key, surprisals in read])
            progress(sum(key in results for key in keys))
    return [results[key] for key in keys]


@dataclass(frozen=True, slots=True, eq=False)
class _UnreadSet:
    """A set to be read, and its orders."""

    key: str
    response_set: ResponseSet
    design: OrderDesign

    def longest(self, layout: Layout) -> int:
        """Return the bytes of the longest sequence."""
        return sum(
            len(text.encode()) for text, _ in pieces(layout, self.response_set.prompt, self.response_set.responses)
        )


@dataclass(frozen=True, slots=True, eq=False)
class _TokenisedSet:
    """A set as token sequences: first one per order, then one per response alone."""

    unread: _UnreadSet
    tokenised: list[TokenisedText]

    @property
    def sequences(self) -> list[TokenSequence]:
        return [text.sequence for text in self.tokenised]

    @property
    def tokens(self) -> int:
        return sum(len(sequence.ids) for sequence in self.sequences)

    def result(self, bits_of_texts: Sequence[Floats | None]) -> SetSurprisals | Missing:
        response_set, design = self.unread.response_set, self.unread.design
        rows = []
        for text, bits in zip(self.tokenised, bits_of_texts, strict=True):
            if bits is None:
                return Missing("out of memory, one sequence at a time")
            sums = np.bincount(text.positions, weights=bits, minlength=len(response_set.responses))
            rows.append(sums.astype(np.float64))  # without weights, it is int
        orders = len(design.orders)
        return _result(response_set, design, np.array(rows[:orders]), np.array([row[0] for row in rows[orders:]]))


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


def _key(response_set: ResponseSet, model: CausalLM, layout: Layout, plan: OrderPlan) -> str:
    settings = [ENGINE_VERSION, model.signature, str(layout), str(plan)]
    return content_id([*settings, response_set.prompt, list(response_set.responses)])


def _cached(
    key: str, response_set: ResponseSet, plan: OrderPlan, cache: Cache | None
) -> "_UnreadSet | SetSurprisals | Missing":
    """Return the result of an empty or cached set; otherwise the set with its orders."""
    n = len(response_set.responses)
    if n == 0:
        return Missing("no response")
    design = plan.design(response_set)
    bits = cache.get(key, len(design.orders), n) if cache is not None else None
    return _UnreadSet(key, response_set, design) if bits is None else _result(response_set, design, *bits)


def _tokenise(unread: _UnreadSet, model: CausalLM, layout: Layout) -> _TokenisedSet | Missing:
    prompt, responses = unread.response_set.prompt, unread.response_set.responses
    texts = [[responses[i] for i in order] for order in unread.design.orders.tolist()]
    tokenised = lay_out(model, layout, prompt, [*texts, *([response] for response in responses)])
    if model.context is not None and max(len(text.sequence.ids) for text in tokenised) > model.context:
        return Missing("longer than the model's context")
    if any(text.sequence.scored[:1].tolist() == [0] for text in tokenised):
        raise ConfigurationError("a text begins with a response, so nothing predicts its first token", "add a prompt")
    return _TokenisedSet(unread, tokenised)


def _result(
    response_set: ResponseSet, design: OrderDesign, bits: Floats, unconditional: Floats
) -> SetSurprisals | Missing:
    counts = np.array([len(response.encode()) for response in response_set.responses], np.int64)
    try:
        return SetSurprisals(Surprisals(bits, design.orders, unconditional, counts), design)
    except Unscorable as error:
        return Missing(f"the model gave {error}")


def _batches(unread: Sequence[_UnreadSet], model: CausalLM, layout: Layout, budget: int) -> Iterator[_Batch]:
    """Yield batches that fit the budget, each of at least one set, prepared for the model."""
    members: list[_TokenisedSet] = []
    failed: dict[str, Missing] = {}
    tokens = 0
    for unread_set in unread:
        member = _tokenise(unread_set, model, layout)
        if isinstance(member, Missing):
            failed[unread_set.key] = member
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
    return _Batch(members, list(_chunks(ranked, dict(enumerate(sequences)), model, budget)), failed)


def _chunks(
    ranked: Sequence[int], sequence_of: Mapping[int, TokenSequence], model: CausalLM, budget: int
) -> Iterator[_Chunk]:
    """Split into chunks of at most `budget` tokens, each with at least one sequence, prepared for the model."""
    chunks: list[list[int]] = []
    tokens = 0
    for i in ranked:
        tokens += len(sequence_of[i].ids)
        if not chunks or tokens > budget:
            chunks.append([])
            tokens = len(sequence_of[i].ids)
        chunks[-1].append(i)
    for chunk in chunks:
        sequences = [sequence_of[i] for i in chunk]
        read = model.prepare(sequences) if isinstance(model, SupportsPrepare) else partial(model.surprisals, sequences)
        yield _Chunk(chunk, sequences, read)


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
    bits_of: dict[int, Floats | None] = {}
    chunks = deque(batch.chunks)
    while chunks:
        chunk = chunks.popleft()
        if chunk.tokens > model.batch_tokens and len(chunk.at) > 1:  # prepared before the budget fell
            sequence_of = dict(zip(chunk.at, chunk.sequences, strict=True))
            chunks.extendleft(reversed([*_chunks(chunk.at, sequence_of, model, model.batch_tokens)]))
            continue
        bits, too_many = _surprisals(model, chunk.sequences, chunk.read)
        bits_of.update(zip(chunk.at, bits, strict=True))
        if too_many is not None:
            model.batch_tokens = max(1, min(model.batch_tokens, too_many // 2))
    start, results = 0, dict[str, SetSurprisals | Missing](batch.failed)
    for member in batch.members:
        end = start + len(member.tokenised)
        results[member.unread.key] = member.result([bits_of[i] for i in range(start, end)])
        start = end
    return results


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
    tokens = None if any(values is None for values in bits) else sum(len(sequence.ids) for sequence in sequences)
    return bits, min((number for number in (few, more, tokens) if number is not None), default=None)


@dataclass(frozen=True, slots=True, eq=False)
class PairwiseSurprisals:
    """The surprisals of n texts, each alone and right after each other one."""

    alone: Floats  # float64 [n], bits of text i after the prompt alone
    given: Floats  # float64 [n, n], bits of text i right after text j; on the diagonal, right after itself

    @property
    def saved(self) -> Floats:
        """Bits that text j saves on text i, which follows it: float64 [n, n]."""
        return self.alone[:, None] - self.given

    @property
    def summary(self) -> CrossMode:
        """The summary with each text as a separate set, so that the diagonal shows what a repeat saves."""
        return cross_mode(self.alone, self.given)

    @property
    def strongest(self) -> tuple[int, int] | None:
        """The pair (i, j), i ≠ j, with the largest saving on text i after text j; None if there is only one text."""
        if len(self.alone) < 2:
            return None
        saved = np.where(np.eye(len(self.alone), dtype=bool), -np.inf, self.saved)
        i, j = np.unravel_index(int(np.argmax(saved)), saved.shape)
        return int(i), int(j)


def pairwise_surprisals(
    model: CausalLM,
    layout: Layout,
    prompt: str,
    responses: Sequence[str],
    progress: Callable[[int], None] = lambda done: None,
) -> PairwiseSurprisals:
    """Compute the surprisals of all pairs of texts in both orders, and of each text alone at the first position."""
    if not all(responses):
        raise Unscorable("an empty response")
    n = len(responses)
    alone, given = np.full(n, np.nan), np.full((n, n), np.nan)
    pairs = list(combinations_with_replacement(range(n), 2))
    sets = [ResponseSet(prompt, (responses[i], responses[j])) for i, j in pairs]
    results = read_sets(sets, model, layout, OrderPlan("exact"), progress=progress)
    for pair, result in zip(pairs, results, strict=True):
        if isinstance(result, Missing):
            raise Unscorable(result.reason)
        alone[list(pair)] = result.surprisals.unconditional
        for (first, second), (_, bits) in zip(result.surprisals.orders, result.surprisals.bits, strict=True):
            given[pair[second], pair[first]] = bits
    return PairwiseSurprisals(alone, given)
