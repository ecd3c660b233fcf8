"""`import divbench`: the same numbers as the packages behind it, for every form of input; errors that say the fix."""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import divbench as db
from benchmark.metrics import METRICS, Metric
from benchmark.metrics.metric import MOST
from benchmark.metrics.text_overlap import self_bleu
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.inputs import computed, score_set
from benchmark.scoring.profiles import find_profile
from benchmark.scoring.results import PER_PROMPT_FILE, sign, signature_line
from benchmark.scoring.scorer import score_submission
from datasets_build.schema import Prompt
from divbench.core import console
from divbench.core.errors import ConfigurationError, DivBenchError, InputError, MissingExtra
from divbench.data import response_sets
from submissions.checking.validate import open_submission
from submissions.schema import Manifest, Row
from submissions.storage.submission_folders import write_submission
from tests.conftest import TOY
from tests.submissions.conftest import KNOWN

SETS = {
    "Name a colour.": ["Red.", "Blue.", "A deep red."],
    "Name a pet.": ["A cat.", "A dog.", "A cat."],
    "Say nothing.": ["", "  ", "[Blocked]"],
}
OFFLINE = find_profile("offline")
A = db.Scores("lexical", ("p",), {}, (), (2,), {})


def test_values_are_those_of_the_scorer_and_blank_sets_have_reasons() -> None:
    scores = db.score(SETS, metrics=["distinct_n", "self_bleu", "type_token_ratio"])
    assert scores.profile == "lexical"
    for i, responses in enumerate(SETS.values()):
        wanted = score_set(responses)
        assert {name: column[i] for name, column in scores.values.items()} == {n: wanted[n] for n in scores.values}
    assert scores.missing() == {name: {"no response": 1} for name in scores.values}
    assert scores.to_pandas()["distinct_n"].isna().tolist() == [False, False, True]
    assert scores.summary().loc["self_bleu", "sets"] == 2
    more = db.score([["a cat", "a dog"], [""], [" "], ["one"]], ["self_bleu", "self_bleu"])
    assert [each.metric for each in more.means] == ["self_bleu"]
    assert [more.summary().loc["self_bleu", name] for name in ("sets", "missing")] == [1, 3]
    assert [*more.missing()["self_bleu"].items()] == [("fewer than 2 responses", 1), ("no response", 2)]
    several = [["a b", "c " * i] for i in range(1, 9)]
    lows = [db.score(several, "distinct_n", resamples=99, seed=seed).means[0].low for seed in (0, 1, 1)]
    assert lows[0] != lows[1] == lows[2]
    assert scores.summary().loc["self_bleu", "mean"] == pytest.approx(
        np.mean([self_bleu(list(each)) for each in list(SETS.values())[:2]])
    )


def test_thousands_of_responses_have_a_value_or_a_reason_beside_a_set_of_three() -> None:
    many = [f"answer {number}" for number in range(MOST + 1)]
    scores = db.score([many, SETS["Name a pet."]], metrics=["distinct_k", "rouge_l_similarity", "distinct_n"])
    assert scores.missing() == {
        "distinct_k": {"more than 2,000 different responses, too many for all pairs": 1},
        "rouge_l_similarity": {"more than 5,000 responses, too many for all pairs": 1},
    }
    assert scores.values["distinct_k"][1] == 2.0
    assert db.score([["Blue."] * 3000], metrics=["distinct_k"]).values["distinct_k"] == (1.0,)  # one text


def test_many_sets_have_the_digits_of_divbench_score_and_show_progress(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "SECONDS_A_LINE", 0.0)
    suite = replace(TOY, prompts=tuple(Prompt(f"p{i}", "", f"Say {i}.") for i in range(70)))
    rows = [
        Row(i + 1, each.prompt_id, each.prompt, (f"{i} cats", f"a dog of {i}", f"{i % 7} words"))
        for i, each in enumerate(suite.prompts)
    ]
    manifest = Manifest.model_validate(KNOWN | {"generation": {"k": 3}})
    (tmp_path / "submission").mkdir()
    write_submission(tmp_path / "submission", manifest, rows)
    submission, _, _ = open_submission(tmp_path / "submission", lambda name: suite)
    metrics = tuple(each for each in METRICS if each.id in {"embedding_diversity", "vendi_score"})
    backends = ScoringBackends(find_profile("semantic"))
    scored = score_submission(submission, suite, backends, tmp_path / "results", metrics=metrics)
    table = pq.read_table(scored.folder / PER_PROMPT_FILE)
    found = db.score({row.prompt: row.responses for row in rows}, metrics=[each.id for each in metrics])
    for name, column in found.values.items():
        assert list(column) == table[name].to_pylist()
    assert "scoring: 70 of 70" in capsys.readouterr().err


