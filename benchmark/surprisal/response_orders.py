"""Chooses the orders in which a model reads the responses of a set, and estimates the error of the mean over them.

An order is a permutation of 0 … n − 1: entry k is the response at position k. The target is the mean surprisal at each
position over all n! orders; a design is the small number of orders that are computed instead. The response at a
position explains 90–99.7 % of the variance between orders, so a few orders that put every response at every position
equally often replace many random ones: at n = 5, five such orders have 0.21 times the standard error of 50 random ones
for a_n; at n = 10, ten have 0.07. Values are surprisals in any unit, float64 [orders, n], by position.
"""

import math
import random
from dataclasses import dataclass
from itertools import permutations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from divbench.core.errors import ConfigurationError
from divbench.core.rng import shuffled, stream

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Estimates = Literal["curve", "end"]
Estimator = Literal["exact", "draws", "cells", "residuals", "none"]

MAX_EXACT = 6
_FEWEST_DRAWS = 5  # with fewer, their spread estimates the error worse than the variance within cells


@dataclass(frozen=True, slots=True, eq=False)
class OrderDesign:
    """The orders in which one set is read."""

    name: str  # name such as *balanced-2*; with n and the seed it determines the orders
    orders: Integers  # int64 [orders, n], each row a permutation of 0 … n − 1
    draws: Integers  # int64 [orders], 0, 1, …: orders of the same draw were chosen together, others independently
    # What the design estimates: *curve*, the mean at every position, or *end*, only at the last one.
    estimates: Estimates = "curve"


@dataclass(frozen=True, slots=True, eq=False)
class StandardErrors:
    """Standard errors of a design's means, as estimates of the means over all orders."""

    curve: Floats  # float64 [n], standard error of the mean at each position; NaN where it is not estimated
    estimator: Estimator  # name of the estimator; see `standard_errors`

    @property
    def end(self) -> float:
        """The standard error of a_n, the mean at the last position."""
        return float(self.curve[-1])

    @property
    def whole(self) -> float:
        """The standard error of the curve as a whole: the root mean square over the positions."""
        return math.sqrt(float(np.mean(self.curve**2)))


def uniform(n: int, count: int, seed: int = 42) -> OrderDesign:
    """Draw random orders exactly as the reference does, from the same seed for every set of n responses.

    >>> uniform(10, 100).orders[0].tolist()
    [7, 3, 2, 8, 5, 6, 9, 4, 0, 1]
    """
    _at_least_one(responses=n, orders=count)
    # Drawn with replacement, as in the reference, even if fewer than `count` exist; a single order is unshuffled.
    rng = random.Random(seed)  # noqa: S311 - not for secrets
    rows = []
    for _ in range(count):
        row = list(range(n))
        if count > 1:
            rng.shuffle(row)  # not `shuffled`, because the sequence must be the reference's
        rows.append(row)
    return _design(f"uniform-{count}", rows, range(count))


