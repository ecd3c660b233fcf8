"""What a judge said is kept, and whose words they were: the cache, names of models, keys."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmark.equivalence.llm_judge import JUDGE_VERSION, JudgementCache
from benchmark.equivalence.partitioning import PartitionSpec, ResponsesToGroup, judge_note, partition_by_judge
from benchmark.models.servers import ServerFault
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.inputs import metrics_from
from benchmark.scoring.profiles import find_profile
from benchmark.scoring.scorer import score_submission
from divbench.core.errors import ConfigurationError
from submissions.checking.validate import open_submission
from tests.benchmark.chat_server import LABELS, PAIR, SETS, ChatServer, judge_of, spec_of
from tests.submissions.working import demo

pytestmark = pytest.mark.usefixtures("fast_servers")

KEY = "sk-very-secret-1"


# Keeping


def test_what_was_judged_is_not_asked_again(server: ChatServer, cache: JudgementCache) -> None:
    assert judge_of(server, cache).partition(SETS) == LABELS
    asked = len(server.seen)
    assert judge_of(server, cache).partition(SETS[::-1]) == LABELS[::-1]
    assert len(server.seen) == asked == len(SETS)


def test_the_number_of_requests_is_told_before_the_first(server: ChatServer, cache: JudgementCache) -> None:
    judge = judge_of(server, cache)
    sets = [ResponsesToGroup.of(prompt, texts) for prompt, texts in [*SETS, ("p", ["a", "A."]), ("p", []), SETS[0]]]
    more = "one request each (up to 3 if a reply is no partition)"
    assert judge_note([sets[:4], sets[4:]], judge) == f"judge wise: 3 response sets to judge, {more}; 0 from the cache"
    assert not server.seen
    partition_by_judge(sets[:2], judge)
    assert judge_note([sets], judge) == f"judge wise: 1 response set to judge, {more}; 2 from the cache"
    partition_by_judge(sets, judge)
    assert len(server.seen) == 3


def test_scoring_tells_the_number_of_requests_once(
    server: ChatServer, cache: JudgementCache, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    submission, suite, _ = open_submission(demo(tmp_path / "in", "system"))
    profile = replace(find_profile("lexical"), partition=PartitionSpec(spec_of(server), "judge"))
    more = "Then up to {} first responses of classes to score, likewise; {} from the cache"
    for told, heads, scored in ((len(suite.prompts), 72, 0), (0, 0, 24)):  # three texts each, which are one class
        backends = ScoringBackends(profile, equivalence=judge_of(server, cache))
        score_submission(submission, suite, backends, tmp_path / str(told), metrics=metrics_from("partition"))
        [line] = capsys.readouterr().err.splitlines()
        assert line.startswith(f"judge wise: {told} response sets to judge")
        assert line.endswith(more.format(heads, scored))
        assert len(server.seen) == 2 * len(suite.prompts)


@pytest.mark.parametrize("change", [{"model": "other"}, {"reported": "wise"}, {"max_tokens": 5}])
def test_another_judge_is_asked_anew(server: ChatServer, cache: JudgementCache, change: dict[str, Any]) -> None:
    judge_of(server, cache).partition(SETS)
    judge_of(server, cache, **change).partition(SETS)
    assert len(server.seen) == 2 * len(SETS)


@pytest.mark.parametrize("labels", ["[0]", "[0, 1", "7"])
def test_the_cache_has_no_texts_and_what_does_not_fit_is_asked_again(
    server: ChatServer, cache: JudgementCache, labels: str
) -> None:
    judge_of(server, cache).partition(SETS)
    content = cache.path.read_bytes()
    assert not [text for prompt, texts in SETS for text in (prompt, *texts) if text.encode() in content]
    with closing(sqlite3.connect(cache.path)) as database, database:
        database.execute("UPDATE judgements SET labels = ?", (labels,))
    assert judge_of(server, cache).partition(SETS) == LABELS
    assert len(server.seen) == 2 * len(SETS)


def test_a_broken_cache_is_named(server: ChatServer, cache: JudgementCache) -> None:
    cache.path.parent.mkdir()
    cache.path.write_bytes(b"no database at all, but long enough to be one" * 9)
    with pytest.raises(
        ConfigurationError, match=r"the cache of judgements .*judgements\.sqlite cannot be used"
    ) as caught:
        judge_of(server, cache).partition(SETS)
    assert "DIVBENCH_HOME" in caught.value.hint  # --cache is of surprisals


# Names


def test_the_signature_says_what_the_server_calls_its_model(server: ChatServer, cache: JudgementCache) -> None:
    server.reported = "wise-2026-01-31"
    spec = spec_of(server).identified(cache)
    assert spec.signature == f"wise=wise-2026-01-31,judge-v{JUDGE_VERSION},4096-tokens"
    assert spec.load().signature == spec.signature
    assert spec_of(server).signature == f"wise,judge-v{JUDGE_VERSION},4096-tokens"
    assert spec.identified() is spec
    asked = len(server.seen)
    assert spec_of(server).identified(cache) == spec
    assert asked == len(server.seen) == 1
    spec_of(server).identified()
    assert len(server.seen) == 2


@pytest.mark.parametrize(
    ("said", "name"),
    [
        (7, None),
        ("two words", None),
        ("a,b", None),
        ("x" * 300, None),
        ("org/x", "org/x"),
        ("/home/me/x.gguf", "x.gguf"),
    ],
)
def test_what_is_no_name_is_not_told(server: ChatServer, cache: JudgementCache, said: object, name: str | None) -> None:
    server.reported = said
    for _ in range(2):
        assert spec_of(server).identified(cache).reported == name
    assert len(server.seen) == 1


def test_a_server_that_changes_its_model_is_left(server: ChatServer, cache: JudgementCache) -> None:
    server.reported = "wise-1"
    spec = spec_of(server, concurrency=1).identified(cache)
    assert spec.load(cache).partition(SETS[:2]) == LABELS[:2]
    server.reported = "wise-2"
    assert spec.load(cache).partition(SETS[:2]) == LABELS[:2]  # nothing is asked
    with pytest.raises(ServerFault, match="changed: it now calls itself wise-2, earlier wise-1") as caught:
        spec.load(cache).partition(SETS)
    assert "DIVBENCH_HOME" in caught.value.hint
    judge = spec_of(server).load()
    judge.partition(PAIR)
    server.reported = "wise-3"
    with pytest.raises(ServerFault, match="now calls itself wise-3"):
        judge.partition(PAIR)


@pytest.mark.parametrize("change", [{"model": " "}, {"max_tokens": 0}, {"concurrency": 0}])
def test_settings_without_sense_are_refused(server: ChatServer, change: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="name a model, and give numbers"):
        spec_of(server, **change)
