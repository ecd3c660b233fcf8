"""`divbench contrast`."""

from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchmark.analysis.contrast.choices import Expected, Length, Pairing, PromptSet
from benchmark.scoring.options import LEXICAL, CacheOption, ProfileOptions
from divbench.core.console import (
    JsonOption,
    MirrorOption,
    data_option,
    deliver,
    err,
    output_option,
    progress,
    statistics_option,
)
from divbench.core.errors import ConfigurationError
from divbench.core.option_groups import with_option_groups
from divbench.core.tables import check_report_path

if TYPE_CHECKING:
    from benchmark.analysis.contrast.labels import Labels, PromptScores
    from benchmark.analysis.contrast.systems import Systems
    from benchmark.scoring.backends import ScoringBackends
    from divbench.core.tables import Report

_labels_option = partial(typer.Option, rich_help_panel="Labels")

# Options, by argument name, that only one mode of the command uses: giving one in another mode is an error.
_OF_SYSTEMS = ("length", "alternative", "pairs", "prompt_set", "profile", "device", "settings", "k", "cache")
_OF_LABELS = ("label_column", "positive", "negative", "against")
_OF_TESTS = ("length", "alternative", "pairs")


@with_option_groups
def contrast(
    context: typer.Context,
    systems: Annotated[
        list[str],
        typer.Argument(
            help=(
                "Submission folders to compare, or stages such as olmo_stages/base: two or more, in order. With "
                "--labels: one result folder of divbench score."
            )
        ),
    ],
    models: ProfileOptions = LEXICAL,
    length: Annotated[
        Length,
        data_option(
            help=(
                "Texts to compare: raw; matched (all responses of a prompt cut to the bytes of the shortest); or both."
            )
        ),
    ] = "both",
    alternative: Annotated[
        Expected, statistics_option(help="Alternative hypothesis; greater: the earlier system is more diverse.")
    ] = "greater",
    pairs: Annotated[Pairing, statistics_option(help="Pairs of systems to compare.")] = "consecutive",
    across: Annotated[
        bool,
        data_option(
            "--across",
            help="Homogeneity across systems instead of tests: how similar they are and what two cover together.",
        ),
    ] = False,
    prompt_set: Annotated[PromptSet, data_option(help="Prompt set of olmo_stages.")] = "alpacaeval",
    k: Annotated[
        int | None,
        data_option(help="Number of responses per prompt, taken from the first; default: as many as every system has."),
    ] = None,
    labels: Annotated[
        Path | None,
        _labels_option(
            help=(
                "File of prompt labels (.csv, .jsonl or .parquet) with the columns prompt_id and label (0 and "
                "1, true and false, or words), to compare two groups of one system's prompts."
            )
        ),
    ] = None,
    label_column: Annotated[str, _labels_option(help="Label column.")] = "label",
    positive: Annotated[list[str] | None, _labels_option(help="Label of group 1; may be repeated.")] = None,
    negative: Annotated[
        list[str] | None, _labels_option(help="Label of group 0; may be repeated; default: all other labels.")
    ] = None,
    against: Annotated[
        list[str] | None, _labels_option(help="Numeric column to correlate the scores with; may be repeated.")
    ] = None,
    resamples: Annotated[int, statistics_option(min=100, help="Number of bootstrap resamples over prompts.")] = 10_000,
    seed: Annotated[
        int, statistics_option(min=0, help="Random seed of the bootstrap and of the folds of --labels.")
    ] = 0,
    destination: Annotated[Path | None, output_option("--out", help="Output file: .md, .csv or .json.")] = None,
    cache: CacheOption = None,
    mirror: MirrorOption = None,
    json: JsonOption = False,
) -> None:
    """Compare systems prompt by prompt: paired tests by every metric of a profile, all on the same texts.

    For each metric and pair: both means, the mean difference with a bootstrap interval over prompts, Cohen's d_z, and
    Wilcoxon's signed-rank test with p-values corrected over the pairs by Bonferroni and by Holm. A prompt that lacks a
    value on either side is excluded for that metric, and counted with its reason.

    Longer texts repeat more words and have more room for variation, so length matters: *matched* cuts every response to
    a prompt to the length of the shortest one over all systems, and excludes prompts where that is under 50 bytes.

    Does training make OLMo less diverse, stage by stage, as in arXiv:2606.01811?

      divbench contrast olmo_stages/base olmo_stages/sft olmo_stages/dpo olmo_stages/instruct --pairs all

    Do two systems differ at all?

      divbench contrast subs/one subs/other --alternative two-sided --out table.md

    With --across: how similar are responses between systems and within each system, and what do two systems cover?

      divbench contrast subs/one subs/other subs/third --across --profile semantic

    With --labels: do the scores of *one* system tell two groups of its prompts apart? For each metric: both means,
    Welch's t, Cohen's d, AUROC, and the accuracy of a threshold on the score for held-out prompts. Do prompts that call
    for a clarifying question have a larger space of responses, and longer reasoning, as in arXiv:2510.12699?

      divbench contrast results/0123456789abcdef --labels rifts.csv --positive addressing --positive ambiguous

      divbench contrast results/0123456789abcdef --labels rifts.csv --against reasoning_tokens --out groups.md
    """
    from benchmark.analysis.contrast.label_files import read_labels, read_scores
    from benchmark.analysis.contrast.report import report_of
    from benchmark.analysis.contrast.study import contrast_systems, number_of_tests, texts_of
    from benchmark.analysis.contrast.systems import open_systems
    from benchmark.scoring.backends import ScoringBackends
    from benchmark.surprisal.cache import default_cache_path

    check_report_path(destination)
    if labels is not None:
        _refuse_given(context, _OF_SYSTEMS, "cannot be used with --labels: it is an option for several systems")
        words = {"positive": positive or (), "negative": negative or (), "against": against or ()}
        if len(systems) != 1:
            message = f"--labels compares prompts of one system, and {len(systems)} are named"
            raise ConfigurationError(message, "name one")
        scores = read_scores(Path(systems[0]))
        groups = read_labels(labels, scores.prompt_ids, label_column=label_column, **words)
        report = _groups_report(scores, groups, resamples, seed)
    else:
        _refuse_given(context, _OF_LABELS, "needs --labels")
        if across:
            _refuse_given(context, _OF_TESTS, "cannot be used with --across: it is an option of paired tests")
        backends = ScoringBackends(models.load(), cache or default_cache_path())
        opened = open_systems(systems, prompt_set=prompt_set, k=k, mirror=mirror)
        if across:
            report = _across_report(opened, backends, resamples, seed)
        else:
            if k is None:
                err().print(f"the first {opened.k} responses of each prompt are compared")
            texts = texts_of(opened, length)
            with progress() as bar:
                sets = sum(len(own) for each in texts for own in each.responses.values())
                scoring = bar.add_task("scoring", total=sets)
                testing = bar.add_task("testing pairs", total=number_of_tests(texts, backends.profile, pairs))
                study = contrast_systems(
                    texts,
                    backends,
                    expected=alternative,
                    pairing=pairs,
                    resamples=resamples,
                    seed=seed,
                    progress=lambda sets: bar.advance(scoring, sets),
                    tested=lambda pairs: bar.advance(testing, pairs),
                )
            report = report_of(study)
    deliver(report, destination, as_json=json)


