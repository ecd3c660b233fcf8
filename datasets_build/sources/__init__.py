"""Where each dataset comes from. A new one is a file here and a line in `DATASETS`."""

from datasets_build.sources import demo, gssbench, noveltybench, olmo, scenarios, tevet
from datasets_build.sources.source import Config, File, Source, Split

DATASETS: tuple[Source, ...] = (
    tevet.SOURCE,
    noveltybench.SOURCE,
    gssbench.SOURCE,
    olmo.SOURCE,
    scenarios.SOURCE,
    demo.SOURCE,
)

__all__ = ["DATASETS", "Config", "File", "Source", "Split"]
