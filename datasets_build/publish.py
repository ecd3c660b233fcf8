"""Publish built datasets to a Hub dataset repository, as one commit and a tag, and pull them back."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha1
from pathlib import Path
from typing import TYPE_CHECKING

from datasets_build.build import MANIFEST, Part, read_manifest, verify
from datasets_build.card import card, licences
from datasets_build.sources import find_config
from divbench.core.errors import ConfigurationError, InputError, first_line
from divbench.core.files import atomic_folder, sha256_of
from divbench.core.hub_retries import ATTEMPTS, connection_error, retrying

if TYPE_CHECKING:
    from huggingface_hub import HfApi
    from huggingface_hub.hf_api import RepoFile

# The names that git allows, without those that a command line or a URL could misread.
_TAG = re.compile(r"(?!.*(\.\.|//|/\.|\.lock(/|$)))[A-Za-z0-9_][A-Za-z0-9_.+/-]*(?<![./])")
_REPO = re.compile(r"[^/]+/[^/]+")


@dataclass(frozen=True, slots=True)
class Published:
    """Outcome of publishing."""

    repo: str
    commit: str
    tag: str
    changed: bool  # false if the repository already held the same files
    # Datasets that the repository's head had before and no longer has; earlier tags keep them.
    removed: tuple[str, ...] = ()


class _LostRace(Exception):
    """Somebody else committed between our listing of the repository and our commit."""


def parts_of(out: Path, names: Sequence[str]) -> list[Part]:
    """Verify the built configs of these names and return them."""
    parts = []
    for name in names:
        folder = out / "data" / name
        source, config = find_config(name)
        if not folder.is_dir():
            raise InputError(f"{name} is not built in {out}", f"build it: divbench data build {name}")
        if problems := verify(folder):
            raise InputError(f"{folder}: {'; '.join(problems)}", f"build it again: divbench data build {name}")
        parts.append((source, config, read_manifest(folder)))
    return parts


def publish(out: Path, names: Sequence[str], repo: str, tag: str, *, private: bool = False) -> Published:
    """Publish built configs in one commit, after which the repository's head has exactly these datasets.

    The commit is made on the head that was listed; if someone else committed in between, everything is retried. A
    repository that already holds the same files gets no commit.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError

    _check_names(repo, tag)  # the Hub would refuse a tag only after the commit
    parts = parts_of(out, names)
    api = HfApi()
    files = _files(out, parts, repo, tag)
    first = ""  # the head before our commit
    removed: set[str] = set()
    try:
        for attempt in retrying(_LostRace):
            with attempt:
                api.create_repo(repo, repo_type="dataset", private=private, exist_ok=True)
                head = str(api.dataset_info(repo).sha)
                first = first or head
                # If a commit landed and only its response was lost, the next attempt finds the files and sends none.
                commit, stale = _commit(api, repo, tag, files, head)
                removed |= stale - {config.name for _, config, _ in parts}
                if not _is_tagged(api, repo, tag, commit):
                    api.create_tag(repo, tag=tag, revision=commit, repo_type="dataset")
    except _LostRace as error:
        message = f"{repo} was changed by others during all {ATTEMPTS} attempts"
        raise ConfigurationError(message, "publish again later") from error
    except RepositoryNotFoundError as error:
        message = f"{repo} cannot be seen with this token: {first_line(error)}"
        raise ConfigurationError(message, "log in: hf auth login") from error
    except HfHubHTTPError as error:
        hint = "use a token with write access, or log in: hf auth login"
        raise ConfigurationError(f"the Hub refused: {first_line(error)}", hint) from error
    except (OSError, connection_error()) as error:
        raise ConfigurationError(f"the Hub cannot be reached: {first_line(error)}", "check the network") from error
    return Published(repo, commit, tag, commit != first, tuple(sorted(removed)))


def _check_names(repo: str, tag: str) -> None:
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id

    try:
        validate_repo_id(repo)
    except HFValidationError as error:
        raise ConfigurationError(first_line(error), "name it ORG/NAME, such as org/divbench") from error
    if not _REPO.fullmatch(repo):
        raise ConfigurationError(f"{repo!r} is not the name of a repository", "name it ORG/NAME, such as org/divbench")
    if not _TAG.fullmatch(tag):
        raise ConfigurationError(f"a tag cannot be named {tag!r}", "name it like v1.0.0")


