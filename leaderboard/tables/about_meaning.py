"""Metrics of vectors and of pairs, in words. The formulas are those of semantic.py and similarity.py."""

from leaderboard.tables.explained import About

_SEES = "A text is cut at the model's token limit, and texts that mean nothing have vectors, too."
_ORDER = "Shuffled words look like the sentence they were made of."
_TOPIC = "Answers to one question share its topic, so differences of content stand beside a large part that all share."
_MODELS = "Values under two embedders cannot be compared."

MEANING: dict[str, About] = {
    "embedding_diversity": About(
        "1 − mean over pairs i < j of xᵢ · xⱼ, x the unit vector of an answer",
        "How far apart the answers' meanings lie on average, for a sentence-embedding model.",
        (
            "Noise lies far from everything: of nine systems on NoveltyBench's prompts, random characters come third.",
            _SEES,
            _ORDER,
            _TOPIC,
            "Where wording is held equal it loses much: on McDiv_nuggets' stories 0.38 against 0.61 on all of McDiv's "
            "(Spearman with the label, all-MiniLM-L6-v2).",
            f"{_MODELS} Under Tevet & Berant's embedder it is their sent-BERT.",
        ),
    ),
    "vendi_score": About(
        "exp(−Σ λ ln λ), λ the eigenvalues of X Xᵀ / n, X the answers' unit vectors",
        "The number of wholly different answers that would be as varied as these.",
        (
            "It is at most the number of answers and grows with it: compare equal k only.",
            "Similar but not equal answers add up: ten loosely related answers count as several.",
            _SEES,
            _MODELS,
        ),
    ),
    "vendi_score_q2": About(
        "1 / Σ λ², λ the eigenvalues of X Xᵀ / n, X the answers' unit vectors",
        "The Vendi score with more weight on what is common, so a rare odd answer counts less.",
        (
            "One outlier among many repeats is all but lost.",
            "It grows with the number of answers: compare equal k only.",
            _SEES,
        ),
    ),
    "kmeans_inertia": About(
        "(1/n) Σᵢ min_c |xᵢ − m_c|², with three centres m found by k-means (ten starts, seed 0)",
        "How spread the answers still are once they are put into three groups.",
        (
            "Three tight groups of different answers score 0: diversity between groups does not count.",
            "It needs more answers than centres, and of few answers it says little.",
            "The number three is a choice.",
            _SEES,
        ),
    ),
    "eigenscore_output": About(
        "(1/K) Σ log₁₀(λ + 10⁻³), λ the eigenvalues of X̃ X̃ᵀ / (d − 1), each row of X centred over its d features",
        "How large a space the answers' vectors span, on a logarithmic scale; GSSBench's E_output.",
        (
            "Its range is narrow: for ten unit vectors of 1,024 numbers from −2.90 (identical) to −2.70 (orthogonal).",
            "It depends on the size of vectors, their number of features and K: none of these may differ.",
            "The constant 10⁻³ is about as large as what it is added to, and decides much.",
            _SEES,
        ),
    ),
    "bert_score_diversity": About(
        "−mean over pairs i < j of F1ᵢⱼ, BERTScore's F1 of best-matching tokens, rescaled by its baseline",
        "How badly the words of one answer find partners of like meaning in another.",
        (
            "Where wording is held equal it loses much: on McDiv_nuggets' stories 0.35 against 0.60 on all of McDiv's "
            "(Spearman with the label, released values).",
            "Rescaling puts an F1 below its baseline under 0, so values can pass 0.",
            "It needs a large model for every pair, and texts over its token limit are cut.",
        ),
    ),
    "bert_sts_diversity": About(
        "−mean over pairs i < j of s(i, j), s the score of a model trained to judge sentence similarity (STS-B)",
        "How unlike two answers are to a model that was trained on people's judgements of similarity.",
        (
            "The weights behind the published numbers cannot be had: this is another model.",
            "It was trained on pairs of single sentences; longer answers are strange to it.",
            "A pair's score can depend on which text comes first.",
        ),
    ),
}
