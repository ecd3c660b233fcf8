"""A result: the schema of `result.json` (aggregates with intervals, counts, signatures), and reading its folder."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, StringConstraints, ValidationError

from benchmark.metrics import Metric
from benchmark.metrics.metric import Missing
from benchmark.models.devices import ModelRun
from benchmark.scoring.internals_file import HowRead, Part
from benchmark.scoring.profiles import Profile
from datasets_build.schema import Suite
from divbench.core.errors import InputError, first_fault
from divbench.core.files import sha256_of
from submissions.schema import MAX_K, Line, Manifest
from submissions.untrusted.json_files import strict_json

RESULT_FILE = "result.json"
PER_PROMPT_FILE = "per_prompt.parquet"
MAX_RESULT_BYTES = 4 * 2**20
# These become names of files and columns, and results can be untrusted.
Word = Annotated[str, StringConstraints(max_length=100, pattern=r"^[a-z0-9][a-z0-9_-]*$")]
ProfileName = Annotated[str, StringConstraints(max_length=100, pattern=r"^[a-z0-9][a-z0-9_-]*(\.[0-9]+)*$")]
Hex = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{12,64}$")]
# Ranges far beyond what occurs: a number or text outside would break a figure, a file format or a page.
Version = Annotated[int, Field(ge=1, lt=10**6)]
K = Annotated[int, Field(ge=1, le=MAX_K)]
Count = Annotated[int, Field(ge=0, lt=2**31)]
MOST = 1e150  # whose square is finite
Real = Annotated[float, Field(gt=-MOST, lt=MOST)]
Seed = Annotated[int, Field(ge=-(2**128), lt=2**128)]
Said = Annotated[str, StringConstraints(max_length=2000)]
Reasons = Annotated[dict[Said, Count], Field(max_length=1000)]


def _bounded(run: ModelRun) -> ModelRun:
    """Reject a run beyond the ranges above. (The module of runs avoids pydantic, which a GPU machine may lack.)"""
    texts = [text for text in (run.model, run.device, run.dtype, run.torch, *run.fallbacks) if text is not None]
    if len(texts) > 1000 or max(map(len, texts)) > 2000:
        raise ValueError("at most 1,000 texts of 2,000 characters")
    if not all(0 <= number < 2**31 for number in (run.batch_tokens or 0, run.prompts)):
        raise ValueError("tokens and prompts must be from 0 to 2^31")
    return run


Run = Annotated[ModelRun, AfterValidator(_bounded)]


@cache
def package_version() -> str:
    """Return this package's version as major.minor: a patch release never changes a number."""
    return ".".join(version("divbench").split(".")[:2])


def _pairs(value: Any) -> Any:
    return tuple(value.items()) if isinstance(value, dict) else value


def signature_parts(
    version: int,
    parameters: Iterable[tuple[str, str]],
    models: Iterable[str],
    profile: str | None = None,
    suite: str | None = None,
    k: int | None = None,
    *,
    divbench: str | None = None,
) -> tuple[str, ...]:
    """Return the parts of a signature as text, each with its name; those that are None are left out."""
    named = [("v", version), *parameters, ("profile", profile), *(("model", model) for model in models)]
    named += [("data", suite), ("k", k), ("divbench", divbench or package_version())]
    return tuple(f"{name}:{value}" for name, value in named if value is not None)


def signature_line(metric: Metric, profile: Profile) -> str:
    """Return the signature of a metric's values without suite and k."""
    models, parameters = profile.signed(metric)
    return "|".join((metric.id, *signature_parts(metric.version, parameters, models, profile.name)))


class Signature(Part):
    """Everything that a number depends on except the texts. Numbers with different signatures never share a column."""

    metric: Word
    version: Version
    # Names and values, the metric's own first; an object in JSON.
    parameters: Annotated[
        tuple[tuple[Said, Said], ...], Field(max_length=100), BeforeValidator(_pairs), PlainSerializer(dict)
    ]
    profile: ProfileName
    models: Annotated[tuple[Said, ...], Field(max_length=100)]
    suite: Said  # suite and its revision, `name@revision`
    k: K
    divbench: Line  # version of this package, major.minor

    @property
    def parts(self) -> tuple[str, ...]:
        """Parts of the signature other than the metric, each with its name, such as `k:10`."""
        return signature_parts(
            self.version, self.parameters, self.models, self.profile, self.suite, self.k, divbench=self.divbench
        )

    def __str__(self) -> str:
        """Return one line, such as `vendi_score|v:1|q:1|…|k:10|divbench:0.1`."""
        return "|".join((self.metric, *self.parts))


def sign(
    metric: Metric,
    profile: Profile,
    suite: Suite,
    k: int,
    reported_by: str | None,
    read: HowRead | None = None,
    reported_version: str | None = None,
) -> Signature:
    """Return the signature of a metric's numbers."""
    prompts = (prompt.prompt for prompt in suite.prompts)
    models, parameters = profile.signed(metric, reported_by, read, reported_version, prompts)
    return Signature(
        metric=metric.id,
        version=metric.version,
        parameters=parameters,
        profile=profile.name,
        models=models,
        suite=f"{suite.name}@{suite.revision}",
        k=k,
        divbench=package_version(),
    )


