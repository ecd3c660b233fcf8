"""`divbench metrics internals`: a submission's texts read again by a real (tiny) chat model, from its files."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmark.generation.hf_sampler import HFSampler
from benchmark.generation.internals import as_tokens, greedy_responses, tokenise_rows
from benchmark.generation.prompting import ANOTHER, PromptingSettings
from benchmark.models.hf_lm import HFCausalLM
from benchmark.models.hf_states import read_statistics
from benchmark.scoring.internals_file import INTERNALS_FILE, open_internals
from datasets_build.schema import Prompt
from divbench.core.errors import ConfigurationError
from divbench.core.files import content_id
from submissions.schema import Row
from tests.benchmark.lms import one_thread, random_model, tokeniser
from tests.conftest import divbench, document

__all__ = ["one_thread"]
CHAT = (
    "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
PROMPT = Prompt("p", "any", "Where is the lamp?", ("Where?", "The lamp?"))
ROW = Row(1, "p", PROMPT.prompt, ("By the river.", "", "On Tuesday it was high"), ("stop", "stop", "length"))


TWO = replace(ROW, responses=("By the river.", "Here."), finish_reasons=None)


def chat_model() -> HFCausalLM:
    made = tokeniser("gpt2")
    made.chat_template = CHAT
    return HFCausalLM(random_model("llama", len(made)), made, "tiny")


@pytest.fixture(scope="module")
def lm() -> HFCausalLM:
    return chat_model()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A chat model's files."""
    path = tmp_path_factory.mktemp("models") / "tiny-chat"
    made = chat_model()
    made.model.save_pretrained(path)
    made.tokeniser.own.save_pretrained(path)
    return path


def ids_of(lm: HFCausalLM, text: str) -> tuple[int, ...]:
    return tuple(lm.tokeniser.own(text, add_special_tokens=False).input_ids)


def test_a_response_follows_what_was_asked_and_its_end_where_it_ended(lm: HFCausalLM) -> None:
    first, blank, cut = as_tokens(HFSampler(lm, PromptingSettings()), PROMPT, ROW, stops=False)
    asked = ids_of(lm, "<user>Where is the lamp?\n<assistant>")
    assert first is not None
    assert (first.prompt, first.ids, first.content) == (asked, (*ids_of(lm, "By the river."), 2), len(first.ids) - 1)
    assert blank is not None
    assert (blank.ids, blank.content) == ((2,), 0)
    assert cut is not None
    assert (cut.ids, cut.content) == (ids_of(lm, "On Tuesday it was high"), len(cut.ids))
    stopped = as_tokens(HFSampler(lm, PromptingSettings()), PROMPT, ROW, stops=True)
    assert [None if each is None else each.ids for each in stopped] == [ids_of(lm, "By the river."), None, cut.ids]
    unknown = as_tokens(HFSampler(lm, PromptingSettings()), PROMPT, replace(ROW, finish_reasons=None), stops=False)
    assert unknown[0] == stopped[0]


def test_each_mode_is_read_as_it_was_asked(lm: HFCausalLM) -> None:
    def begin(prompting: PromptingSettings, place: int) -> str:
        found = as_tokens(HFSampler(lm, prompting), PROMPT, TWO, stops=False)[place]
        assert found is not None
        return str(lm.tokeniser.own.decode(list(found.prompt)))

    assert begin(PromptingSettings("paraphrase"), 1) == "<user>The lamp?\n<assistant>"
    assert begin(PromptingSettings(system_prompt="Be brief."), 0).startswith("<system>Be brief.\n<user>Where is")
    assert "producer of unique answers" in begin(PromptingSettings("system-prompt"), 0)
    grown = f"<user>Where is the lamp?\n<assistant>By the river.\n<user>{ANOTHER}\n<assistant>"
    assert begin(PromptingSettings("in-context"), 1) == grown
    plain = PromptingSettings(chat_template=False, template="Q: {prompt} A:")
    assert begin(plain, 0) == "Q: Where is the lamp? A:"


def test_the_greedy_response_answers_the_plain_prompt(lm: HFCausalLM) -> None:
    sampler = HFSampler(lm, PromptingSettings("paraphrase"))
    (found,) = greedy_responses(sampler, [PROMPT], 6)
    assert found is not None
    assert lm.tokeniser.own.decode(list(found.prompt)) == "<user>Where is the lamp?\n<assistant>"
    (seen,) = read_statistics(lm, [found])
    assert seen.log_likelihood < 0
    (asked,) = tokenise_rows(sampler, [PROMPT], [TWO], 6, stops=False)
    assert asked.greedy == found
    (without,) = tokenise_rows(HFSampler(lm, PromptingSettings()), [PROMPT], [ROW], None, stops=False)
    assert without.greedy is None


def test_a_response_beyond_the_context_is_named() -> None:
    own = tokeniser("gpt2")
    own.chat_template = CHAT
    short = HFCausalLM(random_model("llama", len(own), max_position_embeddings=40), own, "short")
    with pytest.raises(ConfigurationError, match=r"prompt p, response 1: \d+ tokens do not fit the context of 40"):
        as_tokens(
            HFSampler(short, PromptingSettings()), PROMPT, replace(TWO, responses=("By the river. " * 9,)), stops=False
        )


