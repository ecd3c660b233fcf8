"""Leases are over by what a worker has seen and for how long, whatever any clock says."""

from datetime import timedelta
from pathlib import Path

import pytest

from benchmark.service.lease import Watch
from divbench.core.errors import ConfigurationError
from submissions.work_queue.operations import claim, listing, renew
from submissions.work_queue.schema import utc_seconds
from tests.submissions.queueing import HOUR, T0, MemoryStore, handed_in, lapsed, taken

YEARS = timedelta(days=365)


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    store = MemoryStore()
    handed_in(store, tmp_path, 1)
    return store


@pytest.mark.parametrize("wrong", [timedelta(0), 2 * HOUR, 10 * YEARS, -20 * YEARS])
def test_a_live_claim_is_kept_and_a_dead_one_lapses_whatever_the_clocks_say(
    store: MemoryStore, tmp_path: Path, wrong: timedelta
) -> None:
    times = [0.0]
    watch = Watch(tmp_path / "leases.json", clock=lambda: times[-1])
    held = taken(store, now=T0 + wrong, lease=timedelta(seconds=10))
    for _ in range(5):  # a heartbeat every five seconds
        assert claim(store, "other", HOUR, T0 - wrong, free=watch.free) is None
        times.append(times[-1] + 5)
        held = renew(store, held, T0 + wrong)
    name = held.submission_id
    assert claim(store, "other", HOUR, T0 - wrong, free=watch.free) is None
    times.append(times[-1] + 9.9)
    again = Watch(tmp_path / "leases.json", clock=lambda: times[-1])  # of a worker that exits when the queue is empty
    assert claim(store, "other", HOUR, T0 - wrong, free=again.free) is None
    times.append(times[-1] + 0.1)
    assert claim(store, "other", HOUR, T0 - wrong, free=again.free) is None
    [state] = listing(store).states
    assert (state.current.state, state.current.lapses, state.submission_id) == ("pending", 1, name)
    assert claim(store, "other", HOUR, T0 - wrong, free=again.free) is None  # during the pause
    times.append(times[-1] + state.wait)
    assert claim(store, "other", HOUR, T0 - wrong, free=again.free) is not None


def test_a_file_of_another_start_of_the_machine_counts_for_nothing(store: MemoryStore, tmp_path: Path) -> None:
    held, file = taken(store), tmp_path / "leases.json"
    assert Watch(file, clock=lambda: 0.0).free([held.state]) == set()
    assert Watch(file, clock=lambda: 3600.0).free([held.state]) == {held.submission_id}
    for content in (file.read_text().replace('"boot": "', '"boot": "x'), "[]", "{", '{"boot": 1}'):
        file.write_text(content)
        assert Watch(file, clock=lambda: 3600.0).free([held.state]) == set()
    assert Watch(file, clock=lambda: 0.0).free([held.state]) == set()  # a clock that went back
    assert lapsed(store, held.submission_id).current.state == "pending"


def test_a_clock_that_was_never_set_is_one_sentence() -> None:
    with pytest.raises(ConfigurationError, match="this machine's clock says 1976-03-13"):
        utc_seconds(T0 - 50 * YEARS)
