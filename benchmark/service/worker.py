"""The worker: claims the oldest submission in a queue, checks and scores it, publishes the result, and repeats.

Several workers may share a queue. A worker claims a submission under a lease, which a thread renews; a worker that has
lost its claim stops at the next shard and publishes nothing. A result is published in one commit, and its bytes do not
depend on the worker. The worker waits while the store is unreachable, no submission can stop it, and a host failure
does not count as an attempt. On a cluster a worker processes several submissions at once, so that no actor is idle.

`rescore` scores scored submissions again, after a new metric, version, model or profile.
"""

import math
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from typing import TypeVar

from benchmark.cluster.session import ClusterSession
from benchmark.metrics import METRICS, Metric
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.inputs import ScoringFault
from benchmark.scoring.results import MAX_RESULT_BYTES
from benchmark.scoring.scorer import Options, Scored, result_id, score_submission
from benchmark.service import fetch
from benchmark.service.failures import MAX_HOST_FAILURES, HostHealth, log_tail, public_message
from benchmark.service.lease import GRACE, ClaimKeeper, EventSink, Stop, Stopped, Watch, wait, with_backoff
from datasets_build.schema import Suite
from divbench.core.errors import ConfigurationError, DivBenchError, InputError
from submissions.checking.prompts import OWN
from submissions.storage.file_store import DamagedFile, FileStore, LocalDiskFault, NoWriteAccess, StoreFault
from submissions.storage.submission_folders import Submission
from submissions.untrusted.findings import Problem
from submissions.work_queue import operations, schema
from submissions.work_queue.queue_files import paths_of_result
from submissions.work_queue.signatures import result_digest

T = TypeVar("T")
MAX_CONCURRENT = 64  # submissions of a worker on a cluster that are scored at once
# A result, the problems that reject a submission, or why it could not be scored.
Outcome = Scored | list[Problem] | Exception


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker's name, models, stores and options."""

    name: str
    store: FileStore
    backends: ScoringBackends  # a profile with its models, which are loaded once for all submissions
    results: Path  # local folder of results, from which interrupted work resumes, including that of other workers
    suites: fetch.Suites = field(default_factory=fetch.Suites)
    metrics: tuple[Metric, ...] = METRICS  # metrics to compute; those that the profile cannot compute are left out
    options: Options = field(default_factory=Options)
    results_store: FileStore | None = None  # store of the results; None: `store`
    cluster: ClusterSession | None = None  # session whose actors score the shards; None: this process does
    lease: timedelta = timedelta(hours=1)  # time for which a claim holds without renewal
    poll: float = 30.0  # seconds between polls of an empty queue, and after a host failure
    # Seconds of scoring after which an attempt fails, checked after each shard; None: no limit.
    max_seconds: float | None = None
    max_host_failures: int = MAX_HOST_FAILURES
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    _responses: dict[str, int] = field(default_factory=dict)  # responses per prompt, by submission; it never changes

    def obstacle(self, state: schema.State) -> str | None:
        """Return why this worker cannot score a submission, whatever its content; None if it can."""
        name, wanted = state.submission_id, self.options.k
        if not self.suites.has(state.suite):
            return f"the suite {state.suite} is not available here"
        if wanted is None:
            return None
        if name not in self._responses and (manifest := fetch.fetch_manifest(self.store, name)) is not None:
            self._responses[name] = manifest.generation.k
        has = self._responses.get(name, wanted)  # one without a manifest is for the checks to reject
        return f"it has {has} responses per prompt, fewer than --k {wanted}" if has < wanted else None

    def load(self) -> int:
        """Check the folder of results, clean up after killed workers, and load the models, here or in actors.

        Return how many submissions are processed at once: on a cluster several, so that no actor waits for the last
        shard of one, and one more, which is fetched and checked meanwhile.
        """
        try:
            self.results.mkdir(parents=True, exist_ok=True)
            with TemporaryFile(dir=self.results):
                pass
        except OSError as error:
            hint = "choose another --results, or check the folder's disk and permissions"
            raise ConfigurationError(f"no results can be written to {self.results}: {error.strerror}", hint) from error
        fetch.remove_left_folders()
        if self.cluster is None:
            self.backends.load(self.backends.profile.metrics(self.metrics))
            return 1
        return min(self.cluster.load(), MAX_CONCURRENT) + 1

    def score(
        self,
        submission: Submission,
        suite: Suite,
        check: Callable[[], None],
        report: Callable[[int], None] = lambda prompts: None,
    ) -> Scored:
        """Score a submission that passed its checks; what `check` raises, after a shard or earlier, ends the work.

        `report` is called with the number of prompts that are scored.
        """

        def progressed(prompts: int) -> None:
            report(prompts)
            if self.cluster is None:
                check()

        return score_submission(
            submission,
            suite,
            self.backends,
            self.results,
            self.options,
            metrics=self.metrics,
            progress=progressed,
            run=None if self.cluster is None else partial(self.cluster.run, check=check),
        )


