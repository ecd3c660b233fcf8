"""Makes results of values that others reported: classes and scores by NoveltyBench's judges, prompt by prompt.

They have the shape of all results, so they have intervals, tie groups and paired tests; their profile names the judge,
so they are in tables of their own. The responses may be missing: then facts about them are absent, not 0.
"""

from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import pyarrow as pa

from benchmark.metrics.metric import Missing
from benchmark.scoring.estimate import LEVEL
from benchmark.scoring.inputs import Materials, metrics_from, score_sets
from benchmark.scoring.per_prompt import (
    FACTS,
    REPORTED_CLASSES,
    reported_record,
    reported_schema,
    response_facts,
)
from benchmark.scoring.profiles import Profile
from benchmark.scoring.results import Counts, IntervalMethod, Result, ResultKey, sign
from benchmark.scoring.scorer import aggregates
from datasets_build.schema import Suite
from divbench.core.files import content_id
from submissions.checking.response_kinds import ResponseCounts
from submissions.schema import Manifest, Reported, Row

PREFIX = "noveltybench-"
# What made the values of each version, for signatures.
JUDGES = {
    "1.1": "NoveltyBench 1.1, as released: classes by gpt-5.6-luna, scores by claude-opus-5",
    "1.0": "NoveltyBench 1.0, as released: classes by its classifier (deberta-v3-large), scores by a reward model",
}
NEWEST = next(iter(JUDGES))


def judged_version(profile: str) -> str | None:
    """Return the version of NoveltyBench's metric whose values a profile's results have; None if they are computed.

    >>> judged_version("noveltybench-1.1"), judged_version("offline")
    ('1.1', None)
    """
    name = profile.removeprefix(PREFIX)
    return name if name != profile and name in JUDGES else None


def make_reported(
    manifest: Manifest,
    submission_id: str,
    suite: Suite,
    values: Mapping[str, Reported],
    rows: Mapping[str, Row] | None,
    k: int,
) -> tuple[Result, pa.Table]:
    """Make a result of one version's values of the first k responses; `rows` are the responses, if they are here."""
    (metric_version,) = {reported.version for reported in values.values()}
    metrics = metrics_from("reported")
    profile = Profile(f"{PREFIX}{metric_version}", f"judged by NoveltyBench {metric_version}", embedder=None)
    signed = (profile, suite, k, JUDGES[metric_version], None, metric_version)
    key = ResultKey(
        submission_id=submission_id,
        suite=f"{suite.name}@{suite.revision}",
        profile=profile.name,
        k=k,
        signatures=tuple(sign(metric, *signed) for metric in metrics),
        level=LEVEL,
        resamples=10_000,
        seed=0,
    )
    reported = [values[prompt.prompt_id].first(k) for prompt in suite.prompts]
    scores = score_sets(Materials([("",) * k] * len(reported), reported=reported), metrics)
    counts = None if rows is None else ResponseCounts()
    records = []
    for prompt, judged, of_prompt in zip(suite.prompts, reported, scores, strict=True):
        record: dict[str, Any] = {
            "prompt_id": prompt.prompt_id,
            "category": prompt.category,
            REPORTED_CLASSES: reported_record(judged),
        }
        if rows is not None and counts is not None:
            row = rows[prompt.prompt_id].first(k)
            counts.add(row)
            record[FACTS] = response_facts(row.responses)
        missing = {name: value.reason for name, value in of_prompt.items() if isinstance(value, Missing)}
        record |= {name: None if name in missing else value for name, value in of_prompt.items()}
        records.append(record | {"missing": [{"metric": name, "reason": why} for name, why in missing.items()]})
    table = pa.Table.from_pylist(records, reported_schema(metrics, has_facts=rows is not None))
    result = Result(
        result_id=content_id(key.as_json()),
        submission_id=submission_id,
        manifest=manifest,
        suite=suite.name,
        suite_revision=suite.revision,
        prompts=len(suite.prompts),
        profile=profile.name,
        k=k,
        divbench=version("divbench"),
        libraries={"numpy": version("numpy")},
        interval=IntervalMethod(level=key.level, resamples=key.resamples, seed=key.seed),
        counts=None if counts is None else Counts(**asdict(counts)),
        scores=aggregates(table, metrics, key),
        per_prompt_sha256="0" * 64,
    )
    return result, table