def _across_report(opened: "Systems", backends: "ScoringBackends", resamples: int, seed: int) -> "Report":
    """Run `--across`: how similar systems are."""
    from benchmark.analysis.across.classes import GroupedPrompt, across_systems, group_prompt, valid_responses
    from benchmark.analysis.across.report import report_of
    from benchmark.analysis.across.study import homogeneity
    from benchmark.metrics import Unscorable

    names, sets = list(opened.responses), list(opened.responses.values())
    grouped: dict[str, GroupedPrompt] = {}
    left_out: Counter[str] = Counter()
    with progress() as bar:
        for each in bar.track(opened.prompts, description="grouping"):
            own = [texts[each.prompt_id] for texts in sets]
            ended = [opened.reasons(name, each.prompt_id) for name in names]
            try:
                grouped[each.prompt_id] = group_prompt(each.prompt, own, (opened.k,), backends, ended)
            except Unscorable as error:
                left_out[str(error)] += 1
    if not grouped:
        reasons = ", ".join(left_out)
        raise ConfigurationError(
            f"the responses of these systems cannot be grouped on any prompt: {reasons}",
            "compare fewer systems, or fewer responses of each (--k)",
        )
    prompts = [each for each in opened.prompts if each.prompt_id in grouped]
    ids, texts = [each.prompt_id for each in prompts], [each.prompt for each in prompts]
    valid = [dict(zip(ids, valid_responses(texts, [own[i] for i in ids], backends), strict=True)) for own in sets]
    found = across_systems(tuple(names), opened.k, grouped, valid)
    study = homogeneity(found, resamples=resamples, seed=seed)
    return report_of(study, opened.suite.name, backends.profile.name, left_out)


def _groups_report(scores: "PromptScores", labels: "Labels", resamples: int, seed: int) -> "Report":
    """Run `--labels`: compare groups of one system's prompts."""
    from benchmark.analysis.contrast.label_report import report_of
    from benchmark.analysis.contrast.label_study import contrast_groups

    with progress() as bar:
        task = bar.add_task("resampling prompts", total=resamples)
        study = contrast_groups(
            scores, labels, resamples=resamples, seed=seed, progress=lambda done: bar.advance(task, done)
        )
    return report_of(study)


def _refuse_given(context: typer.Context, names: tuple[str, ...], why: str) -> None:
    """Reject options on the command line that would have no effect."""
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise ConfigurationError(f"--{name.replace('_', '-')} {why}", "leave it out")