@dataclass(slots=True)
class WorkerState:
    """State that the threads of a worker share across submissions."""

    stop: Stop
    emit: EventSink
    host: HostHealth
    watch: Watch = field(default_factory=Watch)
    preparing: Lock = field(default_factory=Lock)  # held by the one thread that claims, fetches and checks
    lock: Lock = field(default_factory=Lock)  # guards all fields below, and `host`
    outcomes: Counter[str] = field(default_factory=Counter)
    failed: set[str] = field(default_factory=set)  # submissions that failed on this worker; others take precedence
    # Submissions that were not adopted, or that cannot be scored here; each is reported only once.
    passed_over: set[str] = field(default_factory=set)
    # Submissions without a state that failed the checks; they are not checked again.
    unacceptable: set[str] = field(default_factory=set)
    idle: bool = False  # whether nothing was pending at the last look

    def retry(self, call: Callable[[], T], grace: float = GRACE) -> T:
        """Call a function of a store, waiting while the store is unreachable; see `with_backoff`."""
        return with_backoff(call, self.stop, self.emit, grace)

    def count(self, outcome: str) -> None:
        """Count a submission by its outcome."""
        with self.lock:
            self.outcomes[outcome] += 1

    def report_success(self, name: str, attempt: int, scored: Scored, seconds: float) -> None:
        """Report a published result."""
        facts = {"result": scored.result.result_id, "prompts": scored.result.prompts, "resumed": scored.resumed}
        self.emit("scored", submission=name, attempt=attempt, seconds=round(seconds, 3), **facts)
        with self.lock:
            self.host.record_success()

    def pass_over(self, name: str, reason: str) -> None:
        """Report once that a submission cannot be scored here."""
        if name not in self.passed_over:
            self.passed_over.add(name)
            self.emit("passed_over", submission=name, reason=reason)


def work(worker: Worker, stop: Stop, emit: EventSink, *, once: bool = False) -> Counter[str]:
    """Score pending submissions, oldest first, until stopped; return the number of claims by outcome.

    On a stop, claims are released at once, and shards that are being scored are finished first. With `once`, the work
    ends when no pending submission can be scored here.
    """
    shared = WorkerState(stop, emit, HostHealth(worker.max_host_failures), Watch(worker.results / ".leases.json"))
    try:
        # Before anything is claimed: a worker that lacks a model or a disk would fail one submission after the other.
        threads = worker.load()
        if once:
            worker.store.head()
        with suppress(Stopped):
            shared.retry(lambda: operations.check_key(worker.store), grace=0)
        run_concurrently(lambda: _process_queue(worker, shared, once), threads, stop)
    except DivBenchError as error:
        emit("stopped", reason=public_message(error), hint=error.hint)
        raise
    emit("ended", **{how: shared.outcomes[how] for how in ("scored", "rejected", "failed", "released", "lost")})
    return shared.outcomes


def run_concurrently(task: Callable[[], None], count: int, stop: Stop) -> None:
    """Run a function on `count` threads until all have ended; a failure of one stops the others, and is raised."""

    def guarded() -> None:
        try:
            task()
        except BaseException:
            stop.requested = True
            raise

    with ThreadPoolExecutor(count, thread_name_prefix="worker") as threads:
        running = [threads.submit(guarded) for _ in range(count)]
    for future in running:  # all have ended
        future.result()


