"""Token sequences as a trie, so that shared prefixes are read once.

A transformer's per-token work (embeddings, projections, MLP, head) is done once per node; only attention sees whole
sequences. Measured on two cores, this saves time; one pass over all nodes with a dense mask does not, because its
attention grows with the square of the number of nodes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmark.models.causal_lm import TokenSequence

Integers = NDArray[np.int64]
_STRETCH = 1.3  # maximum length of a path in a group, relative to the shortest one


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Paths of similar length."""

    nodes: Integers  # int64 [paths, longest], the node at each position, padded with the path's last node
    taken: Integers  # int64 [taken], flat indices into `nodes` of the nodes that first occur in this group
    taken_nodes: Integers  # int64 [taken], these nodes


@dataclass(frozen=True, slots=True, eq=False)
class Trie:
    """Sequences with their shared prefixes merged."""

    ids: Integers  # int64 [nodes], the token of each node
    depths: Integers  # int64 [nodes], its position in every sequence through it
    parents: Integers  # int64 [nodes], the previous node, −1 if there is none
    paths: tuple[Integers, ...]  # for each sequence its nodes, int64 [tokens]
    # All paths that are not a prefix of another path, in increasing order of nodes. The nodes that are new in a path
    # are consecutive and at its end: they follow the last node of the previous leaf.
    leaves: tuple[Integers, ...]
    groups: tuple[Group, ...]  # the leaves grouped by length


@dataclass(frozen=True, slots=True, eq=False)
class ScoredTrie:
    """Sequences as a trie, and the nodes to be scored."""

    trie: Trie
    scored: list[Integers]  # for each sequence its scored nodes, int64 [scored]
    wanted: Integers  # int64 [wanted], all scored nodes without duplicates, in increasing order
    parents: Integers  # int64 [wanted], the nodes before them
    targets: Integers  # int64 [wanted], the tokens of the scored nodes

    @classmethod
    def of(cls, sequences: Sequence[TokenSequence]) -> "ScoredTrie":
        """Build the trie of one or more non-empty sequences."""
        trie = build_trie([sequence.ids for sequence in sequences])
        scored = [path[sequence.scored] for path, sequence in zip(trie.paths, sequences, strict=True)]
        is_wanted = np.zeros(len(trie.ids), bool)
        is_wanted[np.concatenate(scored)] = True
        wanted = np.flatnonzero(is_wanted)
        return cls(trie, scored, wanted, trie.parents[wanted], trie.ids[wanted])


def prefix_sort_key(ids: Integers) -> bytes:
    """Return a sort key that places sequences with long shared prefixes next to each other."""
    return ids.astype(">i8").tobytes()  # the order is that of lists of ids, but comparison is much faster


def build_trie(sequences: Sequence[Integers]) -> Trie:
    """Build the trie of non-empty sequences; their order does not matter.

    In sorted order, a prefix shared with any earlier sequence is also shared with the previous one.

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
    before, path, count = np.empty(0, np.int64), np.empty(0, np.int64), 0
    for i in sorted(range(len(sequences)), key=keys.__getitem__):
        tokens = sequences[i]
        shared = _shared(before, tokens)
        if shared < len(before):
            leaves.append(path)
        fresh = len(tokens) - shared
        path = np.concatenate([path[:shared], np.arange(count, count + fresh)])
        ids.append(tokens[shared:])
        depths.append(np.arange(shared, len(tokens)))
        parents.append(path[shared - 1 : -1] if shared else np.concatenate([[-1], path[:-1]]))
        paths[i], before, count = path, tokens, count + fresh
    leaves.append(path)
    return Trie(
        np.concatenate(ids),
        np.concatenate(depths),
        np.concatenate(parents),
        tuple(paths[i] for i in range(len(sequences))),
        tuple(leaves),
        tuple(_groups(leaves)),
    )


def _shared(a: Integers, b: Integers) -> int:
    """Return the length of the longest shared prefix."""
    length = min(len(a), len(b))
    differ = np.flatnonzero(a[:length] != b[:length])
    return int(differ[0]) if len(differ) else length


def _groups(leaves: Sequence[Integers]) -> list[Group]:
    """Group leaves by length to reduce padding; each node is taken from the leaf in which it is new."""
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
