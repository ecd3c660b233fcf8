"""Downloads from a real server that fails in every way are retried, checked and never incomplete."""

import hashlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pyarrow as pa
import pytest
from tenacity import wait_none

from datasets_build import download
from datasets_build.download import HOME_VARIABLE, MIRROR_VARIABLE, Fetcher, home
from datasets_build.load import load_table
from datasets_build.sources import Config, File, Source, Split
from datasets_build.sources.source import Fetch, Row
from divbench.core.errors import ConfigurationError, InputError

CONTENT = b"the pinned bytes" * 5000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@dataclass
class Behaviour:
    """What the server does: the faults of the next requests, then the whole file."""

    faults: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@contextmanager
def server(behaviour: Behaviour) -> Iterator[str]:
    """A server on loopback; the address of its file."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            behaviour.requests.append(self.path)
            fault = behaviour.faults.pop(0) if behaviour.faults else ""
            if fault.isdigit():
                self.send_error(int(fault))
                return
            if fault == "nonsense":
                self.wfile.write(b"this is no HTTP\r\n\r\n")
                self.close_connection = True
                return
            body = b"other bytes" if fault == "other" else CONTENT
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if fault == "cut":
                self.wfile.write(body[: len(body) // 2])
                self.close_connection = True
            else:
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
            pass

    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{made.server_port}/file"
    finally:
        made.shutdown()
        made.server_close()
        thread.join()


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of the test's own, no mirror, and no waiting between attempts."""
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    monkeypatch.delenv(MIRROR_VARIABLE, raising=False)
    monkeypatch.setattr(download, "wait_exponential", lambda **kwargs: wait_none())
    monkeypatch.setattr(download, "wait_random", lambda *ends: wait_none())
    return tmp_path / "home"


def source_of(*urls: str, optional: bool = False) -> Source:
    file = File("some/file.csv", SHA256, urls=urls, found_in="" if urls else "an archive", optional=optional)
    return Source("made up", "t", "1.0.0", (file,), "none", "c", "", (), ())


def left_in(home: Path) -> list[str]:
    folder = home / "downloads"
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


@pytest.mark.parametrize("faults", [[], ["503", "429"], ["cut"], ["nonsense"]])
def test_a_transient_failure_is_retried(faults: list[str], own_home: Path) -> None:
    behaviour = Behaviour(list(faults))
    with server(behaviour) as url:
        path = Fetcher(source_of(url))("some/file.csv")
        assert path.read_bytes() == CONTENT
    assert len(behaviour.requests) == len(faults) + 1
    assert left_in(own_home) == [SHA256]


def test_a_downloaded_file_is_kept_and_not_downloaded_again(own_home: Path) -> None:
    behaviour = Behaviour()
    with server(behaviour) as url:
        Fetcher(source_of(url))("some/file.csv")
        Fetcher(source_of(url))("some/file.csv")
        (own_home / "downloads" / SHA256).write_bytes(b"damaged since")
        path = Fetcher(source_of(url))("some/file.csv")
    assert path.read_bytes() == CONTENT
    assert len(behaviour.requests) == 2


@pytest.mark.parametrize(("fault", "message"), [("404", "HTTP 404"), ("other", "not the pinned file: SHA-256")])
def test_a_permanent_failure_is_not_retried_and_leaves_nothing(fault: str, message: str, own_home: Path) -> None:
    behaviour = Behaviour([fault] * 9)
    with server(behaviour) as url, pytest.raises(ConfigurationError) as caught:
        Fetcher(source_of(url))("some/file.csv")
    assert message in caught.value.message
    assert url in caught.value.message
    assert "DIVBENCH_MIRROR" in caught.value.hint
    assert len(behaviour.requests) == 1
    assert left_in(own_home) == []


def test_attempts_are_bounded(own_home: Path) -> None:
    behaviour = Behaviour(["500"] * 99)
    with server(behaviour) as url, pytest.raises(ConfigurationError) as caught:
        Fetcher(source_of(url))("some/file.csv")
    assert "HTTP 500" in caught.value.message
    assert len(behaviour.requests) == download.ATTEMPTS
    assert left_in(own_home) == []


def test_with_a_mirror_nothing_is_downloaded(tmp_path: Path) -> None:
    behaviour = Behaviour()
    (tmp_path / "mirror" / "some").mkdir(parents=True)
    with server(behaviour) as url:
        with pytest.raises(ConfigurationError, match="the mirror has no file"):
            Fetcher(source_of(url), tmp_path / "mirror")("some/file.csv")
        (tmp_path / "mirror" / "some" / "file.csv").write_bytes(b"half")
        with pytest.raises(InputError, match="is not the pinned file"):
            Fetcher(source_of(url), tmp_path / "mirror")("some/file.csv")
        (tmp_path / "mirror" / "some" / "file.csv").write_bytes(CONTENT)
        assert Fetcher(source_of(url), tmp_path / "mirror")("some/file.csv").read_bytes() == CONTENT
    assert behaviour.requests == []


def test_an_unavailable_file_is_absent_if_optional_and_an_error_if_not(tmp_path: Path) -> None:
    fetch = Fetcher(source_of(optional=True))
    assert fetch.optional("some/file.csv") is None
    assert fetch.absent == {"some/file.csv"}
    assert fetch.used == {}
    with pytest.raises(ConfigurationError, match="is not available locally"):
        Fetcher(source_of())("some/file.csv")


def lengths(fetch: Fetch) -> Iterator[Row]:
    yield {"bytes": fetch("some/file.csv").stat().st_size}


def test_what_is_loaded_is_downloaded_once_unless_the_hubs_variable_forbids_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    split = Split("all", lengths, ("some/file.csv",), 1)
    schema = pa.schema([pa.field("bytes", pa.int64(), nullable=False)])
    config = Config("sizes", "sizes", "measured", schema, {"bytes": "size"}, (split,))
    behaviour = Behaviour()
    with server(behaviour) as url:
        load = partial(load_table, "sizes", "all", datasets=(replace(source_of(url), configs=(config,)),))
        with pytest.raises(ConfigurationError, match="is not available locally"):
            load()  # tests run with HF_HUB_OFFLINE=1
        monkeypatch.delenv("HF_HUB_OFFLINE")
        with pytest.raises(ConfigurationError, match="is not available locally"):
            load(network=False)
        assert behaviour.requests == []
        assert load().to_pylist() == load().to_pylist() == load(network=False).to_pylist() == [{"bytes": len(CONTENT)}]
    assert len(behaviour.requests) == 1
    assert capsys.readouterr().err == "downloading some/file.csv\n"


def test_an_unknown_host_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def unknown(host: str, *more: object, **how: object) -> None:
        asked.append(host)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(ConfigurationError, match=r"could not be downloaded: .*Name or service not known"):
        Fetcher(source_of("http://nowhere.invalid/file"))("some/file.csv")
    assert asked == ["nowhere.invalid"]


def test_a_user_without_a_home_folder_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("DIVBENCH_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", unknown)
    with pytest.raises(ConfigurationError) as caught:
        home()
    assert "DIVBENCH_HOME" in caught.value.hint
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert home() == Path("/caches/divbench")
