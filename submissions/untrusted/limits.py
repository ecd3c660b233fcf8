"""Limit the size of untrusted files before they are parsed; a file over a limit is reported as a problem."""

from collections.abc import Iterator
from pathlib import Path

from submissions.schema import Problem
from submissions.untrusted.findings import Findings
from submissions.untrusted.limited_process import MAX_ROWS, first_line

MAX_FILE_BYTES = 512 * 2**20
MAX_LINE_BYTES = 8 * 2**20
_NOT_TEXT = {  # first bytes of files that are not text, and what to do
    b"\x1f\x8b": ("compressed with gzip", "decompress it: gunzip FILE"),
    b"PAR1": ("a Parquet file", "give it the extension .parquet"),
    b"PK\x03\x04": ("a ZIP archive, such as a spreadsheet", "unpack it, or save the spreadsheet as CSV"),
}


def file_error(check: str, file: str, row: int | None, message: str, hint: str) -> Problem:
    """Return an error about a file or one of its rows, but no single field."""
    return Problem(check, "error", file, row, "", message, hint)


def openable(path: Path, findings: Findings, limit: int = MAX_FILE_BYTES) -> bool:
    """Whether a path is a regular, readable, non-empty file within the size limit."""
    try:
        if not path.is_file() or path.is_symlink():
            findings.add(
                file_error("file", path.name, None, f"{path.name} is missing or is not a regular file", "add it")
            )
            return False
        with path.open("rb") as file:
            size = file.seek(0, 2)
    except OSError as error:
        findings.add(file_error("file", path.name, None, f"cannot be opened: {first_line(error)}", "allow reading it"))
        return False
    if size == 0:
        findings.add(file_error("file", path.name, None, "the file is empty", "write it again"))
        return False
    if size > limit:
        findings.add(file_error("sizes", path.name, None, f"{size:,} bytes", f"at most {limit:,} are allowed"))
        return False
    return True


def first_bytes(path: Path, number: int) -> bytes:
    """Return the first bytes of a file; none if it cannot be opened or is too large."""
    if not openable(path, Findings()):
        return b""
    with path.open("rb") as file:
        return file.read(number)


def byte_lines(path: Path, findings: Findings) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file with their numbers, without a byte order mark; stop at a line over the limit."""
    if not openable(path, findings):
        return
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            if number == 1 and (found := [said for start, said in _NOT_TEXT.items() if line.startswith(start)]):
                findings.add(file_error("file", path.name, None, *found[0]))
                return
            if len(line) > MAX_LINE_BYTES:
                hint = f"a line may have at most {MAX_LINE_BYTES:,} bytes"
                findings.add(file_error("sizes", path.name, number, "the line is too long", hint))
                return
            yield number, line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line


def within_row_limit(rows: int, name: str, findings: Findings) -> bool:
    """Whether a file has no more rows than the limit."""
    if rows > MAX_ROWS:
        findings.add(file_error("sizes", name, None, f"{rows:,} rows", f"at most {MAX_ROWS:,} are allowed"))
    return rows <= MAX_ROWS
