"""A bit flipped or a file removed, in every file of a store: the others are scored, and the damaged one is named."""

import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from benchmark.service import fetch
from benchmark.service.lease import Stop
from benchmark.service.worker import work
from divbench.core.errors import DivBenchError
from submissions.storage.file_store import FolderStore, StoreFault
from submissions.work_queue import operations, repair
from submissions.work_queue.repair import repair as repaired
from tests.benchmark.run_worker import checked_here, worker
from tests.benchmark.service.conftest import EventLog
from tests.submissions.working import demo, submit_kept

NUMBER = 3


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "flip": flip,
    "remove": Path.unlink,
    "cut": lambda p: p.write_bytes(b""),
}


@pytest.fixture(autouse=True)
def _checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "validate_in_child", checked_here)
    monkeypatch.setattr(repair, "validate_in_child", checked_here)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A store with pending submissions, the same with scored ones, their folders, and the worker's results."""
    home = tmp_path_factory.mktemp("stores")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fetch, "validate_in_child", checked_here)
        submit_kept(FolderStore(home / "pending"), [demo(home / f"in-{i}", f"system-{i}") for i in range(NUMBER)])
        shutil.copytree(home / "pending", home / "scored")
        work(worker(FolderStore(home / "scored"), home / "results"), Stop(), EventLog(), once=True)
        yield home


def files_of(folder: Path) -> list[Path]:
    """The files of a store that can be damaged: of commits, only the last one is read."""
    head = (folder / "HEAD").read_text().strip()
    files = (path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file() and path.name != ".lock")
    return [path for path in files if path.parts[0] != "commits" or path.stem == head]


def scored_in(store: FolderStore) -> set[str]:
    return {state.submission_id for state in operations.states(store) if state.current.state == "scored"}


@pytest.mark.parametrize("kind", ["pending", "scored"])
def test_damage_holds_up_one_submission_which_is_named(stores: Path, tmp_path: Path, kind: str) -> None:
    ids = {state.submission_id for state in operations.states(FolderStore(stores / "pending"))}
    for number, file in enumerate(files_of(stores / kind)):
        damage = list(DAMAGES)[number % len(DAMAGES)]
        folder = Path(shutil.copytree(stores / kind, tmp_path / f"{number}"))
        DAMAGES[damage](folder / file)
        store, log = FolderStore(folder), EventLog()
        make = worker(store, stores / "results")
        said = ""
        if file.parts[0] in ("HEAD", "commits"):
            with pytest.raises(StoreFault, match="divbench submissions repair") as caught:
                store.paths(store.head())
            said = str(caught.value)
            first, *_ = repaired(store, "me", datetime.now(UTC))
            assert first.startswith("HEAD is set to")
        work(make, Stop(), log, once=True)
        lost = ids - scored_in(store)
        assert len(lost) <= 1, file
        said += " ".join(error.reason for error in operations.listing(store).damaged)
        said += " ".join(
            state.current.reason or "" for state in operations.states(store) if state.submission_id in lost
        )
        assert not lost or "damaged" in said or "commit" in said, (file, damage, said)
        lines = list(repaired(store, "me", datetime.now(UTC), drop=True))
        assert lines or not lost or file.parts[0] in ("HEAD", "commits")  # whose last change is lost
        submit_kept(store, [stores / f"in-{i}" for i in range(NUMBER)])
        work(make, Stop(), log, once=True)
        assert scored_in(store) == ids, (file, damage, lines)
        assert list(repaired(store, "me", datetime.now(UTC))) == []


def test_a_damaged_submission_is_mended_by_submitting_it_again(stores: Path, tmp_path: Path) -> None:
    store = FolderStore(Path(shutil.copytree(stores / "pending", tmp_path / "store")))
    head, name = store.head(), operations.states(store)[0].submission_id
    path = f"submissions/{name}/generations.parquet"
    flip(store._object(store._entry(head, path, 2**29)))
    with pytest.raises(DivBenchError, match=r"generations\.parquet is damaged"):
        store.read(head, path, 2**29)
    submit_kept(store, [stores / "in-0"])
    store.read(head, path, 2**29)
    assert store.head() == head
