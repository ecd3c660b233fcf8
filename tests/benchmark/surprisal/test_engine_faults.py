"""What goes wrong around a model: texts too long, memory too small, numbers that are none, files, the cache."""

import json
import re
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmark.metrics.metric import Missing
from benchmark.models.causal_lm import Encoding, Floats, TokenSequence
from benchmark.models.hf_lm import HFCausalLM, find_causal_lm_spec, load_causal_lm
from benchmark.surprisal.cache import SurprisalCache
from benchmark.surprisal.engine import OrderPlan, ResponseSet, SetSurprisals, read_sets
from benchmark.surprisal.prompt_layout import PAPER_INSTRUCT, Layout
from divbench.core.errors import ConfigurationError
from tests.benchmark.fakes import HashLM
from tests.benchmark.lms import Wrapped, lm_of, model_of, one_thread, random_model, tokeniser

__all__ = ["one_thread"]  # a fixture

LONG = ResponseSet("Say one.", tuple(f"№ {i}, {i * 'and on '}to its end." for i in range(8)))
SHORT = [ResponseSet(f"Say {i or 'one'}.", ("The lamp.", "A stone.", f"Item {i}.")) for i in range(6)]
SETS = [*SHORT[:3], LONG, *SHORT[3:]]


@pytest.fixture(scope="module")
def lm() -> HFCausalLM:
    return lm_of("gpt2")


@pytest.fixture(scope="module")
def found(lm: HFCausalLM) -> list[SetSurprisals | Missing]:
    """What is to be found, where nothing goes wrong."""
    return read_sets(SETS, lm)


def assert_same(some: Sequence[SetSurprisals | Missing], others: Sequence[SetSurprisals | Missing]) -> None:
    for one, other in zip(some, others, strict=True):
        assert isinstance(one, SetSurprisals)
        assert isinstance(other, SetSurprisals)
        assert one.surprisals.bits == pytest.approx(other.surprisals.bits, abs=1e-3)
        assert one.surprisals.unconditional == pytest.approx(other.surprisals.unconditional, abs=1e-3)


def assert_all_but_the_long(
    got: Sequence[SetSurprisals | Missing], reason: str, wanted: Sequence[SetSurprisals | Missing]
) -> None:
    assert got[3] == Missing(reason)
    assert_same([*got[:3], *got[4:]], [*wanted[:3], *wanted[4:]])


def test_a_set_longer_than_the_context_is_missing_alone(lm: HFCausalLM, found: list[SetSurprisals | Missing]) -> None:
    seen = Wrapped(lm)
    read_sets(SETS, seen)
    longest = max(len(ids) for call in seen.asked for ids in call)
    seen.context = longest
    assert_same(read_sets(SETS, seen), found)
    seen.context = longest - 1
    assert_all_but_the_long(read_sets(SETS, seen), "longer than the model's context", found)


def test_no_responses_are_no_answer(lm: HFCausalLM) -> None:
    assert read_sets([ResponseSet("Say one.", ())], lm) == [Missing("no response")]
    assert read_sets([], lm) == []


@pytest.mark.parametrize("limit", [2000, 900, 500])
def test_a_batch_that_does_not_fit_is_halved_until_it_does(
    lm: HFCausalLM, found: list[SetSurprisals | Missing], limit: int
) -> None:
    small = Wrapped(lm, batch_tokens=100_000, limit=limit)
    assert_same(read_sets(SETS, small), found)
    assert any(sum(map(len, call)) > limit for call in small.asked)


class Short(Wrapped):
    """Runs out of memory by long sequences alone, as attention that grows with the square of the length does."""

    def surprisals(self, sequences: Sequence[TokenSequence]) -> list[Floats]:
        self.limit = 0 if max(len(each.ids) for each in sequences) > 150 else None
        return super().surprisals(sequences)


def test_one_set_that_fits_on_no_device_does_not_lower_the_budget(
    lm: HFCausalLM, found: list[SetSurprisals | Missing]
) -> None:
    small = Short(lm, batch_tokens=1000)
    assert_all_but_the_long(read_sets(SETS, small), "out of memory, one sequence at a time", found)
    assert small.batch_tokens == 1000


