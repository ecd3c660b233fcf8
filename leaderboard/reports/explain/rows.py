"""An explanation as tables, sentences and figures, for the terminal and for the page.

Whoever shows the untrusted texts must escape them, as `print_explanation` does.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from rich.console import Console

from benchmark.analysis.explain import SCALARS, Explanation
from benchmark.metrics.curve_fits import Fit
from benchmark.metrics.metric import Metric, Missing
from divbench.core.errors import counted
from divbench.core.tables import Table, number, plain, to_terminal
from leaderboard.figures.plots import curve_figure, pair_figure, token_figure
from submissions.untrusted.plain_text import shortened

MOST_TOKENS = 6  # of a pair, in a sentence
SHOWN = 50  # rows of a table in the terminal
TEXT, PROMPT = 60, 200  # letters in the terminal
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


def tables(found: Explanation, length: int | None = None) -> tuple[Table, Table, Table]:
    """The scalars, the curve and the responses as tables; texts are cut to a number of characters, if one is given."""
    scalars = [_scalar(metric, found) for metric in SCALARS]
    columns = (found.rate.mean, found.rate.error, found.bits.mean, found.bits.error)
    places = zip(*(column.tolist() for column in columns), strict=True)
    curve = [(str(place), *map(_number, row)) for place, row in enumerate(places, 1)]
    texts = [shortened(text, length) if length else text for text in found.given.responses]
    costs = zip(found.byte_counts, found.alone, found.last, found.alone - found.last, texts, strict=True)
    responses = [
        (str(place), str(size), *(_number(bits, 1) for bits in each), text)
        for place, (size, *each, text) in enumerate(costs, 1)
    ]
    units = ("a_k (bits/byte)", "± SE (bits/byte)", "a_k (bits)", "± SE (bits)")
    sizes = ("bytes", "bits alone", "bits in last position", "bits saved")
    return (
        Table("What the model finds", ("number", "value", "unit", "what it says"), scalars, numbers=("value",)),
        Table("The curve, with standard errors (SE)", ("position k", *units), curve),
        Table("The responses", ("response", *sizes, "text"), responses, numbers=sizes),
    )


def figures_of(found: Explanation) -> list[Any]:
    """The curve, the pairs if they were read, and the tokens as figures."""
    pairs = [] if isinstance(found.pairs, Missing) else [pair_figure(found.pairs, found.given.responses)]
    return [curve_figure(found.rate, found.bits), *pairs, token_figure(found.tokens)]


def _scalar(metric: Metric, found: Explanation) -> tuple[str, str, str, str]:
    value = found.values[metric.id]
    if isinstance(value, Missing):
        return metric.title, "-", metric.unit, f"missing: {value.reason}"
    return metric.title, number(value), metric.unit, _MEANINGS.get(metric.id, "")


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


def print_explanation(
    found: Explanation, title: str, console: Console, left_out: int = 0, precision: float | None = None
) -> None:
    """Print the scalars, the curve and the responses as tables, and the rest in sentences."""
    console.print(
        plain(f"{title}: {counted(len(found.given.responses), 'response')}, read by {found.model} ({found.layout})")
    )
    console.print(plain(f"Prompt: {shortened(found.given.prompt, PROMPT)}"))
    for table in tables(found, TEXT):
        console.print(to_terminal(replace(table, rows=table.rows[:SHOWN])))
    if len(found.given.responses) > SHOWN:
        console.print(f"The first {SHOWN} positions and responses are shown; --json has all.")
    for note in notes(found, left_out, precision):
        console.print(plain(note), soft_wrap=True)
