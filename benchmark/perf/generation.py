"""Speed of `divbench generate --internals`: `python -m benchmark.perf.generation`.

One model, by the package (prompts in batches, then one pass over the samples) and as a loop over prompts, as in
INSIDE's published pipeline: one greedy and K sampled responses each, with the hidden states of all steps kept until the
prompt's scores are computed. Both alternate in one process, so that other load on the machine affects both. Before any
time is printed, the package reads the loop's own responses: likelihoods and EigenScores must be the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmark.generation.hf_sampler import HFSampler
from benchmark.generation.internals.read import InternalsReader, TokenisedResponses, layers_of
from benchmark.generation.journal import open_journal
from benchmark.generation.prompting import PromptingSettings
from benchmark.generation.run import Plan, PlannedSet, read_plan, request_of, sample_plan
from benchmark.generation.sampler import SamplingSettings
from benchmark.generation.setup import spec_named
from benchmark.metrics.eigenscore import covariances_of, e_average, e_original
from benchmark.metrics.internals import Internals, average, original
from benchmark.models.hf_lm import HFCausalLM, load_causal_lm
from benchmark.models.hf_states import SamplingParameters, TokenisedResponse
from benchmark.perf.script import Comparison, compare_ways, option_parser, print_document, usable_device
from benchmark.scoring.internals_file import internals_of
from datasets_build.load import load_suite

TOLERANCE = 1e-3  # for log-likelihoods of responses and EigenScores, due to another order of float32 sums
TOP_K = 10


@dataclass(frozen=True, slots=True)
class Looped:
    """The loop's output for one prompt: its sampled tokens, their log-likelihoods, and two EigenScores."""

    prompt: tuple[int, ...]
    ids: list[tuple[int, ...]]
    log_likelihoods: list[float]
    e_original: float
    e_average: float


def loop(lm: HFCausalLM, plan: Plan) -> list[Looped]:
    """Sample one prompt after the other, as published: `generate` keeps logits and states of all layers and steps."""
    import torch

    sampler, layers = HFSampler(lm, plan.prompting), layers_of(lm)
    made = []
    for item in plan.sets:
        settings = item.settings
        prompt = sampler.prompt_ids(request_of(plan, item, 0))
        ids = torch.tensor([prompt], device=lm.model.device)
        # One more token than needed, because the state of a token is computed with the next one.
        usual: dict[str, Any] = {"max_new_tokens": settings.max_tokens + 1, "pad_token_id": 0, "eos_token_id": None}
        usual |= {"attention_mask": torch.ones_like(ids), "return_dict_in_generate": True, "output_logits": True}
        with torch.inference_mode():
            lm.model.generate(ids, do_sample=False, **usual)  # for perplexity and energy
            found = lm.model.generate(
                ids,
                do_sample=True,
                temperature=settings.temperature,
                top_k=settings.top_k,
                num_return_sequences=plan.k,
                output_hidden_states=True,
                **usual,
            )
            drawn = found.sequences[:, len(prompt) : -1]
            logits = torch.stack(found.logits[:-1], 1).float()
            chosen = torch.log_softmax(logits, -1).gather(2, drawn[..., None])[..., 0]
            steps = [torch.stack([layer[:, -1] for layer in step]) for step in found.hidden_states[1:]]
        states = torch.stack(steps, 2).double().cpu().numpy()  # [layers, K, tokens, features]
        blocks = layers.blocks
        last = covariances_of(blocks, (layers.original,), states[[layers.original]][:, :, -1], "last")
        mean = covariances_of(blocks, layers.average, states[list(layers.average)].mean(2), "mean")
        made.append(
            Looped(
                prompt,
                [tuple(row) for row in drawn.tolist()],
                chosen.double().sum(1).tolist(),
                e_original(last, layers.original),
                e_average(mean, layers.average),
            )
        )
    return made


def package(lm: HFCausalLM, plan: Plan) -> list[Internals]:
    """Sample as `divbench generate --internals` does, including its journal."""
    settings = plan.sets[0].settings
    cut = SamplingParameters(settings.temperature, settings.top_k, settings.top_p)
    sampler, reader = HFSampler(lm, plan.prompting), InternalsReader(lm, layers_of(lm), cut)
    with TemporaryDirectory() as folder, open_journal(Path(folder) / "journal.sqlite") as journal:
        sample_plan(plan, sampler, journal)
        read_plan(plan, sampler, reader, journal)
        how = reader.how_read("0" * 16, plan.k, plan.prompting, "sampled")
        return [internals_of(journal.internals(item.id), how) for item in plan.sets]


def largest_difference(lm: HFCausalLM, looped: Sequence[Looped]) -> float:
    """Return the largest difference between the loop's and the package's numbers for the same responses."""
    asked = [
        TokenisedResponses(tuple(TokenisedResponse(own.prompt, ids, len(ids)) for ids in own.ids)) for own in looped
    ]
    differences = [0.0]
    for own, read in zip(looped, InternalsReader(lm, layers_of(lm), None).read(asked), strict=True):
        pairs = zip(own.log_likelihoods, read.known, strict=True)
        differences += [abs(value - scores.log_likelihood) for value, scores in pairs]
        differences += [abs(own.e_original - original(read)), abs(own.e_average - average(read))]
    return max(differences)


def compare(lm: HFCausalLM, plan: Plan, rounds: int) -> Comparison:
    """Time both ways in turns.

    Raises:
        ValueError: They give different numbers for the same responses.
    """
    warm = Plan(plan.sets[:2], plan.prompting, plan.k, plan.seed, plan.greedy)
    loop(lm, warm)
    package(lm, warm)
    about = {"model": lm.signature, "prompts": len(plan.sets), "k": plan.k, "tokens": plan.sets[0].settings.max_tokens}
    return compare_ways(
        partial(loop, lm, plan),
        partial(package, lm, plan),
        rounds,
        TOLERANCE,
        about,
        lambda looped, _: max(largest_difference(lm, each) for each in looped),
    )


def forget_end(lm: HFCausalLM) -> None:
    """Remove the end token, so that both ways sample the same number of tokens."""
    lm.tokeniser.eos = None
    lm.model.generation_config.eos_token_id = None


def plan_of(prompts: int, k: int, tokens: int) -> Plan:
    """Plan a number of prompts, spread over all of gssbench."""
    suite = load_suite("gssbench").prompts
    chosen = suite[:: max(1, len(suite) // prompts)][:prompts]
    settings = SamplingSettings(top_k=TOP_K, max_tokens=tokens)
    items = tuple(PlannedSet(prompt.prompt_id, prompt, settings) for prompt in chosen)
    return Plan(items, PromptingSettings(chat_template=False), k, seed=0, greedy=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print one JSON document."""
    parser = option_parser(__doc__)
    parser.add_argument("--model", default="offline", help="Model: ORG/NAME@COMMIT, a folder, or offline.")
    parser.add_argument("--device", type=usable_device, default="cpu")
    parser.add_argument("--prompts", type=int, default=64)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--tokens", type=int, default=20, help="Number of tokens of every response.")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args(arguments)
    lm = load_causal_lm(spec_named(given.model, device=given.device))
    forget_end(lm)
    found = compare(lm, plan_of(given.prompts, given.k, given.tokens), given.rounds)
    print_document(found)


if __name__ == "__main__":
    main()