def _process_queue(worker: Worker, shared: WorkerState, once: bool) -> None:
    """Process submissions one after another on this thread."""
    while not shared.stop.requested:
        with ExitStack() as preparing:
            preparing.enter_context(shared.preparing)
            try:
                claimed = _claim_next(worker, shared, once)
            except Stopped:
                return
            if claimed is not None:
                _process(worker, shared, claimed, preparing)
            elif once:
                return


def _claim_next(worker: Worker, shared: WorkerState, once: bool) -> schema.Claim | None:
    """Claim a submission; if none is pending, return None (unless `once`, after a pause)."""
    if shared.stop.requested:
        return None
    shared.retry(lambda: _adopt_all(worker, shared), grace=0)
    claimed = _claim_oldest(worker, shared)
    was_idle, shared.idle = shared.idle, claimed is None
    if claimed is None and not once:
        if not was_idle:
            shared.emit("waiting", reason="nothing is pending", seconds=worker.poll)
        wait(worker.poll, shared.stop)
    return claimed


def _claim_oldest(worker: Worker, shared: WorkerState) -> schema.Claim | None:
    """Claim the oldest submission that can be scored here; submissions that failed here come last."""

    def possible(state: schema.State) -> bool:
        reason = worker.obstacle(state)
        if reason is not None:
            shared.pass_over(state.submission_id, reason)
        return reason is None

    def untried(state: schema.State) -> bool:
        return state.submission_id not in shared.failed and possible(state)

    claimed = _claim_wanted(worker, shared, untried) if shared.failed else None
    return claimed or _claim_wanted(worker, shared, possible)


def _claim_wanted(worker: Worker, shared: WorkerState, wanted: Callable[[schema.State], bool]) -> schema.Claim | None:
    profile = worker.backends.profile.name
    token = secrets.token_hex(8)  # one for all retries: if a reply is lost, the next returns the claim it made

    def attempt() -> schema.Claim | None:
        return operations.claim(
            worker.store,
            worker.name,
            worker.lease,
            worker.clock(),
            profile,
            wanted=wanted,
            free=shared.watch.free,
            token=token,
        )

    return shared.retry(attempt)


def _process(worker: Worker, shared: WorkerState, claimed: schema.Claim, preparing: ExitStack) -> None:
    """Process a claim and record its outcome."""
    state, emit, name = claimed.state, shared.emit, claimed.submission_id
    emit("claimed", submission=name, system=state.name, suite=state.suite, attempt=state.current.attempt)
    began = time.monotonic()
    with ClaimKeeper(worker.store, claimed, shared.stop, worker.clock, emit) as keeper:
        try:
            keeper.check()
            outcome = _outcome(worker, shared, keeper, preparing)
            keeper.conclude()
            _conclude(worker, shared, keeper, outcome, time.monotonic() - began)
        except Stopped:
            shared.count("released" if keeper.release() else "lost")
        except (schema.QueueError, schema.DamagedState, schema.UnknownSubmission) as error:
            emit("lost", submission=name, reason=public_message(error))
            shared.count("lost")


def _outcome(worker: Worker, shared: WorkerState, keeper: ClaimKeeper, preparing: ExitStack) -> Outcome:
    """Fetch, check and score a submission."""
    name, attempt = keeper.claim.submission_id, keeper.claim.record.attempt
    try:
        with fetch.private_folder() as folder:

            def fetched() -> tuple[Submission, Suite]:
                keeper.check()
                return fetch.fetch_checked(worker.store, name, folder, worker.suites)

            submission, suite = shared.retry(fetched)
            keeper.check()
            preparing.close()
            return worker.score(submission, suite, _limited(worker.max_seconds, keeper.check), keeper.report)
    except fetch.NotAcceptable as error:
        # Checks killed from outside or for lack of memory prove nothing, so only the last attempt rejects.
        if error.unsure and attempt < schema.MAX_ATTEMPTS:
            return error
        return error.problems
    except (Stopped, schema.QueueError, schema.DamagedState, schema.UnknownSubmission, NoWriteAccess):
        raise
    except Exception as error:  # whatever the error is, the worker continues
        return error


