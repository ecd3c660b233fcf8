"""A chat server on loopback whose judge calls answers the same that begin with the same word, and scores them."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from benchmark.equivalence.llm_judge import JudgementCache, LLMJudge, LLMJudgeSpec
from tests.benchmark.json_server import JsonServer, Reply, serving

# Sets with what the judge makes of them.
SETS = [
    ("Name a fruit.", ["plum, of course", "fig", "plum!", "apple", "fig", "fig tart"]),
    ("Name a fruit.", ["fig", "plum"]),
    ("Назови цвет. 🎨", ["синий", "красный\n\n", "синий цвет"]),
]
LABELS = [(0, 1, 2, 3, 1, 1), (0, 1), (0, 1, 0)]
PAIR = [("Name a fruit.", ["fig", "plum"])]


@dataclass
class ChatServer(JsonServer):
    """What a test holds of a running server; `seen` has all requests for chat completions.

    Attributes:
        unknown: Fields of a request that it refuses.
        scores: The score of a text, or words in place of a reply with one; of others 7.
        reported: What it calls its model; None: what it was asked for.
        seconds: How long it thinks.
        most: How many requests it has answered at once.
    """

    unknown: Sequence[str] = ()
    scores: Mapping[str, int | str] = field(default_factory=dict)
    reported: object = None
    seconds: float = 0.0
    most: int = 0
    _at_work: list[object] = field(default_factory=list)

    def answer(self, asked: dict[str, Any]) -> tuple[int, object]:
        """The status and the document for a request."""
        for name in self.unknown:
            if name in asked:
                return 400, {"error": {"message": f"Unsupported parameter: '{name}' is not supported."}}
        with self.lock:
            self._at_work.append(asked)
            self.most = max(self.most, len(self._at_work))
        time.sleep(self.seconds)
        with self.lock:
            self._at_work.pop()
        if (text := answer_of(asked)) is None:
            return 200, self.says(asked, json.dumps({"groups": groups_of(asked)}))
        score = self.scores.get(text, 7)
        return 200, self.says(asked, score if isinstance(score, str) else json.dumps({"score": score}))

    def says(self, asked: dict[str, Any], words: object, **more: object) -> dict[str, Any]:
        """The document of a reply in these words."""
        choice = {"index": 0, "message": {"role": "assistant", "content": words}, "finish_reason": "stop"} | more
        name = asked["model"] if self.reported is None else self.reported
        return {"object": "chat.completion", "model": name, "choices": [choice]}


def document_of(asked: dict[str, Any]) -> dict[str, Any]:
    """What the judge is shown."""
    document: dict[str, Any] = json.loads(asked["messages"][-1]["content"])
    return document


def answer_of(asked: dict[str, Any]) -> str | None:
    """The answer whose score is asked for; None if something else is."""
    if asked["messages"][0]["role"] != "system":
        return None
    answer: str | None = document_of(asked).get("answer")
    return answer


def groups_of(asked: dict[str, Any]) -> list[list[int]]:
    """Indices of the answers by first word, the last group first; none where there is no document."""
    if asked["messages"][0]["role"] != "system":
        return []
    groups: dict[str, list[int]] = {}
    for answer in document_of(asked)["answers"]:
        groups.setdefault((answer["text"].split() or [""])[0], []).append(answer["index"])
    return list(groups.values())[::-1]


def saying(words: object, **more: object) -> Reply:
    """A reply in these words."""

    def changed(document: dict[str, Any]) -> object:
        choice = document["choices"][0]
        choice["message"]["content"] = words
        choice.update(more)
        return document

    return Reply(change=changed)


@contextmanager
def chat_server() -> Iterator[ChatServer]:
    """A server at an unused port, until the end of the block."""
    shown = ChatServer()
    with serving(shown):
        yield shown


def spec_of(server: ChatServer, **settings: Any) -> LLMJudgeSpec:
    """A spec for a server, with other settings if need be."""
    usual: dict[str, Any] = {"url": server.url, "model": "wise", "timeout": 20.0}
    return LLMJudgeSpec(**usual | settings)


def judge_of(server: ChatServer, cache: JudgementCache | None = None, **settings: Any) -> LLMJudge:
    """The judge of such a spec."""
    return spec_of(server, **settings).load(cache)
