"""Metrics of classes, in words. The formulas are those of benchmark/metrics/partition.py."""

from leaderboard.tables.explained import About

_RULE = "It inherits every mistake of what judges that two answers say the same; the signature names that."
_NOISE = "Nonsense is always something new: only blanks, placeholders and refusals are left out."
_GREEDY = "Greedy classes depend on the order of the answers: a prompt's count has a standard deviation of up to 0.32."
_CEILING = "It ends at k: where all answers differ, how much they differ does not count."
_REWARD = "A reward model stands in for people: it seems to favour long answers, and gives most good ones the top mark."
_CAME = "It came with the submission: what made the classes is known only as far as the signature says."

CLASSES: dict[str, About] = {
    "distinct_k": About(
        "|{classes among the k answers}|",
        "How many different things the k answers say.",
        (
            _RULE,
            _CEILING,
            _GREEDY,
            _NOISE,
            "Three conventions of it are published: one less, the number itself, and one more. Here it is the number.",
        ),
    ),
    "distinct_at_2": About(
        "Σ_c (1 − C(N − n_c, 2) / C(N, 2)), n_c of N answers in class c",
        "How many different things two of the answers would say: one, and the chance that the second differs.",
        (_RULE, "It sees how common the common answers are, and hardly the rare ones.", _NOISE),
    ),
    "distinct_at_5": About(
        "Σ_c (1 − C(N − n_c, 5) / C(N, 5)), n_c of N answers in class c",
        "How many different things five of the answers would say, so that systems with other k can be compared.",
        (_RULE, "It needs five answers that are in a class.", _NOISE),
    ),
    "class_entropy": About(
        "−Σ_c (n_c / N) log₂(n_c / N), n_c of N answers in class c",
        "How evenly the answers fall into things said, in bits.",
        (_RULE, f"{_CEILING} Its end is log₂ k.", _NOISE),
    ),
    "largest_class_share": About(
        "max_c n_c / N, n_c of N answers in class c; less is more diverse",
        "How often the most common answer comes.",
        (
            _RULE,
            "Only one class counts: the others may be many or one.",
            "With few answers it has few values, so many sets tie.",
        ),
    ),
    "utility_k": About(
        "(1 − p) / (1 − pᵏ) · Σᵢ pⁱ⁻¹ uᵢ over answers i that open a class, uᵢ their quality of 1 to 10, p = 0.8",
        "What the answers give a reader who asks for the next one four times in five and has no use for repeats.",
        (
            _REWARD,
            "Quality and diversity in one number: a good first answer repeated ten times gets 2.24 of 10.",
            "The order of the answers matters by design.",
            _RULE,
        ),
    ),
    "mean_head_quality": About(
        "mean of uᵢ over answers i that open a class, uᵢ their quality of 1 to 10",
        "How good that is what is new, however little it is.",
        (_REWARD, "It says neither more nor less diverse.", "Which answer of a class is judged depends on the order."),
    ),
    "first_quality": About(
        "u of the first answer that is in a class, 1 to 10",
        "How good the answer is for somebody who asks once.",
        (_REWARD, "It says nothing of diversity.", "It rests on one answer a prompt."),
    ),
    "distinct_k_reported": About(
        "|{classes in the partition that came with the submission}|",
        "How many different things the answers say by whoever handed them in.",
        (
            _CAME,
            "NoveltyBench's published files were made by two different rules, and some part identical texts.",
            "Files that count one too few are converted; one that counts by its own rule cannot be told.",
        ),
    ),
    "utility_k_reported": About(
        "(1 − p) / (1 − pᵏ) · Σᵢ pⁱ⁻¹ uᵢ over answers that open a class, with classes and qualities that came with the "
        "submission, p = 0.8",
        "The utility of the answers by the classes and qualities of whoever handed them in.",
        (_CAME, _REWARD, "People's short answers get low qualities, which looks like a taste for length."),
    ),
}
