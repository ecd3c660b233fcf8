"""The texts of the pages, as Markdown with `code` and **emphasis** only."""

from benchmark.analysis.votes import RULE

NO_RESULTS = (
    "There are no results yet. To create one, run divbench score SUBMISSION --out RESULTS; on the board of a "
    "submission service, use the page Submit."
)
NO_RANKS = "No metric has a value for any system in this table."
COLUMNS = (
    "The meaning, source and signature of each column. Numbers with different signatures are not comparable and never "
    "share a column."
)
COMPARE = (
    "Systems that responded to the same prompts can be compared **prompt by prompt**, which is more sensitive than "
    "comparing two means."
)
COMPARE_METHOD = (
    "Means are the same as on the page Models, over all prompts of a system. Differences are over the prompts for"
    " which both systems have a value, with 95% percentile bootstrap intervals over prompts. p-values are from "
    "Wilcoxon's two-sided signed-rank test. The intervals are for the mean and uncorrected, so they can disagree "
    "with the tests. Where the test's ranks favour the system with the lower mean, or a paired t-test finds no "
    "difference of the means at 0.05, means and ranks disagree, and no system is ahead. The system that is more "
    "diverse or better on a prompt wins it; for metrics without a direction, the system with the higher value "
    "wins. d_z is the mean difference divided by the standard deviation of the differences. In the figure, "
    "positive d_z means that the first system is better, and open symbols mark metrics without a direction; "
    "differences that do not vary have no d_z and are not drawn. Responses are compared as sampled: systems can "
    "also differ because their responses differ in length or are truncated, refused or otherwise not valid."
)
ALONE = "A comparison needs two systems; this table has only one."
EXPLORE = (
    "The texts behind the scores: one system's responses to one prompt. Equivalent responses form one class and have "
    "the same colour; beyond eight such classes, colours repeat. A response without a colour is the only one in its "
    "class, or in none. Bits/byte alone is the surprisal of a response given only the prompt. The quality of a class "
    "is that of its first response."
)
METRICS = (
    "A diversity metric should agree with human judgements, with response sets of known diversity, and with prompts "
    "that leave more or less room for variety. **No metric agrees with all of them.**"
)
PAIRS = (
    "In each pair of prompts, one allows more different responses than the other. Accuracy is the share of pairs that "
    "a metric orders correctly. The pairs are ours, of GSSBench's six kinds; published results are of the paper's own "
    "pairs, which were not released. Ties count as errors; chance level is one half."
)
AGREEMENT = "Rank correlation between every two metrics, over the same response sets or over the systems of a table."
WORST = "Largest disagreements with people, by difference in rank"
STAGES = (
    "How does post-training change diversity? A model responds to the same prompts after each stage of its training: "
    "base, supervised fine-tuning (SFT), preference optimisation (DPO), reinforcement learning (RLVR). Contrasts "
    "between stages are paired by prompt."
)
NO_STAGES = (
    "No table here includes several training stages of one model. The responses released with the study of OLMo's "
    "stages are in the dataset olmo_stages; to compare two of its stages, run divbench contrast olmo_stages/base "
    "olmo_stages/sft --length both."
)
CONTRASTS = (
    "Contrasts use Wilcoxon's signed-rank test on the prompts for which both stages have a value, with Holm's "
    "correction over the pairs shown. d_z is the mean difference divided by the standard deviation of the differences; "
    "intervals are 95% percentile bootstrap intervals over prompts (10,000 resamples). Curves are means over the "
    "prompts for which every stage has a complete curve; bands are ±1.96 standard errors over prompts. Later stages "
    "often give responses of a different length, which affects most metrics; length-matched series remove this effect."
)
ALIKE = (
    "Do different models give equivalent responses? This page compares the similarity of responses between each pair "
    "of systems with the similarity within each system, on the same prompts, and shows **what two systems cover "
    "together**."
)
ALIKE_METHOD = (
    "The method follows the study of homogeneity across models (arXiv:2510.22954). For each prompt, the responses of "
    "all systems are grouped into equivalence classes together, so that a class means the same for every system. "
    "Similarity is the mean cosine similarity of embeddings over all pairs of a response from one system and a "
    "response from the other; on the diagonal, over pairs of different responses from the same system. Equivalent is "
    "the probability that two valid responses, drawn in the same way, are in one class. Classes in common is the share "
    "of the two systems' classes that both have. Together is the expected number of classes with a valid response "
    "among k responses, half from each system; it is computed exactly, without sampling. Because all systems are "
    "grouped together, responses from other systems can draw two responses from one system into one class, or apart "
    "into two, so numbers of different valid responses differ by some tenths from those on the page Models."
)
NOT_ALIKE = (
    "No table here has two systems with responses that were grouped together. The reference results do, and divbench "
    "board serve shows them. For your own systems, run divbench contrast SUBMISSION SUBMISSION --across."
)
ARENA = (
    "Compare two response sets to the same prompt, from two systems that are not named. **Which set has the more "
    "different ideas, and which would you rather have been given?** Votes are public, without your name; they show how "
    "well each metric of this board agrees with people."
)
ARENA_METHOD = (
    "Each side shows five responses of a system, chosen and ordered at random but the same for all visitors. Pairs are "
    "drawn at random: systems with few votes or similar strengths and prompts on which metrics disagree are more "
    "likely, and some pairs repeat one that other visitors have judged. One pair in ten is a check with a known "
    "answer: a set against one of its responses repeated, against the same responses with shuffled words, or against "
    "itself. You see the same pair until you answer or skip it, and you can undo your last vote. A vote is stored with "
    "the pair, the answers, the time, and a salted hash of your login or of a random token in your browser, but "
    "without a name or an address. The hash is the same for all your votes; the operator of this board can delete "
    "those of a login. The metric values next to a pair are for the whole response sets, of which only five responses "
    "are shown. Strengths are "
    "estimated with Davidson's model (Bradley-Terry with ties) and shown as points per vote against an average system, "
    "where a tie is half a point; intervals are 95%. "
    f"{RULE} A metric's agreement is the share of votes for one of the sides in which that side "
    "has the more diverse value; equal values count half, and votes for no difference are left out."
)
NO_VOTES = "This board takes no votes. The pages Explore and Compare show responses, with the names of their systems."
NO_PAIRS = (
    "There is nothing to judge yet: the arena needs two systems that responded to the same suite, with the texts of at "
    "least five responses per prompt. Known-bad baselines are not shown. New systems come from the page Submit."
)
UNDONE = "Your last vote is deleted. Its pair does not come back, because you have seen the names; here is another."
ALL_JUDGED = "There is no pair left that you have not judged. Thank you! New systems will bring new pairs."
NO_VOTES_YET = "There are no votes yet. The first ones appear here within a minute."
DATASETS = (
    "The prompts that systems respond to, and the data that metrics are tested on. Every dataset is built from "
    "released files with verified hashes, or generated by this package; a version has the same rows everywhere. Each "
    "dataset keeps the licence of its source. A **suite** is a set of prompts for submissions; the other datasets "
    "contain responses with human labels or with known structure. In the commands, `offline` is the small model that "
    "ships with the package; a Hub model at a commit, a folder or a server can take its place."
)
CITE = "Please cite this package and the paper of each dataset and metric that you use."
