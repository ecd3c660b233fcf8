"""Read NoveltyBench's files: the folder of a run, of one of its splits or versions, or a single file.

    RUN/nb-curated/generations.jsonl       the responses (nb-wildchat/ has the same files)
    RUN/nb-curated/v1.1/scores.jsonl       classes and scores by version 1.1 of the metric, and partitions.jsonl
    RUN/nb-curated/v1.1/summary.json       their means
    RUN/nb-curated/scores.jsonl            an older layout of version 1.0

Judged rows may repeat the responses, or leave them out; then they are joined with generations.jsonl by id. The values
of each version are kept apart, because another judge made them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from re import fullmatch
from statistics import fmean
from typing import Any

from datasets_build.schema import Suite
from divbench.core.errors import ConfigurationError, counted
from submissions.importing.imported import FACTS, GENERATION_CONFIG, Imported
from submissions.schema import Reported, Row
from submissions.untrusted.fields import Fields
from submissions.untrusted.findings import Findings, Rejected
from submissions.untrusted.json_files import read_jsonl, read_object

RESULTS = "hf://datasets/yimingzhang/novelty-bench/results"
VERSIONS = ("1.1", "1.0")  # the newest first
SPLITS = {"noveltybench-curated": "nb-curated", "noveltybench-wildchat": "nb-wildchat"}  # by suite
GENERATIONS, SCORES, PARTITIONS, SUMMARY = "generations.jsonl", "scores.jsonl", "partitions.jsonl", "summary.json"
VERSION_FOLDER = r"v\d{1,4}(\.\d{1,4})*"
CONVENTIONS = (0, 1, -1)  # the number of classes, less `distinct`
MAX_JUDGES = 3  # that are named
MAX_SUMMARY_BYTES = 64 * 2**10
TOLERANCE = 1e-6  # of the means in a summary
_OF_TEXTS = {"id", "prompt", "model", "generations", "generation_key", GENERATION_CONFIG}  # judged rows repeat them
_JUDGED = {"partition", "distinct", "generation_scores", "partition_scores", "utility", "unscored"}
_CONFIGS = ("partition_config", "score_config")  # fields that state the metric's version and the judge
_MODES = {"regenerate": "resample", "in-context": "in-context", "paraphrase": "paraphrase"}
_MODES |= {"system-prompt": "system-prompt"}
_MIXED = "files of two versions were mixed: import each separately"


@dataclass(frozen=True, slots=True)
class Run:
    """The files of a run that are read."""

    base: Path  # folder in relation to which messages name the files
    texts: Path | None  # the file with the responses; None if it is missing
    judged: tuple[tuple[str | None, tuple[Path, ...]], ...]  # files by version; None: no folder states the version
    unknown: tuple[str, ...] = ()  # folders of versions that are not read

    def name(self, path: Path) -> str:
        """Return a file's name in messages."""
        return path.relative_to(self.base).as_posix()


def find_run(path: Path, suite: str) -> Run:
    """Find the files of a run. In a folder with several splits, the suite chooses."""
    if not path.is_dir():
        return _of_file(path)
    folder = _split_folder(path, suite)
    only = version_of(folder)
    base = folder if only is None else folder.parent
    judged = []
    for version in (*VERSIONS, None) if only is None else (only,):
        place = base if version is None else base / f"v{version}"
        files = tuple(place / name for name in (SCORES, PARTITIONS) if (place / name).is_file())
        judged += [(version, files)] if files else []
    others = (place.name for place in base.glob("v*") if version_of(place) not in (None, *VERSIONS) and only is None)
    texts = [base / GENERATIONS] if (base / GENERATIONS).is_file() else []
    texts += [file for _, files in judged for file in files if _has(file, "generations")]
    if not texts and not judged:
        hint = f"give the file to import, or the folder of a run, with nb-curated/{GENERATIONS} and v1.1/{SCORES}"
        raise ConfigurationError(f"{path} has no files of NoveltyBench", hint)
    return Run(base, next(iter(texts), None), tuple(judged), tuple(sorted(others)))


