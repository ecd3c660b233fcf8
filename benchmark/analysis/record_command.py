"""`divbench metrics record`: add judged responses to a record."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from divbench.core.console import JsonOption, say
from divbench.core.errors import InputError, counted


def record(
    results: Annotated[list[Path], typer.Argument(help="Result folder scored by a judge; may be repeated.")],
    destination: Annotated[Path, typer.Option("--out", help="Output file of the record: .npz.")],
    base: Annotated[
        Path | None, typer.Option("--base", help="Record to add to; default: the one that ships with the package.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Add responses that a judge has scored to the record of judged responses, with which validity is estimated.

    The record has the vectors and scores of the first responses of classes, and no texts. Responses of other systems to
    the same prompts are then compared with them: score with --set record=FILE.

    Example: divbench metrics record results/3f2a… --out record.npz
    """
    from benchmark.models.embedder import ALL_MINILM_L6_V2, SentenceTransformersEmbedder
    from benchmark.validity.record import (
        SHIPPED,
        Judgement,
        load_record,
        prompt_key,
        quantised,
        record_of,
        save_record,
    )

    judged = [row for folder in results for row in _judged(folder)]
    texts = sorted({text for _, _, text, _ in judged})
    vectors = dict(zip(texts, SentenceTransformersEmbedder(ALL_MINILM_L6_V2).embed(texts), strict=True))
    old = load_record(base or SHIPPED).judgements()
    new = [
        Judgement(prompt_key(prompt), system, quantised(vectors[text]), score) for prompt, system, text, score in judged
    ]
    whole = record_of([*old, *new])
    save_record(whole, destination)
    say(
        {"record": str(destination), "added": len(whole.score) - len(old), "responses": len(whole.score)},
        f"{destination}: {counted(len(whole.score), 'judged response')} to {counted(len(whole.prompts), 'prompt')}, "
        f"{len(whole.score) - len(old):,} of them new",
        as_json=json,
    )


def _judged(folder: Path) -> Iterator[tuple[str, str, str, int]]:
    """Yield prompt, system, text and score of the first responses of scored classes, and of their bare answers."""
    import pyarrow.parquet as pq

    from benchmark.scoring.per_prompt import CLASSES, TEXTS
    from benchmark.scoring.results import PER_PROMPT_FILE, require_result
    from benchmark.validity.record import bare_answer

    result = require_result(folder)
    if not any("judge-score" in model for score in result.scores for model in score.signature.models):
        hint = "score the submission with --set equivalence=judge=MODEL@URL"
        raise InputError(f"{folder}: no judge scored these responses", hint)
    path = folder / PER_PROMPT_FILE
    if not {*TEXTS, CLASSES}.issubset(pq.read_schema(path).names):
        raise InputError(f"{folder}: the result has no texts", "name a result that was scored from a submission")
    rows: list[dict[str, Any]] = pq.read_table(path, columns=[*TEXTS, CLASSES]).to_pylist()
    for row in rows:
        classes = row[CLASSES] or {"labels": [], "qualities": None}
        for label, quality in enumerate(classes["qualities"] or ()):
            if quality is not None:
                first = row["responses"][classes["labels"].index(label)]
                for text in filter(None, (first, bare_answer(row["prompt"], first))):
                    yield row["prompt"], result.manifest.name, text, round(quality)
