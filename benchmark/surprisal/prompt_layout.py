"""How a prompt and its responses become the text that a language model reads, and which tokens are whose.

Two formats (arXiv:2606.01811, section A.1 and appendix C):

* *instruct*: the prompt, then for each slot two newlines, `Response A:` (the slot's label), a space, the response.
* *completion*: slots parted by two newlines; each is its number from 1, a full stop, a space, the prompt, a space, the
  response.

Two ways to make tokens of it:

* *exact*, the default: prompt, label, response and separator (the two newlines) are tokenised apart and joined. The
  space before a response belongs to its tokens, as words have it in most vocabularies. The separator stands after the
  last slot too. It is never charged to a response, and as nothing is scored after the last one, the model is spared
  that one.
* *paper*, to repeat published numbers: the whole text is tokenised at once, nothing stands after the last response, and
  a token belongs to a response if their characters overlap. A tokeniser that merges a full stop with the newlines after
  it (Qwen's and Llama 3's do) then charges separators to all responses but the last, and a_n is some 2 bits too high.

Stated once for all: prompts and responses are taken verbatim; a response that begins with white space has two
characters of it after its label. The surprisal of a response is the bits of all its tokens, the space before it
included; its bytes are the UTF-8 bytes of the response alone. An empty response has no tokens of its own, 0 bits and 0
bytes, and metrics leave it out (see metrics/surprise.py); it keeps its slot. What looks like a special token in a text
is plain text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchmark.models.causal_lm import CausalLM, Encoding, TokenSequence
from datasets_build.errors import ConfigurationError

Format = Literal["instruct", "completion"]
Boundaries = Literal["exact", "paper"]
Integers = NDArray[np.int64]
SEPARATOR = "\n\n"


@dataclass(frozen=True, slots=True)
class Layout:
    """How texts are laid out and tokenised.

    Attributes:
        format: *instruct* or *completion*.
        boundaries: *exact* or *paper*.
        bos: *model*: the text begins with the token that the model's tokeniser puts before texts by itself, if it does;
            *never*: as the paper, even for models that were always given one.
    """

    format: Format = "instruct"
    boundaries: Boundaries = "exact"
    bos: Literal["model", "never"] = "model"

    def __str__(self) -> str:
        """As in signatures, such as `instruct-exact-bos:model`."""
        return f"{self.format}-{self.boundaries}-bos:{self.bos}"


PAPER_INSTRUCT = Layout("instruct", "paper", "never")
PAPER_COMPLETION = Layout("completion", "paper", "never")


@dataclass(frozen=True, slots=True, eq=False)
class TokenisedText:
    """One text as tokens.

    Attributes:
        sequence: What the model reads; scored are the tokens of responses.
        slots: int64 [scored]; the slot, from 0, that each scored token belongs to.
    """

    sequence: TokenSequence
    slots: Integers


def response_label(slot: int) -> str:
    """The label of a slot as spreadsheets count columns: 0 is A, 25 Z, 26 AA, 701 ZZ, 702 AAA.

    >>> [response_label(slot) for slot in (0, 25, 26, 51, 52, 701, 702)]
    ['A', 'Z', 'AA', 'AZ', 'BA', 'ZZ', 'AAA']
    """
    label = ""
    slot += 1
    while slot:
        slot, letter = divmod(slot - 1, 26)
        label = chr(ord("A") + letter) + label
    return label


def pieces(layout: Layout, prompt: str, responses: Sequence[str]) -> list[tuple[str, int]]:
    r"""The text in the pieces that *exact* tokenises apart, each with its slot, or −1 for what is not a response.

    Joined they are the text that *paper* tokenises whole.

    >>> [text for text, slot in pieces(Layout(), "Say hello.", ["Hi.", "Hello."])]
    ['Say hello.', '\n\n', 'Response A:', ' Hi.', '\n\n', 'Response B:', ' Hello.']
    >>> [text for text, slot in pieces(Layout("completion"), "I am", ["here.", "not."])]
    ['1.', ' I am', ' here.', '\n\n', '2.', ' I am', ' not.']
    """
    made: list[tuple[str, int]] = []
    if layout.format == "instruct":
        made.append((prompt, -1))
    for slot, response in enumerate(responses):
        if made:
            made.append((SEPARATOR, -1))
        if layout.format == "instruct":
            made.append((f"Response {response_label(slot)}:", -1))
        else:
            made += [(f"{slot + 1}.", -1), (f" {prompt}", -1)]
        made.append((f" {response}", slot))
    return made


def lay_out(model: CausalLM, layout: Layout, prompt: str, texts: Sequence[Sequence[str]]) -> list[TokenisedText]:
    """Lists of responses under one prompt as token sequences, in the model's vocabulary.

    Args:
        model: Its tokeniser is used.
        layout: How.
        prompt: Verbatim.
        texts: For each sequence the responses in their slots.

    Raises:
        ConfigurationError: The paper's boundaries need a tokeniser that tells where its tokens lie.
    """
    bos = [model.bos] if layout.bos == "model" and model.bos is not None else []
    begin = np.array(bos, np.int64)
    parts = [pieces(layout, prompt, responses) for responses in texts]
    if layout.boundaries == "exact":
        different = sorted({text for each in parts for text, _ in each})
        encoded = dict(zip(different, model.encode(different), strict=True))
        return [_apart(each, encoded, begin) for each in parts]
    wholes = model.encode(["".join(text for text, _ in each) for each in parts], begin=True)
    return [_whole(each, whole, begin) for each, whole in zip(parts, wholes, strict=True)]


def _apart(parts: list[tuple[str, int]], encoded: dict[str, Encoding], begin: Integers) -> TokenisedText:
    ids, slots = [begin], [np.full(len(begin), -1)]
    for text, slot in parts:
        found = encoded[text].ids
        ids.append(found)
        slots.append(np.full(len(found), slot if text != " " else -1))  # an empty response: its space is nobody's
    return _laid(np.concatenate(ids), np.concatenate(slots))


def _whole(parts: list[tuple[str, int]], whole: Encoding, begin: Integers) -> TokenisedText:
    """By overlap of characters; a token that reaches over two responses is the later one's, as nothing else can be."""
    if whole.offsets is None:
        raise ConfigurationError(
            'boundaries="paper" needs a tokeniser that tells where its tokens lie, and this one does not',
            'use boundaries="exact", or a model with a fast tokeniser',
        )
    slots = np.full(len(whole.ids), -1)
    starts, ends = whole.offsets[:, 0], whole.offsets[:, 1]
    at, alone = 0, sum(slot >= 0 for _, slot in parts) == 1
    for text, slot in parts:
        if slot >= 0 and len(text) > 1:
            touched = np.flatnonzero((ends > at + 1) & (starts < at + len(text)))
            if len(touched):  # with what lies between, and alone with what follows, as published
                slots[touched[0] : len(slots) if alone else touched[-1] + 1] = slot
        at += len(text)
    return _laid(np.concatenate([begin, whole.ids]), np.concatenate([np.full(len(begin), -1), slots]))


def _laid(ids: Integers, slots: Integers) -> TokenisedText:
    scored = np.flatnonzero(slots >= 0)
    return TokenisedText(TokenSequence(ids.astype(np.int64), scored), slots[scored].astype(np.int64))
