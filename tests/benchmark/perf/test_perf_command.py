"""`python -m benchmark.perf`, with benchmarks that are really run in processes of their own, well and badly."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from benchmark.perf.report import markdown
from benchmark.perf.running import NOT_ASKED
from benchmark.perf.schema import Kept, Report
from datasets_build.download import MIRROR_VARIABLE
from tests.benchmark.helpers import ROOT
from tests.benchmark.perf_sample import NODE
from tests.benchmark.run_perf import TINY
from tests.forked import run_forked

RUN = [sys.executable, "-m", "tests.benchmark.run_perf", "perf"]
CODE = "import runpy; runpy.run_module('tests.benchmark.run_perf', run_name='__main__')"
LACKING = "no_such_module is not installed; this machine has no GPU"


@pytest.fixture(scope="module")
def limits(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What a run keeps of the limits of this machine, which every run wants to know first."""
    out = tmp_path_factory.mktemp("limits") / "out"
    ended = run(surroundings(out), "limits", "--out", out)
    assert ended.returncode == 0, ended.stderr
    return (out / "measured" / "limits.json").read_bytes()


@pytest.fixture
def out(tmp_path: Path, limits: bytes) -> Path:
    """A folder to write to, in which a run has left the limits."""
    (tmp_path / "out" / "measured").mkdir(parents=True)
    (tmp_path / "out" / "measured" / "limits.json").write_bytes(limits)
    return tmp_path / "out"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return surroundings(tmp_path)


def surroundings(folder: Path) -> dict[str, str]:
    """The variables of a run whose samples write their log to a folder."""
    own = {name: value for name, value in os.environ.items() if name != MIRROR_VARIABLE}
    return own | {"SAMPLE_LOG": str(folder / "log"), "OMP_NUM_THREADS": "1", "NO_COLOR": "1", "COLUMNS": "200"}


def run(environment: dict[str, str], *arguments: object) -> subprocess.CompletedProcess[str]:
    return run_forked(CODE, ["perf", *arguments], environment, ROOT)


def begun(environment: dict[str, str]) -> list[str]:
    """The samples that were, one after the other."""
    log = Path(environment["SAMPLE_LOG"])
    return log.read_text().split() if log.exists() else []


def report_in(out: Path) -> Report:
    return Report.model_validate_json((out / "report.json").read_bytes())


def states(report: Report) -> dict[str, str]:
    return {entry.name: entry.state for entry in report.entries}