def generated(folder: Path, out: Path, *options: str) -> Any:
    prompts = out.parent / "prompts.txt"
    prompts.write_text("Where is the lamp?\nWho saw it?\nIs the river high?\n", encoding="utf-8")
    ended = divbench(
        "generate", folder, "--suite", prompts, "--out", out, "--k", "4", "--max-tokens", "8", *options, "--json"
    )
    assert ended.returncode == 0, ended.stderr
    return document(ended)


def test_from_generation_to_scores(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "subs"
    made = generated(folder, out, "--internals", "--top-k", "20")
    sampled = open_internals(out / INTERNALS_FILE, made["submission_id"])
    assert (sampled.how.tokens, sampled.how.k, sampled.how.prompt) == ("sampled", 4, "chat template")
    assert sampled.how.drawing is not None
    assert sampled.how.drawing.top_k == 20
    ended = divbench("metrics", "internals", out, "--model", folder, "--json")
    assert ended.returncode == 2
    assert "exists" in document(ended)["error"]["message"]
    ended = divbench("metrics", "internals", out, "--model", folder, "--out", tmp_path / "again.parquet", "--json")
    assert ended.returncode == 0, ended.stderr
    assert document(ended)["prompts"] == 3
    again = open_internals(tmp_path / "again.parquet", made["submission_id"])
    assert again.how.tokens == "text"
    for (name, one), (other_name, other) in zip(sampled.rows(), again.rows(), strict=True):
        assert name == other_name
        # Greedy responses are drawn anew from the same tokens: the same numbers.
        assert one.greedy is not None
        assert other.greedy is not None
        assert one.greedy.log_likelihood == pytest.approx(other.greedy.log_likelihood, abs=1e-4)
        assert one.greedy.normaliser == pytest.approx(other.greedy.normaliser, abs=1e-4)
    options = ("--profile", "lexical", "--out", tmp_path / "results", "--resamples", "100", "--json")
    ended = divbench("score", out, *options)
    assert ended.returncode == 0, ended.stderr
    scores = {each["metric"]: each for each in document(ended)["results"][0]["result"]["scores"]}
    for name in ("perplexity", "energy", "normalised_entropy", "e_original", "e_average"):
        assert scores[name]["n"] == 3, name
        assert "layers:1/1,tokens:sampled" in scores[name]["signature"]["models"][0]
    # So small a model never ends an answer, and an answer that was cut off is in no class.
    assert scores["semantic_entropy"]["missing"] == {"no response in a class": 3}
    ended = divbench("score", out, "--metric", "e_average", "--internals", tmp_path / "none.parquet", "--json")
    assert "there is no file" in document(ended)["error"]["message"]
    (out / INTERNALS_FILE).unlink()
    ended = divbench("score", out, "--profile", "lexical", "--metric", "e_average", "--json")
    assert ended.returncode == 2
    assert "divbench metrics internals" in document(ended)["error"]["hint"]


def test_another_way_of_asking_is_another_number(folder: Path, tmp_path: Path) -> None:
    made = generated(folder, tmp_path / "subs")
    numbers: list[list[float]] = []
    changed: list[str | None] = []
    for options in ((), ("--template", "{prompt} Well,", "--set", "layer=last")):
        target = tmp_path / f"{len(numbers)}.parquet"
        ended = divbench(
            "metrics", "internals", tmp_path / "subs", "--model", folder, "--out", target, *options, "--json"
        )
        assert ended.returncode == 0, ended.stderr
        file = open_internals(target, made["submission_id"])
        numbers.append([own.samples[0].log_likelihood for _, own in file.rows()])
        changed.append(file.how.changed)
        assert file.how.signature.endswith(f",tokens:text{'' if changed[-1] is None else f',{changed[-1]}'}")
    assert file.how.original_layer == 2
    assert all(abs(a - b) > 0.1 for a, b in zip(*numbers, strict=True))
    assert changed == [None, "prompt:" + content_id("template '{prompt} Well,'")]


def test_what_cannot_be_read_as_it_was_asked_is_refused(folder: Path, tmp_path: Path) -> None:
    generated(folder, tmp_path / "subs")

    def refusal(*options: str) -> str:
        ended = divbench("metrics", "internals", tmp_path / "subs", "--model", folder, *options, "--json")
        assert ended.returncode == 2
        return str(document(ended)["error"]["message"])

    manifest = tmp_path / "subs" / "manifest.json"
    manifest.write_text(manifest.read_text(encoding="utf-8").replace('"resample"', '"paraphrase"'), encoding="utf-8")
    assert refusal() == "a submission does not contain the paraphrases of its own prompts"
    manifest.write_text(manifest.read_text(encoding="utf-8").replace('"paraphrase"', '"verbalized"'), encoding="utf-8")
    assert "the mode verbalized has no tokens for single responses" in refusal()
    assert not (tmp_path / "subs" / INTERNALS_FILE).exists()
