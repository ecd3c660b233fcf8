"""The bundled model's tokeniser: byte-fallback BPE, trained on the books."""

import json
from collections.abc import Sequence
from typing import Any

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
