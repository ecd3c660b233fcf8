"""Good submissions with bytes flipped, cut and spliced, values replaced, columns retyped: rejected, or whole."""

import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from submissions.schema import GENERATIONS, REPORTED
from submissions.storage.submission_folders import GENERATIONS_FILE, MANIFEST_FILE, REPORTED_FILE
from tests.submissions.fuzzing import TARGETS, check_submission, footer_of, good_files, scratch, seeds, with_true_length

Edits = list[tuple[str, float, float, bytes]]  # what is done, at which share of a file, another share, and a piece
KINDS = ["flip", "cut", "insert", "copy", "zero"]
PIECE = st.binary(min_size=1, max_size=9)


def edits(kinds: list[str]) -> st.SearchStrategy[Edits]:
    return st.lists(st.tuples(st.sampled_from(kinds), st.floats(0, 1), st.floats(0, 1), PIECE), min_size=1, max_size=6)


VALUE: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([2**31, 2**63, 10**300, -1])
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["\x1b[2J", "\u202e", "../../x", "=1+1", "x" * 5000, "\ud800", "own", "demo"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=6,
)
LETTERS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
TEXTS = st.none() | LETTERS | st.sampled_from(["toy-0", "toy-1", "a", "[Blocked]"])
NUMBERS = st.none() | st.integers(-(2**31), 2**31 - 1) | st.integers(0, 3)
FLOATS = st.none() | st.floats() | st.integers(0, 10).map(float)
TYPES: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.string(), TEXTS),
    (pa.large_string(), TEXTS),
    (pa.string_view(), TEXTS),
    (pa.list_(pa.string()), st.none() | st.lists(TEXTS, max_size=4)),
    (pa.large_list(pa.large_string()), st.none() | st.lists(TEXTS, max_size=4)),
    (pa.list_(pa.int32()), st.none() | st.lists(NUMBERS, max_size=4)),
    (pa.list_(pa.float64()), st.none() | st.lists(FLOATS, max_size=4)),
    (pa.int32(), NUMBERS),
    (pa.int64(), NUMBERS),
    (pa.float64(), FLOATS),
    (pa.bool_(), st.none() | st.booleans()),
    (pa.null(), st.none()),
    (pa.binary(), st.none() | st.binary(max_size=4)),
    (pa.dictionary(pa.int32(), pa.string()), TEXTS),
    (pa.struct([("a", pa.string())]), st.none() | st.fixed_dictionaries({"a": TEXTS})),
]
OF_TYPE = {str(kind): values for kind, values in TYPES}
# But for how they lie in memory.
SAME = {"large_string": "string", "string_view": "string", "large_list<item: large_string>": "list<item: string>"}
PARTS = ["", "system", "generation", "submitter", "origin"]
FIELDS = ["name", "suite", "type", "k", "date", "links", "stop", "seed", "parameters", "temperature", "format", "notes"]


def edited(data: bytes, changes: Edits) -> bytes:
    """Some pieces of a file changed."""
    made = bytearray(data)
    for what, first, second, piece in changes:
        at, other = int(first * len(made)), int(second * len(made))
        if what == "flip" and made:
            made[min(at, len(made) - 1)] ^= piece[0] or 1
        elif what == "cut":
            del made[at : at + int(second * 40)]
        elif what == "insert":
            made[at:at] = piece
        elif what == "copy":
            made[at : at + len(piece)] = made[other : other + len(piece)]
        else:
            made[at : at + len(piece)] = bytes(len(piece))
    return bytes(made)


@pytest.mark.parametrize("target", TARGETS)
@settings(derandomize=True, max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data(), changes=edits(KINDS))
def test_bytes_flipped_cut_and_spliced(target: str, data: st.DataObject, changes: Edits) -> None:
    if target == "inspect":
        pytest.importorskip("inspect_ai", reason="Inspect is not installed: pip install 'divbench[inspect]'")
    changed = edited(data.draw(st.sampled_from(seeds(target))), changes)
    with scratch() as folder:
        TARGETS[target](folder, changed)


@pytest.mark.parametrize("file", [GENERATIONS_FILE, REPORTED_FILE])
@settings(derandomize=True, max_examples=25)
@given(data=st.data(), changes=edits(KINDS))
def test_footers_flipped_cut_and_spliced(file: str, data: st.DataObject, changes: Edits) -> None:
    # The length of the footer stays right: else nothing behind it would ever be looked at.
    good = data.draw(st.sampled_from(good_files()[file]))
    place = footer_of(good)
    changed = good[:place] + edited(good[place:-8], changes) + good[-8:]
    with scratch() as folder:
        check_submission(folder, {file: with_true_length(changed, place)})


@pytest.mark.parametrize("file", [GENERATIONS_FILE, REPORTED_FILE])
@settings(derandomize=True, max_examples=25)
@given(data=st.data(), changes=edits(["flip", "copy", "zero"]))
def test_pages_flipped_and_spliced(file: str, data: st.DataObject, changes: Edits) -> None:
    good = data.draw(st.sampled_from(good_files()[file]))
    place = footer_of(good)
    pages = edited(good[4:place], changes)[: place - 4]
    with scratch() as folder:
        check_submission(folder, {file: good[:4] + pages + good[place:]})


@settings(derandomize=True, max_examples=25)
@given(st.sampled_from(PARTS), st.sampled_from([*FIELDS, "x"]), VALUE)
@example("generation", "seed", 10**4000)
@example("generation", "k", 10**400)
@example("system", "parameters", 10**4000)
@example("", "name", "\ud800")
@example("", "suite", "own")
@example("", "suite", "demo")
def test_values_of_the_manifest_replaced(part: str, field: str, value: Any) -> None:
    manifest = json.loads(good_files()[MANIFEST_FILE][0])
    if part and not isinstance(manifest.get(part), dict):
        manifest[part] = {}
    (manifest[part] if part else manifest)[field] = value
    with scratch() as folder:
        check_submission(folder, {MANIFEST_FILE: json.dumps(manifest).encode()})


@pytest.mark.parametrize(("file", "schema"), [(GENERATIONS_FILE, GENERATIONS), (REPORTED_FILE, REPORTED)])
@settings(derandomize=True, max_examples=25)
@given(data=st.data())
def test_columns_renamed_retyped_and_filled(file: str, schema: pa.Schema, data: st.DataObject) -> None:
    fields, columns = [], []
    rows = data.draw(st.integers(0, 6))
    for field in schema:
        kind, values = data.draw(st.sampled_from([(field.type, OF_TYPE[str(field.type)])] * 8 + TYPES))
        name = data.draw(st.sampled_from([field.name] * 8 + ["prompt", "x", "", "a.b", "\x1b[2J", field.name.upper()]))
        fields.append(pa.field(name, kind))
        columns.append(pa.array(data.draw(st.lists(values, min_size=rows, max_size=rows)), kind))
    out = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_arrays(columns, schema=pa.schema(fields)), out)
    with scratch() as folder:
        report = check_submission(folder, {file: out.getvalue().to_pybytes()})
    assert report is not None
    of_this = {p.check for p in report.findings.problems if p.file == file}
    wanted = {field.name: str(field.type) for field in schema}
    empty = {(field.name, "null") for field in schema if field.nullable}  # nothing but nulls is of every type
    kinds = [(field.name, SAME.get(str(field.type), str(field.type))) for field in fields]
    found = sorted((name, wanted[name] if (name, kind) in empty else kind) for name, kind in kinds)
    right = found == sorted(wanted.items())
    assert right == ("schema" not in of_this)