def _of_file(path: Path) -> Run:
    """Find the generations that belong to one file: its own, or those beside it or beside its version's folder."""
    version = version_of(path.parent)
    base = path.parent if version is None else path.parent.parent
    texts: Path | None = path
    if not _has(path, "generations") and _has(path, "partition"):
        beside = (folder / GENERATIONS for folder in (path.parent, base))
        texts = next((file for file in beside if file.is_file()), None)
    return Run(base, texts, ((version, (path,)),))


def _split_folder(path: Path, suite: str) -> Path:
    """Return the folder of the suite's split if a run's folder is given; otherwise the given folder."""
    splits = {name: path / split for name, split in SPLITS.items() if (path / split).is_dir()}
    if not splits:
        return path
    if suite in splits or (suite not in SPLITS and len(splits) == 1):
        return splits.get(suite, next(iter(splits.values())))
    has = " and ".join(folder.name for folder in splits.values())
    raise ConfigurationError(f"{path} has {has}, and the suite is {suite}", f"choose --suite {' or '.join(splits)}")


def version_of(folder: Path) -> str | None:
    """Return the version of which a folder has the values, by its name."""
    return folder.name[1:] if fullmatch(VERSION_FOLDER, folder.name) else None


def _has(path: Path, name: str) -> bool:
    """Whether any row of a file has a field."""
    return any(name in raw for _, raw in read_jsonl(path, Findings()))


def read_noveltybench(path: Path, findings: Findings, suite: Suite | None = None) -> Imported:
    """Read NoveltyBench's files (versions 1.0 and 1.1 of its metric).

    Three conventions of `distinct` are in use: the highest label (version 1.0 of the code, one less than the number of
    classes), the number of classes (later versions), and one more (the paper's tables and older summaries). It is
    compared with the partition and converted to the number of classes. A file that mixes conventions is rejected.
    """
    run = find_run(path, "" if suite is None else suite.name)
    imported = Imported(names={"prompt_id": "id", "responses": "generations"})
    if run.texts is None:
        message = f"is missing beside {run.name(run.judged[0][1][0])}, which has classes but no responses"
        hint = f"add it; NoveltyBench has it as {RESULTS}/RUN/nb-curated/{GENERATIONS}"
        findings.error("file", GENERATIONS, None, "", message, hint)
        return imported
    imported.file = run.name(run.texts)
    for name in run.unknown:
        message = f"this version of the metric is unknown here: {' and '.join(VERSIONS)} are read"
        findings.warning("reported", name, None, "", message, "its values were left out")
    rows = _read_texts(run.texts, imported, findings)
    for stated, files in run.judged:
        judged = _Judged(run, imported.file, rows, findings)
        for file in files:
            judged.read(file, imported)
        if not judged.values:
            continue
        version = judged.version(stated)
        if any(version == other for _, other in imported.reported):
            message = f"has values of version {version}, as has its folder"
            findings.warning("reported", run.name(files[0]), None, "", message, "those in the folder were used")
            continue
        for prompt_id, (name, number, values) in judged.values.items():
            imported.reported[prompt_id, version] = name, number, replace(values, version=version)
        judged.check_summary(files[0], version)
        imported.reported_by = imported.reported_by or ", ".join(judged.judges)  # of the newest version
    if [*imported.sources.values()] == [path]:
        imported.sources.clear()
    return imported


def _read_texts(path: Path, imported: Imported, findings: Findings) -> dict[str, Mapping[str, Any]]:
    """Read the responses and what is stated about them; return the rows by prompt id."""
    rows: dict[str, Mapping[str, Any]] = {}
    name = imported.file
    imported.sources[name] = path
    for number, raw in read_jsonl(path, findings, name):
        fields = Fields(raw, name, number, findings)
        prompt_id, prompt, responses = fields.text("id"), fields.text("prompt"), fields.texts("generations")
        imported.note(number, _with_config(raw), _used(raw))
        if prompt_id is not None and prompt is not None and responses is not None:
            imported.rows.append(Row(number, prompt_id, prompt, responses))
            rows.setdefault(prompt_id, raw)
    return rows