class Aggregate(Part):
    """One metric over all prompts of a submission."""

    metric: Word
    version: Version
    direction: Literal[1, 0, -1]
    value: Real | None  # mean over the prompts that have a value; None if none has
    low: Real | None  # lower end of the 95% interval; None if fewer than two prompts have a value
    high: Real | None  # upper end of the 95% interval; None in the same case
    n: Count
    missing: Reasons
    origin: Literal["computed", "reported"]
    signature: Signature


class OrderError(Part):
    """Standard errors due to the choice of response orders, relative to means over all orders (response_orders.py)."""

    orders: Said  # order plan, such as `balanced-1-seed:42`
    sets: Count
    a_n: Real | None  # standard error of the mean of a_n over prompts, bits/byte; None if it cannot be estimated
    # Standard error of the mean curve (root mean square over positions); None also for endpoint orders.
    curve: Real | None
    a_n_of_one: Real | None  # standard error of one prompt's a_n (root mean square over prompts)
    curve_of_one: Real | None  # standard error of one prompt's curve, likewise


class Counts(Part):
    """Numbers of prompts and responses, and of responses that are blank, invalid and so on."""

    prompts: Count
    responses: Count
    blank: Count
    placeholder: Count
    refused: Count = 0
    cut_off: Count
    repeated: Count
    # Number of responses that are not valid, by reason; None where validity was not judged.
    invalid: Reasons | None = None
    # Number of responses of which the embedder read only the beginning; None where it was not counted.
    beyond: Annotated[Count | None, Field(exclude_if=lambda value: value is None)] = None


class IntervalMethod(Part):
    """How the intervals were made."""

    method: Literal["percentile bootstrap over prompts"] = "percentile bootstrap over prompts"
    level: Annotated[float, Field(gt=0, lt=1)]
    resamples: Annotated[int, Field(ge=1, lt=10**9)]
    seed: Seed


class Result(Part):
    """The content of `result.json`. It has no timestamps, so the same input gives the same bytes.

    `provenance` says how models ran; it is not part of the result's identity, and empty in older results.
    """

    schema_version: Literal[2] = 2
    result_id: Hex
    submission_id: Hex
    manifest: Manifest
    suite: Word
    suite_revision: Hex
    prompts: Annotated[int, Field(ge=1, lt=10**9)]
    profile: ProfileName
    k: K
    divbench: Line
    libraries: Annotated[dict[Line, Line], Field(max_length=1000)]
    interval: IntervalMethod
    counts: Counts | None  # None: of reported values whose responses are not here
    scores: Annotated[list[Aggregate], Field(max_length=1000)]
    order_error: OrderError | None = None
    provenance: Annotated[list[Run], Field(max_length=1000)] = Field(default_factory=list)
    per_prompt_sha256: Hex


@dataclass(frozen=True, slots=True)
class ResultKey:
    """Identity of a result: equal keys mean equal results. Other files count by their digests."""

    submission_id: str
    suite: str
    profile: str
    k: int
    signatures: tuple[Signature, ...]
    level: float
    resamples: int
    seed: int
    internals: str | None = None
    stated: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the key as JSON, to be hashed."""
        key = {field.name: getattr(self, field.name) for field in fields(self)}
        if self.stated is None:  # as before there was the field
            del key["stated"]
        return key | {"signatures": list(map(str, self.signatures))}


def require_result(folder: Path) -> Result:
    """Read the result in a folder."""
    if not (folder / RESULT_FILE).is_file():
        hint = "give a folder that divbench score wrote, such as results/0123456789abcdef"
        raise InputError(f"there is no result in {folder}", hint)
    result = read_result(folder)
    if isinstance(result, Missing):
        raise InputError(f"{folder} is not a complete result: {result.reason}", "score the submission again")
    return result


def read_result(folder: Path) -> Result | Missing:
    """Read the result in a folder; return `Missing` with a reason if its files are damaged or inconsistent."""
    path = folder / RESULT_FILE
    try:
        if path.stat().st_size > MAX_RESULT_BYTES:
            return Missing(f"{RESULT_FILE} has more than {MAX_RESULT_BYTES:,} bytes")
        text = path.read_bytes().decode("utf-8")
        strict_json(text)
        result = Result.model_validate_json(text)
        if sha256_of(folder / PER_PROMPT_FILE) != result.per_prompt_sha256:
            return Missing(f"{PER_PROMPT_FILE} is not the one that {RESULT_FILE} names")
    except ValidationError as error:
        return Missing(f"{RESULT_FILE}: {first_fault(error)}")
    except (OSError, ValueError, RecursionError) as error:
        return Missing(str(error))
    return result
