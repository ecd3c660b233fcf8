"""Trains the discriminator: python -m benchmark.validity.train CORPUS --mirror MIRROR. Deterministic.

The models of word order and letters come from the books that trained the bundled language model, the weights from
released response sets and junk made from two of their systems. The thresholds reject at most 3.75% of any system's
responses. The printed tables are for held-out prompts, and for held-out kinds of junk.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

import typer

from benchmark.models.bundled_lm.corpus import read_books
from benchmark.models.embedder import ALL_MINILM_L6_V2, Embedder, SentenceTransformersEmbedder
from benchmark.validity.discriminator import PARAMETERS, Discriminator, evidence, to_json
from benchmark.validity.evidence import Features
from benchmark.validity.fitting import calibrate, fit, refused_share
from benchmark.validity.spelling import fit_spelling
from benchmark.validity.training_sets import KINDS, System, junk, read_systems
from benchmark.validity.word_order import fit_word_order
from datasets_build.console import out
from datasets_build.files import write_text
from datasets_build.tables import Cell, Table, to_terminal

K = 8  # number of responses by people per prompt
MOST_REFUSED = 0.0375  # share of any system's responses, so that it is at most 0.05 on other prompts
SOURCES = ("humans", "gpt-4o")  # systems that junk is made from: short responses and long ones
EVERY = 5  # junk is made for every fifth prompt, to save time
Measured = Mapping[str, list[Features]]  # by prompt id


def language_models(corpus: Path) -> Discriminator:
    """Estimate the models of word order and letters from books."""
    text = "\n".join(
        " ".join(paragraph.split()) for book in read_books(corpus) for paragraph in book.train.split("\n\n")
    )
    return Discriminator(fit_word_order(text), fit_spelling(text), {})


def measure(
    systems: Iterable[System], given: Discriminator, embedder: Embedder
) -> tuple[dict[str, Measured], dict[tuple[str, str], Measured]]:
    """Compute the features of every system's responses, and of junk by source and kind."""
    real, none = {}, {}
    for system in systems:
        real[system.name] = _measured(system, system.responses, given, embedder)
        if system.name in SOURCES:
            for kind in KINDS:
                made = junk(kind, system)
                some = {prompt_id: made[prompt_id] for prompt_id in sorted(made)[::EVERY]}
                none[system.name, kind] = _measured(system, some, given, embedder)
    return real, none


def _measured(
    system: System, responses: Mapping[str, tuple[str, ...]], given: Discriminator, embedder: Embedder
) -> Measured:
    prompts = [system.prompts[prompt_id] for prompt_id in responses]
    return dict(zip(responses, evidence(prompts, list(responses.values()), given, embedder), strict=True))


def fitted(
    real: Mapping[str, Measured],
    none: Mapping[tuple[str, str], Measured],
    given: Discriminator,
    prompts: frozenset[str],
    without: str | None = None,
) -> Discriminator:
    """Fit and calibrate the discriminator on some prompts.

    Args:
        real: Features of every system's responses.
        none: Features of junk, by source and kind.
        without: A kind of junk to leave out.
    """
    used = {name: [own for i, own in sets.items() if i in prompts] for name, sets in real.items()}
    bad = {
        kind: [[own for i, own in none[source, kind].items() if i in prompts] for source in SOURCES]
        for kind in KINDS
        if kind != without
    }
    short, *_ = SOURCES
    long = [own for name, sets in used.items() if name != short for own in sets]
    made = fit([used[short], long], bad, KINDS, given)
    return calibrate(used, made, MOST_REFUSED)


def halves_of(prompts: Iterable[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the first and third quarter of the ids in order, and the others.

    Neighbours stay together, because many are nearly the same prompt, such as stories about a girl and about a boy.
    """
    ids = sorted(prompts)
    side = {prompt_id: 4 * n // len(ids) % 2 for n, prompt_id in enumerate(ids)}
    return frozenset(i for i in ids if not side[i]), frozenset(i for i in ids if side[i])


def held_out(
    real: Mapping[str, Measured], none: Mapping[tuple[str, str], Measured], given: Discriminator
) -> tuple[Table, Table]:
    """Return tables of rejected shares on held-out prompts: of real systems, and of junk of known and unseen kinds."""
    halves = halves_of({i for sets in real.values() for i in sets})
    pairs = (halves, halves[::-1])

    def share(sets: Measured, models: list[Discriminator]) -> float:
        tested = [
            refused_share([own for i, own in sets.items() if i in test], model)
            for (_, test), model in zip(pairs, models, strict=True)
        ]
        return sum(tested) / len(tested)

    models = [fitted(real, none, given, train) for train, _ in pairs]
    systems: list[list[Cell]] = [[name, share(sets, models)] for name, sets in real.items()]
    rows: list[list[Cell]] = []
    for kind, reason in KINDS.items():
        others = [fitted(real, none, given, train, without=kind) for train, _ in pairs]
        rows.append(
            [kind, reason, *(share(none[source, kind], each) for each in (models, others) for source in SOURCES)]
        )
    columns = ("junk", "reason", *(f"{source}{what}" for what in ("", ", kind unseen") for source in SOURCES))
    return (
        Table("Refused shares of real responses, prompts held out", ("system", "refused"), systems),
        Table("Refused shares of junk, prompts held out", columns, rows, numbers=columns[2:]),
    )


def train(
    corpus: Annotated[Path, typer.Argument(help="Folder of *.txt.gz: public-domain books in English.")],
    mirror: Annotated[Path, typer.Option(help="Folder with released files.")],
    out_: Annotated[Path, typer.Option("--out", help="Output file of parameters.")] = PARAMETERS,
) -> None:
    """Train the discriminator, write its parameters and print its evaluation."""
    run(corpus, mirror, out_, SentenceTransformersEmbedder(ALL_MINILM_L6_V2))


def run(corpus: Path, mirror: Path, path: Path, embedder: Embedder) -> None:
    """Do as `train`, with a loaded embedder."""
    given = language_models(corpus)
    real, none = measure(read_systems(mirror, K), given, embedder)
    made = fitted(real, none, given, frozenset(i for sets in real.values() for i in sets))
    write_text(path, _compact(to_json(made)))
    for table in held_out(real, none, given):
        out().print(to_terminal(table))


def _compact(document: Mapping[str, object]) -> str:
    """Return JSON with one line per row of a matrix."""
    import json

    text = json.dumps(document, ensure_ascii=False)
    return text.replace("], [", "],\n[").replace('}, "', '},\n"') + "\n"


if __name__ == "__main__":
    typer.run(train)
