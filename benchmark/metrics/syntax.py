"""Metrics of part-of-speech tags: similarity of sentence structure. Input: the tags of each response by sentence."""

import math
from collections.abc import Sequence
from functools import partial
from itertools import chain

from benchmark.metrics.metric import Metric, Unscorable, Version
from benchmark.metrics.text_overlap import compression_ratio

Tags = Sequence[Sequence[str]]  # of one response, sentence by sentence


def template_rate(responses: Sequence[Tags], n: int) -> float:
    """Compute the share of responses with a template: a sequence of n tags that also occurs in another response.

    Sequences do not cross sentence boundaries. A response with fewer than n tags in each sentence has none.

    >>> template_rate([[["DT", "NN", "VBZ"]], [["DT", "NN", "VBD"]], [["UH", "."]]], n=2) == 2 / 3
    True
    """
    return sum(count > 0 for count in _template_counts(responses, n)) / len(responses)


def templates_per_token(responses: Sequence[Tags], n: int) -> float:
    """Compute the mean over responses of the number of positions where a template begins per tag.

    Templates are those of `template_rate`; overlapping ones count separately.

    >>> templates_per_token([[["DT", "NN", "VBZ", "."]], [["DT", "NN"]]], n=2)
    0.375
    """
    counts, lengths = _template_counts(responses, n), [sum(map(len, each)) for each in responses]
    return math.fsum(count / max(length, 1) for count, length in zip(counts, lengths, strict=True)) / len(responses)


def tag_compression_ratio(responses: Sequence[Tags]) -> float:
    """Compute the `compression_ratio` of the responses' tags, joined by spaces; higher is more diverse.

    >>> few, many = [[["DT", "NN"] * 9]] * 2, [[["DT", "NN"] * 9], [["PRP", "VBD", "RB", "IN", "CD", "NNS"]]]
    >>> tag_compression_ratio(few) < tag_compression_ratio(many)
    True
    """
    return compression_ratio([" ".join(tag for sentence in tags for tag in sentence) for tags in responses])


def _template_counts(responses: Sequence[Tags], n: int) -> list[int]:
    """Count the positions in each response where a template begins."""
    tags = dict.fromkeys(chain.from_iterable(chain.from_iterable(responses)))
    # One letter per tag: a string keeps its hash, a tuple of tags does not.
    letters = dict(zip(tags, map(chr, range(len(tags))), strict=True))
    texts = [["".join(map(letters.__getitem__, sentence)) for sentence in each] for each in responses]
    sequences = [[text[i : i + n] for text in of_response for i in range(len(text) - n + 1)] for of_response in texts]
    seen: set[str] = set()
    repeated: set[str] = set()
    for of_response in map(set, sequences):
        repeated |= seen & of_response
        seen |= of_response
    if not seen:
        raise Unscorable(f"no sentence of {n} tokens")
    return [sum(map(repeated.__contains__, of_response)) for of_response in sequences]


_TAGGER = "Tags are guesses from an English lexicon: text in another language gets wrong tags."
_OTHER_SCRIPT = "A set with a response that is mostly not in Latin script has no value."
_SHORT = "A response shorter than six tokens never has a template: copies of it count as if nothing were repeated."
_CONTENT = "Content has no effect: six different facts in sentences of the same structure are the least diverse."
_SHUFFLED = "Shuffled words have no sentence structure and share few templates, so they count as diverse."
_MORE = "More and longer responses share more templates: compare only sets of similar length and equal k."
_FIRST = Version(1, "2026-11-23", "first version: part-of-speech tags")
_PAPER = "Shaib et al. 2024, arXiv:2407.00211"

_metric = partial(Metric, reads="tags", needs=2, family="words", history=(_FIRST,))

METRICS: tuple[Metric, ...] = (
    _metric(
        "template_rate",
        "share of responses with a syntactic template",
        partial(template_rate, n=6),
        direction=-1,
        bounds=(0, 1),
        unit="share of responses",
        paper=f"{_PAPER}; there, templates are the commonest sequences of a whole corpus",
        parameters={"n": "6", "shared-by": "2"},
        formula="|responses with a sequence of 6 part-of-speech tags that another response has| / |responses|; "
        "sequences lie within a sentence; less is more diverse",
        summary="The share of responses that have six tokens of the same structure as another response.",
        failures=(_CONTENT, _SHUFFLED, _SHORT, _MORE, _TAGGER, _OTHER_SCRIPT),
    ),
    _metric(
        "templates_per_token",
        "syntactic templates per token",
        partial(templates_per_token, n=6),
        direction=-1,
        bounds=(0, 1),
        unit="templates / token",
        paper=f"{_PAPER}; there, templates are the commonest sequences of a whole corpus",
        parameters={"n": "6", "shared-by": "2"},
        formula="mean over responses of |positions where a sequence of 6 part-of-speech tags begins that another "
        "response has| / |tags|; less is more diverse",
        summary="How often six tokens in a response have the same structure as in another response, per token.",
        failures=(
            _CONTENT,
            _SHUFFLED,
            _SHORT,
            "Even copies do not reach 1: the last five tokens of a sentence begin no template.",
            _MORE,
            _TAGGER,
            _OTHER_SCRIPT,
        ),
    ),
    _metric(
        "tag_compression_ratio",
        "compression ratio of part-of-speech tags",
        tag_compression_ratio,
        direction=+1,
        bounds=(0, None),
        unit="bytes / byte",
        paper=f"{_PAPER} (CR-POS), inverted as compression_ratio",
        parameters={"codec": "deflate-9"},
        formula="bytes(DEFLATE₉(tags)) / bytes(tags), tags those of all responses, sorted by response, joined by "
        "spaces",
        summary="How much of the sequence of part-of-speech tags is left after compression, which removes repetition.",
        failures=(
            "Words that all have one tag, such as a list of numbers, compress better than copies of a sentence.",
            "Shuffled words and random characters compress worse than sentences.",
            "It depends on length: compare only sets of similar length. Longer texts compress better.",
            "Content has no effect.",
            _TAGGER,
            _OTHER_SCRIPT,
        ),
    ),
)
