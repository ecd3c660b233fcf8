"""Croissant metadata (MLCommons, version 1.0) of the published repository: files with hashes, fields with types."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from datasets_build.build import BuiltSplit, Part
from datasets_build.sources import Config

# The terms of Croissant 1.0 in its own namespace; its context must name all of them.
_TERMS = (
    "citeAs", "column", "conformsTo", "equivalentProperty", "extract", "field", "fileProperty", "fileObject",
    "fileSet", "format", "includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet",
    "references", "regex", "repeated", "replace", "samplingRate", "separator", "source", "subField", "transform",
)  # fmt: skip
_TYPES = {"string": "sc:Text", "double": "sc:Float", "int32": "sc:Integer", "bool": "sc:Boolean"}


def croissant(parts: Sequence[Part], repo: str, tag: str, endpoint: str) -> dict[str, Any]:
    """Make the JSON-LD document.

    Args:
        endpoint: URL of the Hub, such as `https://huggingface.co`.
    """
    page = f"{endpoint}/datasets/{repo}"
    files, records = [], []
    for _, config, manifest in parts:
        for name, split in manifest.splits.items():
            files.append(_file(config, name, split, f"{page}/resolve/{quote(tag, safe='')}"))
            records.append(_records(config, name))
    return {
        "@context": _context(),
        "@type": "sc:Dataset",
        "name": repo.rpartition("/")[2],
        "description": "Standardized datasets for measuring the output diversity of language models and its metrics.",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "url": page,
        "version": _version(tag),
        "license": f"{page}/blob/{quote(tag, safe='')}/LICENSES.md",
        "citeAs": "\n\n".join({source.name: source.citation for source, _, _ in parts}.values()),
        "distribution": files,
        "recordSet": records,
    }


def _context() -> dict[str, Any]:
    context: dict[str, Any] = {term: f"cr:{term}" for term in _TERMS}
    return context | {
        "@language": "en",
        "@vocab": "https://schema.org/",
        "conformsTo": "dct:conformsTo",
        "cr": "http://mlcommons.org/croissant/",
        "data": {"@id": "cr:data", "@type": "@json"},
        "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
        "dct": "http://purl.org/dc/terms/",
        "examples": {"@id": "cr:examples", "@type": "@json"},
        "rai": "http://mlcommons.org/croissant/RAI/",
        "sc": "https://schema.org/",
    }


def _version(tag: str) -> str:
    """Return the version as three numbers, as the format requires."""
    numbers = [part for part in tag.removeprefix("v").split(".") if part.isdigit()]
    return ".".join([*numbers, "0", "0", "0"][:3])


def _file(config: Config, name: str, split: BuiltSplit, base: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": f"{config.name}/{split.file}",
        "name": f"{config.name}/{split.file}",
        "description": f"{config.name}, split {name}: {split.rows} rows",
        "contentUrl": f"{base}/data/{config.name}/{split.file}",
        "contentSize": f"{split.bytes} B",
        "encodingFormat": "application/x-parquet",
        "sha256": split.sha256,
    }


def _records(config: Config, name: str) -> dict[str, Any]:
    fields = []
    for field in config.schema:
        kind: pa.DataType = field.type
        repeated = pa.types.is_list(kind)
        inner = kind.field(0).type if repeated else kind
        fields.append(
            {
                "@type": "cr:Field",
                "@id": f"{config.name}/{name}/{field.name}",
                "name": field.name,
                "description": config.fields[field.name],
                "dataType": _TYPES[str(inner)],
                **({"repeated": True} if repeated else {}),
                "source": {
                    "fileObject": {"@id": f"{config.name}/{name}.parquet"},
                    "extract": {"column": field.name},
                },
            }
        )
    return {
        "@type": "cr:RecordSet",
        "@id": f"{config.name}/{name}",
        "name": f"{config.name}/{name}",
        "description": config.about,
        "field": fields,
    }
