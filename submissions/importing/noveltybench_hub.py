"""Download the files of a NoveltyBench run from a Hub dataset: only those that are read, within the limits on sizes."""

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from divbench.core.errors import ConfigurationError
from submissions.importing.noveltybench import (
    GENERATIONS,
    PARTITIONS,
    RESULTS,
    SCORES,
    SPLITS,
    SUMMARY,
    VERSIONS,
    version_of,
)
from submissions.storage.file_store import too_large
from submissions.storage.hub_store import asked, download, hub_file
from submissions.untrusted.findings import MAX_FILE_BYTES

if TYPE_CHECKING:
    from huggingface_hub.hf_api import RepoFile

MAX_LISTED = 1000  # files and folders of a run
_PART = r"[A-Za-z0-9][\w.-]{0,95}"
_ADDRESS = re.compile(rf"hf://datasets/({_PART}/{_PART})/({_PART}(?:/{_PART}){{0,6}}?)/?(?:@([\w./-]{{1,200}}))?", re.A)
_SPLIT = "|".join(SPLITS.values())
_VERSIONS = "|".join(f"v{re.escape(version)}" for version in VERSIONS)
_FILES = "|".join(map(re.escape, (GENERATIONS, PARTITIONS, SCORES, SUMMARY)))
_READ = re.compile(rf"(?:(?P<split>{_SPLIT})/)?(?:(?:{_VERSIONS})/)?(?:{_FILES})")


@contextmanager
def downloaded_run(address: str, suite: str) -> Iterator[tuple[Path, str]]:
    """Yield a temporary folder with the files of a run that belong to a suite, and a link to their commit.

    An address is `hf://datasets/ORG/NAME/FOLDER`, optionally with `@REVISION`; the folder is that of a run, of one of
    its splits, or of a version.
    """
    match = _ADDRESS.fullmatch(address)
    if match is None:
        raise ConfigurationError(f"{address[:200]!r} is not a run on the Hub", f"give it as {RESULTS}/RUN")
    from huggingface_hub import HfApi

    repo, folder, revision = match.groups()
    link = f"https://huggingface.co/datasets/{repo}/tree/{{}}/{folder}"
    version = last if version_of(Path(last := folder.rpartition("/")[2])) else ""
    folder = folder.removesuffix(f"/{version}")  # which has the responses
    api = HfApi()
    commit = asked(address, lambda: str(api.dataset_info(repo, revision=revision, expand=["sha"]).sha))
    listed = asked(address, lambda: _listed(repo, folder, commit))
    found = ((_READ.fullmatch(entry.path[len(folder) + 1 :]), hub_file(entry)) for entry in listed)
    files = [(named[0], named["split"], file) for named, file in found if named]
    if not files:
        raise ConfigurationError(f"{address} has no files of NoveltyBench", f"give a run's folder, as {RESULTS}/RUN")
    wanted = SPLITS.get(suite)
    with tempfile.TemporaryDirectory() as temporary:
        run = Path(temporary) / folder.rpartition("/")[2]
        for path, split, file in files:
            (run / path).parent.mkdir(parents=True, exist_ok=True)  # also of a split that is not read, to name it
            if file.size > MAX_FILE_BYTES:
                raise too_large(path, file.size, MAX_FILE_BYTES)
            if split is None or wanted in (None, split):
                url = f"{api.endpoint}/datasets/{repo}/resolve/{commit}/{folder}/{path}"
                asked(address, partial(download, url, None, file, run / path))
        yield run / version, link.format(commit)


def _listed(repo: str, folder: str, commit: str) -> list["RepoFile"]:
    """List the files of a folder; none if there is no such folder."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import EntryNotFoundError
    from huggingface_hub.hf_api import RepoFile

    try:
        tree = HfApi().list_repo_tree(repo, folder, repo_type="dataset", recursive=True, revision=commit)
        entries = list(islice(tree, MAX_LISTED + 1))
    except EntryNotFoundError:
        return []
    if len(entries) > MAX_LISTED:
        raise ConfigurationError(f"{folder} of {repo} has more than {MAX_LISTED:,} files", "give the folder of one run")
    return [entry for entry in entries if isinstance(entry, RepoFile)]
