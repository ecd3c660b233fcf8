"""Dataset card: README.md of the published repository, generated from the sources and manifests."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from datasets_build.build import Manifest, Part
from datasets_build.sources import Config, Source

FOLDER = Path(__file__).parent  # of the card's frame and of the MIT licence


def card(parts: Sequence[Part], repo: str, tag: str) -> str:
    """Write the card of a repository."""
    import yaml

    front = yaml.safe_dump(_front_matter(parts), sort_keys=False, allow_unicode=True, width=1000)
    _, first, _ = parts[0]
    rows = [
        f"| {config.name} | {sum(s.rows for s in manifest.splits.values()):,} | {config.about} | {source.licence} |"
        for source, config, manifest in parts
    ]
    citations = {source.name: source.citation for source, _, _ in parts}
    frame = (FOLDER / "card.md").read_text(encoding="utf-8")
    return f"---\n{front}---\n" + frame.format(
        repo=repo,
        tag=tag,
        config=first.name,
        split=first.splits[0].name,
        table="\n".join(rows),
        sections="\n".join(line for part in parts for line in _section(*part)),
        citations="\n\n".join(f"{name}:\n\n```bibtex\n{text}\n```" for name, text in citations.items()),
    )


def _section(source: Source, config: Config, manifest: Manifest) -> list[str]:
    lines = [f"## {config.name}", "", f"{config.about[0].upper()}{config.about[1:]}. {config.made}", ""]
    lines += [
        f"From: {source.title} ({source.paper or 'our own'}). "
        f"Version {manifest.version}, revision {manifest.revision}.",
        "",
    ]
    files = source.files_of(config)
    folders = sorted({file.urls[0].rpartition("/")[0] for file in files if file.urls})
    archives = sorted({file.found_in for file in files if not file.urls})
    if files:
        lines += [f"Files: {'; '.join([*folders, *archives])}.", ""]
    lines += ["| split | rows | bytes | SHA-256 |", "|---|---|---|---|"]
    lines += [f"| {name} | {s.rows:,} | {s.bytes:,} | `{s.sha256}` |" for name, s in manifest.splits.items()]
    lines += ["", "| field | type | what |", "|---|---|---|"]
    lines += [
        f"| {f.name} | {f.type}{', nullable' if f.nullable else ''} | {config.fields[f.name]} |" for f in config.schema
    ]
    for split, counts in manifest.dropped.items():
        lines += ["", *(f"Left out of {split}: {count} ({reason})." for reason, count in counts.items())]
    if manifest.absent:
        lines += ["", f"Built without {', '.join(manifest.absent)}: columns from there are null."]
    if source.flaws:
        lines += ["", "Known flaws:", "", *(f"- {flaw}" for flaw in source.flaws)]
    return [*lines, ""]


def _front_matter(parts: Sequence[Part]) -> dict[str, Any]:
    total = sum(split.rows for _, _, manifest in parts for split in manifest.splits.values())
    size = "10K<n<100K" if total >= 10_000 else "1K<n<10K" if total >= 1_000 else "n<1K"
    return {
        "pretty_name": "DivBench",
        "language": ["en"],
        "license": "other",
        "license_name": "mixed",
        "license_link": "LICENSES.md",
        "size_categories": [size],
        "task_categories": ["text-generation"],
        "tags": ["diversity", "evaluation", "open-ended generation"],
        "configs": [
            {
                "config_name": config.name,
                "data_files": [
                    {"split": name, "path": f"data/{config.name}/{split.file}"}
                    for name, split in manifest.splits.items()
                ],
                **({"default": True} if index == 0 else {}),
            }
            for index, (_, config, manifest) in enumerate(parts)
        ],
        "dataset_info": [
            {
                "config_name": config.name,
                "features": [_feature(field) for field in config.schema],
                "splits": [
                    {"name": name, "num_bytes": split.bytes, "num_examples": split.rows}
                    for name, split in manifest.splits.items()
                ],
            }
            for _, config, manifest in parts
        ],
    }


def _feature(field: "pa.Field[Any]") -> Mapping[str, Any]:
    """Describe a field as `datasets` does in a card."""
    if pa.types.is_list(field.type):
        return {"name": field.name, "list": _name(field.type.value_type)}
    return {"name": field.name, "dtype": _name(field.type)}


def _name(kind: "pa.DataType") -> str:
    return {"double": "float64", "float": "float32"}.get(str(kind), str(kind))


def licences(parts: Sequence[Part]) -> str:
    """Write LICENSES.md: what is known of the licence of each config."""
    lines = ["# Licences", "", "| config | licence | from |", "|---|---|---|"]
    lines += [f"| {config.name} | {source.licence} | {source.title} |" for source, config, _ in parts]
    if notices := {source.copyright for source, _, _ in parts if source.copyright}:
        lines += ["", "## MIT License", "", *(f"- {notice}" for notice in sorted(notices)), ""]
        lines.append((FOLDER / "mit.txt").read_text(encoding="utf-8").rstrip())
    return "\n".join(lines) + "\n"
