"""Two processes on a CPU, for `test_training_callback`: a model in two parts, and a group of rollouts on both."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from transformers import TrainerControl

from divbench.integrations.rollouts import DiversityReward
from divbench.integrations.transformers import DiversityCallback
from tests.benchmark.lms import model_of, tokeniser

PROMPTS = ["Name a pet.", "Name a colour.", "Say hello.", "Tell a joke."]


def work(rank: int, folder: str) -> None:
    store = dist.FileStore(f"{folder}/store", 2)  # type: ignore[attr-defined]
    dist.init_process_group("gloo", store=store, rank=rank, world_size=2)
    logged: dict[str, float] = {}

    class Callback(DiversityCallback):
        def _log(self, values: dict[str, float], control: Any) -> None:
            logged.update(values)

    made: Any = tokeniser("merging")
    made.pad_token = made.pad_token or made.eos_token
    sampling = {"max_new_tokens": 4}
    callback = Callback(SimpleNamespace(processing_class=made), PROMPTS, k=3, every=1, sampling=sampling, stop=True)
    model = model_of("merging")
    for block in model.model.layers:
        fully_shard(block)
    fully_shard(model)
    state = SimpleNamespace(is_world_process_zero=rank == 0, global_step=0)
    control = TrainerControl()
    callback.on_train_begin(None, state, control, model=model)
    state.global_step = 1
    control.should_training_stop = rank == 0  # as if the first had seen a collapse
    callback.on_step_end(None, state, control, model=model)
    own = ["cat", "dog", "Cat."] if rank == 0 else ["parrot", "red", "blue"]  # the pets are split
    monitor = DiversityReward()
    rewards = monitor(
        [PROMPTS[0]] * 3 if rank == 0 else [PROMPTS[0], PROMPTS[1], PROMPTS[1]], own, log_metric=logged.__setitem__
    )
    weights = next(model.parameters()).full_tensor().sum().item()
    done = {"logged": logged, "stops": control.should_training_stop, "measured": len(callback.measured)}
    Path(folder, f"{rank}.json").write_text(json.dumps(done | {"weights": weights, "rewards": rewards}))
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.multiprocessing.spawn(work, args=(sys.argv[1],), nprocs=2)  # type: ignore[attr-defined, no-untyped-call]
