"""Word order is compared with all shuffles of a text's words, line by line."""

import numpy as np
import pytest

from benchmark.validity.text_statistics import WordOrderModel, load_language_models, word_order


def test_word_order_is_against_the_mean_of_all_shuffles() -> None:
    model = load_language_models().order
    text = "the cat sat on the mat and looked at me"
    order = word_order(text, model)
    rng = np.random.default_rng(0)
    words = text.split()
    gain = _mean_of_neighbours(words, model)
    shuffled = [_mean_of_neighbours([words[i] for i in rng.permutation(len(words))], model) for _ in range(4000)]
    assert order.gain == pytest.approx(gain - np.mean(shuffled), abs=0.05)
    assert order.z > 2
    assert word_order(" ".join(sorted(words)), model).z < 1


def test_lines_and_marks_are_no_order_of_words() -> None:
    model = load_language_models().order
    plain, marked = "Here is another number: 48226", "Here is **another** number: **48226**"
    assert word_order(marked, model) == word_order(plain, model)
    items = ("Mix the flour with salt", "Add two eggs", "Bake for an hour")
    order = word_order("\n".join(f"- {item}" for item in items), model)
    assert (order.words, order.pairs) == (12, 9)
    scores = [
        score
        for item in items
        for score in model.scores[model.classes(item.split())[:-1], model.classes(item.split())[1:]].tolist()
    ]
    every = model.classes(" ".join(items).split())
    apart = model.scores[np.ix_(every, every)][~np.eye(12, dtype=bool)]
    assert order.gain == pytest.approx(np.mean(scores) - apart.mean())
    # The end of a line before a capital is an end of a sentence, and a full stop after an abbreviation is none.
    assert order.ends_z > word_order(" ".join(items), model).ends_z
    with_dot = "She leads Apple Inc. and sits on a board. He cooks."
    assert word_order(with_dot, model).ends_z == word_order(with_dot.replace("Inc.", "Inc"), model).ends_z


def test_short_texts_have_a_beginning_an_end_and_capitals() -> None:
    model = load_language_models().order
    for right, wrong in (("The humble turnip", "turnip humble The"), ("It is my number.", "number my is It.")):
        assert word_order(right, model).edges > word_order(wrong, model).edges
        assert word_order(wrong, model).late_capital
        assert not word_order(right, model).late_capital
    assert not word_order("okra, I think. Yes", model).late_capital


def _mean_of_neighbours(words: list[str], model: WordOrderModel) -> float:
    classes = model.classes(words)
    return float(model.scores[classes[:-1], classes[1:]].mean())
