"""White space around responses: no part of them unless asked for, which the signature then says."""

import numpy as np
import numpy.typing
import pytest

from benchmark.metrics import METRICS
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.profiles import Profile, find_profile
from benchmark.scoring.results import signature_line
from benchmark.scoring.shards import FIRST_PROMPTS, SHARD_PROMPTS, divided
from benchmark.surprisal.engine import OrderPlan, ResponseSet, SetSurprisals, SurprisalReader
from benchmark.surprisal.prompt_layout import Layout
from tests.benchmark.fakes import HashLM

OFFLINE, PAPER = find_profile("offline"), find_profile("offline").replace(boundaries="paper")
D_CAN = next(metric for metric in METRICS if metric.id == "d_can")
PLAIN = ("A red cat.", "Two dogs ran.", "It rained.")


def bits(layout: Layout, *responses: str) -> "np.typing.NDArray[np.float64]":
    backends = ScoringBackends(OFFLINE, reader=SurprisalReader(HashLM(), layout, OrderPlan()))
    [read] = backends.read([ResponseSet("Say something.", responses)], [D_CAN]) or []
    assert isinstance(read, SetSurprisals)
    return read.surprisals.unconditional


def test_outer_white_space_does_not_move_surprisals_unless_it_is_kept() -> None:
    padded = tuple(f"\n  {text}\t\n" for text in PLAIN)
    assert bits(Layout(), *padded).tolist() == bits(Layout(), *PLAIN).tolist()
    kept = OFFLINE.replace(outer_space="kept").layout
    assert (bits(kept, *padded) > bits(kept, *PLAIN)).all()


@pytest.mark.parametrize(
    ("profile", "named"),
    [
        (OFFLINE, "-outer-space:stripped"),
        (OFFLINE.replace(outer_space="kept"), ""),
        (PAPER, ""),
        (PAPER.replace(outer_space="stripped"), "-outer-space:stripped"),
    ],
)
def test_a_signature_says_whether_white_space_is_stripped(profile: Profile, named: str) -> None:
    assert f"-bos:{profile.layout.bos}{named}|" in signature_line(D_CAN, profile)


def test_a_small_shard_comes_first() -> None:
    sets = [ResponseSet(str(i), ()) for i in range(150)]
    assert [len(shard) for shard in divided(sets)] == [FIRST_PROMPTS, SHARD_PROMPTS - FIRST_PROMPTS, SHARD_PROMPTS, 22]
