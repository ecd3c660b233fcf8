"""Trains the bundled language model: `python -m benchmark.models.bundled_lm.train CORPUS`.

The model is a Llama with 5.9 million parameters, trained on a CPU in an hour or two. The script writes
`model.safetensors` (float16), the tokeniser and `training.csv` to the output folder. The same seed, library versions
and number of threads give the same model.

Initial weights already copy: two layers are wired as an induction circuit (Olsson et al. 2022, arXiv:2209.11895). A
head in the first layer passes each token's predecessor on to it, and the heads of the second layer look for tokens
whose predecessor is the current token. From random weights, a model this small did not learn to copy in over a million
tokens; from these it copies random tokens within fifty steps, and training may change all of them.
"""

import csv
import json
import math
import random
import time
from bisect import bisect
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmark.models.bundled_lm.corpus import Book, read_books
from benchmark.models.bundled_lm.documents import documents, sentences

_SPREAD = 0.06  # standard deviation of the embeddings, so that their length is about 1
_SHARP = 8.0  # size of the biases that make the first head attend to the previous token
_TOLD = 0.17  # scale of the first head's output
_MATCH = 1.6  # scale of the second layer's queries and keys
_COPIED = 0.2  # scale of the second layer's output
_PAIRS = 4  # number of fastest rotations used, which distinguish the previous token from the one before it
_WIDTH = 32  # dimensions in which the predecessor is encoded


def wire_copying(model: Any) -> None:
    """Set the embeddings and the attention of the first two layers of a Llama with attention biases."""
    import torch

    config = model.config
    size, heads = config.head_dim, config.num_attention_heads
    half = size // 2
    first, second = (layer.self_attn for layer in model.model.layers[:2])
    with torch.no_grad():
        model.model.embed_tokens.weight.normal_(0, _SPREAD)
        said, told = (torch.linalg.qr(torch.randn(config.hidden_size, _WIDTH))[0] for _ in range(2))
        for pair in range(_PAIRS):  # with rotary embeddings, query and key then match best one token apart
            angle = config.rope_parameters["rope_theta"] ** (-pair / half)
            first.q_proj.bias[pair] = _SHARP
            first.k_proj.bias[pair] = _SHARP * math.cos(angle)
            first.k_proj.bias[pair + half] = _SHARP * math.sin(angle)
        first.v_proj.weight[:_WIDTH] = said.T
        first.v_proj.weight[_WIDTH:size] = 0
        first.o_proj.weight[:, :size] = 0
        first.o_proj.weight[:, :_WIDTH] = _TOLD * told
        slow = torch.tensor([*range(half // 2, half), *range(half + half // 2, size)])  # hardly rotated by position
        second.q_proj.weight.zero_()
        second.k_proj.weight.zero_()
        for head in range(heads):
            second.q_proj.weight[size * head + slow] = _MATCH * said.T
            second.k_proj.weight[size * head + slow] = _MATCH * told.T
        turned = torch.linalg.qr(torch.randn(config.hidden_size, config.hidden_size))[0]
        second.v_proj.weight.copy_(turned)
        second.o_proj.weight.copy_(_COPIED * turned.T)


SPECIAL = ("<unk>", "<s>", "</s>")
# A newline is a separate token, numbers are split into digits, and a space belongs to the word after it.
_PIECES = r"\n|▁?[\p{L}\p{M}]+|▁?\p{N}|▁?[^\s▁\p{L}\p{M}\p{N}]+|[^\S\n]|▁"


def train_tokeniser(texts: Sequence[str], vocabulary: int) -> Any:
    """Train a `tokenizers.Tokenizer` with `vocabulary` tokens: three special ones, 256 bytes, characters, merges.

    It is lossless: text in any script decodes to itself, except for `▁`, which represents the space.
    """
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    def fresh(model: Any) -> Any:
        tokeniser = Tokenizer(model)
        tokeniser.normalizer = normalizers.Replace(" ", "▁")
        tokeniser.pre_tokenizer = pre_tokenizers.Split(Regex(_PIECES), "isolated")
        return tokeniser

    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    learner = fresh(models.BPE(unk_token=SPECIAL[0]))
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary - len(SPECIAL) - 256, limit_alphabet=120, special_tokens=[], show_progress=False
    )
    learner.train_from_iterator(texts, trainer)
    learned = json.loads(learner.to_str())["model"]
    pieces = sorted(learned["vocab"], key=learned["vocab"].__getitem__)
    names = [*SPECIAL, *bytes_, *pieces]
    made = fresh(
        models.BPE(
            vocab={piece: i for i, piece in enumerate(names)},
            merges=[tuple(pair) for pair in learned["merges"]],
            unk_token=SPECIAL[0],
            byte_fallback=True,
        )
    )
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    made.add_special_tokens(list(SPECIAL))
    begin = SPECIAL[1]
    made.post_processor = processors.TemplateProcessing(
        f"{begin} $A", special_tokens=[(begin, made.token_to_id(begin))]
    )
    return made


_WINDOW = 1024  # tokens
_PASSAGES = 40


def bits_per_byte(model: Any, tokeniser: Any, texts: list[str], windows: int | None = None) -> float:
    """Compute bits per byte of texts read in separate windows of 1,024 tokens, each after `<s>`."""
    bits, bytes_ = 0.0, 0
    for text in texts:
        ids = tokeniser.encode(text, add_special_tokens=False).ids
        for start in range(0, len(ids) - _WINDOW + 1, _WINDOW)[:windows]:
            window = ids[start : start + _WINDOW]
            bits += sum(_token_bits(model, [1, *window]))
            bytes_ += len(tokeniser.decode(window).encode())
    return bits / bytes_


def repeat_costs(model: Any, tokeniser: Any, texts: list[str]) -> tuple[float, float]:
    """Compute the mean bits of passages at their first and second occurrence, under two labels."""
    rng = random.Random(7)  # noqa: S311 - not for secrets
    source = [sentences(text) for text in texts]
    first = second = 0.0
    for _ in range(_PASSAGES):
        book = rng.choice(source)
        start = rng.randrange(len(book) - 3)
        passage = " ".join(book[start : start + rng.randint(1, 3)])
        pieces = ["Tell me something.\n\nResponse A:", " " + passage, "\n\nResponse B:", " " + passage]
        encoded = [tokeniser.encode(piece, add_special_tokens=False).ids for piece in pieces]
        bits = _token_bits(model, [1, *(i for ids in encoded for i in ids)])
        begin = len(encoded[0])
        first += sum(bits[begin : begin + len(encoded[1])])
        second += sum(bits[-len(encoded[3]) :])
    return first / _PASSAGES, second / _PASSAGES


def _token_bits(model: Any, ids: list[int]) -> list[float]:
    """Return the bits of each token except the first."""
    import torch

    with torch.inference_mode():
        logits = model(torch.tensor([ids[:-1]]), use_cache=False).logits[0].float()
    found = torch.log_softmax(logits, -1).gather(1, torch.tensor(ids[1:])[:, None])[:, 0]
    return [-x / math.log(2) for x in found.tolist()]


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
