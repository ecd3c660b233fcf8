"""Runs of Inspect with its mock model, for `test_inspect`; a process of its own, since it leaves streams unclosed."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from inspect_ai import Epochs, Task, score
from inspect_ai import eval as run
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog
from inspect_ai.model import ChatMessageAssistant, ContentImage, ContentText, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Scorer, match
from inspect_ai.tool import ToolCall

import divbench as db
from divbench.integrations.groups import HEADLINES
from divbench.integrations.inspect_ai import demo, diversity, diversity_of_epochs

SETS = {
    "Name a pet.": ["A cat.", "A dog, perhaps.", "A cat"],
    "Name a colour.": ["Red", "", "I'm sorry, but I can't help with that."],
    "Tell a joke.": ["A horse walks into a bar.", "A duck asks for grapes, and the", "Knock, knock."],
}
ENDED = [["stop", "stop", "stop"], ["stop", "stop", "content_filter"], ["stop", "max_tokens", "stop"]]
LEXICAL = "distinct_k,distinct_n"
NOT_TEXT = (
    ChatMessageAssistant(content="", tool_calls=[ToolCall(id="1", function="bash", arguments={})]),
    ChatMessageAssistant(content=[ContentText(text="Look:"), ContentImage(image="data:image/png;base64,iVBORw0K")]),
)


def ran(task: Task, sets: dict[str, list[str]] = SETS, ended: Sequence[Sequence[Any]] = ENDED) -> EvalLog:
    """Run a task with a model that gives the responses of sets: Inspect asks for all first epochs first."""
    outputs = []
    for epoch in range(3):
        for texts, reasons in zip(sets.values(), ended, strict=True):
            if epoch < len(texts):
                output = ModelOutput.from_content("mockllm/model", texts[epoch], reasons[epoch])
                output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # else counted by a download
                outputs.append(output)
    model = get_model("mockllm/model", custom_outputs=outputs)
    [log] = run(task, model=model, log_dir=sys.argv[1], display="none", max_samples=1)
    assert log.status == "success", log.error
    return log


def task(**options: Any) -> Task:
    return Task(dataset=[Sample(id=i, input=prompt, target="x") for i, prompt in enumerate(SETS)], **options)


def values_of(log: EvalLog) -> dict[str, float]:
    return {name: metric.value for name, metric in log.results.scores[-1].metrics.items()}


def rescored(log: EvalLog, scorer: Scorer) -> dict[str, float]:
    return values_of(score(log, scorer, display="none", action="append"))


def refusal(log: EvalLog, message: ChatMessageAssistant) -> str:
    log.samples[0].output.choices[0].message = message
    try:
        rescored(log, diversity(LEXICAL, "lexical"))
    except PrerequisiteError as error:
        return str(error.message)
    return ""


def main() -> None:
    done: dict[str, Any] = {}
    old = ran(task(scorer=match(), epochs=3))
    for profile, names in (("lexical", LEXICAL), ("semantic", HEADLINES)):
        done[f"run {profile}"] = values_of(ran(task(scorer=diversity(names, profile), epochs=3)))
        done[f"rescored {profile}"] = rescored(old, diversity(names, profile))
    kept = ran(task(scorer=diversity("distinct_k", "lexical"), epochs=3))
    done["epochs"] = [sample.scores["diversity"].model_dump() for sample in kept.samples]
    reduced = ran(task(scorer=match(), epochs=Epochs(3, diversity_of_epochs("distinct_k,distinct_n", "lexical"))))
    done["reduced"] = [sample.model_dump() for sample in reduced.reductions[0].samples]
    suite = db.suite("demo").prompts
    texts = {prompt.prompt_id: ["one", "two"] for prompt in suite}
    of_suite = ran(demo(k=2, metrics=LEXICAL, profile="lexical"), texts, [["stop"] * 2] * len(suite))
    done["suite"] = [of_suite.eval.task, values_of(of_suite)["prompts"]]
    done["without repeats"] = values_of(ran(task(scorer=diversity(LEXICAL, "lexical"), epochs=1)))
    done["refusals"] = [refusal(ran(task(scorer=match(), epochs=3)), message) for message in NOT_TEXT]
    old.samples = [sample for sample in old.samples if (sample.id, sample.epoch) != (1, 3)]
    old.results.total_samples = 8
    done["unequal"] = rescored(old, diversity(LEXICAL, "lexical"))
    done["log"] = old.location
    Path(sys.argv[1], "done.json").write_text(json.dumps(done))


if __name__ == "__main__":
    main()
