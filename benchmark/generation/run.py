"""Samples a whole plan and can resume: a prompt is written to the journal once it has all its responses.

If one response fails, none is stored for its prompt: the error is recorded, the run continues with the other prompts,
and the next run retries.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from benchmark.generation.hf_sampler import HFSampler
from benchmark.generation.internals.read import InternalsReader, TokenisedResponses
from benchmark.generation.journal import Journal, PromptSamples
from benchmark.generation.prompting import PromptingSettings, check_prompts, messages
from benchmark.generation.sampler import (
    Failed,
    Message,
    Outcome,
    Request,
    Sampled,
    Sampler,
    SamplingSettings,
    draw_seed,
)
from benchmark.generation.verbalized import ATTEMPTS, is_verbalized, parse
from benchmark.models.hf_states import TokenisedResponse
from benchmark.scoring.internals_file import record
from datasets_build.schema import Prompt
from divbench.core.errors import ConfigurationError, counted

_CHUNK = 8  # times the sampler's batch; the sampler idles at the end of a chunk, so there should be few
UNPARSED = "replies without a list of responses"
_SHOWN = 5  # number of unusable prompts that the message names
_READ_AT_ONCE = 64  # prompts per write of internals to the journal
Progress = Callable[[int], None]


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
        _keep(journal, plan, item, outcomes)
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


def request_of(plan: Plan, item: PlannedSet, place: int, before: Sequence[str] = ()) -> Request:
    """Make the request for one response; in verbalized sampling for all of them, with `place` as the attempt."""
    settings = item.settings
    if is_verbalized(plan.prompting.mode):
        settings = replace(settings, max_tokens=settings.max_tokens * plan.k)
    chat = messages(plan.prompting, item.prompt, place, before, plan.k)
    return Request(chat, settings, draw_seed(plan.seed, item.id, place))


def greedy_request(plan: Plan, item: PlannedSet) -> Request:
    """Make the request for the greedy response: the prompt itself, whatever the mode."""
    return Request(greedy_chat(plan.prompting, item.prompt), replace(item.settings, temperature=0.0), 0)


def greedy_chat(prompting: PromptingSettings, prompt: Prompt) -> tuple[Message, ...]:
    """Return the chat of the greedy response."""
    return messages(replace(prompting, mode="resample", system_prompt=prompting.system), prompt, 0)


def _check(plan: Plan, sampler: Sampler, waiting: Sequence[PlannedSet]) -> None:
    """Check all requests. For growing chats only the first round is known; later requests may fail individually."""
    places = range(plan.k) if plan.prompting.mode == "paraphrase" else range(1)
    asked = [(item, request_of(plan, item, place)) for item in waiting for place in places]
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


def _apart(
    plan: Plan, sampler: Sampler, items: Sequence[PlannedSet], finish: Callable[[PlannedSet, list[Outcome]], None]
) -> None:
    """Sample responses that do not depend on each other."""
    requests = [request_of(plan, item, place) for item in items for place in range(plan.k)]
    if plan.greedy:
        requests += [greedy_request(plan, item) for item in items]
    owners = [item for item in items for _ in range(plan.k)] + (list(items) if plan.greedy else [])
    places = [place for _ in items for place in range(plan.k)] + [plan.k] * (len(requests) - plan.k * len(items))
    found: dict[str, dict[int, Outcome]] = {item.id: {} for item in items}

    def done(number: int, outcome: Outcome) -> None:
        item = owners[number]
        own = found[item.id]
        own[places[number]] = outcome
        if len(own) == plan.k + plan.greedy:
            finish(item, [own[place] for place in range(len(own))])

    sampler.sample(requests, done)


def _chats(
    plan: Plan, sampler: Sampler, items: Sequence[PlannedSet], finish: Callable[[PlannedSet, list[Outcome]], None]
) -> None:
    """Sample growing chats: each round adds a response to every chat that has not failed."""
    found: dict[str, list[Outcome]] = {item.id: [] for item in items}

    def ask(requests: Sequence[tuple[PlannedSet, Request]]) -> None:
        def done(number: int, outcome: Outcome) -> None:
            item = requests[number][0]
            own = found[item.id]
            own.append(outcome)
            if isinstance(outcome, Failed) or len(own) == plan.k + plan.greedy:
                finish(item, own)

        sampler.sample([request for _, request in requests], done)

    def alive() -> list[PlannedSet]:
        return [item for item in items if not any(isinstance(each, Failed) for each in found[item.id])]

    for place in range(plan.k):
        texts = {item.id: [each.text for each in found[item.id] if isinstance(each, Sampled)] for item in items}
        ask([(item, request_of(plan, item, place, texts[item.id])) for item in alive()])
    if plan.greedy:
        ask([(item, greedy_request(plan, item)) for item in alive()])


def _in_one_call(
    plan: Plan,
    sampler: Sampler,
    items: Sequence[PlannedSet],
    journal: Journal,
    finish: Callable[[PlannedSet, list[Outcome]], None],
) -> None:
    """Sample all responses of an item in one reply; a reply without a valid list is counted and requested again.

    The next run goes on with the next attempt: with the same seeds, the model might give the same replies again.
    """
    found: dict[str, list[Outcome]] = {}
    before = {item.id: int(journal.told(f"{UNPARSED} {item.id}") or 0) for item in items}
    for attempt in range(ATTEMPTS):
        asked = [item for item in items if item.id not in found]
        if not asked:
            break

        def done(place: int, reply: Outcome, asked: Sequence[PlannedSet] = asked) -> None:
            item = asked[place]
            if isinstance(reply, Failed):
                found[item.id] = [reply]
            elif (responses := parse(reply.text, plan.k)) is not None:
                found[item.id] = [Sampled(text, "stop", probability=stated) for text, stated in responses]
            if item.id in found and (isinstance(reply, Failed) or not plan.greedy):
                finish(item, found[item.id])

        sampler.sample([request_of(plan, item, before[item.id] + attempt) for item in asked], done)
        if unparsed := sum(item.id not in found for item in asked):
            journal.tell(UNPARSED, str(unparsed + int(journal.told(UNPARSED) or 0)))
    greedy = [item for item in items if plan.greedy and isinstance(found.get(item.id, [None])[0], Sampled)]
    sampler.sample(
        [greedy_request(plan, item) for item in greedy],
        lambda at, each: finish(greedy[at], [*found[greedy[at].id], each]),
    )
    for item in items:
        if item.id not in found:
            replies = before[item.id] + ATTEMPTS
            journal.tell(f"{UNPARSED} {item.id}", str(replies))
            finish(item, [Failed(f"no list of {counted(plan.k, 'response')} in {replies} replies")])


def _keep(journal: Journal, plan: Plan, item: PlannedSet, outcomes: Sequence[Outcome]) -> None:
    failures = [each.reason for each in outcomes if isinstance(each, Failed)]
    if failures:
        journal.put_error(item.id, failures[0])
        return
    samples = tuple(each for each in outcomes if isinstance(each, Sampled))
    journal.put(item.id, PromptSamples(samples[: plan.k], samples[plan.k] if plan.greedy else None))


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
        rows = {item.id: record(item.id, own) for item, own in zip(part, reader.read(asked), strict=True)}
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
        tuple(response(request_of(plan, item, place, texts), sample) for place, sample in enumerate(samples.samples)),
        None if greedy is None else response(greedy_request(plan, item), greedy),
    )


def failures(journal: Journal) -> list[tuple[str, int]]:
    """Return the reasons of failures with their counts, the most frequent first."""
    return sorted(Counter(journal.errors().values()).items(), key=lambda each: (-each[1], each[0]))
