"""Token sequences as a trie, so that shared prefixes are read once.

All per-token work of a transformer (embeddings, projections, MLP, head) is done once for each node; only attention sees
the whole sequences. Measured on two cores, this form of sharing pays; one pass with a dense mask over all nodes does
not, because its attention grows with the square of the nodes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmark.models.causal_lm import TokenSequence

Integers = NDArray[np.int64]
_STRETCH = 1.3  # most that a path of a group is longer than its shortest


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Paths of similar length.

    Attributes:
        nodes: int64 [paths, longest], the node at each position; the path's last one repeated as padding.
        taken: int64 [taken], flat indices into `nodes` of the first occurrence of nodes.
        taken_nodes: int64 [taken], these nodes.
    """

    nodes: Integers
    taken: Integers
    taken_nodes: Integers


@dataclass(frozen=True, slots=True, eq=False)
class Trie:
    """Sequences with their shared prefixes merged.

    Attributes:
        ids: int64 [nodes], the token of each node.
        depths: int64 [nodes], its position in every sequence through it.
        parents: int64 [nodes], the node before it, −1 for none.
        paths: For each sequence its nodes, int64 [tokens].
        leaves: Every path that is no prefix of another, in rising order of nodes. Nodes that are new in a path are at
            its end and consecutive: from the last node of the leaf before to its own last node.
        groups: The leaves by length.
    """

    ids: Integers
    depths: Integers
    parents: Integers
    paths: tuple[Integers, ...]
    leaves: tuple[Integers, ...]
    groups: tuple[Group, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ScoredTrie:
    """Sequences as a trie, and its nodes that are to be scored.

    Attributes:
        scored: For each sequence its scored nodes, int64 [scored].
        wanted: int64 [wanted], rising, all scored nodes, each once.
        parents: int64 [wanted], the nodes before them.
        targets: int64 [wanted], the tokens of the scored nodes.
    """

    trie: Trie
    scored: list[Integers]
    wanted: Integers
    parents: Integers
    targets: Integers

    @classmethod
    def of(cls, sequences: Sequence[TokenSequence]) -> "ScoredTrie":
        """Build the trie of non-empty sequences, at least one."""
        trie = build_trie([sequence.ids for sequence in sequences])
        scored = [path[sequence.scored] for path, sequence in zip(trie.paths, sequences, strict=True)]
        is_wanted = np.zeros(len(trie.ids), bool)
        is_wanted[np.concatenate(scored)] = True
        wanted = np.flatnonzero(is_wanted)
        return cls(trie, scored, wanted, trie.parents[wanted], trie.ids[wanted])


def prefix_sort_key(ids: Integers) -> bytes:
    """Return a key that sorts sequences so that those with the longest shared prefixes are neighbours."""
    return ids.astype(">i8").tobytes()  # sorts like lists of ids, and is compared much faster


def build_trie(sequences: Sequence[Integers]) -> Trie:
    """Build the trie of non-empty sequences; it does not depend on their order.

    In sorted order, a prefix shared with any earlier sequence is shared with the one just before.

    >>> trie = build_trie([np.array([5, 6, 7]), np.array([5, 6]), np.array([5, 8])])
    >>> trie.ids.tolist(), trie.depths.tolist(), [path.tolist() for path in trie.paths]
    ([5, 6, 7, 8], [0, 1, 2, 1], [[0, 1, 2], [0, 1], [0, 3]])
    """
    keys = [prefix_sort_key(ids) for ids in sequences]
    paths: dict[int, Integers] = {}
    ids: list[Integers] = []
    depths: list[Integers] = []
    parents: list[Integers] = []
    leaves: list[Integers] = []
    before, way, count = np.empty(0, np.int64), np.empty(0, np.int64), 0
    for i in sorted(range(len(sequences)), key=keys.__getitem__):
        tokens = sequences[i]
        shared = _shared(before, tokens)
        if shared < len(before):
            leaves.append(way)
        fresh = len(tokens) - shared
        way = np.concatenate([way[:shared], np.arange(count, count + fresh)])
        ids.append(tokens[shared:])
        depths.append(np.arange(shared, len(tokens)))
        parents.append(way[shared - 1 : -1] if shared else np.concatenate([[-1], way[:-1]]))
        paths[i], before, count = way, tokens, count + fresh
    leaves.append(way)
    return Trie(
        np.concatenate(ids),
        np.concatenate(depths),
        np.concatenate(parents),
        tuple(paths[i] for i in range(len(sequences))),
        tuple(leaves),
        tuple(_groups(leaves)),
    )


def _shared(a: Integers, b: Integers) -> int:
    """The length of the longest shared prefix."""
    length = min(len(a), len(b))
    differ = np.flatnonzero(a[:length] != b[:length])
    return int(differ[0]) if len(differ) else length


def _groups(leaves: Sequence[Integers]) -> list[Group]:
    """Group leaves by length, with little padding; each node is taken from the leaf that it is new in."""
    ends = [int(leaf[-1]) + 1 for leaf in leaves]
    batches: list[list[int]] = []
    for i in sorted(range(len(leaves)), key=lambda i: len(leaves[i])):
        if batches and len(leaves[i]) <= _STRETCH * len(leaves[batches[-1][0]]):
            batches[-1].append(i)
        else:
            batches.append([i])
    return [_group(leaves, ends, batch) for batch in batches]


def _group(leaves: Sequence[Integers], ends: Sequence[int], batch: Sequence[int]) -> Group:
    longest = max(len(leaves[i]) for i in batch)
    nodes = np.empty((len(batch), longest), np.int64)
    taken, taken_nodes = [], []
    for row, i in enumerate(batch):
        leaf, start = leaves[i], ends[i - 1] if i else 0
        nodes[row, : len(leaf)] = leaf
        nodes[row, len(leaf) :] = leaf[-1]
        end = row * longest + len(leaf)
        taken.append(np.arange(end - (ends[i] - start), end))
        taken_nodes.append(np.arange(start, ends[i]))
    return Group(nodes, np.concatenate(taken), np.concatenate(taken_nodes))
