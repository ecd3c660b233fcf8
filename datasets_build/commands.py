"""`divbench data`: list, build, info, prompts, verify, card, publish, pull, solution-pairs."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from divbench.core.console import JsonOption, MirrorOption, err, print_json, progress, say
from divbench.core.tables import Styled, Table, styled

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="List, build, check, publish and fetch datasets, in the folder DIVBENCH_HOME/built.",
)
Names = Annotated[list[str] | None, typer.Argument(help="Datasets, such as mcdiv; default: all.")]


@app.command("list")
def list_datasets(json: JsonOption = False) -> None:
    """List the datasets (splits, rows, licence, source, whether built) and the suites that they contain.

    Example: divbench data list
    """
    from datasets_build.build import read_manifest
    from datasets_build.load import SUITES, data_folder
    from datasets_build.sources import DATASETS
    from divbench.core.errors import InputError

    rows: list[dict[str, Any]] = []
    for source in DATASETS:
        for config in source.configs:
            folder = data_folder() / "data" / config.name
            built, revision = "no", None
            if folder.is_dir():
                try:
                    manifest = read_manifest(folder)
                    revision = manifest.revision
                    built = "yes" if manifest.version == source.version else "another version"
                except InputError:
                    built = "damaged"
            rows.append(
                {
                    "name": config.name,
                    "about": config.about,
                    "splits": {split.name: split.count for split in config.splits},
                    "rows": sum(split.count for split in config.splits),
                    "source": source.name,
                    "paper": source.paper or "our own",
                    "licence": source.licence,
                    "version": source.version,
                    "generated_here": not source.files,
                    "built": built,
                    "revision": revision,
                    "suites": [suite.name for suite in SUITES if suite.config == config.name],
                }
            )
    cells = [
        (
            *(row["name"], len(row["splits"]), f"{row['rows']:,}", row["built"]),
            "generated here" if row["generated_here"] else row["paper"],
            *(row["licence"], ", ".join(row["suites"])),
        )
        for row in rows
    ]
    columns = ("name", "splits", "rows", "built", "from", "licence", "suites")
    say(rows, Table("Datasets", columns, cells, numbers=("splits", "rows")), as_json=json)


@app.command()
def build(
    names: Names = None,
    mirror: MirrorOption = None,
    destination: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Folder to build in; default: DIVBENCH_HOME/built, or one in the user's cache. Other commands read "
            "only the default.",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Build datasets from checked sources as Parquet files with a manifest.

    With one version of pyarrow, the same sources give the same bytes.

    Without a mirror, released files are downloaded from pinned URLs and kept. Every file is checked by its SHA-256.
    Generated datasets need no released files.

    Example: divbench data build mcdiv gssbench
    """
    from datasets_build.build import build as run
    from datasets_build.download import Fetcher
    from datasets_build.load import data_folder
    from datasets_build.sources import find_config

    folder = data_folder(destination)
    manifests = []
    with progress() as bar:
        for source, config in [find_config(name) for name in names or _all()]:
            task = bar.add_task(config.name, total=sum(split.count for split in config.splits))
            fetch = Fetcher(source, mirror, progress=lambda path: bar.update(task, description=path))  # noqa: B023
            manifests.append(run(source, config, folder, fetch, lambda rows: bar.advance(task, rows)))  # noqa: B023
            bar.update(task, description=config.name)
    cells = []
    for manifest in manifests:
        rows = sum(split.rows for split in manifest.splits.values())
        size = sum(split.bytes for split in manifest.splits.values())
        left_out = ", ".join(
            f"{count} of {split}: {reason}"
            for split, counts in manifest.dropped.items()
            for reason, count in counts.items()
        )
        cells.append((manifest.config, f"{rows:,}", f"{size:,}", manifest.revision, left_out))
    columns = ("name", "rows", "bytes", "revision", "left out")
    table = Table("Built", columns, cells, numbers=("rows", "bytes"))
    say([manifest.model_dump(mode="json") for manifest in manifests], table, f"in {folder}", as_json=json)
    for manifest in manifests:
        if manifest.absent:
            text = f"{manifest.config}: without {', '.join(manifest.absent)}; columns from there are null"
            err().print(text, style="yellow", markup=False)


