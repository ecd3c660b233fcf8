"""The Croissant metadata of what is generated here passes MLCommons' own validator and gives the rows."""

import json
from pathlib import Path

import pytest

from datasets_build.build import build, read_manifest
from datasets_build.croissant import croissant
from datasets_build.download import Fetcher
from datasets_build.load import load_table
from datasets_build.sources import find_config


# The validator's own libraries warn of their future.
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_the_validator_accepts_it_and_reads_the_rows(tmp_path: Path) -> None:
    import mlcroissant

    parts = []
    for name in ("gssbench", "scenarios", "demo"):
        source, config = find_config(name)
        build(source, config, tmp_path, Fetcher(source, network=False))
        parts.append((source, config, read_manifest(tmp_path / "data" / name)))
    document = croissant(parts, "org/divbench", "v1.0.0", "https://huggingface.co")
    assert document["url"] == "https://huggingface.co/datasets/org/divbench"
    for file in document["distribution"]:  # the same document, with the files of this machine
        file["contentUrl"] = str(tmp_path / "data" / file["@id"])
    path = tmp_path / "croissant.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    dataset = mlcroissant.Dataset(jsonld=path)
    assert not dataset.metadata.issues.errors
    wanted = load_table("demo", "prompts", data=tmp_path).to_pylist()
    found = list(dataset.records("demo/prompts"))
    assert [row["demo/prompts/prompt"].decode() for row in found] == [row["prompt"] for row in wanted]
