"""Token sequences as a trie: what they share is read once.

All work that a transformer does for one token alone (embeddings, projections, MLP, head) is done once for each node;
attention alone sees the sequences as they are. Measured on two cores, this form of sharing pays; one pass with a dense
mask over all nodes does not, because its attention grows with the square of the nodes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
_STRETCH = 1.3  # paths of a group are at most so much longer than its shortest


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Paths of about the same length.

    Attributes:
        nodes: int64 [paths, longest]; the node at each position, the path's last one repeated after its end.
        taken: int64; flat positions in `nodes` where a node stands for the first time.
        taken_nodes: int64, as long; which nodes those are.
    """

    nodes: Integers
    taken: Integers
    taken_nodes: Integers


@dataclass(frozen=True, slots=True, eq=False)
class Trie:
    """Sequences with their shared beginnings merged.

    Attributes:
        ids: int64 [nodes]; the token at each node.
        depths: int64 [nodes]; its position in every sequence through it.
        paths: For each given sequence the nodes on its way, int64 [tokens].
        groups: Every path that is not the beginning of another, by length.
    """

    ids: Integers
    depths: Integers
    paths: tuple[Integers, ...]
    groups: tuple[Group, ...]


def build_trie(sequences: Sequence[Integers]) -> Trie:
    """The trie of sequences that are not empty; it depends on them as a set, not on their order.

    In sorted order, what a sequence shares with any before it, it shares with the one just before it.

    >>> trie = build_trie([np.array([5, 6, 7]), np.array([5, 6]), np.array([5, 8])])
    >>> trie.ids.tolist(), trie.depths.tolist(), [path.tolist() for path in trie.paths]
    ([5, 6, 7, 8], [0, 1, 2, 1], [[0, 1, 2], [0, 1], [0, 3]])
    """
    ranked = sorted(range(len(sequences)), key=lambda i: sequences[i].tolist())
    paths: dict[int, Integers] = {}
    ids: list[Integers] = []
    depths: list[Integers] = []
    fresh_from: dict[int, int] = {}
    before, way, count = np.empty(0, np.int64), np.empty(0, np.int64), 0
    for i in ranked:
        tokens = sequences[i]
        shared = _shared(before, tokens)
        fresh = len(tokens) - shared
        way = np.concatenate([way[:shared], np.arange(count, count + fresh)])
        ids.append(tokens[shared:])
        depths.append(np.arange(shared, len(tokens)))
        paths[i], fresh_from[i], before, count = way, shared, tokens, count + fresh
    leaves = [i for i, after in zip(ranked, [*ranked[1:], None], strict=True) if not _begins(paths[i], after, paths)]
    return Trie(
        np.concatenate(ids),
        np.concatenate(depths),
        tuple(paths[i] for i in range(len(sequences))),
        tuple(_groups([paths[i] for i in leaves])),
    )


def _shared(a: Integers, b: Integers) -> int:
    """How many tokens two sequences begin alike with."""
    length = min(len(a), len(b))
    differ = np.flatnonzero(a[:length] != b[:length])
    return int(differ[0]) if len(differ) else length


def _begins(path: Integers, after: int | None, paths: dict[int, Integers]) -> bool:
    """Whether the path is the beginning of the next one."""
    return after is not None and len(paths[after]) >= len(path) and paths[after][len(path) - 1] == path[-1]


def _groups(paths: list[Integers]) -> list[Group]:
    """Paths by length, cut into groups that waste little; each node is taken from the first path through it."""
    ranked = sorted(paths, key=lambda path: (len(path), path.tolist()))
    batches: list[list[Integers]] = []
    for path in ranked:
        if batches and len(path) <= _STRETCH * len(batches[-1][0]):
            batches[-1].append(path)
        else:
            batches.append([path])
    seen: set[int] = set()
    groups = []
    for batch in batches:
        longest = max(map(len, batch))
        nodes = np.stack([np.pad(path, (0, longest - len(path)), mode="edge") for path in batch])
        different, first = np.unique(nodes, return_index=True)
        new = np.array([node not in seen for node in different.tolist()], bool)
        seen.update(different.tolist())
        groups.append(Group(nodes, first[new], different[new]))
    return groups
