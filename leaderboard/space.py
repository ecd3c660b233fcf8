"""Writes the folder of a Hugging Face Space: the board of a store, this package, and pinned libraries.

A Space installs `requirements.txt` before its own files exist, and this package is not on a package index. The folder
therefore contains the package, and the requirements list only libraries. The same package and libraries give the same
bytes.
"""

import os
import re
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.metadata import distribution, requires, version
from pathlib import Path
from shutil import copyfile

import yaml
from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id
from packaging.requirements import Requirement

from datasets_build.load import SUITES
from datasets_build.sources import find_config
from divbench.core.errors import ConfigurationError, need_installed
from divbench.core.files import atomic_folder, write_text

PACKAGES = ("benchmark", "datasets_build", "divbench", "leaderboard", "submissions")
LEFT_OUT = ("benchmark/models/bundled_lm/model",)  # 12 MB, needed only for scoring
CARRIED = "package"
# Spaces install packages that restrict the versions of these, so we give our bounds instead of one version.
UNPINNED = ("pydantic",)
TITLE = "DivBench"
_TEMPLATES = Path(__file__).parent / "templates"
_HUB = re.compile(r"hf://datasets/([^/]+/[^/]+)(?:/.+)?")


def write_space(folder: Path, store: str) -> list[Path]:
    """Write the folder of a Space, which must not exist or be empty; the store is not read here."""
    for module in ("gradio", "plotly"):
        need_installed(module, "board")
    dataset = checked_store(store)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigurationError(f"{folder} exists and is not empty", "name another folder, or remove it")
    suites = tuple(sorted({suite.config for suite in SUITES if find_config(suite.config)[0].name != "demo"}))
    words = {"store": store, "title": TITLE, "carried": CARRIED, "version": version("divbench"), "suites": suites}
    with atomic_folder(folder) as target:
        write_text(target / "app.py", _filled("space_app.txt", words))
        write_text(target / "requirements.txt", "".join(f"{line}\n" for line in requirements()))
        write_text(target / "README.md", f"---\n{_metadata(dataset)}---\n{_filled('space_readme.md', words)}")
        carry(target / CARRIED)
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _filled(template: str, words: Mapping[str, object]) -> str:
    return (_TEMPLATES / template).read_text(encoding="utf-8").format(**words)


def checked_store(text: str) -> str | None:
    """The Hub dataset of a store; None if it is a folder."""
    match = _HUB.fullmatch(text)
    if match is not None and text.isprintable() and _is_repo(match[1]):
        return match[1]
    if match is None and text.isprintable() and Path(text).is_absolute():
        return None
    raise ConfigurationError(
        f"{text[:100]!r} names no store", "give hf://datasets/ORG/NAME, or the full path of a folder"
    )


def _is_repo(text: str) -> bool:
    """Whether a text is a valid id of a Hub repository with its owner."""
    try:
        validate_repo_id(text)
    except HFValidationError:
        return False
    return text.count("/") == 1


def requirements() -> list[str]:
    """The libraries of the package and its extra *board*, at the installed versions."""
    lines = {}
    for text in requires("divbench") or ():
        wanted = Requirement(text)
        if wanted.marker is None or any(wanted.marker.evaluate({"extra": extra}) for extra in ("", "board")):
            extras = wanted.extras | ({"oauth"} if wanted.name == "gradio" else set())
            name = f"{wanted.name}[{','.join(sorted(extras))}]" if extras else wanted.name
            loose = wanted.name in UNPINNED
            lines[wanted.name.lower()] = f"{name}{wanted.specifier if loose else f'=={version(wanted.name)}'}"
    return [lines[name] for name in sorted(lines)]


def _licence() -> str:
    """Return the text of our licence, which is among the metadata of a wheel, and in a checkout beside the packages."""
    of_wheel = distribution("divbench").read_text("licenses/LICENSE")
    return of_wheel or (Path(import_module("divbench").__path__[0]).parent / "LICENSE").read_text(encoding="utf-8")


def carry(target: Path) -> None:
    """Copy the package with its version metadata and its licence, which copies must contain, into a folder."""
    for name in PACKAGES:
        home = Path(import_module(name).__path__[0])
        for source in _files(home):
            copy = target / name / source.relative_to(home)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copyfile(source, copy)
    known = version("divbench")
    about = target / f"divbench-{known}.dist-info"
    (about / "licenses").mkdir(parents=True)
    write_text(about / "licenses" / "LICENSE", _licence())
    write_text(about / "METADATA", f"Metadata-Version: 2.1\nName: divbench\nVersion: {known}\n")


def _files(home: Path) -> Iterator[Path]:
    """The files of a package that a board needs."""
    left_out = {home.parent / path for path in LEFT_OUT}
    for folder, folders, names in os.walk(home):
        here = Path(folder)
        folders[:] = sorted(f for f in folders if f != "__pycache__" and f[0] != "." and here / f not in left_out)
        yield from (here / name for name in sorted(names) if name[0] != "." and not name.endswith(".pyc"))


def _metadata(dataset: str | None) -> str:
    """The YAML header of the Space's README."""
    values = {
        "title": TITLE,
        "emoji": "🎲",
        "colorFrom": "blue",
        "colorTo": "green",
        "sdk": "gradio",
        "sdk_version": version("gradio"),
        "python_version": f"{sys.version_info.major}.{sys.version_info.minor}",
        "app_file": "app.py",
        "fullWidth": True,
        "pinned": False,
        "license": "apache-2.0",
        "short_description": "How diverse are the responses of language models?",
        "tags": ["leaderboard", "diversity", "evaluation"],
        "datasets": [] if dataset is None else [dataset],
        "hf_oauth": True,
        # One of the few headers that Spaces allow; only windows that the login opens may keep a reference to this page.
        "custom_headers": {"cross-origin-opener-policy": "same-origin-allow-popups"},
    }
    text: str = yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=1000)
    return text
