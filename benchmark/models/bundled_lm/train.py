"""Trains the bundled language model: `python -m benchmark.models.bundled_lm.train CORPUS`.

The model is a Llama with 5.9 million parameters, trained on a CPU in an hour or two. The script writes
`model.safetensors` (float16), the tokeniser and `training.csv` to the output folder.

Initial weights already copy: two layers are wired as an induction circuit (Olsson et al. 2022, arXiv:2209.11895). A
head in the first layer passes each token's predecessor on to it, and the heads of the second layer look for tokens
whose predecessor is the current token. From random weights, a model this small did not learn to copy in over a million
tokens; from these it copies random tokens within fifty steps, and training may change all of them.

Excerpts of books teach English. Labelled lists of passages teach what D_Can measures: that a passage may be repeated,
exactly or nearly, may alternate with others, or may not be repeated at all.
"""

import copy
import csv
import gzip
import json
import math
import random
import re
import string
import time
from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmark.surprisal.prompt_layout import response_label
from divbench.core.errors import InputError
from divbench.core.files import sha256_of

SPECIAL = ("<unk>", "<s>", "</s>")
VOCABULARY, CONTEXT = 4096, 4096
SEED = 20261121
_HELD_OUT = 0.05  # share of each book's characters, at its end
_MAX_BOOK_BYTES = 64 * 1024 * 1024
# A newline is a separate token, numbers are split into digits, and a space belongs to the word after it.
_PIECES = r"\n|▁?[\p{L}\p{M}]+|▁?\p{N}|▁?[^\s▁\p{L}\p{M}\p{N}]+|[^\S\n]|▁"
_STEP_TOKENS, _WARM_UP, _EVERY = 4096, 50, 100  # tokens per step, steps of warm-up, steps between measurements
# Share of the steps, tokens per row, share of rows that repeat random tokens; then when training continues.
_STAGES = ((0.1, 128, 0.3), (0.4, 256, 0.1), (0.42, 512, 0.05), (0.08, 4096, 0.0))
_LATE_STAGES = ((0.5, 1024, 0.05), (0.5, 4096, 0.0))
_MUON_LR, _ADAM_LR = 2e-3, 3e-3
_SENTENCE = re.compile("(?<=[.!?])[\"'\u201d\u2019)]*\\s+")
_ASKS = (
    *("Tell me something.", "Write a sentence.", "Write a few lines.", "Say something.", "Continue."),
    *("Write a short piece.", "What happened then?", "Tell me more.", "Describe what you see.", "Give an example."),
    *("Write a short story.", "What do you think?", "Answer the question.", "Tell me about your day."),
    *("Write anything you like.", "Make something up."),
)
_OTHER_LETTERS = (range(0xC0, 0x180), range(0x391, 0x3CA), range(0x410, 0x450), range(0x5D0, 0x5EB))
_OTHER_SIGNS = (range(0x4E00, 0x9F00), range(0x3041, 0x30FF), range(0x1F300, 0x1F650), range(0x905, 0x940))
_ALPHABETS = (
    *(string.ascii_uppercase + " ", string.digits + " ", *2 * [string.printable[:95]], string.ascii_lowercase),
    *("".join(chr(i) for part in parts for i in part) for parts in (_OTHER_LETTERS, _OTHER_SIGNS)),
)
_PLAIN_SHARE = 0.45  # share of documents that are an excerpt of a book


@dataclass(frozen=True, slots=True)
class Book:
    """A public-domain book, the end of which is held out."""

    name: str
    sha256: str  # SHA-256 of the file
    train: str
    held_out: str


def read_books(folder: Path) -> list[Book]:
    """Read the books in a folder's `*.txt.gz` files, sorted by name."""
    books = []
    for path in sorted(folder.glob("*.txt.gz")):
        with gzip.open(path) as file:
            text = file.read(_MAX_BOOK_BYTES).decode().replace("\r\n", "\n").strip()
        cut = text.rfind("\n\n", 0, int(len(text) * (1 - _HELD_OUT)))
        books.append(Book(path.name.removesuffix(".txt.gz"), sha256_of(path), text[:cut], text[cut:].strip()))
    if not books:
        raise InputError(f"{folder}: no *.txt.gz", "give a folder of gzipped plain-text books")
    return books