def balanced(n: int, squares: int = 1, seed: int | str = 0) -> OrderDesign:
    """Make cyclic Latin squares, in which every response is at every position equally often. The default.

    >>> balanced(3, seed=4).orders.tolist()
    [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
    """
    _at_least_one(responses=n, squares=squares)
    # Position k of order b has response (u·k + b) mod n, relabelled; each square has one multiplier u, a unit mod n,
    # and brings pairs of responses to new pairs of positions. After the last unit, the responses get new labels.
    units = _units(n)
    rng = stream("orders", "balanced", n, seed)
    position, rotation = np.arange(n), np.arange(n)[:, None]
    rows: list[Integers] = []
    for square in range(squares):
        turn = square % len(units)
        if turn == 0:
            labels = np.array(shuffled(rng, range(n)), np.int64)
        rows.extend(labels[(units[turn] * position + rotation) % n])
    return _design(f"balanced-{squares}", rows, np.arange(squares * n) // (n * len(units)))


def exact(n: int) -> OrderDesign:
    """Make all n! orders, sorted, so that the choice of orders causes no error.

    >>> exact(2).orders.tolist()
    [[0, 1], [1, 0]]
    """
    _at_least_one(responses=n)
    if n > MAX_EXACT:
        raise ConfigurationError(
            f"exact orders: {n} responses have {math.factorial(n):,} orders; the limit is {MAX_EXACT} responses",
            "use balanced orders",
        )
    return _design("exact", list(permutations(range(n))), [0] * math.factorial(n))


def endpoint(n: int, trees: int = 1, seed: int | str = 0) -> OrderDesign:
    """Make orders in which each response is last exactly once, with long shared prefixes; only for a_n and C.

    They form a leave-one-out tree with about n (log2 n + 1) nodes: halve the responses, put one half first in all
    orders that end in the other, and repeat within the other half.

    >>> endpoint(3, seed=0).orders.shape
    (3, 3)
    """
    _at_least_one(responses=n, trees=trees)
    rng = stream("orders", "endpoint", n, seed)
    rows = [row for _ in range(trees) for row in _leave_one_out([], shuffled(rng, range(n)))]
    return _design(f"endpoint-{trees}", rows, np.arange(trees * n) // n, "end")


def standard_errors(design: OrderDesign, values: Floats) -> StandardErrors:
    """Estimate the standard errors of a design's plain means over orders, by the first applicable estimator.

    * *exact*: the design contains all n! orders equally often; the error is 0.
    * *draws*: s / √D over the means of D independent draws: two or more single random orders, or five or more squares
      (groups of squares, trees) of equal size with separate labels. Unbiased.
    * *cells*: √(v / orders), where v is `order_variance`. It treats the orders as independent, but squares of one draw
      complement each other: in simulation it is 2 to 10 times the error.
    * *residuals*: the same from one square or tree. A rough upper limit: for a_n 1.5 to 8 times the error.
    * *none*: for a single random order; NaN.
    """
    _check(design, values)
    count, n = design.orders.shape
    if _is_all(design.orders):
        return StandardErrors(np.zeros(n), "exact")
    sizes = np.bincount(design.draws)
    single = count > 1 and len(sizes) == count
    estimator: Estimator
    if single or (len(sizes) >= _FEWEST_DRAWS and len(set(sizes.tolist())) == 1):
        means = np.array([values[design.draws == draw].mean(axis=0) for draw in range(len(sizes))])
        errors, estimator = means.std(axis=0, ddof=1) / math.sqrt(len(sizes)), "draws"
    elif count == 1:
        errors, estimator = np.full(n, np.nan), "none"
    else:
        errors = np.sqrt(order_variance(design, values) / count)
        estimator = "cells" if count >= 2 * n else "residuals"
    if design.estimates == "end":
        errors[:-1] = np.nan
    return StandardErrors(errors, estimator)


def order_variance(design: OrderDesign, values: Floats) -> Floats:
    """Estimate the variance at each position between orders with the same response there, averaged over responses.

    A balanced design of P otherwise independent orders would have the standard error √(variance / P).
    """
    _check(design, values)
    count, n = design.orders.shape
    counts, squares = _cells(design.orders, values)
    # The mean of the cells' variances needs n or more orders beyond the first of each response.
    enough = count - (counts > 0).sum(axis=0) >= n
    variance = np.empty(n)
    if not enough.all():
        variance = _residual_variance(design.orders, values)
    variance[enough] = _cell_variances(counts, squares)[:, enough].mean(axis=0)
    return variance


def orders_for(target: float, pilot: OrderDesign, values: Floats) -> int:
    """Estimate from a pilot, cautiously, how many balanced orders give a standard error of a_n: v / target²."""
    if not 0 < target < math.inf:
        raise ConfigurationError(f"a standard error of {target} is impossible", "give one above 0")
    variance = float(order_variance(pilot, values)[-1])
    if math.isnan(variance):
        raise ValueError("the pilot has too few orders for its positions")
    n = int(pilot.orders.shape[1])
    needed = n * max(1, math.ceil(variance / target**2 / n))
    return min(needed, math.factorial(n)) if n <= MAX_EXACT else needed


def _design(name: str, rows: object, draws: object, estimates: Estimates = "curve") -> OrderDesign:
    design = OrderDesign(name, np.array(rows, np.int64), np.array(draws, np.int64), estimates)
    design.orders.flags.writeable = design.draws.flags.writeable = False
    return design


def _at_least_one(**numbers: int) -> None:
    for what, number in numbers.items():
        if number < 1:
            raise ConfigurationError(f"orders: the number of {what} is {number}", "give 1 or more")


def _units(n: int) -> list[int]:
    """Return the units mod n, each followed by its negative."""
    half = (u for u in range(1, n // 2 + 1) if math.gcd(u, n) == 1)
    return list(dict.fromkeys(v for u in half for v in (u, n - u))) or [1]


def _leave_one_out(before: list[int], rest: list[int]) -> list[list[int]]:
    """Return the orders that begin with `before` and end in each of `rest`."""
    if len(rest) == 1:
        return [before + rest]
    one, other = rest[: len(rest) // 2], rest[len(rest) // 2 :]
    return _leave_one_out(before + other, one) + _leave_one_out(before + one, other)


def _is_all(orders: Integers) -> bool:
    count, n = orders.shape
    if count % math.factorial(n):
        return False
    times = np.unique(orders, axis=0, return_counts=True)[1]
    return len(times) == math.factorial(n) and bool((times == times[0]).all())


def _check(design: OrderDesign, values: Floats) -> None:
    if values.shape != design.orders.shape:
        raise ValueError(f"values of shape {values.shape} for orders of shape {design.orders.shape}")
    if not np.isfinite(values).all():
        raise ValueError("values that are not finite")


def _cells(orders: Integers, values: Floats) -> tuple[Integers, Floats]:
    """Return the number and the sum of squared deviations of each response at each position, [n, n]."""
    n = orders.shape[1]
    cell = (orders * n + np.arange(n)).ravel()
    counts = np.bincount(cell, minlength=n * n).astype(np.int64)
    with np.errstate(invalid="ignore"):
        means = np.bincount(cell, values.ravel(), n * n) / counts
    squares = np.bincount(cell, (values.ravel() - means[cell]) ** 2, n * n).astype(np.float64)
    return counts.reshape(n, n), squares.reshape(n, n)


def _cell_variances(counts: Integers, squares: Floats) -> Floats:
    """Return the variance in each cell, [n, n]; with fewer than two values, the mean of the other cells or NaN."""
    known = counts > 1
    variances = np.where(known, squares / np.maximum(counts - 1, 1), 0.0)
    with np.errstate(invalid="ignore"):
        mean = variances.sum(axis=0) / known.sum(axis=0)
    return np.where(known, variances, mean)


def _residual_variance(orders: Integers, values: Floats) -> Floats:
    """Return the mean of the HC2 squared residuals of position + response at each position, [n]."""
    n = orders.shape[1]
    # Orders with the same prefix measure the same value, so it counts once.
    firsts = [np.unique(orders[:, : k + 1], axis=0, return_index=True)[1] for k in range(1, n)]
    row = np.concatenate([np.empty(0, np.int64), *firsts])
    position = np.repeat(np.arange(1, n), [len(first) for first in firsts])
    response, measured = orders[row, position], values[row, position]
    # By the normal equations of the 2n predictors: the hat matrix of all n² values would take gigabytes for n = 100.
    times = np.bincount(position * n + response, minlength=n * n).reshape(n, n).astype(np.float64)
    normal = np.block([[np.diag(times.sum(axis=1)), times], [times.T, np.diag(times.sum(axis=0))]])
    inverse = np.linalg.pinv(normal, rcond=1e-9, hermitian=True)  # its rank is at most 2n − 2
    effects = inverse @ np.concatenate([np.bincount(index, measured, n) for index in (position, response)])
    i, j = position, n + response  # the two predictors of each value
    free = 1 - (inverse[i, i] + 2 * inverse[i, j] + inverse[j, j])
    known = free > 1e-9  # otherwise the fit passes through the value, whatever it is
    residuals = measured - effects[i] - effects[j]
    squared = np.divide(residuals**2, free, out=np.zeros_like(free), where=known)
    with np.errstate(invalid="ignore"):
        variance = np.bincount(position[known], squared[known], n) / np.bincount(position[known], minlength=n)
    variance[0] = 0.0
    return np.asarray(variance, np.float64)
