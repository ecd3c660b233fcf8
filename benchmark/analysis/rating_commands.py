"""`divbench people forms` and `ratings`: prepare a study in which people rate response sets, and read its results."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from divbench.core.console import JsonOption, MirrorOption, err, say
from divbench.core.errors import ConfigurationError, InputError, counted
from divbench.core.tables import Table
from submissions.choices import FormName

if TYPE_CHECKING:
    from submissions.judgements.rating_study import RatedSet
    from submissions.judgements.ratings import Ratings


def forms(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="Sources of response sets: submission folders, or tasks of labelled sets such as contest/story_gen."
        ),
    ],
    destination: Annotated[Path, typer.Option("--out", help="Folder to create.")],
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
    mirror: MirrorOption = None,
) -> None:
    """Make a rating study: a page for each rater, and the researcher's study.json.

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
    from submissions.judgements.rating_study import make_study, write_study

    if destination.exists():
        raise ConfigurationError(f"{destination} already exists", "name a new folder: each study has its own")
    cut = {
        rated.set_id: replace(rated, responses=rated.responses[:responses])
        for source in sources
        for rated in _sets_of(source, mirror)
    }
    chosen = _drawn(_ratable(list(cut.values()), form), sets, by_context=form == "ranking")
    study = make_study(form, chosen, raters_per_item=raters, per_rater=per_rater)
    with atomic_folder(destination) as folder:
        write_study(study, folder)
    items = sum(item.kind == "rating" for item in study.items)
    most = max(map(len, study.assignment))
    about = f"{counted(len(study.sets), 'set')}, {counted(items, 'item')}, {counted(raters, 'rating')} of each."
    say(
        None,
        f"Study {study.study}: {about}",
        f"Send one page of {destination}/forms to each of {len(study.assignment)} raters (up to {most} screens each).",
        f"When files come back: divbench people ratings {destination} FOLDER --out rated.parquet",
        as_json=False,
    )


def ratings(
    study: Annotated[Path, typer.Argument(help="Study folder made by divbench people forms.")],
    files: Annotated[list[Path], typer.Argument(help="Files returned by raters (.json), or folders of them.")],
    destination: Annotated[
        Path | None, typer.Option("--out", help="Output file of rated sets for divbench metrics metaeval: .parquet.")
    ] = None,
    question: Annotated[
        str | None, typer.Option(help="Question that --out is about; default: the form's first.")
    ] = None,
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
    from submissions.judgements.rating_study import FORM_OF, read_study
    from submissions.judgements.ratings import read_ratings

    if destination is not None and destination.suffix != ".parquet":
        raise ConfigurationError(f"{destination} does not end in .parquet", "name the output FILE.parquet")
    plan = read_study(study)
    names = [asked.name for asked in FORM_OF[plan.form].questions]
    if question is not None and question not in names:
        raise ConfigurationError(f"the form {plan.form} has no question {question!r}", f"one of {', '.join(names)}")
    returned = read_ratings(plan, files)
    if not returned.ratings:
        removed = ", ".join(_removed(returned)) or "all answers are blank"
        raise InputError(f"no ratings are left: {removed}", "ask more raters")
    rows, questions = [], {}
    for name in names:
        number = sum(rating.question == name for rating in returned.ratings)
        scores = set_scores(plan, returned.ratings, name)
        alpha = krippendorff_alpha(plan, returned.ratings, name)
        questions[name] = {"ratings": number, "sets": len(scores), "alpha": alpha}
        rows.append((name, number, len(scores), str(alpha)))
    if destination is not None:
        write_rated_sets(destination, plan, returned, question or names[0])
    title = f"{plan.form}: ratings of {counted(len(plan.sets), 'set')}"
    lines = [f"{counted(returned.raters, 'rater')} counted, from {counted(returned.files, 'file')}."]
    lines += [f"Removed: {line}." for line in _removed(returned)]
    lines += [f"{returned.repeated} answers came twice; the first counts."] if returned.repeated else []
    lines += [f"{returned.blank} answers are blank."] if returned.blank else []
    lines += [f"{returned.unchecked} raters answered no attention check."] if returned.unchecked else []
    lines += [f"Next: divbench metrics metaeval {destination}"] if destination else []
    document: dict[str, Any] = {"files": returned.files, "raters": returned.raters, "ratings": len(returned.ratings)}
    document |= {"removed_raters": dict(returned.removed), "removed_ratings": returned.removed_ratings}
    document |= {"repeated": returned.repeated, "blank": returned.blank, "without_checks": returned.unchecked}
    table = Table(title, ("question", "ratings", "sets", "alpha"), rows)
    say({**document, "questions": questions}, table, *lines, as_json=json)


def _removed(returned: "Ratings") -> list[str]:
    """Say how many raters were removed by each rule."""
    from submissions.judgements.ratings import RULES

    return [f"{number} who {RULES[rule]}" for rule, number in returned.removed.items() if number]


def _sets_of(source: str, mirror: Path | None) -> "Iterator[RatedSet]":
    """Yield the response sets of a submission folder or of a task."""
    from datasets_build.load import load_suite
    from submissions.judgements.rating_study import RatedSet

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


def _ratable(sets: "list[RatedSet]", form: FormName) -> "list[RatedSet]":
    """Leave out sets that the form has no item for, with a warning; keep all if there is no item at all."""
    contexts = Counter(rated.context for rated in sets)
    reason = "without any text"
    chosen = [rated for rated in sets if any(text.strip() for text in rated.responses)]
    if form == "ranking":
        chosen = [rated for rated in chosen if contexts[rated.context] > 1]
        reason += ", or whose prompt has no other set to compare"
    elif form == "similarity":
        chosen = [rated for rated in chosen if len(rated.responses) > 1]
        reason += ", or of one response"
    if len(chosen) < len(sets):
        err().print(f"left out: {counted(len(sets) - len(chosen), 'set')} {reason}", style="yellow")
    return chosen


def _drawn(sets: "list[RatedSet]", number: int | None, *, by_context: bool) -> "list[RatedSet]":
    """Draw a number of sets, or of prompts with all their sets; the order is kept."""
    import numpy as np

    names = [rated.context if by_context else rated.set_id for rated in sets]
    units = list(dict.fromkeys(names))
    if number is None or number >= len(units):
        return sets
    chosen = {units[i] for i in np.random.default_rng([0, 4]).permutation(len(units))[:number].tolist()}
    return [rated for rated, name in zip(sets, names, strict=True) if name in chosen]
