"""Scores submissions again, after a new metric, version, model or profile.

On a cluster several submissions are processed at once, as by a worker.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial

from benchmark.scoring.scorer import Scored, result_id
from benchmark.service.concurrency import Admission, Admissions, WorkerState, run_concurrently
from benchmark.service.events import EventSink
from benchmark.service.fetch import NotAcceptable, fetch_checked, fetch_manifest, private_folder
from benchmark.service.host_faults import HostHealth
from benchmark.service.lease import Stop, Stopped, with_backoff
from benchmark.service.redaction import log_tail, public_message
from benchmark.service.worker import Worker, scored_facts
from datasets_build.schema import Suite
from divbench.core.errors import DivBenchError
from submissions.checking.prompts import OWN
from submissions.storage.commits import NoWriteAccess
from submissions.storage.submission_folders import Submission
from submissions.work_queue.errors import DamagedState, IllegalTransition, UnknownSubmission
from submissions.work_queue.maintenance import add_results
from submissions.work_queue.operations import state_of, states
from submissions.work_queue.queue_files import paths_of_result
from submissions.work_queue.schema import State


def rescore(worker: Worker, stop: Stop, emit: EventSink) -> Counter[str]:
    """Score all scored submissions that have no result of the worker's profile, metrics and options.

    Each result is published beside the old ones as soon as it is made, so an interrupted run continues.
    """
    try:
        shared = WorkerState(stop, emit, HostHealth(worker.max_host_failures), Admissions(worker.has_capacity))
        threads = worker.load()
        scored = iter(_with_their_results(worker))
        run_concurrently(lambda: _process_all(worker, shared, scored), threads, stop)
    except DivBenchError as error:
        emit("stopped", reason=public_message(error), hint=error.hint)
        raise
    emit("ended", **{how: shared.outcomes[how] for how in ("scored", "there", "passed_over", "failed")})
    return shared.outcomes


def _with_their_results(worker: Worker) -> list[tuple[State, frozenset[str]]]:
    """Return the scored submissions, each with the ids of its results whose files the store still has."""
    store = worker.results_store or worker.store
    there = set(store.paths(store.head(), "results"))

    def kept(state: State) -> frozenset[str]:
        return frozenset(own for own in state.results if there.issuperset(paths_of_result(own)))

    return [(state, kept(state)) for state in states(worker.store) if state.current.state == "scored"]


def _process_all(worker: Worker, shared: WorkerState, scored: Iterator[tuple[State, frozenset[str]]]) -> None:
    """Process submissions from an iterator shared by all threads, until none is left or a stop is requested."""
    while (admission := shared.admissions.wait(shared.stop)) is not None:
        try:
            if (found := next(scored, None)) is None:
                return
            admission.claimed()
            shared.count(_rescore(worker, shared, *found, admission))
        except Stopped:
            return
        finally:
            admission.prepared()


def _rescore(worker: Worker, shared: WorkerState, state: State, kept: frozenset[str], admission: Admission) -> str:
    """Score a submission unless it has the result; return the outcome."""
    name, attempt, emit = state.submission_id, state.current.attempt, shared.emit

    def check() -> None:
        if shared.stop.requested:
            raise Stopped

    if obstacle := with_backoff(partial(worker.obstacle, state), shared.stop, emit, grace=0):
        emit("passed_over", submission=name, reason=obstacle)
        return "passed_over"
    try:
        began = time.monotonic()
        made = _new_result(worker, shared, state, kept, admission, check)
        if made is None:
            emit("there", submission=name)
            return "there"
        _publish(worker, shared, name, made)
    except (Stopped, NoWriteAccess):
        raise
    except (IllegalTransition, UnknownSubmission, DamagedState) as error:  # it has been withdrawn meanwhile
        emit("passed_over", submission=name, reason=public_message(error))
        return "passed_over"
    except Exception as error:  # whatever the error is, the next submission may succeed
        check()  # the signal that stops us may have ended the checks
        return _conclude_failure(worker, shared, state, error)
    with shared.lock:
        shared.host.record_success()
    emit("scored", submission=name, attempt=attempt, **scored_facts(made, time.monotonic() - began))
    return "scored"


def _publish(worker: Worker, shared: WorkerState, name: str, scored: Scored) -> None:
    results, profile = {scored.result.result_id: scored.folder}, worker.backends.profile.name

    def attempt() -> State:
        now, where = worker.clock(), worker.results_store
        return add_results(worker.store, name, results, worker.name, now, profile, results_store=where)

    with_backoff(attempt, shared.stop, shared.emit)


def _conclude_failure(worker: Worker, shared: WorkerState, state: State, error: Exception) -> str:
    """Report a failure, unless the submission and its files were withdrawn meanwhile; return the outcome."""
    name, emit = state.submission_id, shared.emit
    reason = log_tail(error).splitlines()[-1]
    if isinstance(error, NotAcceptable):
        now = with_backoff(lambda: state_of(worker.store, name), shared.stop, emit, grace=0)
        if now.current.state == "withdrawn":
            emit("passed_over", submission=name, reason="it was withdrawn")
            return "passed_over"
        reason = public_message(error)
    emit("failed", submission=name, attempt=state.current.attempt, final=True, reason=reason)
    with shared.lock:
        if shared.host.record_failure(name, error):
            shared.host.check(error)
    return "failed"


def _new_result(
    worker: Worker,
    shared: WorkerState,
    state: State,
    kept: frozenset[str],
    admission: Admission,
    check: Callable[[], None],
) -> Scored | None:
    """Fetch, check and score a submission; None if it has the result already."""

    def is_known(submission: Submission, suite: Suite) -> bool:
        wanted = result_id(submission, suite, worker.backends.profile, worker.options, metrics=worker.metrics)
        return wanted in kept

    with private_folder() as folder:

        def is_known_by_manifest() -> bool:
            manifest = fetch_manifest(worker.store, state.submission_id)
            if manifest is None or manifest.suite == OWN:  # the suite of own prompts is made of the rows
                return False
            unread = Submission(folder, manifest, state.submission_id, 0, state.rows_digest, in_suite_order=False)
            return is_known(unread, worker.suites.find(manifest.suite))

        def fetched() -> tuple[Submission, Suite]:
            check()
            return fetch_checked(worker.store, state.submission_id, folder, worker.suites)

        check()
        if with_backoff(is_known_by_manifest, shared.stop, shared.emit, grace=0):
            return None
        submission, suite = with_backoff(fetched, shared.stop, shared.emit, grace=0)
        if is_known(submission, suite):
            return None
        admission.prepared()
        return worker.score(submission, suite, check)
