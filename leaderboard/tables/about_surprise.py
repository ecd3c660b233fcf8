"""Metrics of surprisal, in words. The formulas are those of benchmark/metrics/surprisal.py."""

from leaderboard.tables.explained import About

_JUDGE = (
    "The numbers belong to the language model that reads: compare them under one model, layout and set of orders only."
)
_NOISE = "Noise keeps all of its surprise, so random characters come first."
_INJECTED = "An answer with the label of a next answer in it is read as if that one had begun."
_ORDERS = "A curve from few orders is noisy, the more so at single places."
_NEITHER = "It says neither more nor less diverse, and is shown as a diagnosis."
_BITS = "In bits it grows with the length of the answers."
_NEGATIVE = "It is below 0 where the last place happens to be among the most surprising."
_HEAD = "aₖ: mean over orders of bits / bytes of the answer in place k, after the k − 1 before it. "
_C = "C = 2^(−mean of h), h the bits per byte of each answer alone"

SURPRISE: dict[str, About] = {
    "d_can": About(
        f"{_HEAD}D = C · aₙ; {_C}",
        "What the last answer still tells a reader who knows all others, held down where the answers are not language.",
        (
            _JUDGE,
            "It rests on one place of the curve; with unbalanced orders, on which answers happen to stand there.",
            "On sets with human labels it does worse than embeddings, here and in its paper.",
            _INJECTED,
        ),
    ),
    "retained_surprise": About(
        "R = mean of bits in places 2 … n / mean of bits of the answers alone",
        "The share of its surprise that an answer keeps once others were read.",
        (f"{_NOISE} R near 1 can mean that answers have nothing in common, or no sense.", _JUDGE, _INJECTED),
    ),
    "coherent_retained": About(
        f"C · R, R as in retained surprise; {_C}",
        "The share of surprise that stays, held down where the answers are not language.",
        ("On sets with human labels it does worse than R alone: C adds what has nothing to do with diversity.", _JUDGE),
    ),
    "tail_d_can": About(
        f"{_HEAD}C · mean of aₖ over k = ⌊n/2⌋ + 1 … n; {_C}",
        "D_Can from the second half of the curve in place of its last place alone.",
        (_JUDGE, "Places in the middle have read fewer answers: it lies above what all others would leave.", _INJECTED),
    ),
    "a_n": About(
        f"{_HEAD}aₙ, its last place",
        "What an answer still costs, a byte, for a model that has read all the others.",
        (
            _NOISE,
            "It rests on one place of the curve.",
            "Under the published tokenisation the last answer lacks the separator that the others end with, and pays "
            "about two bits more for it; exact boundaries mend that.",
            _JUDGE,
        ),
    ),
    "coherence": About(
        _C,
        "How likely a byte of the answers is for the model: near 1 for plain language, near 0 for noise.",
        (_NEITHER, "Rare words, names and other languages lower it just as nonsense does.", _JUDGE),
    ),
    "coherence_spread": About(
        "the standard deviation (over n, not n − 1) of h, the bits per byte of each answer alone",
        "Whether answers of very different fluency stand in one set.",
        (_NEITHER, "Short answers vary more in bits per byte, whatever they say.", _JUDGE),
    ),
    "excess_entropy": About(
        "E = Σₖ (aₖ − aₙ), aₖ the mean bits in place k",
        "How much the answers tell of each other before a reader has learned all that they share.",
        (_NEITHER, _NEGATIVE, _BITS, _ORDERS),
    ),
    "excess_entropy_rate": About(
        f"{_HEAD}Σₖ (aₖ − aₙ)",
        "Excess entropy in bits per byte, so that length matters less.",
        (_NEITHER, _NEGATIVE, _ORDERS),
    ),
    "coherent_excess": About(
        f"C · Σₖ (aₖ − aₙ), aₖ the mean bits in place k; {_C}",
        "Excess entropy, held down where the answers are not language.",
        (_NEITHER, "Some files of its authors call it D; it is not D_Can.", _NEGATIVE, _BITS),
    ),
    "coherent_excess_rate": About(
        f"{_HEAD}C · Σₖ (aₖ − aₙ); {_C}",
        "The rate of excess entropy, held down where the answers are not language.",
        (_NEITHER, "Some files of its authors call it D_rate; it is not D_Can.", _NEGATIVE, _ORDERS),
    ),
    "total_correlation": About(
        "TC = Σₖ (ā − aₖ), ā the mean bits of an answer alone, aₖ the mean bits in place k",
        "How many bits the answers of a set share in all.",
        (
            _NEITHER,
            _BITS,
            "An answer alone stands under the first label only: what labels cost does not cancel.",
            _JUDGE,
        ),
    ),
    "d_can_bits": About(
        f"C · aₙ with aₙ in bits of a whole answer; {_C}",
        "D_Can without dividing by length, as some code of its authors has it.",
        (_BITS, "On sets with human labels it is at chance or below: it mostly measures length.", _JUDGE),
    ),
}
