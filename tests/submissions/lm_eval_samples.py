"""Samples as lm-evaluation-harness writes them, for the tests of their import."""

from typing import Any

from tests.conftest import TOY, toy_rows
from tests.submissions.conftest import Json

KWARGS: Json = {"until": ["\n\n", "Q:"], "do_sample": True, "temperature": 0.7, "top_p": 0.9, "max_gen_toks": 64}


def sample(place: int, name: str = "none", **changes: Any) -> Json:
    """A row as the harness writes it, of a task that asks the toy suite's prompts with `repeats: 3`; `...` removes."""
    prompt, row = TOY.prompts[place], toy_rows()[place]
    made: Json = {
        "doc_id": place,
        "doc": {"question": prompt.prompt, "level": place},
        "target": "",
        "arguments": {"gen_args_0": {"arg_0": f"Q: {prompt.prompt}\nA:", "arg_1": KWARGS}},
        "resps": [list(row.responses)],
        "filtered_resps": [row.responses[0]],
        "filter": name,
        "metrics": ["bypass"],
        "doc_hash": "0" * 64,
        "prompt_hash": "1" * 64,
        "target_hash": "2" * 64,
        "bypass": 999,
    }
    return {key: value for key, value in (made | changes).items() if value is not ...}


def samples(*, of: int | None = None, **changes: Any) -> list[object]:
    """All four rows, the changes in all of them or in one, by its number."""
    return [sample(place, **(changes if of in (None, place + 1) else {})) for place in range(4)]


def asked(text: Any) -> Json:
    return {"gen_args_0": {"arg_0": text, "arg_1": KWARGS}}
