"""An explanation as rows of words and numbers, for the terminal and for the page. Pure.

Untrusted text is cut to one line here; callers must still escape it.
"""

import math
from collections.abc import Iterator

from benchmark.analysis.explain import SCALARS, Explanation
from benchmark.metrics.curve_fits import Fit
from benchmark.metrics.metric import Missing
from datasets_build.errors import counted
from datasets_build.tables import number
from submissions.untrusted.plain_text import shortened

MOST_TOKENS = 6  # of a pair, in a sentence
SCALAR_COLUMNS = ("number", "value", "unit", "what it says")
CURVE_COLUMNS = ("position k", "a_k (bits/byte)", "± SE (bits/byte)", "a_k (bits)", "± SE (bits)")
RESPONSE_COLUMNS = ("response", "bytes", "bits alone", "bits in last position", "bits saved", "text")
_MEANINGS = {
    "a_1": "cost of a response after the prompt alone",
    "a_n": "cost of a response after all others",
    "d_can": "the paper's score: cost of a response after all others, times coherence",
    "tail_d_can": "D_Ca_n with the mean of the curve's second half as a_n: less noise",
    "retained_surprise": "share of surprise left after all others: near 0 repeats, near 1 nothing in common",
    "coherent_retained": "R times coherence, so that noise counts little",
    "coherence": "mean probability of a byte of the responses on their own (geometric); noise is near 0",
    "coherence_spread": "spread of bits/byte between responses on their own; not a measure of diversity",
    "excess_entropy": "bits that each position costs more than the last, summed; grows with length",
    "excess_entropy_rate": "E of the curve in bits/byte",
    "coherent_excess": "E times coherence",
    "coherent_excess_rate": "E_rate times coherence",
    "total_correlation": "bits that reading the set in turn saves over reading each response alone",
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
    """Yield the other findings as sentences.

    Args:
        left_out: Number of blank responses and placeholders, which were ignored.
        precision: Target standard error of a_n in bits/byte, to state the number of orders for; or None.

    Raises:
        ConfigurationError: As in `Explanation.orders_for`.
    """
    if left_out:
        yield (
            f"Left out: {counted(left_out, 'response')}, blank or placeholders such as [Blocked]. The others are "
            "numbered without them."
        )
    count, estimator = len(found.read.design.orders), found.estimator
    yield f"Standard errors: due to the choice of {count} orders ({found.read.design.name}), estimated by {estimator}."
    if precision is not None:
        wanted = found.orders_for(precision)
        yield f"For a_n with a standard error of {precision:g} bits/byte: at most about {wanted} balanced orders."
    (low, high), (less, more) = found.bands.coherence, found.bands.d_can
    yield (
        f"Over the spread of coherence, C runs from {number(low)} to {number(high)} and D_Ca_n from {number(less)} to "
        f"{number(more)} bits/byte; this is not a confidence interval."
    )
    yield from (_fit(name, fit) for name, fit in found.fits.items())
    yield from _pairs(found)


def _fit(name: str, fit: Fit) -> str:
    if not fit.converged:
        return f"The {name} fit of the curve failed: {fit.failure}."
    bounds = f"; {', '.join(fit.at_bounds)} at the end of its range, so E_fit is unreliable"
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
        f"Right after another response, a response costs {_less(summary.off_diagonal)} on average, and right after "
        f"itself {_less(summary.diagonal)}; {summary.share_positive:.0%} of the pairs save bits."
    )
    strongest = found.pairs.strongest
    saved = sum(token.saved for token in found.strongest or ())
    if strongest is None or found.strongest is None or saved <= 0:
        return
    i, j = strongest
    shown = (token for token in found.strongest if token.text and token.saved > 0)
    best = sorted(shown, key=lambda token: -token.saved)[:MOST_TOKENS]
    tokens = ", ".join(f"“{shortened(token.text, 20)}” {token.saved:.1f}" for token in best)
    yield f"Response {i + 1} saves most, {saved:.1f} bits after response {j + 1}; most of them in {tokens}."


def _less(bits: float) -> str:
    """Bits saved, in words; a negative number is "more"."""
    return f"{abs(bits):.1f} bits {'less' if bits >= 0 else 'more'}"


def _number(value: float, digits: int = 4) -> str:
    return f"{value:.{digits}f}" if math.isfinite(value) else "-"