def sentences(text: str) -> list[str]:
    """Return the sentences of a book that have 15 to 320 characters, with single spaces."""
    flat = (" ".join(part.split()) for paragraph in text.split("\n\n") for part in _SENTENCE.split(paragraph))
    return [part for part in flat if 15 <= len(part) <= 320]


def documents(books: list[str], characters: int, seed: int) -> Iterator[str]:
    """Yield documents forever."""
    rng = random.Random(seed)  # noqa: S311 - not for secrets
    split = [sentences(book) for book in books]
    weights = [len(book) ** 0.5 for book in books]
    while True:
        book = rng.choices(range(len(books)), weights)[0]
        if rng.random() < _PLAIN_SHARE:
            start = books[book].find(" ", rng.randrange(max(1, len(books[book]) - characters))) + 1
            yield books[book][start : start + characters]
        else:
            yield _listed(rng, split[book], characters)


def _listed(rng: random.Random, source: list[str], characters: int) -> str:
    """Make a list of passages: repeats, near-repeats, several modes in random order, or all different."""
    lister = rng.choice((_instruct, _instruct, _completion, _completion, _bare))
    kind = rng.choices(("same", "near", "modes", "different", "noise"), (3, 3, 3, 2, 1))[0]
    modes = 1 if kind in ("same", "near") else rng.choice((2, 2, 3, 4, 5))
    make = _noise if kind == "noise" else lambda r: _passage(r, source)
    pool = [make(rng) for _ in range(modes)]
    changes = {"same": 0.0, "near": rng.choice((0.05, 0.1, 0.2)), "modes": rng.choice((0.0, 0.0, 0.1))}.get(kind, 0.0)
    length, items = 0, []
    while length < characters:
        text = make(rng) if kind == "different" else _varied(rng, rng.choice(pool), changes, source)
        items.append(text)
        length += len(text) + 12
    ask = rng.choice(_ASKS) if rng.random() < 0.5 else rng.choice(source)
    return lister(ask, items)


def _passage(rng: random.Random, source: list[str]) -> str:
    """Make a passage of one to three consecutive sentences, or the beginning of one."""
    start = rng.randrange(max(1, len(source) - 3))
    text = " ".join(source[start : start + rng.choice((1, 1, 1, 2, 3))])
    if rng.random() < 0.25:
        words = text.split()
        text = " ".join(words[: rng.randint(2, max(2, min(12, len(words))))])
    return text


def _noise(rng: random.Random) -> str:
    """Make a text of random characters, including scripts that the books lack, so that their bytes are learnt, too."""
    alphabet = rng.choice(_ALPHABETS)
    return "".join(rng.choices(alphabet, k=rng.randint(10, 90))).strip() or "x"


def _varied(rng: random.Random, text: str, share: float, source: list[str]) -> str:
    """Drop some of a passage's words, or replace them with words from elsewhere."""
    if not share:
        return text
    words = []
    for word in text.split(" "):
        draw = rng.random()
        if draw <= 1 - share / 4:
            words.append(rng.choice(rng.choice(source).split()) if draw < share else word)
    return " ".join(words) or text


def _instruct(ask: str, items: list[str]) -> str:
    return ask + "".join(f"\n\nResponse {response_label(i)}: {item}" for i, item in enumerate(items))


def _completion(ask: str, items: list[str]) -> str:
    start = " ".join(ask.split()[:8])
    return "\n\n".join(f"{i}. {start} {item}" for i, item in enumerate(items, 1))


