"""What `python -m benchmark.perf` keeps of each benchmark, and the report that is made of what is kept."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Size = Literal["quick", "full"]
Better = Literal["higher", "lower", "neither"]
State = Literal["measured", "failed", "skipped"]
Positive = Annotated[float, Field(ge=0)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Machine(_Part):
    """What the numbers are of. Neither its name nor a path is in it.

    Attributes:
        processor: Its model.
        architecture: Such as x86_64.
        system: Such as Linux.
        cores: That the process may use.
        memory_gb: Of the machine, in 10⁹ bytes.
        gpus: Their names.
        threads: What OMP_NUM_THREADS says; None: nothing, and libraries take all cores.
    """

    processor: str
    architecture: str
    system: str
    cores: int
    memory_gb: Positive
    gpus: tuple[str, ...]
    threads: str | None


class Figure(_Part):
    """A number that was measured.

    Attributes:
        what: It is, in words.
        value: In its unit.
        unit: *times* for a ratio, whose parts were measured side by side in one run.
        better: Whether more or less of it is.
    """

    what: str
    value: float
    unit: str
    better: Better


class Share(_Part):
    """How far something is from what the machine can do at most.

    Attributes:
        what: It is, in words.
        achieved: In its unit.
        limit: Likewise; measured in the same run, or one for certain, such as two cores' for twice one's.
        unit: Of both.
        share: The first over the second.
    """

    what: str
    achieved: Positive
    limit: Positive
    unit: str
    share: Positive


class Findings(_Part):
    """What a benchmark's document says.

    Attributes:
        compared: What was measured, and with what it was compared.
        ratios: Of things that were measured side by side: these hold elsewhere, too, more or less.
        numbers: Of this machine, in the state that it was in.
        shares: Of physical limits, where there are any.
    """

    compared: str
    ratios: tuple[Figure, ...] = ()
    numbers: tuple[Figure, ...] = ()
    shares: tuple[Share, ...] = ()


class Kept(_Part):
    """A benchmark that has been run: a file, so that a run that was broken off goes on with the others.

    Attributes:
        schema_version: Of this file.
        name: The benchmark's.
        size: That was run.
        arguments: It was run with, but for those that name files.
        mirror: Whether released files were at hand.
        machine: On which.
        versions: Of libraries, and of this package.
        began: When, UTC.
        seconds: It took, its start included.
        load_before: Processes that ran or wanted to, over the last minute.
        load_after: Likewise, itself included.
        document: What it printed.
    """

    schema_version: Literal[1] = 1  # another one is not read
    name: str
    size: Size
    arguments: tuple[str, ...]
    mirror: bool
    machine: Machine
    versions: dict[str, str]
    began: datetime
    seconds: Positive
    load_before: Positive
    load_after: Positive
    document: Any


class Entry(_Part):
    """A benchmark in the report.

    Attributes:
        name: Its name.
        about: What it measures, in one sentence.
        needs: In words.
        state: Of it.
        reason: Why it was not measured.
        command: That measures it.
        size: As in `Kept`, like the rest; None where it was not measured.
        began: When.
        seconds: It took.
        load_before: Load.
        load_after: Load.
        findings: What it says.
    """

    name: str
    about: str
    needs: str
    state: State
    reason: str | None = None
    command: str
    size: Size | None = None
    began: datetime | None = None
    seconds: Positive | None = None
    load_before: Positive | None = None
    load_after: Positive | None = None
    findings: Findings | None = None


class Report(_Part):
    """All benchmarks, on one machine.

    Attributes:
        schema_version: Of this document.
        made: When, UTC.
        machine: On which.
        versions: Of libraries, and of this package.
        threads: That torch uses; None where limits were not measured.
        entries: One a benchmark, in the suite's order.
    """

    schema_version: Literal[1] = 1  # another one is not read
    made: datetime
    machine: Machine
    versions: dict[str, str]
    threads: int | None
    entries: tuple[Entry, ...]
