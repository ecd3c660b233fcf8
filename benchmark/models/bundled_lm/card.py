"""Writes the bundled model's card from measurements: `python -m benchmark.models.bundled_lm.card CORPUS --mirror DIR`.

Bits/byte on the held-out parts of the books and what a repeat costs; D_Can of the five synthetic scenarios; and how
well D_Ca_n and retained surprise tell high from low diversity on conTest and McDiv, with this model as the reader.
"""

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.progress import track

from benchmark.metrics import coherence, excess_entropy, surprisal
from benchmark.metrics.surprisal_curve import Surprisals
from benchmark.models.bundled_lm.corpus import HELD_OUT, read_books
from benchmark.models.bundled_lm.measures import bits_per_byte, repeat_costs
from benchmark.models.hf_lm import HFCausalLM, find_causal_lm_spec, load_causal_lm
from benchmark.surprisal.cache import SurprisalCache, default_cache_path
from benchmark.surprisal.engine import ResponseSet, SetSurprisals, read_sets
from benchmark.surprisal.prompt_layout import Layout
from datasets_build.files import write_text
from datasets_build.load import load_split

_HERE = Path(__file__).parent
_FAMILIES = ("noise", "incoherent", "multi_mode", "one_mode", "mixed")
_TASKS = ("prompt_gen", "resp_gen", "story_gen")


def card(
    corpus: Annotated[Path, typer.Argument(help="Folder of books that the model was trained on.")],
    model: Annotated[Path, typer.Option(help="Folder of the model.")] = _HERE / "model",
    mirror: Annotated[Path | None, typer.Option(help="Folder with the released data of conTest and McDiv.")] = None,
    limit: Annotated[int, typer.Option(help="Maximum number of sets per split.")] = 100_000,
) -> None:
    """Measure the model and write its card, README.md beside its weights."""
    spec = find_causal_lm_spec(str(model))
    lm = load_causal_lm(spec)
    parts = [_about(model, spec.revision), _language(lm, corpus), _scenarios(lm)]
    if mirror is not None:
        parts.append(_human_labels(lm, mirror, limit))
    write_text(model / "README.md", "\n\n".join(parts) + "\n")


def _about(model: Path, sha256: str) -> str:
    import json

    config = json.loads((model / "config.json").read_text())
    books = json.loads((model / "books.json").read_text())
    rows = list(csv.DictReader((model / "training.csv").read_text(encoding="utf-8").splitlines()))
    last = rows[-1]
    return f"""# divbench/offline-lm

A small causal language model for offline use, tests and demonstrations. **Not for published numbers**: it is far weaker
than the models that D_Can is meant to be read with.

* Llama, {config["num_hidden_layers"]} layers of width {config["hidden_size"]}, vocabulary {config["vocab_size"]:,} (a
  byte-fallback BPE of our own), context {config["max_position_embeddings"]:,} tokens, float16 safetensors, SHA-256
  `{sha256}`.
* Trained by `benchmark/models/bundled_lm/train.py` on {len(books)} files of public-domain English
  ({", ".join(sorted(books))}; hashes in `books.json`), {int(last["step"]) * 4096 / 1e6:.1f} million tokens in
  {float(last["seconds"]) / 60:.0f} minutes on two busy CPU cores (stopped at step 1,000 of a
  schedule of 2,000 with rows of 128 and 256 tokens, then 200 steps with rows of 1,024 and 4,096). Nothing of the
  benchmark's data was used.
* Training documents are stretches of books, and lists of passages under labels: repeats, near-repeats, several modes in
  turns, all different, noise. Two layers start from a wired copying circuit (`wiring.py`); training was free to change
  it.
* The loss curve is `training.csv`. Weights: public domain, as the books."""


