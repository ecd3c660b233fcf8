"""Sources of the datasets. To add one, add a module and its `.toml` here and a line in `DATASETS`."""

from datasets_build.sources import noveltybench, olmo, tevet
from datasets_build.sources.generated import DEMO, GSSBENCH, SCENARIOS
from datasets_build.sources.source import Config, File, Source, Split
from divbench.core.errors import ConfigurationError, did_you_mean

DATASETS: tuple[Source, ...] = (tevet.SOURCE, noveltybench.SOURCE, GSSBENCH, olmo.SOURCE, SCENARIOS, DEMO)


def find_config(name: str, datasets: tuple[Source, ...] = DATASETS) -> tuple[Source, Config]:
    """Find a config and its source."""
    for source in datasets:
        for config in source.configs:
            if config.name == name:
                return source, config
    known = [config.name for source in datasets for config in source.configs]
    raise ConfigurationError(f"there is no dataset {name!r}", did_you_mean(name, known))


__all__ = ["DATASETS", "Config", "File", "Source", "Split", "find_config"]
