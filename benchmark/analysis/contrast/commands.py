"""`divbench contrast`."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchmark.analysis.contrast.choices import Expected, Length, Pairing, PromptSet
from benchmark.scoring.options import CacheOption
from datasets_build.console import JsonOption, MirrorOption, deliver, err, progress
from datasets_build.errors import ConfigurationError
from datasets_build.tables import check_report_path

if TYPE_CHECKING:
    from benchmark.analysis.contrast.labels import Labels, PromptScores

    ReadLabels = Callable[[Sequence[str]], Labels]  # the labels of prompts that have these ids

# Options of one use alone, as their functions' arguments have them: to give one in the other use is a slip.
_OF_SYSTEMS = ("length", "alternative", "pairs", "prompt_set")
_OF_LABELS = ("label_column", "positive", "negative", "against", "results")
_OF_TESTS = ("length", "alternative", "pairs")
_OF_SCORING = ("profile", "k", "cache", "results")


def contrast(
    context: typer.Context,
    systems: Annotated[
        list[str],
        typer.Argument(
            help=(
                "Submission folders to compare, or stages such as olmo_stages/base: two or more, in order. With "
                "--labels: one submission folder, or one result folder of divbench score."
            )
        ),
    ],
    profile: Annotated[
        str,
        typer.Option(
            help=(
                "Profile of models: lexical (texts alone), offline (the models that come with the package) or "
                "paper (the papers')."
            ),
            rich_help_panel="Models",
        ),
    ] = "lexical",
    length: Annotated[
        Length,
        typer.Option(
            help=(
                "Texts to compare: raw; matched (all responses of a prompt cut to the bytes of the shortest); or both."
            ),
            rich_help_panel="Data",
        ),
    ] = "both",
    alternative: Annotated[
        Expected,
        typer.Option(
            help="Alternative hypothesis; greater: the earlier system is more diverse.", rich_help_panel="Statistics"
        ),
    ] = "greater",
    pairs: Annotated[
        Pairing, typer.Option(help="Pairs of systems to compare.", rich_help_panel="Statistics")
    ] = "consecutive",
    across: Annotated[
        bool,
        typer.Option(
            "--across",
            help="Homogeneity across systems in place of tests: how alike they are and what two of them cover.",
            rich_help_panel="Data",
        ),
    ] = False,
    prompt_set: Annotated[PromptSet, typer.Option(help="Suite of olmo_stages.", rich_help_panel="Data")] = "alpacaeval",
    k: Annotated[
        int | None,
        typer.Option(
            help="Number of responses per prompt, the first ones; default: as many as every system has.",
            rich_help_panel="Data",
        ),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(
            help=(
                "File of prompt labels (.csv, .jsonl or .parquet) with the columns prompt_id and label (0 and "
                "1, true and false, or words): contrasts two groups of one system's prompts."
            ),
            rich_help_panel="Labels",
        ),
    ] = None,
    label_column: Annotated[str, typer.Option(help="Label column.", rich_help_panel="Labels")] = "label",
    positive: Annotated[
        list[str] | None, typer.Option(help="Label of group 1; may be repeated.", rich_help_panel="Labels")
    ] = None,
    negative: Annotated[
        list[str] | None,
        typer.Option(help="Label of group 0; may be repeated; default: all other labels.", rich_help_panel="Labels"),
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(help="Numeric column to correlate the scores with; may be repeated.", rich_help_panel="Labels"),
    ] = None,
    results: Annotated[
        Path, typer.Option(help="Folder of results, for a submission that is scored here.", rich_help_panel="Labels")
    ] = Path("results"),
    resamples: Annotated[
        int, typer.Option(min=100, help="Number of bootstrap resamples over prompts.", rich_help_panel="Statistics")
    ] = 10_000,
    seed: Annotated[
        int,
        typer.Option(
            min=0, help="Random seed of the bootstrap and of the folds of --labels.", rich_help_panel="Statistics"
        ),
    ] = 0,
    destination: Annotated[
        Path | None, typer.Option("--out", help="Output file: .md, .csv or .json.", rich_help_panel="Output")
    ] = None,
    cache: CacheOption = None,
    mirror: MirrorOption = None,
    json: JsonOption = False,
) -> None:
    """Compare systems prompt by prompt: paired tests by every metric of a profile, all on the same texts.

    For each metric and pair: both means, the mean difference with a bootstrap interval over prompts, Cohen's d_z, and
    Wilcoxon's signed-rank test with p-values corrected over the pairs by Bonferroni and by Holm. A prompt with a value
    missing on either side is left out for that metric, and counted with its reason.

    Longer texts have more repeated words and more room, so lengths matter: *matched* cuts every response of a prompt to
    the bytes of its shortest one over all systems, and leaves out prompts whose shortest has under 50 bytes.

    Does training make OLMo less diverse, stage by stage, as in arXiv:2606.01811?

      divbench contrast olmo_stages/base olmo_stages/sft olmo_stages/dpo olmo_stages/instruct --pairs all

    Do two systems differ at all?

      divbench contrast subs/one subs/other --alternative two-sided --out table.md

    With --across: how alike are the systems' responses, beside each one's own, and what do two of them cover together?

      divbench contrast subs/one subs/other subs/third --across --profile semantic

    With --labels: do the scores of *one* system tell two groups of its prompts apart? For each metric: both means,
    Welch's t, Cohen's d, AUROC, and what a threshold on the score tells of prompts that it was not chosen on. Do
    prompts that call for a question back have more room for responses, and longer reasoning, as in arXiv:2510.12699?

      divbench contrast subs/rifts --labels rifts.csv --positive addressing --positive ambiguous

      divbench contrast results/0123456789abcdef --labels rifts.csv --against reasoning_tokens --out groups.md
    """
    if labels is not None:
        from benchmark.analysis.contrast.label_files import read_labels

        words = {"positive": positive or (), "negative": negative or (), "against": against or ()}
        read = partial(read_labels, labels, label_column=label_column, **words)
        _contrast_labels(
            context, systems, read, profile, k, results, cache, mirror, resamples, seed, destination, json=json
        )
        return
    _refuse_given(context, _OF_LABELS, "is of --labels alone")
    from benchmark.analysis.contrast.report import report_of
    from benchmark.analysis.contrast.study import contrast_systems, texts_of
    from benchmark.analysis.contrast.systems import open_systems
    from benchmark.scoring.backends import ScoringBackends
    from benchmark.scoring.profiles import find_profile
    from benchmark.surprisal.cache import default_cache_path

    if across:
        _contrast_across(context, systems, profile, prompt_set, k, mirror, resamples, seed, destination, json=json)
        return
    chosen = find_profile(profile)
    check_report_path(destination)
    texts = texts_of(open_systems(systems, prompt_set=prompt_set, k=k, mirror=mirror), length)
    if k is None:
        err().print(f"the first {texts[0].k} responses of each prompt are compared")
    with progress() as bar:
        sets = sum(len(own) for each in texts for own in each.responses.values())
        task = bar.add_task("scoring", total=sets)
        study = contrast_systems(
            texts,
            ScoringBackends(chosen, cache or default_cache_path()),
            expected=alternative,
            pairing=pairs,
            resamples=resamples,
            seed=seed,
            progress=lambda sets: bar.advance(task, sets),
        )
    deliver(report_of(study), destination, as_json=json)


def _contrast_across(
    context: typer.Context,
    systems: list[str],
    profile: str,
    prompt_set: PromptSet,
    k: int | None,
    mirror: Path | None,
    resamples: int,
    seed: int,
    destination: Path | None,
    *,
    json: bool,
) -> None:
    """`--across`: how alike systems are."""
    from benchmark.analysis.across.classes import across_systems, group_prompt, valid_responses
    from benchmark.analysis.across.report import report_of
    from benchmark.analysis.across.study import homogeneity
    from benchmark.analysis.contrast.systems import open_systems
    from benchmark.scoring.backends import ScoringBackends
    from benchmark.scoring.profiles import find_profile

    _refuse_given(context, _OF_TESTS, "is of paired tests, not of --across")
    check_report_path(destination)
    backends = ScoringBackends(find_profile(profile))
    opened = open_systems(systems, prompt_set=prompt_set, k=k, mirror=mirror)
    sets = list(opened.responses.values())
    ids, texts = [each.prompt_id for each in opened.prompts], [each.prompt for each in opened.prompts]
    with progress() as bar:
        grouped = {
            each.prompt_id: group_prompt(each.prompt, [own[each.prompt_id] for own in sets], (opened.k,), backends)
            for each in bar.track(opened.prompts, description="grouping")
        }
    valid = [dict(zip(ids, valid_responses(texts, [own[i] for i in ids], backends), strict=True)) for own in sets]
    found = across_systems(tuple(opened.responses), opened.k, grouped, valid)
    study = homogeneity(found, resamples=resamples, seed=seed)
    deliver(report_of(study, opened.suite.name, profile), destination, as_json=json)


def _contrast_labels(
    context: typer.Context,
    systems: list[str],
    read: "ReadLabels",
    profile: str,
    k: int | None,
    results: Path,
    cache: Path | None,
    mirror: Path | None,
    resamples: int,
    seed: int,
    destination: Path | None,
    *,
    json: bool,
) -> None:
    """`--labels`: groups of one system's prompts."""
    from benchmark.analysis.contrast.label_files import is_result, read_scores
    from benchmark.analysis.contrast.label_report import report_of
    from benchmark.analysis.contrast.label_study import contrast_groups

    if len(systems) != 1:
        raise ConfigurationError(f"--labels is of one system, and there are {len(systems)}", "name one")
    _refuse_given(context, _OF_SYSTEMS, "is of several systems, not of --labels")
    check_report_path(destination)
    folder = Path(systems[0])
    if is_result(folder):
        _refuse_given(context, _OF_SCORING, "is of scoring, and a result is scored already")
        scores = read_scores(folder)
        labels = read(scores.prompt_ids)
    else:
        scores, labels = _score(folder, read, profile, k, results, cache, mirror)
    with progress() as bar:
        task = bar.add_task("resampling prompts", total=resamples)
        study = contrast_groups(
            scores, labels, resamples=resamples, seed=seed, progress=lambda done: bar.advance(task, done)
        )
    deliver(report_of(study), destination, as_json=json)


