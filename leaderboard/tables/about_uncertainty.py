"""Metrics of the model that answered, in words. The formulas are those of uncertainty.py and hidden_states.py."""

from leaderboard.tables.explained import About

_OWN = "The numbers are the answering model's own: two models cannot be compared, and a model behind an API has none."
_SURE = "A model can be unsure of wording and sure of content, or confidently random."
_GREEDY = "It looks at one answer drawn without chance, so it says nothing of what was sampled."
_FORMS = "Published code and papers differ in what they compute under this name."
_K = "It depends on layers, on the size of states and on the number of answers: none of these may differ."

UNCERTAINTY: dict[str, About] = {
    "perplexity": About(
        "−(1/T) Σₜ ln p(yₜ | before), y the greedy answer of T tokens",
        "How unsure the model was of each token of the answer that it finds likeliest.",
        (_GREEDY, _SURE, "By convention here the logarithm stays: it ranks as its exponential would.", _OWN),
    ),
    "energy": About(
        "−(1/T) Σₜ ln Σᵥ exp(lₜᵥ), l the raw logits over the vocabulary at step t of the greedy answer",
        "How little weight the model gave to all tokens together, before probabilities are made of it.",
        (
            "A constant added to all logits of a step changes it, but no probability: training leaves that free.",
            _GREEDY,
            "It needs the logits of the whole vocabulary.",
            _OWN,
        ),
    ),
    "normalised_entropy": About(
        "−(1/K) Σₖ (1/Tₖ) Σₜ ln p(yₖₜ | before), over K sampled answers",
        "How unlikely the sampled answers were to the model itself, a token, on average.",
        (_SURE, "Long fluent tails hide a surprising beginning: every token counts alike.", _FORMS, _OWN),
    ),
    "normalised_entropy_inside": About(
        "−(1/K) Σₖ (1/Tₖ) Σₜ ln maxᵥ pₜᵥ, p after temperature and cut-offs",
        "How unsure the model was at each step by its largest probability, as the code of INSIDE has it.",
        (
            "It is not the entropy that its name says: the token that was drawn plays no part.",
            "Cutting to the likeliest tokens changes it.",
            _OWN,
        ),
    ),
    "mean_token_entropy": About(
        "(1/K) Σₖ (1/Tₖ) Σₜ H(pₜ), H the entropy of the model's whole distribution at step t",
        "How many ways the model saw to go on at each step, on average.",
        (
            _SURE,
            "Ways to go on that lead to the same content count, too.",
            "It needs the logits of the whole vocabulary.",
            _OWN,
        ),
    ),
    "e_original": About(
        "(1/K) Σ log₁₀(λ + 10⁻³), λ the eigenvalues of Z̃ Z̃ᵀ / (d − 1), Z the states of the answers' last tokens at the "
        "middle layer, each row centred over its d features",
        "How large a space the model's last states of its answers span.",
        (
            "One token says little of a whole answer: in GSSBench's paper it is near chance, 0.49 to 0.57.",
            "GSSBench's text and INSIDE's code differ in the layer, and that code reads the token before the last.",
            _K,
            _OWN,
        ),
    ),
    "e_average": About(
        "mean over layers of (1/K) Σ log₁₀(λ + 10⁻³), λ the eigenvalues of Z̃ Z̃ᵀ / (d − 1), Z the means of the states "
        "of each answer's tokens, each row centred over its d features",
        "How large a space the answers span in the model's own states, averaged over tokens and upper layers.",
        (
            "The layers are not stated in its paper; here they are those of INSIDE's code.",
            _K,
            "In part it follows the prompt's length: GSSBench's paper reports the correlation.",
            _OWN,
        ),
    ),
    "semantic_entropy": About(
        "−Σ_c P(c) ln P(c), P(c) = Σ_{k in c} e^(sₖ) / Σₖ e^(sₖ), sₖ the mean log-probability of a token of answer k, "
        "c the classes of answers that say the same",
        "How unsure the model was between different things to say, not between ways of saying them.",
        (
            "It inherits every mistake of the rule that makes the classes.",
            "Where all answers differ, only their likelihoods tell prompts apart.",
            _FORMS,
            _OWN,
        ),
    ),
    "semantic_entropy_discrete": About(
        "−Σ_c (n_c / K) ln(n_c / K), n_c the answers in class c",
        "How evenly the answers fall into classes that say the same, in nats.",
        (
            "Where all answers differ it is ln K whatever they say: many prompts tie, and ties are wrong in GSSBench.",
            "It inherits every mistake of the rule that makes the classes.",
            "It is the entropy of classes in another unit, and ranks exactly as that.",
        ),
    ),
}