def test_a_file_has_the_values_of_its_sets_and_the_headline_comes_first(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    rows = [{"prompt": prompt, "response": text} for prompt, texts in SETS.items() for text in texts]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = db.score(path, ["self_bleu", "distinct_k"])
    assert found == db.score(SETS, ["self_bleu", "distinct_k"]) == db.score(str(path), ["self_bleu", "distinct_k"])
    shown = str(found)
    assert shown.index("distinct_k ↑") < shown.index("self_bleu ↓")
    assert "Without an answer: 2 blank, 1 placeholder of 9 responses." in shown
    assert found.to_latex().count("\\hline") == 3
    found.plot().save(tmp_path / "x.pdf")
    assert (tmp_path / "x.pdf").read_bytes().startswith(b"%PDF")


def test_texts_beyond_the_embedder_are_counted() -> None:
    texts = ["word " * 300, "A cat.", "A " + "long " * 253]
    assert "1 of 3 responses is longer than the embedder reads" in str(db.score([texts], ["embedding_diversity"]))
    assert "longer" not in str(db.score([texts], ["distinct_n"]))


def test_every_form_of_input_has_the_same_values() -> None:
    prompts, responses = list(SETS), list(SETS.values())
    columns = {"prompt": prompts, "responses": responses}
    forms = [SETS, columns, pd.DataFrame(columns), datasets.Dataset.from_dict(columns)]
    rows = [(prompt, text) for prompt, texts in SETS.items() for text in texts]
    for names in (["prompt", "response"], ["question", "outputs"]):
        table = pd.DataFrame(rows, columns=names)
        forms += [table, table.to_dict("list"), table.to_dict("records")]
    forms += [
        pd.DataFrame(columns).to_dict("records"),
        {name: np.array(each, object) for name, each in columns.items()},
        pa.Table.from_pandas(pd.DataFrame(columns)),
        pd.DataFrame(columns | {"model": "one"}),
        datasets.Dataset.from_dict(columns).to_iterable_dataset().map(dict),  # whose column names are not known yet
        {prompt: pa.array(texts) for prompt, texts in SETS.items()},
    ]
    found = [db.score(form, metrics=["distinct_n"]) for form in forms]
    assert all(each == found[0] for each in found)
    assert db.score(SETS, metrics=pd.Index(["distinct_n"])) == found[0]
    bare = db.score(pa.array(responses), metrics=["distinct_n"])
    assert bare.names == ("set 1", "set 2", "set 3")
    assert bare.values == found[0].values


def test_a_metric_has_the_boards_definition_whatever_else_is_asked_for() -> None:
    sets = {"Suggest a name for a pet parrot.": ["I would call it Mango.", "I would call it Rio.", "How about Mango?"]}
    alone, beside = db.score(sets, "valid_distinct_k"), db.score(sets, ["valid_distinct_k", "vendi_score"])
    assert alone.profile == beside.profile == "semantic"
    assert alone.values["valid_distinct_k"] == beside.values["valid_distinct_k"]
    with pytest.raises(
        ConfigurationError, match=r"lexical has no model for valid_distinct_k \(a profile that has it: sem"
    ):
        db.score(sets, "valid_distinct_k", profile="lexical")  # words do not tell what does as asked
    assert db.score(sets, "template_rate").profile == "lexical"  # a tagger is no model


def test_a_profile_in_place_of_metrics_gives_all_that_it_computes() -> None:
    found = db.score({"Name a pet.": ["A cat.", "A dog.", "A whale."]}, metrics="semantic")
    assert {"vendi_score", "distinct_k", "distinct_n"} <= found.values.keys()
    assert "d_can" not in found.values
    assert "vendi_score" in str(found)
    assert "vendi_score" in found._repr_html_()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: db.score("a text"), InputError, "a single text"),
        (lambda: db.score(["a", "b"]), InputError, r"score\(\[texts\]\)"),
        (lambda: db.score([]), InputError, "no response set"),
        (lambda: db.score(3), InputError, "int is not a list"),
        (lambda: db.score([["a"], "b"]), InputError, "'set 2' has str"),
        (lambda: db.score({"p": "text"}), InputError, "'p' has str"),
        (lambda: db.score({"p": {"a": 1}}), InputError, "'p' has dict"),
        (
            lambda: db.score([{"words": "a"}]),
            InputError,
            "which field holds the responses. 1 row has 'words' .name it: field='words'",
        ),
        (lambda: db.score([{"a", "b"}]), InputError, "'set 1' has a set, which keeps no repeats"),
        (
            lambda: db.score(pd.DataFrame({"model": ["x", "y"], "prompt": ["p", "p"], "response": ["a", "b"]})),
            InputError,
            "model: 'y' here, but 'x' in row 1 .*by='model'",
        ),
        (
            lambda: db.score([{"step": step, "prompt": "p", "completion": "a"} for step in (10, 10, 20)]),
            InputError,
            "step: 20 here, but 10 in row 1 .*by='step'",
        ),
        (
            lambda: db.score(pd.DataFrame({"question": ["q", "q"], "context": ["x", "y"], "response": ["a", "b"]})),
            InputError,
            "has the same 'question', so they have different prompts .write both into a field 'prompt'",
        ),
        (
            lambda: db.score([{"prompt": "p", "answer": "gold", "prediction": "a"}]),
            InputError,
            "which field holds the responses. 1 row has 'answer', 1 row has 'prediction' .name it: field='answer' or",
        ),
        (
            lambda: db.score(pd.DataFrame({"prompt": [[{"role": "user"}]] * 2, "response": ["a", "b"]})),
            InputError,
            "one response, in 'response', and no prompt",
        ),
        (lambda: db.score([["a", None]]), InputError, "response 2 is NoneType"),
        (lambda: db.score([["a", "\ud800"]]), InputError, "response 2 has an unpaired surrogate"),
        (lambda: db.score({1: ["a"]}), InputError, "a prompt is 1"),
        (lambda: db.score(pd.DataFrame({"response": ["a"]})), InputError, "one response, in 'response', and no prompt"),
        (lambda: db.score(SimpleNamespace(collect=list)), InputError, "not computed .*collect"),
        (lambda: db.score(datasets.DatasetDict({"x": datasets.Dataset.from_dict({})})), InputError, "one of x"),
        (
            lambda: db.score({"prompt": ["a"], "responses": [["b"], ["c"]]}),
            InputError,
            "2 values in 'responses' and 1 in 'prompt'",
        ),
        (
            lambda: db.score(pd.DataFrame([["p", "a", "b"]], columns=["prompt", "response", "response"])),
            InputError,
            "two columns 'response'",
        ),
        (
            lambda: db.score(pd.DataFrame({"prompt": ["p"], "responses": ['["a", "b"]']})),
            InputError,
            "each row has a list that was written as a text",
        ),
        (lambda: db.score([["a"]], cast("str", 3)), ConfigurationError, "metrics is 3"),
        (lambda: db.score([["a"]], [cast("str", ["a"])]), ConfigurationError, r"there is no metric \['a'\]"),
        (lambda: db.score([["a"]], "distinct_n", resamples=True), ConfigurationError, "resamples is True"),
        (lambda: db.compare(A, A, names=cast("Any", ("a",))), ConfigurationError, r"names is \('a',\)"),
        (lambda: db.compare(A, A, ["distinct_n"]), ConfigurationError, "metrics has no effect"),
        (lambda: db.compare(A, A, names=("a", "a")), ConfigurationError, "both systems are named 'a'"),
        (lambda: db.evaluate_metric(cast("Any", "distinct_n")), ConfigurationError, "'distinct_n' is not a function"),
        (lambda: db.evaluate_metric(len, cast("Any", 3)), ConfigurationError, "tasks is 3"),
        (lambda: db.score([["a"]], "vendi"), ConfigurationError, "did you mean vendi_score"),
        (lambda: db.score([["a"]], []), ConfigurationError, "no metric is named"),
        (lambda: db.evaluate_metric(len, "gssbench"), ConfigurationError, "divbench metrics gss"),
        (lambda: db.score([["a"]], "semantik"), ConfigurationError, "did you mean semantic"),
        (lambda: db.score([["a"]], ["vendi_score"], profile="lexical"), ConfigurationError, "has it: semantic"),
        (lambda: db.score([["a"]], ["perplexity"]), ConfigurationError, "internals of the generating model"),
        (lambda: db.score([["a"]], "offline", profile="lexical"), ConfigurationError, "two profiles"),
        (lambda: db.metric("vendi"), ConfigurationError, "did you mean vendi_score"),
        (lambda: db.load("mcdivv"), ConfigurationError, "mcdiv"),
        (lambda: db.load("gssbench", "none"), ConfigurationError, "complement"),
        (lambda: db.score("none.jsonl"), InputError, "there is no file none.jsonl"),
        (lambda: db.load("demo", revision="v1"), ConfigurationError, "revision is that of a repository"),
        (lambda: db.suite("demoo"), ConfigurationError, "did you mean demo"),
        (lambda: db.score([["a"]], "distinct_n", resamples=-1), ConfigurationError, "resamples is -1"),
        (lambda: db.score([["a"]], "distinct_n", seed=cast("int", 1.5)), ConfigurationError, "seed is 1.5"),
        (
            lambda: db.score([["a", "b"]], "total_correlation", profile=OFFLINE.replace(orders="endpoint")),
            ConfigurationError,
            "total_correlation needs surprisals at every position, and endpoint orders give the last",
        ),
        (
            lambda: db.score([["a", "b"]], ["vendi_score"], profile="paper"),
            ConfigurationError,
            r"--set embedder.*; in Python, give a profile of your own: profile=find_profile\('paper'\)\.replace\(",
        ),
    ],
)
def test_mistakes_are_refused_with_the_fix(call: Callable[[], Any], error: type[DivBenchError], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_without_the_libraries_of_models_the_profile_lexical_is_suggested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtra) as caught:
        db.score([["a", "b"]], "distinct_k")
    assert "or choose profile='lexical'" in caught.value.hint
    with pytest.raises(MissingExtra) as caught:
        db.score([["a", "b"]], "distinct_k", profile="semantic")
    assert "lexical" not in caught.value.hint  # the profile was chosen