def _bare(ask: str, items: list[str]) -> str:
    return "\n\n".join([ask, *items])


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

    learner = fresh(models.BPE(unk_token=SPECIAL[0]))
    size = vocabulary - len(SPECIAL) - 256
    trainer = trainers.BpeTrainer(vocab_size=size, limit_alphabet=120, special_tokens=[], show_progress=False)
    learner.train_from_iterator(texts, trainer)
    learned = json.loads(learner.to_str())["model"]
    pieces = sorted(learned["vocab"], key=learned["vocab"].__getitem__)
    vocab = {piece: i for i, piece in enumerate([*SPECIAL, *(f"<0x{byte:02X}>" for byte in range(256)), *pieces])}
    merges = [tuple(pair) for pair in learned["merges"]]
    tokeniser = fresh(models.BPE(vocab=vocab, merges=merges, unk_token=SPECIAL[0], byte_fallback=True))
    tokeniser.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    tokeniser.add_special_tokens(list(SPECIAL))
    begin = SPECIAL[1]
    tokeniser.post_processor = processors.TemplateProcessing(f"{begin} $A", special_tokens=[(begin, vocab[begin])])
    return tokeniser


def fresh_model() -> Any:
    """Make a Llama with 6 layers of width 256 and tied embeddings; weights are random except for the wired ones."""
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
    _wire_copying(model)
    return model


