"""Trains the bundled language model: `python -m benchmark.models.bundled_lm.train CORPUS`.

The model is a Llama with 5.9 million parameters, trained on a CPU in an hour or two. The script writes
`model.safetensors` (float16), the tokeniser and `training.csv` to the output folder. The same seed, library versions
and number of threads give the same model.
"""

import csv
import json
import math
import random
import time
from bisect import bisect
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmark.models.bundled_lm.corpus import Book, read_books
from benchmark.models.bundled_lm.documents import documents
from benchmark.models.bundled_lm.measures import bits_per_byte, repeat_costs
from benchmark.models.bundled_lm.tokeniser import SPECIAL, train_tokeniser
from benchmark.models.bundled_lm.wiring import wire_copying

VOCABULARY = 4096
CONTEXT = 4096
Stages = tuple[tuple[float, int, float], ...]
_STEP_TOKENS = 4096
# Share of the steps, tokens per row, share of rows that repeat random tokens.
_STAGES: Stages = ((0.1, 128, 0.3), (0.4, 256, 0.1), (0.42, 512, 0.05), (0.08, 4096, 0.0))
_LATE_STAGES: Stages = ((0.5, 1024, 0.05), (0.5, 4096, 0.0))  # when training continues from a model
_MUON_LR, _ADAM_LR = 2e-3, 3e-3
_WARM_UP = 50
_EVERY = 100  # steps between measurements


