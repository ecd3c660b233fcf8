"""A model behind a server: its numbers, and what is said when the server is not as it should be."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import LlamaForCausalLM

from benchmark.models.causal_lm import TokenSequence
from benchmark.models.hf_lm import HFCausalLM
from benchmark.models.server_lm import ServerLM, find_served_lm_spec
from benchmark.models.servers import Server, ServerFault
from benchmark.models.tokenisers import HFTokeniser
from divbench.core.errors import ConfigurationError
from tests.benchmark.completions_server import (
    CONTEXT,
    TEXTS,
    CompletionsServer,
    Dialect,
    completions_server,
    tiny_model,
    tiny_tokeniser,
)
from tests.benchmark.json_server import Reply
from tests.conftest import divbench, document
from tests.submissions.working import demo

pytestmark = pytest.mark.usefixtures("fast_servers")

REVISION = "0123456789abcdef0123456789abcdef01234567"
ONE = TokenSequence(np.array([0, 40, 41, 42]), np.array([1, 2, 3]))


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Models this small are slower on several threads, much so where others compute, too."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def model() -> LlamaForCausalLM:
    return tiny_model()


@pytest.fixture(scope="module")
def local(model: LlamaForCausalLM) -> HFCausalLM:
    return HFCausalLM(model, tiny_tokeniser(), "tiny")


@pytest.fixture
def server(model: LlamaForCausalLM) -> Iterator[CompletionsServer]:
    with completions_server(model) as running:
        yield running


def remote(server: CompletionsServer) -> ServerLM:
    """Return the language model of a server."""
    return ServerLM(Server.at(server.url, 20.0), "tiny", HFTokeniser(tiny_tokeniser()), "tiny@0123456789ab,server")


def sequences_of(local: HFCausalLM) -> list[TokenSequence]:
    """Texts after the beginning token, with all, some or none of their tokens scored; some twice."""
    begun = [np.concatenate([[local.bos or 0], each.ids]).astype(np.int64) for each in local.encode(TEXTS)]
    made = [TokenSequence(ids, np.arange(1, len(ids))) for ids in begun]
    made += [TokenSequence(ids, np.arange(1, len(ids), 3)) for ids in begun]
    return [*made, TokenSequence(begun[0], np.empty(0, np.int64))]


@pytest.mark.parametrize("dialect", ["vllm", "echo", "echo-strict"])
def test_bits_are_those_of_the_same_weights_at_home(
    model: LlamaForCausalLM, local: HFCausalLM, dialect: Dialect
) -> None:
    sequences = sequences_of(local)
    with completions_server(model, dialect) as server:
        lm = remote(server)
        assert lm.bos == local.bos == 0
        found = lm.surprisals(sequences)
        again = lm.surprisals(sequences[::-1])[::-1]
    for bits, repeated, expected in zip(found, again, local.surprisals(sequences), strict=True):
        assert bits.dtype == np.float64
        assert bits == pytest.approx(expected, abs=1e-4)
        assert bits.tolist() == repeated.tolist()
    assert max(bits.max(initial=0) for bits in found) > 10


def test_what_is_asked(server: CompletionsServer, local: HFCausalLM) -> None:
    sequences = sequences_of(local)
    remote(server).surprisals(sequences)
    different = {tuple(each.ids.tolist()) for each in sequences if len(each.scored)}
    assert sorted(tuple(asked.pop("prompt")) for asked in server.seen) == sorted(different)
    assert server.seen[0] == {"model": "tiny", "temperature": 0, "max_tokens": 1, "prompt_logprobs": 0}


def test_an_older_server_is_asked_in_vain_once(model: LlamaForCausalLM) -> None:
    with completions_server(model, "echo") as server:
        lm = remote(server)
        for _ in range(3):
            lm.surprisals([ONE])
    assert ["echo" in asked for asked in server.seen] == [False, True, True, True]
    assert server.seen[-1] == {
        "model": "tiny",
        "prompt": ONE.ids.tolist(),
        "temperature": 0,
        "max_tokens": 0,
        "echo": True,
        "logprobs": 1,
    }


def test_a_server_without_logprobs_is_named(model: LlamaForCausalLM) -> None:
    with completions_server(model, "none") as server:
        lm = remote(server)
        with pytest.raises(ServerFault, match=r"returns no log-probabilities of prompts \(.*vLLM"):
            lm.surprisals([ONE])


def test_a_sequence_beyond_the_context_is_called_so(server: CompletionsServer) -> None:
    long = TokenSequence(np.zeros(CONTEXT, np.int64), np.array([1]))
    with pytest.raises(
        ServerFault, match=r"256 tokens as too long for its context: .*maximum context length is 256 tokens"
    ):
        remote(server).surprisals([long])
    assert len(server.seen) == 1


def entries(change: Callable[[list[Any]], object]) -> Reply:
    """An answer whose list of prompt_logprobs is changed."""

    def changed(document: dict[str, Any]) -> object:
        document["choices"][0]["prompt_logprobs"] = change(document["choices"][0]["prompt_logprobs"])
        return document

    return Reply(change=changed)


def second(value: object) -> Reply:
    """An answer with another log-probability of the token in the second place."""
    return entries(lambda found: [*found[:1], {key: {"logprob": value} for key in found[1]}, *found[2:]])


@pytest.mark.parametrize(
    ("reply", "wrong"),
    [
        (entries(lambda found: found[:-1]), "3 entries of prompt_logprobs for 4 tokens"),
        (entries(lambda found: [None, *found]), "5 entries of prompt_logprobs for 4 tokens"),
        (entries(lambda found: "many"), "no entries of prompt_logprobs for 4 tokens"),
        (entries(lambda found: [{"0": {"logprob": -1}}, *found[1:]]), "a log-probability of the first token"),
        (entries(lambda found: [None, {"7": {"logprob": -1}}, *found[2:]]), "no log-probability of token 40"),
        (entries(lambda found: [None, -1.0, *found[2:]]), "no log-probability of token 40"),
        (second(0.001), "a log-probability above 0"),
        (second(float("inf")), "a log-probability above 0"),
        (second(10**400), "a log-probability above 0"),
        (second("-1"), "a str instead of a log-probability"),
        (second(True), "a bool instead of a log-probability"),
    ],
)
def test_an_answer_that_cannot_be_right(server: CompletionsServer, reply: Reply, wrong: str) -> None:
    server.always = reply
    with pytest.raises(ServerFault, match=f"malformed reply: {wrong}"):
        remote(server).surprisals([ONE])
    assert len(server.seen) == 1


@pytest.mark.parametrize("change", [lambda found: found[1:], lambda found: [*found, -1.0], lambda found: 3])
def test_echoed_logprobs_of_another_number_are_refused(
    model: LlamaForCausalLM, change: Callable[[Any], object]
) -> None:
    def changed(document: dict[str, Any]) -> object:
        if document["choices"][0]["logprobs"]:
            found = document["choices"][0]["logprobs"]
            found["token_logprobs"] = change(found["token_logprobs"])
        return document

    with completions_server(model, "echo") as server:
        server.always = Reply(change=changed)
        lm = remote(server)
        with pytest.raises(ServerFault, match=r"(no|3|5) log-probabilities for 4 tokens"):
            lm.surprisals([ONE])


@pytest.mark.parametrize("value", [None, float("nan"), float("-inf"), -9999.0, -(10**400)])
def test_a_number_that_the_server_could_not_give_is_missing(server: CompletionsServer, value: object) -> None:
    server.always = second(value)
    (found,) = remote(server).surprisals([ONE])
    assert np.isnan(found).tolist() == [True, False, False]


def saved(model: LlamaForCausalLM, folder: Path) -> Path:
    """The model's weights and tokeniser, in a folder `tiny`."""
    model.save_pretrained(folder / "tiny")
    tiny_tokeniser().save_pretrained(folder / "tiny")
    return folder / "tiny"


