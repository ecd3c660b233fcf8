"""The options of the commands that score on a cluster, and what they make of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from datasets_build.errors import ConfigurationError, need

if TYPE_CHECKING:
    from benchmark.cluster.connection import Cluster, Lost


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """What was chosen; a field is an option of the same name, with what it means."""

    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Score on a cluster of Ray: HOST:PORT, auto (this machine's), or local (started for this run).",
        ),
    ] = None
    actors: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Of --cluster, each with the models; else as many as its GPUs are enough for, or one a core where "
            "there are none.",
        ),
    ] = None
    gpus_per_actor: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Of --cluster; else one where there are GPUs. For a language model larger than one: with --device "
            "auto.",
        ),
    ] = None
    elastic: Annotated[
        bool,
        typer.Option(
            "--elastic",
            help="Of --cluster: one actor first, up to --actors as there is work that pays for their loading, and none "
            "after ten minutes without. For machines that are paid for by the hour and come and go.",
        ),
    ] = False

    def place(self, events: "Callable[[Lost], None]") -> "Cluster | None":
        """The cluster that was named, if one was.

        Args:
            events: As `Cluster.events`.

        Raises:
            ConfigurationError: Actors without a cluster.
            MissingExtra: Ray is not installed.
        """
        if self.cluster is None:
            for name, given in (
                ("--actors", self.actors is not None),
                ("--gpus-per-actor", self.gpus_per_actor is not None),
                ("--elastic", self.elastic),
            ):
                if given:
                    raise ConfigurationError(
                        f"{name} is of a cluster", "name one by --cluster, such as --cluster local"
                    )
            return None
        need("ray", "cluster")  # before anything is written
        from benchmark.cluster.connection import Cluster

        return Cluster(self.cluster, self.actors, self.gpus_per_actor, events=events, elastic=self.elastic)
