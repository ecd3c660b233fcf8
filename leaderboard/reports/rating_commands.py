"""`divbench people forms` and `ratings`: prepare a study in which people rate response sets, and read its results."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from divbench.core.console import JsonOption, MirrorOption, err, out, print_json, say
from divbench.core.errors import ConfigurationError, InputError, counted
from divbench.core.tables import Table, to_terminal, with_interval
from submissions.choices import FormName
from submissions.untrusted.plain_text import one_line

if TYPE_CHECKING:
    from submissions.judgements.rating_forms import RatedSet
    from submissions.judgements.ratings import Ratings


def forms(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            help="Sources of response sets: submission folders, or tasks of labelled sets such as contest/story_gen.",
            show_default=False,
        ),
    ] = None,
    destination: Annotated[Path | None, typer.Option("--out", help="Folder to create (required).")] = None,
    form: Annotated[FormName, typer.Option(help="Form of the question.")] = "absolute",
    sets: Annotated[
        int | None,
        typer.Option(min=1, help="Number of response sets (for ranking: of prompts), drawn at random; default: all."),
    ] = None,
    responses: Annotated[
        int, typer.Option(min=2, max=20, help="Number of responses to show per set, from the first.")
    ] = 10,
    raters: Annotated[int, typer.Option(min=1, max=1000, help="Number of raters per item.")] = 10,
    per_rater: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of ratings per rater.")] = 40,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of draws, orders and assignment.")] = 0,
    mirror: MirrorOption = None,
    json: JsonOption = False,
) -> None:
    """Make a rating study: a page for each rater, a table for crowd platforms, and the researcher's study.json.

    The pages work from a file or any host and need no network. Each page has training, hidden attention checks and one
    rater's part of a balanced plan. Keep study.json private: it has the answers to the checks.

    absolute: diversity of a set's content, 1 to 5. aspects: content and form separately. similarity: of two responses.
    ranking: which of two sets for one prompt is more diverse; give two submissions.

    Examples:
      divbench people forms subs/mine --sets 50 --raters 5 --out study

    Human labels for a dataset of labelled sets:

      divbench people forms contest/story_gen --sets 200 --out study
    """
    from divbench.core.files import atomic_folder
    from submissions.judgements.rating_pages import write_crowd_table, write_instructions, write_pages
    from submissions.judgements.rating_study import make_study, write_study

    if not sources or destination is None:
        raise ConfigurationError(
            "name response sets and a folder to create", "such as divbench people forms subs/mine --sets 50 --out study"
        )
    if destination.exists():
        raise ConfigurationError(f"{destination} already exists", "name a new folder: each study has its own")
    found = _cut([each for source in sources for each in _sets_of(source, mirror)], responses)
    chosen = _drawn(_ratable(found, form), sets, seed, by_context=form == "ranking")
    study = make_study(form, chosen, raters_per_item=raters, per_rater=per_rater, seed=seed)
    with atomic_folder(destination) as folder:
        write_study(study, folder)
        pages = write_pages(study, folder)
        write_crowd_table(study, folder)
        write_instructions(study, folder)
    items = sum(each.kind == "rating" for each in study.items)
    counts = {"sets": len(study.sets), "items": items, "raters": len(pages), "ratings": items * raters}
    most = max(len(each) for each in study.assignment)
    say(
        {"study": study.study, "folder": str(destination), "form": study.form} | counts,
        f"Study {study.study}: {counted(counts['sets'], 'set')}, {counted(items, 'item')}, "
        f"{counted(raters, 'rating')} of each.",
        f"Send one page of {destination}/forms to each of {len(pages)} raters (up to {most} screens each), or give "
        f"{destination}/crowd.csv to a crowd platform.",
        f"When files come back: divbench people ratings {destination} FOLDER --out rated.parquet",
        as_json=json,
    )


def ratings(
    study: Annotated[Path, typer.Argument(help="Study folder made by divbench people forms.")],
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Files returned by raters (.json, .csv), or folders of them.", show_default=False),
    ] = None,
    destination: Annotated[
        Path | None, typer.Option("--out", help="Output file of rated sets for divbench metrics metaeval: .parquet.")
    ] = None,
    question: Annotated[
        str | None, typer.Option(help="Question that --out is about; default: the form's first.")
    ] = None,
    resamples: Annotated[int, typer.Option(min=100, help="Number of bootstrap resamples over response sets.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the resamples.")] = 0,
    json: JsonOption = False,
) -> None:
    """Read what raters sent back: check it, remove raters by stated rules, report agreement, write labelled sets.

    A rater is removed for failing more than a third of the attention checks, for giving ten or more ratings that are
    all the same, or for a median time per item under 2 seconds. If an item is answered twice, the first answer counts,
    in the order of the files' names.

    Agreement is Krippendorff's alpha for ordered answers, with an interval over response sets (pip install
    'divbench[rate]').

    Example: divbench people ratings study answers --out rated.parquet
    """
    from benchmark.analysis.human_ratings import krippendorff_alpha, set_scores, write_rated_sets
    from submissions.judgements.rating_forms import FORM_OF
    from submissions.judgements.rating_study import read_study
    from submissions.judgements.ratings import read_ratings

    if destination is not None and destination.suffix != ".parquet":
        raise ConfigurationError(f"{destination} does not end in .parquet", "name the output FILE.parquet")
    made = read_study(study)
    names = [each.name for each in FORM_OF[made.form].questions]
    if question is not None and question not in names:
        raise ConfigurationError(f"the form {made.form} has no question {question!r}", f"one of {', '.join(names)}")
    given = read_ratings(made, files or [])
    if not given.ratings:
        if not json:
            _tell(given)
        removed = counted(sum(given.removed.values()), "rater")
        why = f"{removed} removed, {counted(given.blank, 'blank answer')}"
        raise InputError(f"no ratings are left: {why}", "ask more raters")
    rows, questions = [], {}
    for name in names:
        alpha = krippendorff_alpha(made, given.ratings, name, resamples=resamples, seed=seed)
        scores = set_scores(made, given.ratings, name)
        number = sum(each.question == name for each in given.ratings)
        questions[name] = {
            "ratings": number,
            "sets": len(scores),
            "alpha": alpha.value,
            "low": alpha.low,
            "high": alpha.high,
        }
        rows.append((name, number, len(scores), with_interval(alpha.value, alpha.low, alpha.high)))
    written = None if destination is None else write_rated_sets(destination, made, given, question or names[0])
    if json:
        print_json(_counts(given) | {"questions": questions, "written": None if written is None else str(destination)})
        return
    unknown = any(each["alpha"] is None for each in questions.values())
    notes = ["No alpha: no item has two ratings, or all ratings are the same."] if unknown else []
    title = f"{made.form}: ratings of {counted(len(made.sets), 'set')}"
    table = Table(title, ("question", "ratings", "sets", "alpha"), rows, notes)
    out().print(to_terminal(table))
    _tell(given)
    if written is not None:
        out().print(f"{written} sets are in {destination}. Next: divbench metrics metaeval {destination}", markup=False)


def _counts(given: "Ratings") -> dict[str, Any]:
    return {
        "files": given.files,
        "raters": given.raters,
        "ratings": len(given.ratings),
        "removed_raters": given.removed,
        "removed_ratings": given.removed_ratings,
        "repeated": given.repeated,
        "contradicted": given.contradicted,
        "rejected": given.rejected,
        "blank": given.blank,
        "without_checks": given.unchecked,
        "ignored": list(given.ignored),
    }


def _tell(given: "Ratings") -> None:
    """Print how many raters were kept and removed, and why."""
    from submissions.judgements.ratings import RULES

    lines = [f"{counted(given.raters, 'rater')} counted, from {counted(given.files, 'file')}."]
    lines += [f"Removed: {number} who {why}." for name, why in RULES if (number := given.removed[name])]
    if given.removed_ratings:
        lines.append(f"Their {given.removed_ratings} ratings are removed, too.")
    if given.repeated:
        differ = f" ({given.contradicted} of them differ from it)" if given.contradicted else ""
        lines.append(f"{given.repeated} answers came twice; the first counts{differ}.")
    if given.rejected:
        lines.append(f"{given.rejected} answers of rejected assignments are left out.")
    if given.blank:
        lines.append(f"{given.blank} answers are blank.")
    if given.unchecked:
        lines.append(f"{given.unchecked} raters who count answered no attention check.")
    if given.ignored:
        what = f"{len(given.ignored)} entries of the folder that are neither .json nor .csv files"
        lines.append(f"Ignored: {what}, such as {one_line(given.ignored[0])}.")
    for line in lines:
        out().print(line, markup=False)


def _sets_of(source: str, mirror: Path | None) -> "Iterator[RatedSet]":
    """Yield the response sets of a submission folder or of a task."""
    from datasets_build.load import load_suite
    from submissions.judgements.rating_forms import RatedSet

    if Path(source).is_dir():
        from submissions.checking.validate import open_submission

        submission, suite, _ = open_submission(Path(source), partial(load_suite, mirror=mirror))
        for row in submission.rows():
            prompt = suite.by_id[row.prompt_id].prompt
            yield RatedSet(f"{submission.id}:{row.prompt_id}", prompt, row.responses)
        return
    from benchmark.analysis.metaeval.labelled import load_labelled, task_names

    try:
        names = task_names([source])
    except ConfigurationError as error:
        raise ConfigurationError(f"{source!r} is neither a submission folder nor a task", error.hint) from error
    for name in names:
        task = load_labelled(name, mirror=mirror)
        for i, set_id in enumerate(task.set_ids):
            yield RatedSet(set_id, task.contexts[i], task.responses[i], float(task.labels[i]), task.label_name)


def _cut(sets: "list[RatedSet]", responses: int) -> "list[RatedSet]":
    """Keep each set once, cut to its first responses; warn about sets without any text, which are left out."""
    from dataclasses import replace

    made = {each.set_id: replace(each, responses=each.responses[:responses]) for each in sets}
    kept = [each for each in made.values() if any(text.strip() for text in each.responses)]
    if len(kept) < len(made):
        err().print(f"left out: {counted(len(made) - len(kept), 'set')} without any text", style="yellow")
    return kept


def _ratable(sets: "list[RatedSet]", form: FormName) -> "list[RatedSet]":
    """Leave out sets that the form has no item for, with a warning; keep all if there is no item at all."""
    from collections import Counter

    contexts = Counter(each.context for each in sets)
    fewer, kept = "", sets
    if form == "ranking":
        kept, fewer = [each for each in sets if contexts[each.context] > 1], "whose prompt has no other set to compare"
    elif form == "similarity":
        kept, fewer = [each for each in sets if len(each.responses) > 1], "of one response"
    if not kept or len(kept) == len(sets):
        return sets
    err().print(f"left out: {counted(len(sets) - len(kept), 'set')} {fewer}", style="yellow")
    return kept


def _drawn(sets: "list[RatedSet]", number: int | None, seed: int, *, by_context: bool) -> "list[RatedSet]":
    """Draw a number of sets, or of prompts with all their sets; the order is kept."""
    import numpy as np

    units = list(dict.fromkeys(each.context if by_context else each.set_id for each in sets))
    if number is None or number >= len(units):
        return sets
    kept = {units[i] for i in np.random.default_rng([seed, 4]).permutation(len(units))[:number].tolist()}
    return [each for each in sets if (each.context if by_context else each.set_id) in kept]