def test_a_served_model_is_named_by_its_files_and_an_address(tmp_path: Path, server: CompletionsServer) -> None:
    spec = find_served_lm_spec(f"org/name@{REVISION}", "tiny@http://host:8000/v1")
    assert (spec.name, spec.served, spec.url) == ("org/name", "tiny", "http://host:8000/v1")
    assert spec.signature == "org/name@0123456789ab,server=tiny"  # not that of another model on the server
    own = find_served_lm_spec(f"org/name@{REVISION}", "https://host")
    assert (own.served, own.signature) == ("org/name", "org/name@0123456789ab,server")
    for wrong in ("host:8000", "tiny", "tiny@host", "ftp://host", "http://"):
        with pytest.raises(ConfigurationError, match="is not the address of a server"):
            find_served_lm_spec(f"org/name@{REVISION}", wrong)
    with pytest.raises(ConfigurationError, match="could not be loaded"):  # there is no hub, so no tokeniser
        spec.load()


@pytest.mark.parametrize(("limit", "context"), [(CONTEXT, CONTEXT - 1), (None, None), ("many", None), (True, None)])
def test_loading_learns_the_context(
    tmp_path: Path, model: LlamaForCausalLM, server: CompletionsServer, limit: object, context: int | None
) -> None:
    server.models = {"data": [{"id": "tiny", "max_model_len": limit}, {"name": "x"}, 3]}
    lm = find_served_lm_spec(str(saved(model, tmp_path)), server.url).load()
    assert (lm.context, lm.signature[:5], lm.signature[-7:]) == (context, "tiny@", ",server")
    if context is not None:  # the longest sequence that is said to fit does fit
        ids = np.zeros(context, np.int64)
        assert np.isfinite(lm.surprisals([TokenSequence(ids, np.array([1]))])[0]).all()


