"""Samples a whole plan and can resume: a prompt is written to the journal once it has all its responses.

If one response fails, none is stored for its prompt: the error is recorded, the run continues with the other prompts,
and the next run retries. A plan may be a decoding test: response sets sampled at many settings of one parameter and
labelled with the setting, like decTest (Tevet & Berant 2021, arXiv:2004.02990, section 6.3), for any model, and also
for top-p and top-k, for which no sets were released. A diversity metric should rise with it (metrics metaeval).
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from benchmark.analysis.metaeval.labelled import write_sets
from benchmark.generation.hf_sampler import HFSampler
from benchmark.generation.internals import InternalsReader, TokenisedResponses
from benchmark.generation.journal import Journal, PromptSamples
from benchmark.generation.prompting import (
    ATTEMPTS,
    Failed,
    Outcome,
    PromptingSettings,
    Request,
    Sampled,
    Sampler,
    SamplingSettings,
    check_prompts,
    draw_seed,
    greedy_chat,
    is_verbalized,
    messages,
    parse,
)
from benchmark.models.hf_states import TokenisedResponse
from benchmark.scoring.internals_file import record
from datasets_build.schema import Prompt
from divbench.core.errors import ConfigurationError, counted
from divbench.core.files import canonical_json, content_id
from submissions.schema import Manifest

_CHUNK = 8  # times the sampler's batch; the sampler idles at the end of a chunk, so there should be few
UNPARSED = "replies without a list of responses"
_SHOWN = 5  # number of unusable prompts that the message names
_READ_AT_ONCE = 64  # prompts per write of internals to the journal
Progress = Callable[[int], None]
Finish = Callable[["PlannedSet", Sequence[Outcome]], None]  # keeps what came of a response set
Parameter = Literal["temperature", "top_p", "top_k"]
MAX_POINTS = 10_000
_HINT = "such as temperature=0.2:1.2:100, top_p=0.1:1:50 or top_k=1:64:20"


@dataclass(frozen=True, slots=True)
class PlannedSet:
    """A response set to sample."""

    id: str
    prompt: Prompt
    settings: SamplingSettings


@dataclass(frozen=True, slots=True)
class Plan:
    """All response sets to sample."""

    sets: tuple[PlannedSet, ...]  # response sets in the order of the output
    prompting: PromptingSettings
    k: int
    seed: int  # random seed; an item's responses depend only on the seed and the item
    greedy: bool = False  # whether each item also gets a greedy response to the plain prompt


def sample_plan(plan: Plan, sampler: Sampler, journal: Journal, progress: Progress = lambda items: None) -> None:
    """Sample every item that is not in the journal yet; record its responses or its error there."""
    done = journal.done()
    waiting = [item for item in plan.sets if item.id not in done]
    check_prompts(plan.prompting, [item.prompt for item in waiting], plan.k)
    _check(plan, sampler, waiting)
    count = len(plan.sets) - len(waiting)
    progress(count)

    def finish(item: PlannedSet, outcomes: Sequence[Outcome]) -> None:
        nonlocal count
        samples = tuple(outcome for outcome in outcomes if isinstance(outcome, Sampled))
        if failed := next((outcome for outcome in outcomes if isinstance(outcome, Failed)), None):
            journal.put_error(item.id, failed.reason)
        else:
            journal.put(item.id, PromptSamples(samples[: plan.k], samples[plan.k] if plan.greedy else None))
        count += 1
        progress(count)

    chat = plan.prompting.mode == "in-context"
    size = max(1, sampler.at_once * (1 if chat else _CHUNK) // (1 if chat else plan.k + plan.greedy))
    for start in range(0, len(waiting), size):
        part = waiting[start : start + size]
        if chat:
            _chats(plan, sampler, part, finish)
        elif is_verbalized(plan.prompting.mode):
            _in_one_call(plan, sampler, part, journal, finish)
        else:
            _apart(plan, sampler, part, finish)


def request_of(plan: Plan, item: PlannedSet, position: int, before: Sequence[str] = ()) -> Request:
    """Make the request for one response; in verbalized sampling for all of them, with `place` as the attempt."""
    settings = item.settings
    if is_verbalized(plan.prompting.mode):
        settings = replace(settings, max_tokens=settings.max_tokens * plan.k)
    chat = messages(plan.prompting, item.prompt, position, before, plan.k)
    return Request(chat, settings, draw_seed(plan.seed, item.id, position))


def greedy_request(plan: Plan, item: PlannedSet) -> Request:
    """Make the request for the greedy response: the prompt itself, whatever the mode."""
    return Request(greedy_chat(plan.prompting, item.prompt), replace(item.settings, temperature=0.0), 0)


def _check(plan: Plan, sampler: Sampler, waiting: Sequence[PlannedSet]) -> None:
    """Check all requests. For growing chats only the first round is known; later requests may fail individually."""
    positions = range(plan.k) if plan.prompting.mode == "paraphrase" else range(1)
    asked = [(item, request_of(plan, item, position)) for item in waiting for position in positions]
    asked += [(item, greedy_request(plan, item)) for item in waiting if plan.greedy]
    reasons = sampler.check([request for _, request in asked])
    never: dict[str, str] = {}
    for (item, _), reason in zip(asked, reasons, strict=True):
        if reason is not None:
            never.setdefault(item.id, reason)
    if never:
        shown = "; ".join(f"{item}: {reason}" for item, reason in list(never.items())[:_SHOWN])
        raise ConfigurationError(
            f"{len(never)} of {len(plan.sets)} prompts cannot be used: {shown}"
            + ("; …" if len(never) > _SHOWN else ""),
            "lower --max-tokens, or use a model with a longer context",
        )


def _apart(plan: Plan, sampler: Sampler, items: Sequence[PlannedSet], finish: Finish) -> None:
    """Sample responses that do not depend on each other."""
    asked = [(item, position, request_of(plan, item, position)) for item in items for position in range(plan.k)]
    asked += [(item, plan.k, greedy_request(plan, item)) for item in items if plan.greedy]
    outcomes_of: dict[str, dict[int, Outcome]] = {item.id: {} for item in items}

    def done(number: int, outcome: Outcome) -> None:
        item, position, _ = asked[number]
        outcomes = outcomes_of[item.id]
        outcomes[position] = outcome
        if len(outcomes) == plan.k + plan.greedy:
            finish(item, [outcomes[position] for position in range(len(outcomes))])

    sampler.sample([request for *_, request in asked], done)


def _chats(plan: Plan, sampler: Sampler, items: Sequence[PlannedSet], finish: Finish) -> None:
    """Sample growing chats: each round adds a response to every chat that has not failed."""
    outcomes_of: dict[str, list[Outcome]] = {item.id: [] for item in items}

    def ask(requests: Sequence[tuple[PlannedSet, Request]]) -> None:
        def done(number: int, outcome: Outcome) -> None:
            item = requests[number][0]
            outcomes = outcomes_of[item.id]
            outcomes.append(outcome)
            if isinstance(outcome, Failed) or len(outcomes) == plan.k + plan.greedy:
                finish(item, outcomes)

        sampler.sample([request for _, request in requests], done)

    def alive() -> list[PlannedSet]:
        return [item for item in items if not any(isinstance(outcome, Failed) for outcome in outcomes_of[item.id])]

    def texts(item: PlannedSet) -> list[str]:
        return [outcome.text for outcome in outcomes_of[item.id] if isinstance(outcome, Sampled)]

    for position in range(plan.k):
        ask([(item, request_of(plan, item, position, texts(item))) for item in alive()])
    if plan.greedy:
        ask([(item, greedy_request(plan, item)) for item in alive()])


def _in_one_call(plan: Plan, sampler: Sampler, items: Sequence[PlannedSet], journal: Journal, finish: Finish) -> None:
    """Sample all responses of an item in one reply; a reply without a valid list is counted and requested again.

    The next run goes on with the next attempt: with the same seeds, the model might give the same replies again.
    """
    outcomes_of: dict[str, list[Outcome]] = {}
    before = {item.id: int(journal.told(f"{UNPARSED} {item.id}") or 0) for item in items}
    for attempt in range(ATTEMPTS):
        asked = [item for item in items if item.id not in outcomes_of]
        if not asked:
            break

        def done(position: int, reply: Outcome, asked: Sequence[PlannedSet] = asked) -> None:
            item = asked[position]
            if isinstance(reply, Failed):
                outcomes_of[item.id] = [reply]
            elif (responses := parse(reply.text, plan.k)) is not None:
                outcomes_of[item.id] = [Sampled(text, "stop", probability=stated) for text, stated in responses]
            if item.id in outcomes_of and (isinstance(reply, Failed) or not plan.greedy):
                finish(item, outcomes_of[item.id])

        sampler.sample([request_of(plan, item, before[item.id] + attempt) for item in asked], done)
        if unparsed := sum(item.id not in outcomes_of for item in asked):
            journal.tell(UNPARSED, str(unparsed + int(journal.told(UNPARSED) or 0)))
    greedy = [item for item in items if plan.greedy and isinstance(outcomes_of.get(item.id, [None])[0], Sampled)]
    sampler.sample(
        [greedy_request(plan, item) for item in greedy],
        lambda at, greedy_outcome: finish(greedy[at], [*outcomes_of[greedy[at].id], greedy_outcome]),
    )
    for item in items:
        if item.id not in outcomes_of:
            replies = before[item.id] + ATTEMPTS
            journal.tell(f"{UNPARSED} {item.id}", str(replies))
            finish(item, [Failed(f"no list of {counted(plan.k, 'response')} in {replies} replies")])


def read_plan(
    plan: Plan, sampler: HFSampler, reader: InternalsReader, journal: Journal, progress: Progress = lambda items: None
) -> None:
    """Read the internals of every item with responses but no internals yet, from the sampled tokens."""
    done, was_read = journal.done(), journal.read()
    waiting = [item for item in plan.sets if item.id in done and item.id not in was_read]
    count = len(was_read)
    progress(count)
    for start in range(0, len(waiting), _READ_AT_ONCE):
        part = waiting[start : start + _READ_AT_ONCE]
        asked = [_asked(plan, sampler, item, journal.samples_of(item.id)) for item in part]
        rows = {item.id: record(item.id, internals) for item, internals in zip(part, reader.read(asked), strict=True)}
        journal.put_internals(rows)
        count += len(part)
        progress(count)


def _asked(plan: Plan, sampler: HFSampler, item: PlannedSet, samples: PromptSamples) -> TokenisedResponses:
    def response(request: Request, sample: Sampled) -> TokenisedResponse | None:
        if not sample.ids:
            return None
        return TokenisedResponse((*sampler.prompt_ids(request), *sample.reasoning_ids), sample.ids, sample.content)

    texts = [sample.text for sample in samples.samples]
    greedy = samples.greedy
    return TokenisedResponses(
        tuple(
            response(request_of(plan, item, position, texts), sample) for position, sample in enumerate(samples.samples)
        ),
        None if greedy is None else response(greedy_request(plan, item), greedy),
    )


def failures(journal: Journal) -> list[tuple[str, int]]:
    """Return the reasons of failures with their counts, the most frequent first."""
    return sorted(Counter(journal.errors().values()).items(), key=lambda item: (-item[1], item[0]))


@dataclass(frozen=True, slots=True)
class Sweep:
    """Ascending settings of one parameter."""

    parameter: Parameter
    values: tuple[float, ...]  # evenly spaced settings; for *top_k*, whole numbers evenly spaced on a logarithmic scale


def parse_sweep(text: str) -> Sweep:
    """Parse a sweep as written on the command line.

    >>> parse_sweep("temperature=0.2:1.2:6").values
    (0.2, 0.4, 0.6, 0.8, 1.0, 1.2)
    >>> parse_sweep("top_k=1:100:5").values
    (1.0, 3.0, 10.0, 32.0, 100.0)
    """
    match = re.fullmatch(r"(temperature|top_p|top_k)=([0-9.]+):([0-9.]+):([0-9]+)", text)
    try:
        if match is None:
            raise ValueError("it is not PARAMETER=LOWEST:HIGHEST:POINTS with temperature, top_p or top_k")
        parameter: Any = match[1]
        low, high, points = float(match[2]), float(match[3]), int(match[4])
        if not (2 <= points <= MAX_POINTS and low < high < np.inf):
            raise ValueError(f"it needs 2 to {MAX_POINTS:,} points, and a lowest value below the highest")
        if parameter == "top_p" and not 0 < low <= high <= 1:
            raise ValueError("top_p must be above 0 and at most 1")
        if parameter == "top_k" and low < 1:
            raise ValueError("top_k must be at least 1")
        evenly = np.round(np.linspace(low, high, points), 12)
        values = np.unique(np.round(np.geomspace(low, high, points)) if parameter == "top_k" else evenly)
        if len(values) < 2:
            raise ValueError(f"it has one setting, {values[0]}")
    except ValueError as error:
        raise ConfigurationError(f"{text!r} is not a valid sweep: {error}", _HINT) from error
    return Sweep(parameter, tuple(values.tolist()))


def sweep_sets(
    contexts: Sequence[Prompt], sweep: Sweep, settings: SamplingSettings, seed: int, sets: int | None = None
) -> tuple[PlannedSet, ...]:
    """Plan the response sets, ordered by label.

    The numbers of sets per setting differ by at most one, and so do the numbers per context. Contexts are paired with
    settings at random.
    """
    sets = sets or max(len(sweep.values), len(contexts))
    points = np.arange(sets) * len(sweep.values) // sets
    rounds = -(-sets // len(contexts))
    dealt = np.concatenate(
        [np.random.default_rng(draw_seed(seed, "contexts", n)).permutation(len(contexts)) for n in range(rounds)]
    )[:sets]
    dealt = np.random.default_rng(draw_seed(seed, "sets")).permutation(dealt)
    return tuple(
        PlannedSet(f"set-{number:05d}", contexts[context], with_value(settings, sweep.parameter, sweep.values[point]))
        for number, (point, context) in enumerate(zip(points.tolist(), dealt.tolist(), strict=True))
    )


def with_value(settings: SamplingSettings, parameter: Parameter, value: float) -> SamplingSettings:
    """Return the settings at a point of a sweep."""
    changed: dict[str, Any] = {parameter: int(value) if parameter == "top_k" else value}
    return replace(settings, **changed)


def write_sweep(path: Path, plan: Plan, sweep: Sweep, journal: Journal, manifest: Manifest, model: str) -> None:
    """Write the labelled sets of a finished plan.

    The id of a set depends on its texts, so that sets of different sweeps have different ids.
    """
    rows = []
    for item in plan.sets:
        texts = [sample.text for sample in journal.samples_of(item.id).samples]
        rows.append(
            {
                "set_id": f"{item.id}-{content_id([item.prompt.prompt, texts])[:8]}",
                "context": item.prompt.prompt,
                "responses": texts,
                "label": float(getattr(item.settings, sweep.parameter)),
                "label_name": sweep.parameter,
            }
        )
    drawn = manifest.generation.model_dump(mode="json") | {sweep.parameter: None}
    about = {"model": model, "revision": manifest.system.revision, "swept": sweep.parameter, "generation": drawn}
    write_sets(path, rows, {b"divbench.sweep": canonical_json(about)})
