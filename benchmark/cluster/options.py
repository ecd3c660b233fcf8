"""The options of the commands that score on a cluster, and what they make of them."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from datasets_build.errors import ConfigurationError, need

if TYPE_CHECKING:
    from benchmark.cluster.joining import Cluster, Lost

Address = Annotated[
    Optional[str],  # noqa: UP045 - typer reads it
    typer.Option(
        "--cluster",
        metavar="ADDRESS",
        help="Score on a cluster of Ray: HOST:PORT, auto (this machine's), or local (started for this run).",
    ),
]
Actors = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(
        min=1,
        help="Of --cluster, each with the models; else as many as its GPUs are enough for, or one a core where there "
        "are none.",
    ),
]
Gpus = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(
        "--gpus-per-actor",
        min=0,
        help="Of --cluster; else one where there are GPUs. For a language model larger than one: with --device auto.",
    ),
]


def cluster_of(
    address: str | None, actors: int | None, gpus: int | None, events: "Callable[[Lost], None]"
) -> "Cluster | None":
    """The cluster that was named, if one was.

    Args:
        address: As `Cluster.address`.
        actors: As `Cluster.actors`.
        gpus: As `Cluster.gpus`.
        events: As `Cluster.events`.

    Raises:
        ConfigurationError: Actors without a cluster.
        MissingExtra: Ray is not installed.
    """
    if address is None:
        for name, value in (("--actors", actors), ("--gpus-per-actor", gpus)):
            if value is not None:
                raise ConfigurationError(f"{name} is of a cluster", "name one by --cluster, such as --cluster local")
        return None
    need("ray", "cluster")  # before anything is written
    from benchmark.cluster.joining import Cluster

    return Cluster(address, actors, gpus, events=events)
