"""The language model that ships here: what its card says of it, and that its scripts still make such a one."""

import csv
import gzip
import json
import math
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.metrics.surprisal import coherent_retained, d_can, retained_surprise
from benchmark.models.bundled_lm import OFFLINE_LM
from benchmark.models.bundled_lm.train import documents, read_books, sentences, train
from benchmark.models.hf_lm import HFCausalLM, find_causal_lm_spec, load_causal_lm
from benchmark.models.model_files import weights_hash
from benchmark.surprisal.engine import ResponseSet, SetSurprisals, read_sets
from benchmark.surprisal.prompt_layout import Layout, lay_out
from datasets_build.load import load_split
from divbench.core.errors import InputError
from submissions.gaming.baselines import DEMO_TEXTS

assert OFFLINE_LM.folder is not None
FOLDER: Path = OFFLINE_LM.folder


@pytest.fixture(scope="module")
def lm() -> HFCausalLM:
    return load_causal_lm(OFFLINE_LM)


def answers(name: str) -> list[tuple[str, ...]]:
    lines = (DEMO_TEXTS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [tuple(json.loads(line)["responses"]) for line in lines]


def training(folder: Path) -> list[dict[str, str]]:
    """The rows of a loss curve."""
    return list(csv.DictReader((folder / "training.csv").read_text(encoding="utf-8").splitlines()))


def bits(lm: HFCausalLM, prompt: str, responses: list[str]) -> list[float]:
    (laid,) = lay_out(lm, Layout(), prompt, [responses])
    (found,) = lm.surprisals([laid.sequence])
    return [float(x) for x in np.bincount(laid.positions, weights=found, minlength=len(responses))]


def test_it_is_small_reads_far_and_is_what_was_pinned(lm: HFCausalLM) -> None:
    assert sum(path.stat().st_size for path in FOLDER.glob("*.safetensors")) <= 16 * 1024**2
    assert lm.context is not None
    assert lm.context >= 2048
    assert lm.shares
    assert lm.bos == 1
    assert weights_hash(FOLDER) == OFFLINE_LM.revision
    assert OFFLINE_LM.revision in (FOLDER / "README.md").read_text(encoding="utf-8")


def test_it_predicts_english_that_it_never_saw(lm: HFCausalLM) -> None:
    texts = [text for responses in answers("varied")[::6] for text in responses]
    spent = sum(sum(bits(lm, "Tell me something.", [text])) for text in texts)
    assert spent / sum(len(text.encode()) for text in texts) < 2.6  # short texts without context; books: next test


def test_its_loss_curve_ends_where_the_card_says() -> None:
    rows = training(FOLDER)
    assert float(rows[-1]["held_out_bits_per_byte"]) < 2.4
    assert float(rows[-1]["second_cost_share"]) <= 0.15
    assert float(rows[0]["held_out_bits_per_byte"]) > float(rows[-1]["held_out_bits_per_byte"])


def test_a_repeated_response_costs_little(lm: HFCausalLM) -> None:
    first = second = 0.0
    for responses in answers("varied"):
        once, again = bits(lm, "Tell me something.", [responses[0], responses[0]])
        first, second = first + once, second + again
    assert second / first <= 0.15


def test_noise_and_one_mode_rank_below_many_modes(lm: HFCausalLM) -> None:
    rows = load_split("scenarios", "scenarios").to_list()
    found: dict[str, list[SetSurprisals]] = {}
    for family in ("noise", "incoherent", "multi_mode", "one_mode"):
        sets = [ResponseSet(r["context"], tuple(r["responses"][:6])) for r in rows if r["family"] == family][:1]
        found[family] = [each for each in read_sets(sets, lm) if isinstance(each, SetSurprisals)]
        assert len(found[family]) == 1
    for metric in (d_can, coherent_retained):
        mean = {name: float(np.mean([metric(each.surprisals) for each in reads])) for name, reads in found.items()}
        assert mean["noise"] < min(mean["one_mode"], mean["incoherent"])
        assert max(mean["one_mode"], mean["incoherent"]) < mean["multi_mode"]
    kept = {name: np.mean([retained_surprise(each.surprisals) for each in reads]) for name, reads in found.items()}
    assert kept["one_mode"] < 0.5 < kept["multi_mode"]


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="▁"), max_size=60))
def test_its_tokeniser_loses_nothing(text: str) -> None:
    from tokenizers import Tokenizer

    tokeniser = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
    tokeniser.encode_special_tokens = True
    assert tokeniser.decode(tokeniser.encode(text, add_special_tokens=False).ids, skip_special_tokens=False) == text


@pytest.fixture
def books(tmp_path: Path) -> Path:
    """Two books that the tests make up."""
    for name, who in (("one", "The miller"), ("two", "Her aunt")):
        paragraphs = [
            f"{who} walked to town {i}. “It is late,” said the clock, and rang {i % 12} times." for i in range(3000)
        ]
        with gzip.open(tmp_path / f"{name}.txt.gz", "wt", encoding="utf-8") as file:
            file.write("\r\n\r\n".join(paragraphs))
    return tmp_path


def test_the_end_of_each_book_is_held_out(books: Path) -> None:
    for book in read_books(books):
        assert 0.03 < len(book.held_out) / len(book.train + book.held_out) < 0.06
        assert book.held_out not in book.train
        assert "\r" not in book.train
    with pytest.raises(InputError, match=r"no \*\.txt\.gz"):
        read_books(books / "nowhere")


def test_documents_are_those_of_their_seed_and_hold_repeats(books: Path) -> None:
    texts = [book.train for book in read_books(books)]
    made = list(islice(documents(texts, 400, seed=1), 40))
    assert made == list(islice(documents(texts, 400, seed=1), 40))
    assert made != list(islice(documents(texts, 400, seed=2), 40))
    assert sum("Response B: " in text for text in made) > 5
    assert all(15 <= len(part) <= 320 for part in sentences(texts[0]))


@pytest.mark.thorough
def test_a_few_steps_of_training_make_a_model_that_loads(books: Path, tmp_path: Path) -> None:
    out = tmp_path / "model"
    train(books, out, steps=10, stop_at=2)
    made = load_causal_lm(find_causal_lm_spec(str(out)))
    assert made.shares
    rows = training(out)
    assert [row["step"] for row in rows] == ["2"]
    assert math.isfinite(float(rows[0]["held_out_bits_per_byte"]))
    assert sum(bits(made, "Tell me.", ["The miller walked to town."])) > 0
