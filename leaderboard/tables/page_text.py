"""The prose of the pages, shared by the application and the static export.

Only `code` and **emphasis** are marked up: Gradio renders them as Markdown, the export through `static.render.marked`.
"""

NO_RESULTS = (
    "There are no results yet. `divbench score SUBMISSION --out RESULTS` makes one; the Submit page of a served board "
    "accepts submissions."
)
NO_RANKS = "No metric has a value for any system in this table."
MODELS = (
    "How diverse are the responses of a language model? Scores are means over the prompts of a suite, with 95% "
    "confidence intervals. **Systems that share a letter after their rank are statistically tied** on the metric that "
    "ranks them. Noise is diverse, too: known-bad baselines and human responses are listed for calibration."
)
COLUMNS = (
    "The meaning, source and signature of each column. Numbers with different signatures are not comparable and never "
    "share a column."
)
TRADEOFF = (
    "Diversity alone is easy: noise is diverse. The challenge is to give **different responses that are all good**. "
    "Each system is plotted by both, with 95% intervals. The dashed line is the Pareto front: systems that no other "
    "system beats on both axes."
)
CURVES = (
    "How many different valid responses to expect among m (rarefaction; the Metrics page says when two responses count "
    "as the same, and what is valid), and how useful they are to a reader who asks for another with probability p "
    "(NoveltyBench's utility: a reader with p = 0 reads one response, one with p = 1 reads all). The curve over "
    "responses ends at the headline; a response that is not valid takes a place and adds nothing. If no reward "
    "model rated a system's responses here, its utility is computed from the classes and qualities that came with the "
    "submission and is marked as reported: ratings by another judge are not comparable with ours."
)
NO_PATIENCE = (
    "There is no utility curve: no reward model rated the responses of these systems here, and their submissions "
    "include no quality scores for single responses."
)
COMPARE = (
    "Systems that responded to the same prompts can be compared **prompt by prompt**, which is more sensitive than "
    "comparing two means."
)
ALONE = "A comparison needs two systems; this table has one."
EXPLORE = (
    "The texts behind the scores: one system's responses to one prompt. Responses of the same colour are equivalent: "
    "they form one class. Uncoloured responses are each in a class of their own. Bits/byte alone is the surprisal of a "
    "response given only the prompt; quality is that of the first response of a class."
)
METRICS = (
    "A diversity metric is worth as much as it agrees with human judgements, with response sets of known diversity, "
    "and with prompts that leave more or less room for variety. **No metric agrees with all of them.**"
)
PAIRS = (
    "In each pair of prompts, one allows more different responses than the other. Accuracy is the share of pairs that "
    "a metric orders correctly (GSSBench); ties count as errors, and chance level is one half. The table includes "
    "published results."
)
AGREEMENT = "Rank correlation between every two metrics, over the same response sets or over the systems of a table."
AXIOMS = (
    "What a measure of diversity should obey, tested on response sets that were constructed for it. **No** is certain, "
    "since one case is enough; **yes** is no proof."
)
WORST = "Largest disagreements with people, by difference in rank"
STAGES = (
    "How does post-training change diversity? Responses of a model to the same prompts after each stage of its "
    "training: base, supervised fine-tuning (SFT), preference optimisation (DPO), reinforcement learning (RLVR). "
    "Contrasts are paired by prompt."
)
NO_STAGES = (
    "No table here includes several training stages of one model. The responses released with the study of OLMo's "
    "stages are in the dataset olmo_stages; to compare two of its stages, run "
    "`divbench contrast olmo_stages/base olmo_stages/sft --length both`."
)
PRINTED = "Published results of the study of OLMo's stages"
CONTRASTS = (
    "Contrasts use Wilcoxon's signed-rank test on the prompts for which both stages have a value, with Holm's "
    "correction over the pairs shown. d_z is the mean difference divided by the standard deviation of the differences; "
    "intervals are 95% percentile bootstrap intervals over prompts (10,000 resamples). Curves are means over the "
    "prompts for which every stage has a complete curve; bands are ±1.96 standard errors over prompts. Later stages "
    "often respond at a different length, and length affects most metrics; length-matched series remove that effect."
)
PRINTED_STAGES = (
    "arXiv:2606.01811, Table 4: D_Ca_n of OLMo-2-7B's stages under Qwen2.5-3B, ten length-matched responses per "
    "prompt. All tests but the last are one-sided; p-values are Bonferroni-corrected. Another language model, another "
    "number of responses or unmatched lengths give other values; only the order of the stages and d_z are comparable."
)
ALIKE = (
    "Do different models give equivalent responses? How alike the responses of each pair of systems are on the same "
    "prompts, beside how alike each system's are to its own; and **what two systems cover together**."
)
ALIKE_METHOD = (
    "After the study of homogeneity across models (arXiv:2510.22954). For each prompt the responses of all systems "
    "are grouped into equivalence classes together, so that a class means the same for every system. Similarity is "
    "the mean cosine of embeddings over all pairs of a response of one system and a response of the other; on the "
    "diagonal, over pairs of different responses of one system. Equivalent is the probability that two valid "
    "responses, drawn the same way, are in one class; classes in common is the share of both systems' classes that "
    "both have. Together is the expected number of classes with a valid response among k responses, half from each "
    "system; it is computed exactly, without drawing. In classes of all systems together, two responses of one system "
    "can be equivalent because both resemble a third system's, so numbers of different responses differ a little from "
    "those on Models."
)
NOT_ALIKE = (
    "No table here has two systems whose responses were grouped together. The reference results have: "
    "`divbench board serve` shows them. For your own systems: `divbench contrast SUBMISSION SUBMISSION --across`."
)
ARENA = (
    "Two response sets to one prompt, from two systems that are not named. **Which set has the more different ideas, "
    "and which would you rather have been given?** Votes are public and anonymous; they show how well each metric of "
    "this board agrees with people."
)
ARENA_METHOD = (
    "Each side shows five responses of a system, chosen and ordered by chance but the same for all visitors. Pairs are "
    "drawn by chance: more often systems with few votes or of like strength, and prompts on which metrics disagree; "
    "some repeat a pair that others have judged. One in ten is a check with a known answer: a set against one of its "
    "responses repeated, against its own words shuffled, or against itself. A pair stays until you answer it. What is "
    "kept of a vote: the pair, the answers, the time, and a salted hash of your login or of a random token in your "
    "browser; no name and no address. The metrics beside a pair are those of the whole response sets, of which five "
    "responses are shown. Strengths are by Davidson's model (Bradley-Terry with ties), shown as points per vote "
    "against an average system, a tie being half a point; intervals are 95%, over voters and prompts. Votes of "
    "visitors who fail checks or answer at random count less. A metric's agreement is the share of votes for a side "
    "in which it is higher there; ties are left out."
)
NO_VOTES = (
    "This board takes no votes, because it has no store for them. To take votes: divbench board serve --results "
    "RESULTS --votes FOLDER, or --store STORE for a service."
)
NO_PAIRS = (
    "There is nothing to judge yet: the arena needs two systems that responded to the same suite, with at least five "
    "responses per prompt and with their texts (reference results have none). Score two submissions with divbench "
    "score and serve their results, or submit them on the page Submit."
)
NO_VOTES_YET = "There are no votes yet. The first ones appear here within a minute."
DATASETS = (
    "The prompts that systems respond to, and the data that metrics are tested on. Every dataset is built from "
    "released files with verified hashes, or generated here; the same version has the same rows everywhere. Each "
    "keeps the licence of its source. A **suite** is a set of prompts for submissions; the other datasets contain "
    "responses with human labels or with known structure."
)
CITE = "Please cite this package and the paper of each dataset and metric that you use."

