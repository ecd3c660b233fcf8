"""An explanation as rows of words and numbers: the same for the terminal and for the page. Pure.

Untrusted text is cut to one line here; it is still to be escaped where it is shown.
"""

import math
from collections.abc import Iterator

from benchmark.analysis.explain import SCALARS, Explanation
from benchmark.metrics.curve_fits import Fit
from benchmark.metrics.metric import Missing
from datasets_build.tables import number
from submissions.untrusted.plain_text import shortened

MOST_TOKENS = 6  # of a pair, in a sentence
SCALAR_COLUMNS = ("number", "value", "unit", "what it says")
CURVE_COLUMNS = ("position k", "a_k (bits/byte)", "± SE (bits/byte)", "a_k (bits)", "± SE (bits)")
RESPONSE_COLUMNS = ("response", "bytes", "bits alone", "bits in last position", "bits saved", "text")
_MEANINGS = {
    "a_1": "what a response costs with only the prompt before it",
    "a_n": "what a response costs with all others before it",
    "d_can": "the paper's score: what the others cannot tell of a response, times coherence",
    "tail_d_can": "D_Ca_n with the second half of the curve for a_n: less noise",
    "retained_surprise": "how much surprise stays once others were read: near 0 repeats, near 1 nothing in common",
    "coherent_retained": "R times coherence, so that noise counts little",
    "coherence": "how probable a byte is of the responses on their own; noise is near 0",
    "coherence_spread": "how uneven that is between responses; no measure of diversity",
    "excess_entropy": "how much the others tell of a response, summed over positions; grows with length",
    "excess_entropy_rate": "E for each byte",
    "coherent_excess": "E times coherence",
    "coherent_excess_rate": "E_rate times coherence",
    "total_correlation": "how much less the whole set costs read in turn than each response alone",
    "d_can_bits": "a hybrid in the authors' code; grows with length",
}


def scalar_rows(found: Explanation) -> list[tuple[str, str, str, str]]:
    """Rows of the scalars: title, value, unit and meaning, or the reason why it is missing."""
    rows = []
    for metric in SCALARS:
        value = found.values[metric.id]
        if isinstance(value, Missing):
            rows.append((metric.title, "-", metric.unit, f"missing: {value.reason}"))
        else:
            rows.append((metric.title, number(value), metric.unit, _MEANINGS.get(metric.id, "")))
    return rows


def curve_rows(found: Explanation) -> list[tuple[str, ...]]:
    """Rows of the curve: each position, with the value and its standard error in both units."""
    columns = (found.rate.mean, found.rate.error, found.bits.mean, found.bits.error)
    places = zip(*(column.tolist() for column in columns), strict=True)
    return [(str(place), *map(_number, row)) for place, row in enumerate(places, 1)]


def response_rows(found: Explanation, length: int) -> list[tuple[str, ...]]:
    """Rows of the responses: index, bytes, bits alone, in the last position and saved there, and the text, cut."""
    columns = (found.byte_counts, found.alone, found.last, found.alone - found.last)
    values = zip(*(column.tolist() for column in columns), strict=True)
    return [
        (str(place), str(size), *(_number(bits, 1) for bits in each), shortened(text, length))
        for place, ((size, *each), text) in enumerate(zip(values, found.given.responses, strict=True), 1)
    ]


def notes(found: Explanation, left_out: int = 0, precision: float | None = None) -> Iterator[str]:
    """What else is to be said, in sentences.

    Args:
        left_out: Number of blank responses and placeholders, which were ignored.
        precision: A standard error of a_n, bits/byte, to say the number of orders for.

    Raises:
        ConfigurationError: As in `Explanation.orders_for`.
    """
    if left_out:
        yield f"{left_out} responses are blank or placeholders such as [Blocked], and were left out."
    count, estimator = len(found.read.design.orders), found.estimator
    yield f"Standard errors are those of choosing {count} orders ({found.read.design.name}), estimated by {estimator}."
    if precision is not None:
        wanted = found.orders_for(precision)
        yield f"For a_n with a standard error of {precision:g} bits/byte: {wanted} balanced orders."
    (low, high), (less, more) = found.bands.coherence, found.bands.d_can
    yield (
        f"Over the spread of coherence, C runs from {number(low)} to {number(high)} and D_Ca_n from {number(less)} to "
        f"{number(more)} bits/byte; that is no confidence interval."
    )
    yield from (_fit(name, fit) for name, fit in found.fits.items())
    yield from _pairs(found)


def _fit(name: str, fit: Fit) -> str:
    if not fit.converged:
        return f"The {name} fit of the curve failed: {fit.failure}."
    bounds = f"; {', '.join(fit.at_bounds)} at the end of its range, so E_fit is not to be trusted"
    return (
        f"The {name} fit of the curve: floor {fit.floor:.1f}, drop {fit.drop:.1f}, E_fit {fit.excess:.1f} bits"
        f"{bounds if fit.at_bounds else ''}."
    )


def _pairs(found: Explanation) -> Iterator[str]:
    if isinstance(found.pairs, Missing):
        yield f"Responses were not read in pairs: {found.pairs.reason}."
        return
    summary = found.pairs.summary
    yield (
        f"Right after another response, one costs {_less(summary.off_diagonal)} on average, and right after itself "
        f"{_less(summary.diagonal)}; {summary.share_positive:.0%} of the pairs save any."
    )
    strongest = found.pairs.strongest
    saved = sum(token.saved for token in found.strongest or ())
    if strongest is None or found.strongest is None or saved <= 0:
        return
    i, j = strongest
    shown = (token for token in found.strongest if token.text and token.saved > 0)
    best = sorted(shown, key=lambda token: -token.saved)[:MOST_TOKENS]
    tokens = ", ".join(f"“{shortened(token.text, 20)}” {token.saved:.1f}" for token in best)
    yield f"Response {i + 1} gains most, {saved:.1f} bits from response {j + 1} before it; most of it in {tokens}."


def _less(bits: float) -> str:
    """Bits saved, in words: what saves less than nothing costs more."""
    return f"{abs(bits):.1f} bits {'less' if bits >= 0 else 'more'}"


def _number(value: float, digits: int = 4) -> str:
    return f"{value:.{digits}f}" if math.isfinite(value) else "-"
