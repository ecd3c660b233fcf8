"""GRPO runs of a tiny model on a CPU, for `test_rollouts`: one for the cost, some that are steady, one that collapses.

Arguments: a folder, and the number of steady runs.
"""

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer

from divbench.integrations.groups import CollapseWarning
from divbench.integrations.rollouts import DiversityReward

WORDS = ["cat", "dog", "horse", "lion", "tiger", "bear", "wolf", "fox", "owl", "eagle", "shark", "frog", "goat"]
PROMPTS = ["Name an animal.", "Which animal do you like?", "Name a pet.", "Think of an animal."]


def tokeniser() -> PreTrainedTokenizerFast:
    asked = " ".join(PROMPTS).replace(".", " .").replace("?", " ?").split()
    known = dict.fromkeys(["<pad>", "<end>", "<unk>", *WORDS, *asked])
    made = Tokenizer(models.WordLevel({word: i for i, word in enumerate(known)}, unk_token="<unk>"))  # noqa: S106
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    marks = {"pad_token": "<pad>", "eos_token": "<end>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(tokenizer_object=made, padding_side="left", **marks)


def run(
    folder: Path,
    seed: int,
    *,
    length: int,
    steps: int,
    size: int,
    rate: float,
    reward: Any,
    monitored: bool = True,
) -> dict[str, Any]:
    """Train a model of one seed and return what was logged, the warnings, and the time."""
    torch.manual_seed(seed)
    known = tokeniser()
    config = LlamaConfig(
        vocab_size=len(known),
        hidden_size=size,
        intermediate_size=2 * size,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=4,
        pad_token_id=known.pad_token_id,
        eos_token_id=None,
        bos_token_id=None,
    )
    model = LlamaForCausalLM(config)
    allowed = torch.full((len(known),), -1e4)  # says nothing but animals
    allowed[[known.convert_tokens_to_ids(word) for word in WORDS]] = 0.0
    model.lm_head.register_forward_hook(lambda module, inputs, output: output + allowed)
    monitor = DiversityReward(quality=animals, gate=1, window=8)
    settings = GRPOConfig(
        output_dir=str(folder),
        num_generations=8,
        per_device_train_batch_size=16,
        max_completion_length=length,
        max_steps=steps,
        learning_rate=rate,
        lr_scheduler_type="constant",
        reward_weights=[1.0, 0.0] if monitored else [1.0],
        logging_steps=1,
        save_strategy="no",
        report_to=[],
        use_cpu=True,
        seed=seed,
        bf16=False,
        disable_tqdm=True,
        beta=0.0,
    )
    trainer = GRPOTrainer(
        model=model,
        reward_funcs=[reward, monitor] if monitored else [reward],
        args=settings,
        train_dataset=Dataset.from_list([{"prompt": prompt} for prompt in PROMPTS * 8]),
        processing_class=known,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        started = time.perf_counter()
        trainer.train()
        seconds = time.perf_counter() - started
    logged = [
        {name: value for name, value in row.items() if name.startswith("diversity/") or name in ("step", "reward")}
        for row in trainer.state.log_history
        if "reward" in row
    ]
    alarms = [str(each.message) for each in caught if issubclass(each.category, CollapseWarning)]
    return {"logged": logged, "alarms": alarms, "share": monitor.seconds / seconds, "seconds": seconds}


def animals(completions: list[str], **kwargs: Any) -> list[float]:
    """Whether a completion is right: it says nothing but animals."""
    return [float(set(text.split()) <= set(WORDS)) for text in completions]


def varied(completions: list[str], **kwargs: Any) -> list[float]:
    """A reward that has nothing to do with what is said."""
    return [float(len(set(text)) % 3) for text in completions]


def cats(completions: list[str], **kwargs: Any) -> list[float]:
    """A reward of one word, which makes the model collapse."""
    return [text.split().count("cat") / max(1, len(text.split())) for text in completions]


def main(out: str, silent: str) -> None:
    folder = Path(out)
    long: dict[str, Any] = {"length": 64, "steps": 6, "size": 256, "rate": 1e-5, "reward": varied}
    short: dict[str, Any] = {"length": 2, "steps": 14, "size": 32}
    done: dict[str, Any] = {"overhead": run(folder, 0, **long)}
    if int(silent) > 1:
        done["without"] = run(folder, 0, monitored=False, **long)["seconds"]
    done["silent"] = [run(folder, seed, rate=1e-5, reward=varied, **short) for seed in range(int(silent))]
    done["collapse"] = run(folder, 0, rate=3e-2, reward=cats, **short | {"steps": 30})
    (folder / "done.json").write_text(json.dumps(done))


if __name__ == "__main__":
    main(*sys.argv[1:])
