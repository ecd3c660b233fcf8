"""Fits of decreasing functions to a curve of surprisals (arXiv:2606.01811, section D.6)."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_Ends = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Fit:
    """A decreasing function fitted to a curve; all numbers are NaN if the solver did not converge."""

    floor: float  # a_inf, in the curve's unit, as are `drop` (alpha) and `excess`
    drop: float  # alpha
    steepness: float  # beta
    midpoint: float  # k_0; 1 for the exponential
    excess: float  # E_fit, the integral of the function minus the floor from 1 to infinity; unreliable at a bound
    # Parameters at a limit of their range, which the curve therefore does not determine.
    at_bounds: tuple[str, ...] = ()
    failure: str | None = None  # reason why the solver did not converge; None if it did

    @property
    def converged(self) -> bool:
        """Whether the solver converged."""
        return self.failure is None


def fit_sigmoid(curve: Floats) -> Fit:
    """Fit a_inf + alpha / (1 + e^(beta (k − k_0))), eq. 9; E_fit = alpha / beta · ln(1 + e^(beta (k_0 − 1))).

    Start values and ranges are from the authors' code: a_inf, alpha ≥ 0, beta in [0.01, 50], k_0 in [−10, 3 n]. If a
    curve falls from the start, k_0 goes to −10 and the function is an exponential (Figure 14). The curve may be a mean
    over sets.
    """
    high = (np.inf, np.inf, 50.0, 3.0 * len(curve))
    return _fit(_sigmoid, curve, (1.0, len(curve) / 2), (0.0, 0.0, 0.01, -10.0), high)


def fit_exponential(curve: Floats) -> Fit:
    """Fit a_inf + alpha e^(−beta (k − 1)), beta in [0.001, 50]; E_fit = alpha / beta. From the authors' code."""
    return _fit(_exponential, curve, (0.5,), (0.0, 0.0, 0.001), (np.inf, np.inf, 50.0))


def _sigmoid(k: Floats, floor: float, drop: float, steepness: float, midpoint: float) -> Floats:
    return np.asarray(floor + drop * np.exp(-np.logaddexp(0.0, steepness * (k - midpoint))))  # cannot overflow


def _exponential(k: Floats, floor: float, drop: float, steepness: float) -> Floats:
    return np.asarray(floor + drop * np.exp(-steepness * (k - 1)))


def _fit(shape: Callable[..., Floats], curve: Floats, start: _Ends, low: _Ends, high: _Ends) -> Fit:
    from scipy.optimize import OptimizeWarning, curve_fit

    none = Fit(math.nan, math.nan, math.nan, math.nan, math.nan)
    if len(curve) < len(low):
        return replace(none, failure=f"{len(curve)} positions for {len(low)} parameters")
    if not np.isfinite(curve).all():
        return replace(none, failure="the curve is not finite")
    first = (max(float(curve[-1]), 0.0), max(float(curve[0] - curve[-1]), 0.01), *start)
    places = np.arange(1.0, len(curve) + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OptimizeWarning)  # about the covariance, which is not used
        try:
            found = curve_fit(shape, places, curve, p0=first, bounds=(low, high), maxfev=10_000)[0].tolist()
        except RuntimeError:
            return replace(none, failure="the solver did not converge")
    ranges = zip(("floor", "drop", "steepness", "midpoint"), found, low, high, strict=False)
    at = tuple(name for name, x, *ends in ranges if np.isclose(x, ends, rtol=1e-3, atol=1e-6).any())
    floor, drop, steepness, midpoint = (*found, 1.0)[:4]
    area = float(np.logaddexp(0.0, steepness * (midpoint - 1))) if len(found) == 4 else 1.0
    return Fit(floor, drop, steepness, midpoint, drop / steepness * area, at)
