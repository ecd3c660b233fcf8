"""README.md, CONTRIBUTING.md and docs/ agree with the code: tables, map, commands with their options, links."""

import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import typer.main

from benchmark.metrics import METRICS
from datasets_build.sources import DATASETS
from divbench.command_line import build
from leaderboard.data.metric_study.study import PAID, load_studies
from leaderboard.pages.trust import agreements, dominated, trusted

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
TRUST = (
    *("valid_distinct_k", "distinct_k", "distance_beside_prompt", "embedding_diversity", "rouge_l_similarity"),
    *("distinct_n", "self_bleu", "d_can"),
)
METRICS_PAGE = ROOT / "docs" / "metrics.md"


def metrics_table() -> str:
    """All metrics, with what the study that ships says of them."""
    studies = load_studies()
    assert studies.study is not None
    dominated_by = dominated(studies.study, studies.gaming)
    trust = {row.metric: row for row in trusted(studies.study, studies.gaming, most=len(METRICS) * 2)}
    lines = [
        "| metric | what it is | more diverse | people | attacks | dominated by | source |",
        "|---|---|---|---|---|---|---|",
    ]
    for m in METRICS:
        way = {1: "higher", 0: "neither", -1: "lower"}[m.direction]
        row = trust.get(m.id)
        rho = None if row is None else row.agreement
        people = "" if rho is None else f"{rho.value:.2f} ({rho.low:.2f} to {rho.high:.2f})"
        attacks = "" if row is None or row.paid is None else row.paid
        other = f"`{dominated_by[m.id]}`" if row is not None and m.id in dominated_by else ""
        lines.append(f"| `{m.id}` v{m.version} | {m.title} | {way} | {people} | {attacks} | {other} | {m.paper} |")
    return "\n".join(lines)


def test_the_table_of_metrics_is_that_of_the_code() -> None:
    found = METRICS_PAGE.read_text("utf-8").split("<!-- metrics -->\n")[1].split("\n<!-- /metrics -->")[0]
    assert found == metrics_table(), "run: python -m tests.test_readme"


def datasets_table() -> str:
    lines = ["| config | rows | what | from |", "|---|---|---|---|"]
    for source in DATASETS:
        for config in source.configs:
            rows = sum(split.count for split in config.splits)
            lines.append(f"| `{config.name}` | {rows:,} | {config.about} | {source.paper or 'ours'} |")
    return "\n".join(lines)


def trust_table() -> str:
    """The headline and well-known metrics, with what the study that ships says of them."""
    studies = load_studies()
    assert studies.study is not None
    assert studies.gaming is not None
    agreement = agreements(studies.study)
    lines = ["| metric | reads | people | attacks | random characters gain |", "|---|---|---|---|---|"]
    for name in TRUST:
        [metric] = [each for each in METRICS if each.id == name]
        people = agreement[name].value if name in agreement else None
        gains = studies.gaming.gains.get(name, {})
        paid = sum(gain > PAID for gain in gains.values()) if gains else "–"
        junk = f"{gains['random-characters']:+.2f}" if gains else "–"
        told = "–" if people is None else f"{people:.2f}"
        lines.append(f"| `{name}` | {metric.reads.replace('+', ', ')} | {told} | {paid} | {junk} |")
    return "\n".join(lines)


def test_the_table_of_trust_is_that_of_the_study() -> None:
    found = README.split("<!-- trust -->\n")[1].split("\n<!-- /trust -->")[0]
    assert found == trust_table(), "run: python -m tests.test_readme"


def test_the_table_of_datasets_is_that_of_the_code() -> None:
    found = README.split("<!-- datasets -->\n")[1].split("\n<!-- /datasets -->")[0]
    assert found == datasets_table(), "run: python -m tests.test_readme"


def test_the_map_names_every_room() -> None:
    parts = re.split(r"\n(?=\S)", README.split("## Map")[1].split("```")[1].strip("\n"))
    for part in parts:
        folder = part.split("/")[0]
        named = set(re.findall(r"(\w+)/(?=\s)", part)) - {folder}
        rooms = {path.parent.name for path in (ROOT / folder).glob("*/__init__.py")}
        assert {name for name in named if not (ROOT / folder / name).is_dir()} == set()
        assert folder == "tests" or rooms <= named


def command_lines(text: str) -> Iterator[list[str]]:
    """The words after `divbench` of every command in code, inline or in blocks, without comments."""
    blocks = re.findall(r"^ {4}divbench (?:.*\\\n)*.*", text, flags=re.MULTILINE)
    inline = re.findall(r"`(divbench [^`]+)`", text)
    for found in (*blocks, *inline):
        words = shlex.split(found.replace("\\\n", " "), comments=True)
        yield words[1:]


def test_every_command_on_a_page_exists_with_its_options() -> None:
    root = typer.main.get_command(build())
    seen = 0
    for page in PAGES:
        for words in command_lines(page.read_text("utf-8")):
            command, rest, said = root, list(words), f"{page.name}: divbench {' '.join(words)}"
            while rest and not rest[0].startswith("-") and (commands := getattr(command, "commands", None)):
                assert rest[0] in commands, said
                command = commands[rest.pop(0)]
            options = {option for each in command.params for option in (*each.opts, *each.secondary_opts)} | {"--help"}
            assert {word for word in rest if word.startswith("--")} <= options, said
            if rest and not rest[0].startswith("-") and "…" not in rest:  # given to be run, not only named
                needed = {each.opts[0] for each in command.params if each.required and each.opts[0].startswith("--")}
                assert needed <= set(rest), said
            seen += 1
    assert seen > 50


def test_links_and_paths_on_a_page_lead_somewhere() -> None:
    for page in PAGES:
        text = page.read_text("utf-8")
        links = re.findall(r"\]\((?!reference/)([^)#:]+)\)", text)  # those pages are made with the site: test_site.py
        assert [link for link in links if not (page.parent / link).exists()] == [], page.name
        paths = re.findall(r"`((?:datasets_build|submissions|benchmark|leaderboard|tests|docs)/[a-z0-9_/.]+)`", text)
        assert [path for path in paths if not (ROOT / path).exists()] == [], page.name
        modules = re.findall(r"python -m ((?:benchmark|submissions|tests)[a-z_.]*[a-z])", text)
        files = [ROOT.joinpath(*module.split(".")) for module in modules]
        missing = [file for file in files if not (file.with_suffix(".py").exists() or (file / "__init__.py").exists())]
        assert missing == [], page.name


def paste(page: Path, mark: str, table: str) -> None:
    """Replace the table between the marks."""
    text = page.read_text("utf-8")
    before, after = text.split(f"<!-- {mark} -->\n")[0], text.split(f"<!-- /{mark} -->")[1]
    page.write_text(f"{before}<!-- {mark} -->\n{table}\n<!-- /{mark} -->{after}", "utf-8")


if __name__ == "__main__":
    paste(METRICS_PAGE, "metrics", metrics_table())
    paste(ROOT / "README.md", "datasets", datasets_table())
    paste(ROOT / "README.md", "trust", trust_table())
    sys.stdout.write("All tables are up to date.\n")