def test_prompts_may_be_the_index_of_a_table() -> None:
    frame = pd.DataFrame({"prompt": ["q", "p", "q"], "response": ["a", "b", "c"]})
    wanted = {"p": ["b"], "q": ["a", "c"]}
    grouped = frame.groupby("prompt")
    for given in (
        grouped.agg(list),
        grouped.response.apply(list),
        grouped.response.apply(list).rename("said"),
        frame.set_index("prompt"),
        frame.set_index("prompt").response,
        pd.Series(wanted),
    ):
        names, prompts, texts = response_sets(given)
        assert dict(zip(names, map(list, texts), strict=True)) == wanted
        assert set(prompts) == {"p", "q"}
    assert response_sets(frame.set_index("prompt", drop=False))[1:] == response_sets(frame)[1:]
    as_trl_calls_a_reward = {"prompts": ["p", "p", "q"], "completions": ["a", "b", "c"]}
    assert response_sets(as_trl_calls_a_reward)[1:] == (("p", "q"), (("a", "b"), ("c",)))
    several = frame.assign(model=["x", "x", "y"]).groupby(["model", "prompt"])
    for given in (several.agg(list), several.response.apply(list)):
        with pytest.raises(InputError, match="'y' here, but 'x' in row 1"):
            response_sets(given)