def test_numbers_that_are_none_cost_their_set_alone(lm: HFCausalLM, found: list[SetSurprisals | Missing]) -> None:
    poisoned = Wrapped(lm, poison=lm.encode(["№"])[0].ids.tolist())
    assert_all_but_the_long(read_sets(SETS, poisoned), "the model gave conditional bits that are not finite", found)


def test_numbers_that_are_none_do_not_spread_over_shared_beginnings() -> None:
    sets = [ResponseSet("Say one.", ("The lamp.", f"A {bad}.")) for bad in ("№", "longer one")]
    model = random_model("llama", len(tokeniser("gpt2")))
    lm = HFCausalLM(model, tokeniser("gpt2"), "llama")
    found = read_sets(sets, lm)
    with torch.no_grad():
        model.get_input_embeddings().weight[lm.encode(["№"])[0].ids[0]] = torch.nan
    bad, good = read_sets(sets, lm)
    assert bad == Missing("the model gave conditional bits that are not finite")
    assert_same([good], found[1:])


def save(folder: Path) -> Path:
    """A model as people have them."""
    model_of("gpt2").save_pretrained(folder)
    tokeniser("gpt2").save_pretrained(folder)
    return folder


def test_a_folder_gives_the_numbers_of_what_was_saved(tmp_path: Path, found: list[SetSurprisals | Missing]) -> None:
    spec = find_causal_lm_spec(str(save(tmp_path / "mine")))
    loaded = load_causal_lm(spec)
    assert loaded.signature == spec.signature
    assert re.fullmatch(r"mine@[0-9a-f]{12},float32,cpu,sdpa", spec.signature)
    assert_same(read_sets(SETS, loaded), found)


@pytest.mark.parametrize("name", ["org/name", "org/name@main", "org/name@v1.0", f"org/name@{'a' * 39}"])
def test_a_model_on_the_hub_must_be_pinned(name: str) -> None:
    with pytest.raises(ConfigurationError, match="not pinned"):
        find_causal_lm_spec(name)


@pytest.mark.parametrize(
    ("file", "changes"),
    [
        ("config.json", {"model_type": "new", "auto_map": {"AutoConfig": "code.A", "AutoModelForCausalLM": "code.A"}}),
        ("tokenizer_config.json", {"tokenizer_class": "New", "auto_map": {"AutoTokenizer": ["code.A", "code.A"]}}),
    ],
)
def test_code_that_comes_with_weights_is_not_run(tmp_path: Path, file: str, changes: dict[str, Any]) -> None:
    folder, ran = save(tmp_path / "mine"), tmp_path / "ran"
    config = json.loads((folder / file).read_text(encoding="utf-8"))
    (folder / file).write_text(json.dumps(config | changes), encoding="utf-8")
    (folder / "code.py").write_text(f"open({str(ran)!r}, 'w').close()\nA = dict\n", encoding="utf-8")
    # A tokeniser is read from its data, whatever code there is besides.
    refused = pytest.raises(ConfigurationError, match="remote code") if file == "config.json" else nullcontext()
    with refused:
        load_causal_lm(find_causal_lm_spec(str(folder)))
    assert not ran.exists()


def test_a_tokeniser_with_more_ids_than_the_model_has_embeddings_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="ids up to 599, the model 599 embeddings"):
        HFCausalLM(random_model("llama", 599), tokeniser("gpt2"), "llama")


class NoOffsets(Wrapped):
    def encode(self, texts: Sequence[str], **options: Any) -> list[Encoding]:
        return [Encoding(each.ids, None) for each in super().encode(texts, **options)]


def test_published_boundaries_need_offsets(lm: HFCausalLM, found: list[SetSurprisals | Missing]) -> None:
    with pytest.raises(ConfigurationError, match="returns character offsets"):
        read_sets(SETS, NoOffsets(lm), PAPER_INSTRUCT)
    assert_same(read_sets(SETS, NoOffsets(lm)), found)


def numbers(found: Sequence[SetSurprisals | Missing]) -> list[bytes]:
    return [
        each.surprisals.bits.tobytes() + each.surprisals.unconditional.tobytes()
        for each in found
        if isinstance(each, SetSurprisals)
    ]