def _language(lm: HFCausalLM, corpus: Path) -> str:
    books = read_books(corpus)
    tokeniser = lm.tokeniser.backend
    lines = ["| book | held-out bytes | bits/byte |", "|---|---:|---:|"]
    for book in track(books, "held-out text"):
        value = bits_per_byte(lm.model, tokeniser, [book.held_out])
        lines.append(f"| {book.name} | {len(book.held_out.encode()):,} | {value:.3f} |")
    held_out = [book.held_out for book in books]
    lines.append(
        f"| all | {sum(len(t.encode()) for t in held_out):,} | {bits_per_byte(lm.model, tokeniser, held_out):.3f} |"
    )
    first, second = repeat_costs(lm.model, tokeniser, held_out, passages=200)
    return f"""## Language

The last {HELD_OUT:.0%} of each book were held out; windows of 1,024 tokens, each after `<s>` alone.

{chr(10).join(lines)}

A held-out passage of one to three sentences costs {first:.1f} bits at its first saying and {second:.1f} at its second,
under the next label: **{second / first:.1%}** (mean of 200)."""


def _read(lm: HFCausalLM, sets: list[ResponseSet], layout: Layout) -> list[Any]:
    return read_sets(sets, lm, layout, cache=SurprisalCache(default_cache_path()))


_COLUMNS: tuple[tuple[str, Callable[[Surprisals], float]], ...] = (
    ("a_1", surprisal.a_1),
    ("a_n", surprisal.a_n),
    ("C", coherence.coherence),
    ("D_Ca_n", surprisal.d_can),
    ("R", surprisal.retained_surprise),
    ("C · R", surprisal.coherent_retained),
    ("E_rate", excess_entropy.excess_entropy_rate),
    ("C · E_rate", excess_entropy.coherent_excess_rate),
    ("sigma_l", coherence.coherence_spread),
)


def _scenarios(lm: HFCausalLM) -> str:
    table = load_split("scenarios", "scenarios").to_list()
    lines = [
        f"| scenario | sets | {' | '.join(name for name, _ in _COLUMNS)} |",
        "|---|---:|" + "---:|" * len(_COLUMNS),
    ]
    for family in _FAMILIES:
        rows = [row for row in table if row["family"] == family]
        sets = [ResponseSet(row["context"], tuple(row["responses"])) for row in rows]
        there = [each.surprisals for each in _read(lm, sets, Layout()) if isinstance(each, SetSurprisals)]
        means = [float(np.mean([fn(each) for each in there])) for _, fn in _COLUMNS]
        lines.append(f"| {family} | {len(there)} | {' | '.join(f'{value:.4f}' for value in means)} |")
    return f"""## The five synthetic scenarios

Sets of the config `scenarios`, one Latin square of orders, instruct format, exact boundaries; a_1, a_n, D_Ca_n, E_rate
and sigma_l in bits/byte.

{chr(10).join(lines)}"""


def _human_labels(lm: HFCausalLM, mirror: Path, limit: int) -> str:
    lines = [
        "| data | task | sets | D_Ca_n: Spearman | AUC | R: Spearman | AUC |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for config in ("contest", "mcdiv"):
        for task in _TASKS:
            rows = load_split(config, task, mirror=mirror).to_list()[:limit]
            sets = [ResponseSet(row["context"], tuple(row["responses"])) for row in rows]
            found = _read(lm, sets, Layout("completion"))
            pairs = [
                (row["label"], each.surprisals)
                for row, each in zip(rows, found, strict=True)
                if isinstance(each, SetSurprisals)
            ]
            cells = [cell for fn in (surprisal.d_can, surprisal.retained_surprise) for cell in _agreement(pairs, fn)]
            lines.append(f"| {config} | {task} | {len(pairs)} | {' | '.join(f'{cell:.3f}' for cell in cells)} |")
    return f"""## Against human labels

High or low diversity by construction (conTest) or by crowd workers (McDiv); completion format, exact boundaries, one
Latin square.

{chr(10).join(lines)}"""


def _agreement(pairs: Sequence[tuple[float, Any]], fn: Callable[[Any], float]) -> tuple[float, float]:
    """Spearman's rho, and the chance that a set labelled high scores above one labelled low."""
    from scipy.stats import mannwhitneyu, spearmanr

    labels = np.array([label for label, _ in pairs])
    values = np.array([fn(each) for _, each in pairs])
    high, low = values[labels == labels.max()], values[labels == labels.min()]
    auc = mannwhitneyu(high, low).statistic / (len(high) * len(low))
    return float(spearmanr(labels, values).statistic), float(auc)


if __name__ == "__main__":
    typer.run(card)