def _limited(seconds: float | None, check: Callable[[], None]) -> Callable[[], None]:
    """Return a check that also fails when a time from now has passed."""
    until = time.monotonic() + (math.inf if seconds is None else seconds)

    def limited() -> None:
        check()
        if time.monotonic() > until:
            raise ScoringFault("scoring took too long", "see --max-hours; the next attempt continues from here")

    return limited


def _conclude(worker: Worker, shared: WorkerState, keeper: ClaimKeeper, outcome: Outcome, seconds: float) -> None:
    """Record the outcome of a claim."""
    name, attempt = keeper.claim.submission_id, keeper.claim.record.attempt
    if isinstance(outcome, Scored):
        try:
            results = {outcome.result.result_id: outcome.folder}
            where = worker.results_store
            shared.retry(
                lambda: operations.finish(worker.store, keeper.claim, results, worker.clock(), results_store=where)
            )
            shared.report_success(name, attempt, outcome, seconds)
            shared.count("scored")
            return
        except (schema.DamagedState, schema.UnknownSubmission):
            raise
        except (OSError, InputError, ConfigurationError, LocalDiskFault) as error:  # the result is gone, or too large
            outcome = error
    if isinstance(outcome, Exception):
        _conclude_failure(worker, shared, keeper, outcome)
        return
    problems = outcome
    state = shared.retry(lambda: operations.reject(worker.store, keeper.claim, problems, worker.clock()))
    errors = sum(problem.severity == "error" for problem in problems)
    shared.emit("rejected", submission=name, attempt=attempt, problems=errors, reason=state.current.reason)
    shared.count("rejected")


def _conclude_failure(worker: Worker, shared: WorkerState, keeper: ClaimKeeper, error: Exception) -> None:
    """Record a failed attempt; after a host failure, release the submission instead and pause."""
    name, attempt, log = keeper.claim.submission_id, keeper.claim.record.attempt, log_tail(error)
    with shared.lock:
        shared.failed.add(name)
        of_host, failures = shared.host.record_failure(name, error), shared.host.failures
    if of_host:
        reason = public_message(error)
        shared.emit("host_failure", submission=name, faults=failures, reason=reason, log=log.splitlines())
        shared.count("released" if keeper.release(f"host failure: {reason}") else "lost")
        shared.host.check(error)
        shared.emit("waiting", reason="after a host failure", seconds=worker.poll)
        wait(worker.poll, shared.stop)
        return
    # Damage may be mended meanwhile.
    pause = max(1, int(worker.poll)) * 2**attempt if isinstance(error, DamagedFile) else 0
    state = shared.retry(lambda: operations.fail(worker.store, keeper.claim, log, worker.clock(), pause))
    final = state.current.state == "failed"
    shared.emit("failed", submission=name, attempt=attempt, final=final, reason=log.splitlines()[-1])
    shared.count("failed")


def _adopt_all(worker: Worker, shared: WorkerState) -> None:
    """Create the state of each submission that has none, such as one from a pull request; see `adopt`.

    A submission that fails its checks gets no state, because it has no valid id; it is reported once.
    """
    for name in operations.submissions_without_state(worker.store):
        if shared.stop.requested:
            return
        if name in shared.unacceptable:
            continue
        try:
            with fetch.private_folder() as folder:
                submission, _ = fetch.fetch_checked(worker.store, name, folder, worker.suites)
                operations.adopt(worker.store, submission, worker.name, worker.clock())
            shared.emit("adopted", submission=name, system=submission.manifest.name)
        except (StoreFault, schema.QueueBusy):
            raise
        except Exception as error:  # no untrusted submission holds up the queue
            if shared.stop.requested:  # the same signal may have ended the checks
                return
            if not isinstance(error, ConfigurationError):  # which a file that this machine lacks may end
                shared.unacceptable.add(name)
            shared.pass_over(name, public_message(error))


