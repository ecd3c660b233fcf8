"""Parts of scoring on a cluster, without one: shares of resources, remote errors, concurrent submissions."""

import os
import pickle
import subprocess
import sys
import threading

import pytest

from benchmark.cluster import actor
from benchmark.cluster.actor import RemoteError
from benchmark.cluster.connection import Cluster, check_reachable, connect, short_message
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.inputs import ScoringFault
from benchmark.scoring.profiles import find_profile
from benchmark.service.concurrency import MAX_PREPARING, Admissions, run_concurrently
from benchmark.service.host_faults import hint_of
from benchmark.service.lease import Stop
from divbench.core.errors import ConfigurationError, DivBenchError
from tests.benchmark.helpers import ROOT


@pytest.mark.parametrize(
    ("cluster", "has", "share"),
    [
        (Cluster(), {"CPU": 8.0}, (0, 8)),
        (Cluster(), {"CPU": 64.0, "GPU": 8.0}, (1, 8)),
        (Cluster(gpus=2), {"CPU": 64.0, "GPU": 7.0}, (2, 3)),
        (Cluster(gpus=0), {"CPU": 64.0, "GPU": 8.0}, (0, 64)),
        (Cluster(actors=3), {"CPU": 1.0}, (0, 3)),
        (Cluster(gpus=4), {"CPU": 2.0, "GPU": 2.0}, (4, 1)),  # it waits, and says what it waits for
        (Cluster(), {}, (0, 1)),
    ],
)
def test_actors_have_as_much_as_there_is(cluster: Cluster, has: dict[str, float], share: tuple[int, int]) -> None:
    assert cluster.share(has) == share


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system lends no cores")
def test_a_local_cluster_has_the_cores_that_were_lent(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'divbench[cluster]'")
    given: list[int] = []
    monkeypatch.setattr(ray, "init", lambda *_, num_cpus, **__: given.append(num_cpus))
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    monkeypatch.setattr(os, "cpu_count", lambda: 128)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5})
    for actors in (None, 1, 3):
        with connect(Cluster(actors=actors)):
            pass
    assert given == [2, 2, 3]


def test_builds_of_one_release_are_the_same_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """A head without a GPU has torch's build for CPUs, its workers one for CUDA."""
    backends = ScoringBackends(find_profile("offline"))
    found = []
    for torch in ("2.13.0+cpu", "2.13.0+cu130", "2.13.0", "2.12.1+cpu"):
        monkeypatch.setattr(actor, "library_versions", lambda profile, torch=torch: {"torch": torch, "numpy": "2.4.6"})
        found.append(actor.versions_of(backends))
    assert found[0] == found[1] == found[2]
    assert (found[0]["torch"], found[0]["numpy"], found[3]["torch"]) == ("2.13.0", "2.4.6", "2.12.1")


def failed(cause: BaseException) -> ScoringFault:
    made = ScoringFault("a metric failed", "repair it")
    made.__cause__ = cause
    return made


def travelled(error: RemoteError) -> DivBenchError:
    """As it comes out of another process."""
    found = pickle.loads(pickle.dumps(error))  # noqa: S301 - what was written in the same line
    assert isinstance(found, RemoteError)
    return found.unpack()


def test_a_remote_error_keeps_its_causes() -> None:
    found = travelled(RemoteError.pack(failed(MemoryError("none is left"))))
    assert (type(found), found.message, found.hint) == (ScoringFault, "a metric failed", "repair it")
    assert "memory" in (hint_of(found) or "")


def test_a_cause_that_cannot_be_pickled_becomes_text() -> None:
    class Local(Exception):
        """Not to be found by its name."""

    found = travelled(RemoteError.pack(failed(Local("it is here alone"))))
    assert str(found.__cause__) == "Local: it is here alone"


def test_the_short_message_of_a_remote_traceback_is_its_last_line() -> None:
    remote = RuntimeError("Traceback (most recent call last):\n  File x\nValueError: no\n")
    assert short_message(remote) == "ValueError: no"
    assert short_message(RuntimeError("first\nsecond")) == "first"
    assert short_message(ValueError()) == "ValueError"


def test_an_address_where_nothing_listens_is_refused_at_once() -> None:
    with pytest.raises(OSError, match="refused"):
        check_reachable("127.0.0.1:1")


SIGTERM_PROGRAM = """
import ctypes, os, signal, sys
from benchmark.cluster.connection import _keeping_sigterm
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(7))
with _keeping_sigterm():  # what sets a handler past Python, as Ray's core does
    ctypes.CDLL(None).signal(int(signal.SIGTERM), signal.SIG_IGN)
os.kill(os.getpid(), signal.SIGTERM)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_sigterm_is_heard_though_a_library_took_it() -> None:
    done = subprocess.run([sys.executable, "-c", SIGTERM_PROGRAM], check=False, cwd=ROOT)
    assert done.returncode == 7


def test_one_thread_claims_at_a_time_and_few_prepare() -> None:
    stop, admissions = Stop(), Admissions()
    taken = [admissions.wait(stop)]
    looked = threading.Event()

    def look() -> None:
        taken.append(admissions.wait(stop))
        looked.set()

    thread = threading.Thread(target=look)
    thread.start()
    assert not looked.wait(0.25)
    first = taken[0]
    assert first is not None
    first.claimed()
    assert looked.wait(30)
    thread.join()
    for _ in range(MAX_PREPARING - 2):
        last = taken[-1]
        assert last is not None
        last.claimed()
        taken.append(admissions.wait(stop))
    last = taken[-1]
    assert last is not None
    last.claimed()
    stopping = threading.Timer(0.25, lambda: setattr(stop, "requested", True))
    stopping.start()
    assert admissions.wait(stop) is None  # all places are taken until the end is asked for
    assert stop.requested
    stop.requested = False
    first.prepared()
    first.prepared()  # said twice, it is one place
    again = admissions.wait(stop)
    assert again is not None
    again.claimed()
    threading.Timer(0.25, lambda: setattr(stop, "requested", True)).start()
    assert admissions.wait(stop) is None


def test_nothing_is_claimed_without_capacity() -> None:
    stop, has_capacity = Stop(), threading.Event()
    admissions = Admissions(has_capacity.is_set)
    threading.Timer(0.3, has_capacity.set).start()
    assert admissions.wait(stop) is not None
    assert has_capacity.is_set()


@pytest.mark.parametrize("count", [1, 4])
def test_a_thread_that_fails_stops_the_others(count: int) -> None:
    stop = Stop()
    failing: list[int] = []
    lock = threading.Lock()

    def task() -> None:
        with lock:
            first = not failing
            failing.append(1)
        if first:
            raise ConfigurationError("no")
        while not stop.requested:
            threading.Event().wait(0.01)

    with pytest.raises(ConfigurationError, match="no"):
        run_concurrently(task, count, stop)
    assert len(failing) == count
