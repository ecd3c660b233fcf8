"""Cards say what the sources and builds say, and samples are the datasets' own rows."""

from datasets_build.sources import DATASETS

NAMES = [config.name for source in DATASETS for config in source.configs]
