"""Inputs of the tables: published numbers, released files, labelled sets and, with `--bundled`, a language model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmark.analysis.metaeval.labelled import Labelled, load_labelled
from benchmark.analysis.reproduce.cells import Published
from benchmark.analysis.reproduce.qwen25 import MeanCurves, path_of, read_mean_curves, released_files
from benchmark.surprisal.engine import SurprisalReader
from datasets_build.download import Fetcher
from datasets_build.sources.noveltybench import SUBMISSIONS, submission_path
from datasets_build.sources.source import File, Source

Progress = Callable[[str, int, int], None]

PER_PROMPT_D = File(
    "olmo/reference/per_prompt_D.csv",
    "762fe69eb159dea52c6543f8956b811f57e09757ecc85a76dfc8c93f7de97f7b",
    found_in="the values of D_Can for each prompt and stage, read off the vector figures metric_correlation_scatter_* "
    "in figures/rlhf_experiment of the authors' repository (AMindToThink/icl-diversity)",
)
SCENARIOS_GPT2 = File(
    "scenarios/scenario_metrics_v3_gpt2_100perm.json",
    "65788a2c2615f44e010343094eddfaa563b1d724249b0159e5c9ed47601fb6e8",
    found_in="results of the authors' repository (AMindToThink/icl-diversity)",
)
GEMINI, GPT_4O = (SUBMISSIONS.file(submission_path(name)) for name in ("gemini-1.5-pro", "gpt-4o"))
# Results published by others: read as they are, not built into a dataset.
RESULTS = Source(
    name="published results",
    title="Values that were published for each prompt",
    version="1.0.0",
    files=(PER_PROMPT_D, SCENARIOS_GPT2, GEMINI, GPT_4O, *released_files()),
    licence="none stated for D_Can's; NoveltyBench's MIT",
    citation="",
    paper="",
    flaws=(),
    configs=(),
)


@dataclass(slots=True)
class Inputs:
    """Inputs of each table."""

    published: dict[str, tuple[Published, ...]]
    mirror: Path | None = None
    # Function that loads the reader with the bundled language model; None: the model is not used.
    bundled: Callable[[], SurprisalReader] | None = None
    progress: Progress = lambda what, done, total: None
    _labelled: dict[str, Labelled] = field(default_factory=dict, init=False)
    _reader: SurprisalReader | None = field(default=None, init=False)

    def file(self, file: File) -> Path:
        """Return the local copy of one of `RESULTS`.

        Raises:
            ConfigurationError: The file is not available.
            InputError: Its checksum differs.
        """
        return Fetcher(RESULTS, self.mirror, network=False)(file.path)

    def optional(self, path: str) -> Path | None:
        """Return the local copy of one of `RESULTS` by its path; None if it is not available. Raises as `file`."""
        return Fetcher(RESULTS, self.mirror, network=False).optional(path)

    def qwen25(self, name: str) -> MeanCurves | None:
        """Return the released numbers of Qwen2.5-3B for the sets of a task; None if they are not available.

        Raises:
            InputError: They belong to other texts.
        """
        path = self.optional(path_of(name))
        return None if path is None else read_mean_curves(path, self.labelled(name))

    def labelled(self, name: str) -> Labelled:
        """Return the sets of a task, loaded once. Raises as `load_labelled`."""
        if name not in self._labelled:
            self._labelled[name] = load_labelled(name, mirror=self.mirror)
        return self._labelled[name]

    def reader(self) -> SurprisalReader | None:
        """Return the reader with the bundled model, loaded once; None if it is not to be used."""
        if self._reader is None and self.bundled is not None:
            self._reader = self.bundled()
        return self._reader

    def numbers(self, table: str) -> Sequence[Published]:
        """Return the published numbers of a table."""
        return self.published[table]
