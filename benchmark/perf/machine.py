"""What machine this is, what is installed, and how busy it is; without its name or a path."""

import os
import platform
import re
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmark.perf.limits import usable_cores
from benchmark.perf.schema import Machine

LIBRARIES = (
    "divbench",
    "gradio",
    "numpy",
    "pandas",
    "pyarrow",
    "rapidfuzz",
    "ray",
    "sacrebleu",
    "scikit-learn",
    "scipy",
    "sentence-transformers",
    "tokenizers",
    "torch",
    "transformers",
)
_QUOTED = re.compile(r"""(['"])(?:~|[A-Za-z]:)?[/\\][^'"]*\1""")  # may have spaces
_PATH = re.compile(r"(?<![\w.:/])(?:~|[A-Za-z]:)?(?:[/\\][\w.+@-]+)+[/\\]?")


def this_machine() -> Machine:
    """The machine that this process runs on."""
    return Machine(
        processor=_processor(),
        architecture=platform.machine(),
        system=platform.system(),
        cores=usable_cores(),
        memory_gb=round(memory_bytes() / 1e9, 1),
        gpus=gpus(),
        threads=os.environ.get("OMP_NUM_THREADS"),
    )


def memory_bytes() -> int:
    """Of the machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def versions() -> dict[str, str]:
    """Of Python and of the libraries that are installed."""
    found = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def load() -> float:
    """Processes that ran or wanted to, over the last minute."""
    return round(os.getloadavg()[0], 2)


def gpus() -> tuple[str, ...]:
    """The names of NVIDIA's, as their own program tells them: it needs no torch."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return ()
    asked = [program, "--query-gpu=name", "--format=csv,noheader"]
    told = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603
    return tuple(filter(None, map(str.strip, told.stdout.splitlines()))) if told.returncode == 0 else ()


def without_paths(text: str) -> str:
    """A text without paths and without this machine's name, for a report that others read.

    >>> without_paths("no such file: '/home/me/some file.txt' (1/2), nor /tmp/x")
    "no such file: '…' (1/2), nor …"
    """
    name = platform.node()
    shown = _PATH.sub("…", _QUOTED.sub(r"\1…\1", text))
    return re.sub(rf"\b{re.escape(name)}\b", "…", shown) if len(name) > 1 else shown


def _processor() -> str:
    listed = Path("/proc/cpuinfo")
    if listed.is_file():
        for line in listed.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"
