"""`divbench contrast`."""

from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from benchmark.scoring.options import SEMANTIC, ProfileOptions
from divbench.core.console import (
    JsonOption,
    MirrorOption,
    data_option,
    deliver,
    err,
    output_option,
    progress,
    statistics_option,
    with_option_groups,
)
from divbench.core.errors import ConfigurationError
from divbench.core.tables import check_report_path

_labels_option = partial(typer.Option, rich_help_panel="Labels")

# Options, by argument name, that only one mode of the command uses: giving one in another mode is an error.
_OF_SYSTEMS = ("length", "alternative", "pairs", "profile", "device", "settings", "k")
_OF_LABELS = ("positive", "against")
_OF_TESTS = ("length", "alternative", "pairs")


@with_option_groups
def contrast(
    context: typer.Context,
    systems: Annotated[
        list[str],
        typer.Argument(
            help=(
                "Submission folders to compare, or stages such as olmo_stages/base or olmo_stages/nbcurated/base: two "
                "or more, in order. With --labels: one result folder of divbench score."
            )
        ),
    ],
    models: ProfileOptions = SEMANTIC,
    length: Annotated[
        Literal["raw", "matched", "both"],
        data_option(
            help=(
                "Texts to compare: raw; matched (all responses of a prompt cut to the bytes of the shortest); or both."
            )
        ),
    ] = "both",
    alternative: Annotated[
        Literal["greater", "two-sided"],
        statistics_option(help="Alternative hypothesis; greater: the earlier system is more diverse."),
    ] = "two-sided",
    pairs: Annotated[
        Literal["consecutive", "all"], statistics_option(help="Pairs of systems to compare.")
    ] = "consecutive",
    across: Annotated[
        bool,
        data_option(
            "--across",
            help="Homogeneity across systems instead of tests: how similar they are and what two cover together.",
        ),
    ] = False,
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
    positive: Annotated[
        list[str] | None, _labels_option(help="Label of group 1, against all others; may be repeated.")
    ] = None,
    against: Annotated[
        list[str] | None, _labels_option(help="Numeric column to correlate the scores with; may be repeated.")
    ] = None,
    destination: Annotated[Path | None, output_option("--out", help="Output file: .md, .tex, .csv or .json.")] = None,
    mirror: MirrorOption = None,
    json: JsonOption = False,
) -> None:
    """Compare systems prompt by prompt: paired tests by every metric of a profile, all on the same texts.

    For each metric and pair: both means, the mean difference with a bootstrap interval over prompts, Cohen's d_z, and
    Wilcoxon's signed-rank test with p-values corrected over the pairs by Bonferroni and by Holm. A prompt that lacks a
    value on either side is excluded for that metric, and counted with its reason.

    Longer texts repeat more words and have more room for variation, so length matters: *matched* cuts every response to
    a prompt to the length of the shortest one over all systems, and excludes prompts where that is under 50 bytes.

    Where systems have different numbers of scored responses to a prompt, as with blanks, equal numbers are compared.

    Do two systems differ?

      divbench contrast subs/one subs/other --out table.md

    Does training make OLMo less diverse, stage by stage, as in arXiv:2606.01811?

      divbench contrast olmo_stages/base olmo_stages/sft olmo_stages/dpo --alternative greater --profile lexical

    With --across: how similar are responses between systems and within each system, and what do two systems cover?

      divbench contrast subs/one subs/other subs/third --across

    With --labels: do the scores of *one* system tell two groups of its prompts apart? For each metric: both means,
    Welch's t, Cohen's d, AUROC, and the accuracy of a threshold on the score for held-out prompts. Do prompts that call
    for a clarifying question have a larger space of responses, and longer reasoning, as in arXiv:2510.12699?

      divbench contrast results/0123456789abcdef --labels rifts.csv --positive addressing --positive ambiguous

      divbench contrast results/0123456789abcdef --labels rifts.csv --against reasoning_tokens --out groups.md
    """
    from benchmark.analysis.across import across_report
    from benchmark.analysis.contrast import labels as label_study
    from benchmark.analysis.contrast.study import contrast_systems, report_of
    from benchmark.analysis.contrast.systems import open_systems
    from benchmark.scoring.backends import ScoringBackends
    from benchmark.surprisal.cache import default_cache_path

    check_report_path(destination)
    if labels is not None:
        _refuse_given(context, _OF_SYSTEMS, "cannot be used with --labels: it is an option for several systems")
        if len(systems) != 1:
            message = f"--labels compares prompts of one system, and {len(systems)} are named"
            raise ConfigurationError(message, "name one")
        result, prompt_ids, values = label_study.read_values(Path(systems[0]))
        groups = label_study.read_labels(labels, prompt_ids, positive=positive or (), against=against or ())
        contrasts = label_study.contrast_groups(result.scores, prompt_ids, values, groups)
        deliver(label_study.report_of(result, groups, contrasts), destination, as_json=json)
        return
    _refuse_given(context, _OF_LABELS, "needs --labels")
    if across:
        _refuse_given(context, _OF_TESTS, "cannot be used with --across: it is an option of paired tests")
    backends = ScoringBackends(models.load(), default_cache_path())
    opened = open_systems(systems, k=k, mirror=mirror)
    if across:
        with progress() as bar:
            task = bar.add_task("grouping", total=len(opened.prompts))
            report = across_report(opened, backends, lambda: bar.advance(task))
        deliver(report, destination, as_json=json)
        return
    if k is None:
        err().print(f"the first {opened.k} responses of each prompt are compared")
    lengths = ("raw", "matched") if length == "both" else (length,)
    with progress() as bar:
        task = bar.add_task("scoring", total=len(lengths) * sum(map(len, opened.responses.values())))
        study = contrast_systems(
            opened,
            backends,
            lengths=lengths,
            expected=alternative,
            pairing=pairs,
            progress=lambda sets: bar.advance(task, sets),
        )
    if note := backends.beyond_note():
        err().print(note, markup=False, soft_wrap=True)
    deliver(report_of(study), destination, as_json=json)


def _refuse_given(context: typer.Context, names: tuple[str, ...], why: str) -> None:
    """Reject options on the command line that would have no effect."""
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise ConfigurationError(f"--{name.replace('_', '-')} {why}", "leave it out")
