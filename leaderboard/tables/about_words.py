"""Metrics of wording, in words. The formulas are those of benchmark/metrics/lexical.py."""

from leaderboard.tables.explained import About

_NOISE = "Random characters come first: nothing in them repeats, and nothing is said."
_SHUFFLED = "Shuffled words score a little higher than the sentences they were made of."
_ORDERLESS = "The order of words plays no part: shuffled, they score exactly as the sentences do."
_WORDING = "The same answer in other words counts as a new one."
_NUGGETS = "On McDiv_nuggets, whose high and low sets have equal distinct-n, it is near chance."
_SHORT_LOW = "A length n that no answer reaches counts as 0, so five different one-word answers get only 0.2."
_SPACES = "Words are split at white space: a script without spaces is one word a run."
_LENGTH = "It depends on length: compare sets of like length only."

WORDS: dict[str, About] = {
    "distinct_n_tevet": About(
        "(1/5) Σₙ₌₁..₅ |different n-grams| / |n-grams|, over all answers together; 0 for an n that has none. Periods "
        "and newlines are deleted, then split at single spaces",
        "The share of word sequences of one to five words that are not repeats, counted exactly as Tevet & Berant did.",
        (
            _NUGGETS,
            _WORDING,
            _SHUFFLED,
            _SHORT_LOW,
            "A newline joins its two neighbours into one word; case and other punctuation make words differ.",
        ),
    ),
    "cosine_diversity_tevet": About(
        "−(1/5) Σₙ₌₁..₅ mean over pairs i < j of cos(cᵢ, cⱼ), c the n-gram counts of an answer; a pair that shares no "
        "n-gram has cosine 0",
        "How little two answers share of the same word sequences, averaged over all pairs and over one to five words.",
        (
            _NOISE,
            "Short texts score high whatever they say: identical one-word answers get −0.2, identical long ones −1.",
            _WORDING,
            _SHUFFLED,
        ),
    ),
    "distinct_n": About(
        "(1/5) Σₙ₌₁..₅ |different n-grams| / |n-grams|, over all answers together; 0 for an n that has none. Split at "
        "white space",
        "The share of word sequences of one to five words that are not repeats.",
        (_NUGGETS, _WORDING, _SHUFFLED, f"{_LENGTH} Longer texts repeat more.", _SHORT_LOW, _SPACES),
    ),
    "ead": About(
        "(1/5) Σₙ₌₁..₅ Nₙ / (V (1 − ((V − 1)/V)^Cₙ)), Nₙ different among Cₙ n-grams, V = 50,257; 0 for an n that has "
        "none",
        "Distinct n-grams against the number that as many draws from a fixed vocabulary would give, so that length "
        "matters less.",
        (
            "With V this large, sets of a few hundred words are hardly corrected: it ranks them as distinct-n does.",
            "The same V stands for every n, though there are far more possible pairs than words.",
            "It can pass 1: different n-grams are more than draws with repeats would give.",
            _NUGGETS,
            _SHUFFLED,
        ),
    ),
    "unique_1grams": About(
        "|different words| over all answers together",
        "How many different words all answers use together.",
        (
            "It counts length before anything else: one long answer beats ten short different ones. On sets with "
            "labels it is at chance.",
            _ORDERLESS,
            _SPACES,
        ),
    ),
    "type_token_ratio": About(
        "|different words| / |words|, over all answers together",
        "The share of words that are new when they come: distinct-n for single words alone.",
        (_NOISE, f"{_LENGTH} It falls as texts grow.", _ORDERLESS, _WORDING),
    ),
    "entropy_1": About(
        "−Σ p ln p / ln C, p the share of each word among all C words of the answers",
        "How evenly the words are used, as a share of the evenness that C different words would have.",
        (_NOISE, _ORDERLESS, f"{_LENGTH} ln C grows with it.", _WORDING),
    ),
    "entropy_2": About(
        "−Σ p ln p / ln C, p the share of each pair of neighbouring words among all C pairs of the answers",
        "How evenly pairs of neighbouring words are used, as a share of the most that is possible.",
        (_NOISE, _SHUFFLED, "In short texts nearly every pair is new, so it is near 1 for most sets."),
    ),
    "compression_ratio": About(
        "bytes(DEFLATE₉(answers, sorted, joined by spaces)) / bytes(answers, sorted, joined by spaces)",
        "How much of the text is left when a packer has taken out what repeats.",
        (
            _NOISE,
            f"{_LENGTH} Longer texts pack better, and very short ones pass 1.",
            "The packer looks back 32,768 bytes only: of long answers, far repeats go unseen.",
            _WORDING,
            _SHUFFLED,
        ),
    ),
    "self_bleu": About(
        "mean over answers i of BLEU₄(answer i; references: all others), with exponential smoothing; less is more "
        "diverse",
        "How well each answer could pass for a translation of the others: shared phrases of one to four words.",
        (
            _NOISE,
            "Each answer is held against all others at once, so more answers give higher values: compare equal k only.",
            "Answers under four words are judged by fewer words, and smoothing decides much of what they get.",
            _WORDING,
        ),
    ),
    "rouge_l_similarity": About(
        "mean over pairs i < j of 2 LCS(i, j) / (|i| + |j|), LCS the longest common subsequence of stemmed words; less "
        "is more diverse",
        "How much of two answers' wording runs in the same order, averaged over all pairs.",
        (
            _NOISE,
            "Only letters a–z and digits are words: answers in other scripts, or of symbols, cannot be scored.",
            _WORDING,
            "GSSBench prints it with the sign of a similarity in some tables and of a diversity in others.",
        ),
    ),
}
