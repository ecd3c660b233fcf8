"""Whatever a function does to its limited process, the caller learns why, and goes on."""

import os
import resource
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from divbench.core.errors import ConfigurationError
from submissions.untrusted import process
from submissions.untrusted.process import Limits, Stopped, run_limited

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems do not keep all limits")
LIMITS = Limits(memory=2**31, seconds=30)


def echo(request: dict[str, Any], *descriptors: int) -> dict[str, Any]:
    return request | {"read": [os.read(descriptor, 100).decode() for descriptor in descriptors]}


def limits_there(request: dict[str, Any]) -> list[int]:
    kinds = (resource.RLIMIT_AS, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE, resource.RLIMIT_CORE)
    return [resource.getrlimit(kind)[1] for kind in kinds]


def variables_with(request: dict[str, Any]) -> list[str]:
    return sorted(name for name, value in os.environ.items() if request["value"] in value)


def nested(request: dict[str, Any]) -> Any:
    return [os.getpid(), run_limited(f"{__name__}:pid", {}, LIMITS)]


def pid(request: dict[str, Any]) -> int:
    return os.getpid()


def allocate(request: dict[str, Any]) -> None:
    bytearray(2**40)


def refuse(request: dict[str, Any]) -> None:
    raise ConfigurationError("no", "do otherwise")


def fill_the_disk(request: dict[str, Any]) -> None:
    raise OSError(28, "no space")


def fail(request: dict[str, Any]) -> None:
    raise RuntimeError("\x1b[2J")


def end(request: dict[str, Any]) -> None:
    os._exit(7)


def crash(request: dict[str, Any]) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def loop(request: dict[str, Any]) -> None:
    while True:
        pass


def call(function: Callable[..., Any], limits: Limits = LIMITS, **request: Any) -> Any:
    return run_limited(f"{__name__}:{function.__name__}", request, limits)


def test_a_function_gets_its_request_and_files_and_replies_in_json(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("bytes")
    with (tmp_path / "a").open("rb") as file:
        reply = run_limited(f"{__name__}:echo", {"n": [1, None]}, LIMITS, (file.fileno(),))
    assert reply == {"n": [1, None], "read": ["bytes"]}
    outer, inner = call(nested)
    assert outer == inner != os.getpid()


@pytest.mark.parametrize(
    ("function", "limits", "message"),
    [
        (allocate, LIMITS, "exceeded the memory limit"),
        (fail, LIMITS, r"ended its process with status 1: 'RuntimeError: \x1b[2J'"),
        (end, LIMITS, "ended its process with status 7: ''"),
        (crash, LIMITS, "ended its process by SIGSEGV"),
        (loop, Limits(2**31, 0.2), "took too much time"),
    ],
)
def test_a_call_that_is_stopped_says_why(function: Callable[..., Any], limits: Limits, message: str) -> None:
    with pytest.raises(Stopped) as caught:
        call(function, limits)
    assert str(caught.value) == message


def test_mistakes_of_the_call_and_faults_of_the_host_are_raised() -> None:
    with pytest.raises(ConfigurationError, match="do otherwise"):
        call(refuse)
    with pytest.raises(OSError, match="No space"):
        call(fill_the_disk)


def test_the_process_is_limited_and_has_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_TOKEN", "aws_secret_access_key", "DB_PASSWORD", "DIVBENCH_VOTES_SALT", "HARMLESS"):
        monkeypatch.setenv(name, "hush-0123456789")
    process._server.cache_clear()  # a new server, with these variables
    assert call(variables_with, value="hush") == ["HARMLESS"]
    assert call(limits_there, Limits(3 * 2**30, 30, written=2**20, files=0)) == [3 * 2**30, 2**20, 0, 0]


def test_no_module_of_the_current_folder_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("json.py", "signal.py", "pyarrow.py", "submissions.py"):
        (tmp_path / name).write_text("open('was-run', 'w')")
    monkeypatch.chdir(tmp_path)
    process._server.cache_clear()
    assert call(echo) == {"read": []}
    assert not (tmp_path / "was-run").exists()


def test_threads_share_a_server_that_is_started_again_after_its_end() -> None:
    with ThreadPoolExecutor(4) as pool:
        assert [reply["i"] for reply in pool.map(lambda i: call(echo, i=i), range(12))] == list(range(12))
    process._server().close()
    process._server.cache_clear()
    assert call(echo, i=1)["i"] == 1