def test_columns_of_a_table_and_prompts_are_told_apart() -> None:
    sets = (("a", "b"), ("c",))
    assert response_sets({"text": ["a", "b"], "sample": ["c"]}) == (("text", "sample"),) * 2 + (sets,)  # two prompts
    assert response_sets({"text": iter(["a", "b"])}) == (("text",), ("text",), (("a", "b"),))
    for name in ("responses", "outputs", "texts"):
        assert response_sets({name: [["a", "b"], ["c"]]}) == (("set 1", "set 2"), ("", ""), sets)
    beside = {"prompt": ["p", "q"], "responses": [["a", "b"], ["c"]], "answer": ["x", "y"]}  # a reference
    assert response_sets(beside)[1:] == (("p", "q"), sets)
    rows = {"prompt": ["p", "p"], "responses": ["[laughs] a", "[laughs] b"]}  # no lists that were written as texts
    assert response_sets(rows)[2] == (("[laughs] a", "[laughs] b"),)


def test_scores_have_signatures_and_are_compared_only_where_these_are_equal() -> None:
    names = ["distinct_n", "d_can", "valid_distinct_k"]
    sets = {f"p{i}": [f"a cat {i}", f"two dogs {i}", "rain"] for i in range(6)}
    exact = db.score(sets, names, profile=OFFLINE)
    paper = db.score(sets, names, profile=OFFLINE.replace(format="completion"))
    for name in names:
        metric = next(each for each in METRICS if each.id == name)
        assert exact.signatures[name] == signature_line(metric, OFFLINE)
    for metric in computed(OFFLINE.metrics()):
        signed = str(sign(metric, OFFLINE, TOY, 3, None))
        assert signed.replace(f"|data:{TOY.name}@{TOY.revision}|k:3", "") == signature_line(metric, OFFLINE)
    assert exact.signatures["distinct_n"] == paper.signatures["distinct_n"]
    with pytest.raises(InputError, match=r"d_can are not comparable: .*layout:instruct.* and .*layout:completion"):
        db.compare(exact, paper)


