"""Scores submissions again, after a new metric, version, model or profile; on a cluster several at once."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial

from benchmark.scoring.scorer import Scored, result_id
from benchmark.service.failures import HostHealth, log_tail, public_message
from benchmark.service.fetch import NotAcceptable, fetch_checked, fetch_manifest, private_folder
from benchmark.service.lease import EventSink, Stop, Stopped
from benchmark.service.worker import Worker, WorkerState, run_concurrently
from datasets_build.schema import Suite
from divbench.core.errors import DivBenchError
from submissions.checking.prompts import OWN
from submissions.storage.file_store import NoWriteAccess
from submissions.storage.submission_folders import Submission
from submissions.work_queue.operations import add_results, state_of, states
from submissions.work_queue.queue_files import paths_of_result
from submissions.work_queue.schema import DamagedState, IllegalTransition, State, UnknownSubmission


def rescore(worker: Worker, stop: Stop, emit: EventSink) -> Counter[str]:
    """Score all scored submissions that have no result of the worker's profile, metrics and options.

    Each result is published beside the old ones as soon as it is made, so an interrupted run continues. Return the
    number of submissions by outcome: scored, there (before), passed over (cannot be scored here) or failed.
    """
    try:
        shared = WorkerState(stop, emit, HostHealth(worker.max_host_failures))
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
    paths = set(store.paths(store.head(), "results"))

    def present(state: State) -> frozenset[str]:
        return frozenset(result for result in state.results if paths.issuperset(paths_of_result(result)))

    return [(state, present(state)) for state in states(worker.store) if state.current.state == "scored"]


def _process_all(worker: Worker, shared: WorkerState, scored: Iterator[tuple[State, frozenset[str]]]) -> None:
    """Process submissions from an iterator shared by all threads, until none is left or a stop is requested."""
    while not shared.stop.requested:
        with ExitStack() as preparing:
            preparing.enter_context(shared.preparing)
            if (submission := next(scored, None)) is None:
                return
            try:
                shared.count(_rescore(worker, shared, *submission, preparing))
            except Stopped:
                return


def _rescore(worker: Worker, shared: WorkerState, state: State, present: frozenset[str], preparing: ExitStack) -> str:
    """Score a submission unless the store has the result; return the outcome."""
    name, began = state.submission_id, time.monotonic()

    def check() -> None:
        if shared.stop.requested:
            raise Stopped

    try:
        if obstacle := shared.retry(lambda: worker.obstacle(state), grace=0):
            shared.pass_over(name, obstacle)
            return "passed_over"
        scored = _new_result(worker, shared, state, present, preparing, check)
        if scored is None:
            shared.emit("there", submission=name)
            return "there"
        publish = partial(
            add_results, worker.store, name, {scored.result.result_id: scored.folder}, worker.name,
            profile=worker.backends.profile.name, results_store=worker.results_store,
        )  # fmt: skip
        shared.retry(lambda: publish(now=worker.clock()))
    except (Stopped, NoWriteAccess):
        raise
    except (IllegalTransition, UnknownSubmission, DamagedState) as error:  # it has been withdrawn meanwhile
        shared.pass_over(name, public_message(error))
        return "passed_over"
    except Exception as error:  # whatever the error is, the next submission may succeed
        check()  # the signal that stops us may have ended the checks
        return _conclude_failure(worker, shared, state, error)
    shared.report_success(name, state.current.attempt, scored, time.monotonic() - began)
    return "scored"


def _conclude_failure(worker: Worker, shared: WorkerState, state: State, error: Exception) -> str:
    """Report a failure, unless the submission and its files were withdrawn meanwhile; return the outcome."""
    name, reason = state.submission_id, log_tail(error).splitlines()[-1]
    if isinstance(error, NotAcceptable):
        if shared.retry(lambda: state_of(worker.store, name), grace=0).current.state == "withdrawn":
            shared.pass_over(name, "it was withdrawn")
            return "passed_over"
        reason = public_message(error)
    shared.emit("failed", submission=name, attempt=state.current.attempt, final=True, reason=reason)
    with shared.lock:
        if shared.host.record_failure(name, error):
            shared.host.check(error)
    return "failed"


def _new_result(
    worker: Worker,
    shared: WorkerState,
    state: State,
    present: frozenset[str],
    preparing: ExitStack,
    check: Callable[[], None],
) -> Scored | None:
    """Fetch, check and score a submission; None if it has the result already."""

    def is_known(submission: Submission, suite: Suite) -> bool:
        return result_id(submission, suite, worker.backends.profile, worker.options, metrics=worker.metrics) in present

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
        if shared.retry(is_known_by_manifest, grace=0):
            return None
        submission, suite = shared.retry(fetched, grace=0)
        if is_known(submission, suite):
            return None
        preparing.close()
        return worker.score(submission, suite, check)
