"""What the pages say in our own words, once for the application and the static export.

Paragraphs in which `code` and **what matters** are marked, and nothing else: Gradio shows them as Markdown, the export
as `static.render.marked` does. What only one of the two has (how its own table is read) stands beside that table.
"""

NO_RESULTS = (
    "There are no results yet. `divbench score SUBMISSION --out RESULTS` makes one; the page Submit of a served board "
    "takes submissions."
)
NO_RANKS = "No metric has a value for any system of this table."
MODELS = (
    "How diverse are the answers of a language model? Means over the prompts of a suite, with 95% intervals over "
    "prompts. **Systems that share a letter behind their rank are not told apart** by the metric that ranks them. "
    "Noise is diverse, too: known-bad baselines and people stand among the systems, for calibration."
)
COLUMNS = (
    "What each column means, where it comes from, and its signature: numbers of different signatures never share a "
    "column."
)
TRADEOFF = (
    "Diversity is easy to have alone: noise is diverse. What is hard is **different answers that are good**. Each "
    "system stands here with both; whiskers are 95% intervals over prompts. The dashed line is the Pareto front: "
    "systems that no other one beats on both."
)
CURVES = (
    "How many different answers to expect of m (rarefaction; what counts as the same is told on the page Metrics), and "
    "how useful they are to a reader who asks on with probability p (NoveltyBench's utility: 0 wants the first answer "
    "alone, 1 reads all). A curve of answers ends where fewer than four in five of the system's prompts have as many "
    "that count: cut-off answers and refusals do not. Where no reward model judged a system's answers here, its "
    "utility is of the classes and qualities that came with the submission, and its name says reported: another "
    "judge's are not to be held against ours."
)
NO_PATIENCE = (
    "There is no curve of patience: of none of these systems did a reward model judge the answers here, and no "
    "qualities of single answers came with the submissions."
)
COMPARE = (
    "Systems that answered the same prompts can be compared **prompt by prompt**, which tells more than two means "
    "beside each other."
)
ALONE = "It takes two systems to compare; this table has one."
EXPLORE = (
    "The words behind the numbers: what one system answered to one prompt. Responses of one colour say the same: they "
    "are one class; those without a colour are alone. Bits/byte alone is how surprising a language model finds a "
    "response that has only the prompt before it; quality is that of the first response of a class."
)
METRICS = (
    "A metric of diversity is worth what it agrees with: sets that people find diverse, sets made to be diverse, "
    "prompts that leave more or less room. **None agrees with all of them.**"
)
PAIRS = (
    "Of two prompts one leaves room for more different answers. The share of pairs that a metric orders rightly "
    "(GSSBench); ties are wrong, chance is one half. The table has what others published, too."
)
AGREEMENT = (
    "The rank correlation between every two metrics, over the same sets of responses or over the systems of a table."
)
WORST = "Where it is farthest from people: the sets with the greatest difference in rank"
STAGES = (
    "What does post-training do to diversity? The same prompts, answered by a model after each stage of its training: "
    "base, supervised fine-tuning (SFT), preference optimisation (DPO), reinforcement learning (RLVR). Contrasts are "
    "paired, prompt by prompt."
)
NO_STAGES = (
    "No table here has systems that are stages of one model. The answers that the study of OLMo's stages released come "
    "with the dataset olmo_stages; `divbench contrast olmo_stages/base olmo_stages/sft --length both` compares them."
)
PRINTED = "What the study of OLMo's stages printed"
CONTRASTS = (
    "Contrasts: Wilcoxon's signed-rank test of the prompts that both stages have a value on; Holm's correction over "
    "the pairs shown; d_z is the mean difference over the standard deviation of the differences; intervals are 95% "
    "percentile bootstrap intervals over prompts, 10,000 resamples. Curves are means over the prompts on which every "
    "stage has a whole curve; their bands are 1.96 standard errors over prompts. Later stages often answer at another "
    "length, and length moves most metrics: a series cut to equal length takes that away."
)
PRINTED_STAGES = (
    "arXiv:2606.01811, Table 4: D_Ca_n of OLMo-2-7B's stages under Qwen2.5-3B, ten responses a prompt, cut to equal "
    "length. Tests are one-sided but for the last; p is Bonferroni's. Another language model, other responses a prompt "
    "or uncut responses give other values: what can be compared is the order of the stages and d_z."
)
DATASETS = (
    "What is measured on, and what metrics are tested with. Every dataset is made from released files that are held to "
    "their hashes, or is generated here; the same version gives the same rows everywhere. Each keeps the licence of "
    "its source. A **suite** is a set of prompts that systems answer; the datasets beside them hold responses with "
    "human labels or of known structure."
)
CITE = "This package, and the paper of each dataset and metric that you use."

# What each figure of the application is, by the element's name, for who does not see it. Beside each stands its table.
_SAME = "The table beneath has the same numbers."
FIGURES = {
    "tradeoff": f"Systems on two metrics with 95% intervals, and the Pareto front. {_SAME}",
    "classes-plot": f"How many different answers to expect of m answers, a line a system. {_SAME}",
    "patience-plot": f"Utility by the reader's patience, a line a system. {_SAME}",
    "forest": f"Paired differences between systems with 95% intervals, a row a metric. {_SAME}",
    "curve": f"How surprising the response in each place is once those before it are known. {_SAME}",
    "strip": "The tokens of each response, coloured by their surprise. The table beneath has the same in words.",
    "curves": f"The mean surprise of the response in each place, a line a stage of training. {_SAME}",
    "spread": "Every prompt's value, a box a stage of training. The table beneath has the distribution in numbers.",
    "correlations-plot": f"Metrics by tasks, coloured by how far they agree with people or labels. {_SAME}",
    "pairs-plot": f"Metrics by splits of prompt pairs, coloured by the share that is ordered rightly. {_SAME}",
    "agreement-plot": f"Metrics by metrics, coloured by their rank correlation. {_SAME}",
}
