"""Joining a cluster of Ray, or starting one: where it is, what it takes, and whether it is still there."""

import ctypes
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from benchmark.cluster.autoscaling import KEPT
from datasets_build.errors import ConfigurationError, need

LOCAL = "local"  # an address: this machine alone, for one run
_STORE_BYTES = 256 * 2**20  # of Ray's memory for objects, where we start Ray: tables of shards are small
_KNOCK_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Lost:
    """An actor is gone, or failed in a way that nothing foresaw.

    Attributes:
        prompts: That it was scoring, and another scores again; 0: it had none yet.
        first: The id of the first of them.
        reason: In Ray's words.
    """

    prompts: int
    first: str | None
    reason: str

    def __str__(self) -> str:
        """For people."""
        again = f", and {self.prompts} prompts from {self.first} on are scored again" if self.prompts else ""
        return f"an actor was lost{again}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where to score.

    Attributes:
        address: Of a cluster of Ray, `HOST:PORT`, or `auto` for the one of this machine; `local` starts one.
        actors: How many; None: as many as there are GPUs for, or cores where there are no GPUs. More than there is
            place for wait for it.
        gpus: Of each actor; None: one where there are GPUs.
        patience: Seconds without an actor that works or comes up, after which a run ends.
        events: Told of each actor that is lost, by another thread.
        elastic: Ask for one actor, then for more as there is work that pays for them, and let them go when there is
            none: see `benchmark.cluster.autoscaling`.
        kept: Seconds for which an elastic one keeps an actor that has nothing to do.
    """

    address: str = LOCAL
    actors: int | None = None
    gpus: int | None = None
    patience: float = 600.0
    events: Callable[[Lost], None] = lambda lost: None
    elastic: bool = False
    kept: float = KEPT

    def share(self, has: dict[str, float]) -> tuple[int, int]:
        """GPUs of an actor, and how many actors, on a cluster that has so much."""
        gpus = (1 if has.get("GPU", 0) >= 1 else 0) if self.gpus is None else self.gpus
        room = has.get("GPU", 0) // gpus if gpus else has.get("CPU", 0)
        return gpus, self.actors or int(room) or 1


@contextmanager
def joined(cluster: Cluster) -> Iterator[Any]:
    """Ray, with a cluster to run on.

    Raises:
        MissingExtra: Ray is not installed.
        ConfigurationError: There is no such cluster, or it does not let us in.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it reports to its makers otherwise
    ray = need("ray", "cluster")
    logging.getLogger("ray").setLevel(logging.ERROR)
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        with _keeping_sigterm():
            if cluster.address == LOCAL:
                cores = max(cluster.actors or 1, os.cpu_count() or 1)
                ray.init("local", num_cpus=cores, include_dashboard=False, object_store_memory=_STORE_BYTES, **quiet)
            else:
                knock(cluster.address)
                ray.init(cluster.address, **quiet)
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise ConfigurationError(f"no cluster of Ray at {cluster.address}: {words(error)}", _mend(error)) from error
    try:
        yield ray
    finally:
        ray.shutdown()  # and with it our actors, wherever they are


@contextmanager
def _keeping_sigterm() -> Iterator[None]:
    """What SIGTERM does here stays as it is: Ray's core has it abort the process seconds later, whoever else hears it.

    Python sets handlers in its main thread alone, and does not see those that are set past it; the system does.
    """
    if sys.platform == "win32":
        yield
        return
    system, kept = ctypes.CDLL(None), ctypes.create_string_buffer(1024)  # longer than any system's
    system.sigaction(int(signal.SIGTERM), None, kept)
    try:
        yield
    finally:
        system.sigaction(int(signal.SIGTERM), kept, None)


def knock(address: str) -> None:
    """Nothing, if somebody is there; Ray itself tries for minutes before it says that nobody is.

    Raises:
        OSError: Nobody is.
    """
    host, _, port = address.rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_KNOCK_SECONDS).close()


def words(error: BaseException) -> str:
    """Its first line that says something; of a remote exception the last, which names it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if "Traceback" in str(error) else lines[0]) if lines else type(error).__name__


def _mend(error: BaseException) -> str:
    cause: BaseException | None = error
    while cause is not None:
        if "auth" in type(cause).__name__.lower() or "InvalidAuthToken" in str(cause):
            return "it asks for its token: set RAY_AUTH_MODE=token here, too, and give the token; see docs/scaling.md"
        cause = cause.__cause__
    return "start one: ray start --head; or name local"