@pytest.fixture
def cache(tmp_path: Path) -> SurprisalCache:
    return SurprisalCache(tmp_path / "some" / "where.sqlite")


def test_what_was_read_is_not_read_again(lm: HFCausalLM, cache: SurprisalCache) -> None:
    first, second = Wrapped(lm, batch_tokens=500), Wrapped(lm)
    found = read_sets(SETS, first, cache=cache)
    again = read_sets(SETS[::-1], second, cache=cache)
    assert first.asked
    assert not second.asked
    assert numbers(again[::-1]) == numbers(found)
    assert len(numbers(found)) == len(SETS)


@pytest.mark.parametrize(
    "read",
    [
        partial(read_sets, layout=Layout("completion")),
        partial(read_sets, layout=PAPER_INSTRUCT),
        partial(read_sets, layout=Layout(bos="never")),
        partial(read_sets, plan=OrderPlan(count=2)),
        partial(read_sets, plan=OrderPlan(seed=1)),
        partial(read_sets, plan=OrderPlan("uniform", 3)),
    ],
)
def test_what_was_read_otherwise_is_read_again(
    cache: SurprisalCache, read: Callable[..., list[SetSurprisals | Missing]]
) -> None:
    found = read_sets(SHORT, HashLM(), cache=cache)
    seen = Wrapped(HashLM())
    read(SHORT, seen, cache=cache)
    assert seen.asked
    seen = Wrapped(HashLM())
    seen.signature = "another"
    read_sets(SHORT, seen, cache=cache)
    assert seen.asked
    assert numbers(read_sets(SHORT, HashLM(), cache=cache)) == numbers(found)


def test_what_could_not_be_read_is_tried_again(
    lm: HFCausalLM, cache: SurprisalCache, found: list[SetSurprisals | Missing]
) -> None:
    assert isinstance(read_sets(SETS, Wrapped(lm, limit=150), cache=cache)[3], Missing)
    again = Wrapped(lm)
    assert_same(read_sets(SETS, again, cache=cache), found)
    assert len(again.asked) == 1


def test_a_kill_keeps_what_was_done(
    lm: HFCausalLM, cache: SurprisalCache, found: list[SetSurprisals | Missing]
) -> None:
    def kill(done: int) -> None:
        if done >= 4:
            raise KeyboardInterrupt

    whole, first, second = (Wrapped(lm, batch_tokens=400) for _ in range(3))
    read_sets(SETS, whole)
    with pytest.raises(KeyboardInterrupt):
        read_sets(SETS, first, cache=cache, progress=kill)
    assert_same(read_sets(SETS, second, cache=cache), found)
    assert first.asked + second.asked == whole.asked
    assert second.asked


@pytest.mark.parametrize("content", [b"no database at all, but long enough to be one" * 9, b"SQLite format 3\0cut"])
def test_a_broken_cache_is_named(cache: SurprisalCache, content: bytes) -> None:
    cache.path.parent.mkdir()
    cache.path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"where\.sqlite cannot be used"):
        read_sets(SHORT, HashLM(), cache=cache)


@pytest.mark.parametrize("column", ["bits", "alone"])
def test_damaged_numbers_are_read_again(cache: SurprisalCache, column: str) -> None:
    """SQLite notices a damaged page only if it has pointers."""
    found = read_sets(SHORT, HashLM(), cache=cache)
    with closing(sqlite3.connect(cache.path)) as database:
        ((content,),) = database.execute(f"SELECT {column} FROM surprisals LIMIT 1").fetchall()  # noqa: S608
    raw = cache.path.read_bytes()
    cache.path.write_bytes(raw.replace(content, b"\x01" + content[1:]))
    seen = Wrapped(HashLM())
    assert numbers(read_sets(SHORT, seen, cache=cache)) == numbers(found)
    assert len(seen.asked) == 1


PUT = """
import sys; from pathlib import Path; import numpy as np; from benchmark.surprisal.cache import SurprisalCache
cache, who = SurprisalCache(Path(sys.argv[1])), sys.argv[2]
for i in range(40):
    cache.put([(f"{who} {i}", np.full((2, 3), float(i)), np.zeros(3)), ("of both", np.ones((1, 1)), np.ones(1))])
"""
