"""How many tokens a model reads of a text, and batches of texts of similar length."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

# With 1024 tokens, the activations of a small model stay in a CPU's caches: all-MiniLM-L6-v2 then reads 256-token texts
# twice as fast as in batches of 64. A GPU needs larger batches to be busy.
CPU_TOKENS, GPU_TOKENS = 1024, 16_384
_WORD = re.compile(r"\S+")


def token_batches(tokens: Sequence[int], device: str) -> Iterator[list[int]]:
    """Yield the indices of texts in batches, the longest first, so that a lack of memory shows at once.

    >>> list(token_batches([300, 10, 500, 500], "cpu"))
    [[2, 3], [0, 1]]
    """
    budget = CPU_TOKENS if device == "cpu" else GPU_TOKENS
    order = sorted(range(len(tokens)), key=lambda i: -tokens[i])
    start = 0
    while start < len(order):
        end = start + max(1, budget // max(1, tokens[order[start]]))
        yield order[start:end]
        start = end


def beginning(text: str, words: int) -> str:
    """Return a text up to the given number of words, those without a letter or digit not counted.

    Every other word is at least one token, so a model that reads no more tokens than words are kept reads the same. A
    tokeniser that is given a long text splits all of it before it truncates.

    >>> beginning("One - two, three!", 2)
    'One - two,'
    """
    counted = (found for found in _WORD.finditer(text) if any(map(str.isalnum, found[0])))
    last = next(islice(counted, words - 1, None), None)
    return text if last is None else text[: last.end()]


def token_counts(tokeniser: Any, texts: Sequence[str | tuple[str, str]], most: int) -> list[int]:
    """Count the tokens of each text or pair of texts, including special ones; at most `most`.

    An average of bytes per token would put texts of different lengths into one batch, which pads the shorter ones.

    >>> token_counts(None, ["ab", "abcd"], 3)
    [2, 3]
    """
    if not callable(tokeniser):
        return [min(most, len(text)) for text in texts]
    return [len(ids) for ids in tokeniser(list(texts), truncation=True, max_length=most)["input_ids"]] if texts else []


def most_tokens(model: Any, most: int) -> int:
    """Return `most`, or how many tokens a model can read if its table of positions is shorter.

    RoBERTa's positions begin after the id of its padding.
    """
    from torch.nn import Embedding

    tables = [
        each
        for name, each in model.named_modules()
        if isinstance(each, Embedding) and name.endswith(("position_embeddings", "position_embedding", "wpe"))
    ]
    starts = [0 if table.padding_idx is None else table.padding_idx + 1 for table in tables]
    return min([most, *(table.num_embeddings - start for table, start in zip(tables, starts, strict=True))])