def train(
    corpus: Annotated[Path, typer.Argument(help="Folder of *.txt.gz: public-domain books in English.")],
    out: Annotated[Path, typer.Option(help="Output folder of the model.")] = Path(__file__).parent / "model",
    steps: Annotated[int, typer.Option(min=10, help="Number of steps of 4,096 tokens each.")] = 2000,
    stop_at: Annotated[
        int | None, typer.Option(help="Last step. The bundled model was stopped at step 1,000 of 2,000.")
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option(help="Model to continue from, with long rows. The bundled model got 200 such steps."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed of weights and samples.")] = 20261121,
    threads: Annotated[int, typer.Option(min=1, help="Number of threads of torch.")] = 2,
) -> None:
    """Train the bundled model, and write it to OUT with its tokeniser and loss curve."""
    import torch
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

    torch.manual_seed(seed)
    torch.set_num_threads(threads)
    books = read_books(corpus)
    out.mkdir(parents=True, exist_ok=True)
    (out / "books.json").write_text(json.dumps({book.name: book.sha256 for book in books}, indent=1) + "\n")
    tokeniser = train_tokeniser([book.train for book in books], VOCABULARY)
    fast: Any = PreTrainedTokenizerFast
    fast(
        tokenizer_object=tokeniser,
        unk_token=SPECIAL[0],
        bos_token=SPECIAL[1],
        eos_token=SPECIAL[2],
        model_max_length=CONTEXT,
        clean_up_tokenization_spaces=False,
    ).save_pretrained(out)
    model = fresh_model() if start is None else LlamaForCausalLM.from_pretrained(start, dtype=torch.float32)
    before = [] if start is None else [line.split(",") for line in (start / "training.csv").read_text().splitlines()]
    done, spent_before = (int(before[-1][0]), float(before[-1][-1])) if before else (0, 0.0)
    optimisers = _optimisers(model)
    rows = _batches([book.train for book in books], tokeniser, steps, seed, _STAGES if start is None else _LATE_STAGES)
    started, recent = time.monotonic(), []
    with (out / "training.csv").open("w", newline="") as file:
        log = csv.writer(file)
        log.writerows(
            before or [("step", "train_bits_per_token", "held_out_bits_per_byte", "second_cost_share", "seconds")]
        )
        last = min(steps, stop_at or steps)
        for step in range(1, last + 1):
            loss = _step(model, next(rows), optimisers, _rate(step, steps))
            recent.append(loss)
            if step % _EVERY == 0 or step == last:
                row = _measured(model, tokeniser, books)
                spent = time.monotonic() - started
                log.writerow(
                    [step + done, f"{sum(recent) / len(recent) / math.log(2):.4f}", *row, f"{spent + spent_before:.0f}"]
                )
                file.flush()
                recent.clear()
                _save(model, out)
    _save(model, out)


def fresh_model() -> Any:
    """Make a Llama with 6 layers of width 256 and tied embeddings; weights are random except those set by wiring.py."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=256,
        intermediate_size=704,
        num_hidden_layers=6,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=True,
        attention_bias=True,
        bos_token_id=1,
        eos_token_id=2,
        dtype=torch.float32,
    )
    model = LlamaForCausalLM(config)
    wire_copying(model)
    return model


def _optimisers(model: Any) -> list[Any]:
    """Make Muon for the inner weight matrices, and AdamW for embeddings and norms."""
    from torch.optim import AdamW, Muon

    inside = [p for name, p in model.named_parameters() if p.ndim == 2 and "embed" not in name]
    others = [p for name, p in model.named_parameters() if p.ndim != 2 or "embed" in name]
    return [
        Muon(inside, lr=_MUON_LR, weight_decay=0.02, adjust_lr_fn="match_rms_adamw"),
        AdamW(others, lr=_ADAM_LR, betas=(0.9, 0.95), weight_decay=0.0),
    ]


def _rate(step: int, steps: int) -> float:
    """Return the share of the full learning rate: a warm-up, then linear decay to 2%."""
    return min(step / _WARM_UP, 0.02 + 0.98 * (1 - step / steps))


def _batches(texts: list[str], tokeniser: Any, steps: int, seed: int, stages: Stages) -> Iterator[Any]:
    """Yield the token ids [rows, length + 1] of each step; a row is `<s>` and a document, or repeated random tokens."""
    import torch

    rng = random.Random(seed)  # noqa: S311 - not for secrets
    streams = {length: documents(texts, length * 4, seed + length) for _, length, _ in stages}
    ends = list(accumulate(share for share, _, _ in stages))
    for step in range(steps):
        _, length, rote = stages[min(bisect(ends, step / steps), len(stages) - 1)]
        rows = []
        for _ in range(_STEP_TOKENS // length):
            ids: list[int] = []
            if rng.random() < rote:
                ids = _repeated(rng, length + 1)
            while len(ids) <= length:
                ids += [1, *tokeniser.encode(next(streams[length]), add_special_tokens=False).ids]
            rows.append(ids[: length + 1])
        yield torch.tensor(rows)


def _repeated(rng: random.Random, length: int) -> list[int]:
    """Repeat a few random tokens."""
    once = [rng.randrange(len(SPECIAL), VOCABULARY) for _ in range(rng.randint(3, max(8, length // 4)))]
    return (once * (length // len(once) + 1))[:length]


def _step(model: Any, ids: Any, optimisers: list[Any], rate: float) -> float:
    """Do one training step and return the loss in nats per token."""
    import torch

    with torch.autocast("cpu", torch.bfloat16):
        logits = model(ids[:, :-1], use_cache=False).logits
    loss: Any = torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), ids[:, 1:].flatten())
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    for optimiser, full in zip(optimisers, (_MUON_LR, _ADAM_LR), strict=True):
        for group in optimiser.param_groups:
            group["lr"] = full * rate
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
    return float(loss.detach())


def _measured(model: Any, tokeniser: Any, books: list[Book]) -> tuple[str, str]:
    held_out = [book.held_out for book in books]
    first, second = repeat_costs(model, tokeniser, held_out)
    return f"{bits_per_byte(model, tokeniser, held_out, windows=4):.4f}", f"{second / first:.4f}"


def _save(model: Any, out: Path) -> None:
    """Save the model in float16, as it ships."""
    import copy

    import torch

    copy.deepcopy(model).to(torch.float16).save_pretrained(out)


if __name__ == "__main__":
    typer.run(train)