def _used(raw: Mapping[str, Any]) -> set[str]:
    """Return the fields of a row that are used, besides those that describe the system."""
    stated = {name for name in _CONFIGS if isinstance(raw.get(name), dict)}
    return _OF_TEXTS | (_JUDGED | stated if "partition" in raw else set())


def _with_config(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with the fields of its `generation_config`; those that rows leave out are empty, and so differ."""
    config = raw.get(GENERATION_CONFIG)
    fields = dict(config) if isinstance(config, dict) else {}
    if isinstance(mode := fields.get("sampling"), str):
        fields["sampling"] = _MODES.get(mode, mode)
    if fields.get("model") == raw.get("model"):
        fields.pop("model", None)
    prefix = f"{GENERATION_CONFIG}."
    known = dict.fromkeys((name for name in FACTS if name.startswith(prefix)), "")
    return {**raw, **known, **{f"{prefix}{name}": value for name, value in fields.items() if value is not None}}


@dataclass(slots=True)
class _Judged:
    """The values of one version: their files, checked row by row."""

    run: Run
    texts: str  # name of the file with the responses
    rows: Mapping[str, Mapping[str, Any]]  # rows with the responses, by prompt id
    findings: Findings
    values: dict[str, tuple[str, int, Reported]] = field(default_factory=dict)  # by prompt id, with file and row
    stated: dict[str, tuple[str, int, str]] = field(default_factory=dict)  # by stated version: file, row and field
    signs: dict[str, tuple[str, int, str]] = field(default_factory=dict)  # likewise, of versions that values suggest
    judges: dict[str, None] = field(default_factory=dict)  # models that judged, in the order of the rows

    def read(self, path: Path, imported: Imported) -> None:
        """Read a file. Of a prompt that an earlier file has, only the classes are compared."""
        offsets: dict[int, int] = {}
        seen: dict[str, int] = {}
        name = self.run.name(path)
        for fields, prompt_id in self._judged_rows(path, name, seen):
            number, raw = fields.number, fields.raw
            reported = _reported(fields, offsets)
            imported.unused_fields |= raw.keys() - _used(raw) - FACTS.keys()
            self._note_version(fields, reported)
            if reported is not None and prompt_id in self.values:
                other, row, values = self.values[prompt_id]
                if other != name and values.partition != reported.partition:
                    message = f"differs from that in row {row} of {other}"
                    fields.problem("partition", message, "score the responses again", "reported")
            elif reported is not None:
                self.values[prompt_id] = name, number, reported
        imported.sources[name] = path
        if len(offsets) > 1:
            rows = " and ".join(f"row {row}" for row in sorted(offsets.values()))
            message = f"distinct differs from the number of classes by more in some rows than in others ({rows})"
            self.findings.error("reported", name, None, "distinct", message, _MIXED)

    def _judged_rows(self, path: Path, name: str, seen: dict[str, int]) -> Iterator[tuple[Fields, str]]:
        """Yield the rows that belong to responses; the file with the responses itself may have rows without classes."""
        own = path == self.run.texts  # then its rows were checked when the responses were read
        for number, raw in read_jsonl(path, Findings() if own else self.findings, name):
            fields = Fields(raw, name, number, self.findings)
            if own:
                prompt_id = raw.get("id")
                if "partition" in raw and isinstance(prompt_id, str):
                    yield fields, prompt_id
            elif (prompt_id := fields.text("id")) is not None and self._belongs(fields, prompt_id, seen):
                yield fields, prompt_id

    def _belongs(self, fields: Fields, prompt_id: str, seen: dict[str, int]) -> bool:
        """Whether a row is the first of its prompt, and of the responses that were read."""
        if (first := seen.setdefault(prompt_id, fields.number)) != fields.number:
            fields.problem("id", f"{prompt_id!r} already appears in row {first}", "write one row for each prompt")
            return False
        row = self.rows.get(prompt_id)
        if row is None:
            message = f"{prompt_id!r} has no responses in {self.texts}"
            fields.problem("id", message, "add them, or remove the row", "reported")
            return False
        of_texts = "generations" if "generations" in fields.raw else "generation_key"
        other = [name for name in ("prompt", of_texts) if name in fields.raw and fields.raw[name] != row.get(name)]
        if other:
            message = f"differs from that in {self.texts}: other responses were judged"
            fields.problem(other[0], message, "judge these responses, or import the judged ones", "reported")
        return not other

    def _note_version(self, fields: Fields, reported: Reported | None) -> None:
        """Note the version that a row states or, by conventions of one version, suggests."""
        raw, place = fields.raw, (fields.file, fields.number)
        for name in _CONFIGS:
            config: Mapping[str, Any] = value if isinstance(value := raw.get(name), dict) else {}
            if isinstance(version := config.get("version"), str):
                self.stated.setdefault(version, (*place, name))
            judge = config.get("judge_model")
            if isinstance(judge, str) and fullmatch(r"[\w./:@-]{1,60}", judge) and len(self.judges) < MAX_JUDGES:
                self.judges[judge] = None
        scores, distinct = raw.get("generation_scores"), raw.get("distinct")
        if "unscored" in raw or (isinstance(scores, list) and None in scores):
            self.signs.setdefault("1.1", (*place, "generation_scores"))
        elif isinstance(scores, list) and 0 in scores:
            self.signs.setdefault("1.0", (*place, "generation_scores"))
        if reported is not None and distinct == reported.distinct - 1:
            self.signs.setdefault("1.0", (*place, "distinct"))

    def version(self, folder: str | None) -> str:
        """Return the version of the values; what contradicts it is an error, and a guess a warning."""
        found = self.stated or self.signs
        version = folder or next(iter(found), VERSIONS[-1])
        file = next(iter(self.values.values()))[0]
        for other, (name, row, where) in found.items():
            if other != version and (self.stated or folder is None):
                message = f"is of version {other} of the metric, and other values or the folder are of {version}"
                self.findings.error("reported", name, row, where, message, _MIXED)
        if version not in VERSIONS:
            message = f"version {version[:40]!r} of the metric is unknown here"
            self.findings.error("reported", file, None, "", message, f"{' and '.join(VERSIONS)} are read")
        if folder is None and not found:
            message = f"nothing states the metric's version; {version} is a guess"
            hint = f"if it is another, put the file into a folder of its name, such as v{VERSIONS[0]}/{SCORES}"
            self.findings.warning("reported", file, None, "", message, hint)
        unscored = sum(values.unscored for *_, values in self.values.values())
        if unscored:
            message = f"the judge of {version} refused to score {unscored} of {counted(len(self.values), 'prompt')}"
            self.findings.warning("reported", file, None, "unscored", message, "they are in no reported mean")
        return version

    def check_summary(self, beside: Path, version: str) -> None:
        """Compare the means in a summary with those of the rows, which are used."""
        path = beside.with_name(SUMMARY)
        name = self.run.name(path)
        if beside.name not in (SCORES, PARTITIONS) or not path.exists():
            return
        summary = read_object(path, self.findings, MAX_SUMMARY_BYTES, name)
        scored = [values for *_, values in self.values.values() if not values.unscored]
        utilities = [values.utility for values in scored if values.utility is not None]
        distinct = [float(values.distinct) for values in scored]
        older = CONVENTIONS if version == "1.0" else (0,)
        for key, rows, offsets in (("mean_distinct", distinct, older), ("mean_utility", utilities, (0,))):
            stated = summary.get(key)
            if not rows or isinstance(stated, bool) or not isinstance(stated, int | float) or not isfinite(stated):
                continue
            mean = fmean(rows)
            if all(abs(mean - offset - stated) > TOLERANCE for offset in offsets):
                message = f"{stated!r}, but the mean over {counted(len(rows), 'prompt')} is {mean!r}"
                self.findings.warning("reported", name, None, key, message, "the rows were used: summarise them again")


def read_judgements(path: Path, version: str) -> dict[str, Reported]:
    """Read the classes and scores of a file by prompt id, whether or not it has the responses."""
    findings, offsets, values = Findings(), dict[int, int](), dict[str, Reported]()
    for number, raw in read_jsonl(path, findings):
        fields = Fields(raw, path.name, number, findings)
        prompt_id, reported = fields.text("id"), _reported(fields, offsets)
        if prompt_id in values:
            fields.problem("id", f"{prompt_id!r} appears twice", "write one row for each prompt")
        elif prompt_id is not None and reported is not None:
            values[prompt_id] = replace(reported, version=version)
    if findings.rejected():
        raise Rejected(str(path), findings)
    return values


def _reported(fields: Fields, offsets: dict[int, int]) -> Reported | None:
    """Return the reported values of one row, with `distinct` as the number of classes."""
    partition = fields.integers("partition")
    if partition is None:
        return None
    classes = len(set(partition))
    distinct = fields.integer("distinct") if fields.has("distinct") else None
    if partition and distinct is not None and classes - distinct in CONVENTIONS:
        offsets.setdefault(classes - distinct, fields.number)
    elif partition and distinct is not None:
        message = f"is neither the number of classes in the partition ({classes}), nor one less or more"
        fields.problem("distinct", message, "compute both from the same partition")
    scores = _scores(fields, partition)
    utility = fields.decimal("utility") if fields.has("utility") else None
    return Reported(partition, scores, classes, utility, unscored=_is_unscored(fields.raw))


def _is_unscored(raw: Mapping[str, Any]) -> bool:
    """Whether the judge refused to score a row: it is marked, or all its scores are null."""
    scores = raw.get("generation_scores")
    if not scores and raw.get("partition_scores") == [] and raw.get("partition"):
        return True
    return bool(raw.get("unscored")) or (isinstance(scores, list) and set(map(type, scores)) == {type(None)})


def _scores(fields: Fields, partition: tuple[int, ...]) -> tuple[float, ...] | None:
    """Return the scores of the classes' first responses, 0 for the others; None if the row has none.

    Version 1.1 writes null for the others, for all responses if its judge refused to score them, and every response's
    own score if its scorer is the reward model. `partition_scores` must repeat the scores of the first responses; they
    suffice if the others are left out.
    """
    if _is_unscored(fields.raw) and not any(fields.raw.get(name) for name in ("partition_scores", "utility")):
        return None
    firsts = {label: partition.index(label) for label in dict.fromkeys(partition)}
    heads = fields.numbers("partition_scores") if fields.has("partition_scores") else None
    if not fields.has("generation_scores"):
        if heads is not None and len(heads) != len(firsts):
            message = f"{counted(len(heads), 'score')} for {counted(len(firsts), 'class', 'classes')}"
            fields.problem("partition_scores", message, "give one per class, in the order of their first responses")
            return None
        by_place = dict(zip(firsts.values(), heads or (), strict=False))
        return None if heads is None else tuple(by_place.get(place, 0.0) for place in range(len(partition)))
    scores = fields.numbers("generation_scores", null_as=0.0)
    if scores is None or len(scores) != len(partition):
        return scores
    if fields.has("partition_scores") and heads != tuple(scores[i] for i in firsts.values()):
        fields.problem("partition_scores", "differ from generation_scores", "compute both from the same scores")
    return tuple(score if firsts[partition[i]] == i else 0.0 for i, score in enumerate(scores))