@app.command()
def info(
    name: Annotated[str, typer.Argument(help="Name of a dataset, such as mcdiv.")], json: JsonOption = False
) -> None:
    """Describe a dataset: splits, fields, sources with their hashes, licence, citation, known flaws.

    Example: divbench data info mcdiv
    """
    from dataclasses import asdict

    from datasets_build.sources import find_config

    source, config = find_config(name)
    splits = {split.name: split.count for split in config.splits}
    fields = {field.name: [str(field.type), config.fields[field.name]] for field in config.schema}
    files = source.files_of(config)
    document: dict[str, Any] = {"name": name, "about": config.about, "made": config.made, "version": source.version}
    document |= {"splits": splits, "fields": fields, "licence": source.licence, "paper": source.paper}
    document |= {"citation": source.citation, "flaws": source.flaws, "files": [asdict(file) for file in files]}
    notes = ["" if file.urls else ", optional and not downloaded" for file in files]
    say(
        document,
        Styled(f"{name}: {config.about}. {config.made}"),
        Styled(f"version {source.version}; licence: {source.licence}; {source.paper or 'our own'}"),
        Table("Splits", ("split", "rows"), list(splits.items())),
        Table("Fields", ("field", "type", "what"), [(field, *of) for field, of in fields.items()], numbers=()),
        *(f"{f.path}{note}: SHA-256 {f.sha256}, {f.origin}" for f, note in zip(files, notes, strict=True)),
        *(Styled(f"- {flaw}") for flaw in source.flaws),
        *source.citation.splitlines(),
        as_json=json,
    )


@app.command()
def prompts(
    suite: Annotated[str, typer.Argument(help="Name of a suite, such as noveltybench-curated.")],
    destination: Annotated[
        Path | None, typer.Option("--out", help="JSON Lines file to write; default: stdout.", show_default=False)
    ] = None,
    mirror: MirrorOption = None,
    json: JsonOption = False,
) -> None:
    """Write the prompts of a suite as JSON Lines, one {"prompt_id", "prompt"} per line, to sample responses to.

    Keep each response's prompt id, or the unchanged text of its prompt: divbench import and divbench quick accept both.

    Example: divbench data prompts noveltybench-curated --out prompts.jsonl
    """
    from json import dumps

    from datasets_build.load import load_suite
    from divbench.core.files import write_text

    loaded = load_suite(suite, mirror=mirror)
    rows = [{"prompt_id": prompt.prompt_id, "prompt": prompt.prompt} for prompt in loaded.prompts]
    shown = destination is None  # in ASCII, so that no character of a prompt can control a terminal
    lines = "".join(dumps(row, ensure_ascii=shown) + "\n" for row in rows)
    if destination is not None:
        write_text(destination, lines)
        err().print(f"written: {destination}", markup=False, soft_wrap=True)
    if json:
        print_json({"suite": loaded.name, "revision": loaded.revision, "prompts": rows})
    elif destination is None:
        sys.stdout.write(lines)


@app.command("verify")
def verify_(names: Names = None, json: JsonOption = False) -> None:
    """Check built datasets against their manifests (bytes and counts). Exit 1 if anything is wrong or missing.

    Example: divbench data verify
    """
    from datasets_build.build import verify
    from datasets_build.load import data_folder
    from datasets_build.sources import find_config

    problems: dict[str, list[str]] = {}
    for name in names or _all():
        find_config(name)
        folder = data_folder() / "data" / name
        problems[name] = verify(folder) if folder.is_dir() else ["not built"]
    cells = [styled((name, "; ".join(lines) or "whole"), "red" if lines else "") for name, lines in problems.items()]
    say(problems, Table("Verified", ("name", ""), cells, numbers=()), as_json=json)
    if any(problems.values()):
        raise typer.Exit(1)


