"""`divbench metrics study` as its users run it, on the released sets."""

import json
from pathlib import Path

import pytest

from benchmark.analysis.metaeval.labelled import load_labelled
from leaderboard.data.metric_study.study import NOISE_CEILING, STUDY_FILE, read_study
from tests.conftest import divbench, document


@pytest.mark.mirror
def test_a_study_has_the_numbers_of_metaeval_and_its_texts_aside(mirror: Path, tmp_path: Path) -> None:
    chosen = ("--metric", "distinct_n", "--metric", "self_bleu", "--profile", "lexical")
    made = divbench(
        *("metrics", "study", "--task", "contest/resp_gen", *chosen, "--out", tmp_path), DIVBENCH_MIRROR=str(mirror)
    )
    assert made.returncode == 0, made.stderr
    assert "contest/resp_gen: 220 of 220 sets; best with people: " in made.stdout
    study = read_study(tmp_path / STUDY_FILE)
    known = document(
        divbench("metrics", "metaeval", "contest/resp_gen", *chosen, "--json", DIVBENCH_MIRROR=str(mirror))
    )["tasks"][0]
    ceiling = study.measured("contest/resp_gen", NOISE_CEILING)[""].value
    assert ceiling == pytest.approx(known["noise_ceiling"]["value"], abs=5.1e-4)
    for evaluation in known["evaluations"]:
        for measure in ("spearman", "oca_directional", "roc_auc", "partial_spearman", "human_spearman"):
            other = evaluation["measures"][measure]
            number = study.measured("contest/resp_gen", measure)[evaluation["metric"]]
            assert [number.value, number.low, number.high] == pytest.approx(
                [other["value"], other["low"], other["high"]], abs=5.1e-4
            )
    labelled = load_labelled("contest/resp_gen", mirror=mirror)
    worst = study.disagreements[study.disagreements.metric == "distinct_n"]
    assert len(worst) == 5
    place = labelled.set_ids.index(worst.set_id.iloc[0])
    assert study.texts[worst.set_id.iloc[0]] == (labelled.contexts[place], labelled.responses[place])
    assert labelled.human is not None
    assert worst.human.iloc[0] == pytest.approx(labelled.human[place], rel=1e-5)


def test_what_cannot_be_studied_is_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for arguments, message in (
        (("--metric", "coherence"), "has no metric 'coherence'"),
        (("--task", "gssbench"), "is not a dataset with labels"),
        (("--gss", tmp_path), "there is no result"),
        (("--out", tmp_path / "file"), "is not a folder"),
    ):
        place = () if "--out" in arguments else ("--out", tmp_path / "made")
        ended = divbench("metrics", "study", "--profile", "lexical", *arguments, *place, "--json")
        assert not (tmp_path / "made").exists()
        assert ended.returncode in (1, 2)
        assert message in json.loads(ended.stdout)["error"]["message"]
