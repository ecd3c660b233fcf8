"""`divbench data lm-eval-tasks`: task files for lm-evaluation-harness, one for each suite."""

from pathlib import Path
from typing import Annotated

import typer

from divbench.core.console import err

_PYTHON = '''"""Written by divbench {version}: what the task files beside it call."""

from divbench.integrations.lm_eval import prompts_of, values_of

process_results = values_of({metrics!r}, {profile!r})
{documents}
'''


def lm_eval_tasks(
    folder: Annotated[Path, typer.Argument(help="Folder to write, for lm_eval's --include_path.")],
    *,
    k: Annotated[int, typer.Option(min=2, help="Number of responses to each prompt.")] = 10,
    metric: Annotated[
        list[str] | None, typer.Option(help="Metric to compute (repeatable); default: the headline and three others.")
    ] = None,
    profile: Annotated[str | None, typer.Option(help="Profile of models; default: as in divbench.score.")] = None,
) -> None:
    """Write tasks for lm-evaluation-harness that sample k responses to each prompt and report their diversity.

    Run one of them, then put its samples on a board beside other systems:

      divbench data lm-eval-tasks tasks

      lm_eval run --model hf --model_args pretrained=ORG/NAME --include_path tasks --tasks divbench_demo
      --log_samples --output_path out

      divbench quick out/*/samples_divbench_demo_*.jsonl --suite demo --name NAME
    """
    import json
    from importlib.metadata import version

    from datasets_build.load import SUITES
    from divbench.core.files import write_text
    from divbench.integrations.groups import HEADLINES, group_scorer, metric_names

    scorer = group_scorer(metric_names(metric or HEADLINES), profile)
    names = [chosen.id for chosen in scorer.metrics]
    folder.mkdir(parents=True, exist_ok=True)
    documents = [(suite.name, suite.name.replace("-", "_")) for suite in SUITES]
    python = _PYTHON.format(
        version=version("divbench"),
        metrics=names,
        profile=profile,
        documents="\n".join(f"{function} = prompts_of({suite!r})" for suite, function in documents),
    )
    write_text(folder / "divbench_tasks.py", python)
    better = {chosen.id: chosen.direction >= 0 for chosen in scorer.metrics} | {"missing_values": False}
    for suite, function in documents:
        lines = [
            f"task: divbench_{function}",
            f"tag: [divbench]\ncustom_dataset: !function divbench_tasks.{function}",
            'test_split: test\noutput_type: generate_until\ndoc_to_text: "{{prompt}}"\ndoc_to_target: ""',
            f"repeats: {k}",
            "generation_kwargs: {do_sample: true, temperature: 1.0, max_gen_toks: 512, until: []}",
            "filter_list: [{name: all, filter: [{function: divbench_keep_all}]}]",
            "process_results: !function divbench_tasks.process_results",
            "metric_list:",
            *(f"- {{metric: {m}, aggregation: mean, higher_is_better: {json.dumps(up)}}}" for m, up in better.items()),
            "metadata:",
            f"  version: 1\n  suite: {suite}\n  signatures: {json.dumps(scorer.signatures)}",
        ]
        write_text(folder / f"divbench_{function}.yaml", "\n".join(lines) + "\n")
    err().print(
        f"written: {len(documents)} tasks; run lm_eval with --include_path {folder}", markup=False, soft_wrap=True
    )