@app.command("card")
def card_(names: Names = None, json: JsonOption = False) -> None:
    """Print the dataset card (README.md) of the built datasets, as it will be published.

    Example: divbench data card
    """
    from datasets_build.card import card
    from datasets_build.load import data_folder
    from datasets_build.publish import parts_of

    text = card(parts_of(data_folder(), names or _built()), "ORG/divbench", "v1.0.0")
    if json:
        print_json({"card": text})
    else:
        typer.echo(text)


@app.command()
def publish(
    repo: Annotated[str, typer.Argument(help="Hub dataset repository, such as org/divbench.")],
    names: Names = None,
    tag: Annotated[str, typer.Option(help="Version tag; an existing tag is never moved.")] = "v1.0.0",
    private: Annotated[bool, typer.Option("--private", help="Private visibility of a new repository.")] = False,
    json: JsonOption = False,
) -> None:
    """Publish the built datasets as one tagged commit. Publishing the same datasets again changes nothing.

    The head of the repository then has exactly these datasets: others that it had remain only under earlier tags. The
    Hub's token is that of HF_TOKEN or of the logged-in user.

    Example: divbench data publish ORG/divbench --tag v1.0.0
    """
    from dataclasses import asdict

    from datasets_build.load import data_folder
    from datasets_build.publish import publish as run

    published = run(data_folder(), names or _built(), repo, tag, private=private)
    outcome = "published" if published.changed else "already there, nothing done"
    say(asdict(published), f"{outcome}: {repo} {tag} at {published.commit}", as_json=json)
    if published.removed:
        text = f"no longer at the head of {repo}: {', '.join(published.removed)}; earlier tags keep them"
        err().print(text, style="yellow", markup=False)


@app.command()
def pull(
    repo: Annotated[str, typer.Argument(help="Hub dataset repository, such as org/divbench or org/divbench@v1.0.0.")],
    json: JsonOption = False,
) -> None:
    """Download published datasets, check them, and store them with the built ones.

    Example: divbench data pull ORG/divbench@v1.0.0
    """
    from datasets_build.load import data_folder
    from datasets_build.publish import pull as run

    name, _, revision = repo.partition("@")
    names = run(name, data_folder(), revision or None)
    document = {"repo": name, "revision": revision or None, "configs": names}
    say(document, f"{', '.join(names)} in {data_folder()}", as_json=json)


@app.command("solution-pairs")
def solution_pairs(
    file: Annotated[
        Path, typer.Argument(help='Questions as JSON Lines: {"question": ..., "methods": [..., ...], "id": ...}.')
    ],
    destination: Annotated[Path, typer.Option("--out", help="Output file: .parquet.")],
    json: JsonOption = False,
) -> None:
    """Generate prompt pairs from your questions: solve by one given method, or by any of several.

    The rows have the fields of the dataset gssbench.

    Example: divbench data solution-pairs questions.jsonl --out pairs.parquet
    """
    import pyarrow.parquet as pq

    from datasets_build.gssbench import PAIRS
    from datasets_build.gssbench.questions import read_questions, solution_path_pairs
    from datasets_build.schema import conform
    from divbench.core.errors import ConfigurationError, InputError, counted
    from divbench.core.files import atomic_file

    if destination.suffix != ".parquet":
        raise ConfigurationError(f"pairs are written to a .parquet file, not to {destination}", "--out NAME.parquet")
    pairs = conform(solution_path_pairs(read_questions(file), str(file)), PAIRS, str(file))
    if not len(pairs):
        raise InputError(f"{file} has no questions", "write one JSON object per line")
    with atomic_file(destination) as temporary:
        pq.write_table(pairs, temporary, compression="zstd")
    document = {"file": str(destination), "pairs": len(pairs)}
    say(document, f"{counted(len(pairs), 'pair')} in {destination}", as_json=json)


def _all() -> list[str]:
    from datasets_build.sources import DATASETS

    return [config.name for source in DATASETS for config in source.configs]


def _built() -> list[str]:
    """Return the names of the built datasets, in the order of `DATASETS`."""
    from datasets_build.load import data_folder
    from divbench.core.errors import ConfigurationError

    names = [name for name in _all() if (data_folder() / "data" / name).is_dir()]
    if not names:
        raise ConfigurationError(f"nothing is built in {data_folder()}", "build first: divbench data build")
    return names