# Text alternatives of the application's figures by element id. A table next to each figure has its numbers.
_SAME = "The table below has the same numbers."
FIGURES = {
    "tradeoff": f"Systems on two metrics with 95% intervals, and the Pareto front. {_SAME}",
    "classes-plot": f"Expected number of different valid responses among m, one line per system. {_SAME}",
    "patience-plot": "Utility by the reader's patience, one line per system. The table below has its numbers.",
    "forest": f"Paired differences between systems with 95% intervals, one row per metric. {_SAME}",
    "curve": f"Surprisal of the response at each position, given those before it. {_SAME}",
    "strip": "The tokens of each response, coloured by surprisal. The table below has the same in words.",
    "votes-plot": f"Systems by points per vote and by a metric, with 95% intervals. {_SAME}",
    "alike-plot": f"Systems by systems, coloured by how alike their responses are. {_SAME}",
    "curves": f"Mean surprisal of the response at each position, one line per training stage. {_SAME}",
    "spread": "Value of every prompt, one box per training stage. The table below summarises the distribution.",
    "correlations-plot": f"Metrics by tasks, coloured by agreement with people or labels. {_SAME}",
    "pairs-plot": f"Metrics by splits of prompt pairs, coloured by accuracy. {_SAME}",
    "agreement-plot": f"Metrics by metrics, coloured by rank correlation. {_SAME}",
}
