"""Memory and time that a large submission takes: `python -m benchmark.perf.memory [--prompts 1000 10000 100000]`.

Writes synthetic submissions of ten short, different responses per prompt, then validates and scores each submission in
a separate process and prints that process's peak resident memory and its time. With several sizes it also prints the
exponent by which time grows with work: 1 if ten times the work takes ten times the time. `--profile offline` includes
embeddings; metrics of surprisals are left out, because their cost is measured elsewhere. With `--stand-in`, vectors of
the model's length are drawn from a hash of the text. This measures memory and time of everything but the model, for
sizes that take the model hours.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from functools import lru_cache
from itertools import islice
from pathlib import Path
from time import perf_counter, process_time
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmark.models.embedder import ALL_MINILM_L6_V2, Embedder
from benchmark.perf.script import option_parser, peak_memory, print_document
from datasets_build.load import load_suite
from datasets_build.schema import Prompt, Suite
from divbench.core.errors import need
from submissions.schema import Generation, Manifest, Row, Submitter, System
from submissions.storage.submission_folders import Submission, write_submission

K = 10
DIMENSIONS, INNER, LAYERS = 384, 1536, 6  # of all-MiniLM-L6-v2
FLOPS_A_TOKEN = 2 * LAYERS * (4 * DIMENSIONS**2 + 2 * DIMENSIONS * INNER)
ROWS_COUNTED = 200
A_MEGABYTE = 2**20


@dataclass(frozen=True, slots=True)
class GrowthFit:
    """A straight line fitted to the logarithms of seconds and responses."""

    exponent: float  # slope; seconds grow as responses to this power
    error: float | None  # standard error of the slope; None for two sizes


class StandIn:
    """An embedder that draws a text's vector from its hash."""

    signature = f"stand-in,{DIMENSIONS}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return unit vectors [texts, 384]."""
        drawn = np.stack([np.random.default_rng(crc32(text.encode())).standard_normal(DIMENSIONS) for text in texts])
        vectors: NDArray[np.float64] = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
        return vectors


class Timed:
    """An embedder that measures its time."""

    def __init__(self, embedder: Embedder) -> None:
        self.signature = embedder.signature
        self.seconds = 0.0
        self._embedder = embedder

    def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Embed as the wrapped embedder does."""
        start = perf_counter()
        made = self._embedder.embed(texts)
        self.seconds += perf_counter() - start
        return made


def embedding_flops(submission: Submission) -> float:
    """Estimate the operations of the layers' weights for all tokens of a submission, under all-MiniLM-L6-v2.

    Tokens are counted in its first responses, which are like the others. Attention over so few tokens is neglected.
    """
    where, _ = ALL_MINILM_L6_V2.files.locate()
    tokeniser: Any = need("transformers", "score").AutoTokenizer.from_pretrained(where)
    rows = list(islice(submission.rows(), ROWS_COUNTED))
    texts = [text for row in rows for text in row.responses]
    tokens = sum(map(len, tokeniser(texts)["input_ids"])) / len(texts)
    responses = sum(len(row.responses) for row in submission.rows())
    return tokens * responses * FLOPS_A_TOKEN


@lru_cache(maxsize=1)
def _words() -> NDArray[np.str_]:
    """The words of gssbench's prompts: English, so that a word has as many tokens as in real responses."""
    texts = (prompt.prompt.lower() for prompt in load_suite("gssbench").prompts)
    return np.array(sorted({word for text in texts for word in text.split() if word.isalpha()}))


def made_up_suite(prompts: int) -> Suite:
    """Make a suite with a number of prompts."""
    made = (Prompt(f"prompt-{i:06}", f"Category {i % 6}", f"Say something of thing {i}.") for i in range(prompts))
    return Suite("made-up", "Made up", tuple(made))


def made_up_rows(suite: Suite) -> Iterator[Row]:
    """Yield ten texts of five to fifteen words for each prompt."""
    rng = np.random.default_rng(0)
    words = _words()
    for number, prompt in enumerate(suite.prompts, start=1):
        drawn = words[rng.integers(len(words), size=(K, 15))]
        texts = tuple(" ".join(text[:n]) for text, n in zip(drawn, rng.integers(5, 16, size=K), strict=True))
        yield Row(number, prompt.prompt_id, prompt.prompt, texts)


def write(folder: Path, prompts: int) -> None:
    """Write the submission, streamed to a new folder."""
    folder.mkdir()
    suite = made_up_suite(prompts)
    manifest = Manifest(
        name="made-up system",
        suite=suite.name,
        system=System(type="baseline"),
        generation=Generation(k=K),
        submitter=Submitter(name="benchmark.perf.memory", date=date(2026, 1, 1)),
    )
    write_submission(folder, manifest, made_up_rows(suite))