def test_scores_made_by_hand_state_their_numbers_of_responses() -> None:
    with pytest.raises(TypeError, match="sizes"):
        db.Scores("mine", ("p",), {"m": (1.0,)}, ())  # type: ignore[call-arg]
    mean = db.Mean("m", 1, 1.0, None, None, 1, {})
    a, b = (db.Scores("mine", ("p",), {"m": (1.0,)}, (mean,), (size,), {"m": "m|v:1"}) for size in (2, 3))
    with pytest.raises(InputError, match="different numbers of responses to 1 prompt, such as 2 and 3"):
        db.compare(a, b)


def test_compare_loads_each_model_once(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[ScoringBackends] = []
    load = ScoringBackends.load

    def watch(backends: ScoringBackends, metrics: Sequence[Metric]) -> None:
        loaded.append(backends)
        load(backends, metrics)

    monkeypatch.setattr(ScoringBackends, "load", watch)
    db.compare(SETS, SETS, ["distinct_n"])
    assert len({id(each) for each in loaded}) == 1  # which keeps the models that it has loaded


def test_every_metric_has_a_card_that_can_be_read() -> None:
    table = db.metrics()
    assert list(table.index) == [each.id for each in METRICS]
    for name in table.index:
        assert db.metric(name).formula in str(db.metric(name))
    card = db.metric("vendi_score")
    assert card.profiles[0] == "semantic"
    assert card.agreement is not None
    assert 0.4 < card.agreement[0] < 0.7
    assert "mean of nine tasks, profile offline" in str(card)  # under another one, a metric has other values
    value, low, high = card.agreement
    assert low is not None
    assert high is not None
    assert low < value < high
    assert f"Spearman {value:.2f} [{low:.2f}, {high:.2f}] with human labels" in str(card)
    assert table.loc["vendi_score", "agreement"] == value
    assert "Direction: lower is more diverse" in str(db.metric("self_bleu"))
    assert "Direction: higher is more diverse" in str(card)
    assert db.metric("distinct_k_reported").profiles == ()


def test_importing_loads_nothing_heavy() -> None:
    heavy = "[m for m in ('numpy', 'pandas', 'torch', 'pyarrow', 'datasets', 'typer', 'pydantic') if m in sys.modules]"
    run = [sys.executable, "-c", f"import sys, divbench; print({heavy})"]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_scores_say_if_texts_are_in_another_language_than_english() -> None:
    """Words split at spaces, and the default models read English: the numbers alone do not tell."""
    foreign = {"请说出一种水果。": ["芒果。", "香蕉。"], "Name a fruit.": ["A mango.", "A banana."]}
    for shown in (str(made := db.score(foreign, metrics=["distinct_n"])), made._repr_html_()):
        assert "1 of 2 response sets in a language other than English" in shown
    assert "language" not in str(db.score(SETS, metrics=["distinct_n"]))


def test_scores_say_if_validity_is_a_rough_estimate() -> None:
    sets = {"Name a fruit.": ["A mango.", "A banana."], "Good morning!": ["Hello.", "Hi there!"]}
    shown = str(db.score(sets, metrics=["valid_distinct_k"]))
    assert "2 of 2 response sets without judged responses to compare with: validity is a rough estimate." in shown
    assert "1 of 2 response sets to prompts that ask for nothing: only junk is not valid." in shown
    assert "estimate" not in str(db.score(SETS, metrics=["distinct_n"]))


def test_the_figure_names_the_set_of_each_point() -> None:
    figure = db.score({"<b>One</b>": ["A cat."], "Two": ["A dog."]}, ["self_bleu", "distinct_n"]).plot()
    assert {title.text for title in figure.layout.annotations} == {"metric=self_bleu", "metric=distinct_n"}
    assert {tuple(box.hovertext) for box in figure.data} == {("&lt;b&gt;One&lt;/b&gt;", "Two")}
    assert {box.boxpoints for box in figure.data} == {"all"}  # without which there is no point to name
