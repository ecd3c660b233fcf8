"""The worker: takes the oldest submission of a queue, checks and scores it, publishes the results, and again.

Several may work on one queue, on one machine or many. A submission is one worker's under a lease, which a thread
renews; who lost it stops at the next shard and publishes nothing. What is published comes in one commit, and is the
same bytes whichever worker made it. Whatever the store does, the worker waits it out; whatever a submission does, it
goes on with the next one. What fails by the machine's fault uses up no submission's attempts, and ends the worker
before long. On a cluster a worker has several submissions in work at once, so that no actor waits for the next.
"""

import secrets
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from benchmark.cluster.session import ClusterSession
from benchmark.metrics import METRICS, Metric
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.scorer import Options, Scored, score_submission
from benchmark.service.concurrency import Admission, Admissions, WorkerState, in_lanes
from benchmark.service.events import EventSink
from benchmark.service.fetch import NotAcceptable, Suites, fetch_checked, fetch_manifest, private_folder
from benchmark.service.host_faults import FAULTS, Machine
from benchmark.service.lease import Hold, Stop, Stopped, said, wait, with_backoff
from benchmark.service.redaction import log_tail
from datasets_build.errors import ConfigurationError, DivBenchError, InputError
from datasets_build.schema import Suite
from submissions.schema import Problem
from submissions.storage.commits import LocalDiskFault, NoWriteAccess, StoreFault
from submissions.storage.file_store import FileStore
from submissions.storage.submission_folders import Submission
from submissions.untrusted.plain_text import one_line
from submissions.work_queue.errors import DamagedState, QueueBusy, QueueError, UnknownSubmission
from submissions.work_queue.maintenance import adopt, submissions_without_state
from submissions.work_queue.operations import claim, fail, finish, refuse
from submissions.work_queue.schema import MAX_ATTEMPTS, Claim, State

MOST_LANES = 64  # of a worker on a cluster
# A result, the problems that refuse a submission, or why it could not be scored.
Made = Scored | list[Problem] | Exception


