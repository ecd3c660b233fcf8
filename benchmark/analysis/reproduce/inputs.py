"""What the tables are computed from: published numbers, released files and labelled sets, each read once."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmark.analysis.metaeval import qwen25
from benchmark.analysis.metaeval.labelled import Floats, Labelled, load_labelled
from benchmark.analysis.reproduce.cells import Published, read_published
from datasets_build.download import Fetcher
from datasets_build.sources.noveltybench import SUBMISSIONS, submission_path
from datasets_build.sources.source import File, Source

PER_PROMPT_D = "olmo/reference/per_prompt_D.csv"
SCENARIOS_GPT2 = "scenarios/scenario_metrics_v3_gpt2_100perm.json"
GEMINI, GPT_4O = (submission_path(name) for name in ("gemini-1.5-pro", "gpt-4o"))
# Results published by others: read as they are, not built into a dataset.
RESULTS = Source(
    name="published results",
    title="Values that were published for each prompt",
    version="1.0.0",
    files=(
        File(
            PER_PROMPT_D,
            "762fe69eb159dea52c6543f8956b811f57e09757ecc85a76dfc8c93f7de97f7b",
            found_in="the values of D_Can for each prompt and stage, read off the vector figures "
            "metric_correlation_scatter_* in figures/rlhf_experiment of the authors' repository "
            "(AMindToThink/icl-diversity)",
        ),
        File(
            SCENARIOS_GPT2,
            "65788a2c2615f44e010343094eddfaa563b1d724249b0159e5c9ed47601fb6e8",
            found_in="results of the authors' repository (AMindToThink/icl-diversity)",
        ),
        SUBMISSIONS.file(GEMINI),
        SUBMISSIONS.file(GPT_4O),
        *qwen25.SOURCE.files,
    ),
    licence="none stated for D_Can's; NoveltyBench's MIT",
    citation="",
    paper="",
    flaws=(),
    configs=(),
)


@dataclass(slots=True)
class Inputs:
    """Inputs of each table; without a mirror, files are looked for where DIVBENCH_MIRROR says."""

    mirror: Path | None = None
    published: Mapping[str, tuple[Published, ...]] = field(default_factory=read_published)
    _labelled: dict[str, Labelled] = field(default_factory=dict, init=False)

    def file(self, path: str) -> Path:
        """Return the local copy of one of `RESULTS`."""
        return Fetcher(RESULTS, self.mirror, network=False)(path)

    def labelled(self, name: str) -> Labelled:
        """Return the sets of a task, loaded once."""
        if name not in self._labelled:
            self._labelled[name] = load_labelled(name, mirror=self.mirror)
        return self._labelled[name]

    def curves(self, name: str) -> Mapping[str, Floats]:
        """Return the rows of D_Can's tables under Qwen2.5-3B, each [sets], for the sets of a task."""
        return qwen25.read_mean_curves(self.file(qwen25.path_of(name)), self.labelled(name)).columns
