"""`divbench board reference`."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from divbench.core.console import JsonOption, MirrorOption, progress, say
from divbench.core.errors import ConfigurationError


def reference(
    mirror: MirrorOption = None,
    destination: Annotated[
        Path | None, typer.Option("--out", help="Output folder; default: the package's own, replaced.")
    ] = None,
    system: Annotated[
        list[str] | None, typer.Option(help="System to score; may be repeated; default: all. Needs --out.")
    ] = None,
    processes: Annotated[int, typer.Option(min=1, help="Number of processes.")] = 1,
    json: JsonOption = False,
) -> None:
    """Rebuild the reference results from released responses: known systems and attacks, scored here, without texts.

    The systems are NoveltyBench's six released submissions, the four training stages of OLMo-2-7B, and attacks made
    from gpt-4o's responses. At the end all systems' responses to each prompt are grouped together, for the page Alike
    or different?. Existing results are reused, so an interrupted run can be continued.

    Example: divbench board reference --mirror released-files --processes 2
    """
    from datasets_build.load import load_suite
    from leaderboard.data.reference.build import finish, group_reference, jobs, make_reference
    from leaderboard.data.reference.results import FOLDER
    from leaderboard.data.reference.systems import SUITE

    if system and destination is None:
        raise ConfigurationError("the package has results of all systems", "name another folder with --out")
    folder, wanted = destination or FOLDER, jobs(system or ())
    with progress() as bar:
        found = list(bar.track(make_reference(wanted, folder, mirror, processes), len(wanted), description="results"))
        finish(found, folder, datetime.now(UTC).date().isoformat())
        if not system:
            prompts = len(load_suite(SUITE, mirror).prompts)
            list(bar.track(group_reference(folder, mirror), prompts, description="grouping"))
    new = sum(not each.recognised for each in found)
    document = {"folder": str(folder), "new": new, "results": [each.result_id for each in found]}
    say(document, f"{len(found)} results in {folder}, {new} of them new", as_json=json)