def test_benchmarks_of_the_package_are_run_and_reported(environment: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    ended = run(environment, "lexical", "memory", "--out", out, "--json")
    assert ended.returncode == 0, ended.stderr
    report = report_in(out)
    assert json.loads(ended.stdout) == report.model_dump(mode="json")
    assert [entry.name for entry in report.entries] == [each.name for each in TINY]
    measured = {entry.name: entry for entry in report.entries if entry.state == "measured"}
    assert list(measured) == ["limits", "lexical", "memory"]  # the limits without being asked for
    reasons = {entry.name: entry.reason for entry in report.entries if entry.state == "skipped"}
    assert reasons.pop("lacking") == LACKING  # said whether or not it was asked for
    assert set(reasons.values()) == {NOT_ASKED}
    assert NOT_ASKED not in ended.stderr
    assert report.threads == 1
    assert report.versions["python"] == sys.version.split()[0]
    for name, entry in measured.items():
        kept = Kept.model_validate_json((out / "measured" / f"{name}.json").read_bytes())
        assert entry.findings is not None
        assert (entry.size, entry.seconds, entry.began) == ("quick", kept.seconds, kept.began)
        assert (kept.machine, kept.versions, kept.mirror) == (report.machine, report.versions, False)
    document = json.loads((out / "measured" / "lexical.json").read_text())["document"]
    lexical = measured["lexical"].findings
    assert lexical is not None
    assert [figure.value for figure in lexical.ratios] == [document["ratio"]]
    memory = measured["memory"].findings
    assert memory is not None
    assert {f.what for f in memory.numbers} >= {"peak memory, 50 responses", "peak memory, 100 responses"}
    assert (out / "report.md").read_text() == markdown(report)


def test_the_report_names_no_machine_and_no_path(environment: dict[str, str], out: Path, tmp_path: Path) -> None:
    run(environment, "well", "badly", "--out", out)
    kept = [path.read_text() for path in (out / "measured").iterdir()]
    assert len(kept) == 2
    for text in ((out / "report.json").read_text(), (out / "report.md").read_text(), *kept):
        assert not [name for name in (NODE, str(tmp_path), str(ROOT), str(Path.home()), sys.prefix) if name in text]
    said = (out / "failed" / "badly.txt").read_text()
    assert str(tmp_path) in said  # who mends it reads it there
    failed = next(entry for entry in report_in(out).entries if entry.name == "badly")
    assert failed.reason == "exit status 1: FileNotFoundError: no file … on …"


def test_what_fails_or_is_lacking_stops_nothing(environment: dict[str, str], out: Path) -> None:
    ended = run(environment, "badly", "prose", "odd", "lacking", "well", "--out", out)
    assert ended.returncode == 1, ended.stderr
    report = report_in(out)
    found = {entry.name: (entry.state, entry.reason) for entry in report.entries}
    assert found["limits"] == found["well"] == ("measured", None)
    assert found["lacking"] == ("skipped", LACKING)
    assert found["prose"][0] == found["odd"][0] == found["badly"][0] == "failed"
    assert "no JSON document" in str(found["prose"][1])
    assert found["odd"][1] == "its document is not as expected: KeyError 'value'"
    assert {path.name for path in (out / "measured").iterdir()} == {"limits.json", "well.json"}
    page = (out / "report.md").read_text()
    assert f"- **lacking** (skipped): {LACKING}." in page
    assert "one \\| other" in page  # a line of a table stays one cell


def test_what_is_lacking_alone_is_no_failure(environment: dict[str, str], out: Path) -> None:
    ended = run(environment, "lacking", "--out", out)
    assert ended.returncode == 0, ended.stderr
    assert "lacking (skipped): no_such_module is not installed" in ended.stderr


def test_what_is_kept_is_not_run_again(environment: dict[str, str], out: Path) -> None:
    assert run(environment, "well", "--out", out).returncode == 0
    first = (out / "measured" / "well.json").read_bytes()
    assert run(environment, "well", "--out", out).returncode == 0
    assert (out / "measured" / "well.json").read_bytes() == first
    assert begun(environment) == ["well"]
    assert run(environment, "well", "--out", out, "--full").returncode == 0
    assert begun(environment) == ["well"] * 2  # a small run does not serve for a whole one
    assert run(environment, "well", "--out", out, "--quick").returncode == 0
    assert begun(environment) == ["well"] * 2  # but the other way round
    assert next(entry.size for entry in report_in(out).entries if entry.name == "well") == "full"
    assert run(environment, "well", "--out", out, "--quick", "--again").returncode == 0
    assert begun(environment) == ["well"] * 3


@pytest.mark.parametrize(
    "change",
    [
        {"versions": {"python": "2.7"}},
        {"arguments": ["well", "other"]},
        {"mirror": True},
        {"schema_version": 2},
        {"surplus": 1},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_was_measured_otherwise_does_not_count(
    environment: dict[str, str], out: Path, change: dict[str, Any]
) -> None:
    run(environment, "well", "--out", out)
    path = out / "measured" / "well.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    ended = run(environment, "limits", "--out", out)
    assert states(report_in(out))["well"] == "skipped", ended.stderr
    assert run(environment, "well", "--out", out).returncode == 0
    assert begun(environment) == ["well"] * 2
    assert states(report_in(out))["well"] == "measured"


def test_a_library_that_came_since_takes_nothing_away(environment: dict[str, str], out: Path) -> None:
    run(environment, "well", "--out", out)
    path = out / "measured" / "well.json"
    kept = json.loads(path.read_text())
    del kept["versions"]["numpy"]
    path.write_text(json.dumps(kept))
    run(environment, "limits", "--out", out)
    assert states(report_in(out))["well"] == "measured"


def test_a_failure_is_tried_again_and_forgotten_when_it_went_well(environment: dict[str, str], out: Path) -> None:
    without = {name: value for name, value in environment.items() if name != "SAMPLE_LOG"}
    assert run(without, "well", "--out", out).returncode == 1
    assert (out / "failed" / "well.txt").exists()
    assert run(environment, "well", "--out", out).returncode == 0
    assert states(report_in(out))["well"] == "measured"
    assert not list((out / "failed").iterdir())


def test_a_killed_run_goes_on(environment: dict[str, str], out: Path, tmp_path: Path) -> None:
    names = ("well", "held")
    with subprocess.Popen(
        [*RUN, *names, "--out", str(out)], cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True
    ) as running:
        while "held" not in begun(environment):
            assert running.poll() is None, running.communicate()
            time.sleep(0.02)
        running.send_signal(signal.SIGKILL)
        running.wait()
        kept = {path.name for path in (out / "measured").iterdir()}
        (tmp_path / "released").touch()  # what the killed run had begun ends, too
    assert kept == {"limits.json", "well.json"}
    assert not (out / "report.json").exists()
    assert run(environment, *names, "--out", out).returncode == 0
    assert begun(environment) == ["well", "held", "held"]
    found = states(report_in(out))
    assert found["well"] == found["held"] == "measured"


def test_two_runs_do_not_write_to_one_folder(environment: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    with FileLock(out / ".lock"):
        ended = run(environment, "well", "--out", out)
    assert ended.returncode == 2
    assert "another run writes to" in ended.stderr
    assert begun(environment) == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nonsense", "--out", "x"], "there is no benchmark 'nonsense' (one of limits, lexical, memory, well"),
        (["well"], "--out DIR"),
        (["well", "--out", "x", "--mirror", "nowhere"], "nowhere is no folder"),
    ],
)
def test_a_wrong_call_is_told_before_anything_runs(
    environment: dict[str, str], arguments: list[str], told: str
) -> None:
    ended = run(environment, *arguments)
    assert ended.returncode == 2
    assert told in ended.stderr
    assert begun(environment) == []
    assert not (ROOT / "x").exists()


def test_the_list_says_what_there_is_and_what_is_lacking(environment: dict[str, str]) -> None:
    shown = run(environment, "--list").stdout
    assert all(each.name in shown for each in TINY)
    listed = {each["name"]: each for each in json.loads(run(environment, "--list", "--json").stdout)}
    assert list(listed) == [each.name for each in TINY]
    assert listed["well"]["lacking"] is None
    assert listed["lacking"]["lacking"] == LACKING
    assert begun(environment) == []