def utc_now() -> datetime:
    """The time."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Worker:
    """Who scores, with what, from where to where.

    Attributes:
        name: In the records that it writes, which anybody may read.
        store: Of submissions.
        instruments: A profile and its models, loaded once for all submissions.
        results: A folder of results on this machine. What is begun there is gone on with, also by another worker.
        suites: That are at hand.
        metrics: Of which those that the profile can compute are.
        options: See `Options`.
        results_store: Of results; None: the same.
        cluster: Scores the shards of all its submissions; None: it does so itself.
        lease: For how long a claim holds where the worker is not heard of any more.
        poll: Seconds between looks at a queue in which nothing waits, and after a fault of this machine.
        faults: In a row, after which it ends: of this machine, not of what is scored.
        clock: Tells the time.
    """

    name: str
    store: FileStore
    instruments: ScoringBackends
    results: Path
    suites: Suites = field(default_factory=Suites)
    metrics: tuple[Metric, ...] = METRICS
    options: Options = field(default_factory=Options)
    results_store: FileStore | None = None
    cluster: ClusterSession | None = None
    lease: timedelta = timedelta(hours=1)
    poll: float = 30.0
    faults: int = FAULTS
    clock: Callable[[], datetime] = utc_now
    _responses: dict[str, int] = field(default_factory=dict)  # a prompt, by submission: it never changes

    def lacks(self, state: State) -> str | None:
        """What keeps it from scoring a submission, whatever is in that; None: nothing does.

        Raises:
            StoreFault: The store cannot be read.
        """
        name, wanted = state.submission_id, self.options.k
        if not self.suites.at_hand(state.suite):
            return f"the suite {state.suite} is not at hand"
        if wanted is None:
            return None
        if name not in self._responses and (manifest := fetch_manifest(self.store, name)) is not None:
            self._responses[name] = manifest.generation.k
        has = self._responses.get(name, wanted)  # what has no manifest is for the checks to refuse
        return f"it has {has} responses a prompt, and {wanted} are wanted" if has < wanted else None

    def load(self) -> int:
        """Have the models loaded, here or by actors. How many submissions may be in work at once.

        Raises:
            ConfigurationError: They cannot be loaded, or there is no cluster.
            MissingExtra: A library is not installed.
        """
        if self.cluster is None:
            self.instruments.load(self.instruments.profile.metrics(self.metrics))
            return 1
        return min(self.cluster.load(), MOST_LANES) + 1  # while one is published, another may be scored

    def has_capacity(self) -> bool:
        """Whether another submission may be taken on: actors, where they score, would soon have nothing to do."""
        return self.cluster is None or self.cluster.has_capacity

    def score(self, submission: Submission, suite: Suite, go_on: Callable[[], None]) -> Scored:
        """Score a submission that passed its checks; `go_on` is called after each shard, and may raise to end it.

        On a cluster it is called more often, and what is being scored elsewhere is kept before the end.

        Raises:
            ConfigurationError: As in `score_submission`.
            ScoringFault: A metric failed, or a prompt ends every actor that scores it.
        """
        return score_submission(
            submission,
            suite,
            self.instruments,
            self.results,
            self.options,
            metrics=self.metrics,
            progress=lambda prompts: go_on() if self.cluster is None else None,
            run=None if self.cluster is None else partial(self.cluster.run, go_on=go_on),
        )


def work(worker: Worker, stop: Stop, tell: EventSink, *, once: bool = False) -> Counter[str]:
    """Score what waits, the oldest submission first, until the end is asked for.

    Args:
        worker: Who works.
        stop: Asks for the end: claims are given back at once, and what is being scored is the last.
        tell: Hears of all that happens.
        once: End when nothing waits that can be scored here.

    Returns:
        How many claims ended how: `scored`, `refused`, `failed`, `released`, `lost`.

    Raises:
        ConfigurationError: The profile's models cannot be loaded.
        MachineFault: This machine failed too often in a row.
        NoWriteAccess: The store may not be written.
        LocalDiskFault: A disk of this machine is full, or not writable, and a claim cannot be ended.
        StoreFault: With `once`: the store cannot be read at the beginning. Later faults are waited out.
    """
    try:
        return _work(worker, WorkerState(stop, tell, Machine(worker.faults), Admissions(worker.has_capacity)), once)
    except DivBenchError as error:
        tell("stopped", reason=said(error), hint=error.hint)
        raise


def _work(worker: Worker, shift: WorkerState, once: bool) -> Counter[str]:
    # Before anything is claimed: a worker that lacks a model would fail one submission after the other.
    lanes = worker.load()
    if once:
        worker.store.head()
    in_lanes(lambda: _lane(worker, shift, once), lanes, shift.stop)
    shift.tell("ended", **{how: shift.ended[how] for how in ("scored", "refused", "failed", "released", "lost")})
    return shift.ended


def _lane(worker: Worker, shift: WorkerState, once: bool) -> None:
    """One submission after the other, until the end is asked for."""
    worked = False
    while (turn := shift.turns.wait(shift.stop)) is not None:
        try:
            if once and shift.idle and not worked:  # another lane has looked
                return
            found = _look(worker, shift, once)
            turn.found()
            if found is not None:
                worked = True
                _work_on(worker, shift, found, turn)
            elif once:
                return
        except Stopped:
            return
        finally:
            turn.prepared()


def _look(worker: Worker, shift: WorkerState, once: bool) -> Claim | None:
    """A claim, if anything waits; without `once` a pause if not.

    Raises:
        Stopped: The end was asked for, and the store is out of reach.
    """
    if shift.stop.asked:
        return None
    with_backoff(lambda: _adopt_all(worker, shift), shift.stop, shift.tell, grace=0)
    found = _next(worker, shift)
    was_idle, shift.idle = shift.idle, found is None
    if found is None and not once:
        if not was_idle:
            shift.tell("waiting", reason="nothing is pending", seconds=worker.poll)
        wait(worker.poll, shift.stop)
    return found


def _next(worker: Worker, shift: WorkerState) -> Claim | None:
    """A claim on the oldest submission that can be scored here; those that failed here come after all others."""

    def can(state: State) -> bool:
        return worker.lacks(state) is None

    def can_afresh(state: State) -> bool:
        return state.submission_id not in shift.failed and can(state)

    for wanted in (can_afresh, can) if shift.failed else (can,):
        # One token for all attempts: where an answer was lost, the next one is given the claim that was made.
        token = secrets.token_hex(8)
        profile = worker.instruments.profile.name

        def attempt(
            wanted: Callable[[State], bool] = wanted, token: str = token, profile: str = profile
        ) -> Claim | None:
            return claim(worker.store, worker.name, worker.lease, worker.clock(), profile, wanted=wanted, token=token)

        if (found := with_backoff(attempt, shift.stop, shift.tell)) is not None:
            return found
    return None


def _work_on(worker: Worker, shift: WorkerState, claimed: Claim, turn: Admission) -> None:
    """Bring a claim to its end, whatever that is.

    Args:
        worker: Who works.
        shift: Its memory.
        claimed: The claim.
        turn: Ends when the submission is ready to be scored.

    Raises:
        MachineFault: As in `work`.
        NoWriteAccess: Likewise.
        LocalDiskFault: Likewise.
    """
    state, tell, name = claimed.state, shift.tell, claimed.submission_id
    tell("claimed", submission=name, system=state.name, suite=state.suite, attempt=state.current.attempt)
    began = time.monotonic()
    with Hold(worker.store, claimed, shift.stop, worker.clock, tell) as hold:
        try:
            hold.go_on()
            made = _tried(worker, shift, hold, turn)
            hold.begin_the_end()
            _conclude(worker, shift, hold, made, time.monotonic() - began)
        except Stopped:
            shift.count("released" if hold.give_back() else "lost")
        except (QueueError, DamagedState, UnknownSubmission) as error:
            tell("lost", submission=name, reason=said(error))
            shift.count("lost")


def _tried(worker: Worker, shift: WorkerState, hold: Hold, turn: Admission) -> Made:
    """What came of a submission.

    Raises:
        Stopped: As `Hold.go_on`.
        QueueError: Likewise.
        NoWriteAccess: The store is not for us.
    """
    name, attempt = hold.claim.submission_id, hold.claim.record.attempt
    try:
        with private_folder() as folder:

            def fetched() -> tuple[Submission, Suite]:
                hold.go_on()
                return fetch_checked(worker.store, name, folder, worker.suites)

            submission, suite = with_backoff(fetched, shift.stop, shift.tell)
            hold.go_on()
            turn.prepared()
            return worker.score(submission, suite, hold.go_on)
    except NotAcceptable as error:
        # A check that was ended from outside, or by want of memory, is no proof: only the last attempt says so.
        if error.unsure and attempt < MAX_ATTEMPTS:
            return error
        return error.problems
    except (Stopped, QueueError, DamagedState, UnknownSubmission, NoWriteAccess):
        raise
    except Exception as error:  # whatever it is, the queue goes on
        return error


def _conclude(worker: Worker, shift: WorkerState, hold: Hold, made: Made, seconds: float) -> None:
    """Write what came of a submission."""
    name, attempt = hold.claim.submission_id, hold.claim.record.attempt
    if isinstance(made, Scored):
        try:
            _publish(worker, shift, hold, made)
            facts = {"result": made.result.result_id, "seconds": round(seconds, 3), "prompts": made.result.prompts}
            shift.tell("scored", submission=name, attempt=attempt, **facts, resumed=made.resumed)
            shift.count("scored")
            with shift.lock:
                shift.machine.went_well()
            return
        except (DamagedState, UnknownSubmission):
            raise
        except (OSError, InputError, ConfigurationError, LocalDiskFault) as error:  # the result is gone, or too large
            made = error
    if isinstance(made, Exception):
        _failed(worker, shift, hold, made)
        return
    problems = made
    state = with_backoff(lambda: refuse(worker.store, hold.claim, problems, worker.clock()), shift.stop, shift.tell)
    errors = sum(problem.severity == "error" for problem in problems)
    shift.tell("refused", submission=name, attempt=attempt, problems=errors, reason=state.current.reason)
    shift.count("refused")


def _failed(worker: Worker, shift: WorkerState, hold: Hold, error: Exception) -> None:
    """Write that an attempt failed; or, where this machine is to blame, give the submission back and wait a while.

    Raises:
        MachineFault: This machine has failed too often.
    """
    name, attempt, log = hold.claim.submission_id, hold.claim.record.attempt, log_tail(error)
    with shift.lock:
        shift.failed.add(name)
        to_blame, faults = shift.machine.to_blame(name, error), shift.machine.faults
    if to_blame:
        fault = said(error)
        shift.tell("machine_fault", submission=name, faults=faults, reason=fault, log=log.splitlines())
        shift.count("released" if hold.give_back(f"by no fault of its own: {fault}") else "lost")
        shift.machine.check(error)
        shift.tell("waiting", reason="after a fault of this machine", seconds=worker.poll)
        wait(worker.poll, shift.stop)
        return
    state = with_backoff(lambda: fail(worker.store, hold.claim, log, worker.clock()), shift.stop, shift.tell)
    last = log.splitlines()[-1] if log else "it left no log"
    final = state.current.state == "failed"
    shift.tell("failed", submission=name, attempt=attempt, final=final, reason=one_line(last))
    shift.count("failed")


def _publish(worker: Worker, shift: WorkerState, hold: Hold, made: Scored) -> None:
    def attempt() -> State:
        results = {made.result.result_id: made.folder}
        return finish(worker.store, hold.claim, results, worker.clock(), results_store=worker.results_store)

    with_backoff(attempt, shift.stop, shift.tell)


def _adopt_all(worker: Worker, shift: WorkerState) -> None:
    """Give a state to each submission that came without one, as a proposal does; see `adopt`.

    What does not pass its checks gets none: it has no content that it could be named by. It is said once.
    """
    for name in submissions_without_state(worker.store):
        if shift.stop.asked:
            return
        if name in shift.passed_over:
            continue
        try:
            with private_folder() as folder:
                submission, _ = fetch_checked(worker.store, name, folder, worker.suites)
                adopt(worker.store, submission, worker.name, worker.clock())
            shift.tell("adopted", submission=name, system=submission.manifest.name)
        except (StoreFault, QueueBusy):
            raise
        except Exception as error:  # nothing that a stranger proposed holds the queue up
            if shift.stop.asked:  # perhaps the check was ended by what asks for the end
                return
            shift.passed_over.add(name)
            shift.tell("passed_over", submission=name, reason=said(error))