def test_loading_what_is_not_served(tmp_path: Path, model: LlamaForCausalLM, server: CompletionsServer) -> None:
    folder = str(saved(model, tmp_path))
    with pytest.raises(ConfigurationError, match="does not serve other; it serves tiny"):
        find_served_lm_spec(folder, f"other@{server.url}").load()
    server.models = {"data": 3}
    with pytest.raises(ServerFault, match="no list of models"):
        find_served_lm_spec(folder, server.url).load()


def test_scoring_by_a_server_gives_the_numbers_of_the_same_weights_at_home(
    tmp_path: Path, model: LlamaForCausalLM, server: CompletionsServer
) -> None:
    folder, lm = demo(tmp_path / "in", "system"), saved(model, tmp_path)
    home = {"DIVBENCH_HOME": str(tmp_path / "home")}
    models = ("--profile", "offline", "--set", "format=completion", "--set", f"lm={lm}")
    chosen = (*models, "--metric", "a_n", "--out", tmp_path / "out")
    [here] = document(divbench("score", folder, *chosen, "--json", **home))["results"]
    [there] = document(divbench("score", folder, *chosen, "--set", f"lm-server={server.url}", "--json", **home))[
        "results"
    ]
    [mine], [theirs] = here["result"]["scores"], there["result"]["scores"]
    assert theirs["value"] == pytest.approx(mine["value"], abs=1e-5)
    assert theirs["n"] == mine["n"] > 2  # that fit its context
    [read] = theirs["signature"]["models"]
    assert read.endswith(",server")
    assert [run["device"] for run in there["result"]["provenance"]] == ["server"]
    assert server.seen
    text = json.dumps(there) + (Path(there["folder"]) / "result.json").read_text()
    assert server.url not in text, "the address stays private"
    ended = divbench("score", folder, "--profile", "offline", "--set", f"lm-server={server.url}", **home)
    assert (ended.returncode, "lm-server needs lm" in ended.stderr) == (2, True)
