"""Some hundreds of hostile submissions, each in a folder named after its attack, and what the validator makes of them.

    python -m tests.submissions.attacks OUT             make them in a new folder
    python -m tests.submissions.attacks OUT --report    and check each: outcome, reason, seconds, peak memory
    python -m tests.submissions.attacks OUT --markdown  the same table in Markdown
    python -m tests.submissions.attacks OUT --json      the same for machines

They are small, but for what they claim: a file of a terabyte of zeros takes no room until it is copied. All answer
the suite of the tests, which no board knows. Exit status: 1 where an attack ends otherwise than it must.
"""

import argparse
import sys
from dataclasses import asdict
from pathlib import Path

from rich.text import Text

from divbench.core.console import out, print_json
from divbench.core.tables import Styled, Table, to_markdown, to_terminal
from tests.submissions.attack import Attack
from tests.submissions.attack_runs import Outcome, make_apart, outcomes
from tests.submissions.attacks_on_answers import ATTACKS as ON_ANSWERS
from tests.submissions.attacks_on_folders import ATTACKS as ON_FOLDERS
from tests.submissions.attacks_on_footers import ATTACKS as ON_FOOTERS
from tests.submissions.attacks_on_formats import ATTACKS as ON_FORMATS
from tests.submissions.attacks_on_manifests import ATTACKS as ON_MANIFESTS
from tests.submissions.attacks_on_memory import ATTACKS as ON_MEMORY
from tests.submissions.attacks_on_pages import ATTACKS as ON_PAGES
from tests.submissions.attacks_on_reported import ATTACKS as ON_REPORTED

ATTACKS: tuple[Attack, ...] = (
    *ON_MEMORY,
    *ON_FOOTERS,
    *ON_PAGES,
    *ON_FORMATS,
    *ON_MANIFESTS,
    *ON_FOLDERS,
    *ON_ANSWERS,
    *ON_REPORTED,
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, metavar="OUT", help="a folder that does not exist")
    parser.add_argument("--seed", type=int, default=0, help="of what is random in them")
    parser.add_argument("--report", action="store_true", help="check each and print a table")
    parser.add_argument("--markdown", action="store_true", help="check each and print a table in Markdown")
    parser.add_argument("--json", action="store_true", help="check each and print one JSON document")
    given = parser.parse_args()
    if given.out.exists():
        parser.error(f"{given.out} is already there")
    make_apart(ATTACKS, given.out, given.seed)
    if not (given.report or given.markdown or given.json):
        return 0
    found = outcomes(ATTACKS, given.out)
    if given.json:
        print_json({name: asdict(outcome) for name, outcome in found.items()})
    if given.report:
        print_table(found)
    if given.markdown:
        out().print(Text(as_markdown(found)), soft_wrap=True)
    return 0 if all(found[a.name].as_expected(a) for a in ATTACKS if a.name in found) else 1


def print_table(found: dict[str, Outcome]) -> None:
    """A row for each attack: what came of it, for which reason, in what time and memory."""
    heads = ("attack", "outcome", "reason", "s", "MB", "")
    rows = [_cells(attack, found.get(attack.name)) for attack in ATTACKS]
    out().print(to_terminal(Table(f"{len(found)} attacks", heads, rows, numbers=("s", "MB"))))


def as_markdown(found: dict[str, Outcome]) -> str:
    """The same table in Markdown, in which no text is anything else than a text."""
    rows = []
    for attack in ATTACKS:
        name, verdict, reason, *numbers, wrong = _cells(attack, found.get(attack.name))
        rows.append((name, f"{verdict} {wrong}".strip(), Styled(reason, "code") if reason else "", *numbers))
    return to_markdown(Table("", ("attack", "outcome", "reason", "s", "MB"), rows, numbers=("s", "MB")))


def _cells(attack: Attack, outcome: Outcome | None) -> tuple[str, str, str, str, str, str]:
    if outcome is None:
        return attack.name, "not made: it takes root", "", "", "", ""
    numbers = f"{outcome.seconds:.3f}", f"{outcome.megabytes:.0f}"
    right = "" if outcome.as_expected(attack) else "UNEXPECTED"
    return attack.name, _verdict(outcome), _reason(outcome), *numbers, right


def _verdict(outcome: Outcome) -> str:
    if outcome.ended:
        return outcome.ended
    if not outcome.accepted:
        return "rejected"
    return "accepted, warnings" if outcome.warnings else "accepted"


def _reason(outcome: Outcome) -> str:
    if not outcome.found:
        return ""
    check, file, row, name = outcome.found[0]
    where = " ".join([file, *([f"row {row}"] if row is not None else []), *([name[:60]] if name else [])])
    return f"{check}: {where}: {outcome.message[:100]}"


if __name__ == "__main__":
    sys.exit(main())
