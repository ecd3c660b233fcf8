"""A completions server on loopback that reads with a tiny model, and answers amiss on demand."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from tests.benchmark.json_server import JsonServer, serving

Dialect = Literal["vllm", "echo", "echo-strict", "none"]
CONTEXT = 256
BEGIN = "<s>"
TEXTS = ("The cat sat on the mat.\n\nResponse A: It is 42.", "数学はきれい 🙂", "def f(x):\n    return x ** 2", "")


def tiny_tokeniser(vocabulary: int = 300) -> PreTrainedTokenizerFast:
    """Byte-level, with merges of a few words; it puts `<s>` before texts."""
    tokeniser = Tokenizer(models.BPE())
    tokeniser.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokeniser.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=[BEGIN], initial_alphabet=sorted(alphabet), show_progress=False
    )
    tokeniser.train_from_iterator(["The cat sat on the mat.", "Response A: the man sat.\n\n"] * 20, trainer)
    tokeniser.post_processor = processors.TemplateProcessing(single=f"{BEGIN} $A", special_tokens=[(BEGIN, 0)])
    made: PreTrainedTokenizerFast = PreTrainedTokenizerFast(tokenizer_object=tokeniser, bos_token=BEGIN)
    return made


def tiny_model(seed: int = 0) -> LlamaForCausalLM:
    """Random weights, large enough that probabilities differ much."""
    config = LlamaConfig(
        vocab_size=300,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=CONTEXT,
        initializer_range=0.3,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config)
    model.eval()
    return model


@dataclass
class CompletionsServer(JsonServer):
    """What a test holds of a running server; `replies`, `always` and `seen` are of requests for completions."""

    model: LlamaForCausalLM
    dialect: Dialect

    def answer(self, asked: dict[str, Any]) -> tuple[int, object]:
        """The status and the document for a request."""
        ids = asked["prompt"]
        if len(ids) + asked["max_tokens"] > CONTEXT:
            words = f"This model's maximum context length is {CONTEXT} tokens.\n\tYou requested {len(ids)}."
            return 400, {"error": {"message": words, "type": "BadRequestError", "code": 400}}
        if self.dialect == "echo-strict" and "prompt_logprobs" in asked:
            return 400, {"error": {"message": "Unrecognized request argument supplied: prompt_logprobs"}}
        choice: dict[str, Any] = {"index": 0, "text": "", "finish_reason": "length", "logprobs": None}
        if self.dialect == "vllm":
            choice["prompt_logprobs"] = self._by_id(ids) if asked.get("prompt_logprobs") is not None else None
        elif self.dialect != "none" and asked.get("echo"):
            choice["logprobs"] = {"tokens": ["?"] * len(ids), "token_logprobs": self._logprobs(ids)}
        return 200, {"object": "text_completion", "model": asked["model"], "choices": [choice]}

    def _log_softmax(self, ids: Sequence[int]) -> torch.Tensor:
        with torch.inference_mode():
            return torch.log_softmax(self.model(input_ids=torch.tensor([ids])).logits[0], -1)

    def _logprobs(self, ids: Sequence[int]) -> list[float | None]:
        table = self._log_softmax(ids)
        return [None, *(float(table[place, token]) for place, token in enumerate(ids[1:]))]

    def _by_id(self, ids: Sequence[int]) -> list[dict[str, Any] | None]:
        found = self._logprobs(ids)
        return [
            None if value is None else {str(token): {"logprob": value, "rank": 1, "decoded_token": "?"}}
            for value, token in zip(found, ids, strict=True)
        ]


@contextmanager
def completions_server(model: LlamaForCausalLM, dialect: Dialect = "vllm") -> Iterator[CompletionsServer]:
    """A server at an unused port, until the end of the block."""
    shown = CompletionsServer(model, dialect, models={"data": [{"id": "tiny", "max_model_len": CONTEXT}]})
    with serving(shown):
        yield shown