def _files(out: Path, parts: Sequence[Part], repo: str, tag: str) -> dict[str, Path | bytes]:
    """Return the content of every file of the repository, by path."""
    files: dict[str, Path | bytes] = {
        "README.md": card(parts, repo, tag).encode(),
        "LICENSES.md": licences(parts).encode(),
    }
    for _, config, manifest in parts:
        names = [MANIFEST, *(split.file for split in manifest.splits.values())]
        files |= {f"data/{config.name}/{name}": out / "data" / config.name / name for name in names}
    return files


def _commit(api: "HfApi", repo: str, tag: str, files: dict[str, Path | bytes], head: str) -> tuple[str, frozenset[str]]:
    """Return the commit with exactly these data files, and the folders of data from which it removes files.

    It is the head if that has them, otherwise a new commit on it.
    """
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete
    from huggingface_hub.errors import HfHubHTTPError
    from huggingface_hub.hf_api import RepoFile

    present = {
        entry.path: entry
        for entry in api.list_repo_tree(repo, repo_type="dataset", recursive=True, revision=head)
        if isinstance(entry, RepoFile)
    }
    adds = [path for path, content in files.items() if path not in present or not _is_same(present[path], content)]
    stale = [path for path in present if path.startswith("data/") and path not in files]
    if not adds and not stale:
        return head, frozenset()
    _is_tagged(api, repo, tag, None)  # refuses to move the tag
    operations: list[CommitOperationAdd | CommitOperationDelete] = [
        CommitOperationDelete(path) for path in sorted(stale)
    ]
    operations += [CommitOperationAdd(path, files[path]) for path in sorted(adds)]
    try:
        commit = api.create_commit(
            repo, operations, commit_message=f"Datasets {tag}", repo_type="dataset", parent_commit=head
        )
    except HfHubHTTPError as error:
        if error.response.status_code == 412:
            raise _LostRace from error
        raise
    return commit.oid, frozenset(path.split("/")[1] for path in stale)


def _is_same(entry: "RepoFile", content: Path | bytes) -> bool:
    """Tell whether the repository's file has these bytes, by its SHA-256 (LFS) or its git hash."""
    if entry.lfs is not None:
        return isinstance(content, Path) and entry.lfs.sha256 == sha256_of(content)
    data = content if isinstance(content, bytes) else content.read_bytes()
    return entry.blob_id == sha1(b"blob %d\0" % len(data) + data).hexdigest()  # noqa: S324 - git's own hash


def _is_tagged(api: "HfApi", repo: str, tag: str, commit: str | None) -> bool:
    """Tell whether the tag names this commit; refuse one that names another."""
    for ref in api.list_repo_refs(repo, repo_type="dataset").tags:
        if ref.name == tag:
            if ref.target_commit == commit:
                return True
            raise ConfigurationError(f"the tag {tag} of {repo} names another version", "choose a new tag")
    return False


def pull(repo: str, out: Path, revision: str | None = None) -> list[str]:
    """Download and verify a repository's datasets; return the names of the configs."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    try:
        patterns = ["data/*/*.parquet", f"data/*/{MANIFEST}"]
        folder = Path(snapshot_download(repo, repo_type="dataset", revision=revision, allow_patterns=patterns))
    except (HfHubHTTPError, OSError, ValueError, connection_error()) as error:
        message = f"{repo}{f' at {revision}' if revision else ''} cannot be downloaded: {first_line(error)}"
        raise ConfigurationError(message, "check its name and revision") from error
    configs = sorted(path.parent for path in folder.glob(f"data/*/{MANIFEST}"))
    if not configs:
        raise ConfigurationError(f"{repo} holds no datasets of this package", "check its name and revision")
    for config in configs:
        manifest = read_manifest(config)
        with atomic_folder(out / "data" / config.name, replace=True) as temporary:
            for name in (MANIFEST, *(split.file for split in manifest.splits.values())):
                if "/" in name or name.startswith(".") or not (config / name).is_file():
                    raise InputError(f"{repo}: the manifest of {config.name} names {name!r}, which is not there")
                (temporary / name).write_bytes((config / name).read_bytes())
            if problems := verify(temporary):
                raise InputError(f"{repo}: {'; '.join(problems)}", "pull it again")
    return [config.name for config in configs]
