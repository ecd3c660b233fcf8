"""The non-empty subsets of four things, and the strict inclusions among them."""

from itertools import combinations

LETTERS = "ABCD"

MEMBERS: tuple[str, ...] = tuple("".join(m) for size in range(1, 5) for m in combinations(LETTERS, size))
"""The 15 non-empty subsets by their letters: A, B, C, D, AB, …, ABCD."""

INCLUSIONS: tuple[tuple[str, str], ...] = tuple(
    (small, large) for small in MEMBERS for large in MEMBERS if set(small) < set(large)
)
"""The 50 strict inclusions, the smaller subset first. The other 55 of the 105 pairs cannot be compared."""
