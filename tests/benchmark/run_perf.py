"""`divbench` with small benchmarks: `python -m tests.benchmark.run_perf perf …` from the repository's root.

Not a test. Three are the package's own at a tiny size; the others are samples that go well or badly.
"""

from dataclasses import replace
from typing import Any

from benchmark.perf import suite
from benchmark.perf.schema import Figure, Findings
from benchmark.perf.suite import BENCHMARKS, Benchmark, Needs
from leaderboard.cli import main

OWN = {
    "limits": ("--megabytes", "1", "--rounds", "1"),
    "lexical": ("--rounds", "1", "--sets", "20"),
    "memory": ("--prompts", "5", "10"),
}


def sample_findings(document: Any, _: Any) -> Findings:
    """The sample's one ratio."""
    ratio = Figure(what="one | other", value=document["value"], unit="times as fast", better="higher")
    return Findings(compared="nothing", ratios=(ratio,))


def sample(how: str) -> Benchmark:
    """One of them, of that name."""
    module = "tests.benchmark.perf_sample"
    return Benchmark(how, f"A sample: {how}.", module, (how,), (how, "--json"), (0.1, 0.2), sample_findings)


TINY: tuple[Benchmark, ...] = (
    *(replace(each, quick=OWN[each.name], full=OWN[each.name]) for each in BENCHMARKS if each.name in OWN),
    sample("well"),
    sample("badly"),
    sample("prose"),
    sample("odd"),
    replace(sample("well"), name="lacking", needs=Needs(modules=("no_such_module",), gpu=True)),
    sample("held"),
)


if __name__ == "__main__":
    suite.BENCHMARKS = TINY
    main()
