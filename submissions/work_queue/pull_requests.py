"""Check a pull request to the store of a service before it is merged: it may only add whole, valid submissions."""

import re
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from divbench.core.errors import ConfigurationError
from submissions.checking.validate import validate_in_child
from submissions.storage.file_store import FileStore
from submissions.storage.hub_store import HubStore
from submissions.untrusted.findings import Findings, Problem
from submissions.untrusted.plain_text import one_line
from submissions.work_queue.queue_files import SUBMISSION_FILES, fetch

_FILE = re.compile(rf"submissions/([0-9a-f]{{16}})/(?:{'|'.join(map(re.escape, SUBMISSION_FILES))})")
_ONLY_ADDS = "a pull request may only add submissions: ask its author to propose with divbench submit --as-pull-request"


def check_pull_request(store: FileStore, number: int, mirror: Path | None = None) -> Findings:
    """Find what is wrong with a pull request; files are read in a child process, as they are untrusted."""
    if not isinstance(store, HubStore):
        raise ConfigurationError(f"{store.address} takes no pull requests", "give hf://datasets/ORG/NAME")
    findings = Findings()
    commit, changed = store.proposed(number)
    present = {path.split("/")[1] for path in store.paths(store.head(), "submissions")}
    ids = set()
    for path, is_new in changed.items():
        match, shown = _FILE.fullmatch(path), one_line(path, 100)
        if match is None:
            findings.error("pull request", shown, None, "", "it is no file of a submission", _ONLY_ADDS)
        elif not is_new or match[1] in present:
            findings.error("pull request", shown, None, "", "it changes a submission that is there", _ONLY_ADDS)
        else:
            ids.add(match[1])
    if not changed:
        findings.error("pull request", "", None, "", "it changes nothing", "close it")
    for submission_id in sorted(ids):
        with TemporaryDirectory() as name:
            folder = Path(name)
            fetch(store, submission_id, folder, commit)
            report = validate_in_child(folder, mirror=mirror)
        for problem in report["problems"]:
            known = Problem(**{**problem, "field": problem["field"] or ""})
            findings.add(replace(known, file=f"submissions/{submission_id}/{known.file}"))
        if report["accepted"] and report["id"] != submission_id:
            message = f"its content is that of {report['id']}"
            findings.error("pull request", f"submissions/{submission_id}", None, "", message, _ONLY_ADDS)
    return findings
