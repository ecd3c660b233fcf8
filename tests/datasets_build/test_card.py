"""The card and LICENSES.md say where the data are from and under which terms."""

import pytest

from datasets_build.build import BuiltSplit, Manifest, Part
from datasets_build.card import card, licences
from datasets_build.sources import DATASETS, Config, Source


def built(source: Source, config: Config) -> Part:
    """A config as if built."""
    splits = {s.name: BuiltSplit(file=f"{s.name}.parquet", rows=s.count, bytes=1, sha256="0") for s in config.splits}
    manifest = Manifest(
        config=config.name, source=source.name, version=source.version, revision="0" * 12, schema_text="",
        splits=splits, sources={}, absent=[], dropped={},
    )  # fmt: skip
    return source, config, manifest


@pytest.fixture(scope="module")
def parts() -> list[Part]:
    """All configs, as if built."""
    return [built(source, config) for source in DATASETS for config in source.configs]


def test_copies_of_what_is_under_mit_have_its_notices(parts: list[Part]) -> None:
    text = licences(parts)
    for source, _, _ in parts:
        assert ("MIT" in source.licence) == bool(source.copyright)
        assert not source.copyright or text.count(f"- {source.copyright}\n") == 1
    assert "The above copyright notice and this permission notice shall be included" in text
    assert "MIT" not in licences([part for part in parts if part[0].name == "demo"])


def test_the_card_credits_the_origins_of_texts(parts: list[Part]) -> None:
    text = card(parts, "org/divbench", "v1.0.0")
    for words in ("WildChat-1M, ODC-By-1.0", "zhao2024wildchat", "alpaca_eval", "ROC Stories", "Personal data"):
        assert words in text, words
    for source, config, _ in parts:
        for file in source.files_of(config):
            assert file.origin.rpartition("/")[0] in text
