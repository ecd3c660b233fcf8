"""Where each dataset comes from. A new one is a file here and a line in `DATASETS`."""

from datasets_build.sources import demo, noveltybench
from datasets_build.sources.source import Source

DATASETS: tuple[Source, ...] = (demo.SOURCE, noveltybench.CURATED)

__all__ = ["DATASETS", "Source"]
