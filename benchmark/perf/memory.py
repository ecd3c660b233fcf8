"""How much memory a large submission takes: `python -m benchmark.perf.memory [--prompts 100000]`.

Writes a made-up submission of ten short responses a prompt, then validates and scores it with the lexical profile in a
process of its own, and prints that process's peak of resident memory and its time.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from datasets_build.schema import Prompt, Suite
from submissions.schema import Generation, Manifest, Row, Submitter, System
from submissions.store import write_submission

K = 10
WORDS = 5_000
A_MEGABYTE = 2**20


def made_up_suite(prompts: int) -> Suite:
    """A suite of that many prompts."""
    made = (Prompt(f"prompt-{i:06}", f"Category {i % 6}", f"Say something of thing {i}.") for i in range(prompts))
    return Suite("made-up", "Made up", tuple(made))


def made_up_rows(suite: Suite) -> Iterator[Row]:
    """Ten texts of five to fifteen words for each prompt."""
    rng = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(WORDS)])
    for number, prompt in enumerate(suite.prompts, start=1):
        drawn = words[rng.integers(WORDS, size=(K, 15))]
        texts = tuple(" ".join(text[:n]) for text, n in zip(drawn, rng.integers(5, 16, size=K), strict=True))
        yield Row(number, prompt.prompt_id, prompt.prompt, texts)


def write(folder: Path, prompts: int) -> None:
    """The submission, streamed to a new folder."""
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


def validate_and_score(folder: Path, prompts: int) -> dict[str, Any]:
    """What `divbench score` does, in this process: seconds of both steps, and this process's peak memory after each."""
    from benchmark.instruments import Instruments
    from benchmark.profiles import find_profile
    from benchmark.scorer import score_submission
    from submissions.validate import validate

    suite = made_up_suite(prompts)
    start = perf_counter()
    report = validate(folder, lambda name: suite)
    if report.submission is None:
        raise ValueError(f"refused: {report.findings.problems[:3]}")
    validated = perf_counter()
    peak_of_validation = peak_megabytes(resource.RUSAGE_SELF)
    scored = score_submission(report.submission, suite, Instruments(find_profile("lexical")), folder.parent / "results")
    return {
        "validate_seconds": validated - start,
        "validate_peak_mb": peak_of_validation,
        "score_seconds": perf_counter() - validated,
        "responses": scored.result.counts.responses,
        "values": sum(score.n for score in scored.result.scores),
        "result_bytes": sum(path.stat().st_size for path in scored.folder.iterdir()),
    }


def peak_megabytes(whose: int) -> float:
    """The peak of resident memory. Linux counts in kilobytes, macOS in bytes."""
    peak = resource.getrusage(whose).ru_maxrss
    return (peak if sys.platform == "darwin" else peak * 1024) / A_MEGABYTE


def measure(prompts: int) -> dict[str, Any]:
    """Write, then validate and score in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="divbench-memory-") as name:
        folder = Path(name) / "submission"
        write(folder, prompts)
        size = sum(path.stat().st_size for path in folder.iterdir())
        command = [sys.executable, "-m", "benchmark.perf.memory", "--prompts", str(prompts), "--child", str(folder)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - our own module
        found: dict[str, Any] = json.loads(done.stdout)
    return {
        "prompts": prompts,
        "submission_bytes": size,
        **found,
        # Of all children; there was one.
        "peak_mb": peak_megabytes(resource.RUSAGE_CHILDREN),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompts", type=int, default=100_000, help=f"of {K} responses each")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.child is not None:
        print(json.dumps(validate_and_score(given.child, given.prompts)))
        return
    found = measure(given.prompts)
    if given.json:
        print(json.dumps(found, indent=2))
        return
    print(f"{found['responses']:,} responses to {found['prompts']:,} prompts, {found['submission_bytes']:,} bytes")
    print(f"validate  {found['validate_seconds']:8.1f} s   peak {found['validate_peak_mb']:8.0f} MB")
    print(f"score     {found['score_seconds']:8.1f} s   peak {found['peak_mb']:8.0f} MB")


if __name__ == "__main__":
    main()