def _wire_copying(model: Any) -> None:
    """Set the embeddings and the attention of the first two layers of a Llama with attention biases."""
    import torch

    config = model.config
    size, heads, width = config.head_dim, config.num_attention_heads, 32  # dimensions that encode the predecessor
    half = size // 2
    first, second = (layer.self_attn for layer in model.model.layers[:2])
    with torch.no_grad():
        model.model.embed_tokens.weight.normal_(0, 0.06)  # so that their length is about 1
        token, predecessor = (torch.linalg.qr(torch.randn(config.hidden_size, width))[0] for _ in range(2))
        for pair in range(4):  # with the fastest rotary embeddings, query and key then match best one token apart
            angle = config.rope_parameters["rope_theta"] ** (-pair / half)
            first.q_proj.bias[pair] = 8.0
            first.k_proj.bias[pair] = 8.0 * math.cos(angle)
            first.k_proj.bias[pair + half] = 8.0 * math.sin(angle)
        first.v_proj.weight[:width] = token.T
        first.v_proj.weight[width:size] = 0
        first.o_proj.weight[:, :size] = 0
        first.o_proj.weight[:, :width] = 0.17 * predecessor
        slow = torch.tensor([*range(half // 2, half), *range(half + half // 2, size)])  # hardly rotated by position
        second.q_proj.weight.zero_()
        second.k_proj.weight.zero_()
        for head in range(heads):
            second.q_proj.weight[size * head + slow] = 1.6 * token.T
            second.k_proj.weight[size * head + slow] = 1.6 * predecessor.T
        turned = torch.linalg.qr(torch.randn(config.hidden_size, config.hidden_size))[0]
        second.v_proj.weight.copy_(turned)
        second.o_proj.weight.copy_(0.2 * turned.T)


def _batches(texts: list[str], tokeniser: Any, steps: int, stages: Sequence[tuple[float, int, float]]) -> Iterator[Any]:
    """Yield the token ids [rows, length + 1] of each step; a row is `<s>` and a document, or repeated random tokens."""
    import torch

    rng = random.Random(SEED)  # noqa: S311 - not for secrets
    streams = {length: documents(texts, length * 4, SEED + length) for _, length, _ in stages}
    ends = list(accumulate(share for share, _, _ in stages))
    for step in range(steps):
        _, length, rote = stages[min(bisect(ends, step / steps), len(stages) - 1)]
        rows = []
        for _ in range(_STEP_TOKENS // length):
            ids: list[int] = []
            if rng.random() < rote:  # a few random tokens, again and again
                once = [rng.randrange(len(SPECIAL), VOCABULARY) for _ in range(rng.randint(3, max(8, length // 4)))]
                ids = once * (length // len(once) + 2)
            while len(ids) <= length:
                ids += [1, *tokeniser.encode(next(streams[length]), add_special_tokens=False).ids]
            rows.append(ids[: length + 1])
        yield torch.tensor(rows)


def _step(model: Any, ids: Any, optimisers: list[tuple[Any, float]], rate: float) -> float:
    """Do one training step with a share of the full learning rates, and return the loss in nats per token."""
    import torch

    with torch.autocast("cpu", torch.bfloat16):
        logits = model(ids[:, :-1], use_cache=False).logits
    loss: Any = torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), ids[:, 1:].flatten())
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    for optimiser, full_rate in optimisers:
        for group in optimiser.param_groups:
            group["lr"] = full_rate * rate
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
    return float(loss.detach())


def _bits_per_byte(model: Any, tokeniser: Any, texts: list[str], windows: int = 4, size: int = 1024) -> float:
    """Compute bits per byte of the first windows of each text, each read separately after `<s>`."""
    import torch

    bits, length = 0.0, 0
    for text in texts:
        ids = tokeniser.encode(text, add_special_tokens=False).ids
        for start in range(0, len(ids) - size + 1, size)[:windows]:
            window = torch.tensor([[1, *ids[start : start + size]]])
            with torch.inference_mode():
                logits = model(window[:, :-1], use_cache=False).logits[0].float()
            bits += float(torch.nn.functional.cross_entropy(logits, window[0, 1:], reduction="sum")) / math.log(2)
            length += len(tokeniser.decode(ids[start : start + size]).encode())
    return bits / length


def train(
    corpus: Annotated[Path, typer.Argument(help="Folder of *.txt.gz: public-domain books in English.")],
    out: Annotated[Path, typer.Option(help="Output folder of the model.")] = Path(__file__).parent / "model",
    steps: Annotated[int, typer.Option(min=10, help="Number of steps of 4,096 tokens each.")] = 2000,
    stop_at: Annotated[int, typer.Option(help="Last step; the bundled model was stopped at 1,000 of 2,000.")] = 1000,
    start: Annotated[
        Path | None, typer.Option(help="Model to continue with long rows; the bundled model got 200 such steps.")
    ] = None,
) -> None:
    """Train the bundled model, and write it to OUT with its tokeniser and loss curve."""
    import torch
    from torch.optim import AdamW, Muon
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

    torch.manual_seed(SEED)
    torch.set_num_threads(2)
    books = read_books(corpus)
    out.mkdir(parents=True, exist_ok=True)
    (out / "books.json").write_text(json.dumps({book.name: book.sha256 for book in books}, indent=1) + "\n")
    tokeniser = train_tokeniser([book.train for book in books], VOCABULARY)
    names = dict(zip(("unk_token", "bos_token", "eos_token"), SPECIAL, strict=True))
    wrap: Any = PreTrainedTokenizerFast
    wrap(tokenizer_object=tokeniser, model_max_length=CONTEXT, **names).save_pretrained(out)
    model = fresh_model() if start is None else LlamaForCausalLM.from_pretrained(start, dtype=torch.float32)
    inner = [p for name, p in model.named_parameters() if p.ndim == 2 and "embed" not in name]
    others = [p for name, p in model.named_parameters() if p.ndim != 2 or "embed" in name]
    optimisers = [
        (Muon(inner, lr=_MUON_LR, weight_decay=0.02, adjust_lr_fn="match_rms_adamw"), _MUON_LR),
        (AdamW(others, lr=_ADAM_LR, betas=(0.9, 0.95), weight_decay=0.0), _ADAM_LR),
    ]
    batches = _batches([book.train for book in books], tokeniser, steps, _STAGES if start is None else _LATE_STAGES)
    begin, losses, last = time.monotonic(), [], min(steps, stop_at)
    with (out / "training.csv").open("w", newline="") as file:
        log = csv.writer(file)
        log.writerow(("step", "train_bits_per_token", "held_out_bits_per_byte", "seconds"))
        for step in range(1, last + 1):
            rate = min(step / _WARM_UP, 0.02 + 0.98 * (1 - step / steps))  # a warm-up, then linear decay to 2%
            losses.append(_step(model, next(batches), optimisers, rate))
            if step % _EVERY == 0 or step == last:
                held_out = _bits_per_byte(model, tokeniser, [book.held_out for book in books])
                bits = sum(losses) / len(losses) / math.log(2)
                log.writerow([step, f"{bits:.4f}", f"{held_out:.4f}", f"{time.monotonic() - begin:.0f}"])
                file.flush()
                losses.clear()
                copy.deepcopy(model).to(torch.float16).save_pretrained(out)  # as it ships


if __name__ == "__main__":
    typer.run(train)