def rescore(worker: Worker, stop: Stop, emit: EventSink) -> Counter[str]:
    """Score all scored submissions that have no result of the worker's profile, metrics and options.

    Each result is published beside the old ones as soon as it is made, so an interrupted run continues. Return the
    number of submissions by outcome: scored, there (before), passed over (cannot be scored here) or failed.
    """
    try:
        shared = WorkerState(stop, emit, HostHealth(worker.max_host_failures))
        operations.check_key(worker.store)
        threads = worker.load()
        scored = iter(_with_their_results(worker))
        run_concurrently(lambda: _rescore_all(worker, shared, scored), threads, stop)
    except DivBenchError as error:
        emit("stopped", reason=public_message(error), hint=error.hint)
        raise
    emit("ended", **{how: shared.outcomes[how] for how in ("scored", "there", "passed_over", "failed")})
    return shared.outcomes


def _with_their_results(worker: Worker) -> list[tuple[schema.State, frozenset[str]]]:
    """Return the scored submissions, each with the ids of its results whose files the store still has, unchanged."""
    store = worker.results_store or worker.store
    commit = store.head()
    paths = set(store.paths(commit, "results"))

    def is_intact(state: schema.State, result_id: str) -> bool:
        files = paths_of_result(result_id)
        if not paths.issuperset(files):
            return False
        with suppress(InputError):
            digest = result_digest(store.read(commit, files[0], MAX_RESULT_BYTES))
            return state.digests.get(result_id, digest) == digest
        return False

    def present(state: schema.State) -> frozenset[str]:
        return frozenset(result_id for result_id in state.results if is_intact(state, result_id))

    return [(state, present(state)) for state in operations.states(worker.store) if state.current.state == "scored"]


def _rescore_all(worker: Worker, shared: WorkerState, scored: Iterator[tuple[schema.State, frozenset[str]]]) -> None:
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


def _rescore(
    worker: Worker, shared: WorkerState, state: schema.State, present: frozenset[str], preparing: ExitStack
) -> str:
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
            operations.add_results, worker.store, name, {scored.result.result_id: scored.folder}, worker.name,
            profile=worker.backends.profile.name, results_store=worker.results_store,
        )  # fmt: skip
        shared.retry(lambda: publish(now=worker.clock()))
    except (Stopped, NoWriteAccess):
        raise
    except (
        schema.IllegalTransition,
        schema.UnknownSubmission,
        schema.DamagedState,
    ) as error:  # it has been withdrawn meanwhile
        shared.pass_over(name, public_message(error))
        return "passed_over"
    except Exception as error:  # whatever the error is, the next submission may succeed
        check()  # the signal that stops us may have ended the checks
        return _conclude_rescoring(worker, shared, state, error)
    shared.report_success(name, state.current.attempt, scored, time.monotonic() - began)
    return "scored"


def _conclude_rescoring(worker: Worker, shared: WorkerState, state: schema.State, error: Exception) -> str:
    """Report a failure, unless the submission and its files were withdrawn meanwhile; return the outcome."""
    name, reason = state.submission_id, log_tail(error).splitlines()[-1]
    if isinstance(error, fetch.NotAcceptable | DamagedFile):
        if shared.retry(lambda: operations.state_of(worker.store, name), grace=0).current.state == "withdrawn":
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
    state: schema.State,
    present: frozenset[str],
    preparing: ExitStack,
    check: Callable[[], None],
) -> Scored | None:
    """Fetch, check and score a submission; None if it has the result already."""

    def is_known(submission: Submission, suite: Suite) -> bool:
        return result_id(submission, suite, worker.backends.profile, worker.options, metrics=worker.metrics) in present

    with fetch.private_folder() as folder:

        def is_known_by_manifest() -> bool:
            manifest = fetch.fetch_manifest(worker.store, state.submission_id)
            if manifest is None or manifest.suite == OWN:  # the suite of own prompts is made of the rows
                return False
            unread = Submission(folder, manifest, state.submission_id, 0, state.rows_digest, in_suite_order=False)
            return is_known(unread, worker.suites.find(manifest.suite))

        def fetched() -> tuple[Submission, Suite]:
            check()
            return fetch.fetch_checked(worker.store, state.submission_id, folder, worker.suites)

        check()
        if shared.retry(is_known_by_manifest, grace=0):
            return None
        submission, suite = shared.retry(fetched, grace=0)
        if is_known(submission, suite):
            return None
        preparing.close()
        return worker.score(submission, suite, check)