def _score(
    folder: Path,
    read: "ReadLabels",
    profile: str,
    k: int | None,
    results: Path,
    cache: Path | None,
    mirror: Path | None,
) -> "tuple[PromptScores, Labels]":
    """A submission's scores, computed or recognised, and its labels, read before that."""
    from benchmark.analysis.contrast.label_files import read_scores
    from benchmark.scoring.backends import ScoringBackends
    from benchmark.scoring.profiles import find_profile
    from benchmark.scoring.scorer import Options, score_submission
    from benchmark.surprisal.cache import default_cache_path
    from datasets_build.load import load_suite
    from submissions.checking.validate import open_submission

    chosen = find_profile(profile)
    submission, suite, _ = open_submission(folder, partial(load_suite, mirror=mirror))
    labels = read([prompt.prompt_id for prompt in suite.prompts])
    with progress() as bar:
        task = bar.add_task(f"scoring {submission.manifest.name[:40]}", total=submission.prompts)
        scored = score_submission(
            submission,
            suite,
            ScoringBackends(chosen, cache or default_cache_path()),
            results,
            Options(k=k),  # the bootstrap of means as `divbench score` has it, so that its result is recognised
            progress=lambda prompts: bar.update(task, completed=prompts),
        )
    err().print(f"{'recognised' if scored.recognised else 'written'}: {scored.folder}", markup=False, soft_wrap=True)
    return read_scores(scored.folder), labels


def _refuse_given(context: typer.Context, names: tuple[str, ...], why: str) -> None:
    """Refuse options that stand in the command line and would do nothing."""
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise ConfigurationError(f"--{name.replace('_', '-')} {why}", "leave it out")
