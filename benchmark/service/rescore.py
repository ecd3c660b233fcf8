"""Scoring again: more results for submissions that are scored, as after a new metric, version or profile.

On a cluster several submissions are in work at once, as a worker has them.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial

from benchmark.scoring.scorer import Scored, result_id
from benchmark.service.concurrency import Admission, Admissions, WorkerState, in_lanes
from benchmark.service.events import EventSink
from benchmark.service.fetch import NotAcceptable, fetch_checked, fetch_manifest, private_folder
from benchmark.service.host_faults import Machine
from benchmark.service.lease import Stop, Stopped, said, with_backoff
from benchmark.service.redaction import log_tail
from benchmark.service.worker import Worker
from datasets_build.errors import DivBenchError
from datasets_build.schema import Suite
from submissions.checking.prompts import OWN
from submissions.storage.commits import NoWriteAccess
from submissions.storage.submission_folders import Submission
from submissions.work_queue.errors import DamagedState, IllegalTransition, UnknownSubmission
from submissions.work_queue.maintenance import add_results
from submissions.work_queue.operations import state_of, states
from submissions.work_queue.schema import State


def rescore(worker: Worker, stop: Stop, tell: EventSink) -> Counter[str]:
    """Score all scored submissions whose result under the worker's profile and metrics is not there yet.

    Each is published as soon as it is made, beside the old ones; so what was interrupted goes on where it stopped.

    Args:
        worker: Who works; its lease and poll are not used, for nothing is claimed.
        stop: Asks for the end; the shard that is being scored is the last.
        tell: Hears of all that happens.

    Returns:
        How many were `scored`, were `there`, were `passed_over` as they cannot be scored here, or `failed`.

    Raises:
        ConfigurationError: The profile's models cannot be loaded.
        MachineFault: This machine failed too often in a row.
        NoWriteAccess: The store may not be written.
        StoreFault: The store cannot be read at the beginning. Later faults are waited out.
    """
    try:
        shift = WorkerState(stop, tell, Machine(worker.faults), Admissions(worker.has_capacity))
        lanes = worker.load()
        scored = iter([state for state in states(worker.store) if state.current.state == "scored"])
        in_lanes(lambda: _lane(worker, shift, scored), lanes, stop)
    except DivBenchError as error:
        tell("stopped", reason=said(error), hint=error.hint)
        raise
    tell("ended", **{how: shift.ended[how] for how in ("scored", "there", "passed_over", "refused", "failed")})
    return shift.ended


def _lane(worker: Worker, shift: WorkerState, scored: Iterator[State]) -> None:
    """One submission after the other of those that all lanes share, until there is none or the end is asked for."""
    while (turn := shift.turns.wait(shift.stop)) is not None:
        try:
            if (state := next(scored, None)) is None:
                return
            turn.found()
            shift.count(_again(worker, shift, state, turn))
        except Stopped:
            return
        finally:
            turn.prepared()


def _again(worker: Worker, shift: WorkerState, state: State, turn: Admission) -> str:
    """Score a submission, unless its result is there; what came of it.

    Raises:
        Stopped: The end was asked for.
        MachineFault: As in `rescore`.
        NoWriteAccess: Likewise.
    """
    name, attempt, stop, tell = state.submission_id, state.current.attempt, shift.stop, shift.tell

    def go_on() -> None:
        if stop.asked:
            raise Stopped

    if lack := with_backoff(partial(worker.lacks, state), stop, tell, grace=0):
        tell("passed_over", submission=name, reason=lack)
        return "passed_over"
    try:
        began = worker.clock()
        made = _made(worker, shift, state, turn, go_on)
        if made is None:
            return "there"
        _publish(worker, name, made, stop, tell)
    except (Stopped, NoWriteAccess):
        raise
    except (IllegalTransition, UnknownSubmission, DamagedState) as error:  # it was withdrawn meanwhile
        tell("passed_over", submission=name, reason=said(error))
        return "passed_over"
    except Exception as error:  # whatever it is, the next one may go well
        go_on()  # a check that was ended with us says nothing
        if isinstance(error, NotAcceptable) and _withdrawn(worker, name, stop, tell):
            tell("passed_over", submission=name, reason="it was withdrawn")
            return "passed_over"
        reason = said(error) if isinstance(error, NotAcceptable) else log_tail(error).splitlines()[-1]
        tell("failed", submission=name, attempt=attempt, final=True, reason=reason)
        with shift.lock:
            if shift.machine.to_blame(name, error):
                shift.machine.check(error)
        return "failed"
    with shift.lock:
        shift.machine.went_well()
    seconds = (worker.clock() - began).total_seconds()
    facts = {"result": made.result.result_id, "seconds": round(seconds, 3), "prompts": made.result.prompts}
    tell("scored", submission=name, attempt=attempt, **facts, resumed=made.resumed)
    return "scored"


def _withdrawn(worker: Worker, name: str, stop: Stop, tell: EventSink) -> bool:
    """Whether a submission was taken back meanwhile, and its files with it."""
    return with_backoff(lambda: state_of(worker.store, name), stop, tell, grace=0).current.state == "withdrawn"


def _made(
    worker: Worker, shift: WorkerState, state: State, turn: Admission, go_on: Callable[[], None]
) -> Scored | None:
    """The result; None where the submission has it. The turn ends when it is ready to be scored."""
    stop, tell = shift.stop, shift.tell
    with private_folder() as folder:

        def there(submission: Submission, suite: Suite) -> bool:
            made = result_id(submission, suite, worker.instruments.profile, worker.options, metrics=worker.metrics)
            return made in state.results

        def known_by_manifest() -> bool:
            manifest = fetch_manifest(worker.store, state.submission_id)
            if manifest is None or manifest.suite == OWN:  # a suite of own prompts is known by its rows
                return False
            unread = Submission(folder, manifest, state.submission_id, 0, state.rows_digest, in_suite_order=False)
            return there(unread, worker.suites.find(manifest.suite))

        def fetched() -> tuple[Submission, Suite]:
            go_on()
            return fetch_checked(worker.store, state.submission_id, folder, worker.suites)

        go_on()
        if with_backoff(known_by_manifest, stop, tell, grace=0):
            return None
        submission, suite = with_backoff(fetched, stop, tell, grace=0)
        if there(submission, suite):
            return None
        turn.prepared()
        return worker.score(submission, suite, go_on)


def _publish(worker: Worker, name: str, made: Scored, stop: Stop, tell: EventSink) -> None:
    def attempt() -> State:
        return add_results(
            worker.store,
            name,
            {made.result.result_id: made.folder},
            worker.name,
            worker.clock(),
            worker.instruments.profile.name,
            results_store=worker.results_store,
        )

    with_backoff(attempt, stop, tell)