def validate_and_score(folder: Path, prompts: int, profile: str, stand_in: bool) -> dict[str, Any]:
    """Do the work of `divbench score` in this process; return seconds and peak memory of the steps."""
    from benchmark.metrics import METRICS
    from benchmark.scoring.backends import ScoringBackends
    from benchmark.scoring.inputs import metrics_from
    from benchmark.scoring.profiles import find_profile
    from benchmark.scoring.scorer import score_submission
    from submissions.checking.validate import validate

    suite = made_up_suite(prompts)
    start = perf_counter()
    report = validate(folder, lambda name: suite)
    if report.submission is None:
        raise ValueError(f"rejected: {report.findings.problems[:3]}")
    validated = perf_counter()
    peak_of_validation = peak_memory() / A_MEGABYTE
    backends = ScoringBackends(find_profile(profile), embedder=StandIn() if stand_in else None)
    metrics = tuple(metric for metric in METRICS if metric not in metrics_from("causal_lm"))
    backends.load(backends.profile.metrics(metrics))  # before the timing, because its cost does not depend on the size
    timed = None if backends.embedder is None else Timed(backends.embedder)
    backends.embedder = timed
    loaded, worked = perf_counter(), process_time()
    scored = score_submission(report.submission, suite, backends, folder.parent / "results", metrics=metrics)
    return {
        "validate_seconds": validated - start,
        "validate_peak_mb": peak_of_validation,
        "load_seconds": loaded - validated,
        "score_seconds": perf_counter() - loaded,
        "score_processor_seconds": process_time() - worked,
        "embed_seconds": None if timed is None else timed.seconds,
        "embed_flops": None if timed is None or stand_in else embedding_flops(report.submission),
        "responses": scored.result.counts.responses,
        "values": sum(score.n for score in scored.result.scores),
        "result_bytes": sum(path.stat().st_size for path in scored.folder.iterdir()),
    }


def measure(prompts: int, profile: str, stand_in: bool = False) -> dict[str, Any]:
    """Write a submission, then validate and score it in a separate process."""
    with tempfile.TemporaryDirectory(prefix="divbench-memory-") as name:
        folder = Path(name) / "submission"
        write(folder, prompts)
        size = sum(path.stat().st_size for path in folder.iterdir())
        asked = ["--prompts", str(prompts), "--profile", profile, *(["--stand-in"] if stand_in else [])]
        command = [sys.executable, "-m", "benchmark.perf.memory", *asked, "--child", str(folder)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603 - our own module
        found: dict[str, Any] = json.loads(done.stdout)
    return {"prompts": prompts, "submission_bytes": size, **found}


def growth(responses: Sequence[int], seconds: Sequence[float]) -> GrowthFit | None:
    """Fit the exponent by which time grows with work; None for fewer than two sizes.

    >>> growth([10, 100, 1000], [2.0, 20.0, 200.0]).exponent
    1.0
    """
    if len(set(responses)) < 2:
        return None
    line = stats.linregress(np.log10(responses), np.log10(seconds))
    return GrowthFit(round(float(line.slope), 12), float(line.stderr) if len(responses) > 2 else None)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print one JSON document."""
    parser = option_parser(__doc__)
    parser.add_argument(
        "--prompts",
        type=int,
        nargs="+",
        default=[100_000],
        help=f"Number of prompts of {K} responses each; one or more sizes.",
    )
    parser.add_argument("--profile", default="lexical", help="Profile: lexical, or offline to include embeddings.")
    parser.add_argument("--stand-in", action="store_true", help="Vectors drawn from a hash instead of the embedder's.")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.child is not None:
        found = validate_and_score(given.child, given.prompts[0], given.profile, given.stand_in)
        print(json.dumps(found | {"peak_mb": peak_memory() / A_MEGABYTE}))
        return
    runs = [measure(prompts, given.profile, given.stand_in) for prompts in given.prompts]
    work = [run["responses"] for run in runs]
    fits = {name: growth(work, [run[name] for run in runs]) for name in ("score_seconds", "score_processor_seconds")}
    made = {name: None if fit is None else asdict(fit) for name, fit in fits.items()}
    about = {"profile": given.profile, "embedder": "stand-in" if given.stand_in else "the profile's"}
    print_document({**about, "runs": runs, "growth": made})


if __name__ == "__main__":
    main()
