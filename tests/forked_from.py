"""What the fork server of `tests/forked.py` imports, which programs that are forked from it have already.

Not a test. It also starts the reader of Parquet files, which they share. Objects made by imports, about a million,
live as long as the process, so the garbage collector need not visit them; in a fork, each visit would copy memory.
"""

import gc
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from submissions.untrusted.process import _server
from tests.forked import PACKAGES

LIBRARIES = (
    *("numpy", "pandas", "pyarrow.dataset", "pyarrow.parquet", "pydantic", "rapidfuzz", "rich.console"),
    *("rouge_score.rouge_scorer", "sacrebleu", "scipy.stats", "sklearn.cluster", "sqlite3", "tenacity", "torch"),
    "typer",
)
LIBRARIES_OF_THE_HUB = (
    *("huggingface_hub", "transformers.generation", "transformers.models.auto.modeling_auto"),
    *("transformers.models.bert.modeling_bert", "transformers.models.llama.modeling_llama", "sentence_transformers"),
)
# They import gradio or the Hub's client, whose variables some programs set to their own.
READ_VARIABLES = ("benchmark.exports.hub", "leaderboard.app.", "leaderboard.space")


def modules() -> list[str]:
    """DivBench's modules that read no environment variable when they are imported, not even through others."""
    root = Path(__file__).parent.parent
    found = [
        ".".join(path.relative_to(root).with_suffix("").parts) for p in PACKAGES for path in (root / p).rglob("*.py")
    ]
    return sorted(name for name in found if not name.startswith(READ_VARIABLES) and "__" not in name)


gc.disable()
for _name in (*LIBRARIES, *modules(), *LIBRARIES_OF_THE_HUB):
    with suppress(ImportError):  # of an extra
        import_module(_name)
gc.freeze()
gc.enable()
_server()
